/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Delays that make narrow races wide. RDS_DELAYS=1 scripts/build has the
 * compiler include this before each file of the modules; otherwise nothing
 * does.
 *
 * Another context gets its chance where a lock changes hands, and where a
 * reference is dropped: before a lock is taken, after it is released, and on
 * both sides of the drop. One time in eight this context waits. One of four
 * waits lets another task run, if this one may be preempted there; the others
 * spin for less than RDS_DELAY_MAX_US.
 */
#ifndef _RDS_DELAYS_H
#define _RDS_DELAYS_H

#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timex.h>
#include <net/sock.h>

#define RDS_DELAY_MAX_US	50

static __always_inline void rds_delay(void)
{
	u32 chance = hash_64(random_get_entropy(), 32);

	if (!(chance & 0x1f) && preemptible()) {
		preempt_disable();
		set_tsk_need_resched(current);
		set_preempt_need_resched();
		preempt_enable();
	} else if (!(chance & 0x7)) {
		udelay((chance >> 8) % RDS_DELAY_MAX_US);
	}
}

#define RDS_DELAY_BEFORE(name, type)				\
static __always_inline void rds_delayed_##name(type lock)	\
{								\
	rds_delay();						\
	name(lock);						\
}

#define RDS_DELAY_AFTER(name, type)				\
static __always_inline void rds_delayed_##name(type lock)	\
{								\
	name(lock);						\
	rds_delay();						\
}

#define RDS_DELAY_AROUND(name, type)				\
static __always_inline bool rds_delayed_##name(type count)	\
{								\
	bool ret;						\
								\
	rds_delay();						\
	ret = name(count);					\
	rds_delay();						\
	return ret;						\
}

RDS_DELAY_BEFORE(spin_lock, spinlock_t *)
RDS_DELAY_BEFORE(spin_lock_bh, spinlock_t *)
RDS_DELAY_BEFORE(spin_lock_irq, spinlock_t *)
RDS_DELAY_BEFORE(read_lock_bh, rwlock_t *)
RDS_DELAY_BEFORE(write_lock_bh, rwlock_t *)
RDS_DELAY_BEFORE(mutex_lock, struct mutex *)
RDS_DELAY_BEFORE(lock_sock, struct sock *)
RDS_DELAY_AFTER(spin_unlock, spinlock_t *)
RDS_DELAY_AFTER(spin_unlock_bh, spinlock_t *)
RDS_DELAY_AFTER(spin_unlock_irq, spinlock_t *)
RDS_DELAY_AFTER(read_unlock_bh, rwlock_t *)
RDS_DELAY_AFTER(write_unlock_bh, rwlock_t *)
RDS_DELAY_AFTER(mutex_unlock, struct mutex *)
RDS_DELAY_AFTER(release_sock, struct sock *)
RDS_DELAY_AROUND(refcount_dec_and_test, refcount_t *)
RDS_DELAY_AROUND(atomic_dec_and_test, atomic_t *)

#undef spin_lock
#undef spin_lock_bh
#undef spin_lock_irq
#undef read_lock_bh
#undef write_lock_bh
#undef mutex_lock
#undef lock_sock
#undef spin_unlock
#undef spin_unlock_bh
#undef spin_unlock_irq
#undef read_unlock_bh
#undef write_unlock_bh
#undef mutex_unlock
#undef release_sock
#undef refcount_dec_and_test
#undef atomic_dec_and_test

#define spin_lock		rds_delayed_spin_lock
#define spin_lock_bh		rds_delayed_spin_lock_bh
#define spin_lock_irq		rds_delayed_spin_lock_irq
#define read_lock_bh		rds_delayed_read_lock_bh
#define write_lock_bh		rds_delayed_write_lock_bh
#define mutex_lock		rds_delayed_mutex_lock
#define lock_sock		rds_delayed_lock_sock
#define spin_unlock		rds_delayed_spin_unlock
#define spin_unlock_bh		rds_delayed_spin_unlock_bh
#define spin_unlock_irq		rds_delayed_spin_unlock_irq
#define read_unlock_bh		rds_delayed_read_unlock_bh
#define write_unlock_bh		rds_delayed_write_unlock_bh
#define mutex_unlock		rds_delayed_mutex_unlock
#define release_sock		rds_delayed_release_sock
#define refcount_dec_and_test	rds_delayed_refcount_dec_and_test
#define atomic_dec_and_test	rds_delayed_atomic_dec_and_test

#endif /* _RDS_DELAYS_H */
