/*
 * What is used of libarchive, which is loaded by the first who reads or writes an archive.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef EWS_STORE_LIBARCHIVE_H
#define EWS_STORE_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "base/dl.h"

/* clang-format off */
#define EWS_LIBARCHIVE_FUNCTIONS(F) \
	F(archive_entry_copy_hardlink) F(archive_entry_copy_pathname) F(archive_entry_copy_symlink) \
	F(archive_entry_filetype) F(archive_entry_free) F(archive_entry_gid) F(archive_entry_hardlink) \
	F(archive_entry_mtime) F(archive_entry_mtime_is_set) F(archive_entry_mtime_nsec) \
	F(archive_entry_new) F(archive_entry_pathname) F(archive_entry_perm) \
	F(archive_entry_set_filetype) F(archive_entry_set_gid) F(archive_entry_set_mtime) \
	F(archive_entry_set_perm) F(archive_entry_set_size) F(archive_entry_set_uid) \
	F(archive_entry_size) F(archive_entry_sparse_add_entry) F(archive_entry_sparse_clear) \
	F(archive_entry_symlink) F(archive_entry_uid) F(archive_entry_xattr_add_entry) \
	F(archive_entry_xattr_next) F(archive_entry_xattr_reset) F(archive_errno) \
	F(archive_error_string) F(archive_filter_bytes) F(archive_read_data) F(archive_read_data_block) F(archive_read_free) \
	F(archive_read_new) F(archive_read_next_header) F(archive_read_open_fd) \
	F(archive_read_support_filter_bzip2) F(archive_read_support_filter_gzip) \
	F(archive_read_support_filter_xz) F(archive_read_support_filter_zstd) \
	F(archive_read_support_format_tar) F(archive_set_error) F(archive_write_add_filter_bzip2) \
	F(archive_write_add_filter_gzip) F(archive_write_add_filter_none) \
	F(archive_write_add_filter_xz) F(archive_write_add_filter_zstd) F(archive_write_close) \
	F(archive_write_data) F(archive_write_free) F(archive_write_header) F(archive_write_new) \
	F(archive_write_open) F(archive_write_set_bytes_in_last_block) F(archive_write_set_format_pax) \
	F(archive_write_set_options)
/* clang-format on */

struct ews_libarchive {
	EWS_LIBARCHIVE_FUNCTIONS(EWS_DL_MEMBER)
};

/* Its functions, once ews_libarchive_need() has loaded it. */
extern struct ews_libarchive ews_libarchive;

/* Load it, once; not from two threads. Fails when it can't be loaded. */
int ews_libarchive_need(void);

#endif
