/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Software RDMA frames. Two hosts that run this implementation exchange them
 * to request operations on each other's memory, and to respond. See
 * Documentation/protocol.rst.
 */
#ifndef _RDS_CORE_SW_FRAME_H
#define _RDS_CORE_SW_FRAME_H

#include <net/rds/transport.h>

struct rds_cpath;

/**
 * enum rds_sw_kind - kind of a software RDMA frame
 * @RDS_SW_RESPONSE: the result of an operation; the payload is the data read
 * @RDS_SW_READ: requests a read; the payload is the number of bytes, as a
 *	struct rds_sw_length
 * @RDS_SW_WRITE: requests a write of the payload
 * @RDS_SW_FADD: requests an atomic operation; the payload is a struct
 *	rds_sw_operands, as for all kinds below
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
 * enum rds_sw_status - result of an operation
 * @RDS_SW_OK: the operation is done
 * @RDS_SW_REFUSED: the key, the range or the direction is not allowed
 */
enum rds_sw_status {
	RDS_SW_OK		= 0,
	RDS_SW_REFUSED	= 1,
};

/**
 * struct rds_sw_frame - contents of a frame's extension header
 * @sf_kind: a value of enum rds_sw_kind
 * @sf_status: in a response: a value of enum rds_sw_status
 * @sf_id: identifies the operation: the low half of the sequence number of its
 *	message
 * @sf_key: key of the memory
 * @sf_addr: address within the memory that the key stands for
 */
struct rds_sw_frame {
	u8	sf_kind;
	u8	sf_status;
	u32	sf_id;
	u32	sf_key;
	u32	sf_addr;
};

/* Payload of a read request */
struct rds_sw_length {
	__be32	len;
};

/* Payload of an atomic request, with the operands of struct rds_op */
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
struct rds_message *rds_sw_new_frame(const struct rds_sw_frame *ext,
				     u32 len);
int rds_sw_send(struct rds_cpath *cp, struct rds_message **frame);
bool rds_sw_read_payload(struct rds_incoming *inc, void *to, size_t size);

/**
 * rds_sw_kind_of() - Convert an operation to the kind of its request frame
 * @kind: the operation
 *
 * Context: Any context.
 * Return: a value of enum rds_sw_kind.
 */
static inline u8 rds_sw_kind_of(enum rds_op_kind kind)
{
	return kind + RDS_SW_READ;
}

/**
 * rds_sw_op_of() - Convert the kind of a request frame to its operation
 * @kind: a value of enum rds_sw_kind, not RDS_SW_RESPONSE
 *
 * Context: Any context.
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
