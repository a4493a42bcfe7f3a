// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory that peers reach by RDMA.
 *
 * Its pages are core's. Here they are mapped for the device, and registered by
 * a fast registration (FRWR, mr_pool.c), so that peers have a key for exactly
 * these bytes, and addresses that begin with where in its page the memory
 * begins. The key is valid on all connections of the device.
 *
 * What the device has of it is taken down once, by whoever takes it off the
 * device's list: rds_ib_mr_unmap(), or the removal of the device, which does
 * not wait for users. In the latter case rds_ib_mr_unmap() waits until that is
 * done, for core lets the pages go next.
 */
#include <linux/error-injection.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "compat.h"
#include "ib.h"

/* More than this at once is more than some hosts can map for a device. */
#define RDS_IB_MR_SEGMENT	SZ_64K

/* Guards dv_mrs and im_dev of all, and orders both with dv_removed */
static DEFINE_SPINLOCK(rds_ib_mr_lock);

/**
 * struct rds_ib_mr - user memory that a device has
 * @im_item: on &rds_ib_device.dv_mrs
 * @im_dev: the device, referenced; NULL when it is to be taken down
 * @im_fm: by what it is registered
 * @im_sgt: the pages
 * @im_dir: what the device does with them
 * @im_mapped: they are mapped
 * @im_gone: the device does not have it any more
 */
struct rds_ib_mr {
	struct list_head	im_item;
	struct rds_ib_device	*im_dev;
	struct rds_ib_frmr	*im_fm;
	struct sg_table		im_sgt;
	enum dma_data_direction	im_dir;
	bool			im_mapped;
	struct completion	im_gone;
};

/* However far it got. Peers stop to reach it with the first step. */
static void rds_ib_mr_take_down(struct rds_ib_mr *im, struct rds_ib_device *d)
{
	if (im->im_fm)
		rds_ib_frmr_put(im->im_fm, d);
	if (im->im_mapped)
		ib_dma_unmap_sgtable_attrs(d->dv_dev, &im->im_sgt, im->im_dir,
					   0);
	sg_free_table(&im->im_sgt);
	rds_ib_device_put(d);
}

/* Does the device see something else than the user, as where what is mapped is
 * copied? Both may write at any time, and nobody would know when to copy.
 */
static bool rds_ib_mr_is_apart(struct rds_ib_device *d,
			       const struct sg_table *sgt)
{
	struct ib_device *dev = d->dv_dev;
	struct scatterlist *sg;
	int i;

	if (ib_uses_virt_dma(dev))
		return false;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (rds_dma_need_sync(dev->dma_device, sg_dma_address(sg)))
			return true;
	}
	return false;
}

static noinline int rds_ib_mr_map_pages(struct rds_ib_mr *im,
					struct rds_ib_device *d,
					const struct rds_mr_memory *mem)
{
	int ret;

	ret = sg_alloc_table_from_pages_segment(&im->im_sgt, mem->pages,
						mem->nr, mem->off, mem->len,
						RDS_IB_MR_SEGMENT, GFP_KERNEL);
	if (ret)
		return ret;
	im->im_dir = mem->writable ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = ib_dma_map_sgtable_attrs(d->dv_dev, &im->im_sgt, im->im_dir, 0);
	if (ret)
		return ret;
	im->im_mapped = true;
	return rds_ib_mr_is_apart(d, &im->im_sgt) ? -EOPNOTSUPP : 0;
}

ALLOW_ERROR_INJECTION(rds_ib_mr_map_pages, ERRNO);

static int rds_ib_mr_access(const struct rds_ib_device *d, bool writable)
{
	int access = IB_ACCESS_REMOTE_READ;

	if (!writable)
		return access;
	access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (d->dv_dev->attrs.atomic_cap != IB_ATOMIC_NONE &&
	    !READ_ONCE(d->dv_no_mr_atomics))
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* Some devices with atomic operations cannot have a fast registration allow
 * them: their memory does without.
 */
static int rds_ib_mr_register_as(struct rds_ib_frmr *fm,
				 struct rds_ib_device *d, int access)
{
	int ret = rds_ib_frmr_register(fm, d, access);

	if (ret != -EINVAL || !(access & IB_ACCESS_REMOTE_ATOMIC))
		return ret;
	ret = rds_ib_frmr_register(fm, d, access & ~IB_ACCESS_REMOTE_ATOMIC);
	if (!ret)
		WRITE_ONCE(d->dv_no_mr_atomics, true);
	return ret;
}

static noinline int rds_ib_mr_register(struct rds_ib_mr *im,
				       struct rds_ib_device *d,
				       const struct rds_mr_memory *mem)
{
	struct rds_ib_frmr *fm;
	struct ib_mr *mr;
	int nr;

	fm = rds_ib_frmr_get(d, mem->nr);
	if (IS_ERR(fm))
		return PTR_ERR(fm);
	im->im_fm = fm;

	mr = fm->fm_mr;
	nr = ib_map_mr_sg(mr, im->im_sgt.sgl, im->im_sgt.nents, NULL,
			  PAGE_SIZE);
	/* Peers count from where the memory begins in its page: so must the
	 * device, which is not so if it is given a copy somewhere else.
	 */
	if (nr != im->im_sgt.nents || offset_in_page(mr->iova) != mem->off)
		return -EIO;
	mr->iova = mem->off;

	return rds_ib_mr_register_as(fm, d, rds_ib_mr_access(d, mem->writable));
}

ALLOW_ERROR_INJECTION(rds_ib_mr_register, ERRNO);

/* Can it be done on this device? */
static int rds_ib_mr_check(const struct rds_ib_device *d,
			   const struct rds_mr_memory *mem)
{
	unsigned int max = rds_ib_mr_pages_max(d);

	if (!max)
		return -EOPNOTSUPP;
	return mem->nr > max ? -EMSGSIZE : 0;
}

/* What users are told: drivers have many reasons. */
static int rds_ib_mr_errno(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EOPNOTSUPP:
	case -EADDRNOTAVAIL:
	case -EMSGSIZE:
	case -ENETDOWN:
	case -EINTR:
		return err;
	default:
		return -EIO;
	}
}

/* Unless the device has been removed meanwhile */
static bool rds_ib_mr_list(struct rds_ib_mr *im, struct rds_ib_device *d)
{
	bool listed;

	spin_lock_bh(&rds_ib_mr_lock);
	listed = !READ_ONCE(d->dv_removed);
	if (listed) {
		WRITE_ONCE(im->im_dev, d);
		list_add_tail(&im->im_item, &d->dv_mrs);
	}
	spin_unlock_bh(&rds_ib_mr_lock);
	return listed;
}

/**
 * rds_ib_mr_map() - let peers reach memory
 * @net: the namespace
 * @laddr: the address that they are connected to
 * @ifindex: its scope, or 0
 * @mem: the memory
 * @key: set to the key
 *
 * Context: see &rds_rdma_ops.mr_map.
 * Return: see there.
 */
void *rds_ib_mr_map(struct net *net, const struct in6_addr *laddr, int ifindex,
		    const struct rds_mr_memory *mem, u32 *key)
{
	struct rds_ib_device *d;
	struct rds_ib_mr *im;
	int ret;

	im = kzalloc(sizeof(*im), GFP_KERNEL_ACCOUNT);
	if (!im)
		return ERR_PTR(-ENOMEM);
	init_completion(&im->im_gone);

	d = rds_ib_device_of(net, laddr, ifindex);
	if (IS_ERR(d)) {
		ret = PTR_ERR(d);
		goto err_free;
	}
	ret = rds_ib_mr_check(d, mem);
	if (!ret)
		ret = rds_ib_mr_map_pages(im, d, mem);
	if (!ret)
		ret = rds_ib_mr_register(im, d, mem);
	if (!ret && !rds_ib_mr_list(im, d))
		ret = -EADDRNOTAVAIL;
	if (ret)
		goto err_device;

	*key = im->im_fm->fm_mr->rkey;
	return im;

err_device:
	rds_ib_mr_take_down(im, d);
err_free:
	kfree(im);
	return ERR_PTR(rds_ib_mr_errno(ret));
}

/**
 * rds_ib_mr_alive() - has the device memory still?
 * @handle: what rds_ib_mr_map() has returned
 *
 * Context: see &rds_rdma_ops.mr_alive.
 * Return: see there.
 */
bool rds_ib_mr_alive(const void *handle)
{
	const struct rds_ib_mr *im = handle;

	return READ_ONCE(im->im_dev);
}

/* Whoever gets the device takes the memory down. */
static struct rds_ib_device *rds_ib_mr_unlist(struct rds_ib_mr *im)
{
	struct rds_ib_device *d;

	spin_lock_bh(&rds_ib_mr_lock);
	d = im->im_dev;
	if (d)
		list_del(&im->im_item);
	WRITE_ONCE(im->im_dev, NULL);
	spin_unlock_bh(&rds_ib_mr_lock);
	return d;
}

/**
 * rds_ib_mr_unmap() - no peer is to reach memory any more
 * @handle: what rds_ib_mr_map() has returned
 *
 * Context: see &rds_rdma_ops.mr_unmap.
 */
void rds_ib_mr_unmap(void *handle)
{
	struct rds_ib_mr *im = handle;
	struct rds_ib_device *d = rds_ib_mr_unlist(im);

	if (d)
		rds_ib_mr_take_down(im, d);
	else
		wait_for_completion(&im->im_gone);
	kfree(im);
}

static struct rds_ib_mr *rds_ib_mr_next(struct rds_ib_device *d)
{
	struct rds_ib_mr *im;

	spin_lock_bh(&rds_ib_mr_lock);
	WRITE_ONCE(d->dv_removed, true);
	im = list_first_entry_or_null(&d->dv_mrs, struct rds_ib_mr, im_item);
	if (im) {
		list_del(&im->im_item);
		WRITE_ONCE(im->im_dev, NULL);
	}
	spin_unlock_bh(&rds_ib_mr_lock);
	return im;
}

/**
 * rds_ib_mrs_end() - a device is going
 * @d: the device
 *
 * Context: process, may sleep.
 */
void rds_ib_mrs_end(struct rds_ib_device *d)
{
	struct rds_ib_mr *im;

	while ((im = rds_ib_mr_next(d))) {
		rds_ib_mr_take_down(im, d);
		/* Its owner may free it from here on. */
		complete(&im->im_gone);
	}
}
