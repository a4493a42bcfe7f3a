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
 * struct rds_sock - an RDS socket
 * @rs_sk: the generic part; first
 * @rs_rn: the namespace's part of RDS
 * @rs_bind_node: in &rds_net.rn_binds
 * @rs_bound: what it is bound to, and its key there; constant once @rs_trans
 *	is bound
 * @rs_is_bound: set by release once the four fields around are; never cleared
 * @rs_trans: transport, its module pinned; chosen by bind() or by
 *	SO_RDS_TRANSPORT before that; changed under the socket lock
 * @rs_map: congestion map of the bound address
 * @rs_tos: type of service; changed under the socket lock
 * @rs_item: on &rds_net.rn_socks
 *
 * @rs_lock: guards the sending side
 * @rs_peer_seq: lets @rs_peer be read without a lock
 * @rs_peer: where connect() points; unspecified address if nowhere
 * @rs_conn: the connection used last, referenced; read under RCU, changed
 *	under @rs_lock
 * @rs_conn_as_of: rds_addr_state() before it was looked for, or an older
 * @rs_send_queue: messages not yet acknowledged, in the order sent
 * @rs_snd_bytes: payload of those
 * @rs_snd_msgs: number of those
 * @rs_notes: how operations have ended, to be told
 * @rs_nr_notes: number of those, and of those to come
 * @rs_notes_closed: nobody is told any more
 *
 * @rs_recv_lock: guards the receiving side
 * @rs_recv_queue: messages received and not read
 * @rs_rcv_bytes: payload of those
 * @rs_rcv_held: memory of those
 * @rs_account: what those are charged to; see recv_queue.c
 * @rs_congested: the port's bit in @rs_map is set
 * @rs_map_ver: state of @rs_map when the bit was changed
 * @rs_closed: nothing more may be queued
 *
 * @rs_cong_item: on &rds_net.rn_cong_socks while waiting for a change; this
 *	and the next seven are guarded by &rds_net.rn_cong_lock
 * @rs_cong_monitor: explicit monitoring is on
 * @rs_cong_watch: port groups that the user has asked for
 * @rs_cong_mask: port groups that ENOBUFS has added, until they are told
 * @rs_cong_notify: those of them that have become free
 * @rs_cong_seen: has met ENOBUFS, and not sent since
 * @rs_cong_told: has been told of a change after that
 * @rs_cong_track: value of &rds_net.rn_cong_ver that poll() told last
 *
 * @rs_zcopy: what is to be told of sends from user memory; NULL before the
 *	first, set once
 * @rs_mrs: regions that peers may reach, by their keys
 * @rs_nr_mrs: how many, and those about to be there
 * @rs_mrs_ending: how many a work item ends, which messages have named
 * @rs_recverr: RDS_RECVERR
 * @rs_rx_traces: how many receive path latencies the user wants
 * @rs_rx_trace: which
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

	struct list_head	rs_cong_item;
	bool			rs_cong_monitor;
	bool			rs_cong_seen;
	bool			rs_cong_told;
	u64			rs_cong_watch;
	u64			rs_cong_mask;
	u64			rs_cong_notify;
	int			rs_cong_track;

	struct rds_zcopy_queue	*rs_zcopy;
	struct xarray		rs_mrs;
	atomic_t		rs_nr_mrs;
	atomic_t		rs_mrs_ending;
	bool			rs_recverr;
	u8			rs_rx_traces;
	u8			rs_rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/* Messages on their way that a socket may have, whatever their size */
#define RDS_SNDBUF_MSGS		16384

static inline struct rds_sock *rds_sk(const struct sock *sk)
{
	return (struct rds_sock *)sk;
}

/* The kernel doubles what users set; RDS counts payload, as they do. */
static inline u64 rds_sndbuf(const struct rds_sock *rs)
{
	return (u32)READ_ONCE(rs->rs_sk.sk_sndbuf) / 2;
}

static inline u64 rds_rcvbuf(const struct rds_sock *rs)
{
	return (u32)READ_ONCE(rs->rs_sk.sk_rcvbuf) / 2;
}

/**
 * rds_sock_writeable() - may another message be queued?
 * @rs: the socket
 *
 * rds(7), "Message Transmission": what counts is what is queued already, so
 * the last message may overshoot.
 *
 * Context: any; exact under &rds_sock.rs_lock.
 * Return: true if it may.
 */
static inline bool rds_sock_writeable(const struct rds_sock *rs)
{
	return READ_ONCE(rs->rs_snd_bytes) < rds_sndbuf(rs) &&
	       READ_ONCE(rs->rs_snd_msgs) < RDS_SNDBUF_MSGS;
}

/**
 * rds_sock_read_peer() - where does connect() point?
 * @rs: the socket
 * @peer: where to store it; unspecified address if nowhere
 *
 * Context: any.
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
 * rds_sock_is_bound() - may the bound address and transport be read?
 * @rs: the socket
 *
 * Context: any.
 * Return: true if it is bound; it stays so until it is closed.
 */
static inline bool rds_sock_is_bound(const struct rds_sock *rs)
{
	/* Pairs with the release in rds_bind_locked(). */
	return smp_load_acquire(&rs->rs_is_bound);
}

#endif /* _RDS_CORE_SOCK_H */
