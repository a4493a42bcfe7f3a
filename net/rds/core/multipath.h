/* SPDX-License-Identifier: GPL-2.0-only */
/* The paths of a connection: what the peer says of them, and their use. */
#ifndef _RDS_CORE_MULTIPATH_H
#define _RDS_CORE_MULTIPATH_H

#include <linux/jhash.h>

#include "conn.h"

void rds_mp_verify(struct rds_cpath *cp);
void rds_mp_apply_last(struct rds_cpath *cp);
bool rds_mp_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		    bool *turn);
void rds_mp_work(struct rds_cpath *cp);
void rds_mp_write_probe(struct rds_cpath *cp, struct rds_message *msg);
void rds_mp_write_reply(struct rds_cpath *cp, struct rds_message *msg);
bool rds_mp_wait(const struct rds_conn *conn);

/**
 * rds_mp_pick() - the path that messages between two ports take
 * @conn: the connection
 * @sport: sending port
 * @dport: receiving port
 *
 * By addresses and ports: all of a pair of sockets go one way, in order, and
 * one socket that talks to many peers uses many paths. Both ends come to the
 * same result, so that an answer carries the ack of its question.
 *
 * Context: any. The answer may change while nobody holds cp_lock of it.
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
