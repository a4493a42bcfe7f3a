/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel log: whether a case of the fuzzer has led to a complaint */
#ifndef RDS_FUZZ_LOG_H
#define RDS_FUZZ_LOG_H

#include <stdbool.h>

/* Begin after what is in the log now. */
void fuzz_log_open(void);
/* Whether the kernel has complained since the last call */
bool fuzz_log_complains(void);

#endif /* RDS_FUZZ_LOG_H */
