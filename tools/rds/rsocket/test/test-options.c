// SPDX-License-Identifier: GPL-2.0
/* Socket options: those of the manual, and those of the level SOL_RDMA */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "../memory.h"
#include "check.h"

static int set_int(int fd, int level, int name, int value)
{
	return rsetsockopt(fd, level, name, &value, sizeof(value));
}

static int get_int(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	if (rgetsockopt(fd, level, name, &value, &len))
		return -1;
	return len == sizeof(int) ? value : -2;
}

static void test_socket_level(int fd)
{
	static const struct {
		int		name;
		const char	*text;
	} flags[] = {
		{ SO_KEEPALIVE, "SO_KEEPALIVE" },
		{ SO_OOBINLINE, "SO_OOBINLINE" },
		{ SO_REUSEADDR, "SO_REUSEADDR" },
	};
	static const struct linger wanted = { 1, 5 };
	struct linger linger = { 0, 0 };
	socklen_t len = sizeof(linger);
	size_t i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		ok(get_int(fd, SOL_SOCKET, flags[i].name) == 0,
		   "%s: off at first", flags[i].text);
		ok(!set_int(fd, SOL_SOCKET, flags[i].name, 1) &&
		   get_int(fd, SOL_SOCKET, flags[i].name) == 1,
		   "%s: set and read", flags[i].text);
	}
	ok(get_int(fd, SOL_SOCKET, SO_ERROR) == 0, "SO_ERROR: no error");
	ok(!rsetsockopt(fd, SOL_SOCKET, SO_LINGER, &wanted, sizeof(wanted)) &&
	   !rgetsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len) &&
	   linger.l_onoff == 1 && linger.l_linger == 5,
	   "SO_LINGER: set and read");
	ok(!set_int(fd, SOL_SOCKET, SO_SNDBUF, 65536) &&
	   get_int(fd, SOL_SOCKET, SO_SNDBUF) == 131072,
	   "SO_SNDBUF: set and read, doubled");
	ok(!set_int(fd, SOL_SOCKET, SO_RCVBUF, 65536) &&
	   get_int(fd, SOL_SOCKET, SO_RCVBUF) == 131072,
	   "SO_RCVBUF: set and read, doubled");
	fails(set_int(fd, SOL_SOCKET, 9999, 1), ENOPROTOOPT,
	      "an unknown option of the socket");
}

static void test_protocol_level(int fd, int family)
{
	int other = rsocket(AF_INET6, SOCK_STREAM, 0);

	ok(!set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) &&
	   get_int(fd, IPPROTO_TCP, TCP_NODELAY) == 1,
	   "TCP_NODELAY: set and read");
	ok(get_int(fd, IPPROTO_TCP, TCP_MAXSEG) > 0, "TCP_MAXSEG: read");
	ok(!set_int(fd, IPPROTO_TCP, TCP_MAXSEG, 1000), "TCP_MAXSEG: set");
	if (family == AF_INET6)
		ok(!set_int(other, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
		   get_int(other, IPPROTO_IPV6, IPV6_V6ONLY) == 1,
		   "IPV6_V6ONLY: set and read");
	rclose(other);
}

static void test_queue(int fd, int queue, int buffer, const char *name)
{
	int most;

	ok(!set_int(fd, SOL_RDMA, queue, 16) &&
	   get_int(fd, SOL_RDMA, queue) == 16, "%s: set and read", name);
	ok(get_int(fd, SOL_SOCKET, buffer) == 2 * 16 * 4096,
	   "%s: 4096 bytes of the buffer for each entry", name);
	ok(!set_int(fd, SOL_SOCKET, buffer, 32768) &&
	   get_int(fd, SOL_RDMA, queue) == 8,
	   "%s: as many as the buffer holds", name);
	ok(!set_int(fd, SOL_RDMA, queue, 65535), "%s: the largest", name);
	most = get_int(fd, SOL_RDMA, queue);
	ok(most >= 8 && most <= 65535, "%s: what the kernel granted", name);
	fails(set_int(fd, SOL_RDMA, queue, 0), EINVAL, "%s: 0", name);
	fails(set_int(fd, SOL_RDMA, queue, 65536), EINVAL, "%s: too large",
	      name);
	fails(set_int(fd, SOL_RDMA, queue, -1), EINVAL, "%s: negative", name);
	fails(rsetsockopt(fd, SOL_RDMA, queue, &most, 2), EINVAL,
	      "%s: too short", name);
}

static void test_inline(int fd)
{
	int copy;

	ok(get_int(fd, SOL_RDMA, RDMA_INLINE) == 0, "RDMA_INLINE: 0 at first");
	ok(!set_int(fd, SOL_RDMA, RDMA_INLINE, 64) &&
	   get_int(fd, SOL_RDMA, RDMA_INLINE) == 64,
	   "RDMA_INLINE: set and read");
	copy = rfcntl(fd, F_DUPFD, 100);
	ok(copy >= 100 && get_int(copy, SOL_RDMA, RDMA_INLINE) == 64,
	   "RDMA_INLINE: of a copy by rfcntl");
	rclose(copy);
	copy = rfcntl(fd, F_DUPFD_CLOEXEC, 200);
	ok(copy >= 200 && rfcntl(copy, F_GETFD) == FD_CLOEXEC,
	   "rfcntl: F_DUPFD_CLOEXEC");
	/* Not rclose(): the library does not see it. */
	close(copy);
	copy = rsocket(AF_INET, SOCK_STREAM, 0);
	dup2(copy, 200);
	ok(get_int(200, SOL_RDMA, RDMA_INLINE) == 0,
	   "RDMA_INLINE: not that of a socket that had the number before");
	rclose(200);
	rclose(copy);
	fails(set_int(fd, SOL_RDMA, RDMA_INLINE, -1), EINVAL,
	      "RDMA_INLINE: negative");
	fails(set_int(-1, SOL_RDMA, RDMA_INLINE, 1), EBADF,
	      "RDMA_INLINE: no descriptor");
	fails(set_int(STDIN_FILENO, SOL_RDMA, RDMA_INLINE, 1), ENOTSOCK,
	      "RDMA_INLINE: no socket");
}

static void test_route(int fd)
{
	char wanted[ROUTE_SIZE * 2], got[ROUTE_SIZE * 2];
	socklen_t len = sizeof(got);

	ok(!rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, got, &len) && !len,
	   "RDMA_ROUTE: none at first");
	check_fill(wanted, sizeof(wanted), 1);
	ok(!rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, wanted, sizeof(wanted)),
	   "RDMA_ROUTE: set");
	len = sizeof(got);
	ok(!rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, got, &len) &&
	   len == sizeof(wanted) && !memcmp(wanted, got, len),
	   "RDMA_ROUTE: read");
	len = 10;
	ok(!rgetsockopt(fd, SOL_RDMA, RDMA_ROUTE, got, &len) && len == 10,
	   "RDMA_ROUTE: into less memory");
	fails(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, wanted, 10), EINVAL,
	      "RDMA_ROUTE: no whole record");
	fails(rsetsockopt(fd, SOL_RDMA, RDMA_ROUTE, wanted, 0), EINVAL,
	      "RDMA_ROUTE: empty");
}

static void test_iomapsize(int fd)
{
	ok(get_int(fd, SOL_RDMA, RDMA_IOMAPSIZE) == 0,
	   "RDMA_IOMAPSIZE: 0 at first");
	ok(!set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 7) &&
	   get_int(fd, SOL_RDMA, RDMA_IOMAPSIZE) == 7,
	   "RDMA_IOMAPSIZE: set and read");
	ok(!set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 128),
	   "RDMA_IOMAPSIZE: the largest");
	fails(set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 129), EINVAL,
	      "RDMA_IOMAPSIZE: too large");
	fails(set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, -1), EINVAL,
	      "RDMA_IOMAPSIZE: negative");
}

static void test_rdma_level(int fd)
{
	socklen_t len = 2;
	int value;

	test_queue(fd, RDMA_SQSIZE, SO_SNDBUF, "RDMA_SQSIZE");
	test_queue(fd, RDMA_RQSIZE, SO_RCVBUF, "RDMA_RQSIZE");
	test_inline(fd);
	test_route(fd);
	test_iomapsize(fd);
	fails(set_int(fd, SOL_RDMA, 99, 1), ENOPROTOOPT,
	      "SOL_RDMA: an unknown option");
	fails(get_int(fd, SOL_RDMA, 99), ENOPROTOOPT,
	      "SOL_RDMA: an unknown option is not read");
	fails(rgetsockopt(fd, SOL_RDMA, RDMA_INLINE, &value, &len), EINVAL,
	      "SOL_RDMA: too little memory");
}

/* What a listener was told holds for what it accepts. */
static void test_inherited(int family)
{
	struct sockaddr_storage name;
	int listener, client, server;
	socklen_t len;

	listener = check_listen(family, &name, &len);
	set_int(listener, SOL_RDMA, RDMA_INLINE, 33);
	set_int(listener, SOL_SOCKET, SO_KEEPALIVE, 1);
	client = rsocket(family, SOCK_STREAM, 0);
	rconnect(client, (struct sockaddr *)&name, len);
	server = raccept(listener, NULL, NULL);
	ok(get_int(server, SOL_RDMA, RDMA_INLINE) == 33,
	   "RDMA_INLINE: inherited from the listener");
	ok(get_int(server, SOL_SOCKET, SO_KEEPALIVE) == 1,
	   "SO_KEEPALIVE: inherited from the listener");
	ok(check_exchange(client, server), "SO_KEEPALIVE: data");
	rclose(client);
	rclose(server);
	rclose(listener);
}

static void test_linger(int family)
{
	static const struct linger none = { 1, 0 };
	struct pair pair;
	char got;

	check_pair(family, &pair);
	rsetsockopt(pair.client, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
	rclose(pair.client);
	fails(rrecv(pair.server, &got, 1, 0), ECONNRESET,
	      "SO_LINGER: rclose resets the connection");
	pair.client = -1;
	check_close(&pair);
}

static void test_v6only(void)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	socklen_t len = sizeof(sin6), len4;
	int fd, client, dual;
	struct sockaddr_storage name;

	for (dual = 0; dual < 2; dual++) {
		fd = rsocket(AF_INET6, SOCK_STREAM, 0);
		set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, !dual);
		sin6.sin6_port = 0;
		rbind(fd, (struct sockaddr *)&sin6, len);
		rlisten(fd, 1);
		len4 = check_name(AF_INET, &name, check_port(fd));
		client = rsocket(AF_INET, SOCK_STREAM, 0);
		if (dual)
			ok(!rconnect(client, (struct sockaddr *)&name, len4),
			   "IPV6_V6ONLY off: IPv4 is accepted");
		else
			fails(rconnect(client, (struct sockaddr *)&name, len4),
			      ECONNREFUSED,
			      "IPV6_V6ONLY on: IPv4 is refused");
		rclose(client);
		rclose(fd);
	}
}

static void test_reuse(int family)
{
	struct sockaddr_storage name;
	int listener, again;
	struct pair pair;
	socklen_t len;

	pair.listener = check_listen(family, &name, &len);
	set_int(pair.listener, SOL_SOCKET, SO_REUSEADDR, 1);
	pair.client = rsocket(family, SOCK_STREAM, 0);
	rconnect(pair.client, (struct sockaddr *)&name, len);
	pair.server = raccept(pair.listener, NULL, NULL);
	rclose(pair.listener);

	/* The connection still has the port. */
	listener = rsocket(family, SOCK_STREAM, 0);
	set_int(listener, SOL_SOCKET, SO_REUSEADDR, 1);
	ok(!rbind(listener, (struct sockaddr *)&name, len) &&
	   !rlisten(listener, 1), "SO_REUSEADDR: the port at once");
	ok(check_exchange(pair.client, pair.server),
	   "SO_REUSEADDR: the old connection works");
	again = rsocket(family, SOCK_STREAM, 0);
	set_int(again, SOL_SOCKET, SO_REUSEADDR, 1);
	fails(rbind(again, (struct sockaddr *)&name, len), EADDRINUSE,
	      "SO_REUSEADDR: not that of a listener");
	rclose(again);
	pair.listener = listener;
	check_close(&pair);
}

/* A socket of datagrams has buffers, and no mappings. */
static void test_dgram(void)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	ok(!set_int(fd, SOL_RDMA, RDMA_SQSIZE, 16) &&
	   get_int(fd, SOL_RDMA, RDMA_SQSIZE) == 16,
	   "RDMA_SQSIZE: of datagrams");
	ok(set_int(fd, SOL_RDMA, RDMA_IOMAPSIZE, 1) == -1,
	   "RDMA_IOMAPSIZE: not of datagrams");
	rclose(fd);
}

int main(void)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int i, fd;

	for (i = 0; i < 2; i++) {
		check_prefix = families[i] == AF_INET ? "IPv4: " : "IPv6: ";
		fd = rsocket(families[i], SOCK_STREAM, 0);
		test_socket_level(fd);
		test_protocol_level(fd, families[i]);
		test_rdma_level(fd);
		rclose(fd);
		test_inherited(families[i]);
		test_linger(families[i]);
		test_reuse(families[i]);
	}
	check_prefix = "";
	test_v6only();
	test_dgram();
	return check_end();
}
