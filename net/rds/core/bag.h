/* SPDX-License-Identifier: GPL-2.0-only */
/* Bags: the memory that holds a payload. */
#ifndef _RDS_CORE_BAG_H
#define _RDS_CORE_BAG_H

#include <net/rds/transport.h>

unsigned int rds_bag_max_bvecs(u32 len);
void rds_bag_init_inline(struct rds_bag *bag, void *data, u32 len);
int rds_bag_alloc_pages(struct rds_bag *bag, struct bio_vec *bvec, u32 len);
int rds_bag_copy_in(struct rds_bag *bag, struct iov_iter *from);
int rds_bag_copy_out(const struct rds_bag *bag, u32 len, struct iov_iter *to);
u32 rds_bag_truesize(const struct rds_bag *bag);
void rds_bag_release(struct rds_bag *bag);

#endif /* _RDS_CORE_BAG_H */
