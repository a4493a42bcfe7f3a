/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A socket that can test whether a port of a peer is congested, and that sends
 * nothing in doing so
 */
#ifndef RDS_WATCH_H
#define RDS_WATCH_H

#include <stdbool.h>

#include "rds_test.h"

/* Open the socket at @addr. @stranger is an address of no host. */
int watch_open(const char *addr, const char *stranger);
/* Wait until the socket's end knows that a port is congested, or is not. */
bool watch_await(int watch, const struct rds_name *port, bool congested);
/*
 * Wait for the congestion maps that are on their way between two addresses of
 * one namespace.
 */
bool watch_await_maps(const char *a, const char *b);

#endif /* RDS_WATCH_H */
