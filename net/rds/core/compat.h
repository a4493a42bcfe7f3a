/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, by the name of the feature. The rest of the
 * tree reads as if only the newest existed.
 */
#ifndef _RDS_CORE_COMPAT_H
#define _RDS_CORE_COMPAT_H

#include <linux/kconfig.h>
#include <linux/export.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Symbols that only the KUnit module uses */
#if IS_ENABLED(CONFIG_RDS_KUNIT_TEST)
#define EXPORT_SYMBOL_RDS_KUNIT(sym)	EXPORT_SYMBOL_GPL(sym)
#else
#define EXPORT_SYMBOL_RDS_KUNIT(sym)
#endif

#endif /* _RDS_CORE_COMPAT_H */
