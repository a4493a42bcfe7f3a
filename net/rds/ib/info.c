// SPDX-License-Identifier: GPL-2.0-only
/* RDS_INFO_IB_CONNECTIONS and RDS6_INFO_IB_CONNECTIONS. */
#include <net/ipv6.h>

#include "ib.h"

static u8 rds_ib_record_sl(const struct rds_ib_conn *ic)
{
	const struct rdma_cm_id *id = ic->ic_id;

	return id->route.path_rec ? id->route.path_rec->sl : 0;
}

/* Maximum number of MRs that can be registered with the device at a time */
static u32 rds_ib_record_mr_max(const struct rds_ib_device *d)
{
	return rds_ib_mr_pages_max(d) ? max(d->dv_dev->attrs.max_mr, 0) : 0;
}

static void rds_ib_record_v4(const struct rds_ib_conn *ic,
			     const struct rds_path *path,
			     struct rds_info_rdma_connection *rec)
{
	rec->src_addr = path->laddr.s6_addr32[3];
	rec->dst_addr = path->faddr.s6_addr32[3];
	rec->tos = path->tos;
	if (!ic)
		return;
	rdma_read_gids(ic->ic_id, (union ib_gid *)rec->src_gid,
		       (union ib_gid *)rec->dst_gid);
	rec->max_send_wr = ic->ic_tx.tx_ring.rg_size;
	rec->max_recv_wr = ic->ic_rx.rx_max;
	rec->max_send_sge = rds_ib_send_sge(ic->ic_dev);
	rec->rdma_mr_max = rds_ib_record_mr_max(ic->ic_dev);
	rec->rdma_mr_size = rds_ib_mr_pages_max(ic->ic_dev);
	rec->sl = rds_ib_record_sl(ic);
	rec->cache_allocs = READ_ONCE(ic->ic_rx.rx_slots);
}

static void rds_ib_record_v6(const struct rds_ib_conn *ic,
			     const struct rds_path *path,
			     struct rds6_info_rdma_connection *rec)
{
	rec->src_addr = path->laddr;
	rec->dst_addr = path->faddr;
	rec->tos = path->tos;
	if (!ic)
		return;
	rdma_read_gids(ic->ic_id, (union ib_gid *)rec->src_gid,
		       (union ib_gid *)rec->dst_gid);
	rec->max_send_wr = ic->ic_tx.tx_ring.rg_size;
	rec->max_recv_wr = ic->ic_rx.rx_max;
	rec->max_send_sge = rds_ib_send_sge(ic->ic_dev);
	rec->rdma_mr_max = rds_ib_record_mr_max(ic->ic_dev);
	rec->rdma_mr_size = rds_ib_mr_pages_max(ic->ic_dev);
	rec->sl = rds_ib_record_sl(ic);
	rec->cache_allocs = READ_ONCE(ic->ic_rx.rx_slots);
}

/**
 * rds_ib_record() - Describe the connection of a path
 * @path: the path
 * @opt: the list
 * @record: a zeroed record of that list
 *
 * If the path is not connected, only its addresses and its type of service are
 * known.
 *
 * Context: Process context. Takes ip_lock.
 * Return: true if the list is one of this transport, and contains the path;
 * false otherwise.
 */
bool rds_ib_record(struct rds_path *path, int opt, void *record)
{
	bool v6 = opt == RDS6_INFO_IB_CONNECTIONS;
	struct rds_ib_path *ip = path->data;
	struct rds_ib_conn *ic;

	if (!v6 && (opt != RDS_INFO_IB_CONNECTIONS || rds_ib_is_v6(path)))
		return false;

	spin_lock_bh(&ip->ip_lock);
	ic = ip->ip_conn;
	if (ic && READ_ONCE(ic->ic_state) != RDS_IB_UP)
		ic = NULL;
	if (v6)
		rds_ib_record_v6(ic, path, record);
	else
		rds_ib_record_v4(ic, path, record);
	spin_unlock_bh(&ip->ip_lock);
	return true;
}
