/* SPDX-License-Identifier: GPL-2.0 */
/* What the kernel says of RDS: what it has yet to send, and its counters. */
#ifndef BACKLOG_H
#define BACKLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "linux/rds.h"

/*
 * How many messages from the ports @from to @to wait to be sent or, if
 * @unacked, to be acknowledged
 */
unsigned int backlog_messages(int fd, unsigned int from, unsigned int to,
			      bool unacked);

/* Whether a connection between these two addresses is up */
bool backlog_is_connected(int fd, const char *local, const char *remote);

struct counters {
	unsigned int count;
	struct rds_info_counter entry[128];
};

void counters_read(int fd, struct counters *counters);
uint64_t counters_value(const struct counters *counters, const char *name);

#endif /* BACKLOG_H */
