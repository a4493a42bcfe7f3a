/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU counters, with the names and in the order of RDS_INFO_COUNTERS. */
#ifndef _RDS_IB_STATS_H
#define _RDS_IB_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

struct net;

#define RDS_IB_STATS(X)			\
	X(ib_connect_raced)		\
	X(ib_listen_closed_stale)	\
	X(ib_evt_handler_call)		\
	X(ib_tasklet_call)		\
	X(ib_tx_cq_event)		\
	X(ib_tx_ring_full)		\
	X(ib_tx_throttle)		\
	X(ib_tx_sg_mapping_failure)	\
	X(ib_tx_stalled)		\
	X(ib_tx_credit_updates)		\
	X(ib_rx_cq_event)		\
	X(ib_rx_ring_empty)		\
	X(ib_rx_refill_from_cq)		\
	X(ib_rx_refill_from_thread)	\
	X(ib_rx_alloc_limit)		\
	X(ib_rx_total_frags)		\
	X(ib_rx_total_incs)		\
	X(ib_rx_credit_updates)		\
	X(ib_ack_sent)			\
	X(ib_ack_send_failure)		\
	X(ib_ack_send_delayed)		\
	X(ib_ack_send_piggybacked)	\
	X(ib_ack_received)		\
	X(ib_rdma_mr_8k_alloc)		\
	X(ib_rdma_mr_8k_free)		\
	X(ib_rdma_mr_8k_used)		\
	X(ib_rdma_mr_8k_pool_flush)	\
	X(ib_rdma_mr_8k_pool_wait)	\
	X(ib_rdma_mr_8k_pool_depleted)	\
	X(ib_rdma_mr_1m_alloc)		\
	X(ib_rdma_mr_1m_free)		\
	X(ib_rdma_mr_1m_used)		\
	X(ib_rdma_mr_1m_pool_flush)	\
	X(ib_rdma_mr_1m_pool_wait)	\
	X(ib_rdma_mr_1m_pool_depleted)	\
	X(ib_rdma_mr_8k_reused)		\
	X(ib_rdma_mr_1m_reused)		\
	X(ib_atomic_cswp)		\
	X(ib_atomic_fadd)			\
	X(ib_rx_repeated)

#define RDS_IB_STAT_FIELD(name)	u64 name;

/* Counters of one CPU */
struct rds_ib_stats {
	RDS_IB_STATS(RDS_IB_STAT_FIELD)
};

#define RDS_IB_STAT_COUNT	(sizeof(struct rds_ib_stats) / sizeof(u64))

DECLARE_PER_CPU(struct rds_ib_stats, rds_ib_stats);

#define rds_ib_stat_inc(name)	this_cpu_inc(rds_ib_stats.name)

extern const char * const rds_ib_stat_names[];

void rds_ib_stats_sum(struct net *net, u64 *sums);

#endif /* _RDS_IB_STATS_H */
