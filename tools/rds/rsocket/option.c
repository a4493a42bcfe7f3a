// SPDX-License-Identifier: GPL-2.0
/*
 * Socket options. Those of the level SOL_RDMA are mapped to those of a stream,
 * or kept for a program that asks for them later.
 */
#include <errno.h>
#include <string.h>
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

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value));
}

static int set_queue(int fd, int name, int entries)
{
	if (entries < 1 || entries > QUEUE_MAX)
		return fail(EINVAL);
	return set_int(fd, SOL_SOCKET, name, entries * QUEUE_ENTRY);
}

/* The kernel tells twice the size that it was asked for. */
static int get_queue(int fd, int name, int *entries)
{
	socklen_t len = sizeof(int);
	int bytes, ret;

	ret = getsockopt(fd, SOL_SOCKET, name, &bytes, &len);
	if (!ret)
		*entries = bytes / 2 / QUEUE_ENTRY;
	return ret;
}

/* Report whether @fd is a socket; only sockets have options. */
static int check_socket(int fd)
{
	socklen_t len = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
}

static int set_inline(int fd, int value)
{
	if (value < 0 || value > QUEUE_MAX)
		return fail(EINVAL);
	if (check_socket(fd))
		return -1;
	return memory_set_inline(fd, value);
}

static int set_route(int fd, const void *route, socklen_t len)
{
	if (!len || len % ROUTE_SIZE || len > ROUTES_MAX * ROUTE_SIZE)
		return fail(EINVAL);
	if (check_socket(fd))
		return -1;
	return memory_set_route(fd, route, len);
}

static int set_rdma(int fd, int name, const void *value, socklen_t len)
{
	int number;

	if (name == RDMA_ROUTE)
		return set_route(fd, value, len);
	if (len < sizeof(number))
		return fail(EINVAL);
	memcpy(&number, value, sizeof(number));
	switch (name) {
	case RDMA_SQSIZE:
		return set_queue(fd, SO_SNDBUF, number);
	case RDMA_RQSIZE:
		return set_queue(fd, SO_RCVBUF, number);
	case RDMA_INLINE:
		return set_inline(fd, number);
	case RDMA_IOMAPSIZE:
		return set_int(fd, SOL_RDS, RDS_STREAM_IOMAP_SIZE, number);
	}
	return fail(ENOPROTOOPT);
}

int rsetsockopt(int socket, int level, int optname, const void *optval,
		socklen_t optlen)
{
	if (level == SOL_RDMA)
		return set_rdma(socket, optname, optval, optlen);
	return setsockopt(socket, level, optname, optval, optlen);
}

static int get_number(int fd, int name, int *number)
{
	socklen_t len = sizeof(*number);

	switch (name) {
	case RDMA_SQSIZE:
		return get_queue(fd, SO_SNDBUF, number);
	case RDMA_RQSIZE:
		return get_queue(fd, SO_RCVBUF, number);
	case RDMA_INLINE:
		*number = memory_get_inline(fd, settings()->inline_size);
		return check_socket(fd);
	case RDMA_IOMAPSIZE:
		return getsockopt(fd, SOL_RDS, RDS_STREAM_IOMAP_SIZE, number,
				  &len);
	}
	return fail(ENOPROTOOPT);
}

static int get_rdma(int fd, int name, void *value, socklen_t *len)
{
	int number;

	if (name == RDMA_ROUTE) {
		if (check_socket(fd))
			return -1;
		*len = memory_get_route(fd, value, *len);
		return 0;
	}
	if (get_number(fd, name, &number))
		return -1;
	if (*len < sizeof(number))
		return fail(EINVAL);
	memcpy(value, &number, sizeof(number));
	*len = sizeof(number);
	return 0;
}

int rgetsockopt(int socket, int level, int optname, void *optval,
		socklen_t *optlen)
{
	if (level == SOL_RDMA)
		return get_rdma(socket, optname, optval, optlen);
	return family_getsockopt(getsockopt, socket, level, optname, optval,
				 optlen);
}
