/*
 * Lines about paths: see path_line.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/path_line.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/path.h"

void ews_path_line_add(struct ews_strv *list, const char *path, const char *words)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, strlen(path));
	ews_buf_addc(&line, '\t');
	ews_buf_adds(&line, words);
	ews_strv_add(list, line.ptr);
}

void ews_path_line_add_once(struct ews_strv *list, const char *path, const char *words)
{
	EWS_CLEANUP(strv) struct ews_strv line = EWS_STRV_INIT;

	ews_path_line_add(&line, path, words);
	if (!ews_strv_has(list, line.items[0]))
		ews_strv_add(list, line.items[0]);
}

void ews_path_line_addf(struct ews_strv *list, const char *path, const char *fmt, ...)
{
	EWS_CLEANUP(buf) struct ews_buf words = EWS_BUF_INIT;
	va_list args;

	va_start(args, fmt);
	ews_buf_vaddf(&words, fmt, args);
	va_end(args);
	ews_path_line_add(list, path, words.ptr);
}

const char *ews_path_line_split(struct ews_buf *path, const char *line)
{
	size_t len = strcspn(line, "\t"), before = path->len;

	if (ews_path_unescape(path, line, len) < 0) {
		ews_error_clear();
		ews_buf_truncate(path, before);
		ews_buf_add(path, line, len);
	}
	return ews_path_line_words(line);
}

const char *ews_path_line_words(const char *line)
{
	size_t len = strcspn(line, "\t");

	return line[len] ? line + len + 1 : line + len;
}

bool ews_path_line_has(const struct ews_strv *list, const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf line = EWS_BUF_INIT;

	ews_path_escape(&line, path, strlen(path));
	for (size_t i = 0; i < list->n; i++)
		if (!strncmp(list->items[i], line.ptr, line.len) && list->items[i][line.len] == '\t')
			return true;
	return false;
}
