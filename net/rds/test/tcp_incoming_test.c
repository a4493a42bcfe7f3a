// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that messages received over TCP are charged for:
 * net/rds/tcp/incoming.c, unchanged, on packets that the tests make.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/skbuff.h>

#include "../tcp/incoming.c"

/* Bytes in the head of a packet, and in its page */
#define HEAD	1000U
#define FRAG	3000U

/**
 * enum head_kind - where the head of a packet is
 * @HEAD_SLAB: in memory that cannot be referred to, so it is copied
 * @HEAD_PAGE: in a page
 */
enum head_kind {
	HEAD_SLAB,
	HEAD_PAGE,
};

/**
 * struct charge_row - a message in one packet
 * @name: name of the case
 * @head: where the head of the packet is
 * @offset: offset of the message in the packet
 * @parts: number of parts in which it is added
 * @copied: number of its bytes that are copied
 */
struct charge_row {
	const char	*name;
	enum head_kind	head;
	u32		offset;
	u32		parts;
	u32		copied;
};

static const struct charge_row rows[] = {
	{ "copied_head", HEAD_SLAB, 0, 1, HEAD },
	{ "copied_rest_of_a_head", HEAD_SLAB, 300, 1, HEAD - 300 },
	{ "copied_head_in_parts", HEAD_SLAB, 0, 5, HEAD },
	{ "behind_a_copied_head", HEAD_SLAB, HEAD, 1, 0 },
	{ "head_in_a_page", HEAD_PAGE, 0, 1, 0 },
	{ "head_in_a_page_in_parts", HEAD_PAGE, 0, 5, 0 },
	{ "behind_a_head_in_a_page", HEAD_PAGE, HEAD, 1, 0 },
};

static void row_desc(const struct charge_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rows, rows, row_desc);

static struct sk_buff *make_head(struct kunit *test, enum head_kind kind)
{
	struct sk_buff *skb;
	void *data;

	if (kind == HEAD_SLAB) {
		skb = alloc_skb(HEAD, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		return skb;
	}
	data = (void *)__get_free_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, data);
	skb = build_skb(data, PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	return skb;
}

/* A packet whose head has byte 1 everywhere, and whose page has byte 2 */
static struct sk_buff *make_packet(struct kunit *test, enum head_kind kind)
{
	struct sk_buff *skb = make_head(test, kind);
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	skb_put(skb, HEAD);
	memset(skb->data, 1, HEAD);
	memset(page_address(page), 2, FRAG);
	skb_add_rx_frag(skb, 0, page, 0, FRAG, PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, !skb->head_frag, kind == HEAD_SLAB);
	KUNIT_ASSERT_TRUE(test, rds_tcp_may_refer(skb));
	return skb;
}

static void add_in_parts(struct kunit *test, struct rds_tcp_incoming *ti,
			 const struct sk_buff *skb, u32 offset, u32 parts)
{
	u32 left = skb->len - offset, bytes;

	for (; parts; parts--) {
		bytes = left / parts;
		KUNIT_ASSERT_EQ(test, bytes,
				rds_tcp_incoming_add(ti, skb, offset, bytes));
		offset += bytes;
		left -= bytes;
	}
}

static bool payload_is(struct rds_tcp_incoming *ti, u32 heads, u32 len)
{
	u8 *data = kmalloc(len, GFP_KERNEL);
	struct kvec vec = { .iov_base = data, .iov_len = len };
	struct iov_iter to;
	bool ok = data;

	iov_iter_kvec(&to, ITER_DEST, &vec, 1, len);
	ok = ok && !rds_tcp_incoming_copy(&ti->ti_inc, 0, len, &to) &&
	     !memchr_inv(data, 1, heads) &&
	     !memchr_inv(data + heads, 2, len - heads);
	kfree(data);
	return ok;
}

/* A message is charged for the copy of what is copied, and for its share of the
 * packet's memory for the rest, but not for both.
 */
static void each_byte_once(struct kunit *test)
{
	const struct charge_row *row = test->param_value;
	struct sk_buff *skb = make_packet(test, row->head);
	u32 len = skb->len - row->offset, share, base, held;
	struct rds_header hdr = { .h_len = cpu_to_be32(len) };
	struct rds_tcp_incoming *ti = rds_tcp_incoming_alloc(&hdr);

	KUNIT_ASSERT_NOT_NULL(test, ti);
	base = rds_tcp_incoming_holds(ti);
	add_in_parts(test, ti, skb, row->offset, row->parts);
	KUNIT_EXPECT_EQ(test, !!ti->ti_copies.page, !!row->copied);

	held = rds_tcp_incoming_holds(ti) - base;
	if (ti->ti_copies.page)
		held -= ti->ti_copies.size;
	share = mul_u64_u32_div(skb->truesize, len - row->copied, skb->len);
	/* Each part of the share is rounded down. */
	KUNIT_EXPECT_LE(test, held, share);
	KUNIT_EXPECT_GE(test, held + row->parts + 1, share);
	KUNIT_EXPECT_TRUE(test, payload_is(ti, len - FRAG, len));
	rds_tcp_incoming_drop(ti);
	kfree_skb(skb);
}

static struct kunit_case tcp_incoming_cases[] = {
	KUNIT_CASE_PARAM(each_byte_once, rows_gen_params),
	{}
};

static struct kunit_suite tcp_incoming_suite = {
	.name		= "rds_tcp_incoming",
	.test_cases	= tcp_incoming_cases,
};

kunit_test_suite(tcp_incoming_suite);
