// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when the congestion of a port changes.
 *
 * A port that fills up or drains changes a bit of its address's local map.
 * Every connection from that address is then flagged, and its path's work
 * sends the whole map; a second change before that costs nothing. All are
 * flagged once a jiffy at most: whoever has sent a map in this one looks by
 * itself, in the next, whether there is a newer one (send_map.c). Waiters on
 * this host are told at once: senders asleep in sendmsg() on the map's wait
 * queue, and pollers on their own socket's. Those enter rn_cong_socks when
 * they see ENOBUFS, so that a change does not walk through all sockets.
 *
 * Each path begins with a map, which may be read after a newer one that went by
 * path 0, for it may lie with the peer's TCP until there is a place for the
 * path. So what another path of one of ours brings is passed over once path 0
 * has brought a map by the connection that it has: path 0 tells all that is
 * new, and each is newer there than the one before. Others tell it by any path,
 * and once only, so what a path of theirs begins with counts as far as it
 * frees ports: to send to a congested one does less harm than to wait for a
 * free one for ever. We send our own map again when such a path's turns out to
 * have been read late.
 *
 * Locks: rs_recv_lock > cm_lock; rs_recv_lock > rn_cong_lock. All with bottom
 * halves off.
 */
#include <linux/poll.h>

#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "legacy.h"

#include <trace/events/rds.h>

/* The socket waits for one of these port groups; true to wake it. */
static bool rds_cong_hit(struct rds_sock *rs, u64 freed)
{
	u64 hit;

	lockdep_assert_held(&rs->rs_rn->rn_cong_lock);

	if (!rs->rs_cong_monitor)
		return rs->rs_cong_seen;

	hit = (rs->rs_cong_watch | rs->rs_cong_mask) & freed;
	WRITE_ONCE(rs->rs_cong_notify, rs->rs_cong_notify | hit);
	rs->rs_cong_mask &= ~hit;
	return hit;
}

static void rds_cong_tell_socks(struct rds_net *rn, u64 freed)
{
	struct rds_sock *rs;

	spin_lock_bh(&rn->rn_cong_lock);
	list_for_each_entry(rs, &rn->rn_cong_socks, rs_cong_item) {
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

	/* A waiter enters its queue or list, and then looks at the bit. The
	 * barrier in here pairs with that of rds_cong_wait_begin(), too.
	 */
	if (wq_has_sleeper(&map->cm_waitq))
		wake_up_all(&map->cm_waitq);
	if (!list_empty(&rn->rn_cong_socks))
		rds_cong_tell_socks(rn, freed);
}

static void rds_cong_flag_conn(struct rds_conn *conn)
{
	struct rds_cpath *cp = rds_conn_path(conn, 0);

	rds_stat_inc(conn->c_rn, cong_update_queued);
	/* The other who has flagged it kicks it. */
	if (!test_and_set_bit(RDS_PF_CONG, &cp->cp_flags))
		rds_cpath_kick(cp, 0);
}

/* There may be thousands, and a user can have its port change at will. */
static void rds_cong_flag_conns(struct rds_cong_map *map)
{
	struct rds_conn *conn;

	spin_lock_bh(&map->cm_lock);
	if (time_after(jiffies, map->cm_flagged_at)) {
		map->cm_flagged_at = jiffies;
		list_for_each_entry(conn, &map->cm_conns, c_cong_item)
			rds_cong_flag_conn(conn);
	}
	spin_unlock_bh(&map->cm_lock);
}

/**
 * rds_cong_publish() - a socket's port has become congested, or free
 * @rs: the socket, bound
 * @congested: which
 *
 * Context: any, deliver context included; rs_recv_lock is held.
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
 * rds_cong_wait_begin() - a sender met a congested port and will not sleep
 * @rs: the sender
 * @map: map of the destination address
 * @port: destination port
 *
 * From now on a change wakes the socket's pollers. With explicit monitoring
 * the port's bit joins the mask (rds(7), "Congestion Control").
 *
 * Context: process. Takes rn_cong_lock.
 * Return: true if the port is congested still; false if it has become free
 * meanwhile, and the message may go.
 */
bool rds_cong_wait_begin(struct rds_sock *rs, struct rds_cong_map *map,
			 __be16 port)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	if (rs->rs_cong_monitor) {
		rs->rs_cong_mask |= RDS_CONG_MONITOR_MASK(ntohs(port));
	} else {
		/* What is to be told is what changes from here on. */
		WRITE_ONCE(rs->rs_cong_track, atomic_read(&rn->rn_cong_ver));
		WRITE_ONCE(rs->rs_cong_seen, true);
	}
	if (list_empty(&rs->rs_cong_item))
		list_add_tail(&rs->rs_cong_item, &rn->rn_cong_socks);
	spin_unlock_bh(&rn->rn_cong_lock);

	/* Be on the list before looking: see rds_cong_changed(). */
	smp_mb();
	return rds_cong_test(map, port);
}

static bool rds_cong_has_news(const struct rds_sock *rs)
{
	if (READ_ONCE(rs->rs_cong_monitor))
		return READ_ONCE(rs->rs_cong_notify);
	return READ_ONCE(rs->rs_cong_track) !=
	       atomic_read(&rs->rs_rn->rn_cong_ver);
}

/**
 * rds_cong_settle() - a change has been answered: wait for nothing more
 * @rs: the socket
 *
 * Context: process. Takes rn_cong_lock.
 */
void rds_cong_settle(struct rds_sock *rs)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	if (!rs->rs_cong_monitor) {
		WRITE_ONCE(rs->rs_cong_track, atomic_read(&rn->rn_cong_ver));
		WRITE_ONCE(rs->rs_cong_seen, false);
		WRITE_ONCE(rs->rs_cong_told, false);
		list_del_init(&rs->rs_cong_item);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
}

/**
 * rds_cong_poll() - what poll() has to say of congestion
 * @rs: the socket
 * @asked: the events that the caller would report
 *
 * Without explicit monitoring each change is told once, to each socket. To
 * one that met ENOBUFS it is told until it acts on it, for poll() may be
 * called more than once before its answer is reported, as epoll(7) does.
 *
 * Context: process. Takes rn_cong_lock if there is news.
 * Return: the events.
 */
__poll_t rds_cong_poll(struct rds_sock *rs, __poll_t asked)
{
	struct rds_net *rn = rs->rs_rn;
	__poll_t mask = 0;
	int gen;

	if (!rds_cong_has_news(rs) ||
	    !(asked & (EPOLLIN | EPOLLRDNORM | EPOLLWRBAND)))
		return 0;

	spin_lock_bh(&rn->rn_cong_lock);
	gen = atomic_read(&rn->rn_cong_ver);
	if (rs->rs_cong_monitor) {
		if (rs->rs_cong_notify)
			mask = EPOLLIN | EPOLLRDNORM;
	} else if (rs->rs_cong_track != gen) {
		mask = EPOLLIN | EPOLLRDNORM | EPOLLWRBAND;
		if (rs->rs_cong_seen)
			WRITE_ONCE(rs->rs_cong_told, true);
		else
			WRITE_ONCE(rs->rs_cong_track, gen);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
	return mask;
}

/**
 * rds_cong_monitor() - turn explicit monitoring on or off
 * @rs: the socket
 * @on: which
 * @watch: port groups to be told of, besides those that ENOBUFS adds
 *
 * Context: process. Takes rn_cong_lock.
 */
void rds_cong_monitor(struct rds_sock *rs, bool on, u64 watch)
{
	struct rds_net *rn = rs->rs_rn;

	spin_lock_bh(&rn->rn_cong_lock);
	WRITE_ONCE(rs->rs_cong_monitor, on);
	rs->rs_cong_watch = watch;
	if (!on) {
		rs->rs_cong_mask = 0;
		WRITE_ONCE(rs->rs_cong_notify, 0);
		WRITE_ONCE(rs->rs_cong_seen, false);
		WRITE_ONCE(rs->rs_cong_told, false);
		list_del_init(&rs->rs_cong_item);
	} else if (watch && list_empty(&rs->rs_cong_item)) {
		list_add_tail(&rs->rs_cong_item, &rn->rn_cong_socks);
	}
	spin_unlock_bh(&rn->rn_cong_lock);
}

/**
 * rds_cong_watched() - the port groups that a socket waits for
 * @rs: the socket
 * @on: set to whether explicit monitoring is on
 *
 * Context: process. Takes rn_cong_lock.
 * Return: the mask.
 */
u64 rds_cong_watched(struct rds_sock *rs, bool *on)
{
	struct rds_net *rn = rs->rs_rn;
	u64 mask;

	spin_lock_bh(&rn->rn_cong_lock);
	*on = rs->rs_cong_monitor;
	mask = rs->rs_cong_watch | rs->rs_cong_mask;
	spin_unlock_bh(&rn->rn_cong_lock);
	return mask;
}

/**
 * rds_cong_make_good() - the map that a path began with may just be read
 * @cp: the path
 *
 * If it is another than path 0, and the map has changed since, the newest goes
 * by path 0 once more.
 *
 * Context: any; locks of the transport may be held.
 */
void rds_cong_make_good(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_cpath *first = rds_conn_path(conn, 0);

	if (cp == first ||
	    READ_ONCE(cp->cp_map_ver) == rds_cong_ver(conn->c_lcong))
		return;
	set_bit(RDS_PF_CONG, &first->cp_flags);
	rds_cpath_kick(first, 0);
}

/* Path 0 has brought one, and this path's may have waited since before that. */
static bool rds_cong_is_late(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;
	const struct rds_cpath *first = rds_conn_path(conn, 0);

	lockdep_assert_held(&conn->c_fcong->cm_lock);
	if (cp == first || !READ_ONCE(first->cp_mapped))
		return false;
	return READ_ONCE(conn->c_peer_hs.ours) || rds_legacy_map_is_late(cp);
}

/**
 * rds_deliver_cong_map() - the peer has sent its congestion map
 * @path: the path that it came by; any path will do
 * @map: the map
 * @len: its length; anything but RDS_CONG_MAP_BYTES is ignored
 *
 * Context: deliver context. Takes cm_lock: several paths may bring one.
 */
void rds_deliver_cong_map(struct rds_path *path, const void *map, u32 len)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_cong_map *fcong = cp->cp_conn->c_fcong;
	bool late, skip;
	u64 freed = 0;

	if (unlikely(rds_cpath_heard(cp)))
		rds_cong_make_good(cp);
	if (len != RDS_CONG_MAP_BYTES)
		return;

	rds_stat_inc(fcong->cm_rn, cong_update_received);
	spin_lock(&fcong->cm_lock);
	late = rds_cong_is_late(cp);
	skip = late && READ_ONCE(cp->cp_conn->c_peer_hs.ours);
	WRITE_ONCE(cp->cp_mapped, true);
	if (!skip)
		freed = rds_cong_bits_update(fcong->cm_bits, map, late);
	spin_unlock(&fcong->cm_lock);
	if (!skip)
		rds_cong_changed(fcong, freed);
}
EXPORT_SYMBOL_GPL(rds_deliver_cong_map);
