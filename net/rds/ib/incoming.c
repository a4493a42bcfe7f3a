// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received messages.
 *
 * The payload of a small message is copied to the memory behind its structure,
 * and the receive buffer is reused. A large message takes the pages that it
 * arrived in.
 */
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "ib.h"

/* Minimum that an unread message is charged for, in bytes */
#define RDS_IB_MIN_TRUESIZE	512

/**
 * struct rds_ib_incoming - a received message
 * @ii_inc: core's part
 * @ii_got: received so far: bytes of a small message, pages of a large one
 * @ii_frag: bytes of payload in each fragment of a large message but the last;
 *	a fragment begins with a page of its own, and its pages are filled up to
 *	RDS_IB_PIECE
 * @ii_data: payload of a small message
 * @ii_pages: pages of a large message
 */
struct rds_ib_incoming {
	struct rds_incoming	ii_inc;
	u32			ii_got;
	u32			ii_frag;
	union {
		DECLARE_FLEX_ARRAY(u8, ii_data);
		DECLARE_FLEX_ARRAY(struct page *, ii_pages);
	};
};

/* Longest payload that is copied; beyond it, taking the page costs less */
#define RDS_IB_COPY_MAX		(1024 - sizeof(struct rds_ib_incoming))

static struct rds_ib_incoming *to_incoming(struct rds_incoming *inc)
{
	return container_of(inc, struct rds_ib_incoming, ii_inc);
}

/**
 * rds_ib_incoming_is_small() - Check whether to copy the payload of a message
 * @len: bytes of payload
 *
 * Context: Any context.
 * Return: true if the payload is to be copied; false if the message takes the
 * pages.
 */
bool rds_ib_incoming_is_small(u32 len)
{
	return len <= RDS_IB_COPY_MAX;
}

static int rds_ib_incoming_copy(struct rds_incoming *inc, u32 offset, u32 len,
				struct iov_iter *to)
{
	struct rds_ib_incoming *ii = to_incoming(inc);
	u32 i, at, room, bytes;

	if (rds_ib_incoming_is_small(inc->i_len))
		return copy_to_iter(ii->ii_data + offset, len, to) == len ?
		       0 : -EFAULT;

	for (; len; len -= bytes, offset += bytes) {
		i = rds_ib_msg_page(offset, ii->ii_frag, RDS_IB_PIECE, &at,
				    &room);
		bytes = min(len, room);
		if (rds_copy_page_to_iter(ii->ii_pages[i], at, bytes, to) !=
		    bytes)
			return -EFAULT;
	}
	return 0;
}

static void rds_ib_incoming_free(struct rds_incoming *inc)
{
	struct rds_ib_incoming *ii = to_incoming(inc);

	if (!rds_ib_incoming_is_small(inc->i_len))
		rds_ib_pages_put(ii->ii_pages, ii->ii_got);
	kfree(ii);
}

static const struct rds_incoming_ops rds_ib_incoming_ops = {
	.owner	= THIS_MODULE,
	.copy	= rds_ib_incoming_copy,
	.free	= rds_ib_incoming_free,
};

/**
 * rds_ib_incoming_alloc() - Allocate a message that begins to arrive
 * @hdr: its header; it announces RDS_MAX_MSG_SIZE at most
 * @wide: its fragments are wide, if it is large
 *
 * Context: Deliver context.
 * Return: the message, without payload yet; NULL if there is no memory.
 */
struct rds_ib_incoming *rds_ib_incoming_alloc(const struct rds_header *hdr,
					      bool wide)
{
	u32 len = be32_to_cpu(hdr->h_len), frag = rds_ib_frag_size(len, wide);
	struct rds_ib_incoming *ii;
	size_t size, pages = 0;
	u64 now;

	if (rds_ib_incoming_is_small(len)) {
		size = sizeof(*ii) + len;
	} else {
		pages = rds_ib_msg_pages(len, frag, RDS_IB_PIECE);
		size = sizeof(*ii) + pages * sizeof(struct page *);
	}
	size = kmalloc_size_roundup(size);

	ii = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	if (!ii)
		return NULL;

	rds_incoming_init(&ii->ii_inc, &rds_ib_incoming_ops, hdr,
			  max_t(size_t, size + pages * PAGE_SIZE,
				RDS_IB_MIN_TRUESIZE));
	ii->ii_got = 0;
	ii->ii_frag = frag;
	if (pages) {
		now = local_clock();
		ii->ii_inc.i_stamps[RDS_RX_STAMP_HDR] = now;
		ii->ii_inc.i_stamps[RDS_RX_STAMP_START] = now;
	}
	return ii;
}

ALLOW_ERROR_INJECTION(rds_ib_incoming_alloc, NULL);

/**
 * rds_ib_incoming_copy_in() - Add payload to a small message
 * @ii: the message
 * @from: the payload
 * @len: bytes of payload; no more than the message lacks
 *
 * Context: Any context.
 */
void rds_ib_incoming_copy_in(struct rds_ib_incoming *ii, const void *from,
			     u32 len)
{
	memcpy(ii->ii_data + ii->ii_got, from, len);
	ii->ii_got += len;
}

/**
 * rds_ib_incoming_add_page() - Add a page of payload to a large message
 * @ii: the message; it lacks a page
 * @page: the page; its reference is taken over
 *
 * Context: Any context.
 */
void rds_ib_incoming_add_page(struct rds_ib_incoming *ii, struct page *page)
{
	ii->ii_pages[ii->ii_got++] = page;
}

/**
 * rds_ib_incoming_end() - Complete a message
 * @ii: the message
 *
 * Context: Deliver context.
 * Return: core's part of the message, for rds_deliver().
 */
struct rds_incoming *rds_ib_incoming_end(struct rds_ib_incoming *ii)
{
	if (ii->ii_inc.i_stamps[RDS_RX_STAMP_HDR])
		ii->ii_inc.i_stamps[RDS_RX_STAMP_END] = local_clock();
	return &ii->ii_inc;
}

/**
 * rds_ib_incoming_drop() - Free a message that will not be delivered
 * @ii: the message, or NULL
 *
 * Context: Any context.
 */
void rds_ib_incoming_drop(struct rds_ib_incoming *ii)
{
	if (ii)
		rds_ib_incoming_free(&ii->ii_inc);
}
