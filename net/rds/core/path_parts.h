/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of struct rds_cpath, by what they are for */
#ifndef _RDS_CORE_PATH_PARTS_H
#define _RDS_CORE_PATH_PARTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <net/rds/path.h>

#include "handshake.h"

struct rds_message;

/**
 * struct rds_path_tx - messages that a path sends
 * @pt_queue: messages to send, in order; those that have a sequence number come
 *	first
 * @pt_retrans: messages sent and not acknowledged, in order, including the one
 *	being sent
 * @pt_msg: the message being sent; changed only by the holder of the transmit
 *	lock
 * @pt_acked: the ack of @pt_msg has arrived already
 * @pt_acked_seq: the peer has acknowledged messages up to this number on this
 *	connection
 * @pt_has_mark: @pt_mark is valid for this connection
 * @pt_mark: the peer has acknowledged the byte stream up to here, as
 *	rds_message.m_mark counts
 * @pt_next_seq: sequence number for the next message that is picked to be sent
 *	and has none
 * @pt_next_ticket: ticket for the next message queued; see send.c
 * @pt_sent_seq: highest sequence number ever given to the transport
 * @pt_flush_ticket: messages with a lower ticket were meant for an earlier
 *	incarnation of the peer
 * @pt_packets_left: messages until the next request for an ack
 * @pt_bytes_left: bytes until the next request for an ack
 *
 * cp_lock guards all fields.
 */
struct rds_path_tx {
	struct list_head	pt_queue;
	struct list_head	pt_retrans;
	struct rds_message	*pt_msg;
	bool			pt_acked;
	u64			pt_acked_seq;
	bool			pt_has_mark;
	u32			pt_mark;
	u64			pt_next_seq;
	u64			pt_next_ticket;
	u64			pt_sent_seq;
	u64			pt_flush_ticket;
	int			pt_packets_left;
	int			pt_bytes_left;
};

/**
 * struct rds_path_coalesce - small frames that share a transmission, see
 *	coalesce.c
 * @pc_left: frames left to the work item since it has run last
 * @pc_rest: frames that senders still send at once; updates may be lost
 * @pc_frames: frames that were left, in the last @pc_runs runs; work item only
 * @pc_runs: runs of the work item for frames that were left
 */
struct rds_path_coalesce {
	atomic_t	pc_left;
	unsigned int	pc_rest;
	unsigned int	pc_frames;
	unsigned int	pc_runs;
};

/**
 * struct rds_path_rx - messages that a path receives
 * @pr_peer: identity of the peer that assigned their sequence numbers
 * @pr_tag: tag of the last barrier probe of that peer on this path; read by the
 *	sender of a reply
 * @pr_epoch: the value of &rds_conn.c_rx_epoch that deliveries have acted on
 *	last
 * @pr_strict: any message below &rds_path.next_rx_seq is a duplicate
 * @pr_heard: data has arrived on this connection. The back-off restarts only
 *	then, so that a peer which accepts and then resets is not dialed without
 *	back-off
 * @pr_streams: the peer has announced on this connection that it knows streams;
 *	read without serialization
 * @pr_former: this connection leads to a former incarnation of the peer; set
 *	with c_mp_lock held, or by deliveries
 * @pr_mapped: a congestion map has arrived on this connection; set with cm_lock
 *	of the peer's map held
 *
 * Written by deliveries, which are serialized per path, and when the connection
 * has been shut down.
 */
struct rds_path_rx {
	u64			pr_peer;
	u32			pr_epoch;
	u8			pr_tag;
	bool			pr_strict;
	bool			pr_heard;
	bool			pr_streams;
	bool			pr_former;
	bool			pr_mapped;
};

/**
 * struct rds_path_hs - the handshake of a path
 * @ph_frame: the peer's last handshake frame. cp_lock guards it and the fields
 *	to @ph_former
 * @ph_at: when it arrived, in jiffies
 * @ph_reply_at: when the last numbered reply arrived, in jiffies
 * @ph_has_frame: a handshake frame has arrived on this connection
 * @ph_has_reply: a numbered reply to a probe has arrived on this connection
 * @ph_restart_out: a probe for %RDS_PF_PROBE_RESTART has been sent on this
 *	connection. Cleared by a numbered reply, and when a queued probe is sent
 * @ph_turn: the peer's new generation number, with RDS_TURN_NOTED set, until
 *	the change is acted on; otherwise 0
 * @ph_turn_ticket: messages with a lower ticket were queued before the new
 *	generation number arrived
 * @ph_former: generation number of the peer's former incarnation, with
 *	RDS_TURN_NOTED set, whose connection this path may still have or take;
 *	otherwise 0. Atomic, because deliveries read it without the lock
 * @ph_msg: handshake frame being sent ahead of messages, or NULL; guarded by
 *	the transmit lock
 * @ph_nprobes: number of numbered probes that are queued and not yet
 *	acknowledged
 * @ph_replies: number of replies to numbered probes that the path's work item
 *	has yet to queue
 * @ph_nreplies: number of replies that are queued and not yet acknowledged
 * @ph_named: the path that the peer's port names, if the peer has dialed;
 *	stored under rn_lock
 * @ph_known: the peer has sent a handshake frame on this connection, and its
 *	consequences for all paths are done or flagged; stored by the path's
 *	work item
 */
struct rds_path_hs {
	struct rds_handshake	ph_frame;
	unsigned long		ph_at;
	unsigned long		ph_reply_at;
	bool			ph_has_frame;
	bool			ph_has_reply;
	bool			ph_restart_out;
	u64			ph_turn;
	u64			ph_turn_ticket;
	atomic64_t		ph_former;
	struct rds_message	*ph_msg;
	atomic_t		ph_nprobes;
	atomic_t		ph_replies;
	atomic_t		ph_nreplies;
	u8			ph_named;
	bool			ph_known;
};

/**
 * struct rds_path_map - our congestion map on its way to the peer
 * @pm_map: snapshot of the map being sent, or NULL
 * @pm_at: when the last snapshot was taken, in jiffies
 * @pm_ver: version of the map that was sent last
 * @pm_out: the peer has not acknowledged that map; cleared without the lock
 * @pm_yields: a message is to be sent before the next map
 *
 * The transmit lock guards the fields.
 */
struct rds_path_map {
	void			*pm_map;
	unsigned long		pm_at;
	u32			pm_ver;
	bool			pm_out;
	bool			pm_yields;
};

/**
 * struct rds_path_gate - whether a path may carry messages; see gate.c
 * @pg_shut: messages have to wait; guarded by the transmit lock
 * @pg_unheard: number of successive connections that were dropped because the
 *	peer was silent for too long, up to a limit
 * @pg_opens_at: when time alone opens the gate, in jiffies, if it may
 * @pg_silent_until: until then the peer may be silent on this connection, in
 *	jiffies
 *
 * Fields without a guard are stored by WRITE_ONCE() and read by READ_ONCE().
 */
struct rds_path_gate {
	bool			pg_shut;
	u8			pg_unheard;
	unsigned long		pg_opens_at;
	unsigned long		pg_silent_until;
};

/**
 * struct rds_path_dial - attempts to connect, and how they have ended
 * @pd_attempts: number of attempts. cp_lock guards it and the fields to
 *	@pd_dialed_at
 * @pd_failing: the last attempt has not come UP yet; read without the lock, too
 * @pd_established: number of times that the path came UP
 * @pd_resets: number of times that it was dropped from UP
 * @pd_drop_reason: why it was dropped last; also stored without the lock
 * @pd_since: when it entered its state, in jiffies
 * @pd_lost_at: when it was last dropped from UP, in jiffies
 * @pd_dialed: we have dialed the connection; set only without
 *	%RDS_CAP_MULTIPATH
 * @pd_dialed_at: when the peer accepted that connection, in jiffies
 * @pd_connect_at: when %RDS_PF_CONNECT is due, in jiffies
 * @pd_remind_at: when the peer may next be reminded to dial this path, in
 *	jiffies; used by the path's work item only
 * @pd_backoff_ms: grows with each failed attempt; see rds_backoff_next()
 *
 * Fields without a guard are stored by WRITE_ONCE() and read by READ_ONCE().
 */
struct rds_path_dial {
	u32			pd_attempts;
	bool			pd_failing;
	u32			pd_established;
	u32			pd_resets;
	enum rds_drop_reason	pd_drop_reason;
	unsigned long		pd_since;
	unsigned long		pd_lost_at;
	bool			pd_dialed;
	unsigned long		pd_dialed_at;
	unsigned long		pd_connect_at;
	unsigned long		pd_remind_at;
	u32			pd_backoff_ms;
};

#endif /* _RDS_CORE_PATH_PARTS_H */
