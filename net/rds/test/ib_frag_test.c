// SPDX-License-Identifier: GPL-2.0-only
/* Fragments of messages: net/rds/ib/frag.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../ib/frag.h"

#define FRAG	((u32)RDS_FRAG_SIZE)

static void fill(struct rds_header *hdr, u32 len, u8 flags)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_sequence = cpu_to_be64(7);
	hdr->h_len = cpu_to_be32(len);
	hdr->h_sport = cpu_to_be16(1000);
	hdr->h_dport = cpu_to_be16(2000);
	hdr->h_flags = flags;
	hdr->h_exthdr[0] = 1;
}

static void counts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, rds_ib_frags(0, false), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(1, false), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG, false), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG + 1, false), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(RDS_MAX_MSG_SIZE, false), 256U);
}

/* What fits into one fragment is not split. */
static void aligned_counts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RDS_IB_ALIGNED_SIZE, 4048U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(0, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(4049, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG + 1, true), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(2 * 4048, true), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(2 * 4048 + 1, true), 3U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(RDS_MAX_MSG_SIZE, true), 260U);
}

static void header_and_checksum(struct kunit *test)
{
	struct rds_header hdr;
	unsigned int bit;
	u8 *bytes = (u8 *)&hdr;

	fill(&hdr, 100, 0);
	rds_header_set_csum(&hdr);
	KUNIT_EXPECT_TRUE(test, rds_ib_frag_has_header(&hdr, 48));
	KUNIT_EXPECT_TRUE(test, rds_ib_frag_has_header(&hdr, 148));
	KUNIT_EXPECT_FALSE(test, rds_ib_frag_has_header(&hdr, 47));
	KUNIT_EXPECT_FALSE(test, rds_ib_frag_has_header(&hdr, 0));
	for (bit = 0; bit < 8 * sizeof(hdr); bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_FALSE(test, rds_ib_frag_has_header(&hdr, 148));
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	hdr.h_csum = 0;
	KUNIT_EXPECT_TRUE(test, rds_ib_frag_has_header(&hdr, 148));
}

struct first_row {
	const char		*name;
	u32			len;
	u32			bytes;
	enum rds_ib_frag	frag;
	bool			aligned;
	u8			flags;
};

static const struct first_row firsts[] = {
	{ "empty", 0, 0, RDS_IB_FRAG_LAST },
	{ "empty_with_payload", 0, 1, RDS_IB_FRAG_BAD },
	{ "one_byte", 1, 1, RDS_IB_FRAG_LAST },
	{ "byte_missing", 100, 99, RDS_IB_FRAG_BAD },
	{ "byte_too_many", 100, 101, RDS_IB_FRAG_BAD },
	{ "no_payload", 100, 0, RDS_IB_FRAG_BAD },
	{ "full", FRAG, FRAG, RDS_IB_FRAG_LAST },
	{ "first_of_two", FRAG + 1, FRAG, RDS_IB_FRAG_PART },
	{ "first_too_short", FRAG + 1, FRAG - 1, RDS_IB_FRAG_BAD },
	{ "first_too_long", FRAG + 1, FRAG + 1, RDS_IB_FRAG_BAD },
	{ "longest", RDS_MAX_MSG_SIZE, FRAG, RDS_IB_FRAG_PART },
	{ "too_long", RDS_MAX_MSG_SIZE + 1, FRAG, RDS_IB_FRAG_BAD },
	{ "absurd", U32_MAX, FRAG, RDS_IB_FRAG_BAD },
	{ "aligned_full", FRAG, FRAG, RDS_IB_FRAG_LAST, true },
	{ "aligned", FRAG + 1, 4048, RDS_IB_FRAG_PART, true },
	{ "aligned_too_short", FRAG + 1, 4047, RDS_IB_FRAG_BAD, true },
	{ "aligned_too_long", FRAG + 1, 4049, RDS_IB_FRAG_BAD, true },
	{ "not_aligned", FRAG + 1, FRAG, RDS_IB_FRAG_BAD, true },
	{ "aligned_uninvited", FRAG + 1, 4048, RDS_IB_FRAG_BAD },
	{ "aligned_longest", RDS_MAX_MSG_SIZE, 4048, RDS_IB_FRAG_PART, true },
	{ "map_of_a_peer_that_aligns", RDS_CONG_MAP_BYTES, FRAG,
	  RDS_IB_FRAG_PART, true, RDS_FLAG_CONG_BITMAP },
	{ "aligned_map", RDS_CONG_MAP_BYTES, 4048, RDS_IB_FRAG_BAD, true,
	  RDS_FLAG_CONG_BITMAP },
	{ "aligned_with_two_flags", RDS_CONG_MAP_BYTES, 4048,
	  RDS_IB_FRAG_PART, true,
	  RDS_FLAG_CONG_BITMAP | RDS_FLAG_ACK_REQUIRED },
};

static void first_desc(const struct first_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(firsts, firsts, first_desc);

static void first(struct kunit *test)
{
	const struct first_row *row = test->param_value;
	struct rds_ib_reasm ra = {};
	struct rds_header hdr;

	fill(&hdr, row->len, row->flags);
	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &hdr, row->bytes,
						row->aligned), row->frag);
}

/* Messages of all lengths are reassembled, from as many fragments as
 * rds_ib_frags() returns.
 */
static void reassemble(struct kunit *test, bool aligned)
{
	static const u32 lens[] = { 0, 1, 4095, 4096, 4097, 8096, 8097, 8191,
				    8192, 8193, 65536, 100000,
				    RDS_MAX_MSG_SIZE - 1, RDS_MAX_MSG_SIZE };
	struct rds_ib_reasm ra = {};
	enum rds_ib_frag frag;
	struct rds_header hdr;
	u32 i, n, left, bytes;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fill(&hdr, lens[i], 0);
		left = lens[i];
		for (n = 0; n < rds_ib_frags(lens[i], aligned); n++) {
			bytes = min(left, rds_ib_frag_size(lens[i], aligned));
			/* Change the fields that may differ. */
			hdr.h_ack = cpu_to_be64(n);
			hdr.h_credit = n;
			rds_ib_number_set(&hdr, n);
			rds_header_set_csum(&hdr);
			frag = rds_ib_frag_judge(&ra, &hdr, bytes, aligned);
			left -= bytes;
			KUNIT_ASSERT_EQ(test, frag, left ? RDS_IB_FRAG_PART :
							   RDS_IB_FRAG_LAST);
			if (!ra.ra_got)
				ra.ra_hdr = hdr;
			rds_ib_reasm_add(&ra, bytes, frag);
		}
		KUNIT_ASSERT_EQ(test, left, 0U);
		KUNIT_ASSERT_EQ(test, ra.ra_got, 0U);
	}
}

static void whole_messages(struct kunit *test)
{
	reassemble(test, false);
	reassemble(test, true);
}

/* Flip each bit of a later header. The fragment is accepted only if that bit
 * may differ between fragments.
 */
static void changed_on_the_way(struct kunit *test)
{
	struct rds_ib_reasm ra = {};
	struct rds_header hdr, later;
	unsigned int bit, byte;
	bool may;

	fill(&hdr, 3 * FRAG, 0);
	ra.ra_hdr = hdr;
	ra.ra_got = FRAG;
	for (bit = 0; bit < 8 * sizeof(hdr); bit++) {
		byte = bit / 8;
		may = (byte >= 8 && byte < 16) ||
		      byte == offsetof(struct rds_header, h_credit) ||
		      (byte >= offsetof(struct rds_header, h_padding) &&
		       byte < offsetof(struct rds_header, h_exthdr));
		later = hdr;
		((u8 *)&later)[byte] ^= 1 << bit % 8;
		KUNIT_EXPECT_EQ(test,
				rds_ib_frag_judge(&ra, &later, FRAG, false),
				may ? RDS_IB_FRAG_PART : RDS_IB_FRAG_BAD);
	}
}

static void ack_between_parts(struct kunit *test)
{
	struct rds_ib_reasm ra = {};
	struct rds_header hdr, ack = {};

	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &ack, 0, false),
			RDS_IB_FRAG_ACK);
	fill(&hdr, 3 * FRAG, 0);
	ra.ra_hdr = hdr;
	ra.ra_got = FRAG;
	ack.h_ack = cpu_to_be64(U64_MAX);
	ack.h_credit = 255;
	rds_ib_number_set(&ack, U32_MAX);
	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &ack, 0, false),
			RDS_IB_FRAG_ACK);
	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &ack, 1, false),
			RDS_IB_FRAG_BAD);
	ack.h_flags = RDS_FLAG_CONG_BITMAP;
	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &ack, 0, false),
			RDS_IB_FRAG_BAD);
}

/* A ping from port 0 gets no pong, but its number makes it a message. */
static void numbered_is_no_ack(struct kunit *test)
{
	struct rds_ib_reasm ra = {};
	struct rds_header hdr = { .h_sequence = cpu_to_be64(1) };

	KUNIT_EXPECT_EQ(test, rds_ib_frag_judge(&ra, &hdr, 0, false),
			RDS_IB_FRAG_LAST);
}

static void numbers_on_the_wire(struct kunit *test)
{
	static const u8 wire[] = { 0x12, 0x34, 0x56, 0x78 };
	struct rds_header hdr, was;

	fill(&hdr, 100, 0);
	was = hdr;
	rds_ib_number_set(&hdr, 0x12345678);
	KUNIT_EXPECT_EQ(test, 0, memcmp(hdr.h_padding, wire, sizeof(wire)));
	memcpy(hdr.h_padding, was.h_padding, sizeof(was.h_padding));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&hdr, &was, sizeof(was)));
}

struct number_row {
	const char	*name;
	u32		last;
	u32		number;
	s32		ahead;
};

static const struct number_row numbers[] = {
	{ "first", 0, 1, 0 },
	{ "second", 1, 2, 0 },
	{ "first_again", 1, 1, -1 },
	{ "earlier", 100, 1, -100 },
	{ "zero_at_first", 0, 0, -1 },
	{ "one_missing", 0, 2, 1 },
	{ "many_missing", 100, 301, 200 },
	{ "up_to_the_wrap", U32_MAX - 1, U32_MAX, 0 },
	{ "wraps", U32_MAX, 0, 0 },
	{ "after_the_wrap", 0, 1, 0 },
	{ "again_at_the_wrap", U32_MAX, U32_MAX, -1 },
	{ "again_across_the_wrap", 2, U32_MAX, -4 },
	{ "missing_across_the_wrap", U32_MAX - 1, 1, 2 },
	{ "farthest_ahead", 0, 0x80000000, S32_MAX },
	{ "farthest_behind", 0, 0x80000001, -S32_MAX - 1 },
	{ "farthest_across_the_wrap", U32_MAX, 0x80000000, -S32_MAX - 1 },
};

static void number_desc(const struct number_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(numbers, numbers, number_desc);

static void number(struct kunit *test)
{
	const struct number_row *row = test->param_value;
	struct rds_header hdr;

	fill(&hdr, 100, 0);
	rds_ib_number_set(&hdr, row->number);
	KUNIT_EXPECT_EQ(test, rds_ib_number_ahead(&hdr, row->last),
			row->ahead);
}

/* Whatever the peer sends, no message gets more bytes than it may have. */
static void noise(struct kunit *test)
{
	struct rds_ib_reasm ra = {};
	enum rds_ib_frag frag;
	struct rds_header hdr;
	u32 i, bytes, len;
	bool aligned = false;

	for (i = 0; i < 20000; i++) {
		if (ra.ra_got && get_random_u32() % 8)
			hdr = ra.ra_hdr;
		else
			get_random_bytes(&hdr, sizeof(hdr));
		if (get_random_u32() % 2)
			hdr.h_len = cpu_to_be32(get_random_u32() % (4 * FRAG));
		bytes = get_random_u32() % 2 ? FRAG : get_random_u32() % FRAG;
		if (!ra.ra_got)
			aligned = get_random_u32() % 2;
		if (aligned && get_random_u32() % 2)
			bytes = RDS_IB_ALIGNED_SIZE;
		frag = rds_ib_frag_judge(&ra, &hdr, bytes, aligned);
		if (frag != RDS_IB_FRAG_PART && frag != RDS_IB_FRAG_LAST)
			continue;
		len = be32_to_cpu(hdr.h_len);
		KUNIT_ASSERT_LE(test, len, (u32)RDS_MAX_MSG_SIZE);
		KUNIT_ASSERT_LE(test, ra.ra_got + bytes, len);
		KUNIT_ASSERT_EQ(test, frag == RDS_IB_FRAG_LAST,
				ra.ra_got + bytes == len);
		if (!ra.ra_got)
			ra.ra_hdr = hdr;
		rds_ib_reasm_add(&ra, bytes, frag);
	}
}

static struct kunit_case ib_frag_cases[] = {
	KUNIT_CASE(counts),
	KUNIT_CASE(aligned_counts),
	KUNIT_CASE(header_and_checksum),
	KUNIT_CASE_PARAM(first, firsts_gen_params),
	KUNIT_CASE(whole_messages),
	KUNIT_CASE(changed_on_the_way),
	KUNIT_CASE(ack_between_parts),
	KUNIT_CASE(numbered_is_no_ack),
	KUNIT_CASE(numbers_on_the_wire),
	KUNIT_CASE_PARAM(number, numbers_gen_params),
	KUNIT_CASE(noise),
	{}
};

static struct kunit_suite ib_frag_suite = {
	.name		= "rds_ib_frag",
	.test_cases	= ib_frag_cases,
};

kunit_test_suite(ib_frag_suite);
