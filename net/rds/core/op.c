// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on memory of peers: RDMA reads and writes, and atomics.
 *
 * An operation is part of a message, and goes before it on the path. It has
 * pinned local memory, which is let go with the last reference to the message,
 * or before, by who does it: the transport has one for as long as the device
 * may reach it.
 *
 *	sendmsg()	transport		core
 *	  NEW --------> BEGUN ----------------> ENDING -----> DONE
 *	   \            rds_op_begin()  rds_op_done(), or the path was shut down
 *	    `---------------------------------> ENDING -----> DONE
 *			the message is given up, or cancelled, before
 *
 * It is never done twice. So a message whose operation had begun, but was not
 * known to be done when the connection was lost, is not sent again: it is
 * DROPPED. One whose operation is done is sent again, without it.
 *
 * The user is told once, by whoever gets hold of the reference to the socket:
 * when the operation is done, or by nobody when the socket is closed or
 * sendmsg() fails after all.
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
 * struct rds_user_op - an operation, as core has it
 * @uo_op: what the transport sees
 * @uo_state: of enum rds_op_state
 * @uo_status: how it ended, once it is done
 * @uo_rs: who is to be told, referenced; NULL when nobody is any more
 * @uo_note: by what; NULL if it is not to be told at all
 * @uo_always: tell of success, too
 * @uo_work: lets the memory go
 * @uo_pin: the memory
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

/* With room for so many pages, and as many pieces */
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

/* Make it the message's, and say whom to tell: without a note nobody, whatever
 * comes. Takes the operation over, also if that fails.
 */
static int rds_op_give(struct rds_user_op *uo, struct rds_sock *rs,
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

/* Whoever gets the socket tells, if there is anything to tell. */
static void rds_op_tell(struct rds_user_op *uo, bool tells, int status)
{
	struct rds_sock *rs = xchg(&uo->uo_rs, NULL);

	if (!rs)
		return;
	if (tells && uo->uo_note)
		rds_note_post(rs, uo->uo_note, status);
	else
		rds_note_free(rs, uo->uo_note);
	sock_put(&rs->rs_sk);
}

/* More than this at once is more than some hosts can map for a device. */
#define RDS_OP_PIECE_MAX	65536U

/* Pages that follow one another are one piece. */
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

/* The pages of a stretch count already. */
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

/* How many pages are they in? An errno if they make no sense. */
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

static void rds_op_aim(struct rds_op *op, rds_rdma_cookie_t cookie, u64 addr,
		       u64 flags, const struct rds_message *msg)
{
	op->op_key = rds_mr_cookie_key(cookie);
	op->op_addr = addr + rds_mr_cookie_off(cookie);
	op->op_fence = flags & RDS_RDMA_FENCE;
	op->op_bare = (flags & RDS_RDMA_SILENT) && !msg->m_payload.len;
}

/* The peer is told what was done to its memory. */
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
 * rds_op_add_rdma() - give a message an RDMA read or write
 * @rs: the socket
 * @msg: the message, new
 * @args: what the user wants; no more than RDS_MAX_IOVECS pieces
 *
 * Context: process, may sleep.
 * Return: 0; -EFAULT for local memory that is not there; -EINVAL for none, or
 * more than there is of the peer's; -EMSGSIZE for more than RDS_MAX_MSG_SIZE;
 * -ENOMEM also if the user may lock no more, or has not asked how others have
 * ended for too long.
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
	rds_op_aim(&uo->uo_op, args->cookie, args->remote_vec.addr,
		   args->flags, msg);
	rds_op_put_exthdrs(msg, &uo->uo_op);
	return rds_op_give(uo, rs, msg, args->flags, args->user_token);
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
 * rds_op_add_atomic() - give a message an atomic operation
 * @rs: the socket
 * @msg: the message, new
 * @type: RDS_CMSG_ATOMIC_FADD or one of its like
 * @args: what the user wants; its local address is aligned
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP if the device cannot do that; or as
 * rds_op_add_rdma().
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
	rds_op_aim(&uo->uo_op, args->cookie, args->remote_addr, args->flags,
		   msg);
	ret = rdma->atomic_check(sock_net(&rs->rs_sk), &rs->rs_bound.ip,
				 rs->rs_bound.ifindex, uo->uo_op.op_kind);
	if (ret) {
		rds_op_free(&uo->uo_op);
		return ret;
	}
	return rds_op_give(uo, rs, msg, args->flags, args->user_token);
}

static bool rds_op_end(struct rds_user_op *uo, int from, int status)
{
	if (cmpxchg(&uo->uo_state, from, RDS_OP_ENDING) != from)
		return false;
	uo->uo_status = status;
	rds_op_tell(uo, uo->uo_always || status != RDS_RDMA_SUCCESS, status);
	/* Who sees that it is done sees how, and what was told. Pairs with the
	 * acquire in rds_op_state().
	 */
	smp_store_release(&uo->uo_state, RDS_OP_DONE);
	/* As wake_up_var() wants it */
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
 * rds_op_outlook() - what is to be done about the operation of a message?
 * @msg: the message
 *
 * Context: any; the path's transmit lock is held.
 * Return: see &enum rds_op_outlook.
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
 * rds_op_begin() - a device is about to hear of an operation
 * @msg: its message, being sent
 *
 * Context: any; the path's transmit lock is held.
 * Return: false if it was cancelled just now.
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
 * rds_op_conclude() - note how an operation that had begun has ended
 * @msg: its message; the caller has a reference
 * @status: RDS_RDMA_SUCCESS, or why not; only the first counts
 *
 * Context: any. Takes rs_lock.
 * Return: true if this was the first to say so.
 */
bool rds_op_conclude(struct rds_message *msg, int status)
{
	return rds_op_end(to_user_op(msg->m_op), RDS_OP_BEGUN, status);
}

/**
 * rds_op_is_new() - has nothing of an operation been begun yet?
 * @msg: the message, with an operation
 *
 * Context: any.
 * Return: true if nothing has.
 */
bool rds_op_is_new(const struct rds_message *msg)
{
	return rds_op_state(to_user_op(msg->m_op)) == RDS_OP_NEW;
}

/**
 * rds_op_is_lost() - must a message not be sent again for its operation's sake?
 * @msg: the message, with an operation; the path is shut down
 *
 * Context: any.
 * Return: true if the operation had begun, and is not known to be done; or has
 * failed; or if there is nothing to be sent but that.
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
 * rds_op_is_alone() - is an operation all that a message is, and not done?
 * @msg: the message
 *
 * Then what the peer says of later ones is not about it.
 *
 * Context: any.
 * Return: true if so.
 */
bool rds_op_is_alone(const struct rds_message *msg)
{
	return msg->m_op && msg->m_op->op_bare &&
	       rds_op_state(to_user_op(msg->m_op)) != RDS_OP_DONE;
}

/**
 * rds_op_is_over() - has an operation ended?
 * @op: the operation
 *
 * Context: any.
 * Return: true if it has.
 */
bool rds_op_is_over(const struct rds_op *op)
{
	return rds_op_state(to_user_op(op)) == RDS_OP_DONE;
}

/**
 * rds_op_finish() - a message is cancelled, or at the end of its way
 * @msg: the message, with an operation
 *
 * An operation that has begun is the transport's to finish; one that has not
 * never will.
 *
 * Context: any.
 */
void rds_op_finish(struct rds_message *msg)
{
	rds_op_end(to_user_op(msg->m_op), RDS_OP_NEW,
		   msg->m_canceled ? RDS_RDMA_CANCELED : RDS_RDMA_DROPPED);
}

/**
 * rds_op_forget() - nobody is to be told how an operation ends
 * @msg: its message
 *
 * Context: any.
 */
void rds_op_forget(struct rds_message *msg)
{
	rds_op_tell(to_user_op(msg->m_op), false, 0);
}

/**
 * rds_op_wait() - wait until a device has done with local memory
 * @msg: the message, cancelled; the caller has a reference
 *
 * What had not begun when it was cancelled is over already.
 *
 * Context: process, may sleep.
 * Return: 0, or -EINTR.
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
 * rds_op_unpin() - let local memory go before the message goes
 * @msg: the message; its operation has begun, and the caller is who does it
 *
 * Context: process, may sleep.
 */
void rds_op_unpin(struct rds_message *msg)
{
	rds_pin_release(&to_user_op(msg->m_op)->uo_pin);
}

/**
 * rds_op_free() - the last reference to a message has gone
 * @op: its operation
 *
 * Context: any; not under a lock of core.
 */
void rds_op_free(struct rds_op *op)
{
	struct rds_user_op *uo = to_user_op(op);

	rds_op_tell(uo, false, 0);
	rds_pin_release_later(&uo->uo_pin, &uo->uo_work);
}
