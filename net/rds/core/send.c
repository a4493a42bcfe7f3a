// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transmission of messages.
 *
 * From sendmsg() until its ack, a message is on two lists:
 *
 * - the list of its socket (rs_lock). The messages on it count against the
 *   send buffer, and can be canceled;
 * - a list of its path (cp_lock). This is first the send queue. The message
 *   may then be parked (park.c) and queued again. From the moment it is picked
 *   to be sent it is on the retransmit list.
 *
 * The path's list owns the reference to the message. The context that removes
 * the message from the path's list, which happens once, completes it: it also
 * removes the message from the socket's list, if it still is there, and puts
 * the references to the socket and to the message. rs_lock and cp_lock are
 * never held together.
 *
 * A message gets a ticket when it is put on the path. It gets a sequence
 * number (m_seq), which it keeps, when it is picked for the first time. Tickets
 * record the order in which messages were queued, however late they are sent.
 * Sequence numbers define the order in which the peer receives. Both increase
 * along the queue between one pair of sockets. A message with a sequence number
 * is always ahead of those without one. Therefore:
 *
 * - When the peer restarts, all messages with a ticket below pt_flush_ticket
 *   are given up, whether queued or parked. That is the ticket that was next
 *   when the restart was noticed or handled (rds_restart()). Messages that
 *   have been sent on the present connection are for the new peer, and stay
 *   (rds_send_flush()).
 * - The barrier probe, behind the last message of one path, is sent after all
 *   messages with a lower ticket. None of these is parked any more
 *   (rds_park_end()).
 * - When a connection is lost, the messages that it has not acknowledged return
 *   to the head of the queue, in the order of their sequence numbers, which the
 *   peer may have seen. The parked messages follow them.
 * - RDS_CANCEL_SENT_TO and close() remove a message from whichever list it is
 *   on.
 *
 * One task at a time sends on a path: the holder of cp_xmit_lock. Other tasks
 * queue their message and return. The holder checks the queue once more after
 * it has released the lock, so no message is left behind:
 *
 *	holder				other
 *	  unlock cp_xmit_lock		  add to the queue
 *	  smp_mb()			  smp_mb()
 *	  queue empty?			  trylock cp_xmit_lock
 *
 * The message being sent (cp_tx.pt_msg) stays on the retransmit list until the
 * transport has taken all of it. No ack and no cancel removes it before, since
 * a stream that has carried half of a message must carry the rest. Its ack may
 * arrive before xmit() has returned; cp_tx.pt_acked records it until then.
 */
#include <net/ipv6.h>

#include "compat.h"
#include "conn.h"
#include "gate.h"
#include "message.h"
#include "op.h"
#include "probe.h"
#include "send.h"
#include "sw_request.h"
#include "sw_response.h"
#include "upper.h"

#include <trace/events/rds.h>

/* Messages sent by one task before the path's work item takes over */
#define RDS_SEND_BATCH		1024

/* Messages parked per hold of cp_lock */
#define RDS_PARK_BATCH		64

/* Delay before retrying a transport that ran out of memory, in jiffies */
#define RDS_SEND_NOMEM_DELAY	2

/* A control message at the head of the queue passes a closed gate: our gate may
 * wait for the reply to it, or the peer's gate may wait for it.
 */
static bool rds_send_control_is_first(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	const struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);
	msg = list_first_entry_or_null(&cp->cp_tx.pt_queue, struct rds_message,
				       m_path_item);
	return msg && rds_message_is_control(msg);
}

static bool rds_send_may_pick(struct rds_cpath *cp)
	__must_hold(&cp->cp_lock)
{
	unsigned long ahead = READ_ONCE(cp->cp_flags) & RDS_PF_AHEAD;

	lockdep_assert_held(&cp->cp_lock);
	if (unlikely(cp->cp_map.pm_yields))
		ahead &= ~BIT(RDS_PF_CONG);
	if (unlikely(cp->cp_sw.sw_yields))
		ahead &= ~BIT(RDS_PF_SW_RESPONSE);
	return !ahead &&
	       (!cp->cp_gate.pg_shut || rds_send_control_is_first(cp));
}

/* Check whether the peer has acknowledged the message, and its operation has
 * ended.
 */
static bool rds_send_is_acked(const struct rds_cpath *cp,
			      const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	return cp->cp_tx.pt_acked &&
	       (likely(!msg->m_op) || rds_op_is_over(msg->m_op));
}

/* Check whether byte acks complete the message: the peer has acknowledged all
 * of its bytes, and no operation of the message outlasts them.
 */
static bool rds_send_is_marked_off(struct rds_cpath *cp,
				   const struct rds_message *msg)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	return cp->cp_tx.pt_has_mark && !rds_op_outlasts(msg) &&
	       (s32)(cp->cp_tx.pt_mark - msg->m_mark) >= 0;
}

/* Give up a frame that is not meant for the present peer. */
static void rds_send_lose(struct rds_cpath *cp, struct rds_message *msg,
			  struct list_head *lost)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	msg->m_on_path = false;
	msg->m_lost = true;
	list_move_tail(&msg->m_path_item, lost);
	trace_rds_msg_drop(&cp->cp_pub, msg, RDS_MSG_PEER_RESTARTED);
	rds_stat_inc(cp->cp_conn->c_rn, send_drop_restarted);
}

/* Return the first message in the queue that need not wait for its port. Park
 * those before it, and move frames that are not for the present peer to @lost,
 * at most RDS_PARK_BATCH messages per call; at that limit return NULL.
 *
 * A peer may just have said that it knows streams. Its request may have come
 * with its handshake frame, and the response must not be given up because the
 * work item has not yet acted on that frame. So the response waits for it.
 */
static struct rds_message *rds_send_next(struct rds_cpath *cp, bool *parked,
					 struct list_head *lost)
	__must_hold(&cp->cp_lock)
{
	/* Before what is known of the peer is looked at */
	bool learning = rds_cpath_is_learning(cp);
	unsigned int n = RDS_PARK_BATCH;
	struct rds_message *msg;

	lockdep_assert_held(&cp->cp_lock);

	while (n--) {
		msg = list_first_entry_or_null(&cp->cp_tx.pt_queue,
					       struct rds_message,
					       m_path_item);
		if (msg && unlikely(!rds_upper_may_send(cp, msg))) {
			if (learning)
				return NULL;
			rds_send_lose(cp, msg, lost);
			continue;
		}
		if (!msg || rds_cpath_can(cp, RDS_CAP_LOOPBACK) ||
		    !rds_park_take(cp, msg))
			return msg;
		*parked = true;
	}
	return NULL;
}

/* End the transmission of @sent, if any, and pick the next message, under one
 * hold of cp_lock. On entry @done indicates that the peer has @sent. It is also
 * set if the ack of @sent has arrived meanwhile. If @done is set on return,
 * @sent is off the path's list, and the caller must complete it. Picks no
 * message while frames that go ahead of messages are due.
 */
static struct rds_message *rds_send_step(struct rds_cpath *cp,
					 struct rds_message *sent, bool *done,
					 bool *more)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = NULL;
	bool parked = false;
	LIST_HEAD(lost);

	lockdep_assert_held(&cp->cp_xmit_lock);

	spin_lock_bh(&cp->cp_lock);
	*done = sent && (*done || rds_send_is_acked(cp, sent) ||
			 rds_send_is_marked_off(cp, sent));
	if (*done) {
		list_del(&sent->m_path_item);
		sent->m_on_path = false;
	}
	if (!list_empty(&cp->cp_tx.pt_queue) && rds_send_may_pick(cp))
		msg = rds_send_next(cp, &parked, &lost);
	WRITE_ONCE(cp->cp_tx.pt_msg, NULL);
	if (msg) {
		list_del(&msg->m_path_item);
		rds_send_pick(cp, msg);
		cp->cp_sw.sw_yields = false;
		cp->cp_map.pm_yields = false;
	}
	*more = !list_empty(&cp->cp_tx.pt_queue);
	cp->cp_tx.pt_acked = false;
	spin_unlock_bh(&cp->cp_lock);

	if (unlikely(parked))
		rds_park_watch(cp);
	if (unlikely(!list_empty(&lost)))
		rds_send_finish_all(&lost);
	return msg;
}

/* Give the probe the sequence number before the first message that waits, and
 * mark it as retransmitted. A peer that has received that number, or a later
 * one, takes the probe for a duplicate.
 */
static void rds_send_number_probe(struct rds_cpath *cp, struct rds_message *msg)
{
	const struct rds_message *first;

	spin_lock_bh(&cp->cp_lock);
	first = list_first_entry_or_null(&cp->cp_tx.pt_queue,
					 struct rds_message, m_path_item);
	msg->m_seq = (first && first->m_seq ? first->m_seq :
		      cp->cp_tx.pt_next_seq) - 1;
	msg->m_flags = RDS_FLAG_RETRANSMITTED;
	cp->cp_hs.ph_restart_out = true;
	spin_unlock_bh(&cp->cp_lock);
}

/* Return the next handshake frame to send ahead of messages, NULL if none is
 * due, or ERR_PTR(-ENOMEM). A peer that accepts unnumbered frames gets those. A
 * peer that may have forgotten us gets a numbered probe.
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
		rds_probe_write_reply(cp, msg);
	else
		rds_probe_write(cp, msg);
	if (bit == RDS_PF_PROBE_RESTART)
		rds_send_number_probe(cp, msg);
	return msg;
}

/* Send at most as many frames per call as there are kinds: the peer can request
 * replies faster than they are sent.
 */
static int rds_send_handshakes(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	unsigned int kinds = 3;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	while (kinds--) {
		if (!cp->cp_hs.ph_msg)
			cp->cp_hs.ph_msg = rds_send_next_handshake(cp);
		if (IS_ERR_OR_NULL(cp->cp_hs.ph_msg)) {
			ret = PTR_ERR_OR_ZERO(cp->cp_hs.ph_msg);
			cp->cp_hs.ph_msg = NULL;
			return ret;
		}

		ret = cp->cp_trans->data->xmit(&cp->cp_pub, cp->cp_hs.ph_msg,
					       true);
		if (ret == -EAGAIN || ret == -ENOMEM)
			return ret;
		rds_message_put(cp->cp_hs.ph_msg);
		cp->cp_hs.ph_msg = NULL;
		if (ret < 0)
			return ret;
		cp->cp_sw.sw_handshake_sent = true;
	}
	return 0;
}

/* Send all that goes ahead of messages. Continue first with a software RDMA
 * response that has been sent in part.
 */
static int rds_send_ahead(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret = 0;

	lockdep_assert_held(&cp->cp_xmit_lock);
	if (unlikely(test_bit(RDS_PF_UNPARK, &cp->cp_flags)))
		rds_park_release(cp);
	if (unlikely(cp->cp_sw.sw_response))
		ret = rds_sw_go_on(cp);
	if (!ret && unlikely(cp->cp_map.pm_map ||
			     test_bit(RDS_PF_CONG, &cp->cp_flags)))
		ret = rds_send_cong_map(cp);
	if (!ret && rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
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

/* Check whether other frames may be sent now: no message is in progress, or
 * the message waits for its operation and none of it has been sent.
 */
static bool rds_send_gives_way(struct rds_cpath *cp,
			       const struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
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
		cp->cp_sw.sw_handshake_sent |= ret >= 0;
	return ret;
}

/* Have the transport send what it has batched: no other message follows now. */
static int rds_send_flush_out(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;

	lockdep_assert_held(&cp->cp_xmit_lock);
	return ops->flush ? ops->flush(&cp->cp_pub) : 0;
}

/* Handle an error of the transport. After -EAGAIN a kick follows when sending
 * can go on.
 */
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

/* Pass messages to the transport. Returns 0 when nothing is left to send, 1
 * when @budget is used up and the path's work item has to take over, and a
 * negative errno when the transport takes no more or the path is not UP.
 */
static int rds_send_messages(struct rds_cpath *cp, unsigned int *budget)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_message *msg = cp->cp_tx.pt_msg, *sent;
	bool more = !list_empty(&cp->cp_tx.pt_queue);
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
	int flushed, ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	ret = rds_send_messages(cp, budget);
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

/* Send, and release cp_xmit_lock, which the caller has taken. */
static void rds_send_owned(struct rds_cpath *cp)
{
	unsigned int budget = RDS_SEND_BATCH;
	int ret;

	do {
		ret = rds_send_batch(cp, &budget);
		mutex_unlock(&cp->cp_xmit_lock);
		/* A round that sends no message also uses up budget. */
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
 * rds_send_run() - Send queued messages unless another task is sending
 * @cp: the path; the caller holds a reference to its connection
 *
 * Context: Process context, may sleep. No locks.
 */
void rds_send_run(struct rds_cpath *cp)
{
	if (rds_send_trylock(cp))
		rds_send_owned(cp);
	else
		rds_stat_inc(cp->cp_conn->c_rn, send_lock_contention);
}

/**
 * rds_send_run_waiting() - Send queued messages after the current sender
 * @cp: the path; the caller holds a reference to its connection
 *
 * For the path's work item, which must not miss the event that it was kicked
 * for. The transport may just have returned -EAGAIN to the current sender,
 * which then leaves the rest to that very kick.
 *
 * Context: Process context, the path's work item, may sleep. No locks.
 */
void rds_send_run_waiting(struct rds_cpath *cp)
{
	mutex_lock(&cp->cp_xmit_lock);
	rds_send_owned(cp);
}

/**
 * rds_send_submit() - Put a message on a path and send what is queued there
 * @cp: the path; the caller holds a reference to its connection
 * @msg: the message, new, with &rds_message.m_path set
 * @want_ack: ask for an ack regardless of the budget
 *
 * If the path is not UP, or another task is sending on it, the message waits in
 * the queue.
 *
 * Context: Process context, may sleep. No locks.
 * Return: 0 if the path has taken over the message with the caller's reference;
 * -ENOTCONN if the path is dead; -EAGAIN if the message has to take another
 * path now; -ECANCELED if its socket has given it up.
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
EXPORT_SYMBOL_RDS_KUNIT(rds_send_submit);
