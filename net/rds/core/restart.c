// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens when the peer turns out to have restarted.
 *
 * It has forgotten us. Messages that are queued for its former incarnation are
 * dropped, and so are connections to that incarnation. A path that has not read
 * its connection yet may find later that it leads there, so each path remembers
 * the generation number that was replaced (ph_former).
 *
 * What arrived on such a connection before it was dropped is delivered to
 * sockets, whose peer was the former incarnation. But a frame of a stream could
 * be taken for an answer to what the new one is asked. So none is delivered any
 * more when c_rx_epoch changes. A connection that is marked for that
 * (pr_former) is never used again, as frames may be missing.
 */
#include "conn.h"
#include "path.h"
#include "probe.h"
#include "restart.h"
#include "upper.h"

/* Check whether a connection may lead to the former incarnation of the peer. If
 * it has not brought a handshake frame yet, the implementation decides: ours
 * will send a frame, while others may never send one.
 */
static bool rds_restart_is_stale(struct rds_cpath *cp,
				 const struct rds_handshake *hs)
{
	bool stale;

	spin_lock_bh(&cp->cp_lock);
	if (cp->cp_hs.ph_has_frame)
		stale = rds_handshake_gen(&cp->cp_hs.ph_frame) !=
			rds_handshake_gen(hs);
	else
		stale = !hs->ours;
	spin_unlock_bh(&cp->cp_lock);
	return stale;
}

/* Note which connections lead to the former incarnation of the peer: no frame
 * of a stream that arrives on them from now on is delivered.
 */
static void rds_restart_leave(struct rds_cpath *by)
	__must_hold(&by->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = by->cp_conn;
	u32 former = rds_handshake_gen(&conn->c_peer_hs);
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->c_mp_lock);

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp)
			continue;
		spin_lock_bh(&cp->cp_lock);
		atomic64_set(&cp->cp_hs.ph_former,
			     cp == by ? 0 : former | RDS_TURN_NOTED);
		if (cp != by && cp->cp_hs.ph_has_frame &&
		    rds_probe_is_former(cp, &cp->cp_hs.ph_frame))
			WRITE_ONCE(cp->cp_rx.pr_former, true);
		spin_unlock_bh(&cp->cp_lock);
	}
	/* The caller changes c_peer_hs next. Pairs with the barrier in
	 * rds_probe_is_turn().
	 */
	smp_wmb();
}

/**
 * rds_restart() - Start over with a new incarnation of the peer
 * @by: the path on which its handshake frame has arrived
 * @hs: the frame
 *
 * Messages that are queued from now on are meant for it. If its ports do not
 * name paths, @by is its only path and becomes path 0.
 *
 * Context: Process context, may sleep. c_mp_lock is held; takes rn_lock,
 * cp_lock.
 */
void rds_restart(struct rds_cpath *by, const struct rds_handshake *hs)
	__must_hold(&by->cp_conn->c_mp_lock)
{
	struct rds_conn *conn = by->cp_conn;
	struct rds_cpath *cp;
	unsigned int i;

	lockdep_assert_held(&conn->c_mp_lock);

	rds_restart_leave(by);
	mutex_lock(&conn->c_rn->rn_lock);
	/* Do not change a connection that is being destroyed. */
	if (!hs->names_paths && by->cp_pub.index &&
	    !list_empty(&conn->c_item))
		rds_conn_swap(conn, by, conn->c_paths[0]);
	mutex_unlock(&conn->c_rn->rn_lock);
	WRITE_ONCE(conn->c_npaths_wanted, 1);
	conn->c_fan_path = rds_conn_path(conn, 0);
	WRITE_ONCE(conn->c_fan, RDS_FAN_NONE);
	WRITE_ONCE(conn->c_npaths, 1);
	/* Wait for deliveries that have not seen pr_former: from now on, users
	 * ask the new incarnation. Pairs with the RCU read lock in
	 * rds_deliver_stream().
	 */
	if (rds_upper_is_registered())
		synchronize_rcu();
	WRITE_ONCE(conn->c_rx_epoch, conn->c_rx_epoch + 1);

	for (i = 0; i < RDS_MAX_PATHS; i++) {
		cp = rds_conn_path(conn, i);
		if (!cp)
			continue;
		/* Drop the connection first. Its shutdown returns unacked
		 * messages to the send queue, and the flush covers only that
		 * queue.
		 */
		if (cp != by && rds_restart_is_stale(cp, hs))
			rds_cpath_renew(cp, RDS_DROP_PEER_RESTARTED);
		spin_lock_bh(&cp->cp_lock);
		cp->cp_tx.pt_flush_ticket = cp->cp_tx.pt_next_ticket;
		/* Messages queued since the restart was noted are kept on the
		 * remaining path. On any other path they would be overtaken,
		 * or never be sent.
		 */
		if (cp == conn->c_fan_path &&
		    cp->cp_hs.ph_turn ==
		    (rds_handshake_gen(hs) | RDS_TURN_NOTED))
			cp->cp_tx.pt_flush_ticket = cp->cp_hs.ph_turn_ticket;
		cp->cp_hs.ph_turn = 0;
		set_bit(RDS_PF_FLUSH, &cp->cp_flags);
		spin_unlock_bh(&cp->cp_lock);
		rds_cpath_kick(cp, 0);
	}
}
