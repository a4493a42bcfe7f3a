// SPDX-License-Identifier: GPL-2.0-only
/*
 * Destruction of connections, step by step:
 *
 *  1. Remove the connection from the table and the list: look-ups do not find
 *     it any more.
 *  2. Mark its paths dead under cp_lock: no sender queues to them any more.
 *     Tell the user above core.
 *  3. Drop the paths and wait for their work items: nothing connects or shuts
 *     down a path in parallel.
 *  4. Shut the transport down under cp_xmit_lock: nothing is sent or delivered
 *     any more, and the transport makes no more calls for these paths.
 *  5. Purge the queues, and free the transport's part of the paths.
 *  6. Put the table's reference. A late kick finds the path dead and does
 *     nothing.
 *
 * Steps 2 to 6 run without rn_lock, because the work items that step 3 waits
 * for may take it.
 */
#include "cong.h"
#include "conn_destroy.h"
#include "conn_table.h"
#include "path_work.h"
#include "upper.h"

static void rds_conn_unwatch_cong(struct rds_conn *conn)
{
	spin_lock_bh(&conn->c_lcong->cm_lock);
	list_del_init(&conn->c_cong_item);
	spin_unlock_bh(&conn->c_lcong->cm_lock);
}

/* Step 2 of the list at the top, and the drop of step 3: the parts that other
 * contexts notice.
 */
static void rds_conn_mark_dead(struct rds_cpath *cp,
			       enum rds_drop_reason reason)
{
	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_dead, true);
	spin_unlock_bh(&cp->cp_lock);

	rds_path_drop(&cp->cp_pub, reason);
}

/* The wait of step 3, and steps 4 and 5. */
static void rds_conn_kill_path(struct rds_cpath *cp)
{
	/* Flush the work item, do not cancel it: with a cancel, a context
	 * that kicks the path at the same moment could not tell whether the
	 * work item has taken over its reference. A kick may also requeue the
	 * work item that the flush waits for, hence the loop.
	 */
	while (flush_delayed_work(&cp->cp_work))
		;

	rds_path_shut_down_dead(cp);
	rds_conn_free_path(cp);
}

/**
 * rds_conn_destroy() - Destroy a connection
 * @conn: the connection, already removed from the table and the list; the
 *	table's reference passes to this function
 * @reason: the reason to record
 *
 * Context: Process context, may sleep; not from a path's work item. No locks.
 */
void rds_conn_destroy(struct rds_conn *conn, enum rds_drop_reason reason)
{
	unsigned int i;

	rds_conn_unwatch_cong(conn);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (conn->c_paths[i])
			rds_conn_mark_dead(conn->c_paths[i], reason);
	}
	/* The barrier in rds_upper_event() orders this before the event. */
	WRITE_ONCE(conn->c_gone, true);
	rds_upper_event(conn, RDS_UPPER_GONE, 0);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (conn->c_paths[i])
			rds_conn_kill_path(conn->c_paths[i]);
	}
	rds_conn_put(conn);
}

static struct rds_conn *rds_conn_unlink(struct rds_net *rn,
					const struct rds_transport *trans)
{
	struct rds_conn *conn, *found = NULL;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (trans && conn->c_key.trans != trans)
			continue;
		found = conn;
		rds_conn_remove(conn);
		break;
	}
	mutex_unlock(&rn->rn_lock);
	return found;
}

/**
 * rds_conn_destroy_all() - Destroy the connections of a namespace
 * @rn: the namespace
 * @trans: only connections of this transport; NULL for all transports
 * @reason: the reason to record
 *
 * The caller makes sure that sockets create no more such connections. The work
 * item of a path that is being destroyed may still create one. Therefore
 * rn_lock is not held all the time, and the loop runs until no connection is
 * left.
 *
 * Context: Process context, may sleep. Takes rn_lock.
 */
void rds_conn_destroy_all(struct rds_net *rn,
			  const struct rds_transport *trans,
			  enum rds_drop_reason reason)
{
	struct rds_conn *conn;

	mutex_lock(&rn->rn_lock);
	if (!trans || trans == rn->rn_waiting)
		rn->rn_waiting = NULL;
	mutex_unlock(&rn->rn_lock);
	while ((conn = rds_conn_unlink(rn, trans)))
		rds_conn_destroy(conn, reason);
	/* The reaper itself destroys the connections that it has removed from
	 * the list, and tells a transport that there is room. Wait until it is
	 * done.
	 */
	flush_delayed_work(&rn->rn_reap);
}
