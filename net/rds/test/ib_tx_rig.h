/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rig of ib_tx_test.c: the send queue of a connection over IB, a queue pair
 * that only records what is posted, and the functions that the former calls.
 */
#ifndef _RDS_TEST_IB_TX_RIG_H
#define _RDS_TEST_IB_TX_RIG_H

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#define rds_message_put		ib_tx_message_put
#define rds_op_begin		ib_tx_op_begin
#define rds_op_done		ib_tx_op_done
#define rds_op_outlook		ib_tx_op_outlook
#define rds_path_kick		ib_tx_path_kick
#define rds_path_map_acked	ib_tx_path_map_acked

#include "../ib/ib.h"

/* Number of slots, and length of the longest SEND, header included, that the
 * device copies while it is posted
 */
#define SLOTS		64
#define INLINE		220

/* Lengths of a payload that is copied, and of one that is mapped */
#define SHORT		50
#define LONG		1000

#define PIECES		5
#define MESSAGES	4

/**
 * struct ib_tx_posted - a work request that the device has
 * @cqe: its completion
 * @flags: its flags
 * @opcode: its opcode
 * @num_sge: its number of SGEs
 * @bytes: how many bytes these have
 * @hdr: the header of a SEND
 */
struct ib_tx_posted {
	struct ib_cqe		*cqe;
	int			flags;
	enum ib_wr_opcode	opcode;
	int			num_sge;
	u32			bytes;
	struct rds_header	hdr;
};

/**
 * struct ib_tx - the fixture
 * @dev: the device
 * @pd: its protection domain
 * @dv: our structure for @dev
 * @qp: the queue pair
 * @cq: its completion queue
 * @id: CM ID of @qp
 * @path: core's part of the path
 * @ip: our part of the path
 * @ic: the connection
 * @posted: work requests that the device has accepted, in order
 * @nr: number of elements of @posted in use
 * @refuse_at: value of @nr at which the device refuses a work request; -1: none
 * @refuse_by: errno of the refusal
 * @maps_left: how many attempts to map memory succeed before all fail; -1: all
 *	succeed
 * @drops: how often the connection was dropped
 * @kicks: how often the path was kicked
 * @maps: how many congestion maps were acknowledged
 * @msg: messages
 * @op: an operation, for any of @msg
 * @piece: local memory that @op reads or writes
 * @page: memory of @msg and @piece, a page
 * @begun: @op has begun
 * @status: how @op has ended; -1 if it has not
 */
struct ib_tx {
	struct ib_device	dev;
	struct ib_pd		pd;
	struct rds_ib_device	dv;
	struct ib_qp		qp;
	struct ib_cq		cq;
	struct rdma_cm_id	id;
	struct rds_path		path;
	struct rds_ib_path	ip;
	struct rds_ib_conn	ic;
	struct ib_tx_posted	posted[SLOTS];
	int			nr;
	int			refuse_at;
	int			refuse_by;
	int			maps_left;
	unsigned int		drops;
	unsigned int		kicks;
	unsigned int		maps;
	struct rds_message	msg[MESSAGES];
	struct rds_op		op;
	struct bio_vec		piece[PIECES];
	u8			*page;
	bool			begun;
	int			status;
};

static struct ib_tx *rig;

static int ib_tx_mapping_error(u64 dma)
{
	if (rig->maps_left > 0)
		rig->maps_left--;
	else if (!rig->maps_left)
		return -ENOMEM;
	return 0;
}

#define ib_dma_mapping_error(dev, dma)	ib_tx_mapping_error(dma)

#include "../ib/tx_ring.c"
#include "../ib/ack.c"
#include "../ib/tx_post.c"
#include "../ib/op.c"
#include "../ib/send.c"

DEFINE_PER_CPU(struct rds_ib_stats, rds_ib_stats);
struct rds_ib_sysctl rds_ib_sysctl = { .max_unsignaled_wr = 16 };
struct workqueue_struct *rds_ib_wq;

void rds_message_put(struct rds_message *msg)
{
	refcount_dec(&msg->m_refs);
}

enum rds_op_outlook rds_op_outlook(const struct rds_message *msg)
{
	if (!msg->m_op)
		return RDS_OP_NOTHING;
	return rig->status < 0 ? RDS_OP_TO_DO : RDS_OP_GIVE_UP;
}

bool rds_op_begin(struct rds_message *msg)
{
	rig->begun = true;
	return true;
}

void rds_op_done(struct rds_message *msg, int status)
{
	rig->status = status;
}

void rds_path_kick(struct rds_path *path, enum rds_kick why)
{
	rig->kicks++;
}

void rds_path_map_acked(struct rds_path *path)
{
	rig->maps++;
}

void rds_ib_drop(struct rds_ib_conn *ic, enum rds_drop_reason reason)
{
	rig->drops++;
}

void rds_ib_watchdog_start(struct rds_ib_conn *ic)
{
}

struct rds_ib_device *rds_ib_device_of(struct net *net,
				       const struct in6_addr *addr, int ifindex)
{
	return &rig->dv;
}

void rds_ib_device_put(struct rds_ib_device *d)
{
}

static int ib_tx_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	struct ib_tx_posted *posted;
	int i;

	for (; wr; wr = wr->next) {
		*bad = wr;
		if (rig->nr == rig->refuse_at)
			return rig->refuse_by;
		if (rig->nr == SLOTS)
			return -ENOMEM;
		posted = &rig->posted[rig->nr++];
		posted->cqe = wr->wr_cqe;
		posted->flags = wr->send_flags;
		posted->opcode = wr->opcode;
		posted->num_sge = wr->num_sge;
		posted->bytes = 0;
		for (i = 0; i < wr->num_sge; i++)
			posted->bytes += wr->sg_list[i].length;
		/* This device has no DMA addresses of its own. */
		if (wr->opcode == IB_WR_SEND)
			memcpy(&posted->hdr,
			       (void *)(uintptr_t)wr->sg_list[0].addr,
			       sizeof(posted->hdr));
	}
	return 0;
}

static void ib_tx_connect(void)
{
	struct rds_ib_conn *ic = &rig->ic;

	rig->dev.node_type = RDMA_NODE_IB_CA;
	rig->dev.ops.post_send = ib_tx_post_send;
	rig->dev.attrs.atomic_cap = IB_ATOMIC_HCA;
	rig->dv.dv_dev = &rig->dev;
	rig->dv.dv_pd = &rig->pd;
	rig->qp.device = &rig->dev;
	rig->cq.cq_context = ic;
	rig->id.qp = &rig->qp;
	rig->ip.ip_path = &rig->path;
	atomic64_set(&rig->path.next_rx_seq, 1);
	rig->ip.ip_conn = ic;
	rig->path.data = &rig->ip;
	ic->ic_id = &rig->id;
	ic->ic_dev = &rig->dv;
	ic->ic_ip = &rig->ip;
	spin_lock_init(&ic->ic_tx_lock);
	rds_ib_ack_init(ic);
	rds_ib_credits_offered(&ic->ic_credits, 0, true);
}

static int ib_tx_init(struct kunit *test)
{
	unsigned int i;

	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig);
	rig->page = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig->page);
	rig->refuse_at = -1;
	rig->maps_left = -1;
	rig->status = -1;
	for (i = 0; i < MESSAGES; i++) {
		refcount_set(&rig->msg[i].m_refs, 1);
		rig->msg[i].m_payload.kind = RDS_PAYLOAD_INLINE;
		rig->msg[i].m_payload.data = rig->page;
		rig->msg[i].m_payload.len = SHORT;
	}
	ib_tx_connect();
	KUNIT_ASSERT_EQ(test, rds_ib_tx_init(&rig->ic, SLOTS), 0);
	rig->ic.ic_tx.tx_inline = INLINE;
	return 0;
}

/* At the end of each test, no reference to a message may be left. */
static void ib_tx_exit(struct kunit *test)
{
	unsigned int i;

	cancel_delayed_work_sync(&rig->ic.ic_ack.ak_later);
	rds_ib_tx_release(&rig->ic);
	for (i = 0; i < MESSAGES; i++)
		KUNIT_EXPECT_EQ(test, refcount_read(&rig->msg[i].m_refs), 1U);
}

static unsigned int refs(unsigned int i)
{
	return refcount_read(&rig->msg[i].m_refs);
}

static void expect_sent(struct kunit *test, unsigned int i, u32 len, bool more)
{
	rig->msg[i].m_payload.len = len;
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_SENT,
			rds_ib_xmit(&rig->path, &rig->msg[i], more));
}

/* Complete a work request, and with it all earlier ones. */
static void complete_nth(int nr, enum ib_wc_status status)
{
	struct ib_cqe *cqe = rig->posted[nr].cqe;
	struct ib_wc wc = { .wr_cqe = cqe, .status = status };

	cqe->done(&rig->cq, &wc);
}

static bool asks(int nr)
{
	return rig->posted[nr].flags & IB_SEND_SIGNALED;
}

static struct rds_op *give_op(unsigned int i, enum rds_op_kind kind,
			      unsigned int nr)
{
	struct rds_op *op = &rig->op;
	unsigned int p;

	for (p = 0; p < nr; p++) {
		rig->piece[p].bv_page = virt_to_page(rig->page);
		rig->piece[p].bv_offset = offset_in_page(rig->page);
		rig->piece[p].bv_len = sizeof(u64);
	}
	op->op_kind = kind;
	op->op_nr = nr;
	op->op_bvec = rig->piece;
	op->op_bytes = nr * sizeof(u64);
	rig->msg[i].m_op = op;
	rig->msg[i].m_seq = 7;
	return op;
}

#endif /* _RDS_TEST_IB_TX_RIG_H */
