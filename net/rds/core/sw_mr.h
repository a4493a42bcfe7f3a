/* SPDX-License-Identifier: GPL-2.0-only */
/* Software RDMA: memory that peers access through core itself. */
#ifndef _RDS_CORE_SW_MR_H
#define _RDS_CORE_SW_MR_H

#include <linux/uio.h>
#include <net/rds/transport.h>

struct rds_net;
struct rds_sw_mr;

extern const struct rds_rdma_ops rds_sw_rdma_ops;

u32 rds_sw_mr_base(u32 off);
void rds_sw_mr_net_init(struct rds_net *rn);
void rds_sw_mr_net_exit(struct rds_net *rn);
struct rds_sw_mr *rds_sw_mr_get(struct rds_net *rn, u32 key,
				const struct in6_addr *laddr, u32 ifindex);
void rds_sw_mr_put(struct rds_sw_mr *sm);
bool rds_sw_mr_view(struct rds_sw_mr *sm, bool write, u64 addr, u32 bytes,
		    struct iov_iter *iter);
bool rds_sw_mr_atomic(struct rds_sw_mr *sm, const struct rds_op *op,
		      u64 *old);
u64 rds_sw_compute(const struct rds_op *op, u64 old);

/**
 * rds_rdma_of() - Get the RDMA operations that serve a transport
 * @trans: the transport
 *
 * Context: Any context.
 * Return: the operations of the transport; those of core if it has none.
 */
static inline const struct rds_rdma_ops *
rds_rdma_of(const struct rds_transport *trans)
{
	return trans->rdma ?: &rds_sw_rdma_ops;
}

#endif /* _RDS_CORE_SW_MR_H */
