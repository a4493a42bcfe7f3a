/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections that nobody uses. */
#ifndef _RDS_CORE_CONN_REAP_H
#define _RDS_CORE_CONN_REAP_H

#include <linux/in6.h>

#include "rds_net.h"

bool rds_conn_loop_has_room(struct rds_net *rn);
bool rds_conn_stranger_has_room(struct rds_net *rn,
				const struct in6_addr *faddr);
void rds_conn_reap_work(struct work_struct *work);
void rds_conn_reap_later(struct rds_net *rn);

#endif /* _RDS_CORE_CONN_REAP_H */
