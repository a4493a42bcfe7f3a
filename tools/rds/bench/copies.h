/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The floor for anything that goes through the kernel: copy a message in and
 * copy it out again.
 */
#ifndef RDS_BENCH_COPIES_H
#define RDS_BENCH_COPIES_H

#include "bench/params.h"
#include "bench/tally.h"

void copies_run(const struct params *params, struct tally *total);

#endif
