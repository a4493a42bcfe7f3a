/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel reports about RDS: the messages that wait, and its counters
 */
#ifndef BACKLOG_H
#define BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/rds.h"

/*
 * Count the messages from the ports @from to @to that wait to be sent or, if
 * @unacked, to be acknowledged.
 */
unsigned int backlog_messages(int fd, unsigned int from, unsigned int to,
			      bool unacked);

/* Check whether a connection between these two addresses is up. */
bool backlog_is_connected(int fd, const char *local, const char *remote);

struct counters {
	unsigned int count;
	struct rds_info_counter entry[128];
};

void counters_read(int fd, struct counters *counters);
uint64_t counters_value(const struct counters *counters, const char *name);

#endif /* BACKLOG_H */
