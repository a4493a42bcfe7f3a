/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between core and a user of connections that stands above it.
 *
 * transport.h is the contract for what stands below connections. This one is
 * for what stands above, beside the sockets of type SOCK_SEQPACKET: another
 * kind of socket, whose messages (frames) travel on the same connections. There
 * is one such user: streams (net/rds/stream).
 *
 * Core owns connections and messages, and the order and reliability of
 * delivery. The user owns its sockets, its table of ports, and what frames
 * mean. A frame is a message with the extension header %RDS_EXTHDR_STREAM. It
 * is sent only to a peer that has announced that it knows such frames, and only
 * to the incarnation of the peer that it is meant for. Frames between two ports
 * arrive in order and exactly once, as all messages do. They are not subject to
 * congestion maps: the user limits what its peer may send.
 *
 * - Open a connection by addresses: rds_upper_open(). Or use the one on which a
 *   frame has arrived: rds_upper_hold().
 * - Learn what the peer knows: rds_upper_peer(), and upper.event() with
 *   %RDS_UPPER_PEER when that may have changed.
 * - Send: rds_upper_alloc(), rds_upper_submit(), and one of rds_upper_push(),
 *   rds_upper_push_small() and rds_upper_kick(). For each frame submitted, core
 *   calls upper.done() once, unless rds_upper_cancel() returns true for it.
 * - Send from memory of a process: rds_upper_lend() before, and
 *   rds_upper_alloc_user() for each frame.
 * - Receive: upper.deliver(). Charge what waits to be read: rds_upper_charge().
 * - Receive into memory of a process: rds_upper_pin() before, and
 *   rds_upper_place() when a frame has arrived.
 *
 * Terms are those of transport.h. Core holds none of its locks when it calls an
 * op, other than those named there.
 */
#ifndef _NET_RDS_UPPER_H
#define _NET_RDS_UPPER_H

#include <linux/bits.h>
#include <linux/uidgid.h>
#include <net/rds/info.h>
#include <net/rds/message.h>

struct in6_addr;
struct module;
struct net;
struct rds_conn;
struct rds_loan;
struct rds_upper_memory;
struct rds_upper_notices;
struct sock;
struct socket;

/**
 * enum rds_upper_event - what has happened to a connection
 * @RDS_UPPER_PEER: messages may flow to the peer now, or it has announced what
 *	it is on a new connection, or it is another incarnation than before;
 *	rds_upper_peer() has the news
 * @RDS_UPPER_FAILED: an attempt to connect has failed, because no RDS could be
 *	reached; others follow
 * @RDS_UPPER_GONE: the connection is being destroyed
 */
enum rds_upper_event {
	RDS_UPPER_PEER,
	RDS_UPPER_FAILED,
	RDS_UPPER_GONE,
};

/**
 * enum rds_upper_peer - what is known of the peer of a connection
 * @RDS_PEER_UNKNOWN: nothing yet
 * @RDS_PEER_STREAMS: it knows streams
 * @RDS_PEER_OTHER: it does not know streams
 */
enum rds_upper_peer {
	RDS_PEER_UNKNOWN,
	RDS_PEER_STREAMS,
	RDS_PEER_OTHER,
};

/**
 * enum rds_upper_how - how a frame is submitted
 * @RDS_UPPER_KICK: have the path's work item send it; otherwise the caller
 *	calls one of the functions that push or kick
 * @RDS_UPPER_ASK: ask the peer to acknowledge it as soon as it has it;
 *	otherwise it does so with another frame, or after a fifth of a second
 */
enum rds_upper_how {
	RDS_UPPER_KICK	= BIT(0),
	RDS_UPPER_ASK	= BIT(1),
};

/**
 * struct rds_upper_key - the connection that a user asks for
 * @laddr: our address; IPv4 in its mapped form
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @uid: the user who is charged if the connection is new
 */
struct rds_upper_key {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	u32		ifindex;
	kuid_t		uid;
};

/**
 * struct rds_upper_names - the names of a connection
 * @net: the namespace; outlives the connection
 * @laddr: our address; IPv4 in its mapped form
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @loops: the peer is on this host
 */
struct rds_upper_names {
	struct net	*net;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	u32		ifindex;
	bool		loops;
};

/**
 * struct rds_upper - a user of connections
 */
struct rds_upper {
	/** @owner: its module */
	struct module *owner;

	/**
	 * @create: Required. Create a socket of type SOCK_STREAM, and set
	 * &socket.ops.
	 *
	 * Context: Process context, may sleep. No locks. The module is pinned.
	 * Return: 0, or a negative errno.
	 */
	int (*create)(struct net *net, struct socket *sock, int protocol,
		      int kern);

	/**
	 * @deliver: Required. Take a frame that has arrived on @conn, which is
	 * borrowed. The reference to @inc is taken over. When rds_upper_peer()
	 * returns another incarnation of the peer, no delivery of the former
	 * one goes on or follows.
	 *
	 * Context: Deliver context, serial for each path. Locks of the
	 * transport may be held; the RCU read lock is held.
	 */
	void (*deliver)(struct rds_conn *conn, struct rds_incoming *inc,
			struct rds_rx_batch *batch);

	/**
	 * @done: Required. The connection has finished with a frame of @owner:
	 * the peer has it, or, if @lost, it was given up.
	 *
	 * Context: Any context; locks of the transport may be held.
	 */
	void (*done)(struct rds_message *msg, void *owner, bool lost);

	/**
	 * @event: Required. Something has happened to a connection that was
	 * opened or held once. @err is a negative errno for %RDS_UPPER_FAILED,
	 * else 0.
	 *
	 * Context: Any context; cp_xmit_lock, c_mp_lock and locks of the
	 * transport may be held. RCU read lock.
	 */
	void (*event)(struct rds_conn *conn, enum rds_upper_event event,
		      int err);

	/** @info: Optional. Counters and the list; no records of paths. */
	const struct rds_info_ops *info;
};

/* Each is documented where it is defined, in the file of net/rds/core that is
 * named here.
 */

/* upper.c */
int rds_upper_register(const struct rds_upper *upper);
void rds_upper_unregister(const struct rds_upper *upper);
void rds_upper_names(const struct rds_conn *conn,
		     struct rds_upper_names *names);
bool rds_upper_is_gone(const struct rds_conn *conn);
enum rds_upper_peer rds_upper_peer(const struct rds_conn *conn, u32 *epoch);

/* upper_calls.c */
struct rds_conn *rds_upper_open(struct net *net,
				const struct rds_upper_key *key);
void rds_upper_demand(struct net *net, const struct in6_addr *ip, u32 ifindex);
bool rds_upper_hold(struct rds_conn *conn);
void rds_upper_close(struct rds_conn *conn);
void rds_upper_dial(struct rds_conn *conn);
struct rds_message *rds_upper_alloc(u32 len, gfp_t gfp);
int rds_upper_fill(struct rds_message *msg, struct iov_iter *from);
int rds_upper_submit(struct rds_conn *conn, struct rds_message *msg,
		     void *owner, u32 epoch, unsigned int how);
void rds_upper_push(struct rds_conn *conn, __be16 sport, __be16 dport);
void rds_upper_kick(struct rds_conn *conn, __be16 sport, __be16 dport);
void rds_upper_push_small(struct rds_conn *conn, __be16 sport, __be16 dport);
bool rds_upper_cancel(struct rds_message *msg);
bool rds_upper_was_sent(struct rds_message *msg);
const struct in6_addr *rds_upper_faddr(const struct rds_message *msg);
void rds_upper_reply(struct rds_conn *conn, __be16 sport, __be16 dport,
		     const u8 *exthdr);
void rds_upper_incoming_put(struct rds_incoming *inc);
struct sock *rds_upper_account(struct net *net);
void rds_upper_charge(struct sock *account, struct rds_incoming *inc);
void rds_upper_uncharge(struct sock *account, const struct rds_incoming *inc);

/* upper_memory.c */
struct rds_upper_memory *rds_upper_pin(u64 addr, u32 len);
void rds_upper_unpin(struct rds_upper_memory *mem);
int rds_upper_place(struct rds_upper_memory *mem, u32 at,
		    struct rds_incoming *inc);
struct rds_message *rds_upper_alloc_user(const struct rds_conn *conn,
					 struct iov_iter *from, u32 len,
					 struct rds_loan *ln);

/* upper_notice.c */
struct rds_upper_notices *rds_upper_notices_alloc(struct sock *sk);
void rds_upper_notices_close(struct rds_upper_notices *nq);
struct rds_loan *rds_upper_lend(struct rds_upper_notices *nq,
				unsigned int pages);
void rds_upper_lend_count(struct rds_loan *ln);

#endif /* _NET_RDS_UPPER_H */
