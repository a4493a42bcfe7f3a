// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fast registrations (FRMRs), and the pools that keep them for reuse.
 *
 * Allocating and deallocating an FRMR are slow device commands. Registering
 * memory by an existing FRMR, and invalidating the FRMR, are work requests. So
 * when memory is deregistered, its FRMR goes to a pool, and gets another rkey
 * before its next use. There are two sizes of FRMRs, with one pool each.
 *
 * A pool keeps an FRMR only if it is certain that peers cannot reach any memory
 * by it. When memory is deregistered, its key is invalidated on the device's
 * registration QP (reg_qp.c), before the owner of the memory continues. If that
 * may have failed, the FRMR is deallocated, which ends the access of peers,
 * too. This also happens if a peer has invalidated the key before, and the
 * device objects to the second invalidation. The registration QP has failed
 * then, and its next user creates another one.
 *
 * The last byte of a key is random, and an FRMR never uses the same key twice.
 * So an old key tells a peer nothing about the last byte of the next one,
 * except that the two differ. An FRMR that has used up half of its 256 possible
 * keys is deallocated.
 *
 * The size of a pool is limited by net.rds.ib.mr_pool_max, and by a share of
 * the MRs that the device supports. A work item deallocates FRMRs that have not
 * been needed for some time, half of them at each run. If the device has no
 * FRMR left for a caller, this caller empties both pools and tries again. No
 * other caller waits for that. The pools are emptied for good when the device
 * is removed, after its last reference is put: no FRMR can be put there any
 * more.
 *
 * On devices in software the commands are not slow. Besides, such a device
 * looks a key up before it copies, and another CPU may still be copying when
 * the key has been invalidated; only deallocation waits for that. So the pools
 * keep no FRMRs of these devices, unless net.rds.ib.mr_pool_software is set,
 * which is for tests.
 */
#include <linux/error-injection.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "ib.h"
#include "trace.h"

/* Time between two runs of the work item that shrinks the pools, in jiffies */
#define RDS_IB_MR_POOL_LOOK	(5 * HZ)

/* A pool keeps at most 1/n of the MRs that the device supports. */
#define RDS_IB_MR_POOL_SHARE	8

/* How many of its 256 keys an FRMR uses at most. The others remain unused, so
 * that a random search for an unused key ends soon.
 */
#define RDS_IB_FRMR_KEYS	128

/* Maximum number of pages for so many bytes of memory, which may begin and end
 * in the middle of a page
 */
#define RDS_IB_MR_PAGES(bytes)	(DIV_ROUND_UP(bytes, PAGE_SIZE) + 1)

#define rds_ib_mr_stat(pool, what)					\
do {									\
	if ((pool)->mp_small)						\
		rds_ib_stat_inc(ib_rdma_mr_8k_##what);			\
	else								\
		rds_ib_stat_inc(ib_rdma_mr_1m_##what);			\
} while (0)

static u32 rds_ib_mr_pool_max(const struct rds_ib_device *d)
{
	u32 share = max(d->dv_dev->attrs.max_mr, 0) / RDS_IB_MR_POOL_SHARE;

	if (ib_uses_virt_dma(d->dv_dev) &&
	    !READ_ONCE(rds_ib_sysctl.mr_pool_software))
		return 0;
	return min(READ_ONCE(rds_ib_sysctl.mr_pool_max), share);
}

/* When this returns, the device has freed the FRMR, and peers cannot reach any
 * memory by it.
 */
static void rds_ib_frmr_free(struct rds_ib_frmr *fm)
{
	rds_ib_mr_stat(fm->fm_pool, free);
	ib_dereg_mr(fm->fm_mr);
	kfree(fm);
}

static void rds_ib_frmr_free_list(struct list_head *list)
{
	struct rds_ib_frmr *fm, *next;

	list_for_each_entry_safe(fm, next, list, fm_item)
		rds_ib_frmr_free(fm);
}

/* Take the most recently used FRMR first, because it may still be in caches. */
static struct rds_ib_frmr *rds_ib_mr_pool_take(struct rds_ib_mr_pool *pool)
{
	struct rds_ib_frmr *fm;

	spin_lock_bh(&pool->mp_lock);
	fm = list_first_entry_or_null(&pool->mp_idle, struct rds_ib_frmr,
				      fm_item);
	if (fm) {
		list_del(&fm->fm_item);
		WRITE_ONCE(pool->mp_nr, pool->mp_nr - 1);
		pool->mp_low = min(pool->mp_low, pool->mp_nr);
	}
	spin_unlock_bh(&pool->mp_lock);
	return fm;
}

/* Move the @nr least recently used FRMRs to a list. */
static void rds_ib_mr_pool_cut(struct rds_ib_mr_pool *pool, u32 nr,
			       struct list_head *list)
	__must_hold(&pool->mp_lock)
{
	lockdep_assert_held(&pool->mp_lock);
	WRITE_ONCE(pool->mp_nr, pool->mp_nr - nr);
	while (nr--)
		list_move(pool->mp_idle.prev, list);
	pool->mp_low = pool->mp_nr;
}

static bool rds_ib_mr_pool_empty(struct rds_ib_mr_pool *pool)
{
	LIST_HEAD(list);
	bool any;

	spin_lock_bh(&pool->mp_lock);
	any = pool->mp_nr;
	rds_ib_mr_pool_cut(pool, pool->mp_nr, &list);
	spin_unlock_bh(&pool->mp_lock);
	rds_ib_frmr_free_list(&list);
	return any;
}

/* Deallocate half of the FRMRs that have not been needed since the last run,
 * and those above the limit. Returns true if FRMRs are left, so another run is
 * needed.
 */
static bool rds_ib_mr_pool_shrink(struct rds_ib_mr_pool *pool, u32 max)
{
	LIST_HEAD(list);
	u32 nr, left;

	spin_lock_bh(&pool->mp_lock);
	nr = DIV_ROUND_UP(pool->mp_low, 2);
	if (pool->mp_nr > max)
		nr = max(nr, pool->mp_nr - max);
	rds_ib_mr_pool_cut(pool, nr, &list);
	left = pool->mp_nr;
	spin_unlock_bh(&pool->mp_lock);

	if (nr)
		rds_ib_mr_stat(pool, pool_flush);
	rds_ib_frmr_free_list(&list);
	return left;
}

static void rds_ib_mr_pools_look(struct work_struct *work)
{
	struct rds_ib_device *d = container_of(to_delayed_work(work),
					       struct rds_ib_device,
					       dv_mr_look);
	u32 max = rds_ib_mr_pool_max(d);
	bool again = false;
	unsigned int i;

	for (i = 0; i < RDS_IB_MR_POOLS; i++)
		again |= rds_ib_mr_pool_shrink(&d->dv_mr_pools[i], max);
	if (again)
		queue_delayed_work(rds_ib_wq, &d->dv_mr_look,
				   RDS_IB_MR_POOL_LOOK);
}

static noinline int rds_ib_frmr_make(struct rds_ib_frmr *fm,
				     struct rds_ib_device *d)
{
	struct ib_mr *mr;

	mr = ib_alloc_mr(d->dv_pd, IB_MR_TYPE_MEM_REG, fm->fm_pool->mp_pages);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	fm->fm_mr = mr;
	rds_ib_mr_stat(fm->fm_pool, alloc);
	return 0;
}

ALLOW_ERROR_INJECTION(rds_ib_frmr_make, ERRNO);

/* The device cannot allocate an FRMR, and the errno is @ret. The pools may be
 * the reason: empty them, and try again. Returns 0 or an errno.
 */
static int rds_ib_frmr_make_room(struct rds_ib_frmr *fm,
				 struct rds_ib_device *d, int ret)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < RDS_IB_MR_POOLS; i++)
		any |= rds_ib_mr_pool_empty(&d->dv_mr_pools[i]);
	if (any) {
		rds_ib_mr_stat(fm->fm_pool, pool_wait);
		ret = rds_ib_frmr_make(fm, d);
	}
	if (ret)
		rds_ib_mr_stat(fm->fm_pool, pool_depleted);
	return ret;
}

static struct rds_ib_frmr *rds_ib_frmr_new(struct rds_ib_mr_pool *pool,
					   struct rds_ib_device *d)
{
	struct rds_ib_frmr *fm;
	int ret;

	fm = kzalloc(sizeof(*fm), GFP_KERNEL);
	if (!fm)
		return ERR_PTR(-ENOMEM);
	fm->fm_pool = pool;
	ret = rds_ib_frmr_make(fm, d);
	if (ret)
		ret = rds_ib_frmr_make_room(fm, d, ret);
	if (ret) {
		kfree(fm);
		return ERR_PTR(ret);
	}
	return fm;
}

static void rds_ib_frmr_renew_key(struct rds_ib_frmr *fm)
{
	u8 key;

	do {
		key = get_random_u32();
	} while (__test_and_set_bit(key, fm->fm_keys));
	ib_update_fast_reg_key(fm->fm_mr, key);
}

static struct rds_ib_mr_pool *rds_ib_mr_pool_for(struct rds_ib_device *d,
						 unsigned int pages)
{
	struct rds_ib_mr_pool *pool = d->dv_mr_pools;

	return pages <= pool->mp_pages ? pool : pool + 1;
}

/**
 * rds_ib_frmr_get() - Get an FRMR from a pool, or allocate one
 * @d: the device; the caller holds a reference
 * @pages: number of pages to register; at most rds_ib_mr_pages_max()
 *
 * Context: Process context, may sleep. Takes mp_lock.
 * Return: an idle FRMR, for rds_ib_frmr_put(); otherwise an errno as a pointer.
 */
struct rds_ib_frmr *rds_ib_frmr_get(struct rds_ib_device *d, unsigned int pages)
{
	struct rds_ib_mr_pool *pool = rds_ib_mr_pool_for(d, pages);
	struct rds_ib_frmr *fm = rds_ib_mr_pool_take(pool);

	if (fm)
		rds_ib_mr_stat(pool, reused);
	else
		fm = rds_ib_frmr_new(pool, d);
	if (IS_ERR(fm))
		return fm;
	/* Also if it is new: a driver may choose the same last byte always. */
	rds_ib_frmr_renew_key(fm);
	rds_ib_mr_stat(pool, used);
	return fm;
}

/**
 * rds_ib_frmr_register() - Register memory by an FRMR
 * @fm: the FRMR; ib_map_mr_sg() has assigned the memory to its fm_mr
 * @d: the device
 * @access: what peers may do, as IB_ACCESS_* flags
 *
 * Context: Process context, may sleep. Takes dv_reg_qp_lock.
 * Return: 0, or an errno of rds_ib_reg_qp_run().
 */
int rds_ib_frmr_register(struct rds_ib_frmr *fm, struct rds_ib_device *d,
			 int access)
{
	struct ib_reg_wr wr = {
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= fm->fm_mr,
		.key		= fm->fm_mr->rkey,
		.access		= access,
	};
	int ret;

	fm->fm_state = RDS_IB_FRMR_UNKNOWN;
	ret = rds_ib_reg_qp_run(d, &wr.wr);
	if (!ret)
		fm->fm_state = RDS_IB_FRMR_VALID;
	return ret;
}

static noinline int rds_ib_frmr_invalidate(struct rds_ib_frmr *fm,
					   struct rds_ib_device *d)
{
	struct ib_send_wr wr = {
		.opcode			= IB_WR_LOCAL_INV,
		.ex.invalidate_rkey	= fm->fm_mr->rkey,
	};

	return rds_ib_reg_qp_run_once(d, &wr);
}

ALLOW_ERROR_INJECTION(rds_ib_frmr_invalidate, ERRNO);

/* Check whether the pool may keep the FRMR. If not, do not invalidate it: it is
 * deallocated anyway.
 */
static bool rds_ib_frmr_may_keep(const struct rds_ib_frmr *fm,
				 const struct rds_ib_device *d)
{
	return fm->fm_state != RDS_IB_FRMR_UNKNOWN &&
	       !READ_ONCE(d->dv_removed) &&
	       READ_ONCE(fm->fm_pool->mp_nr) < rds_ib_mr_pool_max(d) &&
	       bitmap_weight(fm->fm_keys, 256) < RDS_IB_FRMR_KEYS;
}

/* Invalidate the FRMR if necessary. Returns true if it is certain that peers
 * cannot reach any memory by it.
 */
static bool rds_ib_frmr_is_idle(struct rds_ib_frmr *fm,
				struct rds_ib_device *d)
{
	const struct ib_mr *mr = fm->fm_mr;
	int err;

	if (fm->fm_state == RDS_IB_FRMR_VALID) {
		err = rds_ib_frmr_invalidate(fm, d);
		fm->fm_state = err ? RDS_IB_FRMR_UNKNOWN : RDS_IB_FRMR_IDLE;
		trace_rds_ib_mr_invalidate(d, mr->rkey, mr->length,
					   rds_ib_mr_npages(mr), err);
	}
	return fm->fm_state == RDS_IB_FRMR_IDLE;
}

/* Put the FRMR into its pool. Returns false if the pool has become full in the
 * meantime.
 */
static bool rds_ib_frmr_keep(struct rds_ib_frmr *fm, struct rds_ib_device *d)
{
	struct rds_ib_mr_pool *pool = fm->fm_pool;
	u32 max = rds_ib_mr_pool_max(d);
	bool room;

	spin_lock_bh(&pool->mp_lock);
	room = pool->mp_nr < max;
	if (room) {
		list_add(&fm->fm_item, &pool->mp_idle);
		WRITE_ONCE(pool->mp_nr, pool->mp_nr + 1);
	}
	spin_unlock_bh(&pool->mp_lock);
	if (room)
		queue_delayed_work(rds_ib_wq, &d->dv_mr_look,
				   RDS_IB_MR_POOL_LOOK);
	return room;
}

/**
 * rds_ib_frmr_put() - Return an FRMR to its pool, or deallocate it
 * @fm: the FRMR; when this returns, peers cannot reach any memory by it
 * @d: the device; the caller holds a reference until then
 *
 * Context: Process context, may sleep. Takes dv_reg_qp_lock, mp_lock.
 */
void rds_ib_frmr_put(struct rds_ib_frmr *fm, struct rds_ib_device *d)
{
	if (!rds_ib_frmr_may_keep(fm, d) || !rds_ib_frmr_is_idle(fm, d) ||
	    !rds_ib_frmr_keep(fm, d))
		rds_ib_frmr_free(fm);
}

/**
 * rds_ib_mr_pages_max() - Return the maximum number of pages of an MR
 * @d: the device
 *
 * A QP of an iWARP device cannot be connected to itself, so these devices have
 * no registration QP, and no MRs.
 *
 * Context: Any context.
 * Return: the number of pages; 0 if the device cannot register memory.
 */
unsigned int rds_ib_mr_pages_max(const struct rds_ib_device *d)
{
	const struct ib_device *dev = d->dv_dev;

	if (dev->node_type == RDMA_NODE_RNIC ||
	    !(dev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return 0;
	return d->dv_mr_pools[RDS_IB_MR_POOLS - 1].mp_pages;
}

/**
 * rds_ib_mr_pools_init() - Initialize the FRMR pools of a device
 * @d: the device; it has no FRMRs yet
 *
 * Context: Any context.
 */
void rds_ib_mr_pools_init(struct rds_ib_device *d)
{
	static const u32 pages[RDS_IB_MR_POOLS] = {
		RDS_IB_MR_PAGES(SZ_8K), RDS_IB_MR_PAGES(RDS_MAX_MSG_SIZE),
	};
	u32 max = d->dv_dev->attrs.max_fast_reg_page_list_len;
	struct rds_ib_mr_pool *pool;
	unsigned int i;

	for (i = 0; i < RDS_IB_MR_POOLS; i++) {
		pool = &d->dv_mr_pools[i];
		spin_lock_init(&pool->mp_lock);
		INIT_LIST_HEAD(&pool->mp_idle);
		pool->mp_small = !i;
		pool->mp_pages = min(pages[i], max);
	}
	INIT_DELAYED_WORK(&d->dv_mr_look, rds_ib_mr_pools_look);
}

/**
 * rds_ib_mr_pools_end() - Deallocate all FRMRs in the pools of a device
 * @d: the device; the last reference has been put
 *
 * Context: Process context, may sleep.
 */
void rds_ib_mr_pools_end(struct rds_ib_device *d)
{
	unsigned int i;

	cancel_delayed_work_sync(&d->dv_mr_look);
	for (i = 0; i < RDS_IB_MR_POOLS; i++)
		rds_ib_mr_pool_empty(&d->dv_mr_pools[i]);
}
