// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA reads and writes, and atomic operations, under the path's transmit lock.
 *
 * An operation becomes one or more work requests, of some pieces each, with
 * slots of their own. They are posted before the message that the operation
 * belongs to. Each slot references the message, and thereby pins the user's
 * memory, until the slot is completed.
 *
 * The last work request, which may be the message's own, is always covered by a
 * completion. That completion ends the operation. If a work request fails
 * before, its completion records the reason. The message waits until a read or
 * an atomic operation is done. Otherwise the peer could take its memory back
 * too early.
 *
 * If the device refuses the first work request of an operation, the operation
 * and its message are given up, and nothing else is affected. If it refuses a
 * later one, the connection is dropped: the device still accesses the user's
 * memory for the parts that it has taken, until the connection has ended.
 */
#include <linux/error-injection.h>

#include "ib.h"

union rds_ib_op_wr {
	struct ib_send_wr	wr;
	struct ib_rdma_wr	rdma;
	struct ib_atomic_wr	atomic;
};

static bool rds_ib_op_is_atomic(enum rds_op_kind kind)
{
	return kind >= RDS_OP_FADD;
}

/**
 * rds_ib_atomic_check() - Check whether a device supports an atomic operation
 * @net: the namespace
 * @laddr: a local address of the device
 * @ifindex: scope of the address, or 0
 * @kind: the operation
 *
 * Context: Same as &rds_rdma_ops.atomic_check.
 * Return: Same as &rds_rdma_ops.atomic_check.
 */
int rds_ib_atomic_check(struct net *net, const struct in6_addr *laddr,
			int ifindex, enum rds_op_kind kind)
{
	struct rds_ib_device *d = rds_ib_device_of(net, laddr, ifindex);
	enum ib_atomic_cap cap;

	if (IS_ERR(d))
		return PTR_ERR(d);
	if (READ_ONCE(d->dv_no_atomics))
		cap = IB_ATOMIC_NONE;
	else if (kind == RDS_OP_FADD || kind == RDS_OP_CSWP)
		cap = d->dv_dev->attrs.atomic_cap;
	else
		cap = d->dv_dev->attrs.masked_atomic_cap;
	rds_ib_device_put(d);
	return cap == IB_ATOMIC_NONE ? -EOPNOTSUPP : 0;
}

/* Map the next pieces. Returns their number, or an errno. */
static noinline int rds_ib_op_map(struct rds_ib_conn *ic,
				  struct rds_ib_tx_slot *slot,
				  const struct rds_op *op, struct ib_sge *sge)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;
	const struct bio_vec *bv = &op->op_bvec[ic->ic_tx.tx_op_piece];
	unsigned int i, nr;
	u64 dma;

	nr = min_t(unsigned int, op->op_nr - ic->ic_tx.tx_op_piece,
		   rds_ib_send_sge(ic->ic_dev) - 1);
	if (op->op_kind == RDS_OP_READ && dev->attrs.max_sge_rd)
		nr = min_t(unsigned int, nr, dev->attrs.max_sge_rd);
	slot->ts_from = op->op_kind != RDS_OP_WRITE;
	for (i = 0; i < nr; i++, bv++) {
		dma = ib_dma_map_page(dev, bv->bv_page, bv->bv_offset,
				      bv->bv_len, slot->ts_from ?
				      DMA_FROM_DEVICE : DMA_TO_DEVICE);
		if (ib_dma_mapping_error(dev, dma)) {
			rds_ib_stat_inc(ib_tx_sg_mapping_failure);
			rds_ib_tx_unmap(ic, slot);
			return -ENOMEM;
		}
		slot->ts_dma[i] = dma;
		slot->ts_len[i] = bv->bv_len;
		slot->ts_nr++;
		sge[i].addr = dma;
		sge[i].length = bv->bv_len;
		sge[i].lkey = ic->ic_dev->dv_pd->local_dma_lkey;
	}
	return nr;
}

ALLOW_ERROR_INJECTION(rds_ib_op_map, ERRNO);

static void rds_ib_op_fill_rdma(union rds_ib_op_wr *w, const struct rds_op *op,
				u32 off)
{
	w->wr.opcode = op->op_kind == RDS_OP_WRITE ? IB_WR_RDMA_WRITE :
						     IB_WR_RDMA_READ;
	w->rdma.remote_addr = op->op_addr + off;
	w->rdma.rkey = op->op_key;
}

static void rds_ib_op_fill_atomic(union rds_ib_op_wr *w,
				  const struct rds_op *op)
{
	static const enum ib_wr_opcode opcodes[] = {
		[RDS_OP_FADD]		= IB_WR_ATOMIC_FETCH_AND_ADD,
		[RDS_OP_CSWP]		= IB_WR_ATOMIC_CMP_AND_SWP,
		[RDS_OP_MASKED_FADD]	= IB_WR_MASKED_ATOMIC_FETCH_AND_ADD,
		[RDS_OP_MASKED_CSWP]	= IB_WR_MASKED_ATOMIC_CMP_AND_SWP,
	};
	bool adds = op->op_kind == RDS_OP_FADD ||
		    op->op_kind == RDS_OP_MASKED_FADD;

	w->wr.opcode = opcodes[op->op_kind];
	w->atomic.remote_addr = op->op_addr;
	w->atomic.rkey = op->op_key;
	w->atomic.compare_add = adds ? op->op_add : op->op_compare;
	w->atomic.swap = op->op_add;
	w->atomic.compare_add_mask = adds ? op->op_add_mask :
					    op->op_compare_mask;
	w->atomic.swap_mask = op->op_add_mask;
	if (adds)
		rds_ib_stat_inc(ib_atomic_fadd);
	else
		rds_ib_stat_inc(ib_atomic_cswp);
}

/* Take the slot first: the device may complete it before we return. */
static int rds_ib_op_post(struct rds_ib_conn *ic, struct ib_send_wr *wr)
{
	bool asks = wr->send_flags & IB_SEND_SIGNALED;
	struct rds_ib_tx *tx = &ic->ic_tx;
	int ret;

	if (asks)
		atomic_inc(&ic->ic_signaled);
	rds_ib_ring_get(&tx->tx_ring);
	ret = rds_ib_post(ic->ic_id->qp, wr);
	if (!ret) {
		rds_ib_tx_is_posted(ic);
		return 0;
	}

	rds_ib_ring_unget(&tx->tx_ring);
	if (asks)
		atomic_dec(&ic->ic_signaled);
	/* The earlier work requests still have no completion: make the next one
	 * signaled.
	 */
	if (asks)
		tx->tx_unsignaled = tx->tx_signal;
	return ret;
}

static void rds_ib_op_put_slot(struct rds_ib_conn *ic,
			       struct rds_ib_tx_slot *slot)
{
	rds_ib_tx_unmap(ic, slot);
	slot->ts_op = RDS_IB_OP_NONE;
	rds_message_put(slot->ts_msg);
	slot->ts_msg = NULL;
}

/* Some drivers report that the device supports atomic operations although only
 * user space can use them. Remember a refusal, so that such a driver is not
 * asked again.
 */
static int rds_ib_op_refused(struct rds_ib_conn *ic, struct rds_op *op, int err)
{
	if (rds_ib_op_is_atomic(op->op_kind) && err == -EOPNOTSUPP)
		WRITE_ONCE(ic->ic_dev->dv_no_atomics, true);
	if (!ic->ic_tx.tx_op_piece)
		return -ECANCELED;
	rds_ib_op_set_error(op, RDS_RDMA_OTHER_ERROR);
	return -EIO;
}

/* Post one work request. The caller has made sure that there is a slot for it,
 * and that no work request is batched. Returns -ECANCELED if the operation is
 * given up.
 */
static int rds_ib_op_step(struct rds_ib_conn *ic, struct rds_message *msg)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	u32 nr = rds_ib_ring_next(&tx->tx_ring);
	struct rds_ib_tx_slot *slot = &tx->tx_slots[nr];
	const struct rds_op *op = msg->m_op;
	struct ib_sge sge[RDS_IB_SEND_PIECES];
	union rds_ib_op_wr w;
	int pieces, i, ret;
	bool last;

	if (!rds_op_begin(msg))
		return -ECANCELED;
	pieces = rds_ib_op_map(ic, slot, op, sge);
	if (pieces < 0)
		return pieces;

	memset(&w, 0, sizeof(w));
	w.wr.wr_cqe = &slot->ts_cqe;
	w.wr.sg_list = sge;
	w.wr.num_sge = pieces;
	if (rds_ib_op_is_atomic(op->op_kind))
		rds_ib_op_fill_atomic(&w, op);
	else
		rds_ib_op_fill_rdma(&w, op, tx->tx_op_bytes);
	if (op->op_fence && !tx->tx_op_piece)
		w.wr.send_flags = IB_SEND_FENCE;

	last = tx->tx_op_piece + pieces == op->op_nr && op->op_bare;
	if (++tx->tx_unsignaled >= tx->tx_signal || last ||
	    rds_ib_tx_must_signal(ic))
		rds_ib_tx_signal(tx, &w.wr);
	slot->ts_msg = rds_message_get(msg);
	slot->ts_op = last ? RDS_IB_OP_LAST : RDS_IB_OP_PART;
	ret = rds_ib_op_post(ic, &w.wr);
	if (ret) {
		rds_ib_op_put_slot(ic, slot);
		return rds_ib_op_refused(ic, msg->m_op, ret);
	}
	tx->tx_op_piece += pieces;
	for (i = 0; i < pieces; i++)
		tx->tx_op_bytes += sge[i].length;
	return 0;
}

/**
 * rds_ib_xmit_op() - Post the rest of a message's operation
 * @ic: the connection
 * @msg: the message, with an operation
 *
 * Context: Same as &rds_data_ops.xmit.
 * Return: 0 if all of the operation is posted, or was done before; -ECANCELED
 * if the operation is given up, and the message with it; otherwise an errno as
 * for &rds_data_ops.xmit.
 */
int rds_ib_xmit_op(struct rds_ib_conn *ic, struct rds_message *msg)
{
	enum rds_op_outlook outlook = rds_op_outlook(msg);
	int ret;

	if (outlook == RDS_OP_GIVE_UP)
		return -ECANCELED;
	if (outlook == RDS_OP_NOTHING ||
	    ic->ic_tx.tx_op_piece == msg->m_op->op_nr)
		return 0;
	/* The batched messages precede the operation. */
	ret = rds_ib_tx_post(ic);
	while (!ret && ic->ic_tx.tx_op_piece < msg->m_op->op_nr) {
		ret = rds_ib_tx_room(ic, NULL);
		if (!ret)
			ret = rds_ib_op_step(ic, msg);
	}
	if (ret == -ECANCELED)
		rds_op_done(msg, RDS_RDMA_OTHER_ERROR);
	return ret;
}
