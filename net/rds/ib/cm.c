// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connecting, and the events of the connection manager.
 *
 * Handlers run in process context, one at a time for each CM ID, with its
 * handler mutex held. The table in cm_table.h defines what an event does.
 *
 * The end that dials sets up its queues when the route is known. The end that
 * accepts does so when the path takes the offer. Both post receive buffers
 * before they send REQ or REP, so the first message finds a buffer. The end
 * that dials processes nothing that arrives until it has read the REP: only the
 * REP shows whether the peer's sequence numbers start again, whether the peer
 * numbers its SENDs, and how it splits large messages.
 */
#include <linux/log2.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "ib.h"
#include "trace.h"

/* Timeout to resolve an address, or a route, in milliseconds */
#define RDS_IB_RESOLVE_TIMEOUT	5000

/* Timeouts for the peer's response to our REQ, and to our REP. The connection
 * manager itself tries for more than a minute. But if the peer has given up
 * its end of the connection, it may be unable to notify us.
 */
#define RDS_IB_DIAL_TIMEOUT	(5 * HZ)
#define RDS_IB_ACCEPT_TIMEOUT	(3 * HZ)

/* Time until a packet is retransmitted: 4096 ns << 17, half a second. With
 * RDS_IB_RETRIES retransmissions, the device gives the connection up after
 * about 4 seconds. So a peer that is busy for a second does not lose its
 * connection.
 */
#define RDS_IB_ACK_TIMEOUT	17

/* Retransmissions of a packet; the end that dials sets them for both ends */
#define RDS_IB_RETRIES		7

/* Retries while the peer has no receive buffer: 7 is without a limit */
#define RDS_IB_RNR_RETRIES	7

/* Time that the peer waits if we have no receive buffer: code 10 is 0.32 ms */
#define RDS_IB_RNR_TIMER	10

/* If the peer allows fewer retransmissions, make each timeout longer, so that
 * the device gives up after about the same time.
 */
static void rds_ib_tune(struct rdma_cm_id *id, u8 retries)
{
	u8 attempts = min_t(u8, retries, RDS_IB_RETRIES) + 1;
	u8 longer = ilog2((RDS_IB_RETRIES + 1) / attempts);

	rdma_set_ack_timeout(id, RDS_IB_ACK_TIMEOUT + longer);
	rdma_set_min_rnr_timer(id, RDS_IB_RNR_TIMER);
}

/* Offer credits if the device needs them, or the administrator wants them. */
static void rds_ib_offer_credits(struct rds_ib_conn *ic)
{
	if (READ_ONCE(rds_ib_sysctl.flow_control) ||
	    ic->ic_dev->dv_dev->node_type == RDMA_NODE_RNIC)
		ic->ic_credits_told = ic->ic_rx.rx_posted;
	spin_lock_bh(&ic->ic_tx_lock);
	rds_ib_credits_start(&ic->ic_credits, ic->ic_credits_told);
	spin_unlock_bh(&ic->ic_tx_lock);
}

/* Returns the sequence number of the last message that we have received on
 * earlier connections, or 0 if it is not to be sent. A peer that runs our
 * implementation uses it in a REP, but not in a REQ. Other peers must not
 * receive it at all: see rds_ib_ack_now().
 */
static u64 rds_ib_received_seq(const struct rds_ib_conn *ic)
{
	if (ic->ic_state != RDS_IB_OFFERED || !ic->ic_priv.ours)
		return 0;
	return atomic64_read(&ic->ic_ip->ip_path->next_rx_seq) - 1;
}

/* Fill in @param, and write our private data to @buf, RDS_IB_PRIV_MAX bytes. */
static void rds_ib_priv_fill(struct rds_ib_conn *ic, void *buf,
			     struct rdma_conn_param *param)
{
	const struct ib_device_attr *attrs = &ic->ic_dev->dv_dev->attrs;
	const struct rds_path *path = ic->ic_ip->ip_path;
	struct rds_ib_priv priv = {
		.saddr		= path->laddr,
		.daddr		= path->faddr,
		.version	= ic->ic_version,
		.minors		= RDS_IB_MINORS,
		.tos		= path->tos,
		.ours		= true,
		.streams	= true,
		.numbers	= true,
		.wide		= rds_ib_device_is_wide(ic->ic_dev),
		.ack_seq	= rds_ib_received_seq(ic),
		.credits	= ic->ic_credits_told,
		.epoch		= path->epoch,
	};

	memset(param, 0, sizeof(*param));
	param->private_data = buf;
	param->private_data_len = rds_ib_priv_encode(buf, &priv,
						     rds_ib_is_v6(path));
	param->responder_resources = min(attrs->max_qp_rd_atom, U8_MAX);
	param->initiator_depth = min(attrs->max_qp_init_rd_atom, U8_MAX);
	param->retry_count = RDS_IB_RETRIES;
	param->rnr_retry_count = RDS_IB_RNR_RETRIES;
}

/* Check whether the peer is another incarnation than before. That is also so if
 * it runs another implementation than before.
 */
static bool rds_ib_peer_is_another(const struct rds_ib_path *ip,
				   const struct rds_ib_priv *priv)
{
	return ip->ip_knows_epoch != priv->ours ||
	       (priv->ours && ip->ip_epoch != priv->epoch);
}

/* Apply the private data of the peer. No message of this connection has been
 * delivered yet. If a peer that runs our implementation dials, ignore its
 * ack_seq: it may refer to an earlier incarnation of this host, and only our
 * REP tells the peer whether it does. The messages that the peer has received
 * before are retransmitted, and it drops them as duplicates.
 */
static void rds_ib_priv_apply(struct rds_ib_conn *ic)
{
	const struct rds_ib_priv *priv = &ic->ic_priv;
	struct rds_ib_path *ip = ic->ic_ip;
	bool another = rds_ib_peer_is_another(ip, priv);
	struct rds_path_resume resume = {};

	/* Fragments are wide only if both ends have said so. */
	ic->ic_priv.wide &= rds_ib_device_is_wide(ic->ic_dev);
	resume.rx_restarts = priv->ours && another;
	resume.ops_lost = ip->ip_heard && another;
	resume.streams = priv->streams;
	if (!priv->ours || ic->ic_state == RDS_IB_DIALING)
		resume.acked = priv->ack_seq;
	ip->ip_heard = true;
	ip->ip_knows_epoch = priv->ours;
	ip->ip_epoch = priv->epoch;
	rds_path_resume(ip->ip_path, &resume);
	/* Last: from here on, an ack may be sent. */
	spin_lock_bh(&ic->ic_tx_lock);
	rds_ib_credits_offered(&ic->ic_credits, priv->credits, priv->ours);
	spin_unlock_bh(&ic->ic_tx_lock);
}

/* Do not dial by a port that is down: the REQ would not reach the peer, see
 * cm_deferred.c.
 */
static void rds_ib_cm_route(struct rds_ib_conn *ic)
{
	struct rdma_cm_id *id = ic->ic_id;

	if (rds_ib_device_join(ic, id) ||
	    rds_ib_port_is_down(id) ||
	    rdma_resolve_route(id, RDS_IB_RESOLVE_TIMEOUT))
		rds_ib_drop(ic, RDS_DROP_UNREACHABLE);
}

static void rds_ib_cm_request(struct rds_ib_conn *ic)
{
	struct rdma_cm_id *id = ic->ic_id;
	u8 tos = ic->ic_ip->ip_path->tos, buf[RDS_IB_PRIV_MAX];
	struct rdma_conn_param param;

	if (rdma_protocol_ib(id->device, id->port_num) && tos)
		id->route.path_rec->sl = tos & 0xf;
	ic->ic_rx.rx_early = true;
	if (rds_ib_conn_set_up(ic))
		goto failed;

	rds_ib_offer_credits(ic);
	ic->ic_version = RDS_IB_VERSION_3_1;
	rds_ib_priv_fill(ic, buf, &param);
	rds_ib_conn_set_state(ic, RDS_IB_DIALING);
	queue_delayed_work(rds_ib_wq, &ic->ic_watchdog, RDS_IB_DIAL_TIMEOUT);
	if (!rdma_connect_locked(id, &param))
		return;
failed:
	rds_ib_drop(ic, RDS_DROP_CONNECT_FAILED);
}

static bool rds_ib_cm_read_reply(struct rds_ib_conn *ic,
				 const struct rdma_conn_param *param)
{
	bool v6 = rds_ib_is_v6(ic->ic_ip->ip_path);

	if (!rds_ib_priv_decode(param->private_data, param->private_data_len,
				v6, &ic->ic_priv) ||
	    !rds_ib_version_is_known(ic->ic_priv.version))
		return false;
	ic->ic_version = ic->ic_priv.version;
	return true;
}

/* In a duel, both connections may be established, even if the peer knows the
 * rule for duels. If our attempt has been dropped, leave the connection to the
 * shutdown of the path.
 */
static void rds_ib_cm_come_up(struct rds_ib_conn *ic,
			      const struct rdma_cm_event *event)
{
	struct rds_ib_path *ip = ic->ic_ip;

	if (ic->ic_state == RDS_IB_DIALING) {
		if (!rds_ib_cm_read_reply(ic, &event->param.conn)) {
			rds_ib_drop(ic, RDS_DROP_PROTOCOL);
			return;
		}
		if (!rds_ib_path_dialed(ip))
			return;
		rds_ib_priv_apply(ic);
		/* Set UP first. If rds_ib_rx_go_on() cannot take all now, the
		 * path's work item goes on, but only if the state is UP.
		 */
		rds_ib_conn_set_state(ic, RDS_IB_UP);
		/* What is posted from here on starts it again. */
		cancel_delayed_work(&ic->ic_watchdog);
		rds_ib_rx_go_on(ic);
		/* Until the reply was read, no ack could be sent. */
		rds_ib_ack_try(ic);
	} else {
		rds_ib_conn_set_state(ic, RDS_IB_UP);
		cancel_delayed_work(&ic->ic_watchdog);
	}
	/* Last: from here on, core may shut the connection down. */
	rds_path_connect_done(ip->ip_path);
}

static void rds_ib_cm_do(struct rds_ib_conn *ic, enum rds_ib_action action,
			 const struct rdma_cm_event *event)
{
	switch (action) {
	case RDS_IB_DO_NOTHING:
		break;
	case RDS_IB_DO_ROUTE:
		rds_ib_cm_route(ic);
		break;
	case RDS_IB_DO_REQUEST:
		rds_ib_cm_request(ic);
		break;
	case RDS_IB_DO_COME_UP:
		rds_ib_cm_come_up(ic, event);
		break;
	case RDS_IB_DO_FAIL:
		rds_ib_drop(ic, RDS_DROP_UNREACHABLE);
		break;
	case RDS_IB_DO_REFUSED:
		rds_ib_drop(ic, event->status == IB_CM_REJ_INVALID_SERVICE_ID ?
			    RDS_DROP_REFUSED : RDS_DROP_CONNECT_FAILED);
		break;
	case RDS_IB_DO_LOSE:
		rds_ib_drop(ic, RDS_DROP_PEER_CLOSED);
		break;
	case RDS_IB_DO_ABANDON:
		rds_ib_drop(ic, RDS_DROP_LOCAL_ABORT);
		break;
	}
}

/* Returns RDS_IB_EVENTS for an event that the table does not need. */
static enum rds_ib_event rds_ib_cm_event(enum rdma_cm_event_type type)
{
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return RDS_IB_EV_ADDR;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return RDS_IB_EV_ROUTE;
	case RDMA_CM_EVENT_ESTABLISHED:
		return RDS_IB_EV_ESTABLISHED;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		return RDS_IB_EV_FAILED;
	case RDMA_CM_EVENT_REJECTED:
		return RDS_IB_EV_REJECTED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return RDS_IB_EV_DISCONNECTED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return RDS_IB_EV_GONE;
	default:
		return RDS_IB_EVENTS;
	}
}

/**
 * rds_ib_cm_handler() - Process an event of a CM ID
 * @id: the CM ID; a listener if it has no context
 * @event: the event
 *
 * Context: Process context, may sleep. The handler mutex of @id is held.
 * Return: 0; or an errno, and the connection manager destroys @id, which it has
 * created for a request.
 */
int rds_ib_cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rds_ib_conn *ic = id->context;

	rds_ib_stat_inc(ib_evt_handler_call);
	/* The QP of the ID may just be destroyed. */
	trace_rds_ib_cm_event(id, event, ic ? ic->ic_qpn : 0,
			      ic ? ic->ic_state : RDS_IB_IDLE);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return rds_ib_accept_request(id, &event->param.conn);
	/* If a device is removed, the client callback closes its listeners. */
	if (!ic)
		return 0;

	rds_ib_handler_enter(ic);
	rds_ib_cm_do(ic, rds_ib_cm_action(ic->ic_state,
					  rds_ib_cm_event(event->event)),
		     event);
	rds_ib_handler_leave(ic);
	return 0;
}

/* Bind first. If rdma_resolve_addr() had to bind as well, and the device were
 * removed between its two steps, the connection manager would report a bug.
 */
static int rds_ib_resolve(struct rdma_cm_id *id, const struct rds_path *path)
{
	u16 port = rds_ib_is_v6(path) ? RDS_IB_PORT_V6 : RDS_IB_PORT_V4;
	struct sockaddr_storage src, dst;
	int ret;

	rds_ib_sockaddr_init(&src, &path->laddr, 0, path->ifindex);
	rds_ib_sockaddr_init(&dst, &path->faddr, port, path->ifindex);
	ret = rdma_bind_addr(id, (struct sockaddr *)&src);
	if (ret)
		return ret;
	return rdma_resolve_addr(id, (struct sockaddr *)&src,
				 (struct sockaddr *)&dst,
				 RDS_IB_RESOLVE_TIMEOUT);
}

/**
 * rds_ib_dial() - Begin to connect to the peer
 * @ip: the path; it has no connection
 *
 * Context: Process context, the path's work item, may sleep.
 * Return: 0 if CM events continue the attempt; or an errno, and @ip has no
 * connection.
 */
int rds_ib_dial(struct rds_ib_path *ip)
{
	const struct rds_path *path = ip->ip_path;
	struct rds_ib_conn *ic = rds_ib_conn_alloc();
	struct rdma_cm_id *id;
	int ret;

	if (!ic)
		return -ENOMEM;

	ic->ic_ip = ip;
	ic->ic_request.laddr = path->laddr;
	ic->ic_request.faddr = path->faddr;
	ic->ic_request.tos = path->tos;
	id = rdma_create_id(path->net, rds_ib_cm_handler, ic, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id)) {
		kfree(ic);
		return PTR_ERR(id);
	}
	ic->ic_id = id;
	/* If it is 0, the administrator's default applies. */
	if (path->tos)
		rdma_set_service_type(id, path->tos);
	rds_ib_tune(id, RDS_IB_RETRIES);
	rds_ib_path_set_conn(ip, ic);

	/*
	 * Once the address is bound, the device may be removed. If the handler
	 * were called for that before the request to resolve is queued, nothing
	 * would cancel the request. So keep the handler out until then.
	 */
	rds_ib_conn_lock(ic);
	rds_ib_conn_set_state(ic, RDS_IB_RESOLVING);
	ret = rds_ib_resolve(id, path);
	rds_ib_conn_unlock(ic);
	if (ret) {
		rds_ib_path_set_conn(ip, NULL);
		rds_ib_conn_free(ic);
	}
	return ret;
}

/* Accept the peer's request. The handler mutex is held. */
static int rds_ib_reply(struct rds_ib_conn *ic)
{
	struct rdma_conn_param param;
	u8 buf[RDS_IB_PRIV_MAX];
	int ret;

	if (ic->ic_state != RDS_IB_OFFERED || ic->ic_dropped)
		return -ECONNRESET;

	rds_ib_tune(ic->ic_id, ic->ic_retries);
	rds_ib_priv_apply(ic);
	ret = rds_ib_conn_set_up(ic);
	if (ret)
		return ret;

	rds_ib_offer_credits(ic);
	rds_ib_priv_fill(ic, buf, &param);
	param.responder_resources = min(param.responder_resources,
					ic->ic_responder);
	param.initiator_depth = min(param.initiator_depth, ic->ic_initiator);
	rds_ib_conn_set_state(ic, RDS_IB_ACCEPTING);
	queue_delayed_work(rds_ib_wq, &ic->ic_watchdog, RDS_IB_ACCEPT_TIMEOUT);
	return rdma_accept(ic->ic_id, &param);
}

/**
 * rds_ib_accept() - Accept a connection that the peer has made
 * @ip: the path
 * @ic: the connection, which the path owns now
 *
 * Context: Process context, the path's work item, may sleep.
 * Return: as rds_ib_dial().
 */
int rds_ib_accept(struct rds_ib_path *ip, struct rds_ib_conn *ic)
{
	int ret;

	rds_ib_conn_lock(ic);
	ret = rds_ib_reply(ic);
	rds_ib_conn_unlock(ic);
	if (ret) {
		rds_ib_path_set_conn(ip, NULL);
		rds_ib_conn_free(ic);
	}
	return ret;
}
