// SPDX-License-Identifier: GPL-2.0-only
/*
 * Paths: the paths of a connection.
 *
 * A path has one work item, path_work.c, which connects, shuts down and sends
 * what sendmsg() could not; it never runs beside itself. Everybody else
 * changes the state (through the one function below), sets a flag, and kicks
 * the work. A queued work item holds a reference to the connection, so a kick
 * may come from anywhere and at any time; if the connection has died by then,
 * the work does nothing.
 *
 * While RDS_PF_CONNECT is set the work is queued, waits for its timer, or
 * runs: every function that sets the flag kicks the work afterwards, whatever
 * context it runs in, and a run that leaves the flag set on a path that is
 * down sets the timer (rds_path_rearm()). The flag may stay set on a path that
 * is UP: rds_path_shut_down_idle(), which takes the path down beside the work,
 * kicks the work. So a sender that finds the path DOWN with the flag set may
 * leave its message to the work.
 *
 * Locks: cp_xmit_lock (sleeps) > locks of the transport > cp_lock (bottom
 * halves off). cp_lock is a leaf: nothing of the transport is called under it,
 * so its callbacks may change the state. Kicking needs no lock.
 */
#include "conn.h"

#include <trace/events/rds.h>

/* Until a transport that had no memory for what came reads on, in jiffies */
#define RDS_RX_RETRY_DELAY	1

static void rds_cpath_count_reset(struct rds_cpath *cp)
{
	cp->cp_resets++;
	cp->cp_lost_at = jiffies;
	rds_stat_inc(cp->cp_conn->c_rn, conn_reset);
}

/* The only place where a path changes its state */
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
		cp->cp_since = jiffies;
	if (event == RDS_EV_CONNECT)
		cp->cp_attempts++;
	else if (event == RDS_EV_CONNECTED)
		cp->cp_established++;
	else if (event == RDS_EV_DROP && from == RDS_PATH_UP)
		rds_cpath_count_reset(cp);
	trace_rds_path_state(&cp->cp_pub, from, to, event);
	return true;
}

/**
 * rds_cpath_event() - something has happened to a path
 * @cp: the path
 * @event: what happened
 *
 * Context: process or softirq, not deliver context. Takes cp_lock.
 * Return: true if the table of path_state.c has the event in this state, and
 * the state has changed; false if it does not apply, and nothing has.
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
 * rds_cpath_kick() - have the path's work run
 * @cp: the path; the caller has a reference to its connection
 * @delay: in jiffies; a run that is due earlier remains so
 *
 * One that is due later is brought forward to now, and finds out itself when
 * the next is to be: to move it to @delay might postpone another that somebody
 * has asked for at once. Nothing happens to a dead path any more.
 *
 * Context: any.
 */
void rds_cpath_kick(struct rds_cpath *cp, unsigned long delay)
{
	/* Whoever destroys it waits for the work: peers must not add to it. */
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
 * rds_path_kick() - a transport can go on
 * @path: the path
 *
 * To be called after data_ops.xmit() returned -EAGAIN, when messages can be
 * taken again; and when something has happened that conn_ops.path_shutdown()
 * waits for.
 *
 * Context: any.
 */
void rds_path_kick(struct rds_path *path)
{
	rds_cpath_kick(to_cpath(path), 0);
}
EXPORT_SYMBOL_GPL(rds_path_kick);

/**
 * rds_path_offered() - a connection made by the peer waits for a path
 * @path: the path
 *
 * path_connect() is called as soon as the path is down, whatever the back-off.
 * A transport without paths calls it in path_offer(), under the lock that
 * guards what it keeps, and the two that follow likewise.
 *
 * Context: any.
 */
void rds_path_offered(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	/* A path is offered one at a time. */
	if (!cp->cp_multi || !test_bit(RDS_PF_TAKEN, &cp->cp_flags))
		set_bit(RDS_PF_OFFER, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_offered);

/**
 * rds_path_taken() - a path takes a connection made by the peer
 * @path: the path
 *
 * To be called by path_connect() before anything is announced: it may have
 * found the offer before it was told of it.
 *
 * Context: process, the path's work item.
 */
void rds_path_taken(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	set_bit(RDS_PF_TAKEN, &cp->cp_flags);
	if (!cp->cp_multi)
		rds_path_offer_gone(path);
}
EXPORT_SYMBOL_GPL(rds_path_taken);

/**
 * rds_path_offer_gone() - a path keeps no connection made by the peer any more
 * @path: the path, of a transport without paths
 *
 * Context: any.
 */
void rds_path_offer_gone(struct rds_path *path)
{
	clear_bit(RDS_PF_OFFER, &to_cpath(path)->cp_flags);
}
EXPORT_SYMBOL_GPL(rds_path_offer_gone);

/**
 * rds_path_dialed() - what we have dialed is here
 * @path: the path, of a transport without paths
 *
 * To be called under the lock that guards what the transport keeps, before
 * rds_path_connect_done(). What is on offer is not needed then, and core does
 * not count on it any more. But an attempt that was given up, perhaps for the
 * offer, must not take that with it.
 *
 * Context: any. Takes cp_lock.
 * Return: true if the path waits for it: the transport refuses the offer. False
 * if it does not any more: the offer stays, and a shutdown is to follow.
 */
bool rds_path_dialed(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	bool wanted;

	spin_lock_bh(&cp->cp_lock);
	wanted = cp->cp_state == RDS_PATH_CONNECTING;
	if (wanted) {
		clear_bit(RDS_PF_OFFER, &cp->cp_flags);
		cp->cp_dialed = true;
		cp->cp_dialed_at = jiffies;
	}
	spin_unlock_bh(&cp->cp_lock);
	return wanted;
}
EXPORT_SYMBOL_GPL(rds_path_dialed);

/**
 * rds_path_offer_is_late() - is what the peer has made of no use any more?
 * @path: the path, of a transport without paths
 * @since: when the peer made it, in jiffies
 *
 * To be asked before an offer is kept, under the lock that guards it. Requests
 * wait for their turn. A peer that asked us, and then said yes to what we have
 * dialed, has not lost that.
 *
 * Context: any. Takes cp_lock.
 * Return: true if it is to be refused.
 */
bool rds_path_offer_is_late(struct rds_path *path, unsigned long since)
{
	struct rds_cpath *cp = to_cpath(path);
	bool late;

	spin_lock_bh(&cp->cp_lock);
	late = cp->cp_dialed && time_before_eq(since, cp->cp_dialed_at);
	spin_unlock_bh(&cp->cp_lock);
	return late;
}
EXPORT_SYMBOL_GPL(rds_path_offer_is_late);

/**
 * rds_path_wins_duel() - if both ends dial, is it our attempt that is kept?
 * @path: the path, of a transport without paths
 *
 * For transports on which who gives up an attempt has to wait for the answer
 * to it: the loser's is then refused at once, if it knows the rule.
 *
 * Context: any. Takes cp_lock.
 * Return: true if an attempt of ours is under way, and our address is the lower
 * one.
 */
bool rds_path_wins_duel(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	bool dialing;

	spin_lock_bh(&cp->cp_lock);
	dialing = cp->cp_state == RDS_PATH_CONNECTING &&
		  !test_bit(RDS_PF_TAKEN, &cp->cp_flags);
	spin_unlock_bh(&cp->cp_lock);
	return dialing && rds_path_is_lower(path);
}
EXPORT_SYMBOL_GPL(rds_path_wins_duel);

/**
 * rds_path_is_used() - has a socket of this host used a path?
 * @path: the path
 *
 * If none has, a transport without paths does not dial: whoever offers
 * something, and takes it back, could make us dial any address.
 *
 * Context: any.
 * Return: true if one has.
 */
bool rds_path_is_used(const struct rds_path *path)
{
	const struct rds_cpath *cp = container_of(path, struct rds_cpath,
						  cp_pub);

	return READ_ONCE(cp->cp_conn->c_used);
}
EXPORT_SYMBOL_GPL(rds_path_is_used);

/**
 * rds_path_rx_retry() - have a path read on soon
 * @path: the path
 *
 * For a transport that had no memory for what it received, or that has taken
 * over a connection on which something may have arrived already.
 *
 * Context: any.
 */
void rds_path_rx_retry(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	set_bit(RDS_PF_RX, &cp->cp_flags);
	rds_stat_inc(cp->cp_conn->c_rn, recv_delayed_retry);
	rds_cpath_kick(cp, RDS_RX_RETRY_DELAY);
}
EXPORT_SYMBOL_GPL(rds_path_rx_retry);

/**
 * rds_path_rx_more() - have a path read on at once
 * @path: the path
 *
 * For a transport that stopped to let others have a turn.
 *
 * Context: any.
 */
void rds_path_rx_more(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	set_bit(RDS_PF_RX, &cp->cp_flags);
	rds_stat_inc(cp->cp_conn->c_rn, recv_immediate_retry);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_rx_more);

/**
 * rds_cpath_only_waits() - is a path the peer's to dial?
 * @cp: the path
 *
 * Only the lower address dials the other paths. It may have to be called, and
 * that is path 0's.
 *
 * Context: any.
 * Return: true if it is.
 */
bool rds_cpath_only_waits(const struct rds_cpath *cp)
{
	return cp->cp_pub.index &&
	       (cp->cp_caps & RDS_CAP_LOWER_DIALS) &&
	       !rds_path_is_lower(&cp->cp_pub);
}

/**
 * rds_cpath_connect_soon() - connect a path that is down, if nobody is at it
 * @cp: the path
 *
 * An attempt that waits for its back-off keeps waiting.
 *
 * Context: any.
 */
void rds_cpath_connect_soon(struct rds_cpath *cp)
{
	if (rds_cpath_only_waits(cp)) {
		/* If that is UP already, the peer has to be reminded. */
		rds_cpath_kick(cp, 0);
		cp = rds_conn_path(cp->cp_conn, 0);
	}
	/* With the one in rds_path_connect(): either that sees that somebody
	 * has a reference, or here the flag is seen to be clear.
	 */
	smp_mb();
	if (rds_cpath_state(cp) != RDS_PATH_DOWN ||
	    test_bit(RDS_PF_CONNECT, &cp->cp_flags))
		return;

	WRITE_ONCE(cp->cp_connect_at, jiffies);
	set_bit(RDS_PF_CONNECT, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}

/**
 * rds_path_drop() - give a transport connection up
 * @path: the path
 * @reason: why
 *
 * The path's work shuts the transport down, and what was not acknowledged is
 * sent again over the next connection.
 *
 * Context: any; locks of the transport may be held.
 */
void rds_path_drop(struct rds_path *path, enum rds_drop_reason reason)
{
	struct rds_cpath *cp = to_cpath(path);

	trace_rds_path_drop(path, reason);
	/* One that is being dropped already keeps the first reason. */
	if (rds_cpath_state(cp) != RDS_PATH_ERROR)
		WRITE_ONCE(cp->cp_drop_reason, reason);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_drop);

/**
 * rds_cpath_give_way() - drop a path for what is on offer
 * @cp: the path
 * @state: if it is in this state, and there still is an offer
 * @reason: why
 *
 * Context: process, the path's work item, which shuts it down next. Takes
 * cp_lock.
 */
void rds_cpath_give_way(struct rds_cpath *cp, enum rds_path_state state,
			enum rds_drop_reason reason)
{
	spin_lock_bh(&cp->cp_lock);
	if (cp->cp_state == state && test_bit(RDS_PF_OFFER, &cp->cp_flags)) {
		trace_rds_path_drop(&cp->cp_pub, reason);
		WRITE_ONCE(cp->cp_drop_reason, reason);
		rds_cpath_event_locked(cp, RDS_EV_DROP);
	}
	spin_unlock_bh(&cp->cp_lock);
}

/**
 * rds_cpath_renew() - have a path's connection made anew, if it has one
 * @cp: the path
 * @reason: why
 *
 * A connection that is not renewed was begun later, and knows what the caller
 * has changed before.
 *
 * Context: process or softirq. Takes cp_lock.
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
 * rds_path_restart_rx() - the peer numbers its messages from the start again
 * @path: the path
 *
 * Context: that of a delivery on @path; serial with those.
 */
void rds_path_restart_rx(struct rds_path *path)
{
	WRITE_ONCE(to_cpath(path)->cp_next_rx_seq, 1);
}
EXPORT_SYMBOL_GPL(rds_path_restart_rx);

/**
 * rds_path_received() - how far the peer's messages have come
 * @path: the path
 *
 * For transports that acknowledge by themselves: in every header, and when
 * they connect anew.
 *
 * Context: any.
 * Return: number of the last message that was delivered, 0 if none was.
 */
u64 rds_path_received(const struct rds_path *path)
{
	const struct rds_cpath *cp = container_of(path, struct rds_cpath,
						  cp_pub);

	return READ_ONCE(cp->cp_next_rx_seq) - 1;
}
EXPORT_SYMBOL_GPL(rds_path_received);

/**
 * rds_path_put() - give up a reference to a path
 * @path: the path
 *
 * Context: any.
 */
void rds_path_put(struct rds_path *path)
{
	rds_conn_put(to_cpath(path)->cp_conn);
}
EXPORT_SYMBOL_GPL(rds_path_put);
