/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings: how many work requests may be posted, and which slots they use.
 *
 * The send ring hands slots out in order and takes them back in order. One task
 * may hand out while another task, or softirq, takes back. Both counters run
 * freely and do not wrap at the size: head - tail slots are in use. As they
 * wrap at 2^32, the number of slots is a power of two; no more than the size of
 * the queue are in use.
 *
 * The receive queue has no order of its own. All there is to decide is how many
 * buffers to post: few for a peer that sends little.
 */
#ifndef _RDS_IB_RING_H
#define _RDS_IB_RING_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "credits.h"

/* Distance between two headers in memory that the device accesses, in bytes */
#define RDS_IB_HDR_STRIDE	64

/* WRs in addition to those of the rings: an ack, and the WR that drains */
#define RDS_IB_SEND_EXTRA	2
#define RDS_IB_RECV_EXTRA	1

/**
 * struct rds_ib_queue_limits - how many entries queues may have
 * @ql_send: entries of a send queue that the administrator allows
 * @ql_recv: likewise, of a receive queue
 * @ql_max_wr: most entries of either queue that the device supports
 * @ql_max_cqe: most entries of a completion queue that the device supports
 */
struct rds_ib_queue_limits {
	u32	ql_send;
	u32	ql_recv;
	u32	ql_max_wr;
	u32	ql_max_cqe;
};

/**
 * struct rds_ib_ring - a ring of slots
 * @rg_size: number of slots that may be in use
 * @rg_slots: number of slots, a power of two
 * @rg_head: slots handed out so far; written only by the context that hands out
 * @rg_tail: slots taken back so far; written only by the context that takes
 *	back
 */
struct rds_ib_ring {
	u32	rg_size;
	u32	rg_slots;
	u32	rg_head;
	u32	rg_tail;
};

/**
 * rds_ib_ring_init() - Initialize an empty ring
 * @rg: the ring
 * @size: number of slots that may be in use, from 1 to 2^31
 *
 * Context: Any context.
 */
static inline void rds_ib_ring_init(struct rds_ib_ring *rg, u32 size)
{
	rg->rg_size = size;
	rg->rg_slots = roundup_pow_of_two(size);
	rg->rg_head = 0;
	rg->rg_tail = 0;
}

/**
 * rds_ib_ring_used() - Count the slots in use
 * @rg: the ring
 *
 * Context: Any context.
 * Return: the number of slots.
 */
static inline u32 rds_ib_ring_used(const struct rds_ib_ring *rg)
{
	/* The context that hands a slot out again must see it as it was when it
	 * was taken back. Pairs with the release in rds_ib_ring_put().
	 */
	return READ_ONCE(rg->rg_head) - smp_load_acquire(&rg->rg_tail);
}

/**
 * rds_ib_ring_room() - Count the slots that can be handed out
 * @rg: the ring
 *
 * Context: Same as rds_ib_ring_get().
 * Return: the number of slots.
 */
static inline u32 rds_ib_ring_room(const struct rds_ib_ring *rg)
{
	return rg->rg_size - rds_ib_ring_used(rg);
}

/**
 * rds_ib_ring_next() - Get the slot that is to be handed out next
 * @rg: the ring
 *
 * Context: Same as rds_ib_ring_get().
 * Return: the number of the slot, below &rds_ib_ring.rg_slots.
 */
static inline u32 rds_ib_ring_next(const struct rds_ib_ring *rg)
{
	return rg->rg_head & (rg->rg_slots - 1);
}

/**
 * rds_ib_ring_get() - Hand out a slot
 * @rg: the ring; it has room
 *
 * Context: Any context; calls are serialized.
 * Return: the number of the slot, below &rds_ib_ring.rg_slots.
 */
static inline u32 rds_ib_ring_get(struct rds_ib_ring *rg)
{
	u32 slot = rds_ib_ring_next(rg);

	WRITE_ONCE(rg->rg_head, rg->rg_head + 1);
	return slot;
}

/**
 * rds_ib_ring_unget() - Undo the last rds_ib_ring_get()
 * @rg: the ring; the slot that was handed out last has not been used
 *
 * Context: Same as rds_ib_ring_get().
 */
static inline void rds_ib_ring_unget(struct rds_ib_ring *rg)
{
	WRITE_ONCE(rg->rg_head, rg->rg_head - 1);
}

/**
 * rds_ib_ring_oldest() - Get the slot that is to be taken back next
 * @rg: the ring; not empty
 *
 * Context: Same as rds_ib_ring_put().
 * Return: the number of the slot.
 */
static inline u32 rds_ib_ring_oldest(const struct rds_ib_ring *rg)
{
	return rg->rg_tail & (rg->rg_slots - 1);
}

/**
 * rds_ib_ring_put() - Take the oldest slot back
 * @rg: the ring; not empty
 *
 * Context: Any context; calls are serialized.
 */
static inline void rds_ib_ring_put(struct rds_ib_ring *rg)
{
	/* The context that sees the slot as free must see it as we left it.
	 * Pairs with the acquire in rds_ib_ring_used().
	 */
	smp_store_release(&rg->rg_tail, rg->rg_tail + 1);
}

/**
 * rds_ib_ring_covers() - Count the slots that a completion covers
 * @rg: the ring
 * @slot: the completed slot; all older slots are completed, too
 *
 * Context: Same as rds_ib_ring_put().
 * Return: the number of slots to take back, including @slot; 0 if @slot is not
 * in use.
 */
static inline u32 rds_ib_ring_covers(const struct rds_ib_ring *rg, u32 slot)
{
	u32 nr;

	if (slot >= rg->rg_slots)
		return 0;
	nr = ((slot - rg->rg_tail) & (rg->rg_slots - 1)) + 1;
	return nr <= rds_ib_ring_used(rg) ? nr : 0;
}

/* Returns the number of slots of a ring whose queue is to have @entries, of
 * which @extra are not for the ring. One more entry is left free: devices size
 * their queues in powers of two, and may need one entry to tell full from
 * empty. The ring has enough slots that two ends cannot deadlock waiting for
 * credits of each other. @max is the device's limit for a queue.
 */
static inline u32 rds_ib_ring_wanted(u32 entries, u32 extra, u32 max)
{
	u32 least = RDS_IB_CREDITS_RING_MIN + extra + 1;

	return min(max(entries, least) - extra - 1, max - extra);
}

/**
 * rds_ib_ring_sizes() - Choose the sizes of the two rings of a connection
 * @ql: how many entries the queues may have
 * @send: set to the number of slots of the send ring
 * @recv: set to the number of slots of the receive ring
 *
 * All work requests have room in one completion queue. If it cannot have as
 * many entries as both rings want, each ring may have half of them. What one
 * ring does not need of its half is for the other ring.
 *
 * Context: Any context.
 * Return: 0; -EINVAL if the device's queues are too small for rings that make
 * progress with credits.
 */
static inline int rds_ib_ring_sizes(const struct rds_ib_queue_limits *ql,
				    u32 *send, u32 *recv)
{
	const u32 extra = RDS_IB_SEND_EXTRA + RDS_IB_RECV_EXTRA;
	u32 room;

	if (ql->ql_max_wr < RDS_IB_CREDITS_RING_MIN + RDS_IB_SEND_EXTRA ||
	    ql->ql_max_cqe < 2 * RDS_IB_CREDITS_RING_MIN + extra)
		return -EINVAL;

	room = ql->ql_max_cqe - extra;
	*send = rds_ib_ring_wanted(ql->ql_send, RDS_IB_SEND_EXTRA,
				   ql->ql_max_wr);
	*recv = rds_ib_ring_wanted(ql->ql_recv, RDS_IB_RECV_EXTRA,
				   ql->ql_max_wr);
	*send = min(*send, max(room / 2, room - min(*recv, room)));
	*recv = min(*recv, room - *send);
	return 0;
}

/**
 * rds_ib_signal_every() - Compute how often a work request is signaled
 * @wanted: the value that the administrator has set
 * @size: slots of the ring
 *
 * The slot of an unsignaled work request is taken back when a later one that is
 * signaled completes. At most half of the slots may wait for that.
 *
 * Context: Any context.
 * Return: n, at least 1: every n-th work request is to be signaled.
 */
static inline u32 rds_ib_signal_every(u32 wanted, u32 size)
{
	return clamp(wanted, 1U, max(size / 2, 1U));
}

/**
 * rds_ib_rx_target() - Raise the number of receive buffers to post if needed
 * @target: the number so far
 * @used: buffers used up within one tick
 * @max: largest number allowed
 *
 * The target is four times what one tick needs. If there are too few buffers,
 * the peer is slowed down, and does not show how many it needs.
 *
 * Context: Any context.
 * Return: the new number: @target or more.
 */
static inline u32 rds_ib_rx_target(u32 target, u32 used, u32 max)
{
	while (target < max && used > target / 4)
		target = target > max / 2 ? max : target * 2;
	return target;
}

/**
 * rds_ib_rx_decay() - Lower the number of receive buffers to post if possible
 * @target: the number so far
 * @used: the most buffers used up within one tick recently
 * @min: smallest number allowed
 *
 * The number is halved if the result is still at least twice what
 * rds_ib_rx_target() asks for.
 *
 * Context: Any context.
 * Return: the new number: @target or less.
 */
static inline u32 rds_ib_rx_decay(u32 target, u32 used, u32 min)
{
	if (target / 2 < min || used > target / 16)
		return target;
	return target / 2;
}

/**
 * rds_ib_rx_batch() - Compute how many receive buffers to post together
 * @target: number of buffers that should be posted
 *
 * Context: Any context.
 * Return: the number, at least 1.
 */
static inline u32 rds_ib_rx_batch(u32 target)
{
	return clamp(target / 4, 1U, 16U);
}

#endif /* _RDS_IB_RING_H */
