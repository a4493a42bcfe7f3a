// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel slows down a task whose cgroup is above its memory.high: it may
 * put the task to sleep for two seconds where it allocates much memory. Others
 * that send by the same path do not wait for it.
 */
#include "cgroup.h"
#include "rdma.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define GROUP	CGROUP_ROOT "/rds-throttled"
#define HOG	(64UL << 20)	/* bytes above memory.high */
#define WATCHED	8000		/* ms */
#define MOST	2000		/* ms of these that messages may take in all */

/* Software RDMA */
static bool is_tcp_ipv4(const char *variant)
{
	return !strcmp(variant, "tcp_ipv4");
}

static void __attribute__((constructor)) choose(void)
{
	rds_choose_variants(&_pair_fixture_object, is_tcp_ipv4);
}

/* How often the kernel has found the group above its memory.high */
static long found_high(void)
{
	return memory_number(GROUP "/memory.events", "high %ld");
}

/* Enter the group, and exceed its memory.high for good: there is no swap. */
static bool exceed(void)
{
	void *hog;

	if (cgroup_enter(GROUP))
		return false;
	hog = mmap(NULL, HOG, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return hog != MAP_FAILED && !mlock(hog, HOG) &&
	       !cgroup_write(GROUP "/memory.high", "1M");
}

/* Write to the peer's memory without end: each request is a large frame. */
static void write_on(FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	uint64_t i, token;

	for (i = 0; ; i++) {
		rdma(self->a, &self->b_name, cookie, 0, near, LARGEST,
		     RDS_RDMA_READWRITE, i);
		await_any(self->a, &token);
	}
}

static pid_t begin(FIXTURE_DATA(pair) *self, uint64_t cookie)
{
	pid_t child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* From here on, it has pages of its own. */
	memset(near, 1, sizeof(near));
	if (exceed())
		write_on(self, cookie);
	_exit(1);
}

static bool end(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
	       !rmdir(GROUP);
}

/* Wait until the task has been slowed down. */
static bool await_slow(void)
{
	long until = now_ms() + 30000;

	while (found_high() <= 0) {
		if (now_ms() > until)
			return false;
		usleep(10000);
	}
	return true;
}

/* Send a message by the path of the task, and wait for it. What the task sends
 * is empty.
 */
static bool arrives(FIXTURE_DATA(pair) *self)
{
	long ret;

	if (rds_sendto(self->a, payload, 8, 0, &self->b_name) != 8)
		return false;
	do {
		ret = rds_recv(self->b, payload, sizeof(payload));
	} while (!ret);
	return ret == 8;
}

TEST_F(pair, senders_by_the_same_path_do_not_wait)
{
	long until, start, took = 0;
	uint64_t cookie;
	pid_t child;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, RDS_RDMA_READWRITE,
				&cookie));
	child = begin(self, cookie);
	ASSERT_TRUE(await_slow());
	for (until = now_ms() + WATCHED; now_ms() < until; usleep(20000)) {
		start = now_ms();
		ASSERT_TRUE(arrives(self));
		took += now_ms() - start;
	}
	TH_LOG("messages have taken %ld ms", took);
	EXPECT_LT(took, MOST);
	EXPECT_TRUE(end(child));
}

TEST_HARNESS_MAIN
