// SPDX-License-Identifier: GPL-2.0-only
/*
 * Detection of connections that are no longer needed, and scheduling of the
 * reaper, which destroys them (conn_reap.c).
 *
 * A connection with a wire that local sockets have used, but that was never UP,
 * is abandoned when only the table and core's own probes refer to it. Then no
 * socket caches it, no message waits on it, and no work item of its paths is
 * queued. A path's work item checks this before it dials again. The reaper
 * looks for abandoned connections that no work item dials. It runs
 * periodically, as long as there is a connection that was never UP.
 */
#include "compat.h"
#include "conn_idle.h"

/* Delay of a reaper run, so that one run serves several connections */
#define RDS_REAP_DELAY		(HZ / 20)

/* How often the reaper looks at connections that were never UP */
#define RDS_SWEEP_INTERVAL	(5 * HZ)

/* A connection that is dropped while it comes up may have delivered messages
 * already, so look at the receive sequence number too.
 */
static bool rds_conn_was_up(const struct rds_conn *conn)
{
	const struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp && (READ_ONCE(cp->cp_dial.pd_established) ||
			   atomic64_read(&cp->cp_pub.next_rx_seq) != 1))
			return true;
	}
	return false;
}

/**
 * rds_conn_was_never_up() - Check whether a used connection was never UP
 * @conn: the connection
 *
 * Context: Any.
 * Return: true if a socket of this host has used the connection, it has a wire,
 * and it has never been UP.
 */
bool rds_conn_was_never_up(const struct rds_conn *conn)
{
	return !rds_conn_loops(conn) && READ_ONCE(conn->c_used) &&
	       !rds_conn_was_up(conn);
}

/* Count the probes that wait for a peer which was never reached. RDS itself
 * sends them, so they do not show that a user needs the connection.
 */
static unsigned int rds_conn_nr_probes(const struct rds_conn *conn)
{
	const struct rds_cpath *cp;
	unsigned int i, nr = 0;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp)
			nr += atomic_read(&cp->cp_hs.ph_nprobes);
	}
	return nr;
}

/**
 * rds_conn_is_abandoned() - Check whether all users have abandoned a connection
 * @conn: the connection, with a wire
 * @own: number of references that the caller holds
 *
 * A sender may look the connection up at the same moment. It then holds a
 * reference, and finds the path either DOWN with no attempt planned, or dead.
 *
 * Context: Any.
 * Return: true if the connection was used but never UP, and only the table, the
 * caller and its own probes refer to it.
 */
bool rds_conn_is_abandoned(const struct rds_conn *conn, unsigned int own)
{
	/* A probe is counted after its reference is taken, until it is put. */
	return rds_conn_was_never_up(conn) &&
	       refcount_read(&conn->c_refs) <=
			1 + own + rds_conn_nr_probes(conn);
}

/**
 * rds_conn_is_unneeded() - Check whether no local user needs the connection
 * @conn: the connection, with a wire
 *
 * Context: Process context, from the work item of one of its paths, which holds
 * a reference.
 * Return: true if no socket of this host has used the connection, or if it is
 * abandoned.
 */
bool rds_conn_is_unneeded(const struct rds_conn *conn)
{
	/* The path's state is stored before the references are read, and
	 * before the caller checks whether the peer has knocked. Pairs with the
	 * barriers in rds_cpath_connect_soon() and in rds_accept_knock().
	 */
	smp_mb();
	return !READ_ONCE(conn->c_used) || rds_conn_is_abandoned(conn, 1);
}

/* Do not postpone a run that is due earlier. */
static void rds_conn_reap_within(struct rds_net *rn, unsigned long delay)
{
	struct delayed_work *work = &rn->rn_reap;

	/* Do not use rds_wq: the reaper waits for work items on rds_wq, which
	 * could be queued behind it.
	 */
	if (queue_delayed_work(system_unbound_wq, work, delay))
		return;
	if (timer_pending(&work->timer) &&
	    time_after(READ_ONCE(work->timer.expires), jiffies + delay))
		mod_delayed_work(system_unbound_wq, work, delay);
}

/**
 * rds_conn_reap_later() - Schedule the reaper to run soon
 * @rn: the namespace
 *
 * To be called when a connection may have lost its last user.
 *
 * Context: Any.
 */
void rds_conn_reap_later(struct rds_net *rn)
{
	rds_conn_reap_within(rn, RDS_REAP_DELAY);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_conn_reap_later);

/**
 * rds_conn_sweep_later() - Schedule the reaper to look for connections never UP
 * @rn: the namespace
 *
 * The reaper schedules itself again until each such connection has come UP, or
 * is abandoned.
 *
 * Context: Any.
 */
void rds_conn_sweep_later(struct rds_net *rn)
{
	rds_conn_reap_within(rn, RDS_SWEEP_INTERVAL);
}
