// SPDX-License-Identifier: GPL-2.0
/* The list of paths.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

struct rds6_info_path *rds_paths(int fd, unsigned int *nr)
{
	struct rds6_info_path *path = NULL, *more;
	socklen_t len = 64 * sizeof(*path);

	do {
		len *= 2;
		more = realloc(path, len);
		if (!more)
			break;
		path = more;
		if (getsockopt(fd, SOL_RDS, RDS6_INFO_PATHS, path, &len) >= 0) {
			*nr = len / sizeof(*path);
			return path;
		}
	} while (errno == ENOSPC);
	free(path);
	*nr = 0;
	return NULL;
}

int rds_paths_between(int fd, const struct rds_name *laddr,
		      const struct rds_name *faddr,
		      struct rds6_info_path *path, unsigned int max)
{
	struct in6_addr local = rds_addr6(laddr), peer = rds_addr6(faddr);
	unsigned int i, nr, count = 0;
	struct rds6_info_path *all;

	all = rds_paths(fd, &nr);
	if (!all)
		return -1;
	for (i = 0; i < nr && count < max; i++)
		if (!memcmp(&all[i].laddr, &local, sizeof(local)) &&
		    !memcmp(&all[i].faddr, &peer, sizeof(peer)))
			path[count++] = all[i];
	free(all);
	return count;
}

int rds_tcp_paths_up(int fd, unsigned long *established)
{
	struct rds6_info_path *path;
	unsigned int i, nr;
	int up = 0;

	*established = 0;
	path = rds_paths(fd, &nr);
	if (!path)
		return -1;
	for (i = 0; i < nr; i++) {
		if (strcmp((char *)path[i].transport, "tcp"))
			continue;
		up += path[i].state == PATH_UP;
		*established += path[i].established;
	}
	free(path);
	return up;
}
