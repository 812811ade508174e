/*
 * Kept: see kept.h.
 *
 *     head  the bits, eight of them a byte, if there are any  the ref, and a NUL
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/kept.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define MEMO_MAGIC 0x3454504bu

struct head {
	uint32_t magic;
	uint32_t has_named;
	uint64_t n;
	struct ews_oid commit, settled;
	uint8_t skips[EWS_CACHE_KEY_LEN], rest[EWS_CACHE_KEY_LEN], settled_git[EWS_CACHE_KEY_LEN];
};

static size_t bytes_of(size_t n)
{
	return n / 8 + (n % 8 != 0);
}

uint8_t *ews_named_new(size_t n)
{
	return ews_calloc(bytes_of(n), 1);
}

uint8_t *ews_named_copy(const uint8_t *named, size_t n)
{
	return ews_memdup(named, bytes_of(n));
}

void ews_named_add(uint8_t *named, size_t i)
{
	named[i / 8] |= (uint8_t)(1u << i % 8);
}

void ews_named_remove(uint8_t *named, size_t i)
{
	named[i / 8] &= (uint8_t) ~(1u << i % 8);
}

bool ews_named_has(const uint8_t *named, size_t i)
{
	return named[i / 8] & 1u << i % 8;
}

void ews_kept_format(struct ews_buf *out, const struct ews_kept *kept)
{
	struct head head;

	memset(&head, 0, sizeof(head)); /* what pads it is written, too */
	head.magic = MEMO_MAGIC;
	head.has_named = kept->named != NULL;
	head.n = kept->n;
	head.commit = kept->commit;
	memcpy(head.skips, kept->skips, sizeof(head.skips));
	memcpy(head.rest, kept->rest, sizeof(head.rest));
	head.settled = kept->settled;
	memcpy(head.settled_git, kept->settled_git, sizeof(head.settled_git));
	ews_buf_add(out, &head, sizeof(head));
	if (kept->named)
		ews_buf_add(out, kept->named, bytes_of(kept->n));
	ews_buf_addz(out, kept->ref);
}

bool ews_kept_parse(struct ews_kept *out, const struct ews_buf *memo)
{
	const char *at = memo->ptr, *end = at + memo->len;
	struct head head;

	if (memo->len <= sizeof(head) || end[-1])
		return false;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.magic != MEMO_MAGIC || head.has_named > 1 || head.commit.len > EWS_OID_MAX ||
	    head.settled.len > EWS_OID_MAX || (head.has_named && bytes_of(head.n) >= (size_t)(end - at)))
		return false;
	*out = (struct ews_kept){ .commit = head.commit, .n = head.n, .settled = head.settled };
	memcpy(out->skips, head.skips, sizeof(out->skips));
	memcpy(out->rest, head.rest, sizeof(out->rest));
	memcpy(out->settled_git, head.settled_git, sizeof(out->settled_git));
	if (head.has_named) {
		out->named = (const uint8_t *)at;
		at += bytes_of(head.n);
	}
	out->ref = at;
	return strlen(at) == (size_t)(end - at) - 1;
}

int ews_kept_is_held(const struct ews_kept *kept, struct ews_odb *odb)
{
	struct ews_oid oid;
	int rc = ews_odb_ref_read(&oid, odb, kept->ref);

	if (rc == EWS_ENOTFOUND || rc == EWS_EGIT) {
		ews_error_clear(); /* a broken one holds nothing */
		return 0;
	}
	return rc < 0 ? rc : ews_oid_equal(&oid, &kept->commit);
}
