/* SPDX-License-Identifier: GPL-2.0-only */
/* The accounts that unread messages are charged to. */
#ifndef _RDS_CORE_ACCOUNT_H
#define _RDS_CORE_ACCOUNT_H

struct net;
struct rds_incoming;
struct sock;

struct sock *rds_account_alloc(struct net *net);
void rds_account_charge(struct sock *account, struct rds_incoming *inc);
void rds_account_uncharge(struct sock *account,
			  const struct rds_incoming *inc);

#endif /* _RDS_CORE_ACCOUNT_H */
