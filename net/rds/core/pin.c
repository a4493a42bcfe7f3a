// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory that a device, or core in software RDMA, reads or writes: memory
 * regions, and the local side of RDMA operations.
 *
 * The pages may stay pinned for long, because a peer may be away for long. So
 * they are pinned with FOLL_LONGTERM, which moves them out of areas where pages
 * must be movable. A child of fork() gets copies. Before Linux 6.2, memory that
 * a device only reads is pinned as if for writing, too. Otherwise its owner
 * would no longer share the pages with the device after a write to them. The
 * pages count against the user's limit of locked memory. A page that is to be
 * written to is refused if a file system must know of each write to it.
 *
 * Releasing the pages may sleep. A context that cannot sleep leaves it to a
 * work item.
 */
#include <linux/cred.h>
#include <linux/error-injection.h>
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "pin.h"

static struct workqueue_struct *rds_pin_wq;

/**
 * struct rds_pin_late - releases by work items, for a group of users
 * @pl_queued: number of releases queued so far
 * @pl_done: number of releases done so far
 */
struct rds_pin_late {
	atomic_t	pl_queued;
	atomic_t	pl_done;
};

#define RDS_PIN_USERS_BITS	6

/* Indexed by a hash of the user, so that users rarely wait for each other */
static struct rds_pin_late rds_pin_users[1 << RDS_PIN_USERS_BITS];

static struct rds_pin_late *rds_pin_late_of(const struct user_struct *user)
{
	return &rds_pin_users[hash_ptr(user, RDS_PIN_USERS_BITS)];
}

/**
 * rds_pin_count() - Count the pages that a range of user memory spans
 * @addr: start of the range
 * @bytes: length of the range
 *
 * Context: Any context.
 * Return: the number of pages; -EINVAL if the range is empty or wraps, or ends
 * beyond the address space; -EMSGSIZE if it spans more than INT_MAX pages.
 */
int rds_pin_count(u64 addr, u64 bytes)
{
	u64 end, pages;

	if (!bytes || check_add_overflow(addr, bytes - 1, &end) ||
	    end > ULONG_MAX)
		return -EINVAL;
	pages = (end >> PAGE_SHIFT) - (addr >> PAGE_SHIFT) + 1;
	return pages > INT_MAX ? -EMSGSIZE : pages;
}

/**
 * rds_pin_account() - Charge pages against the user's limit of locked memory
 * @pin: the memory to charge for; charged only once
 * @pages: number of pages
 *
 * Context: Process context, may sleep.
 * Return: 0; -ENOMEM if the user may not lock that much more, or if a fatal
 * signal ended the wait for earlier releases.
 */
int rds_pin_account(struct rds_pin *pin, unsigned int pages)
{
	/* mm_account_pinned_pages() adds two pages, for memory that begins and
	 * ends in the middle of a page.
	 */
	size_t size = pages > 2 ? (pages - 2) * PAGE_SIZE : 1;
	struct rds_pin_late *late = rds_pin_late_of(current_user());
	int done, queued;

	/* Unused pages may wait for a work item to release them, and count
	 * until then. Try again after each such release: it may be the large
	 * one.
	 */
	do {
		done = atomic_read(&late->pl_done);
		/* Pairs with the order in which both are counted. */
		smp_rmb();
		queued = atomic_read(&late->pl_queued);
		if (!mm_account_pinned_pages(&pin->pn_account, size))
			return 0;
	} while (done != queued &&
		 !wait_var_event_killable(&late->pl_done,
					  atomic_read(&late->pl_done) != done));
	return -ENOMEM;
}

/**
 * rds_pin_add() - Pin the pages of a range of user memory
 * @pin: where to add them; it has room for the pages, and they are charged
 * @addr: start of the range
 * @pages: number of pages
 *
 * Context: Process context, may sleep.
 * Return: 0; -EFAULT if the pages are not there, or not writable as needed, or
 * refused; -ENOMEM.
 */
noinline int rds_pin_add(struct rds_pin *pin, u64 addr, unsigned int pages)
{
	struct page **to;
	int got;

	addr &= PAGE_MASK;
	for (; pages; pages -= got) {
		to = pin->pn_pages + pin->pn_nr;
		if (pin->pn_writable)
			got = rds_pin_for_write(addr, pages, FOLL_LONGTERM, to);
		else
			got = pin_user_pages_fast(addr, pages, FOLL_LONGTERM |
						  RDS_FOLL_READ, to);
		if (got <= 0)
			return got == -ENOMEM ? got : -EFAULT;
		addr += got * PAGE_SIZE;
		pin->pn_nr += got;
	}
	return 0;
}

ALLOW_ERROR_INJECTION(rds_pin_add, ERRNO);

/**
 * rds_pin_release() - Unpin pages and undo their charge
 * @pin: the pages, which are not accessed any more; holds none afterwards
 *
 * Context: Process context, may sleep.
 */
void rds_pin_release(struct rds_pin *pin)
{
	struct rds_pin_late *late = NULL;

	if (pin->pn_late)
		late = rds_pin_late_of(pin->pn_account.user);
	unpin_user_pages_dirty_lock(pin->pn_pages, pin->pn_nr,
				    pin->pn_writable);
	pin->pn_nr = 0;
	mm_unaccount_pinned_pages(&pin->pn_account);
	memset(&pin->pn_account, 0, sizeof(pin->pn_account));
	pin->pn_late = false;
	if (!late)
		return;
	atomic_inc(&late->pl_done);
	/* wake_up_var() requires a full barrier. */
	smp_mb__after_atomic();
	wake_up_var(&late->pl_done);
}

/**
 * rds_pin_release_later() - Let a work item release pages
 * @pin: the pages
 * @work: the work item, which calls rds_pin_release() once
 *
 * Context: Any context.
 */
void rds_pin_release_later(struct rds_pin *pin, struct work_struct *work)
{
	pin->pn_late = true;
	atomic_inc(&rds_pin_late_of(pin->pn_account.user)->pl_queued);
	queue_work(rds_pin_wq, work);
}

/**
 * rds_pin_flush() - Wait for all queued releases
 *
 * Context: Process context, may sleep; not from one of these work items.
 */
void rds_pin_flush(void)
{
	flush_workqueue(rds_pin_wq);
}

/**
 * rds_pin_init() - Create the workqueue for releases
 *
 * Context: Process context, may sleep. Nothing has been pinned yet.
 * Return: 0 or -ENOMEM.
 */
int rds_pin_init(void)
{
	rds_pin_wq = alloc_workqueue("rds_pin", WQ_UNBOUND, 0);
	return rds_pin_wq ? 0 : -ENOMEM;
}

/**
 * rds_pin_exit() - Finish all releases and destroy their workqueue
 *
 * Context: Process context, may sleep. The last socket has been closed.
 */
void rds_pin_exit(void)
{
	destroy_workqueue(rds_pin_wq);
}
