/*
 * JSON: see json.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "base/json.h"

#include <inttypes.h>
#include <nettle/base64.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"

#define TEXT_MAX (16 * EWS_MIB)
#define DEPTH_MAX 32
/* Up to here a double holds every whole number; cJSON reads numbers as doubles. */
#define WHOLE_MAX 9007199254740992.0

void ews_json_init(void)
{
	cJSON_Hooks hooks = { .malloc_fn = ews_malloc, .free_fn = free };

	cJSON_InitHooks(&hooks);
}

/* Before cJSON, which calls itself at each level and ends a string at a NUL, sees the text. */
static int check_text(const char *text, size_t len, size_t max)
{
	bool is_string = false;
	size_t i, depth = 0;

	if (len > max)
		return ews_error(EWS_EDAMAGED, "JSON longer than %zu bytes", max);
	for (i = 0; i < len; i++) {
		if (!text[i] || (is_string && len - i > 5 && !memcmp(text + i, "\\u0000", 6)))
			return ews_error(EWS_EDAMAGED, "JSON with a NUL at byte %zu", i);
		if (is_string) {
			if (text[i] == '\\' && i + 1 < len && text[i + 1])
				i++;
			else if (text[i] == '"')
				is_string = false;
		} else if (text[i] == '"') {
			is_string = true;
		} else if (text[i] == '{' || text[i] == '[') {
			if (++depth > DEPTH_MAX)
				return ews_error(EWS_EDAMAGED, "JSON deeper than %d levels", DEPTH_MAX);
		} else if ((text[i] == '}' || text[i] == ']') && depth) {
			depth--;
		}
	}
	return 0;
}

static int cmp_key(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A key that is there twice means one thing to one reader and another to the next. */
static int check_keys(const cJSON *node)
{
	EWS_CLEANUP(free) const char **keys = NULL;
	size_t n = 0, cap = 0, i;
	const cJSON *child;
	int rc;

	cJSON_ArrayForEach(child, node) {
		rc = cJSON_IsObject(child) || cJSON_IsArray(child) ? check_keys(child) : 0;
		if (rc < 0)
			return rc;
		if (!cJSON_IsObject(node))
			continue;
		EWS_GROW(keys, n, cap);
		keys[n++] = child->string;
	}
	if (n)
		qsort(keys, n, sizeof(*keys), cmp_key);
	for (i = 1; i < n; i++)
		if (!strcmp(keys[i - 1], keys[i]))
			return ews_error(EWS_EDAMAGED, "JSON has the key '%s' twice", keys[i]);
	return 0;
}

int ews_json_parse(cJSON **out, const char *text, size_t len)
{
	return ews_json_parse_long(out, text, len, TEXT_MAX);
}

int ews_json_parse_long(cJSON **out, const char *text, size_t len, size_t max)
{
	EWS_CLEANUP(json) cJSON *root = NULL;
	EWS_CLEANUP(free) char *copy = NULL;
	const char *end = NULL;
	int rc;

	rc = check_text(text, len, max);
	if (rc < 0)
		return rc;
	/* With a NUL behind it: cJSON before 1.7.18 may look one byte too far. */
	copy = ews_strndup(text, len);
	root = cJSON_ParseWithLengthOpts(copy, len + 1, &end, false);
	if (!root)
		return ews_error(EWS_EDAMAGED, "not JSON");
	if (end[strspn(end, " \t\r\n")])
		return ews_error(EWS_EDAMAGED, "JSON with more behind it, at byte %zu", (size_t)(end - copy));
	if (!cJSON_IsObject(root))
		return ews_error(EWS_EDAMAGED, "JSON that is not an object");
	rc = check_keys(root);
	if (rc < 0)
		return rc;
	*out = ews_steal(&root);
	return 0;
}

int ews_json_read(cJSON **out, int dir_fd, const char *name, size_t max)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	int rc = ews_file_read_own(&text, dir_fd, name, max);

	return rc < 0 ? rc : ews_json_parse(out, text.ptr, text.len);
}

static int get(const cJSON **out, const cJSON *obj, const char *key, cJSON_bool (*is_type)(const cJSON *),
	       const char *type)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(obj, key);

	if (!node)
		return ews_error(EWS_EDAMAGED, "key '%s' is missing", key);
	if (!is_type(node))
		return ews_error(EWS_EDAMAGED, "key '%s' is not %s", key, type);
	*out = node;
	return 0;
}

int ews_json_get_string(const char **out, const cJSON *obj, const char *key)
{
	const cJSON *node;
	int rc = get(&node, obj, key, cJSON_IsString, "a string");

	if (rc < 0)
		return rc;
	*out = node->valuestring;
	return 0;
}

int ews_json_get_int(int64_t *out, const cJSON *obj, const char *key)
{
	const cJSON *node;
	int rc = get(&node, obj, key, cJSON_IsNumber, "a number");

	if (rc < 0)
		return rc;
	if (!(node->valuedouble >= -WHOLE_MAX && node->valuedouble <= WHOLE_MAX) ||
	    node->valuedouble != (double)(int64_t)node->valuedouble)
		return ews_error(EWS_EDAMAGED, "key '%s' is not a whole number within 2^53", key);
	*out = (int64_t)node->valuedouble;
	return 0;
}

int ews_json_get_bool(bool *out, const cJSON *obj, const char *key)
{
	const cJSON *node;
	int rc = get(&node, obj, key, cJSON_IsBool, "true or false");

	if (rc < 0)
		return rc;
	*out = cJSON_IsTrue(node);
	return 0;
}

int ews_json_get_array(const cJSON **out, const cJSON *obj, const char *key)
{
	return get(out, obj, key, cJSON_IsArray, "an array");
}

int ews_json_check_version(const cJSON *obj, int64_t newest)
{
	int64_t version;
	int rc = ews_json_get_int(&version, obj, "version");

	if (rc < 0)
		return rc;
	if (version > newest)
		return ews_error(EWS_EUNSUPPORTED, "it was written by a newer version of git ews");
	if (version < 1)
		return ews_error(EWS_EDAMAGED, "there is no version %" PRId64, version);
	return 0;
}

int ews_json_find_string(const char **out, const cJSON *obj, const char *key)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(obj, key);

	if (node && !cJSON_IsNull(node))
		return ews_json_get_string(out, obj, key);
	*out = NULL;
	return 0;
}

bool ews_json_is_utf8(const char *text)
{
	size_t len;

	for (; *text; text += len) {
		len = ews_utf8_len(text);
		if (!len)
			return false;
	}
	return true;
}

cJSON *ews_json_path(const char *path)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	size_t len;

	if (ews_json_is_utf8(path))
		return cJSON_CreateString(path);
	for (; *path; path += len ? len : 1) {
		len = ews_utf8_len(path);
		ews_buf_add(&text, len ? path : "\xef\xbf\xbd", len ? len : 3);
	}
	return cJSON_CreateString(text.ptr);
}

void ews_json_add_text(cJSON *obj, const char *key, const char *text, size_t len)
{
	EWS_CLEANUP(free) char *bytes_key = NULL;
	EWS_CLEANUP(free) char *base64 = NULL;
	EWS_CLEANUP(buf) struct ews_buf shown = EWS_BUF_INIT;

	for (size_t at = 0, n; at < len; at += n ? n : 1) {
		n = text[at] ? ews_utf8_len(text + at) : 0;
		ews_buf_add(&shown, n ? text + at : "\xef\xbf\xbd", n ? n : 3);
	}
	(void)cJSON_AddStringToObject(obj, key, shown.ptr);
	if (shown.len == len && !memcmp(shown.ptr, text, len))
		return;
	bytes_key = ews_strfmt("%s_bytes",
			       !strcmp(key, "file_path") && !cJSON_HasObjectItem(obj, "path") ? "path" : key);
	base64 = ews_calloc(1, BASE64_ENCODE_RAW_LENGTH(len) + 1);
	base64_encode_raw(base64, len, (const uint8_t *)text);
	(void)cJSON_AddStringToObject(obj, bytes_key, base64);
}

void ews_json_add_path(cJSON *obj, const char *key, const char *path)
{
	ews_json_add_text(obj, key, path, strlen(path));
}

void ews_json_add_bytes(cJSON *obj, const char *key, const char *text)
{
	EWS_CLEANUP(free) char *escaped_key = NULL;
	EWS_CLEANUP(buf) struct ews_buf escaped = EWS_BUF_INIT;

	if (ews_json_is_utf8(text)) {
		cJSON_AddStringToObject(obj, key, text);
		return;
	}
	escaped_key = ews_strfmt("%s_escaped", key);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < 0x80 && *c != '\\')
			ews_buf_addc(&escaped, *c);
		else
			ews_buf_addf(&escaped, "\\%03o", (unsigned char)*c);
	cJSON_AddStringToObject(obj, escaped_key, escaped.ptr);
}

int ews_json_get_bytes(char **out, const cJSON *obj, const char *key)
{
	EWS_CLEANUP(free) char *escaped_key = ews_strfmt("%s_escaped", key);
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	const char *value;
	int rc = ews_json_find_string(&value, obj, escaped_key);

	if (rc < 0)
		return rc;
	if (!value) {
		rc = ews_json_get_string(&value, obj, key);
		if (rc == 0)
			*out = ews_strdup(value);
		return rc;
	}
	rc = ews_path_unescape(&text, value, strlen(value));
	if (rc == 0)
		*out = ews_buf_steal(&text);
	return rc;
}

void ews_json_add_int(cJSON *obj, const char *key, int64_t value)
{
	char digits[32];

	(void)snprintf(digits, sizeof(digits), "%" PRId64, value);
	(void)cJSON_AddRawToObject(obj, key, digits);
}

void ews_json_print(struct ews_buf *out, const cJSON *node, bool indent)
{
	EWS_CLEANUP(free) char *text = indent ? cJSON_Print(node) : cJSON_PrintUnformatted(node);

	ews_buf_adds(out, text);
	ews_buf_addc(out, '\n');
}
