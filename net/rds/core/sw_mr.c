// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA in software: memory that peers reach through core itself.
 *
 * For transports that have no RDMA core does what a device would do: it knows
 * memory by a key, and peers that know the key reach as much of it as was
 * registered, and write to it if that was allowed. The pages are those of
 * mr.c, which has pinned them.
 *
 * The table of the namespace has a region by its key, a random number. Where
 * peers begin to count is random, too: nobody loses a connection for a key that
 * is wrong, so one of 32 bits could be found by trying. Who works on a region
 * has a reference, for no longer than a copy takes. mr_unmap() takes it off the
 * table, so that nobody else begins, and waits for who has. A region is reached
 * only by connections of the address that its socket was bound to.
 */
#include <linux/highmem.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/ipv6.h>

#include "addr.h"
#include "compat.h"
#include "rds_net.h"
#include "sw_mr.h"

/* Keys drawn until one is found that nobody has */
#define RDS_SW_MR_DRAWS	16

/**
 * struct rds_sw_mr - memory that peers reach
 * @sm_rn: the namespace
 * @sm_key: the key
 * @sm_refs: the table's, and those who work on it
 * @sm_gone: the last has been given up
 * @sm_laddr: the address that peers reach it by
 * @sm_ifindex: its scope, or 0
 * @sm_base: where it begins, by the peers' count
 * @sm_len: bytes
 * @sm_writable: peers may write, too
 * @sm_nr: pages
 * @sm_bvec: those
 */
struct rds_sw_mr {
	struct rds_net		*sm_rn;
	u32			sm_key;
	refcount_t		sm_refs;
	struct completion	sm_gone;
	struct in6_addr		sm_laddr;
	u32			sm_ifindex;
	u32			sm_base;
	u32			sm_len;
	bool			sm_writable;
	unsigned int		sm_nr;
	struct bio_vec		sm_bvec[];
};

/**
 * rds_sw_mr_base() - where peers begin to count
 * @off: where in its page the memory begins, and so do they
 *
 * Context: any.
 * Return: a number that nobody can guess, and that an address counted from it
 * does not wrap.
 */
u32 rds_sw_mr_base(u32 off)
{
	return (get_random_u32() >> 1 & PAGE_MASK) | off;
}

/**
 * rds_sw_mr_net_init() - before any memory is registered
 * @rn: the namespace
 *
 * Context: process.
 */
void rds_sw_mr_net_init(struct rds_net *rn)
{
	xa_init_flags(&rn->rn_sw_mrs, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
}

/**
 * rds_sw_mr_net_exit() - after the last socket has been closed
 * @rn: the namespace
 *
 * Context: process.
 */
void rds_sw_mr_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(!xa_empty(&rn->rn_sw_mrs));
	xa_destroy(&rn->rn_sw_mrs);
}

/**
 * rds_sw_mr_get() - find memory
 * @rn: the namespace
 * @key: its key, as a peer says
 * @laddr: the address that the peer is connected to
 * @ifindex: its scope, or 0
 *
 * Context: any; bottom halves may be off.
 * Return: the memory, for rds_sw_mr_put(); NULL if there is none.
 */
struct rds_sw_mr *rds_sw_mr_get(struct rds_net *rn, u32 key,
				const struct in6_addr *laddr, u32 ifindex)
{
	struct rds_sw_mr *sm;

	xa_lock_bh(&rn->rn_sw_mrs);
	sm = xa_load(&rn->rn_sw_mrs, key);
	if (sm && ipv6_addr_equal(&sm->sm_laddr, laddr) &&
	    sm->sm_ifindex == rds_addr_scope(laddr, ifindex))
		refcount_inc(&sm->sm_refs);
	else
		sm = NULL;
	xa_unlock_bh(&rn->rn_sw_mrs);
	return sm;
}

/**
 * rds_sw_mr_put() - work on memory is over
 * @sm: the memory
 *
 * Context: any.
 */
void rds_sw_mr_put(struct rds_sw_mr *sm)
{
	if (refcount_dec_and_test(&sm->sm_refs))
		complete(&sm->sm_gone);
}

/* All of it within what was registered, by the peers' count? */
static bool rds_sw_mr_allows(const struct rds_sw_mr *sm, bool write,
			     u64 addr, u32 bytes)
{
	if (write && !sm->sm_writable)
		return false;
	return addr >= sm->sm_base && bytes <= sm->sm_len &&
	       addr - sm->sm_base <= sm->sm_len - bytes;
}

/**
 * rds_sw_mr_view() - a stretch of memory, to copy from or to
 * @sm: the memory, referenced
 * @write: it is to be written to
 * @addr: where, by the peers' count
 * @bytes: how much
 * @iter: set to it
 *
 * Context: any.
 * Return: false if that is not allowed.
 */
bool rds_sw_mr_view(struct rds_sw_mr *sm, bool write, u64 addr, u32 bytes,
		    struct iov_iter *iter)
{
	if (!rds_sw_mr_allows(sm, write, addr, bytes))
		return false;
	iov_iter_bvec(iter, write ? ITER_DEST : ITER_SOURCE, sm->sm_bvec,
		      sm->sm_nr, sm->sm_len);
	iov_iter_advance(iter, addr - sm->sm_base);
	iov_iter_truncate(iter, bytes);
	return true;
}

static u64 rds_sw_mr_exchange(struct page *page, u32 off,
			      const struct rds_op *op)
{
	u8 *base = kmap_local_page(page);
	atomic64_t *value = (atomic64_t *)(base + off);
	s64 old = atomic64_read(value);

	while (!atomic64_try_cmpxchg(value, &old, rds_sw_compute(op, old)))
		;
	flush_dcache_page(page);
	kunmap_local(base);
	return old;
}

/* A set bit of the mask is the last of a part, and nothing carries out of it
 * (InfiniBand Architecture Specification, "Masked Atomics"; rds-rdma(7),
 * nocarry_mask).
 */
static u64 rds_sw_add(u64 a, u64 b, u64 last)
{
	return ((a & ~last) + (b & ~last)) ^ ((a ^ b) & last);
}

/**
 * rds_sw_compute() - what an atomic operation makes of a value
 * @op: the operation
 * @old: what was there
 *
 * Context: any.
 * Return: what is there afterwards.
 */
u64 rds_sw_compute(const struct rds_op *op, u64 old)
{
	switch (op->op_kind) {
	case RDS_OP_FADD:
	case RDS_OP_MASKED_FADD:
		return rds_sw_add(old, op->op_add, op->op_add_mask);
	case RDS_OP_CSWP:
	case RDS_OP_MASKED_CSWP:
		if ((old ^ op->op_compare) & op->op_compare_mask)
			return old;
		return (old & ~op->op_add_mask) |
		       (op->op_add & op->op_add_mask);
	default:
		return old;
	}
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_compute);

/**
 * rds_sw_mr_atomic() - do an atomic operation on memory
 * @sm: the memory, referenced
 * @op: the operation; where, and with what
 * @old: set to what was there
 *
 * Atomic also with what this host's own programs do.
 *
 * Context: any.
 * Return: false if that is not allowed.
 */
bool rds_sw_mr_atomic(struct rds_sw_mr *sm, const struct rds_op *op,
		      u64 *old)
{
	u64 addr = op->op_addr;
	u32 page;

	if (!IS_ALIGNED(addr, sizeof(u64)) ||
	    !rds_sw_mr_allows(sm, true, addr, sizeof(u64)))
		return false;
	page = (addr >> PAGE_SHIFT) - (sm->sm_base >> PAGE_SHIFT);
	*old = rds_sw_mr_exchange(sm->sm_bvec[page].bv_page,
				  offset_in_page(addr), op);
	return true;
}

static struct rds_sw_mr *rds_sw_mr_new(const struct rds_mr_memory *mem)
{
	u32 left = mem->len, off = mem->off;
	struct rds_sw_mr *sm;
	unsigned int i;

	sm = kvzalloc(struct_size(sm, sm_bvec, mem->nr), GFP_KERNEL_ACCOUNT);
	if (!sm)
		return NULL;
	refcount_set(&sm->sm_refs, 1);
	init_completion(&sm->sm_gone);
	sm->sm_base = mem->base;
	sm->sm_len = mem->len;
	sm->sm_writable = mem->writable;
	sm->sm_nr = mem->nr;
	for (i = 0; i < mem->nr; i++) {
		sm->sm_bvec[i].bv_page = mem->pages[i];
		sm->sm_bvec[i].bv_offset = off;
		sm->sm_bvec[i].bv_len = min_t(u32, left, PAGE_SIZE - off);
		left -= sm->sm_bvec[i].bv_len;
		off = 0;
	}
	return sm;
}

static int rds_sw_mr_publish(struct rds_net *rn, struct rds_sw_mr *sm)
{
	int ret, draws = RDS_SW_MR_DRAWS;

	do {
		/* A cookie of 0 is none. */
		sm->sm_key = get_random_u32() ?: 1;
		ret = xa_insert_bh(&rn->rn_sw_mrs, sm->sm_key, sm,
				   GFP_KERNEL_ACCOUNT);
	} while (ret == -EBUSY && --draws);
	return ret ? -ENOMEM : 0;
}

static void *rds_sw_mr_map(struct net *net, const struct in6_addr *laddr,
			   int ifindex, const struct rds_mr_memory *mem,
			   u32 *key)
{
	struct rds_net *rn = rds_net(net);
	struct rds_sw_mr *sm;
	int ret;

	sm = rds_sw_mr_new(mem);
	if (!sm)
		return ERR_PTR(-ENOMEM);
	sm->sm_rn = rn;
	sm->sm_laddr = *laddr;
	sm->sm_ifindex = rds_addr_scope(laddr, ifindex);
	ret = rds_sw_mr_publish(rn, sm);
	if (ret) {
		kvfree(sm);
		return ERR_PTR(ret);
	}
	*key = sm->sm_key;
	return sm;
}

static bool rds_sw_mr_alive(const void *handle)
{
	return true;
}

static void rds_sw_mr_unmap(void *handle)
{
	struct rds_sw_mr *sm = handle;

	xa_erase_bh(&sm->sm_rn->rn_sw_mrs, sm->sm_key);
	rds_sw_mr_put(sm);
	wait_for_completion(&sm->sm_gone);
	kvfree(sm);
}

static int rds_sw_atomic_check(struct net *net, const struct in6_addr *laddr,
			       int ifindex, enum rds_op_kind kind)
{
	return 0;
}

const struct rds_rdma_ops rds_sw_rdma_ops = {
	.atomic_check	= rds_sw_atomic_check,
	.mr_map		= rds_sw_mr_map,
	.mr_alive	= rds_sw_mr_alive,
	.mr_unmap	= rds_sw_mr_unmap,
};
