/* SPDX-License-Identifier: GPL-2.0-only */
/* RDS sockets. */
#ifndef _RDS_CORE_SOCK_H
#define _RDS_CORE_SOCK_H

#include <linux/rhashtable-types.h>
#include <linux/xarray.h>
#include <net/rds/transport.h>
#include <net/sock.h>

#include "addr.h"
#include "rds_net.h"

struct rds_cong_map;
struct rds_conn;
struct rds_zcopy_queue;

/**
 * struct rds_sock_cong - reports of congested ports to a socket
 * @sg_item: on &rds_net.rn_cong_socks while waiting for a change
 * @sg_monitor: explicit monitoring is on
 * @sg_seen: a send has failed with ENOBUFS; cleared when the socket sends, or
 *	finds no input, after @sg_told was set
 * @sg_told: poll() has reported a change since that failure
 * @sg_watch: port groups that the user has asked to monitor
 * @sg_mask: port groups that ENOBUFS has added, until they become free
 * @sg_notify: port groups of both masks that have become free and that have not
 *	been reported to the user yet. Read without the lock only to see if it
 *	is 0, for which the two halves of a 32-bit machine may be of two times:
 *	bits are added, or all are cleared
 * @sg_track: value of &rds_net.rn_cong_ver that poll() has reported last; a
 *	send that fails with ENOBUFS sets it to the current value
 *
 * &rds_net.rn_cong_lock guards all fields.
 */
struct rds_sock_cong {
	struct list_head	sg_item;
	bool			sg_monitor;
	bool			sg_seen;
	bool			sg_told;
	u64			sg_watch;
	u64			sg_mask;
	u64			sg_notify;
	int			sg_track;
};

/**
 * struct rds_sock - an RDS socket
 * @rs_sk: the generic part; must be first
 * @rs_rn: the namespace's part of RDS
 * @rs_bind_node: in &rds_net.rn_binds
 * @rs_bound: bound address and port, and the key in &rds_net.rn_binds; constant
 *	once @rs_is_bound is set
 * @rs_is_bound: @rs_bind_node, @rs_bound, @rs_trans and @rs_map are set; stored
 *	by release, never cleared
 * @rs_trans: transport, its module pinned; chosen by bind(), or before that by
 *	SO_RDS_TRANSPORT; changed under the socket lock
 * @rs_map: congestion map of the bound address
 * @rs_tos: type of service; changed under the socket lock
 * @rs_item: on &rds_net.rn_socks
 *
 * @rs_lock: guards the sending side: the fields up to @rs_notes_closed
 * @rs_peer_seq: lets @rs_peer be read without a lock
 * @rs_peer: address set by connect(); unspecified if there is none
 * @rs_conn: connection used last, with a reference; read under RCU, changed
 *	under @rs_lock
 * @rs_conn_as_of: value of rds_addr_state() before @rs_conn was looked up, or
 *	an older value
 * @rs_send_queue: messages not yet acknowledged, in the order sent
 * @rs_snd_bytes: bytes of payload of these messages. They are less than 2^32
 *	(see rds_sndbuf()), so a 32-bit machine may read them without the lock
 * @rs_snd_msgs: number of these messages
 * @rs_notes: results of operations that the user has not received yet
 * @rs_nr_notes: number of notes on @rs_notes, plus those that unfinished
 *	operations will add
 * @rs_notes_closed: the user receives no more notes
 *
 * @rs_recv_lock: guards the receiving side: the fields up to @rs_closed
 * @rs_recv_queue: messages received and not yet read
 * @rs_rcv_bytes: bytes of payload of these messages
 * @rs_rcv_held: bytes of memory that these messages hold
 * @rs_account: socket that these messages are charged to; see account.c
 * @rs_congested: the bit of the port is set in @rs_map
 * @rs_map_ver: version of @rs_map in which that bit was changed last
 * @rs_closed: no more messages may be queued
 *
 * @rs_cong: reports of congested ports to the socket
 *
 * @rs_zcopy: completions of sends from user memory, to be reported; NULL before
 *	the first such send, set once
 * @rs_mrs: regions that peers may reach, by their keys
 * @rs_nr_mrs: number of regions, including those being registered
 * @rs_mrs_ending: number of regions that peers have used up, and that work
 *	items are about to end
 * @rs_recverr: value of RDS_RECVERR
 * @rs_rx_traces: number of receive path latencies that the user has requested
 * @rs_rx_trace: the latencies requested
 */
struct rds_sock {
	struct sock		rs_sk;
	struct rds_net		*rs_rn;
	struct rhash_head	rs_bind_node;
	struct rds_addr		rs_bound;
	bool			rs_is_bound;
	const struct rds_transport *rs_trans;
	struct rds_cong_map	*rs_map;
	u8			rs_tos;
	struct list_head	rs_item;

	spinlock_t		rs_lock;	/* guards the sending side */
	seqcount_spinlock_t	rs_peer_seq;
	struct rds_addr		rs_peer;
	struct rds_conn __rcu	*rs_conn;
	int			rs_conn_as_of;
	struct list_head	rs_send_queue;
	u64			rs_snd_bytes;
	u32			rs_snd_msgs;
	struct list_head	rs_notes;
	u32			rs_nr_notes;
	bool			rs_notes_closed;

	/* guards the receiving side */
	spinlock_t		rs_recv_lock ____cacheline_aligned_in_smp;
	struct list_head	rs_recv_queue;
	u64			rs_rcv_bytes;
	u64			rs_rcv_held;
	struct sock		*rs_account;
	bool			rs_congested;
	u32			rs_map_ver;
	bool			rs_closed;

	struct rds_sock_cong	rs_cong;

	struct rds_zcopy_queue	*rs_zcopy;
	struct xarray		rs_mrs;
	atomic_t		rs_nr_mrs;
	atomic_t		rs_mrs_ending;
	bool			rs_recverr;
	u8			rs_rx_traces;
	u8			rs_rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/* Limit on unacknowledged messages of a socket, whatever their size */
#define RDS_SNDBUF_MSGS		16384

static inline struct rds_sock *rds_sk(const struct sock *sk)
{
	return (struct rds_sock *)sk;
}

/* The kernel doubles the buffer size that a user sets, to allow for overhead.
 * RDS counts payload only, so halve the size again.
 */
static inline u64 rds_sndbuf(const struct rds_sock *rs)
{
	return (u32)READ_ONCE(rs->rs_sk.sk_sndbuf) / 2;
}

static inline u64 rds_rcvbuf(const struct rds_sock *rs)
{
	return (u32)READ_ONCE(rs->rs_sk.sk_rcvbuf) / 2;
}

/**
 * rds_sock_writeable() - Check whether another message may be queued
 * @rs: the socket
 *
 * Only messages that are queued already count against the limit, so the last
 * message may exceed it (rds(7), "Sending").
 *
 * Context: Any context. The result is exact under &rds_sock.rs_lock.
 * Return: true if another message may be queued.
 */
static inline bool rds_sock_writeable(const struct rds_sock *rs)
{
	return READ_ONCE(rs->rs_snd_bytes) < rds_sndbuf(rs) &&
	       READ_ONCE(rs->rs_snd_msgs) < RDS_SNDBUF_MSGS;
}

/**
 * rds_sock_read_peer() - Read the address that connect() has set
 * @rs: the socket
 * @peer: set to the address; unspecified if the socket is not connected
 *
 * Context: Any context.
 */
static inline void rds_sock_read_peer(const struct rds_sock *rs,
				      struct rds_addr *peer)
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&rs->rs_peer_seq);
		*peer = rs->rs_peer;
	} while (read_seqcount_retry(&rs->rs_peer_seq, seq));
}

/**
 * rds_sock_is_bound() - Check whether a socket is bound
 * @rs: the socket
 *
 * If it is, the bound address and the transport may be read without a lock.
 *
 * Context: Any context.
 * Return: true if the socket is bound; it stays bound until it is closed.
 */
static inline bool rds_sock_is_bound(const struct rds_sock *rs)
{
	/* Pairs with the release in rds_bind_locked(). */
	return smp_load_acquire(&rs->rs_is_bound);
}

#endif /* _RDS_CORE_SOCK_H */
