// SPDX-License-Identifier: GPL-2.0-only
/*
 * The send queue of a connection over IB: net/rds/ib/{send,tx_ring,tx_post,
 * ack,op}.c, unchanged, on a queue pair that only records what is posted. The
 * functions of core and of other files that they call are replaced here.
 */
#include "ib_tx_rig.h"

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
	rig->maps_left = 0;
	rig->msg[1].m_payload.len = LONG;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			rds_ib_xmit(&rig->path, &rig->msg[1], false));
	KUNIT_EXPECT_EQ(test, rig->nr, 1);
	KUNIT_EXPECT_EQ(test, refs(0), 1U);
	rig->maps_left = -1;
	expect_sent(test, 1, LONG, false);
	KUNIT_EXPECT_EQ(test, rig->nr, 2);
}

static void without_memory_a_map_holds_nothing_up(struct kunit *test)
{
	static const u8 map[RDS_CONG_MAP_BYTES];

	expect_sent(test, 0, SHORT, true);
	rig->maps_left = 0;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			rds_ib_xmit_cong_map(&rig->path, map));
	KUNIT_EXPECT_EQ(test, rig->nr, 1);
	rig->maps_left = -1;
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

/* The device has room for the pieces of wide fragments, and so has the peer. */
static void be_wide(void)
{
	rig->dev.attrs.max_send_sge = RDS_IB_SEND_SGE;
	rig->dev.attrs.max_recv_sge = RDS_IB_RECV_SGE;
	rig->ic.ic_priv.wide = true;
}

/* Give a message @len bytes of user memory, which begin in the middle of a page
 * and are all in the same one.
 */
static void give_stretch(struct kunit *test, unsigned int i, u32 len)
{
	u32 nr = DIV_ROUND_UP(len + PAGE_SIZE / 2, PAGE_SIZE), b;
	struct rds_payload *payload = &rig->msg[i].m_payload;
	struct bio_vec *bv;

	payload->bvec = kunit_kcalloc(test, nr, sizeof(*payload->bvec),
				      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, payload->bvec);
	payload->kind = RDS_PAYLOAD_USER;
	payload->nr = nr;
	for (b = 0; b < nr; b++) {
		bv = &payload->bvec[b];
		bv->bv_page = virt_to_page(rig->page);
		bv->bv_offset = b ? 0 : PAGE_SIZE / 2;
		bv->bv_len = min_t(u32, len, PAGE_SIZE - bv->bv_offset);
		len -= bv->bv_len;
	}
}

/* A message of 64 KiB is five SENDs, which the device gets together: more than
 * a batch is never kept back. The last one is short enough to be copied.
 */
static void wide_fragments_have_all_pieces(struct kunit *test)
{
	const u32 hdr = sizeof(struct rds_header);
	int i;

	be_wide();
	rig->ic.ic_tx.tx_inline = RDS_IB_INLINE;
	give_stretch(test, 0, SZ_64K);
	expect_sent(test, 0, SZ_64K, true);
	KUNIT_ASSERT_EQ(test, rig->nr, 5);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, rig->posted[i].bytes, RDS_IB_WIDE_BYTES);
		KUNIT_EXPECT_GE(test, rig->posted[i].num_sge,
				1 + (int)RDS_IB_WIDE_PAGES);
		KUNIT_EXPECT_LE(test, rig->posted[i].num_sge,
				(int)RDS_IB_SEND_SGE);
		KUNIT_EXPECT_FALSE(test, rig->posted[i].flags &
				   IB_SEND_INLINE);
	}
	KUNIT_EXPECT_EQ(test, rig->posted[4].bytes,
			hdr + SZ_64K % RDS_IB_WIDE_SIZE);
	KUNIT_EXPECT_TRUE(test, rig->posted[4].flags & IB_SEND_INLINE);
	complete_nth(4, IB_WC_SUCCESS);
}

/* What fits into one SEND has no header within its 16 KiB. */
static void wide_fragment_alone(struct kunit *test)
{
	be_wide();
	give_stretch(test, 0, RDS_IB_WIDE_BYTES);
	expect_sent(test, 0, RDS_IB_WIDE_BYTES, false);
	KUNIT_ASSERT_EQ(test, rig->nr, 1);
	KUNIT_EXPECT_EQ(test, rig->posted[0].bytes,
			RDS_IB_WIDE_BYTES + (u32)sizeof(struct rds_header));
	complete_nth(0, IB_WC_SUCCESS);
}

/* If a piece of the second fragment cannot be mapped, what was mapped of it is
 * unmapped, and the message goes on from there later.
 */
static void wide_fragment_that_cannot_be_mapped(struct kunit *test)
{
	unsigned int i;

	be_wide();
	give_stretch(test, 0, SZ_64K);
	rig->msg[0].m_payload.len = SZ_64K;
	rig->maps_left = RDS_IB_SEND_PIECES + 2;
	KUNIT_EXPECT_EQ(test, -ENOMEM,
			rds_ib_xmit(&rig->path, &rig->msg[0], false));
	for (i = 1; i < SLOTS; i++)
		KUNIT_EXPECT_EQ(test, rig->ic.ic_tx.tx_slots[i].ts_nr, 0);
	rig->maps_left = -1;
	expect_sent(test, 0, SZ_64K, false);
	KUNIT_ASSERT_EQ(test, rig->nr, 5);
	complete_nth(4, IB_WC_SUCCESS);
}

/* An operation has as many pieces in a work request as the device can take. */
static void operation_in_one_request(struct kunit *test)
{
	be_wide();
	give_op(0, RDS_OP_WRITE, PIECES);
	expect_sent(test, 0, SHORT, false);
	KUNIT_ASSERT_EQ(test, rig->nr,
			DIV_ROUND_UP(PIECES, (int)RDS_IB_SEND_PIECES) + 1);
	complete_nth(rig->nr - 1, IB_WC_SUCCESS);
}

/* The device may take fewer pieces of a READ. */
static void read_of_few_pieces(struct kunit *test)
{
	be_wide();
	rig->dev.attrs.max_sge_rd = 1;
	give_op(0, RDS_OP_READ, PIECES);
	expect_sent(test, 0, SHORT, false);
	KUNIT_ASSERT_EQ(test, rig->nr, PIECES + 1);
	complete_nth(rig->nr - 1, IB_WC_SUCCESS);
}

struct sge_row {
	const char	*name;
	u32		send;
	u32		recv;
	bool		wide;
};

static const struct sge_row sges[] = {
	{ "as_many", RDS_IB_SEND_SGE, RDS_IB_RECV_SGE, true },
	{ "more", 30, 32, true },
	{ "too_few_to_send", RDS_IB_SEND_SGE - 1, RDS_IB_RECV_SGE, false },
	{ "too_few_to_receive", RDS_IB_SEND_SGE, RDS_IB_RECV_SGE - 1, false },
};

static void sge_desc(const struct sge_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(sges, sges, sge_desc);

static void sges_of_a_device(struct kunit *test)
{
	const struct sge_row *row = test->param_value;

	rig->dev.attrs.max_send_sge = row->send;
	rig->dev.attrs.max_recv_sge = row->recv;
	KUNIT_EXPECT_EQ(test, row->wide, rds_ib_device_is_wide(&rig->dv));
	KUNIT_EXPECT_EQ(test, rds_ib_send_sge(&rig->dv),
			row->wide ? RDS_IB_SEND_SGE : RDS_IB_SEND_SGE_MIN);
	KUNIT_EXPECT_EQ(test, rds_ib_recv_sge(&rig->dv),
			row->wide ? RDS_IB_RECV_SGE : RDS_IB_RECV_SGE_MIN);
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
	KUNIT_CASE(wide_fragments_have_all_pieces),
	KUNIT_CASE(wide_fragment_alone),
	KUNIT_CASE(wide_fragment_that_cannot_be_mapped),
	KUNIT_CASE(operation_in_one_request),
	KUNIT_CASE(read_of_few_pieces),
	KUNIT_CASE_PARAM(sges_of_a_device, sges_gen_params),
	{}
};

static struct kunit_suite ib_tx_suite = {
	.name		= "rds_ib_tx",
	.init		= ib_tx_init,
	.exit		= ib_tx_exit,
	.test_cases	= ib_tx_cases,
};

kunit_test_suite(ib_tx_suite);
