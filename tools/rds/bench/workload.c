// SPDX-License-Identifier: GPL-2.0
/* Traffic patterns that can be run between two sides */
#include <string.h>

#include "bench/workload.h"

static const struct workload *const workloads[] = {
	&pingpong_workload,
	&stream_workload,
	&mix_workload,
	&write_workload,
	&read_workload,
	&lend_workload,
};

const struct workload *workload_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		if (!strcmp(workloads[i]->name, name))
			return workloads[i];
	return NULL;
}
