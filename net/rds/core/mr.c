// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: user memory that peers may read and write (rds-rdma(7)).
 *
 * A region consists of pinned pages, their charge against the user's limit of
 * locked memory, and the transport's handle, by which peers access the pages.
 * The table of its socket, indexed by key, owns the region. The context that
 * removes the region from the table, which happens once, ends it. That is
 * RDS_FREE_MR, close(), or, for a single-use region, the arrival of a message
 * which indicates that the peer has used it. If the device of a region is gone,
 * a registration that gets the same key from another device ends the region.
 *
 * A region ends in this order: the transport stops the access of peers; the
 * pages are unpinned; they no longer count. This may sleep, so when a message
 * ends a region, a work item does it, and holds a reference to the socket until
 * then. Apart from that a region refers only to its transport, whose module it
 * pins.
 *
 * The key works like a password: a peer that has it may do what the region
 * allows, from any host that the socket's device has a connection to. This is
 * so in every RDS implementation, and a reason to prefer single-use regions.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mr.h"
#include "pin.h"
#include "sock.h"
#include "sw_mr.h"
#include "transport.h"

/* Maximum number of regions of a socket */
#define RDS_MR_MAX	8192

/**
 * struct rds_mr - a memory region
 * @mr_work: ends the region
 * @mr_rs: the socket, with a reference; only for @mr_work
 * @mr_trans: the transport, whose module is pinned
 * @mr_handle: the transport's handle; NULL before mr_map() has succeeded
 * @mr_once: the region is for a single use
 * @mr_mem: the memory, as passed to the transport
 * @mr_pin: the pins of its pages
 * @mr_pages: the pages
 */
struct rds_mr {
	struct work_struct		mr_work;
	struct rds_sock			*mr_rs;
	const struct rds_transport	*mr_trans;
	void				*mr_handle;
	bool				mr_once;
	struct rds_mr_memory		mr_mem;
	struct rds_pin			mr_pin;
	struct page			*mr_pages[];
};

/* All regions end here, including those that were set up only in part. */
static void rds_mr_end(struct rds_mr *mr)
{
	if (mr->mr_handle)
		rds_rdma_of(mr->mr_trans)->mr_unmap(mr->mr_handle);
	rds_pin_release(&mr->mr_pin);
	rds_transport_put(mr->mr_trans);
	kvfree(mr);
}

static bool rds_mr_is_alive(const struct rds_mr *mr)
{
	return rds_rdma_of(mr->mr_trans)->mr_alive(mr->mr_handle);
}

/* Decrement the count of regions that a work item is about to end. */
static void rds_mr_ended(struct rds_sock *rs)
{
	if (atomic_dec_and_test(&rs->rs_mrs_ending))
		wake_up_var(&rs->rs_mrs_ending);
}

static void rds_mr_end_work(struct work_struct *work)
{
	struct rds_mr *mr = container_of(work, struct rds_mr, mr_work);
	struct rds_sock *rs = mr->mr_rs;

	rds_mr_end(mr);
	rds_mr_ended(rs);
	sock_put(&rs->rs_sk);
}

/* Wait for the regions that a work item ends. */
static void rds_mr_await_ended(struct rds_sock *rs)
{
	wait_var_event(&rs->rs_mrs_ending, !atomic_read(&rs->rs_mrs_ending));
}

static struct rds_mr *rds_mr_alloc(const struct rds_transport *trans,
				   const struct rds_get_mr_args *args,
				   unsigned int pages)
{
	struct rds_mr *mr;

	mr = kvzalloc(struct_size(mr, mr_pages, pages), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return NULL;

	INIT_WORK(&mr->mr_work, rds_mr_end_work);
	mr->mr_once = args->flags & RDS_RDMA_USE_ONCE;
	mr->mr_mem.pages = mr->mr_pages;
	mr->mr_mem.off = offset_in_page(args->vec.addr);
	mr->mr_mem.base = trans->rdma ? mr->mr_mem.off :
					rds_sw_mr_base(mr->mr_mem.off);
	mr->mr_mem.len = args->vec.bytes;
	mr->mr_mem.writable = args->flags & RDS_RDMA_READWRITE;
	mr->mr_pin.pn_pages = mr->mr_pages;
	mr->mr_pin.pn_writable = mr->mr_mem.writable;
	__module_get(trans->owner);
	mr->mr_trans = trans;
	return mr;
}

static noinline int rds_mr_pin(struct rds_mr *mr, u64 addr, unsigned int pages)
{
	int ret;

	ret = rds_pin_account(&mr->mr_pin, pages);
	if (ret)
		return ret;
	mr->mr_mem.nr = pages;
	return rds_pin_add(&mr->mr_pin, addr, pages);
}

ALLOW_ERROR_INJECTION(rds_mr_pin, ERRNO);

/* Returns the number of pages, or an errno if the range is invalid or too
 * large, or if the user may not lock memory.
 */
static int rds_mr_count_pages(const struct rds_iovec *vec)
{
	int pages = rds_pin_count(vec->addr, vec->bytes);

	if (pages < 0)
		return pages;
	if (!can_do_mlock())
		return -EPERM;
	return vec->bytes > RDS_MAX_MSG_SIZE ? -EMSGSIZE : pages;
}

static int rds_mr_map(struct rds_sock *rs, struct rds_mr *mr, u32 *key)
{
	const struct rds_rdma_ops *rdma = rds_rdma_of(mr->mr_trans);
	void *handle;

	handle = rdma->mr_map(sock_net(&rs->rs_sk), &rs->rs_bound.ip,
			      rs->rs_bound.ifindex, &mr->mr_mem, key);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	mr->mr_handle = handle;
	return 0;
}

/* Remove a region from the table, if it is there and @is() accepts it. */
static struct rds_mr *rds_mr_take_if(struct rds_sock *rs, u32 key,
				     bool (*is)(const struct rds_mr *mr))
{
	struct rds_mr *mr;

	xa_lock_bh(&rs->rs_mrs);
	mr = xa_load(&rs->rs_mrs, key);
	if (mr && is(mr))
		__xa_erase(&rs->rs_mrs, key);
	else
		mr = NULL;
	xa_unlock_bh(&rs->rs_mrs);
	if (mr)
		atomic_dec(&rs->rs_nr_mrs);
	return mr;
}

static bool rds_mr_is_dead(const struct rds_mr *mr)
{
	return !rds_mr_is_alive(mr);
}

static bool rds_mr_is_for_once(const struct rds_mr *mr)
{
	return mr->mr_once;
}

static bool rds_mr_is_any(const struct rds_mr *mr)
{
	return true;
}

/* On success, the table owns the region. */
static noinline int rds_mr_publish(struct rds_sock *rs, struct rds_mr *mr,
				   u32 key)
{
	struct rds_mr *dead;
	int ret;

	/* A region whose device is gone has lost its key: another device may
	 * have given out the same one.
	 */
	dead = rds_mr_take_if(rs, key, rds_mr_is_dead);
	if (dead)
		rds_mr_end(dead);
	if (atomic_inc_return(&rs->rs_nr_mrs) > RDS_MR_MAX)
		ret = -ENOMEM;
	else
		ret = xa_insert_bh(&rs->rs_mrs, key, mr, GFP_KERNEL_ACCOUNT);
	if (ret)
		atomic_dec(&rs->rs_nr_mrs);
	return ret;
}

ALLOW_ERROR_INJECTION(rds_mr_publish, ERRNO);

static int rds_mr_store_cookie(const struct rds_get_mr_args *args,
			       rds_rdma_cookie_t cookie)
{
	u64 __user *to = u64_to_user_ptr(args->cookie_addr);

	return args->cookie_addr ? put_user(cookie, to) : 0;
}

/**
 * rds_mr_register() - Register user memory for access by peers
 * @rs: the socket, bound
 * @args: the memory and the kind of access
 * @cookie: set to the cookie by which peers refer to the memory
 *
 * Context: Process context, may sleep. No locks.
 * Return: 0; -EINVAL if the range is invalid; -EPERM if the user may not lock
 * memory at all; -ENOMEM if there is no memory, if the user may not lock more
 * memory, or if the socket has too many regions; -EMSGSIZE if the range is
 * larger than RDS_MAX_MSG_SIZE; -EFAULT if the memory is not accessible, or if
 * the cookie cannot be stored; otherwise as &rds_rdma_ops.mr_map.
 */
int rds_mr_register(struct rds_sock *rs, const struct rds_get_mr_args *args,
		    rds_rdma_cookie_t *cookie)
{
	const struct rds_transport *trans = rs->rs_trans;
	struct rds_mr *mr;
	int ret, pages;
	u32 key;

	pages = rds_mr_count_pages(&args->vec);
	if (pages < 0)
		return pages;
	mr = rds_mr_alloc(trans, args, pages);
	if (!mr)
		return -ENOMEM;

	ret = rds_mr_pin(mr, args->vec.addr, pages);
	if (!ret)
		ret = rds_mr_map(rs, mr, &key);
	if (!ret) {
		*cookie = rds_mr_cookie(key, mr->mr_mem.base);
		ret = rds_mr_publish(rs, mr, key);
	}
	if (ret) {
		rds_mr_end(mr);
		return ret;
	}

	/* The table owns the region: another task may have freed it already. */
	ret = rds_mr_store_cookie(args, *cookie);
	if (ret)
		rds_mr_free(rs, *cookie);
	return ret;
}

/**
 * rds_mr_free() - End the access of peers to a region
 * @rs: the socket, bound
 * @cookie: the cookie of the region
 *
 * Context: Process context, may sleep. No locks.
 * Return: 0; -EINVAL if there is no such region. In both cases no peer has
 * access when the function returns.
 */
int rds_mr_free(struct rds_sock *rs, rds_rdma_cookie_t cookie)
{
	struct rds_mr *mr = rds_mr_take_if(rs, rds_mr_cookie_key(cookie),
					   rds_mr_is_any);

	if (!mr) {
		/* A peer may have used it, and a work item may be ending it. */
		rds_mr_await_ended(rs);
		return -EINVAL;
	}
	rds_mr_end(mr);
	return 0;
}

/**
 * rds_mr_has() - Check whether peers can access the region of a cookie
 * @rs: the socket
 * @cookie: the cookie
 *
 * Context: Process context.
 * Return: true if they can; false if not, or if there is no such region.
 */
bool rds_mr_has(struct rds_sock *rs, rds_rdma_cookie_t cookie)
{
	const struct rds_mr *mr;
	bool has;

	xa_lock_bh(&rs->rs_mrs);
	mr = xa_load(&rs->rs_mrs, rds_mr_cookie_key(cookie));
	has = mr && rds_mr_is_alive(mr);
	xa_unlock_bh(&rs->rs_mrs);
	return has;
}

/**
 * rds_mr_used() - End a single-use region that a peer has used
 * @rs: the socket that the peer's message is for
 * @key: the key that the message carries
 *
 * Context: Deliver context.
 */
void rds_mr_used(struct rds_sock *rs, u32 key)
{
	struct rds_mr *mr;

	/* Count before the region leaves the table: a task that no longer finds
	 * it there waits for its end.
	 */
	atomic_inc(&rs->rs_mrs_ending);
	mr = rds_mr_take_if(rs, key, rds_mr_is_for_once);
	if (!mr) {
		rds_mr_ended(rs);
		return;
	}
	sock_hold(&rs->rs_sk);
	mr->mr_rs = rs;
	rds_pin_release_later(&mr->mr_pin, &mr->mr_work);
}

/**
 * rds_mr_close() - End all regions of a socket
 * @rs: the socket; it has no user, and no message is delivered to it
 *
 * Context: Process context, may sleep.
 */
void rds_mr_close(struct rds_sock *rs)
{
	struct rds_mr *mr;
	unsigned long key;

	xa_for_each(&rs->rs_mrs, key, mr) {
		/* A delivery that is just ending may have removed it. */
		mr = rds_mr_take_if(rs, key, rds_mr_is_any);
		if (mr)
			rds_mr_end(mr);
	}
	/* Wait for the regions that peers have just used. */
	rds_mr_await_ended(rs);
	xa_destroy(&rs->rs_mrs);
}
