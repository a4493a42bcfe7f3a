/* SPDX-License-Identifier: GPL-2.0-only */
/* Bags: the memory that holds a payload. */
#ifndef _RDS_CORE_BAG_H
#define _RDS_CORE_BAG_H

#include <linux/uio.h>
#include <net/rds/transport.h>

unsigned int rds_bag_max_bvecs(u32 len);
int rds_bag_alloc_pages(struct rds_bag *bag, struct bio_vec *bvec, u32 len);
int rds_bag_copy_in_pages(struct rds_bag *bag, struct iov_iter *from);
int rds_bag_copy_out_pages(const struct rds_bag *bag, u32 len,
			   struct iov_iter *to);
int rds_bag_add_user_pages(struct rds_bag *bag, unsigned int max,
			   struct iov_iter *from);
bool rds_bag_is_stretch(const struct rds_bag *bag);
u32 rds_bag_truesize(const struct rds_bag *bag);
void rds_bag_put_pages(const struct rds_bag *bag);

/**
 * rds_bag_init_inline() - use memory of the owner
 * @bag: the bag
 * @data: the memory, which lives as long as the bag
 * @len: bytes of payload
 *
 * Context: any.
 */
static inline void rds_bag_init_inline(struct rds_bag *bag, void *data, u32 len)
{
	bag->kind = len ? RDS_BAG_INLINE : RDS_BAG_EMPTY;
	bag->nr = 0;
	bag->len = len;
	bag->data = data;
}

/**
 * rds_bag_copy_in() - fill a bag from user memory
 * @bag: the bag
 * @from: where from; at least &rds_bag.len bytes
 *
 * Context: process, may sleep.
 * Return: 0 or -EFAULT.
 */
static inline int rds_bag_copy_in(struct rds_bag *bag, struct iov_iter *from)
{
	if (bag->kind == RDS_BAG_INLINE)
		return copy_from_iter_full(bag->data, bag->len, from) ?
		       0 : -EFAULT;
	return rds_bag_copy_in_pages(bag, from);
}

/**
 * rds_bag_copy_out() - copy a payload to user memory
 * @bag: the bag
 * @len: how many bytes of it, at most &rds_bag.len
 * @to: where to
 *
 * Context: process, may sleep.
 * Return: 0, or -EFAULT if less than @len bytes could be copied.
 */
static inline int rds_bag_copy_out(const struct rds_bag *bag, u32 len,
				   struct iov_iter *to)
{
	if (bag->kind == RDS_BAG_INLINE)
		return copy_to_iter(bag->data, len, to) == len ? 0 : -EFAULT;
	return rds_bag_copy_out_pages(bag, len, to);
}

/**
 * rds_bag_release() - give the memory back
 * @bag: the bag; empty afterwards
 *
 * Context: any, including softirq.
 */
static inline void rds_bag_release(struct rds_bag *bag)
{
	if (bag->kind == RDS_BAG_KERNEL || bag->kind == RDS_BAG_USER)
		rds_bag_put_pages(bag);
	bag->kind = RDS_BAG_EMPTY;
	bag->nr = 0;
	bag->len = 0;
}

#endif /* _RDS_CORE_BAG_H */
