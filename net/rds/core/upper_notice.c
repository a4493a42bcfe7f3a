// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notifications of writes with MSG_ZEROCOPY, on the error queue of a socket of
 * the user above core, as TCP gives them
 * (Documentation/networking/msg_zerocopy.rst of the kernel).
 *
 * Each such write has one object, struct rds_upper_notice, which begins with a
 * loan (loan.c). The kernel has an object for this, too. But it refers to the
 * socket, which then would last, with its namespace, for as long as a peer that
 * reads nothing keeps the packets. And TCP undoes a notification by it when it
 * takes no bytes at once, although the frame is sent later.
 *
 * So an object refers only to the queue of the socket's notifications, which
 * forgets the socket when that is closed. The objects are core's, so that they
 * do not pin the module above core, either. A write is numbered when its first
 * frame is submitted.
 *
 * An object ends with its loan. Its packet, which is allocated with it, is then
 * put on the error queue, or freed if the last packet there can tell of the
 * write, too. Each packet holds a reference on the queue, and a place in its
 * limit, until it is freed: so the limit bounds what is not read, as well.
 */
#include <linux/errqueue.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/rds/loan.h>
#include <net/sock.h>

#include "upper.h"

/* Limit of a socket's notifications, told or to be told, that are not read */
#define RDS_UPPER_NOTICES_MAX	1024

/**
 * struct rds_upper_notices - the notifications of a socket
 * @nq_refs: references: one of the socket, one of each packet
 * @nq_lock: guards @nq_sk; taken in any context
 * @nq_sk: the socket; NULL once it is closed
 * @nq_nr: packets
 * @nq_next: number of the next write; the caller serializes writes
 */
struct rds_upper_notices {
	refcount_t		nq_refs;
	spinlock_t		nq_lock;	/* guards nq_sk */
	struct sock		*nq_sk;
	atomic_t		nq_nr;
	u32			nq_next;
};

/**
 * struct rds_upper_notice - a write from user memory
 * @no_loan: the memory
 * @no_queue: where it is reported; the reference is that of @no_skb
 * @no_skb: what is put on the error queue
 * @no_id: number of the write
 * @no_counts: the write has a number, and is reported
 */
struct rds_upper_notice {
	struct rds_loan			no_loan;
	struct rds_upper_notices	*no_queue;
	struct sk_buff			*no_skb;
	u32				no_id;
	bool				no_counts;
};

static struct rds_upper_notice *to_notice(struct rds_loan *ln)
{
	return container_of(ln, struct rds_upper_notice, no_loan);
}

static void rds_upper_notices_put(struct rds_upper_notices *nq)
{
	if (refcount_dec_and_test(&nq->nq_refs))
		kfree(nq);
}

/* Give back the place of a packet that is being freed, in any context. */
static void rds_upper_notice_free(struct sk_buff *skb)
{
	struct rds_upper_notices *nq = skb_shinfo(skb)->destructor_arg;

	atomic_dec(&nq->nq_nr);
	rds_upper_notices_put(nq);
}

/* Returns the socket with a reference; NULL if it is closed. */
static struct sock *rds_upper_notices_get(struct rds_upper_notices *nq)
{
	unsigned long flags;
	struct sock *sk;

	spin_lock_irqsave(&nq->nq_lock, flags);
	sk = nq->nq_sk;
	if (sk)
		sock_hold(sk);
	spin_unlock_irqrestore(&nq->nq_lock, flags);
	return sk;
}

static void rds_upper_notice_write(const struct rds_upper_notice *no)
{
	struct sock_exterr_skb *err = SKB_EXT_ERR(no->no_skb);

	memset(err, 0, sizeof(*err));
	err->ee.ee_origin = SO_EE_ORIGIN_ZEROCOPY;
	err->ee.ee_info = no->no_id;
	err->ee.ee_data = no->no_id;
	if (READ_ONCE(no->no_loan.ln_copied))
		err->ee.ee_code = SO_EE_CODE_ZEROCOPY_COPIED;
}

/* Let the last notification of the queue tell of one more write, if that is the
 * next one, and has the same code.
 */
static bool rds_upper_notice_extends(struct sk_buff *tail,
				     const struct sk_buff *skb)
{
	const struct sock_extended_err *more = &SKB_EXT_ERR(skb)->ee;
	struct sock_extended_err *err;

	if (!tail)
		return false;
	err = &SKB_EXT_ERR(tail)->ee;
	if (err->ee_origin != SO_EE_ORIGIN_ZEROCOPY ||
	    err->ee_code != more->ee_code ||
	    err->ee_data + 1 != more->ee_info)
		return false;
	err->ee_data = more->ee_data;
	return true;
}

static void rds_upper_notice_tell(struct sock *sk, struct rds_upper_notice *no)
{
	struct sk_buff_head *queue = &sk->sk_error_queue;
	unsigned long flags;

	rds_upper_notice_write(no);
	spin_lock_irqsave(&queue->lock, flags);
	if (!rds_upper_notice_extends(skb_peek_tail(queue), no->no_skb)) {
		__skb_queue_tail(queue, no->no_skb);
		no->no_skb = NULL;
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	sk_error_report(sk);
}

static void rds_upper_notice_end(struct rds_loan *ln)
{
	struct rds_upper_notice *no = to_notice(ln);
	struct sock *sk = NULL;

	if (no->no_counts)
		sk = rds_upper_notices_get(no->no_queue);
	if (sk) {
		rds_upper_notice_tell(sk, no);
		sock_put(sk);
	}
	consume_skb(no->no_skb);
	kfree(no);
}

/**
 * rds_upper_notices_alloc() - Allocate the notifications of a socket
 * @sk: the socket, which must outlive the call of rds_upper_notices_close()
 *
 * Context: Process context, may sleep.
 * Return: the notifications, for rds_upper_notices_close(); NULL if there is no
 * memory.
 */
struct rds_upper_notices *rds_upper_notices_alloc(struct sock *sk)
{
	struct rds_upper_notices *nq;

	nq = kzalloc(sizeof(*nq), GFP_KERNEL_ACCOUNT);
	if (!nq)
		return NULL;
	refcount_set(&nq->nq_refs, 1);
	spin_lock_init(&nq->nq_lock);
	nq->nq_sk = sk;
	return nq;
}
EXPORT_SYMBOL_GPL(rds_upper_notices_alloc);

/**
 * rds_upper_notices_close() - Notify of no more writes
 * @nq: the notifications; NULL if there are none
 *
 * Context: Process context. The caller owns @nq no longer.
 */
void rds_upper_notices_close(struct rds_upper_notices *nq)
{
	if (!nq)
		return;
	spin_lock_irq(&nq->nq_lock);
	nq->nq_sk = NULL;
	spin_unlock_irq(&nq->nq_lock);
	rds_upper_notices_put(nq);
}
EXPORT_SYMBOL_GPL(rds_upper_notices_close);

/* Allocate a packet that has a place in the queue. */
static struct sk_buff *rds_upper_notice_skb(struct rds_upper_notices *nq)
{
	struct sk_buff *skb;

	/* Only the caller adds packets. */
	if (atomic_read(&nq->nq_nr) >= RDS_UPPER_NOTICES_MAX)
		return NULL;
	skb = alloc_skb(0, GFP_KERNEL_ACCOUNT);
	if (!skb)
		return NULL;
	atomic_inc(&nq->nq_nr);
	refcount_inc(&nq->nq_refs);
	skb_shinfo(skb)->destructor_arg = nq;
	skb->destructor = rds_upper_notice_free;
	return skb;
}

/**
 * rds_upper_lend() - Begin a write from memory of the calling process
 * @nq: the notifications of the socket
 * @pages: pages of the memory, which count as locked until the loan is over; 0
 *	if all will be copied
 *
 * Context: Process context, may sleep. The caller serializes writes.
 * Return: the loan, for rds_upper_alloc_user(), with a reference for the
 * caller; NULL if there is no memory, the user may not lock so much, or too
 * many notifications are to come or to be read.
 */
struct rds_loan *rds_upper_lend(struct rds_upper_notices *nq,
				unsigned int pages)
{
	struct rds_upper_notice *no;

	no = kzalloc(sizeof(*no), GFP_KERNEL_ACCOUNT);
	if (!no)
		return NULL;
	no->no_skb = rds_upper_notice_skb(nq);
	if (!no->no_skb) {
		kfree(no);
		return NULL;
	}
	no->no_queue = nq;
	rds_loan_begin(&no->no_loan, rds_upper_notice_end);
	if (!pages || !rds_loan_charge(&no->no_loan, pages))
		return &no->no_loan;
	rds_loan_put(&no->no_loan);
	return NULL;
}
EXPORT_SYMBOL_GPL(rds_upper_lend);

/**
 * rds_upper_lend_count() - Number a write, so that it is notified of
 * @ln: its loan; may be counted already
 *
 * To be called when a frame of the write was submitted.
 *
 * Context: Process context. The caller serializes writes, and has a reference.
 */
void rds_upper_lend_count(struct rds_loan *ln)
{
	struct rds_upper_notice *no = to_notice(ln);

	if (no->no_counts)
		return;
	no->no_id = no->no_queue->nq_next++;
	no->no_counts = true;
}
EXPORT_SYMBOL_GPL(rds_upper_lend_count);
