// SPDX-License-Identifier: GPL-2.0-only
/*
 * More than one path with peers of other implementations.
 *
 * They are offered one (multipath.c). net.rds.tcp.legacy_multipath offers them
 * more, at the operator's risk: they greet on path 0 only, do not say which
 * probe they answer, and tell of congestion by any path. All that follows is
 * reached in no other way, and does what can be done.
 */
#include "conn.h"
#include "legacy.h"
#include "send.h"

/* Without an answer paths open this long after the last message was acked */
#define RDS_LEGACY_BARRIER	HZ

/* A port that has been free for long may still be marked */
#define RDS_LEGACY_CONG		HZ

/**
 * rds_legacy_knows_us() - has a peer been told how many paths there are?
 * @first: path 0
 * @at: set to when it has shown so last, in jiffies
 *
 * Until then it takes a path for the first, or stops accepting. Its answer to
 * the barrier proves it.
 *
 * Context: any.
 * Return: true if it has.
 */
bool rds_legacy_knows_us(const struct rds_cpath *first, unsigned long *at)
{
	*at = READ_ONCE(first->cp_reply_at);
	return READ_ONCE(first->cp_has_reply) &&
	       READ_ONCE(first->cp_conn->c_fan) == RDS_FAN_OPEN;
}

/**
 * rds_legacy_is_early() - is path 0 about to tell who is there?
 * @conn: the connection
 * @named: the path of a connection that the peer has made
 *
 * If it is another than before, and the path was taken before that is known, it
 * would have to be dropped again, and what was read from it meanwhile be judged
 * by old numbers.
 *
 * Context: process.
 * Return: true if the connection is to wait.
 */
bool rds_legacy_is_early(const struct rds_conn *conn, unsigned int named)
{
	const struct rds_cpath *first = rds_conn_path(conn, 0);

	return named && READ_ONCE(conn->c_peer_hs.id) &&
	       !READ_ONCE(conn->c_peer_hs.ours) &&
	       rds_cpath_state(first) == RDS_PATH_UP &&
	       !READ_ONCE(first->cp_known);
}

/**
 * rds_legacy_is_past_barrier() - has what went before the barrier arrived?
 * @cp: the path that carried it
 *
 * All probes have been answered; or, without an answer, all was acknowledged
 * and a second has passed.
 *
 * Context: process. c_mp_lock is held; takes cp_lock.
 * Return: true if it seems so.
 */
bool rds_legacy_is_past_barrier(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;

	lockdep_assert_held(&conn->c_mp_lock);

	if (!atomic_read(&conn->c_probes))
		return true;
	if (time_before_eq(jiffies, conn->c_fan_at + RDS_LEGACY_BARRIER) ||
	    !rds_send_all_acked(cp, conn->c_fan_ticket))
		return false;
	rds_stat_inc(conn->c_rn, mprds_catchup_tx0_retries);
	return true;
}

/**
 * rds_legacy_cong_patience() - how long to wait for a congested port
 * @conn: the connection
 *
 * That the port is free may have been overtaken by an older map that says that
 * it is not. To send one message all the same is always allowed.
 *
 * Context: any.
 * Return: in jiffies; after that the message goes. MAX_SCHEDULE_TIMEOUT if what
 * the peer says can be relied on.
 */
long rds_legacy_cong_patience(const struct rds_conn *conn)
{
	if (READ_ONCE(conn->c_npaths_wanted) <= 1 ||
	    READ_ONCE(conn->c_peer_hs.ours))
		return MAX_SCHEDULE_TIMEOUT;
	return RDS_LEGACY_CONG;
}
