/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads in user memory, and the completions that report it free. */
#ifndef _RDS_CORE_ZCOPY_H
#define _RDS_CORE_ZCOPY_H

#include <net/rds/transport.h>
#include <uapi/linux/rds.h>

#include "sock.h"

struct msghdr;

/**
 * struct rds_zcopy_queue - completions of a socket's zerocopy sends
 * @zq_refs: references: one of the socket, one of each send
 * @zq_lock: guards the members below; taken in any context
 * @zq_rs: the socket; NULL once it is closed
 * @zq_done: sends whose memory is free again, in the order in which it became
 *	free
 * @zq_nr_done: number of entries on @zq_done
 * @zq_nr: sends that have not been reported to user space, on @zq_done or not
 */
struct rds_zcopy_queue {
	refcount_t		zq_refs;
	spinlock_t		zq_lock;	/* guards the rest */
	struct rds_sock		*zq_rs;
	struct list_head	zq_done;
	unsigned int		zq_nr_done;
	unsigned int		zq_nr;
};

/**
 * struct rds_zcopy_told - completions that are being reported to user space
 * @cookies: the completions as user space receives them
 * @items: private: the sends that they report
 */
struct rds_zcopy_told {
	struct rds_zcopy_cookies	cookies;
	struct list_head		items;
};

struct rds_message *rds_zcopy_message(struct rds_sock *rs, struct msghdr *msg,
				      size_t len, u32 cookie);
int rds_zcopy_copy(struct rds_message *msg);
void rds_zcopy_forget(struct rds_message *msg);
void rds_zcopy_finish(struct rds_message *msg);
bool rds_zcopy_take(struct rds_sock *rs, struct rds_zcopy_told *told,
		    bool peek);
void rds_zcopy_done(struct rds_sock *rs, struct rds_zcopy_told *told);
void rds_zcopy_put_back(struct rds_sock *rs, struct rds_zcopy_told *told);
void rds_zcopy_close(struct rds_sock *rs);

/**
 * rds_zcopy_pending() - Check whether a completion is to be reported
 * @rs: the socket
 *
 * Context: Any context.
 * Return: true if there is one.
 */
static inline bool rds_zcopy_pending(const struct rds_sock *rs)
{
	/* Pairs with the cmpxchg in rds_zcopy_queue(). */
	const struct rds_zcopy_queue *zq = smp_load_acquire(&rs->rs_zcopy);

	return unlikely(zq) && READ_ONCE(zq->zq_nr_done);
}

#endif /* _RDS_CORE_ZCOPY_H */
