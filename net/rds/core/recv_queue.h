/* SPDX-License-Identifier: GPL-2.0-only */
/* The receive queue of a socket. */
#ifndef _RDS_CORE_RECV_QUEUE_H
#define _RDS_CORE_RECV_QUEUE_H

#include "sock.h"

bool rds_recv_add(struct rds_sock *rs, struct rds_incoming *inc);
struct rds_incoming *rds_recv_first(struct rds_sock *rs, bool peek);
void rds_recv_put_back(struct rds_sock *rs, struct rds_incoming *inc);
void rds_recv_purge(struct rds_sock *rs);

#endif /* _RDS_CORE_RECV_QUEUE_H */
