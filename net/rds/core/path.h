/* SPDX-License-Identifier: GPL-2.0-only */
/* The paths of a connection */
#ifndef _RDS_CORE_PATH_H
#define _RDS_CORE_PATH_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds/transport.h>

#include "handshake.h"
#include "offer.h"
#include "park.h"
#include "path_state.h"
#include "sw_request.h"

struct rds_conn;

/**
 * enum rds_path_flag - bits of &rds_cpath.cp_flags
 * @RDS_PF_CONNECT: an attempt to connect is planned for cp_connect_at. Code
 *	that sets the flag always kicks the path's work item afterwards; see
 *	path.c. Cleared when the attempt begins, or when a connection is
 *	established
 * @RDS_PF_NO_DUELS: the peer that made the latest offer does not know which
 *	connection is kept in a duel. Stored before the offer is kept; used only
 *	without %RDS_CAP_MULTIPATH
 * @RDS_PF_CONG: send our congestion map to the peer
 * @RDS_PF_CONG_LATER: likewise, but after the peer has acknowledged the
 *	previous map; see send_map.c
 * @RDS_PF_HANDSHAKE: cp_handshake is new and has not been acted on; see
 *	multipath.c
 * @RDS_PF_FLUSH: flush the messages with a ticket below cp_flush_ticket
 * @RDS_PF_PROBE: queue a numbered probe
 * @RDS_PF_PROBE_NOW: send an unnumbered probe ahead of all messages
 * @RDS_PF_REPLY_NOW: send an unnumbered reply ahead of all messages
 * @RDS_PF_PROBE_RESTART: send a probe ahead of all messages, with a sequence
 *	number that only a peer which has forgotten us takes for new
 * @RDS_PF_UNPARK: check whether parked messages may be sent; see park.c
 * @RDS_PF_SW_RESPONSE: send responses to software RDMA requests of the peer
 * @RDS_PF_RX: let the transport read on
 * @RDS_PF_RX_STOPPED: too much received data is unread, so the transport does
 *	not read
 * @RDS_PF_RX_TURN: the peer's generation number has changed. The transport does
 *	not read until the path's work item has acted on that
 * @RDS_PF_ENDING: path_shutdown() of the transport needs more time for an
 *	orderly shutdown; used by rds_path_shut_down() only
 */
enum rds_path_flag {
	RDS_PF_CONNECT,
	RDS_PF_NO_DUELS,
	RDS_PF_CONG,
	RDS_PF_CONG_LATER,
	RDS_PF_HANDSHAKE,
	RDS_PF_FLUSH,
	RDS_PF_PROBE,
	RDS_PF_PROBE_NOW,
	RDS_PF_REPLY_NOW,
	RDS_PF_PROBE_RESTART,
	RDS_PF_UNPARK,
	RDS_PF_SW_RESPONSE,
	RDS_PF_RX,
	RDS_PF_RX_STOPPED,
	RDS_PF_RX_TURN,
	RDS_PF_ENDING,
};

/* Flags of everything that is sent ahead of all messages */
#define RDS_PF_AHEAD	(BIT(RDS_PF_CONG) | BIT(RDS_PF_PROBE_NOW) | \
			 BIT(RDS_PF_REPLY_NOW) | BIT(RDS_PF_PROBE_RESTART) | \
			 BIT(RDS_PF_UNPARK) | BIT(RDS_PF_SW_RESPONSE))

/**
 * struct rds_cpath - core's view of a path
 * @cp_pub: the transport's view
 * @cp_conn: the connection; the path is part of it
 * @cp_trans: the transport. It may be gone with its module once the path is
 *	dead, so code that has only a reference to the connection uses the
 *	copies below
 * @cp_caps: copy of the transport's capability flags, see rds_cpath_can()
 * @cp_device: the transport does RDMA operations itself
 * @cp_lock: guards the fields from @cp_state to @cp_unacked_bytes; a leaf: also
 *	taken under the locks of a transport's socket
 * @cp_state: stored by rds_cpath_event() only; read without the lock
 * @cp_offer: what the path has to do with connections that the peer has made;
 *	read without the lock
 * @cp_dead: the connection is being destroyed; nothing may be queued
 * @cp_send_queue: messages to send, in order; those that have a sequence number
 *	come first
 * @cp_park: messages that wait for a congested port
 * @cp_retrans: messages sent and not acknowledged, in order, including the one
 *	being sent
 * @cp_xmit_msg: the message being sent; changed only by the holder of
 *	@cp_xmit_lock
 * @cp_xmit_acked: the ack of @cp_xmit_msg has arrived already
 * @cp_acked_mark: the peer has acknowledged the byte stream up to here, as
 *	rds_message.m_mark counts
 * @cp_has_mark: @cp_acked_mark is valid for this connection
 * @cp_next_tx_seq: sequence number for the next message that is picked to be
 *	sent and has none
 * @cp_next_ticket: ticket for the next message queued; see send.c
 * @cp_sent_seq: highest sequence number ever given to the transport
 * @cp_flush_ticket: messages with a lower ticket were meant for an earlier
 *	incarnation of the peer
 * @cp_turn: the peer's new generation number, with RDS_TURN_NOTED set, until
 *	the change is acted on; otherwise 0
 * @cp_turn_ticket: messages with a lower ticket were queued before the new
 *	generation number arrived
 * @cp_handshake: the peer's last handshake frame
 * @cp_has_handshake: a handshake frame has arrived on this connection
 * @cp_handshake_at: when the last one arrived, in jiffies
 * @cp_restart_probe_out: a probe for %RDS_PF_PROBE_RESTART has been sent on
 *	this connection. Cleared by a numbered reply, and when a queued probe is
 *	sent
 * @cp_has_reply: a numbered reply to a probe has arrived on this connection
 * @cp_reply_at: when the last one arrived, in jiffies
 * @cp_attempts: number of attempts to connect
 * @cp_established: number of times that the path came UP
 * @cp_resets: number of times that it was dropped from UP
 * @cp_drop_reason: why it was dropped last; also stored without the lock
 * @cp_since: when it entered its state, in jiffies
 * @cp_lost_at: when it was last dropped from UP, in jiffies
 * @cp_dialed: we have dialed the connection; set only without
 *	%RDS_CAP_MULTIPATH
 * @cp_dialed_at: when the peer accepted that connection, in jiffies
 * @cp_unacked_packets: messages until the next request for an ack
 * @cp_unacked_bytes: bytes until the next request for an ack
 * @cp_pongs: pongs that the path's work item has yet to queue
 * @cp_replies: number of replies to numbered probes that the path's work item
 *	has yet to queue
 * @cp_nreplies: number of replies that are queued and not yet acknowledged
 * @cp_nprobes: number of numbered probes that are queued and not yet
 *	acknowledged
 * @cp_npongs: number of pongs on @cp_pongs, and of those queued and not yet
 *	acknowledged
 * @cp_rx_peer: identity of the peer that assigned the sequence numbers which
 *	are received; written by deliveries only, which are serialized per path
 * @cp_rx_tag: tag of the last barrier probe of that peer on this path; stored
 *	by deliveries, read by the sender of a reply
 * @cp_rx_epoch: the value of &rds_conn.c_rx_epoch that deliveries have acted on
 *	last; used by deliveries only
 * @cp_strict: any message below &rds_path.next_rx_seq is a duplicate; stored by
 *	deliveries, and when the connection has been shut down
 * @cp_heard: data has arrived on this connection. The back-off restarts only
 *	then, so that a peer which accepts and then resets is not dialed without
 *	back-off
 * @cp_mapped: a congestion map has arrived on this connection; set with cm_lock
 *	of the peer's map held
 * @cp_xmit_lock: held while sending. sendmsg() only tries to take it; the
 *	path's work item and a shutdown wait for it
 * @cp_map: snapshot of the congestion map being sent, or NULL. @cp_xmit_lock
 *	guards it and the fields to @cp_gated
 * @cp_map_ver: version of the map that was sent last
 * @cp_map_at: when that snapshot was taken, in jiffies
 * @cp_map_out: the peer has not acknowledged that map; cleared without the lock
 * @cp_map_yields: a message is to be sent before the next map
 * @cp_hs_msg: handshake frame being sent ahead of messages, or NULL
 * @cp_sw: software RDMA, see sw_request.c; each of its fields has its own guard
 * @cp_gated: messages have to wait; see gate.c
 * @cp_gate_at: when time alone opens the gate, in jiffies, if it may
 * @cp_silent_until: until then the peer may be silent on this connection, in
 *	jiffies
 * @cp_unheard: number of successive connections that were dropped because the
 *	peer was silent for that long, up to a limit
 * @cp_named: the path that the peer's port names, if the peer has dialed
 * @cp_known: the peer has sent a handshake frame on this connection, and its
 *	consequences for all paths are done or flagged; stored by @cp_work
 * @cp_work: the work item: everything else that happens to the path, one step
 *	at a time; holds a reference to the connection while queued
 * @cp_flags: enum rds_path_flag
 * @cp_connect_at: when %RDS_PF_CONNECT is due, in jiffies
 * @cp_remind_at: when the peer may next be reminded to dial this path, in
 *	jiffies; used by @cp_work only
 * @cp_backoff_ms: grows with each failed attempt; see rds_backoff_next()
 */
struct rds_cpath {
	struct rds_path		cp_pub;
	struct rds_conn		*cp_conn;
	const struct rds_transport *cp_trans;
	unsigned int		cp_caps;
	bool			cp_device;

	spinlock_t		cp_lock;	/* guards state and queues */
	enum rds_path_state	cp_state;
	enum rds_offer_state	cp_offer;
	bool			cp_dead;
	struct list_head	cp_send_queue;
	struct rds_park		cp_park;
	struct list_head	cp_retrans;
	struct rds_message	*cp_xmit_msg;
	bool			cp_xmit_acked;
	bool			cp_has_mark;
	u32			cp_acked_mark;
	u64			cp_next_tx_seq;
	u64			cp_next_ticket;
	u64			cp_sent_seq;
	u64			cp_flush_ticket;
	u64			cp_turn;
	u64			cp_turn_ticket;
	struct rds_handshake	cp_handshake;
	bool			cp_has_handshake;
	unsigned long		cp_handshake_at;
	bool			cp_restart_probe_out;
	bool			cp_has_reply;
	unsigned long		cp_reply_at;
	u32			cp_attempts;
	u32			cp_established;
	u32			cp_resets;
	enum rds_drop_reason	cp_drop_reason;
	unsigned long		cp_since;
	unsigned long		cp_lost_at;
	bool			cp_dialed;
	unsigned long		cp_dialed_at;
	int			cp_unacked_packets;
	int			cp_unacked_bytes;

	struct llist_head	cp_pongs;
	atomic_t		cp_nprobes;
	atomic_t		cp_npongs;
	atomic_t		cp_replies;
	atomic_t		cp_nreplies;
	u64			cp_rx_peer;
	u8			cp_rx_tag;
	u32			cp_rx_epoch;
	bool			cp_strict;
	bool			cp_heard;
	bool			cp_mapped;

	struct mutex		cp_xmit_lock;	/* held to send */
	void			*cp_map;
	u32			cp_map_ver;
	unsigned long		cp_map_at;
	bool			cp_map_out;
	bool			cp_map_yields;
	struct rds_message	*cp_hs_msg;
	struct rds_sw		cp_sw;
	bool			cp_gated;
	unsigned long		cp_gate_at;
	unsigned long		cp_silent_until;
	u8			cp_unheard;
	u8			cp_named;

	bool			cp_known;
	struct delayed_work	cp_work;
	unsigned long		cp_flags;
	unsigned long		cp_connect_at;
	unsigned long		cp_remind_at;
	u32			cp_backoff_ms;
};

/**
 * to_cpath() - Convert the transport's view of a path to core's view
 * @path: the transport's view
 *
 * Context: Any context.
 * Return: core's view of the same path.
 */
static inline struct rds_cpath *to_cpath(struct rds_path *path)
{
	return container_of(path, struct rds_cpath, cp_pub);
}

/**
 * rds_cpath_can() - Check whether the transport of a path has a capability
 * @cp: the path
 * @cap: bit of enum rds_caps
 *
 * Context: Any context; also if the transport is gone.
 * Return: true if it has.
 */
static inline bool rds_cpath_can(const struct rds_cpath *cp, unsigned int cap)
{
	return cp->cp_caps & cap;
}

void rds_cpath_kick(struct rds_cpath *cp, unsigned long delay);

/**
 * rds_cpath_state() - Read the state of a path
 * @cp: the path
 *
 * Context: Any context. The state may change as soon as this returns. But a
 * holder of the transmit lock that has read UP may go on sending.
 * Return: the state.
 */
static inline enum rds_path_state rds_cpath_state(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->cp_state);
}

/**
 * rds_cpath_has_offer() - Check whether an offer waits for a path
 * @cp: the path
 *
 * Context: Any context.
 * Return: true if the transport keeps a connection that the peer has made.
 */
static inline bool rds_cpath_has_offer(const struct rds_cpath *cp)
{
	return rds_offer_waits(READ_ONCE(cp->cp_offer));
}

/**
 * rds_cpath_is_accepted() - Check whether the peer has dialed a path
 * @cp: the path
 *
 * Context: Any context.
 * Return: true if the peer has made the connection or attempt of the path.
 */
static inline bool rds_cpath_is_accepted(const struct rds_cpath *cp)
{
	return rds_offer_in_use(READ_ONCE(cp->cp_offer));
}

/**
 * rds_path_is_lower() - Check whether our address is the lower of the two
 * @path: the path
 *
 * Context: Any context.
 * Return: true if our address is lower than the peer's.
 */
static inline bool rds_path_is_lower(const struct rds_path *path)
{
	return memcmp(&path->laddr, &path->faddr, sizeof(path->laddr)) < 0;
}

/**
 * rds_cpath_heard() - Note that data has arrived on this connection
 * @cp: the path
 *
 * Context: Deliver context.
 * Return: true for the first data on this connection.
 */
static inline bool rds_cpath_heard(struct rds_cpath *cp)
{
	if (likely(cp->cp_heard))
		return false;
	WRITE_ONCE(cp->cp_heard, true);
	WRITE_ONCE(cp->cp_backoff_ms, 0);
	WRITE_ONCE(cp->cp_unheard, 0);
	if (READ_ONCE(cp->cp_gated))
		rds_cpath_kick(cp, 0);
	return true;
}

bool rds_cpath_event(struct rds_cpath *cp, enum rds_path_event event);
bool rds_cpath_only_waits(const struct rds_cpath *cp);
void rds_cpath_connect_soon(struct rds_cpath *cp);
bool rds_cpath_offer_event(struct rds_cpath *cp, enum rds_offer_event event);
void rds_cpath_heed_offer(struct rds_cpath *cp);
void rds_cpath_renew(struct rds_cpath *cp, enum rds_drop_reason reason);

#endif /* _RDS_CORE_PATH_H */
