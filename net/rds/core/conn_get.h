/* SPDX-License-Identifier: GPL-2.0-only */
/* Get the connection that a user or a peer asks for. */
#ifndef _RDS_CORE_CONN_GET_H
#define _RDS_CORE_CONN_GET_H

#include "conn.h"

struct rds_conn *rds_conn_get_for_user(struct rds_net *rn,
				       const struct rds_conn_key *key,
				       kuid_t uid);
struct rds_conn *rds_conn_get_for_peer(struct rds_net *rn,
				       const struct rds_conn_key *key);

#endif /* _RDS_CORE_CONN_GET_H */
