/* SPDX-License-Identifier: GPL-2.0-only */
/* The paths of a connection */
#ifndef _RDS_CORE_PATH_H
#define _RDS_CORE_PATH_H

#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/rds/transport.h>

#include "offer.h"
#include "park.h"
#include "path_parts.h"
#include "path_state.h"
#include "sw_request.h"

struct rds_conn;

/**
 * enum rds_path_flag - bits of &rds_cpath.cp_flags
 * @RDS_PF_CONNECT: an attempt to connect is planned for pd_connect_at. Code
 *	that sets the flag always kicks the path's work item afterwards; see
 *	path.c. Cleared when the attempt begins, or when a connection is
 *	established
 * @RDS_PF_NO_DUELS: the peer that made the latest offer does not know which
 *	connection is kept in a duel. Stored before the offer is kept; used only
 *	without %RDS_CAP_MULTIPATH
 * @RDS_PF_CONG: send our congestion map to the peer
 * @RDS_PF_CONG_LATER: likewise, but after the peer has acknowledged the
 *	previous map; see send_map.c
 * @RDS_PF_HANDSHAKE: cp_hs.ph_frame is new and has not been acted on; see
 *	multipath.c
 * @RDS_PF_LEARNING: the path's work item is acting on a frame, whose
 *	%RDS_PF_HANDSHAKE is cleared already; see rds_cpath_is_learning()
 * @RDS_PF_FLUSH: flush the messages with a ticket below cp_tx.pt_flush_ticket
 * @RDS_PF_PROBE: queue a numbered probe
 * @RDS_PF_PROBE_NOW: send an unnumbered probe ahead of all messages
 * @RDS_PF_REPLY_NOW: send an unnumbered reply ahead of all messages
 * @RDS_PF_PROBE_RESTART: send a probe ahead of all messages, with a sequence
 *	number that only a peer which has forgotten us takes for new
 * @RDS_PF_UNPARK: check whether parked messages may be sent; see park.c
 * @RDS_PF_SW_RESPONSE: send responses to software RDMA requests of the peer
 * @RDS_PF_RX: let the transport read on
 * @RDS_PF_RX_PAUSED: the transport does not read until %RDS_PF_RX is acted on,
 *	for a reason of this host, so the time of the peer does not run; see
 *	rds_cpath_pause_rx()
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
	RDS_PF_LEARNING,
	RDS_PF_FLUSH,
	RDS_PF_PROBE,
	RDS_PF_PROBE_NOW,
	RDS_PF_REPLY_NOW,
	RDS_PF_PROBE_RESTART,
	RDS_PF_UNPARK,
	RDS_PF_SW_RESPONSE,
	RDS_PF_RX,
	RDS_PF_RX_PAUSED,
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
 * @cp_conn: the connection; the path is part of it
 * @cp_trans: the transport. It may be gone with its module once the path is
 *	dead, so code that has only a reference to the connection uses the
 *	copies below
 * @cp_caps: copy of the transport's capability flags, see rds_cpath_can()
 * @cp_device: the transport does RDMA operations itself
 * @cp_pub: the transport's view; begins with what senders read, and ends with
 *	what deliveries write
 * @cp_lock: guards the fields to @cp_park, and more in @cp_hs and @cp_dial; a
 *	leaf: also taken under the locks of a transport's socket
 * @cp_state: stored by path.c only; read without the lock
 * @cp_offer: which connections made by the peer the path has; read without the
 *	lock
 * @cp_dead: the connection is being destroyed; nothing may be queued
 * @cp_tx: messages to send
 * @cp_park: messages that wait for a congested port
 * @cp_rx: messages received
 * @cp_hs: the handshake
 * @cp_pongs: pongs that the path's work item has yet to queue
 * @cp_npongs: number of pongs on @cp_pongs, and of those queued and not yet
 *	acknowledged
 * @cp_xmit_lock: the transmit lock, held while sending. sendmsg() only tries to
 *	take it; the path's work item and a shutdown wait for it
 * @cp_coalesce: small frames that share a transmission
 * @cp_map: our congestion map
 * @cp_gate: whether messages may be sent
 * @cp_sw: software RDMA, see sw_request.c; each of its fields has its own guard
 * @cp_work: the work item: everything else that happens to the path, one step
 *	at a time; holds a reference to the connection while queued
 * @cp_flags: enum rds_path_flag
 * @cp_dial: attempts to connect
 */
struct rds_cpath {
	struct rds_conn		*cp_conn;
	const struct rds_transport *cp_trans;
	unsigned int		cp_caps;
	bool			cp_device;
	struct rds_path		cp_pub;

	spinlock_t		cp_lock;	/* guards state and queues */
	enum rds_path_state	cp_state;
	enum rds_offer_state	cp_offer;
	bool			cp_dead;
	struct rds_path_tx	cp_tx;
	struct rds_park		cp_park;

	struct rds_path_rx	cp_rx;
	struct rds_path_hs	cp_hs;
	struct llist_head	cp_pongs;
	atomic_t		cp_npongs;

	struct mutex		cp_xmit_lock;	/* held to send */
	struct rds_path_coalesce cp_coalesce;
	struct rds_path_map	cp_map;
	struct rds_path_gate	cp_gate;
	struct rds_sw		cp_sw;

	struct delayed_work	cp_work;
	unsigned long		cp_flags;
	struct rds_path_dial	cp_dial;
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
void rds_cpath_pause_rx(struct rds_cpath *cp);

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
	if (likely(cp->cp_rx.pr_heard))
		return false;
	WRITE_ONCE(cp->cp_rx.pr_heard, true);
	WRITE_ONCE(cp->cp_dial.pd_backoff_ms, 0);
	WRITE_ONCE(cp->cp_gate.pg_unheard, 0);
	if (READ_ONCE(cp->cp_gate.pg_shut))
		rds_cpath_kick(cp, 0);
	return true;
}

/**
 * rds_cpath_is_learning() - Check whether a handshake frame is yet to be acted
 * on
 * @cp: the path
 *
 * Context: Any.
 * Return: true from the arrival of a frame until the path's work item has done
 * all that follows from it, which a caller that gets false then sees.
 */
static inline bool rds_cpath_is_learning(const struct rds_cpath *cp)
{
	/* One read of both flags, as one is set before the other is cleared.
	 * Pairs with clear_bit_unlock() in rds_mp_take_frame().
	 */
	return smp_load_acquire(&cp->cp_flags) &
	       (BIT(RDS_PF_HANDSHAKE) | BIT(RDS_PF_LEARNING));
}

bool rds_cpath_event(struct rds_cpath *cp, enum rds_path_event event);
bool rds_cpath_only_waits(const struct rds_cpath *cp);
void rds_cpath_connect_soon(struct rds_cpath *cp);
bool rds_cpath_offer_event(struct rds_cpath *cp, enum rds_offer_event event);
void rds_cpath_yield_to_offer(struct rds_cpath *cp);
void rds_cpath_renew(struct rds_cpath *cp, enum rds_drop_reason reason);

#endif /* _RDS_CORE_PATH_H */
