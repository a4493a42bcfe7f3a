/* SPDX-License-Identifier: GPL-2.0 */
/* The list of paths, RDS6_INFO_PATHS in rds-info(1) */
#ifndef RDS_PATHS_H
#define RDS_PATHS_H

#include "rds_test.h"

/*
 * Return the paths of the namespace of @fd, which the caller frees, and their
 * number; NULL and 0 on errors.
 */
struct rds6_info_path *rds_paths(int fd, unsigned int *nr);

/*
 * Get the paths from @laddr to @faddr, at most @max of them. Returns how many
 * it got, or -1 on errors.
 */
int rds_paths_between(int fd, const struct rds_name *laddr,
		      const struct rds_name *faddr,
		      struct rds6_info_path *path, unsigned int max);

/*
 * Count the TCP paths of the namespace of @fd that are UP, and get how often
 * all TCP paths have come UP in total. Returns -1 on errors.
 */
int rds_tcp_paths_up(int fd, unsigned long *established);

#endif /* RDS_PATHS_H */
