// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of connections, step by step:
 *
 *  1. out of the table and the list: nobody finds it any more;
 *  2. mark its paths dead under cp_lock: nobody queues to them any more;
 *  3. drop them, and wait for their work: nothing connects or shuts down
 *     beside;
 *  4. shut the transport down under cp_xmit_lock: nothing sends, nothing is
 *     delivered, and the transport calls no more;
 *  5. cancel what is queued, and free what the transport hung on the paths;
 *  6. the table's reference. A late kick finds the path dead.
 *
 * Steps 2 to 6 run without rn_lock, for the work that step 3 waits for may take
 * it.
 */
#include "cong.h"
#include "conn_destroy.h"
#include "conn_table.h"
#include "path_work.h"

static void rds_conn_unwatch_cong(struct rds_conn *conn)
{
	spin_lock_bh(&conn->c_lcong->cm_lock);
	list_del_init(&conn->c_cong_item);
	spin_unlock_bh(&conn->c_lcong->cm_lock);
}

/* Steps 2 and 3 of the list at the top, as far as others take notice. */
static void rds_conn_mark_dead(struct rds_cpath *cp,
			       enum rds_drop_reason reason)
{
	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_dead, true);
	spin_unlock_bh(&cp->cp_lock);

	rds_path_drop(&cp->cp_pub, reason);
}

/* Steps 3 to 5. */
static void rds_conn_kill_path(struct rds_cpath *cp)
{
	/* Not cancelled: who kicks at that moment could not tell whether the
	 * work has taken over his reference. A kick may also move the item
	 * that is waited for, hence the loop.
	 */
	while (flush_delayed_work(&cp->cp_work))
		;

	rds_path_shut_down_dead(cp);
	rds_conn_free_path(cp);
}

/**
 * rds_conn_destroy() - destroy a connection
 * @conn: the connection, out of table and list; the reference of those is
 *	taken over
 * @reason: why
 *
 * Context: process, may sleep; not the work of a path. No locks.
 */
void rds_conn_destroy(struct rds_conn *conn, enum rds_drop_reason reason)
{
	unsigned int i;

	rds_conn_unwatch_cong(conn);
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (conn->c_paths[i])
			rds_conn_mark_dead(conn->c_paths[i], reason);
	}
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
 * rds_conn_destroy_all() - destroy the connections of a namespace
 * @rn: the namespace
 * @trans: only those of this transport; NULL for all
 * @reason: why
 *
 * The caller sees to it that sockets make no more of them. The work of one
 * may still make another, which is why rn_lock is not held throughout, and
 * why this goes on until none is left.
 *
 * Context: process, may sleep. Takes rn_lock.
 */
void rds_conn_destroy_all(struct rds_net *rn,
			  const struct rds_transport *trans,
			  enum rds_drop_reason reason)
{
	struct rds_conn *conn;

	while ((conn = rds_conn_unlink(rn, trans)))
		rds_conn_destroy(conn, reason);
	/* What it has taken off the list is gone when it is done. */
	flush_delayed_work(&rn->rn_reap);
}
