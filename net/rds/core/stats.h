/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters, per namespace and CPU. RDS_STATS is the only list of them. It
 * begins with the counters that RDS_INFO_COUNTERS has always had, in their
 * order. Counters that only this implementation has follow.
 */
#ifndef _RDS_CORE_STATS_H
#define _RDS_CORE_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#define RDS_STATS(X)			\
	X(conn_reset)			\
	X(recv_drop_bad_checksum)	\
	X(recv_drop_old_seq)		\
	X(recv_drop_no_sock)		\
	X(recv_drop_dead_sock)		\
	X(recv_deliver_raced)		\
	X(recv_delivered)		\
	X(recv_queued)			\
	X(recv_immediate_retry)		\
	X(recv_delayed_retry)		\
	X(recv_ack_required)		\
	X(recv_rdma_bytes)		\
	X(recv_ping)			\
	X(send_queue_empty)		\
	X(send_queue_full)		\
	X(send_lock_contention)		\
	X(send_lock_queue_raced)	\
	X(send_immediate_retry)		\
	X(send_delayed_retry)		\
	X(send_drop_acked)		\
	X(send_ack_required)		\
	X(send_queued)			\
	X(send_rdma)			\
	X(send_rdma_bytes)		\
	X(send_pong)			\
	X(page_remainder_hit)		\
	X(page_remainder_miss)		\
	X(copy_to_user)			\
	X(copy_from_user)		\
	X(cong_update_queued)		\
	X(cong_update_received)		\
	X(cong_send_error)		\
	X(cong_send_blocked)		\
	X(recv_bytes_added_to_sock)	\
	X(recv_bytes_freed_fromsock)	\
	X(send_stuck_rm)		\
	X(mprds_catchup_tx0_retries)	\
	X(send_drop_restarted)		\
	X(recv_path_stopped)		\
	X(conn_refused_net)		\
	X(conn_refused_user)		\
	X(recv_ping_limited)		\
	X(send_parked)			\
	X(send_coalesced)

#define RDS_STAT_FIELD(name)	u64 name;

/* The counters of one CPU */
struct rds_stats {
	RDS_STATS(RDS_STAT_FIELD)
};

#define RDS_STAT_COUNT	(sizeof(struct rds_stats) / sizeof(u64))

#define rds_stat_inc(rn, name)		this_cpu_inc((rn)->rn_stats->name)
#define rds_stat_add(rn, name, n)	this_cpu_add((rn)->rn_stats->name, n)

const char *rds_stat_name(unsigned int i);

#endif /* _RDS_CORE_STATS_H */
