/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages over a TCP connection, each preceded by its length in 8 bytes. A
 * program without RDS would do this, so this is the result to compare with.
 */
#ifndef RDS_BENCH_FRAMED_H
#define RDS_BENCH_FRAMED_H

#include "bench/link.h"

extern const struct link_family framed_family;

#endif
