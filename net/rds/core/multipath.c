// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paths of a connection: how many there are, and what follows from the
 * handshake frames of the peer.
 *
 * Peers exchange handshake frames: probes and replies (handshake.c). If the
 * peer is known to run our implementation, the frames are unnumbered, are sent
 * on every path, and go ahead of all messages. For any other peer they are
 * numbered like messages and sent on path 0, where the very first message of a
 * connection is a probe. Barrier probes, see below, are always numbered.
 * Delivery records the content of a frame (rds_probe_receive()). The path's
 * work item then acts on it under c_mp_lock (rds_mp_work()):
 *
 * - Another generation number: the peer has restarted (restart.c). What was for
 *   its former incarnation is dropped. Until that is done, the transport does
 *   not read on from the connection that brought the frame. Otherwise responses
 *   to the new incarnation could be among the messages that are dropped. Our
 *   sequence numbers go on; gaps are legal.
 * - Another epoch alone: the peer has only forgotten a connection that none of
 *   its sockets used. It has received nothing on that connection, so no message
 *   is dropped. In both cases the peer's own sequence numbers start at 1 again.
 * - More paths: core creates the paths, and the lower address dials them. Until
 *   now all messages took one path. From now on they spread over all paths.
 *   Messages on the other paths wait (gate.c) until the peer has replied to a
 *   barrier probe, which is queued behind the last message of the one path. It
 *   is not enough that TCP has acknowledged the messages before the probe, as
 *   they need not have been delivered. The reply carries the barrier's tag. If
 *   there is no reply, perhaps because the peer has forgotten us meanwhile,
 *   another probe asks for it. Other implementations send no tag (legacy.c).
 * - More paths in use: each end keeps the paths that the other end uses,
 *   whatever number it would offer itself. Our implementation announces the
 *   number in each handshake frame, so a peer that has forgotten the connection
 *   learns it again. Once an end spreads its messages over more than one path,
 *   it continues to spread them over that number of paths.
 * - The number of a path: only the handshake frame shows whether the peer's
 *   source ports name its paths. If they do, the first connection that we have
 *   accepted gets the path number that its port names.
 *
 * The first probe usually offers one path, because the peer is not known yet.
 * Two peers that recognize each other by such probes both send another probe,
 * which offers more (rds_probe_offer_again()).
 */
#include <linux/log2.h>

#include "compat.h"
#include "cong.h"
#include "conn_table.h"
#include "legacy.h"
#include "message.h"
#include "multipath.h"
#include "probe.h"
#include "restart.h"
#include "send.h"
#include "upper.h"

#include <trace/events/rds.h>

/* Interval at which a barrier probe without a reply is repeated, in jiffies */
#define RDS_FAN_PATIENCE	HZ

static void rds_mp_kick_all(struct rds_conn *conn)
{
	struct rds_cpath *cp;
	unsigned int i;

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (cp)
			rds_cpath_kick(cp, 0);
	}
}

/* If the peer made the connection and its ports name paths, return the path
 * number that its port names; otherwise return the present number.
 */
static unsigned int rds_mp_place(const struct rds_conn *conn,
				 const struct rds_cpath *cp,
				 unsigned int want)
{
	if (!rds_cpath_is_accepted(cp) ||
	    !conn->c_peer_hs.names_paths)
		return cp->cp_pub.index;
	return READ_ONCE(cp->cp_hs.ph_named) & (want - 1);
}

static bool rds_mp_make(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_rn->rn_lock)
{
	unsigned int i;

	lockdep_assert_held(&conn->c_rn->rn_lock);
	/* The connection is being destroyed. */
	if (list_empty(&conn->c_item))
		return false;
	for (i = 1; i < want; i++) {
		if (!rds_conn_add_path(conn, i))
			return false;
	}
	return true;
}

/* Spread messages over @want paths from now on. Those that stay on the first
 * path are queued behind the barrier probe, and parked messages go before it.
 * If only the first probe has been queued so far, and the peer runs our
 * implementation, no barrier is needed. Return whether it is needed: if so, the
 * path takes @barrier over; otherwise @barrier remains owned by the caller.
 */
static bool rds_mp_spread(struct rds_conn *conn, unsigned int want,
			  struct rds_message *barrier)
	__must_hold(&conn->c_fan_path->cp_lock)
{
	struct rds_cpath *cp = conn->c_fan_path;
	/* A peer that runs our implementation handles a connection for a path
	 * that it does not expect. Other peers must first learn how many paths
	 * we have.
	 */
	bool wait = cp->cp_tx.pt_next_ticket > 1 || !conn->c_peer_hs.ours;

	lockdep_assert_held(&cp->cp_lock);

	WRITE_ONCE(conn->c_npaths, want);
	if (wait) {
		atomic_inc(&conn->c_probes);
		rds_park_end(cp);
		rds_send_enqueue_control(cp, barrier);
		conn->c_fan_ticket = barrier->m_ticket;
		conn->c_fan_at = jiffies;
	}
	return wait;
}

/* Publish the new number of paths. A sender may have selected a path by the old
 * number and not have queued its message yet. It checks its path again under
 * cp_lock of that path (rds_send_admit()), and then sees the new number.
 */
static bool rds_mp_publish(struct rds_conn *conn, unsigned int want,
			   unsigned int place, struct rds_message *barrier)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_cpath *other = conn->c_paths[place];
	struct rds_cpath *cp = conn->c_fan_path;
	bool wait;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	spin_lock_bh(&cp->cp_lock);
	if (other == cp) {
		wait = rds_mp_spread(conn, want, barrier);
	} else {
		spin_lock_nested(&other->cp_lock, SINGLE_DEPTH_NESTING);
		rds_conn_swap(conn, cp, other);
		wait = rds_mp_spread(conn, want, barrier);
		spin_unlock(&other->cp_lock);
	}
	spin_unlock_bh(&cp->cp_lock);

	WRITE_ONCE(conn->c_fan, wait ? RDS_FAN_BARRIER : RDS_FAN_OPEN);
	return wait;
}

/* Reconnect the paths whose number is not the one that the peer's port names.
 * We accepted their connections before we knew that the peer names its paths,
 * or from a former incarnation of the peer that did not. The messages on such a
 * connection have sequence numbers of another path.
 */
static void rds_mp_check_names(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	for (i = 0; i < want; i++) {
		cp = conn->c_paths[i];
		if (rds_mp_place(conn, cp, want) != i)
			rds_cpath_renew(cp, RDS_DROP_PROTOCOL);
	}
}

static void rds_mp_dial(struct rds_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->c_npaths_wanted; i++)
		rds_cpath_connect_soon(rds_conn_path(conn, i));
}

static bool rds_mp_grow(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_mp_lock)
{
	unsigned int place = rds_mp_place(conn, conn->c_fan_path, want);
	bool offered_use = READ_ONCE(conn->c_npaths_offered_in_use);
	u16 offered = READ_ONCE(conn->c_npaths_offered);
	struct rds_message *barrier;
	bool made, used = false;

	lockdep_assert_held(&conn->c_mp_lock);

	barrier = rds_probe_new(conn->c_fan_path);
	if (!barrier)
		return false;

	mutex_lock(&conn->c_rn->rn_lock);
	made = rds_mp_make(conn, want);
	if (made) {
		WRITE_ONCE(conn->c_npaths_wanted, want);
		conn->c_fan_tag = conn->c_fan_tag % RDS_HANDSHAKE_TAGS + 1;
		rds_probe_write_frame(conn, barrier, false, conn->c_fan_tag);
		used = rds_mp_publish(conn, want, place, barrier);
		rds_mp_check_names(conn, want);
	}
	mutex_unlock(&conn->c_rn->rn_lock);

	if (!used) {
		/* The probe is not sent, so its offer was never made. */
		rds_send_finish(barrier);
		WRITE_ONCE(conn->c_npaths_offered, offered);
		WRITE_ONCE(conn->c_npaths_offered_in_use, offered_use);
	}
	return made;
}

/* The peer uses more paths than we do. The paths on which the peer sends do not
 * affect the order of our messages, so no barrier is needed.
 */
static bool rds_mp_widen(struct rds_conn *conn, unsigned int want)
	__must_hold(&conn->c_mp_lock)
{
	bool made;

	lockdep_assert_held(&conn->c_mp_lock);

	mutex_lock(&conn->c_rn->rn_lock);
	made = rds_mp_make(conn, want);
	if (made)
		WRITE_ONCE(conn->c_npaths_wanted, want);
	mutex_unlock(&conn->c_rn->rn_lock);
	return made;
}

/* Return the number of paths that follows from the peer's handshake frame. The
 * paths that the peer uses count even if we offer fewer.
 */
static unsigned int rds_mp_want(const struct rds_conn *conn,
				const struct rds_handshake *hs)
{
	unsigned int n = min_t(unsigned int, hs->npaths, RDS_MAX_PATHS);

	if (!hs->in_use)
		n = min(n, rds_probe_offer(conn));
	return rounddown_pow_of_two(n);
}

/* Our messages begin to spread from one path to several only once per
 * incarnation of the peer. To spread them over yet more paths would break their
 * order, because a barrier covers only one path. Return whether the caller must
 * dial the present paths or kick their work items.
 */
static bool rds_mp_adapt(struct rds_cpath *cp,
			 const struct rds_handshake *hs)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;
	unsigned int want = rds_mp_want(conn, hs);
	bool made;

	lockdep_assert_held(&conn->c_mp_lock);

	if (want <= conn->c_npaths_wanted)
		return !cp->cp_pub.index;

	if (conn->c_npaths_wanted == 1)
		made = rds_mp_grow(conn, want);
	else
		made = rds_mp_widen(conn, want);
	if (!made) {
		set_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
		rds_cpath_kick(cp, RDS_PROBE_NOMEM_DELAY);
	}
	return made;
}

/* Get the frame that has arrived last. Returns false if it counts for nothing:
 * the peer has restarted, and the connection leads to its former incarnation.
 * It was made before, and was read, or is acted on, only now.
 *
 * An address may move to another host and back again, so the former incarnation
 * may return. A path takes no notice of that until it has had a frame of the
 * present one. pr_former stays set until the connection ends: the frames that
 * follow on it are of the former incarnation, too.
 */
static bool rds_mp_get_frame(struct rds_cpath *cp, struct rds_handshake *hs)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	bool former;

	lockdep_assert_held(&cp->cp_conn->c_mp_lock);

	spin_lock_bh(&cp->cp_lock);
	*hs = cp->cp_hs.ph_frame;
	former = rds_probe_is_former(cp, hs) ||
		 READ_ONCE(cp->cp_rx.pr_former);
	if (!former)
		atomic64_set(&cp->cp_hs.ph_former, 0);
	spin_unlock_bh(&cp->cp_lock);
	return !former;
}

static void rds_mp_apply(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_handshake hs;
	bool restarted, changed, known;

	lockdep_assert_held(&conn->c_mp_lock);

	if (!rds_mp_get_frame(cp, &hs)) {
		rds_cpath_renew(cp, RDS_DROP_PEER_RESTARTED);
		return;
	}
	restarted = conn->c_has_handshake &&
		    rds_handshake_gen(&hs) !=
		    rds_handshake_gen(&conn->c_peer_hs);
	if (restarted)
		rds_restart(cp, &hs);
	conn->c_peer_hs = hs;
	if (!conn->c_has_handshake) {
		/* Pairs with the acquire in rds_sw_peer_is_known(). */
		smp_store_release(&conn->c_has_handshake, true);
		wake_up_all(&conn->c_fcong->cm_waitq);
	}
	changed = rds_mp_adapt(cp, &hs);
	known = READ_ONCE(cp->cp_hs.ph_known);
	/* Pairs with the acquire in rds_gate_awaits_handshake(). */
	smp_store_release(&cp->cp_hs.ph_known, true);
	/* The gate may have opened before, for a peer that was not known. */
	if (restarted || !known)
		rds_upper_event(conn, RDS_UPPER_PEER, 0);
	if (!changed)
		return;
	/* The peer may have lost a path that only we may dial again. */
	if (conn->c_npaths_wanted > 1 && rds_path_is_lower(&cp->cp_pub))
		rds_mp_dial(conn);
	rds_mp_kick_all(conn);
}

static void rds_mp_open(struct rds_conn *conn)
	__must_hold(&conn->c_mp_lock)
{
	lockdep_assert_held(&conn->c_mp_lock);
	WRITE_ONCE(conn->c_fan, RDS_FAN_OPEN);
	rds_mp_kick_all(conn);
}

/* If the barrier probe was acknowledged and no reply has arrived, the probe may
 * have gone to a former incarnation of the peer, or the reply may have been
 * lost with a connection. Ask once more.
 */
static void rds_mp_probe_again(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;

	lockdep_assert_held(&conn->c_mp_lock);
	if (time_before_eq(jiffies, conn->c_fan_at + RDS_FAN_PATIENCE) ||
	    !rds_send_all_acked(cp, conn->c_fan_ticket))
		return;
	rds_stat_inc(conn->c_rn, mprds_catchup_tx0_retries);
	conn->c_fan_at = jiffies;
	set_bit(RDS_PF_PROBE, &cp->cp_flags);
}

static void rds_mp_check_barrier(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = cp->cp_conn;

	lockdep_assert_held(&conn->c_mp_lock);

	if (conn->c_fan != RDS_FAN_BARRIER || cp != conn->c_fan_path)
		return;
	if (conn->c_peer_hs.ours ?
	    READ_ONCE(conn->c_fan_echo) == conn->c_fan_tag :
	    rds_legacy_is_past_barrier(cp))
		rds_mp_open(conn);
	else if (conn->c_peer_hs.ours)
		rds_mp_probe_again(cp);
}

/**
 * rds_mp_barrier_pending() - Check whether a barrier is pending
 * @conn: the connection
 *
 * Context: Any.
 * Return: true if a barrier is pending; false otherwise.
 */
bool rds_mp_barrier_pending(const struct rds_conn *conn)
{
	return READ_ONCE(conn->c_fan) == RDS_FAN_BARRIER;
}

/* Act on the frame that has arrived, if any. Returns whether there was one. If
 * it has made the transport stop, this lets it read on.
 */
static bool rds_mp_take_frame(struct rds_cpath *cp)
	__must_hold(&cp->cp_conn->c_mp_lock)
{
	bool turn;

	lockdep_assert_held(&cp->cp_conn->c_mp_lock);
	if (!test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags))
		return false;
	set_bit(RDS_PF_LEARNING, &cp->cp_flags);
	/* Clear the flag first: another frame may arrive, and set it again,
	 * while this one is processed.
	 */
	clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	/* Pairs with the atomic set_bit() behind rds_probe_store(). */
	smp_mb__after_atomic();
	turn = test_and_clear_bit(RDS_PF_RX_TURN, &cp->cp_flags);
	rds_mp_apply(cp);
	/* Pairs with the acquire in rds_cpath_is_learning(). */
	clear_bit_unlock(RDS_PF_LEARNING, &cp->cp_flags);
	if (turn)
		set_bit(RDS_PF_RX, &cp->cp_flags);
	return true;
}

static void rds_mp_learn(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	bool has_frame;

	mutex_lock(&conn->c_mp_lock);
	/* A frame counts only while its connection is UP. If the connection is
	 * being shut down, rds_mp_apply_last() handles the frame.
	 */
	has_frame = rds_cpath_state(cp) == RDS_PATH_UP && rds_mp_take_frame(cp);
	rds_mp_check_barrier(cp);
	rds_probe_queue_replies(cp);
	if (has_frame && !test_bit(RDS_PF_REPLY_NOW, &cp->cp_flags))
		rds_probe_offer_again(conn);
	mutex_unlock(&conn->c_mp_lock);

	if (has_frame && cp->cp_trans->conn->accept_again)
		cp->cp_trans->conn->accept_again(cp->cp_pub.net);
}

/**
 * rds_mp_apply_last() - Act on the last handshake frame of a connection
 * @cp: the path; its transport is shut down
 *
 * A frame that arrives while the connection is being shut down remains valid.
 * If the peer has restarted, the messages delivered behind the frame come from
 * the new incarnation, and responses to them are meant for it.
 *
 * Context: Process context, the path's work item, may sleep. Takes c_mp_lock,
 * rn_lock.
 */
void rds_mp_apply_last(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;

	if (!test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags))
		return;
	mutex_lock(&conn->c_mp_lock);
	if (test_and_clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags))
		rds_mp_apply(cp);
	mutex_unlock(&conn->c_mp_lock);
}

/* Drop the messages that were meant for a former incarnation of the peer. If
 * the connection has been dropped, its shutdown comes first.
 */
static void rds_mp_flush(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) == RDS_PATH_ERROR)
		return;
	mutex_lock(&cp->cp_xmit_lock);
	rds_send_flush(cp);
	mutex_unlock(&cp->cp_xmit_lock);
}

/**
 * rds_mp_work() - Process handshakes, barriers and flushes of a path
 * @cp: the path
 *
 * Context: Process context, the path's work item, may sleep. Takes c_mp_lock,
 * rn_lock, cp_xmit_lock.
 */
void rds_mp_work(struct rds_cpath *cp)
{
	if (test_bit(RDS_PF_HANDSHAKE, &cp->cp_flags) ||
	    atomic_read(&cp->cp_hs.ph_replies) ||
	    READ_ONCE(cp->cp_conn->c_fan) == RDS_FAN_BARRIER)
		rds_mp_learn(cp);
	if (test_bit(RDS_PF_FLUSH, &cp->cp_flags))
		rds_mp_flush(cp);
	rds_probe_queue(cp);
}
