// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA in software: what peers ask for; see sw_request.c.
 *
 * A job is what the peer has asked for. Writes and atomics are done as they
 * arrive, and only have to be answered; reads are done when the answer is
 * made, one at a time, so a peer cannot have us hold more than one of those.
 * Who asks for more than RDS_SW_RESPONSES without taking the answers breaks the
 * protocol, and loses the connection, as does who answers what was not asked.
 * Answers go before messages, but take turns with them.
 *
 * Nothing of what a peer says is believed but the key, and that only as far as
 * sw_mr.c allows.
 */
#include <linux/slab.h>
#include <linux/uio.h>

#include "payload.h"
#include "compat.h"
#include "conn.h"
#include "message.h"
#include "sw_frame.h"
#include "sw_response.h"
#include "sw_mr.h"
#include "sw_request.h"

/* What a peer may ask for and not be answered; more than it asks for */
#define RDS_SW_RESPONSES		(4 * RDS_SW_DEPTH)

/* Answers to be sent in turn when messages wait */
#define RDS_SW_TURN		4

/**
 * struct rds_sw_response - an operation that the peer has asked for
 * @sj_item: on &rds_sw.so_responses
 * @sj_frame: what it has asked for; then, the answer
 * @sj_bytes: how much is to be read
 * @sj_old: what an atomic operation has found
 */
struct rds_sw_response {
	struct list_head	sj_item;
	struct rds_sw_frame	sj_frame;
	u32			sj_bytes;
	u64			sj_old;
};

static struct rds_sw_mr *rds_sw_find(struct rds_cpath *cp,
				     const struct rds_sw_frame *says)
{
	struct rds_path *path = &cp->cp_pub;

	return rds_sw_mr_get(cp->cp_conn->c_rn, says->sf_key, &path->laddr,
			     path->ifindex);
}

/* Write what the peer has sent, if it may. */
static bool rds_sw_write(struct rds_cpath *cp, struct rds_incoming *inc,
			 const struct rds_sw_frame *says)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, says);
	struct iov_iter to;
	bool done;

	if (!sm)
		return false;
	done = inc->i_len &&
	       rds_sw_mr_view(sm, true, says->sf_addr, inc->i_len, &to) &&
	       !inc->i_ops->copy(inc, inc->i_len, &to);
	rds_sw_mr_put(sm);
	return done;
}

static bool rds_sw_do_atomic(struct rds_cpath *cp,
			     const struct rds_sw_operands *operands,
			     struct rds_sw_response *job)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sj_frame);
	struct rds_op op = {
		.op_kind	= rds_sw_op_of(job->sj_frame.sf_kind),
		.op_addr	= job->sj_frame.sf_addr,
	};
	bool done;

	if (!sm)
		return false;
	rds_sw_operands_read(operands, &op);
	done = rds_sw_mr_atomic(sm, &op, &job->sj_old);
	rds_sw_mr_put(sm);
	return done;
}

/* What follows a write that was not done is not to be delivered. */
static void rds_sw_failed(struct rds_cpath *cp,
			  const struct rds_sw_frame *says)
{
	if (says->sf_kind == RDS_SW_WRITE)
		cp->cp_sw.so_failed = says->sf_id | BIT_ULL(32);
}

/* Do what can be done at once. Returns false if it makes no sense. */
static bool rds_sw_do_response(struct rds_cpath *cp, struct rds_incoming *inc,
			       struct rds_sw_response *job)
{
	struct rds_sw_frame *says = &job->sj_frame;
	struct rds_sw_operands operands;
	struct rds_sw_length length;
	bool done = true;

	switch (says->sf_kind) {
	case RDS_SW_WRITE:
		done = rds_sw_write(cp, inc, says);
		if (!done)
			rds_sw_failed(cp, says);
		break;
	case RDS_SW_READ:
		if (!rds_sw_read_payload(inc, &length, sizeof(length)))
			return false;
		job->sj_bytes = be32_to_cpu(length.len);
		if (!job->sj_bytes || job->sj_bytes > RDS_MAX_MSG_SIZE)
			return false;
		break;
	default:
		if (!rds_sw_read_payload(inc, &operands, sizeof(operands)))
			return false;
		done = rds_sw_do_atomic(cp, &operands, job);
	}
	says->sf_status = done ? RDS_SW_OK : RDS_SW_REFUSED;
	return true;
}

static bool rds_sw_response_add(struct rds_sw *so, struct rds_sw_response *job)
{
	bool room;

	spin_lock(&so->so_lock);
	room = so->so_nr_responses < RDS_SW_RESPONSES;
	if (room) {
		list_add_tail(&job->sj_item, &so->so_responses);
		so->so_nr_responses++;
	}
	spin_unlock(&so->so_lock);
	return room;
}

/**
 * rds_sw_requested() - the peer asks for an operation
 * @cp: the path
 * @inc: its request; stays the caller's
 * @says: what the header of that says
 *
 * Context: deliver context, serial per path. Takes so_lock.
 * Return: 0; -EPROTO if it makes no sense, or is too much; -ENOMEM.
 */
int rds_sw_requested(struct rds_cpath *cp, struct rds_incoming *inc,
		     const struct rds_sw_frame *says)
{
	struct rds_sw_response *job;

	job = kzalloc(sizeof(*job), GFP_ATOMIC | __GFP_NOWARN);
	if (!job) {
		/* What TCP has acknowledged is still delivered. */
		rds_sw_failed(cp, says);
		return -ENOMEM;
	}
	job->sj_frame = *says;
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
 * rds_sw_bars() - is a message not to be delivered?
 * @cp: the path that it came by, with so_failed
 * @inc: the message, no duplicate
 *
 * Context: deliver context, serial per path.
 * Return: true if what was to be written before it could not be.
 */
bool rds_sw_bars(struct rds_cpath *cp, const struct rds_incoming *inc)
{
	struct rds_sw *so = &cp->cp_sw;
	bool bars;

	bars = lower_32_bits(so->so_failed) == lower_32_bits(inc->i_seq);
	so->so_failed = 0;
	return bars;
}

static struct rds_sw_response *rds_sw_response_first(struct rds_sw *so)
{
	struct rds_sw_response *job;

	spin_lock_bh(&so->so_lock);
	job = list_first_entry_or_null(&so->so_responses,
				       struct rds_sw_response,
				       sj_item);
	spin_unlock_bh(&so->so_lock);
	return job;
}

static void rds_sw_response_end(struct rds_sw *so, struct rds_sw_response *job)
{
	spin_lock_bh(&so->so_lock);
	list_del(&job->sj_item);
	so->so_nr_responses--;
	spin_unlock_bh(&so->so_lock);
	kfree(job);
}

/* Read what the peer has asked for into an answer, if it may. */
static bool rds_sw_fill_response(struct rds_cpath *cp,
				 const struct rds_sw_response *job,
				 struct rds_message *frame)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sj_frame);
	struct iov_iter from;
	bool done;

	if (!sm)
		return false;
	done = rds_sw_mr_view(sm, false, job->sj_frame.sf_addr, job->sj_bytes,
			      &from) &&
	       !rds_payload_copy_in(&frame->m_payload, &from);
	rds_sw_mr_put(sm);
	return done;
}

/* Is there anything to be read? Whether there still is when there is memory for
 * the answer is another question: a region that ends does not wait for that.
 */
static bool rds_sw_may_read(struct rds_cpath *cp,
			    const struct rds_sw_response *job)
{
	struct rds_sw_mr *sm = rds_sw_find(cp, &job->sj_frame);
	struct iov_iter from;
	bool may;

	if (!sm)
		return false;
	may = rds_sw_mr_view(sm, false, job->sj_frame.sf_addr, job->sj_bytes,
			     &from);
	rds_sw_mr_put(sm);
	return may;
}

/* Returns NULL without memory. */
static struct rds_message *rds_sw_read(struct rds_cpath *cp,
				       const struct rds_sw_response *job,
				       struct rds_sw_frame *says)
{
	struct rds_message *frame;

	if (rds_sw_may_read(cp, job)) {
		frame = rds_sw_new_frame(says, job->sj_bytes);
		if (!frame || rds_sw_fill_response(cp, job, frame))
			return frame;
		rds_message_put(frame);
	}
	says->sf_status = RDS_SW_REFUSED;
	return rds_sw_new_frame(says, 0);
}

static struct rds_message *
rds_sw_new_response(struct rds_cpath *cp, const struct rds_sw_response *job)
{
	struct rds_sw_frame says = {
		.sf_kind	= RDS_SW_RESPONSE,
		.sf_status	= job->sj_frame.sf_status,
		.sf_id		= job->sj_frame.sf_id,
	};
	struct rds_message *frame;
	bool brings;

	if (job->sj_frame.sf_kind == RDS_SW_READ)
		return rds_sw_read(cp, job, &says);
	brings = job->sj_frame.sf_kind != RDS_SW_WRITE &&
		 says.sf_status == RDS_SW_OK;
	frame = rds_sw_new_frame(&says, brings ? sizeof(__be64) : 0);
	if (frame && brings)
		put_unaligned_be64(job->sj_old, frame->m_payload.data);
	return frame;
}

/* Has it been our turn for long enough? A peer may go on asking. */
static bool rds_sw_turn_ends(struct rds_cpath *cp)
{
	unsigned int sent = cp->cp_sw.so_in_turn;

	if (sent < RDS_SW_TURN)
		return false;
	return sent >= RDS_SW_RESPONSES || cp->cp_xmit_msg ||
	       !list_empty_careful(&cp->cp_send_queue);
}

/**
 * rds_sw_go_on() - go on with an answer that was begun
 * @cp: the path, with one
 *
 * Context: process; cp_xmit_lock is held.
 * Return: 0 when it is sent; otherwise as &rds_data_ops.xmit.
 */
int rds_sw_go_on(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret = rds_sw_send(cp, &cp->cp_sw.so_response);

	if (!ret)
		cp->cp_sw.so_in_turn++;
	return ret;
}

/* Returns -EBUSY when others should have a turn. */
static int rds_sw_respond_some(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_sw_response *job;
	int ret;

	while (!rds_sw_turn_ends(cp)) {
		if (rds_cpath_state(cp) != RDS_PATH_UP)
			return -ENOTCONN;
		if (!so->so_response) {
			job = rds_sw_response_first(so);
			if (!job)
				return 0;
			so->so_response = rds_sw_new_response(cp, job);
			if (!so->so_response)
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
 * rds_sw_respond() - answer what the peer has asked for
 * @cp: the path
 *
 * Context: process; cp_xmit_lock is held, and nothing else is being sent.
 * Return: 0 if nothing is left, or other frames may be sent before; otherwise
 * as &rds_data_ops.xmit.
 */
int rds_sw_respond(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	so->so_yields = false;
	if (likely(!test_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags)))
		return 0;
	clear_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	/* What is added to the list from here on sets it again. */
	smp_mb__after_atomic();
	ret = rds_sw_respond_some(cp);
	if (ret)
		set_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	if (!ret || ret == -EBUSY)
		so->so_in_turn = 0;
	if (ret == -EBUSY) {
		so->so_yields = true;
		rds_cpath_kick(cp, 0);
		ret = 0;
	}
	return ret;
}

/**
 * rds_sw_responses_drop() - the connection is gone, and nobody waits for
 * answers
 * @cp: the path; its transport is shut down
 *
 * Context: process; cp_xmit_lock is held. Takes so_lock.
 */
void rds_sw_responses_drop(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_sw *so = &cp->cp_sw;
	struct rds_sw_response *job, *next;
	LIST_HEAD(asked);

	lockdep_assert_held(&cp->cp_xmit_lock);

	clear_bit(RDS_PF_SW_RESPONSE, &cp->cp_flags);
	if (so->so_response)
		rds_message_put(so->so_response);
	so->so_response = NULL;
	so->so_in_turn = 0;
	so->so_failed = 0;

	spin_lock_bh(&so->so_lock);
	list_splice_init(&so->so_responses, &asked);
	so->so_nr_responses = 0;
	spin_unlock_bh(&so->so_lock);

	list_for_each_entry_safe(job, next, &asked, sj_item)
		kfree(job);
}
