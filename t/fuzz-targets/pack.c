/*
 * Fuzz target: a pack and its index, which may come from anywhere.
 *
 * An input is how long the index is (four bytes, the highest first), the index, and the pack. Where the two don't say the
 * same of each other nothing of them is read; so they are made to.
 *
 * SPDX-License-Identifier: MIT
 */
#include "target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "store/pack_read.h"

#define ID_LEN 20
#define COUNT_AT (8 + 255 * 4)
#define IDS_AT (8 + 256 * 4)
#define PACK_HEADER_LEN 12
#define ASKED_MAX 64

static char *objects, *packs_dir, *index_file, *pack_file;

static void leave(void)
{
	(void)unlink(index_file); /* best effort: they lie among temporary files */
	(void)unlink(pack_file);
	(void)rmdir(packs_dir);
	(void)rmdir(objects);
}

static void enter(void)
{
	const char *tmp = getenv("TMPDIR");

	if (objects)
		return;
	objects = ews_strfmt("%s/pack-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	must(mkdtemp(objects), "no directory");
	packs_dir = ews_path_join(objects, "pack");
	must(!mkdir(packs_dir, 0700), "no directory for packs");
	index_file = ews_path_join(packs_dir, "pack-a.idx");
	pack_file = ews_path_join(packs_dir, "pack-a.pack");
	must(!atexit(leave), "atexit");
}

static void write_file(const char *path, const uint8_t *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, data, len) == (ssize_t)len && !close(fd), "cannot write '%s'", path);
}

static size_t get_u32(const uint8_t *at)
{
	return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* Write both, each as the other says it is. */
static void write_files(uint8_t *index, size_t index_len, uint8_t *pack, size_t pack_len)
{
	if (index_len >= IDS_AT + 2 * ID_LEN && pack_len >= PACK_HEADER_LEN + ID_LEN) {
		memcpy(pack + 8, index + COUNT_AT, 4);
		memcpy(index + index_len - 2 * ID_LEN, pack + pack_len - ID_LEN, ID_LEN);
	}
	write_file(index_file, index, index_len);
	write_file(pack_file, pack, pack_len);
}

static void ask(struct ews_pack_reader *reader, struct ews_packs *packs, const uint8_t *id)
{
	struct ews_oid oid = { .len = ID_LEN };
	enum ews_object_type type = 0, said = 0;
	const struct ews_buf *out = NULL;
	bool is_read, has;
	uint64_t size = 0;

	memcpy(oid.id, id, ID_LEN);
	has = ews_packs_have(packs, &oid);
	is_read = ews_pack_reader_read(&out, &type, reader, packs, &oid, NULL, NULL) > 0;
	ews_error_clear(); /* what is damaged may be so */
	must(has || !is_read, "what isn't there is read");
	must(has || !ews_packs_freshen(packs, &oid), "what isn't there counts as new");
	if (!is_read)
		return;
	must(type >= EWS_OBJECT_COMMIT && type <= EWS_OBJECT_TAG, "an object of the type %d", (int)type);
	must(!out->ptr[out->len], "an object without an end");
	must(ews_pack_reader_read_header(&said, &size, reader, packs, &oid) > 0,
	     "what is read can't be told the size of");
	must(said == type && size == out->len, "another type or size is told");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	EWS_CLEANUP(free) uint8_t *copy = NULL;
	struct ews_pack_reader *reader;
	struct ews_packs *packs;
	size_t index_len;

	if (len < 4)
		return 0;
	enter();
	copy = ews_memdup(data + 4, len - 4);
	index_len = get_u32(data);
	if (index_len > len - 4)
		index_len = len - 4;
	write_files(copy, index_len, copy + index_len, len - 4 - index_len);
	packs = ews_packs_open(objects);
	reader = ews_pack_reader_new();
	for (size_t i = 0; i < ASKED_MAX && IDS_AT + (i + 1) * ID_LEN <= index_len; i++)
		ask(reader, packs, copy + IDS_AT + i * ID_LEN);
	ews_pack_reader_free(reader);
	ews_packs_free(packs);
	return 0;
}
