// SPDX-License-Identifier: GPL-2.0-only
/*
 * What happens to a stream apart from frames that arrive and system calls:
 * events of its connection, frames that core has finished with, and timers.
 */
#include <linux/rds.h>

#include "compat.h"
#include "ready.h"
#include "stream.h"

/* How often the interval doubles at which a writer asks for credit */
#define RDS_STREAM_CREDIT_DOUBLINGS	6

/* What is to be done about a frame that was acknowledged */
struct rds_stream_freed {
	bool	over;		/* nothing is left to do */
	bool	write;		/* a writer may go on */
};

/* Wake writers when a third of the buffer is free, not for each frame. */
static void rds_stream_acked(struct rds_stream *st,
			     struct rds_stream_freed *freed)
	__must_hold(&st->st_lock)
{
	u32 held = READ_ONCE(st->st_tx.tx_held) / 2 * 3;
	bool places;

	lockdep_assert_held(&st->st_lock);
	/* Either the room is seen by a task that begins to wait, or the task is
	 * seen here. Pairs with the barrier in rds_stream_no_space().
	 */
	smp_mb();
	places = READ_ONCE(st->st_maps.sm_placers);
	rds_stream_pay(st, true);
	freed->over = rds_stream_is_over(st);
	freed->write = held < rds_stream_sndbuf(st) &&
		       rds_stream_may_write(st, places);
}

/* Finish with a frame of a stream that may exist. */
static void rds_stream_finish_frame(struct rds_stream *st,
				    struct rds_message *msg, bool lost)
{
	struct rds_stream_freed freed = {};
	struct sock *sk = &st->st_sk;
	bool failed = false;

	spin_lock_bh(&st->st_lock);
	if (rds_stream_uncount(st, msg)) {
		if (!lost)
			rds_stream_acked(st, &freed);
		/* Once the lock is released, another REQUEST may go out. */
		else if (rds_stream_is_connecting(st->st_state))
			rds_stream_again(st);
		else
			failed = true;
	}
	spin_unlock_bh(&st->st_lock);

	if (failed)
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_SILENT);
	else if (freed.over)
		rds_stream_finish(st);
	else if (freed.write && !sock_flag(sk, SOCK_DEAD))
		sk->sk_write_space(sk);
	sock_put(sk);
}

/**
 * rds_stream_frame_done() - Finish with a frame that core has finished with
 * @msg: the frame
 * @owner: the stream; for an RST, the namespace, see reset.c
 * @lost: the peer has not received it, and will not
 *
 * Context: Any context; locks of the transport may be held.
 */
void rds_stream_frame_done(struct rds_message *msg, void *owner, bool lost)
{
	struct rds_frame frame;

	if (rds_frame_read(msg->m_exthdr, &frame) &&
	    frame.op == RDS_FRAME_RST)
		rds_stream_reset_done(msg, owner);
	else
		rds_stream_finish_frame(owner, msg, lost);
}

/* The peer is known, or is another incarnation than before. */
static void rds_stream_peer_event(struct rds_stream *st, int arg)
{
	bool restarted;
	u32 epoch;

	spin_lock_bh(&st->st_lock);
	rds_upper_peer(st->st_conn, &epoch);
	restarted = st->st_state == RDS_STREAM_OPEN && epoch != st->st_epoch;
	if (st->st_state == RDS_STREAM_REQUESTED && epoch != st->st_epoch)
		rds_stream_set_state(st, RDS_STREAM_EV_AGAIN);
	spin_unlock_bh(&st->st_lock);

	if (restarted)
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_SILENT);
	else
		rds_stream_ask(st);
}

/* No RDS answers at the address of the peer. Streams that are open wait. */
static void rds_stream_failed_event(struct rds_stream *st, int err)
{
	rds_stream_fail_connect(st, -err, RDS_STREAM_NO_RDS);
}

static void rds_stream_gone_event(struct rds_stream *st, int arg)
{
	rds_stream_end(st, ENETDOWN, 0, RDS_STREAM_SILENT);
}

/**
 * rds_stream_conn_event() - Act on an event of a connection
 * @conn: the connection
 * @event: the event
 * @err: a negative errno for %RDS_UPPER_FAILED
 *
 * Context: Any context; see &rds_upper.event.
 */
void rds_stream_conn_event(struct rds_conn *conn, enum rds_upper_event event,
			   int err)
{
	switch (event) {
	case RDS_UPPER_PEER:
		rds_stream_for_conn(conn, rds_stream_peer_event, 0);
		break;
	case RDS_UPPER_FAILED:
		rds_stream_for_conn(conn, rds_stream_failed_event, err);
		break;
	case RDS_UPPER_GONE:
		rds_stream_for_conn(conn, rds_stream_gone_event, 0);
		break;
	}
}

/* Check whether the peer has not answered for so long that it counts as gone.
 * As with TCP, TCP_USER_TIMEOUT replaces the number of probes.
 */
static bool rds_stream_is_silent(const struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	const struct rds_stream_rx *rx = &st->st_rx;

	lockdep_assert_held(&st->st_lock);
	if (!READ_ONCE(st->st_opts[RDS_STREAM_USERTIME]))
		return rx->rx_probes >=
		       READ_ONCE(st->st_opts[RDS_STREAM_KEEPCNT]);
	return rx->rx_probes &&
	       time_after_eq(jiffies, rx->rx_at + rds_stream_user_timeout(st));
}

/* Probe a peer that was silent. Returns true if it has been silent for so long
 * that the stream is to end.
 */
static bool rds_stream_keep(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	unsigned long idle = READ_ONCE(st->st_opts[RDS_STREAM_KEEPIDLE]) * HZ;
	unsigned long next = READ_ONCE(st->st_opts[RDS_STREAM_KEEPINTVL]) * HZ;
	struct rds_stream_rx *rx = &st->st_rx;
	unsigned long silent = jiffies - rx->rx_at;

	lockdep_assert_held(&st->st_lock);
	if (!sock_flag(&st->st_sk, SOCK_KEEPOPEN) ||
	    (st->st_flags & RDS_STREAM_F_CLOSED))
		return false;
	if (rds_stream_is_connecting(st->st_state)) {
		rds_stream_arm(st, RDS_STREAM_T_KEEP, idle);
		return false;
	}
	if (st->st_state != RDS_STREAM_OPEN)
		return false;
	if (!rx->rx_probes && silent < idle) {
		rds_stream_arm(st, RDS_STREAM_T_KEEP, idle - silent);
		return false;
	}
	if (rds_stream_is_silent(st))
		return true;
	if (rx->rx_probes < U8_MAX)
		rx->rx_probes++;
	rds_stream_owe(st, RDS_FRAME_CREDIT_REQUEST, true);
	rds_stream_arm(st, RDS_STREAM_T_KEEP, next);
	return false;
}

/* Check whether the peer has made no progress for too long. */
static bool rds_stream_is_stuck(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (rds_stream_patience(st) <= 0)
		return true;
	rds_stream_watch_peer(st);
	return false;
}

/* Check whether a stream whose socket is closed has taken too long to deliver
 * what was written: since then it got nothing acknowledged for a while, or not
 * all in all the time that it has. Otherwise a peer could keep it for ever by
 * an ack now and then.
 */
static bool rds_stream_closed_too_long(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	const struct rds_stream_tx *tx = &st->st_tx;
	unsigned long stall, late, next;

	lockdep_assert_held(&st->st_lock);
	stall = time_after(tx->tx_since, tx->tx_closed) ? tx->tx_since :
							  tx->tx_closed;
	stall += msecs_to_jiffies(READ_ONCE(sn->sn_sysctl.close_stall_ms));
	late = tx->tx_closed +
	       msecs_to_jiffies(READ_ONCE(sn->sn_sysctl.close_max_ms));
	/* The SHUTDOWN may still be owed. */
	next = list_empty(&tx->tx_frames) ? jiffies + HZ : stall;
	if (time_after_eq(jiffies, next)) {
		rds_stream_stat_inc(sn, stream_closed_stalled);
		return true;
	}
	if (time_after_eq(jiffies, late)) {
		rds_stream_stat_inc(sn, stream_closed_late);
		return true;
	}
	if (time_before(late, next))
		next = late;
	rds_stream_arm(st, RDS_STREAM_T_CLOSE, next - jiffies);
	return false;
}

/* Nothing can be written without credit: the peer may be gone, or an update may
 * be late.
 */
static void rds_stream_ask_credit(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN || rds_stream_credit(tx) ||
	    (st->st_flags & (RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DEAF)))
		return;
	rds_stream_owe(st, RDS_FRAME_CREDIT_REQUEST, true);
	rds_stream_arm(st, RDS_STREAM_T_CREDIT,
		       RDS_STREAM_CREDIT_FIRST << tx->tx_asked);
	if (tx->tx_asked < RDS_STREAM_CREDIT_DOUBLINGS)
		tx->tx_asked++;
}

/* Returns true if the stream has timed out. */
static bool rds_stream_timers(struct rds_stream *st, unsigned long due)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (due & BIT(RDS_STREAM_T_OWED))
		rds_stream_pay(st, true);
	if (due & BIT(RDS_STREAM_T_CORK)) {
		st->st_tx.tx_corked = 0;
		rds_stream_kick(st);
	}
	if (due & BIT(RDS_STREAM_T_CREDIT))
		rds_stream_ask_credit(st);
	if ((due & BIT(RDS_STREAM_T_KEEP)) && rds_stream_keep(st))
		return true;
	if ((due & BIT(RDS_STREAM_T_USER)) && rds_stream_is_stuck(st))
		return true;
	return (due & BIT(RDS_STREAM_T_CLOSE)) &&
	       rds_stream_closed_too_long(st);
}

/**
 * rds_stream_timer() - Act on the timers that are due
 * @timer: the timer of the socket, whose reference is put
 *
 * Context: Softirq.
 */
void rds_stream_timer(struct timer_list *timer)
{
	struct sock *sk = timer_container_of(sk, timer, sk_timer);
	struct rds_stream *st = rds_stream(sk);
	unsigned long due;
	bool over;

	spin_lock_bh(&st->st_lock);
	due = rds_stream_take_due(st);
	if ((due & BIT(RDS_STREAM_T_AGAIN)) && rds_stream_repeat(st))
		due &= ~BIT(RDS_STREAM_T_AGAIN);
	over = due && rds_stream_timers(st, due);
	spin_unlock_bh(&st->st_lock);

	if (over)
		rds_stream_end(st, ETIMEDOUT, RDS_STREAM_NOT_REFUSED,
			       RDS_STREAM_TELL);
	else if (due & BIT(RDS_STREAM_T_CONNECT))
		rds_stream_fail_connect(st, ETIMEDOUT,
					RDS_STREAM_NOT_REFUSED);
	else if (due & BIT(RDS_STREAM_T_AGAIN))
		rds_stream_ask(st);
	sock_put(sk);
}
