// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reaper: destruction of connections that are no longer needed.
 *
 * Loopback: any user can create connections between any two of 2^24 addresses.
 * Such a connection keeps no state worth remembering. If there are too many,
 * idle ones make room, also for connections of peers.
 *
 * With a wire, peers can make connections. A connection that no socket of this
 * host has used is destroyed when it is disconnected. The number of such
 * connections is limited, for each peer and in total. Beyond a limit the oldest
 * one makes room.
 *
 * Any user can also create connections to addresses at which there is no host.
 * A connection that was never UP is destroyed when it is abandoned, see
 * conn_idle.c.
 *
 * A connection that was UP and used stays, see conn.c. rds_conn_forget()
 * destroys it, too, for a command of the administrator that does not exist yet.
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "compat.h"
#include "conn_destroy.h"
#include "conn_idle.h"
#include "conn_limit.h"
#include "conn_reap.h"
#include "conn_table.h"
#include "path_work.h"

/* Loopback connections in a namespace before idle ones make room */
#define RDS_LOOP_CONNS_MAX	4096

/* Connections in a namespace that no socket of this host has used */
#define RDS_UNUSED_MAX	1024

/* The same for one peer address, which can use 256 types of service with each
 * of our addresses
 */
#define RDS_UNUSED_OF_PEER	64

/* Time to the next pass if a pass has freed fewer than RDS_REAP_WORTH */
#define RDS_REAP_INTERVAL	(HZ / 10)
#define RDS_REAP_WORTH		64

/* The same if it has not made room and peers wait, and how long they do */
#define RDS_REAP_AGAIN		(HZ / 2)
#define RDS_REAP_PATIENCE	(30 * HZ)

static bool rds_conn_is_loop_of(const struct rds_conn *conn, kuid_t uid)
{
	return rds_conn_loops(conn) &&
	       (!uid_valid(uid) || uid_eq(conn->c_uid, uid));
}

/* The two paths of a loopback pair refer to each other while they are UP. If a
 * socket uses such a path after all, it comes up again by itself.
 */
static void rds_conn_quiesce_idle(struct rds_net *rn, kuid_t uid)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn;

	lockdep_assert_held(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (rds_conn_is_loop_of(conn, uid) &&
		    refcount_read(&conn->c_refs) <= 2)
			rds_path_shut_down_idle(&conn->c_path);
	}
}

static unsigned int rds_conn_reap_quiet(struct rds_net *rn, kuid_t uid)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn *conn, *next;
	unsigned int freed = 0;

	lockdep_assert_held(&rn->rn_lock);
	list_for_each_entry_safe(conn, next, &rn->rn_conn_list, c_item) {
		if (!rds_conn_is_loop_of(conn, uid) ||
		    !refcount_dec_if_one(&conn->c_refs))
			continue;
		rds_conn_remove(conn);
		rds_path_shut_down_dead(&conn->c_path);
		rds_conn_free_path(&conn->c_path);
		rds_conn_release(conn);
		freed++;
	}
	return freed;
}

/* The last pass may be so long ago that jiffies have wrapped. */
static bool rds_conn_has_just_reaped(const struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	lockdep_assert_held(&rn->rn_lock);
	return time_in_range_open(jiffies, rn->rn_reap_at - RDS_REAP_INTERVAL,
				  rn->rn_reap_at);
}

/**
 * rds_conn_reap_idle() - Free idle loopback connections
 * @rn: the namespace
 * @uid: only connections of this user; INVALID_UID for all users
 *
 * A loopback connection keeps no state worth remembering: its messages arrive
 * as they are sent. If the table's reference is the only one, the connection
 * has no message, no queued work item and no socket. After this function has
 * taken that reference, it is the only user. Any user can trigger a pass, so a
 * pass that frees few connections is not repeated at once.
 *
 * Context: Process context, may sleep; not from a path's work item. Takes
 * rn_lock.
 * Return: true if any connection was freed.
 */
bool rds_conn_reap_idle(struct rds_net *rn, kuid_t uid)
{
	unsigned int freed = 0;

	mutex_lock(&rn->rn_lock);
	if (rds_conn_has_just_reaped(rn))
		goto out;

	rds_conn_quiesce_idle(rn, uid);
	freed = rds_conn_reap_quiet(rn, uid);
	if (freed < RDS_REAP_WORTH)
		rn->rn_reap_at = jiffies + RDS_REAP_INTERVAL;
	if (freed && rn->rn_waiting)
		rds_conn_reap_later(rn);
out:
	mutex_unlock(&rn->rn_lock);
	return freed;
}

/**
 * rds_conn_thin_out() - Free idle loopback connections if there are many
 * @rn: the namespace
 *
 * Context: Process context, may sleep; not from a path's work item. Takes
 * rn_lock.
 */
void rds_conn_thin_out(struct rds_net *rn)
{
	if (READ_ONCE(rn->rn_loop_conns) >= RDS_LOOP_CONNS_MAX)
		rds_conn_reap_idle(rn, INVALID_UID);
}

/**
 * struct rds_unused - connections that no socket of this host has used
 * @nr: number of such connections
 * @oldest: the oldest one that is not marked for eviction yet; NULL if all are
 */
struct rds_unused {
	unsigned int	nr;
	struct rds_conn	*oldest;
};

static void rds_unused_add(struct rds_unused *all, struct rds_conn *conn)
{
	all->nr++;
	if (!all->oldest && !conn->c_evicted)
		all->oldest = conn;
}

/**
 * rds_conn_has_room_for_peer() - Check whether a peer may make a connection
 * @rn: the namespace
 * @faddr: the address of the peer
 *
 * If a limit is reached, mark the oldest unused connection for eviction and
 * schedule the reaper. The new connection is allowed meanwhile, up to twice the
 * limit on unused connections. It is not allowed if rds_conn_is_full().
 *
 * Context: Process context. rn_lock is held.
 * Return: true if the peer may make another connection.
 */
bool rds_conn_has_room_for_peer(struct rds_net *rn,
				const struct in6_addr *faddr)
	__must_hold(&rn->rn_lock)
{
	struct rds_unused all = {}, of_peer = {}, *counted;
	bool full = rds_conn_is_full(rn);
	unsigned int max = RDS_UNUSED_MAX;
	struct rds_conn *conn;

	lockdep_assert_held(&rn->rn_lock);

	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (!rds_conn_is_unused(conn))
			continue;
		rds_unused_add(&all, conn);
		if (ipv6_addr_equal(&conn->c_key.faddr, faddr))
			rds_unused_add(&of_peer, conn);
	}
	counted = &all;
	if (of_peer.nr >= RDS_UNUSED_OF_PEER) {
		counted = &of_peer;
		max = RDS_UNUSED_OF_PEER;
	}
	if (counted->nr < max && !full)
		return true;

	if (counted->oldest)
		WRITE_ONCE(counted->oldest->c_evicted, true);
	rds_conn_reap_later(rn);
	if (full)
		rds_stat_inc(rn, conn_refused_net);
	return !full && counted->nr < 2 * max && all.nr < 2 * RDS_UNUSED_MAX;
}

/* Check whether a connection may be destroyed. It must keep no state worth
 * remembering, and be disconnected, unless it is to be forgotten: then it may
 * be destroyed in any case.
 */
static bool rds_conn_is_reapable(const struct rds_conn *conn)
{
	const struct rds_cpath *cp;
	unsigned int i;

	if (conn->c_forgotten)
		return true;
	if (!rds_conn_is_unused(conn) && !rds_conn_is_abandoned(conn, 0))
		return false;

	/* An offer that is just being taken counts, too: the state that was
	 * read may be the one before.
	 */
	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp && (rds_cpath_state(cp) != RDS_PATH_DOWN ||
			   READ_ONCE(cp->cp_offer) != RDS_OFFER_NONE ||
			   (!i && test_bit(RDS_PF_CONNECT, &cp->cp_flags))))
			return false;
	}
	return true;
}

static void rds_conn_set_dead(struct rds_conn *conn, bool dead)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp)
			continue;
		spin_lock_bh(&cp->cp_lock);
		WRITE_ONCE(cp->cp_dead, dead);
		spin_unlock_bh(&cp->cp_lock);
		if (!dead)
			rds_cpath_kick(cp, 0);
	}
}

/* A sender may use the connection at the same moment. If it has queued a
 * message, it marked the connection as used before, and the message holds
 * references: the second check sees that. If it has not queued a message, it
 * finds the path dead, and looks the connection up again.
 */
static bool rds_conn_take_reapable(struct rds_conn *conn)
	__must_hold(&conn->c_rn->rn_lock)
{
	lockdep_assert_held(&conn->c_rn->rn_lock);

	if (!rds_conn_is_reapable(conn))
		return false;
	rds_conn_set_dead(conn, true);
	if (rds_conn_is_reapable(conn)) {
		rds_conn_remove(conn);
		/* The peer must not take the next connection for this one. */
		if (conn->c_forgotten)
			rds_net_new_gen(conn->c_rn);
		return true;
	}
	rds_conn_set_dead(conn, false);
	return false;
}

/* Disconnect an unused connection that is to make room. What has arrived is
 * delivered before the shutdown is done: if a socket gets any of it, the
 * connection has been used, and stays. Otherwise the end of the shutdown
 * schedules the reaper. If the connection were destroyed while messages arrive,
 * the peer would send again to the next one what it has no ack for.
 */
static void rds_conn_evict(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp)
			rds_cpath_renew(cp, RDS_DROP_IDLE);
	}
}

/* Make room for the connections of peers that wait for it. */
static void rds_conn_make_way(struct rds_net *rn)
{
	bool full;

	mutex_lock(&rn->rn_lock);
	full = rn->rn_waiting && rds_conn_is_full(rn);
	mutex_unlock(&rn->rn_lock);
	if (full)
		rds_conn_reap_idle(rn, INVALID_UID);
}

/* Returns the transport that is to be told that there is room, or NULL. */
static const struct rds_transport *rds_conn_take_waiting(struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	const struct rds_transport *waiting = rn->rn_waiting;

	lockdep_assert_held(&rn->rn_lock);
	if (rds_conn_is_full(rn))
		return NULL;
	rn->rn_waiting = NULL;
	return waiting;
}

/* A loopback connection that could not be freed now, because a work item or a
 * message still refers to it, may be idle soon. Nobody tells the reaper.
 */
static void rds_conn_reap_again(struct rds_net *rn)
	__must_hold(&rn->rn_lock)
{
	lockdep_assert_held(&rn->rn_lock);
	if (rn->rn_waiting && rn->rn_loop_conns &&
	    time_before(jiffies, rn->rn_waiting_at + RDS_REAP_PATIENCE))
		queue_delayed_work(system_unbound_wq, &rn->rn_reap,
				   RDS_REAP_AGAIN);
}

/* Destroy the connections that are no longer needed. */
static void rds_conn_reap_work(struct work_struct *work)
{
	struct rds_net *rn = container_of(to_delayed_work(work),
					  struct rds_net, rn_reap);
	const struct rds_transport *waiting;
	const struct rds_conn_ops *ops;
	struct rds_conn *conn, *next;
	LIST_HEAD(reapable);
	bool unborn = false;

	rds_conn_make_way(rn);
	mutex_lock(&rn->rn_lock);
	list_for_each_entry_safe(conn, next, &rn->rn_conn_list, c_item) {
		if (rds_conn_take_reapable(conn))
			list_add_tail(&conn->c_reap_item, &reapable);
		else if (conn->c_evicted && rds_conn_is_unused(conn))
			rds_conn_evict(conn);
		else if (rds_conn_was_never_up(conn))
			unborn = true;
	}
	waiting = rds_conn_take_waiting(rn);
	rds_conn_reap_again(rn);
	mutex_unlock(&rn->rn_lock);
	if (unborn)
		rds_conn_sweep_later(rn);

	list_for_each_entry_safe(conn, next, &reapable, c_reap_item) {
		list_del(&conn->c_reap_item);
		ops = conn->c_key.trans->conn;
		rds_conn_destroy(conn, conn->c_forgotten ?
				 RDS_DROP_LOCAL_ABORT : RDS_DROP_IDLE);
		if (ops->accept_again)
			ops->accept_again(rn->rn_net);
	}
	if (waiting)
		waiting->conn->accept_again(rn->rn_net);
}

/**
 * rds_conn_reap_net_init() - Initialize the reaper of a namespace
 * @rn: the namespace
 *
 * Context: Process context.
 */
void rds_conn_reap_net_init(struct rds_net *rn)
{
	INIT_DELAYED_WORK(&rn->rn_reap, rds_conn_reap_work);
	rn->rn_reap_at = jiffies;
}

/**
 * rds_conn_forget() - Forget the state kept about a peer
 * @rn: the namespace
 * @faddr: the address of the peer
 *
 * All connections with a wire to the peer are destroyed, used or not. Messages
 * that wait on them are dropped. The next connection has another generation
 * number, so that the peer also forgets its state for the old one.
 *
 * Only the unit tests call this function so far: there is no interface by which
 * an administrator could.
 *
 * Context: Process context, may sleep; not from a path's work item. Takes
 * rn_lock.
 * Return: the number of connections found. They have been destroyed.
 */
unsigned int rds_conn_forget(struct rds_net *rn, const struct in6_addr *faddr)
{
	struct rds_conn *conn;
	unsigned int nr = 0;

	mutex_lock(&rn->rn_lock);
	list_for_each_entry(conn, &rn->rn_conn_list, c_item) {
		if (rds_conn_loops(conn) ||
		    !ipv6_addr_equal(&conn->c_key.faddr, faddr))
			continue;
		conn->c_forgotten = true;
		nr++;
	}
	mutex_unlock(&rn->rn_lock);

	/* Leave the destruction to the reaper: namespace exit and transport
	 * unregistration wait for the connections that the reaper has removed
	 * from the list.
	 */
	mod_delayed_work(system_unbound_wq, &rn->rn_reap, 0);
	flush_delayed_work(&rn->rn_reap);
	return nr;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_conn_forget);
