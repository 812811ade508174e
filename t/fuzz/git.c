/*
 * Git: see git.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "git.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HANGS_AFTER_S 120
#define ID_RAW 20

static int open_memory(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		die("cannot make a file in memory: %s", strerror(errno));
	return fd;
}

/* Takes all that was written to `fd`, and closes it. */
static void take_output(struct text *out, int fd)
{
	char chunk[65536];
	ssize_t got;

	text_clear(out);
	text_add(out, "", 0);
	if (lseek(fd, 0, SEEK_SET) < 0)
		die("cannot read what a child said: %s", strerror(errno));
	while ((got = read(fd, chunk, sizeof(chunk))) > 0)
		text_add(out, chunk, (size_t)got);
	close(fd);
}

static void become(const char *dir, int in, int out, int err, const char *const *argv)
{
	if (chdir(dir) < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	alarm(HANGS_AFTER_S);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int run_child(struct child *child, const char *dir, const struct text *input, const char *const *argv)
{
	int in = input ? open_memory("in") : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open_memory("out"), err = open_memory("err");
	int status;
	pid_t pid;

	if (in < 0 || (input && (write(in, input->ptr, input->len) != (ssize_t)input->len || lseek(in, 0, SEEK_SET))))
		die("cannot feed %s: %s", argv[0], strerror(errno));
	pid = fork();
	if (pid == 0)
		become(dir, in, out, err, argv);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("cannot run %s: %s", argv[0], strerror(errno));
	close(in);
	take_output(&child->out, out);
	take_output(&child->err, err);
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return child->status;
}

void must(const char *dir, const char *const *argv)
{
	struct child child = CHILD_INIT;

	if (run_child(&child, dir, NULL, argv) != 0)
		die("%s %s: status %d: %s", argv[0], argv[1] ? argv[1] : "", child.status, child.err.ptr);
	child_release(&child);
}

void child_release(struct child *child)
{
	text_release(&child->out);
	text_release(&child->err);
}

const char *const refused_names[] = { ".GIT",    ".Git", "git~1", "GIT~1", ".git ", ".git.", ".g\xe2\x80\x8cit",
				      "w\\.git", NULL };

bool fits_tree(const struct item *item)
{
	const char *at = item->path;

	if (!S_ISREG(item->mode) && !S_ISLNK(item->mode))
		return false;
	while (*at) {
		size_t len = strcspn(at, "/");

		for (const char *const *name = refused_names; *name; name++)
			if (strlen(*name) == len && !strncmp(at, *name, len))
				return false;
		at += len + (at[len] == '/');
	}
	return true;
}

static void object_id(unsigned char out[ID_RAW], const char *type, const void *data, size_t len)
{
	struct sha1_ctx hash;
	char header[64];
	int header_len = snprintf(header, sizeof(header), "%s %zu", type, len) + 1;

	sha1_init(&hash);
	sha1_update(&hash, (size_t)header_len, (const uint8_t *)header);
	sha1_update(&hash, len, data);
	sha1_digest(&hash, ID_RAW, out);
}

static void to_hex(char out[ID_HEX], const unsigned char id[ID_RAW])
{
	for (size_t i = 0; i < ID_RAW; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

void blob_id(char out[ID_HEX], const struct item *item)
{
	unsigned char id[ID_RAW];

	object_id(id, "blob", item->data, item->len);
	to_hex(out, id);
}

struct tree_entry {
	const char *name;
	const char *mode;
	bool is_dir;
	unsigned char id[ID_RAW];
};

/* git compares a directory's name as if a slash ended it. */
static int cmp_tree_entries(const void *a, const void *b)
{
	const struct tree_entry *x = a, *y = b;
	char *left = join(x->name, ""), *right = join(y->name, "");
	int order;

	left[strlen(left) - !x->is_dir] = '\0';
	right[strlen(right) - !y->is_dir] = '\0';
	order = strcmp(left, right);
	free(left);
	free(right);
	return order;
}

struct tree_making {
	const struct list *list;
	size_t at; /* the next item */
	item_wants_fn wants;
	const void *payload;
};

/* The tree of the items beneath `dir`, which come next. Returns how many entries it has. */
static size_t make_tree(unsigned char out[ID_RAW], struct tree_making *making, const char *dir)
{
	struct tree_entry *entries = NULL;
	struct text body = TEXT_INIT;
	size_t n = 0, cap = 0;

	while (making->at < making->list->n && path_is_in(making->list->items[making->at].path, dir)) {
		const struct item *item = &making->list->items[making->at++];
		struct tree_entry entry = { .name = path_base(item->path), .is_dir = S_ISDIR(item->mode) };
		bool holds = true;

		entry.mode = S_ISDIR(item->mode)   ? "40000"
			     : S_ISLNK(item->mode) ? "120000"
			     : item->mode & 0100   ? "100755"
						   : "100644";
		if (entry.is_dir)
			holds = make_tree(entry.id, making, item->path) > 0;
		else if (fits_tree(item) && making->wants(item, making->payload))
			object_id(entry.id, "blob", item->data, item->len);
		else
			holds = false;
		if (!holds)
			continue;
		if (n == cap) {
			cap = 2 * cap + 16;
			entries = grow(entries, cap * sizeof(*entries));
		}
		entries[n++] = entry;
	}
	if (n)
		qsort(entries, n, sizeof(*entries), cmp_tree_entries);
	text_add(&body, "", 0);
	for (size_t i = 0; i < n; i++) {
		text_addf(&body, "%s %s", entries[i].mode, entries[i].name);
		text_add(&body, "", 1);
		text_add(&body, entries[i].id, ID_RAW);
	}
	object_id(out, "tree", body.ptr, body.len);
	text_release(&body);
	free(entries);
	return n;
}

void tree_id(char out[ID_HEX], const struct list *list, item_wants_fn wants, const void *payload)
{
	struct tree_making making = { list, 0, wants, payload };
	unsigned char id[ID_RAW];

	make_tree(id, &making, "");
	to_hex(out, id);
}

static bool belongs_to_work_tree(const char *name)
{
	static const char *const names[] = { "index",      "HEAD",     "ORIG_HEAD",  "MERGE_HEAD", "MERGE_MSG",
					     "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG", NULL };

	for (const char *const *at = names; *at; at++)
		if (!strcmp(name, *at))
			return true;
	return !strncmp(name, "sharedindex.", 12);
}

/* `branch` is "--branch" or "--no-branch". */
static void take_status(struct text *out, const char *work_tree, const char *branch)
{
	struct child child = CHILD_INIT;

	RUN(&child, work_tree, NULL, "git", "--no-optional-locks", "status", "--porcelain=v2", "-z",
	    "--untracked-files=all", branch);
	text_clear(out);
	text_addf(out, "status %d", child.status);
	text_add(out, "", 1);
	text_add(out, child.out.ptr, child.out.len);
	child_release(&child);
}

/* What status says when git can't trust a single time. */
static void take_truth(struct gitstate *out, const char *work_tree, const char *copy, const char *branch)
{
	const struct item *index = list_find(&out->files, "index");
	struct timespec old[2] = { { 1, 0 }, { 1, 0 } };
	int fd;

	if (!index) {
		take_status(&out->truth, work_tree, branch);
		return;
	}
	fd = open(copy, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, index->data, index->len) != (ssize_t)index->len || futimens(fd, old) < 0)
		die("cannot write '%s': %s", copy, strerror(errno));
	close(fd);
	setenv("GIT_INDEX_FILE", copy, 1);
	take_status(&out->truth, work_tree, branch);
	unsetenv("GIT_INDEX_FILE");
}

void gitstate_take_files(struct gitstate *out, const struct list *files, const char *git_dir)
{
	size_t kept = 0;

	out->is_blind = out->converts = false;
	for (size_t i = 0; i < files->n; i++) {
		out->converts = out->converts || !strcmp(path_base(files->items[i].path), ".gitattributes");
		out->is_blind = out->is_blind ||
				(S_ISREG(files->items[i].mode) && (uint32_t)files->items[i].mtime.tv_sec == 0);
	}

	list_take(&out->files, git_dir, LIST_GIT | LIST_SHALLOW);
	for (size_t i = 0; i < out->files.n; i++) {
		struct item *item = &out->files.items[i];

		if (belongs_to_work_tree(item->path)) {
			out->files.items[kept++] = *item;
			continue;
		}
		free(item->path);
		free(item->data);
		free(item->attrs);
	}
	out->files.n = kept;
}

void gitstate_take_status(struct gitstate *out, const char *work_tree, const char *copy)
{
	take_status(&out->status, work_tree, "--no-branch");
	take_truth(out, work_tree, copy, "--no-branch");
}

/* Take the lines "# branch.<key> <value>" out of what status says; which branch it is HEAD's own file tells. */
static void split_head(struct gitstate *out)
{
	static const char oid[] = "# branch.oid ";
	struct text rest = TEXT_INIT;
	struct text *truth = &out->truth;

	*out->head = '\0';
	for (size_t at = 0; at < truth->len; at += strlen(truth->ptr + at) + 1) {
		const char *line = truth->ptr + at;

		if (strncmp(line, "# branch.", strlen("# branch.")) != 0)
			text_add(&rest, line, strlen(line) + 1);
		else if (!strncmp(line, oid, strlen(oid)) && line[strlen(oid)] != '(')
			snprintf(out->head, sizeof(out->head), "%s", line + strlen(oid));
	}
	text_release(truth);
	*truth = rest;
}

void gitstate_take_head(struct gitstate *out, const char *work_tree, const char *copy)
{
	take_truth(out, work_tree, copy, "--branch");
	split_head(out);
}

void gitstate_take(struct gitstate *out, const struct list *files, const char *work_tree, const char *git_dir,
		   const char *copy)
{
	gitstate_take_files(out, files, git_dir);
	gitstate_take_status(out, work_tree, copy);
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->ptr, b->ptr, a->len));
}

static void add_status(struct text *report, const struct text *status)
{
	for (size_t at = 0; at < status->len; at += strlen(status->ptr + at) + 1) {
		struct text line = TEXT_INIT;

		text_add_name(&line, status->ptr + at);
		text_addf(report, "    %s\n", line.ptr ? line.ptr : "");
		text_release(&line);
	}
}

static void compare_status(struct text *report, const char *what, const struct text *before, const struct text *after)
{
	if (same_text(before, after))
		return;
	text_addf(report, "%s: git status was\n", what);
	add_status(report, before);
	text_addf(report, "  and is\n");
	add_status(report, after);
}

void status_compare(struct text *report, const char *what, const struct gitstate *before, const struct gitstate *after)
{
	if (before->is_blind || after->is_blind)
		return;
	compare_status(report, what, &before->truth, &after->truth);
	if (!before->converts && same_text(&before->status, &before->truth))
		compare_status(report, what, &before->status, &after->status);
}

void gitstate_compare(struct text *report, const char *what, const struct gitstate *before,
		      const struct gitstate *after)
{
	for (size_t i = 0; i < before->files.n; i++) {
		const struct item *a = &before->files.items[i];
		const struct item *b = list_find(&after->files, a->path);

		if (!b)
			text_addf(report, "%s: %s is gone\n", what, a->path);
		else if (a->len != b->len || memcmp(a->data, b->data, a->len) != 0)
			text_addf(report, "%s: %s differs\n", what, a->path);
		else if (!strcmp(a->path, "index") &&
			 (a->mtime.tv_sec != b->mtime.tv_sec || a->mtime.tv_nsec != b->mtime.tv_nsec))
			text_addf(report, "%s: the index has another time\n", what);
	}
	for (size_t i = 0; i < after->files.n; i++)
		if (!list_find(&before->files, after->files.items[i].path))
			text_addf(report, "%s: %s is new\n", what, after->files.items[i].path);
}

void gitstate_compare_head(struct text *report, const char *what, const struct gitstate *before,
			   const struct gitstate *after, bool with_status)
{
	if (strcmp(before->head, after->head) != 0)
		text_addf(report, "%s: HEAD was at '%s', and is at '%s'\n", what, before->head, after->head);
	if (with_status && !before->is_blind && !after->is_blind)
		compare_status(report, what, &before->truth, &after->truth);
}

void gitstate_release(struct gitstate *state)
{
	list_release(&state->files);
	text_release(&state->status);
	text_release(&state->truth);
	*state = (struct gitstate)GITSTATE_INIT;
}
