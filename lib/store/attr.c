/*
 * Attributes: see attr.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/attr.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/path_line.h"

#define ANSWER_MAX (4 * EWS_GIB)

bool ews_attr_has_program(struct ews_odb *odb, const char *filter)
{
	static const char *const programs[] = { "smudge", "process", "clean" };
	bool found = false;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs) && !found; i++) {
		EWS_CLEANUP(free) char *key = ews_strfmt("filter.%s.%s", filter, programs[i]);
		EWS_CLEANUP(free) char *value = NULL;

		/* What can't be read just now may name one. */
		found = ews_odb_config_if_set(&value, odb, key) < 0 || (value && *value);
		ews_error_clear();
	}
	return found;
}

/* Triples of path, name and value, each ended by NUL. */
static void tell(const struct ews_buf *answer, ews_attr_fn fn, void *payload)
{
	const char *at = answer->ptr, *end = answer->ptr + answer->len;

	while (at < end) {
		const char *path = at;
		const char *name = path + strlen(path) + 1;
		const char *value = name < end ? name + strlen(name) + 1 : end;

		if (value >= end)
			return;
		at = value + strlen(value) + 1;
		if (strcmp(value, "unspecified") != 0)
			fn(payload, path, name, value);
	}
}

void ews_attr_places(struct ews_strv *out, const struct ews_strv *paths)
{
	EWS_CLEANUP(strv) struct ews_strv dirs = EWS_STRV_INIT;

	for (size_t i = 0; i < paths->n; i++) {
		EWS_CLEANUP(free) char *dir = ews_path_dir(paths->items[i]);

		ews_strv_add(&dirs, dir);
	}
	ews_strv_unique(&dirs);
	ews_strv_add(out, EWS_ATTRIBUTES);
	for (size_t i = 0; i < dirs.n; i++) {
		char *dir = dirs.items[i];

		while (*dir) {
			char *slash = strrchr(dir, '/');

			ews_strv_addf(out, "%s/" EWS_ATTRIBUTES, dir);
			*(slash ? slash : dir) = '\0';
		}
	}
	ews_strv_unique(out);
}

/* Git opens what gives attributes whatever it is, and waits for who writes into a FIFO: that may be never. */
static int refuse_waits(const char *work_tree, const struct ews_buf *paths)
{
	EWS_CLEANUP(fd) int root = ews_dir_open(work_tree);
	EWS_CLEANUP(strv) struct ews_strv list = EWS_STRV_INIT;
	EWS_CLEANUP(strv) struct ews_strv places = EWS_STRV_INIT;

	for (const char *at = paths->ptr; at < paths->ptr + paths->len; at += strlen(at) + 1)
		ews_strv_add(&list, at);
	ews_attr_places(&places, &list);
	for (size_t i = 0; i < places.n && root >= 0; i++) {
		const char *name;
		EWS_CLEANUP(fd) int dir = ews_dir_open_parent(root, places.items[i], &name);
		struct stat st;

		if (dir < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
			continue;
		ews_error_clear();
		ews_error(EWS_EUNSUPPORTED, "'%s' in '%s' is no file, and git would wait for what it says",
			  places.items[i], work_tree);
		ews_error_hint("move it away");
		return EWS_EUNSUPPORTED;
	}
	ews_error_clear(); /* what is not there is not waited for */
	return 0;
}

int ews_attr_ask(const struct ews_git_opts *git, const struct ews_strv *config, const struct ews_buf *paths,
		 const char *const *names, ews_attr_fn fn, void *payload)
{
	EWS_CLEANUP(strv) struct ews_strv args = EWS_STRV_INIT;
	EWS_CLEANUP(buf) struct ews_buf answer = EWS_BUF_INIT;
	struct ews_git_opts opts = *git;
	int rc;

	if (!paths->len)
		return 0;
	rc = git->work_tree ? refuse_waits(git->work_tree, paths) : 0;
	if (rc < 0)
		return rc;
	ews_buf_init_max(&answer, ANSWER_MAX);
	opts.input = paths->ptr;
	opts.input_len = paths->len;
	opts.out = &answer;
	ews_strv_add_array(&args, config->items);
	ews_strv_add_all(&args, "check-attr", "-z", "--stdin", NULL);
	for (size_t i = 0; names[i]; i++)
		ews_strv_add(&args, names[i]);
	rc = ews_git_run(&opts, args.items);
	if (rc == 0)
		tell(&answer, fn, payload);
	return rc < 0 ? rc : 0;
}

void ews_attr_name_filtered(struct ews_strv *out, struct ews_odb *odb, const char *path, const char *value)
{
	if (*value && strcmp(value, "set") != 0 && strcmp(value, "unset") != 0 && ews_attr_has_program(odb, value))
		ews_path_line_add(out, path, value);
}

struct filtered {
	struct ews_strv *out;
	struct ews_odb *odb;
};

static void add_filtered(void *payload, const char *path, const char *name, const char *value)
{
	struct filtered *filtered = payload;

	(void)name; /* "filter": no other was asked for */
	ews_attr_name_filtered(filtered->out, filtered->odb, path, value);
}

int ews_attr_filtered(struct ews_strv *out, struct ews_odb *odb, const char *home, const char *work_tree,
		      const struct ews_strv *paths)
{
	static const char *const names[] = { "filter", NULL };
	EWS_CLEANUP(buf) struct ews_buf question = EWS_BUF_INIT;
	EWS_CLEANUP(free) char *neutral = NULL;
	struct ews_git_opts git = { .object_dir = ews_odb_write_dir(odb), .work_tree = work_tree };
	const struct ews_strv config = EWS_STRV_INIT;
	struct filtered filtered = { out, odb };
	int rc;

	if (!paths->n)
		return 0;
	rc = ews_git_neutral_dir(&neutral, home, ews_odb_algo(odb));
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < paths->n; i++)
		ews_buf_addz(&question, paths->items[i]);
	git.neutral_dir = neutral;
	return ews_attr_ask(&git, &config, &question, names, add_filtered, &filtered);
}
