// SPDX-License-Identifier: GPL-2.0
/* Sending and receiving */
#include <unistd.h>

#include "rdsocket.h"
#include "wait.h"

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
	wait_for_data(socket, flags);
	return recv(socket, buf, len, flags);
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags,
		  struct sockaddr *src_addr, socklen_t *addrlen)
{
	wait_for_data(socket, flags);
	return recvfrom(socket, buf, len, flags, src_addr, addrlen);
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
	wait_for_data(socket, flags);
	return recvmsg(socket, msg, flags);
}

ssize_t rread(int socket, void *buf, size_t count)
{
	wait_for_data(socket, 0);
	return read(socket, buf, count);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
	wait_for_data(socket, 0);
	return readv(socket, iov, iovcnt);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
	return send(socket, buf, len, flags);
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags,
		const struct sockaddr *dest_addr, socklen_t addrlen)
{
	return sendto(socket, buf, len, flags, dest_addr, addrlen);
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
	return sendmsg(socket, msg, flags);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
	return write(socket, buf, count);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
	return writev(socket, iov, iovcnt);
}
