// SPDX-License-Identifier: GPL-2.0
/*
 * Connections over an RDMA device that cannot be set up for want of memory: at
 * any of the many steps, at either end, again and again. What was made so far
 * is to be unmade, and in the end all messages arrive, each once. Leaks and
 * worse are the kernel's own checks to find. Needs what faults.c does.
 *
 * The device is a soft-iWARP one: the soft-RoCE of 6.1 deletes timers that it
 * has not set up when it runs out of memory for a queue pair.
 */
#include "faults.h"
#include "verbs.h"

#define CONNECTIONS 12
#define LARGE 9000

static char sent[LARGE];
static char received[LARGE];

/* How many allocations are to fail at most */
#define FAULTS 600

/* What is made for one connection may fail; so may a page of a ring. */
static bool faults_begin(void)
{
	return write_file(FAULT("failslab/task-filter"), "Y") &&
	       write_file(FAULT("failslab/times"), "600") &&
	       write_file(FAULT("failslab/probability"), "8") &&
	       write_file(FAULT("fail_page_alloc/task-filter"), "Y") &&
	       write_file(FAULT("fail_page_alloc/times"), "200") &&
	       write_file(FAULT("fail_page_alloc/probability"), "8");
}

/* How many have not failed; an error is a great number */
static long faults_left(void)
{
	FILE *file = fopen(FAULT("failslab/times"), "r");
	long left = INT32_MAX;

	if (file && fscanf(file, "%ld", &left) != 1)
		left = INT32_MAX;
	if (file)
		fclose(file);
	return left;
}

static bool faults_end(void)
{
	return mark_workers("0") &&
	       write_file(FAULT("failslab/probability"), "0") &&
	       write_file(FAULT("failslab/times"), "0") &&
	       write_file(FAULT("fail_page_alloc/probability"), "0") &&
	       write_file(FAULT("fail_page_alloc/times"), "0");
}

static bool replace_device(const char *old, const char *new, const char *type)
{
	return !nldev_del(old) && !nldev_add(new, type, ROCE_DEV);
}

TEST_F_TIMEOUT(rdma, cve_2026_53355_set_up_without_memory, LONG)
{
	unsigned int i, j, seen[2 * CONNECTIONS] = {};
	int fd[CONNECTIONS];
	ssize_t len;

	ASSERT_TRUE(replace_device(ROCE_RDMA_DEV, "siw0", "siw"));
	ASSERT_TRUE(faults_allow());
	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	ASSERT_TRUE(faults_begin());
	for (i = 0; i < CONNECTIONS; i++) {
		fd[i] = rdma_sender(100 + i);
		ASSERT_LE(0, fd[i]);
		ASSERT_TRUE(mark_workers("1"));
		sent[0] = 2 * i;
		EXPECT_EQ(64, rds_sendto(fd[i], sent, 64, 0, &self->b_name));
		sent[0] = 2 * i + 1;
		EXPECT_EQ(LARGE, rds_sendto(fd[i], sent, LARGE, 0,
					    &self->b_name));
	}
	/* Workers come and go. */
	for (i = 0; i < 20; i++) {
		EXPECT_TRUE(mark_workers("1"));
		usleep(50000);
	}
	EXPECT_GT(FAULTS - CONNECTIONS, faults_left());
	TH_LOG("%ld allocations failed", FAULTS - faults_left());
	ASSERT_TRUE(faults_end());

	for (i = 0; i < 2 * CONNECTIONS; i++) {
		len = rds_recv(self->b, received, sizeof(received));
		ASSERT_LT(0, len);
		j = (unsigned char)received[0];
		ASSERT_GT(2 * CONNECTIONS, j);
		EXPECT_EQ(j % 2 ? LARGE : 64, len);
		EXPECT_EQ(0, seen[j]++);
	}
	EXPECT_TRUE(rds_silent(self->b));
	for (i = 0; i < CONNECTIONS; i++) {
		EXPECT_TRUE(rds_await_acked(fd[i]));
		close(fd[i]);
	}
	EXPECT_TRUE(replace_device("siw0", ROCE_RDMA_DEV, "rxe"));
}

TEST_HARNESS_MAIN
