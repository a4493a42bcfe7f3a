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
 * A name is ignored, as by TCP. With MSG_ZEROCOPY, frames hold the pages of the
 * user, and references to the loan (net/rds/loan.h). If the transport cannot
 * send from these pages, loopback above all, or they are not worth it, the
 * bytes are copied, and the notification says so, as with TCP.
 */
#include <net/rds/loan.h>

#include "ready.h"
#include "stream.h"

/* There is no urgent data, and no data before the server has accepted. TCP
 * ignores other flags that mean nothing to it, and programs rely on that.
 */
#define RDS_STREAM_REFUSED_FLAGS	(MSG_OOB | MSG_FASTOPEN)

/* Payload up to which frames of several streams may share a transmission. That
 * takes less for each, and larger ones fill a segment anyway. Bytes in memory
 * of the user could not share one, so such a payload is copied.
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
 * @more: more bytes will follow, and these may wait for them
 * @small: the write is so small that all of it is copied
 * @offset: if @places, the offset in these
 * @loan: with MSG_ZEROCOPY, the loan of the memory of the bytes; or NULL
 */
struct rds_stream_target {
	bool			places;
	bool			more;
	bool			small;
	u64			offset;
	struct rds_loan		*loan;
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

static struct rds_message *rds_stream_copy_in(struct iov_iter *from, u32 len)
{
	struct rds_message *frame = rds_upper_alloc(len, GFP_KERNEL);
	int ret;

	if (!frame)
		return ERR_PTR(-ENOMEM);
	ret = rds_upper_fill(frame, from);
	if (!ret)
		return frame;
	rds_message_put(frame);
	return ERR_PTR(ret);
}

/* Make a frame of the next bytes. Returns an error pointer if that fails. */
static struct rds_message *
rds_stream_make_frame(struct rds_stream *st, struct iov_iter *from, u32 len,
		      const struct rds_stream_target *to)
{
	struct rds_message *frame;

	if (likely(!to->loan))
		return rds_stream_copy_in(from, len);
	if (len > RDS_STREAM_SMALL) {
		frame = rds_upper_alloc_user(st->st_conn, from, len, to->loan);
		if (frame)
			return frame;
	}
	/* That the rest of a larger write is copied is not worth telling. */
	if (len > RDS_STREAM_SMALL || to->small)
		rds_loan_note_copy(to->loan);
	return rds_stream_copy_in(from, len);
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
	frame = rds_stream_make_frame(st, &msg->msg_iter, len, to);
	if (IS_ERR(frame))
		return PTR_ERR(frame);
	ret = rds_stream_write_frame(st, frame, to);
	if (ret) {
		rds_message_put(frame);
		return ret;
	}
	if (unlikely(to->loan))
		rds_upper_lend_count(to->loan);
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

/* Have the bytes sent from where they are. A caller that has a completion of
 * its own (msg_ubuf) does not wait for a notification before it reuses the
 * memory.
 */
static int rds_stream_lend(struct rds_stream *st, const struct msghdr *msg,
			   size_t len, struct rds_stream_target *to)
{
	unsigned int pages = 0;

	if (!sock_flag(&st->st_sk, SOCK_ZEROCOPY) || msg->msg_ubuf)
		return 0;
	if (len > RDS_STREAM_SMALL)
		pages = iov_iter_npages(&msg->msg_iter, INT_MAX);
	if (!st->st_notices)
		st->st_notices = rds_upper_notices_alloc(&st->st_sk);
	if (st->st_notices)
		to->loan = rds_upper_lend(st->st_notices, pages);
	return to->loan ? 0 : -ENOBUFS;
}

static int rds_stream_send_locked(struct rds_stream *st, struct msghdr *msg,
				  size_t len)
{
	struct rds_stream_target to = {
		.more = (msg->msg_flags & MSG_MORE) ||
			st->st_opts[RDS_STREAM_CORK],
		.small = len <= RDS_STREAM_SMALL,
	};
	int ret = 0;

	if (msg->msg_flags & RDS_STREAM_REFUSED_FLAGS)
		return -EOPNOTSUPP;
	if (unlikely(msg->msg_controllen))
		ret = rds_stream_parse_cmsgs(msg, &to);
	if (!ret && unlikely(to.places))
		ret = rds_stream_check_target(st, len, &to);
	if (!ret && unlikely(msg->msg_flags & MSG_ZEROCOPY) && len)
		ret = rds_stream_lend(st, msg, len, &to);
	if (ret)
		return ret;
	ret = rds_stream_write(st, msg, len, &to);
	if (unlikely(to.loan))
		rds_loan_put(to.loan);
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
 * MSG_NOSIGNAL; -ECONNRESET; -EAGAIN; -EFAULT; -ENOMEM; -ENOBUFS for
 * MSG_ZEROCOPY, if the user may not lock so much memory, or has too many writes
 * whose notifications are not read, or there is no memory for one; -EINVAL for
 * control messages of RDS that streams do not have, and if the peer has no
 * mapping for all bytes of a RDS_CMSG_STREAM_WRITE; -EOPNOTSUPP for MSG_OOB and
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
