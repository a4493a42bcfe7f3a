/* SPDX-License-Identifier: GPL-2.0-only */
/* Limits on the number of connections. */
#ifndef _RDS_CORE_CONN_LIMIT_H
#define _RDS_CORE_CONN_LIMIT_H

#include <linux/uidgid.h>

#include "conn.h"

void rds_conn_limit_net_init(struct rds_net *rn);
bool rds_conn_is_full(const struct rds_net *rn);
int rds_conn_limit(struct rds_net *rn, kuid_t uid);
int rds_conn_charge(struct rds_conn *conn, kuid_t uid);
void rds_conn_uncharge(struct rds_conn *conn);

#endif /* _RDS_CORE_CONN_LIMIT_H */
