/* SPDX-License-Identifier: GPL-2.0-only */
/* The receive queue of a socket. */
#ifndef _RDS_CORE_RECV_QUEUE_H
#define _RDS_CORE_RECV_QUEUE_H

#include <linux/list.h>

#include "sock.h"

bool rds_recv_add(struct rds_sock *rs, struct rds_incoming *inc);
struct rds_incoming *rds_recv_take(struct rds_sock *rs, bool peek);
void rds_recv_put_back(struct rds_sock *rs, struct rds_incoming *inc);
void rds_recv_purge(struct rds_sock *rs);

/**
 * rds_recv_first() - Get the next message to be read
 * @rs: the socket
 * @peek: leave the message on the queue
 *
 * Unless @peek is set, each message goes to exactly one reader, no matter how
 * many readers there are.
 *
 * Context: Process context. Takes rs_recv_lock unless the queue is empty.
 * Return: the message with a reference for the caller; NULL if there is none.
 */
static inline struct rds_incoming *rds_recv_first(struct rds_sock *rs,
						  bool peek)
{
	if (list_empty(&rs->rs_recv_queue))
		return NULL;
	return rds_recv_take(rs, peek);
}

#endif /* _RDS_CORE_RECV_QUEUE_H */
