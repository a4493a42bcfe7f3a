/* SPDX-License-Identifier: GPL-2.0 */
/* The kselftest harness as the RDS tests use it */
#ifndef RDS_HARNESS_H
#define RDS_HARNESS_H

/* First: it selects the GNU declarations */
#include "kselftest_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rds_test.h"

/*
 * How long a hanging test may hang. A kernel with every debugging option,
 * emulated on a shared machine, needs seconds for what takes others
 * milliseconds; no verdict depends on it.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 150

#endif /* RDS_HARNESS_H */
