// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "points.h"

#define POINTS "/sys/kernel/debug/rds_fail"

bool points_read(struct points *points)
{
	FILE *file = fopen(POINTS, "re");
	unsigned long reached, failed;
	unsigned int id;

	memset(points, 0, sizeof(*points));
	if (!file) {
		perror(POINTS);
		return false;
	}
	while (fscanf(file, "%u %lu %lu %*[^\n]", &id, &reached,
		      &failed) == 3 && id && id <= POINTS_MOST) {
		points->nr = id;
		points->reached[id] = reached;
		points->failed[id] = failed;
	}
	fclose(file);
	return true;
}

bool points_arm(unsigned int id, unsigned long in)
{
	int fd = open(POINTS, O_WRONLY | O_CLOEXEC);
	bool ok;

	ok = fd >= 0 && dprintf(fd, "%u %lu", id, in) > 0;
	if (!ok)
		perror(POINTS);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool points_disarm(void)
{
	return points_arm(0, 0);
}

void points_report(void)
{
	unsigned int id, failed = 0;
	unsigned long failures = 0;
	struct points points;

	if (!points_read(&points))
		return;
	for (id = 1; id <= points.nr; id++) {
		failed += points.failed[id] != 0;
		failures += points.failed[id];
	}
	printf("# %u points reached, %u failed, %lu times\n", points.nr,
	       failed, failures);
}
