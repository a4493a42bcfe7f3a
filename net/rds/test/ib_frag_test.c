// SPDX-License-Identifier: GPL-2.0-only
/* Fragments of messages: net/rds/ib/frag.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../ib/frag.h"

#define FRAG	((u32)RDS_FRAG_SIZE)
#define WIDE	RDS_IB_WIDE_SIZE
#define ALONE	RDS_IB_WIDE_BYTES

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
static void wide_counts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, RDS_IB_WIDE_BYTES, 16384U);
	KUNIT_EXPECT_EQ(test, RDS_IB_WIDE_SIZE, 16336U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(0, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(FRAG + 1, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(16384, true), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(16385, true), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(2 * 16336, true), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(2 * 16336 + 1, true), 3U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(65536, true), 5U);
	KUNIT_EXPECT_EQ(test, rds_ib_frags(RDS_MAX_MSG_SIZE, true), 65U);
}

struct page_row {
	const char	*name;
	u32		piece;
	u32		len;
	bool		wide;
	u32		pages;
};

static const struct page_row pages[] = {
	{ "one_byte", 4096, 1, true, 1 },
	{ "one_page", 4096, 4096, true, 1 },
	{ "a_byte_more", 4096, 4097, true, 2 },
	{ "narrow", 4096, 4097, false, 2 },
	{ "alone", 4096, 16384, true, 4 },
	{ "two", 4096, 16385, true, 5 },
	{ "two_full", 4096, 2 * 16336, true, 8 },
	{ "64_kib", 4096, 65536, true, 17 },
	{ "64_kib_narrow", 4096, 65536, false, 16 },
	{ "longest", 4096, RDS_MAX_MSG_SIZE, true, 257 },
	{ "pages_of_8_kib", 8192, 65536, true, 9 },
	{ "pages_of_16_kib", 16384, 65536, true, 5 },
	{ "pages_of_16_kib_narrow", 16384, 65536, false, 16 },
};

static void page_desc(const struct page_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(pages, pages, page_desc);

/* All bytes of a message are found, each once, in pages that follow each other;
 * and from anywhere.
 */
static void page(struct kunit *test)
{
	const struct page_row *row = test->param_value;
	u32 frag = rds_ib_frag_size(row->len, row->wide);
	u32 offset = 0, nr = 0, at, room, from_at, from_room;

	while (offset < row->len) {
		KUNIT_ASSERT_EQ(test, nr,
				rds_ib_msg_page(offset, frag, row->piece, &at,
						&room));
		KUNIT_ASSERT_EQ(test, at, 0U);
		KUNIT_ASSERT_GT(test, room, 0U);
		KUNIT_ASSERT_LE(test, room, row->piece);
		KUNIT_ASSERT_EQ(test, nr,
				rds_ib_msg_page(offset + room - 1, frag,
						row->piece, &from_at,
						&from_room));
		KUNIT_ASSERT_EQ(test, from_at, room - 1);
		KUNIT_ASSERT_EQ(test, from_room, 1U);
		offset += room;
		nr++;
	}
	KUNIT_EXPECT_EQ(test, nr, row->pages);
	KUNIT_EXPECT_EQ(test, nr,
			rds_ib_msg_pages(row->len, frag, row->piece));
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
	bool			wide;
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
	{ "full_of_a_wide_peer", FRAG, FRAG, RDS_IB_FRAG_LAST, true },
	{ "wide_alone", FRAG + 1, FRAG + 1, RDS_IB_FRAG_LAST, true },
	{ "wide_alone_too_short", FRAG + 1, FRAG, RDS_IB_FRAG_BAD, true },
	{ "wide_alone_full", ALONE, ALONE, RDS_IB_FRAG_LAST, true },
	{ "wide_alone_split", ALONE, WIDE, RDS_IB_FRAG_BAD, true },
	{ "wide", ALONE + 1, WIDE, RDS_IB_FRAG_PART, true },
	{ "wide_too_short", ALONE + 1, WIDE - 1, RDS_IB_FRAG_BAD, true },
	{ "wide_too_long", ALONE + 1, ALONE, RDS_IB_FRAG_BAD, true },
	{ "not_wide", ALONE + 1, FRAG, RDS_IB_FRAG_BAD, true },
	{ "wide_uninvited", ALONE + 1, WIDE, RDS_IB_FRAG_BAD },
	{ "wide_alone_uninvited", FRAG + 1, FRAG + 1, RDS_IB_FRAG_BAD },
	{ "wide_longest", RDS_MAX_MSG_SIZE, WIDE, RDS_IB_FRAG_PART, true },
	{ "map_of_a_wide_peer", RDS_CONG_MAP_BYTES, FRAG,
	  RDS_IB_FRAG_PART, true, RDS_FLAG_CONG_BITMAP },
	{ "wide_map", RDS_CONG_MAP_BYTES, RDS_CONG_MAP_BYTES,
	  RDS_IB_FRAG_BAD, true, RDS_FLAG_CONG_BITMAP },
	{ "wide_with_two_flags", RDS_CONG_MAP_BYTES, RDS_CONG_MAP_BYTES,
	  RDS_IB_FRAG_LAST, true,
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
						row->wide), row->frag);
}

/* Messages of all lengths are reassembled, from as many fragments as
 * rds_ib_frags() returns.
 */
static void reassemble(struct kunit *test, bool wide)
{
	static const u32 lens[] = { 0, 1, 4095, 4096, 4097, 8191, 8192, 8193,
				    WIDE, ALONE - 1, ALONE, ALONE + 1,
				    2 * WIDE, 2 * WIDE + 1, 65536, 100000,
				    RDS_MAX_MSG_SIZE - 1, RDS_MAX_MSG_SIZE };
	struct rds_ib_reasm ra = {};
	enum rds_ib_frag frag;
	struct rds_header hdr;
	u32 i, n, left, bytes;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		fill(&hdr, lens[i], 0);
		left = lens[i];
		for (n = 0; n < rds_ib_frags(lens[i], wide); n++) {
			bytes = min(left, rds_ib_frag_size(lens[i], wide));
			/* Change the fields that may differ. */
			hdr.h_ack = cpu_to_be64(n);
			hdr.h_credit = n;
			rds_ib_number_set(&hdr, n);
			rds_header_set_csum(&hdr);
			frag = rds_ib_frag_judge(&ra, &hdr, bytes, wide);
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

/* Bytes of a SEND: often what the peer may send next, or nearly that */
static u32 noise_bytes(const struct rds_ib_reasm *ra,
		       const struct rds_header *hdr, bool wide)
{
	u32 len = be32_to_cpu(hdr->h_len) % (RDS_MAX_MSG_SIZE + 1);
	u32 left = len - min(ra->ra_got, len);
	u32 next = min(left, rds_ib_frag_size(len, wide));

	switch (get_random_u32() % 8) {
	case 0:
		return get_random_u32() % (ALONE + 2);
	case 1:
		return next + get_random_u32() % 3 - 1;
	default:
		return next;
	}
}

/* Whatever the peer sends, no message gets more bytes than it may have. */
static void noise(struct kunit *test)
{
	struct rds_ib_reasm ra = {};
	u32 i, bytes, len, whole = 0;
	enum rds_ib_frag frag;
	struct rds_header hdr;
	bool wide = false;

	for (i = 0; i < 20000; i++) {
		if (ra.ra_got && get_random_u32() % 32) {
			hdr = ra.ra_hdr;
		} else {
			get_random_bytes(&hdr, sizeof(hdr));
			if (get_random_u32() % 2)
				hdr.h_len = cpu_to_be32(get_random_u32() %
							(4 * WIDE));
		}
		if (!ra.ra_got)
			wide = get_random_u32() % 2;
		bytes = noise_bytes(&ra, &hdr, wide);
		frag = rds_ib_frag_judge(&ra, &hdr, bytes, wide);
		if (frag == RDS_IB_FRAG_BAD)
			ra.ra_got = 0;
		if (frag != RDS_IB_FRAG_PART && frag != RDS_IB_FRAG_LAST)
			continue;
		len = be32_to_cpu(hdr.h_len);
		KUNIT_ASSERT_LE(test, len, (u32)RDS_MAX_MSG_SIZE);
		KUNIT_ASSERT_LE(test, ra.ra_got + bytes, len);
		KUNIT_ASSERT_LE(test, bytes, wide ? ALONE : FRAG);
		KUNIT_ASSERT_EQ(test, frag == RDS_IB_FRAG_LAST,
				ra.ra_got + bytes == len);
		if (!ra.ra_got)
			ra.ra_hdr = hdr;
		rds_ib_reasm_add(&ra, bytes, frag);
		whole += frag == RDS_IB_FRAG_LAST;
	}
	KUNIT_EXPECT_GT(test, whole, 100U);
}

static struct kunit_case ib_frag_cases[] = {
	KUNIT_CASE(counts),
	KUNIT_CASE(wide_counts),
	KUNIT_CASE_PARAM(page, pages_gen_params),
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
