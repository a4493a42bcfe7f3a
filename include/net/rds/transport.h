/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the RDS core and its transports. This file has the
 * operations that core calls; path.h, message.h and rdma.h have the objects
 * that both sides see.
 *
 * Core owns sockets, connections, paths, messages and their sequence numbers.
 * A transport owns the object that it attaches to &rds_path.data, and decides
 * how bytes move. Core calls the operations of &struct rds_transport. The
 * transport calls the functions declared at the ends of these files. It writes
 * no field of a core object, except those marked as the transport's own.
 * Documentation/transport-contract.rst has the same facts as tables.
 *
 * Terms used below:
 * - Deliver context: softirq, or process context with bottom halves off; the
 *   transport's own socket lock may be held. No function that runs in deliver
 *   context sleeps or transmits.
 * - Offer: a connection that the peer has made and that waits for a path.
 * - Our implementation: the RDS that this file belongs to. Peers may run
 *   another one.
 */
#ifndef _NET_RDS_TRANSPORT_H
#define _NET_RDS_TRANSPORT_H

#include <net/rds/info.h>
#include <net/rds/message.h>
#include <net/rds/path.h>
#include <net/rds/rdma.h>

struct iov_iter;
struct module;

/**
 * enum rds_xmit_result - what data_ops.xmit() did with a message
 * @RDS_XMIT_SENT: the transport has taken all of it; an ack will follow, or
 *	rds_op_done() if &rds_op.op_bare is set
 * @RDS_XMIT_DELIVERED: core is to complete the message without an ack: the peer
 *	has it, or it was given up with its operation
 */
enum rds_xmit_result {
	RDS_XMIT_SENT,
	RDS_XMIT_DELIVERED,
};

/**
 * struct rds_conn_ops - addresses and connections
 */
struct rds_conn_ops {
	/**
	 * @laddr_check: Required. Check whether the transport serves a local
	 * address. @ifindex is the scope of a link-local @addr, otherwise 0.
	 *
	 * Context: Process context, may sleep. No locks.
	 * Return: 0 if it serves @addr; -EADDRNOTAVAIL if it does not; another
	 * errno if it cannot serve @net at all.
	 */
	int (*laddr_check)(struct net *net, const struct in6_addr *addr,
			   int ifindex);

	/**
	 * @tos_map: Optional. Map the type of service that a user has requested
	 * to the one that the connections of its socket get. Without this op,
	 * setting a type of service fails with ENOTTY.
	 *
	 * Context: Process context. The socket lock is held.
	 * Return: the type of service.
	 */
	u8 (*tos_map)(u8 tos);

	/**
	 * @max_paths: Required if %RDS_CAP_MULTIPATH. Return how many paths to
	 * offer to the peer. @legacy is true until the peer has shown that it
	 * runs our implementation.
	 *
	 * Context: Any context; must not sleep. Core may hold locks.
	 * Return: 1 to RDS_MAX_PATHS.
	 */
	unsigned int (*max_paths)(struct net *net, bool legacy);

	/**
	 * @path_alloc: Optional. Set up &rds_path.data for a new path. This is
	 * the first op that core calls on a path.
	 *
	 * Context: Process context, may sleep. The namespace's connection mutex
	 * may be held, so this op must not create connections.
	 * Return: 0; -ENETUNREACH if the transport cannot reach @path.faddr;
	 * -ENOMEM.
	 */
	int (*path_alloc)(struct rds_path *path);

	/**
	 * @path_free: Optional. Undo path_alloc(), and close an offer that the
	 * path still keeps. This is the last op that core calls on a path: no
	 * other op runs on it now or later. path_shutdown() has been called
	 * before, unless core could not complete the new connection.
	 *
	 * Context: Process context, may sleep. No locks, except that the
	 * namespace's connection mutex may be held if core could not complete
	 * the new connection.
	 */
	void (*path_free)(struct rds_path *path);

	/**
	 * @path_offer: Required if the transport calls rds_path_accept(), which
	 * calls this op. Keep @offer, a connection that the peer has made,
	 * until path_connect() takes it.
	 *
	 * The transport guards the kept offer by a lock of its own, and reports
	 * each change of it by rds_path_offer_event() under that lock. Without
	 * %RDS_CAP_MULTIPATH, an offer may arrive at any time and replaces the
	 * one that is kept already. With it, core offers a connection only to
	 * a path that has none.
	 *
	 * Context: Process context. The namespace's connection mutex is held.
	 * May run concurrently with any other op of the path except
	 * path_alloc() and path_free().
	 * Return: 0 if the path keeps @offer and owns it from now on; an errno
	 * if it does not keep it.
	 */
	int (*path_offer)(struct rds_path *path, void *offer);

	/**
	 * @path_connect: Required. Begin to connect. If path_offer() has kept a
	 * connection, report %RDS_OFFER_TAKEN and take it. Otherwise dial.
	 *
	 * When the connection works, the transport calls
	 * rds_path_connect_done(), from this op or later. Core may call
	 * path_shutdown() and xmit() from that moment on, so the call must be
	 * the last thing that this op does.
	 *
	 * Context: Process context (the path's work item), may sleep. No locks.
	 * The path is CONNECTING. Until rds_path_connect_done() is called, this
	 * op never runs concurrently with itself, path_shutdown() or xmit() of
	 * the same path.
	 * Return: 0 if an attempt has begun; if it fails later, the transport
	 * calls rds_path_drop(). -EAGAIN if the peer has to connect. Any other
	 * errno if the attempt failed. After an error, nothing is left to shut
	 * down.
	 */
	int (*path_connect)(struct rds_path *path);

	/**
	 * @path_shutdown: Required. Disconnect, and forget how much of a
	 * message has been sent. An offer that path_offer() keeps stays kept.
	 * The op must cope with a half-built connection, and with being called
	 * again.
	 *
	 * Without @abort, shut down in good order: wait for acks that are under
	 * way, for a bounded time, and deliver the data that the peer has sent
	 * and we have acknowledged, when there is memory for it. With @abort,
	 * shut down at once.
	 *
	 * Do not wait for the peer inside this op, because other paths need the
	 * thread. Instead, return how long core is to wait. The path then stays
	 * DISCONNECTING, and core calls this op again when the time has passed
	 * or the transport calls rds_path_kick(), whichever comes first.
	 *
	 * After it has returned 0, the transport calls no core function for
	 * this connection any more.
	 *
	 * Context: Process context, may sleep. The path's transmit lock is
	 * held, so no xmit() runs. Called by the path's work item, or by
	 * rds_conn_destroy(). On an idle path of a loopback transport, also by
	 * a task that needs room for another connection; the namespace's
	 * connection mutex is held then, too.
	 * Return: 0 when the shutdown is done; otherwise the time in jiffies
	 * after which core calls the op again at the latest. Always 0 with
	 * @abort.
	 */
	unsigned long (*path_shutdown)(struct rds_path *path, bool abort);

	/**
	 * @accept_again: Optional. Retry offers for which rds_path_accept() has
	 * returned -EAGAIN: a path may be free now, or core may have learned
	 * which path an offer belongs to. A transport without this op treats
	 * -EAGAIN as a refusal.
	 *
	 * Context: Process context: the work item of a path, or the one that
	 * frees unused connections. No locks. Core may call it often, so it
	 * only schedules work.
	 */
	void (*accept_again)(struct net *net);
};

/**
 * struct rds_data_ops - sending and receiving messages
 */
struct rds_data_ops {
	/**
	 * @xmit: Required. Send a message, or continue to send it. After
	 * -EAGAIN or -ENOMEM, core calls the op with the same message until the
	 * transport has taken all of it, unless path_shutdown() comes first.
	 * If @more is true, another message follows at once.
	 *
	 * Context: Process context, may sleep. The path's transmit lock is
	 * held. The path is UP. @msg is borrowed for the call.
	 * Return: a value of enum rds_xmit_result; -EAGAIN to be called again
	 * after rds_path_kick(); -ENOMEM to be called again soon; any other
	 * errno drops the path.
	 */
	int (*xmit)(struct rds_path *path, struct rds_message *msg, bool more);

	/**
	 * @flush: Optional. Send the messages that xmit() has taken and
	 * batched. Core calls the op when no other message follows at once, and
	 * again after -EAGAIN or -ENOMEM.
	 *
	 * Context and return as @xmit, but 0 when all is sent.
	 */
	int (*flush)(struct rds_path *path);

	/**
	 * @xmit_cong_map: Required unless %RDS_CAP_LOOPBACK. Send our
	 * congestion map: @map is RDS_CONG_MAP_BYTES long, in wire order. Core
	 * calls the op between messages. On each path the map is the first
	 * thing to be sent after the path came UP. On path 0 core sends it also
	 * when it has changed.
	 *
	 * When the peer has acknowledged the map, the transport calls
	 * rds_path_map_acked(). Until then core sends no other map on the path.
	 *
	 * Context and return as @xmit, but 0 when all of the map is taken. @map
	 * is borrowed. After -EAGAIN or -ENOMEM, core passes the same map,
	 * unchanged.
	 */
	int (*xmit_cong_map)(struct rds_path *path, const void *map);

	/**
	 * @rx_resume: Required unless %RDS_CAP_LOOPBACK. Resume reading, after
	 * rds_deliver() has returned false or the transport has called
	 * rds_path_kick() with %RDS_KICK_RX or %RDS_KICK_RX_LATER.
	 *
	 * Context: Process context (the path's work item), may sleep. No locks.
	 * Never runs concurrently with path_connect() or path_shutdown(). The
	 * path may be in any state.
	 */
	void (*rx_resume)(struct rds_path *path);
};

/**
 * enum rds_caps - capability flags of a transport
 * @RDS_CAP_LOOPBACK: reaches addresses of this host only, and has no wire
 * @RDS_CAP_PREFERS_LOOPBACK: leaves destinations on this host to the loopback
 *	transport
 * @RDS_CAP_NETNS: works in every network namespace, not just in the first
 * @RDS_CAP_LOWER_DIALS: of two peers, the one with the lower address redials
 * @RDS_CAP_HANDSHAKE: peers learn about each other by a handshake, in messages
 *	between reserved ports
 * @RDS_CAP_MULTIPATH: peers agree on the number of paths by the handshake
 * @RDS_CAP_SELF_ACKED: acks come without being requested, so messages do not
 *	ask for them
 * @RDS_CAP_ZEROCOPY: payloads may be in the sender's own pages
 * @RDS_CAP_ZEROCOPY_STRETCH: payloads may be in the sender's own pages if all
 *	of these but the first and the last are full
 */
enum rds_caps {
	RDS_CAP_LOOPBACK		= BIT(0),
	RDS_CAP_PREFERS_LOOPBACK	= BIT(1),
	RDS_CAP_NETNS			= BIT(2),
	RDS_CAP_LOWER_DIALS		= BIT(3),
	RDS_CAP_HANDSHAKE		= BIT(4),
	RDS_CAP_MULTIPATH		= BIT(5),
	RDS_CAP_SELF_ACKED		= BIT(6),
	RDS_CAP_ZEROCOPY		= BIT(7),
	RDS_CAP_ZEROCOPY_STRETCH	= BIT(8),
};

/**
 * struct rds_transport - a transport
 * @name: name that RDS_INFO_CONNECTIONS shows
 * @owner: its module; every bound socket pins it
 * @type: its slot, and its number in SO_RDS_TRANSPORT
 * @caps: bits of enum rds_caps
 * @conn: required: addresses and connections
 * @data: required: sending and receiving messages
 * @rdma: optional: RDMA by a device
 * @info: optional: counters, and lists for user space
 */
struct rds_transport {
	char				name[TRANSNAMSIZ];
	struct module			*owner;
	unsigned int			type;
	unsigned int			caps;
	const struct rds_conn_ops	*conn;
	const struct rds_data_ops	*data;
	const struct rds_rdma_ops	*rdma;
	const struct rds_info_ops	*info;
};

#define RDS_TRANS_SLOTS			(RDS_TRANS_LOOP + 1)

/* transport.c */
int rds_transport_register(const struct rds_transport *trans);
void rds_transport_unregister(const struct rds_transport *trans);

#endif /* _NET_RDS_TRANSPORT_H */
