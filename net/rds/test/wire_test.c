// SPDX-License-Identifier: GPL-2.0-only
/* The wire format: include/net/rds/wire.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>
#include <net/rds/wire.h>

#define MAX_FOUND	RDS_EXTHDR_SPACE

/* Allocate the exact size, so that KASAN detects a read beyond the area. */
static u8 *new_area(struct kunit *test)
{
	u8 *area = kunit_kzalloc(test, RDS_EXTHDR_SPACE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, area);
	return area;
}

static void header_layout(struct kunit *test)
{
	static const u8 wire[48] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
		0x21, 0x22, 0x23, 0x24, 0x31, 0x32, 0x41, 0x42,
		0x51, 0x61, 0x00, 0x00, 0x00, 0x00, 0x71, 0x72,
		0x05, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x81,
	};
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(0x0102030405060708),
		.h_ack		= cpu_to_be64(0x1112131415161718),
		.h_len		= htonl(0x21222324),
		.h_sport	= htons(0x3132),
		.h_dport	= htons(0x4142),
		.h_flags	= 0x51,
		.h_credit	= 0x61,
		.h_csum		= (__force __sum16)htons(0x7172),
		.h_exthdr	= { 0x05, 0x00, 0x08, [15] = 0x81 },
	};

	KUNIT_EXPECT_EQ(test, sizeof(hdr), sizeof(wire));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&hdr, wire, sizeof(wire)));
}

static void constants(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RDS_CONG_MAP_BYTES, 8192);
	KUNIT_EXPECT_EQ(test, RDS_CONG_MAP_BITS, 8 * RDS_CONG_MAP_BYTES);
	KUNIT_EXPECT_EQ(test, RDS_FRAG_SIZE, 4096);
	KUNIT_EXPECT_EQ(test, RDS_MAX_MSG_SIZE, 1048576U);
	KUNIT_EXPECT_EQ(test, (int)RDS_FLAG_CONG_BITMAP, 0x01);
	KUNIT_EXPECT_EQ(test, (int)RDS_FLAG_ACK_REQUIRED, 0x02);
	KUNIT_EXPECT_EQ(test, (int)RDS_FLAG_RETRANSMITTED, 0x04);
}

struct type_row {
	u8		type;
	unsigned int	size;
	const char	*name;
};

static const struct type_row types[] = {
	{ 1, 4, "version" },
	{ 2, 4, "rdma" },
	{ 3, 8, "rdma_dest" },
	{ 4, 8, "rdma_bytes" },
	{ 5, 2, "npaths" },
	{ 6, 4, "gen_num" },
	{ 7, 4, "cap_bits" },
	{ 8, 1, "sport_idx" },
	{ 9, 0, "unknown_9" },
	{ 12, 0, "unknown_12" },
	{ 13, 15, "stream" },
	{ 14, 15, "sw_rdma" },
};

static void type_desc(const struct type_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(types, types, type_desc);

/* An extension header that was added is found again, with its payload, at each
 * position where it fits.
 */
static void exthdr_round_trip(struct kunit *test)
{
	const struct type_row *row = test->param_value;
	static const u8 payload[RDS_EXTHDR_SPACE] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	};
	unsigned int start, end, pos;
	const u8 *found = NULL;
	u8 *area;

	KUNIT_EXPECT_EQ(test, rds_exthdr_size(row->type), row->size);

	for (start = 0; start + 1 + row->size <= RDS_EXTHDR_SPACE; start++) {
		area = new_area(test);
		end = start;
		KUNIT_ASSERT_TRUE(test, rds_exthdr_add(area, &end, row->type,
						       payload));
		KUNIT_EXPECT_EQ(test, end, start + 1 + row->size);

		pos = start;
		KUNIT_EXPECT_EQ(test, rds_exthdr_next(area, &pos, &found),
				row->type);
		KUNIT_EXPECT_EQ(test, pos, end);
		KUNIT_EXPECT_PTR_EQ(test, found, area + start + 1);
		KUNIT_EXPECT_EQ(test, 0, memcmp(found, payload, row->size));
		KUNIT_EXPECT_EQ(test, rds_exthdr_next(area, &pos, &found),
				RDS_EXTHDR_NONE);
		kunit_kfree(test, area);
	}
}

/* At each position where the extension header does not fit, it can neither be
 * added nor read.
 */
static void exthdr_no_room(struct kunit *test)
{
	const struct type_row *row = test->param_value;
	const u8 *found = NULL;
	unsigned int at, pos;
	u8 payload[8] = {};
	u8 *area;

	for (at = RDS_EXTHDR_SPACE - row->size; at <= RDS_EXTHDR_SPACE; at++) {
		area = new_area(test);
		pos = at;
		KUNIT_EXPECT_FALSE(test, rds_exthdr_add(area, &pos, row->type,
							payload));
		KUNIT_EXPECT_EQ(test, pos, at);
		KUNIT_EXPECT_NULL(test, memchr_inv(area, 0, RDS_EXTHDR_SPACE));

		if (at < RDS_EXTHDR_SPACE)
			area[at] = row->type;
		KUNIT_EXPECT_EQ(test, rds_exthdr_next(area, &pos, &found),
				RDS_EXTHDR_NONE);
		KUNIT_EXPECT_EQ(test, pos, at);
		KUNIT_EXPECT_NULL(test, found);
		kunit_kfree(test, area);
	}
}

struct parse_row {
	const char	*name;
	u8		area[RDS_EXTHDR_SPACE];
	u8		found[MAX_FOUND];
	u8		payload_at[MAX_FOUND];
};

static const struct parse_row parses[] = {
	{ "empty", {}, {} },
	{ "handshake",
	  { 5, 0, 8, 6, 0xde, 0xad, 0xbe, 0xef, 8, 0 },
	  { 5, 6, 8 }, { 1, 4, 9 } },
	{ "full_without_end",
	  { 5, 0, 8, 6, 1, 2, 3, 4, 8, 0, 7, 0, 0, 0, 1, 9 },
	  { 5, 6, 8, 7, 9 }, { 1, 4, 9, 11, 16 } },
	{ "unknown_is_one_byte",
	  { 9, 12, 5, 0, 2 },
	  { 9, 12, 5 }, { 1, 2, 3 } },
	{ "sixteen_unknown",
	  { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 },
	  { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9 },
	  { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 } },
	{ "zero_ends",
	  { 8, 0, 0, 5, 0, 8 },
	  { 8 }, { 1 } },
	{ "type_16_ends",
	  { 5, 0, 8, 16, 5, 0, 8 },
	  { 5 }, { 1 } },
	{ "type_255_ends",
	  { 255, 5, 0, 8 },
	  {} },
	{ "payload_does_not_fit",
	  { 6, 1, 2, 3, 4, 5, 0, 8, 3, 1, 1, 1, 1, 1, 1, 1 },
	  { 6, 5 }, { 1, 6 } },
	{ "type_without_payload_at_the_end",
	  { 6, 1, 2, 3, 4, 6, 1, 2, 3, 4, 6, 1, 2, 3, 4, 8 },
	  { 6, 6, 6 }, { 1, 6, 11 } },
};

static void parse_desc(const struct parse_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(parses, parses, parse_desc);

static void exthdr_parse(struct kunit *test)
{
	const struct parse_row *row = test->param_value;
	unsigned int i, pos = 0;
	const u8 *payload;
	u8 *area;

	area = new_area(test);
	memcpy(area, row->area, RDS_EXTHDR_SPACE);

	for (i = 0; i < MAX_FOUND && row->found[i]; i++) {
		KUNIT_ASSERT_EQ(test, rds_exthdr_next(area, &pos, &payload),
				row->found[i]);
		KUNIT_EXPECT_EQ(test, payload - area, row->payload_at[i]);
	}
	KUNIT_EXPECT_EQ(test, rds_exthdr_next(area, &pos, &payload),
			RDS_EXTHDR_NONE);
	KUNIT_EXPECT_EQ(test, 0, memcmp(area, row->area, RDS_EXTHDR_SPACE));
}

static void exthdr_start_out_of_range(struct kunit *test)
{
	static const unsigned int starts[] = { 16, 17, INT_MAX, UINT_MAX };
	const u8 *payload = NULL;
	unsigned int i, pos;
	u8 *area;

	area = new_area(test);
	memset(area, RDS_EXTHDR_SPORT_IDX, RDS_EXTHDR_SPACE);

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		pos = starts[i];
		KUNIT_EXPECT_EQ(test, rds_exthdr_next(area, &pos, &payload),
				RDS_EXTHDR_NONE);
		KUNIT_EXPECT_EQ(test, pos, starts[i]);
		KUNIT_EXPECT_NULL(test, payload);
	}
}

/* Whatever the peer sends, parsing ends and stays within the area. */
static void exthdr_noise(struct kunit *test)
{
	unsigned int round, steps, pos, before;
	const u8 *payload;
	u8 *area, type;

	area = new_area(test);
	for (round = 0; round < 10000; round++) {
		get_random_bytes(area, RDS_EXTHDR_SPACE);
		for (steps = 0; steps < RDS_EXTHDR_SPACE; steps++)
			area[steps] %= 20;

		pos = 0;
		for (steps = 0; steps <= RDS_EXTHDR_SPACE; steps++) {
			before = pos;
			type = rds_exthdr_next(area, &pos, &payload);
			if (!type)
				break;
			KUNIT_ASSERT_GT(test, pos, before);
			KUNIT_ASSERT_LE(test, pos, 16U);
			KUNIT_ASSERT_PTR_EQ(test, payload, area + before + 1);
		}
		KUNIT_ASSERT_EQ(test, type, RDS_EXTHDR_NONE);
	}
}

/*
 * Parsers that are older than SPORT_IDX and RDMA_BYTES take these for bare type
 * bytes, and the first byte of their payload for the next type. Returns true if
 * such a parser stops at @pos.
 */
static bool old_parser_stops_behind(const u8 *area, unsigned int pos)
{
	return area[pos] == RDS_EXTHDR_NONE || area[pos] >= RDS_EXTHDR_MAX;
}

static void exthdr_old_parsers_stop(struct kunit *test)
{
	const __be32 bytes[2] = { htonl(RDS_MAX_MSG_SIZE), htonl(1 << 24) };
	const u8 dummy = 0;
	unsigned int pos;
	u8 *area;

	area = new_area(test);
	pos = 0;
	rds_exthdr_add(area, &pos, RDS_EXTHDR_RDMA_BYTES, bytes);
	KUNIT_EXPECT_TRUE(test, old_parser_stops_behind(area, 1));

	area = new_area(test);
	pos = 0;
	rds_exthdr_add(area, &pos, RDS_EXTHDR_SPORT_IDX, &dummy);
	KUNIT_EXPECT_TRUE(test, old_parser_stops_behind(area, 1));
}

static void fill_header(struct rds_header *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_sequence = cpu_to_be64(0xfedcba9876543210);
	hdr->h_ack = cpu_to_be64(41);
	hdr->h_len = htonl(4096);
	hdr->h_sport = htons(4000);
	hdr->h_dport = htons(65535);
	hdr->h_flags = RDS_FLAG_ACK_REQUIRED;
	hdr->h_credit = 200;
	hdr->h_exthdr[0] = RDS_EXTHDR_SPORT_IDX;
}

/* The sum of RFC 1071, computed in the simplest way */
static u16 sum16(const void *data, unsigned int len)
{
	const u8 *byte = data;
	unsigned int i;
	u32 sum = 0;

	for (i = 0; i < len; i += 2)
		sum += byte[i] << 8 | byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void csum_is_internet_checksum(struct kunit *test)
{
	struct rds_header hdr;
	u16 expected;

	fill_header(&hdr);
	expected = ~sum16(&hdr, sizeof(hdr));
	hdr.h_csum = (__force __sum16)htons(0x1234);
	rds_header_set_csum(&hdr);
	KUNIT_EXPECT_EQ(test, ntohs((__force __be16)hdr.h_csum), expected);
	KUNIT_EXPECT_EQ(test, sum16(&hdr, sizeof(hdr)), 0xffff);
	KUNIT_EXPECT_TRUE(test, rds_header_csum_ok(&hdr));
}

static void csum_sees_every_bit(struct kunit *test)
{
	struct rds_header hdr;
	unsigned int bit;
	u8 *bytes = (u8 *)&hdr;

	fill_header(&hdr);
	rds_header_set_csum(&hdr);
	for (bit = 0; bit < 8 * sizeof(hdr); bit++) {
		bytes[bit / 8] ^= BIT(bit % 8);
		KUNIT_EXPECT_FALSE_MSG(test, rds_header_csum_ok(&hdr),
				       "bit %u", bit);
		bytes[bit / 8] ^= BIT(bit % 8);
	}
	KUNIT_EXPECT_TRUE(test, rds_header_csum_ok(&hdr));
}

static void csum_zero_is_absent(struct kunit *test)
{
	struct rds_header hdr;

	fill_header(&hdr);
	KUNIT_EXPECT_NE(test, sum16(&hdr, sizeof(hdr)), 0xffff);
	KUNIT_EXPECT_TRUE(test, rds_header_csum_ok(&hdr));
	hdr.h_csum = (__force __sum16)htons(1);
	KUNIT_EXPECT_FALSE(test, rds_header_csum_ok(&hdr));
}

/* The flags are compared, not tested for a bit: only 0x01 marks a map. */
static void cong_map_by_equality(struct kunit *test)
{
	struct rds_header hdr = {};
	unsigned int flags;

	for (flags = 0; flags < 256; flags++) {
		hdr.h_flags = flags;
		KUNIT_EXPECT_EQ_MSG(test, rds_header_is_cong_map(&hdr),
				    flags == 0x01, "flags %#x", flags);
	}
}

static struct kunit_case wire_cases[] = {
	KUNIT_CASE(header_layout),
	KUNIT_CASE(constants),
	KUNIT_CASE_PARAM(exthdr_round_trip, types_gen_params),
	KUNIT_CASE_PARAM(exthdr_no_room, types_gen_params),
	KUNIT_CASE_PARAM(exthdr_parse, parses_gen_params),
	KUNIT_CASE(exthdr_start_out_of_range),
	KUNIT_CASE(exthdr_noise),
	KUNIT_CASE(exthdr_old_parsers_stop),
	KUNIT_CASE(csum_is_internet_checksum),
	KUNIT_CASE(csum_sees_every_bit),
	KUNIT_CASE(csum_zero_is_absent),
	KUNIT_CASE(cong_map_by_equality),
	{}
};

static struct kunit_suite wire_suite = {
	.name		= "rds_wire",
	.test_cases	= wire_cases,
};

kunit_test_suite(wire_suite);
