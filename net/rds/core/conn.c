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
 * Destroying, step by step:
 *  1. out of the table and the list: nobody finds it any more;
 *  2. mark the path dead under cp_lock: nobody queues to it any more;
 *  3. drop it, and wait for its work: nothing connects or shuts down beside;
 *  4. shut the transport down under cp_xmit_lock: nothing sends, nothing is
 *     delivered, and the transport calls no more;
 *  5. cancel what is queued, and free what the transport hung on the path;
 *  6. the table's reference. A late kick finds the path dead.
 *
 * Locks: rn_lock (sleeps) > cp_xmit_lock (of loopback) > cp_lock; rn_lock >
 * cm_lock. Steps 2 to 6 run without rn_lock, for the work that step 3 waits
 * for may take it.
 */
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "addr.h"
#include "cong.h"
#include "conn.h"
#include "path_work.h"

/* Loopback connections of a namespace before idle ones have to go */
#define RDS_LOOP_CONNS_MAX	4096

/* Until they are looked for again, if there were few */
#define RDS_REAP_INTERVAL	(HZ / 10)

static const struct rhashtable_params rds_conn_params = {
	.key_len	= sizeof(struct rds_conn_key),
	.key_offset	= offsetof(struct rds_conn, c_key),
	.head_offset	= offsetof(struct rds_conn, c_node),
	.automatic_shrinking = true,
};

int rds_conn_net_init(struct rds_net *rn)
{
	mutex_init(&rn->rn_lock);
	INIT_LIST_HEAD(&rn->rn_conn_list);
	return rhashtable_init(&rn->rn_conns, &rds_conn_params);
}

void rds_conn_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(!list_empty(&rn->rn_conn_list));
	rhashtable_destroy(&rn->rn_conns);
}

static bool rds_conn_loops(const struct rds_conn *conn)
{
	return conn->c_key.trans->caps & RDS_CAP_LOOPBACK;
}

/* On loopback the receiver's own map says whether its port is congested. */
static int rds_conn_get_maps(struct rds_conn *conn)
{
	enum rds_cong_side fside = RDS_CONG_REMOTE;
	struct rds_conn_key *key = &conn->c_key;

	if (rds_conn_loops(conn))
		fside = RDS_CONG_LOCAL;

	conn->c_lcong = rds_cong_map_get(conn->c_rn, RDS_CONG_LOCAL,
					 &key->laddr,
					 rds_addr_scope(&key->laddr,
							key->ifindex));
	if (!conn->c_lcong)
		return -ENOMEM;

	conn->c_fcong = rds_cong_map_get(conn->c_rn, fside, &key->faddr,
					 rds_addr_scope(&key->faddr,
							key->ifindex));
	if (!conn->c_fcong)
		return -ENOMEM;

	return 0;
}

/* Pongs that the path's work did not come round to; they hold no reference. */
static void rds_conn_free_pongs(struct rds_conn *conn)
{
	struct llist_node *pongs = llist_del_all(&conn->c_path.cp_pongs);
	struct rds_message *msg, *next;

	llist_for_each_entry_safe(msg, next, pongs, m_pong)
		rds_message_put(msg);
}

static void rds_conn_free(struct rds_conn *conn)
{
	rds_conn_free_pongs(conn);
	rds_cong_map_put(conn->c_fcong);
	rds_cong_map_put(conn->c_lcong);
	kfree(conn);
}

static void rds_conn_free_rcu(struct rcu_head *rcu)
{
	rds_conn_free(container_of(rcu, struct rds_conn, c_rcu));
}

static struct rds_conn *rds_conn_alloc(struct rds_net *rn,
				       const struct rds_conn_key *key)
{
	const struct rds_conn_ops *ops = key->trans->conn;
	struct rds_conn *conn;
	int ret;

	conn = kzalloc(sizeof(*conn), GFP_KERNEL_ACCOUNT);
	if (!conn)
		return ERR_PTR(-ENOMEM);

	conn->c_rn = rn;
	conn->c_key = *key;
	refcount_set(&conn->c_refs, 1);
	INIT_LIST_HEAD(&conn->c_cong_item);
	rds_cpath_init(&conn->c_path, conn, rds_path_work);

	ret = rds_conn_get_maps(conn);
	if (ret)
		goto err_free;

	ret = ops->path_alloc ? ops->path_alloc(&conn->c_path.cp_pub) : 0;
	if (ret)
		goto err_free;

	return conn;

err_free:
	rds_conn_free(conn);
	return ERR_PTR(ret);
}

static void rds_conn_free_path(struct rds_conn *conn)
{
	if (conn->c_key.trans->conn->path_free)
		conn->c_key.trans->conn->path_free(&conn->c_path.cp_pub);
}

static void rds_conn_watch_cong(struct rds_conn *conn)
{
	if (rds_conn_loops(conn))
		return;

	spin_lock_bh(&conn->c_lcong->cm_lock);
	list_add_tail(&conn->c_cong_item, &conn->c_lcong->cm_conns);
	spin_unlock_bh(&conn->c_lcong->cm_lock);
}

static void rds_conn_unwatch_cong(struct rds_conn *conn)
{
	spin_lock_bh(&conn->c_lcong->cm_lock);
	list_del_init(&conn->c_cong_item);
	spin_unlock_bh(&conn->c_lcong->cm_lock);
}

static struct rds_conn *rds_conn_lookup(struct rds_net *rn,
					const struct rds_conn_key *key)
{
	struct rds_conn *conn;

	rcu_read_lock();
	conn = rhashtable_lookup(&rn->rn_conns, key, rds_conn_params);
	if (conn && !refcount_inc_not_zero(&conn->c_refs))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

static struct rds_conn *rds_conn_create(struct rds_net *rn,
					const struct rds_conn_key *key)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn;
	int ret;

	lockdep_assert_held(&rn->rn_lock);

	if (rn->rn_exiting)
		return ERR_PTR(-ENETDOWN);

	conn = rds_conn_alloc(rn, key);
	if (IS_ERR(conn))
		return conn;

	rds_conn_hold(conn);
	ret = rhashtable_insert_fast(&rn->rn_conns, &conn->c_node,
				     rds_conn_params);
	if (ret)
		goto err_free;

	rds_conn_watch_cong(conn);
	list_add_tail(&conn->c_item, &rn->rn_conn_list);
	if (rds_conn_loops(conn))
		WRITE_ONCE(rn->rn_loop_conns, rn->rn_loop_conns + 1);
	return conn;

err_free:
	rds_conn_free_path(conn);
	rds_conn_free(conn);
	return ERR_PTR(-ENOMEM);
}

static void rds_conn_remove(struct rds_conn *conn)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_net *rn = conn->c_rn;

	lockdep_assert_held(&rn->rn_lock);
	rhashtable_remove_fast(&rn->rn_conns, &conn->c_node, rds_conn_params);
	list_del_init(&conn->c_item);
	if (rds_conn_loops(conn))
		WRITE_ONCE(rn->rn_loop_conns, rn->rn_loop_conns - 1);
}

/* The two paths of a loopback pair refer to each other while they are UP. One
 * that somebody uses after all comes up again by itself.
 */
static void rds_conn_quiesce_idle(struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn;

	lockdep_assert_held(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (rds_conn_loops(conn) && refcount_read(&conn->c_refs) <= 2)
			rds_path_shut_down_idle(&conn->c_path);
	}
}

/* Free the loopback connections that nobody uses.
 *
 * Such a connection has nothing to remember: its messages arrive as they are
 * sent. One whose only reference is the table's has no message, no work and
 * no socket; taking that reference leaves it to us alone. A pass that finds
 * little is not repeated at once, for anybody may ask for it.
 */
static void rds_conn_reap_idle(struct rds_net *rn)
{
	struct rds_conn *conn, *next;

	mutex_lock(&rn->rn_lock);
	if (time_before(jiffies, rn->rn_reap_at))
		goto out;

	rds_conn_quiesce_idle(rn);
	list_for_each_entry_safe(conn, next, &rn->rn_conn_list, c_item) {
		if (!rds_conn_loops(conn) ||
		    !refcount_dec_if_one(&conn->c_refs))
			continue;
		rds_conn_remove(conn);
		rds_path_shut_down_dead(&conn->c_path);
		rds_conn_free_path(conn);
		rds_conn_release(conn);
	}
	if (rn->rn_loop_conns > RDS_LOOP_CONNS_MAX / 2)
		rn->rn_reap_at = jiffies + RDS_REAP_INTERVAL;
out:
	mutex_unlock(&rn->rn_lock);
}

static struct rds_conn *rds_conn_get_locked(struct rds_net *rn,
					    const struct rds_conn_key *key)
{
	struct rds_conn *conn;

	mutex_lock(&rn->rn_lock);
	conn = rds_conn_lookup(rn, key);
	if (!conn)
		conn = rds_conn_create(rn, key);
	mutex_unlock(&rn->rn_lock);
	return conn;
}

/**
 * rds_conn_get() - find or make a connection
 * @rn: the namespace
 * @key: what it is found by; its transport must be pinned by the caller
 *
 * Context: process, may sleep. Takes rn_lock if there is none yet.
 * Return: the connection with a reference for the caller; or an error
 * pointer: -ENOMEM; -ENETDOWN if the namespace is going away; or what the
 * transport's path_alloc() returned.
 */
struct rds_conn *rds_conn_get(struct rds_net *rn,
			      const struct rds_conn_key *key)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	return conn ?: rds_conn_get_locked(rn, key);
}

static bool rds_conn_loop_is_full(const struct rds_net *rn)
{
	return READ_ONCE(rn->rn_loop_conns) >= RDS_LOOP_CONNS_MAX;
}

/**
 * rds_conn_get_for_user() - find or make a connection that a user asks for
 * @rn: the namespace
 * @key: as for rds_conn_get()
 *
 * 127.0.0.0/8 alone has addresses for 2^48 connections, and anybody may send
 * between them. Beyond a number of them idle ones make room.
 *
 * Context: process, may sleep; not the work of a path, for which it may wait.
 * Takes rn_lock if there is none yet.
 * Return: as rds_conn_get(). -ENOMEM also if there are too many, all in use.
 */
struct rds_conn *rds_conn_get_for_user(struct rds_net *rn,
				       const struct rds_conn_key *key)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn)
		return conn;

	if ((key->trans->caps & RDS_CAP_LOOPBACK) &&
	    rds_conn_loop_is_full(rn)) {
		rds_conn_reap_idle(rn);
		if (rds_conn_loop_is_full(rn))
			return ERR_PTR(-ENOMEM);
	}
	return rds_conn_get_locked(rn, key);
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
 * rds_path_get_reverse() - the path on which a loopback peer receives
 * @path: the path that sends
 *
 * The two directions between addresses of one host are two connections. That
 * of an address with itself has a passive twin.
 *
 * Context: process, may sleep. Takes rn_lock if there is none yet.
 * Return: the path with a reference, to be given up by rds_path_put(), or an
 * error pointer as rds_conn_get().
 */
struct rds_path *rds_path_get_reverse(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_conn_key key = cp->cp_conn->c_key;
	struct rds_conn *conn;

	swap(key.laddr, key.faddr);
	if (ipv6_addr_equal(&key.laddr, &key.faddr))
		key.passive = !key.passive;

	conn = rds_conn_get(cp->cp_conn->c_rn, &key);
	return IS_ERR(conn) ? ERR_CAST(conn) : &conn->c_path.cp_pub;
}
EXPORT_SYMBOL_GPL(rds_path_get_reverse);

/**
 * rds_path_put() - give up a reference to a path
 * @path: the path
 *
 * Context: any.
 */
void rds_path_put(struct rds_path *path)
{
	rds_conn_put(to_cpath(path)->cp_conn);
}
EXPORT_SYMBOL_GPL(rds_path_put);

/* Steps 2 to 5 of the list at the top. */
static void rds_conn_kill_path(struct rds_cpath *cp,
			       enum rds_drop_reason reason)
{
	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_dead, true);
	spin_unlock_bh(&cp->cp_lock);

	rds_path_drop(&cp->cp_pub, reason);
	/* Not cancelled: who kicks at that moment could not tell whether the
	 * work has taken over his reference. A kick may also move the item
	 * that is waited for, hence the loop.
	 */
	while (flush_delayed_work(&cp->cp_work))
		;

	rds_path_shut_down_dead(cp);
	rds_conn_free_path(cp->cp_conn);
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

	while ((conn = rds_conn_unlink(rn, trans))) {
		rds_conn_unwatch_cong(conn);
		rds_conn_kill_path(&conn->c_path, reason);
		rds_conn_put(conn);
	}
}
