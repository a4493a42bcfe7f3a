// SPDX-License-Identifier: GPL-2.0-only
/* poll() on streams, and how many bytes make one readable. */
#include <linux/poll.h>

#include "ready.h"
#include "stream.h"

static __poll_t rds_stream_poll_halves(const struct rds_stream *st)
{
	const u32 no_input = RDS_STREAM_F_PEER_DONE | RDS_STREAM_F_RD_SHUT;
	u32 flags = READ_ONCE(st->st_flags);
	__poll_t mask = 0;

	if (READ_ONCE(st->st_state) == RDS_STREAM_ENDED)
		flags |= RDS_STREAM_F_PEER_DONE | RDS_STREAM_F_WR_SHUT;
	if (flags & no_input)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if ((flags & no_input) && (flags & RDS_STREAM_F_WR_SHUT))
		mask |= EPOLLHUP;
	return mask;
}

/* Check whether the caller wants to write. A program whose events come by edges
 * has asked for all of them once and for all; it has met EAGAIN if it wants to.
 */
static bool rds_stream_poll_writes(const struct poll_table_struct *wait)
{
	__poll_t asked = wait ? poll_requested_events(wait) : 0;

	return (asked & (EPOLLOUT | EPOLLWRNORM)) && !(asked & EPOLLET);
}

static __poll_t rds_stream_poll_connected(struct rds_stream *st,
					  const struct poll_table_struct *wait)
{
	struct sock *sk = &st->st_sk;
	__poll_t mask = 0;

	if (READ_ONCE(st->st_rx.rx_bytes) &&
	    rds_stream_has(st, READ_ONCE(sk->sk_rcvlowat)))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (!rds_stream_may_write(st, false)) {
		rds_stream_no_space(st);
		if (rds_stream_poll_writes(wait))
			rds_stream_starve(st);
	}
	if (rds_stream_may_write(st, false))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}

/**
 * rds_stream_poll() - Implement poll(2)
 * @file: the file of the socket
 * @sock: the socket
 * @wait: the poll table, or NULL
 *
 * Context: Process context. No locks.
 * Return: the events that are ready.
 */
__poll_t rds_stream_poll(struct file *file, struct socket *sock,
			 struct poll_table_struct *wait)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct sock *sk = sock->sk;
	__poll_t mask;

	sock_poll_wait(file, sock, wait);

	switch (READ_ONCE(st->st_state)) {
	case RDS_STREAM_LISTEN:
		return list_empty(&st->st_accept_queue) ?
		       0 : EPOLLIN | EPOLLRDNORM;
	case RDS_STREAM_ASKING:
	case RDS_STREAM_REQUESTED:
		/* Errors of these states end them, and are told then. */
		return skb_queue_empty_lockless(&sk->sk_error_queue) ?
		       0 : EPOLLERR;
	case RDS_STREAM_IDLE:
		mask = EPOLLOUT | EPOLLWRNORM | EPOLLHUP;
		/* connect() has failed, and has not told so yet. */
		if (READ_ONCE(sk->sk_shutdown))
			mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
		break;
	default:
		mask = rds_stream_poll_halves(st) |
		       rds_stream_poll_connected(st, wait);
	}
	if (READ_ONCE(sk->sk_err) ||
	    !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

/**
 * rds_stream_set_rcvlowat() - Set SO_RCVLOWAT
 * @sk: the socket
 * @val: how many bytes make it readable; 0 for 1
 *
 * Bytes that have been too few may be enough now, so wake those who wait.
 *
 * Context: Process context. The lock of struct sock is held.
 * Return: 0.
 */
int rds_stream_set_rcvlowat(struct sock *sk, int val)
{
	struct rds_stream *st = rds_stream(sk);
	bool enough;

	/* A delivery compares under this lock. */
	spin_lock_bh(&st->st_lock);
	WRITE_ONCE(sk->sk_rcvlowat, val ?: 1);
	enough = READ_ONCE(st->st_rx.rx_bytes) &&
		 rds_stream_has(st, sk->sk_rcvlowat);
	spin_unlock_bh(&st->st_lock);
	if (enough)
		sk->sk_data_ready(sk);
	return 0;
}
