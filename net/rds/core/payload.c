// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bags: the memory that holds a payload.
 *
 * A bag records what kind of memory it has, and rds_payload_release() is the
 * one place that gives it back, by that record alone. It leaves the bag empty,
 * so releasing twice is releasing once. rds_payload_alloc_pages() counts a page
 * in as soon as it has it, so a bag that could not be filled is released like
 * any other.
 *
 * Pages come in as large pieces as are cheap to get: fewer of them is what
 * makes large messages fast. They are charged to the sender's memory cgroup.
 * Those of a user are referenced, and counted in as soon as they are.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "payload.h"

/**
 * rds_payload_max_bvecs() - how many pieces a payload may come in
 * @len: bytes of payload
 *
 * Context: any.
 * Return: the number, reached when only single pages are to be had.
 */
unsigned int rds_payload_max_bvecs(u32 len)
{
	return DIV_ROUND_UP(len, PAGE_SIZE);
}

static struct page *rds_payload_get_piece(u32 len, unsigned int *bytes)
{
	unsigned int order = 0;
	struct page *page;

	if (len >= 2 * PAGE_SIZE)
		order = min_t(unsigned int, ilog2(len >> PAGE_SHIFT),
			      PAGE_ALLOC_COSTLY_ORDER);
	if (order) {
		page = alloc_pages(GFP_KERNEL_ACCOUNT | __GFP_COMP |
				   __GFP_NORETRY | __GFP_NOWARN, order);
		if (page) {
			*bytes = PAGE_SIZE << order;
			return page;
		}
	}

	*bytes = PAGE_SIZE;
	return alloc_page(GFP_KERNEL_ACCOUNT);
}

/**
 * rds_payload_alloc_pages() - get pages for a payload
 * @payload: the bag, uninitialised
 * @bvec: rds_payload_max_bvecs(@len) entries, which live as long as the bag
 * @len: bytes of payload
 *
 * Context: process, may sleep.
 * Return: 0, or -ENOMEM; then too the bag is to be released.
 */
int rds_payload_alloc_pages(struct rds_payload *payload, struct bio_vec *bvec,
			    u32 len)
{
	unsigned int bytes;
	struct page *page;
	u32 left = len;

	payload->kind = RDS_PAYLOAD_KERNEL;
	payload->nr = 0;
	payload->len = len;
	payload->bvec = bvec;

	while (left) {
		page = rds_payload_get_piece(left, &bytes);
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
 * rds_payload_copy_in_pages() - fill a bag of pages from user memory
 * @payload: the bag
 * @from: where from; at least &rds_payload.len bytes
 *
 * Context: process, may sleep.
 * Return: 0 or -EFAULT.
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
 * rds_payload_copy_out_pages() - copy a payload in pages to user memory
 * @payload: the bag
 * @len: how many bytes of it, at most &rds_payload.len
 * @to: where to
 *
 * Context: process, may sleep.
 * Return: 0, or -EFAULT if less than @len bytes could be copied.
 */
int rds_payload_copy_out_pages(const struct rds_payload *payload, u32 len,
			       struct iov_iter *to)
{
	const struct bio_vec *bv;
	size_t bytes;
	unsigned int i;

	for (i = 0; i < payload->nr && len; i++) {
		bv = &payload->bvec[i];
		bytes = min(len, bv->bv_len);
		if (copy_to_iter(page_address(bv->bv_page), bytes, to) !=
		    bytes)
			return -EFAULT;
		len -= bytes;
	}
	return 0;
}

/* Pages referenced at a time */
#define RDS_PAYLOAD_USER_BATCH	16

/**
 * rds_payload_add_user_pages() - refer to user memory
 * @payload: the bag, of kind %RDS_PAYLOAD_USER
 * @max: room for so many pieces in all
 * @from: the memory; all that is left of it
 *
 * Context: process, may sleep.
 * Return: 0, or -EFAULT; then too the bag is to be released.
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

/**
 * rds_payload_is_stretch() - is a payload in one stretch of memory?
 * @payload: the bag, of pages
 *
 * Context: any.
 * Return: true if all pages are whole but for the first and the last.
 */
bool rds_payload_is_stretch(const struct rds_payload *payload)
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
 * rds_payload_truesize() - memory that a bag keeps from being freed
 * @payload: the bag
 *
 * Context: any.
 * Return: bytes.
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
 * rds_payload_put_pages() - give pages back
 * @payload: the bag, of pages
 *
 * Context: any, including softirq.
 */
void rds_payload_put_pages(const struct rds_payload *payload)
{
	unsigned int i;

	for (i = 0; i < payload->nr; i++)
		put_page(payload->bvec[i].bv_page);
}
