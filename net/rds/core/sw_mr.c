// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA: memory that peers access through core itself.
 *
 * If a transport has no RDMA, core does the work of a device. Core finds a
 * memory region by its key. A peer that knows the key may access the registered
 * range, and may write to it if the registration allows that. mr.c pins the
 * pages.
 *
 * The table of the namespace (rn_sw_mrs) maps keys to regions. A key is a
 * random number of 32 bits. A peer could find it by trial, because a wrong key
 * does not cost the peer its connection. So the peer address of a region, by
 * which peers refer to its first byte, is random, too.
 *
 * The context that works on a region holds a reference to it, for no longer
 * than one copy takes. mr_unmap() removes the region from the table, so that no
 * other context takes a reference, waits until all references are put, and
 * frees the region. A region is accessible only by connections of the address
 * that its socket was bound to.
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

/* Random keys to try before giving up, if each is in use */
#define RDS_SW_MR_DRAWS	16

/**
 * struct rds_sw_mr - a memory region that peers access
 * @sm_rn: the namespace
 * @sm_key: the key
 * @sm_refs: references: one of the table, one of each context that works on
 *	the region
 * @sm_gone: completed when the last reference is put
 * @sm_laddr: the local address of the connections that may access the region
 * @sm_ifindex: scope of @sm_laddr, or 0
 * @sm_base: peer address of the first byte
 * @sm_len: bytes
 * @sm_writable: peers may write to the region, too
 * @sm_nr: number of entries in @sm_bvec
 * @sm_bvec: the pages
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
 * rds_sw_mr_base() - Choose the peer address of a region's first byte
 * @off: offset of the region in its first page; the peer address has the same
 *	offset
 *
 * Context: Any context.
 * Return: a peer address that cannot be guessed. It is low enough that no
 * address of the region wraps.
 */
u32 rds_sw_mr_base(u32 off)
{
	return (get_random_u32() >> 1 & PAGE_MASK) | off;
}

/**
 * rds_sw_mr_net_init() - Initialize the region table of a namespace
 * @rn: the namespace
 *
 * Context: Process context. No memory has been registered yet.
 */
void rds_sw_mr_net_init(struct rds_net *rn)
{
	xa_init_flags(&rn->rn_sw_mrs, XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT);
}

/**
 * rds_sw_mr_net_exit() - Destroy the region table of a namespace
 * @rn: the namespace
 *
 * Context: Process context. The last socket has been closed.
 */
void rds_sw_mr_net_exit(struct rds_net *rn)
{
	WARN_ON_ONCE(!xa_empty(&rn->rn_sw_mrs));
	xa_destroy(&rn->rn_sw_mrs);
}

/**
 * rds_sw_mr_get() - Find a region and take a reference to it
 * @rn: the namespace
 * @key: the key that the peer has sent
 * @laddr: the local address that the peer is connected to
 * @ifindex: scope of @laddr, or 0
 *
 * Context: Any context; bottom halves may be off.
 * Return: the region, to be released by rds_sw_mr_put(); NULL if there is none.
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
 * rds_sw_mr_put() - Put a reference to a region
 * @sm: the region
 *
 * Context: Any context.
 */
void rds_sw_mr_put(struct rds_sw_mr *sm)
{
	if (refcount_dec_and_test(&sm->sm_refs))
		complete(&sm->sm_gone);
}

/* Check that a range of peer addresses lies within the registered memory. */
static bool rds_sw_mr_allows(const struct rds_sw_mr *sm, bool write,
			     u64 addr, u32 bytes)
{
	if (write && !sm->sm_writable)
		return false;
	return addr >= sm->sm_base && bytes <= sm->sm_len &&
	       addr - sm->sm_base <= sm->sm_len - bytes;
}

/**
 * rds_sw_mr_view() - Set up an iterator for a range of a region
 * @sm: the region; the caller holds a reference
 * @write: the range is to be written
 * @addr: peer address of the range
 * @bytes: length of the range
 * @iter: set to the range
 *
 * Context: Any context.
 * Return: true if the access is allowed; false if it is not.
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

/* Each set bit of the mask is the highest bit of a field. No carry leaves a
 * field (InfiniBand Architecture Specification, "Masked Atomics"; rds-rdma(7),
 * nocarry_mask).
 */
static u64 rds_sw_add(u64 a, u64 b, u64 last)
{
	return ((a & ~last) + (b & ~last)) ^ ((a ^ b) & last);
}

/**
 * rds_sw_compute() - Compute the result of an atomic operation
 * @op: the operation
 * @old: the value before
 *
 * Context: Any context.
 * Return: the value after.
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
 * rds_sw_mr_atomic() - Do an atomic operation on a region
 * @sm: the region; the caller holds a reference
 * @op: the operation, with its peer address and operands
 * @old: set to the value before
 *
 * The operation is also atomic with respect to programs on this host, unless
 * the kernel emulates 64-bit atomics by locks (CONFIG_GENERIC_ATOMIC64).
 *
 * Context: Any context.
 * Return: true if it is done; false if it is not allowed.
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
		/* A cookie of 0 stands for no region. */
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
