// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registered transports.
 *
 * Each has a slot, by its number. Whoever uses one holds a reference to its
 * module: a bound socket until it is closed, the maker of a connection while
 * it makes it. Connections hold none; they go when the transport unregisters,
 * which its module's exit does, so no maker can be at work then.
 *
 * Modules are loaded on demand, with no lock held, and looked up again. The
 * alias rds-transport-N is of our own, so that a module of another RDS by the
 * same name is never tried. IB is loaded only if the user asks for it by
 * SO_RDS_TRANSPORT: a host that was set up for TCP must not move by itself.
 */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "addr.h"
#include "conn_destroy.h"
#include "netns.h"
#include "transport.h"

/* Until a module that was not to be had is asked for again */
#define RDS_DEMAND_INTERVAL	(5 * HZ)

static DEFINE_MUTEX(rds_transport_mutex);
static const struct rds_transport *rds_transports[RDS_TRANS_SLOTS];
/* When each may be asked for again, in jiffies; 0: at once */
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
	       (!(trans->caps & RDS_CAP_MULTIPATH) || trans->conn->max_paths);
}

/**
 * rds_transport_register() - offer a transport
 * @trans: the transport; lives until it is unregistered
 *
 * Sockets may be bound to it, and its ops called, before this returns.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL if a required op or the name is missing, or the type is
 * out of range; -EEXIST if the slot is taken.
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
 * rds_transport_unregister() - withdraw a transport
 * @trans: the transport, registered
 *
 * Destroys its connections in every namespace. When it returns no op runs or
 * will be called.
 *
 * Context: process, may sleep; from the exit of the transport's module, when
 * nobody holds a reference to it.
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
 * rds_transport_is_registered() - is a transport on offer still?
 * @trans: the transport, whose module is there
 *
 * Context: any; rn_lock is held, so that connections made now are among those
 * that rds_transport_unregister() destroys.
 * Return: true if it is.
 */
bool rds_transport_is_registered(const struct rds_transport *trans)
{
	return READ_ONCE(rds_transports[trans->type]) == trans;
}

/**
 * rds_transport_get() - a transport, if it is loaded
 * @type: its slot, below RDS_TRANS_SLOTS
 *
 * Context: process, may sleep.
 * Return: the transport, to be given up by rds_transport_put(), or NULL.
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

/* Anybody may bind a socket, and each request starts a process. */
static bool rds_transport_may_ask(unsigned int type)
{
	unsigned long at = READ_ONCE(rds_transport_ask_at[type]);

	return READ_ONCE(rds_net(&init_net)->rn_sysctl.autoload) &&
	       (!at || time_after(jiffies, at));
}

/**
 * rds_transport_demand() - a transport, loaded if it has to be
 * @type: its slot, below RDS_TRANS_SLOTS
 *
 * A module that is not to be had is not asked for again for a while.
 *
 * Context: process, may sleep. No locks.
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
 * rds_transport_owns() - does a transport serve a local address?
 * @trans: the transport
 * @net: the namespace
 * @ip: the address
 * @ifindex: its scope, or 0
 *
 * Context: process, may sleep.
 * Return: 0 if it does; otherwise an errno. -EPROTOTYPE: it does not work in
 * this namespace.
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
 * rds_transport_for_laddr() - which transport serves a local address?
 * @net: the namespace
 * @ip: the address
 * @ifindex: its scope, or 0
 *
 * 127.0.0.0/8 and ::1 belong to loopback. Other addresses belong to the first
 * transport in order of its number that wants them; loopback, which can reach
 * this host only, is the last.
 *
 * Context: process, may sleep; may load modules.
 * Return: the transport, to be given up by rds_transport_put(); NULL; -ENOMEM
 * as a pointer if one could not tell, for then it may be that one's.
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
 * rds_transport_for_faddr() - by which transport does a socket reach a peer?
 * @trans: the socket's own
 * @net: the namespace
 * @ip: the peer's address
 * @ifindex: its scope, or 0
 *
 * Context: process, may sleep; may load modules.
 * Return: the transport, to be given up by rds_transport_put(), or NULL if it
 * should be loopback and that cannot be loaded.
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
