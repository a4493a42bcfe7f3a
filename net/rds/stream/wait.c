// SPDX-License-Identifier: GPL-2.0-only
/* How a system call waits for a stream to change. */
#include <linux/sched/signal.h>

#include "stream.h"

/**
 * rds_stream_wait() - Wait until a stream is ready for something
 * @st: the stream
 * @ready: checks whether it is; does not sleep
 * @arg: passed to @ready
 * @timeo: time to wait, in jiffies; set to what is left
 * @late: negative errno for a wait that has no time left
 *
 * Others may use the socket meanwhile.
 *
 * Context: Process context, may sleep. The socket lock is held, and released
 * while the task sleeps.
 * Return: 0; @late; or the errno of a signal.
 */
int rds_stream_wait(struct rds_stream *st, rds_stream_ready *ready, size_t arg,
		    long *timeo, int late)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sock *sk = &st->st_sk;
	int ret = 0;

	lockdep_assert_held(&st->st_mutex);
	add_wait_queue(sk_sleep(sk), &wait);
	/* Pairs with those in skwq_has_sleeper() and in
	 * rds_stream_wakes_readers().
	 */
	smp_mb();
	while (!ready(st, arg)) {
		if (!*timeo)
			ret = late;
		else if (signal_pending(current))
			ret = sock_intr_errno(*timeo);
		if (ret)
			break;
		mutex_unlock(&st->st_mutex);
		*timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, *timeo);
		mutex_lock(&st->st_mutex);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
	return ret;
}
