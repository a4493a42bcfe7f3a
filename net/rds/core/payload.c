// SPDX-License-Identifier: GPL-2.0-only
/*
 * Payloads: the memory that holds the contents of a message.
 *
 * A payload records the kind of its memory. rds_payload_release() releases that
 * memory, and relies on the record alone. It leaves the payload empty, so a
 * second release does nothing. Only rds_zcopy_copy() releases pages without it,
 * when it replaces the pages of a user by copies.
 *
 * rds_payload_alloc_pages() allocates pages in pieces that are as large as is
 * cheap, because fewer pieces make large messages fast. The pages are charged
 * to the sender's memory cgroup. Each piece is counted as soon as it is
 * allocated, so a payload whose allocation fails halfway is released like any
 * other. Pages of a user are referenced, and counted as soon as they are.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "payload.h"

/**
 * rds_payload_max_bvecs() - Compute the maximum number of pieces of a payload
 * @len: length of the payload in bytes
 *
 * Context: Any context.
 * Return: the number of pieces if only single pages can be allocated.
 */
unsigned int rds_payload_max_bvecs(u32 len)
{
	return DIV_ROUND_UP(len, PAGE_SIZE);
}

static struct page *rds_payload_get_piece(u32 len, unsigned int *bytes,
					  gfp_t gfp)
{
	unsigned int order = 0;
	struct page *page;

	if (len >= 2 * PAGE_SIZE)
		order = min_t(unsigned int, ilog2(len >> PAGE_SHIFT),
			      PAGE_ALLOC_COSTLY_ORDER);
	if (order) {
		page = alloc_pages(gfp | __GFP_ACCOUNT | __GFP_COMP |
				   __GFP_NORETRY | __GFP_NOWARN, order);
		if (page) {
			*bytes = PAGE_SIZE << order;
			return page;
		}
	}

	*bytes = PAGE_SIZE;
	return alloc_page(gfp | __GFP_ACCOUNT);
}

/**
 * rds_payload_alloc_pages() - Allocate the pages of a payload
 * @payload: the payload, uninitialized
 * @bvec: rds_payload_max_bvecs(@len) entries, which live as long as the payload
 * @len: length of the payload in bytes
 * @gfp: allocation flags
 *
 * Context: Process context; may sleep if @gfp permits.
 * Return: 0 on success; -ENOMEM if there is no memory. The caller must release
 * the payload in both cases.
 */
int rds_payload_alloc_pages(struct rds_payload *payload, struct bio_vec *bvec,
			    u32 len, gfp_t gfp)
{
	unsigned int bytes;
	struct page *page;
	u32 left = len;

	payload->kind = RDS_PAYLOAD_KERNEL;
	payload->nr = 0;
	payload->len = len;
	payload->bvec = bvec;

	while (left) {
		page = rds_payload_get_piece(left, &bytes, gfp);
		if (!page)
			return -ENOMEM;
		bytes = min(bytes, left);
		bvec[payload->nr].bv_page = page;
		bvec[payload->nr].bv_offset = 0;
		bvec[payload->nr].bv_len = bytes;
		payload->nr++;
		left -= bytes;
	}
	return 0;
}

/**
 * rds_payload_copy_in_pages() - Fill a payload that is in pages
 * @payload: the payload
 * @from: the source; at least &rds_payload.len bytes
 *
 * Context: Process context, may sleep.
 * Return: 0 on success; -EFAULT if not all bytes could be copied.
 */
int rds_payload_copy_in_pages(struct rds_payload *payload,
			      struct iov_iter *from)
{
	const struct bio_vec *bv;
	unsigned int i;

	for (i = 0; i < payload->nr; i++) {
		bv = &payload->bvec[i];
		if (!copy_from_iter_full(page_address(bv->bv_page),
					 bv->bv_len, from))
			return -EFAULT;
	}
	return 0;
}

/**
 * rds_payload_copy_out_pages() - Copy a payload that is in pages
 * @payload: the payload
 * @offset: first byte to copy
 * @len: number of bytes to copy; the payload has as many from @offset on
 * @to: the destination
 *
 * Context: Process context, may sleep, if @to is user memory; any context
 * otherwise.
 * Return: 0 on success; -EFAULT if fewer than @len bytes could be copied.
 */
int rds_payload_copy_out_pages(const struct rds_payload *payload, u32 offset,
			       u32 len, struct iov_iter *to)
{
	const struct bio_vec *bv;
	size_t bytes;
	unsigned int i;

	for (i = 0; i < payload->nr && len; i++) {
		bv = &payload->bvec[i];
		if (offset >= bv->bv_len) {
			offset -= bv->bv_len;
			continue;
		}
		bytes = min(len, bv->bv_len - offset);
		if (copy_to_iter(page_address(bv->bv_page) + offset, bytes,
				 to) != bytes)
			return -EFAULT;
		len -= bytes;
		offset = 0;
	}
	return 0;
}

/* User pages referenced at a time */
#define RDS_PAYLOAD_USER_BATCH	16

/* A payload in user memory that is in more pieces than this is copied. */
#define RDS_PAYLOAD_USER_PIECES	(RDS_MAX_MSG_SIZE / PAGE_SIZE + 16)

/**
 * rds_payload_user_pieces() - Count the pieces of a payload in user memory
 * @from: the memory, not empty
 *
 * Context: Any context.
 * Return: the number of pieces; 0 if the payload is to be copied, as it is in
 * too many, or not in user memory.
 */
unsigned int rds_payload_user_pieces(const struct iov_iter *from)
{
	unsigned int pieces;

	if (!user_backed_iter(from))
		return 0;
	pieces = iov_iter_npages(from, RDS_PAYLOAD_USER_PIECES + 1);
	return pieces > RDS_PAYLOAD_USER_PIECES ? 0 : pieces;
}

/**
 * rds_payload_add_user_pages() - Add pages of user memory to a payload
 * @payload: the payload, of kind %RDS_PAYLOAD_USER
 * @max: maximum number of pieces of the payload in all
 * @from: the memory; all that is left of it is added
 *
 * Context: Process context, may sleep.
 * Return: 0 on success; -EFAULT if the memory cannot be accessed or has too
 * many pieces. The caller must release the payload in both cases.
 */
int rds_payload_add_user_pages(struct rds_payload *payload, unsigned int max,
			       struct iov_iter *from)
{
	struct page *pages[RDS_PAYLOAD_USER_BATCH];
	unsigned int room, nr, i;
	size_t start, bytes;
	ssize_t got;

	while (iov_iter_count(from)) {
		room = min_t(unsigned int, max - payload->nr,
			     ARRAY_SIZE(pages));
		if (!room)
			return -EFAULT;
		got = iov_iter_get_pages2(from, pages, iov_iter_count(from),
					  room, &start);
		if (got <= 0)
			return -EFAULT;
		nr = DIV_ROUND_UP(start + got, PAGE_SIZE);
		for (i = 0; i < nr; i++) {
			bytes = min_t(size_t, got, PAGE_SIZE - start);
			payload->bvec[payload->nr].bv_page = pages[i];
			payload->bvec[payload->nr].bv_offset = start;
			payload->bvec[payload->nr].bv_len = bytes;
			payload->nr++;
			payload->len += bytes;
			got -= bytes;
			start = 0;
		}
	}
	return 0;
}

/* Check whether a payload has no gaps between pages: only the first page may
 * lack bytes at its beginning, and only the last at its end.
 */
static bool rds_payload_is_stretch(const struct rds_payload *payload)
{
	const struct bio_vec *bv;
	unsigned int i;

	for (i = 0; i < payload->nr; i++) {
		bv = &payload->bvec[i];
		if (i && bv->bv_offset)
			return false;
		if (i + 1 < payload->nr && bv->bv_offset +
		    bv->bv_len != PAGE_SIZE)
			return false;
	}
	return true;
}

/**
 * rds_payload_can_stay() - Check whether a payload can be sent from user memory
 * @payload: the payload, of kind %RDS_PAYLOAD_USER
 * @caps: bits of enum rds_cap, of the transport
 *
 * Context: Any context.
 * Return: true if the transport can; false if the payload is to be copied.
 */
bool rds_payload_can_stay(const struct rds_payload *payload, unsigned int caps)
{
	if (caps & RDS_CAP_ZEROCOPY)
		return true;
	return (caps & RDS_CAP_ZEROCOPY_STRETCH) &&
	       rds_payload_is_stretch(payload);
}

/**
 * rds_payload_truesize() - Compute the memory that a payload holds
 * @payload: the payload
 *
 * Context: Any context.
 * Return: bytes of memory that the payload keeps from being freed.
 */
u32 rds_payload_truesize(const struct rds_payload *payload)
{
	u32 len = payload->len;

	if (payload->kind == RDS_PAYLOAD_KERNEL)
		return round_up(len, PAGE_SIZE) +
		       rds_payload_max_bvecs(len) * sizeof(struct bio_vec);
	return len;
}

/**
 * rds_payload_put_pages() - Put the references to the pages of a payload
 * @payload: the payload, in pages
 *
 * Context: Any context, including softirq.
 */
void rds_payload_put_pages(const struct rds_payload *payload)
{
	unsigned int i;

	for (i = 0; i < payload->nr; i++)
		put_page(payload->bvec[i].bv_page);
}
