// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receiving.
 *
 * Completions run in softirq, in order. A SEND that has arrived before is
 * dropped at once, if the peer numbers its SENDs. The ack and the credits of
 * any other are processed at once, too. The rest is reassembled in order, and
 * delivered, under ic_rx_lock. If core stops the path, or there is no memory,
 * buffers stay in the backlog until rx_resume(). When the spare slots are used
 * up, no others are posted in their place, and the peer has to wait.
 *
 * Until the end that dials has read the peer's reply, it does not know whether
 * the peer numbers its SENDs. So they all wait in the backlog, acks and credits
 * included. This delays nothing, as nothing can be sent before.
 *
 * A violation of the protocol ends the connection. Everything after it is
 * ignored.
 */
#include <linux/slab.h>

#include "ib.h"
#include "trace.h"

static void rds_ib_recv_broken(struct rds_ib_conn *ic,
			       enum rds_drop_reason reason)
{
	ic->ic_rx.rx_broken = true;
	rds_ib_drop(ic, reason);
}

/* Check whether a SEND is the next one. The peer has not counted the buffer of
 * one that has arrived before, so it must not be given another one for it.
 */
static bool rds_ib_recv_is_next(struct rds_ib_conn *ic,
				const struct rds_header *hdr)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	s32 ahead;

	if (!ic->ic_priv.numbers)
		return true;
	ahead = rds_ib_number_ahead(hdr, rx->rx_number);
	if (likely(!ahead)) {
		rx->rx_number++;
		return true;
	}
	if (ahead > 0) {
		rds_ib_recv_broken(ic, RDS_DROP_PROTOCOL);
	} else {
		rds_ib_stat_inc(ib_rx_repeated);
		rx->rx_untold++;
	}
	return false;
}

/* Process the number, the ack and the credits of a header. Returns false if the
 * SEND is to be ignored.
 */
static bool rds_ib_recv_header(struct rds_ib_conn *ic,
			       const struct rds_header *hdr)
{
	u64 ack = be64_to_cpu(hdr->h_ack);

	if (unlikely(!rds_ib_recv_is_next(ic, hdr)))
		return false;
	if (hdr->h_credit) {
		spin_lock(&ic->ic_tx_lock);
		rds_ib_credits_grant(&ic->ic_credits, hdr->h_credit);
		spin_unlock(&ic->ic_tx_lock);
		rds_ib_stat_inc(ib_rx_credit_updates);
		rds_ib_tx_unstall(ic);
		rds_ib_ack_try(ic);
	}
	if (ack > ic->ic_rx.rx_acked && rds_path_ack(ic->ic_ip->ip_path, ack))
		ic->ic_rx.rx_acked = ack;
	return true;
}

/* A map of a wrong length is reassembled like any other, but discarded. */
static int rds_ib_recv_map(struct rds_ib_conn *ic, const void *data, u32 bytes,
			   bool last)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	u32 len = be32_to_cpu(rx->rx_reasm.ra_hdr.h_len);

	if (len != RDS_CONG_MAP_BYTES)
		return 0;
	if (!rx->rx_map)
		rx->rx_map = kmalloc(RDS_CONG_MAP_BYTES,
				     GFP_ATOMIC | __GFP_NOWARN);
	if (!rx->rx_map)
		return -ENOMEM;

	memcpy(rx->rx_map + rx->rx_reasm.ra_got, data, bytes);
	if (last) {
		rds_deliver_cong_map(ic->ic_ip->ip_path, rx->rx_map, len);
		kfree(rx->rx_map);
		rx->rx_map = NULL;
	}
	return 0;
}

/* Check whether a message has arrived twice on this connection. Core allows a
 * peer to start its sequence numbers over, but over IB the peer does so on
 * another connection only. So a message whose number is not above the last one
 * is a duplicate, whatever its flags are. This is all that can be checked if
 * the peer does not number its SENDs.
 */
static bool rds_ib_recv_is_repeated(const struct rds_ib_rx *rx, u64 seq)
{
	return seq && seq <= atomic64_read(&rx->rx_seq);
}

static void rds_ib_recv_deliver(struct rds_ib_conn *ic)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_path *path = ic->ic_ip->ip_path;
	u64 seq = be64_to_cpu(rx->rx_reasm.ra_hdr.h_sequence);
	u8 flags = rx->rx_reasm.ra_hdr.h_flags;
	struct rds_rx_batch batch = {};
	struct rds_incoming *inc;

	if (unlikely(rds_ib_recv_is_repeated(rx, seq))) {
		rds_ib_stat_inc(ib_rx_repeated);
		rds_ib_incoming_drop(rx->rx_inc);
		rx->rx_inc = NULL;
		return;
	}

	inc = rds_ib_incoming_end(rx->rx_inc);
	rx->rx_inc = NULL;
	rds_ib_stat_inc(ib_rx_total_incs);

	if (!rds_deliver(path, inc, &batch))
		rx->rx_stopped = true;
	rds_rx_batch_end(&batch);
	atomic64_set(&rx->rx_seq, seq);
	if (flags & RDS_FLAG_ACK_REQUIRED)
		rds_ib_ack_wanted(ic);
	else
		rds_ib_ack_later(ic);
}

static int rds_ib_recv_data(struct rds_ib_conn *ic,
			    struct rds_ib_rx_slot *slot, u32 bytes)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	u32 len = be32_to_cpu(slot->rb_hdr->h_len);
	unsigned int i;

	if (!rx->rx_inc)
		rx->rx_inc = rds_ib_incoming_alloc(slot->rb_hdr,
						   ic->ic_priv.wide);
	if (!rx->rx_inc)
		return -ENOMEM;

	if (rds_ib_incoming_is_small(len)) {
		rds_ib_incoming_copy_in(rx->rx_inc,
					page_address(slot->rb_pages[0]), bytes);
		return 0;
	}
	for (i = 0; i < rds_ib_frag_pages(bytes, RDS_IB_PIECE); i++)
		rds_ib_incoming_add_page(rx->rx_inc,
					 rds_ib_rx_take_page(ic, slot, i));
	return 0;
}

/* Take the contents of a slot. Returns -ENOMEM if they have to be taken again
 * later, otherwise 0.
 */
static int rds_ib_recv_take(struct rds_ib_conn *ic,
			    struct rds_ib_rx_slot *slot)
{
	u32 bytes = slot->rb_bytes - sizeof(struct rds_header);
	const struct rds_header *hdr = slot->rb_hdr;
	struct rds_ib_rx *rx = &ic->ic_rx;
	enum rds_ib_frag frag;
	bool last, map;
	int ret;

	frag = rds_ib_frag_judge(&rx->rx_reasm, hdr, bytes, ic->ic_priv.wide);
	if (frag == RDS_IB_FRAG_BAD) {
		rds_ib_recv_broken(ic, RDS_DROP_PROTOCOL);
		return 0;
	}
	if (frag == RDS_IB_FRAG_ACK) {
		rds_ib_stat_inc(ib_ack_received);
		return 0;
	}

	last = frag == RDS_IB_FRAG_LAST;
	map = rds_header_is_cong_map(hdr);
	if (!rx->rx_reasm.ra_got)
		rx->rx_reasm.ra_hdr = *hdr;
	if (map)
		ret = rds_ib_recv_map(ic, page_address(slot->rb_pages[0]),
				      bytes, last);
	else
		ret = rds_ib_recv_data(ic, slot, bytes);
	if (ret)
		return ret;

	rds_ib_reasm_add(&rx->rx_reasm, bytes, frag);
	if (last && !map)
		rds_ib_recv_deliver(ic);
	return 0;
}

/* Take the contents of the backlog until deliveries stop, the connection is
 * broken, or there is no memory.
 */
static void rds_ib_recv_backlog(struct rds_ib_conn *ic)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_slot *slot, *next;

	list_for_each_entry_safe(slot, next, &rx->rx_backlog, rb_item) {
		if (rx->rx_stopped || rx->rx_broken)
			return;
		if (rds_ib_recv_take(ic, slot)) {
			rds_path_kick(ic->ic_ip->ip_path, RDS_KICK_RX_LATER);
			return;
		}
		list_del(&slot->rb_item);
		rds_ib_rx_give_back(ic, slot);
	}
}

/* Process the headers of what has arrived before the peer's reply was read. */
static void rds_ib_recv_early(struct rds_ib_conn *ic)
{
	struct rds_ib_rx *rx = &ic->ic_rx;
	struct rds_ib_rx_slot *slot, *next;

	rx->rx_early = false;
	rds_ib_rx_set_limits(ic);
	list_for_each_entry_safe(slot, next, &rx->rx_backlog, rb_item) {
		if (rx->rx_broken)
			return;
		if (!rds_ib_recv_header(ic, slot->rb_hdr)) {
			list_del(&slot->rb_item);
			rds_ib_rx_give_back(ic, slot);
		}
	}
}

/* Keep what has arrived until it can be taken, in as few pages as hold it. */
static void rds_ib_recv_hold(struct rds_ib_conn *ic,
			     struct rds_ib_rx_slot *slot)
{
	u32 bytes = slot->rb_bytes - sizeof(struct rds_header);

	rds_ib_rx_drop_pages(ic, slot, bytes ?
			     rds_ib_frag_pages(bytes, RDS_IB_PIECE) : 1);
	list_add_tail(&slot->rb_item, &ic->ic_rx.rx_backlog);
}

static void rds_ib_recv_good(struct rds_ib_conn *ic,
			     struct rds_ib_rx_slot *slot, u32 bytes)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;
	struct rds_ib_rx *rx = &ic->ic_rx;

	/* What is not in the first page is read when it is unmapped. */
	ib_dma_sync_single_for_cpu(dev, slot->rb_sge[0].addr,
				   sizeof(struct rds_header), DMA_FROM_DEVICE);
	ib_dma_sync_single_for_cpu(dev, slot->rb_sge[1].addr, RDS_IB_PIECE,
				   DMA_FROM_DEVICE);
	rds_ib_stat_inc(ib_rx_total_frags);
	if (!rds_ib_frag_has_header(slot->rb_hdr, bytes)) {
		rds_ib_recv_broken(ic, RDS_DROP_PROTOCOL);
		rds_ib_rx_give_back(ic, slot);
		return;
	}

	slot->rb_bytes = bytes;
	if (rx->rx_early) {
		rds_ib_recv_hold(ic, slot);
		return;
	}
	if (!rds_ib_recv_header(ic, slot->rb_hdr)) {
		rds_ib_rx_give_back(ic, slot);
		return;
	}
	if (list_empty(&rx->rx_backlog) && !rx->rx_stopped &&
	    !rds_ib_recv_take(ic, slot)) {
		rds_ib_rx_give_back(ic, slot);
		return;
	}
	rds_ib_recv_hold(ic, slot);
	rds_ib_recv_backlog(ic);
}

static enum rds_drop_reason rds_ib_recv_reason(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_LOC_LEN_ERR:
	case IB_WC_LOC_PROT_ERR:
	case IB_WC_REM_INV_REQ_ERR:
		return RDS_DROP_PROTOCOL;
	default:
		return RDS_DROP_PEER_RESET;
	}
}

/**
 * rds_ib_recv_done() - Process the completion of a receive buffer
 * @cq: the completion queue
 * @wc: the completion; the buffer was used or flushed
 *
 * Context: Softirq. Takes ic_rx_lock.
 */
void rds_ib_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_conn *ic = cq->cq_context;
	struct rds_ib_rx_slot *slot = container_of(wc->wr_cqe,
						   struct rds_ib_rx_slot,
						   rb_cqe);

	rds_ib_stat_inc(ib_rx_cq_event);
	spin_lock_bh(&ic->ic_rx_lock);
	rds_ib_rx_count(ic);
	if (wc->status != IB_WC_SUCCESS) {
		trace_rds_ib_wc_error(ic, ic->ic_qpn, RDS_IB_WR_RECV,
				      wc->status, wc->vendor_err);
		rds_ib_drop(ic, rds_ib_recv_reason(wc->status));
	}

	if (wc->status != IB_WC_SUCCESS || ic->ic_closing ||
	    ic->ic_rx.rx_broken) {
		rds_ib_rx_give_back(ic, slot);
	} else if (wc->opcode != IB_WC_RECV) {
		/* The device has not written to the buffer. */
		rds_ib_recv_broken(ic, RDS_DROP_PROTOCOL);
		rds_ib_rx_give_back(ic, slot);
	} else {
		rds_ib_recv_good(ic, slot, wc->byte_len);
		rds_ib_stat_inc(ib_rx_refill_from_cq);
		rds_ib_rx_refill(ic, GFP_ATOMIC);
	}
	spin_unlock_bh(&ic->ic_rx_lock);
}

/**
 * rds_ib_rx_go_on() - Resume deliveries, beginning with the backlog
 * @ic: the connection
 *
 * Context: Process context. Takes ic_rx_lock.
 */
void rds_ib_rx_go_on(struct rds_ib_conn *ic)
{
	spin_lock_bh(&ic->ic_rx_lock);
	ic->ic_rx.rx_stopped = false;
	if (!ic->ic_closing) {
		if (ic->ic_rx.rx_early)
			rds_ib_recv_early(ic);
		rds_ib_recv_backlog(ic);
		rds_ib_rx_refill(ic, GFP_ATOMIC);
	}
	spin_unlock_bh(&ic->ic_rx_lock);
}

/**
 * rds_ib_rx_resume() - Resume reading a path
 * @path: the path
 *
 * Context: Process context, the path's work item. Takes ic_rx_lock.
 */
void rds_ib_rx_resume(struct rds_path *path)
{
	struct rds_ib_path *ip = path->data;
	struct rds_ib_conn *ic = ip->ip_conn;

	/* The backlog of a dialed connection waits until the peer's reply has
	 * been read.
	 */
	if (!ic || (ic->ic_state != RDS_IB_UP &&
		    ic->ic_state != RDS_IB_ACCEPTING))
		return;
	rds_ib_stat_inc(ib_rx_refill_from_thread);
	rds_ib_rx_go_on(ic);
}
