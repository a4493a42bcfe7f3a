// SPDX-License-Identifier: GPL-2.0-only
/*
 * Received messages.
 *
 * The payload of a small message is copied to the memory behind its structure.
 * A large message holds references to the pages of the packets that it arrived
 * in, until it is freed; the packets themselves are not kept. If a packet holds
 * much more memory than payload, its payload is copied nevertheless. Otherwise
 * a peer that sends one byte at a time could make us hold a page for each byte.
 */
#include <linux/error-injection.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "tcp.h"

/* The payload of a packet is copied if the packet holds more memory than this
 * many times the length of its data.
 */
#define RDS_TCP_TRUESIZE_MAX	4

/* Minimum that an unread message is charged for, in bytes */
#define RDS_TCP_MIN_TRUESIZE	512

#define RDS_TCP_GFP		(GFP_ATOMIC | __GFP_NOWARN)

/* Entries in the first array of pieces of a large message, and in each further
 * one
 */
#define RDS_TCP_FIRST_PIECES	8
#define RDS_TCP_MORE_PIECES	31

/**
 * struct rds_tcp_pieces - an array of pieces of a payload, in order
 * @pc_next: the next array, or NULL
 * @pc_nr: entries in use
 * @pc_max: entries allocated
 * @pc_bvec: the pieces; each holds a reference to its page
 */
struct rds_tcp_pieces {
	struct rds_tcp_pieces	*pc_next;
	unsigned int		pc_nr;
	unsigned int		pc_max;
	struct bio_vec		pc_bvec[];
};

/**
 * struct rds_tcp_incoming - a received message
 * @ti_inc: core's part
 * @ti_got: bytes of payload received so far
 * @ti_last: last array of pieces of a large message; NULL for a small one
 * @ti_copies: memory for the copied parts of a large message
 * @ti_data: payload of a small message
 * @ti_first: first array of pieces of a large message
 */
struct rds_tcp_incoming {
	struct rds_incoming		ti_inc;
	u32				ti_got;
	struct rds_tcp_pieces		*ti_last;
	struct page_frag		ti_copies;
	union {
		DECLARE_FLEX_ARRAY(u8, ti_data);
		struct rds_tcp_pieces	ti_first;
	};
};

/* Payloads up to this size are copied and share the message's allocation. */
#define RDS_TCP_COPY_MAX	(2048 - sizeof(struct rds_tcp_incoming))

/* Payloads of 1 KiB are frequent. With the structure before them, they would
 * just not fit into kmalloc-1k, so such messages have their own cache.
 */
#define RDS_TCP_MIDDLE_MAX	1024

static struct kmem_cache *rds_tcp_incoming_cache;

/**
 * rds_tcp_incoming_caches_create() - Create the cache for received messages
 *
 * Called before any message is received.
 *
 * Context: Process context, may sleep. No locks.
 * Return: 0 on success, -ENOMEM otherwise.
 */
int rds_tcp_incoming_caches_create(void)
{
	const size_t head = offsetof(struct rds_tcp_incoming, ti_data);

	rds_tcp_incoming_cache =
		kmem_cache_create_usercopy("rds_tcp_incoming",
					   head + RDS_TCP_MIDDLE_MAX, 0, 0,
					   head, RDS_TCP_MIDDLE_MAX, NULL);
	return rds_tcp_incoming_cache ? 0 : -ENOMEM;
}

/**
 * rds_tcp_incoming_caches_destroy() - Destroy the cache for received messages
 *
 * Called after the last message has been freed.
 *
 * Context: Process context, may sleep. No locks.
 */
void rds_tcp_incoming_caches_destroy(void)
{
	kmem_cache_destroy(rds_tcp_incoming_cache);
}

/* Allocate at least @size bytes. Sets @size to what was allocated. */
static struct rds_tcp_incoming *rds_tcp_incoming_get_memory(size_t *size)
{
	const size_t middle = offsetof(struct rds_tcp_incoming, ti_data) +
			      RDS_TCP_MIDDLE_MAX;

	if (*size > RDS_TCP_MIDDLE_MAX && *size <= middle) {
		*size = middle;
		return kmem_cache_alloc(rds_tcp_incoming_cache, RDS_TCP_GFP);
	}
	*size = kmalloc_size_roundup(*size);
	return kmalloc(*size, RDS_TCP_GFP);
}

static struct rds_tcp_incoming *to_incoming(struct rds_incoming *inc)
{
	return container_of(inc, struct rds_tcp_incoming, ti_inc);
}

static int rds_tcp_copy_pieces(const struct rds_tcp_pieces *pc, u32 offset,
			       u32 len, struct iov_iter *to)
{
	const struct bio_vec *bv;
	unsigned int i;
	size_t bytes;

	for (; pc && len; pc = pc->pc_next) {
		for (i = 0; i < pc->pc_nr && len; i++) {
			bv = &pc->pc_bvec[i];
			if (offset >= bv->bv_len) {
				offset -= bv->bv_len;
				continue;
			}
			bytes = min(len, bv->bv_len - offset);
			if (rds_copy_page_to_iter(bv->bv_page,
						  bv->bv_offset + offset,
						  bytes, to) != bytes)
				return -EFAULT;
			len -= bytes;
			offset = 0;
		}
	}
	return 0;
}

static int rds_tcp_incoming_copy(struct rds_incoming *inc, u32 offset, u32 len,
				 struct iov_iter *to)
{
	struct rds_tcp_incoming *ti = to_incoming(inc);

	if (ti->ti_last)
		return rds_tcp_copy_pieces(&ti->ti_first, offset, len, to);
	return copy_to_iter(ti->ti_data + offset, len, to) == len ? 0 : -EFAULT;
}

static void rds_tcp_put_pieces(struct rds_tcp_pieces *pc)
{
	unsigned int i;

	for (i = 0; i < pc->pc_nr; i++)
		put_page(pc->pc_bvec[i].bv_page);
}

static void rds_tcp_incoming_free(struct rds_incoming *inc)
{
	struct rds_tcp_incoming *ti = to_incoming(inc);
	struct rds_tcp_pieces *pc, *next;

	if (ti->ti_last) {
		if (ti->ti_copies.page)
			put_page(ti->ti_copies.page);
		rds_tcp_put_pieces(&ti->ti_first);
		for (pc = ti->ti_first.pc_next; pc; pc = next) {
			next = pc->pc_next;
			rds_tcp_put_pieces(pc);
			kfree(pc);
		}
	}
	kfree(ti);
}

static const struct rds_incoming_ops rds_tcp_incoming_ops = {
	.owner	= THIS_MODULE,
	.copy	= rds_tcp_incoming_copy,
	.free	= rds_tcp_incoming_free,
};

static void rds_tcp_pieces_init(struct rds_tcp_pieces *pc, unsigned int max)
{
	pc->pc_next = NULL;
	pc->pc_nr = 0;
	pc->pc_max = max;
}

/**
 * rds_tcp_incoming_alloc() - Start to receive a message
 * @hdr: its header; announces at most RDS_MAX_MSG_SIZE bytes
 *
 * Context: Deliver context.
 * Return: the message, still without payload, or NULL if there is no memory.
 */
struct rds_tcp_incoming *rds_tcp_incoming_alloc(const struct rds_header *hdr)
{
	u32 len = be32_to_cpu(hdr->h_len);
	bool small = len <= RDS_TCP_COPY_MAX;
	struct rds_tcp_incoming *ti;
	size_t size;

	if (small)
		size = max(offsetof(struct rds_tcp_incoming, ti_data) + len,
			   sizeof(*ti));
	else
		size = sizeof(*ti) +
		       RDS_TCP_FIRST_PIECES * sizeof(struct bio_vec);
	ti = rds_tcp_incoming_get_memory(&size);
	if (!ti)
		return NULL;

	rds_incoming_init(&ti->ti_inc, &rds_tcp_incoming_ops, hdr,
			  max_t(size_t, size, RDS_TCP_MIN_TRUESIZE));
	ti->ti_got = 0;
	ti->ti_last = NULL;
	if (!small) {
		rds_tcp_pieces_init(&ti->ti_first, RDS_TCP_FIRST_PIECES);
		ti->ti_last = &ti->ti_first;
		ti->ti_copies.page = NULL;
		ti->ti_inc.i_stamps[RDS_RX_STAMP_HDR] = local_clock();
		ti->ti_inc.i_stamps[RDS_RX_STAMP_START] =
			ti->ti_inc.i_stamps[RDS_RX_STAMP_HDR];
	}
	return ti;
}

ALLOW_ERROR_INJECTION(rds_tcp_incoming_alloc, NULL);

static struct bio_vec *rds_tcp_new_piece(struct rds_tcp_incoming *ti)
{
	struct rds_tcp_pieces *pc = ti->ti_last;
	size_t size = struct_size(pc, pc_bvec, RDS_TCP_MORE_PIECES);

	if (pc->pc_nr == pc->pc_max) {
		pc->pc_next = kmalloc(size, RDS_TCP_GFP);
		if (!pc->pc_next)
			return NULL;
		pc = pc->pc_next;
		rds_tcp_pieces_init(pc, RDS_TCP_MORE_PIECES);
		ti->ti_last = pc;
		ti->ti_inc.i_truesize += size;
	}
	return &pc->pc_bvec[pc->pc_nr++];
}

/* Add a piece, or extend the last one if the new bytes follow it directly. */
static bool rds_tcp_add_page(struct rds_tcp_incoming *ti, struct page *page,
			     u32 offset, u32 len)
{
	struct rds_tcp_pieces *pc = ti->ti_last;
	struct bio_vec *bv;

	if (pc->pc_nr) {
		bv = &pc->pc_bvec[pc->pc_nr - 1];
		if (bv->bv_page == page &&
		    bv->bv_offset + bv->bv_len == offset) {
			bv->bv_len += len;
			return true;
		}
	}

	bv = rds_tcp_new_piece(ti);
	if (!bv)
		return false;
	get_page(page);
	bv->bv_page = page;
	bv->bv_offset = offset;
	bv->bv_len = len;
	return true;
}

/* Provide memory to copy to. The message has its own, so that it is charged for
 * exactly the memory that it holds. Allocate no more than @left bytes need, as
 * one block if there is one, otherwise page by page.
 */
static bool rds_tcp_refill(struct rds_tcp_incoming *ti, u32 left)
{
	unsigned int order;
	struct page_frag *pf = &ti->ti_copies;
	struct page *page = NULL;

	if (pf->page && pf->offset < pf->size)
		return true;

	order = min(get_order(left), PAGE_ALLOC_COSTLY_ORDER);
	if (order)
		page = alloc_pages(RDS_TCP_GFP | __GFP_COMP | __GFP_NORETRY,
				   order);
	if (!page) {
		order = 0;
		page = alloc_page(RDS_TCP_GFP);
	}
	if (!page)
		return false;

	if (pf->page)
		put_page(pf->page);
	pf->page = page;
	pf->offset = 0;
	pf->size = PAGE_SIZE << order;
	ti->ti_inc.i_truesize += pf->size;
	return true;
}

static u32 rds_tcp_add_copy(struct rds_tcp_incoming *ti,
			    const struct sk_buff *skb, u32 offset, u32 len)
{
	struct page_frag *pf = &ti->ti_copies;
	u32 left = ti->ti_inc.i_len - ti->ti_got;
	u32 added = 0, bytes;

	while (added < len && rds_tcp_refill(ti, left - added)) {
		bytes = min_t(u32, len - added, pf->size - pf->offset);
		if (skb_copy_bits(skb, offset + added,
				  page_address(pf->page) + pf->offset, bytes))
			break;
		if (!rds_tcp_add_page(ti, pf->page, pf->offset, bytes))
			break;
		pf->offset += bytes;
		added += bytes;
	}
	return added;
}

/* Charge the message for the part of a packet's memory that it refers to.
 * Copied bytes do not count: rds_tcp_refill() has charged for the copy.
 */
static void rds_tcp_charge(struct rds_tcp_incoming *ti,
			   const struct sk_buff *skb, u32 bytes)
{
	ti->ti_inc.i_truesize += mul_u64_u32_div(skb->truesize, bytes,
						 skb->len);
}

static u32 rds_tcp_add_head(struct rds_tcp_incoming *ti,
			    const struct sk_buff *skb, u32 offset, u32 len)
{
	struct page *page;

	if (!skb->head_frag)
		return rds_tcp_add_copy(ti, skb, offset, len);

	page = virt_to_head_page(skb->head);
	offset += skb->data - (u8 *)page_address(page);
	if (!rds_tcp_add_page(ti, page, offset, len))
		return 0;
	rds_tcp_charge(ti, skb, len);
	return len;
}

/* Add @len bytes of the pages of a packet, from @offset on. Both count from the
 * first byte behind the head.
 */
static u32 rds_tcp_add_frags(struct rds_tcp_incoming *ti,
			     const struct sk_buff *skb, u32 offset, u32 len)
{
	u32 start = 0, added = 0, bytes, end;
	const skb_frag_t *frag;
	int i;

	for (i = 0; i < skb_shinfo(skb)->nr_frags && added < len; i++) {
		frag = &skb_shinfo(skb)->frags[i];
		end = start + skb_frag_size(frag);
		if (offset + added < end) {
			bytes = min(len - added, end - offset - added);
			if (!rds_tcp_add_page(ti, skb_frag_page(frag),
					      skb_frag_off(frag) + offset +
					      added - start, bytes))
				break;
			added += bytes;
		}
		start = end;
	}
	rds_tcp_charge(ti, skb, added);
	return added;
}

static u32 rds_tcp_add_packet(struct rds_tcp_incoming *ti,
			      const struct sk_buff *skb, u32 offset, u32 len)
{
	u32 head = skb_headlen(skb), added = 0, bytes;

	if (offset < head) {
		bytes = min(len, head - offset);
		added = rds_tcp_add_head(ti, skb, offset, bytes);
		if (added < bytes)
			return added;
	}
	return added + rds_tcp_add_frags(ti, skb, offset + added - head,
					 len - added);
}

/* Check whether the message may refer to the memory of a packet. */
static bool rds_tcp_may_refer(const struct sk_buff *skb)
{
	return !skb_has_frag_list(skb) &&
	       skb->truesize <= RDS_TCP_TRUESIZE_MAX * skb->len;
}

/**
 * rds_tcp_incoming_add() - Add received bytes to the payload of a message
 * @ti: the message
 * @skb: the packet
 * @offset: offset of the bytes in the packet
 * @len: number of bytes, at least 1 and at most what the message lacks
 *
 * Context: Deliver context.
 * Return: the number of bytes added. For a large message this is less than
 * @len, and may be 0, if there is no memory. -EFAULT if the packet cannot be
 * read.
 */
int rds_tcp_incoming_add(struct rds_tcp_incoming *ti, const struct sk_buff *skb,
			 u32 offset, u32 len)
{
	u32 added;

	if (!ti->ti_last) {
		if (skb_copy_bits(skb, offset, ti->ti_data + ti->ti_got, len))
			return -EFAULT;
		added = len;
	} else if (!rds_tcp_skb_readable(skb)) {
		return -EFAULT;
	} else if (rds_tcp_may_refer(skb)) {
		added = rds_tcp_add_packet(ti, skb, offset, len);
	} else {
		added = rds_tcp_add_copy(ti, skb, offset, len);
	}
	ti->ti_got += added;
	return added;
}

ALLOW_ERROR_INJECTION(rds_tcp_incoming_add, ERRNO_NULL);

/**
 * rds_tcp_incoming_holds() - Get how much memory a message holds so far
 * @ti: the message
 *
 * Context: Deliver context.
 * Return: the memory in bytes.
 */
u32 rds_tcp_incoming_holds(const struct rds_tcp_incoming *ti)
{
	return ti->ti_inc.i_truesize;
}

/**
 * rds_tcp_incoming_end() - Finish a message that is complete
 * @ti: the message
 *
 * Context: Deliver context.
 * Return: core's part of the message, for rds_deliver().
 */
struct rds_incoming *rds_tcp_incoming_end(struct rds_tcp_incoming *ti)
{
	if (ti->ti_last)
		ti->ti_inc.i_stamps[RDS_RX_STAMP_END] = local_clock();
	return &ti->ti_inc;
}

/**
 * rds_tcp_incoming_drop() - Free a message that will not be completed
 * @ti: the message, or NULL
 *
 * Context: Any context.
 */
void rds_tcp_incoming_drop(struct rds_tcp_incoming *ti)
{
	if (ti)
		rds_tcp_incoming_free(&ti->ti_inc);
}
