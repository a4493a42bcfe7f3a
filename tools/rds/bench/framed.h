/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages over a TCP connection, each behind its length in 8 bytes: what a
 * program without RDS would do for the same, and so the mark to reach.
 */
#ifndef RDS_BENCH_FRAMED_H
#define RDS_BENCH_FRAMED_H

#include "bench/link.h"

extern const struct link_family framed_family;

#endif
