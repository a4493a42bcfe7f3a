/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copy a message into the kernel and out again. This is the lower bound for
 * everything that passes through the kernel.
 */
#ifndef RDS_BENCH_COPIES_H
#define RDS_BENCH_COPIES_H

#include "bench/params.h"
#include "bench/tally.h"

void copies_run(const struct params *params, struct tally *total);

#endif
