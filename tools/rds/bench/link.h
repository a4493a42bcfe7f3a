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

#include "addr.h"

#define LINK_NAME_SIZE (ADDR_TEXT_SIZE + 8)

struct link_family {
	const char	*name;
	bool		any_to_any;	/* one socket talks to many */
	bool		one_host;	/* both sides must be on one */

	/* These return a socket, or -1 with errno. */
	int (*listen)(const union addr *local, char name[LINK_NAME_SIZE]);
	int (*dial)(const union addr *local, const char *peer,
		    char name[LINK_NAME_SIZE]);
	/* Takes over @fd, which it may return. */
	int (*answer)(int fd, const char *peer);
};

const struct link_family *link_find(const char *name);

/* Set SO_SNDBUF and SO_RCVBUF to @bytes, as root also beyond the limits. */
int link_set_buffers(int fd, uint32_t bytes);

/* The address in a name of the RDS family; false if it is not one. */
bool link_parse(const char *name, union addr *addr);

#endif
