// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fast registrations that are kept for the next memory.
 *
 * To have the device make one, and take it back, are slow commands; to register
 * memory by one that there is, and to end that, are work requests. So what has
 * ended is kept, of two sizes, and has another key the next time.
 *
 * Kept is only what no peer reaches anything by, for certain: when memory ends
 * its key is invalidated by the device's own queue pair, before its owner goes
 * on. Where that may not have worked the registration is given back to the
 * device, which ends it, too. So it is where a peer has invalidated the key
 * before, if the device objects to that being done twice; the queue pair, which
 * has failed then, is made anew for who needs it next.
 *
 * Keys are drawn at random, and none is used again: whoever knows an old one
 * has no better chance than others to guess the next. When half of those that a
 * registration can have are used up it is given back.
 *
 * The number is bounded, by net.rds.ib.mr_pool_max and a share of what the
 * device can have. What is not needed for some time is given back by a work
 * item, a half at each look. All is given back if the device has no more for
 * somebody: nobody else ever waits for that. The pools end with the device,
 * after the last who may put anything there.
 *
 * Devices in software have no slow commands; and they look a key up before they
 * copy, which another CPU may be doing yet when it has been invalidated here.
 * To give the registration back waits for that. So nothing of theirs is kept,
 * unless mr_pool_software says so, for tests.
 */
#include <linux/error-injection.h>
#include <linux/random.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "ib.h"

/* How often they are looked at */
#define RDS_IB_MR_POOL_LOOK	(5 * HZ)

/* The share of the device's that a pool may have */
#define RDS_IB_MR_POOL_SHARE	8

/* How many keys, of 256, are used of a registration: they are found soon. */
#define RDS_IB_FRMR_KEYS	128

/* Memory of so many bytes may begin and end in the middle of a page. */
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

/* The device has it no more when this returns, nor do peers reach anything. */
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

/* Those that were used last are taken first, for they may be in caches. */
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

/* Move what was not used for longest to a list. */
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

/* Half of what nobody has needed since the last time, and what is too much.
 * Returns whether there is a next time.
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
	__set_bit((u8)mr->rkey, fm->fm_keys);
	rds_ib_mr_stat(fm->fm_pool, alloc);
	return 0;
}

ALLOW_ERROR_INJECTION(rds_ib_frmr_make, ERRNO);

/* The device has no more, as @ret tells: unless that is because of us. */
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
 * rds_ib_frmr_get() - have a fast registration
 * @d: the device, referenced
 * @pages: for how many pages; at most rds_ib_mr_pages_max()
 *
 * Context: process, may sleep. Takes mp_lock.
 * Return: one that nothing is registered by, for rds_ib_frmr_put(); or an errno
 * as a pointer.
 */
struct rds_ib_frmr *rds_ib_frmr_get(struct rds_ib_device *d, unsigned int pages)
{
	struct rds_ib_mr_pool *pool = rds_ib_mr_pool_for(d, pages);
	struct rds_ib_frmr *fm = rds_ib_mr_pool_take(pool);

	if (fm) {
		rds_ib_frmr_renew_key(fm);
		rds_ib_mr_stat(pool, reused);
	} else {
		fm = rds_ib_frmr_new(pool, d);
	}
	if (!IS_ERR(fm))
		rds_ib_mr_stat(pool, used);
	return fm;
}

/**
 * rds_ib_frmr_register() - have the device register memory
 * @fm: by which; its ib_mr has been told of the memory
 * @d: the device
 * @access: what peers may do
 *
 * Context: process, may sleep. Takes dv_reg_qp_lock.
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

/* Or would it be invalidated for nothing? */
static bool rds_ib_frmr_may_keep(const struct rds_ib_frmr *fm,
				 const struct rds_ib_device *d)
{
	return fm->fm_state != RDS_IB_FRMR_UNKNOWN &&
	       !READ_ONCE(d->dv_removed) &&
	       READ_ONCE(fm->fm_pool->mp_nr) < rds_ib_mr_pool_max(d) &&
	       bitmap_weight(fm->fm_keys, 256) < RDS_IB_FRMR_KEYS;
}

/* Whether it is certain that no peer reaches anything by it */
static bool rds_ib_frmr_is_idle(struct rds_ib_frmr *fm,
				struct rds_ib_device *d)
{
	if (fm->fm_state == RDS_IB_FRMR_VALID)
		fm->fm_state = rds_ib_frmr_invalidate(fm, d) ?
			       RDS_IB_FRMR_UNKNOWN : RDS_IB_FRMR_IDLE;
	return fm->fm_state == RDS_IB_FRMR_IDLE;
}

/* If there is room, which others may have taken meanwhile */
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
 * rds_ib_frmr_put() - have done with a fast registration
 * @fm: it; no peer reaches anything by it when this returns
 * @d: the device, referenced until then
 *
 * Context: process, may sleep. Takes dv_reg_qp_lock, mp_lock.
 */
void rds_ib_frmr_put(struct rds_ib_frmr *fm, struct rds_ib_device *d)
{
	if (!rds_ib_frmr_may_keep(fm, d) || !rds_ib_frmr_is_idle(fm, d) ||
	    !rds_ib_frmr_keep(fm, d))
		rds_ib_frmr_free(fm);
}

/**
 * rds_ib_mr_pages_max() - how many pages can memory have?
 * @d: the device
 *
 * The queue pairs of iWARP cannot be connected to themselves, so there is none.
 *
 * Context: any.
 * Return: the number; 0 if the device can register none.
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
 * rds_ib_mr_pools_init() - before anything is registered
 * @d: the device
 *
 * Context: any.
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
 * rds_ib_mr_pools_end() - give all that is kept back to the device
 * @d: the device; the last reference to it has been given up
 *
 * Context: process, may sleep.
 */
void rds_ib_mr_pools_end(struct rds_ib_device *d)
{
	unsigned int i;

	cancel_delayed_work_sync(&d->dv_mr_look);
	for (i = 0; i < RDS_IB_MR_POOLS; i++)
		rds_ib_mr_pool_empty(&d->dv_mr_pools[i]);
}
