// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a path that is UP may carry messages.
 *
 * The congestion map and unnumbered greetings always go, and probes, answers
 * and pongs that are the first in the queue. Messages wait
 *
 * - on all paths but the first to be used, until what went before messages
 *   began to spread has arrived (multipath.c);
 * - for a peer of this implementation, until it has greeted us on this very
 *   connection: it might be another incarnation, for which neither the
 *   messages nor their numbers are meant. It greets at once;
 * - for one that announces a generation, likewise; but on path 0, for it greets
 *   there only, and may have come back with this path right behind;
 * - for one that we do not know yet, likewise, if this is not the first
 *   connection;
 * - for others, if we dialled, until anything has come from them: an acceptor
 *   of the stock kind may still reset a connection after it has acknowledged
 *   what came by it. It sends its congestion map first.
 *
 * Greeted it has when its greeting was heeded: if it is another incarnation,
 * what waits on any path is marked by then as not meant for it.
 *
 * A connection that we have dialled and on which nothing was heard may be one
 * that the peer knows nothing of, while its TCP acknowledges all that goes into
 * it: until there is a place for it, or for good. The gate of such a one never
 * opens; after a while the connection is dropped, and made anew. One of ours
 * greets on every connection that it has, so that its greeting is awaited
 * without a limit. Others are waited for no longer than a while once anything
 * has come from them, or if the connection is one that they have dialled; and
 * so are their paths other than 0, by which some of them say nothing unasked.
 */
#include "conn.h"
#include "gate.h"
#include "multipath.h"

/* How long others may take to greet */
#define RDS_GATE_HANDSHAKE	HZ

/* How long a connection may be silent; the next one twice as long, for the peer
 * may be slow, up to so many times double
 */
#define RDS_GATE_SILENCE	(2 * HZ)
#define RDS_GATE_MAX_DOUBLINGS	4

/* Until a barrier without an answer is looked at again */
#define RDS_GATE_BARRIER	(HZ / 20)

/* A connection before this one may have carried messages. */
static bool rds_gate_is_second(const struct rds_cpath *cp)
{
	return cp->cp_established > 1;
}

/**
 * rds_gate_begin() - from here on messages wait
 * @cp: the path, about to come UP
 *
 * Context: any.
 */
void rds_gate_begin(struct rds_cpath *cp)
{
	unsigned int doublings = min_t(unsigned int, RDS_GATE_MAX_DOUBLINGS,
				       READ_ONCE(cp->cp_unheard));

	WRITE_ONCE(cp->cp_gate_at, jiffies + RDS_GATE_HANDSHAKE);
	WRITE_ONCE(cp->cp_silent_until,
		   jiffies + (RDS_GATE_SILENCE << doublings));
}

static bool rds_gate_awaits_handshake(const struct rds_cpath *cp)
{
	/* Pairs with the release in rds_mp_apply(). */
	return !smp_load_acquire(&cp->cp_known);
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
	return !test_bit(RDS_PF_TAKEN, &cp->cp_flags) &&
	       !READ_ONCE(cp->cp_heard);
}

/* Is it one that the peer may know nothing of? */
static bool rds_gate_is_silent(const struct rds_cpath *cp)
{
	if (READ_ONCE(cp->cp_heard) ||
	    test_bit(RDS_PF_TAKEN, &cp->cp_flags))
		return false;
	return READ_ONCE(cp->cp_conn->c_peer_hs.ours) || !cp->cp_pub.index;
}

/* Does the peer lose what it has to say by taking too long? */
static bool rds_gate_is_over(const struct rds_cpath *cp)
{
	return !READ_ONCE(cp->cp_conn->c_peer_hs.ours) &&
	       !rds_gate_is_silent(cp) &&
	       time_after_eq(jiffies, READ_ONCE(cp->cp_gate_at));
}

static bool rds_gate_awaits_barrier(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return cp != READ_ONCE(conn->c_fan_path) &&
	       READ_ONCE(conn->c_fan) != RDS_FAN_OPEN;
}

/* What the path's work has yet to do; it has been kicked. */
static bool rds_gate_awaits_work(const struct rds_cpath *cp)
{
	return test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags) ||
	       test_bit(RDS_PF_FLUSH, &cp->cp_flags);
}

/* The peer first: what there is to be done, and whether there is a barrier, is
 * said before it is known.
 */
static bool rds_gate_is_shut(const struct rds_cpath *cp)
{
	if (rds_gate_awaits_peer(cp) && !rds_gate_is_over(cp))
		return true;
	return rds_gate_awaits_work(cp) || rds_gate_awaits_barrier(cp);
}

/**
 * rds_gate_update() - open the gate if nothing keeps it shut
 * @cp: the path, UP
 *
 * Once open it stays so until the connection is lost. When it may have to be
 * opened the path's work is kicked.
 *
 * Context: process. cp_xmit_lock is held.
 */
void rds_gate_update(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	if (unlikely(cp->cp_gated) && !rds_gate_is_shut(cp))
		WRITE_ONCE(cp->cp_gated, false);
}

/**
 * rds_gate_expire() - give a connection up on which nothing is heard
 * @cp: the path
 *
 * Context: process, the path's work item, which shuts it down next.
 */
void rds_gate_expire(struct rds_cpath *cp)
{
	if (!cp->cp_multi || rds_cpath_state(cp) != RDS_PATH_UP ||
	    !rds_gate_is_silent(cp) ||
	    time_before(jiffies, READ_ONCE(cp->cp_silent_until)))
		return;
	if (cp->cp_unheard < RDS_GATE_MAX_DOUBLINGS)
		WRITE_ONCE(cp->cp_unheard, cp->cp_unheard + 1);
	rds_path_drop(&cp->cp_pub, RDS_DROP_TIMEOUT);
}

/* When time will open the gate, if it does */
static long rds_gate_opening(const struct rds_cpath *cp)
{
	if (!READ_ONCE(cp->cp_gated) || rds_gate_awaits_barrier(cp) ||
	    READ_ONCE(cp->cp_conn->c_peer_hs.ours))
		return LONG_MAX;
	return max_t(long, READ_ONCE(cp->cp_gate_at) - jiffies, 1);
}

/**
 * rds_gate_delay() - when is the gate of a path to be looked at again?
 * @cp: the path
 *
 * Context: process, the path's work item, after it has tried to send.
 * Return: in how many jiffies; LONG_MAX if a kick will come.
 */
long rds_gate_delay(const struct rds_cpath *cp)
{
	if (!cp->cp_multi || rds_cpath_state(cp) != RDS_PATH_UP)
		return LONG_MAX;
	if (cp == READ_ONCE(cp->cp_conn->c_fan_path) &&
	    rds_mp_wait(cp->cp_conn))
		return RDS_GATE_BARRIER;
	if (rds_gate_is_silent(cp))
		return max_t(long, READ_ONCE(cp->cp_silent_until) - jiffies, 1);
	return rds_gate_opening(cp);
}
