/*
 * A tar archive of any members, such as no honest program makes.
 *
 *     tarball <file> (<type> <name> <text>)...
 *
 * f a file that holds <text>, d a directory, l a link that says <text>, h another name of <text>, p a FIFO, c a device, z a file of <text>
 * zero bytes, of which none is in the archive.
 *
 * SPDX-License-Identifier: MIT
 */
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct archive *tar, char type, const char *name, const char *text)
{
	struct archive_entry *head = archive_entry_new();
	size_t len = type == 'f' ? strlen(text) : 0;
	int rc;

	archive_entry_copy_pathname(head, name);
	archive_entry_set_perm(head, type == 'd' ? 0755 : 0644);
	archive_entry_set_filetype(head, type == 'd'   ? AE_IFDIR
					 : type == 'l' ? AE_IFLNK
					 : type == 'p' ? AE_IFIFO
					 : type == 'c' ? AE_IFCHR
						       : AE_IFREG);
	archive_entry_set_size(head, type == 'z' ? atoll(text) : (la_int64_t)len);
	if (type == 'z')
		archive_entry_sparse_add_entry(head, atoll(text), 0);
	if (type == 'l')
		archive_entry_copy_symlink(head, text);
	if (type == 'h')
		archive_entry_copy_hardlink(head, text);
	/* With the first byte the list of holes is written. */
	rc = archive_write_header(tar, head) >= ARCHIVE_WARN &&
	     ((!len && type != 'z') || archive_write_data(tar, text, len ? len : 1) > 0);
	archive_entry_free(head);
	return rc;
}

int main(int argc, char **argv)
{
	struct archive *tar = archive_write_new();
	int ok = argc > 1 && archive_write_set_format_pax(tar) == ARCHIVE_OK &&
		 archive_write_open_filename(tar, argv[1]) == ARCHIVE_OK;

	for (int i = 2; ok && i + 2 < argc; i += 3)
		ok = add(tar, *argv[i], argv[i + 1], argv[i + 2]);
	ok = ok && archive_write_close(tar) == ARCHIVE_OK;
	if (!ok)
		fprintf(stderr, "tarball: %s\n", archive_error_string(tar));
	archive_write_free(tar);
	return !ok;
}
