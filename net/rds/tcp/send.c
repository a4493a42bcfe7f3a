// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending.
 *
 * Small messages are put by, header and payload, and go to TCP together when
 * core says that no other follows, or the batch is full. The batch references
 * its messages: core regards them as sent. A large message is not put by: its
 * header is copied, its pages are spliced, and core offers it again until all
 * of it is with TCP. A payload in the sender's own pages goes by MSG_ZEROCOPY,
 * so that whoever receives it on this host, without a wire between, is given a
 * copy; and not the ack, but the last packet that refers to it, ends it.
 *
 * Each message is marked with the place in the stream where it ends. TCP calls
 * rds_tcp_write_space() for every ack, because SOCK_NOSPACE stays set, and
 * core is told how far they have come; it compares the marks.
 *
 * The fields tp_tx_* and the batch belong to the holder of the path's transmit
 * lock. The socket lock is taken for each piece of work with TCP; letting it go
 * may deliver what has been received meanwhile.
 */
#include <net/tcp.h>

#include "compat.h"
#include "tcp.h"

#define RDS_TCP_MSG_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

/* Only acks are to call us: what is sent while we hold the lock is no news, and
 * acks that come meanwhile are looked at when we let it go.
 */
static void rds_tcp_tx_lock(struct sock *sk)
{
	lock_sock(sk);
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

static void rds_tcp_tx_unlock(struct sock *sk)
{
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	release_sock(sk);
}

/* TCP took nothing. It tells us when it has room, if it is for lack of that;
 * memory is asked for again.
 */
static int rds_tcp_tx_full(struct rds_tcp_path *tp, struct sock *sk)
{
	rds_tcp_stat_inc(tp->tp_tn, tcp_sndbuf_full);
	if (sk_stream_is_writeable(sk))
		return -ENOMEM;
	tp->tp_kick = true;
	return -EAGAIN;
}

/* Send bytes of the kernel's, from @skip on. Returns how many TCP took. */
static int rds_tcp_tx_copy(struct rds_tcp_path *tp, struct sock *sk,
			   struct kvec *vec, unsigned int nr, size_t skip,
			   size_t len, int flags)
{
	struct msghdr mh = { .msg_flags = RDS_TCP_MSG_FLAGS | flags };
	int ret;

	iov_iter_kvec(&mh.msg_iter, ITER_SOURCE, vec, nr, len);
	iov_iter_advance(&mh.msg_iter, skip);
	ret = tcp_sendmsg_locked(sk, &mh, len - skip);
	return ret == -EAGAIN ? rds_tcp_tx_full(tp, sk) : ret;
}

static void rds_tcp_batch_put(struct rds_tcp_batch *b)
{
	unsigned int i;

	for (i = 0; i < b->b_nr; i++)
		rds_message_put(b->b_msg[i]);
	b->b_nr = 0;
	b->b_bytes = 0;
	b->b_sent = 0;
}

/* Send the batch. Returns 0 when all of it is with TCP. */
static int rds_tcp_batch_send(struct rds_tcp_path *tp, int flags)
{
	struct rds_tcp_batch *b = &tp->tp_batch;
	struct sock *sk = tp->tp_sock->sk;
	int ret = 0;

	rds_tcp_tx_lock(sk);
	while (b->b_sent < b->b_bytes) {
		ret = rds_tcp_tx_copy(tp, sk, b->b_vec, 2 * b->b_nr, b->b_sent,
				      b->b_bytes, flags);
		if (ret < 0)
			break;
		b->b_sent += ret;
	}
	rds_tcp_tx_unlock(sk);
	if (ret < 0)
		return ret;

	tp->tp_tx_corked = flags & MSG_MORE;
	rds_tcp_batch_put(b);
	return 0;
}

static void rds_tcp_batch_add(struct rds_tcp_path *tp, struct rds_message *msg)
{
	struct rds_tcp_batch *b = &tp->tp_batch;
	struct rds_header *hdr = &b->b_hdr[b->b_nr];
	struct kvec *vec = &b->b_vec[2 * b->b_nr];

	rds_message_header(msg, 0, hdr);
	vec[0].iov_base = hdr;
	vec[0].iov_len = sizeof(*hdr);
	vec[1].iov_base = msg->m_payload.data;
	vec[1].iov_len = msg->m_payload.len;
	b->b_msg[b->b_nr++] = rds_message_get(msg);
	b->b_bytes += sizeof(*hdr) + msg->m_payload.len;
	tp->tp_tx_seq += sizeof(*hdr) + msg->m_payload.len;
	WRITE_ONCE(msg->m_mark, tp->tp_tx_seq);
}

/* Send a header of which TCP has taken tp_tx_off bytes. */
static int rds_tcp_tx_header(struct rds_tcp_path *tp, struct sock *sk,
			     struct rds_header *hdr)
{
	struct kvec vec = { .iov_base = hdr, .iov_len = sizeof(*hdr) };
	int ret;

	while (tp->tp_tx_off < sizeof(*hdr)) {
		ret = rds_tcp_tx_copy(tp, sk, &vec, 1, tp->tp_tx_off,
				      sizeof(*hdr), MSG_MORE);
		if (ret < 0)
			return ret;
		tp->tp_tx_off += ret;
	}
	return 0;
}

static int rds_tcp_tx_pages(struct rds_tcp_path *tp, struct sock *sk,
			    const struct rds_payload *payload, int flags)
{
	u32 skip;
	int ret;

	while (tp->tp_tx_off < sizeof(struct rds_header) + payload->len) {
		skip = tp->tp_tx_off - sizeof(struct rds_header);
		ret = rds_tcp_splice(sk, payload->bvec, payload->nr, skip,
				     payload->len - skip,
				     RDS_TCP_MSG_FLAGS | flags);
		if (ret == -EAGAIN)
			return rds_tcp_tx_full(tp, sk);
		if (ret < 0)
			return ret;
		tp->tp_tx_off += ret;
	}
	return 0;
}

/* Where the checksum is not the device's to compute, TCP is to copy: what the
 * sender writes meanwhile would make it wrong, and the stream is not his alone.
 */
static int rds_tcp_tx_user(struct rds_tcp_path *tp, struct sock *sk,
			   const struct rds_message *msg, int flags)
{
	struct msghdr mh = { .msg_flags = RDS_TCP_MSG_FLAGS | flags };
	const struct rds_payload *payload = &msg->m_payload;
	u32 skip;
	int ret;

	if (sk->sk_route_caps & NETIF_F_CSUM_MASK) {
		mh.msg_flags |= MSG_ZEROCOPY;
		mh.msg_ubuf = msg->m_ubuf;
	}
	while (tp->tp_tx_off < sizeof(struct rds_header) + payload->len) {
		skip = tp->tp_tx_off - sizeof(struct rds_header);
		iov_iter_bvec(&mh.msg_iter, ITER_SOURCE, payload->bvec,
			      payload->nr,
			      payload->len);
		iov_iter_advance(&mh.msg_iter, skip);
		ret = tcp_sendmsg_locked(sk, &mh, payload->len - skip);
		if (ret == -EAGAIN)
			return rds_tcp_tx_full(tp, sk);
		if (ret < 0)
			return ret;
		tp->tp_tx_off += ret;
	}
	return 0;
}

static int rds_tcp_tx_large(struct rds_tcp_path *tp, struct rds_message *msg,
			    bool more)
{
	int flags = more ? MSG_MORE : 0, ret;
	struct sock *sk = tp->tp_sock->sk;
	struct rds_header hdr;
	u32 end;

	end = tp->tp_tx_seq + sizeof(hdr) + msg->m_payload.len;
	WRITE_ONCE(msg->m_mark, end);
	rds_message_header(msg, 0, &hdr);

	rds_tcp_tx_lock(sk);
	ret = rds_tcp_tx_header(tp, sk, &hdr);
	if (!ret && msg->m_payload.kind == RDS_PAYLOAD_USER)
		ret = rds_tcp_tx_user(tp, sk, msg, flags);
	else if (!ret)
		ret = rds_tcp_tx_pages(tp, sk, &msg->m_payload, flags);
	rds_tcp_tx_unlock(sk);
	if (ret)
		return ret;

	tp->tp_tx_seq = end;
	tp->tp_tx_off = 0;
	tp->tp_tx_corked = more;
	return RDS_XMIT_SENT;
}

/**
 * rds_tcp_xmit() - send a message, or go on with one
 * @path: the path
 * @msg: the message
 * @more: another follows at once
 *
 * Context: process, may sleep; the path's transmit lock is held.
 * Return: see &rds_data_ops.xmit.
 */
int rds_tcp_xmit(struct rds_path *path, struct rds_message *msg, bool more)
{
	struct rds_tcp_path *tp = path->data;
	bool large = msg->m_payload.kind == RDS_PAYLOAD_KERNEL ||
		     msg->m_payload.kind == RDS_PAYLOAD_USER;
	int ret;

	if (tp->tp_batch.b_nr == RDS_TCP_BATCH ||
	    tp->tp_batch.b_sent || (large && tp->tp_batch.b_nr)) {
		ret = rds_tcp_batch_send(tp, MSG_MORE);
		if (ret)
			return ret;
	}
	if (large)
		return rds_tcp_tx_large(tp, msg, more);

	rds_tcp_batch_add(tp, msg);
	return RDS_XMIT_SENT;
}

/**
 * rds_tcp_flush() - send what was put by
 * @path: the path
 *
 * Context: process, may sleep; the path's transmit lock is held.
 * Return: see &rds_data_ops.flush.
 */
int rds_tcp_flush(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;

	if (tp->tp_batch.b_nr)
		return rds_tcp_batch_send(tp, 0);
	if (tp->tp_tx_corked) {
		tp->tp_tx_corked = false;
		/* Pushes what TCP holds back. */
		tcp_sock_set_nodelay(tp->tp_sock->sk);
	}
	return 0;
}

static int rds_tcp_tx_map(struct rds_tcp_path *tp, struct sock *sk,
			  const void *map)
{
	struct rds_header hdr = {
		.h_len		= cpu_to_be32(RDS_CONG_MAP_BYTES),
		.h_flags	= RDS_FLAG_CONG_BITMAP,
	};
	struct kvec vec[2] = {
		{ .iov_base = &hdr, .iov_len = sizeof(hdr) },
		{ .iov_base = (void *)map, .iov_len = RDS_CONG_MAP_BYTES },
	};
	const u32 len = sizeof(hdr) + RDS_CONG_MAP_BYTES;
	int ret;

	tp->tp_map_mark = tp->tp_tx_seq + len;
	tp->tp_map_pending = true;
	while (tp->tp_tx_off < len) {
		ret = rds_tcp_tx_copy(tp, sk, vec, 2, tp->tp_tx_off, len, 0);
		if (ret < 0)
			return ret;
		tp->tp_tx_off += ret;
	}
	tp->tp_tx_seq += len;
	return 0;
}

/**
 * rds_tcp_xmit_cong_map() - send a congestion map, or go on with one
 * @path: the path
 * @map: the map
 *
 * Context: process, may sleep; the path's transmit lock is held.
 * Return: see &rds_data_ops.xmit_cong_map.
 */
int rds_tcp_xmit_cong_map(struct rds_path *path, const void *map)
{
	struct rds_tcp_path *tp = path->data;
	struct sock *sk = tp->tp_sock->sk;
	int ret;

	if (tp->tp_batch.b_nr) {
		ret = rds_tcp_batch_send(tp, MSG_MORE);
		if (ret)
			return ret;
	}

	rds_tcp_tx_lock(sk);
	ret = rds_tcp_tx_map(tp, sk, map);
	rds_tcp_tx_unlock(sk);
	if (ret)
		return ret;

	tp->tp_tx_off = 0;
	tp->tp_tx_corked = false;
	return RDS_XMIT_SENT;
}

/*
 * The peer has answered a probe of its closed window, so it is alive, and the
 * user timeout starts again. TCP has already set the timer of the next probe to
 * at most what was left of that timeout. If all of it was left, the timer finds
 * it over before a probe is sent, and TCP gives up the peer. So have the next
 * probe sent after half of the timeout at the latest. The socket is locked.
 */
static void rds_tcp_probe_answered(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	unsigned long half;

	icsk->icsk_probes_tstamp = tcp_jiffies32;
	if (icsk->icsk_pending != ICSK_TIME_PROBE0)
		return;

	half = msecs_to_jiffies(icsk->icsk_user_timeout) / 2;
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_PROBE0,
				  tcp_probe0_when(sk, half), TCP_RTO_MAX);
}

/**
 * rds_tcp_has_all_acked() - has the peer everything that TCP was given?
 * @sk: the socket
 *
 * Context: any; exact if the socket is locked.
 * Return: true if it has.
 */
bool rds_tcp_has_all_acked(const struct sock *sk)
{
	const struct tcp_sock *tcp = tcp_sk(sk);

	return READ_ONCE(tcp->snd_una) == READ_ONCE(tcp->write_seq);
}

/**
 * rds_tcp_end_news() - something has happened to a connection
 * @tp: the path
 * @sk: its socket, locked
 *
 * If it is being ended, that may go on.
 *
 * Context: softirq or process.
 */
void rds_tcp_end_news(struct rds_tcp_path *tp, const struct sock *sk)
{
	if (unlikely(tp->tp_ending) &&
	    (sk->sk_state == TCP_CLOSE ||
	     (!tp->tp_all_acked && rds_tcp_has_all_acked(sk))))
		rds_path_kick(tp->tp_path);
}

/**
 * rds_tcp_acked() - tell core what the peer has acknowledged
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: softirq or process.
 */
void rds_tcp_acked(struct rds_tcp_path *tp, struct sock *sk)
{
	u32 una = tcp_sk(sk)->snd_una;

	/* A peer that answers probes of its closed window is alive, however
	 * long that stays closed: only silence is to count. But what waits for
	 * one that no socket of this host deals with are answers to pings, and
	 * those are not kept for ever.
	 */
	if (unlikely(inet_csk(sk)->icsk_probes_tstamp) &&
	    rds_path_is_used(tp->tp_path))
		rds_tcp_probe_answered(sk);

	if (!tp->tp_up || tp->tp_all_acked || una == tp->tp_una)
		return;

	tp->tp_una = una;
	rds_path_ack_mark(tp->tp_path, una);
	if (tp->tp_map_pending && !before(una, tp->tp_map_mark)) {
		tp->tp_map_pending = false;
		rds_path_map_acked(tp->tp_path);
	}
}

/**
 * rds_tcp_send_reset() - at the beginning of a stream
 * @tp: the path; the path's transmit lock is held, or nobody can send yet
 *
 * Context: process.
 */
void rds_tcp_send_reset(struct rds_tcp_path *tp)
{
	rds_tcp_batch_put(&tp->tp_batch);
	tp->tp_tx_off = 0;
	tp->tp_tx_corked = false;
	tp->tp_kick = false;
	tp->tp_map_pending = false;
}

/**
 * rds_tcp_write_space() - TCP has sent something, or an ack has come
 * @sk: the socket of a path, locked; so it is the path's until we return
 *
 * The bit that has TCP call us is left as it is.
 *
 * Context: softirq or process.
 */
void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	rds_tcp_stat_inc(tp->tp_tn, tcp_write_space_calls);
	rds_tcp_acked(tp, sk);
	if (tp->tp_kick && sk_stream_is_writeable(sk)) {
		tp->tp_kick = false;
		rds_path_kick(tp->tp_path);
	}
	rds_tcp_end_news(tp, sk);
}
