// SPDX-License-Identifier: GPL-2.0-only
/*
 * More than one path with peers that run other implementations.
 *
 * By default such peers are offered one path (multipath.c). If
 * net.rds.tcp.legacy_multipath is set, they are offered more, at the operator's
 * risk: such peers send handshake frames on path 0 only, do not indicate which
 * probe a reply belongs to, and send changes of their congestion map on any
 * path. The code in this file has an effect only then. As the peer does not
 * announce enough for exact decisions, this code relies on time limits and
 * assumptions.
 */
#include "conn.h"
#include "legacy.h"
#include "send.h"

/* If no reply arrives, the paths open when the barrier probe is acknowledged,
 * but not before this time has passed since it was queued, in jiffies.
 */
#define RDS_LEGACY_BARRIER	HZ

/* How long to wait for a port that may be free but still marked, in jiffies */
#define RDS_LEGACY_CONG		HZ

/**
 * rds_legacy_knows_us() - Check whether the peer knows how many paths we have
 * @first: path 0
 * @at: set to the time of the last reply, which shows this, in jiffies
 *
 * A peer that does not know it takes a connection for another path to be one
 * for path 0, or stops accepting connections. The reply to the barrier probe
 * proves that the peer knows.
 *
 * Context: Any.
 * Return: true if the peer knows; false otherwise.
 */
bool rds_legacy_knows_us(const struct rds_cpath *first, unsigned long *at)
{
	*at = READ_ONCE(first->cp_hs.ph_reply_at);
	return READ_ONCE(first->cp_hs.ph_has_reply) &&
	       READ_ONCE(first->cp_conn->c_fan) == RDS_FAN_OPEN;
}

/**
 * rds_legacy_is_early() - Check whether a connection must wait for path 0
 * @conn: the connection
 * @named: number of the path that the peer's new connection names
 *
 * The handshake on path 0 is about to identify the peer. If the peer turned out
 * to have restarted after a path had taken the new connection, that connection
 * would have to be dropped again. Messages read from it meanwhile would be
 * checked against the old sequence numbers.
 *
 * Context: Process context.
 * Return: true if the new connection must wait.
 */
bool rds_legacy_is_early(const struct rds_conn *conn, unsigned int named)
{
	const struct rds_cpath *first = rds_conn_path(conn, 0);

	return named && READ_ONCE(conn->c_peer_hs.id) &&
	       !READ_ONCE(conn->c_peer_hs.ours) &&
	       rds_cpath_state(first) == RDS_PATH_UP &&
	       !READ_ONCE(first->cp_hs.ph_known);
}

/**
 * rds_legacy_is_past_barrier() - Check whether a barrier has been passed
 * @cp: the path that carried the barrier probe
 *
 * This is the case when the peer has replied to all probes. Without a reply, it
 * is assumed when all messages up to the barrier probe are acknowledged and a
 * second has passed since the probe was queued.
 *
 * Context: Process context. c_mp_lock is held; takes cp_lock.
 * Return: true if the messages before the barrier seem to have arrived.
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
 * rds_legacy_cong_patience() - Get the time limit of a wait for a port
 * @conn: the connection
 *
 * A map that frees a congested port may be overtaken by an older map that marks
 * it. Sending one message in spite of the mark is always allowed.
 *
 * Context: Any.
 * Return: the limit in jiffies, after which the message is sent;
 * MAX_SCHEDULE_TIMEOUT if the peer's congestion map is reliable.
 */
long rds_legacy_cong_patience(const struct rds_conn *conn)
{
	if (READ_ONCE(conn->c_npaths_wanted) <= 1 ||
	    READ_ONCE(conn->c_peer_hs.ours))
		return MAX_SCHEDULE_TIMEOUT;
	return RDS_LEGACY_CONG;
}
