// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reports of congestion changes to peers, senders and pollers.
 *
 * When a port fills up or drains, a bit of its address's local map changes.
 * Every connection from that address is then flagged, and the work item of its
 * path 0 sends the whole map. Changes before the map is sent go with it. The
 * connections are flagged at most once per jiffy. A path that has sent a map in
 * this jiffy checks by itself, in the next one, whether there is a newer map
 * (send_map.c).
 *
 * Waiters on this host are notified at once. Senders that sleep in sendmsg()
 * wait on the map's wait queue. Pollers wait on the queue of their own socket.
 * A socket enters rn_cong_socks when it meets ENOBUFS, or when it starts to
 * monitor port groups, so that a change does not walk all sockets.
 *
 * Each path starts with a map. The receiver may read this map after a newer one
 * that was sent later on path 0, because the connection may be pending in the
 * receiver's TCP until a path takes it. The receiver therefore treats maps as
 * follows:
 *
 * - Peers that run this implementation send every new map on path 0, in order.
 *   Once path 0 has received a map on its current connection, maps on other
 *   paths are ignored.
 * - Other implementations send a change once only, on any path. If the ports of
 *   such a peer name its paths (legacy.h), and path 0 has received a map, the
 *   first map on another path takes effect only as far as it frees ports.
 *   Sending to a congested port does less harm than waiting forever for a free
 *   one.
 *
 * If the peer may have read the first map of another path late, path 0 sends
 * our newest map again (rds_cong_resend_map()).
 *
 * Locks: rs_recv_lock > cm_lock; rs_recv_lock > rn_cong_lock. All are taken
 * with bottom halves disabled.
 */
#include <linux/poll.h>

#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "legacy.h"

#include <trace/events/rds.h>

/* Note the freed port groups that the socket monitors. Returns whether the
 * socket must be woken.
 */
static bool rds_cong_hit(struct rds_sock *rs, u64 freed)
{
	u64 hit;

	lockdep_assert_held(&rs->rs_rn->rn_cong_lock);

	if (!rs->rs_cong.sg_monitor)
		return rs->rs_cong.sg_seen;

	hit = (rs->rs_cong.sg_watch | rs->rs_cong.sg_mask) & freed;
	WRITE_ONCE(rs->rs_cong.sg_notify, rs->rs_cong.sg_notify | hit);
	rs->rs_cong.sg_mask &= ~hit;
	return hit;
}

static void rds_cong_notify_socks(struct rds_net *rn, u64 freed)
{
	struct rds_sock *rs;

	spin_lock_bh(&rn->rn_cong_lock);
	list_for_each_entry(rs, &rn->rn_cong_socks, rs_cong.sg_item) {
		if (rds_cong_hit(rs, freed))
			rs->rs_sk.sk_data_ready(&rs->rs_sk);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
}

static void rds_cong_changed(struct rds_cong_map *map, u64 freed)
{
	struct rds_net *rn = map->cm_rn;

	atomic_inc(&rn->rn_cong_ver);
	if (!freed)
		return;

	/* A waiter enters its wait queue or the list, and then tests the bit.
	 * The barrier in wq_has_sleeper() also pairs with the one in
	 * rds_cong_wait_begin().
	 */
	if (wq_has_sleeper(&map->cm_waitq))
		wake_up_all(&map->cm_waitq);
	if (!list_empty(&rn->rn_cong_socks))
		rds_cong_notify_socks(rn, freed);
}

static void rds_cong_flag_conn(struct rds_conn *conn)
{
	struct rds_cpath *cp = rds_conn_path(conn, 0);

	rds_stat_inc(conn->c_rn, cong_update_queued);
	/* If the flag was already set, the setter kicks the path. */
	if (!test_and_set_bit(RDS_PF_CONG, &cp->cp_flags))
		rds_cpath_kick(cp, 0);
}

/* An address may have thousands of connections, and a user can make a port
 * change at will. So flag the connections at most once per jiffy. The last time
 * may be so long ago that jiffies have wrapped.
 */
static void rds_cong_flag_conns(struct rds_cong_map *map)
{
	struct rds_conn *conn;

	spin_lock_bh(&map->cm_lock);
	if (jiffies - map->cm_flagged_at) {
		map->cm_flagged_at = jiffies;
		list_for_each_entry(conn, &map->cm_conns, c_cong_item)
			rds_cong_flag_conn(conn);
	}
	spin_unlock_bh(&map->cm_lock);
}

/**
 * rds_cong_publish() - Mark a socket's port congested or free, and report it
 * @rs: the socket, bound
 * @congested: true if the port has become congested, false if free
 *
 * Context: Any, including deliver context. rs_recv_lock is held; takes cm_lock
 * and rn_cong_lock.
 */
void rds_cong_publish(struct rds_sock *rs, bool congested)
{
	struct rds_cong_map *map = rs->rs_map;
	__be16 port = rs->rs_bound.port;

	lockdep_assert_held(&rs->rs_recv_lock);

	rs->rs_congested = congested;
	rds_cong_assign(map, port, congested);
	rs->rs_map_ver = atomic_inc_return(&map->cm_ver);
	trace_rds_cong(&rs->rs_bound.ip, port, congested);
	rds_cong_flag_conns(map);
	rds_cong_changed(map,
			 congested ? 0 : RDS_CONG_MONITOR_MASK(ntohs(port)));
}

/**
 * rds_cong_wait_begin() - Register a sender for the change of a congested port
 * @rs: the sender, which does not sleep
 * @map: map of the destination address
 * @port: destination port, found congested
 *
 * From here on, a change wakes the socket's pollers. With explicit monitoring,
 * the port's bit is added to the mask (rds(7), "Congestion monitoring").
 *
 * Context: Process context. Takes rn_cong_lock.
 * Return: true if the port is still congested; false if it has become free
 * meanwhile, and the message may be sent.
 */
bool rds_cong_wait_begin(struct rds_sock *rs, struct rds_cong_map *map,
			 __be16 port)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	if (rs->rs_cong.sg_monitor) {
		rs->rs_cong.sg_mask |= RDS_CONG_MONITOR_MASK(ntohs(port));
	} else if (!rs->rs_cong.sg_seen) {
		/* From the first refusal on, poll() reports changes until the
		 * socket has acted on one.
		 */
		WRITE_ONCE(rs->rs_cong.sg_track, atomic_read(&rn->rn_cong_ver));
		WRITE_ONCE(rs->rs_cong.sg_seen, true);
	}
	if (list_empty(&rs->rs_cong.sg_item))
		list_add_tail(&rs->rs_cong.sg_item, &rn->rn_cong_socks);
	spin_unlock_bh(&rn->rn_cong_lock);

	/* Be on the list before testing the bit: see rds_cong_changed(). */
	smp_mb();
	return rds_cong_test(map, port);
}

static bool rds_cong_has_change(const struct rds_sock *rs)
{
	if (READ_ONCE(rs->rs_cong.sg_monitor))
		return READ_ONCE(rs->rs_cong.sg_notify);
	return READ_ONCE(rs->rs_cong.sg_track) !=
	       atomic_read(&rs->rs_rn->rn_cong_ver);
}

/**
 * rds_cong_settle() - End the wait for a congestion change
 * @rs: the socket, which has acted on the change
 *
 * With explicit monitoring, the socket keeps waiting for its port groups.
 *
 * Context: Process context. Takes rn_cong_lock.
 */
void rds_cong_settle(struct rds_sock *rs)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	if (!rs->rs_cong.sg_monitor) {
		WRITE_ONCE(rs->rs_cong.sg_track, atomic_read(&rn->rn_cong_ver));
		WRITE_ONCE(rs->rs_cong.sg_seen, false);
		WRITE_ONCE(rs->rs_cong.sg_told, false);
		list_del_init(&rs->rs_cong.sg_item);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
}

/**
 * rds_cong_poll() - Compute the poll() events for congestion changes
 * @rs: the socket
 * @asked: the events that the caller would report
 *
 * Without explicit monitoring, each change is reported once to each socket. A
 * socket that has met ENOBUFS gets the report until it acts on the change,
 * because poll() may be called more than once before the events reach user
 * space, as epoll(7) does.
 *
 * Context: Process context. Takes rn_cong_lock if there is a change to report.
 * Return: the events.
 */
__poll_t rds_cong_poll(struct rds_sock *rs, __poll_t asked)
{
	struct rds_net *rn = rs->rs_rn;
	__poll_t mask = 0;
	int ver;

	if (!rds_cong_has_change(rs) ||
	    !(asked & (EPOLLIN | EPOLLRDNORM | EPOLLWRBAND)))
		return 0;

	spin_lock_bh(&rn->rn_cong_lock);
	ver = atomic_read(&rn->rn_cong_ver);
	if (rs->rs_cong.sg_monitor) {
		if (rs->rs_cong.sg_notify)
			mask = EPOLLIN | EPOLLRDNORM;
	} else if (rs->rs_cong.sg_track != ver) {
		mask = EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
		if (rs->rs_cong.sg_seen)
			WRITE_ONCE(rs->rs_cong.sg_told, true);
		else
			WRITE_ONCE(rs->rs_cong.sg_track, ver);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
	return mask;
}

/**
 * rds_cong_monitor() - Turn explicit monitoring on or off
 * @rs: the socket
 * @on: true to turn it on, false to turn it off
 * @watch: port groups to monitor, in addition to those that ENOBUFS adds
 *
 * Context: Process context. Takes rn_cong_lock.
 */
void rds_cong_monitor(struct rds_sock *rs, bool on, u64 watch)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	WRITE_ONCE(rs->rs_cong.sg_monitor, on);
	rs->rs_cong.sg_watch = watch;
	if (!on) {
		rs->rs_cong.sg_mask = 0;
		WRITE_ONCE(rs->rs_cong.sg_notify, 0);
		WRITE_ONCE(rs->rs_cong.sg_seen, false);
		WRITE_ONCE(rs->rs_cong.sg_told, false);
		list_del_init(&rs->rs_cong.sg_item);
	} else if (watch && list_empty(&rs->rs_cong.sg_item)) {
		list_add_tail(&rs->rs_cong.sg_item, &rn->rn_cong_socks);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
}

/**
 * rds_cong_watched() - Get the port groups that a socket monitors
 * @rs: the socket
 * @on: set to whether explicit monitoring is on
 *
 * Context: Process context. Takes rn_cong_lock.
 * Return: the mask of port groups.
 */
u64 rds_cong_watched(struct rds_sock *rs, bool *on)
{
	struct rds_net *rn = rs->rs_rn;
	u64 mask;

	spin_lock_bh(&rn->rn_cong_lock);
	*on = rs->rs_cong.sg_monitor;
	mask = rs->rs_cong.sg_watch | rs->rs_cong.sg_mask;
	spin_unlock_bh(&rn->rn_cong_lock);
	return mask;
}

/**
 * rds_cong_resend_map() - Send the map again after a path's map was read late
 * @cp: the path; the peer may have read its first map only just now
 *
 * If @cp is not path 0, and the map has changed since @cp sent it, path 0 sends
 * the newest map once more.
 *
 * Context: Any; locks of the transport may be held.
 */
void rds_cong_resend_map(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_cpath *first = rds_conn_path(conn, 0);

	if (cp == first ||
	    READ_ONCE(cp->cp_map.pm_ver) == rds_cong_ver(conn->c_lcong))
		return;
	set_bit(RDS_PF_CONG, &first->cp_flags);
	rds_cpath_kick(first, 0);
}

/* A map is late if path 0 has received one, and the map on this path may have
 * been waiting since before that.
 */
static bool rds_cong_is_late(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;
	const struct rds_cpath *first = rds_conn_path(conn, 0);

	lockdep_assert_held(&conn->c_fcong->cm_lock);
	if (cp == first || !READ_ONCE(first->cp_rx.pr_mapped))
		return false;
	return READ_ONCE(conn->c_peer_hs.ours) || rds_legacy_map_is_late(cp);
}

/**
 * rds_deliver_cong_map() - Process a congestion map from the peer
 * @path: the path on which the map arrived, which may be any path
 * @map: the map
 * @len: length of the map; the map is ignored unless it is RDS_CONG_MAP_BYTES
 *
 * Context: Deliver context. Takes cm_lock, because several paths may receive a
 * map at the same time. Takes rn_cong_lock.
 */
void rds_deliver_cong_map(struct rds_path *path, const void *map, u32 len)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_cong_map *fcong = cp->cp_conn->c_fcong;
	bool late, skip;
	u64 freed = 0;

	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_resend_map(cp);
	if (len != RDS_CONG_MAP_BYTES)
		return;

	rds_stat_inc(fcong->cm_rn, cong_update_received);
	spin_lock(&fcong->cm_lock);
	late = rds_cong_is_late(cp);
	skip = late && READ_ONCE(cp->cp_conn->c_peer_hs.ours);
	WRITE_ONCE(cp->cp_rx.pr_mapped, true);
	if (!skip)
		freed = rds_cong_bits_update(fcong->cm_bits, map, late);
	spin_unlock(&fcong->cm_lock);
	if (!skip)
		rds_cong_changed(fcong, freed);
}
EXPORT_SYMBOL_GPL(rds_deliver_cong_map);
