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
 *  2. mark its paths dead under cp_lock: nobody queues to them any more;
 *  3. drop them, and wait for their work: nothing connects or shuts down
 *     beside;
 *  4. shut the transport down under cp_xmit_lock: nothing sends, nothing is
 *     delivered, and the transport calls no more;
 *  5. cancel what is queued, and free what the transport hung on the paths;
 *  6. the table's reference. A late kick finds the path dead.
 *
 * A connection that the peer has made, and that no socket of this host has
 * used, has nothing to remember either: it goes when it is disconnected
 * (conn_reap.c). So does one that a socket has had made and that was never UP,
 * when no socket and no message refers to it any more. Others stay: the number
 * that a peer's next message must have is what tells a message sent twice.
 *
 * Locks: c_lane_lock > rn_lock (both sleep) > cp_xmit_lock (of loopback) >
 * cp_lock; rn_lock > cm_lock. Steps 2 to 6 run without rn_lock, for the work
 * that step 3 waits for may take it.
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "addr.h"
#include "cong.h"
#include "conn.h"
#include "conn_limit.h"
#include "conn_reap.h"
#include "lanes.h"
#include "path_work.h"

static const struct rhashtable_params rds_conn_params = {
	.key_len	= sizeof(struct rds_conn_key),
	.key_offset	= offsetof(struct rds_conn, c_key),
	.head_offset	= offsetof(struct rds_conn, c_node),
	.automatic_shrinking = true,
};

/**
 * rds_conn_new_gen() - draw another generation number
 * @rn: the namespace; it has forgotten connections that were used
 *
 * Context: process.
 */
void rds_conn_new_gen(struct rds_net *rn)
{
	WRITE_ONCE(rn->rn_gen, get_random_u32() ?: 1);
}

int rds_conn_net_init(struct rds_net *rn)
{
	mutex_init(&rn->rn_lock);
	rds_conn_limit_net_init(rn);
	INIT_DELAYED_WORK(&rn->rn_reap, rds_conn_reap_work);
	rds_conn_new_gen(rn);
	INIT_LIST_HEAD(&rn->rn_conn_list);
	return rhashtable_init(&rn->rn_conns, &rds_conn_params);
}

void rds_conn_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(!list_empty(&rn->rn_conn_list));
	rhashtable_destroy(&rn->rn_conns);
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
static void rds_conn_free_pongs(struct rds_cpath *cp)
{
	struct llist_node *pongs = llist_del_all(&cp->cp_pongs);
	struct rds_message *msg, *next;

	llist_for_each_entry_safe(msg, next, pongs, m_pong) {
		atomic_dec(&cp->cp_conn->c_rn->rn_npongs);
		rds_message_put(msg);
	}
}

static void rds_conn_free(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = conn->c_lanes[i];
		if (!cp)
			continue;
		rds_conn_free_pongs(cp);
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

/* The same at both ends */
static u32 rds_conn_hash(const struct rds_conn_key *key, bool is_lower)
{
	const struct in6_addr *lower = is_lower ? &key->laddr : &key->faddr;
	const struct in6_addr *higher = is_lower ? &key->faddr : &key->laddr;

	return jhash(higher, sizeof(*higher), jhash(lower, sizeof(*lower), 0));
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
	mutex_init(&conn->c_lane_lock);
	conn->c_gen = READ_ONCE(rn->rn_gen);
	conn->c_epoch = get_random_u32() >> 8;
	conn->c_npaths = 1;
	conn->c_wanted = 1;
	rds_cpath_init(&conn->c_path, conn, 0, rds_path_work);
	conn->c_is_lower = rds_path_is_lower(&conn->c_path.cp_pub);
	conn->c_hash = rds_conn_hash(key, conn->c_is_lower);
	conn->c_lanes[0] = &conn->c_path;
	conn->c_fan_path = &conn->c_path;
	if (conn->c_path.cp_multi)
		rds_lanes_init(conn);

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

/**
 * rds_conn_add_lane() - the lane of a connection, made if it is not there
 * @conn: the connection
 * @i: its number, below RDS_MAX_PATHS
 *
 * Context: process, may sleep. rn_lock is held.
 * Return: the lane, or NULL without memory, or if the connection is being
 * destroyed.
 */
struct rds_cpath *rds_conn_add_lane(struct rds_conn *conn, unsigned int i)
	__must_hold(&conn->c_rn->rn_lock)
{
	const struct rds_conn_ops *ops = conn->c_key.trans->conn;
	struct rds_cpath *cp = conn->c_lanes[i];

	lockdep_assert_held(&conn->c_rn->rn_lock);

	if (cp)
		return cp;
	if (list_empty(&conn->c_item))
		return NULL;

	cp = kzalloc(sizeof(*cp), GFP_KERNEL_ACCOUNT);
	if (!cp)
		return NULL;

	rds_cpath_init(cp, conn, i, rds_path_work);
	if (ops->path_alloc && ops->path_alloc(&cp->cp_pub)) {
		kfree(cp);
		return NULL;
	}
	/* Pairs with the acquire in rds_conn_lane(). */
	smp_store_release(&conn->c_lanes[i], cp);
	return cp;
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

/**
 * rds_conn_lookup() - find a connection
 * @rn: the namespace
 * @key: what it is found by
 *
 * Context: any.
 * Return: the connection with a reference for the caller, or NULL.
 */
struct rds_conn *rds_conn_lookup(struct rds_net *rn,
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
					const struct rds_conn_key *key,
					kuid_t uid)
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

	ret = rds_conn_charge(conn, uid);
	if (ret)
		goto err_free;

	rds_conn_hold(conn);
	ret = rhashtable_insert_fast(&rn->rn_conns, &conn->c_node,
				     rds_conn_params);
	if (ret)
		goto err_uncharge;

	rds_conn_watch_cong(conn);
	list_add_tail(&conn->c_item, &rn->rn_conn_list);
	if (rds_conn_loops(conn))
		WRITE_ONCE(rn->rn_loop_conns, rn->rn_loop_conns + 1);
	return conn;

err_uncharge:
	rds_conn_uncharge(conn);
err_free:
	rds_conn_free_path(&conn->c_path);
	rds_conn_free(conn);
	return ERR_PTR(-ENOMEM);
}

/**
 * rds_conn_remove() - take a connection out of table and list
 * @conn: the connection; the reference of the table is the caller's now
 *
 * Context: process. rn_lock is held.
 */
void rds_conn_remove(struct rds_conn *conn)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_net *rn = conn->c_rn;

	lockdep_assert_held(&rn->rn_lock);
	rhashtable_remove_fast(&rn->rn_conns, &conn->c_node, rds_conn_params);
	list_del_init(&conn->c_item);
	rds_conn_uncharge(conn);
	if (rds_conn_loops(conn))
		WRITE_ONCE(rn->rn_loop_conns, rn->rn_loop_conns - 1);
}

/* Of a loopback connection the way back, for who has had the way there made */
static struct rds_conn *rds_conn_get_reverse(const struct rds_conn *there,
					     const struct rds_conn_key *key)
{
	struct rds_net *rn = there->c_rn;
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn)
		return conn;

	mutex_lock(&rn->rn_lock);
	conn = rds_conn_lookup(rn, key);
	if (!conn)
		conn = rds_conn_create(rn, key, there->c_uid);
	mutex_unlock(&rn->rn_lock);
	return conn;
}

/* What is in the table while rn_lock is held is not dead. */
static struct rds_conn *rds_conn_make(struct rds_net *rn,
				      const struct rds_conn_key *key,
				      kuid_t uid)
{
	struct rds_conn *conn;
	int ret;

	mutex_lock(&rn->rn_lock);
	conn = rds_conn_lookup(rn, key);
	if (conn)
		goto out;
	ret = rds_conn_limit(rn, uid);
	conn = ret ? ERR_PTR(ret) : rds_conn_create(rn, key, uid);
	if (!IS_ERR(conn) && !rds_conn_loops(conn))
		rds_conn_sweep_later(rn);
out:
	mutex_unlock(&rn->rn_lock);
	return conn;
}

/* Beyond a limit idle ones make room. */
static struct rds_conn *rds_conn_make_room(struct rds_net *rn,
					   const struct rds_conn_key *key,
					   kuid_t uid)
{
	struct rds_conn *conn;

	if (key->trans->caps & RDS_CAP_LOOPBACK)
		rds_conn_thin_out(rn);
	conn = rds_conn_make(rn, key, uid);
	if (conn == ERR_PTR(-EUSERS)) {
		if (rds_conn_reap_idle(rn, INVALID_UID))
			conn = rds_conn_make(rn, key, uid);
	} else if (conn == ERR_PTR(-EDQUOT)) {
		if (rds_conn_reap_idle(rn, uid))
			conn = rds_conn_make(rn, key, uid);
	}

	if (conn == ERR_PTR(-EUSERS))
		rds_stat_inc(rn, conn_refused_net);
	else if (conn == ERR_PTR(-EDQUOT))
		rds_stat_inc(rn, conn_refused_user);
	return conn;
}

/**
 * rds_conn_get_for_user() - find or make a connection that a user asks for
 * @rn: the namespace
 * @key: what it is found by; its transport must be pinned by the caller
 * @uid: who asks
 *
 * Anybody may send to any address, so there are limits to what is made: see
 * conn_limit.c.
 *
 * Context: process, may sleep; not the work of a path, for which it may wait.
 * Takes rn_lock if there is none yet, or if it is about to go.
 * Return: the connection with a reference for the caller; or an error
 * pointer: -ENOMEM; -ENETDOWN if the namespace is going away; -EUSERS if there
 * are too many connections; -EDQUOT if the user has had too many made; or what
 * the transport's path_alloc() returned.
 */
struct rds_conn *rds_conn_get_for_user(struct rds_net *rn,
				       const struct rds_conn_key *key,
				       kuid_t uid)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn && READ_ONCE(conn->c_path.cp_dead)) {
		rds_conn_put(conn);
		conn = NULL;
	}
	if (!conn)
		conn = rds_conn_make_room(rn, key, uid);
	if (!IS_ERR(conn))
		rds_conn_set_used(conn);
	return conn;
}

/**
 * rds_conn_get_for_peer() - find or make a connection that a peer asks for
 * @rn: the namespace
 * @key: as for rds_conn_get_for_user()
 *
 * Context: process, may sleep. rn_lock is held.
 * Return: as rds_conn_get_for_user(), but -EAGAIN if there are too many, or too
 * many that nobody here uses; conn_ops.accept_again() will tell.
 */
struct rds_conn *rds_conn_get_for_peer(struct rds_net *rn,
				       const struct rds_conn_key *key)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	lockdep_assert_held(&rn->rn_lock);

	if (conn)
		return conn;
	if (!rds_conn_stranger_has_room(rn, &key->faddr))
		return ERR_PTR(-EAGAIN);
	return rds_conn_create(rn, key, INVALID_UID);
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
 * error pointer: -ENOMEM, -ENETDOWN, or what path_alloc() returned.
 */
struct rds_path *rds_path_get_reverse(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_conn_key key = cp->cp_conn->c_key;
	struct rds_conn *conn;

	swap(key.laddr, key.faddr);
	if (ipv6_addr_equal(&key.laddr, &key.faddr))
		key.passive = !key.passive;

	conn = rds_conn_get_reverse(cp->cp_conn, &key);
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
		if (conn->c_lanes[i])
			rds_conn_mark_dead(conn->c_lanes[i], reason);
	}
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		if (conn->c_lanes[i])
			rds_conn_kill_path(conn->c_lanes[i]);
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

/**
 * rds_paths_drop() - have all connections of a transport made anew
 * @net: the namespace
 * @trans: the transport
 * @reason: why
 *
 * Context: process, may sleep. Takes rn_lock.
 */
void rds_paths_drop(struct net *net, const struct rds_transport *trans,
		    enum rds_drop_reason reason)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn;
	unsigned int i;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (conn->c_key.trans != trans)
			continue;
		for (i = 0; i < RDS_MAX_PATHS; i++) {
			if (conn->c_lanes[i])
				rds_cpath_renew(conn->c_lanes[i], reason);
		}
	}
	mutex_unlock(&rn->rn_lock);
}
EXPORT_SYMBOL_GPL(rds_paths_drop);
