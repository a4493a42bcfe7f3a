/* SPDX-License-Identifier: GPL-2.0-only */
/* The lanes of a connection: what the peer says of them, and their use. */
#ifndef _RDS_CORE_LANES_H
#define _RDS_CORE_LANES_H

#include <linux/jhash.h>

#include "conn.h"

void rds_lanes_verify(struct rds_cpath *cp);
void rds_lanes_last_news(struct rds_cpath *cp);
bool rds_lanes_receive(struct rds_cpath *cp, struct rds_incoming *inc,
		       bool *turn);
void rds_lanes_work(struct rds_cpath *cp);
void rds_lanes_write_probe(struct rds_cpath *cp, struct rds_message *msg);
void rds_lanes_write_reply(struct rds_cpath *cp, struct rds_message *msg);
bool rds_lanes_wait(const struct rds_conn *conn);

/**
 * rds_lanes_pick() - the lane that messages between two ports take
 * @conn: the connection
 * @sport: sending port
 * @dport: receiving port
 *
 * By addresses and ports: all of a pair of sockets go one way, in order, and
 * one socket that talks to many peers uses many lanes. Both ends come to the
 * same result, so that an answer carries the ack of its question.
 *
 * Context: any. The answer may change while nobody holds cp_lock of it.
 * Return: the lane.
 */
static inline struct rds_cpath *rds_lanes_pick(const struct rds_conn *conn,
					       __be16 sport, __be16 dport)
{
	unsigned int npaths = READ_ONCE(conn->c_npaths);
	u32 ports;

	if (npaths <= 1)
		return rds_conn_lane(conn, 0);

	if (!conn->c_is_lower)
		swap(sport, dport);
	ports = (u32)be16_to_cpu(sport) << 16 | be16_to_cpu(dport);
	return rds_conn_lane(conn, jhash_1word(ports, conn->c_hash) &
				   (npaths - 1));
}

#endif /* _RDS_CORE_LANES_H */
