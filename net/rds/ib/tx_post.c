// SPDX-License-Identifier: GPL-2.0-only
/*
 * Posting of batched work requests, and the check for room for another one.
 */
#include "ib.h"
#include "trace.h"

static void rds_ib_tx_seal_batched(struct rds_ib_conn *ic,
				   const struct ib_send_wr *wr)
{
	struct rds_ib_tx_slot *slot = container_of(wr->wr_cqe,
						   struct rds_ib_tx_slot,
						   ts_cqe);
	struct rds_header *hdr;
	u64 dma;

	hdr = rds_ib_tx_header(ic, slot - ic->ic_tx.tx_slots, &dma);
	rds_ib_tx_seal(ic, hdr);
	if (!(wr->send_flags & IB_SEND_INLINE))
		ib_dma_sync_single_for_device(ic->ic_dev->dv_dev, dma,
					      sizeof(*hdr), DMA_TO_DEVICE);
}

/**
 * rds_ib_tx_post() - Post the batched work requests
 * @ic: the connection
 *
 * Context: Process context. The path's transmit lock is held. Takes ic_tx_lock.
 * Return: 0; -EIO if the device does not accept them.
 */
int rds_ib_tx_post(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	const struct ib_send_wr *wr;
	struct ib_send_wr *last;
	unsigned int i;
	int ret;

	if (!tx->tx_nr)
		return 0;

	last = &tx->tx_wr[tx->tx_nr - 1];
	if (tx->tx_signal_last && !(last->send_flags & IB_SEND_SIGNALED))
		rds_ib_tx_signal(tx, last);
	for (i = 0; i < tx->tx_nr; i++) {
		tx->tx_wr[i].next = &tx->tx_wr[i + 1];
		if (tx->tx_wr[i].send_flags & IB_SEND_SIGNALED)
			atomic_inc(&ic->ic_signaled);
	}
	last->next = NULL;
	tx->tx_signal_last = false;
	tx->tx_nr = 0;
	tx->tx_batched = 0;
	spin_lock_bh(&ic->ic_tx_lock);
	for (wr = tx->tx_wr; wr; wr = wr->next)
		rds_ib_tx_seal_batched(ic, wr);
	ret = ib_post_send(ic->ic_id->qp, tx->tx_wr, NULL);
	spin_unlock_bh(&ic->ic_tx_lock);
	if (!ret)
		rds_ib_tx_is_posted(ic);
	rds_ib_tx_put_lent(ic);
	return ret ? -EIO : 0;
}

/* Check for a slot and, if @news is set, take a credit. */
static bool rds_ib_tx_has_room(struct rds_ib_conn *ic, u8 *news)
{
	if (!rds_ib_ring_room(&ic->ic_tx.tx_ring)) {
		rds_ib_stat_inc(ib_tx_ring_full);
		return false;
	}
	if (news && !rds_ib_ack_take(ic, news)) {
		rds_ib_stat_inc(ib_tx_throttle);
		return false;
	}
	return true;
}

/**
 * rds_ib_tx_room() - Get room for a work request: a slot and a credit
 * @ic: the connection
 * @news: set to the number of our receive buffers that the work request is to
 *	advertise; NULL if it needs no credit and advertises nothing
 *
 * The credit is taken, the slot is not. If there is no room, the batched work
 * requests are posted, and the path is kicked when there is room again.
 *
 * Context: Process context. The path's transmit lock is held. Takes ic_tx_lock
 * if @news is set.
 * Return: 0 if there is room; -EAGAIN if there is none; -EIO if the device does
 * not accept the batched work requests.
 */
int rds_ib_tx_room(struct rds_ib_conn *ic, u8 *news)
{
	bool was_stalled;
	int ret;

	if (likely(rds_ib_tx_has_room(ic, news)))
		return 0;

	/* Room comes from the completions of the batched work requests, so
	 * these must not wait for it.
	 */
	ret = rds_ib_tx_post(ic);
	if (ret)
		return ret;
	was_stalled = test_and_set_bit(0, &ic->ic_tx.tx_stalled);
	/* Pairs with the one in rds_ib_tx_unstall(). */
	smp_mb__after_atomic();
	if (rds_ib_tx_has_room(ic, news)) {
		clear_bit(0, &ic->ic_tx.tx_stalled);
		return 0;
	}
	/* If the peer is gone, no completion will tell. */
	rds_ib_watchdog_start(ic);
	rds_ib_stat_inc(ib_tx_stalled);
	if (!was_stalled)
		trace_rds_ib_tx_stall(ic);
	return -EAGAIN;
}
