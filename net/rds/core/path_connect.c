// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting a path: when, by whom, and what is true of each connection anew.
 */
#include <linux/random.h>

#include "conn_idle.h"
#include "gate.h"
#include "path_connect.h"

/* An attempt to connect that is older is not waited for, in jiffies */
#define RDS_CONNECT_FRESH	(HZ / 2)

/**
 * rds_cpath_connect_now() - the peer is there: do not wait for the back-off
 * @cp: the path
 *
 * Nor for an attempt that began when the peer perhaps was not there.
 *
 * Context: any.
 */
void rds_cpath_connect_now(struct rds_cpath *cp)
{
	WRITE_ONCE(cp->cp_connect_at, jiffies);
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	if (rds_cpath_state(cp) == RDS_PATH_CONNECTING &&
	    time_after(jiffies, cp->cp_since + RDS_CONNECT_FRESH))
		rds_path_drop(&cp->cp_pub, RDS_DROP_RACED);
	rds_cpath_kick(cp, 0);
}

/**
 * rds_cpath_connect_later() - plan the next attempt to connect
 * @cp: the path
 *
 * Context: process: the path's work item, or who takes a loopback path down
 * beside it.
 */
void rds_cpath_connect_later(struct rds_cpath *cp)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;
	u32 delay;

	/* Somebody knows that the peer is there. */
	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		return;

	delay = rds_backoff_next(&cp->cp_backoff_ms,
				 READ_ONCE(ctl->reconnect_min_ms),
				 READ_ONCE(ctl->reconnect_max_ms),
				 get_random_u32());
	WRITE_ONCE(cp->cp_connect_at, jiffies + msecs_to_jiffies(delay));
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_cpath_kick(cp, msecs_to_jiffies(delay));
}

/**
 * rds_cpath_connect() - make an attempt to connect
 * @cp: the path
 *
 * Context: process, the path's work item, may sleep.
 */
void rds_cpath_connect(struct rds_cpath *cp)
{
	bool used;
	int ret;

	if (!rds_cpath_event(cp, RDS_EV_CONNECT)) {
		/* Somebody has dropped it; what is on offer still is. */
		if (cp->cp_multi && test_bit(RDS_PF_TAKEN, &cp->cp_flags))
			set_bit(RDS_PF_OFFER, &cp->cp_flags);
		return;
	}

	used = rds_path_is_used(&cp->cp_pub);
	ret = cp->cp_trans->conn->path_connect(&cp->cp_pub);
	if (!ret)
		return;

	rds_cpath_event(cp, RDS_EV_CONNECT_FAILED);
	clear_bit(RDS_PF_TAKEN, &cp->cp_flags);
	/* Who has begun to use it meanwhile left it to us, and the transport
	 * may not have known.
	 */
	if (!cp->cp_loops && rds_conn_is_left(cp->cp_conn))
		rds_conn_reap_later(cp->cp_conn->c_rn);
	else if (ret != -EAGAIN)
		rds_cpath_connect_later(cp);
	else if (cp->cp_pub.index || !used)
		rds_cpath_connect_soon(cp);
}

/**
 * rds_cpath_forget_connection() - what was true of a connection that is no more
 * @cp: the path; its transport is shut down, so nothing arrives
 *
 * Context: process, the path's work item. cp_xmit_lock is held; takes cp_lock.
 */
void rds_cpath_forget_connection(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	cp->cp_strict = false;
	cp->cp_sw.so_known = false;
	WRITE_ONCE(cp->cp_heard, false);
	WRITE_ONCE(cp->cp_mapped, false);
	WRITE_ONCE(cp->cp_known, false);
	cp->cp_gated = cp->cp_multi;
	clear_bit(RDS_PF_TAKEN, &cp->cp_flags);
	clear_bit(RDS_PF_HANDSHAKE, &cp->cp_flags);
	clear_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	clear_bit(RDS_PF_REPLY_NOW, &cp->cp_flags);
	clear_bit(RDS_PF_PROBE_RESTART, &cp->cp_flags);
	clear_bit(RDS_PF_RX, &cp->cp_flags);
	clear_bit(RDS_PF_RX_TURN, &cp->cp_flags);

	spin_lock_bh(&cp->cp_lock);
	cp->cp_has_handshake = false;
	cp->cp_restart_probe_out = false;
	cp->cp_has_reply = false;
	cp->cp_has_mark = false;
	cp->cp_dialed = false;
	spin_unlock_bh(&cp->cp_lock);
}

/* A peer of another kind, with a generation, may be its next life, and say
 * nothing of itself until it is asked; and a probe that takes its turn in the
 * queue would ask too late. One that knows us passes over what comes ahead, and
 * greets by itself.
 */
static void rds_cpath_plan_handshake(struct rds_cpath *cp)
{
	const struct rds_handshake *peer = &cp->cp_conn->c_peer_hs;

	rds_gate_begin(cp);
	if (READ_ONCE(peer->ours)) {
		set_bit(RDS_PF_PROBE_NOW, &cp->cp_flags);
	} else if (!cp->cp_pub.index &&
		   (cp->cp_established || READ_ONCE(peer->id))) {
		set_bit(RDS_PF_PROBE, &cp->cp_flags);
		if (READ_ONCE(peer->id))
			set_bit(RDS_PF_PROBE_RESTART, &cp->cp_flags);
	}
}

/**
 * rds_path_connect_done() - a transport connection works
 * @path: the path
 *
 * The path comes UP: the congestion map goes first, then the handshake, then
 * what waits. In any state but CONNECTING or RESETTING the connection is
 * unexpected, and the path is dropped.
 *
 * Context: any; locks of the transport may be held.
 */
void rds_path_connect_done(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	/* Before anybody can send: the map goes first. */
	set_bit(RDS_PF_CONG, &cp->cp_flags);
	if (cp->cp_multi)
		rds_cpath_plan_handshake(cp);
	if (!rds_cpath_event(cp, RDS_EV_CONNECTED)) {
		rds_path_drop(path, RDS_DROP_RACED);
		return;
	}

	/* Others have to be heard first. */
	if (cp->cp_loops)
		WRITE_ONCE(cp->cp_backoff_ms, 0);
	clear_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_connect_done);
