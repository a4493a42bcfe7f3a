/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Socket families to compare, behind a common set of calls. The server listens
 * and gets a name, which it sends to the client. The client dials that name and
 * gets a name of its own, which it sends to the server. The server then
 * connects its socket to that name, or accepts the connection.
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
	bool		any_to_any;	/* one socket reaches many peers */
	bool		rds;		/* its sockets are those of RDS */

	/* These return a socket, or -1 with errno set. */
	int (*listen)(const union addr *local, char name[LINK_NAME_SIZE]);
	int (*dial)(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE]);
	/* Takes ownership of @fd, and may return it. */
	int (*answer)(int fd, const char *peer);

	/*
	 * Transfer one whole message. Return values are those of send() and
	 * recv().
	 */
	ssize_t (*send)(int fd, const void *bytes, size_t size);
	ssize_t (*receive)(int fd, void *bytes, size_t size);
};

const struct link_family *link_find(const char *name);

/* Set SO_SNDBUF and SO_RCVBUF to @bytes. Root may exceed the limits. */
int link_set_buffers(int fd, uint32_t bytes);

/*
 * For families whose names are "address,port". On failure, link_parse() returns
 * false, and link_name() returns -1 with errno set.
 */
bool link_parse(const char *name, union addr *addr);
int link_name(int fd, char name[LINK_NAME_SIZE]);

/* For families of AF_UNIX sockets of a @type */
int link_unix_listen(int type, char name[LINK_NAME_SIZE]);
int link_unix_dial(int type, const char *peer, char name[LINK_NAME_SIZE]);

/* Close @fd and return -1. errno does not change. */
int link_close(int fd);

/* Accept one connection and close the listener @fd; see &link_family.answer. */
int link_accept(int fd, const char *peer);

#endif
