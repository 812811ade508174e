/*
 * Paths: see path.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"

char *ews_path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);

	if (!len)
		return ews_strdup(name);
	while (len && dir[len - 1] == '/')
		len--;
	while (*name == '/')
		name++;
	if (!*name)
		return len ? ews_strndup(dir, len) : ews_strdup("/");
	return ews_strfmt("%.*s/%s", (int)len, dir, name);
}

/* Put each component of `path` behind `out`, which is "" or absolute and normal. */
static void add_components(struct ews_buf *out, const char *path)
{
	const char *slash;
	size_t len;

	for (; *path; path += len) {
		len = strcspn(path, "/");
		if (!len) {
			len = 1; /* a slash */
		} else if (len == 2 && !memcmp(path, "..", 2)) {
			slash = strrchr(out->ptr, '/');
			ews_buf_truncate(out, slash ? (size_t)(slash - out->ptr) : 0);
		} else if (len != 1 || *path != '.') {
			ews_buf_addc(out, '/');
			ews_buf_add(out, path, len);
		}
	}
}

char *ews_path_absolute(const char *base, const char *path)
{
	struct ews_buf out = EWS_BUF_INIT;

	if (*path != '/')
		add_components(&out, base);
	add_components(&out, path);
	if (!out.len)
		ews_buf_addc(&out, '/');
	return ews_buf_steal(&out);
}

size_t ews_path_common_len(const char *a, const char *b)
{
	size_t len = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			len = i;
	return len;
}

const char *ews_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *ews_path_dir(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return ews_strdup("");
	if (slash == path)
		return ews_strdup("/");
	return ews_strndup(path, slash - path);
}

bool ews_path_is_inside(const char *path, const char *root)
{
	size_t len = strlen(root);

	if (!len)
		return *path != '/';
	if (strncmp(path, root, len))
		return false;
	return root[len - 1] == '/' || !path[len] || path[len] == '/';
}

bool ews_path_is_inside_any(const char *path, const char *const *roots)
{
	if (!roots)
		return true;
	while (*roots)
		if (ews_path_is_inside(path, *roots++))
			return true;
	return false;
}

bool ews_path_touches_any(const char *path, const char *const *roots)
{
	if (ews_path_is_inside_any(path, roots))
		return true;
	while (*roots)
		if (ews_path_is_inside(*roots++, path))
			return true;
	return false;
}

bool ews_path_is_plain(const char *path)
{
	size_t len;

	for (;; path += len + 1) {
		len = strcspn(path, "/");
		if (!len || (len == 1 && *path == '.') || (len == 2 && !memcmp(path, "..", 2)))
			return false;
		if (!path[len])
			return true;
	}
}

/* The end of a path comes first, then the end of a component, then bytes. */
static int rank(char c)
{
	if (!c)
		return 0;
	return c == '/' ? 1 : 1 + (unsigned char)c;
}

int ews_path_cmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return rank(*a) - rank(*b);
}

int ews_path_cmp_alike(const char *a, const char *b)
{
	return strcmp(a, b) ? ews_path_cmp(a, b) : 0;
}

size_t ews_path_find_first(const void *items, size_t size, size_t n, const char *path)
{
	size_t at = 0, end = n;

	while (at < end) {
		size_t mid = (at + end) / 2;

		if (ews_path_cmp(*(const char *const *)((const char *)items + mid * size), path) < 0)
			at = mid + 1;
		else
			end = mid;
	}
	return at;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

void ews_path_escape(struct ews_buf *out, const char *path, size_t len)
{
	size_t i, plain = 0; /* where what needs no escape begins */

	for (i = 0; i < len; i++) {
		if (!is_control(path[i]) && path[i] != '\\')
			continue;
		ews_buf_add(out, path + plain, i - plain);
		if (path[i] == '\\')
			ews_buf_adds(out, "\\\\");
		else
			ews_buf_addf(out, "\\%03o", (unsigned char)path[i]);
		plain = i + 1;
	}
	ews_buf_add(out, path + plain, len - plain);
}

/* The byte that the `len` bytes at `text`, behind a backslash, stand for; how many they are, or 0. */
static size_t read_escape(char *out, const char *text, size_t len)
{
	if (len && *text == '\\') {
		*out = '\\';
		return 1;
	}
	if (len < 3 || text[0] < '0' || text[0] > '3' || text[1] < '0' || text[1] > '7' || text[2] < '0' ||
	    text[2] > '7')
		return 0;
	*out = (char)((text[0] - '0') << 6 | (text[1] - '0') << 3 | (text[2] - '0'));
	return *out ? 3 : 0;
}

int ews_path_unescape(struct ews_buf *out, const char *text, size_t len)
{
	size_t i, used, start = out->len;
	char c;

	for (i = 0; i < len; i++) {
		c = text[i];
		if (c == '\\') {
			used = read_escape(&c, text + i + 1, len - i - 1);
			if (!used)
				c = '\0';
			i += used;
		}
		if (!c) {
			ews_buf_truncate(out, start);
			return ews_error(EWS_EDAMAGED, "bad escape in path '%.*s'", (int)len, text);
		}
		ews_buf_addc(out, c);
	}
	return 0;
}

void ews_path_quote(struct ews_buf *out, const char *path)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";
	size_t len;
	const char *p, *at;

	for (p = path; *p; p += len) {
		len = ews_utf8_shown_len(p);
		if (!len || *p == '"' || *p == '\\')
			break;
	}
	if (!*p) {
		ews_buf_adds(out, path);
		return;
	}
	ews_buf_addc(out, '"');
	for (p = path; *p; p += len) {
		at = strchr(plain, *p);
		len = at ? 1 : ews_utf8_add_shown(out, p);
		if (at)
			ews_buf_addf(out, "\\%c", letters[at - plain]);
	}
	ews_buf_addc(out, '"');
}

void ews_path_add_line(struct ews_buf *out, const char *path, bool nul)
{
	if (nul) {
		ews_buf_addz(out, path);
		return;
	}
	ews_path_quote(out, path);
	ews_buf_addc(out, '\n');
}
