// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of a namespace's connections, and the creation of connections and
 * paths.
 *
 * The work function of a path is in path_work.c, a layer above this file. It is
 * registered here once, by rds_conn_table_init().
 */
#include <linux/jhash.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "addr.h"
#include "cong.h"
#include "conn_limit.h"
#include "conn_table.h"

static const struct rhashtable_params rds_conn_params = {
	.key_len	= sizeof(struct rds_conn_key),
	.key_offset	= offsetof(struct rds_conn, c_key),
	.head_offset	= offsetof(struct rds_conn, c_node),
	.automatic_shrinking = true,
};

static work_func_t rds_conn_path_work __ro_after_init;

/**
 * rds_conn_table_init() - Register the work function of paths
 * @path_work: the work function
 *
 * Context: Process context, before the first connection is created.
 */
void __init rds_conn_table_init(work_func_t path_work)
{
	rds_conn_path_work = path_work;
}

int rds_conn_net_init(struct rds_net *rn)
{
	mutex_init(&rn->rn_lock);
	rds_conn_limit_net_init(rn);
	rds_net_new_gen(rn);
	INIT_LIST_HEAD(&rn->rn_conn_list);
	return rhashtable_init(&rn->rn_conns, &rds_conn_params);
}

void rds_conn_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(!list_empty(&rn->rn_conn_list));
	rhashtable_destroy(&rn->rn_conns);
}

/* On loopback, the receiver's own map holds the state of its ports, so the
 * sender reads that map.
 */
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

/* Hash the two addresses. Both ends compute the same value, if both hosts have
 * the same byte order.
 */
static u32 rds_conn_hash(const struct rds_conn_key *key, bool is_lower)
{
	const struct in6_addr *lower = is_lower ? &key->laddr : &key->faddr;
	const struct in6_addr *higher = is_lower ? &key->faddr : &key->laddr;

	return jhash(higher, sizeof(*higher), jhash(lower, sizeof(*lower), 0));
}

static void rds_conn_init_sw(struct rds_sw *so)
{
	spin_lock_init(&so->sw_lock);
	INIT_LIST_HEAD(&so->sw_ops);
	INIT_LIST_HEAD(&so->sw_responses);
}

static void rds_conn_init_path(struct rds_conn *conn, struct rds_cpath *cp,
			       u8 index)
{
	const struct rds_conn_key *key = &conn->c_key;

	cp->cp_pub.net = conn->c_rn->rn_net;
	cp->cp_pub.laddr = key->laddr;
	cp->cp_pub.faddr = key->faddr;
	cp->cp_pub.ifindex = key->ifindex;
	cp->cp_pub.tos = key->tos;
	cp->cp_pub.index = index;
	cp->cp_pub.passive = key->passive;
	cp->cp_pub.epoch = conn->c_epoch;
	cp->cp_conn = conn;
	cp->cp_trans = key->trans;
	spin_lock_init(&cp->cp_lock);
	INIT_LIST_HEAD(&cp->cp_tx.pt_queue);
	INIT_LIST_HEAD(&cp->cp_tx.pt_retrans);
	rds_park_init(&cp->cp_park);
	rds_conn_init_sw(&cp->cp_sw);
	init_llist_head(&cp->cp_pongs);
	mutex_init(&cp->cp_xmit_lock);
	INIT_DELAYED_WORK(&cp->cp_work, rds_conn_path_work);
	cp->cp_tx.pt_next_seq = 1;
	cp->cp_tx.pt_next_ticket = 1;
	atomic64_set(&cp->cp_pub.next_rx_seq, 1);
	cp->cp_caps = key->trans->caps;
	cp->cp_device = key->trans->rdma;
	cp->cp_gate.pg_shut = rds_cpath_can(cp, RDS_CAP_HANDSHAKE);
	cp->cp_map.pm_at = jiffies - 1;
	cp->cp_dial.pd_since = jiffies;
	cp->cp_dial.pd_lost_at = jiffies;
	cp->cp_dial.pd_remind_at = jiffies;
}

/* Reserve sequence number 1 for a probe. A peer that remembers an earlier
 * incarnation of ours then learns of the new one before it judges any other
 * message.
 */
static void rds_conn_plan_probe(struct rds_conn *conn)
{
	conn->c_path.cp_tx.pt_next_seq = 2;
	conn->c_first_probe = true;
	set_bit(RDS_PF_PROBE, &conn->c_path.cp_flags);
}

/**
 * rds_conn_alloc() - Allocate a connection that is not in the table yet
 * @rn: the namespace
 * @key: its key
 *
 * The memory is charged to the caller's memory cgroup. If that is above its
 * memory.high, the caller may sleep for seconds, and must not hold rn_lock, for
 * which all users of the namespace wait.
 *
 * Context: Process context, may sleep.
 * Return: the connection, to be passed to rds_conn_insert() or
 * rds_conn_discard(), or an error pointer: -ENOMEM, or the error of the
 * transport's path_alloc().
 */
struct rds_conn *rds_conn_alloc(struct rds_net *rn,
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
	mutex_init(&conn->c_mp_lock);
	conn->c_epoch = get_random_u32() >> 8;
	conn->c_npaths = 1;
	conn->c_npaths_wanted = 1;
	rds_conn_init_path(conn, &conn->c_path, 0);
	conn->c_is_lower = rds_path_is_lower(&conn->c_path.cp_pub);
	conn->c_hash = rds_conn_hash(key, conn->c_is_lower);
	conn->c_paths[0] = &conn->c_path;
	conn->c_fan_path = &conn->c_path;
	if (rds_cpath_can(&conn->c_path, RDS_CAP_HANDSHAKE))
		rds_conn_plan_probe(conn);

	ret = rds_conn_get_maps(conn);
	if (ret)
		goto err_free;

	ret = ops->path_alloc ? ops->path_alloc(&conn->c_path.cp_pub) : 0;
	if (ret)
		goto err_free;

	return conn;

err_free:
	rds_conn_release(conn);
	return ERR_PTR(ret);
}

/**
 * rds_conn_add_path() - Get a path of a connection, create it if needed
 * @conn: the connection
 * @i: the number of the path, below RDS_MAX_PATHS
 *
 * Context: Process context, may sleep. rn_lock is held.
 * Return: the path; NULL if memory is short or path_alloc() fails, or if the
 * connection is being destroyed and does not have the path yet.
 */
struct rds_cpath *rds_conn_add_path(struct rds_conn *conn, unsigned int i)
	__must_hold(&conn->c_rn->rn_lock)
{
	const struct rds_conn_ops *ops = conn->c_key.trans->conn;
	struct rds_cpath *cp = conn->c_paths[i];

	lockdep_assert_held(&conn->c_rn->rn_lock);

	if (cp)
		return cp;
	if (list_empty(&conn->c_item))
		return NULL;

	cp = kzalloc(sizeof(*cp), GFP_KERNEL_ACCOUNT);
	if (!cp)
		return NULL;

	rds_conn_init_path(conn, cp, i);
	if (ops->path_alloc && ops->path_alloc(&cp->cp_pub)) {
		kfree(cp);
		return NULL;
	}
	/* Pairs with the acquire in rds_conn_path(). */
	smp_store_release(&conn->c_paths[i], cp);
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

/**
 * rds_conn_lookup() - Find a connection by its key
 * @rn: the namespace
 * @key: the key
 *
 * Context: Any.
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

/**
 * rds_conn_discard() - Free a connection that has not been in the table
 * @conn: the connection
 *
 * Context: Process context, may sleep.
 */
void rds_conn_discard(struct rds_conn *conn)
{
	rds_conn_free_path(&conn->c_path);
	rds_conn_release(conn);
}

/**
 * rds_conn_insert() - Enter a new connection into the table
 * @conn: the connection; no connection with its key is there
 * @uid: the user to charge; INVALID_UID if a peer makes the connection
 *
 * Context: Process context, may sleep. rn_lock is held.
 * Return: 0; the reference of the caller stays. -ENOMEM; -ENETDOWN if the
 * namespace is going away; then the caller still has to discard @conn.
 */
int rds_conn_insert(struct rds_conn *conn, kuid_t uid)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_net *rn = conn->c_rn;
	int ret;

	lockdep_assert_held(&rn->rn_lock);

	if (rn->rn_exiting)
		return -ENETDOWN;
	ret = rds_conn_charge(conn, uid);
	if (ret)
		return ret;

	conn->c_gen = READ_ONCE(rn->rn_gen);
	rds_conn_hold(conn);
	ret = rhashtable_insert_fast(&rn->rn_conns, &conn->c_node,
				     rds_conn_params);
	if (ret)
		goto err_uncharge;

	rds_conn_watch_cong(conn);
	list_add_tail(&conn->c_item, &rn->rn_conn_list);
	if (rds_conn_loops(conn))
		WRITE_ONCE(rn->rn_loop_conns, rn->rn_loop_conns + 1);
	return 0;

err_uncharge:
	refcount_dec(&conn->c_refs);
	rds_conn_uncharge(conn);
	return -ENOMEM;
}

/**
 * rds_conn_remove() - Remove a connection from the table and the list
 * @conn: the connection; the table's reference passes to the caller
 *
 * Context: Process context. rn_lock is held.
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

/**
 * rds_paths_drop() - Drop all connections of a transport so that they reconnect
 * @net: the namespace
 * @trans: the transport
 * @reason: the reason to record
 *
 * Context: Process context, may sleep. Takes rn_lock.
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
			if (conn->c_paths[i])
				rds_cpath_renew(conn->c_paths[i], reason);
		}
	}
	mutex_unlock(&rn->rn_lock);
}
EXPORT_SYMBOL_GPL(rds_paths_drop);
