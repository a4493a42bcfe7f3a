// SPDX-License-Identifier: GPL-2.0
/* Every call for sockets, connections and data, over both families */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>

#include "check.h"

static int get_int(int fd, int level, int name)
{
	socklen_t len = sizeof(int);
	int value = -1;

	return rgetsockopt(fd, level, name, &value, &len) ? -1 : value;
}

static void test_rsocket(int family)
{
	int fd = rsocket(family, SOCK_STREAM, 0);

	ok(fd >= 0, "rsocket: SOCK_STREAM");
	ok(get_int(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM,
	   "rsocket: it is a stream");
	ok(get_int(fd, SOL_SOCKET, SO_DOMAIN) == family,
	   "rsocket: the family that was asked for");
	ok(get_int(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_TCP,
	   "rsocket: a protocol that programs know");
	ok(!(rfcntl(fd, F_GETFL) & O_NONBLOCK) && !rfcntl(fd, F_GETFD),
	   "rsocket: it blocks and survives exec()");
	ok(!rclose(fd), "rclose: a new socket");
	fd = rsocket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		     IPPROTO_TCP);
	ok(rfcntl(fd, F_GETFL) & O_NONBLOCK &&
	   rfcntl(fd, F_GETFD) == FD_CLOEXEC,
	   "rsocket: SOCK_NONBLOCK, SOCK_CLOEXEC and IPPROTO_TCP");
	rclose(fd);
	fd = rsocket(family, SOCK_DGRAM, 0);
	ok(fd >= 0 && get_int(fd, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM &&
	   get_int(fd, SOL_SOCKET, SO_DOMAIN) == family,
	   "rsocket: SOCK_DGRAM");
	ok(get_int(fd, SOL_SOCKET, SO_PROTOCOL) == IPPROTO_UDP,
	   "rsocket: SOCK_DGRAM is UDP");
	rclose(fd);
	fails(rsocket(family, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT,
	      "rsocket: a stream has no IPPROTO_UDP");
	fails(rsocket(family, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT,
	      "rsocket: SOCK_DGRAM has no IPPROTO_TCP");
	fails(rsocket(family, SOCK_SEQPACKET, 0), ESOCKTNOSUPPORT,
	      "rsocket: another type");
}

static void test_connection(int family)
{
	struct sockaddr_storage name, local, peer;
	int listener, client, server;
	socklen_t len, room;

	listener = check_listen(family, &name, &len);
	ok(listener >= 0, "rbind and rlisten");
	ok(check_port(listener) > 0, "rgetsockname: the port that was chosen");
	ok(name.ss_family == family, "rgetsockname: the family of the name");
	client = rsocket(family, SOCK_STREAM, 0);
	room = sizeof(peer);
	fails(rgetpeername(client, (struct sockaddr *)&peer, &room), ENOTCONN,
	      "rgetpeername: not connected");
	ok(!rconnect(client, (struct sockaddr *)&name, len), "rconnect");
	fails(rconnect(client, (struct sockaddr *)&name, len), EISCONN,
	      "rconnect: connected already");
	room = sizeof(peer);
	server = raccept(listener, (struct sockaddr *)&peer, &room);
	ok(server >= 0 && room == len, "raccept");
	room = sizeof(local);
	rgetsockname(client, (struct sockaddr *)&local, &room);
	ok(room == len && !memcmp(&local, &peer, len),
	   "raccept: the name of the peer");
	room = sizeof(peer);
	ok(!rgetpeername(client, (struct sockaddr *)&peer, &room) &&
	   !memcmp(&name, &peer, len), "rgetpeername: of the client");
	room = sizeof(peer);
	ok(!rgetpeername(server, (struct sockaddr *)&peer, &room) &&
	   !memcmp(&local, &peer, len), "rgetpeername: of the server");
	room = sizeof(peer);
	ok(!rgetsockname(server, (struct sockaddr *)&peer, &room) &&
	   !memcmp(&name, &peer, len), "rgetsockname: of the server");
	ok(get_int(server, SOL_SOCKET, SO_DOMAIN) == family,
	   "raccept: the family of an accepted socket");
	ok(check_exchange(client, server) && check_exchange(server, client),
	   "data in both directions");
	rclose(client);
	rclose(server);
	rclose(listener);
}

static void test_errors(int family)
{
	struct sockaddr_storage name;
	int listener, fd;
	socklen_t len;

	listener = check_listen(family, &name, &len);
	fd = rsocket(family, SOCK_STREAM, 0);
	fails(rbind(fd, (struct sockaddr *)&name, len), EADDRINUSE,
	      "rbind: the port of another listener");
	fails(raccept(fd, NULL, NULL), EINVAL, "raccept: no listener");
	fails(rrecv(fd, &len, 1, 0), ENOTCONN, "rrecv: not connected");
	fails(rshutdown(fd, SHUT_WR), ENOTCONN, "rshutdown: not connected");
	rclose(listener);
	fails(rconnect(fd, (struct sockaddr *)&name, len), ECONNREFUSED,
	      "rconnect: a port on which nothing listens");
	ok(!rclose(fd), "rclose: after a refused connection");
	fails(rclose(fd), EBADF, "rclose: twice");
	fails(rrecv(fd, &len, 1, 0), EBADF, "rrecv: a closed socket");
	fails(rbind(fd, (struct sockaddr *)&name, len), EBADF,
	      "rbind: a closed socket");
	fails(rlisten(fd, 1), EBADF, "rlisten: a closed socket");
	fails(rconnect(fd, (struct sockaddr *)&name, len), EBADF,
	      "rconnect: a closed socket");
	fails(rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &fd, sizeof(fd)), EBADF,
	      "rsetsockopt: a closed socket");
	fails(rfcntl(fd, F_GETFL), EBADF, "rfcntl: a closed socket");
}

/* Each way to send, and each way to receive */
enum { NR_WAYS = 5 };

static const char *const ways_to_send[NR_WAYS] = {
	"rsend", "rsendto", "rsendmsg", "rwrite", "rwritev",
};

static const char *const ways_to_receive[NR_WAYS] = {
	"rrecv", "rrecvfrom", "rrecvmsg", "rread", "rreadv",
};

static void split(struct iovec iov[3], char *buffer, size_t len)
{
	iov[0].iov_base = buffer;
	iov[0].iov_len = 1;
	iov[1].iov_base = buffer + 1;
	iov[1].iov_len = len / 2;
	iov[2].iov_base = buffer + 1 + len / 2;
	iov[2].iov_len = len - 1 - len / 2;
}

static ssize_t send_by(int way, int fd, char *buffer, size_t len)
{
	struct msghdr msg = { .msg_iovlen = 3 };
	struct iovec iov[3];

	split(iov, buffer, len);
	msg.msg_iov = iov;
	switch (way) {
	case 0:
		return rsend(fd, buffer, len, 0);
	case 1:
		return rsendto(fd, buffer, len, 0, NULL, 0);
	case 2:
		return rsendmsg(fd, &msg, 0);
	case 3:
		return rwrite(fd, buffer, len);
	default:
		return rwritev(fd, iov, 3);
	}
}

static ssize_t receive_by(int way, int fd, char *buffer, size_t len)
{
	struct msghdr msg = { .msg_iovlen = 3 };
	struct iovec iov[3];

	split(iov, buffer, len);
	msg.msg_iov = iov;
	switch (way) {
	case 0:
		return rrecv(fd, buffer, len, 0);
	case 1:
		return rrecvfrom(fd, buffer, len, 0, NULL, NULL);
	case 2:
		return rrecvmsg(fd, &msg, 0);
	case 3:
		return rread(fd, buffer, len);
	default:
		return rreadv(fd, iov, 3);
	}
}

static void test_ways(int family)
{
	char sent[1000], got[1000];
	int way, other;
	struct pair pair;

	if (!check_pair(family, &pair)) {
		ok(false, "a connection for data");
		return;
	}
	for (way = 0; way < NR_WAYS; way++)
		for (other = 0; other < NR_WAYS; other++) {
			check_fill(sent, sizeof(sent), way * 7 + other);
			memset(got, 0, sizeof(got));
			ok(send_by(way, pair.client, sent, sizeof(sent)) ==
			   sizeof(sent) &&
			   receive_by(other, pair.server, got, sizeof(got)) ==
			   sizeof(got) && !memcmp(sent, got, sizeof(got)),
			   "%s, and all of it by %s", ways_to_send[way],
			   ways_to_receive[other]);
		}
	check_close(&pair);
}

static void test_flags(int family)
{
	char got[20];
	struct pair pair;

	check_pair(family, &pair);
	fails(rrecv(pair.server, got, 1, MSG_DONTWAIT), EAGAIN,
	      "rrecv: MSG_DONTWAIT");
	rsend(pair.client, "0123456789", 10, 0);
	ok(rrecv(pair.server, got, 4, MSG_PEEK) == 4 && !memcmp(got, "0123", 4),
	   "rrecv: MSG_PEEK");
	ok(rrecv(pair.server, got, 10, MSG_WAITALL) == 10 &&
	   !memcmp(got, "0123456789", 10), "rrecv: what was looked at is left");
	rfcntl(pair.server, F_SETFL, O_NONBLOCK);
	ok(rfcntl(pair.server, F_GETFL) & O_NONBLOCK, "rfcntl: O_NONBLOCK");
	fails(rrecv(pair.server, got, 1, 0), EAGAIN, "rrecv: O_NONBLOCK");
	fails(rread(pair.server, got, 1), EAGAIN, "rread: O_NONBLOCK");
	fails(raccept(pair.server, NULL, NULL), EINVAL,
	      "raccept: a connected socket");
	rfcntl(pair.listener, F_SETFL, O_NONBLOCK);
	fails(raccept(pair.listener, NULL, NULL), EAGAIN,
	      "raccept: O_NONBLOCK");
	ok(rsend(pair.client, got, 0, 0) == 0, "rsend: nothing");
	check_close(&pair);
}

static void test_shutdown(int family)
{
	struct pair pair;
	char got;

	check_pair(family, &pair);
	ok(!rshutdown(pair.client, SHUT_WR), "rshutdown: SHUT_WR");
	ok(rrecv(pair.server, &got, 1, 0) == 0, "rrecv: the end of the data");
	ok(check_exchange(pair.server, pair.client),
	   "the other direction still works");
	fails(rsend(pair.client, "x", 1, MSG_NOSIGNAL), EPIPE,
	      "rsend: after rshutdown");
	ok(!rshutdown(pair.server, SHUT_RDWR), "rshutdown: SHUT_RDWR");
	ok(rrecv(pair.client, &got, 1, 0) == 0, "rrecv: the end on both sides");
	check_close(&pair);

	check_pair(family, &pair);
	ok(!rshutdown(pair.server, SHUT_RD), "rshutdown: SHUT_RD");
	ok(rrecv(pair.server, &got, 1, 0) == 0, "rrecv: after SHUT_RD");
	rclose(pair.client);
	pair.client = -1;
	check_close(&pair);
}

/* More than the buffers hold, while the other end writes as well */
static void test_much(int family)
{
	size_t len = 4 << 20, sent = 0, got = 0;
	char *out = malloc(len), *in = malloc(len);
	struct pollfd fds[2];
	struct pair pair;
	ssize_t n;

	check_fill(out, len, 3);
	check_pair(family, &pair);
	rfcntl(pair.client, F_SETFL, O_NONBLOCK);
	rfcntl(pair.server, F_SETFL, O_NONBLOCK);
	while (got < len) {
		fds[0] = (struct pollfd){ pair.server, POLLIN, 0 };
		fds[1] = (struct pollfd){ pair.client, POLLOUT, 0 };
		if (rpoll(fds, sent < len ? 2 : 1, 10000) <= 0)
			break;
		n = rsend(pair.client, out + sent, len - sent, 0);
		if (n > 0)
			sent += n;
		n = rrecv(pair.server, in + got, len - got, 0);
		if (n > 0)
			got += n;
	}
	ok(got == len && check_filled(in, len, 3),
	   "4 MiB without blocking, in order");
	check_close(&pair);
	free(out);
	free(in);
}

static void test_connect_nonblocking(int family)
{
	struct sockaddr_storage name;
	struct pollfd pfd = { .events = POLLOUT };
	int listener, ret;
	socklen_t len;

	listener = check_listen(family, &name, &len);
	pfd.fd = rsocket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ret = rconnect(pfd.fd, (struct sockaddr *)&name, len);
	ok(!ret || errno == EINPROGRESS, "rconnect: O_NONBLOCK");
	ok(rpoll(&pfd, 1, 5000) == 1 && pfd.revents == POLLOUT,
	   "rpoll: connected");
	ok(get_int(pfd.fd, SOL_SOCKET, SO_ERROR) == 0, "SO_ERROR: no error");
	rclose(pfd.fd);
	rclose(listener);

	pfd.fd = rsocket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ret = rconnect(pfd.fd, (struct sockaddr *)&name, len);
	if (ret && errno == EINPROGRESS) {
		rpoll(&pfd, 1, 5000);
		errno = get_int(pfd.fd, SOL_SOCKET, SO_ERROR);
	}
	ok(ret && errno == ECONNREFUSED, "rconnect: refused, O_NONBLOCK");
	rclose(pfd.fd);
}

static void test_dgram(int family)
{
	struct sockaddr_storage name, from;
	int a = rsocket(family, SOCK_DGRAM, 0);
	int b = rsocket(family, SOCK_DGRAM, 0);
	socklen_t len = check_name(family, &name, 0), room = sizeof(from);
	char got[10];

	rbind(b, (struct sockaddr *)&name, len);
	rgetsockname(b, (struct sockaddr *)&name, &len);
	ok(rsendto(a, "dgram", 5, 0, (struct sockaddr *)&name, len) == 5,
	   "rsendto: a datagram");
	ok(rrecvfrom(b, got, sizeof(got), 0, (struct sockaddr *)&from, &room)
	   == 5 && room == len && !memcmp(got, "dgram", 5),
	   "rrecvfrom: a datagram and its source");
	ok(!rconnect(a, (struct sockaddr *)&name, len),
	   "rconnect: a socket of datagrams");
	ok(rsend(a, "more", 4, 0) == 4 && rrecv(b, got, sizeof(got), 0) == 4,
	   "rsend and rrecv: a datagram");
	rclose(a);
	rclose(b);
}

/* Without the module there are no streams, but there is UDP. */
static int test_absent(void)
{
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);

	fails(rsocket(AF_INET, SOCK_STREAM, 0), ESOCKTNOSUPPORT,
	      "no module: no stream");
	ok(fd >= 0, "no module: datagrams all the same");
	return check_end();
}

int main(int argc, char **argv)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int i;

	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	if (argc > 1)
		return test_absent();
	fails(rsocket(AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT,
	      "rsocket: another family");
	for (i = 0; i < 2; i++) {
		check_prefix = families[i] == AF_INET ? "IPv4: " : "IPv6: ";
		test_rsocket(families[i]);
		test_connection(families[i]);
		test_errors(families[i]);
		test_ways(families[i]);
		test_flags(families[i]);
		test_shutdown(families[i]);
		test_much(families[i]);
		test_connect_nonblocking(families[i]);
		test_dgram(families[i]);
	}
	return check_end();
}
