// SPDX-License-Identifier: GPL-2.0-only
/*
 * Contents of software RDMA frames, and results of atomic operations:
 * net/rds/core/{sw_frame,sw_mr}.c.
 */
#include <kunit/test.h>

#include "../core/sw_frame.h"
#include "../core/sw_mr.h"

static void fills_the_room(struct kunit *test)
{
	static const u8 expected[RDS_EXTHDR_SPACE] = {
		RDS_EXTHDR_SW_RDMA, RDS_SW_WRITE, 0,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
		0x99, 0xaa, 0xbb, 0xcc, 0,
	};
	const struct rds_sw_frame frame = {
		.sf_kind = RDS_SW_WRITE, .sf_id = 0x11223344,
		.sf_key = 0x55667788, .sf_addr = 0x99aabbcc,
	};
	u8 exthdr[RDS_EXTHDR_SPACE];

	memset(exthdr, 0xee, sizeof(exthdr));
	rds_sw_frame_write(exthdr, &frame);
	KUNIT_EXPECT_EQ(test, memcmp(exthdr, expected, sizeof(exthdr)), 0);
}

static void round_trip(struct kunit *test)
{
	struct rds_sw_frame frame = {
		.sf_status = RDS_SW_REFUSED, .sf_id = ~0, .sf_key = 1,
		.sf_addr = 0x80000000,
	};
	u8 exthdr[RDS_EXTHDR_SPACE];
	struct rds_sw_frame found;
	unsigned int kind;

	for (kind = 0; kind < 256; kind++) {
		frame.sf_kind = kind;
		rds_sw_frame_write(exthdr, &frame);
		KUNIT_ASSERT_EQ(test, rds_sw_frame_read(exthdr, &found),
				kind <= RDS_SW_MASKED_CSWP);
		if (kind > RDS_SW_MASKED_CSWP)
			continue;
		KUNIT_EXPECT_EQ(test, found.sf_kind, frame.sf_kind);
		KUNIT_EXPECT_EQ(test, found.sf_status, frame.sf_status);
		KUNIT_EXPECT_EQ(test, found.sf_id, frame.sf_id);
		KUNIT_EXPECT_EQ(test, found.sf_key, frame.sf_key);
		KUNIT_EXPECT_EQ(test, found.sf_addr, frame.sf_addr);
	}
}

/* If the first extension header has another type, it is no such frame. */
static void other_headers(struct kunit *test)
{
	u8 exthdr[RDS_EXTHDR_SPACE] = {};
	struct rds_sw_frame found;
	unsigned int type;

	for (type = 0; type < 256; type++) {
		exthdr[0] = type;
		KUNIT_EXPECT_EQ(test, rds_sw_frame_read(exthdr, &found),
				type == RDS_EXTHDR_SW_RDMA);
	}
}

static void operands(struct kunit *test)
{
	const struct rds_op op = {
		.op_add = 0x0102030405060708ULL, .op_compare = 2,
		.op_add_mask = ~0ULL, .op_compare_mask = 1ULL << 63,
	};
	struct rds_sw_operands wire;
	struct rds_op found = {};

	rds_sw_operands_write(&wire, &op);
	KUNIT_EXPECT_EQ(test, *(u8 *)&wire.add, 1);
	rds_sw_operands_read(&wire, &found);
	KUNIT_EXPECT_EQ(test, found.op_add, op.op_add);
	KUNIT_EXPECT_EQ(test, found.op_compare, op.op_compare);
	KUNIT_EXPECT_EQ(test, found.op_add_mask, op.op_add_mask);
	KUNIT_EXPECT_EQ(test, found.op_compare_mask, op.op_compare_mask);
}

struct atomic_row {
	const char	*name;
	enum rds_op_kind kind;
	u64		old;
	u64		add;
	u64		add_mask;
	u64		compare;
	u64		compare_mask;
	u64		result;
};

static const struct atomic_row atomics[] = {
	{ "add", RDS_OP_FADD, 5, 7, 0, 0, 0, 12 },
	{ "add_wraps", RDS_OP_FADD, ~0ULL, 2, 0, 0, 0, 1 },
	{ "add_carries", RDS_OP_MASKED_FADD, 0xff, 1, 0, 0, 0, 0x100 },
	{ "add_carries_not", RDS_OP_MASKED_FADD, 0xff, 1, 0x80, 0, 0, 0 },
	{ "add_in_parts", RDS_OP_MASKED_FADD, 0x7fff00ff, 0x00010001,
	  0x80008000, 0, 0, 0x80000100 },
	{ "add_in_bits", RDS_OP_MASKED_FADD, 0xf0f0, 0xff00, ~0ULL, 0, 0,
	  0x0ff0 },
	{ "swap", RDS_OP_CSWP, 5, 9, ~0ULL, 5, ~0ULL, 9 },
	{ "swap_not", RDS_OP_CSWP, 6, 9, ~0ULL, 5, ~0ULL, 6 },
	{ "swap_some", RDS_OP_MASKED_CSWP, 0x1234, 0x5678, 0xff00, 0xff34,
	  0xff, 0x5634 },
	{ "swap_some_not", RDS_OP_MASKED_CSWP, 0x1234, 0x5678, 0xff00, 0x35,
	  0xff, 0x1234 },
	{ "swap_always", RDS_OP_MASKED_CSWP, 1, 2, ~0ULL, 3, 0, 2 },
	{ "swap_nothing", RDS_OP_MASKED_CSWP, 1, 2, 0, 1, ~0ULL, 1 },
	{ "none", RDS_OP_READ, 1, 2, ~0ULL, 1, ~0ULL, 1 },
};

static void atomic_desc(const struct atomic_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(atomics, atomics, atomic_desc);

static void computes(struct kunit *test)
{
	const struct atomic_row *row = test->param_value;
	const struct rds_op op = {
		.op_kind = row->kind, .op_add = row->add,
		.op_add_mask = row->add_mask, .op_compare = row->compare,
		.op_compare_mask = row->compare_mask,
	};

	KUNIT_EXPECT_EQ(test, rds_sw_compute(&op, row->old), row->result);
}

static struct kunit_case rds_sw_frame_cases[] = {
	KUNIT_CASE(fills_the_room),
	KUNIT_CASE(round_trip),
	KUNIT_CASE(other_headers),
	KUNIT_CASE(operands),
	KUNIT_CASE_PARAM(computes, atomics_gen_params),
	{}
};

static struct kunit_suite rds_sw_frame_suite = {
	.name		= "rds_sw_frame",
	.test_cases	= rds_sw_frame_cases,
};

kunit_test_suite(rds_sw_frame_suite);
