/*
 * JSON: typed, checked getters on cJSON, and writing that knows odd bytes.
 *
 * State files are hostile input: ews_json_parse() limits size and depth, and a
 * getter says which key is missing or of the wrong type.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_BASE_JSON_H
#define EWS_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* Let cJSON allocate through base/alloc, so that building never fails. Call once, at the start. */
void ews_json_init(void);

/*
 * Parse `len` bytes: one object, at most 16 MiB, at most 32 levels deep, no
 * key twice in an object, nothing but white space after it. Fails with
 * EWS_EDAMAGED. The caller releases `*out` with cJSON_Delete().
 */
int ews_json_parse(cJSON **out, const char *text, size_t len);
/* The same of at most `max` bytes. */
int ews_json_parse_long(cJSON **out, const char *text, size_t len, size_t max);

/* The same for our file `name` of at most `max` bytes; fails as ews_file_read_own() as well. */
int ews_json_read(cJSON **out, int dir_fd, const char *name, size_t max);

/*
 * The member `key` of `obj`; each fails with EWS_EDAMAGED when missing or of
 * another type. Strings are borrowed. Whole numbers are read up to 2^53.
 */
int ews_json_get_string(const char **out, const cJSON *obj, const char *key);
int ews_json_get_int(int64_t *out, const cJSON *obj, const char *key);
int ews_json_get_bool(bool *out, const cJSON *obj, const char *key);
int ews_json_get_array(const cJSON **out, const cJSON *obj, const char *key);
/* Does the member "version" say that we can read it? Fails with EWS_EUNSUPPORTED when it is above `newest`. */
int ews_json_check_version(const cJSON *obj, int64_t newest);
/* As above, but missing or null gives NULL and 0. */
int ews_json_find_string(const char **out, const cJSON *obj, const char *key);

/*
 * Add the path `path` under `key`; where it is not UTF-8, bad bytes become
 * U+FFFD and "<key>_bytes" ("path_bytes" of a "file_path" with no "path" before it) holds the whole path in base64. For an array of
 * paths use ews_json_path() for each.
 */
void ews_json_add_path(cJSON *obj, const char *key, const char *path);
/* The same for `len` bytes, behind which a NUL stands; one among them is a bad byte. */
void ews_json_add_text(cJSON *obj, const char *key, const char *text, size_t len);
/* A string node for `path`, bad bytes as U+FFFD. */
cJSON *ews_json_path(const char *path);
bool ews_json_is_utf8(const char *text);

/*
 * Bytes that are text mostly: as a string where they are UTF-8, else escaped
 * under "<key>_escaped" (base/path's form). The getter gives a copy that the caller frees.
 */
void ews_json_add_bytes(cJSON *obj, const char *key, const char *text);
int ews_json_get_bytes(char **out, const cJSON *obj, const char *key);

/* Add a whole number of any size up to 64 bits without loss. */
void ews_json_add_int(cJSON *obj, const char *key, int64_t value);

/* Append the text of `node`: indented, or on one line. A newline follows. */
void ews_json_print(struct ews_buf *out, const cJSON *node, bool indent);

EWS_CLEANUP_DEFINE_PTR(json, cJSON, cJSON_Delete)

#endif
