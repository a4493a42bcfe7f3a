/* SPDX-License-Identifier: GPL-2.0-only */
/* The contract, continued: paths, and what transports tell core about them. */
#ifndef _NET_RDS_PATH_H
#define _NET_RDS_PATH_H

#include <linux/atomic.h>
#include <linux/in6.h>
#include <linux/types.h>

struct net;
struct rds_transport;

/* Most paths that a connection may have */
#define RDS_MAX_PATHS			8

/**
 * enum rds_drop_reason - why a path was dropped
 * @RDS_DROP_NONE: the path has never been dropped
 * @RDS_DROP_XMIT_FAILED: the transport refused a message for good
 * @RDS_DROP_PEER_CLOSED: the peer closed the connection in good order
 * @RDS_DROP_PEER_RESET: the peer reset the connection, or has lost it and made
 *	another one
 * @RDS_DROP_TIMEOUT: the peer was silent for too long, left a software RDMA
 *	request without a response, or took too long to complete a message
 * @RDS_DROP_UNREACHABLE: the network has no way to the peer
 * @RDS_DROP_LOCAL_ABORT: an administrator of this host ended the connection,
 *	or its device was removed
 * @RDS_DROP_CONNECT_FAILED: the attempt to connect failed
 * @RDS_DROP_YIELD: the peer is the end that dials, and our attempt has served
 *	its purpose: the peer knows that we want a connection
 * @RDS_DROP_RACED: a connection or a knock of the peer overtook our attempt,
 *	or the path no longer waited for the connection when it came up
 * @RDS_DROP_PEER_RESTARTED: the peer is another incarnation than before
 * @RDS_DROP_TUNED: new buffer sizes are to take effect
 * @RDS_DROP_PROTOCOL: the peer broke the protocol, or named another path for
 *	this connection than the one that took it
 * @RDS_DROP_OVERSIZED: the peer announced a message longer than allowed
 * @RDS_DROP_IDLE: no socket uses the connection, and it was disconnected, never
 *	came UP, or has to make room for others
 * @RDS_DROP_UNREGISTER: the transport is being unloaded
 * @RDS_DROP_NET_EXIT: the network namespace is going away
 * @RDS_DROP_NO_MEMORY: there is no memory for a request of the peer
 * @RDS_DROP_REFUSED: no RDS listens at the address of the peer
 * @RDS_DROP_SILENT: no data has arrived on a connection that this end has
 *	dialed; see gate.c
 */
enum rds_drop_reason {
	RDS_DROP_NONE,
	RDS_DROP_XMIT_FAILED,
	RDS_DROP_PEER_CLOSED,
	RDS_DROP_PEER_RESET,
	RDS_DROP_TIMEOUT,
	RDS_DROP_UNREACHABLE,
	RDS_DROP_LOCAL_ABORT,
	RDS_DROP_CONNECT_FAILED,
	RDS_DROP_YIELD,
	RDS_DROP_RACED,
	RDS_DROP_PEER_RESTARTED,
	RDS_DROP_TUNED,
	RDS_DROP_PROTOCOL,
	RDS_DROP_OVERSIZED,
	RDS_DROP_IDLE,
	RDS_DROP_UNREGISTER,
	RDS_DROP_NET_EXIT,
	RDS_DROP_NO_MEMORY,
	RDS_DROP_REFUSED,
	RDS_DROP_SILENT,
};

/**
 * struct rds_path - a path of a connection, as the transport sees it
 * @data: the transport's own; set by its path_alloc()
 * @net: the namespace; outlives the path
 * @laddr: our address; IPv4 in its mapped form, as everywhere
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service; part of the connection's key
 * @index: number of the path, from 0. It may change while the path is UP: if
 *	the peer opened the path before it announced that its ports name paths,
 *	core assigns the right number later.
 * @passive: this is the accepting end of a connection of an address with
 *	itself. The path never dials: path_connect() takes an offer, or returns
 *	-EAGAIN.
 * @epoch: random; while it stays the same, the sequence numbers of our messages
 *	continue
 * @next_rx_seq: sequence number of the message expected next; all before it
 *	were delivered. Only deliveries, which are serialized, and core between
 *	two connections write it. Atomic for all others, which read it without
 *	serialization: a transport that sends an ack, and lists
 *
 * Valid from path_alloc() until path_free() returns. The transport may write
 * @data only.
 */
struct rds_path {
	void		*data;
	struct net	*net;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
	u8		index;
	bool		passive;
	u32		epoch;
	atomic64_t	next_rx_seq;
};

/**
 * struct rds_conn_request - description of a connection made by the peer
 * @laddr: our address; IPv4 in its mapped form
 * @faddr: the peer's address, in the same form
 * @ifindex: scope of link-local addresses, otherwise 0
 * @tos: type of service
 * @index: path that the peer's port names, if the peer's ports name paths
 * @since: when the peer made the connection, in jiffies
 * @spoken: the peer's first header has arrived and is valid
 * @knows_duels: the peer knows which connection is kept when both ends dial;
 *	irrelevant with RDS_CAP_LOWER_DIALS
 *
 * The transport passes it to rds_path_accept().
 */
struct rds_conn_request {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	int		ifindex;
	u8		tos;
	u8		index;
	unsigned long	since;
	bool		spoken;
	bool		knows_duels;
};

/**
 * enum rds_offer_event - what happens to an offer of a path
 * @RDS_OFFER_KEPT: the transport keeps a connection that the peer has made. It
 *	replaces the one that the transport has kept so far
 * @RDS_OFFER_GONE: the transport does not keep it any more
 * @RDS_OFFER_TAKEN: path_connect() takes it
 * @RDS_OFFER_OVERTAKEN: the peer has accepted the connection that we dialed,
 *	so the offer is not needed. Does not apply if the path no longer waits
 *	for the connection that we dialed
 * @RDS_OFFER_CLAIMED: private: the path begins to connect by an offer
 * @RDS_OFFER_RETURNED: private: after %RDS_OFFER_CLAIMED, the path was dropped
 *	before it took the offer
 * @RDS_OFFER_ENDED: private: the connection or attempt of the path has ended
 * @RDS_OFFER_EVENTS: private: number of events
 */
enum rds_offer_event {
	RDS_OFFER_KEPT,
	RDS_OFFER_GONE,
	RDS_OFFER_TAKEN,
	RDS_OFFER_OVERTAKEN,
	RDS_OFFER_CLAIMED,
	RDS_OFFER_RETURNED,
	RDS_OFFER_ENDED,
	RDS_OFFER_EVENTS
};

/**
 * enum rds_kick - why a transport makes the work item of a path run
 * @RDS_KICK_SEND: it can take messages again after data_ops.xmit() or
 *	data_ops.flush() has returned -EAGAIN; or an event has occurred that
 *	conn_ops.path_shutdown() waits for
 * @RDS_KICK_RX: it has stopped reading to give other work a turn
 * @RDS_KICK_RX_LATER: it could not allocate memory for received data, or has
 *	taken a connection on which data may have arrived already
 */
enum rds_kick {
	RDS_KICK_SEND,
	RDS_KICK_RX,
	RDS_KICK_RX_LATER,
};

/**
 * struct rds_path_resume - what a new connection changes for earlier traffic
 * @rx_restarts: the peer's sequence numbers begin at 1 again
 * @ops_lost: the peer is not the same as before. A key that the former peer
 *	gave out may belong to other memory now
 * @streams: the peer knows streams; transports with %RDS_CAP_HANDSHAKE leave
 *	this to core
 * @acked: the peer received all messages up to this sequence number before it
 *	lost the connection; 0 if the transport does not know
 */
struct rds_path_resume {
	bool	rx_restarts;
	bool	ops_lost;
	bool	streams;
	u64	acked;
};

/* Each is documented where it is defined, in the file of net/rds/core that is
 * named here.
 */

/* accept.c */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_conn_request *peer, void *offer);

/* conn_get.c */
struct rds_path *rds_path_get_reverse(struct rds_path *path);

/* conn_table.c */
void rds_paths_drop(struct net *net, const struct rds_transport *trans,
		    enum rds_drop_reason reason);

/* path.c */
void rds_path_put(struct rds_path *path);
void rds_path_drop(struct rds_path *path, enum rds_drop_reason reason);
void rds_path_kick(struct rds_path *path, enum rds_kick why);
bool rds_path_is_used(const struct rds_path *path);
bool rds_path_offer_event(struct rds_path *path, enum rds_offer_event event);
bool rds_path_refuses_offer(struct rds_path *path,
			    const struct rds_conn_request *peer, bool stuck);

/* path_connect.c */
void rds_path_connect_done(struct rds_path *path);

/* retrans.c */
bool rds_path_ack(struct rds_path *path, u64 seq);
bool rds_path_awaits_ack(struct rds_path *path);
void rds_path_ack_mark(struct rds_path *path, u32 mark);
void rds_path_resume(struct rds_path *path,
		     const struct rds_path_resume *resume);

/* send_map.c */
void rds_path_map_acked(struct rds_path *path);

#endif /* _NET_RDS_PATH_H */
