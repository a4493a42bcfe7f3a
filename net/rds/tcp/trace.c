// SPDX-License-Identifier: GPL-2.0-only
/* Definitions of the tracepoints. */
#include "tcp.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
