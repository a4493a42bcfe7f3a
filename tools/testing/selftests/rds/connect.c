// SPDX-License-Identifier: GPL-2.0
/* connect(2), which only records the peer */
#include "pair.h"
#include "solo.h"

static long try_connect(const char *addr, unsigned int port)
{
	int fd = rds_socket();
	long ret = ERR(rds_connect(fd, rds_name(addr, port)));

	close(fd);
	return ret;
}

TEST_F(pair, any_peer_is_recorded)
{
	struct rds_name peer = rds_name(variant->stranger, 4000);
	struct rds_name name;

	EXPECT_EQ(0, ERR(rds_connect(self->a, peer)));
	name = rds_peername(self->a);
	EXPECT_TRUE(rds_name_eq(&peer, &name));
}

TEST_F(pair, again_to_another_peer)
{
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->a, rds_name(variant->stranger, 5)));
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	name = rds_peername(self->a);
	EXPECT_TRUE(rds_name_eq(&self->b_name, &name));
	EXPECT_EQ(3, send(self->a, "abc", 3, 0));
}

TEST_F(pair, send_without_a_name_goes_to_the_peer)
{
	struct rds_msg msg;
	char buf[8];

	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	EXPECT_EQ(3, send(self->a, "abc", 3, 0));
	EXPECT_EQ(2, write(self->a, "de", 2));
	EXPECT_EQ(3, rds_msg_recv(self->b, &msg, buf, sizeof(buf), 0));
	EXPECT_EQ(0, memcmp(buf, "abc", 3));
	EXPECT_TRUE(!memcmp(&msg.name.ss, &self->a_name.ss,
			    self->a_name.len));
	EXPECT_EQ(2, rds_recv(self->b, buf, sizeof(buf)));
}

TEST_F(pair, a_name_overrides_the_peer)
{
	char buf[8];

	ASSERT_EQ(0, rds_connect(self->a, self->a_name));
	EXPECT_EQ(3, rds_sendto(self->a, "abc", 3, 0, &self->b_name));
	EXPECT_EQ(3, rds_recv(self->b, buf, sizeof(buf)));
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_F(pair, a_connected_socket_hears_everybody)
{
	char buf[8];

	ASSERT_EQ(0, rds_connect(self->b, rds_name(variant->stranger, 5)));
	EXPECT_EQ(3, rds_sendto(self->a, "abc", 3, 0, &self->b_name));
	EXPECT_EQ(3, rds_recv(self->b, buf, sizeof(buf)));
}

TEST_F(pair, unspec_does_not_disconnect)
{
	struct rds_name none = { .len = sizeof(struct sockaddr_in) };
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	EXPECT_EQ(-EAFNOSUPPORT, ERR(rds_connect(self->a, none)));
	name = rds_peername(self->a);
	EXPECT_TRUE(rds_name_eq(&self->b_name, &name));
}

TEST_F(solo, other_family)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);

	name.sa.sa_family = AF_UNIX;
	EXPECT_EQ(-EAFNOSUPPORT, ERR(rds_connect(self->fd, name)));
}

TEST_F(solo, address_too_short)
{
	struct rds_name v4 = rds_name("127.0.0.1", 4000);
	struct rds_name v6 = rds_name("::1", 4000);

	EXPECT_EQ(-EINVAL, ERR(connect(self->fd, &v4.sa, v4.len - 1)));
	EXPECT_EQ(-EINVAL, ERR(connect(self->fd, &v6.sa, v6.len - 1)));
	EXPECT_EQ(-EINVAL, ERR(connect(self->fd, &v6.sa, v4.len)));
	EXPECT_EQ(-EINVAL, ERR(connect(self->fd, &v4.sa, 1)));
	EXPECT_EQ(-EINVAL, ERR(connect(self->fd, &v4.sa, 0)));
}

TEST_F(solo, ipv4_not_unicast)
{
	EXPECT_EQ(-EDESTADDRREQ, try_connect("0.0.0.0", 4000));
	EXPECT_EQ(-EINVAL, try_connect("255.255.255.255", 4000));
	EXPECT_EQ(-EINVAL, try_connect("224.0.0.1", 4000));
}

TEST_F(solo, ipv6_not_unicast)
{
	EXPECT_EQ(-EPROTOTYPE, try_connect("::", 4000));
	EXPECT_EQ(-EPROTOTYPE, try_connect("ff02::1", 4000));
	EXPECT_EQ(-EPROTOTYPE, try_connect("ff02::1%1", 4000));
}

TEST_F(solo, mapped_not_unicast)
{
	EXPECT_EQ(-EPROTOTYPE, try_connect("::ffff:0.0.0.0", 4000));
	EXPECT_EQ(-EPROTOTYPE, try_connect("::ffff:255.255.255.255", 4000));
	EXPECT_EQ(-EPROTOTYPE, try_connect("::ffff:224.0.0.1", 4000));
}

TEST_F(solo, mapped_connects_as_ipv4)
{
	struct rds_name expected = rds_name("127.0.0.1", 4000);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->fd,
				 rds_name("::ffff:127.0.0.1", 4000)));
	name = rds_peername(self->fd);
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, link_local_needs_a_scope)
{
	EXPECT_EQ(-EINVAL, try_connect("fe80::2", 4000));
	EXPECT_EQ(0, try_connect("fe80::2%1", 4000));
}

TEST_F(solo, link_local_of_the_bound_scope)
{
	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("fe80::1%1", 4000)));
	EXPECT_EQ(-EINVAL, ERR(rds_connect(self->fd,
					   rds_name("fe80::2%2", 5))));
	EXPECT_EQ(0, ERR(rds_connect(self->fd, rds_name("fe80::2%1", 5))));
}

TEST_F(pair, a_failure_keeps_the_old_peer)
{
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	ASSERT_EQ(-EDESTADDRREQ,
		  ERR(rds_connect(self->a, rds_name("0.0.0.0", 5))));
	ASSERT_EQ(-EPROTOTYPE, ERR(rds_connect(self->a, rds_name("::", 5))));
	name = rds_peername(self->a);
	EXPECT_TRUE(rds_name_eq(&self->b_name, &name));
}

TEST_HARNESS_MAIN
