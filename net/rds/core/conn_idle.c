// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether anybody uses a connection, and when those that nobody uses are
 * looked for; what becomes of them is in conn_reap.c.
 *
 * One with a wire that was never UP is abandoned when only the table and its
 * own probes refer to it: then no socket has it, no message of any waits on it,
 * and no work of its paths is planned. That it is, a path's work finds out
 * before it dials again; and those that nobody dials are looked for now and
 * then, as long as there is any that was never UP.
 */
#include "compat.h"
#include "conn_idle.h"

/* How long such connections are gathered before the disconnected ones go */
#define RDS_REAP_DELAY		(HZ / 20)

/* How often those that were never UP are looked through */
#define RDS_SWEEP_INTERVAL	(5 * HZ)

/* A connection that is given up while it comes up may have delivered. */
static bool rds_conn_was_up(const struct rds_conn *conn)
{
	const struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp && (READ_ONCE(cp->cp_established) ||
			   READ_ONCE(cp->cp_next_rx_seq) > 1))
			return true;
	}
	return false;
}

/**
 * rds_conn_is_unborn() - has a socket had a connection made in vain so far?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so.
 */
bool rds_conn_is_unborn(const struct rds_conn *conn)
{
	return !rds_conn_loops(conn) && READ_ONCE(conn->c_used) &&
	       !rds_conn_was_up(conn);
}

/* Messages of the family's own, which wait for a peer that nobody has met */
static unsigned int rds_conn_nr_probes(const struct rds_conn *conn)
{
	const struct rds_cpath *cp;
	unsigned int i, nr = 0;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp)
			nr += atomic_read(&cp->cp_nprobes);
	}
	return nr;
}

/**
 * rds_conn_is_abandoned() - was it never UP, and does nobody refer to it?
 * @conn: the connection, with a wire
 * @own: references of the caller's own
 *
 * A sender that looks it up at that moment has a reference, and then finds the
 * path DOWN with no attempt planned, or dead.
 *
 * Context: any.
 * Return: true if so.
 */
bool rds_conn_is_abandoned(const struct rds_conn *conn, unsigned int own)
{
	/* A probe is counted after its reference is taken, until it is put. */
	return rds_conn_is_unborn(conn) &&
	       refcount_read(&conn->c_refs) <=
			1 + own + rds_conn_nr_probes(conn);
}

/**
 * rds_conn_is_left() - is there nobody for whom a path would be connected?
 * @conn: the connection, with a wire
 *
 * Context: process, the work of one of its paths, which has a reference.
 * Return: true if no socket has used it, or all who did have abandoned it.
 */
bool rds_conn_is_left(const struct rds_conn *conn)
{
	/* The state is stored before the references are read. Pairs with the
	 * one in rds_cpath_connect_soon().
	 */
	smp_mb();
	return !READ_ONCE(conn->c_used) || rds_conn_is_abandoned(conn, 1);
}

/* A run that is due earlier remains so. */
static void rds_conn_reap_within(struct rds_net *rn, unsigned long delay)
{
	struct delayed_work *work = &rn->rn_reap;

	/* Not on rds_wq: it waits for work there, perhaps behind it. */
	if (queue_delayed_work(system_unbound_wq, work, delay))
		return;
	if (timer_pending(&work->timer) &&
	    time_after(READ_ONCE(work->timer.expires), jiffies + delay))
		mod_delayed_work(system_unbound_wq, work, delay);
}

/**
 * rds_conn_reap_later() - a connection may have been left by everybody
 * @rn: the namespace
 *
 * Context: any.
 */
void rds_conn_reap_later(struct rds_net *rn)
{
	rds_conn_reap_within(rn, RDS_REAP_DELAY);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_conn_reap_later);

/**
 * rds_conn_sweep_later() - there is a connection that was not UP yet
 * @rn: the namespace
 *
 * It is looked at again and again until it was, or is abandoned.
 *
 * Context: any.
 */
void rds_conn_sweep_later(struct rds_net *rn)
{
	rds_conn_reap_within(rn, RDS_SWEEP_INTERVAL);
}
