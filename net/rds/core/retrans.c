// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages after they were sent: the retransmit list, until the peer has
 * acknowledged them, the connection is lost, or the peer itself. Which lists a
 * message is on, and who owns it, is told in send.c.
 */
#include "conn.h"
#include "message.h"
#include "op.h"
#include "send.h"

#include <trace/events/rds.h>

/* What is to be sent again although the peer has it */
static void rds_send_ack_resent(struct rds_cpath *cp, u64 seq,
				struct list_head *done)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg, *next;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_send_queue, m_path_item) {
		if (msg->m_seq > seq ||
		    !(msg->m_flags & RDS_FLAG_RETRANSMITTED))
			break;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, done);
		trace_rds_msg_ack(&cp->cp_pub, msg, 0);
	}
}

/**
 * rds_path_ack() - the peer has acknowledged messages
 * @path: the path
 * @seq: it has everything up to this number
 *
 * Releases what was sent completely, be it on an earlier connection, and
 * nothing else. A number beyond what was ever sent is about another life of
 * ours, which the peer has not forgotten yet: it says nothing. May be called
 * from within xmit().
 *
 * Context: any; locks of the transport may be held. Takes cp_lock, rs_lock.
 * Return: false if @seq cannot be about what we have sent.
 */
bool rds_path_ack(struct rds_path *path, u64 seq)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(done);
	bool ours;

	spin_lock_bh(&cp->cp_lock);
	ours = seq <= cp->cp_sent_seq;
	if (!ours)
		goto out;
	list_for_each_entry_safe(msg, next, &cp->cp_retrans, m_path_item) {
		if (msg->m_seq > seq)
			break;
		if (msg == cp->cp_xmit_msg) {
			cp->cp_xmit_acked = true;
			break;
		}
		if (unlikely(msg->m_op) && rds_op_is_alone(msg))
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

/* A peer that remembers another life of ours has nothing of this one, and would
 * take what is marked for what it had then.
 */
static void rds_send_unmark_resent(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);
	list_for_each_entry(msg, &cp->cp_send_queue, m_path_item) {
		if (!msg->m_seq || msg->m_seq > cp->cp_sent_seq)
			break;
		msg->m_flags &= ~RDS_FLAG_RETRANSMITTED;
	}
}

/**
 * rds_path_ack_resent() - the peer says what it had before it lost the
 *	connection
 * @path: the path, about to come UP
 * @seq: it has everything up to this number
 *
 * Releases what was sent on an earlier connection and waits to be sent again.
 * What was never sent stays. If @seq is beyond what was ever sent, the peer
 * speaks of another life of ours: nothing of this one has come to it, and all
 * is sent as if for the first time.
 *
 * Context: any; locks of the transport may be held. Takes cp_lock, rs_lock.
 */
void rds_path_ack_resent(struct rds_path *path, u64 seq)
{
	struct rds_cpath *cp = to_cpath(path);
	LIST_HEAD(done);

	spin_lock_bh(&cp->cp_lock);
	if (seq <= cp->cp_sent_seq)
		rds_send_ack_resent(cp, seq, &done);
	else
		rds_send_unmark_resent(cp);
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}
EXPORT_SYMBOL_GPL(rds_path_ack_resent);

/**
 * rds_path_lose_ops() - the peer is another than operations were meant for
 * @path: the path, about to come UP
 *
 * A key that the former peer has told may be one of other memory now. What has
 * not been begun is DROPPED, with its message; all other messages stay.
 *
 * Context: any; locks of the transport may be held. Takes cp_lock, rs_lock.
 */
void rds_path_lose_ops(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(lost);

	spin_lock_bh(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_send_queue, m_path_item) {
		if (likely(!msg->m_op) || !rds_op_is_new(msg))
			continue;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &lost);
		trace_rds_msg_drop(path, msg, RDS_MSG_PEER_RESTARTED);
		rds_stat_inc(cp->cp_conn->c_rn, send_drop_restarted);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&lost);
}
EXPORT_SYMBOL_GPL(rds_path_lose_ops);

/**
 * rds_path_ack_mark() - the peer has acknowledged a stretch of a byte stream
 * @path: the path
 * @mark: it has everything up to here, as &rds_message.m_mark counts
 *
 * As rds_path_ack(), for transports whose acks count bytes. Marks may wrap.
 * What has an operation that the peer has not answered is not over with its
 * bytes.
 *
 * Context: any; locks of the transport may be held. Takes cp_lock, rs_lock.
 */
void rds_path_ack_mark(struct rds_path *path, u32 mark)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(done);

	spin_lock_bh(&cp->cp_lock);
	cp->cp_acked_mark = mark;
	cp->cp_has_mark = true;
	list_for_each_entry_safe(msg, next, &cp->cp_retrans, m_path_item) {
		if (rds_op_outlasts(msg))
			continue;
		/* The mark of the one being sent may not be set yet. */
		if (msg == cp->cp_xmit_msg ||
		    (s32)(mark - msg->m_mark) < 0)
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
 * rds_send_ack_again() - an operation is done: its message may have been
 *	acknowledged before
 * @cp: the path
 *
 * Context: any; locks of the transport may be held. Takes cp_lock, rs_lock.
 */
void rds_send_ack_again(struct rds_cpath *cp)
{
	bool has_mark;
	u32 mark;

	spin_lock_bh(&cp->cp_lock);
	has_mark = cp->cp_has_mark;
	mark = cp->cp_acked_mark;
	spin_unlock_bh(&cp->cp_lock);
	if (has_mark)
		rds_path_ack_mark(&cp->cp_pub, mark);
}

/**
 * rds_send_all_acked() - has the peer acknowledged all up to a barrier?
 * @cp: the path
 * @ticket: of the barrier; what was queued before it is not parked
 *
 * Context: process. Takes cp_lock.
 * Return: true if it has.
 */
bool rds_send_all_acked(struct rds_cpath *cp, u64 ticket)
{
	struct rds_message *msg;
	bool acked;

	spin_lock_bh(&cp->cp_lock);
	msg = list_first_entry_or_null(&cp->cp_retrans, struct rds_message,
				       m_path_item);
	if (!msg)
		msg = list_first_entry_or_null(&cp->cp_send_queue,
					       struct rds_message,
					       m_path_item);
	acked = !msg || msg->m_ticket > ticket;
	spin_unlock_bh(&cp->cp_lock);
	return acked;
}

/* This is the end of the way of a message that nobody acknowledges. */
static void rds_send_end_bare(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	bool mine = false;

	spin_lock_bh(&cp->cp_lock);
	if (msg == cp->cp_xmit_msg) {
		cp->cp_xmit_acked = true;
	} else if (msg->m_on_path) {
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
 * rds_op_done() - a device has done an operation, or will not
 * @msg: its message; the caller has a reference
 * @status: RDS_RDMA_SUCCESS, or why not; only the first counts
 *
 * If no message is to follow, this is the end of its way, too.
 *
 * Context: any. Takes cp_lock, rs_lock.
 */
void rds_op_done(struct rds_message *msg, int status)
{
	if (rds_op_conclude(msg, status) && msg->m_op->op_bare)
		rds_send_end_bare(msg);
}
EXPORT_SYMBOL_GPL(rds_op_done);

static void rds_send_drop_ahead(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_send_forget_map(cp);
	if (cp->cp_hs_msg)
		rds_message_put(cp->cp_hs_msg);
	cp->cp_hs_msg = NULL;
}

/* What had begun of operations will not be done any more. */
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
	return (msg == cp->cp_xmit_msg && msg->m_canceled) ||
	       (unlikely(msg->m_op) && rds_op_is_lost(msg));
}

/**
 * rds_send_reset() - prepare a path for its next connection
 * @cp: the path; its transport is shut down
 *
 * What was sent and not acknowledged goes to the front of the send queue, in
 * order and marked as sent before, so that the peer can tell duplicates; behind
 * it goes what was parked, for the next connection begins with a map. What was
 * cancelled while it was being sent ends here; and so does what has an
 * operation that must not be done twice. What operations in software have out,
 * rds_sw_reset() has given up before.
 *
 * Context: process. cp_xmit_lock is held; takes cp_lock, rs_lock.
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
	list_for_each_entry_safe(msg, next, &cp->cp_retrans, m_path_item) {
		msg->m_flags |= flags;
		if (!rds_send_is_over(cp, msg))
			continue;
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &lost);
	}
	WRITE_ONCE(cp->cp_xmit_msg, NULL);
	cp->cp_xmit_acked = false;
	list_splice_init(&cp->cp_retrans, &cp->cp_send_queue);
	cp->cp_unacked_packets = READ_ONCE(ctl->max_unacked_packets);
	cp->cp_unacked_bytes = READ_ONCE(ctl->max_unacked_bytes);
	spin_unlock_bh(&cp->cp_lock);

	rds_send_lose_all(&lost);
}

/**
 * rds_send_flush() - give up what was meant for another life of the peer
 * @cp: the path
 *
 * What has been sent on the connection that there is now stays.
 *
 * Context: process. cp_xmit_lock is held; takes cp_lock, rs_lock.
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
	list_for_each_entry_safe(msg, next, &cp->cp_send_queue, m_path_item) {
		if (msg->m_ticket >= cp->cp_flush_ticket)
			continue;
		msg->m_on_path = false;
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
 * rds_send_purge() - give up all messages of a dead path
 * @cp: the path; its transport is shut down for good, and rds_sw_reset() was
 *	called
 *
 * Context: process. cp_xmit_lock is held; takes cp_lock, rs_lock.
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
	WRITE_ONCE(cp->cp_xmit_msg, NULL);
	list_splice_tail_init(&cp->cp_retrans, &done);
	list_splice_tail_init(&cp->cp_send_queue, &done);
	list_for_each_entry(msg, &done, m_path_item) {
		msg->m_on_path = false;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CONN_GONE);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_lose_all(&done);
}
