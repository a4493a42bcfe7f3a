/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on the memory of peers. */
#ifndef _RDS_CORE_OP_H
#define _RDS_CORE_OP_H

#include <net/rds/transport.h>
#include <uapi/linux/rds.h>

struct rds_sock;

int rds_op_add_rdma(struct rds_sock *rs, struct rds_message *msg,
		    const struct rds_rdma_args *args);
int rds_op_add_atomic(struct rds_sock *rs, struct rds_message *msg,
		      int type, const struct rds_atomic_args *args);
bool rds_op_conclude(struct rds_message *msg, int status);
bool rds_op_is_new(const struct rds_message *msg);
bool rds_op_is_lost(const struct rds_message *msg);
bool rds_op_is_over(const struct rds_op *op);
void rds_op_finish(struct rds_message *msg);
void rds_op_forget(struct rds_message *msg);
int rds_op_wait(struct rds_message *msg);
void rds_op_unpin(struct rds_message *msg);
void rds_op_free(struct rds_op *op);

/**
 * rds_op_outlasts() - Check whether a message outlives the ack of its bytes
 * @msg: the message
 *
 * A bare operation has no bytes to acknowledge. Its message ends when the
 * operation does.
 *
 * Context: Any context.
 * Return: true if the message is not over when its bytes are acknowledged.
 */
static inline bool rds_op_outlasts(const struct rds_message *msg)
{
	return unlikely(msg->m_op) &&
	       (msg->m_op->op_bare || !rds_op_is_over(msg->m_op));
}

/**
 * rds_op_is_fetch() - Check whether an operation fetches data
 * @op: the operation
 *
 * Context: Any context.
 * Return: true if it writes to local memory.
 */
static inline bool rds_op_is_fetch(const struct rds_op *op)
{
	return op->op_kind != RDS_OP_WRITE;
}

/**
 * rds_op_is_atomic() - Check whether an operation is an atomic one
 * @op: the operation
 *
 * Context: Any context.
 * Return: true if it is.
 */
static inline bool rds_op_is_atomic(const struct rds_op *op)
{
	return op->op_kind != RDS_OP_WRITE && op->op_kind != RDS_OP_READ;
}

#endif /* _RDS_CORE_OP_H */
