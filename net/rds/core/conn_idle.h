/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether anybody uses a connection. */
#ifndef _RDS_CORE_CONN_IDLE_H
#define _RDS_CORE_CONN_IDLE_H

#include "conn.h"

bool rds_conn_is_unborn(const struct rds_conn *conn);
bool rds_conn_is_abandoned(const struct rds_conn *conn, unsigned int own);
bool rds_conn_is_left(const struct rds_conn *conn);
void rds_conn_reap_later(struct rds_net *rn);
void rds_conn_sweep_later(struct rds_net *rn);

/**
 * rds_conn_is_unused() - has no socket of this host used a connection?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if none has, and it is not a loopback transport's.
 */
static inline bool rds_conn_is_unused(const struct rds_conn *conn)
{
	return !rds_conn_loops(conn) && !READ_ONCE(conn->c_used);
}

#endif /* _RDS_CORE_CONN_IDLE_H */
