// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA: the frames.
 *
 * The extension header fills the sixteen bytes: its type, the kind of the
 * frame, a status, and three numbers of four bytes. Data whose size depends on
 * the kind is in the payload.
 */
#include <linux/sched.h>
#include <linux/uio.h>

#include "compat.h"
#include "message.h"
#include "path.h"
#include "sw_frame.h"

/**
 * rds_sw_frame_write() - Write the extension header of a frame
 * @exthdr: RDS_EXTHDR_SPACE bytes to write to
 * @frame: the contents
 *
 * Context: Any context.
 */
void rds_sw_frame_write(u8 *exthdr, const struct rds_sw_frame *frame)
{
	unsigned int pos = 0;
	u8 payload[15] = {};

	payload[0] = frame->sf_kind;
	payload[1] = frame->sf_status;
	put_unaligned_be32(frame->sf_id, payload + 2);
	put_unaligned_be32(frame->sf_key, payload + 6);
	put_unaligned_be32(frame->sf_addr, payload + 10);

	memset(exthdr, 0, RDS_EXTHDR_SPACE);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_SW_RDMA, payload);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_frame_write);

/**
 * rds_sw_frame_read() - Read the extension header of a frame
 * @exthdr: RDS_EXTHDR_SPACE bytes, from a peer
 * @frame: set to the contents
 *
 * Context: Any context.
 * Return: true if @exthdr is that of a software RDMA frame; false if it is not,
 * or if the kind is unknown.
 */
bool rds_sw_frame_read(const u8 *exthdr, struct rds_sw_frame *frame)
{
	unsigned int pos = 0;
	const u8 *payload;

	if (rds_exthdr_next(exthdr, &pos, &payload) != RDS_EXTHDR_SW_RDMA)
		return false;
	frame->sf_kind = payload[0];
	frame->sf_status = payload[1];
	frame->sf_id = get_unaligned_be32(payload + 2);
	frame->sf_key = get_unaligned_be32(payload + 6);
	frame->sf_addr = get_unaligned_be32(payload + 10);
	return frame->sf_kind <= RDS_SW_MASKED_CSWP;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_frame_read);

/**
 * rds_sw_operands_write() - Write the operands of an atomic operation
 * @to: the payload to write
 * @op: the operation
 *
 * Context: Any context.
 */
void rds_sw_operands_write(struct rds_sw_operands *to,
			   const struct rds_op *op)
{
	to->add = cpu_to_be64(op->op_add);
	to->compare = cpu_to_be64(op->op_compare);
	to->add_mask = cpu_to_be64(op->op_add_mask);
	to->compare_mask = cpu_to_be64(op->op_compare_mask);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_operands_write);

/**
 * rds_sw_operands_read() - Read the operands of an atomic operation
 * @from: the payload to read
 * @op: the operation whose operands are set
 *
 * Context: Any context.
 */
void rds_sw_operands_read(const struct rds_sw_operands *from,
			  struct rds_op *op)
{
	op->op_add = be64_to_cpu(from->add);
	op->op_compare = be64_to_cpu(from->compare);
	op->op_add_mask = be64_to_cpu(from->add_mask);
	op->op_compare_mask = be64_to_cpu(from->compare_mask);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_sw_operands_read);

/* Return the allocation flags for a frame. A charge above the memory.high of a
 * sender's cgroup may put the sender to sleep for seconds, and all users of the
 * path share the lock that it holds. So a sender does not sleep. If there is no
 * memory at once, the path's work item tries again, which is in no such cgroup.
 */
static gfp_t rds_sw_frame_gfp(void)
{
	return current->flags & PF_KTHREAD ? GFP_NOFS :
					     GFP_NOWAIT | __GFP_NOWARN;
}

/**
 * rds_sw_new_frame() - Allocate a frame to be sent
 * @ext: contents of its extension header
 * @len: bytes of payload, at most RDS_MAX_MSG_SIZE
 *
 * A frame is never sent to a peer that runs another implementation. The
 * RETRANSMITTED flag would make such a peer drop it.
 *
 * Context: Process context, may sleep. cp_xmit_lock is held.
 * Return: a message that the caller owns, with an uninitialized payload; NULL
 * if there is no memory.
 */
struct rds_message *rds_sw_new_frame(const struct rds_sw_frame *ext,
				     u32 len)
{
	struct rds_message *frame;

	frame = rds_message_alloc(len, rds_sw_frame_gfp());
	if (!frame)
		return NULL;
	frame->m_flags = RDS_FLAG_RETRANSMITTED;
	rds_sw_frame_write(frame->m_exthdr, ext);
	return frame;
}

/**
 * rds_sw_send() - Send a frame, or continue to send it
 * @cp: the path
 * @frame: the frame; its reference is put and it is set to NULL once it is
 *	sent
 *
 * The caller must send another frame or a message next, or flush the transport.
 *
 * Context: Process context, may sleep. cp_xmit_lock is held.
 * Return: 0 when the transport has taken the whole frame; otherwise as
 * &rds_data_ops.xmit.
 */
int rds_sw_send(struct rds_cpath *cp, struct rds_message **frame)
	__must_hold(&cp->cp_xmit_lock)
{
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);
	ret = cp->cp_trans->data->xmit(&cp->cp_pub, *frame, true);
	if (ret < 0)
		return ret;
	rds_message_put(*frame);
	*frame = NULL;
	return 0;
}

/**
 * rds_sw_read_payload() - Copy a payload of known size
 * @inc: the frame with the payload
 * @to: destination
 * @size: bytes
 *
 * Context: Any context.
 * Return: true if the payload was copied; false if it has another size, or if
 * the copy failed.
 */
bool rds_sw_read_payload(struct rds_incoming *inc, void *to, size_t size)
{
	struct kvec vec = { to, size };
	struct iov_iter iter;

	if (inc->i_len != size)
		return false;
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, size);
	return !inc->i_ops->copy(inc, 0, size, &iter);
}
