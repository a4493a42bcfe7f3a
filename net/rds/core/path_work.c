// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work item of a path: shut down what was dropped, connect what is to be
 * connected, send what waits.
 *
 * Each step looks at the path as it finds it, so a run for nothing does
 * nothing, and one kick serves whatever came up meanwhile.
 */
#include "conn.h"
#include "path_work.h"
#include "send.h"

#include <trace/events/rds.h>

/* Who redials without having anything to send? Loopback comes up at once. */
static bool rds_path_dials(const struct rds_cpath *cp)
{
	const struct rds_path *path = &cp->cp_pub;

	if (cp->cp_trans->caps & RDS_CAP_LOOPBACK)
		return false;
	if (!(cp->cp_trans->caps & RDS_CAP_LOWER_DIALS))
		return true;
	return memcmp(&path->laddr, &path->faddr, sizeof(path->laddr)) < 0;
}

static void rds_path_shut_down(struct rds_cpath *cp)
{
	if (!rds_cpath_event(cp, RDS_EV_SHUTDOWN))
		return;

	mutex_lock(&cp->cp_xmit_lock);
	cp->cp_trans->conn->path_shutdown(&cp->cp_pub);
	rds_send_reset(cp);
	mutex_unlock(&cp->cp_xmit_lock);

	rds_stat_inc(cp->cp_conn->c_rn, conn_reset);
	if (!rds_cpath_event(cp, RDS_EV_SHUTDOWN_DONE)) {
		rds_cpath_kick(cp, 0);
		return;
	}
	if (rds_path_dials(cp) || !list_empty_careful(&cp->cp_send_queue))
		rds_cpath_connect_later(cp);
}

/**
 * rds_path_shut_down_idle() - take a loopback path down that nobody uses
 * @cp: the path
 *
 * Nothing is lost if somebody does after all. In the states from DROP to DONE
 * the path's work leaves the transport alone.
 *
 * Context: process, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_idle(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP)
		return;

	trace_rds_path_drop(&cp->cp_pub, RDS_DROP_IDLE);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_path_shut_down(cp);
	if (!list_empty_careful(&cp->cp_send_queue))
		rds_cpath_connect_soon(cp);
}

/**
 * rds_path_shut_down_dead() - the last shutdown of a path
 * @cp: the path, marked dead, dropped, and its work cancelled
 *
 * Afterwards the transport is quiet and nothing is queued.
 *
 * Context: process, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_dead(struct rds_cpath *cp)
{
	/* The last run of its work may have brought it up again. */
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_cpath_event(cp, RDS_EV_SHUTDOWN);
	mutex_lock(&cp->cp_xmit_lock);
	cp->cp_trans->conn->path_shutdown(&cp->cp_pub);
	rds_send_purge(cp);
	mutex_unlock(&cp->cp_xmit_lock);
	rds_cpath_event(cp, RDS_EV_SHUTDOWN_DONE);
}

static bool rds_path_connect_due(const struct rds_cpath *cp)
{
	return test_bit(RDS_PF_CONNECT, &cp->cp_flags) &&
	       time_after_eq(jiffies, READ_ONCE(cp->cp_connect_at));
}

/* An attempt still ahead must not be lost to the kick that made us run. */
static void rds_path_rearm(struct rds_cpath *cp)
{
	long delay;

	if (!test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		return;

	delay = READ_ONCE(cp->cp_connect_at) - jiffies;
	rds_conn_hold(cp->cp_conn);
	if (!queue_delayed_work(rds_wq, &cp->cp_work, max(delay, 0L)))
		rds_conn_put(cp->cp_conn);
}

static void rds_path_run(struct rds_cpath *cp)
{
	rds_path_shut_down(cp);

	if (rds_path_connect_due(cp)) {
		clear_bit(RDS_PF_CONNECT, &cp->cp_flags);
		rds_cpath_connect(cp);
	}

	rds_send_queue_pongs(cp);
	rds_send_run_waiting(cp);
	rds_path_rearm(cp);
}

/**
 * rds_path_work() - work function of a path
 * @work: &rds_cpath.cp_work
 *
 * Context: process, may sleep. Never concurrent with itself for one path.
 * Gives up the reference to the connection that came with being queued.
 */
void rds_path_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(to_delayed_work(work),
					    struct rds_cpath, cp_work);

	if (!READ_ONCE(cp->cp_dead))
		rds_path_run(cp);
	rds_conn_put(cp->cp_conn);
}
