// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queue pair of the device's own, by which memory is registered before there
 * is any connection, and by which that ends: a region belongs to the protection
 * domain, whichever queue pair has made it. It is connected to itself, and
 * nothing but local work requests goes by it, one at a time. It is made when
 * memory is to be registered, and again when it has failed.
 */
#include <linux/error-injection.h>
#include <linux/random.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "ib.h"

/* Work requests: one, and one that is being completed */
#define RDS_IB_REGQ_DEPTH	2

/* A local work request that takes longer never ends. */
#define RDS_IB_REGQ_TIMEOUT	(10 * HZ)

/**
 * rds_ib_regq_init() - before anything is registered
 * @rq: the queue
 *
 * Context: any.
 */
void rds_ib_regq_init(struct rds_ib_regq *rq)
{
	mutex_init(&rq->rq_lock);
	init_completion(&rq->rq_done);
}

static void rds_ib_regq_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rds_ib_regq *rq = cq->cq_context;

	rq->rq_status = wc->status;
	complete(&rq->rq_done);
}

static void rds_ib_regq_drop(struct rds_ib_regq *rq)
{
	if (rq->rq_qp)
		ib_destroy_qp(rq->rq_qp);
	rq->rq_qp = NULL;
	if (rq->rq_cq)
		ib_free_cq(rq->rq_cq);
	rq->rq_cq = NULL;
}

/**
 * rds_ib_regq_destroy() - nothing is registered any more
 * @rq: the queue; nobody uses it
 *
 * Context: process, may sleep.
 */
void rds_ib_regq_destroy(struct rds_ib_regq *rq)
{
	rds_ib_regq_drop(rq);
	mutex_destroy(&rq->rq_lock);
}

/* The first port that is up */
static int rds_ib_regq_find_port(struct ib_device *dev, u32 *found,
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

static int rds_ib_regq_to_init(struct ib_qp *qp, u32 port)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= port,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/* The link-local one of a RoCE device is better not held: it has a place of its
 * own, which has to be free when the interface gets another.
 */
static bool rds_ib_regq_may_hold(const struct ib_gid_attr *gid)
{
	const struct in6_addr *addr = (const void *)gid->gid.raw;

	return !rdma_protocol_roce(gid->device, gid->port_num) ||
	       !(ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL);
}

static int rds_ib_regq_use_gid(struct rdma_ah_attr *ah,
			       const struct ib_gid_attr *gid)
{
	union ib_gid dgid = gid->gid;

	rdma_ah_set_grh(ah, &dgid, 0, gid->index, 1, 0);
	if (!rdma_protocol_roce(gid->device, gid->port_num))
		return 0;
	return rdma_read_gid_l2_fields(gid, NULL, ah->roce.dmac);
}

/* One of the port's own addresses */
static int rds_ib_regq_find_gid(struct ib_device *dev, u32 port, int count,
				struct rdma_ah_attr *ah)
{
	const struct ib_gid_attr *gid;
	int i, ret = -EADDRNOTAVAIL;

	for (i = 0; i < count && ret; i++) {
		gid = rdma_get_gid_attr(dev, port, i);
		if (IS_ERR(gid))
			continue;
		if (rds_ib_regq_may_hold(gid))
			ret = rds_ib_regq_use_gid(ah, gid);
		rdma_put_gid_attr(gid);
	}
	return ret;
}

static int rds_ib_regq_to_rtr(struct ib_qp *qp, u32 port, u32 psn,
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
	ret = rds_ib_regq_find_gid(qp->device, port, port_attr->gid_tbl_len,
				   &attr.ah_attr);
	if (ret)
		return ret;
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int rds_ib_regq_to_rts(struct ib_qp *qp, u32 psn)
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

static noinline int rds_ib_regq_connect(struct ib_qp *qp)
{
	u32 port, psn = get_random_u32() & 0xffffff;
	struct ib_port_attr attr;
	int ret;

	ret = rds_ib_regq_find_port(qp->device, &port, &attr);
	if (!ret)
		ret = rds_ib_regq_to_init(qp, port);
	if (!ret)
		ret = rds_ib_regq_to_rtr(qp, port, psn, &attr);
	if (!ret)
		ret = rds_ib_regq_to_rts(qp, psn);
	return ret;
}

ALLOW_ERROR_INJECTION(rds_ib_regq_connect, ERRNO);

static noinline int rds_ib_regq_create(struct rds_ib_regq *rq,
				       struct rds_ib_device *d)
{
	struct ib_qp_init_attr attr = {
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= RDS_IB_REGQ_DEPTH,
			.max_recv_wr	= 1,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	struct ib_cq *cq;
	struct ib_qp *qp;

	cq = ib_alloc_cq_any(d->dv_dev, rq, RDS_IB_REGQ_DEPTH + 1,
			     IB_POLL_SOFTIRQ);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	rq->rq_cq = cq;

	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = ib_create_qp(d->dv_pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	rq->rq_qp = qp;
	return rds_ib_regq_connect(qp);
}

ALLOW_ERROR_INJECTION(rds_ib_regq_create, ERRNO);

static noinline int rds_ib_regq_post(struct rds_ib_regq *rq,
				     struct ib_send_wr *wr)
{
	int ret;

	rq->rq_cqe.done = rds_ib_regq_done;
	wr->wr_cqe = &rq->rq_cqe;
	wr->send_flags |= IB_SEND_SIGNALED;
	reinit_completion(&rq->rq_done);
	ret = rds_ib_post(rq->rq_qp, wr);
	if (ret)
		return ret == -EINVAL ? ret : -EIO;
	if (!wait_for_completion_timeout(&rq->rq_done, RDS_IB_REGQ_TIMEOUT))
		return -ETIMEDOUT;
	return rq->rq_status == IB_WC_SUCCESS ? 0 : -EIO;
}

ALLOW_ERROR_INJECTION(rds_ib_regq_post, ERRNO);

static int rds_ib_regq_try(struct rds_ib_regq *rq, struct rds_ib_device *d,
			   struct ib_send_wr *wr)
{
	int ret = 0;

	if (!rq->rq_qp)
		ret = rds_ib_regq_create(rq, d);
	/* That is not what the driver says to the request. */
	if (ret == -EINVAL)
		ret = -EIO;
	if (!ret)
		ret = rds_ib_regq_post(rq, wr);
	/* What has failed once has a queue pair in the error state. */
	if (ret)
		rds_ib_regq_drop(rq);
	return ret;
}

/**
 * rds_ib_regq_run() - have a local work request done
 * @d: the device
 * @wr: the work request, one; whose completion it has is for us to say
 *
 * Context: process, may sleep. Takes rq_lock.
 * Return: 0 when it is done; -EINTR if the caller is to die first; -ENETDOWN if
 * no port is up; -EADDRNOTAVAIL if the device is going, or has no address;
 * -EINVAL if its driver does not take it; or another errno.
 */
int rds_ib_regq_run(struct rds_ib_device *d, struct ib_send_wr *wr)
{
	struct rds_ib_regq *rq = &d->dv_regq;
	bool old;
	int ret;

	if (mutex_lock_killable(&rq->rq_lock))
		return -EINTR;
	old = rq->rq_qp;
	ret = -EADDRNOTAVAIL;
	if (!READ_ONCE(d->dv_removed))
		ret = rds_ib_regq_try(rq, d, wr);
	/* It may have failed for what befell it since the last time. */
	if ((ret == -EIO || ret == -EINVAL) && old)
		ret = rds_ib_regq_try(rq, d, wr);
	mutex_unlock(&rq->rq_lock);
	return ret;
}

/**
 * rds_ib_regq_run_once() - have a local work request done, if that is easy
 * @d: the device
 * @wr: as for rds_ib_regq_run()
 *
 * If there is no queue pair, or it fails, that is left to who needs it.
 *
 * Context: process, may sleep. Takes rq_lock.
 * Return: 0 when it is done; or an errno, and then it may have been done, too.
 */
int rds_ib_regq_run_once(struct rds_ib_device *d, struct ib_send_wr *wr)
{
	struct rds_ib_regq *rq = &d->dv_regq;
	int ret = -EADDRNOTAVAIL;

	if (mutex_lock_killable(&rq->rq_lock))
		return -EINTR;
	if (rq->rq_qp && !READ_ONCE(d->dv_removed))
		ret = rds_ib_regq_try(rq, d, wr);
	mutex_unlock(&rq->rq_lock);
	return ret;
}
