// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the content of handshake frames, net/rds/core/handshake.c. */
#include <kunit/test.h>

#include "../core/handshake.h"

static void ours_fills_the_room(struct kunit *test)
{
	static const u8 expected[RDS_EXTHDR_SPACE] = {
		RDS_EXTHDR_NPATHS, 0, 8,
		RDS_EXTHDR_GEN_NUM, 0x12, 0x34, 0x56, 0x78,
		RDS_EXTHDR_SPORT_IDX, 0,
		RDS_EXTHDR_OURS, 0, 0xab, 0xcd, 0xef, 0x07,
	};
	const struct rds_handshake_self self = {
		.npaths = 8, .gen = 0x12345678, .epoch = 0xabcdef,
	};
	u8 exthdr[RDS_EXTHDR_SPACE];

	memset(exthdr, 0xee, sizeof(exthdr));
	rds_handshake_write(exthdr, &self);
	KUNIT_EXPECT_EQ(test, memcmp(exthdr, expected, sizeof(exthdr)), 0);
}

struct round_trip_row {
	const char		*name;
	struct rds_handshake_self	self;
	u64			id;
};

static const struct round_trip_row round_trips[] = {
	{ "usual", { 8, false, 0, 0x11223344, 0x556677 },
	  0x1122334455667707ULL },
	{ "in_use", { 8, true, 0, 0x11223344, 0x556677 },
	  0x1122334455667707ULL },
	{ "barrier", { 8, false, 5, 0x11223344, 0x556677 },
	  0x1122334455667707ULL },
	{ "one_path", { 1, false, 0, 1, 1 }, 0x0000000100000107ULL },
	{ "greatest", { 255, true, 127, ~0, 0xffffff }, 0xffffffffffffff07ULL },
	/* The identity is not 0, which means that the peer announces none. */
	{ "least", { 1, false, 0, 0, 0 }, 7 },
};

static void round_trip_desc(const struct round_trip_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(round_trips, round_trips, round_trip_desc);

static void round_trip(struct kunit *test)
{
	const struct round_trip_row *row = test->param_value;
	u8 exthdr[RDS_EXTHDR_SPACE];
	struct rds_handshake hs;

	rds_handshake_write(exthdr, &row->self);
	rds_handshake_read(exthdr, &hs);
	KUNIT_EXPECT_EQ(test, hs.npaths, row->self.npaths);
	KUNIT_EXPECT_EQ(test, hs.in_use, row->self.in_use);
	KUNIT_EXPECT_EQ(test, hs.tag, row->self.tag);
	KUNIT_EXPECT_EQ(test, hs.id, row->id);
	KUNIT_EXPECT_TRUE(test, hs.names_paths);
	KUNIT_EXPECT_TRUE(test, hs.ours);
	KUNIT_EXPECT_TRUE(test, hs.sw_rdma);
	KUNIT_EXPECT_TRUE(test, hs.streams);
}

struct read_row {
	const char		*name;
	u8			exthdr[RDS_EXTHDR_SPACE];
	struct rds_handshake	hs;
};

#define NPATHS(n)	RDS_EXTHDR_NPATHS, (n) >> 8, (n) & 0xff
#define GEN(g)		RDS_EXTHDR_GEN_NUM, 0, 0, 0, (g)
#define NAMES		RDS_EXTHDR_SPORT_IDX, 0
#define OURS(caps)	RDS_EXTHDR_OURS, 0, 0, 0, 9, (caps)
#define ID(g)		((u64)(g) << 32)

static const struct read_row reads[] = {
	{ "none", {}, { .npaths = 1 } },
	{ "npaths_only", { NPATHS(8) }, { .npaths = 8 } },
	{ "npaths_0", { NPATHS(0) }, { .npaths = 1 } },
	{ "npaths_1", { NPATHS(1) }, { .npaths = 1 } },
	{ "npaths_3", { NPATHS(3) }, { .npaths = 3 } },
	{ "npaths_256", { NPATHS(256) }, { .npaths = 256 } },
	{ "npaths_65535", { NPATHS(65535) }, { .npaths = 65535 } },
	{ "gen_only", { GEN(7) }, { .npaths = 1, .id = ID(7) } },
	{ "gen_0", { NPATHS(2), GEN(0) }, { .npaths = 2 } },
	{ "all_but_ours", { NPATHS(8), GEN(7), NAMES },
	  { .npaths = 8, .id = ID(7), .names_paths = true } },
	{ "all", { NPATHS(8), GEN(7), NAMES, OURS(1) },
	  { .npaths = 8, .id = ID(7) | 0x901, .names_paths = true,
	    .ours = true } },
	{ "all_turned_round", { OURS(1), NAMES, GEN(7), NPATHS(8) },
	  { .npaths = 8, .id = ID(7) | 0x901, .names_paths = true,
	    .ours = true } },
	{ "ours_and_more_capabilities",
	  { NPATHS(8), GEN(7), NAMES, OURS(0x81) },
	  { .npaths = 8, .id = ID(7) | 0x981, .names_paths = true,
	    .ours = true } },
	{ "ours_and_rdma",
	  { NPATHS(8), GEN(7), NAMES, OURS(3) },
	  { .npaths = 8, .id = ID(7) | 0x903, .names_paths = true,
	    .ours = true, .sw_rdma = true } },
	{ "ours_and_streams",
	  { NPATHS(8), GEN(7), NAMES, OURS(5) },
	  { .npaths = 8, .id = ID(7) | 0x905, .names_paths = true,
	    .ours = true, .streams = true } },
	{ "ours_without_the_capability",
	  { NPATHS(8), GEN(7), NAMES, OURS(0xfe) },
	  { .npaths = 8, .id = ID(7), .names_paths = true } },
	{ "ours_that_is_not_it", { RDS_EXTHDR_OURS, 1, 0, 0, 9, 1, NPATHS(2) },
	  { .npaths = 2 } },
	{ "ours_in_use", { NPATHS(0x8004), GEN(7), NAMES, OURS(1) },
	  { .npaths = 4, .in_use = true, .id = ID(7) | 0x901,
	    .names_paths = true, .ours = true } },
	{ "ours_in_use_turned_round", { OURS(1), NPATHS(0x8004) },
	  { .npaths = 4, .in_use = true, .id = 0x901, .ours = true } },
	{ "ours_with_a_barrier", { NPATHS(0x8508), GEN(7), NAMES, OURS(1) },
	  { .npaths = 8, .in_use = true, .tag = 5, .id = ID(7) | 0x901,
	    .names_paths = true, .ours = true } },
	{ "ours_none_in_use", { NPATHS(0x8000), OURS(1) },
	  { .npaths = 1, .in_use = true, .id = 0x901, .ours = true } },
	{ "in_use_of_others", { NPATHS(0x8004), GEN(7), NAMES },
	  { .npaths = 0x8004, .id = ID(7), .names_paths = true } },
	{ "ours_only", { OURS(1) },
	  { .npaths = 1, .id = 0x901, .ours = true } },
	{ "unknown_in_front", { 9, 12, NPATHS(4), NAMES },
	  { .npaths = 4, .names_paths = true } },
	{ "unknown_between", { NPATHS(4), 12, GEN(7), 10, NAMES },
	  { .npaths = 4, .id = ID(7), .names_paths = true } },
	{ "known_and_ignored",
	  { RDS_EXTHDR_CAP_BITS, 1, 2, 3, 4, RDS_EXTHDR_VERSION, 5, 6, 7, 8,
	    NPATHS(4) },
	  { .npaths = 4 } },
	{ "ends_with_the_first_zero", { NPATHS(4), 0, GEN(7), NAMES },
	  { .npaths = 4 } },
	{ "ends_with_a_type_out_of_range", { NPATHS(4), 16, GEN(7), NAMES },
	  { .npaths = 4 } },
	{ "junk", { 0xff, 0xfe, NPATHS(4) }, { .npaths = 1 } },
	{ "truncated_npaths",
	  { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, RDS_EXTHDR_NPATHS, 4 },
	  { .npaths = 1 } },
	{ "truncated_gen",
	  { NPATHS(4), 9, 9, 9, 9, 9, 9, 9, 9, 9, RDS_EXTHDR_GEN_NUM, 0, 0,
	    7 },
	  { .npaths = 4 } },
	{ "truncated_ours",
	  { NPATHS(4), GEN(7), 9, 9, 9, RDS_EXTHDR_OURS, 0, 0, 0, 9 },
	  { .npaths = 4, .id = ID(7) } },
	{ "sixteen_unknown",
	  { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 },
	  { .npaths = 1 } },
	{ "last_byte_is_a_type",
	  { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, RDS_EXTHDR_GEN_NUM },
	  { .npaths = 1 } },
};

static void read_desc(const struct read_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(reads, reads, read_desc);

static void read_what_is_there(struct kunit *test)
{
	const struct read_row *row = test->param_value;
	struct rds_handshake hs;

	memset(&hs, 0xee, sizeof(hs));
	rds_handshake_read(row->exthdr, &hs);
	KUNIT_EXPECT_EQ(test, hs.npaths, row->hs.npaths);
	KUNIT_EXPECT_EQ(test, hs.in_use, row->hs.in_use);
	KUNIT_EXPECT_EQ(test, hs.tag, row->hs.tag);
	KUNIT_EXPECT_EQ(test, hs.id, row->hs.id);
	KUNIT_EXPECT_EQ(test, hs.names_paths, row->hs.names_paths);
	KUNIT_EXPECT_EQ(test, hs.ours, row->hs.ours);
	KUNIT_EXPECT_EQ(test, hs.sw_rdma, row->hs.sw_rdma);
	KUNIT_EXPECT_EQ(test, hs.streams, row->hs.streams);
}

static void ports_tell_what_it_is(struct kunit *test)
{
	const __be16 ping = htons(RDS_PORT_PING), probe = htons(RDS_PORT_PROBE);

	KUNIT_EXPECT_TRUE(test, rds_handshake_is_probe(probe, ping));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_probe(ping, probe));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_probe(ping, ping));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_probe(htons(2), ping));
	KUNIT_EXPECT_TRUE(test, rds_handshake_is_reply(ping, probe));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_reply(probe, ping));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_reply(probe, probe));
	KUNIT_EXPECT_FALSE(test, rds_handshake_is_reply(ping, htons(2)));
}

static struct kunit_case handshake_cases[] = {
	KUNIT_CASE(ours_fills_the_room),
	KUNIT_CASE_PARAM(round_trip, round_trips_gen_params),
	KUNIT_CASE_PARAM(read_what_is_there, reads_gen_params),
	KUNIT_CASE(ports_tell_what_it_is),
	{}
};

static struct kunit_suite handshake_suite = {
	.name		= "rds_handshake",
	.test_cases	= handshake_cases,
};

kunit_test_suite(handshake_suite);
