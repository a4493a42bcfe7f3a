// SPDX-License-Identifier: GPL-2.0
/* The names of streams: bind(2), getsockname(2), getpeername(2) */
#include "stream_pair.h"

#include <sys/fsuid.h>
#include <sys/utsname.h>

#define NOBODY	65534
#define PORT	4000
/* Streams that have ended may keep their ports for a minute. */
#define SERVER_PORT	4001
#define CLIENT_PORT	4002
#define STOPPED_PORT	4003

TEST_F(stream, type)
{
	EXPECT_EQ(SOCK_STREAM, rds_get(self->a, SOL_SOCKET, SO_TYPE));
	EXPECT_EQ(SOCK_STREAM, rds_get(self->b, SOL_SOCKET, SO_TYPE));
	EXPECT_EQ(rds_get(self->a, SOL_SOCKET, SO_DOMAIN),
		  rds_get(self->b, SOL_SOCKET, SO_DOMAIN));
	EXPECT_EQ(rds_get(self->a, SOL_SOCKET, SO_PROTOCOL),
		  rds_get(self->b, SOL_SOCKET, SO_PROTOCOL));
}

TEST_F(stream, names_of_both_ends)
{
	struct rds_name near = rds_sockname(self->a);
	struct rds_name far = rds_sockname(self->b);
	struct rds_name expected;

	expected = rds_peername(self->b);
	EXPECT_TRUE(rds_name_eq(&near, &expected));
	expected = rds_peername(self->a);
	EXPECT_TRUE(rds_name_eq(&far, &expected));
	EXPECT_TRUE(rds_name_eq(&far, &self->name));
	EXPECT_NE(0, rds_port(&near));
	expected = rds_name(variant->a, rds_port(&near));
	EXPECT_TRUE(rds_name_eq(&near, &expected));
	EXPECT_EQ(variant->ipv6 ? AF_INET6 : AF_INET, near.sa.sa_family);
}

TEST_F(stream, names_of_an_unbound_socket)
{
	struct rds_name expected = rds_name(variant->any, 0);
	int fd = stream_socket(variant->a);
	struct rds_name name;

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	name.len = sizeof(name.ss);
	EXPECT_EQ(-ENOTCONN, ERR(getpeername(fd, &name.sa, &name.len)));
	close(fd);
}

TEST_F(stream, names_of_a_listener)
{
	struct rds_name name = { .len = sizeof(name.ss) };

	EXPECT_EQ(-ENOTCONN, ERR(getpeername(self->listener, &name.sa,
					     &name.len)));
}

/* The length that is returned is that of the whole name. */
TEST_F(stream, name_cut_to_the_buffer)
{
	struct rds_name whole = rds_sockname(self->a);
	struct rds_name name;

	memset(&name, 0x55, sizeof(name));
	name.len = 4;
	ASSERT_EQ(0, getsockname(self->a, &name.sa, &name.len));
	EXPECT_EQ(whole.len, name.len);
	EXPECT_EQ(0, memcmp(&whole.ss, &name.ss, 4));
	EXPECT_EQ(0x55, ((char *)&name.ss)[4]);
	name.len = -1;
	EXPECT_EQ(-EINVAL, ERR(getsockname(self->a, &name.sa, &name.len)));
	EXPECT_EQ(-EFAULT, ERR(getsockname(self->a, &name.sa, NULL)));
}

static bool ephemeral(const struct rds_name *name)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "r");
	unsigned int from = 1, to = 0;

	if (!file)
		return false;
	if (fscanf(file, "%u %u", &from, &to) != 2)
		to = 0;
	fclose(file);
	return rds_port(name) >= from && rds_port(name) <= to;
}

TEST_F(stream, ephemeral_port)
{
	int fd = stream_bound(variant->a, 0);
	struct rds_name name = rds_sockname(fd);

	ASSERT_LE(0, fd);
	EXPECT_TRUE(ephemeral(&name));
	name = rds_sockname(self->a);
	EXPECT_TRUE(ephemeral(&name));
	close(fd);
}

TEST_F(stream, ephemeral_ports_differ)
{
	struct rds_name name[100];
	int i, j, fd[100];

	for (i = 0; i < 100; i++) {
		fd[i] = stream_bound(variant->a, 0);
		ASSERT_LE(0, fd[i]);
		name[i] = rds_sockname(fd[i]);
		for (j = 0; j < i; j++)
			ASSERT_NE(rds_port(&name[i]), rds_port(&name[j]));
	}
	for (i = 0; i < 100; i++)
		close(fd[i]);
}

TEST_F(stream, bind_chooses_the_port)
{
	struct rds_name expected = rds_name(variant->a, PORT);
	int fd = stream_bound(variant->a, PORT);
	struct rds_name name = rds_sockname(fd);

	ASSERT_LE(0, fd);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	close(fd);
	/* The port of a socket that was only bound is free at once. */
	fd = stream_bound(variant->a, PORT);
	EXPECT_LE(0, fd);
	close(fd);
}

TEST_F(stream, bind_once)
{
	int fd = stream_bound(variant->a, 0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, rds_name(variant->a, PORT))));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, rds_sockname(fd))));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->a, rds_name(variant->a, PORT))));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(self->listener,
					rds_name(variant->b, PORT))));
	close(fd);
}

TEST_F(stream, bind_to_a_port_in_use)
{
	int fd = stream_bound(variant->a, 0);
	struct rds_name name = rds_sockname(fd);
	int other = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EADDRINUSE, ERR(rds_bind(other, name)));
	EXPECT_EQ(-EADDRINUSE, ERR(rds_bind(other, rds_name(variant->any,
							    rds_port(&name)))));
	/* A failure leaves the socket as it was. */
	EXPECT_EQ(0, ERR(rds_bind(other, rds_name(variant->a, PORT))));
	close(other);
	close(fd);
}

TEST_F(stream, bind_to_the_port_of_a_wildcard)
{
	int fd = stream_bound(variant->any, PORT);
	int other = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	ASSERT_LE(0, other);
	EXPECT_EQ(-EADDRINUSE, ERR(rds_bind(other, rds_name(variant->a,
							    PORT))));
	close(other);
	close(fd);
}

TEST_F(stream, bind_to_foreign_address)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(fd, rds_name(variant->stranger, PORT))));
	close(fd);
}

TEST_F(stream, bind_to_malformed_names)
{
	struct rds_name name = rds_name(variant->a, PORT);
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(bind(fd, &name.sa, 0)));
	EXPECT_EQ(-EINVAL, ERR(bind(fd, &name.sa, 8)));
	EXPECT_EQ(-EINVAL, ERR(bind(fd, &name.sa, -1)));
	EXPECT_EQ(-EINVAL, ERR(bind(fd, &name.sa, sizeof(name.ss) + 1)));
	EXPECT_EQ(-EFAULT, ERR(bind(fd, (void *)8, name.len)));
	name.sa.sa_family = AF_UNIX;
	EXPECT_EQ(-EAFNOSUPPORT, ERR(bind(fd, &name.sa, name.len)));
	name.sa.sa_family = variant->ipv6 ? AF_INET : AF_INET6;
	EXPECT_EQ(-EAFNOSUPPORT, ERR(bind(fd, &name.sa, name.len)));
	name.sa.sa_family = 21;
	EXPECT_EQ(-EAFNOSUPPORT, ERR(bind(fd, &name.sa, name.len)));
	close(fd);
}

/* A longer buffer than the name needs is no mistake. */
TEST_F(stream, bind_in_a_large_buffer)
{
	struct rds_name name = rds_name(variant->a, 0);
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, ERR(bind(fd, &name.sa, sizeof(name.ss))));
	close(fd);
}

TEST_F(stream, privileged_port)
{
	int fd = stream_bound(variant->a, 900);

	EXPECT_LE(0, fd);
	close(fd);
	fd = stream_socket(variant->a);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, setresgid(NOBODY, NOBODY, NOBODY));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	EXPECT_EQ(-EACCES, ERR(rds_bind(fd, rds_name(variant->a, 900))));
	EXPECT_EQ(0, ERR(rds_bind(fd, rds_name(variant->a, PORT))));
	close(fd);
}

TEST_F(stream, no_capability_needed)
{
	int listener, a;

	ASSERT_EQ(0, setresgid(NOBODY, NOBODY, NOBODY));
	ASSERT_EQ(0, setresuid(NOBODY, NOBODY, NOBODY));
	listener = stream_listener(variant->a, 0);
	ASSERT_LE(0, listener);
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	close(a);
	close(listener);
}

/* Bind @fd with SO_REUSEADDR. Returns @fd, or -1 and closes it. */
static int reuse(int fd, const char *addr, unsigned int port)
{
	if (!rds_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) &&
	    !rds_bind(fd, rds_name(addr, port)))
		return fd;
	close(fd);
	return -1;
}

static int reusing(const char *addr, unsigned int port)
{
	return reuse(stream_socket(addr), addr, port);
}

TEST_F(stream, reuseaddr)
{
	int first = reusing(variant->a, PORT);
	int second = reusing(variant->a, PORT);
	int third = stream_socket(variant->a);

	ASSERT_LE(0, first);
	ASSERT_LE(0, second);
	EXPECT_EQ(1, rds_get(first, SOL_SOCKET, SO_REUSEADDR));
	EXPECT_EQ(-EADDRINUSE,
		  ERR(rds_bind(third, rds_name(variant->a, PORT))));
	/* Only one may listen. */
	EXPECT_EQ(0, ERR(listen(first, 1)));
	EXPECT_EQ(-EADDRINUSE, ERR(listen(second, 1)));
	ASSERT_EQ(0, rds_set(third, SOL_SOCKET, SO_REUSEADDR, 1));
	EXPECT_EQ(-EADDRINUSE,
		  ERR(rds_bind(third, rds_name(variant->a, PORT))));
	close(first);
	EXPECT_EQ(0, ERR(listen(second, 1)));
	close(second);
	close(third);
}

static int far_reusing(const FIXTURE_VARIANT(stream) *variant,
		       unsigned int port)
{
	return reuse(stream_far_socket(variant), variant->b, port);
}

/*
 * A server with SO_REUSEADDR that has ended its streams can be started again at
 * once.
 */
/* Linux refuses the option for families other than IP, and does not ask the
 * family before 6.7.
 */
static bool has_reuseport(void)
{
	struct utsname name;
	int major, minor;

	return stream_over_inet() ||
	       (!uname(&name) &&
		sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 7)));
}

/* Open a listening socket at the far end that may share its port. */
static int sharing_listener(const FIXTURE_VARIANT(stream) *variant,
			    unsigned int port)
{
	int fd = stream_far_socket(variant);

	if (!rds_set(fd, SOL_SOCKET, SO_REUSEPORT, 1) &&
	    !rds_bind(fd, rds_name(variant->b, port)) && !listen(fd, 128))
		return fd;
	close(fd);
	return -1;
}

#define CLIENTS	40

TEST_F(stream, listeners_share_a_port)
{
	int first, second, a[CLIENTS], b[CLIENTS], by_first = 0, i;
	struct rds_name name;

	if (!has_reuseport())
		SKIP(return, "This kernel refuses SO_REUSEPORT");
	first = sharing_listener(variant, 0);
	ASSERT_LE(0, first);
	EXPECT_EQ(1, rds_get(first, SOL_SOCKET, SO_REUSEPORT));
	name = rds_sockname(first);
	second = sharing_listener(variant, rds_port(&name));
	ASSERT_LE(0, second);
	/* Each of them must have allowed it. */
	EXPECT_GT(0, stream_far_listener(variant, rds_port(&name)));
	EXPECT_EQ(EADDRINUSE, errno);
	EXPECT_GT(0, sharing_listener(variant, rds_port(&self->name)));
	for (i = 0; i < CLIENTS; i++) {
		a[i] = stream_connected(variant, name);
		ASSERT_LE(0, a[i]);
	}
	ASSERT_EQ(0, stream_nonblocking(first, true));
	for (i = 0; i < CLIENTS; i++) {
		b[i] = accept(first, NULL, NULL);
		if (b[i] < 0)
			b[i] = stream_accept(second);
		else
			by_first++;
		ASSERT_LE(0, b[i]);
	}
	/* 1 of 2^39 runs gives all of them to one. */
	EXPECT_LT(0, by_first);
	EXPECT_GT(CLIENTS, by_first);
	for (i = 0; i < CLIENTS; i++) {
		close(a[i]);
		close(b[i]);
	}
	/* The other one goes on alone. */
	close(first);
	a[0] = stream_connected(variant, name);
	b[0] = stream_accept(second);
	EXPECT_TRUE(stream_works(a[0], b[0]));
	close(a[0]);
	close(b[0]);
	close(second);
}

/* Another user does not get the streams that are meant for this one. */
TEST_F(stream, users_do_not_share_a_port)
{
	struct rds_name name;
	int fd;

	if (!has_reuseport())
		SKIP(return, "This kernel refuses SO_REUSEPORT");
	fd = sharing_listener(variant, 0);
	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	setfsuid(NOBODY);
	EXPECT_GT(0, sharing_listener(variant, rds_port(&name)));
	EXPECT_EQ(EADDRINUSE, errno);
	setfsuid(0);
	close(fd);
}

TEST_F(stream, server_restarts)
{
	struct rds_name name = rds_name(variant->b, SERVER_PORT);
	int a, b, first, second, i;

	first = far_reusing(variant, SERVER_PORT);
	ASSERT_LE(0, first);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, listen(first, 1));
		a = stream_connected(variant, name);
		ASSERT_LE(0, a);
		b = stream_accept(first);
		ASSERT_LE(0, b);
		close(first);
		close(b);
		EXPECT_TRUE(stream_ended(a));
		second = far_reusing(variant, SERVER_PORT);
		ASSERT_LE(0, second);
		close(a);
		first = second;
	}
	close(first);
}

TEST_F(stream, bound_before_connect)
{
	struct rds_name name, expected = rds_name(variant->a, CLIENT_PORT);
	int b, a = stream_bound(variant->a, CLIENT_PORT);

	ASSERT_LE(0, a);
	ASSERT_EQ(0, ERR(rds_connect(a, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	name = rds_peername(b);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	name = rds_sockname(a);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
}

/* A socket that is bound to a port only gets its address from connect(). To an
 * address of this host it is that address.
 */
TEST_F(stream, wildcard_bound_before_connect)
{
	int b, a = stream_bound(variant->any, 0);
	struct rds_name expected, name = rds_sockname(a);

	ASSERT_LE(0, a);
	expected = rds_name(variant->device ? variant->b : variant->a,
			    rds_port(&name));
	ASSERT_EQ(0, ERR(rds_connect(a, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	name = rds_sockname(a);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	name = rds_peername(b);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	close(a);
	close(b);
}

/* Streams to different peers' ports can come from one port. */
TEST_F(stream, one_stream_per_pair_of_names)
{
	struct rds_name near = rds_sockname(self->a);
	int other = stream_socket(variant->a);

	ASSERT_LE(0, other);
	ASSERT_EQ(0, rds_set(other, SOL_SOCKET, SO_REUSEADDR, 1));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_REUSEADDR, 1));
	EXPECT_EQ(0, ERR(rds_bind(other, near)));
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_connect(other, self->name)));
	close(other);
	EXPECT_TRUE(stream_works(self->a, self->b));
}

static int mapped_socket(void)
{
	return stream_socket("::1");
}

/* Only a port that the user has bound outlasts the listener. */
TEST_F(stream, listener_that_stops_keeps_its_port)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	int i, a, fd = stream_far_listener(variant, STOPPED_PORT);
	struct rds_name name;

	ASSERT_LE(0, fd);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, ERR(i ? connect(fd, &none, sizeof(none)) :
				     shutdown(fd, SHUT_RD)));
		EXPECT_EQ(-EINVAL, ERR(accept(fd, NULL, NULL)));
		EXPECT_EQ(-ENOTCONN, ERR(recv(fd, &a, 1, 0)));
		EXPECT_GT(0, stream_far_listener(variant, STOPPED_PORT));
		ASSERT_EQ(0, ERR(listen(fd, 1)));
		name = rds_sockname(fd);
		EXPECT_EQ(STOPPED_PORT, rds_port(&name));
	}
	a = stream_connected(variant, rds_name(variant->b, STOPPED_PORT));
	EXPECT_LE(0, a);
	close(a);
	close(fd);
	fd = stream_far_socket(variant);
	ASSERT_EQ(0, ERR(listen(fd, 1)));
	ASSERT_EQ(0, ERR(shutdown(fd, SHUT_RD)));
	EXPECT_EQ(0, ERR(rds_bind(fd, rds_name(variant->b, 0))));
	close(fd);
}

TEST(mapped_address_connects_to_ipv4)
{
	struct rds_name expected, name;
	int listener = stream_listener("127.0.0.1", 0);
	int a = mapped_socket(), b;

	ASSERT_LE(0, listener);
	name = rds_sockname(listener);
	expected = rds_name("::ffff:127.0.0.1", rds_port(&name));
	ASSERT_EQ(0, ERR(rds_connect(a, expected)));
	b = stream_accept(listener);
	ASSERT_LE(0, b);
	name = rds_peername(a);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	name = rds_sockname(b);
	EXPECT_EQ(AF_INET, name.sa.sa_family);
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(listener);
}

TEST(dual_stack_listener)
{
	int listener = stream_listener("::", 0);
	struct rds_name expected, name = rds_sockname(listener);
	int a = stream_socket("127.0.0.1"), b;

	ASSERT_LE(0, listener);
	ASSERT_EQ(0, ERR(rds_connect(a, rds_name("127.0.0.1",
						 rds_port(&name)))));
	b = stream_accept(listener);
	ASSERT_LE(0, b);
	name = rds_sockname(a);
	expected = rds_name("::ffff:127.0.0.1", rds_port(&name));
	name = rds_peername(b);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(listener);
}

TEST(v6only_listener)
{
	struct rds_name name;
	int listener = mapped_socket();
	int a = stream_socket("127.0.0.1");

	ASSERT_LE(0, listener);
	ASSERT_EQ(0, rds_set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	ASSERT_EQ(0, rds_bind(listener, rds_name("::", 0)));
	ASSERT_EQ(0, listen(listener, 1));
	name = rds_sockname(listener);
	name = rds_name("127.0.0.1", rds_port(&name));
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(a, name)));
	close(a);
	a = mapped_socket();
	EXPECT_EQ(0, ERR(rds_connect(a, rds_name("::1", rds_port(&name)))));
	close(a);
	/* The port is free for IPv4. */
	a = stream_bound("0.0.0.0", rds_port(&name));
	EXPECT_LE(0, a);
	close(a);
	close(listener);
}

TEST(dual_stack_takes_the_port_of_ipv4)
{
	int fd = stream_bound("::", PORT);
	int other = stream_socket("127.0.0.1");

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRINUSE, ERR(rds_bind(other, rds_name("127.0.0.1",
							    PORT))));
	close(fd);
	close(other);
}

TEST(v6only_refuses_mapped_names)
{
	struct rds_name mapped = rds_name("::ffff:127.0.0.1", PORT);
	int fd = mapped_socket();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, mapped)));
	EXPECT_EQ(-ENETUNREACH, ERR(rds_connect(fd, mapped)));
	close(fd);
}

TEST_HARNESS_MAIN
