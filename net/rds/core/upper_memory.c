// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a process: into which the user above core places what arrives, and
 * from which frames are sent.
 *
 * Pages to write to are pinned as those of memory regions are (pin.c). They
 * belong to the user above core, which must not unpin them while a delivery
 * writes to them.
 *
 * Pages to send from are lent by the process for one write (upper_notice.c).
 */
#include <linux/bvec.h>
#include <linux/err.h>
#include <linux/highmem.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/rds/loan.h>

#include "conn.h"
#include "incoming.h"
#include "message.h"
#include "payload.h"
#include "pin.h"
#include "upper.h"

/* Pages that are copied to at once */
#define RDS_UPPER_PAGES		16

/**
 * struct rds_upper_memory - memory of a process
 * @um_pin: its pages, and what they are charged to
 * @um_first: offset of the memory in the first page
 * @um_len: its length in bytes
 * @um_pages: the array of @um_pin
 */
struct rds_upper_memory {
	struct rds_pin	um_pin;
	u32		um_first;
	u32		um_len;
	struct page	*um_pages[];
};

/**
 * rds_upper_pin() - Pin memory of the calling process for writing
 * @addr: its address
 * @len: its length in bytes
 *
 * The pages count against the user's limit of locked memory.
 *
 * Context: Process context, may sleep.
 * Return: the memory, to be released by rds_upper_unpin(), or an error pointer:
 * -EINVAL if the range is empty or wraps; -EFAULT if the memory is not there or
 * not writable; -ENOMEM.
 */
struct rds_upper_memory *rds_upper_pin(u64 addr, u32 len)
{
	struct rds_upper_memory *mem;
	int pages, ret;

	pages = rds_pin_count(addr, len);
	if (pages < 0)
		return ERR_PTR(pages);
	mem = kvzalloc(struct_size(mem, um_pages, pages), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->um_first = addr & ~PAGE_MASK;
	mem->um_len = len;
	mem->um_pin.pn_pages = mem->um_pages;
	mem->um_pin.pn_writable = true;

	ret = rds_pin_account(&mem->um_pin, pages);
	if (!ret)
		ret = rds_pin_add(&mem->um_pin, addr, pages);
	if (!ret)
		return mem;
	rds_upper_unpin(mem);
	return ERR_PTR(ret);
}
EXPORT_SYMBOL_GPL(rds_upper_pin);

/**
 * rds_upper_unpin() - Release memory
 * @mem: the memory, which no delivery writes to any more
 *
 * Context: Process context, may sleep.
 */
void rds_upper_unpin(struct rds_upper_memory *mem)
{
	rds_pin_release(&mem->um_pin);
	kvfree(mem);
}
EXPORT_SYMBOL_GPL(rds_upper_unpin);

/* Describe a part of the memory, at most @len bytes from @at on. Returns the
 * length of that part.
 */
static u32 rds_upper_view(const struct rds_upper_memory *mem, u32 at, u32 len,
			  struct bio_vec *bvec, unsigned int *nr)
{
	u64 pos = (u64)mem->um_first + at;
	unsigned int page = pos >> PAGE_SHIFT;
	u32 off = pos & ~PAGE_MASK, done = 0;

	for (*nr = 0; *nr < RDS_UPPER_PAGES && done < len; ++*nr) {
		bvec[*nr].bv_page = mem->um_pages[page++];
		bvec[*nr].bv_offset = off;
		bvec[*nr].bv_len = min_t(u32, len - done, PAGE_SIZE - off);
		done += bvec[*nr].bv_len;
		off = 0;
	}
	return done;
}

/**
 * rds_upper_place() - Copy the payload of a frame into memory of a process
 * @mem: the memory
 * @at: where the bytes go, from its start; validated here
 * @inc: the frame
 *
 * Context: Any context. The memory stays pinned.
 * Return: 0; -ERANGE, and nothing is copied, if the bytes do not fit; -EFAULT
 * if they cannot be copied.
 */
int rds_upper_place(struct rds_upper_memory *mem, u32 at,
		    struct rds_incoming *inc)
{
	struct bio_vec bvec[RDS_UPPER_PAGES];
	u32 left = inc->i_len, len;
	struct iov_iter to;
	unsigned int nr, i;

	if (at > mem->um_len || left > mem->um_len - at)
		return -ERANGE;
	for (; left; left -= len, at += len) {
		len = rds_upper_view(mem, at, left, bvec, &nr);
		iov_iter_bvec(&to, ITER_DEST, bvec, nr, len);
		if (inc->i_ops->copy(inc, inc->i_len - left, len, &to))
			return -EFAULT;
		for (i = 0; i < nr; i++)
			flush_dcache_page(bvec[i].bv_page);
	}
	return 0;
}
EXPORT_SYMBOL_GPL(rds_upper_place);

/* Make a message of the pages that @from describes. Returns NULL, and takes
 * nothing of @from, if they are to be copied.
 */
static struct rds_message *rds_upper_from_user(struct iov_iter *from,
					       unsigned int caps)
{
	unsigned int pieces = rds_payload_user_pieces(from);
	struct rds_message *msg;
	int ret;

	if (!pieces)
		return NULL;
	msg = rds_message_alloc_user(pieces);
	if (!msg)
		return ERR_PTR(-ENOMEM);
	ret = rds_payload_add_user_pages(&msg->m_payload, pieces, from);
	if (!ret && rds_payload_can_stay(&msg->m_payload, caps))
		return msg;
	iov_iter_revert(from, msg->m_payload.len);
	rds_message_put(msg);
	return ret ? ERR_PTR(ret) : NULL;
}

/**
 * rds_upper_alloc_user() - Allocate a frame whose payload stays in user memory
 * @conn: the connection that will carry it
 * @from: the memory, of which the payload is taken
 * @len: bytes of payload, at most RDS_MAX_MSG_SIZE
 * @ln: the loan of the memory, to which the frame holds a reference
 *
 * Context: Process context, may sleep.
 * Return: the frame with a reference for the caller; NULL, and nothing is taken
 * from @from, if the payload has to be copied, as the transport cannot send it
 * otherwise, it is in too many pieces, or is not in user memory; or an error
 * pointer: -EFAULT if the memory is not accessible; -ENOMEM.
 */
struct rds_message *rds_upper_alloc_user(const struct rds_conn *conn,
					 struct iov_iter *from, u32 len,
					 struct rds_loan *ln)
{
	unsigned int caps = conn->c_path.cp_caps;
	size_t rest = iov_iter_count(from) - len;
	struct rds_message *msg;

	if (!(caps & (RDS_CAP_ZEROCOPY | RDS_CAP_ZEROCOPY_STRETCH)))
		return NULL;
	iov_iter_truncate(from, len);
	msg = rds_upper_from_user(from, caps);
	iov_iter_reexpand(from, iov_iter_count(from) + rest);
	if (IS_ERR_OR_NULL(msg))
		return msg;
	msg->m_kind = RDS_MSG_STREAM;
	msg->m_loan = rds_loan_get(ln);
	return msg;
}
EXPORT_SYMBOL_GPL(rds_upper_alloc_user);
