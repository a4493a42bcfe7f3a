// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connection requests of peers.
 *
 * The CM handler checks the private data, and rejects an invalid request at
 * once. It queues all others, because finding a path takes locks that a handler
 * must not wait for. A second list, in path.c, has connections that are to be
 * freed: their former owners could not sleep. The work item below owns the
 * connections on the two lists, and is the only context that takes them off.
 */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ib.h"

/* Most requests that may wait */
#define RDS_IB_MAX_REQUESTS	256

static DEFINE_SPINLOCK(rds_ib_accept_lock);	/* guards the two below */
static LIST_HEAD(rds_ib_requests);
static unsigned int rds_ib_nrequests;

static void rds_ib_accept_end_refused(void)
{
	struct rds_ib_conn *ic, *next;
	LIST_HEAD(refused);

	rds_ib_take_refused(&refused);
	list_for_each_entry_safe(ic, next, &refused, ic_item) {
		list_del(&ic->ic_item);
		rds_ib_stat_inc(ib_listen_closed_stale);
		rds_ib_conn_free(ic);
	}
}

static struct rds_ib_conn *rds_ib_accept_next(void)
{
	struct rds_ib_conn *ic;

	spin_lock_bh(&rds_ib_accept_lock);
	ic = list_first_entry_or_null(&rds_ib_requests, struct rds_ib_conn,
				      ic_item);
	if (ic) {
		list_del(&ic->ic_item);
		rds_ib_nrequests--;
	}
	spin_unlock_bh(&rds_ib_accept_lock);
	return ic;
}

static void rds_ib_accept_work_fn(struct work_struct *work)
{
	struct rds_ib_conn *ic;

	rds_ib_accept_end_refused();
	while ((ic = rds_ib_accept_next())) {
		if (rds_path_accept(&init_net, &rds_ib_transport,
				    &ic->ic_request, ic))
			rds_ib_conn_free(ic);
		rds_ib_accept_end_refused();
	}
}

/* The addresses in the private data must be those of the request. The scope of
 * a link-local address is the interface on which the request has arrived.
 */
static bool rds_ib_accept_is_honest(struct rdma_cm_id *id, bool v6,
				    const struct rds_ib_priv *priv,
				    struct rds_conn_request *peer)
{
	const struct rdma_addr *addr = &id->route.addr;

	if (!rds_ib_sockaddr_read(&addr->src_addr, &peer->laddr) ||
	    !rds_ib_sockaddr_read(&addr->dst_addr, &peer->faddr))
		return false;
	if ((ipv6_addr_type(&peer->laddr) | ipv6_addr_type(&peer->faddr)) &
	    IPV6_ADDR_LINKLOCAL)
		peer->ifindex = addr->dev_addr.bound_dev_if;
	return rds_ib_priv_is_honest(priv, v6, &peer->laddr, &peer->faddr);
}

static bool rds_ib_accept_read(struct rds_ib_conn *ic, struct rdma_cm_id *id,
			       const struct rdma_conn_param *param)
{
	bool v6 = id->route.addr.src_addr.ss_family == AF_INET6;

	if (!rds_ib_priv_decode(param->private_data, param->private_data_len,
				v6, &ic->ic_priv))
		return false;
	ic->ic_version = rds_ib_version_accept(ic->ic_priv.version,
					       ic->ic_priv.minors);
	ic->ic_request.tos = ic->ic_priv.tos;
	ic->ic_request.since = jiffies;
	ic->ic_request.spoken = true;
	ic->ic_request.knows_duels = ic->ic_priv.ours;
	return ic->ic_version &&
	       rds_ib_accept_is_honest(id, v6, &ic->ic_priv, &ic->ic_request);
}

static bool rds_ib_accept_queue(struct rds_ib_conn *ic)
{
	bool room;

	spin_lock_bh(&rds_ib_accept_lock);
	room = rds_ib_nrequests < RDS_IB_MAX_REQUESTS;
	if (room) {
		rds_ib_nrequests++;
		list_add_tail(&ic->ic_item, &rds_ib_requests);
	}
	spin_unlock_bh(&rds_ib_accept_lock);
	if (room)
		queue_work(rds_ib_wq, &rds_ib_accept_work);
	return room;
}

static int rds_ib_accept_reject(struct rdma_cm_id *id)
{
	u32 reason = RDS_IB_REJECT_INCOMPAT;

	rdma_reject(id, &reason, sizeof(reason), IB_CM_REJ_CONSUMER_DEFINED);
	return -ECONNREFUSED;
}

/**
 * rds_ib_accept_request() - Queue or reject the request of a peer
 * @id: the CM ID created for the request
 * @param: the parameters of the request
 *
 * Context: Process context, a CM handler. The handler mutexes of @id and of the
 * listener are held.
 * Return: 0 if we keep @id; otherwise an errno, and the connection manager
 * destroys @id.
 */
int rds_ib_accept_request(struct rdma_cm_id *id,
			  const struct rdma_conn_param *param)
{
	struct rds_ib_conn *ic = rds_ib_conn_alloc();

	if (!ic)
		return rds_ib_accept_reject(id);

	ic->ic_responder = param->responder_resources;
	ic->ic_initiator = param->initiator_depth;
	ic->ic_retries = param->retry_count;
	if (!rds_ib_accept_read(ic, id, param) ||
	    rds_ib_device_join(ic, id))
		goto no;

	ic->ic_id = id;
	id->context = ic;
	rds_ib_handler_enter(ic);
	rds_ib_conn_set_state(ic, RDS_IB_OFFERED);
	rds_ib_handler_leave(ic);
	if (rds_ib_accept_queue(ic))
		return 0;

	/* The connection manager owns the CM ID again. */
	id->context = NULL;
	ic->ic_id = NULL;
no:
	rds_ib_conn_free(ic);
	return rds_ib_accept_reject(id);
}

/**
 * rds_ib_accept_init() - Initialize the work item, before any listener exists
 *
 * Context: Process context.
 */
void rds_ib_accept_init(void)
{
	INIT_WORK(&rds_ib_accept_work, rds_ib_accept_work_fn);
}

/**
 * rds_ib_accept_exit() - End the connections that are left in the queue
 *
 * Context: Process context, may sleep. There are no listeners any more, and the
 * transport is unregistered.
 */
void rds_ib_accept_exit(void)
{
	flush_work(&rds_ib_accept_work);
}
