/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel version differences of streams, named after the feature that differs.
 * All other code is written for the newest kernel only.
 */
#ifndef _RDS_STREAM_COMPAT_H
#define _RDS_STREAM_COMPAT_H

#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/socket.h>
#include <linux/timer.h>
#include <linux/version.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
#include <net/ipv6_stubs.h>
#endif

/* Until 6.16, from_timer() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define timer_container_of(var, callback_timer, timer_fieldname) \
	from_timer(var, callback_timer, timer_fieldname)
#endif

/* Until 7.1, IPv6 could be a module, and was reached by stubs. */
static inline struct dst_entry *rds_stream_route_v6(struct net *net,
						    struct flowi6 *fl6)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	return ipv6_stub->ipv6_dst_lookup_flow(net, NULL, fl6, NULL);
#elif IS_ENABLED(CONFIG_IPV6)
	return ip6_dst_lookup_flow(net, NULL, fl6, NULL);
#else
	return ERR_PTR(-EAFNOSUPPORT);
#endif
}

/* Since 6.7 at the latest, a family may process options of SOL_SOCKET. */
static inline void rds_stream_take_sol_socket(struct socket *sock)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
#endif
}

/* Until 6.10, the arguments of accept() came one by one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define RDS_STREAM_ACCEPT_ARGS		struct proto_accept_arg *arg
#define RDS_STREAM_ACCEPT_FLAGS		(arg->flags)
#else
#define RDS_STREAM_ACCEPT_ARGS		int flags, bool kern
#define RDS_STREAM_ACCEPT_FLAGS		(flags)
#endif

/* Since 6.5, splice() tells that what it has sent was the end of the file. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define RDS_STREAM_SPLICE_EOF(fn)	.splice_eof = fn,
#else
#define RDS_STREAM_SPLICE_EOF(fn)
#endif

#endif /* _RDS_STREAM_COMPAT_H */
