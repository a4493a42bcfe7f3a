// SPDX-License-Identifier: GPL-2.0-only
/*
 * How many connections there may be.
 *
 * To send to an address is enough to have one made, and each takes some KiB,
 * and with a wire a socket of the transport. So there are two limits in each
 * namespace: for all connections, and for those that the sockets of one user
 * have had made. The user is who created the socket, by kernel user ID, so
 * that it makes no difference what user namespace that is in.
 *
 * A connection counts as long as it is in the table of its namespace: from
 * rds_conn_create() to rds_conn_remove(). Both hold rn_lock, which guards the
 * counts. A user's entry is there as long as one of his connections is. What a
 * peer has made is nobody's; the way back of a loopback connection is counted
 * as its way there is, but never refused, for that would leave half a
 * connection.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "conn_limit.h"

/**
 * struct rds_conn_user - who has had connections made
 * @cu_node: in &rds_net.rn_conn_users
 * @cu_uid: the user
 * @cu_nr: how many are there
 */
struct rds_conn_user {
	struct hlist_node	cu_node;
	kuid_t			cu_uid;
	unsigned int		cu_nr;
};

/**
 * rds_conn_limit_net_init() - nobody has connections yet
 * @rn: the namespace
 *
 * Context: process.
 */
void rds_conn_limit_net_init(struct rds_net *rn)
{
	hash_init(rn->rn_conn_users);
}

static struct rds_conn_user *rds_conn_user_find(struct rds_net *rn, kuid_t uid)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn_user *user;

	lockdep_assert_held(&rn->rn_lock);

	hash_for_each_possible(rn->rn_conn_users, user, cu_node,
			       __kuid_val(uid)) {
		if (uid_eq(user->cu_uid, uid))
			return user;
	}
	return NULL;
}

/* The owner of another namespace sets its limit, but none above the host's. */
static unsigned int rds_conn_max(const struct rds_net *rn)
{
	const struct rds_net *host = rds_net(&init_net);

	return min(READ_ONCE(rn->rn_sysctl.max_conns),
		   READ_ONCE(host->rn_sysctl.max_conns));
}

/**
 * rds_conn_is_full() - may peers have no more connections made?
 * @rn: the namespace
 *
 * A quarter of what there may be is for the users of this host.
 *
 * Context: process. rn_lock is held.
 * Return: true if there are too many for that.
 */
bool rds_conn_is_full(const struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	unsigned int max = rds_conn_max(rn);

	lockdep_assert_held(&rn->rn_lock);
	return rn->rn_nr_conns >= max - max / 4;
}

/**
 * rds_conn_limit() - may a user have another connection made?
 * @rn: the namespace
 * @uid: the user
 *
 * With CAP_NET_ADMIN over the namespace the limit of the user is no matter.
 *
 * Context: process. rn_lock is held.
 * Return: 0; -EUSERS if the namespace has as many as it may; -EDQUOT if the
 * user has.
 */
int rds_conn_limit(struct rds_net *rn, kuid_t uid)
	__must_hold(&rn->rn_lock)
{
	unsigned int max = READ_ONCE(rn->rn_sysctl.max_conns_per_user);
	const struct rds_conn_user *user;

	lockdep_assert_held(&rn->rn_lock);

	if (rn->rn_nr_conns >= rds_conn_max(rn))
		return -EUSERS;
	user = rds_conn_user_find(rn, uid);
	if (user && user->cu_nr >= max &&
	    !ns_capable_noaudit(rn->rn_net->user_ns, CAP_NET_ADMIN))
		return -EDQUOT;
	return 0;
}

static struct rds_conn_user *rds_conn_user_get(struct rds_net *rn, kuid_t uid)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn_user *user = rds_conn_user_find(rn, uid);

	if (user)
		return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->cu_uid = uid;
	hash_add(rn->rn_conn_users, &user->cu_node, __kuid_val(uid));
	return user;
}

/**
 * rds_conn_charge() - count a connection that goes into the table
 * @conn: the connection
 * @uid: who has had it made; INVALID_UID if no user of this host
 *
 * Context: process, may sleep. rn_lock is held.
 * Return: 0 or -ENOMEM.
 */
int rds_conn_charge(struct rds_conn *conn, kuid_t uid)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_conn_user *user;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	if (uid_valid(uid)) {
		user = rds_conn_user_get(conn->c_rn, uid);
		if (!user)
			return -ENOMEM;
		user->cu_nr++;
	}
	conn->c_uid = uid;
	conn->c_rn->rn_nr_conns++;
	return 0;
}

/**
 * rds_conn_uncharge() - a connection is not in the table any more
 * @conn: the connection, charged
 *
 * Context: process. rn_lock is held.
 */
void rds_conn_uncharge(struct rds_conn *conn)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_conn_user *user;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	conn->c_rn->rn_nr_conns--;
	if (!uid_valid(conn->c_uid))
		return;
	user = rds_conn_user_find(conn->c_rn, conn->c_uid);
	if (WARN_ON_ONCE(!user) || --user->cu_nr)
		return;
	hash_del(&user->cu_node);
	kfree(user);
}
