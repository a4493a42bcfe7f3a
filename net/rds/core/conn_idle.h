/* SPDX-License-Identifier: GPL-2.0-only */
/* Detection of connections that are no longer needed. */
#ifndef _RDS_CORE_CONN_IDLE_H
#define _RDS_CORE_CONN_IDLE_H

#include "conn.h"

bool rds_conn_was_never_up(const struct rds_conn *conn);
bool rds_conn_is_abandoned(const struct rds_conn *conn, unsigned int own);
bool rds_conn_is_unneeded(const struct rds_conn *conn);
void rds_conn_reap_later(struct rds_net *rn);
void rds_conn_sweep_later(struct rds_net *rn);

/**
 * rds_conn_is_unused() - Check whether no local socket has used a connection
 * @conn: the connection
 *
 * Context: Any.
 * Return: true if no socket of this host has used the connection, and its
 * transport is not a loopback transport.
 */
static inline bool rds_conn_is_unused(const struct rds_conn *conn)
{
	return !rds_conn_loops(conn) && !READ_ONCE(conn->c_used);
}

#endif /* _RDS_CORE_CONN_IDLE_H */
