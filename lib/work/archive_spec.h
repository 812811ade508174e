/*
 * Archive specs: a small YAML file that says how archives of a directory are made.
 *
 *     keep: [src/, "*.md"]
 *     ignore: ["*.log"]
 *     compress: zstd
 *     location: ./snapshots         # seen from the file
 *     static_assets:                # what others put there, as a list, or by name: it stays out
 *       data: assets/data
 *     env: [LANG]
 *     default_ignores: false
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_WORK_ARCHIVE_SPEC_H
#define EWS_WORK_ARCHIVE_SPEC_H

#include "work/archive.h"

struct ews_archive_spec {
	struct ews_archive_rules rules;
	struct ews_strv env; /* names */
	enum ews_compression compression;
	bool has_compression, has_defaults; /* it says so */
	char *location; /* absolute, or NULL */
	struct ews_strv warnings; /* "<file>:<line>: <key>: <why>": what it says and nobody knows */
};

#define EWS_ARCHIVE_SPEC_INIT                                                                                \
	{                                                                                                    \
		EWS_ARCHIVE_RULES_INIT, EWS_STRV_INIT, EWS_COMPRESSION_GZ, false, false, NULL, EWS_STRV_INIT \
	}

/* Read the file `path`, as seen from `cwd`. Fails with EWS_ECONFIG and "<file>:<line>: <key>: <why>". */
int ews_archive_spec_read(struct ews_archive_spec *out, const char *cwd, const char *path);
/* The same of its `len` bytes; `dir` is where the file is. */
int ews_archive_spec_parse(struct ews_archive_spec *out, const char *file, const char *dir, const char *text,
			   size_t len);
void ews_archive_spec_release(struct ews_archive_spec *spec);
EWS_CLEANUP_DEFINE(archive_spec, struct ews_archive_spec, ews_archive_spec_release)

#endif
