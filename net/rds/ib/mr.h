/* SPDX-License-Identifier: GPL-2.0-only */
/* Registered memory. */
#ifndef _RDS_IB_MR_H
#define _RDS_IB_MR_H

#include <linux/bitmap.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <net/rds/transport.h>
#include <rdma/ib_verbs.h>

struct rds_ib_device;

/**
 * enum rds_ib_frmr_state - what peers reach by a fast registration
 * @RDS_IB_FRMR_IDLE: nothing
 * @RDS_IB_FRMR_VALID: memory
 * @RDS_IB_FRMR_UNKNOWN: nobody knows
 */
enum rds_ib_frmr_state {
	RDS_IB_FRMR_IDLE,
	RDS_IB_FRMR_VALID,
	RDS_IB_FRMR_UNKNOWN,
};

/**
 * struct rds_ib_frmr - a fast registration
 * @fm_item: on &rds_ib_mr_pool.mp_idle
 * @fm_pool: where it is kept
 * @fm_mr: the device's part
 * @fm_state: what peers reach by it
 * @fm_keys: which keys it has had, by their last byte
 */
struct rds_ib_frmr {
	struct list_head	fm_item;
	struct rds_ib_mr_pool	*fm_pool;
	struct ib_mr		*fm_mr;
	enum rds_ib_frmr_state	fm_state;
	DECLARE_BITMAP(fm_keys, 256);
};

/* Of a device: one for small memory, and one for the rest */
#define RDS_IB_MR_POOLS		2

/**
 * struct rds_ib_mr_pool - fast registrations of one size, to be used again
 * @mp_small: the counters are those of the small ones
 * @mp_pages: for how many pages they are
 * @mp_lock: guards the rest
 * @mp_idle: those that are kept, all idle; the one used last is first
 * @mp_nr: how many
 * @mp_low: the fewest that there were since the last look
 */
struct rds_ib_mr_pool {
	bool			mp_small;
	u32			mp_pages;
	spinlock_t		mp_lock;	/* the idle ones */
	struct list_head	mp_idle;
	u32			mp_nr;
	u32			mp_low;
};

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
