/* SPDX-License-Identifier: GPL-2.0 */
/* Print the results, as text for people and as JSON for programs. */
#ifndef RDS_BENCH_REPORT_H
#define RDS_BENCH_REPORT_H

#include "bench/params.h"
#include "bench/tally.h"

/* @unit names what was counted and timed, such as "messages". */
void report_text(const struct params *params, const struct tally *total,
		 const char *unit);
void report_json(const struct params *params, const struct tally *total);

#endif
