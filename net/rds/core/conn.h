/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections: the state that all traffic between two addresses shares */
#ifndef _RDS_CORE_CONN_H
#define _RDS_CORE_CONN_H

#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/uidgid.h>

#include "handshake.h"
#include "path.h"
#include "rds_net.h"

struct rds_cong_map;

/**
 * struct rds_conn_key - the key of a connection
 * @laddr: our address
 * @faddr: the peer's address
 * @trans: the transport
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @passive: the accepting end of a connection of an address with itself
 * @pad: zero
 */
struct rds_conn_key {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	const struct rds_transport *trans;
	u32		ifindex;
	u8		tos;
	u8		passive;
	u16		pad;
};

/**
 * enum rds_fan - how far the spreading of messages over paths has come
 * @RDS_FAN_NONE: only one path is known
 * @RDS_FAN_BARRIER: messages spread, but wait on their paths until all earlier
 *	messages have arrived
 * @RDS_FAN_OPEN: the paths are independent
 */
enum rds_fan {
	RDS_FAN_NONE,
	RDS_FAN_BARRIER,
	RDS_FAN_OPEN,
};

/**
 * struct rds_conn - a connection
 * @c_node: in &rds_net.rn_conns
 * @c_item: on &rds_net.rn_conn_list
 * @c_reap_item: on the reaper's list of connections to destroy
 * @c_key: the key; never changes. Its transport may be gone when the paths are
 *	dead: see &rds_cpath.cp_trans
 * @c_rn: the namespace
 * @c_uid: the user for whom it was created; invalid if it was created for a
 *	peer. Does not change while the connection is in the table
 * @c_refs: references of the table, the sockets that use the connection,
 *	messages, unread messages that count in @c_rx_held, queued work items,
 *	and the loopback path that delivers on it
 * @c_lcong: congestion map of our address
 * @c_fcong: congestion map of the peer's ports
 * @c_cong_item: on the list of @c_lcong, if the peer is to be sent that map
 * @c_rcu: for freeing it after a grace period
 * @c_used: a local socket has sent or received on it. A connection that no
 *	local socket has used is destroyed when it is disconnected
 * @c_hash: hash of its addresses, the same at both ends; see rds_mp_pick()
 * @c_is_lower: our address is the lower of the two
 * @c_knocked: the peer has knocked: it has asked us to dial
 * @c_knocked_at: when it did so last, in jiffies
 * @c_handshake_wait_at: when a sender first waited for the peer's handshake, in
 *	jiffies; 0 if none has
 * @c_rx_held: bytes of memory held by unread messages that arrived for a port
 *	which was congested already
 * @c_evicted: the connection is to be disconnected and destroyed, unless a
 *	local socket uses it first
 * @c_forgotten: it is to be destroyed in any case, even if a local socket has
 *	used it; set by rds_conn_forget(), which only the tests call so far
 * @c_gen: our generation number, as announced to the peer
 * @c_epoch: our epoch: distinguishes this connection from earlier and later
 *	ones with the same key, see handshake.c
 * @c_npaths: number of paths that messages are spread over; a power of two.
 *	Written under @c_mp_lock; when it grows, also under cp_lock of
 *	@c_fan_path
 * @c_mp_lock: serializes all changes that follow from the peer's handshake;
 *	guards the fields from @c_peer_hs to @c_fan_tag, and @c_rx_epoch
 * @c_peer_hs: what the peer has announced about itself. Without the
 *	lock, its identity is read only for the upper half, or to see if there
 *	is one, so a 32-bit machine may read it in two halves
 * @c_has_handshake: @c_peer_hs is valid
 * @c_npaths_offered: number of paths in our last handshake frame; also stored
 *	without @c_mp_lock
 * @c_npaths_offered_in_use: that frame announced them as in use; also stored
 *	without @c_mp_lock
 * @c_npaths_wanted: number of paths that are in use, at either end; 1 until
 *	there are more
 * @c_fan: how far the spreading of messages has come
 * @c_fan_path: the path that carried all messages before they spread
 * @c_fan_at: when the barrier probe was sent last, in jiffies
 * @c_fan_ticket: ticket of the barrier probe on @c_fan_path
 * @c_fan_tag: tag of this barrier, for a peer that runs this implementation
 * @c_fan_echo: tag of the barrier that such a peer has last reported as
 *	arrived; stored by deliveries
 * @c_first_probe: the probe that opens the connection has not been queued; used
 *	by the work item of the first path only
 * @c_probes: number of numbered probes without a reply
 * @c_map_acked_ver: latest version of our congestion map that the peer has
 *	acknowledged
 * @c_rx_epoch: counts restarts of the peer, for paths on which the peer sends
 *	no handshake frames, and for frames of streams. Without
 *	%RDS_CAP_HANDSHAKE the transport reports restarts
 * @c_upper: a user above core has used the connection
 * @c_gone: that user is told, or was told, that the connection is destroyed
 * @c_paths: the paths needed so far, by number. Set under rn_lock, read without
 * @c_path: the first path that existed; usually path 0
 */
struct rds_conn {
	struct rhash_head	c_node;
	struct list_head	c_item;
	struct list_head	c_reap_item;
	struct rds_conn_key	c_key;
	struct rds_net		*c_rn;
	kuid_t			c_uid;
	refcount_t		c_refs;
	struct rds_cong_map	*c_lcong;
	struct rds_cong_map	*c_fcong;
	struct list_head	c_cong_item;
	struct rcu_head		c_rcu;
	bool			c_used;
	bool			c_evicted;
	bool			c_forgotten;
	bool			c_knocked;
	unsigned long		c_knocked_at;
	unsigned long		c_handshake_wait_at;
	atomic_long_t		c_rx_held;
	u32			c_hash;
	bool			c_is_lower;
	u32			c_gen;
	u32			c_epoch;
	u8			c_npaths;

	struct mutex		c_mp_lock;	/* guards peer state */
	struct rds_handshake	c_peer_hs;
	bool			c_has_handshake;
	u16			c_npaths_offered;
	bool			c_npaths_offered_in_use;
	u8			c_npaths_wanted;
	enum rds_fan		c_fan;
	struct rds_cpath	*c_fan_path;
	unsigned long		c_fan_at;
	u64			c_fan_ticket;
	u8			c_fan_tag;
	u8			c_fan_echo;
	bool			c_first_probe;
	atomic_t		c_probes;

	u32			c_map_acked_ver;
	u32			c_rx_epoch;
	bool			c_upper;
	bool			c_gone;
	struct rds_cpath	*c_paths[RDS_MAX_PATHS];
	struct rds_cpath	c_path;
};

void rds_conn_free_path(struct rds_cpath *cp);
void rds_conn_release(struct rds_conn *conn);
void rds_conn_swap(struct rds_conn *conn, struct rds_cpath *a,
		   struct rds_cpath *b);

/**
 * rds_conn_path() - Get a path of a connection
 * @conn: the connection
 * @i: the path's number, below RDS_MAX_PATHS
 *
 * Context: Any context.
 * Return: the path, which exists as long as the connection; NULL if it was not
 * needed so far. Path 0 always exists.
 */
static inline struct rds_cpath *rds_conn_path(const struct rds_conn *conn,
					      unsigned int i)
{
	/* Pairs with the release in rds_conn_add_path(). */
	return smp_load_acquire(&conn->c_paths[i]);
}

/**
 * rds_cpath_asks_acks() - Check whether messages carry requests for acks
 * @cp: the path
 *
 * A transport with %RDS_CAP_SELF_ACKED needs no requests. On such a transport,
 * a peer that runs this implementation acknowledges less often if it is not
 * asked (tcp/recv.c), so it gets requests. Other implementations do not expect
 * them on such a transport, and get none.
 *
 * Context: Any context.
 * Return: true if messages on the path may carry RDS_FLAG_ACK_REQUIRED.
 */
static inline bool rds_cpath_asks_acks(const struct rds_cpath *cp)
{
	return !rds_cpath_can(cp, RDS_CAP_SELF_ACKED) ||
	       READ_ONCE(cp->cp_conn->c_peer_hs.ours);
}

/**
 * rds_conn_loops() - Check whether a connection ends on this host
 * @conn: the connection
 *
 * Context: Any context.
 * Return: true if its transport is a loopback transport.
 */
static inline bool rds_conn_loops(const struct rds_conn *conn)
{
	return rds_cpath_can(&conn->c_path, RDS_CAP_LOOPBACK);
}

/**
 * rds_conn_set_used() - Note that a local socket uses a connection
 * @conn: the connection
 *
 * Context: Any context.
 */
static inline void rds_conn_set_used(struct rds_conn *conn)
{
	if (!READ_ONCE(conn->c_used))
		WRITE_ONCE(conn->c_used, true);
}

/**
 * rds_conn_hold() - Take another reference to a connection
 * @conn: the connection; the caller has a reference already
 *
 * Context: Any context.
 */
static inline void rds_conn_hold(struct rds_conn *conn)
{
	refcount_inc(&conn->c_refs);
}

/**
 * rds_conn_put() - Put a reference to a connection
 * @conn: the connection, or NULL
 *
 * Context: Any context.
 */
static inline void rds_conn_put(struct rds_conn *conn)
{
	if (conn && refcount_dec_and_test(&conn->c_refs))
		rds_conn_release(conn);
}

#endif /* _RDS_CORE_CONN_H */
