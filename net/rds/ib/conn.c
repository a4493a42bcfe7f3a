// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocate, set up and free connections. The list at the top of ib.h has the
 * steps that free one.
 */
#include <linux/error-injection.h>
#include <linux/slab.h>

#include "ib.h"
#include "trace.h"

/* Longest wait for the posted WRs of one queue */
#define RDS_IB_DRAIN_TIMEOUT	(5 * HZ)

/**
 * rds_ib_conn_alloc() - Allocate a connection
 *
 * Context: Process context, may sleep.
 * Return: the connection, without any resources; NULL if there is no memory.
 */
struct rds_ib_conn *rds_ib_conn_alloc(void)
{
	static struct lock_class_key key;
	struct rds_ib_conn *ic = kzalloc(sizeof(*ic), GFP_KERNEL);

	if (!ic)
		return NULL;

	ic->ic_state = RDS_IB_IDLE;
	lockdep_init_map(&ic->ic_handler, "rds_ib_handler", &key, 0);
	init_completion(&ic->ic_drained_sq);
	init_completion(&ic->ic_drained_rq);
	spin_lock_init(&ic->ic_tx_lock);
	spin_lock_init(&ic->ic_rx_lock);
	INIT_LIST_HEAD(&ic->ic_rx.rx_chunks);
	INIT_LIST_HEAD(&ic->ic_rx.rx_spare);
	INIT_LIST_HEAD(&ic->ic_rx.rx_backlog);
	ic->ic_rx.rx_done = rds_ib_recv_done;
	INIT_DELAYED_WORK(&ic->ic_watchdog, rds_ib_watchdog_work);
	rds_ib_ack_init(ic);
	return ic;
}

ALLOW_ERROR_INJECTION(rds_ib_conn_alloc, NULL);

/**
 * rds_ib_conn_set_state() - Change the state of a connection
 * @ic: the connection
 * @state: the next state
 *
 * A change of state that the table does not have is a bug of this module, and
 * no peer can cause it: no action in the table of events leads to one. The
 * change is reported and refused, because the old state describes what has been
 * set up, and events must find the actions for it. Above all, a connection that
 * is CLOSED is being freed and must stay CLOSED, so that events have no effect.
 *
 * Context: Process context. The handler mutex is held.
 */
void rds_ib_conn_set_state(struct rds_ib_conn *ic, enum rds_ib_state state)
{
	enum rds_ib_state from = ic->ic_state;

	lockdep_assert(lock_is_held(&ic->ic_handler));
	if (WARN_ON_ONCE(!rds_ib_state_follows(from, state)))
		return;
	WRITE_ONCE(ic->ic_state, state);
	trace_rds_ib_state(ic, from, state);
}

/* Data may arrive before the connection manager learns that the connection is
 * established. Notify it.
 */
static void rds_ib_qp_event(struct ib_event *event, void *context)
{
	struct rds_ib_conn *ic = context;

	if (event->event == IB_EVENT_COMM_EST)
		rdma_notify(ic->ic_id, event->event);
}

static noinline int rds_ib_conn_create_cq(struct rds_ib_conn *ic, u32 entries)
{
	struct ib_cq *cq = ib_alloc_cq_any(ic->ic_dev->dv_dev, ic, entries,
					   IB_POLL_SOFTIRQ);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ic->ic_cq = cq;
	return 0;
}

ALLOW_ERROR_INJECTION(rds_ib_conn_create_cq, ERRNO);

static noinline int rds_ib_conn_create_qp(struct rds_ib_conn *ic, u32 send,
					  u32 recv)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= rds_ib_qp_event,
		.qp_context	= ic,
		.send_cq	= ic->ic_cq,
		.recv_cq	= ic->ic_cq,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= send + RDS_IB_SEND_EXTRA,
			.max_recv_wr	= recv + RDS_IB_RECV_EXTRA,
			.max_send_sge	= rds_ib_send_sge(ic->ic_dev),
			.max_recv_sge	= rds_ib_recv_sge(ic->ic_dev),
			.max_inline_data = RDS_IB_INLINE,
		},
	};
	struct ib_qp_cap cap = attr.cap;
	int ret;

	ret = rdma_create_qp(ic->ic_id, ic->ic_dev->dv_pd, &attr);
	if (ret == -EINVAL) {
		/* Not every device supports inline data. */
		attr.cap = cap;
		attr.cap.max_inline_data = 0;
		ret = rdma_create_qp(ic->ic_id, ic->ic_dev->dv_pd, &attr);
	}
	if (ret)
		return ret;
	ic->ic_qpn = ic->ic_id->qp->qp_num;
	ic->ic_tx.tx_inline = min_t(u32, attr.cap.max_inline_data,
				    RDS_IB_INLINE);
	return 0;
}

ALLOW_ERROR_INJECTION(rds_ib_conn_create_qp, ERRNO);

/**
 * rds_ib_conn_set_up() - Create queues, rings and receive buffers
 * @ic: the connection, with its CM ID and its device
 *
 * On success, the first receive buffers are posted. On failure, the resources
 * created so far are left to rds_ib_conn_free().
 *
 * Context: Process context, may sleep. The handler mutex is held.
 * Return: 0 or an errno.
 */
int rds_ib_conn_set_up(struct rds_ib_conn *ic)
{
	const u32 extra = RDS_IB_SEND_EXTRA + RDS_IB_RECV_EXTRA;
	const struct ib_device_attr *attrs = &ic->ic_dev->dv_dev->attrs;
	const struct rds_ib_queue_limits limits = {
		.ql_send	= READ_ONCE(rds_ib_sysctl.max_send_wr),
		.ql_recv	= READ_ONCE(rds_ib_sysctl.max_recv_wr),
		.ql_max_wr	= attrs->max_qp_wr,
		.ql_max_cqe	= attrs->max_cqe,
	};
	u32 send, recv;
	int ret;

	ret = rds_ib_ring_sizes(&limits, &send, &recv);
	if (!ret)
		ret = rds_ib_conn_create_cq(ic, send + recv + extra);
	if (ret)
		return ret;
	ret = rds_ib_conn_create_qp(ic, send, recv);
	if (ret)
		return ret;
	ret = rds_ib_tx_init(ic, send);
	if (ret)
		return ret;
	return rds_ib_rx_init(ic, recv);
}

static void rds_ib_drained_sq(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_conn *ic = cq->cq_context;

	complete(&ic->ic_drained_sq);
}

static void rds_ib_drained_rq(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_conn *ic = cq->cq_context;

	complete(&ic->ic_drained_rq);
}

static void rds_ib_drain_sq(struct rds_ib_conn *ic, struct ib_qp *qp)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode		= IB_WR_RDMA_WRITE,
			.send_flags	= IB_SEND_SIGNALED,
			.wr_cqe		= &ic->ic_drain_sqe,
		},
	};

	ic->ic_drain_sqe.done = rds_ib_drained_sq;
	if (ib_post_send(qp, &wr.wr, NULL) ||
	    wait_for_completion_timeout(&ic->ic_drained_sq,
					RDS_IB_DRAIN_TIMEOUT))
		return;
	net_warn_ratelimited("rds: %s: the send queue of a connection does not drain\n",
			     dev_name(&qp->device->dev));
}

static void rds_ib_drain_rq(struct rds_ib_conn *ic, struct ib_qp *qp)
{
	struct ib_recv_wr wr = { .wr_cqe = &ic->ic_drain_rqe };

	ic->ic_drain_rqe.done = rds_ib_drained_rq;
	if (ib_post_recv(qp, &wr, NULL) ||
	    wait_for_completion_timeout(&ic->ic_drained_rq,
					RDS_IB_DRAIN_TIMEOUT))
		return;
	net_warn_ratelimited("rds: %s: the receive queue of a connection does not drain\n",
			     dev_name(&qp->device->dev));
}

/* In the error state, a WR is flushed after all earlier ones, so the completion
 * of the WR that is posted here shows that the queue is empty. If the peer's
 * reply arrives at this very moment, the WR may be sent nevertheless. The peer
 * does not notice it, because it is an RDMA write of no bytes. If its
 * completion does not arrive in time, go on: destroying the QP stops the device
 * as well.
 *
 * An iWARP device may refuse WRs in the error state. If it has drain functions
 * of its own, use those, although they wait without a limit.
 */
static void rds_ib_drain(struct rds_ib_conn *ic)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	struct ib_qp *qp = ic->ic_id->qp;

	if (qp->device->node_type == RDMA_NODE_RNIC &&
	    (qp->device->ops.drain_sq || qp->device->ops.drain_rq)) {
		ib_drain_qp(qp);
		return;
	}
	if (ib_modify_qp(qp, &attr, IB_QP_STATE))
		return;
	rds_ib_drain_sq(ic, qp);
	rds_ib_drain_rq(ic, qp);
}

static void rds_ib_conn_set_dropped(struct rds_ib_conn *ic)
{
	if (!ic->ic_dev) {
		ic->ic_dropped = true;
		return;
	}
	spin_lock_bh(&ic->ic_dev->dv_lock);
	ic->ic_dropped = true;
	spin_unlock_bh(&ic->ic_dev->dv_lock);
}

/* Do steps 1 and 2 of the list in ib.h. Returns the previous state. */
static enum rds_ib_state rds_ib_conn_close(struct rds_ib_conn *ic)
{
	enum rds_ib_state state;

	rds_ib_conn_lock(ic);
	state = ic->ic_state;
	rds_ib_conn_set_state(ic, RDS_IB_CLOSED);
	rds_ib_conn_unlock(ic);

	spin_lock_bh(&ic->ic_rx_lock);
	spin_lock(&ic->ic_tx_lock);
	ic->ic_closing = true;
	spin_unlock(&ic->ic_tx_lock);
	spin_unlock_bh(&ic->ic_rx_lock);
	cancel_delayed_work_sync(&ic->ic_watchdog);
	cancel_delayed_work_sync(&ic->ic_ack.ak_later);

	rds_ib_conn_set_dropped(ic);
	return state;
}

/* Do step 3. While we dial, there is no connection to disconnect yet. Call
 * rdma_disconnect() nevertheless: after it, the connection manager cannot bring
 * the QP up any more, even if the peer's reply arrives now.
 */
static void rds_ib_conn_disconnect(struct rds_ib_conn *ic,
				   enum rds_ib_state state)
{
	u32 reason = RDS_IB_REJECT_INCOMPAT;

	if (state == RDS_IB_OFFERED)
		rdma_reject(ic->ic_id, &reason, sizeof(reason),
			    IB_CM_REJ_CONSUMER_DEFINED);
	else if (state == RDS_IB_UP || state == RDS_IB_ACCEPTING ||
		 state == RDS_IB_DIALING)
		rdma_disconnect(ic->ic_id);
}

/**
 * rds_ib_conn_free() - Free a connection, whatever its state
 * @ic: the connection; the caller owns it
 *
 * Context: Process context, may sleep. No handler mutex is held, and no sender
 * uses the connection.
 */
void rds_ib_conn_free(struct rds_ib_conn *ic)
{
	enum rds_ib_state state = RDS_IB_IDLE;
	bool defer = false;

	if (ic->ic_id) {
		state = rds_ib_conn_close(ic);
		defer = rds_ib_cm_must_defer(ic, state);
		if (!defer)
			rds_ib_conn_disconnect(ic, state);
		if (ic->ic_id->qp) {
			rds_ib_drain(ic);
			rdma_destroy_qp(ic->ic_id);
		}
	}
	if (ic->ic_cq)
		ib_free_cq(ic->ic_cq);
	rds_ib_tx_release(ic);
	rds_ib_rx_release(ic);
	if (defer)
		rds_ib_cm_defer(ic);
	else
		rds_ib_conn_end(ic);
}
