// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA: requests from peers. See sw_request.c for the other end.
 *
 * A struct rds_sw_response is a request of the peer that we have not answered.
 * Writes and atomic operations are done when they arrive, and only the response
 * remains to be sent. A read is done when its response is built, one at a time.
 * So a peer can never make us hold more than one payload that was read.
 *
 * If a peer has more than RDS_SW_RESPONSES unanswered requests, because it does
 * not take the responses, it breaks the protocol, and the connection is
 * dropped. The same happens if a response of the peer matches no request of
 * ours. Responses are sent ahead of messages, but take turns with them.
 *
 * Nothing that a peer sends is trusted. The key of a request gives access only
 * as far as sw_mr.c allows.
 */
#include <linux/slab.h>
#include <linux/uio.h>

#include "compat.h"
#include "conn.h"
#include "message.h"
#include "payload.h"
#include "sw_frame.h"
#include "sw_mr.h"
#include "sw_request.h"
#include "sw_response.h"

/* Limit of a peer's unanswered requests. A peer that runs this implementation
 * stays below it.
 */
#define RDS_SW_RESPONSES		(4 * RDS_SW_DEPTH)

/* Responses to send in a row while messages wait */
#define RDS_SW_TURN		4

/**
 * struct rds_sw_response - a request of the peer that we have not answered
 * @sp_item: on &rds_sw.sw_responses
 * @sp_frame: header of the request; sf_status is set for the response
 * @sp_bytes: number of bytes to read, if it is a read
 * @sp_old: value before an atomic operation
 */
struct rds_sw_response {
	struct list_head	sp_item;
	struct rds_sw_frame	sp_frame;
	u32			sp_bytes;
	u64			sp_old;
};

static struct rds_sw_mr *rds_sw_find(struct rds_cpath *cp,
				     const struct rds_sw_frame *ext)
{
	struct rds_path *path = &cp->cp_pub;

	return rds_sw_mr_get(cp->cp_conn->c_rn, ext->sf_key, &path->laddr,
			     path->ifindex);
}

/* Write the payload of the request, if that is allowed. */
static bool rds_sw_write(struct rds_cpath *cp, struct rds_incoming *inc,
			 const struct rds_sw_frame *ext)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, ext);
	struct iov_iter to;
	bool done;

	if (!sm)
		return false;
	done = inc->i_len &&
	       rds_sw_mr_view(sm, true, ext->sf_addr, inc->i_len, &to) &&
	       !inc->i_ops->copy(inc, 0, inc->i_len, &to);
	rds_sw_mr_put(sm);
	return done;
}

static bool rds_sw_do_atomic(struct rds_cpath *cp,
			     const struct rds_sw_operands *operands,
			     struct rds_sw_response *job)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sp_frame);
	struct rds_op op = {
		.op_kind	= rds_sw_op_of(job->sp_frame.sf_kind),
		.op_addr	= job->sp_frame.sf_addr,
	};
	bool done;

	if (!sm)
		return false;
	rds_sw_operands_read(operands, &op);
	done = rds_sw_mr_atomic(sm, &op, &job->sp_old);
	rds_sw_mr_put(sm);
	return done;
}

/* If a write fails, the message that follows it must not be delivered. */
static void rds_sw_failed(struct rds_cpath *cp,
			  const struct rds_sw_frame *ext)
{
	if (ext->sf_kind == RDS_SW_WRITE)
		cp->cp_sw.sw_failed = ext->sf_id | BIT_ULL(32);
}

/* Do the part of a request that can be done now. Returns false if the request
 * is malformed.
 */
static bool rds_sw_do_response(struct rds_cpath *cp, struct rds_incoming *inc,
			       struct rds_sw_response *job)
{
	struct rds_sw_frame *ext = &job->sp_frame;
	struct rds_sw_operands operands;
	struct rds_sw_length length;
	bool done = true;

	switch (ext->sf_kind) {
	case RDS_SW_WRITE:
		done = rds_sw_write(cp, inc, ext);
		if (!done)
			rds_sw_failed(cp, ext);
		break;
	case RDS_SW_READ:
		if (!rds_sw_read_payload(inc, &length, sizeof(length)))
			return false;
		job->sp_bytes = be32_to_cpu(length.len);
		if (!job->sp_bytes || job->sp_bytes > RDS_MAX_MSG_SIZE)
			return false;
		break;
	default:
		if (!rds_sw_read_payload(inc, &operands, sizeof(operands)))
			return false;
		done = rds_sw_do_atomic(cp, &operands, job);
	}
	ext->sf_status = done ? RDS_SW_OK : RDS_SW_REFUSED;
	return true;
}

static bool rds_sw_response_add(struct rds_sw *so, struct rds_sw_response *job)
{
	bool room;

	spin_lock(&so->sw_lock);
	room = so->sw_nr_responses < RDS_SW_RESPONSES;
	if (room) {
		list_add_tail(&job->sp_item, &so->sw_responses);
		so->sw_nr_responses++;
	}
	spin_unlock(&so->sw_lock);
	return room;
}

/**
 * rds_sw_requested() - Process a request of the peer
 * @cp: the path
 * @inc: the request; the caller keeps its reference
 * @ext: contents of its extension header
 *
 * Context: Deliver context, serial per path. Takes sw_lock.
 * Return: 0; -EPROTO if the request is malformed, or if the peer has too many
 * unanswered requests; -ENOMEM.
 */
int rds_sw_requested(struct rds_cpath *cp, struct rds_incoming *inc,
		     const struct rds_sw_frame *ext)
{
	struct rds_sw_response *job;

	job = kzalloc(sizeof(*job), GFP_ATOMIC | __GFP_NOWARN);
	if (!job) {
		/* The caller drops the connection, but data that TCP has
		 * acknowledged is still delivered.
		 */
		rds_sw_failed(cp, ext);
		return -ENOMEM;
	}
	job->sp_frame = *ext;
	if (!rds_sw_do_response(cp, inc, job) ||
	    !rds_sw_response_add(&cp->cp_sw, job)) {
		kfree(job);
		return -EPROTO;
	}
	set_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
	return 0;
}

/**
 * rds_sw_bars() - Check whether a failed write bars a message from delivery
 * @cp: the path that it arrived on; sw_failed is set
 * @inc: the message, not a duplicate
 *
 * Clears sw_failed.
 *
 * Context: Deliver context, serial per path.
 * Return: true if the write that precedes @inc failed, so that @inc must not be
 * delivered.
 */
bool rds_sw_bars(struct rds_cpath *cp, const struct rds_incoming *inc)
{
	struct rds_sw *so = &cp->cp_sw;
	bool bars;

	bars = lower_32_bits(so->sw_failed) == lower_32_bits(inc->i_seq);
	so->sw_failed = 0;
	return bars;
}

static struct rds_sw_response *rds_sw_response_first(struct rds_sw *so)
{
	struct rds_sw_response *job;

	spin_lock_bh(&so->sw_lock);
	job = list_first_entry_or_null(&so->sw_responses,
				       struct rds_sw_response,
				       sp_item);
	spin_unlock_bh(&so->sw_lock);
	return job;
}

static void rds_sw_response_end(struct rds_sw *so, struct rds_sw_response *job)
{
	spin_lock_bh(&so->sw_lock);
	list_del(&job->sp_item);
	so->sw_nr_responses--;
	spin_unlock_bh(&so->sw_lock);
	kfree(job);
}

/* Read the requested data into a response, if that is allowed. */
static bool rds_sw_fill_response(struct rds_cpath *cp,
				 const struct rds_sw_response *job,
				 struct rds_message *frame)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sp_frame);
	struct iov_iter from;
	bool done;

	if (!sm)
		return false;
	done = rds_sw_mr_view(sm, false, job->sp_frame.sf_addr, job->sp_bytes,
			      &from) &&
	       !rds_payload_copy_in(&frame->m_payload, &from);
	rds_sw_mr_put(sm);
	return done;
}

/* Check that a read is allowed before memory is allocated for the response. The
 * reference to the region is put in between, so that mr_unmap() does not wait
 * for the allocation. rds_sw_fill_response() therefore checks again.
 */
static bool rds_sw_may_read(struct rds_cpath *cp,
			    const struct rds_sw_response *job)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sp_frame);
	struct iov_iter from;
	bool may;

	if (!sm)
		return false;
	may = rds_sw_mr_view(sm, false, job->sp_frame.sf_addr, job->sp_bytes,
			     &from);
	rds_sw_mr_put(sm);
	return may;
}

/* Returns NULL if there is no memory. */
static struct rds_message *rds_sw_read(struct rds_cpath *cp,
				       const struct rds_sw_response *job,
				       struct rds_sw_frame *ext)
{
	struct rds_message *frame;

	if (rds_sw_may_read(cp, job)) {
		frame = rds_sw_new_frame(ext, job->sp_bytes);
		if (!frame || rds_sw_fill_response(cp, job, frame))
			return frame;
		rds_message_put(frame);
	}
	ext->sf_status = RDS_SW_REFUSED;
	return rds_sw_new_frame(ext, 0);
}

static struct rds_message *
rds_sw_new_response(struct rds_cpath *cp, const struct rds_sw_response *job)
{
	struct rds_sw_frame ext = {
		.sf_kind	= RDS_SW_RESPONSE,
		.sf_status	= job->sp_frame.sf_status,
		.sf_id		= job->sp_frame.sf_id,
	};
	struct rds_message *frame;
	bool brings;

	if (job->sp_frame.sf_kind == RDS_SW_READ)
		return rds_sw_read(cp, job, &ext);
	brings = job->sp_frame.sf_kind != RDS_SW_WRITE &&
		 ext.sf_status == RDS_SW_OK;
	frame = rds_sw_new_frame(&ext, brings ? sizeof(__be64) : 0);
	if (frame && brings)
		put_unaligned_be64(job->sp_old, frame->m_payload.data);
	return frame;
}

/* Check whether enough responses have been sent in a row. Even if no message
 * waits there is a limit, because a peer may go on sending requests.
 */
static bool rds_sw_turn_ends(struct rds_cpath *cp)
{
	unsigned int sent = cp->cp_sw.sw_in_turn;

	if (sent < RDS_SW_TURN)
		return false;
	return sent >= RDS_SW_RESPONSES || cp->cp_tx.pt_msg ||
	       !list_empty(&cp->cp_tx.pt_queue);
}

/**
 * rds_sw_go_on() - Continue to send the current response
 * @cp: the path; sw_response is set
 *
 * Context: Process context. cp_xmit_lock is held.
 * Return: 0 when the response is sent; otherwise as &rds_data_ops.xmit.
 */
int rds_sw_go_on(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	ret = rds_sw_send(cp, &cp->cp_sw.sw_response);
	if (!ret)
		cp->cp_sw.sw_in_turn++;
	return ret;
}

/* Returns 0 if no response is left; -EBUSY if other frames should have a turn;
 * or another errno.
 */
static int rds_sw_respond_some(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_sw_response *job;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	while (!rds_sw_turn_ends(cp)) {
		if (rds_cpath_state(cp) != RDS_PATH_UP)
			return -ENOTCONN;
		if (!so->sw_response) {
			job = rds_sw_response_first(so);
			if (!job)
				return 0;
			so->sw_response = rds_sw_new_response(cp, job);
			if (!so->sw_response)
				return -ENOMEM;
			rds_sw_response_end(so, job);
		}
		ret = rds_sw_go_on(cp);
		if (ret)
			return ret;
	}
	return -EBUSY;
}

/**
 * rds_sw_respond() - Send responses to the peer's requests
 * @cp: the path
 *
 * Context: Process context. cp_xmit_lock is held, and no other frame is partly
 * sent.
 * Return: 0 if no response is left, or if other frames may be sent first;
 * otherwise as &rds_data_ops.xmit.
 */
int rds_sw_respond(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	so->sw_yields = false;
	if (likely(!test_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags)))
		return 0;
	clear_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	/* A response added to the list from here on sets the flag again. */
	smp_mb__after_atomic();
	ret = rds_sw_respond_some(cp);
	if (ret)
		set_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	if (!ret || ret == -EBUSY)
		so->sw_in_turn = 0;
	if (ret == -EBUSY) {
		so->sw_yields = true;
		rds_cpath_kick(cp, 0);
		ret = 0;
	}
	return ret;
}

/**
 * rds_sw_responses_drop() - Discard all responses of a lost connection
 * @cp: the path; its transport is shut down
 *
 * Context: Process context. cp_xmit_lock is held. Takes sw_lock.
 */
void rds_sw_responses_drop(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_sw_response *job, *next;
	LIST_HEAD(asked);

	lockdep_assert_held(&cp->cp_xmit_lock);

	clear_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	if (so->sw_response)
		rds_message_put(so->sw_response);
	so->sw_response = NULL;
	so->sw_in_turn = 0;
	so->sw_failed = 0;

	spin_lock_bh(&so->sw_lock);
	list_splice_init(&so->sw_responses, &asked);
	so->sw_nr_responses = 0;
	spin_unlock_bh(&so->sw_lock);

	list_for_each_entry_safe(job, next, &asked, sp_item)
		kfree(job);
}
