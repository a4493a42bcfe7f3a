// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages before they are sent: the socket's list and the path's queue. Which
 * lists a message is on, and who owns it, is told in send.c.
 */
#include <linux/slab.h>

#include "conn.h"
#include "multipath.h"
#include "message.h"
#include "op.h"
#include "send.h"
#include "zcopy.h"

#include <trace/events/rds.h>

/**
 * rds_send_account() - put a message on its socket's list, if there is room
 * @rs: the socket
 * @msg: the message, new
 *
 * Context: process. Takes rs_lock. On success the message references the
 * socket until it is finished.
 * Return: false if the send buffer is full.
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

/**
 * rds_send_unlink_sock() - take a message off its socket's list
 * @rs: the socket
 * @msg: the message
 *
 * Context: any. rs_lock is held.
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
		atomic_dec(&cp->cp_npongs);
		atomic_dec(&cp->cp_conn->c_rn->rn_npongs);
		break;
	case RDS_MSG_PROBE:
		atomic_dec(&cp->cp_nprobes);
		break;
	case RDS_MSG_REPLY:
		atomic_dec(&cp->cp_nreplies);
		break;
	}
}

/**
 * rds_send_finish() - the end of a message's way
 * @msg: the message, on no path's list; the caller's reference is taken over
 *
 * The peer has it, or it was given up. Wakes writers if that made room. A
 * message without a socket is a pong, or part of a handshake.
 *
 * Context: any; locks of the transport may be held. Takes rs_lock.
 */
void rds_send_finish(struct rds_message *msg)
{
	struct rds_sock *rs = msg->m_rs;

	if (unlikely(msg->m_ubuf))
		rds_zcopy_finish(msg);
	if (unlikely(msg->m_op))
		rds_op_finish(msg);
	if (rs) {
		rds_send_leave_sock(rs, msg);
		msg->m_rs = NULL;
		sock_put(&rs->rs_sk);
	} else {
		rds_send_uncount(msg);
	}
	rds_message_put(msg);
}

/**
 * rds_send_finish_all() - the end of the way of several messages
 * @done: the messages, linked by m_path_item; as for rds_send_finish()
 *
 * Context: as rds_send_finish().
 */
void rds_send_finish_all(struct list_head *done)
{
	struct rds_message *msg, *next;

	list_for_each_entry_safe(msg, next, done, m_path_item) {
		list_del(&msg->m_path_item);
		rds_send_finish(msg);
	}
}

/* Ask for an ack when the budget of unacknowledged messages is used up. */
static bool rds_send_budget_used(struct rds_cpath *cp, u32 len)
	__must_hold(&cp->cp_lock)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;

	lockdep_assert_held(&cp->cp_lock);
	cp->cp_unacked_packets--;
	cp->cp_unacked_bytes -= len;
	if (cp->cp_unacked_packets > 0 && cp->cp_unacked_bytes > 0)
		return false;

	cp->cp_unacked_packets = READ_ONCE(ctl->max_unacked_packets);
	cp->cp_unacked_bytes = READ_ONCE(ctl->max_unacked_bytes);
	return true;
}

/* May the message take this path? Paths may have come into use since it was
 * chosen.
 */
static int rds_send_admit(const struct rds_cpath *cp,
			  const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);

	if (cp->cp_dead)
		return -ENOTCONN;
	if (cp->cp_multi && msg->m_rs &&
	    rds_mp_pick(cp->cp_conn, msg->m_sport, msg->m_dport) != cp)
		return -EAGAIN;
	return 0;
}

/* From here on it is the path's. */
static void rds_send_register(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);

	msg->m_ticket = cp->cp_next_ticket++;
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
	msg->m_seq = cp->cp_next_tx_seq;
	WRITE_ONCE(cp->cp_next_tx_seq, msg->m_seq + 1);
}

/**
 * rds_send_pick() - a message is the one to be sent now
 * @cp: the path
 * @msg: the message, on no list of the path
 *
 * It is numbered now, unless it was sent before.
 *
 * Context: process. cp_xmit_lock and cp_lock are held.
 */
void rds_send_pick(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
	lockdep_assert_held(&cp->cp_lock);

	if (!msg->m_seq)
		rds_send_number(cp, msg);
	/* The answer to this one counts. */
	if (unlikely(msg->m_kind == RDS_MSG_PROBE))
		cp->cp_restart_probe_out = false;
	list_add_tail(&msg->m_path_item, &cp->cp_retrans);
	cp->cp_sent_seq = max(cp->cp_sent_seq, msg->m_seq);
	WRITE_ONCE(cp->cp_xmit_msg, msg);
}

/**
 * rds_send_enqueue() - put a message on its path
 * @cp: the path
 * @msg: the message
 * @want_ack: ask for an ack whatever the budget
 * @pick: the caller holds the transmit lock, and the message becomes the one
 *	being sent if it is the next
 *
 * Context: process. Takes cp_lock.
 * Return: 0; -ENOTCONN if the path is dead; -EAGAIN if it is no longer the one
 * that the message should take.
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
	/* The path may have been shut down since the caller looked: what was
	 * picked has been put back on the queue, and this would be left out.
	 */
	if (pick && cp->cp_state == RDS_PATH_UP &&
	    !cp->cp_map && !cp->cp_hs_msg && !cp->cp_gated &&
	    !rds_send_pending(cp) &&
	    (cp->cp_loops || !rds_park_wants(cp, msg)))
		rds_send_pick(cp, msg);
	else
		list_add_tail(&msg->m_path_item, &cp->cp_send_queue);
out:
	spin_unlock_bh(&cp->cp_lock);
	return ret;
}

/**
 * rds_send_new_control() - a message of the family's own, without a socket
 * @cp: the path that it is for
 *
 * Context: process, may sleep.
 * Return: the message, for rds_send_control() or rds_send_finish(); NULL
 * without memory.
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
 * rds_send_enqueue_control() - queue such a message
 * @cp: the path
 * @msg: the message; taken over
 *
 * Context: any. cp_lock is held, and the path is alive.
 */
void rds_send_enqueue_control(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	rds_send_register(cp, msg);
	list_add_tail(&msg->m_path_item, &cp->cp_send_queue);
}

/**
 * rds_send_control() - queue such a message, for the path's work to send
 * @cp: the path
 * @msg: the message; taken over
 * @first: before all others, by the number that was kept for it
 *
 * Context: process, the path's work item.
 * Return: false if the path is dead, and the message gone.
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
		list_add(&msg->m_path_item, &cp->cp_send_queue);
	} else if (alive) {
		rds_send_enqueue_control(cp, msg);
	}
	spin_unlock_bh(&cp->cp_lock);

	if (!alive)
		rds_send_finish(msg);
	return alive;
}
