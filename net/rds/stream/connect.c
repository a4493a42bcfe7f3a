// SPDX-License-Identifier: GPL-2.0-only
/*
 * connect(): the client's side of the beginning of a stream.
 *
 * The stream enters the table in state ASKING. If the peer is known to have
 * streams, a REQUEST goes out at once (rds_stream_ask()); otherwise when the
 * connection comes up and the peer has said what it knows (event.c). If it says
 * that it has no streams, or no RDS answers at its address, connect() fails. A
 * server that is busy, or does not answer, is asked again until connect() times
 * out: RST and BUSY may be lost.
 *
 * A peer that restarts meanwhile is asked again. Frames that were meant for its
 * former incarnation are not sent to the new one: core compares the epoch.
 */
#include <linux/random.h>
#include <linux/rds.h>
#include <net/ipv6.h>

#include "stream.h"

/* How long a connect() may take, in jiffies */
#define RDS_STREAM_CONNECT_TIMEOUT	(75 * HZ)

/* Delays before a server is asked again that is busy, or that has not answered,
 * in jiffies
 */
#define RDS_STREAM_AGAIN_FIRST		DIV_ROUND_UP(HZ, 10)
#define RDS_STREAM_REPEAT_FIRST		HZ
#define RDS_STREAM_AGAIN_DOUBLINGS	3

/* Ports that are tried, if nobody has selected one */
#define RDS_STREAM_PORT_TRIES		16

static void rds_stream_arm_again(struct rds_stream *st, unsigned long first)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	rds_stream_arm(st, RDS_STREAM_T_AGAIN, first << st->st_again);
}

static void rds_stream_count_again(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_again < RDS_STREAM_AGAIN_DOUBLINGS)
		st->st_again++;
}

static void rds_stream_request_now(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	rds_stream_set_state(st, RDS_STREAM_EV_KNOWN);
	rds_stream_arm_again(st, RDS_STREAM_REPEAT_FIRST);
	rds_stream_owe(st, RDS_FRAME_REQUEST, true);
}

/* Have the connection made, and look again: some peers say nothing of what they
 * know.
 */
static void rds_stream_ask_unknown(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	rds_upper_dial(st->st_conn);
	rds_stream_arm(st, RDS_STREAM_T_AGAIN, HZ);
}

/**
 * rds_stream_ask() - Ask the peer for a stream, if it is known what the peer is
 * @st: the stream; nothing happens unless it is ASKING
 *
 * Context: Any context; the caller holds a reference. No locks of this module
 * but the socket lock.
 */
void rds_stream_ask(struct rds_stream *st)
{
	enum rds_upper_peer peer = RDS_PEER_UNKNOWN;

	spin_lock_bh(&st->st_lock);
	if (st->st_state == RDS_STREAM_ASKING) {
		peer = rds_upper_peer(st->st_conn, &st->st_epoch);
		if (peer == RDS_PEER_STREAMS)
			rds_stream_request_now(st);
		else if (peer == RDS_PEER_UNKNOWN)
			rds_stream_ask_unknown(st);
	}
	spin_unlock_bh(&st->st_lock);

	if (peer == RDS_PEER_OTHER)
		rds_stream_end(st, ECONNREFUSED, RDS_STREAM_NO_STREAMS,
			       RDS_STREAM_SILENT);
}

/**
 * rds_stream_again() - Ask the peer again in a while
 * @st: the stream; nothing happens unless it has asked already
 *
 * Context: Any context. st_lock is held.
 */
void rds_stream_again(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_REQUESTED)
		return;
	rds_stream_set_state(st, RDS_STREAM_EV_AGAIN);
	rds_stream_arm_again(st, RDS_STREAM_AGAIN_FIRST);
	rds_stream_count_again(st);
}

/**
 * rds_stream_repeat() - Repeat a REQUEST that was not answered
 * @st: the stream
 *
 * Core sends a REQUEST that is not acknowledged again, so this one is enough.
 *
 * Context: Any context. st_lock is held.
 * Return: true if the stream waits for an answer; otherwise nothing happens.
 */
bool rds_stream_repeat(struct rds_stream *st)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_state != RDS_STREAM_REQUESTED)
		return false;
	rds_stream_count_again(st);
	rds_stream_arm_again(st, RDS_STREAM_REPEAT_FIRST);
	if (!st->st_tx.tx_control)
		rds_stream_owe(st, RDS_FRAME_REQUEST, true);
	return true;
}

/**
 * rds_stream_busy() - Ask a server that is busy again in a while
 * @st: the stream; nothing happens unless it has asked already
 *
 * Context: Any context; the caller holds a reference. No locks of this module
 * but the socket lock.
 */
void rds_stream_busy(struct rds_stream *st)
{
	spin_lock_bh(&st->st_lock);
	st->st_rx.rx_at = jiffies;
	rds_stream_again(st);
	spin_unlock_bh(&st->st_lock);
}

/* Give back the connection of an attempt that has failed. After a grace period
 * no reader of the table stands at the stream any more, so it may enter the
 * table at another place.
 */
static void rds_stream_forget_conn(struct rds_stream *st)
{
	struct rds_conn *old;

	if (!st->st_conn)
		return;
	synchronize_rcu();
	spin_lock_bh(&st->st_lock);
	old = st->st_conn;
	WRITE_ONCE(st->st_conn, NULL);
	spin_unlock_bh(&st->st_lock);
	rds_upper_close(old);
}

static int rds_stream_connect_to(struct rds_stream *st, struct rds_conn *conn,
				 const struct rds_stream_name *peer)
{
	bool listed;

	rds_stream_purge(st);
	spin_lock_bh(&st->st_lock);
	st->st_peer = *peer;
	WRITE_ONCE(st->st_conn, conn);
	WRITE_ONCE(st->st_flags, 0);
	st->st_refused = RDS_STREAM_NOT_REFUSED;
	st->st_id = get_random_u32();
	st->st_again = 0;
	/* Nobody may have read the error of the stream before. */
	WRITE_ONCE(st->st_sk.sk_err, 0);
	WRITE_ONCE(st->st_sk.sk_shutdown, 0);
	rds_stream_start_counting(st);
	listed = rds_stream_list(st);
	if (listed) {
		rds_stream_set_state(st, RDS_STREAM_EV_CONNECT);
		rds_stream_arm(st, RDS_STREAM_T_CONNECT,
			       RDS_STREAM_CONNECT_TIMEOUT);
	} else {
		WRITE_ONCE(st->st_conn, NULL);
	}
	spin_unlock_bh(&st->st_lock);
	if (!listed)
		rds_upper_close(conn);
	return listed ? 0 : -EADDRINUSE;
}

/* Unless the user has selected an address, it is that of the route to this
 * peer.
 */
static int rds_stream_bind_for(struct rds_stream *st,
			       const struct rds_stream_name *peer, bool share)
{
	struct rds_stream_name local = rds_stream_selected(st);
	int ret;

	ret = rds_stream_source(st, &local, peer);
	if (ret)
		return ret;
	if (st->st_is_bound) {
		rds_stream_rename(st, &local);
		return 0;
	}
	ret = share ? -EADDRINUSE : rds_stream_bind_name(st, &local);
	if (ret == -EADDRINUSE && !local.port)
		ret = rds_stream_share_port(st, &local, peer);
	return ret;
}

static int rds_stream_open_to(struct rds_stream *st,
			      const struct rds_stream_name *peer, bool share)
{
	struct rds_upper_key key;
	struct rds_conn *conn;
	int ret;

	ret = rds_stream_bind_for(st, peer, share);
	if (ret)
		return ret;
	key.laddr = st->st_local.ip;
	key.faddr = peer->ip;
	key.ifindex = peer->ifindex ?: st->st_local.ifindex;
	key.uid = READ_ONCE(st->st_sk.sk_uid);
	conn = rds_upper_open(sock_net(&st->st_sk), &key);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	return rds_stream_connect_to(st, conn, peer);
}

/* A closed stream may still be using the port that was selected. So may those
 * of all ports that no socket has: every other try takes one that clients have.
 */
static int rds_stream_open(struct rds_stream *st,
			   const struct rds_stream_name *peer)
{
	bool selected = !st->st_is_bound;
	unsigned int tries = RDS_STREAM_PORT_TRIES;
	int ret;

	do {
		ret = rds_stream_open_to(st, peer, selected && tries % 2);
		if (ret && selected)
			rds_stream_forget_port(st);
	} while (ret == -EADDRINUSE && selected && --tries);
	return ret == -EADDRINUSE ? -EADDRNOTAVAIL : ret;
}

/* As with TCP, all addresses stand for this host, at the loopback address of
 * the family that can be used.
 */
static void rds_stream_set_loopback(const struct rds_stream *st,
				    struct in6_addr *ip)
{
	if (ipv6_addr_v4mapped(ip) || ipv6_addr_v4mapped(&st->st_selected))
		ipv6_addr_set_v4mapped(htonl(INADDR_LOOPBACK), ip);
	else
		*ip = in6addr_loopback;
}

static int rds_stream_begin(struct rds_stream *st,
			    struct rds_stream_name *peer)
{
	int ret;

	if (!peer->port)
		return -ECONNREFUSED;
	if (rds_stream_is_any(&peer->ip))
		rds_stream_set_loopback(st, &peer->ip);
	if (st->st_opts[RDS_STREAM_V6ONLY] && ipv6_addr_v4mapped(&peer->ip))
		return -ENETUNREACH;
	rds_stream_forget_conn(st);
	ret = rds_stream_maps_start(st, st->st_opts[RDS_STREAM_IOMAPS_OPT],
				    GFP_KERNEL);
	if (ret)
		return ret;
	ret = rds_stream_open(st, peer);
	if (!ret && rds_upper_is_gone(st->st_conn))
		rds_stream_end(st, ENETDOWN, 0, RDS_STREAM_SILENT);
	else if (!ret)
		rds_stream_ask(st);
	return ret;
}

/**
 * rds_stream_has_connected() - Check whether connect() has ended
 * @st: the stream
 * @arg: not used; see rds_stream_wait()
 *
 * Context: Any context.
 * Return: true if the stream is not connecting.
 */
bool rds_stream_has_connected(struct rds_stream *st, size_t arg)
{
	return !rds_stream_is_connecting(READ_ONCE(st->st_state));
}

/**
 * rds_stream_forget_failure() - Make the socket what it was before connect()
 * @st: the stream, whose attempt to connect has failed
 *
 * Context: Process context. The socket lock is held.
 */
void rds_stream_forget_failure(struct rds_stream *st)
{
	spin_lock_bh(&st->st_lock);
	WRITE_ONCE(st->st_sk.sk_shutdown, 0);
	spin_unlock_bh(&st->st_lock);
	/* As TCP, also if bind() has selected it for the user. */
	if (!st->st_own_port)
		rds_stream_forget_port(st);
}

/* The attempt has ended, one way or the other. */
static int rds_stream_connect_end(struct socket *sock)
{
	struct rds_stream *st = rds_stream(sock->sk);
	int err;

	/* It may have been reset already, which a read will tell. */
	if (READ_ONCE(st->st_state) != RDS_STREAM_IDLE) {
		sock->state = SS_CONNECTED;
		return 0;
	}
	sock->state = SS_UNCONNECTED;
	err = sock_error(sock->sk);
	rds_stream_forget_failure(st);
	return err ?: -ECONNABORTED;
}

static int rds_stream_connect_first(struct socket *sock,
				    struct rds_sockaddr *sa, int len)
{
	struct rds_stream *st = rds_stream(sock->sk);
	struct rds_stream_name peer;
	int ret;

	if (READ_ONCE(st->st_state) != RDS_STREAM_IDLE)
		return -EISCONN;
	ret = rds_stream_name_parse(st->st_v6, sa, len, &peer);
	if (ret)
		return ret == -EADDRNOTAVAIL ? -ENETUNREACH : ret;
	ret = rds_stream_begin(st, &peer);
	if (!ret)
		sock->state = SS_CONNECTING;
	return ret;
}

static int rds_stream_connect_locked(struct socket *sock,
				     struct rds_sockaddr *sa, int len,
				     int flags)
{
	struct sock *sk = sock->sk;
	long timeo = sock_sndtimeo(sk, flags & O_NONBLOCK);
	int ret;

	switch (sock->state) {
	case SS_UNCONNECTED:
		ret = rds_stream_connect_first(sock, sa, len);
		if (ret)
			return ret;
		break;
	case SS_CONNECTING:
		if ((flags & O_NONBLOCK) &&
		    !rds_stream_has_connected(rds_stream(sk), 0))
			return -EALREADY;
		break;
	default:
		return -EISCONN;
	}
	ret = rds_stream_wait(rds_stream(sk), rds_stream_has_connected, 0,
			      &timeo, -EINPROGRESS);
	return ret ?: rds_stream_connect_end(sock);
}

/**
 * rds_stream_connect() - Implement connect(2)
 * @sock: the socket
 * @sa: the name of the peer
 * @len: its length in bytes
 * @flags: O_NONBLOCK
 *
 * Context: Process context, may sleep; may load modules. Takes the socket lock.
 * Return: 0; -EINPROGRESS or -EALREADY if the attempt goes on; -EISCONN;
 * -ECONNREFUSED if no socket listens, no RDS answers or the peer has no
 * streams, see RDS_STREAM_REFUSED; -ETIMEDOUT; -EHOSTUNREACH; -ENETUNREACH;
 * -EADDRNOTAVAIL; an errno for a name that is not valid; or that of a signal.
 */
int rds_stream_connect(struct socket *sock, struct rds_sockaddr *sa, int len,
		       int flags)
{
	struct rds_stream *st = rds_stream(sock->sk);
	int ret;

	mutex_lock(&st->st_mutex);
	ret = rds_stream_connect_locked(sock, sa, len, flags);
	mutex_unlock(&st->st_mutex);
	return ret;
}
