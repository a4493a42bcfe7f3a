// SPDX-License-Identifier: GPL-2.0-only
/*
 * The work item of a path: shut down what was dropped, connect what is to be
 * connected, send what waits.
 *
 * Each step looks at the path as it finds it, so a run for nothing does
 * nothing, and one kick serves whatever came up meanwhile.
 */
#include "compat.h"
#include "conn_idle.h"
#include "gate.h"
#include "multipath.h"
#include "legacy.h"
#include "path_connect.h"
#include "path_work.h"
#include "pong.h"
#include "send.h"
#include "sw_request.h"

#include <trace/events/rds.h>

/* For how long a connection that the peer asked for is dialled again */
#define RDS_CALL_LASTS		(30 * HZ)

/* A peer that does not dial a path is reminded of it this often, in jiffies */
#define RDS_REMIND_DELAY	HZ

/* Paths that the peer does not offer any more only take what it makes. */
static bool rds_path_is_agreed(const struct rds_cpath *cp)
{
	return cp->cp_pub.index < READ_ONCE(cp->cp_conn->c_npaths_wanted);
}

/* Who redials without having anything to send? Loopback comes up at once. */
static bool rds_path_dials(const struct rds_cpath *cp)
{
	if (cp->cp_loops || cp->cp_pub.passive)
		return false;
	if (!(cp->cp_caps & RDS_CAP_LOWER_DIALS))
		return true;
	return rds_path_is_lower(&cp->cp_pub);
}

/* Path 0 is what calls the peer to dial the others. */
static bool rds_path_is_wanted(const struct rds_cpath *cp)
{
	const struct rds_cpath *index;
	unsigned int i;

	if (!list_empty_careful(&cp->cp_send_queue))
		return true;
	if (cp->cp_pub.index)
		return false;

	for (i = 1; i < RDS_MAX_PATHS; i++) {
		index = rds_conn_path(cp->cp_conn, i);
		if (index && !list_empty_careful(&index->cp_send_queue))
			return true;
	}
	return false;
}

/* A peer that called us has something to send, and may have closed the
 * connection only because it was dialling at the same time.
 */
static bool rds_path_is_called(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return READ_ONCE(conn->c_called) && cp->cp_established &&
	       time_before(jiffies, READ_ONCE(conn->c_called_at) +
				    RDS_CALL_LASTS);
}

static void rds_path_reconnect(struct rds_cpath *cp)
{
	struct rds_conn *conn = cp->cp_conn;
	struct rds_cpath *first = rds_conn_path(conn, 0);

	if (!cp->cp_loops && rds_conn_is_left(conn) &&
	    !rds_path_is_called(cp)) {
		rds_conn_reap_later(conn->c_rn);
		return;
	}
	/* Whoever it was may have gone as a whole: see rds_path_may_dial(). */
	if (cp != first && rds_cpath_state(first) == RDS_PATH_UP)
		rds_mp_verify(first);
	if (rds_path_is_agreed(cp) &&
	    (rds_path_dials(cp) || rds_path_is_wanted(cp)))
		rds_cpath_connect_later(cp);
}

/* Returns false if the transport takes its time: then it is called again, and
 * all else has to wait, as what comes by the connection is still delivered.
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
	rds_path_reconnect(cp);
	if (ops->accept_again)
		ops->accept_again(cp->cp_pub.net);
	return true;
}

/**
 * rds_path_shut_down_idle() - take a loopback path down that nobody uses
 * @cp: the path
 *
 * Nothing is lost if somebody does after all: what is queued before DONE is
 * seen by rds_path_reconnect(), and a sender that comes later finds the path
 * DOWN. In the states from DROP to DONE the path's work leaves the transport
 * alone. If an attempt to connect was planned when the path was UP already, the
 * work has left RDS_PF_CONNECT set, and no sender kicks it: that is done here.
 *
 * Context: process, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_idle(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP)
		return;

	trace_rds_path_drop(&cp->cp_pub, RDS_DROP_IDLE);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_path_shut_down(cp);
	/* The state is stored before the flag is read. Pairs with queue_work()
	 * after set_bit(): the work sees the path DOWN, or the flag is seen
	 * here.
	 */
	smp_mb();
	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_path_shut_down_idle);

/**
 * rds_path_shut_down_dead() - the last shutdown of a path
 * @cp: the path, marked dead, dropped, and its work cancelled
 *
 * Afterwards the transport is quiet and nothing is queued.
 *
 * Context: process, may sleep. Takes the transmit lock.
 */
void rds_path_shut_down_dead(struct rds_cpath *cp)
{
	/* The last run of its work may have brought it up again. */
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

/* Does the peer know us by the connection of the first path, and has it said so
 * since this path was lost? One of ours needs to have greeted only. If it has
 * gone since, and another is there, that one does not take the path before it
 * has been told of it by path 0, and nothing is sent before it has greeted.
 */
static bool rds_path_peer_knows_us(const struct rds_cpath *cp,
				   const struct rds_cpath *first)
{
	const struct rds_conn *conn = cp->cp_conn;
	unsigned long at;

	if (READ_ONCE(conn->c_peer_hs.ours)) {
		if (!READ_ONCE(first->cp_has_handshake))
			return false;
		at = READ_ONCE(first->cp_handshake_at);
	} else {
		if (!rds_legacy_knows_us(first, &at))
			return false;
	}
	return !cp->cp_attempts ||
	       time_after_eq(at, READ_ONCE(cp->cp_lost_at));
}

/* The other paths are dialled when the first has found the peer to be there. */
static bool rds_path_may_dial(const struct rds_cpath *cp)
{
	const struct rds_cpath *first = rds_conn_path(cp->cp_conn, 0);

	if (!rds_path_is_agreed(cp))
		return false;
	return !cp->cp_multi || cp == first ||
	       rds_path_peer_knows_us(cp, first);
}

/* Messages wait on a path that only the peer may dial, though it could. It may
 * not have noticed yet that the path is lost.
 */
static bool rds_path_is_overdue(const struct rds_cpath *cp)
{
	const struct rds_cpath *first = rds_conn_path(cp->cp_conn, 0);

	return rds_cpath_only_waits(cp) && rds_path_is_agreed(cp) &&
	       rds_cpath_state(cp) == RDS_PATH_DOWN &&
	       rds_cpath_state(first) == RDS_PATH_UP &&
	       !list_empty_careful(&cp->cp_send_queue);
}

/* A probe reminds it how many paths there are. */
static void rds_path_remind(struct rds_cpath *cp)
{
	if (!rds_path_is_overdue(cp) ||
	    time_before(jiffies, cp->cp_remind_at))
		return;
	cp->cp_remind_at = jiffies + RDS_REMIND_DELAY;
	rds_mp_verify(rds_conn_path(cp->cp_conn, 0));
}

/* What the peer has made does not wait for our back-off. But a path that was
 * not read on waits for its readers: each new connection would bring more.
 */
static bool rds_path_connect_due(const struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_DOWN ||
	    test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags))
		return false;
	if (test_bit(RDS_PF_OFFER, &cp->cp_flags))
		return true;
	return test_bit(RDS_PF_CONNECT, &cp->cp_flags) &&
	       rds_path_may_dial(cp) &&
	       time_after_eq(jiffies, READ_ONCE(cp->cp_connect_at));
}

static void rds_path_connect(struct rds_cpath *cp)
{
	if (!rds_path_connect_due(cp))
		return;
	clear_bit(RDS_PF_CONNECT, &cp->cp_flags);
	/* With the one in rds_cpath_connect_soon() */
	smp_mb__after_atomic();
	if (!test_bit(RDS_PF_OFFER, &cp->cp_flags) &&
	    rds_conn_is_abandoned(cp->cp_conn, 1)) {
		rds_conn_reap_later(cp->cp_conn->c_rn);
		return;
	}
	/* Whoever sees neither of the two may make another offer. Without paths
	 * the transport knows whether there is one.
	 */
	if (cp->cp_multi && test_bit(RDS_PF_OFFER, &cp->cp_flags)) {
		set_bit(RDS_PF_TAKEN, &cp->cp_flags);
		clear_bit(RDS_PF_OFFER, &cp->cp_flags);
	}
	rds_cpath_connect(cp);
}

/* Is an attempt of ours to be awaited, rather than the peer's to be taken? Who
 * is offered something for a path does not dial it.
 */
static bool rds_path_is_ours_first(const struct rds_cpath *cp)
{
	bool taken = test_bit(RDS_PF_TAKEN, &cp->cp_flags);

	if (cp->cp_multi)
		return taken;
	return !taken && (rds_path_is_lower(&cp->cp_pub) ||
			  test_bit(RDS_PF_NO_DUELS, &cp->cp_flags));
}

/* An offer beside the connection that there is, or an attempt at one. Nobody
 * but us takes it, so it is another. Without paths it says that the peer has
 * lost the one that is UP; but an attempt of ours that succeeds has it refused
 * before.
 */
static void rds_path_heed_offer(struct rds_cpath *cp)
{
	if (!test_bit(RDS_PF_OFFER, &cp->cp_flags))
		return;
	if (!cp->cp_multi)
		rds_cpath_give_way(cp, RDS_PATH_UP, RDS_DROP_PEER_RESET);
	if (!rds_path_is_ours_first(cp))
		rds_cpath_give_way(cp, RDS_PATH_CONNECTING, RDS_DROP_RACED);
}

/* What was to be read on for something else waits for the turn, too. */
static void rds_path_receive(struct rds_cpath *cp)
{
	if (test_bit(RDS_PF_RX_TURN, &cp->cp_flags) ||
	    !test_and_clear_bit(RDS_PF_RX, &cp->cp_flags))
		return;
	rds_sw_listen(cp);
	cp->cp_trans->data->rx_resume(&cp->cp_pub);
}

/* What is still ahead must not be lost to the kick that made us run. */
static void rds_path_rearm(struct rds_cpath *cp)
{
	long delay = LONG_MAX;

	if (test_bit(RDS_PF_CONNECT, &cp->cp_flags) &&
	    !test_bit(RDS_PF_RX_STOPPED, &cp->cp_flags) &&
	    rds_path_may_dial(cp) && rds_cpath_state(cp) == RDS_PATH_DOWN)
		delay = (long)(READ_ONCE(cp->cp_connect_at) - jiffies);
	if (rds_path_is_overdue(cp))
		delay = min(delay, (long)(cp->cp_remind_at - jiffies));
	delay = min(delay, rds_gate_delay(cp));
	delay = min(delay, rds_send_map_delay(cp));
	delay = min(delay, rds_sw_watch(cp));
	if (delay != LONG_MAX)
		rds_cpath_kick(cp, max(delay, 0L));
}

static void rds_path_run(struct rds_cpath *cp)
{
	rds_path_heed_offer(cp);
	rds_gate_expire(cp);
	if (!rds_path_shut_down(cp))
		return;
	if (cp->cp_multi)
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
 * rds_path_work() - work function of a path
 * @work: &rds_cpath.cp_work
 *
 * Context: process, may sleep. Never concurrent with itself for one path.
 * Gives up the reference to the connection that came with being queued.
 */
void rds_path_work(struct work_struct *work)
{
	struct rds_cpath *cp = container_of(to_delayed_work(work),
					    struct rds_cpath, cp_work);

	if (!READ_ONCE(cp->cp_dead))
		rds_path_run(cp);
	rds_conn_put(cp->cp_conn);
}
