/*
 * Loose objects: see loose.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "store/loose.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "store/litter.h"
#include "store/loose_read.h"

/* Append the stream of header and content. */
static void deflate_object(struct ews_buf *out, struct ews_deflater *deflater, enum ews_object_type type,
			   const void *data, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf object = EWS_BUF_INIT;
	char header[EWS_OBJECT_HEADER_MAX];
	size_t header_len = ews_object_header(header, type, len);

	ews_buf_reserve(&object, header_len + len);
	ews_buf_add(&object, header, header_len);
	ews_buf_add(&object, data, len);
	ews_deflate(out, deflater, false, object.ptr, object.len);
}

int ews_loose_write(struct ews_sync_group *group, struct ews_deflater *deflater, const char *object_dir,
		    struct ews_sharing sharing, const struct ews_oid *oid, enum ews_object_type type,
		    const void *data, size_t len)
{
	EWS_CLEANUP(buf) struct ews_buf text = EWS_BUF_INIT;
	EWS_CLEANUP(fd) int objects = ews_dir_open(object_dir);
	EWS_CLEANUP(fd) int fd = -1;
	char hex[EWS_OID_HEX_MAX];
	char dir[3] = { 0 };
	char tmp[EWS_LITTER_NAME_MAX];
	int rc;

	if (objects < 0)
		return objects;
	/* It may be another user's, who keeps it or not. */
	if (ews_loose_freshen(object_dir, oid) && ews_loose_check_stream(object_dir, oid) == 0)
		return 0;
	ews_error_clear(); /* what is damaged is replaced */
	memcpy(dir, ews_oid_hex(hex, oid), 2);
	deflate_object(&text, deflater, type, data, len);
	fd = ews_litter_make(tmp, objects, "tmp_obj_ews_");
	if (fd < 0)
		return fd;
	rc = ews_sharing_apply(sharing, fd);
	if (rc == 0)
		rc = ews_file_write_fd(fd, text.ptr, text.len);
	if (rc == 0)
		ews_sync_begin_content(fd);
	/* The directory of the objects is synced as well: `dir` may be new in it. A gc beside us removes it while it is empty. */
	if (rc == 0)
		rc = ews_sync_add_file_within(group, &fd, objects, tmp, dir, hex + 2, sharing);
	if (rc < 0)
		(void)unlinkat(objects, tmp, 0); /* best effort: a sweep finds it */
	return rc;
}
