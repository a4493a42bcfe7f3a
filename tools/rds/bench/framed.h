/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Messages over a stream, each preceded by its length in 8 bytes: of TCP, of
 * RDS, or of AF_UNIX. A program without messages of RDS would do this, so this
 * is the result to compare with.
 */
#ifndef RDS_BENCH_FRAMED_H
#define RDS_BENCH_FRAMED_H

#include "bench/link.h"

extern const struct link_family framed_tcp_family;
extern const struct link_family framed_rds_family;
extern const struct link_family framed_unix_family;

#endif
