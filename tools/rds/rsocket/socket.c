// SPDX-License-Identifier: GPL-2.0
/* rsocket() and the calls for connections and names */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
#include <netinet/in.h>

#include "family.h"
#include "memory.h"
#include "rdsocket.h"
#include "settings.h"
#include "stream.h"

static int fail(int error)
{
	errno = error;
	return -1;
}

int rsocket(int domain, int type, int protocol)
{
	int fd, plain = type & ~SOCKET_FLAGS;

	if (domain != AF_INET && domain != AF_INET6)
		return fail(EAFNOSUPPORT);
	if (plain == SOCK_DGRAM) {
		fd = socket(domain, type, protocol);
	} else if (plain == SOCK_STREAM) {
		if (!family_has_streams(domain, type, protocol))
			return fail(EPROTONOSUPPORT);
		fd = socket(AF_RDS, type, family_protocol(domain));
	} else {
		return fail(ESOCKTNOSUPPORT);
	}
	if (fd >= 0)
		settings_apply(fd);
	return fd;
}

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return bind(socket, addr, addrlen);
}

int rlisten(int socket, int backlog)
{
	return listen(socket, backlog);
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	int fd = accept(socket, addr, addrlen);

	if (fd >= 0)
		memory_copy(socket, fd);
	return fd;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
	return connect(socket, addr, addrlen);
}

int rshutdown(int socket, int how)
{
	return shutdown(socket, how);
}

int rclose(int socket)
{
	memory_forget(socket);
	return close(socket);
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return getpeername(socket, addr, addrlen);
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
	return getsockname(socket, addr, addrlen);
}

/* Every command has one argument or none, and an int fits into a pointer. */
int rfcntl(int socket, int cmd, ...)
{
	va_list args;
	void *arg;
	int ret;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	ret = fcntl(socket, cmd, arg);
	if (ret >= 0 && (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC))
		memory_copy(socket, ret);
	return ret;
}
