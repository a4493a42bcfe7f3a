// SPDX-License-Identifier: GPL-2.0-only
/*
 * Outgoing messages.
 *
 * A message is one allocation: the structure, followed by the payload if that
 * is small, or else by the table of the payload's pages. sendmsg() owns the
 * first reference, then the path's queues, until the message is acknowledged,
 * canceled or given up. send.c describes the lists that a message is on.
 *
 * A loopback transport has no wire, so the message itself is delivered:
 * rds_message_to_incoming() sets up the received message that is embedded in
 * it.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/rds/loan.h>

#include "compat.h"
#include "conn.h"
#include "message.h"
#include "op.h"
#include "payload.h"

/* Payloads of up to this many bytes share the message's allocation. */
#define RDS_INLINE_MAX	(2048 - sizeof(struct rds_message))

/* Small messages, and those of 1 KiB, are frequent and have caches of their
 * own. The objects are no larger than necessary, since a kernel may be
 * configured to clear each object as a whole.
 */
#define RDS_SMALL_MAX	(384 - sizeof(struct rds_message))
#define RDS_MIDDLE_MAX	1024

static struct kmem_cache *rds_message_small;
static struct kmem_cache *rds_message_middle;

/* Minimum memory that an unread message counts for, in bytes */
#define RDS_MIN_TRUESIZE	512

static struct kmem_cache *rds_message_cache_create(const char *name,
						   unsigned int max)
{
	const unsigned int head = sizeof(struct rds_message);

	return kmem_cache_create_usercopy(name, head + max, 0, SLAB_ACCOUNT,
					  head, max, NULL);
}

/**
 * rds_message_caches_create() - Create the slab caches for messages
 *
 * To be called before any message is allocated.
 *
 * Context: Process context, may sleep. No locks.
 * Return: 0 on success; -ENOMEM if there is no memory.
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
 * rds_message_caches_destroy() - Destroy the slab caches for messages
 *
 * To be called after the last message has been freed.
 *
 * Context: Process context, may sleep. No locks.
 */
void rds_message_caches_destroy(void)
{
	kmem_cache_destroy(rds_message_middle);
	kmem_cache_destroy(rds_message_small);
}

static struct rds_message *rds_message_get_memory(size_t tail, gfp_t gfp)
{
	const size_t head = sizeof(struct rds_message);

	if (tail <= RDS_SMALL_MAX)
		return kmem_cache_alloc(rds_message_small, gfp);
	if (tail > RDS_MIDDLE_MAX - head && tail <= RDS_MIDDLE_MAX)
		return kmem_cache_alloc(rds_message_middle, gfp);
	return kmalloc(head + tail, gfp | __GFP_ACCOUNT);
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
	msg->m_lost = false;
	msg->m_passed = false;
	msg->m_want_ack = false;
	msg->m_kind = RDS_MSG_DATA;
	msg->m_rs = NULL;
	msg->m_path = NULL;
	msg->m_loan = NULL;
	msg->m_op = NULL;
	memset(msg->m_exthdr, 0, sizeof(msg->m_exthdr));
	refcount_set(&msg->m_refs, 1);
}

/**
 * rds_message_alloc() - Allocate a message with room for a payload
 * @len: length of the payload in bytes, at most RDS_MAX_MSG_SIZE
 * @gfp: allocation flags
 *
 * The memory is charged to the caller's memory cgroup.
 *
 * Context: Process context; may sleep if @gfp permits.
 * Return: a message with one reference and an uninitialized payload; NULL if
 * there is no memory.
 */
struct rds_message *rds_message_alloc(u32 len, gfp_t gfp)
{
	size_t tail = len;
	struct rds_message *msg;

	if (len > RDS_INLINE_MAX)
		tail = rds_payload_max_bvecs(len) * sizeof(struct bio_vec);

	msg = rds_message_get_memory(tail, gfp);
	if (!msg)
		return NULL;

	rds_message_init(msg);
	if (len <= RDS_INLINE_MAX) {
		rds_payload_init_inline(&msg->m_payload, msg + 1, len);
		return msg;
	}
	if (rds_payload_alloc_pages(&msg->m_payload, (void *)(msg + 1), len,
				    gfp)) {
		rds_message_put(msg);
		return NULL;
	}
	return msg;
}

/**
 * rds_message_alloc_user() - Allocate a message for a payload in user memory
 * @pieces: maximum number of pieces that the payload may consist of
 *
 * The memory is charged to the caller's memory cgroup.
 *
 * Context: Process context, may sleep.
 * Return: a message with one reference and an empty payload; NULL if there is
 * no memory.
 */
struct rds_message *rds_message_alloc_user(unsigned int pieces)
{
	struct rds_message *msg;

	msg = rds_message_get_memory(pieces * sizeof(struct bio_vec),
				     GFP_KERNEL);
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
 * rds_message_alloc_empty() - Allocate a message without payload
 * @gfp: allocation flags
 *
 * Context: Any context that @gfp permits.
 * Return: a message with one reference; NULL if there is no memory.
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
EXPORT_SYMBOL_RDS_KUNIT(rds_message_alloc_empty);

/**
 * rds_message_put() - Put a reference to a message
 * @msg: the message
 *
 * The last reference frees the message, its payload and its operation, and puts
 * the reference to the connection.
 *
 * Context: Any context, including softirq. Not under a lock of core.
 */
void rds_message_put(struct rds_message *msg)
{
	if (!refcount_dec_and_test(&msg->m_refs))
		return;

	rds_payload_release(&msg->m_payload);
	if (unlikely(msg->m_loan))
		rds_loan_put(msg->m_loan);
	if (unlikely(msg->m_op))
		rds_op_free(msg->m_op);
	if (msg->m_path)
		rds_conn_put(to_cpath(msg->m_path)->cp_conn);
	kfree(msg);
}
EXPORT_SYMBOL_GPL(rds_message_put);

static struct rds_message *rds_message_of(struct rds_incoming *inc)
{
	return container_of(inc, struct rds_message, m_inc);
}

static int rds_message_inc_copy(struct rds_incoming *inc, u32 offset, u32 len,
				struct iov_iter *to)
{
	return rds_payload_copy_out(&rds_message_of(inc)->m_payload, offset,
				    len, to);
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
 * rds_message_to_incoming() - Turn an outgoing message into a received one
 * @msg: the message; borrowed
 *
 * For transports with both ends on this host. The two messages share the
 * payload; it is not copied. A transport may call this at most once per
 * message, and its xmit() must then return %RDS_XMIT_DELIVERED.
 *
 * Context: Process context. cp_xmit_lock is held.
 * Return: the received message, with a reference to pass to rds_deliver().
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
