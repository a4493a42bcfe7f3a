// SPDX-License-Identifier: GPL-2.0
/* Options of TCP, IPv4 and IPv6 that programs set on streams */
#include "stream_pair.h"

#include <netinet/tcp.h>

#define SEED	7

TEST_F(stream, quickack)
{
	EXPECT_LE(0, rds_get(self->a, IPPROTO_TCP, TCP_QUICKACK));
	EXPECT_EQ(0, ERR(rds_set(self->a, IPPROTO_TCP, TCP_QUICKACK, 0)));
	EXPECT_EQ(0, ERR(rds_set(self->a, IPPROTO_TCP, TCP_QUICKACK, 1)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, maxseg)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_LT(0, rds_get(self->a, IPPROTO_TCP, TCP_MAXSEG));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_TCP, TCP_MAXSEG, 1000)));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, IPPROTO_TCP, TCP_MAXSEG, 10)));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, IPPROTO_TCP, TCP_MAXSEG, 100000)));
	EXPECT_EQ(1000, rds_get(fd, IPPROTO_TCP, TCP_MAXSEG));
	/* Back to the default */
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_TCP, TCP_MAXSEG, 0)));
	EXPECT_NE(1000, rds_get(fd, IPPROTO_TCP, TCP_MAXSEG));
	close(fd);
}

/* TCP waits for the first bytes. Streams do not, and deliver them as well. */
TEST_F(stream, defer_accept)
{
	int a, b;

	ASSERT_EQ(0, rds_set(self->listener, IPPROTO_TCP, TCP_DEFER_ACCEPT,
			     30));
	EXPECT_LE(30, rds_get(self->listener, IPPROTO_TCP, TCP_DEFER_ACCEPT));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	if (stream_over_inet())
		EXPECT_TRUE(stream_quiet(self->listener, POLLIN));
	ASSERT_TRUE(stream_send(a, SEED, 0, 10));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_recv(b, SEED, 0, 10));
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
}

/* The state is the first byte. */
static int state(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return -errno;
	return info.tcpi_state;
}

TEST_F(stream, tcp_info)
{
	int fd = stream_socket(variant->a);
	unsigned char byte;
	socklen_t len = 1;

	ASSERT_LE(0, fd);
	EXPECT_EQ(TCP_CLOSE, state(fd));
	EXPECT_EQ(TCP_LISTEN, state(self->listener));
	EXPECT_EQ(TCP_ESTABLISHED, state(self->a));
	EXPECT_EQ(TCP_ESTABLISHED, state(self->b));
	ASSERT_EQ(0, getsockopt(self->a, IPPROTO_TCP, TCP_INFO, &byte, &len));
	EXPECT_EQ(1, len);
	EXPECT_EQ(TCP_ESTABLISHED, byte);
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_ended(self->b));
	EXPECT_EQ(TCP_CLOSE_WAIT, state(self->b));
	close(fd);
}

TEST_F(stream, unknown_options)
{
	int value = 1;
	socklen_t len = sizeof(value);

	EXPECT_EQ(-ENOPROTOOPT, ERR(rds_set(self->a, IPPROTO_TCP, 250, 1)));
	EXPECT_EQ(-ENOPROTOOPT, rds_get(self->a, IPPROTO_TCP, 250));
	EXPECT_EQ(-ENOPROTOOPT, ERR(rds_set(self->a, SOL_SOCKET, 9999, 1)));
	EXPECT_EQ(-ENOPROTOOPT, rds_get(self->a, SOL_SOCKET, 9999));
	EXPECT_EQ(-EINVAL, ERR(setsockopt(self->a, IPPROTO_TCP, TCP_NODELAY,
					  &value, 3)));
	EXPECT_EQ(-EFAULT, ERR(setsockopt(self->a, IPPROTO_TCP, TCP_NODELAY,
					  (void *)8, len)));
	EXPECT_EQ(-EFAULT, ERR(getsockopt(self->a, IPPROTO_TCP, TCP_NODELAY,
					  (void *)8, &len)));
	len = -1;
	EXPECT_EQ(-EINVAL, ERR(getsockopt(self->a, IPPROTO_TCP, TCP_NODELAY,
					  &value, &len)));
	EXPECT_EQ(0, rds_get(self->a, IPPROTO_TCP, TCP_NODELAY));
}

static void expect_options_of_ipv6(struct __test_metadata *_metadata, int fd)
{
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_TCLASS, 0x28)));
	EXPECT_EQ(0x28, rds_get(fd, IPPROTO_IPV6, IPV6_TCLASS));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_TCLASS, -1)));
	EXPECT_EQ(0, rds_get(fd, IPPROTO_IPV6, IPV6_TCLASS));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_TCLASS, 256)));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9)));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, -1)));
	EXPECT_EQ(64, rds_get(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS));
	EXPECT_EQ(0, rds_get(fd, IPPROTO_IPV6, IPV6_V6ONLY));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)));
}

static void expect_options_of_ipv4(struct __test_metadata *_metadata, int fd)
{
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IP, IP_TOS, 0x28)));
	EXPECT_EQ(0x28, rds_get(fd, IPPROTO_IP, IP_TOS));
	/* TCP marks congestion itself, and the rest is cut to a byte. */
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IP, IP_TOS, 0x113)));
	EXPECT_EQ(0x10, rds_get(fd, IPPROTO_IP, IP_TOS));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IP, IP_TTL, 9)));
	EXPECT_EQ(9, rds_get(fd, IPPROTO_IP, IP_TTL));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, IPPROTO_IP, IP_TTL, 0)));
	EXPECT_EQ(0, ERR(rds_set(fd, IPPROTO_IP, IP_TTL, -1)));
	EXPECT_EQ(64, rds_get(fd, IPPROTO_IP, IP_TTL));
	EXPECT_EQ(-ENOPROTOOPT, ERR(rds_set(fd, IPPROTO_IPV6, IPV6_V6ONLY,
					    1)));
}

TEST_F(stream, options_of_ip)
{
	if (variant->ipv6)
		expect_options_of_ipv6(_metadata, self->a);
	else
		expect_options_of_ipv4(_metadata, self->a);
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Options of IPv4 may have the length of a byte. */
TEST_F(stream, options_of_a_byte)
{
	unsigned char byte[4] = { 0x28, 0xff, 0xff, 0xff };
	socklen_t len = 1;

	EXPECT_EQ(0, ERR(setsockopt(self->a, IPPROTO_IP, IP_TOS, byte, 1)));
	EXPECT_EQ(0x28, rds_get(self->a, IPPROTO_IP, IP_TOS));
	byte[0] = 0;
	EXPECT_EQ(0, ERR(getsockopt(self->a, IPPROTO_IP, IP_TOS, byte, &len)));
	EXPECT_EQ(1, len);
	EXPECT_EQ(0x28, byte[0]);
	len = 3;
	EXPECT_EQ(0, ERR(getsockopt(self->a, IPPROTO_IP, IP_TOS, byte, &len)));
	EXPECT_EQ(1, len);
	EXPECT_EQ(0xff, byte[1]);
	EXPECT_EQ(-EFAULT, ERR(setsockopt(self->a, IPPROTO_IP, IP_TOS,
					  (void *)8, 1)));
	EXPECT_EQ(-EFAULT, ERR(getsockopt(self->a, IPPROTO_IP, IP_TOS,
					  (void *)8, &len)));
	EXPECT_EQ(0x28, rds_get(self->a, IPPROTO_IP, IP_TOS));
	/* Those of TCP may not. */
	EXPECT_EQ(-EINVAL, ERR(setsockopt(self->a, IPPROTO_TCP, TCP_NODELAY,
					  byte, 1)));
}

TEST_HARNESS_MAIN
