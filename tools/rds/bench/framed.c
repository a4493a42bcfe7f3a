// SPDX-License-Identifier: GPL-2.0
/* Messages over a stream, each preceded by its length in 8 bytes */
#include <endian.h>
#include <errno.h>
#include <unistd.h>
#include <netinet/tcp.h>
#include <sys/uio.h>

#include "bench/framed.h"
#include "sock.h"

/* Return a bound socket of family @domain. Streams of RDS have a protocol for
 * each family of names. An accepted socket inherits the options.
 */
static int framed_socket(int domain, const union addr *local)
{
	int protocol = domain == AF_RDS && local->sa.sa_family == AF_INET6;
	int one = 1;
	int fd;

	fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC, protocol);
	if (fd < 0)
		return -1;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    bind(fd, &local->sa, addr_len(local)))
		return link_close(fd);
	return fd;
}

static int framed_listen(int domain, const union addr *local,
			 char name[LINK_NAME_SIZE])
{
	int fd = framed_socket(domain, local);

	if (fd < 0)
		return -1;
	if (listen(fd, 1) || link_name(fd, name))
		return link_close(fd);
	return fd;
}

static int framed_dial(int domain, const union addr *local, const char *peer,
		       char name[LINK_NAME_SIZE])
{
	union addr addr;
	int fd;

	if (!link_parse(peer, &addr)) {
		errno = EINVAL;
		return -1;
	}
	fd = framed_socket(domain, local);
	if (fd < 0)
		return -1;
	if (connect(fd, &addr.sa, addr_len(&addr)) || link_name(fd, name))
		return link_close(fd);
	return fd;
}

static int tcp_listen(const union addr *local, char name[LINK_NAME_SIZE])
{
	return framed_listen(local->sa.sa_family, local, name);
}

static int tcp_dial(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE])
{
	return framed_dial(local->sa.sa_family, local, peer, name);
}

static int rds_listen(const union addr *local, char name[LINK_NAME_SIZE])
{
	return framed_listen(AF_RDS, local, name);
}

static int rds_dial(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE])
{
	return framed_dial(AF_RDS, local, peer, name);
}

static int unix_listen(const union addr *local, char name[LINK_NAME_SIZE])
{
	(void)local;
	return link_unix_listen(SOCK_STREAM, name);
}

static int unix_dial(const union addr *local, const char *peer,
		     char name[LINK_NAME_SIZE])
{
	(void)local;
	return link_unix_dial(SOCK_STREAM, peer, name);
}

/* A blocking call transfers everything, or less if it is interrupted. */
static ssize_t all_or_interrupted(ssize_t ret, size_t size)
{
	if (ret < 0 || ret == (ssize_t)size)
		return ret;
	errno = ret ? EINTR : ECONNRESET;
	return -1;
}

static ssize_t framed_send(int fd, const void *bytes, size_t size)
{
	uint64_t header = htobe64(size);
	struct iovec parts[] = {
		{ .iov_base = &header, .iov_len = sizeof(header) },
		{ .iov_base = (void *)bytes, .iov_len = size },
	};
	struct msghdr msg = {
		.msg_iov = parts,
		.msg_iovlen = 2,
	};
	ssize_t ret;

	ret = all_or_interrupted(sendmsg(fd, &msg, MSG_NOSIGNAL),
				 sizeof(header) + size);
	return ret < 0 ? ret : (ssize_t)size;
}

static ssize_t framed_receive(int fd, void *bytes, size_t room)
{
	uint64_t header;
	size_t size;

	if (all_or_interrupted(recv(fd, &header, sizeof(header), MSG_WAITALL),
			       sizeof(header)) < 0)
		return -1;
	size = be64toh(header);
	if (!size)
		return 0;
	if (size > room) {
		errno = EMSGSIZE;
		return -1;
	}
	return all_or_interrupted(recv(fd, bytes, size, MSG_WAITALL), size);
}

const struct link_family framed_tcp_family = {
	.name = "tcp",
	.listen = tcp_listen,
	.dial = tcp_dial,
	.answer = link_accept,
	.send = framed_send,
	.receive = framed_receive,
};

const struct link_family framed_rds_family = {
	.name = "stream",
	.rds = true,
	.listen = rds_listen,
	.dial = rds_dial,
	.answer = link_accept,
	.send = framed_send,
	.receive = framed_receive,
};

const struct link_family framed_unix_family = {
	.name = "unix",
	.listen = unix_listen,
	.dial = unix_dial,
	.answer = link_accept,
	.send = framed_send,
	.receive = framed_receive,
};
