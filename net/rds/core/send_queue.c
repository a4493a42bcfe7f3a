// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages before they are sent: the socket's list and the path's send queue.
 * send.c describes the lists that a message is on, and who owns it.
 */
#include <linux/slab.h>

#include "compat.h"
#include "conn.h"
#include "message.h"
#include "multipath.h"
#include "op.h"
#include "send.h"
#include "upper.h"
#include "zcopy.h"

#include <trace/events/rds.h>

/**
 * rds_send_account() - Add a message to its socket's list if there is room
 * @rs: the socket
 * @msg: the message, new
 *
 * On success the message holds a reference to the socket until it is completed.
 *
 * Context: Process context. Takes rs_lock.
 * Return: true if the message is on the list; false if the send buffer is full.
 */
bool rds_send_account(struct rds_sock *rs, struct rds_message *msg)
{
	bool room;

	spin_lock_bh(&rs->rs_lock);
	room = rds_sock_writeable(rs);
	if (room) {
		WRITE_ONCE(rs->rs_snd_bytes,
			   rs->rs_snd_bytes + msg->m_payload.len);
		WRITE_ONCE(rs->rs_snd_msgs, rs->rs_snd_msgs + 1);
		list_add_tail(&msg->m_sock_item, &rs->rs_send_queue);
		msg->m_on_sock = true;
		msg->m_rs = rs;
		sock_hold(&rs->rs_sk);
	}
	spin_unlock_bh(&rs->rs_lock);
	return room;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_send_account);

/**
 * rds_send_unlink_sock() - Remove a message from its socket's list
 * @rs: the socket
 * @msg: the message
 *
 * Context: Any context. rs_lock is held.
 */
void rds_send_unlink_sock(struct rds_sock *rs, struct rds_message *msg)
	__must_hold(&rs->rs_lock)
{
	lockdep_assert_held(&rs->rs_lock);
	list_del(&msg->m_sock_item);
	msg->m_on_sock = false;
	WRITE_ONCE(rs->rs_snd_bytes, rs->rs_snd_bytes - msg->m_payload.len);
	WRITE_ONCE(rs->rs_snd_msgs, rs->rs_snd_msgs - 1);
}

static void rds_send_leave_sock(struct rds_sock *rs, struct rds_message *msg)
{
	bool freed = false;

	spin_lock_bh(&rs->rs_lock);
	if (msg->m_on_sock) {
		freed = !rds_sock_writeable(rs);
		rds_send_unlink_sock(rs, msg);
		freed = freed && rds_sock_writeable(rs);
	}
	spin_unlock_bh(&rs->rs_lock);

	if (freed)
		rs->rs_sk.sk_write_space(&rs->rs_sk);
}

static void rds_send_uncount(const struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);

	switch (msg->m_kind) {
	case RDS_MSG_PONG:
	case RDS_MSG_STREAM_REPLY:
		atomic_dec(&cp->cp_npongs);
		atomic_dec(&cp->cp_conn->c_rn->rn_npongs);
		break;
	case RDS_MSG_PROBE:
		atomic_dec(&cp->cp_hs.ph_nprobes);
		break;
	case RDS_MSG_REPLY:
		atomic_dec(&cp->cp_hs.ph_nreplies);
		break;
	}
}

/**
 * rds_send_finish() - Complete a message
 * @msg: the message, on no path's list; takes over the caller's reference
 *
 * The peer has the message, or it was given up. Wakes writers if this makes
 * room in the send buffer. A frame of a stream is reported to its owner. Any
 * other message without a socket is a pong, a handshake frame, a reply to a
 * frame, or a message that was canceled while it was being sent.
 *
 * Context: Any context. Locks of the transport may be held. Takes rs_lock.
 */
void rds_send_finish(struct rds_message *msg)
{
	struct rds_sock *rs = msg->m_rs;

	if (unlikely(msg->m_loan))
		rds_zcopy_finish(msg);
	if (unlikely(msg->m_op))
		rds_op_finish(msg);
	if (unlikely(msg->m_kind == RDS_MSG_STREAM)) {
		rds_upper_done(msg);
	} else if (rs) {
		rds_send_leave_sock(rs, msg);
		msg->m_rs = NULL;
		sock_put(&rs->rs_sk);
	} else {
		rds_send_uncount(msg);
	}
	rds_message_put(msg);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_send_finish);

/**
 * rds_send_finish_all() - Complete several messages
 * @done: the messages, linked by m_path_item; each as for rds_send_finish()
 *
 * Context: Same as rds_send_finish().
 */
void rds_send_finish_all(struct list_head *done)
{
	struct rds_message *msg, *next;

	list_for_each_entry_safe(msg, next, done, m_path_item) {
		list_del(&msg->m_path_item);
		rds_send_finish(msg);
	}
}

/* Charge a message to the budget of unacknowledged messages. When the budget is
 * used up, renew it and return true: the message has to ask for an ack.
 */
static bool rds_send_budget_used(struct rds_cpath *cp, u32 len)
	__must_hold(&cp->cp_lock)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;

	lockdep_assert_held(&cp->cp_lock);
	cp->cp_tx.pt_packets_left--;
	cp->cp_tx.pt_bytes_left -= len;
	if (cp->cp_tx.pt_packets_left > 0 && cp->cp_tx.pt_bytes_left > 0)
		return false;

	cp->cp_tx.pt_packets_left = READ_ONCE(ctl->max_unacked_packets);
	cp->cp_tx.pt_bytes_left = READ_ONCE(ctl->max_unacked_bytes);
	return true;
}

/* Check whether the message may take this path. Since the sender chose it, the
 * path may have died, or more paths may have come into use. And since the
 * message has been on its socket's list, another task may have canceled it.
 */
static int rds_send_admit(const struct rds_cpath *cp,
			  const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);

	if (msg->m_canceled)
		return -ECANCELED;
	if (cp->cp_dead)
		return -ENOTCONN;
	if (rds_cpath_can(cp, RDS_CAP_MULTIPATH) &&
	    msg->m_kind <= RDS_MSG_STREAM && msg->m_rs &&
	    rds_mp_pick(cp->cp_conn, msg->m_sport, msg->m_dport) != cp)
		return -EAGAIN;
	return 0;
}

/* From here on the path owns the message. */
static void rds_send_register(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);

	msg->m_ticket = cp->cp_tx.pt_next_ticket++;
	msg->m_on_path = true;
	trace_rds_msg_queue(&cp->cp_pub, msg, 0);
}

static void rds_send_number(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);

	if (rds_cpath_asks_acks(cp) && !(msg->m_op && msg->m_op->op_bare) &&
	    (rds_send_budget_used(cp, msg->m_payload.len) || msg->m_want_ack)) {
		msg->m_flags |= RDS_FLAG_ACK_REQUIRED;
		rds_stat_inc(cp->cp_conn->c_rn, send_ack_required);
	}
	msg->m_seq = cp->cp_tx.pt_next_seq;
	cp->cp_tx.pt_next_seq = msg->m_seq + 1;
}

/**
 * rds_send_pick() - Make a message the one being sent
 * @cp: the path
 * @msg: the message, on no list of the path
 *
 * The message gets its sequence number now, unless it was sent before.
 *
 * Context: Process context. cp_xmit_lock and cp_lock are held.
 */
void rds_send_pick(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
	lockdep_assert_held(&cp->cp_lock);

	if (!msg->m_seq)
		rds_send_number(cp, msg);
	/* From here on a reply counts as the reply to this probe, not to the
	 * restart probe.
	 */
	if (unlikely(msg->m_kind == RDS_MSG_PROBE))
		cp->cp_hs.ph_restart_out = false;
	list_add_tail(&msg->m_path_item, &cp->cp_tx.pt_retrans);
	cp->cp_tx.pt_sent_seq = max(cp->cp_tx.pt_sent_seq, msg->m_seq);
	WRITE_ONCE(cp->cp_tx.pt_msg, msg);
}

/**
 * rds_send_enqueue() - Put a message on its path
 * @cp: the path
 * @msg: the message
 * @want_ack: ask for an ack regardless of the budget
 * @pick: the caller holds cp_xmit_lock; if the message is the next to be sent,
 *	make it the one being sent instead of queuing it
 *
 * Context: Process context. Takes cp_lock.
 * Return: 0 if the path has taken over the message; -ENOTCONN if the path is
 * dead; -EAGAIN if the message has to take another path now; -ECANCELED if its
 * socket has given it up.
 */
int rds_send_enqueue(struct rds_cpath *cp, struct rds_message *msg,
		     bool want_ack, bool pick)
{
	int ret;

	spin_lock_bh(&cp->cp_lock);
	ret = rds_send_admit(cp, msg);
	if (ret)
		goto out;

	rds_send_register(cp, msg);
	msg->m_want_ack = want_ack;
	/* The path may have been shut down since the caller checked its state.
	 * rds_send_reset() has then already put the messages that were picked
	 * back on the queue, and would miss this one.
	 */
	if (pick && cp->cp_state == RDS_PATH_UP &&
	    !cp->cp_map.pm_map && !cp->cp_hs.ph_msg && !cp->cp_gate.pg_shut &&
	    !rds_send_pending(cp) &&
	    (rds_cpath_can(cp, RDS_CAP_LOOPBACK) || !rds_park_wants(cp, msg)))
		rds_send_pick(cp, msg);
	else
		list_add_tail(&msg->m_path_item, &cp->cp_tx.pt_queue);
out:
	spin_unlock_bh(&cp->cp_lock);
	return ret;
}

/**
 * rds_send_new_control() - Allocate a control message
 * @cp: the path that will carry the message
 *
 * A control message is sent by core itself and has no socket.
 *
 * Context: Process context, may sleep.
 * Return: the message, to be passed to rds_send_control() or
 * rds_send_finish(); NULL if there is no memory.
 */
struct rds_message *rds_send_new_control(struct rds_cpath *cp)
{
	struct rds_message *msg = rds_message_alloc_empty(GFP_NOFS);

	if (msg) {
		msg->m_path = &cp->cp_pub;
		rds_conn_hold(cp->cp_conn);
	}
	return msg;
}

/**
 * rds_send_enqueue_control() - Queue a control message
 * @cp: the path, not dead
 * @msg: the message; taken over
 *
 * Context: Any context. cp_lock is held.
 */
void rds_send_enqueue_control(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	rds_send_register(cp, msg);
	list_add_tail(&msg->m_path_item, &cp->cp_tx.pt_queue);
}

/**
 * rds_send_control() - Queue a control message for the path's work item to send
 * @cp: the path
 * @msg: the message; taken over
 * @first: put it before all others, with the sequence number 1, which is
 *	reserved for it
 *
 * Context: Process context, the path's work item. Takes cp_lock.
 * Return: true if the message is queued; false if the path is dead and the
 * message has been released.
 */
bool rds_send_control(struct rds_cpath *cp, struct rds_message *msg,
		      bool first)
{
	bool alive;

	spin_lock_bh(&cp->cp_lock);
	alive = !cp->cp_dead;
	if (alive && first) {
		msg->m_seq = 1;
		msg->m_on_path = true;
		list_add(&msg->m_path_item, &cp->cp_tx.pt_queue);
	} else if (alive) {
		rds_send_enqueue_control(cp, msg);
	}
	spin_unlock_bh(&cp->cp_lock);

	if (!alive)
		rds_send_finish(msg);
	return alive;
}
