/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA in software: frames between two of this implementation that ask for an
 * operation on the other's memory, and answer. See Documentation/protocol.rst.
 */
#ifndef _RDS_CORE_SOFT_FRAME_H
#define _RDS_CORE_SOFT_FRAME_H

#include <net/rds/transport.h>

struct rds_cpath;

/**
 * enum rds_soft_kind - what a frame is
 * @RDS_SOFT_ANSWER: how an operation has ended; the payload is what was read
 * @RDS_SOFT_READ: asks to read; the payload says how many bytes
 * @RDS_SOFT_WRITE: asks to write the payload
 * @RDS_SOFT_FADD: asks for an atomic operation; the payload is a struct
 *	rds_soft_operands, as it is for all that follow
 * @RDS_SOFT_CSWP: likewise
 * @RDS_SOFT_MASKED_FADD: likewise
 * @RDS_SOFT_MASKED_CSWP: likewise
 */
enum rds_soft_kind {
	RDS_SOFT_ANSWER		= 0,
	RDS_SOFT_READ		= 1,
	RDS_SOFT_WRITE		= 2,
	RDS_SOFT_FADD		= 3,
	RDS_SOFT_CSWP		= 4,
	RDS_SOFT_MASKED_FADD	= 5,
	RDS_SOFT_MASKED_CSWP	= 6,
};

/**
 * enum rds_soft_status - how an operation has ended
 * @RDS_SOFT_OK: it is done
 * @RDS_SOFT_REFUSED: the key, the range or the direction is not allowed
 */
enum rds_soft_status {
	RDS_SOFT_OK		= 0,
	RDS_SOFT_REFUSED	= 1,
};

/**
 * struct rds_soft_frame - what the extension header of a frame says
 * @sf_kind: of enum rds_soft_kind
 * @sf_status: of an answer: of enum rds_soft_status
 * @sf_id: which operation: the low half of its message's number
 * @sf_key: the key
 * @sf_addr: where in what the key is for
 */
struct rds_soft_frame {
	u8	sf_kind;
	u8	sf_status;
	u32	sf_id;
	u32	sf_key;
	u32	sf_addr;
};

/* Payload of a read's request */
struct rds_soft_length {
	__be32	len;
};

/* Payload of an atomic's request, as struct rds_op names them */
struct rds_soft_operands {
	__be64	add;
	__be64	compare;
	__be64	add_mask;
	__be64	compare_mask;
};

static_assert(sizeof(struct rds_soft_length) == 4);
static_assert(sizeof(struct rds_soft_operands) == 32);

void rds_soft_frame_write(u8 *exthdr, const struct rds_soft_frame *frame);
bool rds_soft_frame_read(const u8 *exthdr, struct rds_soft_frame *frame);
void rds_soft_operands_write(struct rds_soft_operands *to,
			     const struct rds_op *op);
void rds_soft_operands_read(const struct rds_soft_operands *from,
			    struct rds_op *op);
struct rds_message *rds_soft_new_frame(const struct rds_soft_frame *says,
				       u32 len);
int rds_soft_send(struct rds_cpath *cp, struct rds_message **frame);
bool rds_soft_read_payload(struct rds_incoming *inc, void *to, size_t size);

/**
 * rds_soft_kind_of() - how a frame asks for an operation
 * @kind: the operation
 *
 * Context: any.
 * Return: of enum rds_soft_kind.
 */
static inline u8 rds_soft_kind_of(enum rds_op_kind kind)
{
	return kind + RDS_SOFT_READ;
}

/**
 * rds_soft_op_of() - what a frame asks for
 * @kind: of enum rds_soft_kind, not an answer
 *
 * Context: any.
 * Return: the operation.
 */
static inline enum rds_op_kind rds_soft_op_of(u8 kind)
{
	return kind - RDS_SOFT_READ;
}

static_assert(RDS_OP_READ + RDS_SOFT_READ == RDS_SOFT_READ);
static_assert(RDS_OP_WRITE + RDS_SOFT_READ == RDS_SOFT_WRITE);
static_assert(RDS_OP_FADD + RDS_SOFT_READ == RDS_SOFT_FADD);
static_assert(RDS_OP_CSWP + RDS_SOFT_READ == RDS_SOFT_CSWP);
static_assert(RDS_OP_MASKED_FADD + RDS_SOFT_READ == RDS_SOFT_MASKED_FADD);
static_assert(RDS_OP_MASKED_CSWP + RDS_SOFT_READ == RDS_SOFT_MASKED_CSWP);

#endif /* _RDS_CORE_SOFT_FRAME_H */
