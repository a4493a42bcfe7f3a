// SPDX-License-Identifier: GPL-2.0-only
/* The bits of congestion maps: net/rds/core/cong.[ch]. */
#include <kunit/test.h>

#include "../core/cong.h"

struct maps {
	struct rds_cong_map	map;
	u8			*new;	/* map from the peer */
};

static int maps_init(struct kunit *test)
{
	struct maps *maps;

	maps = kunit_kzalloc(test, sizeof(*maps), GFP_KERNEL);
	if (!maps)
		return -ENOMEM;
	maps->map.cm_bits = kunit_kzalloc(test, RDS_CONG_MAP_BYTES,
					  GFP_KERNEL);
	maps->new = kunit_kzalloc(test, RDS_CONG_MAP_BYTES, GFP_KERNEL);
	if (!maps->map.cm_bits || !maps->new)
		return -ENOMEM;

	test->priv = maps;
	return 0;
}

static u64 receive(struct maps *maps)
{
	return rds_cong_bits_update(maps->map.cm_bits, maps->new, false);
}

/* Bit order of the wire, without use of the code under test */
static void wire_set(u8 *bytes, unsigned int port)
{
	bytes[port / 8] |= 1 << port % 8;
}

static void wire_clear(u8 *bytes, unsigned int port)
{
	bytes[port / 8] &= ~(1 << port % 8);
}

static const unsigned int ports[] = {
	0, 1, 7, 8, 15, 63, 64, 4001, 32767, 32768, 65534, 65535
};

static void port_desc(const unsigned int *port, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "port_%u", *port);
}

KUNIT_ARRAY_PARAM(ports, ports, port_desc);

static void received_bit_is_the_port(struct kunit *test)
{
	unsigned int port = *(const unsigned int *)test->param_value;
	struct maps *maps = test->priv;
	unsigned int other;

	wire_set(maps->new, port);
	KUNIT_EXPECT_EQ(test, receive(maps), 0ULL);
	for (other = 0; other < RDS_CONG_MAP_BITS; other++) {
		bool want = other == port;

		if (rds_cong_test(&maps->map, htons(other)) != want)
			KUNIT_FAIL(test, "port %u", other);
	}
}

static void local_bit_is_the_port(struct kunit *test)
{
	unsigned int port = *(const unsigned int *)test->param_value;
	struct maps *maps = test->priv;

	rds_cong_assign(&maps->map, htons(port), true);
	wire_set(maps->new, port);
	KUNIT_EXPECT_TRUE(test, rds_cong_test(&maps->map, htons(port)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(maps->map.cm_bits, maps->new,
					RDS_CONG_MAP_BYTES));

	rds_cong_assign(&maps->map, htons(port), false);
	KUNIT_EXPECT_FALSE(test, rds_cong_test(&maps->map, htons(port)));
	KUNIT_EXPECT_NULL(test, memchr_inv(maps->map.cm_bits, 0,
					   RDS_CONG_MAP_BYTES));
}

static void freed_port_is_in_the_mask(struct kunit *test)
{
	unsigned int port = *(const unsigned int *)test->param_value;
	struct maps *maps = test->priv;

	wire_set(maps->new, port);
	KUNIT_EXPECT_EQ(test, receive(maps), 0ULL);
	wire_clear(maps->new, port);
	KUNIT_EXPECT_EQ(test, receive(maps), 1ULL << port % 64);
	KUNIT_EXPECT_EQ(test, receive(maps), 0ULL);
}

/* The mask has the groups of the ports that change from congested to free, even
 * if another port of the group stays congested.
 */
static void mask_is_of_changes(struct kunit *test)
{
	struct maps *maps = test->priv;

	wire_set(maps->new, 5);
	wire_set(maps->new, 64 + 5);
	wire_set(maps->new, 100);
	KUNIT_EXPECT_EQ(test, receive(maps), 0ULL);

	wire_clear(maps->new, 64 + 5);
	wire_set(maps->new, 200);
	KUNIT_EXPECT_EQ(test, receive(maps), BIT_ULL(5));
	KUNIT_EXPECT_TRUE(test, rds_cong_test(&maps->map, htons(5)));

	wire_clear(maps->new, 100);
	wire_clear(maps->new, 200);
	KUNIT_EXPECT_EQ(test, receive(maps), BIT_ULL(36) | BIT_ULL(8));
}

static void mask_of_all(struct kunit *test)
{
	struct maps *maps = test->priv;

	memset(maps->new, 0xff, RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_EQ(test, receive(maps), 0ULL);
	memset(maps->new, 0, RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_EQ(test, receive(maps), U64_MAX);
	KUNIT_EXPECT_NULL(test, memchr_inv(maps->map.cm_bits, 0,
					   RDS_CONG_MAP_BYTES));
}

/* A map may have any alignment. No byte beyond its end is read. */
static void unaligned_input(struct kunit *test)
{
	struct maps *maps = test->priv;
	unsigned int offset, i;
	u8 *buf;

	for (i = 0; i < RDS_CONG_MAP_BYTES; i++)
		maps->new[i] = i * 31 + (i >> 8);

	for (offset = 1; offset < 8; offset++) {
		memset(maps->map.cm_bits, 0, RDS_CONG_MAP_BYTES);
		buf = kunit_kmalloc(test, RDS_CONG_MAP_BYTES + offset,
				    GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, buf);
		memcpy(buf + offset, maps->new, RDS_CONG_MAP_BYTES);
		rds_cong_bits_update(maps->map.cm_bits, buf + offset,
				     false);
		KUNIT_EXPECT_EQ(test, 0, memcmp(maps->map.cm_bits, maps->new,
						RDS_CONG_MAP_BYTES));
	}
}

static struct kunit_case cong_cases[] = {
	KUNIT_CASE_PARAM(received_bit_is_the_port, ports_gen_params),
	KUNIT_CASE_PARAM(local_bit_is_the_port, ports_gen_params),
	KUNIT_CASE_PARAM(freed_port_is_in_the_mask, ports_gen_params),
	KUNIT_CASE(mask_is_of_changes),
	KUNIT_CASE(mask_of_all),
	KUNIT_CASE(unaligned_input),
	{}
};

static struct kunit_suite cong_suite = {
	.name		= "rds_cong",
	.init		= maps_init,
	.test_cases	= cong_cases,
};

kunit_test_suite(cong_suite);
