// SPDX-License-Identifier: GPL-2.0
/* For a kernel that was booted with ipv6.disable=1 */
#include "loop.h"

#include <fcntl.h>

FIXTURE(no_ipv6) {
	int fd;
};

FIXTURE_SETUP(no_ipv6)
{
	char on = 0;
	int fd = open("/sys/module/ipv6/parameters/disable", O_RDONLY);

	ASSERT_LE(0, fd);
	ASSERT_EQ(1, read(fd, &on, 1));
	close(fd);
	ASSERT_EQ('1', on) TH_LOG("IPv6 is not disabled");
	self->fd = rds_socket();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(no_ipv6)
{
	close(self->fd);
}

TEST_F(no_ipv6, cve_2026_68322_bind)
{
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(self->fd, rds_name("2001:db8::1", 4000))));
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(self->fd, rds_name("fe80::1%1", 4000))));
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(self->fd, rds_name("fe80::1%99", 4000))));
}

/* The kernel may or may not have this address; it must not crash. */
TEST_F(no_ipv6, cve_2026_68322_loopback)
{
	struct rds_name name = rds_name("::1", 4000);
	long ret = ERR(rds_bind(self->fd, name));

	EXPECT_TRUE(!ret || ret == -EADDRNOTAVAIL);
	if (!ret)
		EXPECT_TRUE(loop_works(self->fd, self->fd, &name, 64));
}

TEST_F(no_ipv6, cve_2026_68322_send_from_ipv4)
{
	struct rds_name name = rds_name("2001:db8::1", 4000);

	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 4000)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_sendto(self->fd, "x", 1, 0, &name)));
	EXPECT_EQ(0, rds_connect(self->fd, name));
	EXPECT_EQ(-EOPNOTSUPP, ERR(send(self->fd, "x", 1, 0)));
}

TEST_F(no_ipv6, cve_2026_68322_ipv4_works)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);

	ASSERT_EQ(0, rds_bind(self->fd, name));
	EXPECT_TRUE(loop_works(self->fd, self->fd, &name, 64));
}

TEST_HARNESS_MAIN
