// SPDX-License-Identifier: GPL-2.0
/* Socket families to compare, behind a common set of calls */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/un.h>

#include "bench/framed.h"
#include "bench/link.h"
#include "sock.h"

int link_close(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
	return -1;
}

bool link_parse(const char *name, union addr *addr)
{
	const char *comma = strrchr(name, ',');
	char text[ADDR_TEXT_SIZE];

	if (!comma || (size_t)(comma - name) >= sizeof(text))
		return false;
	memcpy(text, name, comma - name);
	text[comma - name] = '\0';
	if (addr_resolve(addr, text, AF_UNSPEC))
		return false;
	addr_set_port(addr, atoi(comma + 1));
	return true;
}

int link_name(int fd, char name[LINK_NAME_SIZE])
{
	socklen_t len = sizeof(union addr);
	char text[ADDR_TEXT_SIZE];
	union addr bound;

	if (getsockname(fd, &bound.sa, &len))
		return -1;
	snprintf(name, LINK_NAME_SIZE, "%s,%u", addr_text(&bound, text),
		 addr_port(&bound));
	return 0;
}

int link_accept(int fd, const char *peer)
{
	int accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)peer;
	if (accepted < 0)
		return link_close(fd);
	close(fd);
	return accepted;
}

/* For families in which one system call transfers one message */

static ssize_t plain_send(int fd, const void *bytes, size_t size)
{
	return send(fd, bytes, size, 0);
}

static ssize_t plain_receive(int fd, void *bytes, size_t size)
{
	return recv(fd, bytes, size, 0);
}

/* RDS */

static int rds_listen(const union addr *local, char name[LINK_NAME_SIZE])
{
	int fd;

	fd = rds_socket(0);
	if (fd < 0)
		return -1;
	if (bind(fd, &local->sa, addr_len(local)) || link_name(fd, name))
		return link_close(fd);
	return fd;
}

static int rds_answer(int fd, const char *peer)
{
	union addr addr;

	if (!link_parse(peer, &addr)) {
		errno = EINVAL;
		return link_close(fd);
	}
	if (connect(fd, &addr.sa, addr_len(&addr)))
		return link_close(fd);
	return fd;
}

static int rds_dial(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE])
{
	int fd = rds_listen(local, name);

	return fd < 0 ? -1 : rds_answer(fd, peer);
}

/* AF_UNIX: the kernel chooses an abstract name, in hex. */

int link_unix_listen(int type, char name[LINK_NAME_SIZE])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(addr);
	int fd;

	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	/* Given only a family, the kernel picks a free abstract name. */
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr.sun_family)) ||
	    listen(fd, 1) || getsockname(fd, (struct sockaddr *)&addr, &len))
		return link_close(fd);
	len -= offsetof(struct sockaddr_un, sun_path) + 1;
	snprintf(name, LINK_NAME_SIZE, "%.*s", (int)len, addr.sun_path + 1);
	return fd;
}

int link_unix_dial(int type, const char *peer, char name[LINK_NAME_SIZE])
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	size_t len = strlen(peer);
	int fd;

	if (len > sizeof(addr.sun_path) - 1) {
		errno = EINVAL;
		return -1;
	}
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	memcpy(addr.sun_path + 1, peer, len);
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	if (connect(fd, (struct sockaddr *)&addr, len))
		return link_close(fd);
	snprintf(name, LINK_NAME_SIZE, "-");
	return fd;
}

static int unix_listen(const union addr *local, char name[LINK_NAME_SIZE])
{
	(void)local;
	return link_unix_listen(SOCK_SEQPACKET, name);
}

static int unix_dial(const union addr *local, const char *peer,
		     char name[LINK_NAME_SIZE])
{
	(void)local;
	return link_unix_dial(SOCK_SEQPACKET, peer, name);
}

static const struct link_family rds_link_family = {
	.name = "rds",
	.any_to_any = true,
	.rds = true,
	.listen = rds_listen,
	.dial = rds_dial,
	.answer = rds_answer,
	.send = plain_send,
	.receive = plain_receive,
};

static const struct link_family unix_family = {
	.name = "seqpacket",
	.listen = unix_listen,
	.dial = unix_dial,
	.answer = link_accept,
	.send = plain_send,
	.receive = plain_receive,
};

static const struct link_family *const families[] = {
	&rds_link_family,
	&unix_family,
	&framed_tcp_family,
	&framed_rds_family,
	&framed_unix_family,
};

const struct link_family *link_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(families[i]->name, name))
			return families[i];
	return NULL;
}

static int set_buffer(int fd, int forced, int limited, int bytes)
{
	socklen_t len = sizeof(int);
	int got;

	if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, limited, &bytes, sizeof(bytes)))
		return -1;
	if (getsockopt(fd, SOL_SOCKET, limited, &got, &len))
		return -1;
	/* The kernel doubles the value that it is given. */
	if (got / 2 < bytes) {
		errno = EPERM;
		return -1;
	}
	return 0;
}

int link_set_buffers(int fd, uint32_t bytes)
{
	if (set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, bytes))
		return -1;
	return set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}
