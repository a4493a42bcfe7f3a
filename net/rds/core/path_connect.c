// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting a path: when an attempt is made, which end makes it, and what is
 * reset for each new connection.
 */
#include <linux/random.h>

#include "conn_idle.h"
#include "gate.h"
#include "path_connect.h"
#include "upper.h"

/* rds_cpath_connect_now() drops an attempt that is older, in jiffies */
#define RDS_CONNECT_FRESH	(HZ / 2)

/**
 * rds_cpath_connect_now() - Connect without back-off, as the peer is reachable
 * @cp: the path
 *
 * Also drops an attempt that began so long ago that the peer may not have been
 * reachable then.
 *
 * Context: Any context.
 */
void rds_cpath_connect_now(struct rds_cpath *cp)
{
	WRITE_ONCE(cp->cp_dial.pd_connect_at, jiffies);
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	if (rds_cpath_state(cp) == RDS_PATH_CONNECTING &&
	    time_after(jiffies, cp->cp_dial.pd_since + RDS_CONNECT_FRESH))
		rds_path_drop(&cp->cp_pub, RDS_DROP_RACED);
	rds_cpath_kick(cp, 0);
}

/* The owner of a namespace may not have this host dial all the time, unless the
 * administrator of the host allows it.
 */
static u32 rds_connect_max_ms(const struct rds_sysctl *ctl)
{
	const struct rds_sysctl *host = &rds_net(&init_net)->rn_sysctl;
	u32 least = min_t(u32, READ_ONCE(host->reconnect_max_ms),
			  RDS_RECONNECT_MAX_MS);

	return max_t(u32, READ_ONCE(ctl->reconnect_max_ms), least);
}

/**
 * rds_cpath_connect_later() - Plan the next attempt to connect
 * @cp: the path
 *
 * Context: Process context: the path's work item, or the context that takes an
 * idle loopback path down concurrently with it.
 */
void rds_cpath_connect_later(struct rds_cpath *cp)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;
	u32 delay;

	/* An attempt is planned already, for example by
	 * rds_cpath_connect_now() because the peer is reachable. Keep its time.
	 */
	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		return;

	delay = rds_backoff_next(&cp->cp_dial.pd_backoff_ms,
				 READ_ONCE(ctl->reconnect_min_ms),
				 rds_connect_max_ms(ctl), get_random_u32());
	WRITE_ONCE(cp->cp_dial.pd_connect_at,
		   jiffies + msecs_to_jiffies(delay));
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_cpath_kick(cp, msecs_to_jiffies(delay));
}

/**
 * rds_cpath_connect() - Make an attempt to connect
 * @cp: the path
 *
 * Context: Process context, the path's work item, may sleep.
 */
void rds_cpath_connect(struct rds_cpath *cp)
{
	bool used;
	int ret;

	if (!rds_cpath_event(cp, RDS_EV_CONNECT)) {
		/* The path has been dropped, but the offer is still there. */
		if (rds_cpath_can(cp, RDS_CAP_MULTIPATH))
			rds_cpath_offer_event(cp, RDS_OFFER_RETURNED);
		return;
	}

	used = rds_path_is_used(&cp->cp_pub);
	ret = cp->cp_trans->conn->path_connect(&cp->cp_pub);
	if (!ret)
		return;

	rds_cpath_event(cp, RDS_EV_CONNECT_FAILED);
	rds_cpath_offer_event(cp, RDS_OFFER_ENDED);
	if (ret == -ENETUNREACH || ret == -EHOSTUNREACH)
		rds_upper_failed(cp, RDS_DROP_UNREACHABLE);
	/* A socket that has begun to use the path meanwhile has relied on this
	 * attempt. But the transport may have returned -EAGAIN because it still
	 * found the path unused. Then try again at once.
	 */
	if (!rds_cpath_can(cp, RDS_CAP_LOOPBACK) &&
	    rds_conn_is_unneeded(cp->cp_conn))
		rds_conn_reap_later(cp->cp_conn->c_rn);
	else if (ret != -EAGAIN)
		rds_cpath_connect_later(cp);
	else if (cp->cp_pub.index || !used)
		rds_cpath_connect_soon(cp);
}

/**
 * rds_cpath_forget_connection() - Reset what holds for one connection only
 * @cp: the path; its transport is shut down, so no data arrives
 *
 * Context: Process context, the path's work item or rds_path_shut_down_idle().
 * cp_xmit_lock is held; takes cp_lock.
 */
void rds_cpath_forget_connection(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	cp->cp_rx.pr_strict = false;
	WRITE_ONCE(cp->cp_rx.pr_streams, false);
	WRITE_ONCE(cp->cp_rx.pr_heard, false);
	WRITE_ONCE(cp->cp_rx.pr_mapped, false);
	WRITE_ONCE(cp->cp_hs.ph_known, false);
	cp->cp_sw.sw_known = false;
	cp->cp_gate.pg_shut = rds_cpath_can(cp, RDS_CAP_HANDSHAKE);
	clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	clear_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	clear_bit(RDS_PF_REPLY_NOW, &cp->cp_flags);
	clear_bit(RDS_PF_PROBE_RESTART, &cp->cp_flags);
	clear_bit(RDS_PF_RX, &cp->cp_flags);
	clear_bit(RDS_PF_RX_PAUSED, &cp->cp_flags);
	clear_bit(RDS_PF_RX_TURN, &cp->cp_flags);

	spin_lock_bh(&cp->cp_lock);
	WRITE_ONCE(cp->cp_rx.pr_former, false);
	cp->cp_hs.ph_has_frame = false;
	cp->cp_hs.ph_has_reply = false;
	cp->cp_hs.ph_restart_out = false;
	cp->cp_tx.pt_has_mark = false;
	cp->cp_dial.pd_dialed = false;
	WRITE_ONCE(cp->cp_offer, rds_offer_next(cp->cp_offer, RDS_OFFER_ENDED));
	spin_unlock_bh(&cp->cp_lock);
}

/* A peer of another implementation that has announced a generation number may
 * have restarted, and may say nothing about itself until it is probed. A probe
 * that waits its turn in the send queue would come after messages that are not
 * meant for the new incarnation. So one more probe goes ahead of all messages.
 * A peer that remembers us drops it as a duplicate, and sends a handshake frame
 * unasked.
 */
static void rds_cpath_plan_handshake(struct rds_cpath *cp)
{
	const struct rds_handshake *peer = &cp->cp_conn->c_peer_hs;

	rds_gate_begin(cp);
	if (READ_ONCE(peer->ours)) {
		set_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	} else if (!cp->cp_pub.index &&
		   (cp->cp_dial.pd_established || READ_ONCE(peer->id))) {
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
		if (READ_ONCE(peer->id))
			set_bit(RDS_PF_PROBE_RESTART, &cp->cp_flags);
	}
}

/**
 * rds_path_connect_done() - Bring a path UP, as its connection is established
 * @path: the path
 *
 * On a path that comes UP, the congestion map is sent first, then the
 * handshake, then the messages that wait. If the path is not CONNECTING, the
 * connection is unexpected, and the path is dropped.
 *
 * Context: Any context; locks of the transport may be held. Takes cp_lock.
 */
void rds_path_connect_done(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	/* Set before any sender can find the path UP: the map goes first. */
	set_bit(RDS_PF_CONG, &cp->cp_flags);
	if (rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
		rds_cpath_plan_handshake(cp);
	if (!rds_cpath_event(cp, RDS_EV_CONNECTED)) {
		rds_path_drop(path, RDS_DROP_RACED);
		return;
	}

	/* On a transport with a wire, reset the back-off only when the first
	 * data arrives.
	 */
	if (rds_cpath_can(cp, RDS_CAP_LOOPBACK))
		WRITE_ONCE(cp->cp_dial.pd_backoff_ms, 0);
	rds_cpath_kick(cp, 0);
	/* With a handshake, the gate opens later. */
	if (!rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
		rds_upper_event(cp->cp_conn, RDS_UPPER_PEER, 0);
}
EXPORT_SYMBOL_GPL(rds_path_connect_done);
