/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of bound sockets. */
#ifndef _RDS_CORE_BIND_H
#define _RDS_CORE_BIND_H

#include "sock.h"

int rds_bind_net_init(struct rds_net *rn);
void rds_bind_net_exit(struct rds_net *rn);
int rds_bind_add(struct rds_sock *rs, const struct rds_addr *addr);
void rds_bind_del(struct rds_sock *rs);
struct rds_sock *rds_bind_lookup(struct rds_net *rn,
				 const struct in6_addr *ip, u32 ifindex,
				 __be16 port);

#endif /* _RDS_CORE_BIND_H */
