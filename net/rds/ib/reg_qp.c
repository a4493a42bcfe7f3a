// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registration QP of a device (reg_qp). It registers memory even if there
 * is no connection yet, and ends registrations. This works because an MR
 * belongs to the protection domain, whichever QP has registered it. The
 * registration QP is connected to itself, and carries only local work requests,
 * many at a time. Each work request has a slot, and its caller sleeps until it
 * is complete.
 *
 * A device has one registration QP, which is created when memory is to be
 * registered. If a work request fails, its caller takes the QP from the device
 * and moves it to the error state. This flushes the other work requests in
 * flight, and their callers retry on the next QP. The device and each caller
 * hold a reference; the last put destroys the QP. A work request that never
 * ends keeps its slot, so that a late completion does not hit the work request
 * of another caller.
 *
 * dv_reg_qp_lock is held while a QP is created, but not while a caller waits
 * for a slot or a completion. No other lock is taken under rp_lock.
 */
#include <linux/error-injection.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "ib.h"
#include "trace.h"

/* Maximum number of work requests in flight on one QP */
#define RDS_IB_REG_QP_SLOTS	64

/* A local work request that takes longer, in jiffies, is assumed never to end.
 */
#define RDS_IB_REG_QP_TIMEOUT	(10 * HZ)

/* Attempts at a work request that are flushed because another one has failed;
 * after so many, the work request fails
 */
#define RDS_IB_REG_QP_FLUSHES	8

/**
 * struct rds_ib_reg_qp_slot - slot of a work request in flight
 * @qs_item: entry in &rds_ib_reg_qp.rp_idle while the slot is unused
 * @qs_cqe: completion handler of the work request
 * @qs_status: status of the completed work request
 * @qs_vendor_err: the device's own code for a failure
 * @qs_done: completed when the work request has ended
 */
struct rds_ib_reg_qp_slot {
	struct list_head	qs_item;
	struct ib_cqe		qs_cqe;
	enum ib_wc_status	qs_status;
	u32			qs_vendor_err;
	struct completion	qs_done;
};

/**
 * struct rds_ib_reg_qp - a registration QP
 * @rp_refs: references: the device's, and one for each caller
 * @rp_cq: its CQ
 * @rp_qp: the QP
 * @rp_failed: it has failed, and the device does not use it any more
 * @rp_lock: guards @rp_idle
 * @rp_idle: unused slots
 * @rp_wait: callers that wait for a slot
 * @rp_slots: all slots
 */
struct rds_ib_reg_qp {
	refcount_t		rp_refs;
	struct ib_cq		*rp_cq;
	struct ib_qp		*rp_qp;
	bool			rp_failed;
	spinlock_t		rp_lock;	/* idle slots */
	struct list_head	rp_idle;
	wait_queue_head_t	rp_wait;
	struct rds_ib_reg_qp_slot	rp_slots[RDS_IB_REG_QP_SLOTS];
};

/**
 * rds_ib_reg_qp_init() - Prepare a device for registrations
 * @d: the device
 *
 * The registration QP itself is created when it is first needed.
 *
 * Context: Any context. No memory has been registered yet.
 */
void rds_ib_reg_qp_init(struct rds_ib_device *d)
{
	mutex_init(&d->dv_reg_qp_lock);
}

static void rds_ib_reg_qp_put(struct rds_ib_reg_qp *rq)
{
	if (!refcount_dec_and_test(&rq->rp_refs))
		return;
	if (rq->rp_qp)
		ib_destroy_qp(rq->rp_qp);
	if (rq->rp_cq)
		ib_free_cq(rq->rp_cq);
	kfree(rq);
}

/**
 * rds_ib_reg_qp_destroy() - Free the registration QP of a device
 * @d: the device; it has no users, so no registration can follow
 *
 * Context: Process context, may sleep.
 */
void rds_ib_reg_qp_destroy(struct rds_ib_device *d)
{
	if (d->dv_reg_qp)
		rds_ib_reg_qp_put(d->dv_reg_qp);
	d->dv_reg_qp = NULL;
	mutex_destroy(&d->dv_reg_qp_lock);
}

/* Find the first port that is up. Returns 0, or -ENETDOWN if there is none. */
static int rds_ib_reg_qp_find_port(struct ib_device *dev, u32 *found,
				   struct ib_port_attr *attr)
{
	u32 port;

	rdma_for_each_port(dev, port) {
		if (ib_query_port(dev, port, attr) ||
		    attr->state != IB_PORT_ACTIVE)
			continue;
		*found = port;
		return 0;
	}
	return -ENETDOWN;
}

static int rds_ib_reg_qp_to_init(struct ib_qp *qp, u32 port)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= port,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/* Do not hold the link-local GID of a RoCE device. It has a fixed place in the
 * GID table, which must be free when the interface gets another such address.
 */
static bool rds_ib_reg_qp_may_hold(const struct ib_gid_attr *gid)
{
	const struct in6_addr *addr = (const void *)gid->gid.raw;

	return !rdma_protocol_roce(gid->device, gid->port_num) ||
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static int rds_ib_reg_qp_use_gid(struct rdma_ah_attr *ah,
				 const struct ib_gid_attr *gid)
{
	union ib_gid dgid = gid->gid;

	rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
	if (!rdma_protocol_roce(gid->device, gid->port_num))
		return 0;
	return rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
}

/* Use one of the port's own GIDs as the destination. */
static int rds_ib_reg_qp_find_gid(struct ib_device *dev, u32 port, int count,
				  struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid;
	int i, ret = -EADDRNOTAVAIL;

	for (i = 0; i < count && ret; i++) {
		gid = rdma_get_gid_attr(dev, port, i);
		if (IS_ERR(gid))
			continue;
		if (rds_ib_reg_qp_may_hold(gid))
			ret = rds_ib_reg_qp_use_gid(ah, gid);
		rdma_put_gid_attr(gid);
	}
	return ret;
}

static int rds_ib_reg_qp_to_rtr(struct ib_qp *qp, u32 port, u32 psn,
				const struct ib_port_attr *port_attr)
{
	struct ib_qp_attr attr = {
		.qp_state		= IB_QPS_RTR,
		.path_mtu		= port_attr->active_mtu,
		.dest_qp_num		= qp->qp_num,
		.rq_psn			= psn,
		.max_dest_rd_atomic	= 1,
	};
	int ret;

	attr.ah_attr.type = rdma_ah_find_type(qp->device, port);
	rdma_ah_set_port_num(&attr.ah_attr, port);
	rdma_ah_set_dlid(&attr.ah_attr, port_attr->lid);
	ret = rds_ib_reg_qp_find_gid(qp->device, port, port_attr->gid_tbl_len,
				     &attr.ah_attr);
	if (ret)
		return ret;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int rds_ib_reg_qp_to_rts(struct ib_qp *qp, u32 psn)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTS,
		.sq_psn		= psn,
		.max_rd_atomic	= 1,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static noinline int rds_ib_reg_qp_connect(struct ib_qp *qp)
{
	u32 port, psn = get_random_u32() & 0xffffff;
	struct ib_port_attr attr;
	int ret;

	ret = rds_ib_reg_qp_find_port(qp->device, &port, &attr);
	if (!ret)
		ret = rds_ib_reg_qp_to_init(qp, port);
	if (!ret)
		ret = rds_ib_reg_qp_to_rtr(qp, port, psn, &attr);
	if (!ret)
		ret = rds_ib_reg_qp_to_rts(qp, psn);
	return ret;
}

ALLOW_ERROR_INJECTION(rds_ib_reg_qp_connect, ERRNO);

static noinline int rds_ib_reg_qp_create(struct rds_ib_reg_qp *rq,
					 struct rds_ib_device *d)
{
	struct ib_qp_init_attr attr = {
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			/* One more, for a work request whose completion is
			 * still being processed.
			 */
			.max_send_wr	= RDS_IB_REG_QP_SLOTS + 1,
			.max_recv_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	struct ib_cq *cq;
	struct ib_qp *qp;

	cq = ib_alloc_cq_any(d->dv_dev, rq, RDS_IB_REG_QP_SLOTS + 2,
			     IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	rq->rp_cq = cq;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(d->dv_pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	rq->rp_qp = qp;
	return rds_ib_reg_qp_connect(qp);
}

ALLOW_ERROR_INJECTION(rds_ib_reg_qp_create, ERRNO);

static void rds_ib_reg_qp_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_reg_qp_slot *slot;

	slot = container_of(wc->wr_cqe, struct rds_ib_reg_qp_slot, qs_cqe);
	slot->qs_status = wc->status;
	slot->qs_vendor_err = wc->vendor_err;
	complete(&slot->qs_done);
}

static struct rds_ib_reg_qp *rds_ib_reg_qp_new(struct rds_ib_device *d)
{
	struct rds_ib_reg_qp_slot *slot;
	struct rds_ib_reg_qp *rq;
	int ret;

	rq = kzalloc(sizeof(*rq), GFP_KERNEL);
	if (!rq)
		return ERR_PTR(-ENOMEM);
	refcount_set(&rq->rp_refs, 1);
	spin_lock_init(&rq->rp_lock);
	INIT_LIST_HEAD(&rq->rp_idle);
	init_waitqueue_head(&rq->rp_wait);
	for (slot = rq->rp_slots; slot < rq->rp_slots + RDS_IB_REG_QP_SLOTS;
	     slot++) {
		slot->qs_cqe.done = rds_ib_reg_qp_done;
		init_completion(&slot->qs_done);
		list_add_tail(&slot->qs_item, &rq->rp_idle);
	}

	ret = rds_ib_reg_qp_create(rq, d);
	if (ret) {
		rds_ib_reg_qp_put(rq);
		/* -EINVAL is reserved for a work request that the driver
		 * refuses.
		 */
		return ERR_PTR(ret == -EINVAL ? -EIO : ret);
	}
	return rq;
}

/* Get a reference to the device's QP, for rds_ib_reg_qp_put(). If there is none
 * yet, create one, and set @fresh to true. If @fresh is NULL, do not create
 * one, but fail with -ENOTCONN. Errnos are returned as pointers.
 */
static struct rds_ib_reg_qp *rds_ib_reg_qp_get(struct rds_ib_device *d,
					       bool *fresh)
{
	struct rds_ib_reg_qp *rq;

	if (mutex_lock_killable(&d->dv_reg_qp_lock))
		return ERR_PTR(-EINTR);
	rq = d->dv_reg_qp;
	if (fresh)
		*fresh = !rq;
	if (READ_ONCE(d->dv_removed)) {
		rq = ERR_PTR(-EADDRNOTAVAIL);
	} else if (!rq) {
		rq = fresh ? rds_ib_reg_qp_new(d) : ERR_PTR(-ENOTCONN);
		if (!IS_ERR(rq))
			d->dv_reg_qp = rq;
	}
	if (!IS_ERR(rq))
		refcount_inc(&rq->rp_refs);
	mutex_unlock(&d->dv_reg_qp_lock);
	return rq;
}

/* Take the QP from the device, and move it to the error state if it is not
 * there yet. Only the first call for a QP has an effect.
 */
static void rds_ib_reg_qp_fail(struct rds_ib_reg_qp *rq,
			       struct rds_ib_device *d)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	bool was_first;

	mutex_lock(&d->dv_reg_qp_lock);
	was_first = d->dv_reg_qp == rq;
	if (was_first)
		d->dv_reg_qp = NULL;
	mutex_unlock(&d->dv_reg_qp_lock);
	if (!was_first)
		return;

	WRITE_ONCE(rq->rp_failed, true);
	wake_up_all(&rq->rp_wait);
	ib_modify_qp(rq->rp_qp, &attr, IB_QP_STATE);
	rds_ib_reg_qp_put(rq);
}

/* Try to take a slot. Returns false if the caller has to wait for one. If the
 * QP has failed, there is nothing to wait for: returns true, with *@slot NULL.
 */
static bool rds_ib_reg_qp_take(struct rds_ib_reg_qp *rq,
			       struct rds_ib_reg_qp_slot **slot)
{
	*slot = NULL;
	if (READ_ONCE(rq->rp_failed))
		return true;
	spin_lock(&rq->rp_lock);
	*slot = list_first_entry_or_null(&rq->rp_idle,
					 struct rds_ib_reg_qp_slot,
					 qs_item);
	if (*slot)
		list_del(&(*slot)->qs_item);
	spin_unlock(&rq->rp_lock);
	return *slot;
}

static void rds_ib_reg_qp_give_back(struct rds_ib_reg_qp *rq,
				    struct rds_ib_reg_qp_slot *slot)
{
	spin_lock(&rq->rp_lock);
	list_add(&slot->qs_item, &rq->rp_idle);
	spin_unlock(&rq->rp_lock);
	wake_up(&rq->rp_wait);
}

static int rds_ib_reg_qp_await(struct rds_ib_reg_qp *rq,
			       struct rds_ib_device *d,
			       struct rds_ib_reg_qp_slot *slot)
{
	if (!wait_for_completion_timeout(&slot->qs_done,
					 RDS_IB_REG_QP_TIMEOUT)) {
		/* The caller deallocates the FRMR next. Wait first, for a
		 * bounded time, until the work request has been flushed: from
		 * then on, the device does not touch the FRMR any more.
		 */
		rds_ib_reg_qp_fail(rq, d);
		wait_for_completion_timeout(&slot->qs_done,
					    RDS_IB_REG_QP_TIMEOUT);
		return -ETIMEDOUT;
	}
	if (slot->qs_status == IB_WC_SUCCESS)
		return 0;
	trace_rds_ib_wc_error(NULL, rq->rp_qp->qp_num, RDS_IB_WR_REG,
			      slot->qs_status, slot->qs_vendor_err);
	return slot->qs_status == IB_WC_WR_FLUSH_ERR ? -EAGAIN : -EIO;
}

/* Post a work request, and wait for its end. Returns 0; -EAGAIN if it was not
 * done because another one has failed; -EINTR; -EINVAL if the driver refuses
 * it; -ETIMEDOUT; -EIO.
 */
static noinline int rds_ib_reg_qp_post(struct rds_ib_reg_qp *rq,
				       struct rds_ib_device *d,
				       struct ib_send_wr *wr)
{
	struct rds_ib_reg_qp_slot *slot;
	int ret;

	if (wait_event_killable(rq->rp_wait, rds_ib_reg_qp_take(rq, &slot)))
		return -EINTR;
	if (!slot)
		return -EAGAIN;

	wr->wr_cqe = &slot->qs_cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	reinit_completion(&slot->qs_done);
	ret = rds_ib_post(rq->rp_qp, wr);
	if (ret)
		ret = ret == -EINVAL ? ret : -EIO;
	else
		ret = rds_ib_reg_qp_await(rq, d, slot);
	if (ret != -ETIMEDOUT)
		rds_ib_reg_qp_give_back(rq, slot);
	return ret;
}

ALLOW_ERROR_INJECTION(rds_ib_reg_qp_post, ERRNO);

static int rds_ib_reg_qp_try(struct rds_ib_device *d, struct ib_send_wr *wr,
			     bool *fresh)
{
	struct rds_ib_reg_qp *rq;
	int ret;

	rq = rds_ib_reg_qp_get(d, fresh);
	if (IS_ERR(rq))
		return PTR_ERR(rq);
	ret = rds_ib_reg_qp_post(rq, d, wr);
	if (ret && ret != -EINTR)
		rds_ib_reg_qp_fail(rq, d);
	rds_ib_reg_qp_put(rq);
	return ret;
}

/**
 * rds_ib_reg_qp_run() - Execute a local work request
 * @d: the device
 * @wr: a single work request; its completion handler is set here
 *
 * Context: Process context, may sleep. Takes dv_reg_qp_lock.
 * Return: 0 when the work request is done; -EINTR if the caller is killed
 * first; -ENETDOWN if no port is up; -EADDRNOTAVAIL if the device is being
 * removed, or has no usable GID; -EINVAL if the driver refuses the work
 * request; -ETIMEDOUT if the device does not complete it; or another errno.
 */
int rds_ib_reg_qp_run(struct rds_ib_device *d, struct ib_send_wr *wr)
{
	unsigned int flushes = 0;
	bool again = true, fresh;
	int ret;

	for (;;) {
		ret = rds_ib_reg_qp_try(d, wr, &fresh);
		if (ret == -EAGAIN && ++flushes < RDS_IB_REG_QP_FLUSHES)
			continue;
		/* If the QP is not a new one, it may have failed by itself
		 * earlier. Try once more.
		 */
		if ((ret != -EIO && ret != -EINVAL) || fresh || !again)
			break;
		again = false;
	}
	return ret == -EAGAIN ? -EIO : ret;
}

/**
 * rds_ib_reg_qp_run_once() - Execute a local work request on an existing QP
 * @d: the device
 * @wr: as for rds_ib_reg_qp_run()
 *
 * If there is no registration QP, none is created. If the work request fails,
 * it is not retried.
 *
 * Context: Process context, may sleep. Takes dv_reg_qp_lock.
 * Return: 0 when the work request is done; otherwise an errno, and the work
 * request may have been done nevertheless.
 */
int rds_ib_reg_qp_run_once(struct rds_ib_device *d, struct ib_send_wr *wr)
{
	return rds_ib_reg_qp_try(d, wr, NULL);
}
