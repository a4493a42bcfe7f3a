// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages on their way.
 *
 * A message is on two lists from sendmsg() until it is acknowledged: on its
 * socket's (rs_lock), which is what sndbuf counts and what can be cancelled,
 * and on its path's (cp_lock): first on the send queue; perhaps among what is
 * parked (park.c), and then on the queue again; and from the moment it is
 * picked to be sent on the retransmit list. The path's list owns the
 * reference. Whoever takes the message off the path's list, which happens
 * once, finishes it: takes it off the socket's list too, if it still is there,
 * and puts the references to the socket and to the message. rs_lock and
 * cp_lock are never held together.
 *
 * When it is put on the path it gets a ticket, and when it is picked for the
 * first time, a number (m_seq), which it keeps. Tickets say what was queued
 * before what, however late it is sent; numbers, in which order the peer
 * receives. Both go up along the queue between one pair of sockets, and what
 * has a number is always ahead of what has none. So
 *
 * - a restart of the peer gives up all with a ticket below the one that was
 *   next when it was acted on, queued or parked, unless it has been sent on
 *   this connection: then it is for the new peer (rds_send_flush());
 * - the probe behind the last message of one path is sent after all with a
 *   lower ticket, none of which is parked any more (rds_park_end());
 * - a lost connection puts what it has not acknowledged at the head of the
 *   queue again, by number, which the peer may know; then comes what was
 *   parked;
 * - cancelling, and close(), take a message off whichever list it is on.
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
#include <net/ipv6.h>

#include "conn.h"
#include "gate.h"
#include "multipath.h"
#include "message.h"
#include "op.h"
#include "send.h"
#include "sw_response.h"
#include "sw_request.h"

#include <trace/events/rds.h>

/* Messages sent before the path's work takes over from sendmsg() */
#define RDS_SEND_BATCH		1024

/* Messages parked under one hold of the lock */
#define RDS_PARK_BATCH		64

/* Until a transport that ran out of memory is asked again */
#define RDS_SEND_NOMEM_DELAY	2

/* What the gate waits for may be the answer to it, or the peer's may wait. */
static bool rds_send_control_is_first(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	const struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);
	msg = list_first_entry_or_null(&cp->cp_send_queue, struct rds_message,
				       m_path_item);
	return msg && msg->m_kind != RDS_MSG_DATA;
}

static bool rds_send_may_pick(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	unsigned long ahead = READ_ONCE(cp->cp_flags) & RDS_PF_AHEAD;

	if (unlikely(cp->cp_map_yields))
		ahead &= ~BIT(RDS_PF_CONG);
	if (unlikely(cp->cp_sw.so_yields))
		ahead &= ~BIT(RDS_PF_SW_RESPONSE);
	return !ahead && (!cp->cp_gated || rds_send_control_is_first(cp));
}

/* Has the peer acknowledged all of it? */
static bool rds_send_is_marked_off(struct rds_cpath *cp,
				   const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	return cp->cp_has_mark && !rds_op_outlasts(msg) &&
	       (s32)(cp->cp_acked_mark - msg->m_mark) >= 0;
}

/* The first in the queue that does not have to wait for its port; the others
 * are parked, some at a time.
 */
static struct rds_message *rds_send_next(struct rds_cpath *cp, bool *parked)
	__must_hold(&cp->cp_lock)
{
	unsigned int n = RDS_PARK_BATCH;
	struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);

	while (n--) {
		msg = list_first_entry_or_null(&cp->cp_send_queue,
					       struct rds_message,
					       m_path_item);
		if (!msg || cp->cp_loops || !rds_park_take(cp, msg))
			return msg;
		*parked = true;
	}
	return NULL;
}

/* Take leave of the message just sent and pick the next, under one hold of the
 * lock. @done says whether the peer has the former, and is set if its ack came
 * meanwhile; then it has left the path, and the caller is to finish it. What
 * goes before messages is seen to first.
 */
static struct rds_message *rds_send_step(struct rds_cpath *cp,
					 struct rds_message *sent, bool *done,
					 bool *more)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = NULL;
	bool parked = false;

	lockdep_assert_held(&cp->cp_xmit_lock);

	spin_lock_bh(&cp->cp_lock);
	*done = sent && (*done || cp->cp_xmit_acked ||
			 rds_send_is_marked_off(cp, sent));
	if (*done) {
		list_del(&sent->m_path_item);
		sent->m_on_path = false;
	}
	if (!list_empty(&cp->cp_send_queue) && rds_send_may_pick(cp))
		msg = rds_send_next(cp, &parked);
	WRITE_ONCE(cp->cp_xmit_msg, NULL);
	if (msg) {
		list_del(&msg->m_path_item);
		rds_send_pick(cp, msg);
		cp->cp_sw.so_yields = false;
		cp->cp_map_yields = false;
	}
	*more = !list_empty(&cp->cp_send_queue);
	cp->cp_xmit_acked = false;
	spin_unlock_bh(&cp->cp_lock);

	if (unlikely(parked))
		rds_park_watch(cp);
	return msg;
}

/* The number before the first that waits, marked as sent before: who has
 * received that, or what followed, takes it for a duplicate.
 */
static void rds_send_number_probe(struct rds_cpath *cp, struct rds_message *msg)
{
	const struct rds_message *first;

	spin_lock_bh(&cp->cp_lock);
	first = list_first_entry_or_null(&cp->cp_send_queue,
					 struct rds_message, m_path_item);
	msg->m_seq = (first && first->m_seq ? first->m_seq :
		      cp->cp_next_tx_seq) - 1;
	msg->m_flags = RDS_FLAG_RETRANSMITTED;
	cp->cp_restart_probe_out = true;
	spin_unlock_bh(&cp->cp_lock);
}

/* Greetings: to a peer that takes them unnumbered, or to one that may have
 * forgotten us.
 */
static struct rds_message *rds_send_next_handshake(struct rds_cpath *cp)
{
	struct rds_message *msg;
	unsigned int bit;

	if (test_bit(RDS_PF_REPLY_NOW, &cp->cp_flags))
		bit = RDS_PF_REPLY_NOW;
	else if (test_bit(RDS_PF_PROBE_NOW, &cp->cp_flags))
		bit = RDS_PF_PROBE_NOW;
	else if (test_bit(RDS_PF_PROBE_RESTART, &cp->cp_flags))
		bit = RDS_PF_PROBE_RESTART;
	else
		return NULL;

	msg = rds_send_new_control(cp);
	if (!msg)
		return ERR_PTR(-ENOMEM);
	clear_bit(bit, &cp->cp_flags);
	if (bit == RDS_PF_REPLY_NOW)
		rds_mp_write_reply(cp, msg);
	else
		rds_mp_write_probe(cp, msg);
	if (bit == RDS_PF_PROBE_RESTART)
		rds_send_number_probe(cp, msg);
	return msg;
}

/* One of each kind at a time: the peer can ask for them faster than they go. */
static int rds_send_handshakes(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	unsigned int kinds = 3;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	while (kinds--) {
		if (!cp->cp_hs_msg)
			cp->cp_hs_msg = rds_send_next_handshake(cp);
		if (IS_ERR_OR_NULL(cp->cp_hs_msg)) {
			ret = PTR_ERR_OR_ZERO(cp->cp_hs_msg);
			cp->cp_hs_msg = NULL;
			return ret;
		}

		ret = cp->cp_trans->data->xmit(&cp->cp_pub, cp->cp_hs_msg,
					       true);
		if (ret == -EAGAIN || ret == -ENOMEM)
			return ret;
		rds_message_put(cp->cp_hs_msg);
		cp->cp_hs_msg = NULL;
		if (ret < 0)
			return ret;
		cp->cp_sw.so_handshake_sent = true;
	}
	return 0;
}

/* What goes before messages. An answer may have been sent in part. */
static int rds_send_ahead(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret = 0;

	if (unlikely(test_bit(RDS_PF_UNPARK, &cp->cp_flags)))
		rds_park_release(cp);
	if (unlikely(cp->cp_sw.so_response))
		ret = rds_sw_go_on(cp);
	if (!ret && unlikely(cp->cp_map ||
			     test_bit(RDS_PF_CONG, &cp->cp_flags)))
		ret = rds_send_cong_map(cp);
	if (!ret && cp->cp_multi)
		ret = rds_send_handshakes(cp);
	if (!ret)
		ret = rds_sw_respond(cp);
	return ret;
}

static bool rds_send_has_sw_op(const struct rds_cpath *cp,
			       const struct rds_message *msg)
{
	return unlikely(msg->m_op) && !cp->cp_trans->rdma;
}

/* Do others go before it? */
static bool rds_send_gives_way(struct rds_cpath *cp,
			       const struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	return !msg || (rds_send_has_sw_op(cp, msg) &&
			rds_sw_waits(cp, msg));
}

static int rds_send_one(struct rds_cpath *cp, struct rds_message *msg,
			bool more)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	if (rds_send_has_sw_op(cp, msg)) {
		ret = rds_sw_xmit(cp, msg);
		if (ret)
			return ret == -ECANCELED ? RDS_XMIT_DELIVERED : ret;
		if (msg->m_op->op_bare)
			return RDS_XMIT_SENT;
	}
	ret = cp->cp_trans->data->xmit(&cp->cp_pub, msg, more);
	if (unlikely(msg->m_kind == RDS_MSG_PROBE ||
		     msg->m_kind == RDS_MSG_REPLY))
		cp->cp_sw.so_handshake_sent |= ret >= 0;
	return ret;
}

/* What the transport has put by, if nothing else follows. */
static int rds_send_flush_out(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;

	lockdep_assert_held(&cp->cp_xmit_lock);
	return ops->flush ? ops->flush(&cp->cp_pub) : 0;
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

/* Hand messages to the transport until there is nothing more to send (0), the
 * transport will not take more (negative), or somebody else should have a turn
 * (positive).
 */
static int rds_send_messages(struct rds_cpath *cp, unsigned int *budget)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = cp->cp_xmit_msg, *sent;
	bool more = !list_empty_careful(&cp->cp_send_queue);
	bool done;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	while (rds_cpath_state(cp) == RDS_PATH_UP) {
		if (rds_send_gives_way(cp, msg)) {
			ret = rds_send_ahead(cp);
			if (ret)
				return ret;
		}
		if (!msg) {
			rds_gate_update(cp);
			done = false;
			msg = rds_send_step(cp, NULL, &done, &more);
			if (!msg)
				return 0;
		}

		ret = rds_send_one(cp, msg, more && *budget > 1);
		if (ret < 0)
			return ret;

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
	return -ENOTCONN;
}

static int rds_send_batch(struct rds_cpath *cp, unsigned int *budget)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret = rds_send_messages(cp, budget);
	int flushed;

	if (ret >= 0) {
		flushed = rds_send_flush_out(cp);
		if (flushed < 0)
			ret = flushed;
	}
	if (ret < 0 && ret != -ENOTCONN)
		rds_send_failed(cp, ret);
	return ret;
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
		/* A round without a message counts, too. */
		if (ret > 0 || (!ret && !--budget)) {
			rds_cpath_kick(cp, 0);
			return;
		}
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
 * Return: 0 if it is on its way, with the caller's reference; -ENOTCONN if the
 * path is dead; -EAGAIN if it is no longer the one to take.
 */
int rds_send_submit(struct rds_cpath *cp, struct rds_message *msg,
		    bool want_ack)
{
	bool owned = rds_cpath_state(cp) == RDS_PATH_UP &&
		     mutex_trylock(&cp->cp_xmit_lock);
	int ret = rds_send_enqueue(cp, msg, want_ack, owned);

	if (owned)
		rds_send_owned(cp);
	else if (!ret && rds_cpath_state(cp) == RDS_PATH_UP)
		rds_send_run(cp);
	return ret;
}
