// SPDX-License-Identifier: GPL-2.0-only
/*
 * The paths of a connection.
 *
 * Each path has one work item (path_work.c). It connects the path, shuts it
 * down, and sends what sendmsg() could not send. It never runs concurrently
 * with itself. All other code changes the state by rds_cpath_event(), sets a
 * flag, and kicks the work item. A queued work item holds a reference to the
 * connection, so it may be kicked from any context and at any time. If the path
 * is dead by then, the work item does nothing.
 *
 * While RDS_PF_CONNECT is set, the work item is queued, waits for its timer, or
 * runs. Two rules ensure this. Every function that sets the flag kicks the work
 * item afterwards, whatever context it runs in. And a run that leaves the flag
 * set on a path that is DOWN sets the timer (rds_path_rearm()). So if a sender
 * finds the path DOWN and the flag set, it may leave its message to the work
 * item. The flag may stay set on a path that is UP. Therefore
 * rds_path_shut_down_idle(), which takes a path down concurrently with the work
 * item, kicks the work item.
 *
 * Locks: cp_xmit_lock (sleeps) > locks of the transport > cp_lock (bottom
 * halves off). cp_lock is a leaf: core calls no function of the transport under
 * it, so callbacks of the transport may change the state. Only rds_mp_publish()
 * holds the cp_lock of two paths at a time. A kick needs no lock.
 */
#include "conn.h"

#include <trace/events/rds.h>

/* Delay until a transport that lacked memory reads on, in jiffies */
#define RDS_RX_RETRY_DELAY	1

/* What was planned has happened. An idle path may be shut down as soon as it is
 * UP, and a plan that is made then must stay.
 */
static void rds_cpath_has_connected(struct rds_cpath *cp)
{
	cp->cp_dial.pd_established++;
	WRITE_ONCE(cp->cp_dial.pd_failing, false);
	clear_bit(RDS_PF_CONNECT, &cp->cp_flags);
}

static void rds_cpath_begins_attempt(struct rds_cpath *cp)
{
	cp->cp_dial.pd_attempts++;
	WRITE_ONCE(cp->cp_dial.pd_failing, true);
}

static void rds_cpath_count_reset(struct rds_cpath *cp)
{
	cp->cp_dial.pd_resets++;
	cp->cp_dial.pd_lost_at = jiffies;
	rds_stat_inc(cp->cp_conn->c_rn, conn_reset);
}

/* All changes of a path's state happen here. */
static bool rds_cpath_event_locked(struct rds_cpath *cp,
				   enum rds_path_event event)
	__must_hold(&cp->cp_lock)
{
	enum rds_path_state from = cp->cp_state, to;

	lockdep_assert_held(&cp->cp_lock);
	if (!rds_path_next_state(from, event, &to))
		return false;

	WRITE_ONCE(cp->cp_state, to);
	if (from != to)
		cp->cp_dial.pd_since = jiffies;
	if (event == RDS_EV_CONNECT)
		rds_cpath_begins_attempt(cp);
	else if (event == RDS_EV_CONNECTED)
		rds_cpath_has_connected(cp);
	else if (event == RDS_EV_DROP && from == RDS_PATH_UP)
		rds_cpath_count_reset(cp);
	trace_rds_path_state(&cp->cp_pub, from, to, event);
	return true;
}

/**
 * rds_cpath_event() - Apply an event to the state of a path
 * @cp: the path
 * @event: the event
 *
 * Context: Any context; locks of the transport may be held. Takes cp_lock.
 * Return: true if the table in path_state.c has the event in this state, and
 * the state has been updated; false if the event does not apply, and nothing
 * has changed.
 */
bool rds_cpath_event(struct rds_cpath *cp, enum rds_path_event event)
{
	bool applies;

	spin_lock_bh(&cp->cp_lock);
	applies = rds_cpath_event_locked(cp, event);
	spin_unlock_bh(&cp->cp_lock);
	return applies;
}

static bool rds_cpath_runs_before(const struct rds_cpath *cp,
				  unsigned long at)
{
	const struct delayed_work *work = &cp->cp_work;

	return delayed_work_pending(work) &&
	       (!timer_pending(&work->timer) ||
		time_before_eq(READ_ONCE(work->timer.expires), at));
}

/**
 * rds_cpath_kick() - Queue the path's work item
 * @cp: the path; the caller has a reference to its connection
 * @delay: in jiffies
 *
 * A run that is due earlier than @delay is left as it is. A run that is due
 * later is brought forward to now, and sets the timer for the next run itself.
 * It is not moved to @delay, because that might postpone a run that another
 * context has just requested without delay. A dead path is not kicked.
 *
 * Context: Any context.
 */
void rds_cpath_kick(struct rds_cpath *cp, unsigned long delay)
{
	/* The context that destroys the connection waits for the work item. A
	 * peer must not be able to prolong that wait.
	 */
	if (READ_ONCE(cp->cp_dead))
		return;

	rds_conn_hold(cp->cp_conn);
	if (delay) {
		if (queue_delayed_work(rds_wq, &cp->cp_work, delay))
			return;
		if (rds_cpath_runs_before(cp, jiffies + delay)) {
			rds_conn_put(cp->cp_conn);
			return;
		}
	}
	if (mod_delayed_work(rds_wq, &cp->cp_work, 0))
		rds_conn_put(cp->cp_conn);
}

/**
 * rds_cpath_pause_rx() - Note that this host does not read a path for a while
 * @cp: the path
 *
 * The time that the peer has to respond to a request of software RDMA does not
 * run until rds_sw_unpause().
 *
 * Context: Any context. Takes sw_lock.
 */
void rds_cpath_pause_rx(struct rds_cpath *cp)
{
	struct rds_sw *so = &cp->cp_sw;

	spin_lock_bh(&so->sw_lock);
	if (!test_and_set_bit(RDS_PF_RX_PAUSED, &cp->cp_flags))
		so->sw_paused_at = jiffies;
	spin_unlock_bh(&so->sw_lock);
}

/**
 * rds_path_kick() - Make the work item of a path run
 * @path: the path
 * @why: what there is to do
 *
 * Context: Any context.
 */
void rds_path_kick(struct rds_path *path, enum rds_kick why)
{
	struct rds_cpath *cp = to_cpath(path);
	unsigned long delay = 0;

	switch (why) {
	case RDS_KICK_SEND:
		break;
	case RDS_KICK_RX:
		set_bit(RDS_PF_RX, &cp->cp_flags);
		rds_stat_inc(cp->cp_conn->c_rn, recv_immediate_retry);
		break;
	case RDS_KICK_RX_LATER:
		rds_cpath_pause_rx(cp);
		set_bit(RDS_PF_RX, &cp->cp_flags);
		rds_stat_inc(cp->cp_conn->c_rn, recv_delayed_retry);
		delay = RDS_RX_RETRY_DELAY;
		break;
	}
	rds_cpath_kick(cp, delay);
}
EXPORT_SYMBOL_GPL(rds_path_kick);

/**
 * rds_cpath_offer_event() - Apply an event to the offer of a path
 * @cp: the path
 * @event: the event
 *
 * %RDS_OFFER_OVERTAKEN applies only while the path is CONNECTING. If the
 * attempt was dropped, perhaps in favor of the offer, the offer must stay.
 *
 * Context: Any context; locks of the transport may be held. Takes cp_lock.
 * Return: true if the event applies.
 */
bool rds_cpath_offer_event(struct rds_cpath *cp, enum rds_offer_event event)
{
	bool applies = true;

	spin_lock_bh(&cp->cp_lock);
	if (event == RDS_OFFER_OVERTAKEN) {
		applies = cp->cp_state == RDS_PATH_CONNECTING;
		if (applies) {
			cp->cp_dial.pd_dialed = true;
			cp->cp_dial.pd_dialed_at = jiffies;
		}
	}
	if (applies)
		WRITE_ONCE(cp->cp_offer, rds_offer_next(cp->cp_offer, event));
	spin_unlock_bh(&cp->cp_lock);
	return applies;
}

/**
 * rds_path_offer_event() - Notify core of what happens to an offer
 * @path: the path
 * @event: the event
 *
 * The transport calls this under the lock that guards its offer, so that core
 * never expects an offer that the transport does not have. As long as an offer
 * waits, core calls path_connect() as soon as the path is DOWN, without
 * back-off.
 *
 * A transport without %RDS_CAP_MULTIPATH reports %RDS_OFFER_OVERTAKEN before it
 * calls rds_path_connect_done() for a connection that it has dialed.
 *
 * Context: Any context. Takes cp_lock.
 * Return: always true for events other than %RDS_OFFER_OVERTAKEN. For that
 * event true if the path waits for the connection that we dialed; the transport
 * then refuses the offer. False if the path does not wait for it any more; the
 * offer then stays, and a shutdown follows.
 */
bool rds_path_offer_event(struct rds_path *path, enum rds_offer_event event)
{
	struct rds_cpath *cp = to_cpath(path);
	bool applies;

	/* The others are core's own. */
	if (WARN_ON_ONCE(event > RDS_OFFER_OVERTAKEN))
		return false;
	applies = rds_cpath_offer_event(cp, event);
	if (event == RDS_OFFER_KEPT)
		rds_cpath_kick(cp, 0);
	return applies;
}
EXPORT_SYMBOL_GPL(rds_path_offer_event);

static void rds_cpath_view_offer(const struct rds_cpath *cp,
				 struct rds_offer_view *view)
	__must_hold(&cp->cp_lock)
{
	lockdep_assert_held(&cp->cp_lock);
	view->multipath = rds_cpath_can(cp, RDS_CAP_MULTIPATH);
	view->lower = rds_path_is_lower(&cp->cp_pub);
	view->knows_duels = !test_bit(RDS_PF_NO_DUELS, &cp->cp_flags);
	view->path = cp->cp_state;
	view->offer = cp->cp_offer;
}

/**
 * rds_path_refuses_offer() - Check whether an offer is to be refused
 * @path: the path, of a transport without %RDS_CAP_MULTIPATH
 * @peer: the peer's request
 * @stuck: the transport cannot drop an attempt before the other end has
 *	answered
 *
 * The transport calls this before it keeps an offer, under the lock that guards
 * the offer. A peer that makes a connection while the path is UP has normally
 * lost the one in use. But requests of peers are queued. If the peer sent its
 * request before it accepted our dial, it has not lost that connection.
 *
 * If @stuck, the two ends of a duel would wait for each other: the loser cannot
 * drop its attempt before the winner has answered it. So if we win the duel,
 * the peer's attempt is refused at once.
 *
 * Context: Any context. Takes cp_lock.
 * Return: true if the offer is to be refused.
 */
bool rds_path_refuses_offer(struct rds_path *path,
			    const struct rds_conn_request *peer, bool stuck)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_offer_view view;
	bool late;

	spin_lock_bh(&cp->cp_lock);
	/* The connection may be so old that jiffies seem to run backwards. */
	late = cp->cp_dial.pd_dialed &&
	       time_in_range(cp->cp_dial.pd_dialed_at, peer->since, jiffies);
	rds_cpath_view_offer(cp, &view);
	spin_unlock_bh(&cp->cp_lock);
	view.knows_duels = peer->knows_duels;
	return late || (stuck && rds_offer_wins_duel(&view));
}
EXPORT_SYMBOL_GPL(rds_path_refuses_offer);

/**
 * rds_path_is_used() - Check whether a local socket has used a path
 * @path: the path
 *
 * If no local socket has used the path, a transport without
 * %RDS_CAP_MULTIPATH does not dial. Otherwise a peer that makes an offer and
 * withdraws it could make us dial any address.
 *
 * Context: Any context.
 * Return: true if a local socket has used the path's connection.
 */
bool rds_path_is_used(const struct rds_path *path)
{
	const struct rds_cpath *cp = container_of(path, struct rds_cpath,
						  cp_pub);

	return READ_ONCE(cp->cp_conn->c_used);
}
EXPORT_SYMBOL_GPL(rds_path_is_used);

/**
 * rds_cpath_only_waits() - Check whether only the peer may dial a path
 * @cp: the path
 *
 * With %RDS_CAP_LOWER_DIALS only the end with the lower address dials the paths
 * other than path 0. The other end may have to prompt it to dial, and dials
 * path 0 for that purpose.
 *
 * Context: Any context.
 * Return: true if only the peer may dial the path.
 */
bool rds_cpath_only_waits(const struct rds_cpath *cp)
{
	return cp->cp_pub.index &&
	       rds_cpath_can(cp, RDS_CAP_LOWER_DIALS) &&
	       !rds_path_is_lower(&cp->cp_pub);
}

/**
 * rds_cpath_connect_soon() - Connect a path that is down
 * @cp: the path
 *
 * Does nothing if an attempt is planned or under way. An attempt that waits for
 * its back-off keeps waiting.
 *
 * Context: Any context.
 */
void rds_cpath_connect_soon(struct rds_cpath *cp)
{
	if (rds_cpath_only_waits(cp)) {
		/* If path 0 is UP already, the path's work item reminds the
		 * peer.
		 */
		rds_cpath_kick(cp, 0);
		cp = rds_conn_path(cp->cp_conn, 0);
	}
	/* Pairs with the barrier in rds_path_connect(): either that function
	 * sees the reference of our caller, or the flag is seen clear here.
	 * Also pairs with the one in rds_conn_is_unneeded(), for the state.
	 */
	smp_mb();
	if (rds_cpath_state(cp) != RDS_PATH_DOWN ||
	    test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		return;

	WRITE_ONCE(cp->cp_dial.pd_connect_at, jiffies);
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}

/**
 * rds_path_drop() - Drop the transport connection of a path
 * @path: the path
 * @reason: why
 *
 * The path's work item shuts the transport down. Messages that were not
 * acknowledged are retransmitted over the next connection.
 *
 * Context: Any context; locks of the transport may be held. Takes cp_lock.
 */
void rds_path_drop(struct rds_path *path, enum rds_drop_reason reason)
{
	struct rds_cpath *cp = to_cpath(path);

	trace_rds_path_drop(path, reason);
	/* A path in ERROR keeps the reason for which it was dropped first. */
	if (rds_cpath_state(cp) != RDS_PATH_ERROR)
		WRITE_ONCE(cp->cp_dial.pd_drop_reason, reason);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_drop);

/**
 * rds_cpath_yield_to_offer() - Drop what the offer of a path displaces
 * @cp: the path
 *
 * Context: Process context, the path's work item, which shuts the path down
 * next and then takes the offer. Takes cp_lock.
 */
void rds_cpath_yield_to_offer(struct rds_cpath *cp)
{
	enum rds_drop_reason reason;
	struct rds_offer_view view;

	if (!rds_cpath_has_offer(cp))
		return;
	spin_lock_bh(&cp->cp_lock);
	rds_cpath_view_offer(cp, &view);
	reason = rds_offer_displaces(&view);
	if (reason != RDS_DROP_NONE) {
		trace_rds_path_drop(&cp->cp_pub, reason);
		WRITE_ONCE(cp->cp_dial.pd_drop_reason, reason);
		rds_cpath_event_locked(cp, RDS_EV_DROP);
	}
	spin_unlock_bh(&cp->cp_lock);
}

/**
 * rds_cpath_renew() - Replace a path's connection, if it has one
 * @cp: the path
 * @reason: why
 *
 * Drops a path that is UP or CONNECTING. In any other state the next connection
 * begins after this call, so it sees what the caller has changed before.
 *
 * Context: Process context or softirq. Takes cp_lock.
 */
void rds_cpath_renew(struct rds_cpath *cp, enum rds_drop_reason reason)
{
	enum rds_path_state state;

	spin_lock_bh(&cp->cp_lock);
	state = cp->cp_state;
	spin_unlock_bh(&cp->cp_lock);
	if (state == RDS_PATH_UP || state == RDS_PATH_CONNECTING)
		rds_path_drop(&cp->cp_pub, reason);
}

/**
 * rds_path_put() - Put a reference to a path
 * @path: the path
 *
 * Context: Any context.
 */
void rds_path_put(struct rds_path *path)
{
	rds_conn_put(to_cpath(path)->cp_conn);
}
EXPORT_SYMBOL_GPL(rds_path_put);
