// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending.
 *
 * Small messages are batched, header and payload. The batch is passed to TCP
 * when core indicates that no other message follows, when it is full, and
 * before a large message or a congestion map. The batch holds references to its
 * messages, because core regards them as sent.
 *
 * A large message is not batched. Its header is copied and its pages are
 * spliced. Core passes the message to xmit() again until TCP has taken all of
 * it.
 *
 * A payload in the sender's own pages is sent with MSG_ZEROCOPY, if the device
 * computes checksums. If such packets are received on this host, without a wire
 * in between, the stack gives the receiver a copy. The pages are free again
 * when the last packet that refers to them is freed, not when the payload is
 * acknowledged.
 *
 * The mark of a message is the position in the stream where it ends.
 * SOCK_NOSPACE stays set, so TCP calls rds_tcp_write_space() for every ack. We
 * pass the acknowledged position to core, which compares it with the marks.
 *
 * The path's transmit lock guards the fields of tp_tx that describe what has
 * been passed to us, among them the batch (path_parts.h). The TCP socket lock
 * is taken for each operation on TCP. Releasing it may deliver data that has
 * been received meanwhile.
 */
#include <net/rds/loan.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp.h"
#include "trace.h"

#define RDS_TCP_MSG_FLAGS	(MSG_DONTWAIT | MSG_NOSIGNAL)

/* TCP must call rds_tcp_write_space() when acks arrive, not when we send. So
 * clear SOCK_NOSPACE while we hold the lock. Acks that arrive meanwhile are
 * processed when the lock is released, and the bit is set again by then.
 */
static void rds_tcp_tx_lock(struct sock *sk)
{
	lock_sock(sk);
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
}

/* @ret: what the operation returns. -EAGAIN is no error: the send buffer is
 * full.
 */
static void rds_tcp_tx_unlock(struct rds_tcp_path *tp, struct sock *sk, int ret)
{
	if (unlikely(ret < 0) && ret != -EAGAIN)
		trace_rds_tcp_send_error(tp, sk, ret);
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	release_sock(sk);
}

/* Choose the errno if TCP has taken nothing. If the send buffer is full, TCP
 * notifies us when there is room: return -EAGAIN. Otherwise memory is short:
 * return -ENOMEM, so that core tries again.
 */
static int rds_tcp_tx_full(struct rds_tcp_path *tp, struct sock *sk)
{
	rds_tcp_stat_inc(tp->tp_tn, tcp_sndbuf_full);
	if (sk_stream_is_writeable(sk))
		return -ENOMEM;
	tp->tp_tx.tt_kick = true;
	return -EAGAIN;
}

/* Send @len bytes of kernel memory, except the first @skip. Returns how many
 * bytes TCP has taken, or an errno.
 */
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

/* Send the batch. Returns 0 when TCP has taken all of it. */
static int rds_tcp_batch_send(struct rds_tcp_path *tp, int flags)
{
	struct rds_tcp_batch *b = &tp->tp_tx.tt_batch;
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
	rds_tcp_tx_unlock(tp, sk, ret);
	if (ret < 0)
		return ret;

	tp->tp_tx.tt_corked = flags & MSG_MORE;
	rds_tcp_batch_put(b);
	return 0;
}

static void rds_tcp_batch_add(struct rds_tcp_path *tp, struct rds_message *msg)
{
	struct rds_tcp_batch *b = &tp->tp_tx.tt_batch;
	struct rds_header *hdr = &b->b_hdr[b->b_nr];
	struct kvec *vec = &b->b_vec[2 * b->b_nr];

	rds_message_header(msg, 0, hdr);
	vec[0].iov_base = hdr;
	vec[0].iov_len = sizeof(*hdr);
	vec[1].iov_base = msg->m_payload.data;
	vec[1].iov_len = msg->m_payload.len;
	b->b_msg[b->b_nr++] = rds_message_get(msg);
	b->b_bytes += sizeof(*hdr) + msg->m_payload.len;
	tp->tp_tx.tt_seq += sizeof(*hdr) + msg->m_payload.len;
	WRITE_ONCE(msg->m_mark, tp->tp_tx.tt_seq);
}

/* Send the rest of a header. TCP has taken tp_tx.tt_off bytes of it already. */
static int rds_tcp_tx_header(struct rds_tcp_path *tp, struct sock *sk,
			     struct rds_header *hdr)
{
	u32 skip;
	int ret;

	while (tp->tp_tx.tt_off < sizeof(*hdr)) {
		skip = tp->tp_tx.tt_off;
		ret = rds_tcp_copy_before(sk, (void *)hdr + skip,
					  sizeof(*hdr) - skip,
					  RDS_TCP_MSG_FLAGS);
		if (ret == -EAGAIN)
			return rds_tcp_tx_full(tp, sk);
		if (ret < 0)
			return ret;
		tp->tp_tx.tt_off += ret;
	}
	return 0;
}

static int rds_tcp_tx_pages(struct rds_tcp_path *tp, struct sock *sk,
			    const struct rds_payload *payload, int flags)
{
	u32 skip;
	int ret;

	while (tp->tp_tx.tt_off < sizeof(struct rds_header) + payload->len) {
		skip = tp->tp_tx.tt_off - sizeof(struct rds_header);
		ret = rds_tcp_splice(sk, payload->bvec, payload->nr, skip,
				     payload->len - skip,
				     RDS_TCP_MSG_FLAGS | flags);
		if (ret == -EAGAIN)
			return rds_tcp_tx_full(tp, sk);
		if (ret < 0)
			return ret;
		tp->tp_tx.tt_off += ret;
	}
	return 0;
}

/* If the device does not compute checksums, TCP must copy a payload in the
 * sender's own pages. The sender may write to its pages at any time, which
 * would invalidate a checksum computed by software. That would harm other
 * senders, which share the stream. Without NETIF_F_SG, TCP copies by itself.
 */
static bool rds_tcp_tx_reads_in_place(const struct sock *sk)
{
	return (sk->sk_route_caps & NETIF_F_CSUM_MASK) &&
	       (sk->sk_route_caps & NETIF_F_SG);
}

/* Send the rest of a payload in the sender's own pages. */
static int rds_tcp_tx_user(struct rds_tcp_path *tp, struct sock *sk,
			   const struct rds_message *msg, int flags)
{
	struct msghdr mh = { .msg_flags = RDS_TCP_MSG_FLAGS | flags };
	const struct rds_payload *payload = &msg->m_payload;
	u32 skip;
	int ret;

	if (rds_tcp_tx_reads_in_place(sk)) {
		mh.msg_flags |= MSG_ZEROCOPY;
		mh.msg_ubuf = &msg->m_loan->ln_ubuf;
	} else {
		rds_loan_note_copy(msg->m_loan);
	}
	while (tp->tp_tx.tt_off < sizeof(struct rds_header) + payload->len) {
		skip = tp->tp_tx.tt_off - sizeof(struct rds_header);
		iov_iter_bvec(&mh.msg_iter, ITER_SOURCE, payload->bvec,
			      payload->nr, payload->len);
		iov_iter_advance(&mh.msg_iter, skip);
		ret = tcp_sendmsg_locked(sk, &mh, payload->len - skip);
		if (ret == -EAGAIN)
			return rds_tcp_tx_full(tp, sk);
		if (ret < 0)
			return ret;
		tp->tp_tx.tt_off += ret;
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

	end = tp->tp_tx.tt_seq + sizeof(hdr) + msg->m_payload.len;
	WRITE_ONCE(msg->m_mark, end);
	rds_message_header(msg, 0, &hdr);

	rds_tcp_tx_lock(sk);
	ret = rds_tcp_tx_header(tp, sk, &hdr);
	if (!ret && msg->m_payload.kind == RDS_PAYLOAD_USER)
		ret = rds_tcp_tx_user(tp, sk, msg, flags);
	else if (!ret)
		ret = rds_tcp_tx_pages(tp, sk, &msg->m_payload, flags);
	rds_tcp_tx_unlock(tp, sk, ret);
	if (ret)
		return ret;

	tp->tp_tx.tt_seq = end;
	tp->tp_tx.tt_off = 0;
	tp->tp_tx.tt_corked = more;
	return RDS_XMIT_SENT;
}

/**
 * rds_tcp_xmit() - Send a message, or continue to send one
 * @path: the path
 * @msg: the message
 * @more: another message follows at once
 *
 * Context: Process context, may sleep. The path's transmit lock is held.
 * Return: see &rds_data_ops.xmit.
 */
int rds_tcp_xmit(struct rds_path *path, struct rds_message *msg, bool more)
{
	struct rds_tcp_path *tp = path->data;
	bool large = msg->m_payload.kind == RDS_PAYLOAD_KERNEL ||
		     msg->m_payload.kind == RDS_PAYLOAD_USER;
	int ret;

	if (tp->tp_tx.tt_batch.b_nr == RDS_TCP_BATCH ||
	    tp->tp_tx.tt_batch.b_sent || (large && tp->tp_tx.tt_batch.b_nr)) {
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
 * rds_tcp_flush() - Send the batched messages
 * @path: the path
 *
 * Context: Process context, may sleep. The path's transmit lock is held.
 * Return: see &rds_data_ops.flush.
 */
int rds_tcp_flush(struct rds_path *path)
{
	struct rds_tcp_path *tp = path->data;

	if (tp->tp_tx.tt_batch.b_nr)
		return rds_tcp_batch_send(tp, 0);
	if (tp->tp_tx.tt_corked) {
		tp->tp_tx.tt_corked = false;
		/* This pushes the data that TCP holds back. */
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

	tp->tp_tx.tt_map_mark = tp->tp_tx.tt_seq + len;
	tp->tp_tx.tt_map_pending = true;
	while (tp->tp_tx.tt_off < len) {
		ret = rds_tcp_tx_copy(tp, sk, vec, 2, tp->tp_tx.tt_off, len, 0);
		if (ret < 0)
			return ret;
		tp->tp_tx.tt_off += ret;
	}
	tp->tp_tx.tt_seq += len;
	return 0;
}

/**
 * rds_tcp_xmit_cong_map() - Send a congestion map, or continue to send one
 * @path: the path
 * @map: the map
 *
 * Context: Process context, may sleep. The path's transmit lock is held.
 * Return: see &rds_data_ops.xmit_cong_map.
 */
int rds_tcp_xmit_cong_map(struct rds_path *path, const void *map)
{
	struct rds_tcp_path *tp = path->data;
	struct sock *sk = tp->tp_sock->sk;
	int ret;

	if (tp->tp_tx.tt_batch.b_nr) {
		ret = rds_tcp_batch_send(tp, MSG_MORE);
		if (ret)
			return ret;
	}

	rds_tcp_tx_lock(sk);
	ret = rds_tcp_tx_map(tp, sk, map);
	rds_tcp_tx_unlock(tp, sk, ret);
	if (ret)
		return ret;

	tp->tp_tx.tt_off = 0;
	tp->tp_tx.tt_corked = false;
	return RDS_XMIT_SENT;
}

/*
 * The peer has answered a probe of its closed window, so it is alive: restart
 * the user timeout. TCP has already set the timer of the next probe, perhaps to
 * the full user timeout. When that timer fires, the user timeout has expired,
 * too, and TCP drops the connection instead of sending the probe. So have the
 * next probe sent after at most half of the user timeout. The socket is locked.
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
 * rds_tcp_has_all_acked() - Check whether the peer has acknowledged all data
 * @sk: the socket
 *
 * Context: Any context; the result is exact if the socket is locked.
 * Return: true if the peer has acknowledged all data that we gave to TCP.
 */
bool rds_tcp_has_all_acked(const struct sock *sk)
{
	const struct tcp_sock *tcp = tcp_sk(sk);

	return READ_ONCE(tcp->snd_una) == READ_ONCE(tcp->write_seq);
}

/**
 * rds_tcp_end_progress() - Continue an orderly shutdown after progress of TCP
 * @tp: the path
 * @sk: its socket, locked
 *
 * If an orderly shutdown is in progress, kick the path's work item when TCP has
 * closed the connection, or when the peer has acknowledged all data before our
 * FIN.
 *
 * Context: Softirq or process context.
 */
void rds_tcp_end_progress(struct rds_tcp_path *tp, const struct sock *sk)
{
	if (unlikely(tp->tp_end.te_ending) &&
	    (sk->sk_state == TCP_CLOSE ||
	     (!tp->tp_end.te_all_acked && rds_tcp_has_all_acked(sk))))
		rds_path_kick(tp->tp_path, RDS_KICK_SEND);
}

/**
 * rds_tcp_acked() - Report to core what the peer has acknowledged
 * @tp: the path
 * @sk: its socket, locked
 *
 * Context: Softirq or process context.
 */
void rds_tcp_acked(struct rds_tcp_path *tp, struct sock *sk)
{
	u32 una = tcp_sk(sk)->snd_una;

	/* A peer that answers probes of its closed window is alive, however
	 * long the window stays closed. Only silence counts for the user
	 * timeout. But if no local socket has used the connection, only pongs
	 * wait for the peer, and these must not be held forever.
	 */
	if (unlikely(inet_csk(sk)->icsk_probes_tstamp) &&
	    rds_path_is_used(tp->tp_path))
		rds_tcp_probe_answered(sk);

	if (!tp->tp_up || tp->tp_end.te_all_acked || una == tp->tp_tx.tt_una)
		return;

	tp->tp_tx.tt_una = una;
	rds_path_ack_mark(tp->tp_path, una);
	if (tp->tp_tx.tt_map_pending && !before(una, tp->tp_tx.tt_map_mark)) {
		tp->tp_tx.tt_map_pending = false;
		rds_path_map_acked(tp->tp_path);
	}
}

/**
 * rds_tcp_send_reset() - Reset the sender for a new stream
 * @tp: the path; its transmit lock is held, or no sender can run yet
 *
 * Context: Process context.
 */
void rds_tcp_send_reset(struct rds_tcp_path *tp)
{
	rds_tcp_batch_put(&tp->tp_tx.tt_batch);
	tp->tp_tx.tt_off = 0;
	tp->tp_tx.tt_corked = false;
	tp->tp_tx.tt_kick = false;
	tp->tp_tx.tt_map_pending = false;
}

/**
 * rds_tcp_write_space() - Handle an ack, or new room in the send buffer
 * @sk: the socket of a path, locked; the lock keeps it attached to the path
 *
 * SOCK_NOSPACE stays set, so that TCP calls this again.
 *
 * Context: Softirq or process context.
 */
void rds_tcp_write_space(struct sock *sk)
{
	struct rds_tcp_path *tp = sk->sk_user_data;

	rds_tcp_stat_inc(tp->tp_tn, tcp_write_space_calls);
	rds_tcp_acked(tp, sk);
	if (tp->tp_tx.tt_kick && sk_stream_is_writeable(sk)) {
		tp->tp_tx.tt_kick = false;
		rds_path_kick(tp->tp_path, RDS_KICK_SEND);
	}
	rds_tcp_end_progress(tp, sk);
}
