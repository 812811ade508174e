/*
 * Includes: see include.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/include.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"

#define BYTES_MAX (16 * EWS_MIB)
#define KEY "\tpath = \""
/* Before ours where the last line goes on in the next: that one is empty to git, and known to us. */
#define CLOSING "# the line above goes on no further\n"

/* A config file under git's lock. */
struct held {
	char *file; /* links followed */
	char *lock;
	int fd; /* of the lock; it becomes the file */
	mode_t mode;
	struct ews_buf text;
	sigset_t before; /* which signals wait until it is let go, where there is a lock: nobody sweeps that one up */
};

#define HELD_INIT { .file = NULL, .lock = NULL, .fd = -1, .mode = 0666, .text = EWS_BUF_INIT }

static void hold_signals(sigset_t *before)
{
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	(void)pthread_sigmask(SIG_BLOCK, &ends, before);
}

/* What was not written is as if nothing had been begun. */
static void release_held(struct held *held)
{
	if (held->fd >= 0) {
		close(held->fd);
		(void)unlink(held->lock);
	}
	if (held->lock)
		(void)pthread_sigmask(SIG_SETMASK, &held->before, NULL);
	free(held->file);
	free(held->lock);
	ews_buf_release(&held->text);
}

EWS_CLEANUP_DEFINE(held, struct held, release_held)

static int read_text(struct ews_buf *out, mode_t *out_mode, const char *file)
{
	EWS_CLEANUP(fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : ews_error_os("cannot open '%s'", file);
	if (fstat(fd, &st) < 0)
		return ews_error_os("cannot look at '%s'", file);
	if (!S_ISREG(st.st_mode))
		return ews_error(EWS_EDENIED, "'%s' is no file that can be written", file);
	*out_mode = st.st_mode & 07777;
	return ews_file_read_fd(out, fd, BYTES_MAX);
}

static int hold(struct held *out, const char *file)
{
	EWS_CLEANUP(free) char *real = realpath(file, NULL);

	hold_signals(&out->before);
	out->file = ews_strdup(real ? real : file);
	out->lock = ews_strfmt("%s.lock", out->file);
	out->fd = open(out->lock, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (out->fd < 0 && errno == EEXIST)
		return ews_error(EWS_EBUSY, "'%s' is there: somebody else writes '%s'", out->lock, out->file);
	if (out->fd < 0)
		return ews_error_os("cannot make '%s'", out->lock);
	return read_text(&out->text, &out->mode, out->file);
}

static int write_held(struct held *held, const struct ews_buf *text)
{
	EWS_CLEANUP(free) char *dir = ews_path_dir(held->file);
	EWS_CLEANUP(fd) int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = ews_file_write_fd(held->fd, text->ptr, text->len);

	if (rc == 0 && held->mode != 0666 && fchmod(held->fd, held->mode) < 0)
		rc = ews_error_os("cannot set the mode of '%s'", held->lock);
	if (rc == 0 && fsync(held->fd) < 0)
		rc = ews_error_os("cannot write '%s'", held->lock);
	if (rc == 0 && rename(held->lock, held->file) < 0)
		rc = ews_error_os("cannot replace '%s'", held->file);
	if (rc < 0)
		return rc;
	close(held->fd);
	held->fd = -1;
	return dir_fd < 0 ? 0 : ews_file_sync_dir(dir_fd);
}

/* As a value of git's config. */
static char *format_line(const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_buf_adds(&line, KEY);
	for (; *path; path++) {
		if (*path == '"' || *path == '\\')
			ews_buf_addc(&line, '\\');
		if (*path == '\n')
			ews_buf_adds(&line, "\\n");
		else
			ews_buf_addc(&line, *path);
	}
	ews_buf_adds(&line, "\"");
	return ews_buf_steal(&line);
}

/* "gitdir:<git dir><end>" as the name of a section: what is a pattern's is made plain, and then what is a name's. */
static void add_condition(struct ews_buf *out, const char *git_dir, const char *end)
{
	ews_buf_adds(out, "[includeIf \"gitdir:");
	for (; *git_dir; git_dir++) {
		if (strchr("*?[\\", *git_dir))
			ews_buf_adds(out, "\\\\");
		if (*git_dir == '"' || *git_dir == '\\')
			ews_buf_addc(out, '\\');
		ews_buf_addc(out, *git_dir);
	}
	ews_buf_addf(out, "%s\"]\n", end);
}

/* Does nothing follow that belongs to the section before it? */
static bool is_section(const char *at, const char *end)
{
	while (at < end && strchr(" \t\r\n", *at))
		at++;
	return at == end || *at == '[';
}

/* Is that `line`, or, where its path is relative, one that names it from another directory? */
static bool is_ours(const char *at, size_t len, const char *line)
{
	const char *path = line + strlen(KEY);
	size_t end = strlen(path);

	if (len == strlen(line) && !memcmp(at, line, len))
		return true;
	return *path != '/' && len > strlen(line) && !memcmp(at, KEY, strlen(KEY)) && at[len - end - 1] == '/' &&
	       !memcmp(at + len - end, path, end);
}

/* Take `end` off `text`, where it ends so. */
static void drop_end(struct ews_buf *text, const char *end)
{
	size_t len = strlen(end);

	if (text->len >= len && !memcmp(text->ptr + text->len - len, end, len))
		ews_buf_truncate(text, text->len - len);
}

/* Copy `text` without our lines. A section in which somebody has written since stays. Returns whether there were any. */
static bool strip(struct ews_buf *out, const struct ews_buf *text, const char *line)
{
	const char *next = text->ptr, *end = next + text->len, *at;
	size_t last = 0; /* where the last line of `out` begins */
	size_t len;
	bool found = false;

	while ((at = ews_str_next_line(&next, &len, end))) {
		if (!is_ours(at, len, line)) {
			last = out->len;
			ews_buf_add(out, at, (size_t)(next - at));
			continue;
		}
		found = true;
		if (ews_str_begins(out->ptr + last, "[include") && is_section(next, end)) {
			ews_buf_truncate(out, last);
			drop_end(out, CLOSING);
			last = out->len;
		}
		/* The file had no newline at its end. */
		if (at + len == end)
			drop_end(out, "\n");
	}
	return found;
}

/* Does what is appended to `text` belong to its last line, by a backslash at the end of that? */
static bool goes_on(const struct ews_buf *text)
{
	const char *end = text->ptr + text->len;

	if (end > text->ptr && end[-1] == '\n')
		end--;
	if (end > text->ptr && end[-1] == '\r')
		end--;
	return end > text->ptr && end[-1] == '\\';
}

static void append(struct ews_buf *out, const char *line, const char *git_dir)
{
	bool is_open = goes_on(out);
	bool has_end = !out->len || out->ptr[out->len - 1] == '\n';

	if (!has_end)
		ews_buf_addc(out, '\n');
	if (is_open)
		ews_buf_adds(out, CLOSING);
	if (git_dir) {
		add_condition(out, git_dir, "");
		ews_buf_addf(out, "%s\n", line);
		/* Linked worktrees: a pattern with a slash at its end is of what is below. */
		add_condition(out, git_dir, "/");
	} else {
		ews_buf_adds(out, "[include]\n");
	}
	ews_buf_adds(out, line);
	if (has_end)
		ews_buf_addc(out, '\n');
}

int ews_include_add(const char *file, const char *path, const char *git_dir)
{
	EWS_CLEANUP(held) struct held held = HELD_INIT;
	EWS_CLEANUP(free) char *whole = git_dir ? ews_path_join(git_dir, path) : ews_strdup(path);
	EWS_CLEANUP(free) char *line = format_line(path);
	EWS_CLEANUP(free) char *whole_line = format_line(whole);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc;

	if (git_dir && strchr(git_dir, '\n'))
		return ews_error(EWS_EUNSUPPORTED, "git's config can't name '%s', which holds a newline", git_dir);
	rc = hold(&held, file);
	if (rc < 0)
		return rc;
	(void)strip(&text, &held.text, line);
	append(&text, whole_line, git_dir);
	if (text.len == held.text.len && !memcmp(text.ptr, held.text.ptr, text.len))
		return 0;
	rc = write_held(&held, &text);
	return rc < 0 ? rc : 1;
}

int ews_include_remove(const char *file, const char *path)
{
	EWS_CLEANUP(held) struct held held = HELD_INIT;
	EWS_CLEANUP(free) char *line = format_line(path);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc;

	if (!ews_include_has(file, path))
		return 0;
	rc = hold(&held, file);
	if (rc < 0)
		return rc;
	if (!strip(&text, &held.text, line))
		return 0;
	rc = write_held(&held, &text);
	return rc < 0 ? rc : 1;
}

bool ews_include_has(const char *file, const char *path)
{
	EWS_CLEANUP(free) char *line = format_line(path);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(buf) struct ews_buf rest = EWS_BUF_INIT;
	mode_t mode;

	if (read_text(&text, &mode, file) < 0) {
		ews_error_clear();
		return false;
	}
	return strip(&rest, &text, line);
}
