// SPDX-License-Identifier: GPL-2.0-only
/* Frames in a stream of bytes: net/rds/tcp/frame.h. */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/random.h>

#include "../tcp/frame.h"

#define HDR	((u32)sizeof(struct rds_header))
#define RUNS	500

struct judge_row {
	const char		*name;
	u32			len;
	u8			flags;
	enum rds_tcp_phase	phase;
};

static const struct judge_row judges[] = {
	{ "empty", 0, 0, RDS_TCP_BODY },
	{ "one_byte", 1, 0, RDS_TCP_BODY },
	{ "longest", RDS_MAX_MSG_SIZE, 0, RDS_TCP_BODY },
	{ "too_long", RDS_MAX_MSG_SIZE + 1, 0, RDS_TCP_OVERSIZED },
	{ "absurd", U32_MAX, 0, RDS_TCP_OVERSIZED },
	{ "sign_bit", 0x80000000, 0, RDS_TCP_OVERSIZED },
	{ "retransmitted", 100, 0x04, RDS_TCP_BODY },
	{ "map", RDS_CONG_MAP_BYTES, 0x01, RDS_TCP_MAP },
	{ "short_map", RDS_CONG_MAP_BYTES - 1, 0x01, RDS_TCP_SKIP },
	{ "long_map", RDS_CONG_MAP_BYTES + 1, 0x01, RDS_TCP_SKIP },
	{ "empty_map", 0, 0x01, RDS_TCP_SKIP },
	{ "longest_map", RDS_MAX_MSG_SIZE, 0x01, RDS_TCP_SKIP },
	{ "too_long_map", RDS_MAX_MSG_SIZE + 1, 0x01, RDS_TCP_OVERSIZED },
	{ "map_flag_among_others", RDS_CONG_MAP_BYTES, 0x03, RDS_TCP_BODY },
	{ "unknown_flags", 8, 0xf8, RDS_TCP_BODY },
};

static void judge_desc(const struct judge_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(judges, judges, judge_desc);

static void fill(struct rds_header *hdr, u64 seq, u32 len, u8 flags)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_sequence = cpu_to_be64(seq);
	hdr->h_len = cpu_to_be32(len);
	hdr->h_flags = flags;
}

static void judge(struct kunit *test)
{
	const struct judge_row *row = test->param_value;
	struct rds_header hdr;

	fill(&hdr, 1, row->len, row->flags);
	KUNIT_EXPECT_EQ(test, rds_tcp_frame_judge(&hdr), row->phase);
}

/* Take bytes from a stream as a receiver does. Returns the number of bytes
 * taken, and adds the number of frames that have ended to @ended.
 */
static u32 feed(struct rds_tcp_frame *fr, const u8 *data, u32 len,
		unsigned int *ended)
{
	u32 done = 0, bytes;

	while (done < len && fr->fr_phase != RDS_TCP_OVERSIZED) {
		bytes = min(len - done, fr->fr_left);
		if (fr->fr_phase == RDS_TCP_HEADER)
			memcpy(rds_tcp_frame_room(fr), data + done, bytes);
		done += bytes;
		*ended += rds_tcp_frame_advance(fr, bytes);
	}
	return done;
}

/* Every frame of the table, with its payload shortened so that it ends, is cut
 * in two at every byte.
 */
static void one_frame_cut_anywhere(struct kunit *test)
{
	const struct judge_row *row = test->param_value;
	u32 len = min(row->len, 3 * HDR), cut;
	unsigned int ended;
	struct rds_tcp_frame fr;
	struct rds_header hdr;
	u8 *data;

	data = kunit_kzalloc(test, HDR + len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	fill(&hdr, 7, len, row->flags);
	memcpy(data, &hdr, HDR);

	for (cut = 0; cut <= HDR + len; cut++) {
		ended = 0;
		rds_tcp_frame_init(&fr);
		KUNIT_ASSERT_EQ(test, feed(&fr, data, cut, &ended), cut);
		KUNIT_ASSERT_EQ(test, ended, cut == HDR + len ? 1U : 0U);
		feed(&fr, data + cut, HDR + len - cut, &ended);
		KUNIT_ASSERT_EQ(test, ended, 1U);
		KUNIT_ASSERT_EQ(test, fr.fr_phase, RDS_TCP_HEADER);
		KUNIT_ASSERT_EQ(test, fr.fr_left, HDR);
		KUNIT_ASSERT_EQ(test, 0, memcmp(&fr.fr_hdr, &hdr, HDR));
	}
}

static void phases_of_a_message(struct kunit *test)
{
	struct rds_tcp_frame fr;
	unsigned int ended = 0;
	struct rds_header hdr;

	rds_tcp_frame_init(&fr);
	KUNIT_EXPECT_EQ(test, fr.fr_phase, RDS_TCP_HEADER);
	KUNIT_EXPECT_EQ(test, fr.fr_left, HDR);
	KUNIT_EXPECT_PTR_EQ(test, rds_tcp_frame_room(&fr), (void *)&fr.fr_hdr);

	fill(&hdr, 1, 10, 0);
	feed(&fr, (u8 *)&hdr, HDR - 1, &ended);
	KUNIT_EXPECT_EQ(test, fr.fr_phase, RDS_TCP_HEADER);
	KUNIT_EXPECT_EQ(test, fr.fr_left, 1U);

	feed(&fr, (u8 *)&hdr + HDR - 1, 1, &ended);
	KUNIT_EXPECT_EQ(test, fr.fr_phase, RDS_TCP_BODY);
	KUNIT_EXPECT_EQ(test, fr.fr_left, 10U);
	KUNIT_EXPECT_EQ(test, ended, 0U);

	KUNIT_EXPECT_FALSE(test, rds_tcp_frame_advance(&fr, 9));
	KUNIT_EXPECT_TRUE(test, rds_tcp_frame_advance(&fr, 1));
	KUNIT_EXPECT_EQ(test, fr.fr_phase, RDS_TCP_HEADER);
}

static void oversized_ends_the_stream(struct kunit *test)
{
	static const u32 lens[] = { RDS_MAX_MSG_SIZE + 1, S32_MAX,
				    0x80000000, U32_MAX };
	struct rds_tcp_frame fr;
	struct rds_header hdr;
	unsigned int ended, i;
	u8 more[8] = {};

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		ended = 0;
		rds_tcp_frame_init(&fr);
		fill(&hdr, 1, lens[i], 0);
		feed(&fr, (u8 *)&hdr, HDR, &ended);
		KUNIT_EXPECT_EQ(test, fr.fr_phase, RDS_TCP_OVERSIZED);
		KUNIT_EXPECT_EQ(test, fr.fr_left, 0U);
		KUNIT_EXPECT_EQ(test, feed(&fr, more, sizeof(more), &ended),
				0U);
		KUNIT_EXPECT_EQ(test, ended, 0U);
	}
}

/* The frames of a stream do not depend on the segments that carry it. */
static void random_streams(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 47, 48, 49, 300, 0, 0, 2 };
	unsigned int ended, run, seen, i;
	struct rds_tcp_frame fr;
	u32 total = 0, pos, bytes;
	struct rds_header hdr;
	u8 *data;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		total += HDR + lens[i];
	data = kunit_kzalloc(test, total, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	for (i = 0, pos = 0; i < ARRAY_SIZE(lens); i++) {
		fill(&hdr, i + 1, lens[i], 0);
		memcpy(data + pos, &hdr, HDR);
		memset(data + pos + HDR, 0xff, lens[i]);
		pos += HDR + lens[i];
	}

	for (run = 0; run < RUNS; run++) {
		rds_tcp_frame_init(&fr);
		for (pos = 0, seen = 0; pos < total; pos += bytes) {
			bytes = 1 + get_random_u32() % (run + 1);
			bytes = min3(bytes, total - pos, fr.fr_left);
			ended = 0;
			feed(&fr, data + pos, bytes, &ended);
			if (!ended)
				continue;
			seen++;
			KUNIT_ASSERT_EQ(test, be64_to_cpu(fr.fr_hdr.h_sequence),
					(u64)seen);
		}
		KUNIT_ASSERT_EQ(test, seen, (unsigned int)ARRAY_SIZE(lens));
	}
}

static struct kunit_case tcp_frame_cases[] = {
	KUNIT_CASE_PARAM(judge, judges_gen_params),
	KUNIT_CASE_PARAM(one_frame_cut_anywhere, judges_gen_params),
	KUNIT_CASE(phases_of_a_message),
	KUNIT_CASE(oversized_ends_the_stream),
	KUNIT_CASE(random_streams),
	{}
};

static struct kunit_suite tcp_frame_suite = {
	.name		= "rds_tcp_frame",
	.test_cases	= tcp_frame_cases,
};

kunit_test_suite(tcp_frame_suite);
