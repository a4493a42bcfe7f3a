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
 * A write to mappings of the peer (maps.c) becomes PUTs, which cost no credit,
 * and do not wait for more bytes.
 *
 * With MSG_MORE or TCP_CORK, a frame is submitted, but not sent until so many
 * bytes have joined it that they fill a segment, or for RDS_STREAM_CORK_LASTS.
 * It is also sent before a task waits to write, as it may hold what the task
 * waits for, and by all that sends a frame behind it.
 *
 * A name is ignored, as by TCP. MSG_ZEROCOPY copies, and says so in its
 * notification, as TCP does to addresses of its own host.
 */
#include <linux/skbuff.h>

#include "compat.h"
#include "ready.h"
#include "stream.h"

/* There is no urgent data, and no data before the server has accepted. TCP
 * ignores other flags that mean nothing to it, and programs rely on that.
 */
#define RDS_STREAM_REFUSED_FLAGS	(MSG_OOB | MSG_FASTOPEN)

/* Payload up to which frames of several streams may share a transmission. That
 * takes less for each, and larger ones fill a segment anyway.
 */
#define RDS_STREAM_SMALL	1024

/* How long bytes wait for more, in jiffies, and how many wait, as with TCP: a
 * segment that is not full
 */
#define RDS_STREAM_CORK_LASTS	DIV_ROUND_UP(HZ, 5)
#define RDS_STREAM_CORK_MOST	SZ_64K

/**
 * struct rds_stream_target - where the bytes of a write go
 * @places: to mappings of the peer, not into the stream
 * @offset: if so, the offset in these
 * @more: more bytes will follow, and these may wait for them
 */
struct rds_stream_target {
	bool	places;
	bool	more;
	u64	offset;
};

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

static bool rds_stream_writer_goes_on(const struct rds_stream *st, bool places)
{
	return rds_stream_may_write(st, places) || READ_ONCE(st->st_sk.sk_err);
}

static bool rds_stream_write_ready(struct rds_stream *st, size_t places)
{
	if (rds_stream_writer_goes_on(st, places))
		return true;
	rds_stream_no_space(st);
	if (!places)
		rds_stream_starve(st);
	return rds_stream_writer_goes_on(st, places);
}

/**
 * rds_stream_wait_write() - Wait until a frame with payload may be submitted
 * @st: the stream
 * @places: whether it needs no credit
 * @timeo: time to wait, in jiffies; set to what is left
 *
 * Context: Process context, may sleep. The socket lock is held, and released
 * while the task sleeps.
 * Return: 0, also if the stream has ended; -EAGAIN; or the errno of a signal.
 */
int rds_stream_wait_write(struct rds_stream *st, bool places, long *timeo)
{
	unsigned int *placers = &st->st_maps.sm_placers;
	int ret;

	if (rds_stream_write_ready(st, places))
		return 0;
	rds_stream_uncork(st);
	/* Room in the send buffer is no news for those that need credit. */
	WRITE_ONCE(*placers, *placers + places);
	ret = rds_stream_wait(st, rds_stream_write_ready, places, timeo,
			      -EAGAIN);
	WRITE_ONCE(*placers, *placers - places);
	return ret;
}

static void rds_stream_spend(struct rds_stream *st, u32 cost)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	WRITE_ONCE(tx->tx_cost, tx->tx_cost + cost);
	rds_stream_watch_credit(st);
}

/* Count the bytes of a frame that was submitted as waiting for more. If they do
 * not wait, the caller sends them.
 */
static void rds_stream_cork(struct rds_stream *st, u32 len, bool more)
	__must_hold(&st->st_lock)
{
	struct rds_stream_tx *tx = &st->st_tx;

	lockdep_assert_held(&st->st_lock);
	if (!more || tx->tx_corked + len >= RDS_STREAM_CORK_MOST ||
	    !rds_stream_may_write(st, false)) {
		tx->tx_corked = 0;
		rds_stream_disarm(st, RDS_STREAM_T_CORK);
		return;
	}
	if (!tx->tx_corked)
		rds_stream_arm(st, RDS_STREAM_T_CORK, RDS_STREAM_CORK_LASTS);
	tx->tx_corked += len;
}

/* Submit a frame with payload. Its place may be gone since it was checked. */
static int rds_stream_submit_bytes(struct rds_stream *st,
				   struct rds_message *msg,
				   const struct rds_stream_target *to)
	__must_hold(&st->st_lock)
{
	u32 len = msg->m_payload.len, key, at;
	int ret;

	lockdep_assert_held(&st->st_lock);
	if (unlikely(to->places)) {
		ret = rds_stream_find_place(st, to->offset, len, &key, &at);
		return ret ?: rds_stream_submit_put(st, msg, key, at);
	}
	ret = rds_stream_submit(st, msg, RDS_FRAME_RW, false);
	if (ret)
		return ret;
	rds_stream_spend(st, len + RDS_FRAME_COST);
	rds_stream_cork(st, len, to->more);
	return 0;
}

/* Submit a frame unless the stream has ended or was shut down meanwhile. */
static int rds_stream_write_frame(struct rds_stream *st,
				  struct rds_message *msg,
				  const struct rds_stream_target *to)
{
	int ret = -ENOTCONN;

	spin_lock_bh(&st->st_lock);
	if (st->st_state == RDS_STREAM_OPEN &&
	    !(st->st_flags & RDS_STREAM_F_WR_SHUT))
		ret = rds_stream_submit_bytes(st, msg, to);
	spin_unlock_bh(&st->st_lock);
	if (ret == -ENOTCONN)
		return rds_stream_write_error(st) ?: -EPIPE;
	return ret;
}

/* Write some bytes. Returns how many, or an errno; 0 if the peer has taken back
 * credit meanwhile.
 */
static int rds_stream_write_some(struct rds_stream *st, struct msghdr *msg,
				 size_t left,
				 const struct rds_stream_target *to)
{
	u32 credit = rds_stream_credit(&st->st_tx);
	u32 len = min_t(size_t, left, RDS_STREAM_CHUNK);
	struct rds_message *frame;
	int ret;

	if (!to->places)
		len = min(len, credit);
	if (!len)
		return 0;
	frame = rds_upper_alloc(len, GFP_KERNEL);
	if (!frame)
		return -ENOMEM;
	ret = rds_upper_fill(frame, &msg->msg_iter);
	if (!ret)
		ret = rds_stream_write_frame(st, frame, to);
	if (ret) {
		rds_message_put(frame);
		return ret;
	}
	if (unlikely(!to->places && READ_ONCE(st->st_tx.tx_corked)))
		return len;
	if (len <= RDS_STREAM_SMALL)
		rds_stream_push_small(st);
	else
		rds_stream_push(st);
	return len;
}

static int rds_stream_write(struct rds_stream *st, struct msghdr *msg,
			    size_t len, struct rds_stream_target *to)
{
	long timeo = sock_sndtimeo(&st->st_sk, msg->msg_flags & MSG_DONTWAIT);
	size_t done = 0;
	int ret = 0;

	/* As TCP, also if there is nothing to write. */
	if (!len)
		ret = rds_stream_wait(st, rds_stream_has_connected, 0, &timeo,
				      -EAGAIN);
	if (ret)
		return ret;
	while (done < len) {
		ret = rds_stream_wait_write(st, to->places, &timeo);
		if (!ret)
			ret = rds_stream_write_error(st);
		if (!ret)
			ret = rds_stream_write_some(st, msg, len - done, to);
		if (ret < 0)
			return done ?: ret;
		done += ret;
		to->offset += ret;
	}
	return done ?: rds_stream_write_error(st);
}

/* Find out where the bytes go. No other control message of RDS has a meaning
 * for streams. To ignore one would be to send bytes that the user meant
 * otherwise.
 */
static int rds_stream_parse_cmsgs(struct msghdr *msg,
				  struct rds_stream_target *to)
{
	struct cmsghdr *cmsg;

	for_each_cmsghdr(cmsg, msg) {
		if (!CMSG_OK(msg, cmsg))
			return -EINVAL;
		if (cmsg->cmsg_level != SOL_RDS)
			continue;
		if (cmsg->cmsg_type != RDS_CMSG_STREAM_WRITE || to->places ||
		    cmsg->cmsg_len != CMSG_LEN(sizeof(to->offset)))
			return -EINVAL;
		memcpy(&to->offset, CMSG_DATA(cmsg), sizeof(to->offset));
		to->places = true;
	}
	return 0;
}

/* Check that all bytes of a write are for one mapping, so that none is written
 * if they are not.
 */
static int rds_stream_check_target(struct rds_stream *st, size_t len,
				   const struct rds_stream_target *to)
{
	u32 key, at;
	int ret;

	ret = rds_stream_write_error(st);
	if (ret)
		return ret;
	spin_lock_bh(&st->st_lock);
	ret = rds_stream_find_place(st, to->offset, len, &key, &at);
	spin_unlock_bh(&st->st_lock);
	return ret;
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
	struct rds_stream_target to = {
		.more = (msg->msg_flags & MSG_MORE) ||
			st->st_opts[RDS_STREAM_CORK],
	};
	struct ubuf_info *uarg;
	int ret = 0;

	if (msg->msg_flags & RDS_STREAM_REFUSED_FLAGS)
		return -EOPNOTSUPP;
	if (unlikely(msg->msg_controllen))
		ret = rds_stream_parse_cmsgs(msg, &to);
	if (!ret && unlikely(to.places))
		ret = rds_stream_check_target(st, len, &to);
	if (ret)
		return ret;
	ret = rds_stream_prepare_notice(&st->st_sk, msg, len, &uarg);
	if (ret)
		return ret;
	ret = rds_stream_write(st, msg, len, &to);
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
 * messages of RDS that streams do not have, and if the peer has no mapping for
 * all bytes of a RDS_CMSG_STREAM_WRITE; -EOPNOTSUPP for MSG_OOB and
 * MSG_FASTOPEN; or the errno of a signal.
 */
int rds_stream_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct rds_stream *st = rds_stream(sock->sk);
	int ret;

	mutex_lock(&st->st_mutex);
	ret = rds_stream_send_locked(st, msg, len);
	mutex_unlock(&st->st_mutex);
	if (ret == -EPIPE)
		ret = sk_stream_error(sock->sk, msg->msg_flags, ret);
	return ret;
}

/**
 * rds_stream_splice_eof() - Send what sendfile() has promised more for
 * @sock: the socket
 *
 * sendfile() has found the end of the file earlier than it was told.
 *
 * Context: Process context, may sleep. Takes the socket lock.
 */
void rds_stream_splice_eof(struct socket *sock)
{
	struct rds_stream *st = rds_stream(sock->sk);

	mutex_lock(&st->st_mutex);
	if (!st->st_opts[RDS_STREAM_CORK])
		rds_stream_uncork(st);
	mutex_unlock(&st->st_mutex);
}
