/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences that concern both core and transports, named after
 * the feature that differs. Differences that concern one module only are in the
 * compat.h of that module.
 */
#ifndef _NET_RDS_COMPAT_H
#define _NET_RDS_COMPAT_H

#include <linux/highmem.h>
#include <linux/sysctl.h>
#include <linux/uio.h>
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

/* Before 6.5, splice() from a socket passed an iterator over a pipe.
 * copy_page_to_iter() gives the page itself to a pipe, which takes it for one
 * of the page cache, and fails to read it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
static inline size_t rds_copy_to_pipe(struct page *page, size_t offset,
				      size_t bytes, struct iov_iter *to)
{
	size_t done = 0, part, got;
	void *from;

	while (done < bytes) {
		part = min(bytes - done, PAGE_SIZE - offset_in_page(offset));
		from = kmap_local_page(nth_page(page, offset / PAGE_SIZE));
		got = copy_to_iter(from + offset_in_page(offset), part, to);
		kunmap_local(from);
		done += got;
		offset += got;
		if (got < part)
			break;
	}
	return done;
}

static inline size_t rds_copy_page_to_iter(struct page *page, size_t offset,
					   size_t bytes, struct iov_iter *to)
{
	if (unlikely(iov_iter_is_pipe(to)))
		return rds_copy_to_pipe(page, offset, bytes, to);
	return copy_page_to_iter(page, offset, bytes, to);
}
#else
static inline size_t rds_copy_page_to_iter(struct page *page, size_t offset,
					   size_t bytes, struct iov_iter *to)
{
	return copy_page_to_iter(page, offset, bytes, to);
}
#endif

#endif /* _NET_RDS_COMPAT_H */
