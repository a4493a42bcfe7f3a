// SPDX-License-Identifier: GPL-2.0-only
/* RDS6_INFO_STREAMS, the list of streams and listeners. */
#include <linux/rds.h>

#include "ready.h"
#include "stream.h"

/* Returns 0 if the stream has just ended. */
static u8 rds_stream_info_state(const struct rds_stream *st)
{
	if (st->st_state == RDS_STREAM_LISTEN)
		return RDS_INFO_STREAM_LISTEN;
	if (rds_stream_is_connecting(st->st_state))
		return RDS_INFO_STREAM_CONNECTING;
	if (st->st_state != RDS_STREAM_OPEN)
		return 0;
	if (st->st_flags & RDS_STREAM_F_CLOSED)
		return RDS_INFO_STREAM_CLOSED;
	if (st->st_flags & RDS_STREAM_F_WAITS)
		return RDS_INFO_STREAM_WAITING;
	return RDS_INFO_STREAM_OPEN;
}

static u8 rds_stream_info_flags(const struct rds_stream *st)
{
	u8 flags = 0;

	if (st->st_flags & RDS_STREAM_F_SERVER)
		flags |= RDS_INFO_STREAM_FLAG_SERVER;
	if (st->st_flags & RDS_STREAM_F_WR_SHUT)
		flags |= RDS_INFO_STREAM_FLAG_NO_WRITE;
	if (st->st_flags & RDS_STREAM_F_RD_SHUT)
		flags |= RDS_INFO_STREAM_FLAG_NO_READ;
	if (st->st_flags & RDS_STREAM_F_PEER_DONE)
		flags |= RDS_INFO_STREAM_FLAG_PEER_NO_WRITE;
	if (st->st_flags & RDS_STREAM_F_PEER_DEAF)
		flags |= RDS_INFO_STREAM_FLAG_PEER_NO_READ;
	return flags;
}

/* A listener has queues of streams, as in the list of TCP sockets of ss(8). */
static void rds_stream_info_queues(struct rds_stream *st,
				   struct rds6_info_stream *record)
	__must_hold(&st->st_lock)
{
	lockdep_assert_held(&st->st_lock);
	if (st->st_state == RDS_STREAM_LISTEN) {
		record->recv_queue = READ_ONCE(st->st_sk.sk_ack_backlog);
		record->send_queue = READ_ONCE(st->st_sk.sk_max_ack_backlog);
		return;
	}
	record->faddr = st->st_peer.ip;
	record->fport = st->st_peer.port;
	record->recv_queue = st->st_rx.rx_bytes;
	record->send_queue = st->st_tx.tx_bytes;
	record->credit = rds_stream_credit(&st->st_tx);
	record->silent_ms = jiffies64_to_msecs(jiffies - st->st_rx.rx_at);
}

static void rds_stream_info_one(struct rds_stream *st, rds_info_add_t *add,
				void *list)
{
	unsigned long inum = sock_i_ino(&st->st_sk);
	struct rds6_info_stream record;

	memset(&record, 0, sizeof(record));
	spin_lock_bh(&st->st_lock);
	record.laddr = st->st_local.ip;
	record.lport = st->st_local.port;
	record.state = rds_stream_info_state(st);
	record.flags = rds_stream_info_flags(st);
	rds_stream_info_queues(st, &record);
	spin_unlock_bh(&st->st_lock);
	/* The user may be on the way to get the descriptor, or to give it up.
	 */
	if (record.state != RDS_INFO_STREAM_WAITING &&
	    record.state != RDS_INFO_STREAM_CLOSED)
		record.inum = inum;
	if (record.state)
		add(list, &record, sizeof(record));
}

/* Called for each bound socket. Those that are connected are in the table of
 * streams as well.
 */
static void rds_stream_info_listener(struct rds_stream *st,
				     rds_info_add_t *add, void *list)
{
	if (READ_ONCE(st->st_state) == RDS_STREAM_LISTEN)
		rds_stream_info_one(st, add, list);
}

static void rds_stream_info_list(struct net *net, rds_info_add_t *add,
				 void *list)
{
	rds_stream_for_binds(net, rds_stream_info_listener, add, list);
	rds_stream_for_net(net, rds_stream_info_one, add, list);
}

const struct rds_info_ops rds_stream_info_ops = {
	.nr_stats	= RDS_STREAM_STAT_COUNT,
	.stat_names	= rds_stream_stat_names,
	.stats		= rds_stream_stats_read,
	.list		= rds_stream_info_list,
};
