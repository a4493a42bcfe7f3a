// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload where no kernel with rds_stream runs: it makes streams
 * of RDS out of sockets of TCP. It needs no table of descriptors: a socket that
 * stands for a stream carries a mark in TCP_NOTSENT_LOWAT, which survives
 * dup(), fork() and exec(), and which accepted sockets inherit.
 *
 * The address decides what a connection meets:
 *
 *	127.0.0.8	a peer whose RDS knows no streams
 *	127.0.0.9	a host without RDS
 *	others		a peer with streams
 *
 * If a connection is refused and the socket does not block, it is refused about
 * one second later.
 *
 *	SHIM_MODULE	if it is "absent", there is no module rds_stream
 *	SHIM_FILE	the mappings, a file
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "shim.h"

#define MARK		0x52000000u
#define MARK_MASK	0xff000000u
#define STATE_CLOSE	7

/* In a refusal: connect() told it, and the next one begins from the start. */
#define TOLD		0x80

const struct shim_calls *shim_real(void)
{
	static struct shim_calls calls;

	if (!calls.sendmsg) {
		calls.socket = dlsym(RTLD_NEXT, "socket");
		calls.connect = dlsym(RTLD_NEXT, "connect");
		calls.accept = dlsym(RTLD_NEXT, "accept");
		calls.getsockopt = dlsym(RTLD_NEXT, "getsockopt");
		calls.setsockopt = dlsym(RTLD_NEXT, "setsockopt");
		calls.ioctl = dlsym(RTLD_NEXT, "ioctl");
		calls.sendmsg = dlsym(RTLD_NEXT, "sendmsg");
	}
	return &calls;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

bool shim_marked(int fd, struct shim_mark *mark)
{
	socklen_t len = sizeof(unsigned int);
	int error = errno;
	unsigned int word;

	if (shim_real()->getsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &word,
				    &len)) {
		errno = error;
		return false;
	}
	mark->refusal = word;
	mark->iomap_size = word >> 8;
	return (word & MARK_MASK) == MARK;
}

int shim_mark(int fd, struct shim_mark mark)
{
	unsigned int word = MARK | mark.iomap_size << 8 | mark.refusal;

	return shim_real()->setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
				       &word, sizeof(word));
}

int socket(int domain, int type, int protocol)
{
	const char *module = getenv("SHIM_MODULE");
	int fd;

	if (domain != AF_RDS)
		return shim_real()->socket(domain, type, protocol);
	if (module && !strcmp(module, "absent"))
		return fail(ESOCKTNOSUPPORT);
	if (protocol != RDS_PROTO_INET && protocol != RDS_PROTO_INET6)
		return fail(EPROTONOSUPPORT);
	domain = protocol == RDS_PROTO_INET6 ? AF_INET6 : AF_INET;
	fd = shim_real()->socket(domain, type, 0);
	if (fd >= 0)
		shim_mark(fd, (struct shim_mark){ 0 });
	return fd;
}

/* Return the refusal that this address stands for. */
static int refusal_of(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	uint32_t host = 0;

	if (addr->sa_family == AF_INET)
		host = ntohl(sin->sin_addr.s_addr);
	else if (addr->sa_family == AF_INET6 &&
		 IN6_IS_ADDR_V4MAPPED(&sin6->sin6_addr))
		host = ntohl(sin6->sin6_addr.s6_addr32[3]);
	if (host == 0x7f000009)
		return RDS_STREAM_NO_RDS;
	if (host == 0x7f000008)
		return RDS_STREAM_NO_STREAMS;
	return RDS_STREAM_NO_LISTENER;
}

/* Make the name of a port of 127.0.0.1 as @family has it. */
static socklen_t local_name(int family, struct sockaddr_storage *name,
			    in_port_t port)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)name;
	struct sockaddr_in *sin = (struct sockaddr_in *)name;

	memset(name, 0, sizeof(*name));
	name->ss_family = family;
	if (family == AF_INET6) {
		inet_pton(AF_INET6, "::ffff:127.0.0.1", &sin6->sin6_addr);
		sin6->sin6_port = port;
		return sizeof(*sin6);
	}
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sin->sin_port = port;
	return sizeof(*sin);
}

/*
 * Connect to a listener with a full queue, and close the listener: the first
 * retransmission, after a second, is refused.
 */
static int connect_to_nothing(int fd, int family)
{
	int listener = shim_real()->socket(AF_INET, SOCK_STREAM, 0);
	int filler = shim_real()->socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_storage name;
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int ret, error;

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&sin, len);
	listen(listener, 0);
	getsockname(listener, (struct sockaddr *)&sin, &len);
	shim_real()->connect(filler, (struct sockaddr *)&sin, len);
	len = local_name(family, &name, sin.sin_port);
	ret = shim_real()->connect(fd, (struct sockaddr *)&name, len);
	error = errno;
	close(listener);
	close(filler);
	errno = error;
	return ret;
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct shim_mark mark;
	int ret, error;

	if (!shim_marked(fd, &mark) || len < sizeof(struct sockaddr_in))
		return shim_real()->connect(fd, addr, len);
	/* The result of one that is in progress, or that was refused */
	if (mark.refusal && !(mark.refusal & TOLD))
		return shim_real()->connect(fd, addr, len);
	mark.refusal = refusal_of(addr);
	shim_mark(fd, mark);
	if (mark.refusal != RDS_STREAM_NO_LISTENER) {
		if (fcntl(fd, F_GETFL) & O_NONBLOCK)
			return connect_to_nothing(fd, addr->sa_family);
		mark.refusal |= TOLD;
		shim_mark(fd, mark);
		return fail(ECONNREFUSED);
	}
	ret = shim_real()->connect(fd, addr, len);
	error = errno;
	if (!ret || error == EINPROGRESS)
		shim_map_announce(fd, mark.iomap_size);
	errno = error;
	return ret;
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	int accepted = shim_real()->accept(fd, addr, len);
	struct shim_mark mark;

	if (accepted >= 0 && shim_marked(accepted, &mark))
		shim_map_announce(accepted, mark.iomap_size);
	return accepted;
}

static int refusal_now(int fd, const struct shim_mark *mark)
{
	socklen_t len = sizeof(struct tcp_info);
	struct tcp_info info;

	if (shim_real()->getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	return info.tcpi_state == STATE_CLOSE ? mark->refusal & ~TOLD : 0;
}

/* Report whether a stream has the option. */
static bool answer(int fd, int level, int name, const struct shim_mark *mark,
		   int *number)
{
	if (level == SOL_SOCKET && name == SO_DOMAIN)
		*number = AF_RDS;
	else if (level == SOL_SOCKET && name == SO_PROTOCOL)
		*number = *number == AF_INET6 ? RDS_PROTO_INET6 :
						RDS_PROTO_INET;
	else if (level == SOL_RDS && name == RDS_STREAM_REFUSED)
		*number = refusal_now(fd, mark);
	else if (level == SOL_RDS && name == RDS_STREAM_IOMAP_SIZE)
		*number = mark->iomap_size;
	else
		return false;
	return true;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	socklen_t room = sizeof(int);
	struct shim_mark mark;
	int number = 0;

	if (!shim_marked(fd, &mark))
		return shim_real()->getsockopt(fd, level, name, value, len);
	shim_real()->getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &number, &room);
	if (!answer(fd, level, name, &mark, &number))
		return shim_real()->getsockopt(fd, level, name, value, len);
	if (*len < sizeof(number))
		return fail(EINVAL);
	memcpy(value, &number, sizeof(number));
	*len = sizeof(number);
	return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct shim_mark mark;
	int number;

	if (!shim_marked(fd, &mark) || level != SOL_RDS)
		return shim_real()->setsockopt(fd, level, name, value, len);
	if (name != RDS_STREAM_IOMAP_SIZE)
		return fail(ENOPROTOOPT);
	memcpy(&number, value, sizeof(number));
	if (len < sizeof(number) || number < 0 || number > 128)
		return fail(EINVAL);
	mark.iomap_size = number;
	return shim_mark(fd, mark);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct shim_mark mark;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request == SIOCRDSIOMAP && shim_marked(fd, &mark))
		return shim_map(fd, arg);
	if (request == SIOCRDSIOUNMAP && shim_marked(fd, &mark))
		return shim_unmap(fd, arg);
	return shim_real()->ioctl(fd, request, arg);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct shim_mark mark;
	uint64_t offset;

	if (!cmsg || cmsg->cmsg_level != SOL_RDS ||
	    cmsg->cmsg_type != RDS_CMSG_STREAM_WRITE)
		return shim_real()->sendmsg(fd, msg, flags);
	if (!shim_marked(fd, &mark))
		return fail(EINVAL);
	memcpy(&offset, CMSG_DATA(cmsg), sizeof(offset));
	return shim_map_write(fd, msg, offset);
}
