/*
 * What git's config says of us: read from the files it is what git says, where git has to be asked and where not.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/gitconfig.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/path.h"
#include "fixture.h"

TestSuite(gitconfig, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static void show(struct ews_buf *out, const struct ews_gitconfig *list)
{
	ews_buf_truncate(out, 0);
	for (size_t i = 0; i < list->n; i++) {
		EWS_CLEANUP(free) char *file = realpath(list->items[i].file, NULL);

		ews_buf_addf(out, "%s=%s (%d, %s)\n", list->items[i].key, list->items[i].text,
			     (int)list->items[i].scope, file ? file : list->items[i].file);
	}
}

/* Some files of those that git looks for, with some of our keys and others. */
static void make_files(void)
{
	static const char *const files[] = { "home/.gitconfig",
					     "home/.config/git/config",
					     "xdg/git/config",
					     "system",
					     "global",
					     "p/.git/config",
					     "p/.git/config.worktree",
					     "p/.git/worktrees/w/config.worktree" };
	static const char *const pieces[] = {
		"[ews]\n\tmaxFile = 1m\n",
		"[ews]\nkeep",
		"[EWS \"Git.Guard\"]\n\tblockCommit = no ; x\n",
		"[news]\n\tx = ews\n",
		"[extensions]\n\tworktreeConfig\n",
		"[core]\n\tbare = false\n",
		"[ewsx]\n\ty = 1\n",
		"[ews]\n\tmethod = \" in\\tplace\"\n",
	};
	static const char *const rare[] = { "[include]\n\tpath = ../more\n",
					    "[includeIf \"gitdir:/\"]\n\tpath = /nowhere\n", "[ews\n" };

	fixture_shell(
		"cp was p/.git/config; rm -f system global p/.git/config.worktree p/.git/worktrees/w/config.worktree; rm -rf home xdg;"
		" mkdir -p home/.config/git xdg/git");
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		if (fixture_pick(3) == 0)
			continue;
		if (i == 5)
			fixture_ask(&text, "cat was");
		for (size_t n = fixture_pick(4); n; n--) {
			ews_buf_adds(&text, FIXTURE_ONE_OF(pieces));
			ews_buf_addc(&text, '\n');
		}
		if (fixture_pick(30) == 0)
			ews_buf_adds(&text, FIXTURE_ONE_OF(rare));
		fixture_write(AT_FDCWD, files[i], text.ptr, text.len);
	}
}

static void set_place(const char *name, const char *dir, const char *file)
{
	EWS_CLEANUP(free) char *path = ews_path_join(dir, file);

	if (fixture_pick(2))
		cr_assert_eq(setenv(name, path, 1), 0);
	else
		cr_assert_eq(unsetenv(name), 0);
}

Test(gitconfig, from_the_files_it_is_what_git_says)
{
	static const char *const git_dirs[] = { "p/.git", "p/.git/worktrees/w" };
	EWS_CLEANUP(buf) struct ews_buf should = EWS_BUF_INIT, is = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *here = getcwd(NULL, 0);
	EWS_CLEANUP(free) char *home = ews_path_join(here, "home");
	size_t n_set = 0;

	fixture_shell(
		"git init -q p && git -C p -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1 &&"
		" git -C p worktree add -q ../w && cp p/.git/config was && printf '[ews]\\n\\tmore = 1\\n' >more");
	for (size_t i = 0; i < fixture_rounds(60); i++) {
		EWS_CLEANUP(gitconfig) struct ews_gitconfig asked = EWS_GITCONFIG_INIT, found = EWS_GITCONFIG_INIT;
		EWS_CLEANUP(free) char *git_dir = ews_path_join(here, FIXTURE_ONE_OF(git_dirs));
		int rc;

		make_files();
		setenv("HOME", home, 1);
		set_place("XDG_CONFIG_HOME", here, "xdg");
		set_place("GIT_CONFIG_SYSTEM", here, "system");
		set_place("GIT_CONFIG_GLOBAL", here, "global");
		setenv("GIT_CONFIG_NOSYSTEM", fixture_pick(2) ? "yes" : "0", 1);
		rc = ews_gitconfig_find(&asked, git_dir, "^ews\\.");
		cr_assert_eq(ews_gitconfig_read(&found, git_dir), rc, "%s", ews_error_message());
		show(&should, &asked);
		show(&is, &found);
		cr_assert_str_eq(is.ptr, should.ptr);
		n_set += found.n;
	}
	cr_assert(n_set > 40, "%zu", n_set);
}
