// SPDX-License-Identifier: GPL-2.0
/* Atomic operations on memory of a peer, with their results */
#include "rdma.h"

#include <sys/mman.h>

struct atomic {
	int type;
	uint64_t a, b, c, d;
};

static long atomic(int fd, const struct rds_name *to, uint64_t cookie,
		   uint64_t off, void *mem, const struct atomic *what,
		   uint64_t token)
{
	struct rds_atomic_args args = {
		.cookie = cookie,
		.local_addr = (uintptr_t)mem,
		.remote_addr = off,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = token,
	};
	struct rds_msg msg;

	args.m_cswp.compare = what->a;
	args.m_cswp.swap = what->b;
	args.m_cswp.compare_mask = what->c;
	args.m_cswp.swap_mask = what->d;
	rds_msg_init(&msg, NULL, 0);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, what->type, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, 0));
}

/* CVE-2026-52939: atomics from one end to the other, with their results */
TEST_F(pair, cve_2026_52939_atomics)
{
	const struct atomic add = { RDS_CMSG_ATOMIC_FADD, 5 };
	const struct atomic wraps = { RDS_CMSG_ATOMIC_FADD, -1ULL };
	const struct atomic swap = { RDS_CMSG_ATOMIC_CSWP, 1004, 77 };
	uint64_t *there = (uint64_t *)far, *mine = (uint64_t *)near;
	uint64_t cookie;
	int64_t drops;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	memset(near, 0, PAGE);
	there[0] = 1;
	there[1] = 1000;
	there[2] = 2;
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine + 1, &add,
			    1));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_EQ(1000, mine[1]);
	EXPECT_EQ(1005, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &wraps,
			    2));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_EQ(1005, mine[0]);
	EXPECT_EQ(1004, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &swap,
			    3));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 3));
	EXPECT_EQ(1004, mine[0]);
	EXPECT_EQ(77, there[1]);
	/* The value is no longer the expected one. */
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &swap,
			    4));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 4));
	EXPECT_EQ(77, mine[0]);
	EXPECT_EQ(77, there[1]);
	EXPECT_EQ(1, there[0]);
	EXPECT_EQ(2, there[2]);
	EXPECT_EQ(0, mine[2]);

	/* An operation that the device rejects does not affect others. */
	drops = rds_counter(self->a, "conn_reset");
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 9, mine, &add, 6));
	EXPECT_EQ(variant->transport == RDS_TRANS_IB ? RDS_RDMA_OTHER_ERROR :
						       RDS_RDMA_REMOTE_ERROR,
		  await_status(self->a, 6));
	EXPECT_EQ(77, there[1]);
	EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 8, mine, &add, 7));
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 7));
	EXPECT_EQ(82, there[1]);
	EXPECT_EQ(drops, rds_counter(self->a, "conn_reset"));
}

/* Soft-RoCE has no masked atomics. */
TEST_F(pair, masked_atomics)
{
	/* Two fields of 32 bits; no carry passes from one to the other. */
	const struct atomic add = {
		RDS_CMSG_MASKED_ATOMIC_FADD, 0x100000001, 0x80000000,
	};
	/* If the lowest byte is 0x34, the next byte becomes 0x56. */
	const struct atomic swap = {
		RDS_CMSG_MASKED_ATOMIC_CSWP, 0xff34, 0x5678, 0xff, 0xff00,
	};
	long wanted = variant->transport == RDS_TRANS_IB ? -EOPNOTSUPP : 0;
	uint64_t *there = (uint64_t *)far, *mine = (uint64_t *)near;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	there[1] = 0x7ffffffff;
	there[2] = 0x1234;
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 8, mine, &add,
				 1));
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 16, mine + 1,
				 &swap, 2));
	EXPECT_EQ(wanted, atomic(self->a, &self->b_name, cookie, 16, mine + 2,
				 &(struct atomic){ swap.type, 1, 0, 0xff, -1 },
				 3));
	if (wanted) {
		EXPECT_TRUE(rds_silent(self->a));
		return;
	}
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 1));
	EXPECT_EQ(0x7ffffffff, mine[0]);
	EXPECT_EQ(0x800000000, there[1]);
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	EXPECT_EQ(0x1234, mine[1]);
	EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 3));
	EXPECT_EQ(0x5634, mine[2]);
	EXPECT_EQ(0x5634, there[2]);
}

/* The CVE: the operation was freed as if its page had been pinned. */
TEST_F(pair, cve_2018_5333_atomic_at_bad_address)
{
	static const int types[] = {
		RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP,
	};
	unsigned char *end = (unsigned char *)rds_guarded_page() + PAGE;
	unsigned char *constant = mmap(NULL, PAGE, PROT_READ,
				       MEMORY_ANONYMOUS, -1, 0);
	unsigned char *bad[] = {
		NULL, near + 1, end, end - 4, constant, (void *)-8L,
	};
	unsigned int i, j;
	uint64_t cookie;

	ASSERT_EQ(0, rds_get_mr(self->b, far, PAGE, RDS_RDMA_READWRITE,
				&cookie));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const struct atomic op = { types[i] };

		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			EXPECT_EQ(-EFAULT, atomic(self->a, &self->b_name,
						  cookie, 0, bad[j], &op, 1))
				TH_LOG("type %d at %p", types[i], bad[j]);
		}
		EXPECT_TRUE(await_only(1));
		EXPECT_TRUE(rds_silent(self->a));
		EXPECT_EQ(0, atomic(self->a, &self->b_name, cookie, 0,
				    end - 8, &op, 2));
		EXPECT_EQ(RDS_RDMA_SUCCESS, await_status(self->a, 2));
	}
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_TRUE(await_only(0));
}

TEST_HARNESS_MAIN
