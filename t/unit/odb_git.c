/*
 * The room that asks git says the same as the room of libgit2, and serves SHA-256.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/odb_ops.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
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
#include "base/strv.h"
#include "fixture.h"
#include "store/batch.h"
#include "store/odb.h"

/* Two repositories that are treated alike; what is written to the first goes through libgit2, to the second through git. */
static const char *const repos[] = { "one", "two" };
/* Each read through both rooms: [repository][room]. */
static struct ews_odb *rooms[2][2];

static struct ews_odb *open_room(const char *repo, enum ews_odb_room room)
{
	EWS_CLEANUP(free) char *git_dir = ews_strfmt("%s/%s/.git", fixture_top(), repo);
	struct ews_odb *odb = NULL;

	cr_assert_eq(ews_odb_open_through(&odb, room, git_dir, fixture_top()), 0, "%s", ews_error_message());
	return odb;
}

static void make_repository(const char *repo, const char *hash)
{
	fixture_shell(
		"git init -q --object-format=%s -b main %s && cd %s && echo one >f && mkdir d && echo two >d/g && "
		"git add . && git commit -qm first && echo three >f && git commit -qam second -m body && "
		"git tag -am t v1 && git -c advice.nestedTag=false tag -am tt v2 v1 && git tag light && git branch side HEAD~1",
		hash, repo, repo);
}

static void set_up(void)
{
	setenv("GIT_AUTHOR_DATE", "1700000000 +0000", 1);
	setenv("GIT_COMMITTER_DATE", "1700000000 +0000", 1);
	fixture_begin();
}

TestSuite(odb_git, .init = set_up, .fini = fixture_end);

static struct ews_oid id_of(const char *repo, const char *spec)
{
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid oid = EWS_OID_NONE;

	fixture_ask(&hex, "git -C %s rev-parse '%s'", repo, spec);
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&oid, hex.ptr), 0);
	return oid;
}

/* What a question came to, as one line: the code, then what was found or why not. */
static void describe(struct ews_buf *out, int rc, const char *found)
{
	ews_buf_addf(out, "%d %s\n", rc, rc == 0 ? found : "");
	ews_error_clear();
}

static void describe_oid(struct ews_buf *out, int rc, const struct ews_oid *oid)
{
	char hex[EWS_OID_HEX_MAX];

	describe(out, rc, ews_oid_hex(hex, oid));
}

typedef void (*question_fn)(struct ews_buf *out, struct ews_odb *odb, const void *what);

/* All four must give one answer. */
static void ask_all(const char *name, question_fn question, const void *what)
{
	EWS_CLEANUP(buf) struct ews_buf first = EWS_BUF_INIT;

	question(&first, rooms[0][0], what);
	for (int i = 1; i < 4; i++) {
		EWS_CLEANUP(buf) struct ews_buf other = EWS_BUF_INIT;

		question(&other, rooms[i / 2][i % 2], what);
		cr_assert_str_eq(other.ptr, first.ptr, "EWS_SEED=%zu: %s of '%s' in %s through %s: %s instead of %s",
				 fixture_seed(), name, (const char *)what, repos[i / 2], i % 2 ? "git" : "libgit2",
				 other.ptr, first.ptr);
	}
}

static void ask_object(struct ews_buf *out, struct ews_odb *odb, const void *what)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf copy = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *header = NULL;
	enum ews_object_type type = EWS_OBJECT_BLOB;
	uint64_t size = 0;
	struct ews_oid oid = EWS_OID_NONE;
	int rc, fd;

	cr_assert_eq(ews_oid_parse(&oid, what), 0);
	rc = ews_odb_read_header(&type, &size, odb, &oid);
	header = ews_strfmt("%s %llu", ews_object_type_name(type), (unsigned long long)size);
	describe(out, rc, header);
	rc = ews_odb_read(&text, &type, odb, &oid);
	if (rc < 0)
		ews_buf_addf(out, "%s\n", ews_error_message());
	describe(out, rc, text.ptr);
	fd = open("copy", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	rc = ews_odb_write_to(fd, odb, &oid);
	if (rc < 0)
		ews_buf_addf(out, "%s\n", ews_error_message());
	cr_assert_eq(lseek(fd, 0, SEEK_SET), 0);
	cr_assert_eq(ews_file_read_fd(&copy, fd, EWS_GIB), 0);
	describe(out, rc, copy.ptr);
	close(fd);
	ews_buf_addf(out, "%d %d\n", ews_odb_has(odb, &oid), ews_odb_freshen(odb, &oid));
}

static void ask_ref(struct ews_buf *out, struct ews_odb *odb, const void *what)
{
	struct ews_oid oid = EWS_OID_NONE;
	int rc = ews_odb_ref_read(&oid, odb, what);

	describe_oid(out, rc, &oid);
}

static void ask_list(struct ews_buf *out, struct ews_odb *odb, const void *what)
{
	EWS_CLEANUP(refs) struct ews_refs refs = EWS_REFS_INIT;
	int rc = ews_odb_ref_list(&refs, odb, what);

	describe(out, rc, "");
	for (size_t i = 0; i < refs.n; i++)
		describe_oid(out, rc, &refs.items[i].oid);
	for (size_t i = 0; i < refs.n; i++)
		ews_buf_addf(out, "%s\n", refs.items[i].name);
}

static void ask_resolve(struct ews_buf *out, struct ews_odb *odb, const void *what)
{
	struct ews_oid oid = EWS_OID_NONE;
	int rc;

	rc = ews_odb_resolve(&oid, odb, what);
	describe_oid(out, rc, &oid);
	rc = ews_odb_resolve_commit(&oid, odb, what);
	describe_oid(out, rc, &oid);
}

static void ask_config(struct ews_buf *out, struct ews_odb *odb, const void *what)
{
	EWS_CLEANUP(free) char *value = NULL;
	int rc = ews_odb_config(&value, odb, what);

	describe(out, rc, value);
}

/* Write a few objects, or so many that they become a pack, to both; then read one of them. */
static void round_of_objects(struct ews_strv *known)
{
	struct ews_oid oid[2];
	char text[64], hex[EWS_OID_HEX_MAX];
	size_t n = fixture_pick(4) ? 1 + fixture_pick(3) : 60;
	size_t base = fixture_pick(1000000);

	for (int i = 0; i < 2; i++) {
		EWS_CLEANUP(batch) struct ews_batch *batch = ews_batch_new(rooms[i][i]);

		for (size_t k = 0; k < n; k++) {
			(void)snprintf(text, sizeof(text), "%zu\n", (base + k) % 200);
			cr_assert_eq(ews_batch_add(&oid[i], batch, EWS_OBJECT_BLOB, text, strlen(text)), 0);
		}
		cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
		cr_assert_eq(ews_odb_refresh(rooms[i][0]), 0);
		cr_assert_eq(ews_odb_refresh(rooms[i][1]), 0);
	}
	cr_assert(ews_oid_equal(&oid[0], &oid[1]));
	ews_strv_add(known, ews_oid_hex(hex, &oid[0]));
	ask_all("object", ask_object, known->items[fixture_pick(known->n)]);
}

static void round_of_missing(void)
{
	char hex[41];

	for (int i = 0; i < 40; i++)
		hex[i] = "0123456789abcdef"[fixture_pick(16)];
	hex[40] = '\0';
	ask_all("object", ask_object, hex);
}

/* The same move in both, from where it may or may not be. */
static void round_of_swaps(void)
{
	static const char *const names[] = { "refs/ews/a", "refs/ews/b/c", "refs/ews/b/d", "refs/ews/sessions/x/y" };
	static const char *const specs[] = { "HEAD", "HEAD~1", "v1" };
	const char *name = FIXTURE_ONE_OF(names);
	struct ews_oid from = EWS_OID_NONE, to = EWS_OID_NONE;
	size_t kind = fixture_pick(6);
	int rc[2];

	if (kind < 4 && ews_odb_ref_read(&from, rooms[0][0], name) < 0)
		ews_error_clear();
	else if (kind == 4)
		from = id_of("one", FIXTURE_ONE_OF(specs));
	if (fixture_pick(3) || ews_oid_is_none(&from))
		to = id_of("one", FIXTURE_ONE_OF(specs));
	for (int i = 0; i < 2; i++) {
		rc[i] = ews_odb_ref_swap(rooms[i][i], name, &from, &to);
		cr_assert(rc[i] == 0 || rc[i] == EWS_ESTALE, "EWS_SEED=%zu: %s: %s", fixture_seed(), name,
			  ews_error_message());
	}
	cr_assert_eq(rc[0], rc[1], "EWS_SEED=%zu: %s: %d and %d", fixture_seed(), name, rc[0], rc[1]);
	ask_all("ref", ask_ref, name);
}

static void round_of_lists(void)
{
	static const char *const prefixes[] = { "refs/",   "refs/ews/", "refs/ews/b/", "refs/ews/b", "refs/ews/s",
						"refs/no", "refs/tags", "refs/heads/", "refs/ews" };
	static const char *const names[] = { "HEAD",         "refs/heads/main", "refs/heads/none",
					     "refs/heads",   "refs/heads/*",    "main",
					     "refs/tags/v1", "refs/ews/b",      "",
					     "refs/heads/ma" };

	ask_all("list", ask_list, FIXTURE_ONE_OF(prefixes));
	ask_all("ref", ask_ref, FIXTURE_ONE_OF(names));
}

static void round_of_revisions(void)
{
	static const char *const heads[] = { "HEAD",     "@",     "main",      "v1",
					     "v2",       "light", "side",      "refs/heads/main",
					     "nope",     "",      "tags/v1",   "heads/side",
					     "deadbeef", "-x",    "refs/ews/a" };
	static const char *const tails[] = { "",          "",        "~1",     "^",   "^0",       "^{tree}",
					     "^{commit}", "^{}",     ":f",     ":d",  ":d/g",     ":nope",
					     "~7",        "^{blob}", "^{tag}", ":d/", "^{/first}" };
	static const char *const others[] = { ":f",         ":0:d/g", ":/first",   ":/nothing",
					      "HEAD..main", "^HEAD",  "HEAD HEAD", "HEAD\nHEAD",
					      "*",          "~",      "HEAD@{9" };
	EWS_CLEANUP(free) char *spec = ews_strfmt("%s%s", FIXTURE_ONE_OF(heads), FIXTURE_ONE_OF(tails));
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;

	ask_all("revision", ask_resolve, fixture_pick(5) ? spec : FIXTURE_ONE_OF(others));
	fixture_ask(&hex, "git -C one rev-parse main");
	ews_buf_truncate(&hex, 4 + fixture_pick(37));
	ask_all("revision", ask_resolve, hex.ptr);
}

static void round_of_config(void)
{
	static const char *const keys[] = { "ews.a", "EWS.A", "ews.Sub.a", "ews.sub.a", "ews.x.y.A", "core.bare" };
	static const char *const asked[] = { "ews.a", "Ews.A", "ews.Sub.A", "ews.sub.a", "ews.x.Y.a",
					     "ews.b", "ews",   "core.bare", "",          "ews.d" };
	static const char *const values[] = { "1", "two words", "", "line\nline", "tail " };
	const char *key = FIXTURE_ONE_OF(keys), *value = FIXTURE_ONE_OF(values);

	for (int i = 0; i < 2; i++) {
		if (strcmp(key, "core.bare") != 0)
			fixture_shell("git -C %s config '%s' '%s'", repos[i], key, value);
		else
			fixture_shell("grep -q '\td$' %s/.git/config || printf '[ews]\\n\\td\\n' >>%s/.git/config",
				      repos[i], repos[i]);
	}
	for (int i = 0; i < 3; i++)
		ask_all("setting", ask_config, FIXTURE_ONE_OF(asked));
}

Test(odb_git, both_rooms_say_the_same_in_rounds_of_any_kind)
{
	EWS_CLEANUP(strv) struct ews_strv known = EWS_STRV_INIT;
	char hex[EWS_OID_HEX_MAX];
	static const char *const specs[] = { "HEAD", "HEAD:f", "HEAD:d", "v1" };

	make_repository("one", "sha1");
	fixture_shell("cp -R one two");
	for (int i = 0; i < 4; i++) {
		struct ews_oid oid = id_of("one", specs[i]);

		rooms[i / 2][i % 2] = open_room(repos[i / 2], i % 2 ? EWS_ODB_GIT : EWS_ODB_LIBGIT2);
		ews_strv_add(&known, ews_oid_hex(hex, &oid));
	}
	for (size_t n = fixture_rounds(60); n; n--) {
		switch (fixture_pick(7)) {
		case 0:
			round_of_objects(&known);
			break;
		case 1:
			round_of_missing();
			break;
		case 2:
		case 3:
			round_of_swaps();
			break;
		case 4:
			round_of_lists();
			break;
		case 5:
			round_of_revisions();
			break;
		default:
			round_of_config();
		}
		if (!fixture_pick(20))
			fixture_shell("for r in one two; do git -C $r %s; done",
				      fixture_pick(2) ? "repack -qAd" : "pack-refs --all");
	}
	for (int i = 0; i < 4; i++)
		ews_odb_free(rooms[i / 2][i % 2]);
	fixture_shell("for r in one two; do git -C $r fsck --strict --no-dangling 2>&1; done");
}

/* A store with SHA-256, as everybody gets it. */
static struct ews_odb *open_sha256(void)
{
	struct ews_odb *odb = NULL;

	make_repository("new", "sha256");
	odb = open_room("new", EWS_ODB_FITTING);
	cr_assert_eq(ews_odb_algo(odb), EWS_SHA256);
	return odb;
}

Test(odb_git, objects_with_sha256_are_written_so_that_git_reads_them)
{
	struct ews_odb *odb = open_sha256();
	struct ews_batch *batch = ews_batch_new(odb);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid oid, want, one = id_of("new", "HEAD~1:f");
	enum ews_object_type type;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < (round ? 300 : 2); i++) {
			EWS_CLEANUP(free) char *line = ews_strfmt("%d %d\n", round, i);

			cr_assert_eq(ews_batch_add(&oid, batch, EWS_OBJECT_BLOB, line, strlen(line)), 0);
		}
		cr_assert_not(ews_odb_has(odb, &oid));
		cr_assert_eq(ews_batch_commit(batch), 0, "%s", ews_error_message());
		cr_assert(ews_odb_has(odb, &oid));
	}
	ews_batch_free(batch);
	fixture_ask(&hex, "echo '1 299' | git -C new hash-object --stdin");
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&want, hex.ptr), 0);
	cr_assert(ews_oid_equal(&oid, &want));
	cr_assert_eq(ews_odb_read(&text, &type, odb, &oid), 0);
	cr_assert_str_eq(text.ptr, "1 299\n");
	/* A second thing goes behind the first. */
	cr_assert_eq(ews_odb_read(&text, &type, odb, &one), 0);
	cr_assert_str_eq(text.ptr, "1 299\none\n");
	fixture_shell("cd new && test $(git cat-file --batch-all-objects --batch-check | wc -l) = 312 && "
		      "git verify-pack .git/objects/pack/*.idx && git fsck --strict --no-dangling 2>&1");
	ews_odb_free(odb);
}

Test(odb_git, what_is_there_counts_as_new)
{
	struct ews_odb *odb;
	struct ews_oid loose, packed;
	struct stat st;

	make_repository("new", "sha256");
	fixture_shell(
		"git -C new gc -q && touch -d '2001-01-01' new/.git/objects/pack/*.pack && cd new && "
		"f=$(echo loose | git hash-object -w --stdin | sed 's,^..,.git/objects/&/,') && touch -d '2001-01-01' $f && "
		"git clone -q --shared . ../borrower && ln $f ../loose && ln .git/objects/pack/*.pack ../pack");
	odb = open_room("borrower", EWS_ODB_FITTING);
	packed = id_of("new", "HEAD:f");
	loose = packed;
	ews_odb_hash(&loose, odb, EWS_OBJECT_BLOB, "loose\n", 6);
	cr_assert(ews_odb_freshen(odb, &loose));
	cr_assert_eq(stat("loose", &st), 0);
	cr_assert_gt(st.st_mtime, ews_clock_now() - 3600);
	cr_assert_eq(stat("pack", &st), 0);
	cr_assert_lt(st.st_mtime, ews_clock_now() - 3600);
	cr_assert(ews_odb_freshen(odb, &packed));
	cr_assert_eq(stat("pack", &st), 0);
	cr_assert_gt(st.st_mtime, ews_clock_now() - 3600);
	ews_odb_hash(&loose, odb, EWS_OBJECT_BLOB, "gone\n", 5);
	cr_assert_not(ews_odb_freshen(odb, &loose));
	ews_odb_free(odb);
}

Test(odb_git, damage_is_told_from_absence)
{
	struct ews_odb *odb = open_sha256();
	struct ews_oid blob = id_of("new", "HEAD:f"), other = id_of("new", "HEAD:d/g"), tree = id_of("new", "HEAD:d");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	/* A sound file of another object; then a file that is none; one that is cut short; none at all. */
	fixture_shell(
		"cd new && a=$(git rev-parse HEAD:f) && b=$(git rev-parse HEAD:d/g) && c=$(git rev-parse HEAD:d) && "
		"at() { echo .git/objects/$(echo $1 | sed 's,^..,&/,'); } && cp -f $(at $b) $(at $a) && "
		"rm -f $(at $b) && echo rubbish >$(at $b) && chmod u+w $(at $c) && truncate -s 25 $(at $c)");
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_EDAMAGED);
	cr_assert_eq(ews_odb_write_to(1, odb, &blob), EWS_EDAMAGED);
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &other), EWS_EDAMAGED, "%s", ews_error_message());
	cr_assert(strstr(ews_error_message(), ews_oid_hex(hex, &other)));
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &tree), EWS_EDAMAGED, "%s", ews_error_message());
	cr_assert(strstr(ews_error_message(), ews_oid_hex(hex, &tree)));
	cr_assert_eq(text.len, 0);
	ews_odb_hash(&other, odb, EWS_OBJECT_BLOB, "x", 1);
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &other), EWS_ENOTFOUND);
	cr_assert_str_eq(ews_error_hint_text(), "");
	other = id_of("new", "HEAD");
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &other), 0, "%s", ews_error_message());
	ews_odb_free(odb);
}

Test(odb_git, a_git_that_dies_is_one_error_and_the_next_one_serves)
{
	struct ews_odb *odb = open_sha256();
	struct ews_oid blob = id_of("new", "HEAD:f");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];

	fixture_shell("git -C new repack -qad");
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), 0);
	fixture_shell("for p in $(cat /proc/%d/task/*/children); do tr '\\0' ' ' </proc/$p/cmdline | grep -q '^[^ ]*git cat-file' || continue; "
		      "kill -KILL $p; while ! grep -q ' Z ' /proc/$p/stat; do sleep 0.01; done; done",
		      getpid());
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_EIO);
	cr_assert(strstr(ews_error_message(), "ended by signal 9"), "%s", ews_error_message());
	cr_assert(strstr(ews_error_message(), ews_oid_hex(hex, &blob)));
	cr_assert_eq(ews_error_if_passing(EWS_EIO), EWS_EIO);
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), 0);
	cr_assert_str_eq(text.ptr, "three\nthree\n");
	ews_odb_free(odb);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1, "a child was left behind");
}

Test(odb_git, without_git_there_is_one_error)
{
	struct ews_odb *odb = open_sha256();
	struct ews_oid blob = id_of("new", "HEAD:f");
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;

	fixture_shell("git -C new repack -qad");
	setenv("PATH", "/nonexistent", 1);
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_EIO);
	cr_assert(strstr(ews_error_message(), "cannot run git"), "%s", ews_error_message());
	cr_assert_eq(ews_error_if_passing(EWS_EIO), EWS_EIO);
	cr_assert_not(ews_odb_has(odb, &blob));
	ews_odb_free(odb);
}

Test(odb_git, a_large_blob_is_passed_on_in_steps_and_checked)
{
	struct ews_odb *odb = open_sha256();
	EWS_CLEANUP(buf) struct ews_buf hex = EWS_BUF_INIT;
	struct ews_oid blob, tree = id_of("new", "HEAD:d");
	int fd;

	fixture_ask(&hex,
		    "head -c 40000000 /dev/urandom >big && git -C new -c core.compression=0 hash-object -w ../big");
	ews_buf_rtrim(&hex);
	cr_assert_eq(ews_oid_parse(&blob, hex.ptr), 0);
	fd = open("out", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(ews_odb_write_to(fd, odb, &blob), 0, "%s", ews_error_message());
	close(fd);
	fixture_shell("cmp big out");
	/* What can't be written is left in the middle; the next question is answered all the same. */
	fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	cr_assert_eq(ews_odb_write_to(fd, odb, &blob), EWS_ENOSPACE);
	cr_assert_eq(ews_odb_write_to(fd, odb, &tree), EWS_EDAMAGED);
	cr_assert(strstr(ews_error_message(), "is a tree, not a blob"));
	close(fd);
	cr_assert(ews_odb_has(odb, &blob));
	ews_odb_free(odb);
}

Test(odb_git, a_promised_object_is_named_and_no_helper_runs)
{
	struct ews_odb *odb = open_sha256();
	struct ews_oid blob = id_of("new", "HEAD~1:f");
	EWS_CLEANUP(free) char *hex_spec = ews_strfmt("%064d", 0);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	char hex[EWS_OID_HEX_MAX];
	struct ews_oid at;

	ews_odb_free(odb);
	fixture_shell(
		"git -C new config uploadpack.allowFilter true && "
		"git clone -q --no-checkout --filter=tree:0 \"file://$PWD/new\" partial && cd partial && "
		"git config protocol.allow always && git config protocol.ext.allow always && "
		"git config remote.origin.url \"ext::touch $HOME/ran\" && "
		"git config remote.origin.uploadpack \"touch $HOME/ran;\" && "
		"git config core.fsmonitor \"touch $HOME/ran\" && ! git cat-file -e HEAD^{tree} 2>/dev/null && test -e ../ran && rm ../ran");
	odb = open_room("partial", EWS_ODB_FITTING);
	cr_assert_eq(ews_odb_read(&text, NULL, odb, &blob), EWS_ENOTFOUND);
	cr_assert(strstr(ews_error_message(), ews_oid_hex(hex, &blob)));
	cr_assert(strstr(ews_error_message(), "is missing from this partial clone"));
	cr_assert_not(ews_odb_has(odb, &blob));
	cr_assert_not(ews_odb_freshen(odb, &blob));
	cr_assert_eq(ews_odb_resolve_commit(&at, odb, "HEAD"), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_resolve(&at, odb, "HEAD:f"), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_resolve(&at, odb, "HEAD^{tree}"), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_resolve(&at, odb, hex_spec), EWS_ENOTFOUND);
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/x", &(struct ews_oid)EWS_OID_NONE, &blob), EWS_EGIT);
	cr_assert_eq(access("ran", F_OK), -1, "a helper ran");
	ews_odb_free(odb);
}

Test(odb_git, a_ref_moves_without_hook_and_identity_and_waits_for_a_lock)
{
	struct ews_odb *odb = open_sha256();
	struct ews_oid two = id_of("new", "HEAD"), at;
	const char *lock = "new/.git/refs/ews/a.lock";
	pid_t child;

	fixture_shell(
		"cd new && printf '#!/bin/sh\\ntouch %%s/ran\\nexit 1\\n' \"$PWD\" >.git/hooks/reference-transaction && "
		"chmod +x .git/hooks/reference-transaction && git config core.logAllRefUpdates always && "
		"git config user.useConfigOnly true && mkdir -p .git/refs/ews && : >.git/refs/ews/a.lock");
	unsetenv("GIT_COMMITTER_NAME");
	unsetenv("GIT_COMMITTER_EMAIL");
	fflush(NULL);
	child = fork();
	if (child == 0) {
		ews_clock_sleep_ms(200);
		_exit(unlink(lock) < 0);
	}
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", NULL, &two), 0, "%s", ews_error_message());
	waitpid(child, NULL, 0);
	close(open(lock, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", &two, NULL), EWS_EBUSY, "%s", ews_error_message());
	cr_assert(strstr(ews_error_hint_text(), lock), "%s", ews_error_hint_text());
	unlink(lock);
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/a", &two, NULL), 0, "%s", ews_error_message());
	cr_assert_eq(ews_odb_ref_read(&at, odb, "refs/ews/a"), EWS_ENOTFOUND);
	cr_assert_eq(access("new/ran", F_OK), -1);
	fixture_shell("echo rubbish >new/.git/refs/ews/b");
	cr_assert_eq(ews_odb_ref_read(&at, odb, "refs/ews/b"), EWS_EGIT);
	cr_assert_eq(ews_odb_ref_swap(odb, "refs/ews/b", &two, NULL), EWS_EGIT);
	ews_odb_free(odb);
}

static int read_one(size_t i, unsigned worker, void *payload)
{
	struct ews_odb *odb = payload;
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	struct ews_oid oid;
	enum ews_object_type type;

	(void)worker;
	(void)i;
	ews_odb_hash(&oid, odb, EWS_OBJECT_BLOB, "three\n", 6);
	if (ews_odb_read_header(&type, NULL, odb, &oid) < 0)
		return ews_error_code();
	return ews_odb_read(&text, NULL, odb, &oid);
}

Test(odb_git, threads_share_one_store)
{
	struct ews_odb *odb = open_sha256();

	cr_assert_eq(ews_pool_for(1000, 1, 4, read_one, odb), 0, "%s", ews_error_message());
	ews_odb_free(odb);
}
