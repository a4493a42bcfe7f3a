// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending from user memory (MSG_ZEROCOPY), and reporting when it is free again.
 *
 * Each such send has one object, struct rds_zcopy, which begins with a loan
 * (loan.c). The references to the pages themselves belong to the message's
 * payload and to the packets, which put them. When the loan is over, the cookie
 * goes on the socket's queue, from which recvmsg() reports it. So payload,
 * packet and object have one owner each. The object ends in one place, whether
 * the message was acknowledged, canceled or dropped.
 *
 * sendmsg() copies the payload after all if it is in too many pieces, is not
 * in user memory, or goes by a transport that cannot send it otherwise. The
 * object then ends when the message is finished, because on loopback the
 * message itself stays until it is read.
 *
 * An object refers only to the queue, which forgets the socket when that is
 * closed, and to the module.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/rds/loan.h>

#include "message.h"
#include "notify.h"
#include "payload.h"
#include "stats.h"
#include "zcopy.h"

/* Limit of a socket's sends that have not been reported to user space */
#define RDS_ZCOPY_MAX		RDS_SNDBUF_MSGS

/**
 * struct rds_zcopy - a send from user memory
 * @zc_loan: holds the references of all that may still read the memory
 * @zc_queue: the queue on which the completion goes, with a reference
 * @zc_item: on &rds_zcopy_queue.zq_done
 * @zc_cookie: the user's name for the send
 * @zc_silent: the send failed, so there is no completion
 */
struct rds_zcopy {
	struct rds_loan		zc_loan;
	struct rds_zcopy_queue	*zc_queue;
	struct list_head	zc_item;
	u32			zc_cookie;
	bool			zc_silent;
};

static struct rds_zcopy *to_zcopy(struct rds_loan *ln)
{
	return container_of(ln, struct rds_zcopy, zc_loan);
}

static void rds_zcopy_queue_put(struct rds_zcopy_queue *zq)
{
	if (refcount_dec_and_test(&zq->zq_refs))
		kfree(zq);
}

static void rds_zcopy_free(struct rds_zcopy *zc)
{
	rds_zcopy_queue_put(zc->zc_queue);
	kfree(zc);
}

/* Returns the socket, with a reference, if the queue owns the object now. */
static struct rds_sock *rds_zcopy_queue_add(struct rds_zcopy *zc)
{
	struct rds_zcopy_queue *zq = zc->zc_queue;
	struct rds_sock *rs = NULL;
	unsigned long flags;

	spin_lock_irqsave(&zq->zq_lock, flags);
	if (zc->zc_silent) {
		zq->zq_nr--;
	} else if (zq->zq_rs) {
		rs = zq->zq_rs;
		sock_hold(&rs->rs_sk);
		list_add_tail(&zc->zc_item, &zq->zq_done);
		WRITE_ONCE(zq->zq_nr_done, zq->zq_nr_done + 1);
	}
	spin_unlock_irqrestore(&zq->zq_lock, flags);
	return rs;
}

static void rds_zcopy_end(struct rds_loan *ln)
{
	struct rds_zcopy *zc = to_zcopy(ln);
	struct rds_sock *rs = rds_zcopy_queue_add(zc);

	if (rs) {
		rds_sock_wake_readers(rs);
		sock_put(&rs->rs_sk);
	} else {
		rds_zcopy_free(zc);
	}
}

/* Get the queue of the socket. The first zerocopy send creates it. */
static struct rds_zcopy_queue *rds_zcopy_queue(struct rds_sock *rs)
{
	struct rds_zcopy_queue *zq, *old;

	/* Pairs with the cmpxchg below. */
	zq = smp_load_acquire(&rs->rs_zcopy);
	if (zq)
		return zq;

	zq = kzalloc(sizeof(*zq), GFP_KERNEL_ACCOUNT);
	if (!zq)
		return NULL;
	refcount_set(&zq->zq_refs, 1);
	spin_lock_init(&zq->zq_lock);
	INIT_LIST_HEAD(&zq->zq_done);
	zq->zq_rs = rs;

	/* Pairs with the acquires: a context that sees the pointer sees the
	 * initialized queue.
	 */
	old = cmpxchg(&rs->rs_zcopy, NULL, zq);
	if (!old)
		return zq;
	kfree(zq);
	return old;
}

static bool rds_zcopy_queue_has_room(struct rds_zcopy_queue *zq)
{
	bool room;

	spin_lock_irq(&zq->zq_lock);
	room = zq->zq_nr < RDS_ZCOPY_MAX;
	if (room)
		zq->zq_nr++;
	spin_unlock_irq(&zq->zq_lock);
	return room;
}

static struct rds_zcopy *rds_zcopy_alloc(struct rds_sock *rs, u32 cookie)
{
	struct rds_zcopy_queue *zq = rds_zcopy_queue(rs);
	struct rds_zcopy *zc;

	if (!zq)
		return NULL;
	zc = kzalloc(sizeof(*zc), GFP_KERNEL_ACCOUNT);
	if (!zc)
		return NULL;
	if (!rds_zcopy_queue_has_room(zq)) {
		kfree(zc);
		return NULL;
	}

	rds_loan_begin(&zc->zc_loan, rds_zcopy_end);
	zc->zc_cookie = cookie;
	refcount_inc(&zq->zq_refs);
	zc->zc_queue = zq;
	return zc;
}

/* Returns the number of pieces; 0 if the payload is to be copied. */
static unsigned int rds_zcopy_pieces(const struct msghdr *msg)
{
	/* A caller with a completion of its own (msg_ubuf) does not wait for
	 * ours before it reuses the memory.
	 */
	return msg->msg_ubuf ? 0 : rds_payload_user_pieces(&msg->msg_iter);
}

static int rds_zcopy_fill_copy(struct rds_sock *rs, struct rds_message *rm,
			       struct msghdr *msg)
{
	rds_stat_add(rs->rs_rn, copy_from_user, rm->m_payload.len);
	return rds_payload_copy_in(&rm->m_payload, &msg->msg_iter);
}

/* Charge a page for each piece, because even a small piece pins a page. */
static int rds_zcopy_fill_user(struct rds_message *rm, struct msghdr *msg,
			       unsigned int pieces)
{
	if (rds_loan_charge(rm->m_loan, pieces))
		return -ENOMEM;
	return rds_payload_add_user_pages(&rm->m_payload, pieces,
					  &msg->msg_iter);
}

/**
 * rds_zcopy_message() - Create a message whose payload stays in user memory
 * @rs: the socket
 * @msg: describes the payload
 * @len: bytes of payload, at least 1 and at most RDS_MAX_MSG_SIZE
 * @cookie: the user's name for the send
 *
 * If the payload cannot stay there, it is copied.
 *
 * Context: Process context, may sleep.
 * Return: the message with one reference; call rds_zcopy_forget() if it is not
 * sent. -EFAULT if the memory is not accessible; -ENOMEM if there is no memory,
 * if the user may not lock more memory, or if the socket has too many sends
 * whose completion user space has not received.
 */
struct rds_message *rds_zcopy_message(struct rds_sock *rs, struct msghdr *msg,
				      size_t len, u32 cookie)
{
	unsigned int pieces = rds_zcopy_pieces(msg);
	struct rds_message *rm;
	struct rds_zcopy *zc;
	int ret;

	rm = pieces ? rds_message_alloc_user(pieces) :
		      rds_message_alloc(len, GFP_KERNEL);
	if (!rm)
		return ERR_PTR(-ENOMEM);
	zc = rds_zcopy_alloc(rs, cookie);
	if (!zc) {
		ret = -ENOMEM;
		goto err;
	}
	rm->m_loan = &zc->zc_loan;

	if (pieces)
		ret = rds_zcopy_fill_user(rm, msg, pieces);
	else
		ret = rds_zcopy_fill_copy(rs, rm, msg);
	if (ret)
		goto err;
	return rm;

err:
	rds_zcopy_forget(rm);
	rds_message_put(rm);
	return ERR_PTR(ret);
}

/**
 * rds_zcopy_copy() - Copy a payload that is in user memory after all
 * @msg: the message, not on a path; its payload is in user memory
 *
 * Context: Process context, may sleep.
 * Return: 0; an errno on failure, with @msg unchanged.
 */
int rds_zcopy_copy(struct rds_message *msg)
{
	struct rds_payload *user = &msg->m_payload, copy;
	struct bio_vec *bvec;
	struct iov_iter from;
	int ret;

	bvec = kmalloc_array(rds_payload_max_bvecs(user->len), sizeof(*bvec),
			     GFP_KERNEL_ACCOUNT);
	if (!bvec)
		return -ENOMEM;

	ret = rds_payload_alloc_pages(&copy, bvec, user->len, GFP_KERNEL);
	if (ret)
		goto err;
	iov_iter_bvec(&from, ITER_SOURCE, user->bvec, user->nr, user->len);
	ret = rds_payload_copy_in(&copy, &from);
	if (ret)
		goto err;

	/* The table of pieces has room for the pages, because there are never
	 * fewer pieces than pages. Do not change the length: the message may
	 * already be on the socket's list, which counts it.
	 */
	rds_payload_put_pages(user);
	memcpy(user->bvec, bvec, copy.nr * sizeof(*bvec));
	user->kind = copy.kind;
	user->nr = copy.nr;
	kfree(bvec);
	rds_loan_uncharge(msg->m_loan);
	return 0;

err:
	rds_payload_release(&copy);
	kfree(bvec);
	return ret;
}

/**
 * rds_zcopy_forget() - Suppress the completion of a message that is not sent
 * @msg: the message, not on a path
 *
 * Context: Process context.
 */
void rds_zcopy_forget(struct rds_message *msg)
{
	if (unlikely(msg->m_loan))
		to_zcopy(msg->m_loan)->zc_silent = true;
}

/**
 * rds_zcopy_finish() - Complete a copied send when its message is finished
 * @msg: the message, with &rds_message.m_loan
 *
 * If the payload is in user memory, the last put of the message does it.
 *
 * Context: Any context; locks of the transport may be held.
 */
void rds_zcopy_finish(struct rds_message *msg)
{
	struct rds_loan *ln = msg->m_loan;

	if (msg->m_payload.kind == RDS_PAYLOAD_USER)
		return;
	msg->m_loan = NULL;
	rds_loan_put(ln);
}

/**
 * rds_zcopy_take() - Take completions to report to user space
 * @rs: the socket
 * @told: where to store them
 * @peek: leave them on the queue, too
 *
 * Context: Process context.
 * Return: true if there are any; then pass @told to rds_zcopy_done() or
 * rds_zcopy_put_back(). false if there are none.
 */
bool rds_zcopy_take(struct rds_sock *rs, struct rds_zcopy_told *told, bool peek)
{
	struct rds_zcopy *zc, *next;
	struct rds_zcopy_queue *zq;
	unsigned int nr = 0;

	memset(&told->cookies, 0, sizeof(told->cookies));
	INIT_LIST_HEAD(&told->items);
	/* Pairs with the cmpxchg in rds_zcopy_queue(). */
	zq = smp_load_acquire(&rs->rs_zcopy);
	if (!zq)
		return false;

	spin_lock_irq(&zq->zq_lock);
	list_for_each_entry_safe(zc, next, &zq->zq_done, zc_item) {
		if (nr == RDS_MAX_ZCOOKIES)
			break;
		told->cookies.cookies[nr++] = zc->zc_cookie;
		if (!peek)
			list_move_tail(&zc->zc_item, &told->items);
	}
	if (!peek)
		WRITE_ONCE(zq->zq_nr_done, zq->zq_nr_done - nr);
	spin_unlock_irq(&zq->zq_lock);

	told->cookies.num = nr;
	return nr;
}

/**
 * rds_zcopy_done() - Free completions that were reported to user space
 * @rs: the socket
 * @told: the completions
 *
 * Context: Process context.
 */
void rds_zcopy_done(struct rds_sock *rs, struct rds_zcopy_told *told)
{
	struct rds_zcopy_queue *zq = rs->rs_zcopy;
	struct rds_zcopy *zc, *next;
	unsigned int nr = 0;

	list_for_each_entry_safe(zc, next, &told->items, zc_item) {
		rds_zcopy_free(zc);
		nr++;
	}
	spin_lock_irq(&zq->zq_lock);
	zq->zq_nr -= nr;
	spin_unlock_irq(&zq->zq_lock);
}

/**
 * rds_zcopy_put_back() - Requeue completions that could not be reported
 * @rs: the socket
 * @told: the completions
 *
 * Context: Process context.
 */
void rds_zcopy_put_back(struct rds_sock *rs, struct rds_zcopy_told *told)
{
	struct rds_zcopy_queue *zq = rs->rs_zcopy;

	if (list_empty(&told->items))
		return;
	spin_lock_irq(&zq->zq_lock);
	list_splice(&told->items, &zq->zq_done);
	WRITE_ONCE(zq->zq_nr_done, zq->zq_nr_done + told->cookies.num);
	spin_unlock_irq(&zq->zq_lock);
	rds_sock_wake_readers(rs);
}

/**
 * rds_zcopy_close() - Discard the completions of a socket that is closed
 * @rs: the socket, which has no user any more
 *
 * Context: Process context.
 */
void rds_zcopy_close(struct rds_sock *rs)
{
	struct rds_zcopy_queue *zq = rs->rs_zcopy;
	struct rds_zcopy *zc, *next;
	LIST_HEAD(gone);

	if (!zq)
		return;
	spin_lock_irq(&zq->zq_lock);
	zq->zq_rs = NULL;
	list_splice_init(&zq->zq_done, &gone);
	WRITE_ONCE(zq->zq_nr_done, 0);
	spin_unlock_irq(&zq->zq_lock);

	list_for_each_entry_safe(zc, next, &gone, zc_item)
		rds_zcopy_free(zc);
	rs->rs_zcopy = NULL;
	rds_zcopy_queue_put(zq);
}
