// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work item of a path: it shuts down a path that was dropped, connects a
 * path that is to be connected, and sends what waits.
 *
 * Each step checks the present state of the path. So a run without need does
 * nothing, and one kick serves every event that happened before the run.
 */
#include "coalesce.h"
#include "compat.h"
#include "conn_idle.h"
#include "delay.h"
#include "gate.h"
#include "legacy.h"
#include "multipath.h"
#include "path_connect.h"
#include "path_work.h"
#include "pong.h"
#include "probe.h"
#include "send.h"
#include "sw_request.h"
#include "upper.h"

#include <trace/events/rds.h>

/* How long after the peer's last knock a path without local users is redialed,
 * in jiffies
 */
#define RDS_KNOCK_LASTS		(30 * HZ)

/* Interval at which a peer is reminded of a path that it does not dial, in
 * jiffies
 */
#define RDS_REMIND_DELAY	HZ

/* A path that the peer does not offer any more is not dialed. It only takes
 * connections that the peer makes.
 */
static bool rds_path_is_agreed(const struct rds_cpath *cp)
{
	return cp->cp_pub.index < READ_ONCE(cp->cp_conn->c_npaths_wanted);
}

/* Check whether this end redials a path although no message waits. A loopback
 * path is not redialed, because it comes UP at once when it is used.
 */
static bool rds_path_dials(const struct rds_cpath *cp)
{
	if (rds_cpath_can(cp, RDS_CAP_LOOPBACK) || cp->cp_pub.passive)
		return false;
	if (!rds_cpath_can(cp, RDS_CAP_LOWER_DIALS))
		return true;
	return rds_path_is_lower(&cp->cp_pub);
}

/* Path 0 is also needed for messages that wait on the other paths, because it
 * prompts the peer to dial those.
 */
static bool rds_path_is_wanted(const struct rds_cpath *cp)
{
	const struct rds_cpath *other;
	unsigned int i;

	if (!list_empty(&cp->cp_tx.pt_queue))
		return true;
	if (cp->cp_pub.index)
		return false;

	for (i = 1; i < RDS_MAX_PATHS; i++) {
		other = rds_conn_path(cp->cp_conn, i);
		if (other && !list_empty(&other->cp_tx.pt_queue))
			return true;
	}
	return false;
}

/* A peer that has knocked has messages to send. It may have closed the
 * connection only because it was dialing at the same time. If this end has
 * closed it to make room, the peer has to knock again.
 */
static bool rds_path_has_knock(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return READ_ONCE(conn->c_knocked) && cp->cp_dial.pd_established &&
	       !READ_ONCE(conn->c_evicted) &&
	       rds_delay_left(READ_ONCE(conn->c_knocked_at) + RDS_KNOCK_LASTS,
			      RDS_KNOCK_LASTS);
}

static void rds_path_reconnect(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_cpath *first = rds_conn_path(conn, 0);

	if (!rds_cpath_can(cp, RDS_CAP_LOOPBACK) &&
	    rds_conn_is_unneeded(conn) && !rds_path_has_knock(cp)) {
		rds_conn_reap_later(conn->c_rn);
		return;
	}
	/* The peer may be gone altogether. Path 0 checks that, and the
	 * other paths are dialed afterwards: see rds_path_may_dial().
	 */
	if (cp != first && rds_cpath_state(first) == RDS_PATH_UP)
		rds_probe_soon(first);
	if (rds_path_is_agreed(cp) &&
	    (rds_path_dials(cp) || rds_path_is_wanted(cp)))
		rds_cpath_connect_later(cp);
}

/* Returns false if the transport needs more time; the next run of the work item
 * calls path_shutdown() again. Until then all other steps have to wait, because
 * data of the old connection is still being delivered.
 */
static bool rds_path_shut_down(struct rds_cpath *cp)
{
	const struct rds_conn_ops *ops = cp->cp_trans->conn;
	unsigned long delay;

	if (!rds_cpath_event(cp, RDS_EV_SHUTDOWN) &&
	    !test_bit(RDS_PF_ENDING, &cp->cp_flags))
		return true;

	mutex_lock(&cp->cp_xmit_lock);
	delay = ops->path_shutdown(&cp->cp_pub, READ_ONCE(cp->cp_dead));
	mutex_unlock(&cp->cp_xmit_lock);
	assign_bit(RDS_PF_ENDING, &cp->cp_flags, delay);
	if (delay) {
		rds_cpath_kick(cp, delay);
		return false;
	}

	rds_mp_apply_last(cp);

	mutex_lock(&cp->cp_xmit_lock);
	rds_sw_reset(cp);
	rds_send_reset(cp);
	rds_cpath_forget_connection(cp);
	mutex_unlock(&cp->cp_xmit_lock);

	if (!rds_cpath_event(cp, RDS_EV_SHUTDOWN_DONE)) {
		rds_cpath_kick(cp, 0);
		return true;
	}
	rds_upper_failed(cp, READ_ONCE(cp->cp_dial.pd_drop_reason));
	rds_path_reconnect(cp);
	if (ops->accept_again)
		ops->accept_again(cp->cp_pub.net);
	return true;
}

/**
 * rds_path_shut_down_idle() - Take down an idle loopback path
 * @cp: the path
 *
 * Nothing is lost if a sender uses the path at the same time.
 * rds_path_reconnect() sees a message that is queued before
 * %RDS_EV_SHUTDOWN_DONE. A sender that comes later finds the path DOWN. From
 * %RDS_EV_DROP to %RDS_EV_SHUTDOWN_DONE the path's work item does not touch the
 * transport. If an attempt to connect was planned while the path was UP
 * already, %RDS_PF_CONNECT is still set, and senders therefore do not kick the
 * work item. So this function kicks it.
 *
 * Context: Process context, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_idle(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP)
		return;

	trace_rds_path_drop(&cp->cp_pub, RDS_DROP_IDLE);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_path_shut_down(cp);
	/* The state is stored before the flag is read. Pairs with queue_work()
	 * after set_bit(): either the work item sees the path DOWN, or the flag
	 * is seen here.
	 */
	smp_mb();
	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_path_shut_down_idle);

/**
 * rds_path_shut_down_dead() - Shut a path down for the last time
 * @cp: the path, of a connection that is not in the table any more; its work
 *	item is neither queued nor running
 *
 * Afterwards the transport calls no function of core for the path, and no
 * message is queued on it.
 *
 * Context: Process context, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_dead(struct rds_cpath *cp)
{
	/* The last run of its work item may have brought the path UP again. */
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_cpath_event(cp, RDS_EV_SHUTDOWN);
	mutex_lock(&cp->cp_xmit_lock);
	cp->cp_trans->conn->path_shutdown(&cp->cp_pub, true);
	rds_sw_reset(cp);
	rds_send_purge(cp);
	mutex_unlock(&cp->cp_xmit_lock);
	rds_pong_drop(cp);
	rds_cpath_event(cp, RDS_EV_SHUTDOWN_DONE);
}

/* Check whether the peer has shown on path 0 that it knows us, after this path
 * was lost. If the peer runs this implementation, a handshake frame on the
 * present connection of path 0 is enough. If that peer has restarted since, the
 * new incarnation takes no connection for this path before path 0 has announced
 * the path to it. And no message is sent before the new incarnation has sent
 * its handshake frame.
 */
static bool rds_path_peer_knows_us(const struct rds_cpath *cp,
				   const struct rds_cpath *first)
{
	const struct rds_conn *conn = cp->cp_conn;
	unsigned long at;

	if (READ_ONCE(conn->c_peer_hs.ours)) {
		if (!READ_ONCE(first->cp_hs.ph_has_frame))
			return false;
		at = READ_ONCE(first->cp_hs.ph_at);
	} else {
		if (!rds_legacy_knows_us(first, &at))
			return false;
	}
	return !cp->cp_dial.pd_attempts ||
	       time_after_eq(at, READ_ONCE(cp->cp_dial.pd_lost_at));
}

/* Other paths are dialed only when path 0 has shown that the peer is there. */
static bool rds_path_may_dial(const struct rds_cpath *cp)
{
	const struct rds_cpath *first = rds_conn_path(cp->cp_conn, 0);

	if (!rds_path_is_agreed(cp))
		return false;
	return cp == first || rds_path_peer_knows_us(cp, first);
}

/* Messages wait on a path that only the peer may dial, and the peer could dial
 * it. The peer may not have noticed yet that the path is down.
 */
static bool rds_path_is_overdue(const struct rds_cpath *cp)
{
	const struct rds_cpath *first = rds_conn_path(cp->cp_conn, 0);

	return rds_cpath_only_waits(cp) && rds_path_is_agreed(cp) &&
	       rds_cpath_state(cp) == RDS_PATH_DOWN &&
	       rds_cpath_state(first) == RDS_PATH_UP &&
	       !list_empty(&cp->cp_tx.pt_queue);
}

/* Return how long to wait with the next reminder. */
static long rds_path_remind_delay(const struct rds_cpath *cp)
{
	return rds_delay_left(cp->cp_dial.pd_remind_at, RDS_REMIND_DELAY);
}

/* A probe on path 0 reminds the peer of the number of paths. */
static void rds_path_remind(struct rds_cpath *cp)
{
	if (!rds_path_is_overdue(cp) || rds_path_remind_delay(cp))
		return;
	cp->cp_dial.pd_remind_at = jiffies + RDS_REMIND_DELAY;
	rds_probe_soon(rds_conn_path(cp->cp_conn, 0));
}

/* Return how long to wait with the planned attempt. A path may have been UP, or
 * may have had to wait for another one, for long since it was planned.
 */
static long rds_path_connect_delay(const struct rds_cpath *cp)
{
	const struct rds_sysctl *ctl = &cp->cp_conn->c_rn->rn_sysctl;
	long most = msecs_to_jiffies(READ_ONCE(ctl->reconnect_max_ms));

	return rds_delay_left(READ_ONCE(cp->cp_dial.pd_connect_at), most);
}

/* A connection made by the peer is taken without back-off. But a path that has
 * stopped reading waits until local sockets have read: each new connection
 * would bring more data.
 */
static bool rds_path_connect_due(const struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_DOWN ||
	    test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags))
		return false;
	if (rds_cpath_has_offer(cp))
		return true;
	return test_bit(RDS_PF_CONNECT, &cp->cp_flags) &&
	       rds_path_may_dial(cp) && !rds_path_connect_delay(cp);
}

static void rds_path_connect(struct rds_cpath *cp)
{
	if (!rds_path_connect_due(cp))
		return;
	clear_bit(RDS_PF_CONNECT, &cp->cp_flags);
	/* Pairs with the barrier in rds_cpath_connect_soon(). */
	smp_mb__after_atomic();
	if (!rds_cpath_has_offer(cp) &&
	    rds_conn_is_abandoned(cp->cp_conn, 1)) {
		rds_conn_reap_later(cp->cp_conn->c_rn);
		return;
	}
	/* Without RDS_CAP_MULTIPATH the transport tracks the offer. */
	if (rds_cpath_can(cp, RDS_CAP_MULTIPATH))
		rds_cpath_offer_event(cp, RDS_OFFER_CLAIMED);
	rds_cpath_connect(cp);
}

/* While RDS_PF_RX_TURN or RDS_PF_RX_STOPPED is set, requests to read on for
 * other reasons have to wait, too.
 */
static void rds_path_receive(struct rds_cpath *cp)
{
	if (test_bit(RDS_PF_RX_TURN, &cp->cp_flags) ||
	    test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) ||
	    !test_and_clear_bit(RDS_PF_RX, &cp->cp_flags))
		return;
	rds_sw_unpause(cp);
	cp->cp_trans->data->rx_resume(&cp->cp_pub);
}

/* The kick that started this run may have replaced the timer. Set the timer
 * again for the next action that is due.
 */
static void rds_path_rearm(struct rds_cpath *cp)
{
	long delay = LONG_MAX;

	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags) &&
	    !test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) &&
	    rds_path_may_dial(cp) && rds_cpath_state(cp) == RDS_PATH_DOWN)
		delay = rds_path_connect_delay(cp);
	if (rds_path_is_overdue(cp))
		delay = min(delay, rds_path_remind_delay(cp));
	delay = min(delay, rds_gate_delay(cp));
	delay = min(delay, rds_send_map_delay(cp));
	delay = min(delay, rds_sw_watch(cp));
	if (delay != LONG_MAX)
		rds_cpath_kick(cp, max(delay, 0L));
}

static void rds_path_run(struct rds_cpath *cp)
{
	rds_coalesce_end(&cp->cp_coalesce);
	rds_cpath_yield_to_offer(cp);
	rds_gate_expire(cp);
	if (!rds_path_shut_down(cp))
		return;
	if (rds_cpath_can(cp, RDS_CAP_HANDSHAKE))
		rds_mp_work(cp);
	rds_path_connect(cp);
	rds_path_remind(cp);
	rds_path_receive(cp);
	rds_pong_queue(cp);
	rds_send_map_again(cp);
	rds_send_run_waiting(cp);
	rds_path_rearm(cp);
}

/**
 * rds_path_work() - Run the work item of a path
 * @work: &rds_cpath.cp_work
 *
 * Context: Process context, may sleep. Never runs concurrently with itself for
 * one path. Puts the reference to the connection that the queued work item
 * held.
 */
void rds_path_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(to_delayed_work(work),
					    struct rds_cpath, cp_work);

	if (!READ_ONCE(cp->cp_dead))
		rds_path_run(cp);
	rds_conn_put(cp->cp_conn);
}
