/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences that concern both core and transports, named after
 * the feature that differs. Differences that concern one module only are in the
 * compat.h of that module.
 */
#ifndef _NET_RDS_COMPAT_H
#define _NET_RDS_COMPAT_H

#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

/* Since 6.11, a handler gets its table as const. Tables need no end marker. */
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

/* Since 6.19, socket operations take addresses of unspecified size. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
#define rds_sockaddr	sockaddr_unsized
#else
#define rds_sockaddr	sockaddr
#endif

#endif /* _NET_RDS_COMPAT_H */
