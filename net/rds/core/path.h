/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths: the paths of a connection. */
#ifndef _RDS_CORE_PATH_H
#define _RDS_CORE_PATH_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds/transport.h>

#include "handshake.h"
#include "park.h"
#include "path_state.h"
#include "sw_request.h"

struct rds_conn;

/**
 * enum rds_path_flag - bits of &rds_cpath.cp_flags
 * @RDS_PF_CONNECT: connect at cp_connect_at; cleared by who takes it up, and
 *	never set without a kick that follows; see path.c
 * @RDS_PF_OFFER: the peer has made a connection; connect without delay. Without
 *	paths it changes under the lock that guards what the transport keeps; an
 *	attempt of ours that succeeds clears it with the state still CONNECTING
 * @RDS_PF_TAKEN: the connection is one that the peer has made; set before
 *	%RDS_PF_OFFER is cleared, and cleared when it is shut down
 * @RDS_PF_NO_DUELS: who made the latest offer does not know whose connection is
 *	kept when both dial; set before %RDS_PF_OFFER. Only without paths
 * @RDS_PF_CONG: the peer is to be sent our congestion map
 * @RDS_PF_CONG_LATER: likewise, when it has the one before; see send_map.c
 * @RDS_PF_HANDSHAKE: cp_handshake is new; see multipath.c
 * @RDS_PF_FLUSH: messages below cp_flush_ticket are to be given up
 * @RDS_PF_PROBE: queue a probe
 * @RDS_PF_PROBE_NOW: send a probe ahead of all messages, unnumbered
 * @RDS_PF_REPLY_NOW: send an answer so
 * @RDS_PF_PROBE_RESTART: send a probe ahead of all messages that only a peer
 *	which has forgotten us takes for new
 * @RDS_PF_UNPARK: look whether what is parked may go; see park.c
 * @RDS_PF_SW_RESPONSE: answer operations that the peer has asked for
 * @RDS_PF_RX: have the transport read on
 * @RDS_PF_RX_STOPPED: too much waits for readers; the transport does not read
 * @RDS_PF_RX_TURN: the peer is another than before; the transport does not read
 *	until that has been heeded
 * @RDS_PF_ENDING: the transport takes its time to end the connection in good
 *	order; touched by cp_work only
 */
enum rds_path_flag {
	RDS_PF_CONNECT,
	RDS_PF_OFFER,
	RDS_PF_TAKEN,
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

/* What goes before all messages */
#define RDS_PF_AHEAD	(BIT(RDS_PF_CONG) | BIT(RDS_PF_PROBE_NOW) | \
			 BIT(RDS_PF_REPLY_NOW) | BIT(RDS_PF_PROBE_RESTART) | \
			 BIT(RDS_PF_UNPARK) | BIT(RDS_PF_SW_RESPONSE))

/**
 * struct rds_cpath - a path, as core sees it
 * @cp_pub: what the transport sees
 * @cp_conn: the connection; the path is part of it
 * @cp_trans: its transport; gone with its module once the path is dead, so who
 *	has a reference to the connection alone uses what is copied below
 * @cp_caps: capabilities of that
 * @cp_device: that does operations on memory itself
 * @cp_loops: that is a loopback transport
 * @cp_multi: that does the multipath handshake
 * @cp_self_acked: that needs no requests for acks
 * @cp_lock: guards all up to @cp_pongs; a leaf: taken also under the locks of
 *	a transport's socket
 * @cp_state: stored by rds_path_event() only; read without the lock
 * @cp_dead: the connection is being destroyed; nothing may be queued
 * @cp_send_queue: messages to send, in order; first those that have a number
 * @cp_park: messages that wait for a congested port
 * @cp_retrans: messages sent and not acknowledged, in order; the one being
 *	sent is among them
 * @cp_xmit_msg: the message being sent; changed only by the holder of
 *	@cp_xmit_lock
 * @cp_xmit_acked: the ack of @cp_xmit_msg is here already
 * @cp_acked_mark: acknowledged up to here, as rds_message.m_mark counts
 * @cp_has_mark: @cp_acked_mark means something on this connection
 * @cp_next_tx_seq: number of the next message that is picked to be sent
 * @cp_next_ticket: ticket of the next message queued; see send.c
 * @cp_sent_seq: highest number that was ever given to the transport
 * @cp_flush_ticket: messages below it are for a peer that is no more
 * @cp_turn: generation that the peer has turned out to be of, and
 *	RDS_TURN_NOTED, until that is acted on
 * @cp_turn_ticket: messages below it were queued before that
 * @cp_handshake: what the peer said last of itself
 * @cp_has_handshake: it did so on this connection
 * @cp_handshake_at: when it did so last, in jiffies
 * @cp_restart_probe_out: such a probe went by this connection, and no answer
 *	has come yet
 * @cp_has_reply: it has answered a numbered probe on this connection
 * @cp_reply_at: when it did so last, in jiffies
 * @cp_attempts: how often connecting was tried
 * @cp_established: how often the path came UP
 * @cp_resets: how often it was shut down after that
 * @cp_drop_reason: why it was dropped last
 * @cp_since: when it came into its state, in jiffies
 * @cp_lost_at: when it was dropped from UP last, in jiffies
 * @cp_dialed: without paths: the connection is one that we have dialed
 * @cp_dialed_at: when the peer's answer came, in jiffies
 * @cp_unacked_packets: messages until the next request for an ack
 * @cp_unacked_bytes: bytes until the next request for an ack
 * @cp_pongs: answers to pings, to be queued by the path's work
 * @cp_replies: answers to numbered probes, to be queued likewise
 * @cp_nreplies: those queued and not yet acknowledged
 * @cp_nprobes: numbered probes queued and not yet acknowledged
 * @cp_npongs: pongs waiting so, and those queued and not yet acknowledged
 * @cp_next_rx_seq: number of the message expected next; touched by
 *	deliveries only, and those are serial
 * @cp_rx_peer: identity of the peer that numbered them; likewise
 * @cp_rx_tag: the barrier of that peer that came by this path last; stored by
 *	deliveries, and read by who answers
 * @cp_rx_epoch: &rds_conn.c_rx_epoch when that was set; likewise
 * @cp_strict: any message below @cp_next_rx_seq is a duplicate; likewise
 * @cp_heard: something has arrived on this connection; only then the back-off
 *	begins anew, lest we dial at full speed who accepts and resets
 * @cp_mapped: so has a congestion map; set with its cm_lock held
 * @cp_xmit_lock: held by the one who sends; taken by trylock to send, and
 *	waited for to shut down
 * @cp_map: snapshot of the congestion map being sent, or NULL; guarded by
 *	@cp_xmit_lock, as all up to @cp_work
 * @cp_map_ver: state of the map that was sent last
 * @cp_map_at: when that was taken, in jiffies
 * @cp_map_out: the peer has not acknowledged it; cleared without the lock
 * @cp_map_yields: a message goes before the next
 * @cp_hs_msg: unnumbered message being sent, or NULL
 * @cp_sw: operations on memory, see sw_request.c; each part has its own guard
 * @cp_gated: messages have to wait; see gate.c
 * @cp_gate_at: until then, in jiffies, if time opens it
 * @cp_silent_until: until then the peer may say nothing on this connection, in
 *	jiffies
 * @cp_unheard: connections in a row on which it said nothing for so long
 * @cp_named: the path that the peer's port names, if we did not
 * @cp_known: the peer has greeted us on this connection, and what follows for
 *	any path has been done or marked; stored by @cp_work
 * @cp_work: all else that happens to the path, one at a time; holds a
 *	reference to the connection while queued
 * @cp_flags: enum rds_path_flag
 * @cp_connect_at: when %RDS_PF_CONNECT is due, in jiffies
 * @cp_remind_at: when the peer may be reminded to dial this path, in jiffies;
 *	touched by @cp_work only
 * @cp_backoff_ms: grows with each failed attempt; see rds_backoff_next()
 */
struct rds_cpath {
	struct rds_path		cp_pub;
	struct rds_conn		*cp_conn;
	const struct rds_transport *cp_trans;
	unsigned int		cp_caps;
	bool			cp_device;
	bool			cp_loops;
	bool			cp_multi;
	bool			cp_self_acked;

	spinlock_t		cp_lock;	/* guards state and queues */
	enum rds_path_state	cp_state;
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
	u64			cp_next_rx_seq;
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
 * to_cpath() - core's view of a path
 * @path: the transport's view
 *
 * Context: any.
 * Return: the same path.
 */
static inline struct rds_cpath *to_cpath(struct rds_path *path)
{
	return container_of(path, struct rds_cpath, cp_pub);
}

void rds_cpath_kick(struct rds_cpath *cp, unsigned long delay);

/**
 * rds_cpath_state() - state of a path
 * @cp: the path
 *
 * Context: any. The state may change as soon as this returns, except that
 * the holder of the transmit lock that sees UP may go on sending.
 * Return: the state.
 */
static inline enum rds_path_state rds_cpath_state(const struct rds_cpath *cp)
{
	return READ_ONCE(cp->cp_state);
}

/**
 * rds_path_is_lower() - is our address the lower of the two?
 * @path: the path
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool rds_path_is_lower(const struct rds_path *path)
{
	return memcmp(&path->laddr, &path->faddr, sizeof(path->laddr)) < 0;
}

/**
 * rds_cpath_heard() - something has arrived on this connection
 * @cp: the path
 *
 * Context: deliver context.
 * Return: true the first time.
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
void rds_cpath_give_way(struct rds_cpath *cp, enum rds_path_state state,
			enum rds_drop_reason reason);
void rds_cpath_renew(struct rds_cpath *cp, enum rds_drop_reason reason);

#endif /* _RDS_CORE_PATH_H */
