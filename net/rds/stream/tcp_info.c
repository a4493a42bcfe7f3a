// SPDX-License-Identifier: GPL-2.0-only
/*
 * getsockopt(TCP_INFO) on streams: the fields that make sense. Round-trip times
 * and the like are not among them: all streams between two hosts share one
 * connection.
 */
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <net/tcp_states.h>

#include "ready.h"
#include "stream.h"

static u8 rds_stream_tcp_state(const struct rds_stream *st)
{
	const u32 done = RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DONE;

	if (st->st_state != RDS_STREAM_OPEN)
		return st->st_sk.sk_state;
	switch (st->st_flags & done) {
	case RDS_STREAM_F_WR_SHUT:
		return TCP_FIN_WAIT2;
	case RDS_STREAM_F_PEER_DONE:
		return TCP_CLOSE_WAIT;
	case RDS_STREAM_F_WR_SHUT | RDS_STREAM_F_PEER_DONE:
		return TCP_CLOSING;
	default:
		return TCP_ESTABLISHED;
	}
}

/**
 * rds_stream_get_tcp_info() - Implement getsockopt(TCP_INFO)
 * @st: the stream
 * @optval: destination in user memory
 * @len: bytes to copy at most
 *
 * Context: Process context, may sleep. The socket lock is held.
 * Return: the number of bytes copied, or -EFAULT.
 */
int rds_stream_get_tcp_info(struct rds_stream *st, char __user *optval,
			    int len)
{
	struct tcp_info info = {};

	spin_lock_bh(&st->st_lock);
	info.tcpi_state = rds_stream_tcp_state(st);
	info.tcpi_probes = st->st_rx.rx_probes;
	info.tcpi_snd_mss = RDS_STREAM_CHUNK;
	info.tcpi_rcv_mss = RDS_STREAM_CHUNK;
	info.tcpi_unacked = st->st_tx.tx_bytes;
	info.tcpi_last_data_recv =
		jiffies_to_msecs(jiffies - st->st_rx.rx_at);
	info.tcpi_rcv_space = rds_stream_rcvbuf(st);
	info.tcpi_notsent_bytes = st->st_tx.tx_bytes;
	info.tcpi_snd_wnd = rds_stream_credit(&st->st_tx);
	if (st->st_state == RDS_STREAM_LISTEN) {
		info.tcpi_unacked = READ_ONCE(st->st_sk.sk_ack_backlog);
		info.tcpi_sacked = READ_ONCE(st->st_sk.sk_max_ack_backlog);
	}
	spin_unlock_bh(&st->st_lock);

	len = min_t(int, len, sizeof(info));
	return copy_to_user(optval, &info, len) ? -EFAULT : len;
}
