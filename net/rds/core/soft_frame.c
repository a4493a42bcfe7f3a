// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA in software: what is in the frames.
 *
 * Pure. The extension header fills the sixteen bytes: its type, the kind of
 * the frame, a status, and three numbers of four bytes. What has another size
 * for each kind is payload.
 */
#include "compat.h"
#include "soft_frame.h"

/**
 * rds_soft_frame_write() - write a frame's extension header
 * @exthdr: RDS_EXTHDR_SPACE bytes
 * @frame: what to say
 *
 * Context: any.
 */
void rds_soft_frame_write(u8 *exthdr, const struct rds_soft_frame *frame)
{
	unsigned int pos = 0;
	u8 payload[15] = {};

	payload[0] = frame->sf_kind;
	payload[1] = frame->sf_status;
	put_unaligned_be32(frame->sf_id, payload + 2);
	put_unaligned_be32(frame->sf_key, payload + 6);
	put_unaligned_be32(frame->sf_addr, payload + 10);

	memset(exthdr, 0, RDS_EXTHDR_SPACE);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_SOFT_RDMA, payload);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_soft_frame_write);

/**
 * rds_soft_frame_read() - read a frame's extension header
 * @exthdr: RDS_EXTHDR_SPACE bytes, from a peer
 * @frame: set to what they say
 *
 * Context: any.
 * Return: false if it is no such frame.
 */
bool rds_soft_frame_read(const u8 *exthdr, struct rds_soft_frame *frame)
{
	unsigned int pos = 0;
	const u8 *payload;

	if (rds_exthdr_next(exthdr, &pos, &payload) != RDS_EXTHDR_SOFT_RDMA)
		return false;
	frame->sf_kind = payload[0];
	frame->sf_status = payload[1];
	frame->sf_id = get_unaligned_be32(payload + 2);
	frame->sf_key = get_unaligned_be32(payload + 6);
	frame->sf_addr = get_unaligned_be32(payload + 10);
	return frame->sf_kind <= RDS_SOFT_MASKED_CSWP;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_soft_frame_read);

/**
 * rds_soft_operands_write() - write the operands of an atomic operation
 * @to: where to
 * @op: the operation
 *
 * Context: any.
 */
void rds_soft_operands_write(struct rds_soft_operands *to,
			     const struct rds_op *op)
{
	to->add = cpu_to_be64(op->op_add);
	to->compare = cpu_to_be64(op->op_compare);
	to->add_mask = cpu_to_be64(op->op_add_mask);
	to->compare_mask = cpu_to_be64(op->op_compare_mask);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_soft_operands_write);

/**
 * rds_soft_operands_read() - read the operands of an atomic operation
 * @from: where from
 * @op: the operation
 *
 * Context: any.
 */
void rds_soft_operands_read(const struct rds_soft_operands *from,
			    struct rds_op *op)
{
	op->op_add = be64_to_cpu(from->add);
	op->op_compare = be64_to_cpu(from->compare);
	op->op_add_mask = be64_to_cpu(from->add_mask);
	op->op_compare_mask = be64_to_cpu(from->compare_mask);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_soft_operands_read);

/* A set bit of the mask is the last of a part, and nothing carries out of it
 * (InfiniBand Architecture Specification, "Masked Atomics"; rds-rdma(7),
 * nocarry_mask).
 */
static u64 rds_soft_add(u64 a, u64 b, u64 last)
{
	return ((a & ~last) + (b & ~last)) ^ ((a ^ b) & last);
}

/**
 * rds_soft_compute() - what an atomic operation makes of a value
 * @op: the operation
 * @old: what was there
 *
 * Context: any.
 * Return: what is there afterwards.
 */
u64 rds_soft_compute(const struct rds_op *op, u64 old)
{
	switch (op->op_kind) {
	case RDS_OP_FADD:
	case RDS_OP_MASKED_FADD:
		return rds_soft_add(old, op->op_add, op->op_add_mask);
	case RDS_OP_CSWP:
	case RDS_OP_MASKED_CSWP:
		if ((old ^ op->op_compare) & op->op_compare_mask)
			return old;
		return (old & ~op->op_add_mask) |
		       (op->op_add & op->op_add_mask);
	default:
		return old;
	}
}
EXPORT_SYMBOL_RDS_KUNIT(rds_soft_compute);
