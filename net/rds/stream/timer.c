// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timers of a stream. All of them share the timer of the socket, which is
 * set for the earliest; event.c has what happens when they are due.
 */
#include <linux/bitops.h>

#include "ready.h"
#include "stream.h"

/* How long frames may be unacknowledged if TCP_USER_TIMEOUT is not set, in
 * jiffies: about as long as TCP retransmits by default. As with TCP, a peer
 * that answers may then be without room for ever.
 */
#define RDS_STREAM_USER_TIMEOUT		(900 * HZ)

/* Set the timer of the socket; at least one timer is armed. */
static void rds_stream_set_timer(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	unsigned long next = st->st_due[__ffs(st->st_armed)];
	unsigned int i;

	lockdep_assert_held(&st->st_lock);
	for_each_set_bit(i, &st->st_armed, RDS_STREAM_TIMERS) {
		if (time_before(st->st_due[i], next))
			next = st->st_due[i];
	}
	sk_reset_timer(&st->st_sk, &st->st_sk.sk_timer, next);
}

/**
 * rds_stream_arm() - Start a timer
 * @st: the stream
 * @which: the timer
 * @delay: when it is due, in jiffies from now
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_arm(struct rds_stream *st, enum rds_stream_timer which,
		    unsigned long delay)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	st->st_due[which] = jiffies + delay;
	st->st_armed |= BIT(which);
	rds_stream_set_timer(st);
}

/**
 * rds_stream_disarm() - Stop a timer
 * @st: the stream
 * @which: the timer
 *
 * The timer of the socket may still run once, for nothing.
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_disarm(struct rds_stream *st, enum rds_stream_timer which)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	st->st_armed &= ~BIT(which);
}

/**
 * rds_stream_disarm_all() - Stop all timers
 * @st: the stream
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_disarm_all(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	st->st_armed = 0;
	sk_stop_timer(&st->st_sk, &st->st_sk.sk_timer);
}

/**
 * rds_stream_take_due() - Take the timers that are due
 * @st: the stream
 *
 * Context: Softirq: the timer of the socket. st_lock is held.
 * Return: bits of enum rds_stream_timer.
 */
unsigned long rds_stream_take_due(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	unsigned long due = 0;
	unsigned int i;

	lockdep_assert_held(&st->st_lock);
	for (i = 0; i < RDS_STREAM_TIMERS; i++) {
		if ((st->st_armed & BIT(i)) &&
		    time_after_eq(jiffies, st->st_due[i]))
			due |= BIT(i);
	}
	st->st_armed &= ~due;
	if (st->st_armed)
		rds_stream_set_timer(st);
	return due;
}

/**
 * rds_stream_user_timeout() - Get how long frames may be unacknowledged
 * @st: the stream
 *
 * Context: Any context.
 * Return: the time in jiffies.
 */
unsigned long rds_stream_user_timeout(const struct rds_stream *st)
{
	u32 ms = READ_ONCE(st->st_opts[RDS_STREAM_USERTIME]);

	return ms ? max(msecs_to_jiffies(ms), 1UL) : RDS_STREAM_USER_TIMEOUT;
}

/**
 * rds_stream_patience() - Get how long the peer may still do without progress
 * @st: the stream
 *
 * Core must finish with frames; and if the user has set a limit, a peer without
 * room for what a task wants to write must make some.
 *
 * Context: Any context. st_lock is held.
 * Return: the time in jiffies; not positive if it is over; LONG_MAX if nothing
 * waits for the peer.
 */
long rds_stream_patience(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	unsigned long limit = rds_stream_user_timeout(st) - jiffies;
	const struct rds_stream_tx *tx = &st->st_tx;
	long left = LONG_MAX;

	lockdep_assert_held(&st->st_lock);
	if (!list_empty(&tx->tx_frames))
		left = tx->tx_since + limit;
	if (tx->tx_starved && READ_ONCE(st->st_opts[RDS_STREAM_USERTIME]) &&
	    !(st->st_flags & (RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DEAF)))
		left = min_t(long, left, tx->tx_starved_at + limit);
	return left;
}

/**
 * rds_stream_watch_peer() - Set the timer for a peer that makes no progress
 * @st: the stream, for which the limit or what waits has changed
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_watch_peer(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	long left = rds_stream_patience(st);

	lockdep_assert_held(&st->st_lock);
	if (left == LONG_MAX)
		rds_stream_disarm(st, RDS_STREAM_T_USER);
	else
		rds_stream_arm(st, RDS_STREAM_T_USER, max(left, 1L));
}

/**
 * rds_stream_starve() - Note that a task wants to write, but finds no space
 * @st: the stream
 *
 * If it is credit that lacks, the time of the peer to give some begins.
 *
 * Context: Process context.
 */
void rds_stream_starve(struct rds_stream *st)
{
	struct rds_stream_tx *tx = &st->st_tx;

	spin_lock_bh(&st->st_lock);
	if (st->st_state == RDS_STREAM_OPEN && !tx->tx_starved &&
	    !rds_stream_credit(tx)) {
		tx->tx_starved = true;
		tx->tx_starved_at = jiffies;
		rds_stream_watch_peer(st);
	}
	spin_unlock_bh(&st->st_lock);
}

/**
 * rds_stream_watch_credit() - Arrange to ask for credit if none is left
 * @st: the stream, whose credit has changed
 *
 * The peer is asked when the timer is due, in case its update is late.
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_watch_credit(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (!rds_stream_credit(&st->st_tx) &&
	    !(st->st_armed & BIT(RDS_STREAM_T_CREDIT)))
		rds_stream_arm(st, RDS_STREAM_T_CREDIT,
			       RDS_STREAM_CREDIT_FIRST);
}

/**
 * rds_stream_keepalive() - Act on a change of SO_KEEPALIVE
 * @sk: the socket
 * @on: whether the option is set
 *
 * The kernel sets the flag of the socket only after it has called this. So the
 * timer of a stream that is connecting starts here, too.
 *
 * Context: Process context. Either the socket lock or that of struct sock is
 * held: the kernel calls this for its own option.
 */
void rds_stream_keepalive(struct sock *sk, int on)
{
	struct rds_stream *st = rds_stream(sk);

	spin_lock_bh(&st->st_lock);
	if (!on)
		rds_stream_disarm(st, RDS_STREAM_T_KEEP);
	else if (st->st_state == RDS_STREAM_OPEN ||
		 rds_stream_is_connecting(st->st_state))
		rds_stream_arm(st, RDS_STREAM_T_KEEP,
			       READ_ONCE(st->st_opts[RDS_STREAM_KEEPIDLE]) *
			       HZ);
	spin_unlock_bh(&st->st_lock);
}
