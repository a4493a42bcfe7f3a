// SPDX-License-Identifier: GPL-2.0
/* The socket of watch.h */
#include <poll.h>
#include <sys/time.h>
#include <unistd.h>

#include "watch.h"

/*
 * The send buffer of the socket is full of a message to an address of no host.
 * If a port is congested, a send to it fails with -ENOBUFS. If it is not, the
 * send fails with -EAGAIN because the send buffer is full. So the test never
 * sends a message.
 */
int watch_open(const char *addr, const char *stranger)
{
	struct rds_name nobody = rds_name(stranger, 4000);
	static char fill[8192];
	int fd = rds_bound(addr, 0);

	rds_sndbuf(fd, sizeof(fill));
	if (rds_sendto(fd, fill, sizeof(fill), 0, &nobody) == sizeof(fill))
		return fd;
	close(fd);
	return -1;
}

bool watch_await(int watch, const struct rds_name *port, bool congested)
{
	struct pollfd told = { .fd = watch, .events = POLLIN };
	long wanted = congested ? -ENOBUFS : -EAGAIN;
	unsigned int left;

	for (left = 30000; left; left--) {
		if (ERR(rds_sendto(watch, "x", 1, MSG_DONTWAIT, port)) ==
		    wanted)
			break;
		usleep(1000);
	}
	/* Sockets are notified a moment after the change becomes visible. */
	poll(&told, 1, 30);
	return left;
}

static bool answers(int fd, const char *host)
{
	struct rds_name name = rds_name(host, 0);
	char byte;

	return rds_sendto(fd, NULL, 0, 0, &name) == 0 &&
	       recv(fd, &byte, 1, 0) == 0;
}

/*
 * The connection of an address to itself delivers its map from both of its
 * ends. It may deliver an old map after another connection has delivered a
 * newer one. A connection delivers a map before any message that is sent later.
 * So ping both addresses, which may belong to one host, and wait for the pongs.
 * If an address does not answer, because it does not read at present, it
 * delivers no map either.
 */
bool watch_await_maps(const char *a, const char *b)
{
	static const struct timeval patience = { .tv_sec = 2 };
	int fd = rds_bound(b, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
				 sizeof(patience)))
		return false;
	if (answers(fd, a))
		answers(fd, b);
	close(fd);
	return true;
}
