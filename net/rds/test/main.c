// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of RDS; they run when the module is loaded. */
#include <linux/module.h>

MODULE_DESCRIPTION("RDS: KUnit tests");
MODULE_LICENSE("GPL");
