/* SPDX-License-Identifier: GPL-2.0-only */
/* The reaper: destruction of connections that are no longer needed. */
#ifndef _RDS_CORE_CONN_REAP_H
#define _RDS_CORE_CONN_REAP_H

#include <linux/in6.h>

#include "conn.h"

void rds_conn_reap_net_init(struct rds_net *rn);
void rds_conn_thin_out(struct rds_net *rn);
bool rds_conn_reap_idle(struct rds_net *rn, kuid_t uid);
unsigned int rds_conn_forget(struct rds_net *rn, const struct in6_addr *faddr);
bool rds_conn_has_room_for_peer(struct rds_net *rn,
				const struct in6_addr *faddr);

#endif /* _RDS_CORE_CONN_REAP_H */
