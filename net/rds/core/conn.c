// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: what two addresses share.
 *
 * One per local address, peer, transport, type of service and scope; all
 * sockets use it. Found by RCU, made and destroyed under rn_lock. References:
 * the table's (until rds_conn_destroy_all() or the reaper take it), a socket's
 * cache of the connection it last used, each message on its way, each queued
 * work item, and the loopback path that delivers on it. The last one, which
 * may go in softirq, frees it; by then it has been destroyed.
 *
 * conn_table.c makes it, and finds it; conn_destroy.c destroys it.
 *
 * A connection that the peer has made, and that no socket of this host has
 * used, has nothing to remember either: it goes when it is disconnected
 * (conn_reap.c). So does one that a socket has had made and that was never UP,
 * when no socket and no message refers to it any more. Others stay: the number
 * that a peer's next message must have is what tells a message sent twice.
 *
 * Locks: c_mp_lock > rn_lock (both sleep) > cp_xmit_lock (of loopback) >
 * cp_lock; rn_lock > cm_lock.
 */
#include <linux/slab.h>

#include "cong.h"
#include "conn.h"

static void rds_conn_free(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = conn->c_paths[i];
		if (cp != &conn->c_path)
			kfree(cp);
	}
	rds_cong_map_put(conn->c_fcong);
	rds_cong_map_put(conn->c_lcong);
	kfree(conn);
}

static void rds_conn_free_rcu(struct rcu_head *rcu)
{
	rds_conn_free(container_of(rcu, struct rds_conn, c_rcu));
}

/**
 * rds_conn_release() - free a connection; see rds_conn_put()
 * @conn: the connection, without references
 *
 * Context: any.
 */
void rds_conn_release(struct rds_conn *conn)
{
	call_rcu(&conn->c_rcu, rds_conn_free_rcu);
}

/**
 * rds_conn_free_path() - undo what the transport has set up for a path
 * @cp: the path, shut down for good
 *
 * Context: process, may sleep.
 */
void rds_conn_free_path(struct rds_cpath *cp)
{
	if (cp->cp_trans->conn->path_free)
		cp->cp_trans->conn->path_free(&cp->cp_pub);
}
