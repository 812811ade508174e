/*
 * Archive reading: a tar archive to a list of entries.
 *
 * An archive comes from anywhere, so it is read as hostile input: all of it is looked at before anybody writes
 * anything. Refused is a member whose name leads outside (absolute, ".."), or that any file system takes for ".git"; one
 * beneath a link or a file; a device or a socket; a name that is there twice; another name of a file that isn't there; and more than
 * the limits let: bytes, members, sizes of what we keep in memory. Archives that others made are read as well; they have no
 * record, and nothing to be compared with.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_ARCHIVE_READ_H
#define EWS_STORE_ARCHIVE_READ_H

#include "store/manifest.h"

/* Is it in a directory of ours, which is in no archive: ".superqode" anywhere, ".ews-trash", that of our own members? */
bool ews_archive_is_own(const char *path);

/* All that an archive holds, but for the bytes of its files. */
struct ews_archive_content {
	struct ews_entries entries; /* ids of files and links are the SHA-256 of what they hold */
	struct ews_skips skips; /* what was left out when it was made */
	const char **member; /* beside the entries: whose member has the file's bytes, or the link's text */
	size_t *order; /* beside them: how manieth that member is */
	struct ews_buf record; /* our own text about it; empty: somebody else's archive */
	char checksum[EWS_TREE_HASH_LEN]; /* of the entries */
	uint64_t n_files, size_bytes;
	struct ews_strv flaws; /* "<path>\t<what>": where the members are not what the manifest says */
	bool is_read; /* every member was read */
};

#define EWS_ARCHIVE_CONTENT_INIT                                                                           \
	{                                                                                                  \
		EWS_ENTRIES_INIT, EWS_SKIPS_INIT, NULL, NULL, EWS_BUF_INIT, "", 0, 0, EWS_STRV_INIT, false \
	}

/*
 * Read all of the archive `fd`, every byte, and check it. `max_bytes`: what it may hold in all. What is refused fails with EWS_EDENIED;
 * what can't be read to its end with EWS_EDAMAGED. Where the manifest says otherwise, that is in `flaws`.
 */
int ews_archive_read(struct ews_archive_content *out, int fd, uint64_t max_bytes);

/* Take its own word for it: record and manifest alone are read. Of somebody else's archive as above. */
int ews_archive_look(struct ews_archive_content *out, int fd, uint64_t max_bytes);

/* Append our own text about it, which is read without the rest. Fails with EWS_ENOTFOUND when there is none. */
int ews_archive_read_record(struct ews_buf *out, int fd);

void ews_archive_content_release(struct ews_archive_content *content);
EWS_CLEANUP_DEFINE(archive_content, struct ews_archive_content, ews_archive_content_release)

#endif
