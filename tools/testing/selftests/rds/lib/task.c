// SPDX-License-Identifier: GPL-2.0
/* The helpers of rds_test.h for calls that block, and for signals */
#define _GNU_SOURCE

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rds_test.h"

static long task_call(struct rds_task *task)
{
	struct pollfd pfd = { .fd = task->fd, .events = task->events };
	long ret;

	switch (task->nr) {
	case SYS_sendto:
		return syscall(SYS_sendto, task->fd, task->buf, task->len,
			       task->flags, &task->to.sa, task->to.len);
	case SYS_recvfrom:
		return syscall(SYS_recvfrom, task->fd, task->buf, task->len,
			       task->flags, NULL, NULL);
	case SYS_accept4:
		return syscall(SYS_accept4, task->fd, NULL, NULL, task->flags);
	case SYS_connect:
		return syscall(SYS_connect, task->fd, &task->to.sa,
			       task->to.len);
	default:
		ret = syscall(SYS_ppoll, &pfd, 1, NULL, NULL, 0);
		return ret > 0 ? pfd.revents : ret;
	}
}

static void *task_main(void *data)
{
	struct rds_task *task = data;

	task->tid = gettid();
	task->ret = ERR(task_call(task));
	task->done = true;
	return NULL;
}

int rds_task_start(struct rds_task *task)
{
	return pthread_create(&task->thread, NULL, task_main, task);
}

int rds_task_send(struct rds_task *task, int fd, void *buf, size_t len,
		  const struct rds_name *to)
{
	*task = (struct rds_task) {
		.fd = fd, .buf = buf, .len = len, .to = *to, .nr = SYS_sendto,
	};
	return rds_task_start(task);
}

int rds_task_recv(struct rds_task *task, int fd, void *buf, size_t len)
{
	*task = (struct rds_task) {
		.fd = fd, .buf = buf, .len = len, .nr = SYS_recvfrom,
	};
	return rds_task_start(task);
}

int rds_task_poll(struct rds_task *task, int fd, short events)
{
	*task = (struct rds_task) {
		.fd = fd, .events = events, .nr = SYS_ppoll,
	};
	return rds_task_start(task);
}

int rds_task_accept(struct rds_task *task, int fd)
{
	*task = (struct rds_task) { .fd = fd, .nr = SYS_accept4 };
	return rds_task_start(task);
}

int rds_task_connect(struct rds_task *task, int fd, const struct rds_name *to)
{
	*task = (struct rds_task) { .fd = fd, .to = *to, .nr = SYS_connect };
	return rds_task_start(task);
}

/* Return the system call in which a thread sleeps, or -1 while it runs. */
static long task_sleeps_in(pid_t tid)
{
	char path[64], text[32] = "";
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0 || text[0] < '0' || text[0] > '9')
		return -1;
	return strtol(text, NULL, 10);
}

bool rds_task_blocked(struct rds_task *task)
{
	while (!task->done) {
		if (task->tid && task_sleeps_in(task->tid) == task->nr)
			return true;
		sched_yield();
	}
	return false;
}

long rds_task_join(struct rds_task *task)
{
	pthread_join(task->thread, NULL);
	return task->ret;
}

static atomic_uint signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* @sa_flags is 0 or SA_RESTART. */
int rds_signal_setup(int sa_flags)
{
	struct sigaction action = {
		.sa_handler = count_signal,
		.sa_flags = sa_flags,
	};

	return sigaction(SIGUSR1, &action, NULL);
}

unsigned int rds_signal_count(void)
{
	return signals;
}
