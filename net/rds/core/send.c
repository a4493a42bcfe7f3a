// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages on their way.
 *
 * A message is on two lists from sendmsg() until it is acknowledged: on its
 * socket's (rs_lock), which is what sndbuf counts and what can be cancelled,
 * and on its path's (cp_lock): first on the send queue, and from the moment
 * it is picked to be sent on the retransmit list. The path's list owns the
 * reference. Whoever takes the message off the path's list, which happens
 * once, finishes it: takes it off the socket's list too, if it still is there,
 * and puts the references to the socket and to the message. rs_lock and
 * cp_lock are never held together.
 *
 * One task at a time sends on a path: the holder of cp_xmit_lock. Others
 * queue their message and leave. The holder looks at the queue once more
 * after it has let go, so no message is left behind:
 *
 *	holder				other
 *	  unlock cp_xmit_lock		  add to the queue
 *	  smp_mb()			  smp_mb()
 *	  queue empty?			  trylock cp_xmit_lock
 *
 * The message being sent (cp_xmit_msg) stays on the retransmit list until it
 * is through: no ack releases it and no cancel takes it away, for a stream
 * that has carried half of it must carry the rest. Its ack may come before
 * xmit() has returned; it is kept for that moment (cp_xmit_acked).
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "cong.h"
#include "conn.h"
#include "message.h"
#include "send.h"

#include <trace/events/rds.h>

/* Messages sent before the path's work takes over from sendmsg() */
#define RDS_SEND_BATCH		1024

/* Until a transport that ran out of memory is asked again */
#define RDS_SEND_NOMEM_DELAY	2

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
			   rs->rs_snd_bytes + msg->m_bag.len);
		WRITE_ONCE(rs->rs_snd_msgs, rs->rs_snd_msgs + 1);
		list_add_tail(&msg->m_sock_item, &rs->rs_send_queue);
		msg->m_on_sock = true;
		msg->m_rs = rs;
		sock_hold(&rs->rs_sk);
	}
	spin_unlock_bh(&rs->rs_lock);
	return room;
}

static void rds_send_unlink_sock(struct rds_sock *rs, struct rds_message *msg)
	__must_hold(&rs->rs_lock)
{
	lockdep_assert_held(&rs->rs_lock);
	list_del(&msg->m_sock_item);
	msg->m_on_sock = false;
	WRITE_ONCE(rs->rs_snd_bytes, rs->rs_snd_bytes - msg->m_bag.len);
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

/**
 * rds_send_finish() - the end of a message's way
 * @msg: the message, on no path's list; the caller's reference is taken over
 *
 * The peer has it, or it was given up. Wakes writers if that made room. A
 * message without a socket is a pong.
 *
 * Context: process or softirq, not deliver context. Takes rs_lock.
 */
void rds_send_finish(struct rds_message *msg)
{
	struct rds_sock *rs = msg->m_rs;

	if (rs) {
		rds_send_leave_sock(rs, msg);
		msg->m_rs = NULL;
		sock_put(&rs->rs_sk);
	} else {
		atomic_dec(&to_cpath(msg->m_path)->cp_npongs);
	}
	rds_message_put(msg);
}

static void rds_send_finish_all(struct list_head *done)
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

/* Number a message and put it on the path. The holder of the transmit lock
 * may pick it at once if it is the next.
 */
static bool rds_send_enqueue(struct rds_cpath *cp, struct rds_message *msg,
			     bool want_ack, bool pick)
{
	bool alive;

	spin_lock_bh(&cp->cp_lock);
	alive = !cp->cp_dead;
	if (alive) {
		if (rds_send_budget_used(cp, msg->m_bag.len) || want_ack) {
			msg->m_flags |= RDS_FLAG_ACK_REQUIRED;
			rds_stat_inc(cp->cp_conn->c_rn, send_ack_required);
		}
		msg->m_seq = cp->cp_next_tx_seq;
		WRITE_ONCE(cp->cp_next_tx_seq, msg->m_seq + 1);
		msg->m_on_path = true;
		trace_rds_msg_queue(&cp->cp_pub, msg, 0);
		if (pick && !cp->cp_map && !rds_send_pending(cp)) {
			list_add_tail(&msg->m_path_item, &cp->cp_retrans);
			WRITE_ONCE(cp->cp_xmit_msg, msg);
		} else {
			list_add_tail(&msg->m_path_item, &cp->cp_send_queue);
		}
	}
	spin_unlock_bh(&cp->cp_lock);
	return alive;
}

/**
 * rds_send_queue_pongs() - queue the answers to the pings received
 * @cp: the path
 *
 * Context: process, the path's work item.
 */
void rds_send_queue_pongs(struct rds_cpath *cp)
{
	struct rds_message *msg, *next;
	struct llist_node *list;

	if (llist_empty(&cp->cp_pongs))
		return;

	list = llist_reverse_order(llist_del_all(&cp->cp_pongs));
	llist_for_each_entry_safe(msg, next, list, m_pong) {
		msg->m_path = &cp->cp_pub;
		rds_conn_hold(cp->cp_conn);
		if (rds_send_enqueue(cp, msg, false, false))
			rds_stat_inc(cp->cp_conn->c_rn, send_pong);
		else
			rds_send_finish(msg);
	}
	rds_cpath_connect_soon(cp);
}

/**
 * rds_send_pending() - is there anything to send?
 * @cp: the path
 *
 * Context: any; a hint unless the caller knows that nobody else changes it.
 * Return: true if there is.
 */
bool rds_send_pending(const struct rds_cpath *cp)
{
	return !list_empty(&cp->cp_send_queue) || READ_ONCE(cp->cp_xmit_msg) ||
	       test_bit(RDS_PF_CONG, &cp->cp_flags);
}

/* Take leave of the message just sent and pick the next, under one hold of the
 * lock. @done says whether the peer has the former, and is set if its ack came
 * meanwhile; then it has left the path, and the caller is to finish it. A
 * congestion map that waits goes before the next message.
 */
static struct rds_message *rds_send_step(struct rds_cpath *cp,
					 struct rds_message *sent, bool *done,
					 bool *more)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = NULL;

	lockdep_assert_held(&cp->cp_xmit_lock);

	spin_lock_bh(&cp->cp_lock);
	*done = sent && (*done || cp->cp_xmit_acked);
	if (*done) {
		list_del(&sent->m_path_item);
		sent->m_on_path = false;
	}
	if (!test_bit(RDS_PF_CONG, &cp->cp_flags))
		msg = list_first_entry_or_null(&cp->cp_send_queue,
					       struct rds_message,
					       m_path_item);
	if (msg)
		list_move_tail(&msg->m_path_item, &cp->cp_retrans);
	*more = !list_empty(&cp->cp_send_queue);
	cp->cp_xmit_acked = false;
	WRITE_ONCE(cp->cp_xmit_msg, msg);
	spin_unlock_bh(&cp->cp_lock);
	return msg;
}

/* A snapshot, so that a map that goes on changing is sent in one piece. */
static int rds_send_cong_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	if (!cp->cp_map) {
		if (!test_and_clear_bit(RDS_PF_CONG, &cp->cp_flags))
			return 0;
		if (!ops->xmit_cong_map)
			return 0;
		cp->cp_map = kmemdup(cp->cp_conn->c_lcong->cm_bits,
				     RDS_CONG_MAP_BYTES, GFP_NOFS);
		if (!cp->cp_map) {
			set_bit(RDS_PF_CONG, &cp->cp_flags);
			return -ENOMEM;
		}
	}

	ret = ops->xmit_cong_map(&cp->cp_pub, cp->cp_map);
	if (ret == -EAGAIN || ret == -ENOMEM)
		return ret;

	kfree(cp->cp_map);
	cp->cp_map = NULL;
	return ret < 0 ? ret : 0;
}

/* What a transport's refusal means. */
static void rds_send_failed(struct rds_cpath *cp, int err)
{
	struct rds_net *rn = cp->cp_conn->c_rn;

	switch (err) {
	case -EAGAIN:
		rds_stat_inc(rn, send_immediate_retry);
		return;
	case -ENOMEM:
		rds_stat_inc(rn, send_delayed_retry);
		rds_cpath_kick(cp, RDS_SEND_NOMEM_DELAY);
		return;
	default:
		rds_path_drop(&cp->cp_pub, RDS_DROP_XMIT_FAILED);
	}
}

/* Send until there is nothing more to send (0), the transport will not take
 * more (negative), or somebody else should have a turn (positive).
 */
static int rds_send_batch(struct rds_cpath *cp, unsigned int *budget)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = cp->cp_xmit_msg, *sent;
	bool more = !list_empty_careful(&cp->cp_send_queue);
	bool done;
	int ret = 0;

	lockdep_assert_held(&cp->cp_xmit_lock);

	while (rds_cpath_state(cp) == RDS_PATH_UP) {
		if (!msg) {
			ret = rds_send_cong_map(cp);
			if (ret)
				break;
			done = false;
			msg = rds_send_step(cp, NULL, &done, &more);
			if (!msg)
				return 0;
		}

		ret = cp->cp_trans->data->xmit(&cp->cp_pub, msg,
					       more && *budget > 1);
		if (ret < 0)
			break;

		trace_rds_msg_xmit(&cp->cp_pub, msg, ret);
		sent = msg;
		done = ret == RDS_XMIT_DELIVERED;
		msg = rds_send_step(cp, sent, &done, &more);
		if (done)
			rds_send_finish(sent);
		if (!--*budget)
			return 1;
		if (!msg && !rds_send_pending(cp))
			return 0;
	}
	if (ret < 0)
		rds_send_failed(cp, ret);
	return ret < 0 ? ret : -ENOTCONN;
}

static bool rds_send_trylock(struct rds_cpath *cp)
{
	/* Pairs with the one in rds_send_owned(): see the top of this file. */
	smp_mb();
	return mutex_trylock(&cp->cp_xmit_lock);
}

/* Send, and let the transmit lock go. */
static void rds_send_owned(struct rds_cpath *cp)
{
	unsigned int budget = RDS_SEND_BATCH;
	int ret;

	do {
		ret = rds_send_batch(cp, &budget);
		mutex_unlock(&cp->cp_xmit_lock);
		if (ret > 0)
			rds_cpath_kick(cp, 0);
		if (ret)
			return;
		/* Pairs with the one in rds_send_trylock(). */
		smp_mb();
	} while (rds_send_pending(cp) && mutex_trylock(&cp->cp_xmit_lock));
}

/**
 * rds_send_run() - send what is queued, unless somebody is at it
 * @cp: the path; the caller has a reference to its connection
 *
 * Context: process, may sleep. No locks.
 */
void rds_send_run(struct rds_cpath *cp)
{
	if (rds_send_trylock(cp))
		rds_send_owned(cp);
	else
		rds_stat_inc(cp->cp_conn->c_rn, send_lock_contention);
}

/**
 * rds_send_run_waiting() - send what is queued, when whoever is at it is done
 * @cp: the path; the caller has a reference to its connection
 *
 * For the path's work, which must not miss what it was kicked for: the other
 * may just have been told by the transport to wait for that very kick.
 *
 * Context: process, the path's work item, may sleep. No locks.
 */
void rds_send_run_waiting(struct rds_cpath *cp)
{
	mutex_lock(&cp->cp_xmit_lock);
	rds_send_owned(cp);
}

/**
 * rds_send_submit() - put a message on a path, and send what is there
 * @cp: the path; the caller has a reference to its connection
 * @msg: the message, new, with &rds_message.m_path set
 * @want_ack: ask for an ack whatever the budget
 *
 * If the path is not UP, or somebody else is sending on it, the message waits
 * its turn.
 *
 * Context: process, may sleep. No locks.
 * Return: true if it is on its way, with the caller's reference; false if the
 * path is dead.
 */
bool rds_send_submit(struct rds_cpath *cp, struct rds_message *msg,
		     bool want_ack)
{
	bool owned = rds_cpath_state(cp) == RDS_PATH_UP &&
		     mutex_trylock(&cp->cp_xmit_lock);
	bool alive = rds_send_enqueue(cp, msg, want_ack, owned);

	if (owned)
		rds_send_owned(cp);
	else if (alive && rds_cpath_state(cp) == RDS_PATH_UP)
		rds_send_run(cp);
	return alive;
}

/**
 * rds_path_ack() - the peer has acknowledged messages
 * @path: the path
 * @seq: it has everything up to this number
 *
 * Releases what was sent completely, and nothing else, whatever @seq says. May
 * be called from within xmit().
 *
 * Context: process or softirq, not deliver context. Takes cp_lock, rs_lock.
 */
void rds_path_ack(struct rds_path *path, u64 seq)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_message *msg, *next;
	LIST_HEAD(done);

	spin_lock_bh(&cp->cp_lock);
	list_for_each_entry_safe(msg, next, &cp->cp_retrans, m_path_item) {
		if (msg->m_seq > seq)
			break;
		if (msg == cp->cp_xmit_msg) {
			cp->cp_xmit_acked = true;
			break;
		}
		msg->m_on_path = false;
		list_move_tail(&msg->m_path_item, &done);
		trace_rds_msg_ack(path, msg, 0);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}
EXPORT_SYMBOL_GPL(rds_path_ack);

/**
 * rds_send_reset() - prepare a path for its next connection
 * @cp: the path; its transport is shut down
 *
 * What was sent and not acknowledged goes to the front of the send queue, in
 * order and marked as sent before, so that the peer can tell duplicates. What
 * was cancelled while it was being sent ends here.
 *
 * Context: process. cp_xmit_lock is held; takes cp_lock, rs_lock.
 */
void rds_send_reset(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;
	struct rds_message *msg, *canceled = NULL;

	lockdep_assert_held(&cp->cp_xmit_lock);

	kfree(cp->cp_map);
	cp->cp_map = NULL;

	spin_lock_bh(&cp->cp_lock);
	msg = cp->cp_xmit_msg;
	if (msg && msg->m_canceled) {
		list_del(&msg->m_path_item);
		msg->m_on_path = false;
		canceled = msg;
	}
	WRITE_ONCE(cp->cp_xmit_msg, NULL);
	cp->cp_xmit_acked = false;
	list_for_each_entry(msg, &cp->cp_retrans, m_path_item)
		msg->m_flags |= RDS_FLAG_ACK_REQUIRED |
				RDS_FLAG_RETRANSMITTED;
	list_splice_init(&cp->cp_retrans, &cp->cp_send_queue);
	cp->cp_unacked_packets = READ_ONCE(ctl->max_unacked_packets);
	cp->cp_unacked_bytes = READ_ONCE(ctl->max_unacked_bytes);
	spin_unlock_bh(&cp->cp_lock);

	if (canceled)
		rds_send_finish(canceled);
}

/**
 * rds_send_purge() - give up all messages of a dead path
 * @cp: the path; its transport is shut down for good
 *
 * Context: process. cp_xmit_lock is held; takes cp_lock, rs_lock.
 */
void rds_send_purge(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg;
	LIST_HEAD(done);

	lockdep_assert_held(&cp->cp_xmit_lock);

	kfree(cp->cp_map);
	cp->cp_map = NULL;

	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_xmit_msg, NULL);
	list_splice_tail_init(&cp->cp_retrans, &done);
	list_splice_tail_init(&cp->cp_send_queue, &done);
	list_for_each_entry(msg, &done, m_path_item) {
		msg->m_on_path = false;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CONN_GONE);
	}
	spin_unlock_bh(&cp->cp_lock);

	rds_send_finish_all(&done);
}

static bool rds_send_is_for(const struct rds_message *msg,
			    const struct rds_addr *dest)
{
	const struct rds_path *path = msg->m_path;

	return !dest ||
	       (msg->m_dport == dest->port &&
		ipv6_addr_equal(&path->faddr, &dest->ip) &&
		rds_addr_scope(&path->faddr, path->ifindex) == dest->ifindex);
}

/* Off the path too, unless the transport has it in hand. */
static void rds_send_cancel_on_path(struct rds_message *msg)
{
	struct rds_cpath *cp = to_cpath(msg->m_path);
	bool mine;

	spin_lock_bh(&cp->cp_lock);
	mine = msg->m_on_path && msg != cp->cp_xmit_msg;
	msg->m_canceled = true;
	if (mine) {
		list_del(&msg->m_path_item);
		msg->m_on_path = false;
		trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_CANCELED);
	}
	spin_unlock_bh(&cp->cp_lock);

	if (mine)
		rds_send_finish(msg);
}

/**
 * rds_send_cancel() - give up what a socket has sent
 * @rs: the socket
 * @dest: only messages to this address and port; NULL for all
 *
 * What a transport has begun to send goes on, but no longer counts
 * (rds(7), RDS_CANCEL_SENT_TO).
 *
 * Context: process. Takes rs_lock and cp_lock in turn.
 */
void rds_send_cancel(struct rds_sock *rs, const struct rds_addr *dest)
{
	struct rds_message *msg, *next;
	LIST_HEAD(gone);

	spin_lock_bh(&rs->rs_lock);
	list_for_each_entry_safe(msg, next, &rs->rs_send_queue, m_sock_item) {
		if (!rds_send_is_for(msg, dest))
			continue;
		rds_send_unlink_sock(rs, msg);
		rds_message_get(msg);
		list_add_tail(&msg->m_sock_item, &gone);
	}
	spin_unlock_bh(&rs->rs_lock);

	if (list_empty(&gone))
		return;

	list_for_each_entry_safe(msg, next, &gone, m_sock_item) {
		list_del(&msg->m_sock_item);
		rds_send_cancel_on_path(msg);
		rds_message_put(msg);
	}
	rs->rs_sk.sk_write_space(&rs->rs_sk);
}
