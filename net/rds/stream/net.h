/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of streams in a namespace. */
#ifndef _RDS_STREAM_NET_H
#define _RDS_STREAM_NET_H

#include <linux/hashtable.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/netns/generic.h>

#include "quota.h"
#include "stats.h"

struct ctl_table_header;

/**
 * struct rds_stream_sysctl - values of /proc/sys/net/rds/stream
 * @closed_max: streams whose socket is closed
 * @close_stall_ms: how long such a stream may get nothing acknowledged
 * @close_max_ms: how long such a stream may exist
 * @unaccepted_credit: credit of a stream that waits for accept(), in bytes
 */
struct rds_stream_sysctl {
	int	closed_max;
	int	close_stall_ms;
	int	close_max_ms;
	int	unaccepted_credit;
};

/**
 * struct rds_stream_net - streams of one namespace
 * @sn_lock: guards @sn_binds
 * @sn_binds: bound sockets, by port
 * @sn_listen_lock: guards @sn_listeners
 * @sn_listeners: those that listen, by port
 * @sn_closed: streams whose socket is closed
 * @sn_resets: RSTs that core has not finished with; see reset.c
 * @sn_old_resets: those that have waited for longer
 * @sn_nr_resets: number of both
 * @sn_reset_work: gives up those that have waited for too long
 * @sn_sysctl: values of sysctls
 * @sn_sysctl_hdr: their registration
 * @sn_stats: counters
 */
struct rds_stream_net {
	spinlock_t		sn_lock;	/* guards sn_binds */
	DECLARE_HASHTABLE(sn_binds, 8);
	spinlock_t		sn_listen_lock;	/* guards sn_listeners */
	DECLARE_HASHTABLE(sn_listeners, 8);
	struct rds_stream_quota	sn_closed;
	struct list_head	sn_resets;
	struct list_head	sn_old_resets;
	struct rds_stream_quota	sn_nr_resets;
	struct delayed_work	sn_reset_work;
	struct rds_stream_sysctl sn_sysctl;
	struct ctl_table_header	*sn_sysctl_hdr;
	struct rds_stream_stats	sn_stats;
};

extern unsigned int rds_stream_net_id;

static inline struct rds_stream_net *rds_stream_net(const struct net *net)
{
	return net_generic(net, rds_stream_net_id);
}

/**
 * rds_stream_closed_max() - Get the limit on closed streams and waiting RSTs
 * @sn: the state of a namespace
 *
 * The owner of a namespace sets its limit, but init_net's limit caps it.
 *
 * Context: Any context.
 * Return: the limit.
 */
static inline int rds_stream_closed_max(const struct rds_stream_net *sn)
{
	const struct rds_stream_net *host = rds_stream_net(&init_net);

	return min(READ_ONCE(sn->sn_sysctl.closed_max),
		   READ_ONCE(host->sn_sysctl.closed_max));
}

#define rds_stream_stat_inc(sn, name)	atomic64_inc(&(sn)->sn_stats.name)

void rds_stream_net_init(struct rds_stream_net *sn);

#endif /* _RDS_STREAM_NET_H */
