/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections: what two addresses share. */
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
 * struct rds_conn_key - what a connection is found by
 * @laddr: our address
 * @faddr: the peer's
 * @trans: the transport
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @passive: the accepting end of a connection to itself
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
 * enum rds_fan - how far spreading over the paths has come
 * @RDS_FAN_NONE: there is one path, as far as we know
 * @RDS_FAN_BARRIER: messages spread, and wait on their paths until all that
 *	went before has arrived
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
 * @c_reap_item: on the list of those being freed because nobody uses them
 * @c_key: what it is found by; never changes. Its transport may be gone when
 *	the paths are dead: see &rds_cpath.cp_trans
 * @c_rn: the namespace
 * @c_uid: the user who has had it made; invalid if that was a peer. Never
 *	changes in the table
 * @c_refs: the table, sockets that use it, messages, queued work, the loopback
 *	path that delivers on it
 * @c_lcong: our address's congestion map
 * @c_fcong: the map that says which of the peer's ports are congested
 * @c_cong_item: on the list of @c_lcong, if the peer is to be told
 * @c_rcu: frees it
 * @c_used: a socket of this host has sent or received on it; a connection that
 *	none has used goes when it is disconnected
 * @c_hash: of its addresses, the same at both ends; see rds_mp_pick()
 * @c_is_lower: our address is the lower of the two
 * @c_called: the peer has asked us to dial
 * @c_called_at: when it did so last, in jiffies
 * @c_handshake_wait_at: when somebody first waited to learn what the peer is,
 *	in jiffies; 0 if nobody has
 * @c_rx_held: bytes of memory that unread messages hold which came for a port
 *	that was congested already
 * @c_evicted: it is to go although it is connected
 * @c_forgotten: likewise, and although it was used
 * @c_gen: our generation number, as the peer knows it
 * @c_epoch: tells this life of the connection from others, see handshake.c
 * @c_npaths: paths that messages are spread over; a power of two; written
 *	under cp_lock of @c_fan_path, too
 * @c_mp_lock: serialises what is learned of the peer; guards all below
 * @c_peer_hs: what the peer has said of itself
 * @c_has_handshake: it has said anything
 * @c_npaths_offered: how many paths we said last that we offer
 * @c_npaths_offered_in_use: or have in use
 * @c_npaths_wanted: paths that are in use, at either end; 1 until there are
 *	more
 * @c_fan: how far that has come
 * @c_fan_path: the path that carried everything until then
 * @c_fan_at: when the barrier was sent last, in jiffies
 * @c_fan_ticket: its ticket on @c_fan_path
 * @c_fan_tag: what tells this barrier from others, to one of ours
 * @c_fan_echo: the barrier that it has said last has arrived; stored by
 *	deliveries
 * @c_first_probe: the probe that opens the connection has not been queued;
 *	touched by the first path's work only
 * @c_probes: numbered probes that have not been answered
 * @c_map_acked_ver: state of our congestion map that the peer has
 * @c_rx_epoch: counts restarts of a peer whose paths do not tell one by one
 * @c_paths: the paths, by number; those that were needed so far. Set under
 *	rn_lock, read without
 * @c_path: the first of them to exist; of path 0 as a rule
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
	bool			c_called;
	unsigned long		c_called_at;
	unsigned long		c_handshake_wait_at;
	atomic_long_t		c_rx_held;
	u32			c_hash;
	bool			c_is_lower;
	u32			c_gen;
	u32			c_epoch;
	u8			c_npaths;

	struct mutex		c_mp_lock;	/* guards what follows */
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
	struct rds_cpath	*c_paths[RDS_MAX_PATHS];
	struct rds_cpath	c_path;
};

void rds_conn_free_path(struct rds_cpath *cp);
void rds_conn_release(struct rds_conn *conn);

/**
 * rds_conn_path() - a path of a connection
 * @conn: the connection
 * @i: its number, below RDS_MAX_PATHS
 *
 * Context: any.
 * Return: the path, which is there as long as the connection, or NULL if it
 * was not needed so far. Path 0 always is.
 */
static inline struct rds_cpath *rds_conn_path(const struct rds_conn *conn,
					      unsigned int i)
{
	/* Pairs with the release in rds_conn_add_path(). */
	return smp_load_acquire(&conn->c_paths[i]);
}

/**
 * rds_cpath_asks_acks() - do messages say when they wait for an ack?
 * @cp: the path
 *
 * Where acks come by themselves, peers of this implementation still make use of
 * it; others have never seen it there.
 *
 * Context: any.
 * Return: true if they do.
 */
static inline bool rds_cpath_asks_acks(const struct rds_cpath *cp)
{
	return !cp->cp_self_acked || READ_ONCE(cp->cp_conn->c_peer_hs.ours);
}

/**
 * rds_conn_loops() - does a connection end on this host?
 * @conn: the connection
 *
 * Context: any; its transport is registered.
 * Return: true if its transport is a loopback transport.
 */
static inline bool rds_conn_loops(const struct rds_conn *conn)
{
	return conn->c_path.cp_loops;
}

/**
 * rds_conn_set_used() - a socket of this host uses the connection
 * @conn: the connection
 *
 * Context: any.
 */
static inline void rds_conn_set_used(struct rds_conn *conn)
{
	if (!READ_ONCE(conn->c_used))
		WRITE_ONCE(conn->c_used, true);
}

/**
 * rds_conn_hold() - take another reference
 * @conn: the connection; the caller has a reference already
 *
 * Context: any.
 */
static inline void rds_conn_hold(struct rds_conn *conn)
{
	refcount_inc(&conn->c_refs);
}

/**
 * rds_conn_put() - give up a reference
 * @conn: the connection, or NULL
 *
 * Context: any.
 */
static inline void rds_conn_put(struct rds_conn *conn)
{
	if (conn && refcount_dec_and_test(&conn->c_refs))
		rds_conn_release(conn);
}

#endif /* _RDS_CORE_CONN_H */
