/*
 * YAML: one small file as a list of dotted keys, each with its line.
 *
 *     qe:                         section  qe                      1
 *       workspace:                section  qe.workspace            2
 *         method: snapshot        text     qe.workspace.method     3
 *         exclude:                list     qe.workspace.exclude    4
 *           - "*.log"             item     qe.workspace.exclude    5
 *
 * The file comes with whatever was cloned, so it is read as hostile input: it is small, it
 * nests little, it has one document, no tag and no alias. All else is an error with a line.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_YAML_H
#define EWS_STORE_YAML_H

#include <stddef.h>

#include "base/cleanup.h"

#define EWS_YAML_BYTES_MAX ((size_t)1024 * 1024)

enum ews_yaml_kind {
	EWS_YAML_SECTION = 1, /* keys follow */
	EWS_YAML_LIST, /* items follow */
	EWS_YAML_LIST_WITHIN, /* likewise, of a list in a list, whose key it has, as its items do */
	EWS_YAML_TEXT,
	EWS_YAML_ITEM, /* a text in a list; the key is that of the list */
	EWS_YAML_NULL, /* nothing, "~" or "null" where a value might be */
};

struct ews_yaml_value {
	enum ews_yaml_kind kind;
	char *key;
	char *text; /* of a text or an item, else "" */
	unsigned line; /* of the key, of an item its own; from 1 */
};

struct ews_yaml {
	struct ews_yaml_value *items; /* as they stand in the file */
	size_t n, cap;
};

#define EWS_YAML_INIT { NULL, 0, 0 }

/* Read the `len` bytes at `text`, the content of `file`. Fails with EWS_ECONFIG and "<file>:<line>: <why>". */
int ews_yaml_parse(struct ews_yaml *out, const char *file, const char *text, size_t len);
void ews_yaml_release(struct ews_yaml *yaml);
EWS_CLEANUP_DEFINE(yaml, struct ews_yaml, ews_yaml_release)

#endif
