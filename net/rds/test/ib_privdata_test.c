// SPDX-License-Identifier: GPL-2.0-only
/* Private data byte by byte, and versions: net/rds/ib/privdata.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../ib/privdata.h"

static const u8 wire_v4[32] = {
	10, 0, 0, 1,   10, 0, 0, 2,
	3, 1, 0x00, 0x03,
	0x21, 0xa1, 0x40, 0x00,
	1, 2, 3, 4, 5, 6, 7, 8,
	0, 1, 0xe2, 0x40,
	0x0b, 0xad, 0xbe, 0xef,
};

static const u8 wire_v6[56] = {
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
	3, 1, 0x00, 0x03,
	0x21, 0xa1, 0x40, 0x00,
	1, 2, 3, 4, 5, 6, 7, 8,
	0, 1, 0xe2, 0x40,
	0x0b, 0xad, 0xbe, 0xef,
};

static struct rds_ib_priv sample(bool v6)
{
	struct rds_ib_priv priv = {
		.version	= RDS_IB_VERSION_3_1,
		.minors		= RDS_IB_MINORS,
		.tos		= 0x21,
		.ours		= true,
		.frag_size	= 0x4000,
		.ack_seq	= 0x0102030405060708ULL,
		.credits	= 123456,
		.epoch		= 0xadbeef,
		.streams	= true,
		.numbers	= true,
		.wide		= true,
	};

	if (v6) {
		memcpy(&priv.saddr, wire_v6, 16);
		memcpy(&priv.daddr, wire_v6 + 16, 16);
	} else {
		rds_ib_priv_map(&priv.saddr, cpu_to_be32(0x0a000001));
		rds_ib_priv_map(&priv.daddr, cpu_to_be32(0x0a000002));
	}
	return priv;
}

static void expect_same(struct kunit *test, const struct rds_ib_priv *a,
			const struct rds_ib_priv *b)
{
	KUNIT_EXPECT_EQ(test, 0, memcmp(&a->saddr, &b->saddr, 16));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&a->daddr, &b->daddr, 16));
	KUNIT_EXPECT_EQ(test, a->version, b->version);
	KUNIT_EXPECT_EQ(test, a->minors, b->minors);
	KUNIT_EXPECT_EQ(test, a->tos, b->tos);
	KUNIT_EXPECT_EQ(test, a->ours, b->ours);
	KUNIT_EXPECT_EQ(test, a->frag_size, b->frag_size);
	KUNIT_EXPECT_EQ(test, a->ack_seq, b->ack_seq);
	KUNIT_EXPECT_EQ(test, a->credits, b->credits);
	KUNIT_EXPECT_EQ(test, a->epoch, b->epoch);
	KUNIT_EXPECT_EQ(test, a->streams, b->streams);
	KUNIT_EXPECT_EQ(test, a->numbers, b->numbers);
	KUNIT_EXPECT_EQ(test, a->wide, b->wide);
}

static void bytes_of(struct kunit *test, bool v6, const u8 *wire, size_t size)
{
	struct rds_ib_priv priv = sample(v6), back;
	u8 buf[RDS_IB_PRIV_MAX + 1];

	memset(buf, 0x5a, sizeof(buf));
	KUNIT_ASSERT_EQ(test, (size_t)rds_ib_priv_encode(buf, &priv, v6),
			size);
	KUNIT_EXPECT_EQ(test, 0, memcmp(buf, wire, size));
	KUNIT_EXPECT_EQ(test, buf[size], 0x5a);

	memset(&back, 0xff, sizeof(back));
	KUNIT_ASSERT_TRUE(test, rds_ib_priv_decode(wire, size, v6, &back));
	expect_same(test, &priv, &back);
}

static void bytes_v4(struct kunit *test)
{
	bytes_of(test, false, wire_v4, sizeof(wire_v4));
}

static void bytes_v6(struct kunit *test)
{
	bytes_of(test, true, wire_v6, sizeof(wire_v6));
}

/* Bytes that the connection manager appends are ignored. Private data that is
 * too short is rejected.
 */
static void lengths(struct kunit *test)
{
	struct rds_ib_priv priv;
	u8 buf[196] = {};
	size_t len;

	memcpy(buf, wire_v4, sizeof(wire_v4));
	for (len = 0; len <= sizeof(buf); len++) {
		KUNIT_EXPECT_EQ(test,
				rds_ib_priv_decode(buf, len, false, &priv),
				len >= sizeof(wire_v4));
		KUNIT_EXPECT_EQ(test,
				rds_ib_priv_decode(buf, len, true, &priv),
				len >= sizeof(wire_v6));
	}
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_decode(NULL, 0, false, &priv));
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_decode(NULL, 56, true, &priv));
}

/* Without the mark of our implementation, the last bytes are padding. */
static void epoch_of_others(struct kunit *test)
{
	struct rds_ib_priv priv = sample(false), back;
	u8 buf[RDS_IB_PRIV_MAX];

	memcpy(buf, wire_v4, sizeof(wire_v4));
	buf[13] = 0;
	KUNIT_ASSERT_TRUE(test, rds_ib_priv_decode(buf, 32, false, &back));
	KUNIT_EXPECT_FALSE(test, back.ours);
	KUNIT_EXPECT_EQ(test, back.epoch, 0U);
	KUNIT_EXPECT_FALSE(test, back.streams);
	KUNIT_EXPECT_FALSE(test, back.numbers);
	KUNIT_EXPECT_FALSE(test, back.wide);

	priv.ours = false;
	rds_ib_priv_encode(buf, &priv, false);
	KUNIT_EXPECT_EQ(test, buf[13], 0);
	KUNIT_EXPECT_EQ(test, 0, memcmp(buf + 28, "\0\0\0\0", 4));
}

/* Each capability has its bit. Other bits of the upper byte may be capabilities
 * of later builds: they are no part of the epoch.
 */
static void capabilities(struct kunit *test)
{
	struct rds_ib_priv back;
	u8 buf[RDS_IB_PRIV_MAX];
	unsigned int upper;

	memcpy(buf, wire_v4, sizeof(wire_v4));
	for (upper = 0; upper <= U8_MAX; upper++) {
		buf[28] = upper;
		KUNIT_ASSERT_TRUE(test,
				  rds_ib_priv_decode(buf, 32, false, &back));
		KUNIT_EXPECT_EQ(test, back.epoch, 0xadbeefU);
		KUNIT_EXPECT_EQ(test, back.streams, (bool)(upper & 1));
		KUNIT_EXPECT_EQ(test, back.numbers, (bool)(upper & 2));
		KUNIT_EXPECT_EQ(test, back.wide, (bool)(upper & 8));
	}
}

static void honesty(struct kunit *test)
{
	struct rds_ib_priv v4 = sample(false), v6 = sample(true), mixed = v6;

	KUNIT_EXPECT_TRUE(test, rds_ib_priv_is_honest(&v4, false, &v4.daddr,
						      &v4.saddr));
	KUNIT_EXPECT_TRUE(test, rds_ib_priv_is_honest(&v6, true, &v6.daddr,
						      &v6.saddr));
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_is_honest(&v6, true, &v6.saddr,
						       &v6.saddr));
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_is_honest(&v6, true, &v6.daddr,
						       &v6.daddr));

	/* IPv4 addresses in the form for IPv6 */
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_is_honest(&v4, true, &v4.daddr,
						       &v4.saddr));
	mixed.saddr = v4.saddr;
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_is_honest(&mixed, true,
						       &mixed.daddr,
						       &mixed.saddr));
	mixed = v6;
	mixed.daddr = v4.daddr;
	KUNIT_EXPECT_FALSE(test, rds_ib_priv_is_honest(&mixed, true,
						       &mixed.daddr,
						       &mixed.saddr));
}

static void round_trips(struct kunit *test)
{
	struct rds_ib_priv priv, back;
	u8 buf[RDS_IB_PRIV_MAX];
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		priv = sample(i & 1);
		get_random_bytes(&priv.saddr.s6_addr[12], 4);
		get_random_bytes(&priv.daddr.s6_addr[12], 4);
		priv.version = get_random_u32();
		priv.minors = get_random_u32();
		priv.tos = get_random_u32();
		priv.frag_size = get_random_u32();
		priv.ack_seq = get_random_u64();
		priv.credits = get_random_u32();
		priv.epoch = get_random_u32() & RDS_IB_EPOCH;
		priv.streams = get_random_u32() & 1;
		priv.numbers = get_random_u32() & 1;
		priv.wide = get_random_u32() & 1;
		rds_ib_priv_encode(buf, &priv, i & 1);
		KUNIT_ASSERT_TRUE(test,
				  rds_ib_priv_decode(buf, sizeof(buf), i & 1,
						     &back));
		expect_same(test, &priv, &back);
	}
}

struct version_row {
	const char	*name;
	u16		proposed;
	u16		minors;
	u16		chosen;
};

static const struct version_row versions[] = {
	{ "3.1", 0x0301, 0x0003, 0x0301 },
	{ "3.1_without_minors", 0x0301, 0, 0x0301 },
	{ "3.0", 0x0300, 0x0003, 0 },
	{ "3.2", 0x0302, 0xffff, 0 },
	{ "4.1", 0x0401, 0x0003, 0x0401 },
	{ "4.1_without_minors", 0x0401, 0, 0 },
	{ "4.0_that_knows_4.1", 0x0400, 0x0003, 0x0401 },
	{ "4.0_only", 0x0400, 0x0001, 0 },
	{ "4.9_that_knows_4.1", 0x0409, 0x0202, 0x0401 },
	{ "4.9_only", 0x0409, 0x0200, 0 },
	{ "nothing", 0, 0, 0 },
	{ "major_0", 0x0001, 0xffff, 0 },
	{ "2.1", 0x0201, 0x0003, 0 },
	{ "5.1", 0x0501, 0xffff, 0 },
	{ "255.255", 0xffff, 0xffff, 0 },
};

static void version_desc(const struct version_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(versions, versions, version_desc);

static void version(struct kunit *test)
{
	const struct version_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, rds_ib_version_accept(row->proposed, row->minors),
			row->chosen);
}

static void versions_known(struct kunit *test)
{
	u32 v;

	for (v = 0; v <= U16_MAX; v++)
		KUNIT_ASSERT_EQ(test, rds_ib_version_is_known(v),
				v == 0x0301 || v == 0x0401);
}

static struct kunit_case ib_privdata_cases[] = {
	KUNIT_CASE(bytes_v4),
	KUNIT_CASE(bytes_v6),
	KUNIT_CASE(lengths),
	KUNIT_CASE(epoch_of_others),
	KUNIT_CASE(capabilities),
	KUNIT_CASE(honesty),
	KUNIT_CASE(round_trips),
	KUNIT_CASE_PARAM(version, versions_gen_params),
	KUNIT_CASE(versions_known),
	{}
};

static struct kunit_suite ib_privdata_suite = {
	.name		= "rds_ib_privdata",
	.test_cases	= ib_privdata_cases,
};

kunit_test_suite(ib_privdata_suite);
