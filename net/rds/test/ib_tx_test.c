// SPDX-License-Identifier: GPL-2.0-only
/*
 * The send queue of a connection over IB: net/rds/ib/{send,tx_ring,tx_post,
 * ack,op}.c, unchanged, on a queue pair that only records what is posted. The
 * functions of core and of other files that they call are replaced here.
 */
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
 * @hdr: the header of a SEND
 */
struct ib_tx_posted {
	struct ib_cqe		*cqe;
	int			flags;
	enum ib_wr_opcode	opcode;
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
 * @unmapped: all attempts to map memory fail
 * @drops: how often the connection was dropped
 * @kicks: how often the path was kicked
 * @maps: how many congestion maps were acknowledged
 * @msg: messages
 * @op: an operation, for any of @msg
 * @piece: local memory that @op reads or writes
 * @page: memory of @msg and @piece
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
	bool			unmapped;
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

#define ib_dma_mapping_error(dev, dma)	((void)(dma), rig->unmapped)

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
	rig->page = kunit_kzalloc(test, LONG, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rig->page);
	rig->refuse_at = -1;
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

static void others_are_asked_now_and_then(struct kunit *test)
{
	int i;

	for (i = 0; i < 16; i++) {
		expect_sent(test, 0, SHORT, false);
		KUNIT_EXPECT_EQ(test, asks(i), i == 15);
		KUNIT_EXPECT_TRUE(test, rig->posted[i].flags & IB_SEND_INLINE);
	}
	complete_nth(15, IB_WC_SUCCESS);
	expect_sent(test, 1, LONG, false);
	KUNIT_EXPECT_FALSE(test, asks(16));
	KUNIT_EXPECT_EQ(test, refs(1), 2U);
}

/* Each work request with mapped data is signaled. Otherwise soft-iWARP would
 * pass the mapped pages to TCP, and complete the request before TCP is done
 * with them.
 */
static void soft_iwarp_is_asked_of_all_that_is_mapped(struct kunit *test)
{
	static const u8 map[RDS_CONG_MAP_BYTES];
	int i;

	rig->dev.node_type = RDMA_NODE_RNIC;
	expect_sent(test, 0, SHORT, false);
	KUNIT_EXPECT_FALSE(test, asks(0));
	expect_sent(test, 1, LONG, true);
	expect_sent(test, 2, LONG, false);
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_SENT,
			rds_ib_xmit_cong_map(&rig->path, map));
	give_op(3, RDS_OP_WRITE, PIECES);
	expect_sent(test, 3, SHORT, false);
	KUNIT_ASSERT_EQ(test, rig->nr, 1 + 2 + 2 + 3 + 1);
	for (i = 1; i < rig->nr; i++)
		KUNIT_EXPECT_TRUE(test, asks(i));
	complete_nth(rig->nr - 1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, rig->maps, 1U);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_SUCCESS);
}

/* An iWARP device in hardware needs no signaled work request for that. */
static void iwarp_in_hardware_is_not(struct kunit *test)
{
	struct device parent = {};
	bool tells;

	rig->dev.node_type = RDMA_NODE_RNIC;
	rig->dev.dma_device = &parent;
	tells = rds_ib_tx_must_signal(&rig->ic);
	rig->dev.dma_device = NULL;
	KUNIT_EXPECT_FALSE(test, tells);
}

/* Post an operation, its message, and another message in the same batch. The
 * last one fails with @status.
 */
static void fail_behind(struct kunit *test, enum rds_op_kind kind,
			enum ib_wc_status status)
{
	give_op(0, kind, 1);
	expect_sent(test, 0, SHORT, true);
	expect_sent(test, 1, SHORT, false);
	KUNIT_ASSERT_EQ(test, rig->nr, 3);
	KUNIT_ASSERT_FALSE(test, asks(0));
	KUNIT_ASSERT_FALSE(test, asks(1));
	KUNIT_ASSERT_TRUE(test, asks(2));
	complete_nth(2, status);
	KUNIT_EXPECT_EQ(test, rig->drops, 1U);
}

static void what_preceded_a_failure_is_done(struct kunit *test)
{
	fail_behind(test, RDS_OP_FADD, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_SUCCESS);
}

static void what_preceded_a_flush_is_not(struct kunit *test)
{
	fail_behind(test, RDS_OP_FADD, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_DROPPED);
}

/* The ack of a message shows that the operation ahead of it is done. */
static void what_is_acknowledged_is_done(struct kunit *test)
{
	rig->ic.ic_rx.rx_acked = 7;
	fail_behind(test, RDS_OP_FADD, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_SUCCESS);
}

static void what_is_not_acknowledged_may_not_be(struct kunit *test)
{
	rig->ic.ic_rx.rx_acked = 6;
	fail_behind(test, RDS_OP_FADD, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_DROPPED);
}

/* An ack of later messages says nothing of an operation without a message. */
static void bare_operation_has_no_ack(struct kunit *test)
{
	give_op(0, RDS_OP_WRITE, 1)->op_bare = true;
	rig->ic.ic_rx.rx_acked = 8;
	expect_sent(test, 0, 0, false);
	complete_nth(0, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_DROPPED);
}

/* Nor does an ack change what our device knows. */
static void failed_operation_stays_failed(struct kunit *test)
{
	give_op(0, RDS_OP_READ, 1);
	rig->ic.ic_rx.rx_acked = 7;
	expect_sent(test, 0, SHORT, false);
	complete_nth(0, IB_WC_REM_ACCESS_ERR);
	complete_nth(1, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_REMOTE_ERROR);
}

static void what_fails_itself_is_not(struct kunit *test)
{
	give_op(0, RDS_OP_FADD, 1);
	expect_sent(test, 0, SHORT, false);
	complete_nth(0, IB_WC_REM_ACCESS_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, -1);
	complete_nth(1, IB_WC_WR_FLUSH_ERR);
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_REMOTE_ERROR);
}

static void without_memory_batched_goes(struct kunit *test)
{
	expect_sent(test, 0, SHORT, true);
	KUNIT_EXPECT_EQ(test, rig->nr, 0);
	rig->unmapped = true;
	rig->msg[1].m_payload.len = LONG;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			rds_ib_xmit(&rig->path, &rig->msg[1], false));
	KUNIT_EXPECT_EQ(test, rig->nr, 1);
	KUNIT_EXPECT_EQ(test, refs(0), 1U);
	rig->unmapped = false;
	expect_sent(test, 1, LONG, false);
	KUNIT_EXPECT_EQ(test, rig->nr, 2);
}

static void without_memory_a_map_holds_nothing_up(struct kunit *test)
{
	static const u8 map[RDS_CONG_MAP_BYTES];

	expect_sent(test, 0, SHORT, true);
	rig->unmapped = true;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			rds_ib_xmit_cong_map(&rig->path, map));
	KUNIT_EXPECT_EQ(test, rig->nr, 1);
	rig->unmapped = false;
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_SENT,
			rds_ib_xmit_cong_map(&rig->path, map));
	KUNIT_EXPECT_EQ(test, rig->nr, 3);
}

/* If all work requests in flight are unsignaled, the watchdog sends an ack. Its
 * completion releases what was posted before.
 */
static void an_ack_lets_go_what_went_before(struct kunit *test)
{
	expect_sent(test, 0, LONG, false);
	expect_sent(test, 1, LONG, true);
	rds_ib_ack_wanted(&rig->ic);
	KUNIT_ASSERT_EQ(test, rig->nr, 2);
	KUNIT_EXPECT_EQ(test, refs(0), 2U);
	complete_nth(1, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, refs(0), 1U);
	/* Message 1 was batched and not posted before the ack. */
	KUNIT_EXPECT_EQ(test, refs(1), 2U);
	KUNIT_EXPECT_EQ(test, rds_ib_ring_used(&rig->ic.ic_tx.tx_ring), 1U);

	expect_sent(test, 2, LONG, false);
	rds_ib_ack_wanted(&rig->ic);
	KUNIT_ASSERT_EQ(test, rig->nr, 5);
	complete_nth(4, IB_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, refs(1), 1U);
	KUNIT_EXPECT_EQ(test, refs(2), 1U);
	KUNIT_EXPECT_EQ(test, rds_ib_ring_used(&rig->ic.ic_tx.tx_ring), 0U);
}

static void an_ack_that_fails_does_not(struct kunit *test)
{
	expect_sent(test, 0, LONG, false);
	rds_ib_ack_wanted(&rig->ic);
	complete_nth(1, IB_WC_RETRY_EXC_ERR);
	KUNIT_EXPECT_EQ(test, refs(0), 2U);
	KUNIT_EXPECT_EQ(test, rig->drops, 1U);
}

static void an_op_that_is_refused_is_given_up(struct kunit *test)
{
	give_op(0, RDS_OP_READ, PIECES);
	rig->refuse_at = 0;
	rig->refuse_by = -EINVAL;
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_DELIVERED,
			rds_ib_xmit(&rig->path, &rig->msg[0], false));
	KUNIT_EXPECT_EQ(test, rig->status, RDS_RDMA_OTHER_ERROR);
}

/* The device has accepted a part of the read, and may still write to memory. So
 * the operation has not ended.
 */
static void an_op_that_is_half_refused_is_not_over(struct kunit *test)
{
	struct rds_op *op = give_op(0, RDS_OP_READ, PIECES);

	rig->refuse_at = 1;
	rig->refuse_by = -EINVAL;
	KUNIT_EXPECT_EQ(test, -EIO,
			rds_ib_xmit(&rig->path, &rig->msg[0], false));
	KUNIT_EXPECT_TRUE(test, rig->begun);
	KUNIT_EXPECT_EQ(test, rig->status, -1);
	KUNIT_EXPECT_EQ(test, op->op_error, RDS_RDMA_OTHER_ERROR);
	KUNIT_EXPECT_EQ(test, refs(0), 2U);
}

static int check_atomic(enum rds_op_kind kind)
{
	return rds_ib_atomic_check(NULL, &in6addr_loopback, 0, kind);
}

static void atomics_that_a_driver_refuses_are_known(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, check_atomic(RDS_OP_FADD), 0);
	KUNIT_EXPECT_EQ(test, check_atomic(RDS_OP_MASKED_CSWP), -EOPNOTSUPP);
	give_op(0, RDS_OP_CSWP, 1);
	rig->refuse_at = 0;
	rig->refuse_by = -ENOMEM;
	rds_ib_xmit(&rig->path, &rig->msg[0], false);
	KUNIT_EXPECT_EQ(test, check_atomic(RDS_OP_FADD), 0);

	rig->status = -1;
	rig->refuse_by = -EOPNOTSUPP;
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_DELIVERED,
			rds_ib_xmit(&rig->path, &rig->msg[0], false));
	KUNIT_EXPECT_EQ(test, check_atomic(RDS_OP_FADD), -EOPNOTSUPP);
}

/* Post SENDs of all kinds. The ack passes a message that is only batched. */
static void expect_numbers(struct kunit *test, u32 first, u32 step)
{
	static const u8 map[RDS_CONG_MAP_BYTES];
	const struct rds_header *hdr;
	__be32 number;
	int i;

	rig->nr = 0;
	expect_sent(test, 0, LONG, true);
	rds_ib_ack_wanted(&rig->ic);
	KUNIT_EXPECT_EQ(test, rig->nr, 1);
	expect_sent(test, 1, SHORT, false);
	KUNIT_EXPECT_EQ(test, (int)RDS_XMIT_SENT,
			rds_ib_xmit_cong_map(&rig->path, map));
	KUNIT_ASSERT_EQ(test, rig->nr, 1 + 2 + 2);
	for (i = 0; i < rig->nr; i++) {
		hdr = &rig->posted[i].hdr;
		memcpy(&number, hdr->h_padding, sizeof(number));
		KUNIT_EXPECT_EQ(test, ntohl(number), first + i * step);
		KUNIT_EXPECT_TRUE(test, hdr->h_csum && rds_header_csum_ok(hdr));
	}
	complete_nth(0, IB_WC_SUCCESS);
	complete_nth(rig->nr - 1, IB_WC_SUCCESS);
}

static void sends_are_numbered_if_the_peer_expects_it(struct kunit *test)
{
	expect_numbers(test, 0, 0);
	rig->ic.ic_priv.numbers = true;
	expect_numbers(test, 1, 1);
	expect_numbers(test, 6, 1);
}

static struct kunit_case ib_tx_cases[] = {
	KUNIT_CASE(others_are_asked_now_and_then),
	KUNIT_CASE(soft_iwarp_is_asked_of_all_that_is_mapped),
	KUNIT_CASE(iwarp_in_hardware_is_not),
	KUNIT_CASE(what_preceded_a_failure_is_done),
	KUNIT_CASE(what_preceded_a_flush_is_not),
	KUNIT_CASE(what_is_acknowledged_is_done),
	KUNIT_CASE(what_is_not_acknowledged_may_not_be),
	KUNIT_CASE(bare_operation_has_no_ack),
	KUNIT_CASE(failed_operation_stays_failed),
	KUNIT_CASE(what_fails_itself_is_not),
	KUNIT_CASE(without_memory_batched_goes),
	KUNIT_CASE(without_memory_a_map_holds_nothing_up),
	KUNIT_CASE(an_ack_lets_go_what_went_before),
	KUNIT_CASE(an_ack_that_fails_does_not),
	KUNIT_CASE(sends_are_numbered_if_the_peer_expects_it),
	KUNIT_CASE(an_op_that_is_refused_is_given_up),
	KUNIT_CASE(an_op_that_is_half_refused_is_not_over),
	KUNIT_CASE(atomics_that_a_driver_refuses_are_known),
	{}
};

static struct kunit_suite ib_tx_suite = {
	.name		= "rds_ib_tx",
	.init		= ib_tx_init,
	.exit		= ib_tx_exit,
	.test_cases	= ib_tx_cases,
};

kunit_test_suite(ib_tx_suite);
