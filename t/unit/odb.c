/*
 * The store reads what git wrote, refuses what it doesn't know, and moves refs by compare-and-swap.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/sync.h"
#include "store/batch.h"
#include "store/litter.h"

static char top[] = "/tmp/ews-odb-XXXXXX";
static char repo[64];
static struct ews_odb *odb;

/* Run a shell script in `top`; what it prints, without the last newline, is the caller's. */
static char *sh(const char *script)
{
	struct ews_buf out = EWS_BUF_INIT;
	FILE *pipe;
	char step[4096];
	size_t n;

	fflush(NULL);
	pipe = popen(script, "r");
	cr_assert(pipe);
	while ((n = fread(step, 1, sizeof(step), pipe)))
		ews_buf_add(&out, step, n);
	cr_assert_eq(pclose(pipe), 0, "failed: %s\n%s", script, out.ptr);
	ews_buf_rtrim(&out);
	return ews_buf_steal(&out);
}

static void run(const char *script)
{
	free(sh(script));
}

static struct ews_oid id_of(const char *hex)
{
	struct ews_oid oid;

	cr_assert_eq(ews_oid_parse(&oid, hex), 0);
	return oid;
}

static struct ews_oid rev_parse(const char *spec)
{
	EWS_CLEANUP(free) char *script = ews_strfmt("git -C repo rev-parse '%s'", spec);
	EWS_CLEANUP(free) char *hex = sh(script);

	return id_of(hex);
}

static void set_up(void)
{
	cr_assert(mkdtemp(top));
	cr_assert_eq(chdir(top), 0);
	snprintf(repo, sizeof(repo), "%s/repo/.git", top);
	setenv("HOME", top, 1);
	unsetenv("XDG_CONFIG_HOME");
	setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
	run("git config --global user.name A && git config --global user.email a@b &&"
	    "git config --global init.defaultBranch main && git init -q repo && cd repo &&"
	    "echo one >f && mkdir d && echo two >d/g && git add . && git commit -qm first &&"
	    "echo three >f && git commit -qam second -m body && git tag -am t v1");
	cr_assert_eq(ews_odb_open(&odb, repo, top), 0, "%s", ews_error_message());
}

static void tear_down(void)
{
	ews_odb_free(odb);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(ews_file_remove_tree(AT_FDCWD, top), 0);
}

TestSuite(odb, .init = set_up, .fini = tear_down);

Test(odb, an_id_is_forty_or_sixty_four_hex_digits_and_nothing_more)
{
	const char *hex = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
	char back[EWS_OID_HEX_MAX];
	struct ews_oid oid, none = EWS_OID_NONE;

	cr_assert_eq(ews_oid_parse(&oid, hex), 0);
	cr_assert_str_eq(ews_oid_hex(back, &oid), hex);
	cr_assert_str_eq(ews_oid_hex(back, &none), "");
	cr_assert_eq(ews_oid_parse(&oid, "4b825dc642cb6eb9a060e54bf8d69288fbee490"), EWS_EDAMAGED);
	cr_assert_eq(ews_oid_parse(&oid, "4b825dc642cb6eb9a060e54bf8d69288fbee4904 "), EWS_EDAMAGED);
	cr_assert_eq(ews_oid_parse(&oid, "4b825dc642cb6eb9a060e54bf8d69288fbee490g"), EWS_EDAMAGED);
	ews_odb_empty_tree(&none, odb);
	oid = id_of(hex);
	cr_assert(ews_oid_equal(&none, &oid));
}

Test(odb, objects_are_read_as_git_wrote_them)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid blob = rev_parse("HEAD:f"), real;
	enum ews_object_type type;
	uint64_t size;

	cr_assert_eq(ews_odb_read(&text, &type, odb, &blob), 0);
	cr_assert_eq(type, EWS_OBJECT_BLOB);
	cr_assert_str_eq(text.ptr, "three\n");
	cr_assert_eq(ews_odb_read_header(&type, &size, odb, &blob), 0);
	cr_assert_eq(size, 6);
	ews_odb_hash(&real, odb, EWS_OBJECT_BLOB, text.ptr, text.len);
	cr_assert(ews_oid_equal(&real, &blob));
	cr_assert(ews_odb_has(odb, &blob));
	cr_assert(ews_odb_freshen(odb, &blob));
	run("git -C repo gc -q");
	cr_assert_eq(ews_odb_read(&text, &type, odb, &blob), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_refresh(odb), 0);
	cr_assert(ews_odb_has(odb, &blob));
	cr_assert(ews_odb_freshen(odb, &blob));
}

Test(odb, an_object_is_of_one_type_and_what_is_missing_of_none)
{
	struct ews_oid blob = rev_parse("HEAD:f"), commit = rev_parse("HEAD");
	struct ews_oid missing = id_of("1234567890123456789012345678901234567890");

	cr_assert(ews_odb_is(odb, &blob, EWS_OBJECT_BLOB));
	cr_assert_not(ews_odb_is(odb, &blob, EWS_OBJECT_COMMIT));
	cr_assert(ews_odb_is(odb, &commit, EWS_OBJECT_COMMIT));
	cr_assert_not(ews_odb_is(odb, &missing, EWS_OBJECT_BLOB));
	cr_assert_eq(ews_error_code(), EWS_OK);
}

Test(odb, what_a_gc_packs_while_we_look_is_still_there)
{
	struct ews_oid missing = id_of("1234567890123456789012345678901234567890"), oid;

	run("git -C repo repack -adq && git -C repo prune-packed");
	cr_assert_not(ews_odb_has(odb, &missing)); /* from here on it is known which packs there are */
	run("cd repo && echo packed meanwhile >f && git add f && git commit -qm packed");
	oid = rev_parse("HEAD:f");
	run("git -C repo repack -dq && git -C repo prune-packed");
	cr_assert(ews_odb_still_has(odb, &oid));
	cr_assert_not(ews_odb_still_has(odb, &missing));
}

Test(odb, what_is_larger_than_asked_for_is_not_read)
{
	struct ews_oid blob = rev_parse("HEAD:f");
	enum ews_object_type type;

	/* First loose and the room cold, then from a pack. */
	for (int round = 0; round < 2; round++) {
		EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

		ews_buf_adds(&text, "before ");
		cr_assert_eq(ews_odb_read_max(&text, &type, odb, &blob, 5), 1);
		cr_assert_str_eq(text.ptr, "before ");
		cr_assert_eq(ews_odb_read_max(&text, &type, odb, &blob, 6), 0, "%s", ews_error_message());
		cr_assert_eq(type, EWS_OBJECT_BLOB);
		cr_assert_str_eq(text.ptr, "before three\n");
		run("git -C repo gc -q");
	}
}

Test(odb, what_is_missing_is_named_and_never_fetched)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_odb *partial;
	struct ews_oid blob = rev_parse("HEAD~1:f");
	char git_dir[80], hex[EWS_OID_HEX_MAX];

	run("git -C repo config uploadpack.allowFilter true &&"
	    "git clone -q --filter=blob:none \"file://$PWD/repo\" partial && git -C partial sparse-checkout set d");
	snprintf(git_dir, sizeof(git_dir), "%s/partial/.git", top);
	cr_assert_eq(ews_odb_open(&partial, git_dir, top), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_read(&text, NULL, partial, &blob), EWS_ENOTFOUND);
	cr_assert(strstr(ews_error_message(), ews_oid_hex(hex, &blob)));
	cr_assert(strstr(ews_error_message(), "is missing from this partial clone"));
	cr_assert_eq(ews_odb_write_to(1, partial, &blob), EWS_ENOTFOUND);
	cr_assert_not(ews_odb_has(partial, &blob));
	ews_odb_free(partial);
}

Test(odb, damage_is_noticed_when_an_object_is_read)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid blob = rev_parse("HEAD:f");
	struct stat st;
	int fd;

	/* A sound file of another object under this id: only the hash can tell. */
	run("cd repo && a=$(git rev-parse HEAD:f) && b=$(git rev-parse HEAD:d/g) &&"
	    "cp -f .git/objects/$(echo $b | sed 's,^..,&/,') .git/objects/$(echo $a | sed 's,^..,&/,')");
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_EDAMAGED);
	cr_assert_eq(text.len, 0);
	fd = open("out", O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ews_odb_write_to(fd, odb, &blob), EWS_EDAMAGED);
	cr_assert_eq(fstat(fd, &st), 0);
	cr_assert_eq(st.st_size, 0);
	close(fd);
	run("cd repo && a=$(git rev-parse HEAD:f) && f=.git/objects/$(echo $a | sed 's,^..,&/,') &&"
	    "rm -f $f && echo garbage >$f");
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_EDAMAGED);
}

Test(odb, a_large_loose_blob_is_streamed_and_checked)
{
	EWS_CLEANUP(free) char *hex = sh("head -c 40000000 /dev/urandom >big && git -C repo hash-object -w ../big");
	struct ews_oid blob = id_of(hex);
	int fd;

	fd = open("out", O_RDWR | O_CREAT, 0600);
	cr_assert_eq(ews_odb_write_to(fd, odb, &blob), 0, "%s", ews_error_message());
	close(fd);
	run("cmp big out");
	run("cd repo && (cat ../big; echo) >../other && f=.git/objects/$(git hash-object ../big | sed 's,^..,&/,') &&"
	    "o=.git/objects/$(git hash-object -w ../other | sed 's,^..,&/,') && cp -f $o $f");
	fd = open("out", O_RDWR | O_TRUNC);
	cr_assert_eq(ews_odb_write_to(fd, odb, &blob), EWS_EDAMAGED);
	close(fd);
}

Test(odb, an_unknown_format_is_one_exact_sentence)
{
	struct ews_odb *other;

	run("git -C repo config core.repositoryFormatVersion 1 && git -C repo config extensions.objectFormat sha1 &&"
	    "git -C repo config extensions.preciousObjects true");
	cr_assert_eq(ews_odb_open(&other, repo, top), 0, "%s", ews_error_message());
	ews_odb_free(other);
	run("git config -f repo/.git/config extensions.refStorage reftable");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "ref storage 'reftable'"));
	run("git config -f repo/.git/config extensions.refStorage files");
	cr_assert_eq(ews_odb_open(&other, repo, top), 0, "%s", ews_error_message());
	ews_odb_free(other);
	run("git config -f repo/.git/config extensions.fancy true");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "the extension 'fancy'"));
	run("git config -f repo/.git/config --unset extensions.fancy &&"
	    "git config -f repo/.git/config extensions.objectFormat sha512");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "object format 'sha512'"));
	run("git config -f repo/.git/config extensions.objectFormat sha256 &&"
	    "git config -f repo/.git/config core.repositoryFormatVersion 0");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "format version 0"));
	run("git config -f repo/.git/config core.repositoryFormatVersion 2");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EUNSUPPORTED);
	cr_assert(strstr(ews_error_message(), "format version 2"));
	cr_assert_eq(ews_odb_open(&other, top, top), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_open(&other, "/nonexistent/.git", top), EWS_ENOTFOUND);
}

Test(odb, a_repository_of_another_user_needs_safe_directory)
{
	struct ews_odb *other;
	EWS_CLEANUP(free) char *dir = ews_strfmt("%s/repo", top);

	if (geteuid() != 0)
		cr_skip("only root can give a repository away");
	run("chown -R 12345 repo");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EDENIED, "%s", ews_error_message());
	cr_assert(strstr(ews_error_hint_text(), "git config --global --add safe.directory"));
	cr_assert(strstr(ews_error_hint_text(), dir));
	run("git config --global --add safe.directory \"$PWD/repo\"");
	cr_assert_eq(ews_odb_open(&other, repo, top), 0, "%s", ews_error_message());
	ews_odb_free(other);
}

Test(odb, safe_directory_holds_from_the_file_that_the_environment_names)
{
	struct ews_odb *other;
	EWS_CLEANUP(free) char *file = ews_strfmt("%s/elsewhere", top);

	if (geteuid() != 0)
		cr_skip("only root can give a repository away");
	run("chown -R 12345 repo && git config -f elsewhere safe.directory \"$PWD/repo\"");
	cr_assert_eq(ews_odb_open(&other, repo, top), EWS_EDENIED, "%s", ews_error_message());
	setenv("GIT_CONFIG_GLOBAL", file, 1);
	cr_assert_eq(ews_odb_open(&other, repo, top), 0, "%s", ews_error_message());
	ews_odb_free(other);
}

Test(odb, a_ref_moves_only_from_where_it_is_said_to_be)
{
	struct ews_oid none = EWS_OID_NONE, at;
	struct ews_oid one = rev_parse("HEAD~1"), two = rev_parse("HEAD");
	const char *name = "refs/ews/sessions/x/head";

	cr_assert_eq(ews_odb_ref_read(&at, odb, name), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, &two), EWS_ESTALE);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, &none), EWS_ESTALE);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &none, &one), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_swap(odb, name, &none, &two), EWS_ESTALE);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &two, &one), EWS_ESTALE);
	run("git -C repo pack-refs --all");
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, &two), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_read(&at, odb, name), 0);
	cr_assert(ews_oid_equal(&at, &two));
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, NULL), EWS_ESTALE);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &two, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_read(&at, odb, name), EWS_ENOTFOUND);
	run("cd repo && test -z \"$(git for-each-ref refs/ews)\" && git fsck --strict 2>&1");
}

Test(odb, a_ref_that_is_removed_is_gone_whether_it_is_packed_or_has_a_log)
{
	struct ews_oid at;
	struct ews_oid one = rev_parse("HEAD~1"), two = rev_parse("HEAD");
	const char *name = "refs/ews/trash/x";

	/* Loose, over another that is packed. */
	cr_assert_eq(ews_odb_ref_swap(odb, name, NULL, &one), 0, "%s", ews_error_message());
	run("git -C repo pack-refs --all");
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, &two), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, NULL), EWS_ESTALE);
	cr_assert_eq(ews_odb_ref_swap(odb, name, &two, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_read(&at, odb, name), EWS_ENOTFOUND);
	/* With a log, which goes with it. */
	run("cd repo && git update-ref --create-reflog refs/ews/trash/x HEAD && test -s .git/logs/refs/ews/trash/x");
	cr_assert_eq(ews_odb_ref_swap(odb, name, &two, NULL), 0, "%s", ews_error_message());
	run("cd repo && test ! -e .git/logs/refs/ews/trash/x && test -z \"$(git for-each-ref refs/ews)\"");
	/* Alone: no lock and no empty directory stays. */
	cr_assert_eq(ews_odb_ref_swap(odb, name, NULL, &one), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_swap(odb, name, &one, NULL), 0, "%s", ews_error_message());
	run("test ! -e repo/.git/refs/ews");
}

static void add_number(void *payload, size_t i)
{
	ews_buf_addf(payload, "%zu ", i);
}

Test(odb, refs_that_go_together_go_as_each_would)
{
	const struct ews_oid one = rev_parse("HEAD~1"), two = rev_parse("HEAD");
	char loose[] = "refs/ews/trash/loose", packed[] = "refs/ews/trash/packed", both[] = "refs/ews/trash/both";
	char moved[] = "refs/ews/trash/moved", absent[] = "refs/ews/trash/absent", logged[] = "refs/ews/trash/logged";
	char again[] = "refs/ews/trash/again", foreign[] = "refs/heads/foreign";
	const struct ews_ref refs[] = {
		{ .name = loose, .oid = one }, { .name = packed, .oid = one },  { .name = both, .oid = two },
		{ .name = moved, .oid = one }, { .name = absent, .oid = one },  { .name = logged, .oid = two },
		{ .name = again, .oid = two }, { .name = foreign, .oid = one },
	};
	const size_t n = sizeof(refs) / sizeof(*refs);

	/* Whether one that moved is packed as well, or stands by itself, the others go. */
	for (int round = 0; round < 3; round++) {
		EWS_CLEANUP(buf) struct ews_buf told = EWS_BUF_INIT;

		run("cd repo && for r in packed both again; do git update-ref refs/ews/trash/$r HEAD~1 || exit 1; done &&"
		    "git update-ref refs/ews/trash/moved HEAD && git update-ref refs/heads/foreign HEAD~1 && git pack-refs --all &&"
		    "git update-ref refs/ews/trash/loose HEAD~1 && git update-ref refs/ews/trash/both HEAD &&"
		    "git update-ref refs/ews/trash/again HEAD && git pack-refs --all && git update-ref refs/ews/trash/both HEAD &&"
		    "git update-ref refs/ews/trash/loose HEAD~1 && git update-ref --create-reflog refs/ews/trash/logged HEAD");
		if (round == 1)
			run("cd repo && git update-ref -d refs/ews/trash/moved && git update-ref refs/ews/trash/moved HEAD");
		if (round == 2)
			run("cd repo && git update-ref refs/ews/trash/moved HEAD~1 && git pack-refs --all");
		cr_assert_eq(ews_odb_ref_drop_all(odb, refs, n, add_number, &told), round < 2 ? EWS_ESTALE : 0,
			     "%d: %s", round, ews_error_message());
		cr_expect(round == 2 || strstr(ews_error_message(), moved), "%s", ews_error_message());
		ews_error_clear();
		for (size_t i = 0; i < n; i++) {
			struct ews_oid at;
			char number[8];
			const bool stays = i == 3 && round < 2;

			snprintf(number, sizeof(number), "%zu ", i);
			cr_expect_eq(ews_odb_ref_read(&at, odb, refs[i].name), stays ? 0 : EWS_ENOTFOUND, "%d: %s",
				     round, refs[i].name);
			cr_expect_eq(strstr(told.ptr, number) != NULL, !stays && i != 4, "%d: %s: %s", round,
				     refs[i].name, told.ptr);
		}
	}
	run("cd repo && test -z \"$(git for-each-ref refs/ews refs/heads/foreign)\" && test ! -e .git/logs/refs/ews/trash/logged && git fsck --strict 2>&1");
	cr_assert_eq(ews_odb_ref_drop_all(odb, refs, n, NULL, NULL), 0, "%s", ews_error_message());
}

Test(odb, no_hook_and_no_identity_is_needed_to_move_a_ref)
{
	struct ews_oid two = rev_parse("HEAD");

	run("cd repo && printf '#!/bin/sh\\ntouch %s/ran\\nexit 1\\n' \"$PWD\" >.git/hooks/reference-transaction &&"
	    "chmod +x .git/hooks/reference-transaction && rm ../.gitconfig &&"
	    "git config core.logAllRefUpdates always && git config user.useConfigOnly true");
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", NULL, &two), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", &two, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(access("repo/ran", F_OK), -1);
}

Test(odb, a_lock_on_a_ref_is_waited_for_and_then_named)
{
	struct ews_oid two = rev_parse("HEAD");
	pid_t child;

	run("mkdir -p repo/.git/refs/ews && : >repo/.git/refs/ews/a.lock");
	child = fork();
	if (child == 0) {
		ews_clock_sleep_ms(200);
		_exit(unlink("repo/.git/refs/ews/a.lock") < 0);
	}
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", NULL, &two), 0, "%s", ews_error_message());
	waitpid(child, NULL, 0);
	run(": >repo/.git/refs/ews/a.lock");
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", &two, NULL), EWS_EBUSY, "%s", ews_error_message());
	cr_assert(strstr(ews_error_hint_text(), "/repo/.git/refs/ews/a.lock"));
}

Test(odb, a_lock_whose_holder_waits_for_the_disk_is_no_litter)
{
	EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
	struct ews_oid two = rev_parse("HEAD"), at;

	ews_sync_begin(&group);
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", NULL, &two), 0, "%s", ews_error_message());
	run("test -s repo/.git/refs/ews/a.lock && : >repo/.git/refs/ews/left.lock");
	ews_clock_sleep_ms(1100);
	cr_assert_eq(ews_litter_sweep(odb), 0, "%s", ews_error_message());
	run("test -s repo/.git/refs/ews/a.lock && test ! -e repo/.git/refs/ews/left.lock");
	cr_assert_eq(ews_sync_finish(&group), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_read(&at, odb, "refs/ews/a"), 0, "%s", ews_error_message());
	cr_assert(ews_oid_equal(&at, &two));
}

/* Take as many of 100 names as can be had. Returns how many, 255 for a failure. */
static int grab_names(const struct ews_oid *to)
{
	struct ews_odb *own;
	int n = 0;

	if (ews_odb_open(&own, repo, top) < 0)
		return 255;
	for (int i = 0; i < 100; i++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("refs/ews/race/%d", i);
		int rc = ews_odb_ref_swap(own, name, NULL, to);

		if (rc != 0 && rc != EWS_ESTALE)
			return 255;
		n += rc == 0;
	}
	ews_odb_free(own);
	return n;
}

Test(odb, each_name_is_won_by_one_process)
{
	struct ews_oid two = rev_parse("HEAD");
	int sum = 0;

	fflush(NULL);
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			_exit(grab_names(&two));
	for (int i = 0; i < 2; i++) {
		int status;

		cr_assert_gt(wait(&status), 0);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) != 255);
		sum += WEXITSTATUS(status);
	}
	cr_assert_eq(sum, 100);
}

Test(odb, refs_are_listed_by_name_with_broken_ones_left_out)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	struct ews_oid two = rev_parse("HEAD");

	run("cd repo && for r in b/2 b/1 a c; do git update-ref refs/ews/$r HEAD; done && git pack-refs --all &&"
	    "git update-ref refs/ews/b/0 HEAD && git update-ref refs/ewsx HEAD &&"
	    "git symbolic-ref refs/ews/b/s refs/heads/main && git symbolic-ref refs/ews/b/t refs/heads/none &&"
	    "echo rubbish >.git/refs/ews/b/u");
	cr_assert_eq(ews_odb_ref_list(&refs, odb, "refs/ews/b/"), 0, "%s", ews_error_message());
	cr_assert_eq(refs.n, 4);
	cr_assert_str_eq(refs.items[0].name, "refs/ews/b/0");
	cr_assert_str_eq(refs.items[1].name, "refs/ews/b/1");
	cr_assert_str_eq(refs.items[2].name, "refs/ews/b/2");
	cr_assert_str_eq(refs.items[3].name, "refs/ews/b/s");
	cr_assert(ews_oid_equal(&refs.items[3].oid, &two));
	cr_assert_eq(ews_odb_ref_list(&refs, odb, "refs/ews/none"), 0);
	cr_assert_eq(refs.n, 0);
	cr_assert_eq(ews_odb_ref_list(&refs, odb, "refs/ews"), 0);
	cr_assert_eq(refs.n, 7);
}

Test(odb, what_a_packed_tag_leads_to_is_told_of_it_alone)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	struct ews_oid head = rev_parse("HEAD");

	run("cd repo && git tag x/light && git -c user.name=A -c user.email=a@b tag -m tag x/old && git pack-refs --all &&"
	    "git -c user.name=A -c user.email=a@b tag -m tag x/new && git -c user.name=A -c user.email=a@b tag -f -m other x/old &&"
	    "git tag x/zlight");
	cr_assert_eq(ews_odb_ref_list(&refs, odb, "refs/tags/x/"), 0, "%s", ews_error_message());
	cr_assert_eq(refs.n, 4);
	for (size_t i = 0; i < refs.n; i++)
		cr_assert(ews_oid_is_none(&refs.items[i].peeled), "%s", refs.items[i].name);
	run("git -C repo pack-refs --all");
	cr_assert_eq(ews_odb_ref_list(&refs, odb, "refs/tags/x/"), 0, "%s", ews_error_message());
	cr_assert_eq(refs.n, 4);
	for (size_t i = 0; i < refs.n; i++)
		cr_assert(strstr(refs.items[i].name, "light") ? ews_oid_is_none(&refs.items[i].peeled)
							      : ews_oid_equal(&refs.items[i].peeled, &head),
			  "%s", refs.items[i].name);
}

Test(odb, revisions_are_seen_from_the_git_directory_that_was_opened)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/repo/.git/worktrees/twin", top);
	struct ews_oid at, first = rev_parse("HEAD~1"), second = rev_parse("HEAD"), tree = rev_parse("HEAD^{tree}");
	struct ews_odb *twin;

	run("git -C repo worktree add -q --detach ../twin HEAD~1 2>&1");
	cr_assert_eq(ews_odb_open(&twin, git_dir, top), 0, "%s", ews_error_message());
	cr_assert_str_eq(ews_odb_common_dir(twin), repo);
	cr_assert_eq(ews_odb_resolve(&at, twin, "HEAD"), 0);
	cr_assert(ews_oid_equal(&at, &first));
	cr_assert_eq(ews_odb_resolve(&at, odb, "HEAD"), 0);
	cr_assert(ews_oid_equal(&at, &second));
	cr_assert_eq(ews_odb_resolve_commit(&at, twin, "v1"), 0);
	cr_assert(ews_oid_equal(&at, &second));
	cr_assert_eq(ews_odb_resolve(&at, twin, "v1^{tree}"), 0);
	cr_assert(ews_oid_equal(&at, &tree));
	cr_assert_eq(ews_odb_resolve_commit(&at, twin, "HEAD:f"), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_resolve(&at, twin, "no-such"), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_resolve(&at, twin, "^^{"), EWS_ENOTFOUND);
	ews_odb_free(twin);
}

Test(odb, a_commit_is_taken_apart)
{
	EWS_CLEANUP(commit) struct ews_commit commit = EWS_COMMIT_INIT;
	struct ews_oid head = rev_parse("HEAD"), parent = rev_parse("HEAD~1"), tree = rev_parse("HEAD^{tree}");
	EWS_CLEANUP(free) char *time = sh("git -C repo log -1 --format=%ct");

	cr_assert_eq(ews_odb_read_commit(&commit, odb, &head), 0, "%s", ews_error_message());
	cr_assert(ews_oid_equal(&commit.tree, &tree));
	cr_assert_eq(commit.n_parents, 1);
	cr_assert(ews_oid_equal(&commit.parents[0], &parent));
	cr_assert_eq(commit.time, strtoll(time, NULL, 10));
	cr_assert_str_eq(commit.message, "second\n\nbody\n");
	cr_assert_eq(ews_odb_read_commit(&commit, odb, &tree), EWS_EDAMAGED);
	cr_assert_str_eq(commit.message, "second\n\nbody\n");
}

/* Is `key` set to `want` in all of the repository's config? */
static bool has_setting(const char *key, const char *want)
{
	EWS_CLEANUP(free) char *value = NULL;

	return ews_odb_config(&value, odb, key) == 0 && !strcmp(value, want);
}

static bool has_user_setting(const char *key, const char *want)
{
	EWS_CLEANUP(free) char *value = NULL;

	return ews_odb_config_user(&value, key) == 0 && !strcmp(value, want);
}

Test(odb, config_comes_from_the_files_that_git_would_read)
{
	EWS_CLEANUP(free) char *elsewhere = ews_strfmt("%s/elsewhere", top);
	char *value = NULL;

	run("git config --global ews.a global && git config --global ews.b global && git -C repo config ews.b local &&"
	    "git -C repo config ews.c local && git -C repo config extensions.worktreeConfig true &&"
	    "git -C repo config --worktree ews.c worktree && git config -f elsewhere ews.a elsewhere &&"
	    "printf '[ews]\\n\\td\\n' >>.gitconfig");
	cr_assert(has_setting("ews.a", "global"));
	cr_assert(has_setting("ews.b", "local"));
	cr_assert(has_setting("ews.c", "worktree"));
	cr_assert(has_setting("ews.d", "true"));
	cr_assert(has_user_setting("ews.b", "global"));
	cr_assert_eq(ews_odb_config_user(&value, "ews.c"), EWS_ENOTFOUND);
	setenv("GIT_CONFIG_GLOBAL", elsewhere, 1);
	cr_assert(has_user_setting("ews.a", "elsewhere"));
	cr_assert_eq(ews_odb_config_user(&value, "ews.b"), EWS_ENOTFOUND);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	cr_assert_eq(ews_odb_config(&value, odb, "ews.a"), EWS_ENOTFOUND);
	setenv("GIT_CONFIG_SYSTEM", elsewhere, 1);
	cr_assert_eq(ews_odb_config(&value, odb, "ews.a"), EWS_ENOTFOUND);
	unsetenv("GIT_CONFIG_NOSYSTEM");
	cr_assert(has_setting("ews.a", "elsewhere"));
}

/* One whose object is on its way: where a log is to be written the object comes first. */
Test(odb, a_ref_may_be_of_a_later_stage_than_its_object)
{
	for (int logged = 0; logged < 2; logged++) {
		EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(odb);
		EWS_CLEANUP(sync_group) struct ews_sync_group group = EWS_SYNC_GROUP_INIT;
		struct ews_oid oid;

		if (logged)
			run("cd repo && git config core.logAllRefUpdates always && git update-ref -d refs/ews/x");
		cr_assert_eq(ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, logged ? "two" : "one", 3), 0);
		cr_assert_eq(ews_batch_commit_in(batch, &group), 0);
		run("test -z \"$(git -C repo for-each-ref refs/ews)\"");
		cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/x", NULL, &oid), 0, "%s", ews_error_message());
		cr_assert_eq(ews_odb_has(odb, &oid), logged);
		cr_assert_eq(ews_sync_finish(&group), 0);
		run("test -n \"$(git -C repo cat-file blob refs/ews/x)\"");
		cr_assert(ews_odb_has(odb, &oid));
	}
}

static int read_one(size_t i, unsigned worker, void *payload)
{
	const struct ews_oid *ids = payload;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	(void)worker;
	if (i % 7 == 0)
		ews_odb_refresh(odb);
	return ews_odb_read(&text, NULL, odb, &ids[i % 3]);
}

Test(odb, threads_share_one_store)
{
	struct ews_oid ids[3] = { rev_parse("HEAD"), rev_parse("HEAD:f"), rev_parse("HEAD^{tree}") };

	cr_assert_eq(ews_pool_for(2000, 1, 4, read_one, ids), 0, "%s", ews_error_message());
}
