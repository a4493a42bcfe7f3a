// SPDX-License-Identifier: GPL-2.0-only
/* Messages to wire headers and back: include/net/rds/message.h. */
#include <kunit/test.h>
#include <net/rds/transport.h>

#define POISON	0xa5

static void header_of_a_message(struct kunit *test)
{
	static const u8 wire[48] = {
		0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x2a,
		0x00, 0x10, 0x00, 0x00, 0x0f, 0xa0, 0x0f, 0xa1,
		0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x05, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	};
	struct rds_message *msg;
	struct rds_header hdr;

	msg = kunit_kzalloc(test, sizeof(*msg), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, msg);
	msg->m_seq = 0x0102030405060708;
	msg->m_sport = htons(4000);
	msg->m_dport = htons(4001);
	msg->m_flags = RDS_FLAG_ACK_REQUIRED | RDS_FLAG_RETRANSMITTED;
	msg->m_exthdr[0] = RDS_EXTHDR_NPATHS;
	msg->m_exthdr[2] = 8;
	msg->m_payload.len = RDS_MAX_MSG_SIZE;

	memset(&hdr, POISON, sizeof(hdr));
	rds_message_header(msg, 42, &hdr);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&hdr, wire, sizeof(wire)));
}

static void incoming_of_a_header(struct kunit *test)
{
	static const struct rds_incoming_ops ops;
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(0x0102030405060708),
		.h_len		= htonl(4096),
		.h_sport	= htons(4000),
		.h_dport	= htons(4001),
		.h_flags	= RDS_FLAG_RETRANSMITTED,
	};
	struct rds_incoming *inc;

	inc = kunit_kmalloc(test, sizeof(*inc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, inc);
	memset(inc, POISON, sizeof(*inc));
	rds_incoming_init(inc, &ops, &hdr, 8192);

	KUNIT_EXPECT_PTR_EQ(test, inc->i_ops, &ops);
	KUNIT_EXPECT_EQ(test, inc->i_seq, 0x0102030405060708ULL);
	KUNIT_EXPECT_EQ(test, inc->i_len, 4096U);
	KUNIT_EXPECT_EQ(test, inc->i_truesize, 8192U);
	KUNIT_EXPECT_EQ(test, ntohs(inc->i_sport), 4000);
	KUNIT_EXPECT_EQ(test, ntohs(inc->i_dport), 4001);
	KUNIT_EXPECT_EQ(test, inc->i_flags, RDS_FLAG_RETRANSMITTED);
	KUNIT_EXPECT_NULL(test, memchr_inv(inc->i_stamps, 0,
					   sizeof(inc->i_stamps)));
}

static struct kunit_case message_cases[] = {
	KUNIT_CASE(header_of_a_message),
	KUNIT_CASE(incoming_of_a_header),
	{}
};

static struct kunit_suite message_suite = {
	.name		= "rds_message",
	.test_cases	= message_cases,
};

kunit_test_suite(message_suite);
