// SPDX-License-Identifier: GPL-2.0
/* socket(2) for RDS, and the calls that an RDS socket does not support */
#include "solo.h"

#include <sys/mman.h>

#define NOBODY 65534

static long try_socket(int type, int protocol)
{
	int fd = ERR(socket(AF_RDS, type, protocol));

	if (fd >= 0)
		close(fd);
	return fd;
}

/* The module rds_stream, which is only loaded by hand, adds streams. */
TEST(seqpacket_only)
{
	bool streams = rds_module_loaded("rds_stream");

	EXPECT_LE(0, try_socket(SOCK_SEQPACKET, 0));
	EXPECT_EQ(!streams, try_socket(SOCK_STREAM, 0) == -ESOCKTNOSUPPORT);
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_DGRAM, 0));
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_RAW, 0));
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_RDM, 0));
}

TEST(protocol_zero_only)
{
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_SEQPACKET, 1));
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_SEQPACKET, IPPROTO_TCP));
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(SOCK_SEQPACKET, 255));
}

TEST(type_flags)
{
	int type = SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC;
	char byte;
	int fd;

	fd = socket(AF_RDS, type, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EAGAIN, ERR(recv(fd, &byte, 1, 0)));
	close(fd);
}

TEST(no_capability_needed)
{
	int fd;

	ASSERT_EQ(0, setresgid(NOBODY, NOBODY, NOBODY));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	fd = rds_bound("127.0.0.1", 4000);
	EXPECT_LE(0, fd);
	close(fd);
	/* No port is privileged either. */
	fd = rds_bound("127.0.0.1", 2);
	EXPECT_LE(0, fd);
	close(fd);
}

TEST_F(solo, identity)
{
	EXPECT_EQ(AF_RDS, rds_get(self->fd, SOL_SOCKET, SO_DOMAIN));
	EXPECT_EQ(SOCK_SEQPACKET, rds_get(self->fd, SOL_SOCKET, SO_TYPE));
	EXPECT_EQ(0, rds_get(self->fd, SOL_SOCKET, SO_PROTOCOL));
	EXPECT_EQ(0, rds_get(self->fd, SOL_SOCKET, SO_ACCEPTCONN));
}

TEST_F(solo, proc_net_protocols)
{
	FILE *file = fopen("/proc/net/protocols", "r");
	char line[256];
	int found = 0;

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file))
		found += !strncmp(line, "RDS ", 4);
	fclose(file);
	EXPECT_EQ(1, found);
}

TEST(socketpair_unsupported)
{
	int pair[2];

	EXPECT_EQ(-EOPNOTSUPP,
		  ERR(socketpair(AF_RDS, SOCK_SEQPACKET, 0, pair)));
}

TEST_F(solo, listen_unsupported)
{
	EXPECT_EQ(-EOPNOTSUPP, ERR(listen(self->fd, 1)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(listen(self->fd, 1)));
}

TEST_F(solo, accept_unsupported)
{
	EXPECT_EQ(-EOPNOTSUPP, ERR(accept(self->fd, NULL, NULL)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(accept(self->fd, NULL, NULL)));
}

TEST_F(solo, shutdown_unsupported)
{
	EXPECT_EQ(-EOPNOTSUPP, ERR(shutdown(self->fd, SHUT_RD)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(shutdown(self->fd, SHUT_WR)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(shutdown(self->fd, SHUT_RDWR)));
}

TEST_F(solo, mmap_unsupported)
{
	errno = 0;
	EXPECT_EQ(MAP_FAILED,
		  mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(ENODEV, errno);
}

/* The defaults of every socket: net.core.{w,r}mem_default */
TEST_F(solo, default_buffers)
{
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	ASSERT_LE(0, udp);
	EXPECT_EQ(rds_get(udp, SOL_SOCKET, SO_SNDBUF),
		  rds_get(self->fd, SOL_SOCKET, SO_SNDBUF));
	EXPECT_EQ(rds_get(udp, SOL_SOCKET, SO_RCVBUF),
		  rds_get(self->fd, SOL_SOCKET, SO_RCVBUF));
	close(udp);
}

TEST_F(solo, set_buffers_read_back_doubled)
{
	ASSERT_EQ(0, rds_set(self->fd, SOL_SOCKET, SO_SNDBUF, 8192));
	ASSERT_EQ(0, rds_set(self->fd, SOL_SOCKET, SO_RCVBUF, 16384));
	EXPECT_EQ(2 * 8192, rds_get(self->fd, SOL_SOCKET, SO_SNDBUF));
	EXPECT_EQ(2 * 16384, rds_get(self->fd, SOL_SOCKET, SO_RCVBUF));
}

TEST_F(solo, many_open_and_close)
{
	int i, fd;

	for (i = 0; i < 200; i++) {
		fd = rds_socket();
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, close(fd));
	}
}

TEST_HARNESS_MAIN
