// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions (MRs): user memory that peers reach by RDMA.
 *
 * Core owns the pages. This file maps them for the device, and registers them
 * by a fast registration (FRMR, mr_pool.c). The rkey gives peers access to
 * exactly these bytes, at addresses that start with the offset of the memory in
 * its first page. It is valid on all connections of the device.
 *
 * An MR is taken down once, which ends its key and its mapping. The context
 * that removes the MR from the device's list does this: rds_ib_mr_unmap(), or
 * the removal of the device, which does not wait for the owners of MRs. In the
 * latter case, rds_ib_mr_unmap() waits until the MR is down, because core
 * unpins the pages next.
 */
#include <linux/error-injection.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "compat.h"
#include "ib.h"
#include "trace.h"

/* Maximum size of a segment: some hosts cannot map a larger one for a device */
#define RDS_IB_MR_SEGMENT	SZ_64K

/* Guards dv_mrs of each device and im_dev of each MR, and orders changes of
 * both with dv_removed
 */
static DEFINE_SPINLOCK(rds_ib_mr_lock);

/**
 * struct rds_ib_mr - user memory that is mapped and registered for a device
 * @im_item: entry in &rds_ib_device.dv_mrs
 * @im_dev: the device, with a reference; NULL unless the MR is on its list
 * @im_fm: the FRMR that the memory is registered by
 * @im_sgt: the pages
 * @im_dir: direction of the mapping
 * @im_mapped: the pages are mapped
 * @im_gone: completed when the removal of the device has taken the MR down
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

/* Take down an MR that may be set up only in part. The first step ends the
 * access of peers.
 */
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

/* End a registration that rds_ib_mr_map() has made. @err: 0 if its owner ends
 * it, or -ENODEV if the removal of the device does.
 */
static void rds_ib_mr_end(struct rds_ib_mr *im, struct rds_ib_device *d,
			  int err)
{
	const struct ib_mr *mr = im->im_fm->fm_mr;

	trace_rds_ib_mr_unmap(d, mr->rkey, mr->length, rds_ib_mr_npages(mr),
			      err);
	rds_ib_mr_take_down(im, d);
}

/* Check whether the device accesses a copy of the memory, because the mapping
 * uses a bounce buffer. The user and the device may both write at any time, so
 * there is no right moment to copy.
 */
static bool rds_ib_mr_is_bounced(struct rds_ib_device *d,
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
	return rds_ib_mr_is_bounced(d, &im->im_sgt) ? -EOPNOTSUPP : 0;
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

/* Some devices support atomic operations, but refuse to register memory for
 * them. Register without atomics there.
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
	/* Peers address the memory by its offset in the first page, so the
	 * device must do so, too. It does not if it gets a copy at another
	 * offset.
	 */
	if (nr != im->im_sgt.nents || offset_in_page(mr->iova) != mem->off)
		return -EIO;
	mr->iova = mem->off;

	return rds_ib_mr_register_as(fm, d, rds_ib_mr_access(d, mem->writable));
}

ALLOW_ERROR_INJECTION(rds_ib_mr_register, ERRNO);

/* Check whether the device can register the memory. */
static int rds_ib_mr_check(const struct rds_ib_device *d,
			   const struct rds_mr_memory *mem)
{
	unsigned int max = rds_ib_mr_pages_max(d);

	if (!max)
		return -EOPNOTSUPP;
	return mem->nr > max ? -EMSGSIZE : 0;
}

/* Map an errno to one that user space may see. Drivers return many others. */
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

/* Put the MR on the list of its device, unless the device has been removed in
 * the meantime. Returns true if the MR is on the list.
 */
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
 * rds_ib_mr_map() - Register memory for access by peers
 * @net: the namespace
 * @laddr: the local address that the peers are connected to
 * @ifindex: its scope, or 0
 * @mem: the memory
 * @key: set to the rkey
 *
 * Context: See &rds_rdma_ops.mr_map.
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
	trace_rds_ib_mr_map(d, *key, mem->len, mem->nr, 0);
	return im;

err_device:
	trace_rds_ib_mr_map(d, 0, mem->len, mem->nr, ret);
	rds_ib_mr_take_down(im, d);
err_free:
	kfree(im);
	return ERR_PTR(rds_ib_mr_errno(ret));
}

/**
 * rds_ib_mr_alive() - Check whether memory is still registered with the device
 * @handle: the handle that rds_ib_mr_map() has returned
 *
 * Context: See &rds_rdma_ops.mr_alive.
 * Return: see there.
 */
bool rds_ib_mr_alive(const void *handle)
{
	const struct rds_ib_mr *im = handle;

	return READ_ONCE(im->im_dev);
}

/* Take the MR off the list of its device. Returns the device, and the caller
 * takes the MR down; NULL if the removal of the device does that.
 */
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
 * rds_ib_mr_unmap() - Deregister memory
 * @handle: the handle that rds_ib_mr_map() has returned; freed
 *
 * Context: See &rds_rdma_ops.mr_unmap.
 */
void rds_ib_mr_unmap(void *handle)
{
	struct rds_ib_mr *im = handle;
	struct rds_ib_device *d = rds_ib_mr_unlist(im);

	if (d)
		rds_ib_mr_end(im, d, 0);
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
 * rds_ib_mrs_end() - Take down all MRs of a device that is being removed
 * @d: the device
 *
 * Context: Process context, may sleep. Takes the lock of the MRs.
 */
void rds_ib_mrs_end(struct rds_ib_device *d)
{
	struct rds_ib_mr *im;

	while ((im = rds_ib_mr_next(d))) {
		rds_ib_mr_end(im, d, -ENODEV);
		/* From here on, rds_ib_mr_unmap() may free the MR. */
		complete(&im->im_gone);
	}
}
