// SPDX-License-Identifier: GPL-2.0-only
/*
 * Get the connection that a user or a peer asks for: find it, or create it
 * within the limits.
 */
#include <net/ipv6.h>

#include "conn_get.h"
#include "conn_idle.h"
#include "conn_limit.h"
#include "conn_reap.h"
#include "conn_table.h"

/* Enter a new connection, unless there is one with its key by now. A connection
 * found in the table while rn_lock is held is not dead.
 */
static struct rds_conn *rds_conn_enter(struct rds_conn *new, kuid_t uid,
				       bool limited)
{
	struct rds_net *rn = new->c_rn;
	struct rds_conn *conn;
	int ret;

	mutex_lock(&rn->rn_lock);
	conn = rds_conn_lookup(rn, &new->c_key);
	ret = !conn && limited ? rds_conn_limit(rn, uid) : 0;
	if (!conn && !ret)
		ret = rds_conn_insert(new, uid);
	if (!conn && !ret && limited && !rds_conn_loops(new))
		rds_conn_sweep_later(rn);
	mutex_unlock(&rn->rn_lock);

	if (!conn && !ret)
		return new;
	rds_conn_discard(new);
	return conn ?: ERR_PTR(ret);
}

/* Get the reverse connection on loopback. It is charged to the user of the
 * forward connection.
 */
static struct rds_conn *rds_conn_get_reverse(const struct rds_conn *there,
					     const struct rds_conn_key *key)
{
	struct rds_net *rn = there->c_rn;
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn)
		return conn;

	conn = rds_conn_alloc(rn, key);
	return IS_ERR(conn) ? conn : rds_conn_enter(conn, there->c_uid, false);
}

static struct rds_conn *rds_conn_make(struct rds_net *rn,
				      const struct rds_conn_key *key,
				      kuid_t uid)
{
	struct rds_conn *conn;
	int ret;

	mutex_lock(&rn->rn_lock);
	conn = rds_conn_lookup(rn, key);
	ret = conn ? 0 : rds_conn_limit(rn, uid);
	mutex_unlock(&rn->rn_lock);
	if (ret)
		return ERR_PTR(ret);
	if (conn)
		return conn;

	conn = rds_conn_alloc(rn, key);
	return IS_ERR(conn) ? conn : rds_conn_enter(conn, uid, true);
}

/* If a limit is reached, free idle loopback connections and try once more. */
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
 * rds_conn_get_for_user() - Find or create a connection for a user
 * @rn: the namespace
 * @key: its key; the caller pins the transport in it
 * @uid: the user
 *
 * Any user may send to any address, so the number of connections is limited:
 * see conn_limit.c.
 *
 * Context: Process context, may sleep; not from a path's work item, which this
 * function may wait for. Takes rn_lock if there is no connection yet, or if the
 * one found is being destroyed.
 * Return: the connection with a reference for the caller, or an error pointer:
 * -ENOMEM; -ENETDOWN if the namespace is going away; -EUSERS if there are too
 * many connections; -EDQUOT if the user has created too many; or the error of
 * the transport's path_alloc().
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
 * rds_conn_get_for_peer() - Find or create a connection for a peer
 * @rn: the namespace
 * @key: as for rds_conn_get_for_user()
 *
 * Context: Process context, may sleep. rn_lock is held.
 * Return: as rds_conn_get_for_user(), but -EAGAIN if there are too many
 * connections, or too many that no socket of this host has used. The transport
 * may try again when conn_ops.accept_again() is called.
 */
struct rds_conn *rds_conn_get_for_peer(struct rds_net *rn,
				       const struct rds_conn_key *key)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);
	int ret;

	lockdep_assert_held(&rn->rn_lock);

	if (conn)
		return conn;
	if (!rds_conn_has_room_for_peer(rn, &key->faddr)) {
		if (key->trans->conn->accept_again) {
			rn->rn_waiting = key->trans;
			rn->rn_waiting_at = jiffies;
		}
		return ERR_PTR(-EAGAIN);
	}
	if (rn->rn_exiting)
		return ERR_PTR(-ENETDOWN);
	/* This is a work item, which is in no cgroup that has a limit. */
	conn = rds_conn_alloc(rn, key);
	if (IS_ERR(conn))
		return conn;
	ret = rds_conn_insert(conn, INVALID_UID);
	if (!ret)
		return conn;
	rds_conn_discard(conn);
	return ERR_PTR(ret);
}

/**
 * rds_path_get_reverse() - Get the path on which a loopback peer receives
 * @path: the path that sends
 *
 * The two directions between addresses of one host are two connections. A
 * connection of an address to itself has a passive twin.
 *
 * Context: Process context, may sleep. Takes rn_lock if the reverse connection
 * does not exist yet.
 * Return: the path with a reference, to be put by rds_path_put(), or an error
 * pointer: -ENOMEM, -ENETDOWN, or the error of path_alloc().
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
