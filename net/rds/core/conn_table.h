/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of a namespace's connections. */
#ifndef _RDS_CORE_CONN_TABLE_H
#define _RDS_CORE_CONN_TABLE_H

#include "conn.h"

void rds_conn_table_init(work_func_t path_work);
int rds_conn_net_init(struct rds_net *rn);
void rds_conn_net_exit(struct rds_net *rn);
struct rds_conn *rds_conn_lookup(struct rds_net *rn,
				 const struct rds_conn_key *key);
struct rds_conn *rds_conn_alloc(struct rds_net *rn,
				const struct rds_conn_key *key);
int rds_conn_insert(struct rds_conn *conn, kuid_t uid);
void rds_conn_discard(struct rds_conn *conn);
void rds_conn_remove(struct rds_conn *conn);
struct rds_cpath *rds_conn_add_path(struct rds_conn *conn, unsigned int i);

#endif /* _RDS_CORE_CONN_TABLE_H */
