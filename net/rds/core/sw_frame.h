/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RDMA in software: frames between two of this implementation that ask for an
 * operation on the other's memory, and answer. See Documentation/protocol.rst.
 */
#ifndef _RDS_CORE_SW_FRAME_H
#define _RDS_CORE_SW_FRAME_H

#include <net/rds/transport.h>

struct rds_cpath;

/**
 * enum rds_sw_kind - what a frame is
 * @RDS_SW_RESPONSE: how an operation has ended; the payload is what was read
 * @RDS_SW_READ: asks to read; the payload says how many bytes
 * @RDS_SW_WRITE: asks to write the payload
 * @RDS_SW_FADD: asks for an atomic operation; the payload is a struct
 *	rds_sw_operands, as it is for all that follow
 * @RDS_SW_CSWP: likewise
 * @RDS_SW_MASKED_FADD: likewise
 * @RDS_SW_MASKED_CSWP: likewise
 */
enum rds_sw_kind {
	RDS_SW_RESPONSE		= 0,
	RDS_SW_READ		= 1,
	RDS_SW_WRITE		= 2,
	RDS_SW_FADD		= 3,
	RDS_SW_CSWP		= 4,
	RDS_SW_MASKED_FADD	= 5,
	RDS_SW_MASKED_CSWP	= 6,
};

/**
 * enum rds_sw_status - how an operation has ended
 * @RDS_SW_OK: it is done
 * @RDS_SW_REFUSED: the key, the range or the direction is not allowed
 */
enum rds_sw_status {
	RDS_SW_OK		= 0,
	RDS_SW_REFUSED	= 1,
};

/**
 * struct rds_sw_frame - what the extension header of a frame says
 * @sf_kind: of enum rds_sw_kind
 * @sf_status: of an answer: of enum rds_sw_status
 * @sf_id: which operation: the low half of its message's number
 * @sf_key: the key
 * @sf_addr: where in what the key is for
 */
struct rds_sw_frame {
	u8	sf_kind;
	u8	sf_status;
	u32	sf_id;
	u32	sf_key;
	u32	sf_addr;
};

/* Payload of a read's request */
struct rds_sw_length {
	__be32	len;
};

/* Payload of an atomic's request, as struct rds_op names them */
struct rds_sw_operands {
	__be64	add;
	__be64	compare;
	__be64	add_mask;
	__be64	compare_mask;
};

static_assert(sizeof(struct rds_sw_length) == 4);
static_assert(sizeof(struct rds_sw_operands) == 32);

void rds_sw_frame_write(u8 *exthdr, const struct rds_sw_frame *frame);
bool rds_sw_frame_read(const u8 *exthdr, struct rds_sw_frame *frame);
void rds_sw_operands_write(struct rds_sw_operands *to,
			   const struct rds_op *op);
void rds_sw_operands_read(const struct rds_sw_operands *from,
			  struct rds_op *op);
struct rds_message *rds_sw_new_frame(const struct rds_sw_frame *says,
				     u32 len);
int rds_sw_send(struct rds_cpath *cp, struct rds_message **frame);
bool rds_sw_read_payload(struct rds_incoming *inc, void *to, size_t size);

/**
 * rds_sw_kind_of() - how a frame asks for an operation
 * @kind: the operation
 *
 * Context: any.
 * Return: of enum rds_sw_kind.
 */
static inline u8 rds_sw_kind_of(enum rds_op_kind kind)
{
	return kind + RDS_SW_READ;
}

/**
 * rds_sw_op_of() - what a frame asks for
 * @kind: of enum rds_sw_kind, not an answer
 *
 * Context: any.
 * Return: the operation.
 */
static inline enum rds_op_kind rds_sw_op_of(u8 kind)
{
	return kind - RDS_SW_READ;
}

static_assert(RDS_OP_READ + RDS_SW_READ == RDS_SW_READ);
static_assert(RDS_OP_WRITE + RDS_SW_READ == RDS_SW_WRITE);
static_assert(RDS_OP_FADD + RDS_SW_READ == RDS_SW_FADD);
static_assert(RDS_OP_CSWP + RDS_SW_READ == RDS_SW_CSWP);
static_assert(RDS_OP_MASKED_FADD + RDS_SW_READ == RDS_SW_MASKED_FADD);
static_assert(RDS_OP_MASKED_CSWP + RDS_SW_READ == RDS_SW_MASKED_CSWP);

#endif /* _RDS_CORE_SW_FRAME_H */
