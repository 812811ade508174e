/*
 * Snapshots hold all that was there, whatever becomes of it later, and git finds no fault with them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/snapshot.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "fixture.h"
#include "fixture_session.h"
#include "work/kept.h"
#include "work/verify.h"

#define KINDS (FIXTURE_FIFOS | FIXTURE_ATTRS | FIXTURE_IGNORES | FIXTURE_MODES | FIXTURE_ODD_NAMES)

/* How many of the next random digits of ids are the same. */
static int n_equal;

/* In place of libc's: ids take three bytes. */
ssize_t getrandom(void *out, size_t len, unsigned flags)
{
	if (len != 3 || n_equal <= 0)
		return syscall(SYS_getrandom, out, len, flags);
	n_equal--;
	memset(out, 7, len);
	return (ssize_t)len;
}

TestSuite(snapshot, .init = fixture_begin, .fini = fixture_end, .timeout = 120);

static void create(struct ews_snapshot *out, struct ews_skips *skips, struct ews_repo *repo, bool with_ignored)
{
	const struct ews_snapshot_create_opts opts = { .with_ignored = with_ignored };

	cr_assert_eq(ews_snapshot_create(out, skips, repo, NULL, &opts), 1, "EWS_SEED=%zu: %s", fixture_seed(),
		     ews_error_message());
}

/* All that lies in the project and was not left out by name. */
static void list_project(struct ews_entries *out, const char *name, const struct ews_skips *skips)
{
	EWS_CLEANUP(fd) int fd = fixture_open_dir(name);
	size_t kept = 0;

	fixture_list_tree(out, fd, false);
	for (size_t i = 0; i < out->n; i++)
		if (!ews_skips_covering(skips, out->items[i].path))
			out->items[kept++] = out->items[i];
	out->n = kept;
}

static int verify(struct ews_strv *problems, struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(verify) struct ews_verify *all = ews_verify_new(repo);

	return ews_verify_snapshot(problems, all, snapshot);
}

static void assert_sound(struct ews_repo *repo, const struct ews_snapshot *snapshot)
{
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf fsck = EWS_BUF_INIT;

	cr_assert_eq(ews_odb_refresh(repo->odb), 0);
	cr_assert_eq(verify(&problems, repo, snapshot), 0, "EWS_SEED=%zu: %s", fixture_seed(), problems.items[0]);
	fixture_ask(&fsck, "git -C '%s' fsck --strict --no-dangling 2>&1 | grep -v '^\\(notice\\|Checking\\)'; true",
		    repo->project);
	cr_assert_str_empty(fsck.ptr, "EWS_SEED=%zu: %s", fixture_seed(), fsck.ptr);
}

Test(snapshot, it_holds_what_is_there_and_outlives_gc)
{
	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(free) char *name = ews_strfmt("p%zu", round);
		EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project(name, KINDS);
		EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;
		EWS_CLEANUP(content) struct ews_content content = EWS_CONTENT_INIT;
		EWS_CLEANUP(entries) struct ews_entries should = EWS_ENTRIES_INIT;
		EWS_CLEANUP(buf) struct ews_buf index = EWS_BUF_INIT;

		cr_assert_eq(ews_file_read(&index, repo->git_fd, "index", EWS_MIB), 0);
		fixture_shell("cd %s && git ls-files -s | cut -d' ' -f2 >../staged", name);
		create(&snapshot, &skips, repo, fixture_pick(2));
		list_project(&should, name, &skips);
		/* All that was staged goes out of git's sight, and all that is not held by a ref is pruned. */
		fixture_shell("cd %s && rm .git/index && git reset -q && git gc -q --prune=now && while read oid; do "
			      "git cat-file -e $oid || exit 1; done <../staged",
			      name);
		assert_sound(repo, &snapshot);
		cr_assert_eq(ews_snapshot_content(&content, repo, &snapshot), 0, "%s", ews_error_message());
		fixture_assert_same(&content.scan.entries, &should, ews_entry_equal, name);
		cr_assert_eq(content.git.index.len, index.len);
		cr_assert_eq(memcmp(content.git.index.ptr, index.ptr, index.len), 0);
		cr_assert(ews_gitstate_file(&content.git, "HEAD"));
	}
}

/* A project whose index names a blob at each of the paths; the last is its own text. */
static struct ews_repo *make_with_index(const char *const *paths, struct ews_oid *oids)
{
	EWS_CLEANUP(free) char *home = ews_strfmt("%s/home", fixture_top());
	EWS_CLEANUP(index) struct ews_index index = EWS_INDEX_INIT;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_batch *batch;
	struct ews_repo *repo = NULL;

	fixture_shell("git init -q p && cd p && git commit -q --allow-empty -m 1 && touch f");
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0, "%s", ews_error_message());
	batch = ews_batch_new(repo->odb);
	for (; *paths; paths++, oids++) {
		struct ews_index_entry *ie = ews_index_add(&index, *paths);

		cr_assert_eq(ews_batch_add(oids, batch, EWS_OBJECT_BLOB, *paths, strlen(*paths)), 0);
		ie->mode = 0100644;
		ie->oid = *oids;
	}
	cr_assert_eq(ews_batch_commit(batch), 0);
	ews_batch_free(batch);
	ews_index_sort(&index);
	ews_index_format(&text, &index, EWS_SHA1);
	cr_assert_eq(ews_file_replace(repo->git_fd, "index", text.ptr, text.len, 0644), 0);
	return repo;
}

Test(snapshot, staged_content_is_held_under_any_path)
{
	char longest[4093];
	const char *const paths[] = { "a", "a/b", "a/b/c", ".git/x", "git~1", "n\new", longest, NULL };
	struct ews_oid oids[7];
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;

	for (size_t i = 0; i < sizeof(longest) - 1; i++)
		longest[i] = i % 200 == 199 ? '/' : 'n';
	longest[sizeof(longest) - 1] = '\0';
	repo = make_with_index(paths, oids);
	create(&snapshot, NULL, repo, false);
	fixture_shell("cd p && rm .git/index && git gc -q --prune=now");
	assert_sound(repo, &snapshot);
	for (size_t i = 0; paths[i]; i++)
		cr_expect(ews_odb_has(repo->odb, &oids[i]), "%.20s", paths[i]);
}

Test(snapshot, two_of_one_second_have_ids_of_their_own)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", 0);

	for (int i = 0; i < 4; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;

		n_equal = 1;
		create(&snapshot, &skips, repo, false);
	}
}

Test(snapshot, one_that_shows_nothing_new_is_not_made_when_not_asked_for)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", 0);
	EWS_CLEANUP(snapshot) struct ews_snapshot first = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot same = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot other = EWS_SNAPSHOT_INIT;
	const struct ews_snapshot_create_opts opts = { .if_changed = true, .subject = "a\n\n\nb\n\nEws-Snapshot: x" };

	cr_assert_eq(ews_snapshot_create(&first, NULL, repo, NULL, &opts), 1, "%s", ews_error_message());
	cr_assert_eq(ews_snapshot_create(&same, NULL, repo, NULL, &opts), 0);
	cr_assert_str_eq(same.id, first.id);
	cr_assert_str_neq(first.id, "x");
	fixture_shell("touch -d @1 p/.git/index");
	cr_assert_eq(ews_snapshot_create(&other, NULL, repo, NULL, &opts), 1, "%s", ews_error_message());
	cr_assert_str_eq(other.parent, first.id);
}

Test(snapshot, it_is_found_by_its_id_or_what_begins_it)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", 0);
	EWS_CLEANUP(snapshot) struct ews_snapshot first = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot second = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot found = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot head = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshots) struct ews_snapshots list = EWS_SNAPSHOTS_INIT;
	EWS_CLEANUP(free) char *prefix = NULL;

	create(&first, NULL, repo, false);
	create(&second, NULL, repo, false);
	prefix = ews_strndup(first.id, strlen(first.id) - 1);
	if (strncmp(prefix, second.id, strlen(prefix)))
		cr_assert_eq(ews_snapshot_find(&found, repo, prefix), 0, "%s", ews_error_message());
	else
		cr_assert_eq(ews_snapshot_find(&found, repo, first.id), 0);
	cr_assert_str_eq(found.id, first.id);
	ews_snapshot_release(&found);
	cr_assert_eq(ews_snapshot_find(&found, repo, "snap-"), EWS_EUSAGE);
	cr_assert_eq(ews_snapshot_find(&found, repo, ""), EWS_ENOTFOUND);
	cr_assert_eq(ews_snapshot_find(&found, repo, "--all"), EWS_ENOTFOUND);
	cr_assert_eq(ews_snapshot_find(&head, repo, "HEAD"), 0);
	cr_assert(ews_oid_is_none(&head.manifest));
	cr_assert_eq(ews_snapshot_list(&list, repo, NULL, 0), 0);
	cr_assert_eq(list.n, 2);
	cr_assert_str_eq(list.items[0].id, first.id);
}

Test(snapshot, a_manifest_that_lies_is_found_out)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = fixture_make_project("p", 0);
	EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(strv) struct ews_strv problems = EWS_STRV_INIT;

	create(&snapshot, NULL, repo, false);
	snapshot.hash[20] ^= 1;
	cr_assert_eq(verify(&problems, repo, &snapshot), 1);
	snapshot.hash[20] ^= 1;
	ews_strv_clear(&problems);
	cr_assert_eq(verify(&problems, repo, &snapshot), 0);
	snapshot.tree = snapshot.head;
	cr_assert_eq(verify(&problems, repo, &snapshot), 1);
}

Test(snapshot, one_whose_objects_went_before_its_ref_is_no_snapshot)
{
	EWS_CLEANUP(free) char *home = ews_strfmt("%s/home", fixture_top());
	EWS_CLEANUP(repo) struct ews_repo *repo = NULL;

	fixture_shell("git init -q p && cd p && echo 1 >f && git add f && git commit -q -m 1");
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0, "%s", ews_error_message());
	for (size_t i = 0; i < 3; i++) {
		EWS_CLEANUP(snapshot) struct ews_snapshot snapshot = EWS_SNAPSHOT_INIT;
		const struct ews_oid *gone[] = { &snapshot.commit, &snapshot.tree, &snapshot.manifest };
		char hex[EWS_OID_HEX_MAX];
		struct ews_oid oid;

		fixture_shell("echo more >>p/f");
		create(&snapshot, NULL, repo, false);
		cr_assert_eq(ews_snapshot_confirm(repo, &snapshot), 0, "%s", ews_error_message());
		ews_oid_hex(hex, gone[i]);
		fixture_shell("rm -f p/.git/objects/%.2s/%s && ! git -C p cat-file -e %s 2>/dev/null", hex, hex + 2,
			      hex);
		cr_assert_eq(ews_snapshot_confirm(repo, &snapshot), EWS_ESTALE);
		cr_assert(strstr(ews_error_message(), snapshot.id));
		cr_assert_eq(ews_odb_ref_read(&oid, repo->odb, snapshot.ref), EWS_ENOTFOUND);
		ews_error_clear();
	}
}

/* A project of so many directories with a hundred files each; with many its manifest has several pieces. */
static struct ews_repo *make_wide_project(size_t n_dirs)
{
	EWS_CLEANUP(free) char *home = ews_strfmt("%s/home", fixture_top());
	struct ews_repo *repo = NULL;

	fixture_shell("git init -q p && cd p && for d in $(seq %zu); do mkdir d$d && for f in $(seq 100); do echo $d $f >d$d/f$f || exit 1; done; done &&"
		      "ln -s d1 l && ln d1/f1 d1/g1 && git add . && git commit -q -m 1 && sleep 0.03",
		      n_dirs);
	cr_assert_eq(ews_repo_open(&repo, "p", home, EWS_REPO_MAKE_NONE), 0, "%s", ews_error_message());
	return repo;
}

/* What somebody does to it, to a file of his choice or to git's index. */
static void do_something(const char *dir)
{
	static const char *const deeds[] = {
		"echo more >>$f",
		"echo more >>$f",
		"echo other >$f && git add $f",
		"git add $f",
		"git add -A",
		"chmod 755 $f",
		"touch $f",
		"touch -d 2001-02-03 $f",
		"cp -p $f copy && rm $f && mv copy $f",
		"git checkout -q HEAD -- $f",
		"git reset -q",
		"git commit -q -a -m more",
		"cp d1/f2 $f",
		"git mv $f moved && mv moved $f",
		"echo own >$f && git add $f && cp $f d1/f3",
		"ln -fs f2 l",
		"git mv -f $f d1/f4 && cp d1/f4 $f && echo x >d1/f4",
		"rm -f $f",
		"echo new >d1/new",
		"echo .git >d1/extra",
		"echo first >>d1/f1",
	};

	fixture_shell(
		"cd '%s' && f=d1/f%zu && { test -f $f || { rm -f $f && echo back >$f; }; } && { %s || :; } 2>/dev/null && sleep 0.03",
		dir, 1 + fixture_pick(2), FIXTURE_ONE_OF(deeds));
}

/* What the manifest commit of `snapshot` has: sorted lines of `git ls-tree -r`. */
static void list_pins(const char *to, const struct ews_snapshot *snapshot)
{
	char hex[EWS_OID_HEX_MAX];

	fixture_shell("git -C p ls-tree -r -z %s | tr '\\n\\0' '?\\n' | sort >%s",
		      ews_oid_hex(hex, &snapshot->manifest), to);
}

/* `quick` alone is left, and what it names; is that all that the index of `dir` names? */
static void assert_holds_what_is_staged(const char *dir, struct ews_repo *repo, const struct ews_snapshot *quick)
{
	fixture_shell(
		"cd '%s' && git ls-files -s | cut -d' ' -f2 >'%s/staged' && git for-each-ref --format='%%(refname)' refs/ews | grep -v %s | "
		"sed 's/^/delete /' | git update-ref --stdin && rm \"$(git rev-parse --git-path index)\" && git gc -q --prune=now && "
		"while read oid; do git cat-file -e $oid || exit 1; done <'%s/staged'",
		dir, fixture_top(), quick->id, fixture_top());
	assert_sound(repo, quick);
}

/* As if nobody had looked yet. */
static void forget_what_was_found(void)
{
	fixture_shell("find home -name 'cache*' -type f -exec rm {} +");
}

static void assert_same_but_for_pins(const struct ews_snapshot *quick, const struct ews_snapshot *whole)
{
	EWS_CLEANUP(buf) struct ews_buf lacking = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	cr_assert(ews_oid_equal(&quick->tree, &whole->tree), "EWS_SEED=%zu", fixture_seed());
	cr_assert_str_eq(quick->hash, whole->hash);
	list_pins("quick", quick);
	list_pins("whole", whole);
	/* What the index named once may be held for longer than it has to; and by HEAD's tree, under another path. */
	fixture_ask(&lacking,
		    "git -C p rev-list --objects %s | cut -c 1-40 >held; comm -13 quick whole | grep -v -F -f held; "
		    "comm -23 quick whole | grep -v '\\(staged\\|extra\\|trees\\)/'; true",
		    ews_oid_hex(hex, &quick->commit));
	cr_assert_str_empty(lacking.ptr, "EWS_SEED=%zu: %s", fixture_seed(), lacking.ptr);
}

Test(snapshot, one_that_takes_much_from_the_one_before_is_the_one_that_is_written_whole)
{
	for (size_t round = 0; round < fixture_rounds(3); round++) {
		EWS_CLEANUP(repo) struct ews_repo *repo = make_wide_project(round % 3 ? 2 : 20);
		EWS_CLEANUP(snapshot) struct ews_snapshot whole = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(snapshot) struct ews_snapshot quick = EWS_SNAPSHOT_INIT;

		for (size_t i = 0, n = 2 + fixture_pick(4); i < n; i++) {
			ews_snapshot_release(&quick);
			create(&quick, NULL, repo, false);
			for (size_t k = fixture_pick(3); k; k--)
				do_something("p");
		}
		ews_snapshot_release(&quick);
		create(&quick, NULL, repo, false);
		forget_what_was_found();
		create(&whole, NULL, repo, false);
		assert_same_but_for_pins(&quick, &whole);
		assert_holds_what_is_staged("p", repo, &quick);
		fixture_shell("rm -rf p home");
	}
}

/* Of the workspace. */
static void create_in(struct ews_snapshot *out, struct ews_repo *repo)
{
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(skips) struct ews_skips skips = EWS_SKIPS_INIT;

	ews_snapshot_release(out);
	fixture_open_session(&session, repo, "s");
	cr_assert_eq(ews_snapshot_create(out, &skips, repo, &session, &(struct ews_snapshot_create_opts){ 0 }), 1,
		     "EWS_SEED=%zu: %s", fixture_seed(), ews_error_message());
}

Test(snapshot, what_a_revert_brought_back_is_known_with_its_pins)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_wide_project(2);
	EWS_CLEANUP(free) char *ws = fixture_start(repo, "s");
	EWS_CLEANUP(session) struct ews_session session = EWS_SESSION_INIT;
	EWS_CLEANUP(buf) struct ews_buf memo = EWS_BUF_INIT;
	struct ews_kept kept;

	/* Git's index is as old as is needed to know it again. */
	fixture_shell("cd '%s' && echo more >>d1/f2 && sleep 0.03", ws);
	fixture_revert(repo, "s", (struct ews_revert_opts){ 0 });
	fixture_open_session(&session, repo, "s");
	cr_assert(ews_cache_peek(&memo, session.fd, EWS_SESSION_CACHE));
	cr_assert(ews_kept_parse(&kept, &memo));
	cr_assert_str_eq(kept.ref, EWS_REF_SESSIONS "s");
	cr_assert(kept.named);
}

/* What is remembered of a target holds for it, whatever was there before it was put back. */
Test(snapshot, one_of_what_a_revert_brought_back_is_the_one_that_is_written_whole)
{
	static const char *const only[] = { "d1/f2", "d1/f3", NULL };

	for (size_t round = 0; round < fixture_rounds(4); round++) {
		EWS_CLEANUP(repo) struct ews_repo *repo = make_wide_project(2);
		EWS_CLEANUP(snapshot) struct ews_snapshot whole = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(snapshot) struct ews_snapshot quick = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(snapshot) struct ews_snapshot former = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(free) char *ws = fixture_start(repo, "s");
		struct ews_revert_opts back = { .to = NULL };

		for (size_t i = 0, n = 2 + fixture_pick(4); i < n; i++) {
			for (size_t k = fixture_pick(3); k; k--)
				do_something(ws);
			if (fixture_pick(2))
				create_in(&former, repo);
			for (size_t k = fixture_pick(3); k; k--)
				do_something(ws);
			back.to = former.id && fixture_pick(3) ? former.id : NULL;
			back.only = fixture_pick(3) ? NULL : only;
			fixture_revert(repo, "s", back);
			/* What is touched right after it was put can't be told from that. */
			fixture_shell("sleep 0.03");
			if (fixture_pick(2))
				create_in(&quick, repo);
		}
		for (size_t k = fixture_pick(3); k; k--)
			do_something(ws);
		create_in(&quick, repo);
		forget_what_was_found();
		create_in(&whole, repo);
		assert_same_but_for_pins(&quick, &whole);
		assert_holds_what_is_staged(ws, repo, &quick);
		fixture_shell("rm -rf p home");
	}
}

/* Where a line of the manifest matters to others, and where a content is in no tree, little is taken. */
Test(snapshot, of_the_one_before_is_taken_what_is_so_still)
{
	static const char *const deeds[] = {
		"echo more >>d7/f7",
		"rm d9/f9 && cp -p d5/f5 d9/f9",
		"echo more >>d9/git~1",
	};

	for (size_t i = 0; i < sizeof(deeds) / sizeof(*deeds); i++) {
		EWS_CLEANUP(repo) struct ews_repo *repo = make_wide_project(20);
		EWS_CLEANUP(snapshot) struct ews_snapshot whole = EWS_SNAPSHOT_INIT;
		EWS_CLEANUP(snapshot) struct ews_snapshot quick = EWS_SNAPSHOT_INIT;

		fixture_shell(
			"cd p && rm d1/g1 && echo own >d9/git~1 && { test %zu != 1 || ln -f d5/f5 d9/f9; } && sleep 0.03",
			i);
		create(&quick, NULL, repo, false);
		ews_snapshot_release(&quick);
		fixture_shell("cd p && %s && sleep 0.03", deeds[i]);
		create(&quick, NULL, repo, false);
		forget_what_was_found();
		create(&whole, NULL, repo, false);
		assert_same_but_for_pins(&quick, &whole);
		fixture_shell("rm -rf p home");
	}
}

Test(snapshot, of_a_large_one_that_changed_a_little_little_is_written)
{
	EWS_CLEANUP(repo) struct ews_repo *repo = make_wide_project(30);
	EWS_CLEANUP(buf) struct ews_buf count = EWS_BUF_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot first = EWS_SNAPSHOT_INIT;
	EWS_CLEANUP(snapshot) struct ews_snapshot second = EWS_SNAPSHOT_INIT;

	create(&first, NULL, repo, false);
	fixture_shell("echo more >>p/d7/f7 && sleep 0.03 && git -C p count-objects -v >before");
	create(&second, NULL, repo, false);
	/* A blob, two trees, a piece of the manifest, its two trees, and two commits. */
	fixture_ask(
		&count,
		"git -C p count-objects -v | grep -h '^\\(count\\|in-pack\\)' before - | awk '/count/ { n = $2 - n } /in-pack/ { m = $2 - m } END { print n + m }'");
	cr_assert_leq(strtoul(count.ptr, NULL, 10), 9);
}
