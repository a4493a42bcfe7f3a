// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registered transports.
 *
 * Each transport has a slot, indexed by its number. A user of a transport holds
 * a reference to its module: a bound socket until it is closed, the creator of
 * a connection while it creates it. A connection holds no such reference. It is
 * destroyed when the transport unregisters. The module's exit does that, so no
 * creator can be active then.
 *
 * Modules are loaded on demand, with no lock held, and looked up again. Only
 * our transports have the alias rds-transport-N, so a module of another RDS
 * implementation with the same name is never tried. IB is loaded only if the
 * user asks for it by SO_RDS_TRANSPORT: a host that was set up for TCP must not
 * switch to IB by itself.
 */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "addr.h"
#include "conn_destroy.h"
#include "delay.h"
#include "netns.h"
#include "transport.h"

/* Time until a module that could not be loaded is requested again */
#define RDS_DEMAND_INTERVAL	(5 * HZ)

static DEFINE_MUTEX(rds_transport_mutex);
static const struct rds_transport *rds_transports[RDS_TRANS_SLOTS];
/* When each module may be requested again, in jiffies; 0 means at once */
static unsigned long rds_transport_ask_at[RDS_TRANS_SLOTS];

static bool rds_transport_is_complete(const struct rds_transport *trans)
{
	return trans->name[0] && trans->conn && trans->data &&
	       trans->conn->laddr_check && trans->conn->path_connect &&
	       trans->conn->path_shutdown && trans->data->xmit &&
	       ((trans->caps & RDS_CAP_LOOPBACK) ||
		(trans->data->xmit_cong_map && trans->data->rx_resume)) &&
	       (!trans->rdma ||
		(trans->rdma->atomic_check && trans->rdma->mr_map &&
		 trans->rdma->mr_alive && trans->rdma->mr_unmap)) &&
	       (!trans->info || !trans->info->nr_stats ||
		(trans->info->nr_stats <= RDS_TRANS_STATS_MAX &&
		 trans->info->stats && trans->info->stat_names)) &&
	       (!(trans->caps & RDS_CAP_MULTIPATH) ||
		(trans->conn->max_paths && (trans->caps & RDS_CAP_HANDSHAKE)));
}

/**
 * rds_transport_register() - Register a transport
 * @trans: the transport; it must exist until it is unregistered
 *
 * Sockets may be bound to the transport, and its ops may be called, before this
 * function returns.
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if a required op or the name is missing, the type is out
 * of range, or there are too many counters; -EEXIST if the slot is taken.
 */
int rds_transport_register(const struct rds_transport *trans)
{
	int ret = 0;

	if (trans->type >= RDS_TRANS_SLOTS || !rds_transport_is_complete(trans))
		return -EINVAL;

	mutex_lock(&rds_transport_mutex);
	if (rds_transports[trans->type])
		ret = -EEXIST;
	else
		rds_transports[trans->type] = trans;
	mutex_unlock(&rds_transport_mutex);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_transport_register);

static void rds_transport_leave_net(struct rds_net *rn, void *trans)
{
	rds_conn_destroy_all(rn, trans, RDS_DROP_UNREGISTER);
	rds_net_new_gen(rn);
}

/**
 * rds_transport_unregister() - Unregister a transport
 * @trans: the transport, registered
 *
 * Destroys the connections of the transport in every namespace. When the
 * function returns, no op is running, and none will be called.
 *
 * Context: Process context, may sleep; from the exit of the transport's module,
 * when there are no references to the module.
 */
void rds_transport_unregister(const struct rds_transport *trans)
{
	mutex_lock(&rds_transport_mutex);
	WRITE_ONCE(rds_transports[trans->type], NULL);
	mutex_unlock(&rds_transport_mutex);

	rds_net_for_each(rds_transport_leave_net, (void *)trans);
}
EXPORT_SYMBOL_GPL(rds_transport_unregister);

/**
 * rds_transport_is_registered() - Check whether a transport is registered
 * @trans: the transport; its module is still loaded
 *
 * Context: Any. rn_lock is held, so that rds_transport_unregister() will
 * destroy the connections created now.
 * Return: true if the transport is registered.
 */
bool rds_transport_is_registered(const struct rds_transport *trans)
{
	return READ_ONCE(rds_transports[trans->type]) == trans;
}

/**
 * rds_transport_get() - Get a transport if it is loaded
 * @type: its slot, below RDS_TRANS_SLOTS
 *
 * Context: Process context, may sleep.
 * Return: the transport, to be put by rds_transport_put(), or NULL.
 */
const struct rds_transport *rds_transport_get(unsigned int type)
{
	const struct rds_transport *trans;

	mutex_lock(&rds_transport_mutex);
	trans = rds_transports[type];
	if (trans && !try_module_get(trans->owner))
		trans = NULL;
	mutex_unlock(&rds_transport_mutex);
	return trans;
}

/* Any user may bind a socket, and each module request starts a process. So the
 * requests are limited. The moment may be one jiffy later than the interval
 * says, as 0 stands for none.
 */
static bool rds_transport_may_ask(unsigned int type)
{
	unsigned long at = READ_ONCE(rds_transport_ask_at[type]);

	return READ_ONCE(rds_net(&init_net)->rn_sysctl.autoload) &&
	       (!at || !rds_delay_left(at, RDS_DEMAND_INTERVAL + 1));
}

/**
 * rds_transport_demand() - Get a transport, load its module if needed
 * @type: its slot, below RDS_TRANS_SLOTS
 *
 * A module that could not be loaded is not requested again for a while.
 *
 * Context: Process context, may sleep. No locks.
 * Return: as rds_transport_get().
 */
const struct rds_transport *rds_transport_demand(unsigned int type)
{
	const struct rds_transport *trans = rds_transport_get(type);

	if (trans || !rds_transport_may_ask(type))
		return trans;

	request_module("rds-transport-%u", type);
	trans = rds_transport_get(type);
	if (!trans)
		WRITE_ONCE(rds_transport_ask_at[type],
			   (jiffies + RDS_DEMAND_INTERVAL) | 1);
	return trans;
}

/**
 * rds_transport_owns() - Check whether a transport serves a local address
 * @trans: the transport
 * @net: the namespace
 * @ip: the address
 * @ifindex: its scope, or 0
 *
 * Context: Process context, may sleep.
 * Return: 0 if the transport serves the address; -EPROTOTYPE if it does not
 * work in this namespace; another negative errno from its laddr_check().
 */
int rds_transport_owns(const struct rds_transport *trans, struct net *net,
		       const struct in6_addr *ip, u32 ifindex)
{
	if (!(trans->caps & RDS_CAP_NETNS) && !net_eq(net, &init_net))
		return -EPROTOTYPE;
	return trans->conn->laddr_check(net, ip, rds_addr_scope(ip, ifindex));
}

static const struct rds_transport *
rds_transport_try(const struct rds_transport *trans, struct net *net,
		  const struct in6_addr *ip, u32 ifindex)
{
	int ret;

	if (!trans)
		return NULL;
	ret = rds_transport_owns(trans, net, ip, ifindex);
	if (!ret)
		return trans;
	rds_transport_put(trans);
	return ret == -ENOMEM ? ERR_PTR(ret) : NULL;
}

/**
 * rds_transport_for_laddr() - Find the transport that serves a local address
 * @net: the namespace
 * @ip: the address
 * @ifindex: its scope, or 0
 *
 * 127.0.0.0/8 and ::1 belong to loopback. Any other address belongs to the
 * first transport, in the order of their numbers, that serves it. Loopback,
 * which reaches only this host, is the last.
 *
 * Context: Process context, may sleep; may load modules.
 * Return: the transport, to be put by rds_transport_put(); NULL if there is
 * none; -ENOMEM as an error pointer if memory ran out during the check of a
 * transport, because the address may belong to that transport.
 */
const struct rds_transport *rds_transport_for_laddr(struct net *net,
						    const struct in6_addr *ip,
						    u32 ifindex)
{
	const struct rds_transport *trans;
	unsigned int type;

	for (type = 0; type < RDS_TRANS_LOOP; type++) {
		if (rds_addr_is_loopback(ip))
			break;
		if (type == RDS_TRANS_TCP)
			trans = rds_transport_demand(type);
		else
			trans = rds_transport_get(type);
		trans = rds_transport_try(trans, net, ip, ifindex);
		if (trans)
			return trans;
	}

	return rds_transport_try(rds_transport_demand(RDS_TRANS_LOOP), net, ip,
				 ifindex);
}

/**
 * rds_transport_for_faddr() - Find the transport for a peer address
 * @trans: the socket's own transport
 * @net: the namespace
 * @ip: the peer's address
 * @ifindex: its scope, or 0
 *
 * Context: Process context, may sleep; may load modules.
 * Return: the transport, to be put by rds_transport_put(); NULL if it
 * must be loopback, and loopback cannot be loaded.
 */
const struct rds_transport *
rds_transport_for_faddr(const struct rds_transport *trans, struct net *net,
			const struct in6_addr *ip, u32 ifindex)
{
	if ((trans->caps & RDS_CAP_PREFERS_LOOPBACK) &&
	    !rds_transport_owns(trans, net, ip, ifindex))
		return rds_transport_demand(RDS_TRANS_LOOP);

	__module_get(trans->owner);
	return trans;
}
