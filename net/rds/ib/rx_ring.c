// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive buffers.
 *
 * Slots are allocated by the chunk when they are needed. Each slot has pages
 * for a fragment while it is posted. ic_rx_lock guards all of this. A small
 * message is copied and leaves the pages to its slot. A large message takes
 * along those that it has filled.
 *
 * Whether a peer sends wide fragments is known before the first buffer is
 * posted if the peer dials. Otherwise the first buffers are for wide ones.
 *
 * A connection has as many buffers as the peer's traffic needs. New ones are
 * posted together, once enough have been used up for a batch. A posted buffer
 * cannot be taken back. If fewer buffers are needed, those that are used up are
 * not replaced.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ib.h"

/* Number of pages in receive slots of all connections */
atomic_long_t rds_ib_rx_pages;

/* Interval after which the number of buffers is lowered if few were used */
#define RDS_IB_RX_WINDOW	HZ

static struct ib_device *rds_ib_rx_device(const struct rds_ib_conn *ic)
{
	return ic->ic_dev->dv_dev;
}

static void rds_ib_rx_init_slot(struct rds_ib_conn *ic,
				struct rds_ib_rx_chunk *chunk, unsigned int nr)
{
	struct rds_ib_rx_slot *slot = &chunk->rk_slots[nr];
	u32 lkey = ic->ic_dev->dv_pd->local_dma_lkey;
	unsigned int i;

	slot->rb_cqe.done = ic->ic_rx.rx_done;
	slot->rb_hdr = chunk->rk_hdrs + nr * RDS_IB_HDR_STRIDE;
	slot->rb_sge[0].addr = chunk->rk_hdrs_dma + nr * RDS_IB_HDR_STRIDE;
	slot->rb_sge[0].length = sizeof(struct rds_header);
	slot->rb_sge[0].lkey = lkey;
	for (i = 0; i < RDS_IB_WIDE_PAGES; i++) {
		slot->rb_sge[1 + i].length = RDS_IB_PIECE;
		slot->rb_sge[1 + i].lkey = lkey;
	}
	slot->rb_wr.wr_cqe = &slot->rb_cqe;
	slot->rb_wr.sg_list = slot->rb_sge;
}

static noinline int rds_ib_rx_add_chunk(struct rds_ib_conn *ic, gfp_t gfp)
{
	struct ib_device *dev = rds_ib_rx_device(ic);
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_chunk *chunk;
	size_t size = RDS_IB_RX_CHUNK * RDS_IB_HDR_STRIDE;
	unsigned int i;

	chunk = kzalloc(sizeof(*chunk), gfp);
	if (!chunk)
		return -ENOMEM;
	chunk->rk_hdrs = kzalloc(size, gfp);
	if (!chunk->rk_hdrs)
		goto err_chunk;
	chunk->rk_hdrs_dma = ib_dma_map_single(dev, chunk->rk_hdrs, size,
					       DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, chunk->rk_hdrs_dma))
		goto err_hdrs;

	list_add_tail(&chunk->rk_item, &rx->rx_chunks);
	for (i = 0; i < RDS_IB_RX_CHUNK && rx->rx_slots < rx->rx_max; i++) {
		rds_ib_rx_init_slot(ic, chunk, i);
		list_add_tail(&chunk->rk_slots[i].rb_item, &rx->rx_spare);
		rx->rx_slots++;
	}
	return 0;

err_hdrs:
	kfree(chunk->rk_hdrs);
err_chunk:
	kfree(chunk);
	return -ENOMEM;
}

ALLOW_ERROR_INJECTION(rds_ib_rx_add_chunk, ERRNO);

/* Even beyond the limit, each connection may have its first rx_min buffers. */
static bool rds_ib_rx_may_alloc(const struct rds_ib_conn *ic)
{
	if (ic->ic_rx.rx_posted < ic->ic_rx.rx_min ||
	    atomic_long_read(&rds_ib_rx_pages) <
	    READ_ONCE(rds_ib_sysctl.max_recv_allocation))
		return true;
	rds_ib_stat_inc(ib_rx_alloc_limit);
	return false;
}

/* Check whether buffers are for wide fragments. */
static bool rds_ib_rx_is_wide(const struct rds_ib_conn *ic)
{
	return ic->ic_rx.rx_early ? rds_ib_device_is_wide(ic->ic_dev) :
				    ic->ic_priv.wide;
}

/* Number of pages that each buffer needs */
static unsigned int rds_ib_rx_wanted(const struct rds_ib_conn *ic)
{
	return rds_ib_rx_is_wide(ic) ? RDS_IB_WIDE_PAGES : 1;
}

static int rds_ib_rx_get_page(struct rds_ib_conn *ic,
			      struct rds_ib_rx_slot *slot, unsigned int nr,
			      gfp_t gfp)
{
	struct ib_device *dev = rds_ib_rx_device(ic);
	struct page *page;
	u64 dma;

	if (slot->rb_pages[nr])
		return 0;
	if (!rds_ib_rx_may_alloc(ic))
		return -ENOBUFS;
	page = rds_ib_page_get(gfp);
	if (!page)
		return -ENOMEM;
	dma = ib_dma_map_page(dev, page, 0, RDS_IB_PIECE, DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, dma)) {
		__free_page(page);
		return -ENOMEM;
	}
	slot->rb_sge[1 + nr].addr = dma;
	slot->rb_pages[nr] = page;
	atomic_long_inc(&rds_ib_rx_pages);
	return 0;
}

/**
 * rds_ib_rx_take_page() - Take a page of a slot away
 * @ic: the connection
 * @slot: the slot, not posted
 * @nr: number of the page, which the slot has
 *
 * Context: Softirq or process context. ic_rx_lock is held, unless no other
 * context uses the connection any more.
 * Return: the page, unmapped; the caller owns its reference.
 */
struct page *rds_ib_rx_take_page(struct rds_ib_conn *ic,
				 struct rds_ib_rx_slot *slot, unsigned int nr)
{
	struct page *page = slot->rb_pages[nr];

	ib_dma_unmap_page(rds_ib_rx_device(ic), slot->rb_sge[1 + nr].addr,
			  RDS_IB_PIECE, DMA_FROM_DEVICE);
	slot->rb_pages[nr] = NULL;
	atomic_long_dec(&rds_ib_rx_pages);
	return page;
}

/**
 * rds_ib_rx_drop_pages() - Give back pages of a slot
 * @ic: the connection
 * @slot: the slot, not posted
 * @nr: how many of its pages the slot keeps, if it has them
 *
 * Context: Same as rds_ib_rx_take_page().
 */
void rds_ib_rx_drop_pages(struct rds_ib_conn *ic, struct rds_ib_rx_slot *slot,
			  unsigned int nr)
{
	struct page *page;

	for (; nr < RDS_IB_WIDE_PAGES; nr++) {
		if (!slot->rb_pages[nr])
			continue;
		page = rds_ib_rx_take_page(ic, slot, nr);
		rds_ib_pages_put(&page, 1);
	}
}

/* Get the pages that a slot lacks. If there are not enough, the slot keeps none
 * that others could use.
 */
static int rds_ib_rx_get_pages(struct rds_ib_conn *ic,
			       struct rds_ib_rx_slot *slot, unsigned int wanted,
			       gfp_t gfp)
{
	unsigned int i;
	int ret;

	for (i = 0; i < wanted; i++) {
		ret = rds_ib_rx_get_page(ic, slot, i, gfp);
		if (ret) {
			rds_ib_rx_drop_pages(ic, slot, 0);
			return ret;
		}
	}
	slot->rb_wr.num_sge = 1 + wanted;
	return 0;
}

/* Remove a slot from the spare list, and make sure that it has its pages.
 * Returns the slot, or an errno as a pointer.
 */
static struct rds_ib_rx_slot *rds_ib_rx_prepare(struct rds_ib_conn *ic,
						gfp_t gfp)
{
	struct ib_device *dev = rds_ib_rx_device(ic);
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_slot *slot;
	int ret;

	if (list_empty(&rx->rx_spare)) {
		/* The backlog must not grow: do not allocate slots to replace
		 * its buffers.
		 */
		if (rx->rx_slots >= rx->rx_max || !list_empty(&rx->rx_backlog))
			return ERR_PTR(-ENOSPC);
		ret = rds_ib_rx_add_chunk(ic, gfp);
		if (ret)
			return ERR_PTR(ret);
	}
	slot = list_first_entry(&rx->rx_spare, struct rds_ib_rx_slot, rb_item);
	ret = rds_ib_rx_get_pages(ic, slot, rds_ib_rx_wanted(ic), gfp);
	if (ret)
		return ERR_PTR(ret);
	list_del(&slot->rb_item);
	/* Only these are ever read while they are mapped. */
	ib_dma_sync_single_for_device(dev, slot->rb_sge[0].addr,
				      sizeof(struct rds_header),
				      DMA_FROM_DEVICE);
	ib_dma_sync_single_for_device(dev, slot->rb_sge[1].addr, RDS_IB_PIECE,
				      DMA_FROM_DEVICE);
	return slot;
}

/* The slots that the device did not accept are spare again. */
static void rds_ib_rx_refused(struct rds_ib_conn *ic,
			      const struct ib_recv_wr *wr)
{
	struct rds_ib_rx_slot *slot;

	for (; wr; wr = wr->next) {
		slot = container_of(wr->wr_cqe, struct rds_ib_rx_slot, rb_cqe);
		WRITE_ONCE(ic->ic_rx.rx_posted, ic->ic_rx.rx_posted - 1);
		rds_ib_rx_give_back(ic, slot);
	}
}

/* Post @nr more buffers together. After an error, fewer are posted. */
static int rds_ib_rx_add(struct rds_ib_conn *ic, u32 nr, gfp_t gfp)
{
	struct ib_recv_wr *first = NULL, **link = &first;
	const struct ib_recv_wr *bad = NULL;
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_slot *slot;
	int ret = 0, err;

	while (nr--) {
		slot = rds_ib_rx_prepare(ic, gfp);
		if (IS_ERR(slot)) {
			ret = PTR_ERR(slot);
			break;
		}
		*link = &slot->rb_wr;
		link = &slot->rb_wr.next;
		WRITE_ONCE(rx->rx_posted, rx->rx_posted + 1);
	}
	*link = NULL;
	if (!first)
		return ret;

	err = ib_post_recv(ic->ic_id->qp, first, &bad);
	if (!err)
		return ret;
	rds_ib_rx_refused(ic, bad);
	return err;
}

static void rds_ib_rx_advertise(struct rds_ib_conn *ic, u32 posted)
{
	const struct rds_ib_credits *cr = &ic->ic_credits;
	u32 untold = min(posted, ic->ic_rx.rx_untold);
	bool last;

	ic->ic_rx.rx_untold -= untold;
	posted -= untold;
	if (!ic->ic_credits_told || !posted)
		return;
	spin_lock(&ic->ic_tx_lock);
	rds_ib_credits_posted(&ic->ic_credits, posted);
	last = cr->cr_limited && cr->cr_send == 1;
	spin_unlock(&ic->ic_tx_lock);
	/* The last credit may be used to advertise these buffers. */
	if (last)
		rds_ib_tx_unstall(ic);
	rds_ib_ack_try(ic);
}

/* Check whether to try again later. A peer that counts our buffers may wait for
 * the missing ones. For any other peer, half of the target is enough.
 */
static bool rds_ib_rx_try_again(const struct rds_ib_conn *ic, int err)
{
	if (!err || err == -ENOSPC || err == -ENOBUFS)
		return false;
	return ic->ic_credits_told ||
	       ic->ic_rx.rx_posted < ic->ic_rx.rx_target / 2;
}

/**
 * rds_ib_rx_refill() - Post buffers until there are as many as there should be
 * @ic: the connection
 * @gfp: how to allocate
 *
 * Does nothing until a batch of buffers is missing. If there is an error and
 * too few buffers are left, the path's work item tries again later.
 *
 * Context: Softirq or process context. ic_rx_lock is held.
 */
void rds_ib_rx_refill(struct rds_ib_conn *ic, gfp_t gfp)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	u32 before = rx->rx_posted;
	int ret;

	if (ic->ic_closing ||
	    before + rds_ib_rx_batch(rx->rx_target) > rx->rx_target)
		return;
	ret = rds_ib_rx_add(ic, rx->rx_target - before, gfp | __GFP_NOWARN);
	rds_ib_rx_advertise(ic, rx->rx_posted - before);
	if (rds_ib_rx_try_again(ic, ret))
		rds_path_kick(ic->ic_ip->ip_path, RDS_KICK_RX_LATER);
}

/**
 * rds_ib_rx_give_back() - Make a slot spare after its contents have been taken
 * @ic: the connection
 * @slot: the slot, not posted
 *
 * The slot keeps the pages that are needed for the next post.
 *
 * Context: Softirq or process context. ic_rx_lock is held.
 */
void rds_ib_rx_give_back(struct rds_ib_conn *ic, struct rds_ib_rx_slot *slot)
{
	struct rds_ib_rx *rx = &ic->ic_rx;

	rds_ib_rx_drop_pages(ic, slot, rx->rx_posted < rx->rx_target ?
				       rds_ib_rx_wanted(ic) : 0);
	list_add(&slot->rb_item, &rx->rx_spare);
}

/**
 * rds_ib_rx_count() - Count a used buffer, and adapt the number to post
 * @ic: the connection
 *
 * If buffers are used up faster, the number rises at once. Otherwise it falls
 * after a while.
 *
 * Context: Softirq. ic_rx_lock is held.
 */
void rds_ib_rx_count(struct rds_ib_conn *ic)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	unsigned long now = jiffies;

	WRITE_ONCE(rx->rx_posted, rx->rx_posted - 1);
	if (!rx->rx_posted)
		rds_ib_stat_inc(ib_rx_ring_empty);
	if (rx->rx_tick != now) {
		rx->rx_tick = now;
		rx->rx_used = 0;
	}
	rx->rx_peak = max(rx->rx_peak, ++rx->rx_used);
	rx->rx_target = rds_ib_rx_target(rx->rx_target, rx->rx_used,
					 rx->rx_most);
	if (time_before(now, rx->rx_since + RDS_IB_RX_WINDOW))
		return;
	rx->rx_target = rds_ib_rx_decay(rx->rx_target, rx->rx_peak,
					rx->rx_min);
	rx->rx_since = now;
	rx->rx_peak = 0;
}

/**
 * rds_ib_rx_set_limits() - Set the fewest and the most buffers of a connection
 * @ic: the connection
 *
 * Of those for wide fragments there are half as many, because each takes more
 * memory, but enough for credits.
 *
 * Context: Softirq or process context. ic_rx_lock is held, unless no other
 * context uses the connection yet.
 */
void rds_ib_rx_set_limits(struct rds_ib_conn *ic)
{
	u32 share = rds_ib_rx_is_wide(ic) ? 2 : 1;
	struct rds_ib_rx *rx = &ic->ic_rx;
	u32 least, most;

	least = max_t(u32, READ_ONCE(rds_ib_sysctl.min_recv_wr) / share,
		      RDS_IB_CREDITS_RING_MIN);
	most = max_t(u32, rx->rx_max / share, RDS_IB_CREDITS_RING_MIN);
	rx->rx_most = min(rx->rx_max, most);
	rx->rx_min = min(rx->rx_most, least);
	rx->rx_target = max(rx->rx_target, rx->rx_min);
}

/**
 * rds_ib_rx_init() - Post the first buffers
 * @ic: the connection, with its queue pair
 * @max: largest number of buffers that it may have later
 *
 * Context: Process context, may sleep.
 * Return: 0 or an errno.
 */
int rds_ib_rx_init(struct rds_ib_conn *ic, u32 max)
{
	struct rds_ib_rx *rx = &ic->ic_rx;

	rx->rx_max = max;
	rds_ib_rx_set_limits(ic);
	rx->rx_since = jiffies;
	/* No other context uses the connection yet, so no lock is needed. */
	return rds_ib_rx_add(ic, rx->rx_target, GFP_KERNEL);
}

static void rds_ib_rx_free_chunk(struct rds_ib_conn *ic,
				 struct rds_ib_rx_chunk *chunk)
{
	unsigned int i;

	for (i = 0; i < RDS_IB_RX_CHUNK; i++)
		rds_ib_rx_drop_pages(ic, &chunk->rk_slots[i], 0);
	ib_dma_unmap_single(rds_ib_rx_device(ic), chunk->rk_hdrs_dma,
			    RDS_IB_RX_CHUNK * RDS_IB_HDR_STRIDE,
			    DMA_FROM_DEVICE);
	kfree(chunk->rk_hdrs);
	kfree(chunk);
}

/**
 * rds_ib_rx_release() - Release everything that the receiving half holds
 * @ic: the connection; no completion runs any more
 *
 * Context: Process context.
 */
void rds_ib_rx_release(struct rds_ib_conn *ic)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &rx->rx_chunks, rk_item) {
		list_del(&chunk->rk_item);
		rds_ib_rx_free_chunk(ic, chunk);
	}
	rds_ib_incoming_drop(rx->rx_inc);
	rx->rx_inc = NULL;
	kfree(rx->rx_map);
	rx->rx_map = NULL;
}
