/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of RDS in a network namespace. */
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

struct rds_transport;

/* Default of &rds_sysctl.reconnect_max_ms */
#define RDS_RECONNECT_MAX_MS	1000

/**
 * struct rds_sysctl - values of /proc/sys/net/rds
 * @reconnect_min_ms: smallest ceiling of the reconnect delay, in ms
 * @reconnect_max_ms: largest ceiling of the reconnect delay, in ms
 * @max_unacked_packets: messages on a path between two requests for an ack
 * @max_unacked_bytes: bytes on a path between two requests for an ack
 * @ping_enable: send pongs in reply to pings
 * @rx_held_max: bytes of memory that unread messages may hold
 * @max_conns: connections that the namespace may have
 * @max_conns_per_user: connections that one user may have created
 * @pongs_max: pongs that may be waiting or unacknowledged
 * @op_timeout_ms: time a peer may take to respond to software RDMA requests,
 *	in ms
 * @autoload: load transport modules on demand; effective in init_net only
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
 * @rn_item: on the list of all namespaces; guarded by rds_nets_mutex
 * @rn_binds: bound sockets by address; see bind.c
 * @rn_lock: held while connections and paths are created, and while connections
 *	leave the table
 * @rn_conns: connections by key; see conn_table.c
 * @rn_conn_list: every connection; guarded by @rn_lock
 * @rn_loop_conns: number of loopback connections; guarded by @rn_lock
 * @rn_nr_conns: number of all connections; guarded by @rn_lock
 * @rn_conn_users: users who have created connections, see conn_limit.c; guarded
 *	by @rn_lock
 * @rn_reap_at: earliest time to look for idle loopback connections again, in
 *	jiffies; guarded by @rn_lock
 * @rn_waiting: a transport with peers that wait for room for a connection, or
 *	NULL; guarded by @rn_lock
 * @rn_waiting_at: when one has begun to wait last, in jiffies; guarded by
 *	@rn_lock
 * @rn_reap: the reaper of connections with a wire; see conn_reap.c
 * @rn_gen: generation number; distinguishes this incarnation of the namespace
 *	from others
 * @rn_exiting: no new connection may be created; set under @rn_lock
 * @rn_map_lock: guards @rn_maps
 * @rn_maps: congestion maps by address; see cong.c
 * @rn_sock_lock: guards @rn_socks
 * @rn_socks: every socket
 * @rn_cong_lock: guards @rn_cong_socks and &rds_sock.rs_cong of each socket
 * @rn_cong_socks: sockets that wait for a change of congestion
 * @rn_cong_ver: counts changes of congestion maps
 * @rn_npongs: pongs that have not been acknowledged
 * @rn_rx_traces: number of sockets that request receive path latencies
 * @rn_sw_mrs: memory that peers reach without a device; see sw_mr.c
 * @rn_addr_changes: counts changes of addresses; see addr_watch.c
 * @rn_host: state of init_net, whose limits are those of the host
 * @rn_sysctl: the tunables
 * @rn_sysctl_hdr: the registration of the tunables
 * @rn_stats: the counters
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
	const struct rds_transport *rn_waiting;
	unsigned long		rn_waiting_at;
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

	atomic_t		rn_addr_changes;
	const struct rds_net	*rn_host;
	struct rds_sysctl	rn_sysctl;
	struct ctl_table_header	*rn_sysctl_hdr;
	struct rds_stats __percpu *rn_stats;
};

extern unsigned int rds_net_id;
extern struct workqueue_struct *rds_wq;

void rds_net_new_gen(struct rds_net *rn);

/**
 * rds_net() - Get the RDS state of a namespace
 * @net: the namespace
 *
 * Context: Any.
 * Return: the state; never NULL while the module is loaded and the namespace
 * exists.
 */
static inline struct rds_net *rds_net(const struct net *net)
{
	return net_generic(net, rds_net_id);
}

#endif /* _RDS_CORE_RDS_NET_H */
