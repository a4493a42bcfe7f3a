/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels, by the name of the feature. The rest of the
 * tree reads as if only the newest existed.
 */
#ifndef _RDS_CORE_COMPAT_H
#define _RDS_CORE_COMPAT_H

#include <linux/kconfig.h>
#include <linux/export.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
#include <net/net_namespace.h>

/* Symbols that only the KUnit module uses */
#if IS_ENABLED(CONFIG_RDS_KUNIT_TEST)
#define EXPORT_SYMBOL_RDS_KUNIT(sym)	EXPORT_SYMBOL_GPL(sym)
#else
#define EXPORT_SYMBOL_RDS_KUNIT(sym)
#endif

/* Since 6.11 a handler sees its table as const and needs no end marker. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define RDS_CTL_CONST		const
#define RDS_SYSCTL_END_MARKERS	0

static inline struct ctl_table_header *
rds_register_net_sysctl(struct net *net, const char *path,
			struct ctl_table *table, size_t size)
{
	return register_net_sysctl_sz(net, path, table, size);
}
#else
#define RDS_CTL_CONST
#define RDS_SYSCTL_END_MARKERS	1

static inline struct ctl_table_header *
rds_register_net_sysctl(struct net *net, const char *path,
			struct ctl_table *table, size_t size)
{
	return register_net_sysctl(net, path, table);
}
#endif

#endif /* _RDS_CORE_COMPAT_H */
