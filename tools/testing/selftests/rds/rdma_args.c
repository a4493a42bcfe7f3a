// SPDX-License-Identifier: GPL-2.0
/*
 * Arguments of RDMA operations and of registrations that are invalid. A call
 * that is refused sends nothing, and leaves no page pinned.
 */
#include "rdma.h"

/* I2: numbers that are invalid or too large */
TEST_F(pair, cve_2010_3865_nonsense)
{
	struct rds_iovec vec[2] = { { (uintptr_t)near, PAGE }, {} };
	struct op op = { .vec = vec, .nr = 1, .room = PAGE };

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	vec[0].bytes = 0;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	vec[0].bytes = PAGE + 1;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	op.room = LARGEST;
	vec[0].bytes = LARGEST + 1;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = -PAGE;
	vec[0].bytes = PAGE + 1;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = -PAGE;
	vec[0].bytes = PAGE;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	vec[0].addr = 0;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	/* I8, I19: the second piece is not mapped. */
	op.nr = 2;
	vec[0].addr = (uintptr_t)near;
	vec[1].addr = 0;
	vec[1].bytes = PAGE;
	EXPECT_EQ(-EFAULT, send_op(self->a, &self->b_name, &op, 0));
	vec[1].bytes = -PAGE;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	op.nr = 1025;
	EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0));
	op.nr = 0;
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	EXPECT_TRUE(await_only(0));
}

/* Counts that overflow when multiplied, or lead to huge allocations */
TEST_F(pair, cve_2010_4175_cve_2022_21385_huge_vector_counts)
{
	static const uint64_t counts[] = {
		1025, 0x40001, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
		0x100000001, 1ULL << 60, ~0ULL,
	};
	struct rds_iovec vec = { (uintptr_t)near, PAGE };
	struct op op = { .vec = &vec, .room = PAGE };
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		op.nr = counts[i];
		EXPECT_EQ(-EMSGSIZE, send_op(self->a, &self->b_name, &op, 0))
			TH_LOG("%llx", (unsigned long long)counts[i]);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* No vectors at all, or an empty one among them */
TEST_F(pair, cve_2018_5332_no_vectors_or_no_pages)
{
	static struct rds_iovec vec[1024];
	struct op op = { .vec = vec, .room = PAGE };
	unsigned int i;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&op.cookie));
	EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	for (op.nr = 1; op.nr <= ARRAY_SIZE(vec); op.nr *= 2) {
		memset(vec, 0, sizeof(vec));
		EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
		for (i = 0; i < op.nr; i++)
			vec[i] = (struct rds_iovec) { (uintptr_t)near + i, 1 };
		vec[op.nr - 1].bytes = 0;
		EXPECT_EQ(-EINVAL, send_op(self->a, &self->b_name, &op, 0));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, op.cookie));
	EXPECT_TRUE(await_only(0));
}

static long send_map(int fd, const struct rds_name *to, void *mem, size_t len,
		     uint64_t *cookie)
{
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)mem, len },
		.cookie_addr = (uintptr_t)cookie,
	};
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 10);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, MSG_DONTWAIT));
}

static long get_mr_for_dest(int fd, const struct rds_name *to, void *mem,
			    size_t len, uint64_t *cookie)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { (uintptr_t)mem, len },
		.cookie_addr = (uintptr_t)cookie,
	};

	memcpy(&args.dest_addr, &to->ss, to->len);
	return ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &args,
			      sizeof(args)));
}

/* A transport without an address is not enough to register memory. */
TEST_F(pair, cve_2018_7492_register_unbound)
{
	int fd = rds_socket();
	uint64_t cookie;

	ASSERT_LE(0, fd);
	/* Loopback cannot be chosen. */
	if (variant->transport != RDS_TRANS_LOOP) {
		ASSERT_EQ(0, rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
				     variant->transport));
	}
	EXPECT_EQ(-ENOTCONN, rds_get_mr(fd, far, PAGE, 0, &cookie));
	EXPECT_EQ(-ENOTCONN, get_mr_for_dest(fd, &self->b_name, far, PAGE,
					     &cookie));
	EXPECT_EQ(-ENOTCONN, send_map(fd, &self->b_name, far, PAGE, &cookie));
	EXPECT_EQ(-EINVAL, rds_free_mr(fd, 1));
	EXPECT_TRUE(await_only(0));
	close(fd);
}

/* The first call fails when no path exists that could be asked to connect. */
TEST_F(pair, cve_2024_27024_cve_2024_35902_map_that_fails_as_first_act)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	uint64_t cookie;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		EXPECT_EQ(variant->wire ? -EFAULT : -ENETUNREACH,
			  send_map(self->a, &nobody, NULL, PAGE, &cookie));
		EXPECT_EQ(-EFAULT, get_mr_for_dest(self->a, &nobody, NULL,
						   PAGE, &cookie));
		EXPECT_EQ(-EFAULT, rds_get_mr(self->a, NULL, PAGE, 0,
					      &cookie));
	}
	EXPECT_TRUE(await_only(0));
	if (!variant->wire)
		return;
	/* A registration that succeeds needs no path either. */
	EXPECT_EQ(10, send_map(self->a, &nobody, near, PAGE, &cookie));
	EXPECT_EQ(0, rds_free_mr(self->a, cookie));
	EXPECT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO, NULL,
				    0)));
	EXPECT_TRUE(await_only(0));
}

/* The cookie cannot be stored, but the region's pages are already pinned. */
TEST_F(pair, cve_2026_46053_cookie_at_bad_address)
{
	uint64_t *bad[] = {
		(uint64_t *)8, (uint64_t *)-8L,
		(uint64_t *)(rds_guarded_page() + PAGE),
	};
	unsigned int i;
	uint64_t none;

	ASSERT_EQ(0, rds_get_mr(self->b, near, PAGE, 0, &none));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EFAULT, rds_get_mr(self->a, far, 5 * PAGE,
					      RDS_RDMA_READWRITE, bad[i]));
		EXPECT_EQ(-EFAULT, get_mr_for_dest(self->a, &self->b_name, far,
						   5 * PAGE, bad[i]));
		EXPECT_EQ(-EFAULT, send_map(self->a, &self->b_name, far,
					    5 * PAGE, bad[i]));
		EXPECT_TRUE(await_only(1));
	}
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(0, rds_free_mr(self->b, none));
	EXPECT_TRUE(await_only(0));
}

TEST_HARNESS_MAIN
