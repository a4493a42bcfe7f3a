/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections that nobody uses. */
#ifndef _RDS_CORE_CONN_REAP_H
#define _RDS_CORE_CONN_REAP_H

#include <linux/in6.h>

#include "conn.h"

void rds_conn_thin_out(struct rds_net *rn);
bool rds_conn_reap_idle(struct rds_net *rn, kuid_t uid);
bool rds_conn_is_abandoned(const struct rds_conn *conn, unsigned int own);
bool rds_conn_is_left(const struct rds_conn *conn);
unsigned int rds_conn_forget(struct rds_net *rn, const struct in6_addr *faddr);
bool rds_conn_stranger_has_room(struct rds_net *rn,
				const struct in6_addr *faddr);
void rds_conn_reap_work(struct work_struct *work);
void rds_conn_reap_later(struct rds_net *rn);
void rds_conn_sweep_later(struct rds_net *rn);

#endif /* _RDS_CORE_CONN_REAP_H */
