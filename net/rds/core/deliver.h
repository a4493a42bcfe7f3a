/* SPDX-License-Identifier: GPL-2.0-only */
/* Received messages find their socket. */
#ifndef _RDS_CORE_DELIVER_H
#define _RDS_CORE_DELIVER_H

#include "sock.h"

struct rds_incoming *rds_recv_first(struct rds_sock *rs, bool peek);
void rds_recv_put_back(struct rds_sock *rs, struct rds_incoming *inc);
void rds_recv_purge(struct rds_sock *rs);

#endif /* _RDS_CORE_DELIVER_H */
