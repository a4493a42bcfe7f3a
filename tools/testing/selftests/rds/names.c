// SPDX-License-Identifier: GPL-2.0
/* getsockname(2) and getpeername(2) */
#include "pair.h"
#include "solo.h"

static const struct sockaddr_storage zeros;

/*
 * Get a name. Returns false if the call failed, or wrote beyond the length that
 * it returned.
 */
static bool filled(struct rds_name *name, int fd, bool peer)
{
	unsigned char *bytes = (unsigned char *)&name->ss;
	size_t i;

	memset(&name->ss, 0xa5, sizeof(name->ss));
	name->len = sizeof(name->ss);
	if (peer ? getpeername(fd, &name->sa, &name->len) :
		   getsockname(fd, &name->sa, &name->len))
		return false;
	for (i = name->len; i < sizeof(name->ss); i++)
		if (bytes[i] != 0xa5)
			return false;
	return true;
}

TEST_F(solo, sockname_unbound)
{
	struct rds_name name;

	ASSERT_TRUE(filled(&name, self->fd, false));
	EXPECT_EQ(sizeof(struct sockaddr_in), name.len);
	EXPECT_EQ(AF_UNSPEC, name.sa.sa_family);
	EXPECT_EQ(0, memcmp(&name.ss, &zeros, name.len));
}

TEST_F(solo, sockname_unbound_connected_ipv4)
{
	struct rds_name expected = rds_name("0.0.0.0", 0);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->fd, rds_name("127.0.0.2", 5)));
	ASSERT_TRUE(filled(&name, self->fd, false));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, sockname_unbound_connected_ipv6)
{
	struct rds_name expected = rds_name("::", 0);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->fd, rds_name("::1", 5)));
	ASSERT_TRUE(filled(&name, self->fd, false));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(pair, sockname_bound)
{
	struct rds_name expected = rds_name(variant->a, 4000);
	struct rds_name name;
	int fd = rds_bound(variant->a, 4000);

	ASSERT_LE(0, fd);
	ASSERT_TRUE(filled(&name, fd, false));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
	close(fd);
}

TEST_F(pair, sockname_is_not_changed_by_connect)
{
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	ASSERT_TRUE(filled(&name, self->a, false));
	EXPECT_TRUE(rds_name_eq(&self->a_name, &name));
}

TEST_F(pair, sockname_truncated)
{
	char expected[128];
	struct rds_name name = { .len = 4 };

	memset(&name.ss, 0xa5, sizeof(name.ss));
	memset(expected, 0xa5, sizeof(expected));
	memcpy(expected, &self->a_name.ss, 4);
	ASSERT_EQ(0, getsockname(self->a, &name.sa, &name.len));
	EXPECT_EQ(self->a_name.len, name.len);
	EXPECT_EQ(0, memcmp(&name.ss, expected, sizeof(expected)));
}

TEST_F(solo, peername_unconnected)
{
	struct rds_name name = { .len = sizeof(name.ss) };

	EXPECT_EQ(-ENOTCONN, ERR(getpeername(self->fd, &name.sa, &name.len)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-ENOTCONN, ERR(getpeername(self->fd, &name.sa, &name.len)));
}

TEST_F(pair, peername_connected)
{
	struct rds_name expected = rds_name(variant->stranger, 4000);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->a, expected));
	ASSERT_TRUE(filled(&name, self->a, true));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, peername_connected_but_unbound)
{
	struct rds_name expected = rds_name("127.0.0.2", 5);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->fd, expected));
	ASSERT_TRUE(filled(&name, self->fd, true));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_F(solo, peername_keeps_its_scope)
{
	struct rds_name expected = rds_name("fe80::2%1", 5);
	struct rds_name name;

	ASSERT_EQ(0, rds_connect(self->fd, expected));
	ASSERT_TRUE(filled(&name, self->fd, true));
	EXPECT_TRUE(rds_name_eq(&expected, &name));
}

TEST_HARNESS_MAIN
