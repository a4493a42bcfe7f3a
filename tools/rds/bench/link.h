/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Socket families to compare, behind one set of calls. The server listens
 * and learns a name to tell the client, the client dials it and gets one of
 * its own, the server answers that.
 */
#ifndef RDS_BENCH_LINK_H
#define RDS_BENCH_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "addr.h"

#define LINK_NAME_SIZE (ADDR_TEXT_SIZE + 8)

struct link_family {
	const char	*name;
	bool		any_to_any;	/* one socket talks to many */

	/* These return a socket, or -1 with errno. */
	int (*listen)(const union addr *local, char name[LINK_NAME_SIZE]);
	int (*dial)(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE]);
	/* Takes over @fd, which it may return. */
	int (*answer)(int fd, const char *peer);

	/* One whole message, as send() and recv() do it */
	ssize_t (*send)(int fd, const void *bytes, size_t size);
	ssize_t (*receive)(int fd, void *bytes, size_t size);
};

const struct link_family *link_find(const char *name);

/* Set SO_SNDBUF and SO_RCVBUF to @bytes, as root also beyond the limits. */
int link_set_buffers(int fd, uint32_t bytes);

/*
 * For families whose names are "address,port". Both tell of failure: the
 * second by -1 with errno.
 */
bool link_parse(const char *name, union addr *addr);
int link_name(int fd, char name[LINK_NAME_SIZE]);

/* Close @fd and return -1, with errno as it was. */
int link_close(int fd);

/* Accept one connection and close the listener @fd. */
int link_accept(int fd);

#endif
