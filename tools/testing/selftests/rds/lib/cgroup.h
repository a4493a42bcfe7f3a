/* SPDX-License-Identifier: GPL-2.0 */
/* A memory cgroup for the processes of a test */
#ifndef RDS_CGROUP_H
#define RDS_CGROUP_H

#include "harness.h"

#include <fcntl.h>
#include <sys/stat.h>

#define CGROUP_ROOT	"/sys/fs/cgroup"

/* Write @text to a file. Returns 0 or a negative errno. */
static inline int cgroup_write(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	int ret = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Create the cgroup @dir, and move the caller there. */
static inline int cgroup_enter(const char *dir)
{
	char file[80];
	int ret;

	ret = cgroup_write(CGROUP_ROOT "/cgroup.subtree_control", "+memory");
	if (ret)
		return ret;
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	snprintf(file, sizeof(file), "%s/cgroup.procs", dir);
	return cgroup_write(file, "0");
}

/* Move the caller to the root. */
static inline int cgroup_leave(void)
{
	return cgroup_write(CGROUP_ROOT "/cgroup.procs", "0");
}

#endif /* RDS_CGROUP_H */
