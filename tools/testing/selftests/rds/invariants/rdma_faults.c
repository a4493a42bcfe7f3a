// SPDX-License-Identifier: GPL-2.0
/*
 * Connections over an RDMA device that cannot be set up: each step fails a few
 * times, at either end. What was created so far has to be undone, and in the
 * end all messages arrive, each once. The kernel's own checks find leaks and
 * worse.
 *
 * Steps of our code are made to fail, and not each allocation: RDMA devices in
 * software do not withstand this. Needs CONFIG_FAIL_FUNCTION.
 */
#include "faults.h"
#include "verbs.h"

#define CONNECTIONS 3
#define LARGE 9000

static char sent[LARGE];
static char received[LARGE];

/* Send two messages by each of some new connections, while a step fails. */
static void connect_anyway(struct __test_metadata *_metadata,
			   FIXTURE_DATA(rdma) *self, const struct step *step,
			   unsigned int tos)
{
	unsigned int i, j, seen[2 * CONNECTIONS] = {};
	int fd[CONNECTIONS];
	ssize_t len;

	ASSERT_TRUE(fail_at(step, TIMES));
	for (i = 0; i < CONNECTIONS; i++) {
		fd[i] = rdma_sender(tos + i);
		ASSERT_LE(0, fd[i]);
		sent[0] = 2 * i;
		EXPECT_EQ(64, rds_sendto(fd[i], sent, 64, 0, &self->b_name));
		sent[0] = 2 * i + 1;
		EXPECT_EQ(LARGE, rds_sendto(fd[i], sent, LARGE, 0,
					    &self->b_name));
	}
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
	EXPECT_EQ(0, times_left());
	EXPECT_TRUE(fail_no_more());
}

TEST_F(rdma, cve_2026_53355_set_up_that_fails)
{
	static const struct step steps[] = {
		{ "rds_ib_conn_alloc", "0", "1" },
		{ "rds_ib_device_join", NO_MEMORY, "1" },
		{ "rds_ib_conn_create_cq", NO_MEMORY, "1" },
		{ "rds_ib_conn_create_qp", NO_MEMORY, "1" },
		{ "rds_ib_tx_init", NO_MEMORY, "1" },
		{ "rds_ib_rx_add_chunk", NO_MEMORY, "1" },
		{ "rds_ib_page_get", "0", "7" },
	};
	unsigned int i;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		connect_anyway(_metadata, self, &steps[i],
			       100 + i * CONNECTIONS);
		TH_LOG("%s", steps[i].function);
	}
}

#define MESSAGES 40

/* Send messages of both sizes; return whether each arrives once, in order. */
static bool all_arrive(FIXTURE_DATA(rdma) *self, unsigned int count)
{
	unsigned int i;
	size_t len;

	for (i = 0; i < count; i++) {
		len = i % 2 ? LARGE : 64;
		rds_fill(sent, len, i);
		if (rds_sendto(self->a, sent, len, 0, &self->b_name) !=
		    (ssize_t)len)
			return false;
	}
	for (i = 0; i < count; i++) {
		len = i % 2 ? LARGE : 64;
		if (rds_recv(self->b, received, sizeof(received)) !=
		    (ssize_t)len || !rds_check(received, len, i))
			return false;
	}
	return rds_silent(self->b);
}

/* The device has acknowledged what it received. So it waits in its buffers, in
 * order, until there is memory; if no message follows, the path tries again by
 * itself.
 */
TEST_F(rdma, i16_receive_without_memory)
{
	static const struct step step = { "rds_ib_incoming_alloc", "0", "1" };
	unsigned int count;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	for (count = 1; count <= MESSAGES; count += 13) {
		ASSERT_TRUE(fail_at(&step, TIMES));
		EXPECT_TRUE(all_arrive(self, count)) TH_LOG("%u", count);
		EXPECT_EQ(0, times_left());
		EXPECT_TRUE(fail_no_more());
	}
}

/* If used buffers cannot be replaced, the sender waits, with or without
 * credits.
 */
TEST_F(rdma, i16_buffers_that_cannot_be_replaced)
{
	static const struct step step = { "rds_ib_page_get", "0", "1" };
	unsigned int credits;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	for (credits = 0; credits < 2; credits++) {
		ASSERT_EQ(0, rds_sysctl_set("ib/flow_control",
					    credits ? "1" : "0"));
		close(self->a);
		self->a = rdma_sender(200 + credits);
		ASSERT_LE(0, self->a);
		ASSERT_EQ(0, rds_sndbuf(self->a, 1 << 20));
		ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
		ASSERT_TRUE(fail_at(&step, MESSAGES));
		EXPECT_TRUE(all_arrive(self, MESSAGES))
			TH_LOG("credits: %u", credits);
		EXPECT_EQ(0, times_left());
		EXPECT_TRUE(fail_no_more());
	}
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
}

/* Each step fails as often as it is set to, and then all is as before. */
TEST_F(rdma, i19_memory_that_cannot_be_registered)
{
	static const char *const steps[] = {
		"rds_mr_pin", "rds_ib_mr_map_pages", "rds_ib_mr_register",
		"rds_ib_frmr_make", "rds_ib_reg_qp_create",
		"rds_ib_reg_qp_connect", "rds_ib_reg_qp_post", "rds_mr_publish",
	};
	struct step step = { .retval = NO_MEMORY, .interval = "1" };
	uint64_t cookie;
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)sent, sizeof(sent) },
		.cookie_addr = (uintptr_t)&cookie,
	};
	unsigned int i, failed;
	long ret;
	int fd;

	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		/* The device has no registrations yet. */
		ASSERT_EQ(0, spare_add());
		fd = rds_bound(SPARE_A, 0);
		ASSERT_LE(0, fd);
		step.function = steps[i];
		ASSERT_TRUE(fail_at(&step, TIMES));
		for (failed = 0; failed <= TIMES; failed++) {
			ret = ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR,
					     &args, sizeof(args)));
			if (!ret)
				break;
			EXPECT_EQ(-ENOMEM, ret);
		}
		EXPECT_EQ(0, ret);
		EXPECT_EQ(TIMES, failed) TH_LOG("%s", steps[i]);
		EXPECT_EQ(0, times_left());
		EXPECT_TRUE(fail_no_more());
		close(fd);
		ASSERT_EQ(0, spare_del());
	}
}

static bool keep(bool on)
{
	return !rds_sysctl_set("ib/mr_pool_software", on ? "1" : "0");
}

/* Register a region, and free it. */
static long register_once(int fd, const void *memory, size_t len)
{
	uint64_t cookie;
	long ret = rds_get_mr(fd, memory, len, 0, &cookie);

	return ret ?: rds_free_mr(fd, cookie);
}

/* A registration that cannot be invalidated is not kept, and no caller notices:
 * neither the one that has freed it, nor the one that registers memory next, by
 * a queue pair that may have failed with it.
 */
TEST_F(rdma, i19_memory_that_cannot_be_invalidated)
{
	static const char *const steps[] = {
		"rds_ib_frmr_invalidate", "rds_ib_reg_qp_post",
	};
	struct step step = { .retval = NO_MEMORY, .interval = "1" };
	int64_t freed, reused;
	uint64_t cookie[TIMES];
	unsigned int i, j;

	ASSERT_TRUE(keep(true));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		freed = rds_counter(self->a, "ib_rdma_mr_8k_free");
		for (j = 0; j < TIMES; j++)
			ASSERT_EQ(0, rds_get_mr(self->a, sent, 100, 0,
						&cookie[j]));
		step.function = steps[i];
		ASSERT_TRUE(fail_at(&step, TIMES));
		for (j = 0; j < TIMES; j++)
			EXPECT_EQ(0, rds_free_mr(self->a, cookie[j]));
		EXPECT_TRUE(fail_no_more());
		EXPECT_EQ(freed + TIMES,
			  rds_counter(self->a, "ib_rdma_mr_8k_free"));

		EXPECT_EQ(0, register_once(self->a, sent, 100));
		reused = rds_counter(self->a, "ib_rdma_mr_8k_reused");
		EXPECT_EQ(0, register_once(self->a, sent, 100));
		EXPECT_EQ(reused + 1,
			  rds_counter(self->a, "ib_rdma_mr_8k_reused"));
		TH_LOG("%s", steps[i]);
	}
	EXPECT_TRUE(keep(false));
}

/* If the device has no more registrations, those kept are given back to it. */
TEST_F(rdma, i19_memory_that_is_kept_while_there_is_no_more)
{
	struct step step = { "rds_ib_frmr_make", NO_MEMORY, "2" };
	static char large[1 << 16];
	int64_t freed, waited, depleted;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, spare_add());
	fd = rds_bound(SPARE_A, 0);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(keep(true));
	freed = rds_counter(fd, "ib_rdma_mr_8k_free");
	waited = rds_counter(fd, "ib_rdma_mr_1m_pool_wait");
	depleted = rds_counter(fd, "ib_rdma_mr_1m_pool_depleted");
	/* At first every second one cannot be created. */
	ASSERT_TRUE(fail_at(&step, TIMES));
	for (i = 0; i < TIMES; i++) {
		EXPECT_EQ(0, register_once(fd, sent, 100));
		EXPECT_EQ(0, register_once(fd, large, sizeof(large)));
	}
	EXPECT_EQ(0, times_left());
	EXPECT_TRUE(fail_no_more());
	EXPECT_EQ(waited + TIMES / 2,
		  rds_counter(fd, "ib_rdma_mr_1m_pool_wait"));
	EXPECT_EQ(depleted, rds_counter(fd, "ib_rdma_mr_1m_pool_depleted"));
	EXPECT_LT(freed, rds_counter(fd, "ib_rdma_mr_8k_free"));
	EXPECT_TRUE(keep(false));
	close(fd);
	EXPECT_EQ(0, spare_del());
}

/* Nothing is left of an operation that could not begin. One that the device
 * cannot take yet is posted later.
 */
TEST_F(rdma, i19_operations_that_cannot_begin)
{
	static const struct step steps[] = {
		{ "rds_pin_add", NO_MEMORY, "1" },
		{ "rds_note_alloc", "0", "1" },
	};
	const struct step later = { "rds_ib_op_map", NO_MEMORY, "1" };
	struct rds_iovec vec = { (uintptr_t)sent, sizeof(sent) };
	struct rds_rdma_args args = {
		.remote_vec = { 0, sizeof(sent) },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME,
	};
	struct rds_msg msg, told;
	unsigned int i, j;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, received, sizeof(received), 0,
				&cookie));
	args.cookie = cookie;
	rds_msg_init(&msg, sent, 10);
	rds_msg_to(&msg, &self->b_name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	for (i = 0; i < ARRAY_SIZE(steps); i++) {
		ASSERT_TRUE(fail_at(&steps[i], TIMES));
		for (j = 0; j < TIMES; j++)
			EXPECT_EQ(-ENOMEM, ERR(sendmsg(self->a, &msg.hdr, 0)));
		EXPECT_EQ(0, times_left());
		EXPECT_TRUE(fail_no_more());
	}
	/* They are not reported. */
	EXPECT_TRUE(rds_silent(self->a));

	ASSERT_TRUE(fail_at(&later, TIMES));
	EXPECT_EQ(10, ERR(sendmsg(self->a, &msg.hdr, 0)));
	EXPECT_EQ(10, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(0, rds_msg_recv(self->a, &told, received, 1, 0));
	EXPECT_NE(NULL, rds_msg_find(&told, SOL_RDS, RDS_CMSG_RDMA_STATUS));
	EXPECT_EQ(0, times_left());
	EXPECT_TRUE(fail_no_more());
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_HARNESS_MAIN
