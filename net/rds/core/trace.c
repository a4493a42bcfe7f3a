// SPDX-License-Identifier: GPL-2.0-only
/* Definitions of the tracepoints. */
#include <net/sock.h>

#define CREATE_TRACE_POINTS
#include <trace/events/rds.h>
