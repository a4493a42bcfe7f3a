// SPDX-License-Identifier: GPL-2.0-only
/*
 * shutdown() and close() on streams, and connect() to no address.
 *
 * close() delivers what was written: the stream goes on without a socket until
 * the peer has acknowledged it (end.c). SO_LINGER makes close() wait for that,
 * or, with time 0, reset the stream. If bytes were not read, close() resets the
 * stream, so that the peer learns of it, as TCP does.
 *
 * The number of streams without a socket is limited for each namespace, by
 * net.rds.stream.closed_max, and for each peer, see quota.h; beyond the limit,
 * close() resets.
 */
#include "stream.h"

/* This end writes no more: say so behind the last bytes. */
static void rds_stream_stop_writing(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	struct sock *sk = &st->st_sk;

	lockdep_assert_held(&st->st_lock);
	if (st->st_flags & RDS_STREAM_F_WR_SHUT)
		return;
	WRITE_ONCE(st->st_flags, st->st_flags | RDS_STREAM_F_WR_SHUT);
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	rds_stream_owe(st, RDS_FRAME_SHUTDOWN, false);
}

static int rds_stream_shut(struct rds_stream *st, int how)
{
	struct sock *sk = &st->st_sk;
	int ret = 0;

	spin_lock_bh(&st->st_lock);
	if (st->st_state != RDS_STREAM_OPEN) {
		ret = -ENOTCONN;
		goto out;
	}
	if (how & RCV_SHUTDOWN) {
		WRITE_ONCE(st->st_flags,
			   st->st_flags | RDS_STREAM_F_RD_SHUT);
		WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | RCV_SHUTDOWN);
	}
	if (how & SEND_SHUTDOWN)
		rds_stream_stop_writing(st);
out:
	spin_unlock_bh(&st->st_lock);
	return ret;
}

/* Make the socket like a new one, but bound if the user has bound it to a port.
 */
static void rds_stream_start_over(struct socket *sock)
{
	struct rds_stream *st = rds_stream(sock->sk);

	if (READ_ONCE(st->st_state) == RDS_STREAM_LISTEN)
		rds_stream_stop_listening(st);
	else
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_TELL);
	rds_stream_purge(st);
	rds_stream_unmap_all(st);
	spin_lock_bh(&st->st_lock);
	rds_stream_set_state(st, RDS_STREAM_EV_DISCONNECT);
	WRITE_ONCE(st->st_flags, 0);
	WRITE_ONCE(st->st_sk.sk_shutdown, 0);
	spin_unlock_bh(&st->st_lock);
	if (!st->st_own_port)
		rds_stream_forget_port(st);
	sock->state = SS_UNCONNECTED;
}

/**
 * rds_stream_shutdown() - Implement shutdown(2)
 * @sock: the socket
 * @how: SHUT_RD, SHUT_WR or SHUT_RDWR
 *
 * The reading half is shut on this end only: the peer is not told, as with TCP.
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0; -ENOTCONN; -EINVAL.
 */
int rds_stream_shutdown(struct socket *sock, int how)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct sock *sk = sock->sk;
	int ret;

	if (how < SHUT_RD || how > SHUT_RDWR)
		return -EINVAL;
	how++;

	mutex_lock(&st->st_mutex);
	if (st->st_state == RDS_STREAM_LISTEN) {
		/* As TCP: only the reading half of a listener counts, and the
		 * socket may listen again.
		 */
		ret = 0;
		if (how & RCV_SHUTDOWN)
			rds_stream_start_over(sock);
	} else if (rds_stream_is_connecting(READ_ONCE(st->st_state))) {
		rds_stream_end(st, ECONNRESET, 0, RDS_STREAM_TELL);
		rds_stream_forget_failure(st);
		sock->state = SS_UNCONNECTED;
		ret = 0;
	} else {
		ret = rds_stream_shut(st, how);
		if (!ret) {
			rds_stream_push(st);
			sk->sk_state_change(sk);
			rds_stream_finish(st);
		}
	}
	mutex_unlock(&st->st_mutex);
	return ret;
}

/**
 * rds_stream_disconnect() - Implement connect(2) to a name of family AF_UNSPEC
 * @sock: the socket. Afterwards it is like a new one, but bound if the user has
 *	bound it to a port
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0.
 */
int rds_stream_disconnect(struct socket *sock)
{
	struct rds_stream *st = rds_stream(sock->sk);

	mutex_lock(&st->st_mutex);
	rds_stream_start_over(sock);
	mutex_unlock(&st->st_mutex);
	return 0;
}

static bool rds_stream_has_ended(struct rds_stream *st, size_t arg)
{
	return READ_ONCE(st->st_state) != RDS_STREAM_OPEN;
}

/* Wait until the peer has all that was written, for the time of SO_LINGER. */
static void rds_stream_linger(struct rds_stream *st)
{
	long timeo = st->st_sk.sk_lingertime;

	rds_stream_wait(st, rds_stream_has_ended, 0, &timeo, -EAGAIN);
}

static bool rds_stream_must_reset(struct rds_stream *st)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	struct sock *sk = &st->st_sk;

	if (st->st_state != RDS_STREAM_OPEN ||
	    READ_ONCE(st->st_rx.rx_bytes) ||
	    (sock_flag(sk, SOCK_LINGER) && !sk->sk_lingertime))
		return true;
	if (rds_stream_quota_has_room(&sn->sn_closed, &st->st_peer.ip,
				      rds_stream_closed_max(sn)))
		return false;
	rds_stream_stat_inc(sn, stream_closed_limited);
	return true;
}

/* From here on the stream only delivers what was written. */
static void rds_stream_let_go(struct rds_stream *st)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));

	spin_lock_bh(&st->st_lock);
	if (st->st_state == RDS_STREAM_OPEN) {
		rds_stream_quota_add(&sn->sn_closed, &st->st_peer.ip);
		st->st_tx.tx_closed = jiffies;
		WRITE_ONCE(st->st_flags, st->st_flags | RDS_STREAM_F_CLOSED |
			   RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_RD_SHUT);
		/* What else is owed is of no use any more. */
		WRITE_ONCE(st->st_tx.tx_owed, st->st_tx.tx_owed &
			   (BIT(RDS_FRAME_RESPONSE) |
			    BIT(RDS_FRAME_SHUTDOWN)));
		if (!(st->st_flags & RDS_STREAM_F_PEER_DEAF))
			rds_stream_owe(st, RDS_FRAME_SHUTDOWN, false);
		rds_stream_arm(st, RDS_STREAM_T_CLOSE, HZ);
	}
	spin_unlock_bh(&st->st_lock);
	if (st->st_conn)
		rds_stream_push(st);
}

static void rds_stream_close_connected(struct rds_stream *st)
{
	if (rds_stream_must_reset(st)) {
		rds_stream_end(st, 0, 0, RDS_STREAM_TELL);
		return;
	}
	rds_stream_let_go(st);
	rds_stream_finish(st);
	if (sock_flag(&st->st_sk, SOCK_LINGER) &&
	    !(current->flags & PF_EXITING))
		rds_stream_linger(st);
}

/**
 * rds_stream_release() - Release a socket on the last close()
 * @sock: the socket
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: 0.
 */
int rds_stream_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_stream *st;

	if (!sk)
		return 0;
	st = rds_stream(sk);

	mutex_lock(&st->st_mutex);
	if (st->st_state == RDS_STREAM_LISTEN)
		rds_stream_stop_listening(st);
	else
		rds_stream_close_connected(st);
	rds_stream_unmap_all(st);
	rds_stream_unbind(st);
	rds_upper_notices_close(st->st_notices);
	st->st_notices = NULL;
	sock_orphan(sk);
	sock->sk = NULL;
	mutex_unlock(&st->st_mutex);
	sock_put(sk);
	return 0;
}
