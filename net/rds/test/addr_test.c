// SPDX-License-Identifier: GPL-2.0-only
/* Socket addresses: net/rds/core/addr.c. */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/limits.h>
#include <net/ipv6.h>

#include "../core/addr.h"

#define POISON	0xa5

union any_sockaddr {
	sa_family_t		family;
	struct sockaddr_in	v4;
	struct sockaddr_in6	v6;
};

#define V4(a, b, c, d) {						\
	.v4 = {								\
		.sin_family	= AF_INET,				\
		.sin_port	= cpu_to_be16(4000),			\
		.sin_addr	= { cpu_to_be32((a) << 24 | (b) << 16 |	\
						(c) << 8 | (d)) },	\
	},								\
}

#define V6_SCOPE(scope, ...) {						\
	.v6 = {								\
		.sin6_family	= AF_INET6,				\
		.sin6_port	= cpu_to_be16(4000),			\
		.sin6_flowinfo	= cpu_to_be32(0x12345678),		\
		.sin6_addr	= { .s6_addr = { __VA_ARGS__ } },	\
		.sin6_scope_id	= scope,				\
	},								\
}

#define V6(...)			V6_SCOPE(0, __VA_ARGS__)
#define MAPPED(a, b, c, d)	V6([10] = 0xff, 0xff, a, b, c, d)

#define IP(...)			{ .s6_addr = { __VA_ARGS__ } }
#define IP_MAPPED(a, b, c, d)	IP([10] = 0xff, 0xff, a, b, c, d)

#define LEN4	((int)sizeof(struct sockaddr_in))
#define LEN6	((int)sizeof(struct sockaddr_in6))

struct parse_row {
	const char		*name;
	union any_sockaddr	sa;
	int			len;
	enum rds_addr_fault	fault;
	/* Result if there is no fault */
	struct in6_addr		ip;
	u32			ifindex;
};

static const struct parse_row parses[] = {
	{ "len_0",	V4(10, 0, 0, 1),	0,	RDS_ADDR_SHORT },
	{ "len_1",	V4(10, 0, 0, 1),	1,	RDS_ADDR_SHORT },
	{ "len_neg",	V4(10, 0, 0, 1),	-1,	RDS_ADDR_SHORT },
	{ "len_min",	V4(10, 0, 0, 1),	INT_MIN, RDS_ADDR_SHORT },
	{ "unspec",	{ AF_UNSPEC },		LEN6,	RDS_ADDR_FAMILY },
	{ "unix",	{ AF_UNIX },		LEN6,	RDS_ADDR_FAMILY },
	{ "rds",	{ AF_RDS },		2,	RDS_ADDR_FAMILY },

	{ "v4_family",	V4(10, 0, 0, 1),	2,	RDS_ADDR_SHORT },
	{ "v4_short",	V4(10, 0, 0, 1),	LEN4 - 1, RDS_ADDR_SHORT },
	{ "v4_any",	V4(0, 0, 0, 0),		LEN4,	RDS_ADDR_ANY },
	{ "v4_bcast",	V4(255U, 255, 255, 255), LEN4,	RDS_ADDR_NOT_UNICAST },
	{ "v4_mcast",	V4(224U, 0, 0, 1),	LEN4,	RDS_ADDR_NOT_UNICAST },
	{ "v4_mcast2",	V4(239U, 255, 255, 255), LEN4,	RDS_ADDR_NOT_UNICAST },
	{ "v4",		V4(10, 0, 0, 1),	LEN4,	RDS_ADDR_OK,
	  IP_MAPPED(10, 0, 0, 1) },
	{ "v4_long",	V4(192U, 0, 2, 7),	LEN6,	RDS_ADDR_OK,
	  IP_MAPPED(192, 0, 2, 7) },
	{ "v4_loop",	V4(127, 1, 2, 3),	LEN4,	RDS_ADDR_OK,
	  IP_MAPPED(127, 1, 2, 3) },

	{ "v6_short",	V6(0x20, 1, 0x0d, 0xb8), LEN6 - 1, RDS_ADDR_SHORT },
	{ "v6_rfc2133",	V6(0x20, 1, 0x0d, 0xb8), 24,	RDS_ADDR_SHORT },
	{ "v6_any",	V6(0),			LEN6,	RDS_ADDR_NOT_UNICAST },
	{ "v6_mcast",	V6(0xff, 2, [15] = 1),	LEN6,	RDS_ADDR_NOT_UNICAST },
	{ "v6_loop",	V6([15] = 1),		LEN6,	RDS_ADDR_OK,
	  IP([15] = 1) },
	{ "v6",		V6(0x20, 1, 0x0d, 0xb8, [15] = 9), LEN6, RDS_ADDR_OK,
	  IP(0x20, 1, 0x0d, 0xb8, [15] = 9) },
	{ "v6_scope_ignored",
	  V6_SCOPE(5, 0x20, 1, 0x0d, 0xb8, [15] = 9),	LEN6,	RDS_ADDR_OK,
	  IP(0x20, 1, 0x0d, 0xb8, [15] = 9) },
	{ "v6_ula",	V6(0xfd, [15] = 2),	LEN6,	RDS_ADDR_OK,
	  IP(0xfd, [15] = 2) },
	{ "v6_linklocal_no_scope",
	  V6(0xfe, 0x80, [15] = 1),		LEN6,	RDS_ADDR_NO_SCOPE },
	{ "v6_linklocal",
	  V6_SCOPE(7, 0xfe, 0x80, [15] = 1),	LEN6,	RDS_ADDR_OK,
	  IP(0xfe, 0x80, [15] = 1), 7 },

	{ "mapped",	MAPPED(10, 0, 0, 1),	LEN6,	RDS_ADDR_OK,
	  IP_MAPPED(10, 0, 0, 1) },
	{ "mapped_any",	MAPPED(0, 0, 0, 0),	LEN6,	RDS_ADDR_NOT_UNICAST },
	{ "mapped_bcast", MAPPED(255, 255, 255, 255), LEN6,
	  RDS_ADDR_NOT_UNICAST },
	{ "mapped_mcast", MAPPED(224, 0, 0, 1),	LEN6,	RDS_ADDR_NOT_UNICAST },
};

static void parse_desc(const struct parse_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(parses, parses, parse_desc);

/* Allocate exactly @len bytes, so that KASAN detects a read beyond them. */
static void *copy_of(struct kunit *test, const void *sa, int len)
{
	void *copy = kunit_kmalloc(test, max(len, 1), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	if (len > 0)
		memcpy(copy, sa, len);
	return copy;
}

static void parse(struct kunit *test)
{
	const struct parse_row *row = test->param_value;
	struct rds_addr addr;
	const void *sa;

	sa = copy_of(test, &row->sa, row->len);
	memset(&addr, POISON, sizeof(addr));
	KUNIT_EXPECT_EQ(test, rds_addr_parse(sa, row->len, &addr), row->fault);
	KUNIT_EXPECT_EQ(test, addr.pad, 0);
	KUNIT_EXPECT_EQ(test, addr.ifindex, row->ifindex);
	if (row->fault != RDS_ADDR_OK)
		return;

	KUNIT_EXPECT_EQ(test, ntohs(addr.port), 4000);
	KUNIT_EXPECT_TRUE(test, ipv6_addr_equal(&addr.ip, &row->ip));
}

/* A formatted address parses to the address that it was formatted from. No byte
 * beyond the returned length is written.
 */
static void round_trip(struct kunit *test)
{
	const struct parse_row *row = test->param_value;
	struct rds_addr addr, again;
	u8 sa[sizeof(struct sockaddr_in6)];
	bool v4;
	int len;

	if (rds_addr_parse(&row->sa, row->len, &addr) != RDS_ADDR_OK)
		return;

	v4 = ipv6_addr_v4mapped(&addr.ip);
	memset(sa, POISON, sizeof(sa));
	len = rds_addr_format(&addr, sa);
	KUNIT_ASSERT_EQ(test, len, v4 ? LEN4 : LEN6);
	KUNIT_EXPECT_EQ(test, *(sa_family_t *)sa, v4 ? AF_INET : AF_INET6);
	KUNIT_EXPECT_NULL(test, memchr_inv(sa + len, POISON,
					   sizeof(sa) - len));

	KUNIT_ASSERT_EQ(test, rds_addr_parse(sa, len, &again), RDS_ADDR_OK);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&addr, &again, sizeof(addr)));
}

static void format_initializes_all(struct kunit *test)
{
	const struct rds_addr v6 = {
		.ip	= IP(0xfe, 0x80, [15] = 1),
		.ifindex = 3,
		.port	= htons(80),
	};
	const struct rds_addr v4 = {
		.ip	= IP_MAPPED(10, 0, 0, 1),
		.port	= htons(80),
	};
	union any_sockaddr sa;

	memset(&sa, POISON, sizeof(sa));
	rds_addr_format(&v4, &sa);
	KUNIT_EXPECT_EQ(test, ntohl(sa.v4.sin_addr.s_addr), 0x0a000001U);
	KUNIT_EXPECT_EQ(test, ntohs(sa.v4.sin_port), 80);
	KUNIT_EXPECT_NULL(test, memchr_inv(sa.v4.sin_zero, 0,
					   sizeof(sa.v4.sin_zero)));

	memset(&sa, POISON, sizeof(sa));
	rds_addr_format(&v6, &sa);
	KUNIT_EXPECT_EQ(test, ntohs(sa.v6.sin6_port), 80);
	KUNIT_EXPECT_EQ(test, ntohl(sa.v6.sin6_flowinfo), 0U);
	KUNIT_EXPECT_EQ(test, sa.v6.sin6_scope_id, 3U);
}

static void format_unspecified(struct kunit *test)
{
	const struct rds_addr none = { .port = htons(80) };
	union any_sockaddr sa;

	memset(&sa, POISON, sizeof(sa));
	KUNIT_EXPECT_EQ(test, rds_addr_format(&none, &sa), LEN4);
	KUNIT_EXPECT_NULL(test, memchr_inv(&sa.v4, 0, sizeof(sa.v4)));
}

struct loopback_row {
	const char	*name;
	struct in6_addr	ip;
	bool		loopback;
};

static const struct loopback_row loopbacks[] = {
	{ "127.0.0.1",		IP_MAPPED(127, 0, 0, 1),	true },
	{ "127.255.255.255",	IP_MAPPED(127, 255, 255, 255),	true },
	{ "126.0.0.1",		IP_MAPPED(126, 0, 0, 1),	false },
	{ "128.0.0.1",		IP_MAPPED(128, 0, 0, 1),	false },
	{ "::1",		IP([15] = 1),			true },
	{ "::2",		IP([15] = 2),			false },
	{ "::",			IP(0),				false },
	{ "2001:db8::1",	IP(0x20, 1, 0x0d, 0xb8, [15] = 1), false },
};

static void loopback_desc(const struct loopback_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(loopbacks, loopbacks, loopback_desc);

static void is_loopback(struct kunit *test)
{
	const struct loopback_row *row = test->param_value;

	KUNIT_EXPECT_EQ(test, rds_addr_is_loopback(&row->ip), row->loopback);
}

static struct kunit_case addr_cases[] = {
	KUNIT_CASE_PARAM(parse, parses_gen_params),
	KUNIT_CASE_PARAM(round_trip, parses_gen_params),
	KUNIT_CASE(format_initializes_all),
	KUNIT_CASE(format_unspecified),
	KUNIT_CASE_PARAM(is_loopback, loopbacks_gen_params),
	{}
};

static struct kunit_suite addr_suite = {
	.name		= "rds_addr",
	.test_cases	= addr_cases,
};

kunit_test_suite(addr_suite);
