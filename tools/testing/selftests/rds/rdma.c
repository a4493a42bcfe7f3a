// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA reads and writes of memory of a peer: what they transfer, what the peer
 * does not allow, and how they are given up
 */
#include "rdma.h"

#include <sys/mman.h>
#include <sys/resource.h>

TEST_F(pair, write_and_read)
{
	static const size_t lens[] = {
		1, 8, PAGE - 1, PAGE, PAGE + 1, 70000, LARGEST - PAGE + 1,
	};
	static const size_t offs[] = { 0, 1, 100, PAGE - 1 };
	uint64_t cookie;
	unsigned int i, j;

	ASSERT_EQ(0, rds_get_mr(self->b, far + 5, LARGEST, RDS_RDMA_READWRITE,
				&cookie));
	rds_fill(near, sizeof(near), 1);
	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (j = 0; j < sizeof(offs) / sizeof(*offs); j++) {
			unsigned char *mine = near + offs[j];
			unsigned char *there = far + 5 + offs[j];

			/* If large operations take long, test the largest
			 * length only once.
			 */
			if (j && lens[i] > memory_share(LARGEST))
				break;
			memset(far, 0, sizeof(far));
			ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie,
					  offs[j], mine, lens[i],
					  RDS_RDMA_READWRITE, i + 1));
			ASSERT_EQ(RDS_RDMA_SUCCESS,
				  await_status(self->a, i + 1));
			EXPECT_EQ(0, memcmp(mine, there, lens[i]));
			EXPECT_EQ(0, there[-1]);
			EXPECT_EQ(0, there[lens[i]]);
			/* The message that follows is empty. */
			EXPECT_EQ(0, rds_recv(self->b, payload, 1));

			rds_fill(there, lens[i], i + 50);
			ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie,
					  offs[j], mine, lens[i], 0, i + 2));
			ASSERT_EQ(RDS_RDMA_SUCCESS,
				  await_status(self->a, i + 2));
			EXPECT_TRUE(rds_check(mine, lens[i], i + 50));
			EXPECT_EQ(0, rds_recv(self->b, payload, 1));
			rds_fill(near, sizeof(near), i + 2);
		}
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* When the message arrives, the data of its write is in place. */
TEST_F(pair, goes_before_its_message)
{
	struct rds_iovec vec = { (uintptr_t)near, 50000 };
	struct op op = {
		.vec = &vec, .nr = 1, .len = 3000, .flags = RDS_RDMA_READWRITE,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, 50000, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < 20; i++) {
		rds_fill(near, 50000, i);
		ASSERT_EQ(3000, send_op(self->a, &self->b_name, &op, 0));
		ASSERT_EQ(3000, rds_recv(self->b, payload, sizeof(payload)));
		EXPECT_TRUE(rds_check(payload, 3000, 7));
		EXPECT_TRUE(rds_check(far, 50000, i));
	}
	/* No notification was requested. */
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, many_pieces)
{
	static struct rds_iovec vec[1024];
	struct op op = {
		.vec = vec, .nr = 1024, .token = TOKEN,
		.flags = RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, RDS_RDMA_READWRITE,
				&op.cookie));
	rds_fill(near, LARGEST, 3);
	/* In reverse order, 1000 bytes of each 1024 */
	for (i = 0; i < 1024; i++) {
		vec[i].addr = (uintptr_t)near + (1023 - i) * 1024 + 24;
		vec[i].bytes = 1000;
	}
	ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, memcmp(far + i * 1000,
				    near + (1023 - i) * 1024 + 24, 1000));

	memset(near, 0, LARGEST);
	op.flags &= ~RDS_RDMA_READWRITE;
	ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	for (i = 0; i < 1024; i++)
		ASSERT_EQ(0, memcmp(far + i * 1000,
				    near + (1023 - i) * 1024 + 24, 1000));
}

TEST_F(pair, silent)
{
	struct rds_iovec vec = { (uintptr_t)near, 10000 };
	struct op op = {
		.vec = &vec, .nr = 1, .token = TOKEN, .flags =
		RDS_RDMA_READWRITE | RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT,
	};
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, 10000, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < 10; i++) {
		rds_fill(near, 10000, i);
		ASSERT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
		ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
		EXPECT_TRUE(rds_check(far, 10000, i));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(rds_await_acked(self->a));
	/* RDS_RDMA_SILENT suppresses empty messages only. */
	op.len = 1;
	ASSERT_EQ(1, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_EQ(1, rds_recv(self->b, payload, sizeof(payload)));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
}

/* A use-once region is freed when the message of its operation arrives. */
TEST_F(pair, used_once)
{
	uint64_t cookie, other;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE,
				RDS_RDMA_READWRITE | RDS_RDMA_USE_ONCE,
				&cookie));
	ASSERT_EQ(0, rds_get_mr(self->b, far + PAGE, PAGE, RDS_RDMA_READWRITE,
				&other));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, other, 0, near, PAGE,
			  RDS_RDMA_READWRITE, 1));
	ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near, PAGE,
			  RDS_RDMA_READWRITE, 2));
	EXPECT_EQ(0, await_status(self->a, 1));
	EXPECT_EQ(0, await_status(self->a, 2));
	EXPECT_TRUE(rds_arrived(self->b));
	EXPECT_EQ(0, rds_recv(self->b, payload, 1));
	EXPECT_EQ(0, rds_recv(self->b, payload, 1));
	EXPECT_EQ(-EINVAL, rds_free_mr(self->b, cookie));
	EXPECT_EQ(0, rds_free_mr(self->b, other));
}

/* How often operations that are not allowed may be reported as dropped: each of
 * the four attempts twice
 */
#define LOST_AT_MOST 8

/* Try an operation that the peer does not allow. Returns its status. With a
 * device, both ends drop the connection. If this end learns first that the
 * connection has ended, Soft-RoCE flushes the send queue before it reports the
 * error. The operation is then reported as dropped, and is tried again. Over
 * other transports no operation is dropped.
 */
static long refused(FIXTURE_DATA(pair) *self, uint64_t cookie, uint64_t off,
		    size_t len, uint64_t flags, unsigned int *lost)
{
	bool device = self->variant->transport == RDS_TRANS_IB;
	long ret;

	for (;;) {
		ret = rdma(self->a, &self->b_name, cookie, off, near, len,
			   flags, TOKEN);
		if (!ret)
			ret = await_status(self->a, TOKEN);
		if (ret != RDS_RDMA_DROPPED || !device ||
		    ++*lost > LOST_AT_MOST)
			return ret;
	}
}

/* An operation that the peer does not allow fails, and the failure is reported.
 * Other operations and messages are not affected.
 */
TEST_F(pair, what_is_not_allowed)
{
	struct rds_iovec vec = { (uintptr_t)near, PAGE };
	struct op op = { .vec = &vec, .nr = 1, .token = TOKEN };
	unsigned int lost = 0;
	uint64_t cookie, gone;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &gone));
	ASSERT_EQ(0, rds_free_mr(self->b, gone));
	memset(far, 1, sizeof(far));
	memset(near, 2, sizeof(near));

	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  refused(self, cookie, 0, PAGE, RDS_RDMA_READWRITE, &lost));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  refused(self, gone, 0, PAGE, 0, &lost));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  refused(self, cookie, 1, PAGE, 0, &lost));
	EXPECT_EQ(RDS_RDMA_REMOTE_ERROR,
		  refused(self, cookie, -1ULL, 1, 0, &lost));
	EXPECT_GE(LOST_AT_MOST, lost);
	if (lost)
		TH_LOG("%u attempts looked as if they had been lost", lost);
	EXPECT_EQ(2, near[0]);
	EXPECT_EQ(1, far[0]);
	/* A socket that has not requested a notification is notified of
	 * failures if it has set RDS_RECVERR.
	 */
	op.cookie = gone;
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, RDS_RECVERR, 1));
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_LT(RDS_RDMA_SUCCESS, await_status(self->a, TOKEN));
	/* A message without an operation is never dropped. */
	EXPECT_EQ(4, rds_sendto(self->a, "rest", 4, 0, &self->b_name));
	EXPECT_EQ(4, rds_recv(self->b, payload, sizeof(payload)));
	op.cookie = cookie;
	EXPECT_EQ(0, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_EQ(0, rds_recv(self->b, payload, sizeof(payload)));
	EXPECT_EQ(1, near[0]);
	EXPECT_TRUE(rds_silent(self->a));
}

/* The memory of an operation counts as locked until the operation has ended. */
TEST_F(pair, more_than_may_be_locked)
{
	const struct rlimit limit = { 40 * PAGE, 40 * PAGE };
	uint64_t cookie;
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, 0, &cookie));
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
	ASSERT_EQ(0, setresuid(1, 1, 1));
	EXPECT_EQ(-ENOMEM, rdma(self->a, &self->b_name, cookie, 0, near,
				60 * PAGE, 0, 1));
	EXPECT_EQ(-ENOMEM, rds_get_mr(self->b, near, 60 * PAGE, 0, &cookie));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, rdma(self->a, &self->b_name, cookie, 0, near,
				  20 * PAGE, RDS_RDMA_SILENT, i));
		ASSERT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, i));
	}
}

/* A device must not write to memory that its owner may only read. */
TEST_F(pair, read_into_what_is_read_only)
{
	unsigned char *mem;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	mem = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	EXPECT_EQ(-EFAULT, rdma(self->a, &self->b_name, cookie, 0, mem, PAGE,
				0, 1));
	EXPECT_TRUE(rds_silent(self->a));
}

/* An operation that has not begun is canceled, and its memory is released. */
TEST_F(pair, cancelled_before_it_begins)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, 0, &cookie));
	ASSERT_TRUE(await_only(1));
	if (!variant->wire) {
		EXPECT_EQ(-ENETUNREACH, rdma(self->a, &nobody, cookie, 0, near,
					     LARGEST, 0, 1));
		EXPECT_TRUE(await_only(1));
		return;
	}
	ASSERT_EQ(0, rdma(self->a, &nobody, cookie, 0, near, LARGEST, 0, 1));
	ASSERT_EQ(0, rdma(self->a, &nobody, cookie, 0, near, LARGEST, 0, 2));
	EXPECT_TRUE(await_only(1 + 2 * LARGEST / PAGE));
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, NULL,
				    0)));
	EXPECT_EQ(RDS_RDMA_CANCELED, await_status(self->a, 1));
	EXPECT_EQ(RDS_RDMA_CANCELED, await_status(self->a, 2));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

/* Cancel operations, or leave them to close(), at any stage. */
TEST_F(pair, given_up_at_any_time)
{
	struct rds_iovec vec = { (uintptr_t)near, memory_share(LARGEST) };
	struct op op = {
		.vec = &vec, .nr = 1, .flags = RDS_RDMA_NOTIFY_ME,
	};
	unsigned int i, j, told;
	uint64_t token;
	long ret;
	int fd;

	ASSERT_EQ(0, rds_get_mr(self->b, far, LARGEST, 0, &op.cookie));
	for (i = 0; i < 12; i++) {
		fd = rds_bound(variant->a, 0);
		for (j = 0; j < 4; j++) {
			op.token = j;
			ASSERT_EQ(0, send_op(fd, &self->b_name, &op, 0));
		}
		usleep(i * 700);
		told = 0;
		if (i % 2) {
			EXPECT_EQ(0, ERR(setsockopt(fd, SOL_RDS,
						    RDS_CANCEL_SENT_TO, NULL,
						    0)));
			/* Operations that had not begun end first. */
			for (j = 0; j < 4; j++) {
				ret = await_any(fd, &token);
				ASSERT_TRUE(ret == RDS_RDMA_SUCCESS ||
					    ret == RDS_RDMA_CANCELED);
				told |= 1 << token;
			}
			EXPECT_EQ(0xf, told);
		}
		close(fd);
	}
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	rds_drain(self->b);
	EXPECT_TRUE(await_only(0));
}

/* What the peer supports is unknown until its handshake frame arrives. A send
 * waits up to two seconds for the frame, but only once per connection, not once
 * per message.
 */
TEST(who_is_not_there_is_waited_for_once)
{
	struct rds_name to = rds_name("fd01::9", 4000);
	int fd = rds_bound(VETH_NEAR_IPV6, 0);
	long began = now_ms(), first;
	unsigned int i;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rdma(fd, &to, 1, 0, near, PAGE, 0, TOKEN));
	first = now_ms() - began;
	EXPECT_LT(1000, first);
	for (i = 1; i < 5; i++)
		ASSERT_EQ(0, rdma(fd, &to, 1, 0, near, PAGE, 0, TOKEN + i));
	EXPECT_GT(6000, now_ms() - began - first);
	close(fd);
}

TEST_HARNESS_MAIN
