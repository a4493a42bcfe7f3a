// SPDX-License-Identifier: GPL-2.0-only
/*
 * Acks, and advertised receive buffers, that are sent alone.
 *
 * Every header carries both, so a message that is sent anyway saves the SEND of
 * an ack. One ack is in flight at a time. If another one becomes due meanwhile,
 * the completion of the first one sends it.
 *
 * ic_tx_lock guards ak_busy, ak_due, and posting an ack. It does not guard
 * ak_said, which only decides whether a delayed ack is still needed. Once
 * rds_ib_conn_free() has set ic_closing under that lock, no ack is posted any
 * more.
 */
#include "ib.h"
#include "trace.h"

/* Delay of an ack that the peer has not asked for */
#define RDS_IB_ACK_DELAY	(HZ / 5)

static void rds_ib_ack_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_conn *ic = cq->cq_context;

	rds_ib_stat_inc(ib_tx_cq_event);
	atomic_inc(&ic->ic_completed);
	/* While ak_busy is set, no other ack is posted. */
	if (wc->status == IB_WC_SUCCESS)
		rds_ib_tx_reclaim(ic, ic->ic_ack.ak_covers);
	spin_lock_bh(&ic->ic_tx_lock);
	ic->ic_ack.ak_busy = false;
	spin_unlock_bh(&ic->ic_tx_lock);

	if (wc->status == IB_WC_SUCCESS) {
		rds_ib_ack_try(ic);
		return;
	}
	trace_rds_ib_wc_error(ic, ic->ic_qpn, RDS_IB_WR_ACK, wc->status,
			      wc->vendor_err);
	rds_ib_drop(ic, rds_ib_send_reason(wc->status));
}

/* A stock peer accepts an ack only if it is above the last one on the
 * connection, and applies it only to messages sent on that connection. If our
 * first ack covered messages of earlier connections, the peer would apply it to
 * none of them, and still retransmit some on this connection. It would then
 * ignore our ack of those, which is not above the first one. So send such a
 * peer acks only of what has arrived on this connection.
 */
static u64 rds_ib_ack_now(const struct rds_ib_conn *ic)
{
	if (ic->ic_priv.ours)
		return atomic64_read(&ic->ic_ip->ip_path->next_rx_seq) - 1;
	return atomic64_read(&ic->ic_rx.rx_seq);
}

/**
 * rds_ib_ack_value() - Get the sequence number that a header is to acknowledge
 * @ic: the connection
 *
 * Context: Softirq or process context. The header is about to be sent.
 * Return: the sequence number of the last message received; if the peer is a
 * stock peer, of the last one received on this connection.
 */
u64 rds_ib_ack_value(struct rds_ib_conn *ic)
{
	u64 now = rds_ib_ack_now(ic);

	atomic64_set(&ic->ic_ack.ak_said, now);
	return now;
}

static void rds_ib_ack_work(struct work_struct *work)
{
	struct rds_ib_conn *ic = container_of(to_delayed_work(work),
					      struct rds_ib_conn,
					      ic_ack.ak_later);

	if (atomic64_read(&ic->ic_ack.ak_said) != rds_ib_ack_now(ic))
		rds_ib_ack_wanted(ic);
}

/**
 * rds_ib_ack_later() - Schedule the ack of a message that does not ask for one
 * @ic: the connection; it is not closing, and the message counts as received
 *
 * The sender keeps the message until it is acknowledged. If no other header has
 * carried the ack after a delay, the ack is sent alone. So the last message is
 * acknowledged soon, without an ack for each message before it.
 *
 * Context: Softirq or process context.
 */
void rds_ib_ack_later(struct rds_ib_conn *ic)
{
	/* If the work item is pending, it sees what the caller has recorded as
	 * received: it stops being pending, with a full barrier, before it
	 * runs. This pairs with that barrier.
	 */
	smp_mb();
	if (!delayed_work_pending(&ic->ic_ack.ak_later))
		queue_delayed_work(rds_ib_wq, &ic->ic_ack.ak_later,
				   RDS_IB_ACK_DELAY);
}

/**
 * rds_ib_ack_init() - Initialize the acks of a connection, with none due
 * @ic: the connection
 *
 * Context: Any context.
 */
void rds_ib_ack_init(struct rds_ib_conn *ic)
{
	ic->ic_ack.ak_cqe.done = rds_ib_ack_done;
	ic->ic_ack.ak_busy = false;
	ic->ic_ack.ak_due = false;
	INIT_DELAYED_WORK(&ic->ic_ack.ak_later, rds_ib_ack_work);
}

/* The peer has no more buffers than are posted, which may be far fewer than the
 * largest number, or than there should be. ic_rx_lock guards rx_posted, which
 * may change meanwhile. But when the peer has used up all that were advertised,
 * it stays the same, and those that are posted are all news.
 */
static bool rds_ib_ack_is_due(const struct rds_ib_conn *ic)
{
	return ic->ic_ack.ak_due ||
	       (ic->ic_credits.cr_telling &&
		rds_ib_credits_have_news(&ic->ic_credits,
					 READ_ONCE(ic->ic_rx.rx_posted)));
}

static int rds_ib_ack_post(struct rds_ib_conn *ic, u8 news)
{
	struct ib_sge sge = {
		.length	= sizeof(struct rds_header),
		.lkey	= ic->ic_dev->dv_pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &ic->ic_ack.ak_cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED | IB_SEND_SOLICITED,
	};
	struct rds_header *hdr;

	/* Pairs with the release in rds_ib_tx_is_posted(). */
	ic->ic_ack.ak_covers = smp_load_acquire(&ic->ic_tx.tx_posted);
	hdr = rds_ib_tx_header(ic, ic->ic_tx.tx_ring.rg_slots, &sge.addr);
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_ack = cpu_to_be64(rds_ib_ack_value(ic));
	hdr->h_credit = news;
	rds_ib_tx_seal(ic, hdr);
	ib_dma_sync_single_for_device(ic->ic_dev->dv_dev, sge.addr,
				      sizeof(*hdr), DMA_TO_DEVICE);
	return ib_post_send(ic->ic_id->qp, &wr, NULL);
}

/**
 * rds_ib_ack_try() - Send a due ack, or due credits, if possible now
 * @ic: the connection
 *
 * Otherwise this function is called again by the completion of the ack in
 * flight, when the peer has granted credits, or when its reply to our REQ has
 * been read.
 *
 * Context: Softirq or process context. Takes ic_tx_lock.
 */
void rds_ib_ack_try(struct rds_ib_conn *ic)
{
	u8 news;

	spin_lock_bh(&ic->ic_tx_lock);
	if (ic->ic_closing || !rds_ib_ack_is_due(ic))
		goto out;
	if (ic->ic_ack.ak_busy ||
	    !rds_ib_credits_take(&ic->ic_credits, &news)) {
		rds_ib_stat_inc(ib_ack_send_delayed);
		goto out;
	}

	ic->ic_ack.ak_due = false;
	ic->ic_ack.ak_busy = true;
	atomic_inc(&ic->ic_signaled);
	rds_ib_watchdog_start(ic);
	if (rds_ib_ack_post(ic, news)) {
		/* The connection is broken. Its completions will drop it. */
		rds_ib_stat_inc(ib_ack_send_failure);
		goto out;
	}
	rds_ib_stat_inc(ib_ack_sent);
	if (news)
		rds_ib_stat_inc(ib_tx_credit_updates);
out:
	spin_unlock_bh(&ic->ic_tx_lock);
}

/**
 * rds_ib_ack_wanted() - Send an ack as soon as possible
 * @ic: the connection
 *
 * The peer has asked for an ack, or one is overdue.
 *
 * Context: Softirq or process context. Takes ic_tx_lock.
 */
void rds_ib_ack_wanted(struct rds_ib_conn *ic)
{
	spin_lock_bh(&ic->ic_tx_lock);
	ic->ic_ack.ak_due = true;
	spin_unlock_bh(&ic->ic_tx_lock);
	rds_ib_ack_try(ic);
}

/**
 * rds_ib_ack_take() - Take a credit and the due ack for a message's header
 * @ic: the connection
 * @news: set to the value of h_credit; h_ack of the header acknowledges
 *	everything that is due
 *
 * Context: Process context. The path's transmit lock is held. Takes ic_tx_lock.
 * Return: true if the header may be sent; false if it has to wait for credits.
 */
bool rds_ib_ack_take(struct rds_ib_conn *ic, u8 *news)
{
	const struct rds_ib_credits *cr = &ic->ic_credits;
	bool ok;

	*news = 0;
	/* cr_limited and cr_telling are fixed while the connection is UP. */
	if (!READ_ONCE(ic->ic_ack.ak_due) && !cr->cr_limited &&
	    !cr->cr_telling)
		return true;

	spin_lock_bh(&ic->ic_tx_lock);
	ok = rds_ib_credits_take(&ic->ic_credits, news);
	if (ok && ic->ic_ack.ak_due) {
		ic->ic_ack.ak_due = false;
		rds_ib_stat_inc(ib_ack_send_piggybacked);
	}
	spin_unlock_bh(&ic->ic_tx_lock);
	return ok;
}

/**
 * rds_ib_ack_untake() - Undo rds_ib_ack_take() if the header is not sent
 * @ic: the connection
 * @news: the value that h_credit was to carry
 *
 * Context: Process context. The path's transmit lock is held. Takes ic_tx_lock.
 */
void rds_ib_ack_untake(struct rds_ib_conn *ic, u8 news)
{
	spin_lock_bh(&ic->ic_tx_lock);
	rds_ib_credits_back(&ic->ic_credits, news);
	ic->ic_ack.ak_due = true;
	spin_unlock_bh(&ic->ic_tx_lock);
}
