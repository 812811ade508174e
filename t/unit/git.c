/*
 * Git as a child prints what the objects say, whatever config and environment say.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/git.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "fixture.h"

static void set_up(void)
{
	fixture_begin();
	fixture_shell(
		"git config --global user.name A && git config --global user.email a@b && git init -q repo && cd repo &&"
		"printf 'int f(void)\\n{\\n\\treturn 1;\\n}\\n' >a.c && head -c 3000 /dev/zero >bin &&"
		"git add . && git commit -qm 1 && printf 'int f(void)\\n{\\n\\treturn 2;\\n}\\n' >a.c &&"
		"echo x >>bin && git commit -qam 2");
}

TestSuite(git, .init = set_up, .fini = fixture_end);

static struct ews_git_opts opts_for(const char *neutral, struct ews_buf *out)
{
	static char objects[80];

	snprintf(objects, sizeof(objects), "%s/repo/.git/objects", fixture_top());
	return (struct ews_git_opts){ .neutral_dir = neutral, .object_dir = objects, .out = out };
}

static char *read_tree_id(const char *spec)
{
	EWS_CLEANUP(free) char *script = ews_strfmt("git -C repo rev-parse '%s^{tree}' >id", spec);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	fixture_shell("%s", script);
	cr_assert_eq(ews_file_read(&text, AT_FDCWD, "id", 100), 0);
	ews_buf_rtrim(&text);
	return ews_buf_steal(&text);
}

static int diff(struct ews_buf *out, const char *neutral)
{
	EWS_CLEANUP(free) char *a = read_tree_id("HEAD~1");
	EWS_CLEANUP(free) char *b = read_tree_id("HEAD");
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts = opts_for(neutral, out);

	ews_strv_add_all(&args, "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-color", "--no-ext-diff",
			 "--no-textconv", "--no-renames", a, b, "--", NULL);
	return ews_git_run(&opts, args.items);
}

Test(git, a_patch_does_not_bend_to_config_or_environment)
{
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(buf) struct ews_buf plain = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf bent = EWS_BUF_INIT;

	cr_assert_eq(ews_git_neutral_dir(&neutral, fixture_top(), EWS_SHA1), 0, "%s", ews_error_message());
	cr_assert_eq(diff(&plain, neutral), 0, "%s", ews_error_message());
	cr_assert(strstr(plain.ptr, "GIT binary patch"));
	fixture_shell("cd repo && git config core.compression 0 && git config diff.external 'touch ../ran; false' &&"
		      "git config core.fsmonitor 'touch ../ran; false' && echo '* -diff' >.git/info/attributes &&"
		      "git config --global diff.noprefix true && git config --global diff.context 0 &&"
		      "git config --global core.compression 0 && echo '* -diff' >../attrs &&"
		      "git config --global core.attributesFile \"$HOME/attrs\"");
	setenv("GIT_EXTERNAL_DIFF", "touch ran; false", 1);
	setenv("GIT_DIFF_OPTS", "-u0", 1);
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "diff.context", 1);
	setenv("GIT_CONFIG_VALUE_0", "0", 1);
	setenv("GIT_DIR", "/nonexistent", 1);
	ews_git_scrub_env();
	cr_assert_not(getenv("GIT_DIR") || getenv("GIT_EXTERNAL_DIFF") || getenv("GIT_CONFIG_COUNT"));
	setenv("GIT_EXTERNAL_DIFF", "touch ran; false", 1);
	cr_assert_eq(diff(&bent, neutral), 0, "%s", ews_error_message());
	cr_assert_eq(bent.len, plain.len);
	cr_assert_eq(memcmp(bent.ptr, plain.ptr, plain.len), 0);
	cr_assert_eq(access("ran", F_OK), -1);
}

Test(git, the_users_own_config_holds_where_it_is_asked_for)
{
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts;

	ews_strv_add_all(&args, "config", "ews.colour", NULL);
	fixture_shell("git config --global ews.colour blue && git -C repo config ews.colour red");
	cr_assert_eq(ews_git_neutral_dir(&neutral, fixture_top(), EWS_SHA1), 0);
	opts = opts_for(neutral, &out);
	cr_assert_eq(ews_git_run(&opts, args.items), 1);
	cr_assert_eq(out.len, 0);
	opts.user_config = true;
	cr_assert_eq(ews_git_run(&opts, args.items), 0);
	cr_assert_str_eq(out.ptr, "blue\n");
}

Test(git, what_git_says_becomes_the_sentence)
{
	EWS_CLEANUP(free) char *neutral = NULL;
	EWS_CLEANUP(buf) struct ews_buf out = EWS_BUF_INIT;
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	struct ews_git_opts opts;

	ews_strv_add_all(&args, "cat-file", "-p", "1234567890123456789012345678901234567890", NULL);
	cr_assert_eq(ews_git_neutral_dir(&neutral, fixture_top(), EWS_SHA1), 0);
	opts = opts_for(neutral, &out);
	cr_assert_eq(ews_git_run(&opts, args.items), EWS_EGIT);
	cr_assert(strstr(ews_error_message(), "'git cat-file' failed: Not a valid object name"), "%s",
		  ews_error_message());
}

Test(git, the_neutral_directory_is_made_once_by_many)
{
	fflush(NULL);
	for (int i = 0; i < 8; i++) {
		if (fork() == 0) {
			char *neutral = NULL;

			_exit(ews_git_neutral_dir(&neutral, fixture_top(), EWS_SHA256) < 0);
		}
	}
	for (int i = 0; i < 8; i++) {
		int status;

		cr_assert_gt(wait(&status), 0);
		cr_assert_eq(status, 0);
	}
	fixture_shell("test \"$(ls -d .neutral-* 2>/dev/null)\" = '' &&"
		      "test \"$(git --git-dir=neutral-sha256.git rev-parse --show-object-format)\" = sha256");
}
