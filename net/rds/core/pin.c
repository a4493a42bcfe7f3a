// SPDX-License-Identifier: GPL-2.0-only
/*
 * User memory that a device reads or writes: memory regions, and the local side
 * of RDMA operations.
 *
 * The pages are pinned for long, for a peer may be away for long: so they are
 * moved out of where pages must be movable, and a child of fork() has copies.
 * Memory that is only read is pinned as if for writing, too: its owner must see
 * the same pages as the device, also after he has written to them (before Linux
 * 6.2). They count against his limit of locked memory.
 *
 * To let them go may sleep, so who cannot has a work item do it.
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
 * struct rds_pin_late - what work items let go, of some users
 * @pl_queued: how many there were so far
 * @pl_done: how many have let it go
 */
struct rds_pin_late {
	atomic_t	pl_queued;
	atomic_t	pl_done;
};

#define RDS_PIN_USERS_BITS	6

/* By a hash of the user, so that few wait for others */
static struct rds_pin_late rds_pin_users[1 << RDS_PIN_USERS_BITS];

static struct rds_pin_late *rds_pin_late_of(const struct user_struct *user)
{
	return &rds_pin_users[hash_ptr(user, RDS_PIN_USERS_BITS)];
}

/**
 * rds_pin_count() - how many pages has a stretch of user memory?
 * @addr: where it begins
 * @bytes: how long it is
 *
 * Context: any.
 * Return: the number; -EINVAL if there is no such stretch, or nothing in it;
 * -EMSGSIZE for more than INT_MAX pages.
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
 * rds_pin_account() - have pages count as locked
 * @pin: what they are for; called once
 * @pages: how many
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM if the user may lock no more.
 */
int rds_pin_account(struct rds_pin *pin, unsigned int pages)
{
	/* Two pages are added, as for memory that begins and ends in the
	 * middle of one.
	 */
	size_t size = pages > 2 ? (pages - 2) * PAGE_SIZE : 1;
	struct rds_pin_late *late = rds_pin_late_of(current_user());
	int done, queued;

	/* What is not used any more may be about to go, and counts till then:
	 * try again after each that does, for it may be the one that was large.
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
 * rds_pin_add() - pin the pages of a stretch of user memory
 * @pin: what they are added to; has room for them, and they count already
 * @addr: where it begins
 * @pages: how many
 *
 * Context: process, may sleep.
 * Return: 0; -EFAULT if they are not there, or not to be written to; -ENOMEM.
 */
noinline int rds_pin_add(struct rds_pin *pin, u64 addr, unsigned int pages)
{
	const unsigned int flags = FOLL_LONGTERM |
				   (pin->pn_writable ? FOLL_WRITE :
						       RDS_FOLL_READ);
	int got;

	addr &= PAGE_MASK;
	for (; pages; pages -= got) {
		got = pin_user_pages_fast(addr, pages, flags,
					  pin->pn_pages + pin->pn_nr);
		if (got <= 0)
			return got == -ENOMEM ? got : -EFAULT;
		addr += got * PAGE_SIZE;
		pin->pn_nr += got;
	}
	return 0;
}

ALLOW_ERROR_INJECTION(rds_pin_add, ERRNO);

/**
 * rds_pin_release() - let pages go, and count no longer
 * @pin: the pages; no device reaches them any more; none afterwards
 *
 * Context: process, may sleep.
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
	/* As wake_up_var() wants it */
	smp_mb__after_atomic();
	wake_up_var(&late->pl_done);
}

/**
 * rds_pin_release_later() - have a work item let pages go
 * @pin: the pages
 * @work: the work item; it calls rds_pin_release(), once
 *
 * Context: any.
 */
void rds_pin_release_later(struct rds_pin *pin, struct work_struct *work)
{
	pin->pn_late = true;
	atomic_inc(&rds_pin_late_of(pin->pn_account.user)->pl_queued);
	queue_work(rds_pin_wq, work);
}

/**
 * rds_pin_flush() - wait for all of those
 *
 * Context: process, may sleep; not from one of them.
 */
void rds_pin_flush(void)
{
	flush_workqueue(rds_pin_wq);
}

/**
 * rds_pin_init() - before anything is pinned
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int rds_pin_init(void)
{
	rds_pin_wq = alloc_workqueue("rds_pin", WQ_UNBOUND, 0);
	return rds_pin_wq ? 0 : -ENOMEM;
}

/**
 * rds_pin_exit() - after the last socket has been closed
 *
 * Context: process, may sleep. Waits for what is still to be let go.
 */
void rds_pin_exit(void)
{
	destroy_workqueue(rds_pin_wq);
}
