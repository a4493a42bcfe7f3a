// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the memory of peers: RDMA reads and writes, and atomics.
 *
 * An operation is part of a message, and goes before it on the path. It pins
 * local memory. The memory is released with the last reference to the message,
 * or earlier by the context that does the operation. The transport holds a
 * reference to the message for as long as the device may access the memory.
 *
 *	sendmsg()	transport		core
 *	  NEW --------> BEGUN ----------------> ENDING -----> DONE
 *	   \            rds_op_begin()  rds_op_done(), or the path was shut down
 *	    `---------------------------------> ENDING -----> DONE
 *			the message is dropped or canceled before
 *
 * An operation is never done twice. If the connection is lost while an
 * operation has begun but is not known to be done, its message is not sent
 * again, and the operation ends as DROPPED. If the operation is done, the
 * message is sent again without it.
 *
 * User space is notified of an operation at most once. The context that takes
 * the reference to the socket from uo_rs decides about the notification. That
 * context posts it when the operation ends, but not when the socket is closed
 * or sendmsg() fails after all.
 */
#include <linux/bvec.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "conn.h"
#include "mr.h"
#include "notify.h"
#include "op.h"
#include "pin.h"
#include "send.h"
#include "sw_mr.h"

enum rds_op_state {
	RDS_OP_NEW,
	RDS_OP_BEGUN,
	RDS_OP_ENDING,
	RDS_OP_DONE,
};

/**
 * struct rds_user_op - an operation, with the data private to core
 * @uo_op: the part that the transport sees
 * @uo_state: a value of enum rds_op_state
 * @uo_status: the result, once the operation is done
 * @uo_rs: the socket to notify, with a reference; NULL once it is decided
 *	whether to notify it
 * @uo_note: the notification to post; NULL if there is none to post
 * @uo_always: notify the socket of success, too
 * @uo_work: releases the memory
 * @uo_pin: the local memory
 */
struct rds_user_op {
	struct rds_op		uo_op;
	int			uo_state;
	int			uo_status;
	struct rds_sock		*uo_rs;
	struct rds_note		*uo_note;
	bool			uo_always;
	struct work_struct	uo_work;
	struct rds_pin		uo_pin;
};

static struct rds_user_op *to_user_op(const struct rds_op *op)
{
	return container_of(op, struct rds_user_op, uo_op);
}

static void rds_op_free_work(struct work_struct *work)
{
	struct rds_user_op *uo = container_of(work, struct rds_user_op,
					      uo_work);

	rds_pin_release(&uo->uo_pin);
	kvfree(uo);
}

/* Allocate an operation with room for this many pages, and as many pieces. */
static struct rds_user_op *rds_op_alloc(unsigned int pages)
{
	size_t each = sizeof(struct page *) + sizeof(struct bio_vec);
	struct rds_user_op *uo;

	uo = kvzalloc(size_add(sizeof(*uo), size_mul(pages, each)),
		      GFP_KERNEL_ACCOUNT);
	if (!uo)
		return NULL;
	INIT_WORK(&uo->uo_work, rds_op_free_work);
	uo->uo_op.op_bvec = (void *)(uo + 1);
	uo->uo_pin.pn_pages = (void *)(uo->uo_op.op_bvec + pages);
	return uo;
}

/* Attach an operation to a message, and set up the notification. Without a note
 * the socket is never notified. Takes over the operation, also on failure.
 */
static int rds_op_attach(struct rds_user_op *uo, struct rds_sock *rs,
			 struct rds_message *msg, u64 flags, u64 token)
{
	uo->uo_always = flags & RDS_RDMA_NOTIFY_ME;
	if (uo->uo_always || READ_ONCE(rs->rs_recverr)) {
		uo->uo_note = rds_note_alloc(rs, token);
		if (!uo->uo_note) {
			rds_op_free(&uo->uo_op);
			return -ENOMEM;
		}
	}
	sock_hold(&rs->rs_sk);
	uo->uo_rs = rs;
	msg->m_op = &uo->uo_op;
	return 0;
}

/* The context that gets the socket posts the note, if there is one to post. */
static void rds_op_notify(struct rds_user_op *uo, bool post, int status)
{
	struct rds_sock *rs = xchg(&uo->uo_rs, NULL);

	if (!rs)
		return;
	if (post && uo->uo_note)
		rds_note_post(rs, uo->uo_note, status);
	else
		rds_note_free(rs, uo->uo_note);
	sock_put(&rs->rs_sk);
}

/* Some hosts cannot map a larger piece for a device. */
#define RDS_OP_PIECE_MAX	65536U

/* Merge pages that are physically contiguous into one piece. */
static void rds_op_add_piece(struct rds_op *op, struct page *page, u32 off,
			     u32 len)
{
	struct bio_vec *bv = &op->op_bvec[op->op_nr];

	if (op->op_nr) {
		bv--;
		if (!off && bv->bv_len + len <= RDS_OP_PIECE_MAX &&
		    IS_ALIGNED(bv->bv_offset + bv->bv_len, PAGE_SIZE) &&
		    page_to_pfn(page) == page_to_pfn(bv->bv_page) +
		    ((bv->bv_offset + bv->bv_len) >> PAGE_SHIFT)) {
			bv->bv_len += len;
			return;
		}
		bv++;
	}
	bv->bv_page = page;
	bv->bv_len = len;
	bv->bv_offset = off;
	op->op_nr++;
}

/* The pages already count against the limit of locked memory. */
static int rds_op_add_stretch(struct rds_user_op *uo,
			      const struct rds_iovec *vec)
{
	unsigned int nr = uo->uo_pin.pn_nr;
	u32 off = offset_in_page(vec->addr);
	u64 left = vec->bytes;
	u32 len;
	int ret;

	ret = rds_pin_add(&uo->uo_pin, vec->addr,
			  rds_pin_count(vec->addr, vec->bytes));
	if (ret)
		return ret;
	for (; nr < uo->uo_pin.pn_nr; nr++) {
		len = min_t(u64, left, PAGE_SIZE - off);
		rds_op_add_piece(&uo->uo_op, uo->uo_pin.pn_pages[nr], off, len);
		left -= len;
		off = 0;
	}
	uo->uo_op.op_bytes += vec->bytes;
	return 0;
}

/* Returns the number of pages that the pieces span, or an errno if the pieces
 * are invalid.
 */
static int rds_op_measure(const struct rds_iovec *vec, unsigned int nr,
			  u64 room)
{
	int pages, sum = 0;
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		pages = rds_pin_count(vec[i].addr, vec[i].bytes);
		if (pages < 0)
			return pages;
		if (vec[i].bytes > RDS_MAX_MSG_SIZE - bytes)
			return -EMSGSIZE;
		bytes += vec[i].bytes;
		sum += pages;
	}
	return bytes && bytes <= room ? sum : -EINVAL;
}

static struct rds_user_op *rds_op_build(const struct rds_iovec *vec,
					unsigned int nr, bool writable,
					u64 room)
{
	struct rds_user_op *uo;
	unsigned int i;
	int pages, ret;

	pages = rds_op_measure(vec, nr, room);
	if (pages < 0)
		return ERR_PTR(pages);
	uo = rds_op_alloc(pages);
	if (!uo)
		return ERR_PTR(-ENOMEM);

	uo->uo_pin.pn_writable = writable;
	ret = rds_pin_account(&uo->uo_pin, pages);
	for (i = 0; i < nr && !ret; i++)
		ret = rds_op_add_stretch(uo, &vec[i]);
	if (!ret)
		return uo;
	rds_op_free(&uo->uo_op);
	return ERR_PTR(ret);
}

static void rds_op_set_target(struct rds_op *op, rds_rdma_cookie_t cookie,
			      u64 addr, u64 flags,
			      const struct rds_message *msg)
{
	op->op_key = rds_mr_cookie_key(cookie);
	op->op_addr = addr + rds_mr_cookie_off(cookie);
	op->op_fence = flags & RDS_RDMA_FENCE;
	op->op_bare = (flags & RDS_RDMA_SILENT) && !msg->m_payload.len;
}

/* Tell the peer which operation was done on its memory. */
static void rds_op_put_exthdrs(struct rds_message *msg, const struct rds_op *op)
{
	unsigned int pos = 0;
	u8 payload[8] = {};

	put_unaligned_be32(op->op_key, payload);
	rds_exthdr_add(msg->m_exthdr, &pos, RDS_EXTHDR_RDMA, payload);
	put_unaligned_be32(op->op_bytes, payload);
	payload[4] = op->op_kind == RDS_OP_WRITE ? 1 : 2;
	rds_exthdr_add(msg->m_exthdr, &pos, RDS_EXTHDR_RDMA_BYTES, payload);
}

static struct rds_iovec *rds_op_read_vec(const struct rds_rdma_args *args)
{
	struct rds_iovec *vec;

	vec = kvmalloc_array(args->nr_local, sizeof(*vec), GFP_KERNEL);
	if (!vec)
		return ERR_PTR(-ENOMEM);
	if (!copy_from_user(vec, u64_to_user_ptr(args->local_vec_addr),
			    args->nr_local * sizeof(*vec)))
		return vec;
	kvfree(vec);
	return ERR_PTR(-EFAULT);
}

/**
 * rds_op_add_rdma() - Add an RDMA read or write to a message
 * @rs: the socket
 * @msg: the message, new
 * @args: the request from user space, with at most RDS_MAX_IOVECS pieces
 *
 * Context: Process context, may sleep.
 * Return: 0; -EFAULT if local memory or the list of its pieces is not
 * accessible; -EINVAL if there is no local memory, if there is more of it than
 * the peer's range has, or if a piece is invalid; -EMSGSIZE if it is more than
 * RDS_MAX_MSG_SIZE; -ENOMEM if there is no memory, if the user may not lock
 * more memory, or if the socket has too many operations whose notification user
 * space has not received.
 */
int rds_op_add_rdma(struct rds_sock *rs, struct rds_message *msg,
		    const struct rds_rdma_args *args)
{
	bool write = args->flags & RDS_RDMA_READWRITE;
	struct rds_user_op *uo;
	struct rds_iovec *vec;

	vec = rds_op_read_vec(args);
	if (IS_ERR(vec))
		return PTR_ERR(vec);
	uo = rds_op_build(vec, args->nr_local, !write, args->remote_vec.bytes);
	kvfree(vec);
	if (IS_ERR(uo))
		return PTR_ERR(uo);

	uo->uo_op.op_kind = write ? RDS_OP_WRITE : RDS_OP_READ;
	rds_op_set_target(&uo->uo_op, args->cookie, args->remote_vec.addr,
			  args->flags, msg);
	rds_op_put_exthdrs(msg, &uo->uo_op);
	return rds_op_attach(uo, rs, msg, args->flags, args->user_token);
}

static void rds_op_set_atomic(struct rds_op *op, int type,
			      const struct rds_atomic_args *args)
{
	op->op_compare_mask = ~0ULL;
	op->op_add_mask = ~0ULL;
	switch (type) {
	case RDS_CMSG_ATOMIC_FADD:
		op->op_kind = RDS_OP_FADD;
		op->op_add = args->fadd.add;
		op->op_add_mask = 0;
		break;
	case RDS_CMSG_ATOMIC_CSWP:
		op->op_kind = RDS_OP_CSWP;
		op->op_compare = args->cswp.compare;
		op->op_add = args->cswp.swap;
		break;
	case RDS_CMSG_MASKED_ATOMIC_FADD:
		op->op_kind = RDS_OP_MASKED_FADD;
		op->op_add = args->m_fadd.add;
		op->op_add_mask = args->m_fadd.nocarry_mask;
		break;
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		op->op_kind = RDS_OP_MASKED_CSWP;
		op->op_compare = args->m_cswp.compare;
		op->op_add = args->m_cswp.swap;
		op->op_compare_mask = args->m_cswp.compare_mask;
		op->op_add_mask = args->m_cswp.swap_mask;
		break;
	}
}

/**
 * rds_op_add_atomic() - Add an atomic operation to a message
 * @rs: the socket
 * @msg: the message, new
 * @type: RDS_CMSG_ATOMIC_FADD or another control message for atomics
 * @args: the request from user space; its local address is aligned
 *
 * Context: Process context, may sleep.
 * Return: 0; -EOPNOTSUPP if the device does not support it, or another errno of
 * &rds_rdma_ops.atomic_check; otherwise as rds_op_add_rdma().
 */
int rds_op_add_atomic(struct rds_sock *rs, struct rds_message *msg,
		      int type, const struct rds_atomic_args *args)
{
	const struct rds_iovec vec = { args->local_addr, sizeof(u64) };
	const struct rds_rdma_ops *rdma = rds_rdma_of(rs->rs_trans);
	struct rds_user_op *uo;
	int ret;

	uo = rds_op_build(&vec, 1, true, sizeof(u64));
	if (IS_ERR(uo))
		return PTR_ERR(uo);
	rds_op_set_atomic(&uo->uo_op, type, args);
	rds_op_set_target(&uo->uo_op, args->cookie, args->remote_addr,
			  args->flags, msg);
	ret = rdma->atomic_check(sock_net(&rs->rs_sk), &rs->rs_bound.ip,
				 rs->rs_bound.ifindex, uo->uo_op.op_kind);
	if (ret) {
		rds_op_free(&uo->uo_op);
		return ret;
	}
	return rds_op_attach(uo, rs, msg, args->flags, args->user_token);
}

static bool rds_op_end(struct rds_user_op *uo, int from, int status)
{
	if (cmpxchg(&uo->uo_state, from, RDS_OP_ENDING) != from)
		return false;
	uo->uo_status = status;
	rds_op_notify(uo, uo->uo_always || status != RDS_RDMA_SUCCESS, status);
	/* A context that sees DONE also sees the status, and the notification
	 * has been posted. Pairs with the acquire in rds_op_state().
	 */
	smp_store_release(&uo->uo_state, RDS_OP_DONE);
	/* wake_up_var() requires a full barrier. */
	smp_mb();
	wake_up_var(&uo->uo_state);
	return true;
}

static int rds_op_state(const struct rds_user_op *uo)
{
	/* Pairs with the release in rds_op_end(). */
	return smp_load_acquire(&uo->uo_state);
}

/**
 * rds_op_outlook() - Determine what to do about the operation of a message
 * @msg: the message
 *
 * Context: Any context. The path's transmit lock is held.
 * Return: a value of &enum rds_op_outlook.
 */
enum rds_op_outlook rds_op_outlook(const struct rds_message *msg)
{
	const struct rds_user_op *uo;

	if (likely(!msg->m_op))
		return RDS_OP_NOTHING;
	uo = to_user_op(msg->m_op);
	switch (rds_op_state(uo)) {
	case RDS_OP_NEW:
	case RDS_OP_BEGUN:
		return RDS_OP_TO_DO;
	case RDS_OP_DONE:
		return uo->uo_status == RDS_RDMA_SUCCESS ? RDS_OP_NOTHING :
							   RDS_OP_GIVE_UP;
	default:
		return RDS_OP_GIVE_UP;
	}
}
EXPORT_SYMBOL_GPL(rds_op_outlook);

/**
 * rds_op_begin() - Begin an operation, before it is passed to a device
 * @msg: its message, which is being sent
 *
 * Context: Any context. The path's transmit lock is held.
 * Return: true if the operation may be done; false if it has just been
 * canceled.
 */
bool rds_op_begin(struct rds_message *msg)
{
	struct rds_user_op *uo = to_user_op(msg->m_op);
	struct rds_net *rn = to_cpath(msg->m_path)->cp_conn->c_rn;
	int old = cmpxchg(&uo->uo_state, RDS_OP_NEW, RDS_OP_BEGUN);

	if (old == RDS_OP_NEW) {
		rds_stat_inc(rn, send_rdma);
		rds_stat_add(rn, send_rdma_bytes, uo->uo_op.op_bytes);
	}
	return old == RDS_OP_NEW || old == RDS_OP_BEGUN;
}
EXPORT_SYMBOL_GPL(rds_op_begin);

/**
 * rds_op_conclude() - Record the result of an operation that has begun
 * @msg: its message; the caller holds a reference
 * @status: RDS_RDMA_SUCCESS or the reason for the failure; only the first call
 *	counts
 *
 * Context: Any context. Takes rs_lock.
 * Return: true if this was the first call.
 */
bool rds_op_conclude(struct rds_message *msg, int status)
{
	return rds_op_end(to_user_op(msg->m_op), RDS_OP_BEGUN, status);
}

/**
 * rds_op_is_new() - Check whether an operation has not begun
 * @msg: the message, with an operation
 *
 * Context: Any context.
 * Return: true if it has not begun.
 */
bool rds_op_is_new(const struct rds_message *msg)
{
	return rds_op_state(to_user_op(msg->m_op)) == RDS_OP_NEW;
}

/**
 * rds_op_is_lost() - Check whether an operation forbids a retransmit
 * @msg: the message, with an operation; the path is shut down
 *
 * Context: Any context.
 * Return: true if the operation has begun and is not known to be done, if it
 * has failed, or if it is done and no message follows it.
 */
bool rds_op_is_lost(const struct rds_message *msg)
{
	const struct rds_user_op *uo = to_user_op(msg->m_op);

	switch (rds_op_state(uo)) {
	case RDS_OP_NEW:
		return false;
	case RDS_OP_DONE:
		return uo->uo_op.op_bare || uo->uo_status != RDS_RDMA_SUCCESS;
	default:
		return true;
	}
}

/**
 * rds_op_is_over() - Check whether an operation has ended
 * @op: the operation
 *
 * Context: Any context.
 * Return: true if it has ended.
 */
bool rds_op_is_over(const struct rds_op *op)
{
	return rds_op_state(to_user_op(op)) == RDS_OP_DONE;
}

/**
 * rds_op_finish() - End the operation of a message that is canceled or finished
 * @msg: the message, with an operation
 *
 * If the operation has begun, the transport completes it. If it has not begun,
 * it is never done.
 *
 * Context: Any context. Takes rs_lock.
 */
void rds_op_finish(struct rds_message *msg)
{
	rds_op_end(to_user_op(msg->m_op), RDS_OP_NEW,
		   msg->m_canceled ? RDS_RDMA_CANCELED : RDS_RDMA_DROPPED);
}

/**
 * rds_op_forget() - Cancel the notification of an operation
 * @msg: its message
 *
 * Context: Any context. Takes rs_lock.
 */
void rds_op_forget(struct rds_message *msg)
{
	rds_op_notify(to_user_op(msg->m_op), false, 0);
}

/**
 * rds_op_wait() - Wait until the device no longer accesses local memory
 * @msg: the message, canceled; the caller holds a reference
 *
 * If the operation had not begun when the message was canceled, it has already
 * ended.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINTR if a signal ended the wait.
 */
int rds_op_wait(struct rds_message *msg)
{
	struct rds_user_op *uo = to_user_op(msg->m_op);
	int ret;

	ret = wait_var_event_interruptible(&uo->uo_state,
					   rds_op_state(uo) == RDS_OP_DONE);
	return ret ? -EINTR : 0;
}

/**
 * rds_op_unpin() - Release the local memory before the message is freed
 * @msg: the message; its operation has begun, and the caller carries it out
 *
 * Context: Process context, may sleep.
 */
void rds_op_unpin(struct rds_message *msg)
{
	rds_pin_release(&to_user_op(msg->m_op)->uo_pin);
}

/**
 * rds_op_free() - Free an operation, after the last put of its message
 * @op: the operation
 *
 * Context: Any context, but not under a lock of core.
 */
void rds_op_free(struct rds_op *op)
{
	struct rds_user_op *uo = to_user_op(op);

	rds_op_notify(uo, false, 0);
	rds_pin_release_later(&uo->uo_pin, &uo->uo_work);
}
