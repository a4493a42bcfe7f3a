/* SPDX-License-Identifier: GPL-2.0-only */
/* The paths of a connection: their number and use. */
#ifndef _RDS_CORE_MULTIPATH_H
#define _RDS_CORE_MULTIPATH_H

#include <linux/jhash.h>

#include "conn.h"

void rds_mp_apply_last(struct rds_cpath *cp);
void rds_mp_work(struct rds_cpath *cp);
bool rds_mp_barrier_pending(const struct rds_conn *conn);

/**
 * rds_mp_pick() - Select the path for messages between two ports
 * @conn: the connection
 * @sport: sending port
 * @dport: receiving port
 *
 * The path follows from a hash of the addresses and the ports. All messages
 * between two sockets take one path, so they stay in order. A socket that talks
 * to many peers uses many paths. A peer that runs our implementation selects
 * the same path for its direction, so a response carries the ack of the message
 * that it responds to.
 *
 * Context: Any. The result may change unless the caller holds cp_lock of the
 * returned path. rds_restart() changes it even then, and flushes the path.
 * Return: the path.
 */
static inline struct rds_cpath *rds_mp_pick(const struct rds_conn *conn,
					    __be16 sport, __be16 dport)
{
	unsigned int npaths = READ_ONCE(conn->c_npaths);
	u32 ports;

	if (npaths <= 1)
		return rds_conn_path(conn, 0);

	if (!conn->c_is_lower)
		swap(sport, dport);
	ports = (u32)be16_to_cpu(sport) << 16 | be16_to_cpu(dport);
	return rds_conn_path(conn, jhash_1word(ports, conn->c_hash) &
				   (npaths - 1));
}

#endif /* _RDS_CORE_MULTIPATH_H */
