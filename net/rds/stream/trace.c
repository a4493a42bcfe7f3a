// SPDX-License-Identifier: GPL-2.0-only
/* Definitions of the tracepoints. */
#include "stream.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
