/* SPDX-License-Identifier: GPL-2.0-only */
/* What a stream is ready for: how much it may send, and whether reads and
 * writes need not wait.
 */
#ifndef _RDS_STREAM_READY_H
#define _RDS_STREAM_READY_H

#include "stream.h"

/* Credit that this end gives for unread frames, in bytes. Peers can make
 * streams that nobody accepts, so these get little.
 */
static inline u32 rds_stream_rcvbuf(const struct rds_stream *st)
{
	const struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	u32 buf = READ_ONCE(st->st_sk.sk_rcvbuf);

	if (READ_ONCE(st->st_flags) & RDS_STREAM_F_WAITS)
		return min_t(u32, buf,
			     READ_ONCE(sn->sn_sysctl.unaccepted_credit));
	return min_t(u32, buf, RDS_STREAM_MAX_CREDIT);
}

/**
 * rds_stream_window() - Get how much the peer can have sent without being told
 * @st: the stream
 *
 * A buffer that has grown is of no use to a peer that does not know yet.
 *
 * Context: Any context. st_lock is held, or the result is only a hint.
 * Return: the credit that it was given last, or less if that is too much now.
 */
static inline u32 rds_stream_window(const struct rds_stream *st)
{
	return min(rds_stream_rcvbuf(st), READ_ONCE(st->st_rx.rx_given));
}

/**
 * rds_stream_credit() - Compute how many bytes the peer's credit allows
 * @tx: the sending half
 *
 * A little credit is not used, so that frames do not become small.
 *
 * Context: Any context. st_lock is held, or the result is only a hint.
 * Return: bytes of payload that the next frame may have; 0 for none.
 */
static inline u32 rds_stream_credit(const struct rds_stream_tx *tx)
{
	/* Pairs with the release in rds_stream_take_credit(): the size is no
	 * older than what was consumed.
	 */
	u32 fwd = smp_load_acquire(&tx->tx_fwd), buf = READ_ONCE(tx->tx_buf);
	u32 used = READ_ONCE(tx->tx_cost) - fwd;
	u32 least = clamp_t(u32, buf / 8, 1, SZ_16K);

	if (used >= buf || buf - used < RDS_FRAME_COST + least)
		return 0;
	return buf - used - RDS_FRAME_COST;
}

/**
 * rds_stream_sndbuf() - Get the size of the send buffer
 * @st: the stream
 *
 * Context: Any context.
 * Return: its size in bytes, small enough to compute with.
 */
static inline u32 rds_stream_sndbuf(const struct rds_stream *st)
{
	return min_t(u32, READ_ONCE(st->st_sk.sk_sndbuf), SZ_1G);
}

/**
 * rds_stream_may_write() - Check whether a write has an effect at once
 * @st: the stream
 * @places: whether it needs no credit: a write to mappings of the peer
 *
 * Context: Any context. st_lock is held, or the result is only a hint.
 * Return: true if bytes can be sent, or if it is certain that they cannot.
 */
static inline bool rds_stream_may_write(const struct rds_stream *st,
					bool places)
{
	enum rds_stream_state state = READ_ONCE(st->st_state);
	const struct rds_stream_tx *tx = &st->st_tx;

	if (rds_stream_is_connecting(state))
		return false;
	if (state != RDS_STREAM_OPEN)
		return true;
	if (READ_ONCE(st->st_flags) &
	    (RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DEAF))
		return true;
	/* A server's first bytes go behind its RESPONSE. */
	return !(READ_ONCE(tx->tx_owed) & BIT(RDS_FRAME_RESPONSE)) &&
	       READ_ONCE(tx->tx_held) < rds_stream_sndbuf(st) &&
	       (places || rds_stream_credit(tx));
}

/**
 * rds_stream_no_space() - Note that a task finds no space to write
 * @st: the stream
 *
 * rds_stream_write_space() then wakes those who wait. The caller checks once
 * more afterwards whether it can write.
 *
 * Context: Process context.
 */
static inline void rds_stream_no_space(struct rds_stream *st)
{
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, &st->st_sk);
	set_bit(SOCK_NOSPACE, &st->st_sk.sk_socket->flags);
	/* Pairs with the check in rds_stream_write_space(). */
	smp_mb__after_atomic();
}

/**
 * rds_stream_has() - Check whether a read of some bytes need not wait
 * @st: the stream
 * @bytes: the bytes
 *
 * Context: Any context. st_lock is held, or the result is only a hint.
 * Return: true if as many bytes are there, if no more can come, or if so much
 * credit is used up that no more may come.
 */
static inline bool rds_stream_has(const struct rds_stream *st, size_t bytes)
{
	enum rds_stream_state state = READ_ONCE(st->st_state);
	const struct rds_stream_rx *rx = &st->st_rx;

	if (READ_ONCE(rx->rx_bytes) >= bytes)
		return true;
	if (rds_stream_is_connecting(state))
		return false;
	if (state != RDS_STREAM_OPEN)
		return true;
	if (READ_ONCE(st->st_flags) &
	    (RDS_STREAM_F_RD_SHUT | RDS_STREAM_F_PEER_DONE))
		return true;
	return READ_ONCE(rx->rx_bytes) &&
	       READ_ONCE(rx->rx_cost) - READ_ONCE(rx->rx_fwd) >=
	       rds_stream_window(st) / 2;
}

#endif /* _RDS_STREAM_READY_H */
