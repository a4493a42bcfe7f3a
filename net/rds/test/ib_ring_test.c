// SPDX-License-Identifier: GPL-2.0-only
/* Rings of work requests: net/rds/ib/ring.h. */
#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../ib/ring.h"

static const u32 sizes[] = { 1, 2, 3, 4, 7, 16, 256, 1000 };

static void size_desc(const u32 *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%u", *size);
}

KUNIT_ARRAY_PARAM(sizes, sizes, size_desc);

/* Hand out all slots and take them back: from the start, from the middle, and
 * across the point where the counters wrap. The numbers of the slots follow
 * each other there, too.
 */
static void fill_and_drain(struct kunit *test)
{
	u32 size = *(const u32 *)test->param_value;
	u32 start[] = { 0, 5, U32_MAX - size / 2, U32_MAX };
	struct rds_ib_ring rg;
	u32 i, s, first, mask;

	for (s = 0; s < ARRAY_SIZE(start); s++) {
		rds_ib_ring_init(&rg, size);
		rg.rg_head = start[s];
		rg.rg_tail = start[s];
		KUNIT_EXPECT_EQ(test, rds_ib_ring_used(&rg), 0U);
		mask = rg.rg_slots - 1;
		first = start[s] & mask;
		for (i = 0; i < size; i++) {
			KUNIT_ASSERT_EQ(test, rds_ib_ring_room(&rg), size - i);
			KUNIT_ASSERT_EQ(test, rds_ib_ring_get(&rg),
					(first + i) & mask);
		}
		KUNIT_EXPECT_EQ(test, rds_ib_ring_room(&rg), 0U);
		rds_ib_ring_unget(&rg);
		KUNIT_EXPECT_EQ(test, rds_ib_ring_room(&rg), 1U);
		KUNIT_EXPECT_EQ(test, rds_ib_ring_get(&rg),
				(first + size - 1) & mask);
		for (i = 0; i < size; i++) {
			KUNIT_ASSERT_EQ(test, rds_ib_ring_oldest(&rg),
					(first + i) & mask);
			rds_ib_ring_put(&rg);
			KUNIT_ASSERT_EQ(test, rds_ib_ring_room(&rg), i + 1);
		}
	}
}

/* A completion covers its slot and all older ones, if its slot is in use; also
 * when the counters wrap.
 */
static void covers(struct kunit *test)
{
	u32 size = *(const u32 *)test->param_value;
	struct rds_ib_ring rg;
	u32 run, out, slot, i;

	rds_ib_ring_init(&rg, size);
	rg.rg_head = -50 * size;
	rg.rg_tail = rg.rg_head;
	for (run = 0; run < 200; run++) {
		out = 1 + get_random_u32() % size;
		for (i = 0; i < out; i++) {
			slot = rds_ib_ring_get(&rg);
			KUNIT_ASSERT_EQ(test, rds_ib_ring_covers(&rg, slot),
					i + 1);
		}
		if (out < rg.rg_slots)
			KUNIT_ASSERT_EQ(test, 0U,
					rds_ib_ring_covers(&rg, (slot + 1) &
							   (rg.rg_slots - 1)));
		KUNIT_ASSERT_EQ(test, rds_ib_ring_covers(&rg, rg.rg_slots),
				0U);
		KUNIT_ASSERT_EQ(test, rds_ib_ring_covers(&rg, U32_MAX), 0U);
		for (i = 0; i < out; i++)
			rds_ib_ring_put(&rg);
		KUNIT_ASSERT_EQ(test, rds_ib_ring_covers(&rg, slot), 0U);
	}
}

static const struct {
	struct rds_ib_queue_limits	limits;
	int				err;
	u32				send;
	u32				recv;
} queues[] = {
	/* send, recv, and of the device: work requests, completions */
	{ { 256, 512, 16384, 65536 }, 0, 253, 510 },
	{ { 1, 1, 16384, 65536 }, 0, 4, 4 },
	{ { 65536, 65536, 16384, 65536 }, 0, 16382, 16383 },
	/* Both rings have just room in the completion queue, then not. */
	{ { 256, 512, 16384, 766 }, 0, 253, 510 },
	{ { 256, 512, 16384, 765 }, 0, 253, 509 },
	/* One ring is small, so the other has what is left. */
	{ { 16, 512, 16384, 256 }, 0, 13, 240 },
	{ { 512, 16, 16384, 256 }, 0, 239, 14 },
	/* Neither is small, so each has half. */
	{ { 256, 512, 16384, 256 }, 0, 126, 127 },
	{ { 512, 256, 16384, 256 }, 0, 126, 127 },
	/* The smallest queues */
	{ { 256, 512, 6, 65536 }, 0, 4, 5 },
	{ { 256, 512, 5, 65536 }, -EINVAL },
	{ { 256, 512, 0, 65536 }, -EINVAL },
	{ { 256, 512, 16384, 11 }, 0, 4, 4 },
	{ { 256, 512, 16384, 10 }, -EINVAL },
	{ { 256, 512, 16384, 2 }, -EINVAL },
	{ { 256, 512, 16384, 0 }, -EINVAL },
};

static void ring_sizes(struct kunit *test)
{
	u32 send, recv, i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		KUNIT_ASSERT_EQ(test, queues[i].err,
				rds_ib_ring_sizes(&queues[i].limits, &send,
						  &recv));
		if (queues[i].err)
			continue;
		KUNIT_EXPECT_EQ(test, send, queues[i].send);
		KUNIT_EXPECT_EQ(test, recv, queues[i].recv);
	}
}

/* Whatever the completion queue has room for, no ring is larger than without
 * that limit, or too small, and a ring that is smaller has no less than half,
 * and leaves no room unused.
 */
static void ring_sizes_are_fair(struct kunit *test)
{
	const u32 extra = RDS_IB_SEND_EXTRA + RDS_IB_RECV_EXTRA;
	struct rds_ib_queue_limits ql = { .ql_max_wr = 64 };
	u32 send, recv, max_send, max_recv, room;

	for (ql.ql_send = 1; ql.ql_send <= 70; ql.ql_send += 3) {
		for (ql.ql_recv = 1; ql.ql_recv <= 70; ql.ql_recv += 3) {
			ql.ql_max_cqe = U32_MAX;
			rds_ib_ring_sizes(&ql, &max_send, &max_recv);
			for (room = 8; room < 140; room++) {
				ql.ql_max_cqe = room + extra;
				KUNIT_ASSERT_EQ(test, 0,
						rds_ib_ring_sizes(&ql, &send,
								  &recv));
				KUNIT_ASSERT_LE(test, 4U, send);
				KUNIT_ASSERT_LE(test, 4U, recv);
				KUNIT_ASSERT_LE(test, send, max_send);
				KUNIT_ASSERT_LE(test, recv, max_recv);
				KUNIT_ASSERT_LE(test, send + recv, room);
				if (send == max_send && recv == max_recv)
					continue;
				KUNIT_ASSERT_EQ(test, send + recv, room);
				KUNIT_ASSERT_LE(test, min(max_send, room / 2),
						send);
				KUNIT_ASSERT_LE(test, min(max_recv, room / 2),
						recv);
			}
		}
	}
}

static void signals(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(16, 256), 16U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(64, 256), 64U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(64, 100), 50U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(16, 4), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(16, 1), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(0, 256), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_signal_every(U32_MAX, 256), 128U);
}

static void rx_target(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, 0, 1024), 32U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, 8, 1024), 32U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, 9, 1024), 64U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, 100, 1024), 512U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, U32_MAX, 1024), 1024U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, U32_MAX, 1000), 1000U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(4, U32_MAX, 4), 4U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(1, 1, 1), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_target(32, U32_MAX, U32_MAX), U32_MAX);
}

static void rx_decay(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(512, 0, 32), 256U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(512, 32, 32), 256U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(512, 33, 32), 512U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(509, 31, 32), 254U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(64, 4, 32), 32U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(63, 0, 32), 63U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(32, 0, 32), 32U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_decay(4, 0, 4), 4U);
}

/* After a decay, the same use does not make the target grow again. */
static void rx_decay_lasts(struct kunit *test)
{
	u32 target, used, less;

	for (target = 1; target <= 1024; target++) {
		for (used = 0; used <= target; used++) {
			less = rds_ib_rx_decay(target, used, 1);
			if (less == target)
				break;
			KUNIT_ASSERT_EQ(test, less,
					rds_ib_rx_target(less, used, 1024));
		}
	}
}

static void rx_batch(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_ib_rx_batch(1), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_batch(4), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_batch(32), 8U);
	KUNIT_EXPECT_EQ(test, rds_ib_rx_batch(U32_MAX), 16U);
}

static struct kunit_case ib_ring_cases[] = {
	KUNIT_CASE_PARAM(fill_and_drain, sizes_gen_params),
	KUNIT_CASE_PARAM(covers, sizes_gen_params),
	KUNIT_CASE(ring_sizes),
	KUNIT_CASE(ring_sizes_are_fair),
	KUNIT_CASE(signals),
	KUNIT_CASE(rx_target),
	KUNIT_CASE(rx_decay),
	KUNIT_CASE(rx_decay_lasts),
	KUNIT_CASE(rx_batch),
	{}
};

static struct kunit_suite ib_ring_suite = {
	.name		= "rds_ib_ring",
	.test_cases	= ib_ring_cases,
};

kunit_test_suite(ib_ring_suite);
