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
 * it, so callbacks of the transport may change the state. A kick needs no lock.
 */
#include "conn.h"

#include <trace/events/rds.h>

/* Delay until a transport that lacked memory reads on, in jiffies */
#define RDS_RX_RETRY_DELAY	1

static void rds_cpath_count_reset(struct rds_cpath *cp)
{
	cp->cp_resets++;
	cp->cp_lost_at = jiffies;
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
 * rds_path_kick() - Notify core that a transport can go on
 * @path: the path
 *
 * The transport calls this in two cases: after data_ops.xmit() has returned
 * -EAGAIN, as soon as it can take messages again; and when an event occurs that
 * conn_ops.path_shutdown() waits for.
 *
 * Context: Any context.
 */
void rds_path_kick(struct rds_path *path)
{
	rds_cpath_kick(to_cpath(path), 0);
}
EXPORT_SYMBOL_GPL(rds_path_kick);

/**
 * rds_path_offered() - Notify core that a path has an offer
 * @path: the path
 *
 * Core calls path_connect() as soon as the path is DOWN, without back-off. A
 * transport without %RDS_CAP_MULTIPATH calls this function in path_offer(),
 * under the lock that guards the offer. It calls rds_path_taken() and
 * rds_path_offer_gone() under the same lock.
 *
 * Context: Any context.
 */
void rds_path_offered(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	/* With %RDS_CAP_MULTIPATH a path has one offer at a time. If
	 * %RDS_PF_TAKEN is set, path_connect() has already taken this one.
	 */
	if (!cp->cp_multi || !test_bit(RDS_PF_TAKEN, &cp->cp_flags))
		set_bit(RDS_PF_OFFER, &cp->cp_flags);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_offered);

/**
 * rds_path_taken() - Notify core that a path takes its offer
 * @path: the path
 *
 * path_connect() calls this before it announces anything to core, because it
 * may find an offer of which core has not been notified yet.
 *
 * Context: Process context, the path's work item.
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
 * rds_path_offer_gone() - Notify core that a path has no offer any more
 * @path: the path, of a transport without %RDS_CAP_MULTIPATH
 *
 * Context: Any context.
 */
void rds_path_offer_gone(struct rds_path *path)
{
	clear_bit(RDS_PF_OFFER, &to_cpath(path)->cp_flags);
}
EXPORT_SYMBOL_GPL(rds_path_offer_gone);

/**
 * rds_path_dialed() - Notify core that the peer has accepted our dial
 * @path: the path, of a transport without %RDS_CAP_MULTIPATH
 *
 * The transport calls this before rds_path_connect_done(), under the lock that
 * guards its offer. If the path still waits for the connection, an offer is not
 * needed, and core does not expect one any more. If the attempt has been
 * dropped, perhaps in favor of the offer, the offer must stay.
 *
 * Context: Any context. Takes cp_lock.
 * Return: true if the path waits for the connection: the transport refuses the
 * offer. false if it does not any more: the offer stays, and a shutdown
 * follows.
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
 * rds_path_offer_is_late() - Check whether an offer is of no use any more
 * @path: the path, of a transport without %RDS_CAP_MULTIPATH
 * @since: when the peer made the connection, in jiffies
 *
 * The transport calls this before it keeps an offer, under the lock that guards
 * the offer. A peer that makes a connection while the path is UP has normally
 * lost the one in use. But requests of peers are queued. If the peer sent its
 * request before it accepted our dial, it has not lost that connection.
 *
 * Context: Any context. Takes cp_lock.
 * Return: true if the offer is to be refused.
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
 * rds_path_wins_duel() - Check whether our attempt is kept in a duel
 * @path: the path, of a transport without %RDS_CAP_MULTIPATH
 *
 * For transports on which an end cannot drop its attempt before the attempt is
 * answered. If the peer knows the rule for duels, such a transport refuses the
 * attempt of the loser at once.
 *
 * Context: Any context. Takes cp_lock.
 * Return: true if our own attempt is under way, and our address is the lower of
 * the two.
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
 * rds_path_rx_retry() - Make a path read on soon
 * @path: the path
 *
 * For a transport that could not allocate memory for received data, or that has
 * taken a connection on which data may have arrived already.
 *
 * Context: Any context.
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
 * rds_path_rx_more() - Make a path read on at once
 * @path: the path
 *
 * For a transport that has stopped reading to give other work a turn.
 *
 * Context: Any context.
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
	       (cp->cp_caps & RDS_CAP_LOWER_DIALS) &&
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
	 * Also pairs with the one in rds_conn_is_left(), for the state.
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
		WRITE_ONCE(cp->cp_drop_reason, reason);
	rds_cpath_event(cp, RDS_EV_DROP);
	rds_cpath_kick(cp, 0);
}
EXPORT_SYMBOL_GPL(rds_path_drop);

/**
 * rds_cpath_give_way() - Drop a path's connection or attempt for an offer
 * @cp: the path
 * @state: drop it only if it is in this state and still has an offer
 * @reason: why
 *
 * Context: Process context, the path's work item, which shuts the path down
 * next. Takes cp_lock.
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
 * rds_path_restart_rx() - Expect the peer's sequence numbers from 1 again
 * @path: the path
 *
 * Context: That of a delivery on @path; serialized with those.
 */
void rds_path_restart_rx(struct rds_path *path)
{
	WRITE_ONCE(to_cpath(path)->cp_next_rx_seq, 1);
}
EXPORT_SYMBOL_GPL(rds_path_restart_rx);

/**
 * rds_path_received() - Read the sequence number of the last message delivered
 * @path: the path
 *
 * For transports that send acks of their own: in every header, and when they
 * connect again.
 *
 * Context: Any context.
 * Return: the sequence number of the last message that was delivered, 0 if none
 * was.
 */
u64 rds_path_received(const struct rds_path *path)
{
	const struct rds_cpath *cp = container_of(path, struct rds_cpath,
						  cp_pub);

	return READ_ONCE(cp->cp_next_rx_seq) - 1;
}
EXPORT_SYMBOL_GPL(rds_path_received);

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
