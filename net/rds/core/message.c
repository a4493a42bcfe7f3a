// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outgoing messages.
 *
 * A message is one allocation: the structure, and behind it the payload, if
 * it is small, or the table of its pages. Its first reference belongs to
 * sendmsg(), then to the path's queues, until the message is acknowledged or
 * cancelled. See send.c for the lists it is on.
 *
 * A loopback transport has no wire, so the message itself is what arrives:
 * rds_message_to_incoming() lends it a second, receiving face.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "payload.h"
#include "conn.h"
#include "message.h"
#include "op.h"

/* Payloads up to here share the message's allocation. */
#define RDS_INLINE_MAX	(2048 - sizeof(struct rds_message))

/* Small ones, and those of 1 KiB, are many: they have caches of their own, with
 * objects no larger than need be, for kernels may clear all of an object.
 */
#define RDS_SMALL_MAX	(384 - sizeof(struct rds_message))
#define RDS_MIDDLE_MAX	1024

static struct kmem_cache *rds_message_small;
static struct kmem_cache *rds_message_middle;

/* Least memory that a message counts for while nobody has read it */
#define RDS_MIN_TRUESIZE	512

static struct kmem_cache *rds_message_cache_create(const char *name,
						   unsigned int max)
{
	const unsigned int head = sizeof(struct rds_message);

	return kmem_cache_create_usercopy(name, head + max, 0, SLAB_ACCOUNT,
					  head, max, NULL);
}

/**
 * rds_message_caches_create() - before any message is allocated
 *
 * Context: process, may sleep. No locks.
 * Return: 0 or -ENOMEM.
 */
int rds_message_caches_create(void)
{
	rds_message_small = rds_message_cache_create("rds_message_small",
						     RDS_SMALL_MAX);
	rds_message_middle = rds_message_cache_create("rds_message_middle",
						      RDS_MIDDLE_MAX);
	if (rds_message_small && rds_message_middle)
		return 0;
	rds_message_caches_destroy();
	return -ENOMEM;
}

/**
 * rds_message_caches_destroy() - after the last message has been freed
 *
 * Context: process, may sleep. No locks.
 */
void rds_message_caches_destroy(void)
{
	kmem_cache_destroy(rds_message_middle);
	kmem_cache_destroy(rds_message_small);
}

static struct rds_message *rds_message_get_memory(size_t tail)
{
	const size_t head = sizeof(struct rds_message);

	if (tail <= RDS_SMALL_MAX)
		return kmem_cache_alloc(rds_message_small, GFP_KERNEL);
	if (tail > RDS_MIDDLE_MAX - head && tail <= RDS_MIDDLE_MAX)
		return kmem_cache_alloc(rds_message_middle, GFP_KERNEL);
	return kmalloc(head + tail, GFP_KERNEL_ACCOUNT);
}

static void rds_message_init(struct rds_message *msg)
{
	msg->m_seq = 0;
	msg->m_ticket = 0;
	msg->m_sport = 0;
	msg->m_dport = 0;
	msg->m_flags = 0;
	msg->m_on_path = false;
	msg->m_on_sock = false;
	msg->m_canceled = false;
	msg->m_want_ack = false;
	msg->m_kind = RDS_MSG_DATA;
	msg->m_rs = NULL;
	msg->m_path = NULL;
	msg->m_ubuf = NULL;
	msg->m_op = NULL;
	memset(msg->m_exthdr, 0, sizeof(msg->m_exthdr));
	refcount_set(&msg->m_refs, 1);
}

/**
 * rds_message_alloc() - get a message with room for a payload
 * @len: bytes of payload, at most RDS_MAX_MSG_SIZE
 *
 * Context: process, may sleep. Charged to the caller's memory cgroup.
 * Return: a message with one reference, its payload uninitialised, or NULL.
 */
struct rds_message *rds_message_alloc(u32 len)
{
	size_t tail = len;
	struct rds_message *msg;

	if (len > RDS_INLINE_MAX)
		tail = rds_payload_max_bvecs(len) * sizeof(struct bio_vec);

	msg = rds_message_get_memory(tail);
	if (!msg)
		return NULL;

	rds_message_init(msg);
	if (len <= RDS_INLINE_MAX) {
		rds_payload_init_inline(&msg->m_payload, msg + 1, len);
		return msg;
	}
	if (rds_payload_alloc_pages(&msg->m_payload, (void *)(msg + 1), len)) {
		rds_message_put(msg);
		return NULL;
	}
	return msg;
}

/**
 * rds_message_alloc_user() - get a message for a payload in user memory
 * @pieces: in so many pieces at most
 *
 * Context: process, may sleep. Charged to the caller's memory cgroup.
 * Return: a message with one reference, its payload empty, or NULL.
 */
struct rds_message *rds_message_alloc_user(unsigned int pieces)
{
	struct rds_message *msg;

	msg = rds_message_get_memory(pieces * sizeof(struct bio_vec));
	if (!msg)
		return NULL;

	rds_message_init(msg);
	msg->m_payload.kind = RDS_PAYLOAD_USER;
	msg->m_payload.nr = 0;
	msg->m_payload.len = 0;
	msg->m_payload.bvec = (void *)(msg + 1);
	return msg;
}

/**
 * rds_message_alloc_empty() - get a message without payload
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a message with one reference, or NULL.
 */
struct rds_message *rds_message_alloc_empty(gfp_t gfp)
{
	struct rds_message *msg;

	msg = kmalloc(sizeof(*msg), gfp);
	if (msg) {
		rds_message_init(msg);
		rds_payload_init_inline(&msg->m_payload, NULL, 0);
	}
	return msg;
}

/**
 * rds_message_get() - take another reference
 * @msg: the message; the caller has a reference already, or borrows one
 *
 * Context: any.
 * Return: @msg.
 */
struct rds_message *rds_message_get(struct rds_message *msg)
{
	refcount_inc(&msg->m_refs);
	return msg;
}
EXPORT_SYMBOL_GPL(rds_message_get);

/**
 * rds_message_put() - give up a reference
 * @msg: the message
 *
 * Context: any, including softirq; not under a lock of core.
 */
void rds_message_put(struct rds_message *msg)
{
	if (!refcount_dec_and_test(&msg->m_refs))
		return;

	rds_payload_release(&msg->m_payload);
	if (unlikely(msg->m_ubuf))
		net_zcopy_put(msg->m_ubuf);
	if (unlikely(msg->m_op))
		rds_op_free(msg->m_op);
	if (msg->m_path)
		rds_conn_put(to_cpath(msg->m_path)->cp_conn);
	kfree(msg);
}
EXPORT_SYMBOL_GPL(rds_message_put);

/**
 * rds_message_header() - build the wire header of a message
 * @msg: the message
 * @ack: what to put in h_ack
 * @hdr: where to build it; wholly initialised, without checksum or credits
 *
 * Built anew for each attempt to send, so that no earlier attempt shares it
 * (RDS Wire Specification 3.1, "RDS 3.1 header").
 *
 * Context: any; the path's transmit lock is held.
 */
void rds_message_header(const struct rds_message *msg, u64 ack,
			struct rds_header *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_sequence = cpu_to_be64(msg->m_seq);
	hdr->h_ack = cpu_to_be64(ack);
	hdr->h_len = cpu_to_be32(msg->m_payload.len);
	hdr->h_sport = msg->m_sport;
	hdr->h_dport = msg->m_dport;
	hdr->h_flags = msg->m_flags;
	memcpy(hdr->h_exthdr, msg->m_exthdr, sizeof(hdr->h_exthdr));
}
EXPORT_SYMBOL_GPL(rds_message_header);

static struct rds_message *rds_message_of(struct rds_incoming *inc)
{
	return container_of(inc, struct rds_message, m_inc);
}

static int rds_message_inc_copy(struct rds_incoming *inc, u32 len,
				struct iov_iter *to)
{
	return rds_payload_copy_out(&rds_message_of(inc)->m_payload, len, to);
}

static void rds_message_inc_free(struct rds_incoming *inc)
{
	rds_message_put(rds_message_of(inc));
}

static const struct rds_incoming_ops rds_message_inc_ops = {
	.copy	= rds_message_inc_copy,
	.free	= rds_message_inc_free,
};

/**
 * rds_message_to_incoming() - let a message arrive where it was sent
 * @msg: the message; borrowed
 *
 * For transports whose two ends are this host. The payload is shared, not
 * copied. At most once per message: whoever calls it must then report
 * %RDS_XMIT_DELIVERED.
 *
 * Context: process; the path's transmit lock is held.
 * Return: the received message, with a reference for rds_deliver().
 */
struct rds_incoming *rds_message_to_incoming(struct rds_message *msg)
{
	struct rds_incoming *inc = &msg->m_inc;

	rds_message_get(msg);
	inc->i_ops = &rds_message_inc_ops;
	inc->i_seq = msg->m_seq;
	inc->i_len = msg->m_payload.len;
	inc->i_truesize = max_t(u32, RDS_MIN_TRUESIZE, sizeof(*msg) +
				rds_payload_truesize(&msg->m_payload));
	inc->i_sport = msg->m_sport;
	inc->i_dport = msg->m_dport;
	inc->i_flags = msg->m_flags;
	memcpy(inc->i_exthdr, msg->m_exthdr, sizeof(inc->i_exthdr));
	inc->i_path = NULL;
	inc->i_stamps[RDS_RX_STAMP_HDR] = 0;
	refcount_set(&inc->i_refs, 1);
	return inc;
}
EXPORT_SYMBOL_GPL(rds_message_to_incoming);
