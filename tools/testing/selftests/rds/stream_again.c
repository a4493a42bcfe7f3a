// SPDX-License-Identifier: GPL-2.0
/* Sockets of streams after connect() has failed, after connect() to no family,
 * and when ports become few
 */
#include "stream_pair.h"
#include "stream_wire.h"

#define PORT	18653

/* Ports that clients may use, and as many servers */
#define PORTS	2

#define ENDED	(STREAM_READABLE | POLLRDHUP | STREAM_WRITABLE | POLLHUP)

/* Returns a socket whose connect() without blocking has failed later. It may
 * also fail at once, if the answer is quick.
 */
static int refused(const char *local, const char *remote)
{
	int i, fd;

	for (i = 0; i < 100; i++) {
		fd = stream_socket(local);
		if (fd < 0 || stream_nonblocking(fd, true))
			return -1;
		if (ERR(rds_connect(fd, rds_name(remote, PORT))) ==
		    -EINPROGRESS)
			return stream_await(fd, POLLERR) & POLLERR ? fd : -1;
		close(fd);
	}
	return -1;
}

/* connect() that fails at once leaves the socket as it was. */
TEST_F(stream, connect_that_has_failed)
{
	int fd = stream_socket(variant->a);
	char byte;

	ASSERT_LE(0, fd);
	ASSERT_EQ(-ECONNREFUSED,
		  ERR(rds_connect(fd, rds_name(variant->b, PORT))));
	EXPECT_EQ(STREAM_WRITABLE | POLLHUP, rds_poll(fd));
	EXPECT_EQ(-ENOTCONN, ERR(recv(fd, &byte, 1, 0)));
	EXPECT_EQ(-EPIPE, ERR(send(fd, "x", 1, MSG_NOSIGNAL)));
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	close(fd);
}

/* One that fails later leaves a stream that has ended, until the next
 * connect().
 */
TEST_F(wire, connecting_that_has_failed)
{
	int fd = refused(variant->a, variant->b);
	char byte;

	ASSERT_LE(0, fd);
	EXPECT_EQ(ENDED | POLLERR, rds_poll(fd));
	EXPECT_EQ(ECONNREFUSED, rds_get(fd, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(ENDED, rds_poll(fd));
	EXPECT_EQ(0, ERR(recv(fd, &byte, 1, 0)));
	EXPECT_EQ(0, ERR(recv(fd, &byte, 1, MSG_PEEK)));
	EXPECT_EQ(-EPIPE, ERR(send(fd, "x", 1, MSG_NOSIGNAL)));
	/* This reports the attempt. */
	EXPECT_EQ(-ECONNABORTED, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(STREAM_WRITABLE | POLLHUP, rds_poll(fd));
	EXPECT_EQ(-ENOTCONN, ERR(recv(fd, &byte, 1, 0)));
	ASSERT_EQ(0, stream_nonblocking(fd, false));
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(STREAM_WRITABLE, rds_poll(fd));
	close(fd);
}

/* The error is for one of those who ask. */
TEST_F(wire, error_of_connecting)
{
	int fd = refused(variant->a, variant->b);
	char byte;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECONNREFUSED, ERR(recv(fd, &byte, 1, 0)));
	EXPECT_EQ(0, ERR(recv(fd, &byte, 1, 0)));
	close(fd);
	fd = refused(variant->a, variant->b);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECONNREFUSED, ERR(send(fd, "x", 1, MSG_NOSIGNAL)));
	EXPECT_EQ(-EPIPE, ERR(send(fd, "x", 1, MSG_NOSIGNAL)));
	close(fd);
	fd = refused(variant->a, variant->b);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	close(fd);
}

static int to_no_family(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return connect(fd, &none, sizeof(none));
}

/* As with TCP, connect() to no family leaves an error. */
TEST_F(stream, no_family_ends_a_stream)
{
	ASSERT_EQ(0, ERR(to_no_family(self->a)));
	EXPECT_EQ(ECONNRESET, rds_get(self->a, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(STREAM_WRITABLE | POLLHUP, rds_poll(self->a));
	ASSERT_EQ(0, ERR(to_no_family(self->a)));
	EXPECT_EQ(0, rds_get(self->a, SOL_SOCKET, SO_ERROR));
}

TEST_F(wire, no_family_ends_connecting)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	ASSERT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(0, ERR(to_no_family(fd)));
	EXPECT_EQ(ECONNRESET, rds_get(fd, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	/* The next attempt forgets the error of the one before. */
	EXPECT_EQ(0, ERR(to_no_family(fd)));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	close(fd);
	EXPECT_EQ(0, wire_mend(variant));
}

static int far_listener(const char *addr)
{
	int fd;

	if (veth_cross())
		return -1;
	fd = stream_listener(addr, 0);
	return veth_back() ? -1 : fd;
}

static int set_range(const char *path, int first, int last, char between)
{
	FILE *file = fopen(path, "w");
	int ret;

	if (!file)
		return -1;
	ret = fprintf(file, "%d%c%d", first, between, last);
	return fclose(file) || ret < 0 ? -1 : 0;
}

/* The paths need ports, too: let each have its own first. */
static bool paths_have_ports(void)
{
	int near = rds_socket(), far = veth_far_socket();
	bool up = veth_paths_up(near, far);

	close(near);
	close(far);
	return up;
}

static int set_ports(int first, int last)
{
	if (!stream_over_inet() && !paths_have_ports())
		return -1;
	return set_range("/proc/sys/net/ipv4/ip_local_port_range", first, last,
			 ' ');
}

static int reserve_ports(int first, int last)
{
	return set_range("/proc/sys/net/ipv4/ip_local_reserved_ports", first,
			 last, '-');
}

/* Reserved ports are for those who ask for them by number. */
TEST_F(wire, no_reserved_port)
{
	struct rds_name name;
	int fd, i;

	ASSERT_EQ(0, set_ports(PORT + 1, PORT + 10));
	ASSERT_EQ(0, reserve_ports(PORT + 2, PORT + 10));
	for (i = 0; i < 3; i++) {
		fd = stream_bound(variant->a, 0);
		ASSERT_LE(0, fd);
		name = rds_sockname(fd);
		EXPECT_EQ(PORT + 1, rds_port(&name));
		close(fd);
	}
	fd = stream_bound(variant->a, PORT + 2);
	EXPECT_LE(0, fd);
	close(fd);
}

/* If no port is free, clients share those that other clients have been given:
 * the names of the servers tell the streams apart.
 */
TEST_F(wire, clients_of_several_servers_share_ports)
{
	int server[PORTS + 1], a[PORTS + 1][PORTS], b[PORTS + 1][PORTS], i, j;
	int over = stream_socket(variant->a);
	struct rds_name name;

	ASSERT_EQ(0, set_ports(PORT + 1, PORT + PORTS));
	for (i = 0; i <= PORTS; i++) {
		server[i] = far_listener(variant->b);
		ASSERT_LE(0, server[i]);
		name = rds_sockname(server[i]);
		for (j = 0; j < PORTS; j++) {
			a[i][j] = stream_socket(variant->a);
			ASSERT_EQ(0, ERR(rds_connect(a[i][j], name)));
			b[i][j] = stream_accept(server[i]);
			ASSERT_LE(0, b[i][j]);
		}
		/* This server has had a stream from each of the ports. */
		EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_connect(over, name)));
	}
	/* None of them is free for a bind(). */
	for (j = 1; j <= PORTS; j++)
		EXPECT_EQ(-EADDRINUSE,
			  ERR(rds_bind(over, rds_name(variant->a, PORT + j))));
	for (i = 0; i <= PORTS; i++) {
		for (j = 0; j < PORTS; j++) {
			EXPECT_TRUE(stream_works(a[i][j], b[i][j]));
			close(a[i][j]);
			close(b[i][j]);
		}
		close(server[i]);
	}
	close(over);
}

/* A port that was selected for an attempt that has failed is not kept. */
TEST_F(wire, port_of_an_attempt_that_has_failed)
{
	int fd, a, b, server = far_listener(variant->b);
	struct rds_name name = rds_sockname(server);

	ASSERT_LE(0, server);
	ASSERT_EQ(0, set_ports(PORT + 1, PORT + 1));
	fd = refused(variant->a, variant->b);
	ASSERT_LE(0, fd);
	a = stream_socket(variant->a);
	ASSERT_EQ(0, ERR(rds_connect(a, name)));
	b = stream_accept(server);
	EXPECT_TRUE(stream_works(a, b));
	ASSERT_EQ(0, set_ports(PORT + 1, PORT + 2));
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, name)));
	ASSERT_EQ(0, stream_nonblocking(fd, false));
	EXPECT_EQ(0, ERR(rds_connect(fd, name)));
	close(fd);
	close(a);
	close(b);
	close(server);
}

/* What bind() has selected afterwards stays. */
TEST_F(stream, bound_after_an_attempt_that_has_failed)
{
	int b, fd = stream_socket(variant->a);
	struct rds_name bound, name;

	ASSERT_LE(0, fd);
	ASSERT_EQ(-ECONNREFUSED,
		  ERR(rds_connect(fd, rds_name(variant->b, PORT))));
	ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(variant->a, 0))));
	bound = rds_sockname(fd);
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	name = rds_sockname(fd);
	EXPECT_TRUE(rds_name_eq(&name, &bound));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	/* Likewise after a stream that was ended. */
	ASSERT_EQ(0, ERR(to_no_family(fd)));
	ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(variant->a, 0))));
	bound = rds_sockname(fd);
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	name = rds_sockname(fd);
	EXPECT_TRUE(rds_name_eq(&name, &bound));
	close(fd);
	close(b);
}

/* A port that a user has selected is not shared. */
TEST_F(wire, clients_do_not_share_a_bound_port)
{
	int fd = stream_socket(variant->a), bound;
	struct rds_name name = self->name;

	ASSERT_EQ(0, set_ports(PORT + 1, PORT + 1));
	bound = stream_bound(variant->a, PORT + 1);
	ASSERT_LE(0, bound);
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_connect(fd, name)));
	close(bound);
	EXPECT_EQ(0, ERR(rds_connect(fd, name)));
	close(fd);
}

TEST_HARNESS_MAIN
