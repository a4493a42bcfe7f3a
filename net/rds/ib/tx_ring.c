// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots of the send queue.
 *
 * The sender hands slots out, and completions take them back, in the same
 * order. One completion covers all earlier slots, too.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "ib.h"
#include "trace.h"

/**
 * rds_ib_tx_init() - Set up the send ring of a connection
 * @ic: the connection, with its device
 * @size: number of slots
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ENOMEM. After a failure rds_ib_tx_release() frees what was
 * allocated.
 */
int rds_ib_tx_init(struct rds_ib_conn *ic, u32 size)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;
	u32 signal = READ_ONCE(rds_ib_sysctl.max_unsignaled_wr);
	struct rds_ib_tx *tx = &ic->ic_tx;
	u32 slots, i;

	rds_ib_ring_init(&tx->tx_ring, size);
	slots = tx->tx_ring.rg_slots;
	tx->tx_slots = kvcalloc(slots, sizeof(*tx->tx_slots), GFP_KERNEL);
	if (!tx->tx_slots)
		return -ENOMEM;
	for (i = 0; i < slots; i++) {
		tx->tx_slots[i].ts_cqe.done = rds_ib_send_done;
		tx->tx_slots[i].ts_conn = ic;
	}
	tx->tx_signal = rds_ib_signal_every(signal, size);

	tx->tx_hdrs_len = (slots + 1) * RDS_IB_HDR_STRIDE;
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
 * rds_ib_tx_header() - Locate the header of a slot
 * @ic: the connection
 * @slot: number of the slot; &rds_ib_ring.rg_slots for an ack
 * @dma: set to the DMA address of the header
 *
 * Context: Any context.
 * Return: the address of the header.
 */
void *rds_ib_tx_header(struct rds_ib_conn *ic, u32 slot, u64 *dma)
{
	*dma = ic->ic_tx.tx_hdrs_dma + slot * RDS_IB_HDR_STRIDE;
	return ic->ic_tx.tx_hdrs + slot * RDS_IB_HDR_STRIDE;
}

/**
 * rds_ib_tx_seal() - Finish the header of a SEND: its number and its checksum
 * @ic: the connection
 * @hdr: the header, complete otherwise
 *
 * A peer that does not expect numbers gets none.
 *
 * Context: Softirq or process context. ic_tx_lock is held until the SEND is
 * posted, so that the order of the numbers is that of the SENDs.
 */
void rds_ib_tx_seal(struct rds_ib_conn *ic, struct rds_header *hdr)
{
	lockdep_assert_held(&ic->ic_tx_lock);
	if (ic->ic_priv.numbers)
		rds_ib_number_set(hdr, ++ic->ic_tx.tx_number);
	rds_header_set_csum(hdr);
}

/**
 * rds_ib_tx_unmap() - Unmap the payload of a slot
 * @ic: the connection
 * @slot: the slot; the device has finished with its payload
 *
 * Context: Any context.
 */
void rds_ib_tx_unmap(struct rds_ib_conn *ic, struct rds_ib_tx_slot *slot)
{
	unsigned int i;

	for (i = 0; i < slot->ts_nr; i++)
		ib_dma_unmap_page(ic->ic_dev->dv_dev, slot->ts_dma[i],
				  slot->ts_len[i], slot->ts_from ?
				  DMA_FROM_DEVICE : DMA_TO_DEVICE);
	slot->ts_nr = 0;
	slot->ts_from = false;
}

/* Check whether the peer has shown that an operation is done, although its
 * completion is lost: the peer has acknowledged the message behind it. Work
 * requests are executed in order, and a message behind a READ or an atomic
 * operation is fenced.
 */
static bool rds_ib_tx_is_acked(const struct rds_ib_conn *ic,
			       const struct rds_message *msg)
{
	return !msg->m_op->op_bare &&
	       msg->m_seq <= ic->ic_rx.rx_acked;
}

/* Put the message of a slot. If the slot ends the operation of the message,
 * report the result to core.
 */
static void rds_ib_tx_put_msg(struct rds_ib_tx_slot *slot, bool arrived)
{
	struct rds_message *msg = slot->ts_msg;
	int status;

	if (unlikely(slot->ts_op >= RDS_IB_OP_LAST)) {
		status = msg->m_op->op_error ?: RDS_RDMA_DROPPED;
		/* A peer may say anything, but our device knows of errors. */
		if (arrived || (status == RDS_RDMA_DROPPED &&
				rds_ib_tx_is_acked(slot->ts_conn, msg)))
			status = RDS_RDMA_SUCCESS;
		rds_op_done(msg, status);
	}
	slot->ts_op = RDS_IB_OP_NONE;
	rds_message_put(msg);
	slot->ts_msg = NULL;
}

/**
 * rds_ib_tx_must_signal() - Check whether mapped data must be sent signaled
 * @ic: the connection
 *
 * Soft-iWARP passes the pages of an unsignaled work request to TCP and then
 * regards the request as done. TCP may still have to retransmit from these
 * pages, so their contents must not change. But the memory of a header is
 * reused, and payload is freed or may be changed by the user. The data of a
 * signaled work request is copied.
 *
 * Context: Any context.
 * Return: true if each work request with mapped data must be signaled.
 */
bool rds_ib_tx_must_signal(const struct rds_ib_conn *ic)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;

	return dev->node_type == RDMA_NODE_RNIC && ib_uses_virt_dma(dev);
}

/**
 * rds_ib_tx_signal() - Make a work request signaled
 * @tx: the sending half of a connection
 * @wr: the work request, the last so far
 *
 * Its completion covers all earlier work requests, too.
 *
 * Context: Process context. The path's transmit lock is held.
 */
void rds_ib_tx_signal(struct rds_ib_tx *tx, struct ib_send_wr *wr)
{
	wr->send_flags |= IB_SEND_SIGNALED;
	tx->tx_unsignaled = 0;
	tx->tx_held = 0;
}

/* Take the oldest slot back and release what it holds. @arrived: the peer has
 * its contents.
 */
static void rds_ib_tx_put(struct rds_ib_conn *ic, bool arrived)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	struct rds_ib_tx_slot *slot;

	slot = &tx->tx_slots[rds_ib_ring_oldest(&tx->tx_ring)];
	rds_ib_tx_unmap(ic, slot);
	if (slot->ts_msg)
		rds_ib_tx_put_msg(slot, arrived);
	/* Core waits for the ack of the last map only. */
	if (slot->ts_map && arrived &&
	    slot->ts_map == READ_ONCE(tx->tx_last_map))
		rds_path_map_acked(ic->ic_ip->ip_path);
	kfree(slot->ts_map);
	slot->ts_map = NULL;
	rds_ib_ring_put(&tx->tx_ring);
}

/**
 * rds_ib_tx_put_lent() - Put the messages that the batch references
 * @ic: the connection
 *
 * The device has copied them while the batch was posted, or the batch is given
 * up.
 *
 * Context: Process context. The path's transmit lock is held.
 */
void rds_ib_tx_put_lent(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	while (tx->tx_nr_lent)
		rds_message_put(tx->tx_lent[--tx->tx_nr_lent]);
}

/**
 * rds_ib_tx_is_posted() - Record that all slots handed out have been posted
 * @ic: the connection
 *
 * Starts the watchdog.
 *
 * Context: Process context. The path's transmit lock is held.
 */
void rds_ib_tx_is_posted(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	/* An ack that reads the new value is posted after these slots. Pairs
	 * with the acquire in rds_ib_ack_post().
	 */
	smp_store_release(&tx->tx_posted, tx->tx_ring.rg_head);
	/* If the watchdog is pending, it sees the new value, as its work item
	 * stops being pending, with a full barrier, before it runs.
	 */
	smp_mb();
	rds_ib_watchdog_start(ic);
}

/**
 * rds_ib_tx_reclaim() - Take back the slots that a completed ack covers
 * @ic: the connection
 * @posted: &rds_ib_tx.tx_posted when the ack was posted
 *
 * The device has completed the ack, and therefore everything that was posted
 * before it.
 *
 * Context: Softirq, serial with rds_ib_send_done().
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
 * rds_ib_tx_unstall() - Kick the path if it waits for slots or credits
 * @ic: the connection; there are slots or credits again
 *
 * Context: Any context.
 */
void rds_ib_tx_unstall(struct rds_ib_conn *ic)
{
	/* Pairs with the one in rds_ib_tx_room(). */
	smp_mb();
	if (test_bit(0, &ic->ic_tx.tx_stalled) &&
	    test_and_clear_bit(0, &ic->ic_tx.tx_stalled)) {
		trace_rds_ib_tx_unstall(ic);
		rds_path_kick(ic->ic_ip->ip_path, RDS_KICK_SEND);
	}
}

/**
 * rds_ib_send_reason() - Map the failure of a SEND to a drop reason
 * @status: the status of its completion
 *
 * Context: Any context.
 * Return: the reason to drop the path for.
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
 * rds_ib_op_set_error() - Record why an operation fails
 * @op: the operation
 * @error: the RDS_RDMA_* status; only the first one counts
 *
 * Context: Any context. A completion may call this while we are posting.
 */
void rds_ib_op_set_error(struct rds_op *op, int error)
{
	cmpxchg(&op->op_error, 0, error);
}

/* A work request of an operation, or of the message behind it, has failed.
 * Record the reason only: the operation has not ended, since the device may
 * still have other work requests of it. If this one was merely flushed because
 * an earlier one of the operation failed, the reason of the earlier one stays.
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

static enum rds_ib_wr_kind rds_ib_tx_kind(const struct rds_ib_tx_slot *slot)
{
	if (slot->ts_op != RDS_IB_OP_PART && slot->ts_op != RDS_IB_OP_LAST)
		return RDS_IB_WR_SEND;
	switch (slot->ts_msg->m_op->op_kind) {
	case RDS_OP_READ:
		return RDS_IB_WR_READ;
	case RDS_OP_WRITE:
		return RDS_IB_WR_WRITE;
	default:
		return RDS_IB_WR_ATOMIC;
	}
}

static void rds_ib_send_failed(struct rds_ib_conn *ic,
			       const struct rds_ib_tx_slot *slot,
			       const struct ib_wc *wc)
{
	trace_rds_ib_wc_error(ic, ic->ic_qpn, rds_ib_tx_kind(slot), wc->status,
			      wc->vendor_err);
	if (slot->ts_op)
		rds_ib_op_failed(slot->ts_msg, wc->status);
}

/* Check whether the unsignaled work requests before a failed one have arrived.
 * The device processes work requests in order. So they have, if this one has
 * failed by itself and was not flushed because of another.
 */
static bool rds_ib_earlier_arrived(enum ib_wc_status status)
{
	return status != IB_WC_WR_FLUSH_ERR;
}

/**
 * rds_ib_send_done() - Process the completion of a work request
 * @cq: the completion queue
 * @wc: the completion; it covers all earlier slots, too
 *
 * Drops the connection if the work request has failed or was flushed.
 *
 * Context: Softirq.
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
	if (!ok)
		rds_ib_send_failed(ic, slot, wc);
	nr = rds_ib_ring_covers(&tx->tx_ring, slot - tx->tx_slots);
	while (nr--)
		rds_ib_tx_put(ic, nr ? rds_ib_earlier_arrived(wc->status) : ok);
	if (ok)
		rds_ib_tx_unstall(ic);
	else
		rds_ib_drop(ic, rds_ib_send_reason(wc->status));
}

/**
 * rds_ib_tx_release() - Release everything that the sending half holds
 * @ic: the connection; no completion runs any more
 *
 * Context: Process context.
 */
void rds_ib_tx_release(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;

	while (tx->tx_slots && rds_ib_ring_used(&tx->tx_ring))
		rds_ib_tx_put(ic, false);
	rds_ib_tx_put_lent(ic);
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
