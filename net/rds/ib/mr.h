/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory regions (MRs) of the IB transport, and fast registrations (FRMRs). */
#ifndef _RDS_IB_MR_H
#define _RDS_IB_MR_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/spinlock.h>
#include <net/rds/transport.h>
#include <rdma/ib_verbs.h>

struct rds_ib_device;

/**
 * enum rds_ib_frmr_state - what peers can reach by an FRMR
 * @RDS_IB_FRMR_IDLE: nothing
 * @RDS_IB_FRMR_VALID: the registered memory
 * @RDS_IB_FRMR_UNKNOWN: unknown: a work request has not ended, or has failed
 */
enum rds_ib_frmr_state {
	RDS_IB_FRMR_IDLE,
	RDS_IB_FRMR_VALID,
	RDS_IB_FRMR_UNKNOWN,
};

/**
 * struct rds_ib_frmr - a fast registration (FRMR)
 * @fm_item: entry in &rds_ib_mr_pool.mp_idle
 * @fm_pool: the pool that it belongs to
 * @fm_mr: the verbs object
 * @fm_state: what peers can reach by it
 * @fm_keys: the rkeys that it has had, by their last byte
 */
struct rds_ib_frmr {
	struct list_head	fm_item;
	struct rds_ib_mr_pool	*fm_pool;
	struct ib_mr		*fm_mr;
	enum rds_ib_frmr_state	fm_state;
	DECLARE_BITMAP(fm_keys, 256);
};

/* Pools of a device: one for small memory, one for the rest */
#define RDS_IB_MR_POOLS		2

/**
 * struct rds_ib_mr_pool - FRMRs of one size that are kept for reuse
 * @mp_small: this is the pool for small memory, which has its own counters
 * @mp_pages: maximum number of pages of memory for each FRMR
 * @mp_lock: guards the members below
 * @mp_idle: the FRMRs, all idle; the most recently used one is first
 * @mp_nr: number of FRMRs on @mp_idle
 * @mp_low: lowest value of @mp_nr since dv_mr_look ran last
 */
struct rds_ib_mr_pool {
	bool			mp_small;
	u32			mp_pages;
	spinlock_t		mp_lock;	/* idle FRMRs */
	struct list_head	mp_idle;
	u32			mp_nr;
	u32			mp_low;
};

/**
 * rds_ib_mr_npages() - Count the pages of the memory of a registration
 * @mr: the verbs object, to which memory has been assigned
 *
 * Context: Any context.
 * Return: the number of pages.
 */
static inline u32 rds_ib_mr_npages(const struct ib_mr *mr)
{
	return PFN_UP(offset_in_page(mr->iova) + mr->length);
}

/* reg_qp.c */
void rds_ib_reg_qp_init(struct rds_ib_device *d);
int rds_ib_reg_qp_run(struct rds_ib_device *d, struct ib_send_wr *wr);
int rds_ib_reg_qp_run_once(struct rds_ib_device *d, struct ib_send_wr *wr);
void rds_ib_reg_qp_destroy(struct rds_ib_device *d);

/* mr_pool.c */
struct rds_ib_frmr *rds_ib_frmr_get(struct rds_ib_device *d,
				    unsigned int pages);
int rds_ib_frmr_register(struct rds_ib_frmr *fm, struct rds_ib_device *d,
			 int access);
void rds_ib_frmr_put(struct rds_ib_frmr *fm, struct rds_ib_device *d);
unsigned int rds_ib_mr_pages_max(const struct rds_ib_device *d);
void rds_ib_mr_pools_init(struct rds_ib_device *d);
void rds_ib_mr_pools_end(struct rds_ib_device *d);

/* mr.c */
void *rds_ib_mr_map(struct net *net, const struct in6_addr *laddr, int ifindex,
		    const struct rds_mr_memory *mem, u32 *key);
bool rds_ib_mr_alive(const void *handle);
void rds_ib_mr_unmap(void *handle);
void rds_ib_mrs_end(struct rds_ib_device *d);

#endif /* _RDS_IB_MR_H */
