// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections: the state that all traffic between two addresses shares.
 *
 * There is one connection for each local address, peer, transport, type of
 * service and scope, and all sockets share it. It is looked up under RCU. It is
 * created, and removed from the table, under rn_lock. References are held by
 *
 * - the table, until rds_conn_destroy_all() or the reaper takes that reference
 *   over;
 * - a socket, which caches the connection that it has used last;
 * - each message on its way;
 * - each received message that is unread and counts in c_rx_held;
 * - each queued work item;
 * - the loopback path that delivers on it.
 *
 * The last put, which may happen in softirq, frees the connection. By then it
 * has been destroyed.
 *
 * conn_table.c creates and looks up connections; conn_destroy.c destroys them.
 *
 * conn_reap.c destroys connections that have no state worth keeping:
 *
 * - a connection that the peer has made and no local socket has used, when it
 *   is disconnected;
 * - a connection that was created for a local socket and was never UP, when no
 *   socket and no message refers to it any more;
 * - an idle connection on loopback, if room is needed for others.
 *
 * Any other connection stays until its namespace or transport goes away: the
 * sequence number expected next from the peer is what reveals a duplicate.
 * rds_conn_forget() destroys such connections, too; no command calls it yet.
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
 * rds_conn_release() - Free a connection after a grace period
 * @conn: the connection, without references; see rds_conn_put()
 *
 * Context: Any context.
 */
void rds_conn_release(struct rds_conn *conn)
{
	call_rcu(&conn->c_rcu, rds_conn_free_rcu);
}

/**
 * rds_conn_free_path() - Free what the transport has set up for a path
 * @cp: the path, shut down for the last time
 *
 * Context: Process context, may sleep.
 */
void rds_conn_free_path(struct rds_cpath *cp)
{
	if (cp->cp_trans->conn->path_free)
		cp->cp_trans->conn->path_free(&cp->cp_pub);
}

/**
 * rds_conn_swap() - Exchange the numbers of two paths
 * @conn: the connection
 * @a: a path
 * @b: another path
 *
 * Context: Process context. rn_lock is held.
 */
void rds_conn_swap(struct rds_conn *conn, struct rds_cpath *a,
		   struct rds_cpath *b)
	__must_hold(&conn->c_rn->rn_lock)
{
	lockdep_assert_held(&conn->c_rn->rn_lock);
	swap(a->cp_pub.index, b->cp_pub.index);
	/* Both pair with the acquire in rds_conn_path(). */
	smp_store_release(&conn->c_paths[a->cp_pub.index], a);
	/* As above */
	smp_store_release(&conn->c_paths[b->cp_pub.index], b);
}
