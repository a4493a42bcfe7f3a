/* SPDX-License-Identifier: GPL-2.0 */
/* The kselftest harness, as these tests use it */
#ifndef TEST_H
#define TEST_H

/* This comes first: it selects the GNU declarations. */
#include "kselftest_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "site.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 150

#endif /* TEST_H */
