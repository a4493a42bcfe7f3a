// SPDX-License-Identifier: GPL-2.0-only
/* The pure parts of streams: states, names, frames and quotas. */
#include <kunit/test.h>
#include <net/ipv6.h>
#include <net/rds/frame.h>

/* They have no exports. */
#include "../stream/name.c"
#include "../stream/quota.h"
#include "../stream/state.c"

struct transition {
	enum rds_stream_state	from;
	enum rds_stream_event	event;
	enum rds_stream_state	to;
};

/* Every transition there is. In all other pairs the state stays. */
static const struct transition transitions[] = {
	{ RDS_STREAM_IDLE, RDS_STREAM_EV_LISTEN, RDS_STREAM_LISTEN },
	{ RDS_STREAM_IDLE, RDS_STREAM_EV_CONNECT, RDS_STREAM_ASKING },
	{ RDS_STREAM_IDLE, RDS_STREAM_EV_ACCEPT, RDS_STREAM_OPEN },
	{ RDS_STREAM_IDLE, RDS_STREAM_EV_CLOSE, RDS_STREAM_ENDED },
	{ RDS_STREAM_LISTEN, RDS_STREAM_EV_CLOSE, RDS_STREAM_ENDED },
	{ RDS_STREAM_ASKING, RDS_STREAM_EV_KNOWN, RDS_STREAM_REQUESTED },
	{ RDS_STREAM_ASKING, RDS_STREAM_EV_RESPONSE, RDS_STREAM_OPEN },
	{ RDS_STREAM_ASKING, RDS_STREAM_EV_FAIL, RDS_STREAM_IDLE },
	{ RDS_STREAM_ASKING, RDS_STREAM_EV_CLOSE, RDS_STREAM_ENDED },
	{ RDS_STREAM_REQUESTED, RDS_STREAM_EV_AGAIN, RDS_STREAM_ASKING },
	{ RDS_STREAM_REQUESTED, RDS_STREAM_EV_RESPONSE, RDS_STREAM_OPEN },
	{ RDS_STREAM_REQUESTED, RDS_STREAM_EV_FAIL, RDS_STREAM_IDLE },
	{ RDS_STREAM_REQUESTED, RDS_STREAM_EV_CLOSE, RDS_STREAM_ENDED },
	{ RDS_STREAM_OPEN, RDS_STREAM_EV_FAIL, RDS_STREAM_ENDED },
	{ RDS_STREAM_OPEN, RDS_STREAM_EV_CLOSE, RDS_STREAM_ENDED },
	{ RDS_STREAM_ENDED, RDS_STREAM_EV_DISCONNECT, RDS_STREAM_IDLE },
};

static enum rds_stream_state expected(enum rds_stream_state state,
				      enum rds_stream_event event)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(transitions); i++) {
		if (transitions[i].from == state &&
		    transitions[i].event == event)
			return transitions[i].to;
	}
	return state;
}

static void every_pair(struct kunit *test)
{
	unsigned int state, event;

	for (state = 0; state < RDS_STREAM_STATES; state++) {
		for (event = 0; event < RDS_STREAM_EVENTS; event++)
			KUNIT_EXPECT_EQ_MSG(test, rds_stream_next(state, event),
					    expected(state, event),
					    "state %u, event %u", state, event);
	}
}

static void name_of_ipv4(struct kunit *test)
{
	const struct sockaddr_in sin = {
		.sin_family	= AF_INET,
		.sin_port	= htons(80),
		.sin_addr	= { htonl(0x0a000001) },
	};
	struct rds_stream_name name;
	struct sockaddr_in6 back;

	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(false, &sin, sizeof(sin), &name));
	KUNIT_EXPECT_TRUE(test, ipv6_addr_v4mapped(&name.ip));
	KUNIT_EXPECT_EQ(test, (int)sizeof(sin),
			rds_stream_name_format(false, &name, &back));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&sin, &back, sizeof(sin)));
	KUNIT_EXPECT_FALSE(test, rds_stream_is_any(&name.ip));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rds_stream_name_parse(false, &sin, sizeof(sin) - 1,
					      &name));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rds_stream_name_parse(false, &sin, -1, &name));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rds_stream_name_parse(true, &sin, sizeof(sin), &name));
}

/* The unspecified addresses of the two families stay apart. */
static void name_of_no_address(struct kunit *test)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct rds_stream_name any, name;
	struct sockaddr_in6 back;

	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(false, &sin, sizeof(sin), &any));
	KUNIT_EXPECT_TRUE(test, rds_stream_is_any(&any.ip));
	rds_stream_name_format(false, &any, &back);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&sin, &back, sizeof(sin)));

	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
	KUNIT_EXPECT_TRUE(test, rds_stream_is_any(&name.ip));
	KUNIT_EXPECT_FALSE(test, ipv6_addr_equal(&name.ip, &any.ip));

	sin6.sin6_addr = any.ip;
	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&name.ip, &any.ip));
	rds_stream_name_format(true, &name, &back);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&sin6, &back, sizeof(sin6)));
}

static void name_of_ipv6(struct kunit *test)
{
	struct sockaddr_in6 back, sin6 = {
		.sin6_family	= AF_INET6,
		.sin6_port	= htons(80),
		.sin6_addr	= IN6ADDR_LOOPBACK_INIT,
	};
	struct rds_stream_name name;

	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
	rds_stream_name_format(true, &name, &back);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&sin6, &back, sizeof(sin6)));

	/* A link-local address needs a scope. */
	sin6.sin6_addr.s6_addr[0] = 0xfe;
	sin6.sin6_addr.s6_addr[1] = 0x80;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
	sin6.sin6_scope_id = 2;
	KUNIT_EXPECT_EQ(test, 0,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
	KUNIT_EXPECT_EQ(test, 2U, name.ifindex);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rds_stream_name_parse(true, &sin6, SIN6_LEN_RFC2133,
					      &name));
	sin6.sin6_addr.s6_addr[0] = 0xff;
	KUNIT_EXPECT_EQ(test, -EADDRNOTAVAIL,
			rds_stream_name_parse(true, &sin6, sizeof(sin6),
					      &name));
}

static void frame_bytes(struct kunit *test)
{
	static const u8 bytes[RDS_EXTHDR_SPACE] = {
		0x0d, 3, 5, 2, 0x11, 0x22, 0x33, 0x44,
		0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc,
	};
	const struct rds_frame frame = {
		.op = 3, .flags = 5, .arg = 2,
		.id = 0x11223344, .fwd = 0x55667788, .buf = 0x99aabbcc,
	};
	u8 exthdr[RDS_EXTHDR_SPACE];
	struct rds_frame back = {};

	rds_frame_write(exthdr, &frame);
	KUNIT_EXPECT_EQ(test, 0, memcmp(exthdr, bytes, sizeof(bytes)));
	KUNIT_EXPECT_TRUE(test, rds_frame_read(exthdr, &back));
	KUNIT_EXPECT_EQ(test, back.op, frame.op);
	KUNIT_EXPECT_EQ(test, back.flags, frame.flags);
	KUNIT_EXPECT_EQ(test, back.arg, frame.arg);
	KUNIT_EXPECT_EQ(test, back.id, frame.id);
	KUNIT_EXPECT_EQ(test, back.fwd, frame.fwd);
	KUNIT_EXPECT_EQ(test, back.buf, frame.buf);
	exthdr[0] = RDS_EXTHDR_SW_RDMA;
	KUNIT_EXPECT_FALSE(test, rds_frame_read(exthdr, &back));
}

static void map_bytes(struct kunit *test)
{
	static const u8 bytes[RDS_FRAME_MAP_BYTES] = {
		0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
	};
	const struct rds_frame_map map = {
		.offset = 0x0123456789abcdefULL,
		.len = 0x11223344, .key = 0x55667788,
	};
	u8 written[RDS_FRAME_MAP_BYTES];
	struct rds_frame_map back = {};

	rds_frame_map_write(written, &map);
	KUNIT_EXPECT_EQ(test, 0, memcmp(written, bytes, sizeof(bytes)));
	rds_frame_map_read(written, &back);
	KUNIT_EXPECT_EQ(test, back.offset, map.offset);
	KUNIT_EXPECT_EQ(test, back.len, map.len);
	KUNIT_EXPECT_EQ(test, back.key, map.key);
}

/* An answer names the other end, and is never answered itself. */
static void answers(struct kunit *test)
{
	struct rds_frame frame = { .op = RDS_FRAME_REQUEST, .id = 7 };
	u8 exthdr[RDS_EXTHDR_SPACE];
	struct rds_frame answer;

	KUNIT_ASSERT_TRUE(test, rds_frame_answer(&frame, RDS_FRAME_RST, 3,
						 exthdr));
	KUNIT_ASSERT_TRUE(test, rds_frame_read(exthdr, &answer));
	KUNIT_EXPECT_EQ(test, answer.op, RDS_FRAME_RST);
	KUNIT_EXPECT_EQ(test, answer.flags, RDS_FRAME_TO_CLIENT);
	KUNIT_EXPECT_EQ(test, answer.arg, 3);
	KUNIT_EXPECT_EQ(test, answer.id, 7U);
	KUNIT_EXPECT_FALSE(test, rds_frame_answer(&answer, RDS_FRAME_RST, 0,
						  exthdr));
	frame.op = RDS_FRAME_BUSY;
	KUNIT_EXPECT_FALSE(test, rds_frame_answer(&frame, RDS_FRAME_RST, 0,
						  exthdr));
}

/* Any two of these have counters of their own. */
static struct in6_addr quota_peer(unsigned int i)
{
	struct rds_stream_quota quota = {};
	struct in6_addr peer;
	u32 ip = 0;

	do {
		ipv6_addr_set_v4mapped(htonl(0x0a000000 + ip++), &peer);
	} while (rds_stream_quota_of(&quota, &peer) != &quota.sq_of[i]);
	return peer;
}

/* Take places until there are no more. Returns how many there were. */
static int quota_fill(struct rds_stream_quota *quota,
		      const struct in6_addr *peer, int max)
{
	int taken = 0;

	while (rds_stream_quota_has_room(quota, peer, max)) {
		rds_stream_quota_add(quota, peer);
		taken++;
	}
	return taken;
}

/* A peer leaves twice as much as it has itself. */
static void quota_is_shared(struct kunit *test)
{
	struct in6_addr greedy = quota_peer(0), other = quota_peer(1);
	struct rds_stream_quota quota = {};
	int i;

	KUNIT_EXPECT_EQ(test, quota_fill(&quota, &greedy, 300), 100);
	KUNIT_EXPECT_EQ(test, quota_fill(&quota, &other, 300), 67);
	for (i = 0; i < 67; i++)
		rds_stream_quota_sub(&quota, &other);
	KUNIT_EXPECT_EQ(test, quota_fill(&quota, &greedy, 300), 0);
	rds_stream_quota_sub(&quota, &greedy);
	KUNIT_EXPECT_EQ(test, quota_fill(&quota, &greedy, 300), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&quota.sq_all), 100);
}

static void quota_has_ends(struct kunit *test)
{
	struct rds_stream_quota quota = {};
	struct in6_addr peer = quota_peer(0);

	KUNIT_EXPECT_FALSE(test, rds_stream_quota_has_room(&quota, &peer, 0));
	KUNIT_EXPECT_EQ(test, quota_fill(&quota, &peer, 1), 1);
	KUNIT_EXPECT_TRUE(test, rds_stream_quota_has_room(&quota, &peer,
							  INT_MAX));
	/* The limit may fall below what there is. */
	KUNIT_EXPECT_FALSE(test, rds_stream_quota_has_room(&quota, &peer, 0));
	rds_stream_quota_sub(&quota, &peer);
	KUNIT_EXPECT_EQ(test, atomic_read(&quota.sq_all), 0);
}

/* Addresses of one IPv6 network share a counter. */
static void quota_of_a_network(struct kunit *test)
{
	struct in6_addr one = { .s6_addr = { 0xfd, 1, [15] = 1 } };
	struct in6_addr two = { .s6_addr = { 0xfd, 1, [15] = 2 } };
	struct rds_stream_quota quota = {};

	KUNIT_EXPECT_PTR_EQ(test, rds_stream_quota_of(&quota, &one),
			    rds_stream_quota_of(&quota, &two));
}

static struct kunit_case stream_parts_cases[] = {
	KUNIT_CASE(every_pair),
	KUNIT_CASE(name_of_ipv4),
	KUNIT_CASE(name_of_ipv6),
	KUNIT_CASE(name_of_no_address),
	KUNIT_CASE(frame_bytes),
	KUNIT_CASE(map_bytes),
	KUNIT_CASE(answers),
	KUNIT_CASE(quota_is_shared),
	KUNIT_CASE(quota_has_ends),
	KUNIT_CASE(quota_of_a_network),
	{}
};

static struct kunit_suite stream_parts_suite = {
	.name		= "rds_stream_parts",
	.test_cases	= stream_parts_cases,
};

kunit_test_suite(stream_parts_suite);
