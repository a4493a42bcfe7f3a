// SPDX-License-Identifier: GPL-2.0-only
/*
 * Software RDMA between addresses of this host: an operation is a copy.
 */
#include <linux/highmem.h>
#include <linux/uio.h>

#include "conn.h"
#include "op.h"
#include "sw_local.h"
#include "sw_mr.h"

/* Copy all local pages of an operation to or from @iter. Returns false if @iter
 * is shorter than the pages or a copy fails.
 */
static bool rds_sw_copy(const struct rds_op *op, struct iov_iter *iter,
			bool to_iter)
{
	size_t len, done;
	unsigned int i;
	struct page *page;
	u32 off, left;
	u8 *base;

	for (i = 0; i < op->op_nr; i++) {
		page = op->op_bvec[i].bv_page;
		off = op->op_bvec[i].bv_offset;
		for (left = op->op_bvec[i].bv_len; left; left -= len) {
			len = min_t(u32, left, PAGE_SIZE - off);
			base = kmap_local_page(page);
			done = to_iter ? copy_to_iter(base + off, len, iter) :
					 copy_from_iter(base + off, len, iter);
			kunmap_local(base);
			if (done != len)
				return false;
			flush_dcache_page(page);
			page++;
			off = 0;
		}
	}
	return true;
}

/**
 * rds_sw_put_result() - Store the result of an atomic operation
 * @op: the operation
 * @old: the value that its target had before
 *
 * Context: Any context.
 * Return: true; false if the local memory has another size.
 */
bool rds_sw_put_result(const struct rds_op *op, u64 old)
{
	struct iov_iter iter;

	iov_iter_bvec(&iter, ITER_DEST, op->op_bvec, op->op_nr, op->op_bytes);
	return copy_to_iter(&old, sizeof(old), &iter) == sizeof(old);
}

/* Do an operation on memory of this host. */
static bool rds_sw_do(struct rds_sw_mr *sm, const struct rds_op *op)
{
	bool write = op->op_kind == RDS_OP_WRITE;
	struct iov_iter iter;
	u64 old;

	if (rds_op_is_atomic(op))
		return rds_sw_mr_atomic(sm, op, &old) &&
		       rds_sw_put_result(op, old);
	return rds_sw_mr_view(sm, write, op->op_addr, op->op_bytes, &iter) &&
	       rds_sw_copy(op, &iter, write);
}

/**
 * rds_sw_do_here() - Do an operation on memory of this host
 * @cp: the path, of a loopback transport
 * @msg: the message that has the operation
 *
 * Context: Process context. cp_xmit_lock is held.
 * Return: 0 on success; -ECANCELED if the operation or its message is given
 * up.
 */
int rds_sw_do_here(struct rds_cpath *cp, struct rds_message *msg)
{
	struct rds_path *path = &cp->cp_pub;
	struct rds_sw_mr *sm;
	bool done = false;

	if (!rds_op_begin(msg))
		return -ECANCELED;
	sm = rds_sw_mr_get(cp->cp_conn->c_rn, msg->m_op->op_key,
			   &path->faddr, path->ifindex);
	if (sm) {
		done = rds_sw_do(sm, msg->m_op);
		rds_sw_mr_put(sm);
	}
	/* The message lives until the receiver has read it. Do not keep the
	 * local pages pinned for that long.
	 */
	rds_op_unpin(msg);
	rds_op_done(msg, done ? RDS_RDMA_SUCCESS : RDS_RDMA_REMOTE_ERROR);
	return done ? 0 : -ECANCELED;
}
