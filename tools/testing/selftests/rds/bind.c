// SPDX-License-Identifier: GPL-2.0
/* bind(2) */
#include "solo.h"

static long try_bind(const char *addr, unsigned int port)
{
	int fd = rds_socket();
	long ret = ERR(rds_bind(fd, rds_name(addr, port)));

	close(fd);
	return ret;
}

static int transport_of(const char *addr)
{
	int fd = rds_bound(addr, 0);
	int transport;

	if (fd < 0)
		return -errno;
	transport = rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT);
	close(fd);
	return transport;
}

TEST_F(solo, ipv4_address_too_short)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);
	socklen_t len;

	for (len = 0; len < sizeof(name.in); len++)
		EXPECT_EQ(-EINVAL, ERR(bind(self->fd, &name.sa, len)));
}

TEST_F(solo, ipv6_address_too_short)
{
	struct rds_name name = rds_name("::1", 4000);
	socklen_t len;

	for (len = 0; len < sizeof(name.in6); len++)
		EXPECT_EQ(-EINVAL, ERR(bind(self->fd, &name.sa, len)));
}

TEST_F(solo, address_longer_than_needed)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);

	EXPECT_EQ(0, ERR(bind(self->fd, &name.sa, sizeof(name.ss))));
}

TEST_F(solo, other_family)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);

	name.sa.sa_family = AF_UNIX;
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->fd, name)));
	name.sa.sa_family = AF_UNSPEC;
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->fd, name)));
	name.sa.sa_family = AF_RDS;
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->fd, name)));
}

TEST_F(solo, bad_pointer)
{
	EXPECT_EQ(-EFAULT,
		  ERR(bind(self->fd, (void *)8, sizeof(struct sockaddr_in))));
}

TEST_F(solo, ipv4_not_unicast)
{
	EXPECT_EQ(-EINVAL, try_bind("0.0.0.0", 4000));
	EXPECT_EQ(-EINVAL, try_bind("0.0.0.0", 0));
	EXPECT_EQ(-EINVAL, try_bind("255.255.255.255", 4000));
	EXPECT_EQ(-EINVAL, try_bind("224.0.0.1", 4000));
	EXPECT_EQ(-EINVAL, try_bind("239.255.255.255", 4000));
}

TEST_F(solo, ipv6_not_unicast)
{
	EXPECT_EQ(-EINVAL, try_bind("::", 4000));
	EXPECT_EQ(-EINVAL, try_bind("ff02::1", 4000));
	EXPECT_EQ(-EINVAL, try_bind("ff02::1%1", 4000));
}

TEST_F(solo, mapped_not_unicast)
{
	EXPECT_EQ(-EINVAL, try_bind("::ffff:0.0.0.0", 4000));
	EXPECT_EQ(-EINVAL, try_bind("::ffff:255.255.255.255", 4000));
	EXPECT_EQ(-EINVAL, try_bind("::ffff:224.0.0.1", 4000));
}

TEST_F(solo, port_1_is_reserved)
{
	EXPECT_EQ(-EINVAL, try_bind("127.0.0.1", 1));
	EXPECT_EQ(-EINVAL, try_bind("::1", 1));
	EXPECT_EQ(-EINVAL, try_bind("::ffff:127.0.0.1", 1));
}

TEST_F(solo, every_other_end_of_the_port_range)
{
	EXPECT_EQ(0, try_bind("127.0.0.1", 2));
	EXPECT_EQ(0, try_bind("127.0.0.1", 65535));
}

TEST_F(solo, only_once)
{
	struct rds_name name;

	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 4000)));
	EXPECT_EQ(-EINVAL,
		  ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4001))));
	EXPECT_EQ(-EINVAL,
		  ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4000))));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->fd, rds_name("::1", 4000))));
	name = rds_sockname(self->fd);
	EXPECT_EQ(4000, rds_port(&name));
}

TEST_F(solo, again_after_a_failure)
{
	ASSERT_EQ(-EINVAL,
		  ERR(rds_bind(self->fd, rds_name("0.0.0.0", 4000))));
	ASSERT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(self->fd, rds_name("198.51.100.1", 4000))));
	EXPECT_EQ(-1, rds_get(self->fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(0, ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4000))));
}

TEST_F(solo, address_of_no_transport)
{
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("198.51.100.1", 4000));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("198.51.100.1", 0));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("2001:db8::1", 4000));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("::ffff:198.51.100.1", 4000));
}

TEST_F(solo, address_in_use)
{
	int fd = rds_bound("127.0.0.1", 4000);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRINUSE, try_bind("127.0.0.1", 4000));
	EXPECT_EQ(-EADDRINUSE, try_bind("::ffff:127.0.0.1", 4000));
	close(fd);
	fd = rds_bound("::1", 4000);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRINUSE, try_bind("::1", 4000));
	close(fd);
}

TEST_F(solo, port_space_is_per_address)
{
	int a = rds_bound("127.0.0.1", 4000);
	int b = rds_bound("127.0.0.2", 4000);
	int c = rds_bound("::1", 4000);

	EXPECT_LE(0, a);
	EXPECT_LE(0, b);
	EXPECT_LE(0, c);
	close(a);
	close(b);
	close(c);
}

TEST_F(solo, reuseaddr_has_no_effect)
{
	int fd = rds_socket();

	ASSERT_EQ(0, rds_set(fd, SOL_SOCKET, SO_REUSEADDR, 1));
	ASSERT_EQ(0, rds_set(self->fd, SOL_SOCKET, SO_REUSEADDR, 1));
	ASSERT_EQ(0, rds_bind(fd, rds_name("127.0.0.1", 4000)));
	EXPECT_EQ(-EADDRINUSE,
		  ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4000))));
	close(fd);
}

TEST_F(solo, after_address_in_use_another_port)
{
	int fd = rds_bound("127.0.0.1", 4000);

	ASSERT_LE(0, fd);
	ASSERT_EQ(-EADDRINUSE,
		  ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4000))));
	EXPECT_EQ(-1, rds_get(self->fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(0, ERR(rds_bind(self->fd, rds_name("127.0.0.1", 4001))));
	close(fd);
}

TEST_F(solo, port_is_free_once_closed)
{
	int i, fd;

	for (i = 0; i < 20; i++) {
		fd = rds_bound("127.0.0.1", 4000);
		ASSERT_LE(0, fd);
		close(fd);
	}
}

TEST_F(solo, ports_of_other_protocols_do_not_matter)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);
	int udp = socket(AF_INET, SOCK_DGRAM, 0);
	int tcp = socket(AF_INET, SOCK_STREAM, 0);

	ASSERT_EQ(0, rds_bind(udp, name));
	ASSERT_EQ(0, rds_bind(tcp, name));
	EXPECT_EQ(0, ERR(rds_bind(self->fd, name)));
	close(udp);
	close(tcp);
}

TEST_F(solo, mapped_binds_as_ipv4)
{
	struct rds_name expected = rds_name("127.0.0.1", 4000);
	struct rds_name name;

	ASSERT_EQ(0, rds_bind(self->fd, rds_name("::ffff:127.0.0.1", 4000)));
	name = rds_sockname(self->fd);
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, loopback_addresses_use_the_loopback_transport)
{
	EXPECT_EQ(RDS_TRANS_LOOP, transport_of("127.0.0.1"));
	EXPECT_EQ(RDS_TRANS_LOOP, transport_of("127.255.255.254"));
	EXPECT_EQ(RDS_TRANS_LOOP, transport_of("::1"));
	EXPECT_EQ(RDS_TRANS_LOOP, transport_of("::ffff:127.1.2.3"));
}

/*
 * TCP serves the addresses of this host. Its module is loaded when a socket is
 * bound to one of them.
 */
TEST_F(solo, own_ipv4_address_uses_tcp)
{
	ASSERT_EQ(-EADDRNOTAVAIL, try_bind("10.9.9.1", 0));
	ASSERT_EQ(0, ERR(rds_address("10.9.9.1", true)));
	EXPECT_EQ(RDS_TRANS_TCP, transport_of("10.9.9.1"));
	ASSERT_EQ(0, ERR(rds_address("10.9.9.1", false)));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("10.9.9.1", 0));
}

TEST_F(solo, own_ipv6_address_uses_tcp)
{
	ASSERT_EQ(-EADDRNOTAVAIL, try_bind("fd00::9", 0));
	ASSERT_EQ(0, ERR(rds_address("fd00::9", true)));
	EXPECT_EQ(RDS_TRANS_TCP, transport_of("fd00::9"));
	ASSERT_EQ(0, ERR(rds_address("fd00::9", false)));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("fd00::9", 0));
}

#define AUTO_PORTS 100

TEST_F(solo, port_0_takes_a_free_port)
{
	static bool seen[65536];
	struct rds_name name;
	int i, fd[AUTO_PORTS];
	unsigned int port;

	for (i = 0; i < AUTO_PORTS; i++) {
		fd[i] = rds_bound("127.0.0.1", 0);
		ASSERT_LE(0, fd[i]);
		name = rds_sockname(fd[i]);
		port = rds_port(&name);
		EXPECT_LE(2, port);
		EXPECT_FALSE(seen[port]);
		seen[port] = true;
	}
	for (i = 0; i < AUTO_PORTS; i++)
		close(fd[i]);
}

TEST_F(solo, port_0_starts_anywhere)
{
	unsigned int port, last = 0;
	struct rds_name name;
	int i, fd, neighbours = 0;

	for (i = 0; i < 16; i++) {
		fd = rds_bound("127.0.0.1", 0);
		ASSERT_LE(0, fd);
		name = rds_sockname(fd);
		port = rds_port(&name);
		neighbours += port == last || port == last + 1;
		last = port;
		close(fd);
	}
	EXPECT_GT(4, neighbours);
}

TEST_F(solo, link_local_needs_a_scope)
{
	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	EXPECT_EQ(-EINVAL, try_bind("fe80::1", 4000));
	EXPECT_EQ(0, try_bind("fe80::1%1", 4000));
}

TEST_F(solo, link_local_of_another_interface)
{
	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("fe80::1%77", 4000));
	EXPECT_EQ(-EADDRNOTAVAIL, try_bind("fe80::2%1", 4000));
}

TEST_F(solo, link_local_keeps_its_scope)
{
	struct rds_name expected = rds_name("fe80::1%1", 4000);
	struct rds_name name;

	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	ASSERT_EQ(0, rds_bind(self->fd, expected));
	name = rds_sockname(self->fd);
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, scope_of_the_connected_peer)
{
	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	ASSERT_EQ(0, ERR(rds_connect(self->fd, rds_name("fe80::2%2", 5))));
	EXPECT_EQ(-EINVAL,
		  ERR(rds_bind(self->fd, rds_name("fe80::1%1", 4000))));
	ASSERT_EQ(0, ERR(rds_connect(self->fd, rds_name("fe80::2%1", 5))));
	EXPECT_EQ(0, ERR(rds_bind(self->fd, rds_name("fe80::1%1", 4000))));
}

TEST_HARNESS_MAIN
