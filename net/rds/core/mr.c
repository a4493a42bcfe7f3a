// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory regions: user memory that peers may read and write (rds-rdma(7)).
 *
 * A region has pinned pages, what counts for them against the user's limit of
 * locked memory, and what the transport has made of them, which is what peers
 * reach it by. The table of its socket owns it, by its key. Whoever takes it
 * out of the table, which happens once, ends it: RDS_FREE_MR, close(), or the
 * arrival of a message that says that the peer has used it, if it is for one
 * use. It ends in this order: the transport stops the peers; the pages are let
 * go; then they no longer count. That may sleep, so what a message ends is left
 * to a work item, which holds the socket until then. Otherwise the region knows
 * its transport only, whose module it pins.
 *
 * The key is as good as a password: who has it may do what the region allows,
 * from any host that the socket's device has a connection to. That is so in all
 * RDS, and why a region for one use is to be preferred.
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

/* Regions of a socket */
#define RDS_MR_MAX	8192

/**
 * struct rds_mr - a region
 * @mr_work: ends it
 * @mr_rs: whose it is, referenced; only for @mr_work
 * @mr_trans: the transport, its module pinned
 * @mr_handle: what the transport has made of it; NULL before that
 * @mr_once: for one use
 * @mr_mem: the memory
 * @mr_pin: its pages
 * @mr_pages: those
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

/* The one place where it ends, however far it got. */
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

/* One less is about to end. */
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

/* Wait for those that a work item ends. */
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

/* How many pages? An errno if there are none, or too many. */
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

/* Off the table, if it is there, and of that kind */
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

/* From here on it is the table's. */
static noinline int rds_mr_publish(struct rds_sock *rs, struct rds_mr *mr,
				   u32 key)
{
	struct rds_mr *dead;
	int ret;

	/* One whose device is gone has lost its key. */
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

static int rds_mr_tell(const struct rds_get_mr_args *args,
		       rds_rdma_cookie_t cookie)
{
	u64 __user *to = u64_to_user_ptr(args->cookie_addr);

	return args->cookie_addr ? put_user(cookie, to) : 0;
}

/**
 * rds_mr_register() - let peers reach user memory
 * @rs: the socket, bound
 * @args: which memory, and how
 * @cookie: set to what peers are to be told
 *
 * Context: process, may sleep. No locks.
 * Return: 0; -EINVAL for a range that is none; -EPERM if the user may lock no
 * memory at all, -ENOMEM also if no more, or has too many regions; -EMSGSIZE
 * for more than RDS_MAX_MSG_SIZE; -EFAULT for memory that is not there, or
 * nowhere to put the cookie; or what the transport has to say.
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

	/* It is the table's: others may have freed it already. */
	ret = rds_mr_tell(args, *cookie);
	if (ret)
		rds_mr_free(rs, *cookie);
	return ret;
}

/**
 * rds_mr_free() - no peer is to reach it any more
 * @rs: the socket, bound
 * @cookie: its cookie
 *
 * Context: process, may sleep. No locks.
 * Return: 0; -EINVAL if there is no such region. In both cases no peer does.
 */
int rds_mr_free(struct rds_sock *rs, rds_rdma_cookie_t cookie)
{
	struct rds_mr *mr = rds_mr_take_if(rs, rds_mr_cookie_key(cookie),
					   rds_mr_is_any);

	if (!mr) {
		/* A peer may have used it, and it is about to end. */
		rds_mr_await_ended(rs);
		return -EINVAL;
	}
	rds_mr_end(mr);
	return 0;
}

/**
 * rds_mr_has() - is it a cookie of a region that peers reach?
 * @rs: the socket
 * @cookie: the cookie
 *
 * Context: process.
 * Return: true if it is.
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
 * rds_mr_used() - a peer has used a region
 * @rs: the socket that the peer's message is for
 * @key: which, as the peer says
 *
 * Context: deliver context.
 */
void rds_mr_used(struct rds_sock *rs, u32 key)
{
	struct rds_mr *mr;

	/* A caller that does not find it any more waits for it. */
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
 * rds_mr_close() - end all regions of a socket
 * @rs: the socket; nobody uses it, and no message is delivered to it
 *
 * Context: process, may sleep.
 */
void rds_mr_close(struct rds_sock *rs)
{
	struct rds_mr *mr;
	unsigned long key;

	xa_for_each(&rs->rs_mrs, key, mr) {
		/* Unless a delivery that is just ending has taken it */
		mr = rds_mr_take_if(rs, key, rds_mr_is_any);
		if (mr)
			rds_mr_end(mr);
	}
	/* What peers have used just now */
	rds_mr_await_ended(rs);
	xa_destroy(&rs->rs_mrs);
}
