/* SPDX-License-Identifier: GPL-2.0-only */
/* What a network namespace has of RDS. */
#ifndef _RDS_CORE_RDS_NET_H
#define _RDS_CORE_RDS_NET_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "stats.h"

/**
 * struct rds_sysctl - values of /proc/sys/net/rds
 * @reconnect_min_ms: least ceiling of the reconnect delay
 * @reconnect_max_ms: greatest ceiling of the reconnect delay
 * @max_unacked_packets: messages on a path between two requests for an ack
 * @max_unacked_bytes: bytes on a path between two requests for an ack
 * @ping_enable: answer pings
 * @rx_held_max: bytes of memory that unread messages may hold
 * @max_conns: connections that there may be
 * @max_conns_per_user: those that one user may have had made
 * @pongs_max: answers to pings that may wait
 * @op_timeout_ms: how long a peer may leave operations in software unanswered
 * @autoload: load transport modules on demand; meaningful in init_net
 */
struct rds_sysctl {
	int	reconnect_min_ms;
	int	reconnect_max_ms;
	int	max_unacked_packets;
	int	max_unacked_bytes;
	int	ping_enable;
	int	rx_held_max;
	int	max_conns;
	int	max_conns_per_user;
	int	pongs_max;
	int	op_timeout_ms;
	int	autoload;
};

/**
 * struct rds_net - RDS in one namespace
 * @rn_net: the namespace
 * @rn_item: on the list of all namespaces; guarded by its mutex
 * @rn_binds: bound sockets by address; see bind.c
 * @rn_lock: serialises those who make and destroy connections
 * @rn_conns: connections by key; see conn.c
 * @rn_conn_list: every connection; guarded by @rn_lock
 * @rn_loop_conns: how many of those are loopback's; guarded by @rn_lock
 * @rn_nr_conns: how many there are; guarded by @rn_lock
 * @rn_conn_users: who has had them made, see conn_limit.c; likewise
 * @rn_reap_at: when idle ones may be looked for again; guarded by @rn_lock
 * @rn_reap: frees connections with a wire that nobody uses
 * @rn_gen: generation number: tells this life of the namespace from others
 * @rn_exiting: no new connection may be made; set under @rn_lock
 * @rn_map_lock: guards @rn_maps
 * @rn_maps: congestion maps by address; see cong.c
 * @rn_sock_lock: guards @rn_socks
 * @rn_socks: every socket
 * @rn_cong_lock: guards @rn_cong_socks and the links on it
 * @rn_cong_socks: sockets that wait for a change of congestion
 * @rn_cong_ver: counts changes of congestion maps
 * @rn_npongs: answers to pings that have not been acknowledged
 * @rn_rx_traces: sockets that want receive path latencies
 * @rn_sw_mrs: memory that peers reach without a device; see sw_mr.c
 * @rn_host: that of the first namespace, whose limits are the host's
 * @rn_sysctl: tunables
 * @rn_sysctl_hdr: their registration
 * @rn_stats: counters
 */
struct rds_net {
	struct net		*rn_net;
	struct list_head	rn_item;

	struct rhashtable	rn_binds;

	struct mutex		rn_lock;	/* guards connections */
	struct rhashtable	rn_conns;
	struct list_head	rn_conn_list;
	unsigned int		rn_loop_conns;
	unsigned int		rn_nr_conns;
	DECLARE_HASHTABLE(rn_conn_users, 6);
	unsigned long		rn_reap_at;
	struct delayed_work	rn_reap;
	u32			rn_gen;
	bool			rn_exiting;

	spinlock_t		rn_map_lock;	/* guards rn_maps */
	struct rhashtable	rn_maps;

	struct mutex		rn_sock_lock;	/* guards rn_socks */
	struct list_head	rn_socks;

	spinlock_t		rn_cong_lock;	/* guards rn_cong_socks */
	struct list_head	rn_cong_socks;
	atomic_t		rn_cong_ver;

	atomic_t		rn_npongs;
	atomic_t		rn_rx_traces;
	struct xarray		rn_sw_mrs;

	const struct rds_net	*rn_host;
	struct rds_sysctl	rn_sysctl;
	struct ctl_table_header	*rn_sysctl_hdr;
	struct rds_stats __percpu *rn_stats;
};

extern unsigned int rds_net_id;
extern struct workqueue_struct *rds_wq;

void rds_net_new_gen(struct rds_net *rn);

/**
 * rds_net() - RDS's part of a namespace
 * @net: the namespace
 *
 * Context: any.
 * Return: never NULL while the module is loaded and the namespace lives.
 */
static inline struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

#endif /* _RDS_CORE_RDS_NET_H */
