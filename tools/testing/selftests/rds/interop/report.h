/* SPDX-License-Identifier: GPL-2.0 */
/* The results, as JSON */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "backlog.h"
#include "flow.h"

struct report {
	struct group *groups;
	unsigned int count;
	/* The peer is started again during the run. */
	bool returns;
	/* When its last life had bound its sockets */
	uint64_t met;
	/* Messages that were never sent */
	unsigned int stuck;
	bool gave_up;
	uint64_t start;
	uint64_t end;
	struct counters before;
	struct counters after;
};

void report_write(FILE *file, const struct report *report);

#endif /* REPORT_H */
