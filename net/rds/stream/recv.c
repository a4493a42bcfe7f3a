// SPDX-License-Identifier: GPL-2.0-only
/*
 * recvmsg() on streams.
 *
 * Only holders of the socket lock take frames off the queue, and deliveries add
 * to its end. So a reader finds the first frame, and copies from it, without
 * st_lock.
 *
 * What was read is credit for the peer again. The peer is told when it has used
 * up a quarter of what it was given, not for each read; any frame in the other
 * direction tells it, too.
 */
#include <net/ip.h>

#include "ready.h"
#include "stream.h"

/* What a read finds behind the last byte: -ENOTCONN; or 1 for the end of the
 * stream; 0 if more may come.
 */
static int rds_stream_behind(const struct rds_stream *st)
{
	if (READ_ONCE(st->st_flags) &
	    (RDS_STREAM_F_PEER_DONE | RDS_STREAM_F_RD_SHUT))
		return 1;
	switch (READ_ONCE(st->st_state)) {
	case RDS_STREAM_IDLE:
		/* As TCP, if connect() has failed, and has not told so yet. */
		return READ_ONCE(st->st_sk.sk_shutdown) ? 1 : -ENOTCONN;
	case RDS_STREAM_LISTEN:
		return -ENOTCONN;
	case RDS_STREAM_ENDED:
		return 1;
	default:
		return 0;
	}
}

/* Check whether the queue is empty, and stays so. The last bytes and the end
 * may arrive at any moment, so the queue is looked at after the end.
 */
static bool rds_stream_at_end(const struct rds_stream *st)
{
	if (!rds_stream_behind(st) && !READ_ONCE(st->st_sk.sk_err))
		return false;
	/* Pairs with st_lock, under which bytes are queued before the end is
	 * noted.
	 */
	smp_rmb();
	return !READ_ONCE(st->st_rx.rx_bytes);
}

/* Return what a read of a stream that is at its end returns. */
static int rds_stream_read_end(struct rds_stream *st)
{
	int err = sock_error(&st->st_sk) ?: rds_stream_behind(st);

	return min(err, 0);
}

static bool rds_stream_may_read(struct rds_stream *st, size_t bytes)
{
	return rds_stream_has(st, bytes) || READ_ONCE(st->st_sk.sk_err);
}

/* Wait until @bytes can be read, or no more can come. */
static int rds_stream_wait_read(struct rds_stream *st, size_t bytes,
				long *timeo)
{
	bool early = bytes < READ_ONCE(st->st_sk.sk_rcvlowat);
	unsigned int *readers = &st->st_rx.rx_early;
	int ret;

	if (rds_stream_may_read(st, bytes))
		return 0;
	WRITE_ONCE(*readers, *readers + early);
	ret = rds_stream_wait(st, rds_stream_may_read, bytes, timeo, -EAGAIN);
	WRITE_ONCE(*readers, *readers - early);
	return ret;
}

/* While there are bytes, a delivery leaves the head of the queue alone. */
static struct rds_incoming *rds_stream_first(struct rds_stream *st)
{
	struct rds_stream_rx *rx = &st->st_rx;

	/* Pairs with the release in rds_stream_queue_frame(). */
	if (!smp_load_acquire(&rx->rx_bytes))
		return NULL;
	return list_first_entry(&rx->rx_queue, struct rds_incoming, i_item);
}

static struct rds_incoming *rds_stream_following(struct rds_stream *st,
						 struct rds_incoming *inc)
{
	struct rds_incoming *next = NULL;

	spin_lock_bh(&st->st_lock);
	if (!list_is_last(&inc->i_item, &st->st_rx.rx_queue))
		next = list_next_entry(inc, i_item);
	spin_unlock_bh(&st->st_lock);
	return next;
}

static bool rds_stream_owes_credit(const struct rds_stream *st)
{
	const struct rds_stream_rx *rx = &st->st_rx;

	return st->st_state == RDS_STREAM_OPEN &&
	       !(st->st_flags & RDS_STREAM_F_PEER_DONE) &&
	       rx->rx_fwd - rx->rx_told >= rds_stream_window(st) / 4;
}

/* Count bytes of the first frame as read. Returns true if the frame is off the
 * queue; the caller puts it.
 */
static bool rds_stream_consume(struct rds_stream *st,
			       struct rds_incoming *inc, u32 len)
{
	struct rds_stream_rx *rx = &st->st_rx;
	bool whole, told = false;

	spin_lock_bh(&st->st_lock);
	rx->rx_offset += len;
	WRITE_ONCE(rx->rx_bytes, rx->rx_bytes - len);
	WRITE_ONCE(rx->rx_fwd, rx->rx_fwd + len);
	whole = rx->rx_offset == inc->i_len;
	if (whole) {
		rds_stream_unqueue_frame(st, inc);
		WRITE_ONCE(rx->rx_fwd, rx->rx_fwd + RDS_FRAME_COST);
	}
	if (rds_stream_owes_credit(st)) {
		rds_stream_owe(st, RDS_FRAME_CREDIT_UPDATE, false);
		told = true;
	}
	spin_unlock_bh(&st->st_lock);
	if (told)
		rds_stream_push(st);
	return whole;
}

/* Copy bytes, or none of them. */
static int rds_stream_copy(struct rds_incoming *inc, u32 offset, u32 len,
			   struct msghdr *msg, int flags)
{
	size_t before = iov_iter_count(&msg->msg_iter);
	int ret;

	if (flags & MSG_TRUNC)
		return 0;
	ret = inc->i_ops->copy(inc, offset, len, &msg->msg_iter);
	if (ret)
		iov_iter_revert(&msg->msg_iter,
				before - iov_iter_count(&msg->msg_iter));
	return ret;
}

/* Read what the queue has, up to @size bytes. Returns the number of bytes, or
 * -EFAULT if none could be copied. @faulted is set if not all could be.
 */
static int rds_stream_drain(struct rds_stream *st, struct msghdr *msg,
			    size_t size, int flags, bool *faulted)
{
	struct rds_incoming *inc;
	size_t done = 0;
	u32 offset, len;

	while (done < size && (inc = rds_stream_first(st))) {
		offset = st->st_rx.rx_offset;
		len = min_t(size_t, size - done, inc->i_len - offset);
		if (rds_stream_copy(inc, offset, len, msg, flags)) {
			*faulted = true;
			return done ?: -EFAULT;
		}
		if (rds_stream_consume(st, inc, len))
			rds_upper_incoming_put(inc);
		done += len;
	}
	return done;
}

/* As rds_stream_drain(), but leave the bytes in the queue. */
static int rds_stream_look(struct rds_stream *st, struct msghdr *msg,
			   size_t size, int flags)
{
	u32 offset = st->st_rx.rx_offset, len;
	struct rds_incoming *inc;
	size_t done = 0;

	for (inc = rds_stream_first(st); inc && done < size;
	     inc = rds_stream_following(st, inc)) {
		len = min_t(size_t, size - done, inc->i_len - offset);
		if (rds_stream_copy(inc, offset, len, msg, flags))
			return done ?: -EFAULT;
		done += len;
		offset = 0;
	}
	return done;
}

static int rds_stream_peek(struct rds_stream *st, struct msghdr *msg,
			   size_t size, int flags, size_t target, long timeo)
{
	int ret;

	do {
		ret = rds_stream_wait_read(st, target, &timeo);
		if (READ_ONCE(st->st_rx.rx_bytes))
			return rds_stream_look(st, msg, size, flags);
		if (ret)
			return ret;
	} while (!rds_stream_at_end(st));
	return rds_stream_read_end(st);
}

static int rds_stream_read(struct rds_stream *st, struct msghdr *msg,
			   size_t size, int flags)
{
	long timeo = sock_rcvtimeo(&st->st_sk, flags & MSG_DONTWAIT);
	size_t target, done = 0;
	bool faulted = false;
	int ret;

	target = sock_rcvlowat(&st->st_sk, flags & MSG_WAITALL, size);
	if (flags & MSG_PEEK)
		return rds_stream_peek(st, msg, size, flags, target, timeo);

	for (;;) {
		ret = rds_stream_drain(st, msg, size - done, flags, &faulted);
		if (ret < 0)
			break;
		done += ret;
		/* As TCP, wait for a byte even without room for one. */
		if (done >= target || faulted ||
		    (!size && READ_ONCE(st->st_rx.rx_bytes)))
			break;
		if (rds_stream_at_end(st)) {
			/* An error is for the read that finds no bytes. */
			ret = done ? 0 : rds_stream_read_end(st);
			break;
		}
		ret = rds_stream_wait_read(st, target - done, &timeo);
		if (ret)
			break;
	}
	return done ?: ret;
}

/**
 * rds_stream_recvmsg() - Implement recvmsg(2)
 * @sock: the socket
 * @msg: where the bytes go
 * @size: their number at most
 * @flags: MSG_*
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: the number of bytes; 0 at the end of the stream; -ECONNRESET;
 * -ENOTCONN; -EAGAIN; -EFAULT; -EOPNOTSUPP for MSG_OOB; or the errno of
 * a signal.
 */
int rds_stream_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
		       int flags)
{
	struct rds_stream *st = rds_stream(sock->sk);
	bool v6 = sock->sk->sk_protocol == RDS_PROTO_INET6;
	int ret;

	/* As TCP, ignore flags that mean nothing here. */
	if (flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (unlikely(flags & MSG_ERRQUEUE))
		return sock_recv_errqueue(sock->sk, msg, size,
					  v6 ? SOL_IPV6 : SOL_IP,
					  v6 ? IPV6_RECVERR : IP_RECVERR);

	msg->msg_namelen = 0;
	mutex_lock(&st->st_mutex);
	ret = rds_stream_read(st, msg, size, flags);
	mutex_unlock(&st->st_mutex);
	return ret;
}
