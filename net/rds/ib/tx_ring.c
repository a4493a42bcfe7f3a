// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of the send queue. They are handed out by who sends, and taken back by
 * completions, in order: one completion covers all that went before.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ib.h"

/**
 * rds_ib_tx_init() - an empty send ring
 * @ic: the connection, with its device
 * @size: how many slots
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; what was made is left to rds_ib_tx_release().
 */
int rds_ib_tx_init(struct rds_ib_conn *ic, u32 size)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;
	u32 signal = READ_ONCE(rds_ib_sysctl.max_unsignaled_wr);
	struct rds_ib_tx *tx = &ic->ic_tx;
	u32 i;

	tx->tx_slots = kvcalloc(size, sizeof(*tx->tx_slots), GFP_KERNEL);
	if (!tx->tx_slots)
		return -ENOMEM;
	for (i = 0; i < size; i++) {
		tx->tx_slots[i].ts_cqe.done = rds_ib_send_done;
		tx->tx_slots[i].ts_conn = ic;
	}
	rds_ib_ring_init(&tx->tx_ring, size);
	tx->tx_signal = rds_ib_signal_every(signal, size);

	tx->tx_hdrs_len = (size + 1) * RDS_IB_HDR_STRIDE;
	tx->tx_hdrs = alloc_pages_exact(tx->tx_hdrs_len,
					GFP_KERNEL | __GFP_ZERO);
	if (!tx->tx_hdrs)
		return -ENOMEM;
	tx->tx_hdrs_dma = ib_dma_map_single(dev, tx->tx_hdrs, tx->tx_hdrs_len,
					    DMA_TO_DEVICE);
	if (ib_dma_mapping_error(dev, tx->tx_hdrs_dma)) {
		free_pages_exact(tx->tx_hdrs, tx->tx_hdrs_len);
		tx->tx_hdrs = NULL;
		return -ENOMEM;
	}
	return 0;
}

ALLOW_ERROR_INJECTION(rds_ib_tx_init, ERRNO);

/**
 * rds_ib_tx_header() - where the header of a slot is
 * @ic: the connection
 * @slot: its number; the size of the ring for an ack
 * @dma: set to where the device sees it
 *
 * Context: any.
 * Return: where we see it.
 */
void *rds_ib_tx_header(struct rds_ib_conn *ic, u32 slot, u64 *dma)
{
	*dma = ic->ic_tx.tx_hdrs_dma + slot * RDS_IB_HDR_STRIDE;
	return ic->ic_tx.tx_hdrs + slot * RDS_IB_HDR_STRIDE;
}

/**
 * rds_ib_tx_unmap() - the device has done with a payload
 * @ic: the connection
 * @slot: the slot that carried it
 *
 * Context: any.
 */
void rds_ib_tx_unmap(struct rds_ib_conn *ic, struct rds_ib_tx_slot *slot)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slot->ts_len) && slot->ts_len[i]; i++) {
		ib_dma_unmap_page(ic->ic_dev->dv_dev, slot->ts_dma[i],
				  slot->ts_len[i], slot->ts_from ?
				  DMA_FROM_DEVICE : DMA_TO_DEVICE);
		slot->ts_len[i] = 0;
	}
	slot->ts_from = false;
}

/* The last of them says how the operation of a message has ended. */
static void rds_ib_tx_put_msg(struct rds_ib_tx_slot *slot, bool arrived)
{
	if (unlikely(slot->ts_op >= RDS_IB_OP_LAST))
		rds_op_done(slot->ts_msg, arrived ? RDS_RDMA_SUCCESS :
					  slot->ts_msg->m_op->op_error ?:
					  RDS_RDMA_DROPPED);
	slot->ts_op = RDS_IB_OP_NONE;
	rds_message_put(slot->ts_msg);
	slot->ts_msg = NULL;
}

/**
 * rds_ib_tx_must_tell() - must a device tell of all that is mapped for it?
 * @ic: the connection
 *
 * Soft-iWARP hands pages to TCP, and calls that done; but it copies what it is
 * asked to tell of. What TCP may have to send again must not change meanwhile:
 * neither a header, whose place is used again, nor what is the user's or freed.
 *
 * Context: any.
 * Return: true if it must.
 */
bool rds_ib_tx_must_tell(const struct rds_ib_conn *ic)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;

	return dev->node_type == RDMA_NODE_RNIC && ib_uses_virt_dma(dev);
}

/**
 * rds_ib_tx_signal() - have a work request report its completion
 * @tx: the sending half of a connection
 * @wr: the work request, the last so far
 *
 * One completion covers all that went before.
 *
 * Context: process; the path's transmit lock is held.
 */
void rds_ib_tx_signal(struct rds_ib_tx *tx, struct ib_send_wr *wr)
{
	wr->send_flags |= IB_SEND_SIGNALED;
	tx->tx_unsignaled = 0;
	tx->tx_held = 0;
}

/* Take the oldest slot back. */
static void rds_ib_tx_put(struct rds_ib_conn *ic, bool arrived)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	struct rds_ib_tx_slot *slot;

	slot = &tx->tx_slots[rds_ib_ring_oldest(&tx->tx_ring)];
	rds_ib_tx_unmap(ic, slot);
	if (slot->ts_msg)
		rds_ib_tx_put_msg(slot, arrived);
	/* Core asks about the last one only. */
	if (slot->ts_map && arrived &&
	    slot->ts_map == READ_ONCE(tx->tx_last_map))
		rds_path_map_acked(ic->ic_ip->ip_path);
	kfree(slot->ts_map);
	slot->ts_map = NULL;
	rds_ib_ring_put(&tx->tx_ring);
}

/**
 * rds_ib_tx_return() - messages that were put by have been copied
 * @ic: the connection
 *
 * Context: process; the path's transmit lock is held.
 */
void rds_ib_tx_return(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	while (tx->tx_nr_lent)
		rds_message_put(tx->tx_lent[--tx->tx_nr_lent]);
}

/**
 * rds_ib_tx_is_posted() - all slots that were handed out have been posted
 * @ic: the connection
 *
 * Context: process; the path's transmit lock is held.
 */
void rds_ib_tx_is_posted(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	/* What an ack reads of it was posted before that. Pairs with the
	 * acquire in rds_ib_ack_post().
	 */
	smp_store_release(&tx->tx_posted, tx->tx_ring.rg_head);
}

/**
 * rds_ib_tx_reclaim() - an ack has arrived, and so has all before it
 * @ic: the connection
 * @posted: how many slots had been posted then
 *
 * Context: softirq, serial with rds_ib_send_done().
 */
void rds_ib_tx_reclaim(struct rds_ib_conn *ic, u32 posted)
{
	struct rds_ib_ring *rg = &ic->ic_tx.tx_ring;

	if ((s32)(posted - rg->rg_tail) <= 0)
		return;
	while (rg->rg_tail != posted)
		rds_ib_tx_put(ic, true);
	rds_ib_tx_unstall(ic);
}

/**
 * rds_ib_tx_unstall() - there are slots, or credits, again
 * @ic: the connection
 *
 * Context: any.
 */
void rds_ib_tx_unstall(struct rds_ib_conn *ic)
{
	/* Pairs with the one in rds_ib_tx_room(). */
	smp_mb();
	if (test_bit(0, &ic->ic_tx.tx_stalled) &&
	    test_and_clear_bit(0, &ic->ic_tx.tx_stalled))
		rds_path_kick(ic->ic_ip->ip_path);
}

/**
 * rds_ib_send_reason() - what the failure of a SEND means
 * @status: the status of its completion
 *
 * Context: any.
 * Return: the reason.
 */
enum rds_drop_reason rds_ib_send_reason(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return RDS_DROP_TIMEOUT;
	default:
		return RDS_DROP_PEER_RESET;
	}
}

/**
 * rds_ib_op_set_error() - say why an operation fails
 * @op: the operation
 * @error: the reason; the first counts
 *
 * Context: any; a completion may have one while we are posting.
 */
void rds_ib_op_set_error(struct rds_op *op, int error)
{
	cmpxchg(&op->op_error, 0, error);
}

/* A work request of a message with an operation has failed. The device may
 * still have others of it. What fails only because something else did has its
 * reason from that.
 */
static void rds_ib_op_failed(struct rds_message *msg, enum ib_wc_status status)
{
	struct rds_op *op = msg->m_op;

	switch (status) {
	case IB_WC_REM_ACCESS_ERR:
	case IB_WC_REM_INV_REQ_ERR:
	case IB_WC_REM_OP_ERR:
		rds_ib_op_set_error(op, RDS_RDMA_REMOTE_ERROR);
		break;
	case IB_WC_WR_FLUSH_ERR:
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RNR_RETRY_EXC_ERR:
		rds_ib_op_set_error(op, RDS_RDMA_DROPPED);
		break;
	default:
		rds_ib_op_set_error(op, RDS_RDMA_OTHER_ERROR);
	}
}

/* The device does them in order. One that fails by itself, and is not flushed
 * after another, says of those before it, which need no completion, that they
 * have arrived.
 */
static bool rds_ib_send_preceded(enum ib_wc_status status)
{
	return status != IB_WC_WR_FLUSH_ERR;
}

/**
 * rds_ib_send_done() - work requests have been completed, or flushed
 * @cq: the completion queue
 * @wc: what has happened
 *
 * Context: softirq.
 */
void rds_ib_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_tx_slot *slot = container_of(wc->wr_cqe,
						   struct rds_ib_tx_slot,
						   ts_cqe);
	struct rds_ib_conn *ic = slot->ts_conn;
	struct rds_ib_tx *tx = &ic->ic_tx;
	bool ok = wc->status == IB_WC_SUCCESS;
	u32 nr;

	rds_ib_stat_inc(ib_tx_cq_event);
	atomic_inc(&ic->ic_completed);
	if (!ok && slot->ts_op)
		rds_ib_op_failed(slot->ts_msg, wc->status);
	nr = rds_ib_ring_covers(&tx->tx_ring, slot - tx->tx_slots);
	while (nr--)
		rds_ib_tx_put(ic, nr ? rds_ib_send_preceded(wc->status) : ok);
	if (ok)
		rds_ib_tx_unstall(ic);
	else
		rds_ib_drop(ic, rds_ib_send_reason(wc->status));
}

/**
 * rds_ib_tx_release() - give all back that the sending half has
 * @ic: the connection; no completion runs any more
 *
 * Context: process.
 */
void rds_ib_tx_release(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	while (tx->tx_slots && rds_ib_ring_used(&tx->tx_ring))
		rds_ib_tx_put(ic, false);
	rds_ib_tx_return(ic);
	kvfree(tx->tx_slots);
	tx->tx_slots = NULL;
	kfree(tx->tx_map);
	tx->tx_map = NULL;
	if (!tx->tx_hdrs)
		return;
	ib_dma_unmap_single(ic->ic_dev->dv_dev, tx->tx_hdrs_dma,
			    tx->tx_hdrs_len, DMA_TO_DEVICE);
	free_pages_exact(tx->tx_hdrs, tx->tx_hdrs_len);
	tx->tx_hdrs = NULL;
}
