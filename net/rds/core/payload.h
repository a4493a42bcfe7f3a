/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads: the memory that holds the contents of a message. */
#ifndef _RDS_CORE_PAYLOAD_H
#define _RDS_CORE_PAYLOAD_H

#include <linux/uio.h>
#include <net/rds/transport.h>

unsigned int rds_payload_max_bvecs(u32 len);
int rds_payload_alloc_pages(struct rds_payload *payload, struct bio_vec *bvec,
			    u32 len, gfp_t gfp);
int rds_payload_copy_in_pages(struct rds_payload *payload,
			      struct iov_iter *from);
int rds_payload_copy_out_pages(const struct rds_payload *payload, u32 offset,
			       u32 len, struct iov_iter *to);
unsigned int rds_payload_user_pieces(const struct iov_iter *from);
int rds_payload_add_user_pages(struct rds_payload *payload, unsigned int max,
			       struct iov_iter *from);
bool rds_payload_can_stay(const struct rds_payload *payload, unsigned int caps);
u32 rds_payload_truesize(const struct rds_payload *payload);
void rds_payload_put_pages(const struct rds_payload *payload);

/**
 * rds_payload_init_inline() - Initialize a payload in memory of its owner
 * @payload: the payload
 * @data: the memory, which lives as long as the payload
 * @len: length of the payload in bytes
 *
 * Context: Any context.
 */
static inline void rds_payload_init_inline(struct rds_payload *payload,
					   void *data, u32 len)
{
	payload->kind = len ? RDS_PAYLOAD_INLINE : RDS_PAYLOAD_EMPTY;
	payload->nr = 0;
	payload->len = len;
	payload->data = data;
}

/**
 * rds_payload_copy_in() - Fill a payload from user or kernel memory
 * @payload: the payload
 * @from: the source; at least &rds_payload.len bytes
 *
 * Context: Process context, may sleep.
 * Return: 0 on success; -EFAULT if not all bytes could be copied.
 */
static inline int rds_payload_copy_in(struct rds_payload *payload,
				      struct iov_iter *from)
{
	if (payload->kind == RDS_PAYLOAD_INLINE)
		return copy_from_iter_full(payload->data, payload->len, from) ?
		       0 : -EFAULT;
	return rds_payload_copy_in_pages(payload, from);
}

/**
 * rds_payload_copy_out() - Copy a payload to user or kernel memory
 * @payload: the payload
 * @offset: first byte to copy
 * @len: number of bytes to copy; the payload has as many from @offset on
 * @to: the destination
 *
 * Context: Process context, may sleep, if @to is user memory; any context
 * otherwise.
 * Return: 0 on success; -EFAULT if fewer than @len bytes could be copied.
 */
static inline int rds_payload_copy_out(const struct rds_payload *payload,
				       u32 offset, u32 len,
				       struct iov_iter *to)
{
	if (payload->kind == RDS_PAYLOAD_INLINE)
		return copy_to_iter(payload->data + offset, len,
				    to) == len ? 0 : -EFAULT;
	return rds_payload_copy_out_pages(payload, offset, len, to);
}

/**
 * rds_payload_release() - Release the memory of a payload
 * @payload: the payload; empty afterwards
 *
 * Context: Any context, including softirq.
 */
static inline void rds_payload_release(struct rds_payload *payload)
{
	if (payload->kind == RDS_PAYLOAD_KERNEL ||
	    payload->kind == RDS_PAYLOAD_USER)
		rds_payload_put_pages(payload);
	payload->kind = RDS_PAYLOAD_EMPTY;
	payload->nr = 0;
	payload->len = 0;
}

#endif /* _RDS_CORE_PAYLOAD_H */
