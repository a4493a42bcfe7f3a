/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rings: how many work requests there may be, and which.
 *
 * The send ring hands out slots in order and takes them back in order; it may
 * be handed out by one task while another, or softirq, takes back. Both ends
 * count freely and never wrap at the size: head - tail is what is in use.
 *
 * The receive queue has no order of its own. What there is to decide is how
 * many buffers to post: few for a peer that sends little.
 */
#ifndef _RDS_IB_RING_H
#define _RDS_IB_RING_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/types.h>
#include <asm/barrier.h>

/* A header's place in memory that the device reads or writes */
#define RDS_IB_HDR_STRIDE	64

/**
 * struct rds_ib_ring - a ring of slots
 * @rg_size: how many there are
 * @rg_head: slots handed out so far; changed by the one who hands out
 * @rg_tail: slots taken back so far; changed by the one who takes back
 */
struct rds_ib_ring {
	u32	rg_size;
	u32	rg_head;
	u32	rg_tail;
};

/**
 * rds_ib_ring_init() - an empty ring
 * @rg: the ring
 * @size: its slots, at least 1
 *
 * Context: any.
 */
static inline void rds_ib_ring_init(struct rds_ib_ring *rg, u32 size)
{
	rg->rg_size = size;
	rg->rg_head = 0;
	rg->rg_tail = 0;
}

/**
 * rds_ib_ring_used() - slots in use
 * @rg: the ring
 *
 * Context: any.
 * Return: how many.
 */
static inline u32 rds_ib_ring_used(const struct rds_ib_ring *rg)
{
	/* What was taken back is to be seen by who hands it out again. */
	return READ_ONCE(rg->rg_head) - smp_load_acquire(&rg->rg_tail);
}

/**
 * rds_ib_ring_room() - slots that can be handed out
 * @rg: the ring
 *
 * Context: that of rds_ib_ring_get().
 * Return: how many.
 */
static inline u32 rds_ib_ring_room(const struct rds_ib_ring *rg)
{
	return rg->rg_size - rds_ib_ring_used(rg);
}

/**
 * rds_ib_ring_get() - hand a slot out
 * @rg: the ring; it has room
 *
 * Context: any, serial.
 * Return: its number, below &rds_ib_ring.rg_size.
 */
static inline u32 rds_ib_ring_get(struct rds_ib_ring *rg)
{
	u32 slot = rg->rg_head % rg->rg_size;

	WRITE_ONCE(rg->rg_head, rg->rg_head + 1);
	return slot;
}

/**
 * rds_ib_ring_unget() - the slot that was handed out last was not used
 * @rg: the ring
 *
 * Context: that of rds_ib_ring_get().
 */
static inline void rds_ib_ring_unget(struct rds_ib_ring *rg)
{
	WRITE_ONCE(rg->rg_head, rg->rg_head - 1);
}

/**
 * rds_ib_ring_oldest() - the slot that is to be taken back next
 * @rg: the ring; not empty
 *
 * Context: that of rds_ib_ring_put().
 * Return: its number.
 */
static inline u32 rds_ib_ring_oldest(const struct rds_ib_ring *rg)
{
	return rg->rg_tail % rg->rg_size;
}

/**
 * rds_ib_ring_put() - take the oldest slot back
 * @rg: the ring; not empty
 *
 * Context: any, serial.
 */
static inline void rds_ib_ring_put(struct rds_ib_ring *rg)
{
	/* Whoever sees it as free must see it as we left it. */
	smp_store_release(&rg->rg_tail, rg->rg_tail + 1);
}

/**
 * rds_ib_ring_covers() - how many slots does a completion cover?
 * @rg: the ring
 * @slot: the slot that was completed; all older ones were, too
 *
 * Context: that of rds_ib_ring_put().
 * Return: how many are to be taken back, that one included; 0 if it is not in
 * use.
 */
static inline u32 rds_ib_ring_covers(const struct rds_ib_ring *rg, u32 slot)
{
	u32 oldest = rds_ib_ring_oldest(rg);
	u32 nr;

	if (slot >= rg->rg_size)
		return 0;
	nr = (slot >= oldest ? slot - oldest :
	      slot + rg->rg_size - oldest) + 1;
	return nr <= rds_ib_ring_used(rg) ? nr : 0;
}

/**
 * rds_ib_signal_every() - how many work requests may follow each other without
 *	a completion
 * @wanted: what the administrator says
 * @size: slots of the ring
 *
 * Half of the ring must always come back.
 *
 * Context: any.
 * Return: at least 1.
 */
static inline u32 rds_ib_signal_every(u32 wanted, u32 size)
{
	return clamp(wanted, 1U, max(size / 2, 1U));
}

/**
 * rds_ib_rx_target() - how many receive buffers to have posted
 * @target: how many it was so far
 * @used: how many were used up within one tick
 * @max: how many there may be
 *
 * Four times what one tick needs: when there are too few the peer is slowed
 * down, and then it does not show how many it needs.
 *
 * Context: any.
 * Return: @target, or more.
 */
static inline u32 rds_ib_rx_target(u32 target, u32 used, u32 max)
{
	while (target < max && used > target / 4)
		target = target > max / 2 ? max : target * 2;
	return target;
}

/**
 * rds_ib_rx_decay() - how many receive buffers to have posted from now on
 * @target: how many it was so far
 * @used: the most that were used up within one tick, of late
 * @min: how many there should be in any case
 *
 * Half as many, if that is still twice as many as rds_ib_rx_target() asks for.
 *
 * Context: any.
 * Return: @target, or less.
 */
static inline u32 rds_ib_rx_decay(u32 target, u32 used, u32 min)
{
	if (target / 2 < min || used > target / 16)
		return target;
	return target / 2;
}

/**
 * rds_ib_rx_batch() - how many receive buffers to post together
 * @target: how many should be posted
 *
 * Context: any.
 * Return: at least 1.
 */
static inline u32 rds_ib_rx_batch(u32 target)
{
	return clamp(target / 4, 1U, 16U);
}

#endif /* _RDS_IB_RING_H */
