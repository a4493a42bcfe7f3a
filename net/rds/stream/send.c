// SPDX-License-Identifier: GPL-2.0-only
/*
 * sendmsg() on streams.
 *
 * A write is cut into frames. For each, the task waits until the peer's credit
 * and the send buffer allow some bytes, allocates a frame and copies the bytes
 * into it, without any lock but that of the socket; then it submits the frame
 * under st_lock, and sends. Credit is spent by the holder of the socket lock
 * only, so only the peer can make it less meanwhile.
 *
 * A name is ignored, as by TCP. MSG_ZEROCOPY copies, and says so in its
 * notification, as TCP does to addresses of its own host.
 */
#include <linux/skbuff.h>

#include "compat.h"
#include "stream.h"

#define RDS_STREAM_SEND_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | \
				 MSG_EOR | MSG_ZEROCOPY | MSG_CMSG_COMPAT | \
				 MSG_BATCH | MSG_CONFIRM | MSG_DONTROUTE | \
				 RDS_STREAM_SPLICE_FLAGS)

/* Why nothing can be written; 0 if it can. */
static int rds_stream_write_error(struct rds_stream *st)
{
	struct sock *sk = &st->st_sk;
	int err = sock_error(sk);

	if (err)
		return err;
	/* As TCP, also if the stream was never connected. */
	if (READ_ONCE(st->st_state) != RDS_STREAM_OPEN ||
	    READ_ONCE(st->st_flags) &
	    (RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DEAF))
		return -EPIPE;
	return 0;
}

static bool rds_stream_write_ready(struct rds_stream *st, size_t arg)
{
	struct sock *sk = &st->st_sk;

	if (rds_stream_may_write(st) || READ_ONCE(sk->sk_err))
		return true;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	return false;
}

static int rds_stream_wait_write(struct rds_stream *st, long *timeo)
{
	if (rds_stream_write_ready(st, 0))
		return 0;
	return rds_stream_wait(st, rds_stream_write_ready, 0, timeo, -EAGAIN);
}

/* Spend credit. When none is left, a timer has the peer asked for more, in case
 * its update is late.
 */
static void rds_stream_spend(struct rds_stream *st, u32 cost)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	WRITE_ONCE(tx->tx_cost, tx->tx_cost + cost);
	if (!rds_stream_credit(tx) &&
	    !(st->st_armed & BIT(RDS_STREAM_T_CREDIT)))
		rds_stream_arm(st, RDS_STREAM_T_CREDIT, HZ);
}

/* Submit a frame unless the stream has ended or was shut down meanwhile. */
static bool rds_stream_write_frame(struct rds_stream *st,
				   struct rds_message *msg)
{
	u32 cost = msg->m_payload.len + RDS_FRAME_COST;
	bool done;

	spin_lock_bh(&st->st_lock);
	done = st->st_state == RDS_STREAM_OPEN &&
	       !(st->st_flags & RDS_STREAM_F_WR_SHUT) &&
	       !rds_stream_submit(st, msg, RDS_FRAME_RW, false);
	if (done)
		rds_stream_spend(st, cost);
	spin_unlock_bh(&st->st_lock);
	return done;
}

/* Write some bytes. Returns how many, or an errno; 0 if the peer has taken back
 * credit meanwhile.
 */
static int rds_stream_write_some(struct rds_stream *st, struct msghdr *msg,
				 size_t left)
{
	u32 credit = rds_stream_credit(&st->st_tx);
	u32 len = min_t(size_t, left, RDS_STREAM_CHUNK);
	struct rds_message *frame;

	len = min(len, credit);
	if (!len)
		return 0;
	frame = rds_upper_alloc(len, GFP_KERNEL);
	if (!frame)
		return -ENOMEM;
	if (rds_upper_fill(frame, &msg->msg_iter)) {
		rds_message_put(frame);
		return -EFAULT;
	}
	if (!rds_stream_write_frame(st, frame)) {
		rds_message_put(frame);
		return rds_stream_write_error(st) ?: -EPIPE;
	}
	rds_stream_push(st);
	return len;
}

static int rds_stream_write(struct rds_stream *st, struct msghdr *msg,
			    size_t len)
{
	long timeo = sock_sndtimeo(&st->st_sk, msg->msg_flags & MSG_DONTWAIT);
	size_t done = 0;
	int ret;

	while (done < len) {
		ret = rds_stream_wait_write(st, &timeo);
		if (!ret)
			ret = rds_stream_write_error(st);
		if (!ret)
			ret = rds_stream_write_some(st, msg, len - done);
		if (ret < 0)
			return done ?: ret;
		done += ret;
	}
	return done ?: rds_stream_write_error(st);
}

/* No control message of RDS has a meaning for streams. To ignore one would be
 * to send bytes that the user meant otherwise.
 */
static bool rds_stream_has_rds_cmsg(struct msghdr *msg)
{
	struct cmsghdr *cmsg;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg) || cmsg->cmsg_level == SOL_RDS)
			return true;
	}
	return false;
}

/* Prepare the notification of a write with MSG_ZEROCOPY, which is copied. Once
 * bytes are sent, it must not fail any more.
 */
static int rds_stream_prepare_notice(struct sock *sk, const struct msghdr *msg,
				     size_t len, struct ubuf_info **uarg)
{
	*uarg = NULL;
	if (likely(!(msg->msg_flags & MSG_ZEROCOPY)) || !len ||
	    !sock_flag(sk, SOCK_ZEROCOPY))
		return 0;
	*uarg = rds_stream_zerocopy(sk, len);
	if (!*uarg)
		return -ENOBUFS;
	uarg_to_msgzc(*uarg)->zerocopy = 0;
	return 0;
}

static int rds_stream_send_locked(struct rds_stream *st, struct msghdr *msg,
				  size_t len)
{
	struct ubuf_info *uarg;
	int ret;

	if (msg->msg_flags & ~RDS_STREAM_SEND_FLAGS)
		return -EOPNOTSUPP;
	if (unlikely(msg->msg_controllen) && rds_stream_has_rds_cmsg(msg))
		return -EINVAL;
	ret = rds_stream_prepare_notice(&st->st_sk, msg, len, &uarg);
	if (ret)
		return ret;
	ret = rds_stream_write(st, msg, len);
	if (likely(!uarg))
		return ret;
	if (ret > 0)
		net_zcopy_put(uarg);
	else
		net_zcopy_put_abort(uarg, true);
	return ret;
}

/**
 * rds_stream_sendmsg() - Implement sendmsg(2)
 * @sock: the socket
 * @msg: the bytes and flags
 * @len: number of bytes
 *
 * Context: Process context, may sleep. Takes the socket lock.
 * Return: the number of bytes written; -EPIPE, with SIGPIPE unless
 * MSG_NOSIGNAL; -ECONNRESET; -EAGAIN; -EFAULT; -ENOMEM; -EINVAL for control
 * messages of RDS; -EOPNOTSUPP for MSG_OOB and flags that are not known; or the
 * errno of a signal.
 */
int rds_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	int ret;

	lock_sock(sk);
	ret = rds_stream_send_locked(rds_stream(sk), msg, len);
	release_sock(sk);
	if (ret == -EPIPE)
		ret = sk_stream_error(sk, msg->msg_flags, ret);
	return ret;
}
