// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages after they were sent. They are on the retransmit list until the peer
 * has acknowledged them, the connection is lost, or the peer restarts. send.c
 * describes the lists that a message is on, and who owns it.
 */
#include "conn.h"
#include "message.h"
#include "op.h"
#include "send.h"

#include <trace/events/rds.h>

/* Release messages that wait to be retransmitted although the peer has them. */
static void rds_send_ack_resent(struct rds_cpath *cp, u64 seq,
				struct list_head *done)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg, *next;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_queue, m_path_item) {
		if (msg->m_seq > seq ||
		    !(msg->m_flags & RDS_FLAG_RETRANSMITTED))
			break;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, done);
		trace_rds_msg_ack(&cp->cp_pub, msg, 0);
	}
}

/**
 * rds_path_ack() - Process an ack of messages
 * @path: the path
 * @seq: the peer has all messages up to this sequence number
 *
 * Releases messages that were sent completely, on this connection or an earlier
 * one, and no others. An ack of a number above any that was ever sent refers to
 * an earlier incarnation of this host, which the peer has not forgotten yet;
 * such an ack is ignored. May be called from within xmit().
 *
 * A message whose operation has not ended stays on the list: its sender may
 * wait for the end (rds_send_cancel()). rds_op_done() releases it.
 *
 * Context: Any context. Locks of the transport may be held. Takes cp_lock,
 * rs_lock.
 * Return: true if the ack was processed; false if @seq cannot refer to what we
 * have sent.
 */
bool rds_path_ack(struct rds_path *path, u64 seq)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(done);
	bool ours;

	spin_lock_bh(&cp->cp_lock);
	ours = seq <= cp->cp_tx.pt_sent_seq;
	if (!ours)
		goto out;
	cp->cp_tx.pt_acked_seq = max(cp->cp_tx.pt_acked_seq, seq);
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_retrans,
				 m_path_item) {
		if (msg->m_seq > seq)
			break;
		if (msg == cp->cp_tx.pt_msg) {
			cp->cp_tx.pt_acked = true;
			break;
		}
		if (unlikely(msg->m_op) && !rds_op_is_over(msg->m_op))
			continue;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &done);
		trace_rds_msg_ack(path, msg, 0);
	}
	rds_send_ack_resent(cp, seq, &done);
out:
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
	return ours;
}
EXPORT_SYMBOL_GPL(rds_path_ack);

/**
 * rds_path_awaits_ack() - Check whether the peer owes an ack
 * @path: the path
 *
 * Context: Any context; locks of the transport may be held. Takes cp_lock.
 * Return: true if a message was given to the transport on this connection, and
 * was not acknowledged.
 */
bool rds_path_awaits_ack(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	bool awaits;

	spin_lock_bh(&cp->cp_lock);
	awaits = !list_empty(&cp->cp_tx.pt_retrans);
	spin_unlock_bh(&cp->cp_lock);
	return awaits;
}
EXPORT_SYMBOL_GPL(rds_path_awaits_ack);

/* Clear the retransmission flag of messages that wait to be sent again. A peer
 * that remembers an earlier incarnation of ours has received nothing from this
 * one. It would take flagged messages for duplicates of those it received then.
 */
static void rds_send_unmark_resent(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry(msg, &cp->cp_tx.pt_queue, m_path_item) {
		if (!msg->m_seq || msg->m_seq > cp->cp_tx.pt_sent_seq)
			break;
		msg->m_flags &= ~RDS_FLAG_RETRANSMITTED;
	}
}

/* Release messages that were sent on an earlier connection and wait to be
 * retransmitted. Messages that were never sent stay. If @seq is above any
 * number that was ever sent, the peer refers to an earlier incarnation of ours.
 * Then it has received nothing from this one, and all messages are sent as if
 * for the first time.
 */
static void rds_path_resume_tx(struct rds_cpath *cp, u64 seq,
			       struct list_head *done)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	if (seq <= cp->cp_tx.pt_sent_seq)
		rds_send_ack_resent(cp, seq, done);
	else
		rds_send_unmark_resent(cp);
}

/* Drop each operation that has not begun, with its message. */
static void rds_path_lose_ops(struct rds_cpath *cp, struct list_head *lost)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg, *next;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_queue, m_path_item) {
		if (likely(!msg->m_op) || !rds_op_is_new(msg))
			continue;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, lost);
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_PEER_RESTARTED);
		rds_stat_inc(cp->cp_conn->c_rn, send_drop_restarted);
	}
}

/**
 * rds_path_resume() - Apply what a new connection changes for earlier traffic
 * @path: the path, about to come UP
 * @resume: what changes
 *
 * Context: Any context, but serialized with deliveries on @path if the peer's
 * sequence numbers restart. Locks of the transport may be held. Takes cp_lock,
 * rs_lock.
 */
void rds_path_resume(struct rds_path *path,
		     const struct rds_path_resume *resume)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_conn *conn = cp->cp_conn;
	LIST_HEAD(done);

	if (resume->rx_restarts)
		atomic64_set(&path->next_rx_seq, 1);
	if (resume->ops_lost)
		WRITE_ONCE(conn->c_rx_epoch, conn->c_rx_epoch + 1);
	WRITE_ONCE(cp->cp_rx.pr_streams, resume->streams);

	spin_lock_bh(&cp->cp_lock);
	if (resume->ops_lost)
		rds_path_lose_ops(cp, &done);
	if (resume->acked)
		rds_path_resume_tx(cp, resume->acked, &done);
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}
EXPORT_SYMBOL_GPL(rds_path_resume);

/**
 * rds_path_ack_mark() - Process an ack of a stretch of a byte stream
 * @path: the path
 * @mark: the peer has all bytes up to here, counted as &rds_message.m_mark
 *
 * Same as rds_path_ack(), for transports whose acks count bytes. Marks may
 * wrap. A message whose operation has not ended stays on the list even if all
 * its bytes are acknowledged.
 *
 * Context: Any context. Locks of the transport may be held. Takes cp_lock,
 * rs_lock.
 */
void rds_path_ack_mark(struct rds_path *path, u32 mark)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(done);

	spin_lock_bh(&cp->cp_lock);
	cp->cp_tx.pt_mark = mark;
	cp->cp_tx.pt_has_mark = true;
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_retrans,
				 m_path_item) {
		/* The mark of the message being sent may not be set yet. An
		 * operation may take so long that marks wrap meanwhile.
		 */
		if (msg != cp->cp_tx.pt_msg &&
		    (s32)(mark - msg->m_mark) >= 0)
			msg->m_passed = true;
		if (rds_op_outlasts(msg))
			continue;
		if (!msg->m_passed)
			break;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &done);
		trace_rds_msg_ack(path, msg, 0);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}
EXPORT_SYMBOL_GPL(rds_path_ack_mark);

/**
 * rds_send_ack_again() - Apply the last ack of bytes again
 * @cp: the path
 *
 * To be called when an operation is done: the bytes of its message may have
 * been acknowledged before.
 *
 * Context: Any context. Locks of the transport may be held. Takes cp_lock,
 * rs_lock.
 */
void rds_send_ack_again(struct rds_cpath *cp)
{
	bool has_mark;
	u32 mark;

	spin_lock_bh(&cp->cp_lock);
	has_mark = cp->cp_tx.pt_has_mark;
	mark = cp->cp_tx.pt_mark;
	spin_unlock_bh(&cp->cp_lock);
	if (has_mark)
		rds_path_ack_mark(&cp->cp_pub, mark);
}

/**
 * rds_send_all_acked() - Check whether all up to a barrier probe is acked
 * @cp: the path
 * @ticket: ticket of the barrier probe; no message queued before it is parked
 *
 * Context: Process context. Takes cp_lock.
 * Return: true if the peer has acknowledged the barrier probe and all messages
 * queued before it; false otherwise.
 */
bool rds_send_all_acked(struct rds_cpath *cp, u64 ticket)
{
	struct rds_message *msg;
	bool acked;

	spin_lock_bh(&cp->cp_lock);
	msg = list_first_entry_or_null(&cp->cp_tx.pt_retrans,
				       struct rds_message, m_path_item);
	if (!msg)
		msg = list_first_entry_or_null(&cp->cp_tx.pt_queue,
					       struct rds_message,
					       m_path_item);
	acked = !msg || msg->m_ticket > ticket;
	spin_unlock_bh(&cp->cp_lock);
	return acked;
}

/* Complete a message whose operation has ended, if the peer has acknowledged
 * it, or if it is only an operation, which the peer does not acknowledge. For
 * the message being sent, rds_send_step() does this.
 */
static void rds_send_end_op(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	bool bare = msg->m_op->op_bare;
	bool mine = false;

	spin_lock_bh(&cp->cp_lock);
	if (msg == cp->cp_tx.pt_msg) {
		cp->cp_tx.pt_acked |= bare;
	} else if (msg->m_on_path &&
		   (bare || msg->m_seq <= cp->cp_tx.pt_acked_seq)) {
		list_del(&msg->m_path_item);
		msg->m_on_path = false;
		mine = true;
		trace_rds_msg_ack(&cp->cp_pub, msg, 0);
	}
	spin_unlock_bh(&cp->cp_lock);

	if (mine)
		rds_send_finish(msg);
}

/**
 * rds_op_done() - Report the end of an operation
 * @msg: the message of the operation; the caller holds a reference
 * @status: RDS_RDMA_SUCCESS, or the reason for the failure; only the first
 *	report counts
 *
 * To be called when the device has done an operation that had begun, or will
 * not do it. If no message follows the operation, or the peer has acknowledged
 * the message, @msg is completed, too.
 *
 * Context: Any context. Takes cp_lock, rs_lock.
 */
void rds_op_done(struct rds_message *msg, int status)
{
	if (rds_op_conclude(msg, status))
		rds_send_end_op(msg);
}
EXPORT_SYMBOL_GPL(rds_op_done);

static void rds_send_drop_ahead(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_send_forget_map(cp);
	if (cp->cp_hs.ph_msg)
		rds_message_put(cp->cp_hs.ph_msg);
	cp->cp_hs.ph_msg = NULL;
}

/* Operations that had begun will not be done any more: end them, and complete
 * all messages of the list.
 */
static void rds_send_lose_all(struct list_head *lost)
{
	struct rds_message *msg;

	list_for_each_entry(msg, lost, m_path_item) {
		if (msg->m_op)
			rds_op_done(msg, msg->m_op->op_error ?:
					 RDS_RDMA_DROPPED);
	}
	rds_send_finish_all(lost);
}

static bool rds_send_is_over(const struct rds_cpath *cp,
			     const struct rds_message *msg)
{
	return (msg == cp->cp_tx.pt_msg && msg->m_canceled) ||
	       (unlikely(msg->m_op) && rds_op_is_lost(msg));
}

/**
 * rds_send_reset() - Prepare a path for its next connection
 * @cp: the path; its transport is shut down
 *
 * Messages that were sent and not acknowledged move to the front of the send
 * queue, in order. They are marked as retransmitted, so that the peer can
 * detect duplicates. The parked messages follow, since the next connection
 * begins with a map of the peer.
 *
 * Two kinds of messages are completed instead: the one that was canceled while
 * it was being sent, and those with an operation that must not be done twice.
 * rds_sw_reset() has given up the outstanding software RDMA requests before.
 *
 * Context: Process context. cp_xmit_lock is held. Takes cp_lock, rs_lock.
 */
void rds_send_reset(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;
	struct rds_message *msg, *next;
	u8 flags = RDS_FLAG_RETRANSMITTED;
	LIST_HEAD(lost);

	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_send_drop_ahead(cp);
	rds_park_release_all(cp);
	if (rds_cpath_asks_acks(cp))
		flags |= RDS_FLAG_ACK_REQUIRED;

	spin_lock_bh(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_retrans,
				 m_path_item) {
		msg->m_flags |= flags;
		msg->m_passed = false;
		if (!rds_send_is_over(cp, msg))
			continue;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &lost);
	}
	WRITE_ONCE(cp->cp_tx.pt_msg, NULL);
	cp->cp_tx.pt_acked = false;
	cp->cp_tx.pt_acked_seq = 0;
	list_splice_init(&cp->cp_tx.pt_retrans, &cp->cp_tx.pt_queue);
	cp->cp_tx.pt_packets_left = READ_ONCE(ctl->max_unacked_packets);
	cp->cp_tx.pt_bytes_left = READ_ONCE(ctl->max_unacked_bytes);
	spin_unlock_bh(&cp->cp_lock);

	rds_send_lose_all(&lost);
}

/**
 * rds_send_flush() - Give up messages that were meant for a former peer
 * @cp: the path
 *
 * These are the messages with a ticket below pt_flush_ticket: the peer has
 * restarted since. Messages that have been sent on the present connection stay.
 *
 * Context: Process context. cp_xmit_lock is held. Takes cp_lock, rs_lock.
 */
void rds_send_flush(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg, *next;
	LIST_HEAD(done);

	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_park_release_all(cp);
	spin_lock_bh(&cp->cp_lock);
	clear_bit(RDS_PF_FLUSH, &cp->cp_flags);
	list_for_each_entry_safe(msg, next, &cp->cp_tx.pt_queue, m_path_item) {
		if (msg->m_ticket >= cp->cp_tx.pt_flush_ticket)
			continue;
		msg->m_on_path = false;
		msg->m_lost = true;
		list_move_tail(&msg->m_path_item, &done);
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_PEER_RESTARTED);
		rds_stat_inc(cp->cp_conn->c_rn, send_drop_restarted);
		if (msg->m_kind == RDS_MSG_PROBE)
			atomic_dec_if_positive(&cp->cp_conn->c_probes);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}

/**
 * rds_send_purge() - Give up all messages of a dead path
 * @cp: the path; its transport is shut down for good, and rds_sw_reset() was
 *	called
 *
 * Context: Process context. cp_xmit_lock is held. Takes cp_lock, rs_lock.
 */
void rds_send_purge(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg;
	LIST_HEAD(done);

	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_send_drop_ahead(cp);
	rds_park_release_all(cp);

	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_tx.pt_msg, NULL);
	list_splice_tail_init(&cp->cp_tx.pt_retrans, &done);
	list_splice_tail_init(&cp->cp_tx.pt_queue, &done);
	list_for_each_entry(msg, &done, m_path_item) {
		msg->m_on_path = false;
		msg->m_lost = true;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CONN_GONE);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_lose_all(&done);
}
