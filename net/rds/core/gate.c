// SPDX-License-Identifier: GPL-2.0-only
/*
 * The gate of a path: whether messages may be sent on a path that is UP.
 *
 * The congestion map and unnumbered handshake frames always pass the gate.
 * Probes, replies and pongs pass when they are first in the queue. Messages
 * wait
 *
 * - on each path but the first one in use (c_fan_path), until all messages that
 *   were queued before messages began to spread have arrived (multipath.c);
 * - if the peer runs our implementation, until its handshake frame has arrived
 *   on this very connection. The peer might be another incarnation, for which
 *   neither the messages nor their sequence numbers are meant. Our
 *   implementation sends the frame at once;
 * - if the peer runs another implementation and announces a generation number,
 *   until its handshake frame has arrived on path 0, as it sends none on other
 *   paths. It may have restarted, and connected this path right after path 0;
 * - if the peer is not known yet and this is not the path's first connection,
 *   until its handshake frame has arrived on this connection;
 * - if we dialed, and the peer runs another implementation or is not known,
 *   until any data has arrived on this connection. A stock acceptor may still
 *   reset a connection after it has acknowledged data. It sends its congestion
 *   map first.
 *
 * A handshake frame counts when the work item has acted on it. If the peer is
 * another incarnation, the messages waiting on any path have been marked by
 * then as not meant for it.
 *
 * If we dialed a connection and no data has arrived on it, the peer may not
 * know of the connection. The peer's TCP acknowledges all data nevertheless,
 * until a path of the peer takes the connection, or forever. The gate of such a
 * silent connection never opens. After a while the connection is dropped and
 * dialed again. Our implementation sends a handshake frame on each connection
 * that it takes, so the wait for the frame has no time limit. For other
 * implementations the wait is limited once data has arrived, if the peer dialed
 * the connection, or if the path is not path 0: on other paths some of them
 * send nothing unless asked.
 */
#include "compat.h"
#include "conn.h"
#include "gate.h"
#include "multipath.h"
#include "upper.h"

/* Time limit for the handshake frame of another implementation, in jiffies */
#define RDS_GATE_HANDSHAKE	HZ

/* How long a connection may be silent, in jiffies. As the peer may be slow, the
 * time doubles with each silent connection in a row, up to this many times.
 */
#define RDS_GATE_SILENCE	(2 * HZ)
#define RDS_GATE_MAX_DOUBLINGS	4

/* Interval at which a pending barrier is looked at again, in jiffies */
#define RDS_GATE_BARRIER	(HZ / 20)

/* An earlier connection of this path may have carried messages. */
static bool rds_gate_is_second(const struct rds_cpath *cp)
{
	return cp->cp_dial.pd_established > 1;
}

/**
 * rds_gate_begin() - Start the time limits of the gate
 * @cp: the path, about to come UP
 *
 * Context: Any.
 */
void rds_gate_begin(struct rds_cpath *cp)
{
	unsigned int doublings = min_t(unsigned int, RDS_GATE_MAX_DOUBLINGS,
				       READ_ONCE(cp->cp_gate.pg_unheard));

	WRITE_ONCE(cp->cp_gate.pg_opens_at, jiffies + RDS_GATE_HANDSHAKE);
	WRITE_ONCE(cp->cp_gate.pg_silent_until,
		   jiffies + (RDS_GATE_SILENCE << doublings));
}

static bool rds_gate_awaits_handshake(const struct rds_cpath *cp)
{
	/* Pairs with the release in rds_mp_apply(). */
	return !smp_load_acquire(&cp->cp_hs.ph_known);
}

static bool rds_gate_awaits_peer(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	if (READ_ONCE(conn->c_peer_hs.ours))
		return rds_gate_awaits_handshake(cp);
	if (READ_ONCE(conn->c_peer_hs.id) &&
	    rds_gate_awaits_handshake(rds_conn_path(conn, 0)))
		return true;
	if (rds_gate_is_second(cp) && !READ_ONCE(conn->c_has_handshake))
		return rds_gate_awaits_handshake(cp);
	return !rds_cpath_is_accepted(cp) &&
	       !READ_ONCE(cp->cp_rx.pr_heard);
}

/* Check whether the peer may not know of the connection. */
static bool rds_gate_is_silent(const struct rds_cpath *cp)
{
	if (READ_ONCE(cp->cp_rx.pr_heard) ||
	    rds_cpath_is_accepted(cp))
		return false;
	return READ_ONCE(cp->cp_conn->c_peer_hs.ours) || !cp->cp_pub.index;
}

/* Check whether the peer has used up its time to send a handshake frame. */
static bool rds_gate_is_over(const struct rds_cpath *cp)
{
	return !READ_ONCE(cp->cp_conn->c_peer_hs.ours) &&
	       !rds_gate_is_silent(cp) &&
	       time_after_eq(jiffies, READ_ONCE(cp->cp_gate.pg_opens_at));
}

static bool rds_gate_awaits_barrier(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return cp != READ_ONCE(conn->c_fan_path) &&
	       READ_ONCE(conn->c_fan) != RDS_FAN_OPEN;
}

/* Messages wait for the path's work item, which has been kicked, to act. */
static bool rds_gate_awaits_work(const struct rds_cpath *cp)
{
	return rds_cpath_is_learning(cp) ||
	       test_bit(RDS_PF_FLUSH, &cp->cp_flags);
}

/* Check the peer first: the flags for the work item and the state of the
 * barrier are set before the peer counts as known.
 */
static bool rds_gate_is_shut(const struct rds_cpath *cp)
{
	if (rds_gate_awaits_peer(cp) && !rds_gate_is_over(cp))
		return true;
	return rds_gate_awaits_work(cp) || rds_gate_awaits_barrier(cp);
}

/**
 * rds_gate_update() - Open the gate unless something keeps it shut
 * @cp: the path, UP
 *
 * Once open, the gate stays open until the connection is lost. Any change that
 * may open the gate kicks the path's work item.
 *
 * Context: Process context. cp_xmit_lock is held.
 */
void rds_gate_update(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	if (likely(!cp->cp_gate.pg_shut) || rds_gate_is_shut(cp))
		return;
	WRITE_ONCE(cp->cp_gate.pg_shut, false);
	rds_upper_event(cp->cp_conn, RDS_UPPER_PEER, 0);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_gate_update);

/**
 * rds_gate_expire() - Drop a connection that has been silent for too long
 * @cp: the path
 *
 * Context: Process context, the path's work item, which shuts the connection
 * down next.
 */
void rds_gate_expire(struct rds_cpath *cp)
{
	if (!rds_cpath_can(cp, RDS_CAP_HANDSHAKE) ||
	    rds_cpath_state(cp) != RDS_PATH_UP ||
	    !rds_gate_is_silent(cp) ||
	    time_before(jiffies, READ_ONCE(cp->cp_gate.pg_silent_until)))
		return;
	if (cp->cp_gate.pg_unheard < RDS_GATE_MAX_DOUBLINGS)
		WRITE_ONCE(cp->cp_gate.pg_unheard, cp->cp_gate.pg_unheard + 1);
	rds_path_drop(&cp->cp_pub, RDS_DROP_SILENT);
}

/* Return in how many jiffies time alone opens the gate; LONG_MAX if never. */
static long rds_gate_opening(const struct rds_cpath *cp)
{
	if (!READ_ONCE(cp->cp_gate.pg_shut) || rds_gate_awaits_barrier(cp) ||
	    READ_ONCE(cp->cp_conn->c_peer_hs.ours))
		return LONG_MAX;
	return max_t(long, READ_ONCE(cp->cp_gate.pg_opens_at) - jiffies, 1);
}

/**
 * rds_gate_delay() - Get the delay until the gate must be looked at again
 * @cp: the path
 *
 * Context: Process context, the path's work item, after it has tried to send.
 * Return: the delay in jiffies; LONG_MAX if a kick will come when it is due.
 */
long rds_gate_delay(const struct rds_cpath *cp)
{
	if (!rds_cpath_can(cp, RDS_CAP_HANDSHAKE) ||
	    rds_cpath_state(cp) != RDS_PATH_UP)
		return LONG_MAX;
	if (cp == READ_ONCE(cp->cp_conn->c_fan_path) &&
	    rds_mp_barrier_pending(cp->cp_conn))
		return RDS_GATE_BARRIER;
	if (rds_gate_is_silent(cp))
		return max_t(long, READ_ONCE(cp->cp_gate.pg_silent_until) -
			     jiffies, 1);
	return rds_gate_opening(cp);
}
