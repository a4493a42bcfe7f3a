// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA: operations on a peer's memory, for transports without RDMA.
 *
 * Core does the work of a device at both ends. Between addresses of this host
 * an operation is a copy. Otherwise two peers that run this implementation
 * exchange frames without a sequence number, on the path of the message that
 * has the operation:
 *
 *	requester				owner of the memory
 *	  request, with the data of a write	 writes, during the delivery
 *	  its message, right after a write	 delivers it, unless that failed
 *	  ...					 response, with the data read
 *
 * As with a device, an operation belongs to one connection. If the connection
 * is lost before the response arrives, the operation ends as DROPPED, and
 * nothing is sent again. If the peer does not respond in time, rds_sw_watch()
 * drops the connection.
 *
 * If a message has to wait for the data that its operation fetches, the whole
 * path waits, as a device does for a fence. Responses, and all other frames
 * that are sent ahead of messages, do not wait. So two ends that wait for each
 * other's responses both get them.
 *
 * A struct rds_sw_request is a request that the peer has not answered. It holds
 * a reference to the message, and thereby to the local pages. The context that
 * removes it from sw_ops, which happens once, completes it: the delivery of the
 * response, or the end of the connection. At most RDS_SW_DEPTH requests per
 * path are unanswered at a time.
 *
 * sw_response.c answers the requests of the peer.
 *
 * Frames are ignored unless the peer has advertised software RDMA on this
 * connection. A hostile peer can delay a response up to the time limit. A
 * response that matches no request, or whose payload has the wrong size, costs
 * the peer its connection.
 */
#include <linux/highmem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "cong.h"
#include "conn.h"
#include "delay.h"
#include "message.h"
#include "op.h"
#include "payload.h"
#include "send.h"
#include "sw_admit.h"
#include "sw_frame.h"
#include "sw_local.h"
#include "sw_mr.h"
#include "sw_request.h"
#include "sw_response.h"

/**
 * struct rds_sw_request - a request that the peer has not answered
 * @sr_item: on &rds_sw.sw_ops
 * @sr_id: identifies the operation in frames, see &rds_sw_frame.sf_id
 * @sr_msg: its message, with a reference
 */
struct rds_sw_request {
	struct list_head	sr_item;
	u32			sr_id;
	struct rds_message	*sr_msg;
};

static u32 rds_sw_request_len(const struct rds_op *op)
{
	if (op->op_kind == RDS_OP_WRITE)
		return op->op_bytes;
	return op->op_kind == RDS_OP_READ ? sizeof(struct rds_sw_length) :
					    sizeof(struct rds_sw_operands);
}

static bool rds_sw_fill_request(struct rds_message *frame,
				const struct rds_op *op)
{
	struct rds_sw_length *length = (void *)frame->m_payload.data;
	struct iov_iter from;

	if (op->op_kind == RDS_OP_READ) {
		length->len = cpu_to_be32(op->op_bytes);
		return true;
	}
	if (rds_op_is_atomic(op)) {
		rds_sw_operands_write((void *)frame->m_payload.data, op);
		return true;
	}
	iov_iter_bvec(&from, ITER_SOURCE, op->op_bvec, op->op_nr, op->op_bytes);
	return !rds_payload_copy_in(&frame->m_payload, &from);
}

/* An address that does not fit into a frame is replaced by U32_MAX. No region
 * extends that far, so the peer refuses it, too.
 */
static struct rds_message *rds_sw_new_request(const struct rds_message *msg)
{
	const struct rds_op *op = msg->m_op;
	const struct rds_sw_frame ext = {
		.sf_kind	= rds_sw_kind_of(op->op_kind),
		.sf_id		= lower_32_bits(msg->m_seq),
		.sf_key		= op->op_key,
		.sf_addr	= min_t(u64, op->op_addr, U32_MAX),
	};
	struct rds_message *frame;

	frame = rds_sw_new_frame(&ext, rds_sw_request_len(op));
	if (frame && !rds_sw_fill_request(frame, op)) {
		rds_message_put(frame);
		return NULL;
	}
	return frame;
}

static void rds_sw_count(struct rds_sw *so, const struct rds_op *op,
			 int by)
	__must_hold(&so->sw_lock)
{
	lockdep_assert_held(&so->sw_lock);
	so->sw_nr_ops += by;
	so->sw_nr_fetches += rds_op_is_fetch(op) ? by : 0;
	so->sw_nr_reads += op->op_kind == RDS_OP_READ ? by : 0;
}

static unsigned long rds_sw_limit(const struct rds_cpath *cp)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;

	return msecs_to_jiffies(READ_ONCE(ctl->op_timeout_ms));
}

static void rds_sw_request_add(struct rds_cpath *cp, struct rds_sw_request *sc,
			       struct rds_message *msg)
{
	struct rds_sw *so = &cp->cp_sw;
	bool first;

	sc->sr_id = lower_32_bits(msg->m_seq);
	sc->sr_msg = rds_message_get(msg);
	spin_lock_bh(&so->sw_lock);
	first = list_empty(&so->sw_ops);
	if (first)
		so->sw_since = jiffies;
	list_add_tail(&sc->sr_item, &so->sw_ops);
	rds_sw_count(so, msg->m_op, 1);
	spin_unlock_bh(&so->sw_lock);

	/* One timer is enough: each response kicks the path's work item, which
	 * then checks the next request.
	 */
	if (first)
		rds_cpath_kick(cp, rds_sw_limit(cp));
}

static void rds_sw_request_end(struct rds_sw_request *sc, int status)
{
	rds_op_done(sc->sr_msg, status);
	rds_message_put(sc->sr_msg);
	kfree(sc);
}

/* Check that one more request may be sent, and that the operations which it
 * must not overtake are done. The peer writes when a request arrives but reads
 * only when it responds. So a write could take effect before an earlier read.
 */
static bool rds_sw_has_room(struct rds_sw *so, const struct rds_op *op)
{
	bool room;

	spin_lock_bh(&so->sw_lock);
	room = so->sw_nr_ops < RDS_SW_DEPTH &&
	       !(op->op_fence && so->sw_nr_fetches) &&
	       !(op->op_kind != RDS_OP_READ && so->sw_nr_reads);
	spin_unlock_bh(&so->sw_lock);
	return room;
}

/* Check that the peer can do operations. Returns -EAGAIN if the peer has not
 * sent a handshake frame on this connection; the path checks again when the
 * frame arrives or the time is over.
 */
static int rds_sw_check_peer(struct rds_cpath *cp)
{
	long left;
	int ret;

	spin_lock_bh(&cp->cp_lock);
	left = rds_delay_left(cp->cp_dial.pd_since + RDS_SW_PATIENCE,
			      RDS_SW_PATIENCE);
	if (cp->cp_hs.ph_has_frame)
		ret = cp->cp_hs.ph_frame.sw_rdma ? 0 : -EOPNOTSUPP;
	else
		ret = left > 0 ? -EAGAIN : -EOPNOTSUPP;
	spin_unlock_bh(&cp->cp_lock);

	if (ret == -EAGAIN)
		rds_cpath_kick(cp, left);
	return ret;
}

/* The peer seemed able to do the operation when the message was queued, but it
 * is not.
 */
static int rds_sw_refuse(struct rds_message *msg)
{
	if (rds_op_begin(msg))
		rds_op_done(msg, RDS_RDMA_OTHER_ERROR);
	return -ECANCELED;
}

/* No message goes out until the peer has responded, or has sent its handshake
 * frame. Flush what the transport has batched: earlier frames must not wait for
 * that, least of all our own responses.
 */
static int rds_sw_wait(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	ret = ops->flush ? ops->flush(&cp->cp_pub) : 0;
	return ret ?: -EAGAIN;
}

/* The peer ignores requests until it has received a handshake frame on this
 * connection. Send one now, because the frame that is due may be queued behind
 * the message.
 */
static int rds_sw_send_handshake(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);
	set_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
	return rds_sw_wait(cp);
}

/* Returns 0 when the request is ready to be sent. */
static int rds_sw_begin(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_message *frame;
	struct rds_sw_request *sc;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	ret = rds_sw_check_peer(cp);
	if (ret)
		return ret == -EAGAIN ? rds_sw_wait(cp) :
					rds_sw_refuse(msg);
	if (!so->sw_handshake_sent)
		return rds_sw_send_handshake(cp);
	/* The next response kicks the path, which then checks again. */
	if (!rds_sw_has_room(so, msg->m_op))
		return rds_sw_wait(cp);

	sc = kmalloc(sizeof(*sc), GFP_NOFS);
	frame = sc ? rds_sw_new_request(msg) : NULL;
	if (!frame) {
		kfree(sc);
		return -ENOMEM;
	}
	if (!rds_op_begin(msg)) {
		rds_message_put(frame);
		kfree(sc);
		return -ECANCELED;
	}
	rds_sw_request_add(cp, sc, msg);
	so->sw_request = frame;
	return 0;
}

static int rds_sw_send_request(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	int ret = 0;

	lockdep_assert_held(&cp->cp_xmit_lock);
	if (!so->sw_request)
		ret = rds_sw_begin(cp, msg);
	if (!ret)
		ret = rds_sw_send(cp, &so->sw_request);
	if (!ret)
		so->sw_posted = msg->m_seq;
	return ret;
}

/* Check whether the request still has to be sent to the peer. */
static bool rds_sw_is_to_do(const struct rds_sw *so,
			    const struct rds_message *msg)
{
	return so->sw_posted != msg->m_seq && !rds_op_is_over(msg->m_op);
}

/* Check whether the message may go out before the response. If a message
 * follows a fetch, the data must have arrived first.
 */
static bool rds_sw_is_in_order(const struct rds_op *op)
{
	return op->op_bare || !rds_op_is_fetch(op);
}

/**
 * rds_sw_waits() - Check whether the message being sent waits for its operation
 * @cp: the path, of a transport without RDMA
 * @msg: the message, with an operation
 *
 * If it waits, neither its request nor the message itself is partly sent, and
 * other frames may be sent.
 *
 * Context: Process context. cp_xmit_lock is held.
 * Return: true if it waits.
 */
bool rds_sw_waits(struct rds_cpath *cp, const struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_sw *so = &cp->cp_sw;

	lockdep_assert_held(&cp->cp_xmit_lock);
	return !so->sw_request && so->sw_passed != msg->m_seq;
}

/**
 * rds_sw_xmit() - Do the operation of a message that is to be sent
 * @cp: the path, of a transport without RDMA
 * @msg: the message, with an operation
 *
 * Context: Process context. cp_xmit_lock is held.
 * Return: 0 if the message may be sent; -ECANCELED if the message is dropped
 * together with its operation; -EAGAIN if the message has to wait until the
 * path is kicked; otherwise as &rds_data_ops.xmit.
 */
int rds_sw_xmit(struct rds_cpath *cp, struct rds_message *msg)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	int ret = 0;

	lockdep_assert_held(&cp->cp_xmit_lock);

	/* A message that may be partly sent is sent to its end, whatever
	 * happens to the operation.
	 */
	if (so->sw_passed == msg->m_seq)
		return 0;
	if (so->sw_request || rds_sw_is_to_do(so, msg))
		ret = rds_cpath_can(cp, RDS_CAP_LOOPBACK) ?
		      rds_sw_do_here(cp, msg) : rds_sw_send_request(cp, msg);
	if (ret)
		return ret;
	/* The result is known only after the operation has ended. */
	if (!rds_op_is_over(msg->m_op)) {
		if (!rds_sw_is_in_order(msg->m_op))
			return rds_sw_wait(cp);
	} else if (rds_op_outlook(msg) == RDS_OP_GIVE_UP) {
		return -ECANCELED;
	}
	so->sw_passed = msg->m_seq;
	return 0;
}

static struct rds_sw_request *rds_sw_request_take(struct rds_sw *so, u32 id)
{
	struct rds_sw_request *sc, *found = NULL;

	spin_lock(&so->sw_lock);
	list_for_each_entry(sc, &so->sw_ops, sr_item) {
		if (sc->sr_id != id)
			continue;
		found = sc;
		/* A response to a later request does not restart the time limit
		 * for the first one.
		 */
		if (list_is_first(&sc->sr_item, &so->sw_ops))
			so->sw_since = jiffies;
		list_del(&sc->sr_item);
		rds_sw_count(so, sc->sr_msg->m_op, -1);
		break;
	}
	spin_unlock(&so->sw_lock);
	return found;
}

/* Store the result from the peer in the local memory of the operation. */
static bool rds_sw_take_result(const struct rds_op *op,
			       struct rds_incoming *inc)
{
	struct iov_iter to;
	__be64 old;

	if (inc->i_len != (rds_op_is_fetch(op) ? op->op_bytes : 0))
		return false;
	if (rds_op_is_atomic(op))
		return rds_sw_read_payload(inc, &old, sizeof(old)) &&
		       rds_sw_put_result(op, be64_to_cpu(old));
	iov_iter_bvec(&to, ITER_DEST, op->op_bvec, op->op_nr, op->op_bytes);
	return !inc->i_len || !inc->i_ops->copy(inc, 0, inc->i_len, &to);
}

/* Returns 0; -EPROTO if the response matches no request, or if its payload does
 * not fit.
 */
static int rds_sw_completed(struct rds_cpath *cp, struct rds_incoming *inc,
			    const struct rds_sw_frame *ext)
{
	struct rds_sw_request *sc = rds_sw_request_take(&cp->cp_sw,
							ext->sf_id);
	int status = RDS_RDMA_REMOTE_ERROR;
	bool sane = true;

	if (!sc)
		return -EPROTO;
	if (ext->sf_status == RDS_SW_OK) {
		sane = rds_sw_take_result(sc->sr_msg->m_op, inc);
		status = sane ? RDS_RDMA_SUCCESS : RDS_RDMA_OTHER_ERROR;
	}
	rds_sw_request_end(sc, status);
	rds_send_ack_again(cp);
	rds_cpath_kick(cp, 0);
	return sane ? 0 : -EPROTO;
}

/**
 * rds_sw_receive() - Process a software RDMA frame
 * @cp: the path that it arrived on; the peer has advertised software RDMA
 * @inc: the frame; the caller keeps its reference
 * @ext: contents of its extension header
 *
 * If the frame breaks the protocol, or there is no memory to process it, drop
 * the connection. The peer then treats its operations as dropped.
 *
 * Context: Deliver context, serial per path.
 */
void rds_sw_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		    const struct rds_sw_frame *ext)
{
	int ret;

	if (ext->sf_kind == RDS_SW_RESPONSE)
		ret = rds_sw_completed(cp, inc, ext);
	else
		ret = rds_sw_requested(cp, inc, ext);
	if (ret)
		rds_path_drop(&cp->cp_pub, ret == -ENOMEM ?
			      RDS_DROP_NO_MEMORY : RDS_DROP_PROTOCOL);
}

/**
 * rds_sw_unpause() - Let the clock of the time limit for responses go on
 * @cp: the path, which is read again
 *
 * The pause is added to the time that the peer has. It does not get all of the
 * time again: it may be able to cause one pause after the other.
 *
 * Context: Process context, the path's work item. Takes sw_lock.
 */
void rds_sw_unpause(struct rds_cpath *cp)
{
	struct rds_sw *so = &cp->cp_sw;

	spin_lock_bh(&so->sw_lock);
	/* A delivery that goes on may have stopped the path just now. */
	if (test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) ||
	    !test_and_clear_bit(RDS_PF_RX_PAUSED, &cp->cp_flags))
		goto out;
	so->sw_since += jiffies - so->sw_paused_at;
	/* A request may have been sent in the pause. */
	if (time_after(so->sw_since, jiffies))
		so->sw_since = jiffies;
out:
	spin_unlock_bh(&so->sw_lock);
}

/**
 * rds_sw_watch() - Drop the connection if the peer does not respond in time
 * @cp: the path
 *
 * A device drops its connection in the same case. While this host does not read
 * the path, the time does not run.
 *
 * Context: Process context, the path's work item. Takes sw_lock, cp_lock.
 * Return: jiffies until the next check is due, at once if not positive;
 * LONG_MAX if no check is due before the next kick.
 */
long rds_sw_watch(struct rds_cpath *cp)
{
	struct rds_sw *so = &cp->cp_sw;
	long left = LONG_MAX;

	if (test_bit(RDS_PF_RX_PAUSED, &cp->cp_flags) ||
	    test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags))
		return LONG_MAX;

	spin_lock_bh(&so->sw_lock);
	if (so->sw_nr_ops)
		left = (long)(so->sw_since + rds_sw_limit(cp) - jiffies);
	spin_unlock_bh(&so->sw_lock);
	if (left > 0)
		return left;

	rds_path_drop(&cp->cp_pub, RDS_DROP_TIMEOUT);
	return LONG_MAX;
}

/**
 * rds_sw_reset() - Discard the software RDMA state of a lost connection
 * @cp: the path; its transport is shut down
 *
 * Context: Process context. cp_xmit_lock is held. Takes sw_lock, cp_lock,
 * rs_lock.
 */
void rds_sw_reset(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_sw_request *sc, *next;
	LIST_HEAD(ops);

	lockdep_assert_held(&cp->cp_xmit_lock);

	rds_sw_responses_drop(cp);
	if (so->sw_request)
		rds_message_put(so->sw_request);
	so->sw_request = NULL;
	so->sw_handshake_sent = false;
	so->sw_posted = 0;
	so->sw_passed = 0;

	spin_lock_bh(&so->sw_lock);
	list_splice_init(&so->sw_ops, &ops);
	so->sw_nr_ops = 0;
	so->sw_nr_fetches = 0;
	so->sw_nr_reads = 0;
	spin_unlock_bh(&so->sw_lock);

	list_for_each_entry_safe(sc, next, &ops, sr_item)
		rds_sw_request_end(sc, RDS_RDMA_DROPPED);
}
