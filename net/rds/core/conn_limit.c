// SPDX-License-Identifier: GPL-2.0-only
/*
 * Limits on the number of connections.
 *
 * A user creates a connection just by sending to an address. Each connection
 * takes some KiB and, with a wire, a socket of the transport. So each namespace
 * has two limits: one for all connections, and one for the connections that the
 * sockets of one user have created. The user is the creator of the socket, by
 * kernel user ID, so user namespaces make no difference.
 *
 * A connection counts while it is in the table of its namespace: from
 * rds_conn_insert() to rds_conn_remove(). Both run under rn_lock, which guards
 * the counts. The entry of a user exists as long as one of the user's
 * connections does. A connection made by a peer is charged to no user. The
 * reverse connection on loopback is charged to the user of the forward one, but
 * never refused: a refusal would leave half a connection.
 */
#include <linux/capability.h>
#include <linux/slab.h>

#include "conn_limit.h"

/**
 * struct rds_conn_user - a user who has created connections
 * @cu_node: in &rds_net.rn_conn_users
 * @cu_uid: the user
 * @cu_nr: number of the user's connections
 */
struct rds_conn_user {
	struct hlist_node	cu_node;
	kuid_t			cu_uid;
	unsigned int		cu_nr;
};

/**
 * rds_conn_limit_net_init() - Initialize the table of users of a namespace
 * @rn: the namespace
 *
 * Context: Process context.
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

/* The owner of a namespace sets its limit, but init_net's limit caps it. */
static unsigned int rds_conn_max(const struct rds_net *rn)
{
	const struct rds_net *host = rds_net(&init_net);

	return min(READ_ONCE(rn->rn_sysctl.max_conns),
		   READ_ONCE(host->rn_sysctl.max_conns));
}

/**
 * rds_conn_is_full() - Check whether peers may make no more connections
 * @rn: the namespace
 *
 * A quarter of the limit is reserved for the users of this host.
 *
 * Context: Process context. rn_lock is held.
 * Return: true if the connections have reached three quarters of the limit.
 */
bool rds_conn_is_full(const struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	unsigned int max = rds_conn_max(rn);

	lockdep_assert_held(&rn->rn_lock);
	return rn->rn_nr_conns >= max - max / 4;
}

/**
 * rds_conn_limit() - Check whether a user may create another connection
 * @rn: the namespace
 * @uid: the user
 *
 * The limit per user does not apply to a caller with CAP_NET_ADMIN over the
 * namespace.
 *
 * Context: Process context. rn_lock is held.
 * Return: 0; -EUSERS if the namespace has reached its limit; -EDQUOT if the
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
	struct rds_conn_user *user;

	lockdep_assert_held(&rn->rn_lock);
	user = rds_conn_user_find(rn, uid);
	if (user)
		return user;
	/* Not charged to a cgroup: see rds_conn_alloc(). */
	user = kzalloc(sizeof(*user), GFP_KERNEL);
	if (!user)
		return NULL;
	user->cu_uid = uid;
	hash_add(rn->rn_conn_users, &user->cu_node, __kuid_val(uid));
	return user;
}

/**
 * rds_conn_charge() - Count a connection that enters the table
 * @conn: the connection
 * @uid: the user who creates it; INVALID_UID if a peer does
 *
 * Context: Process context, may sleep. rn_lock is held.
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
 * rds_conn_uncharge() - Uncount a connection that leaves the table
 * @conn: the connection, charged
 *
 * Context: Process context. rn_lock is held.
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
