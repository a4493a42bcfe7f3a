// SPDX-License-Identifier: GPL-2.0-only
/* Payloads that the fake transport sends and delivers; see fake_payload.h. */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uio.h>

#include "fake.h"

struct fake_incoming {
	struct rds_incoming	inc;
	u8			data[];
};

static atomic_t fake_live_incomings = ATOMIC_INIT(0);

/**
 * fake_pattern() - Compute a byte of the payload that tests use
 * @offset: offset in the payload
 *
 * Return: the byte.
 */
u8 fake_pattern(u32 offset)
{
	return offset % 251;
}

static bool fake_is_pattern(const u8 *data, u32 offset, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++) {
		if (data[i] != fake_pattern(offset + i))
			return false;
	}
	return true;
}

/**
 * fake_payload_is_intact() - Compare a payload with what rig_send() sends
 * @payload: the payload
 *
 * Return: true if it consists of fake_pattern().
 */
bool fake_payload_is_intact(const struct rds_payload *payload)
{
	const struct bio_vec *bv;
	unsigned int i;
	u32 offset = 0;

	switch (payload->kind) {
	case RDS_PAYLOAD_EMPTY:
		return !payload->len;
	case RDS_PAYLOAD_INLINE:
		return fake_is_pattern(payload->data, 0, payload->len);
	case RDS_PAYLOAD_KERNEL:
	case RDS_PAYLOAD_USER:
		for (i = 0; i < payload->nr; i++) {
			bv = &payload->bvec[i];
			if (!fake_is_pattern(page_address(bv->bv_page) +
					     bv->bv_offset, offset, bv->bv_len))
				return false;
			offset += bv->bv_len;
		}
		return offset == payload->len;
	}
	return false;
}

static int fake_incoming_copy(struct rds_incoming *inc, u32 offset, u32 len,
			      struct iov_iter *to)
{
	struct fake_incoming *fake_inc;

	fake_inc = container_of(inc, struct fake_incoming, inc);
	return copy_to_iter(fake_inc->data + offset, len, to) == len ?
	       0 : -EFAULT;
}

static void fake_incoming_free(struct rds_incoming *inc)
{
	kfree(container_of(inc, struct fake_incoming, inc));
	atomic_dec(&fake_live_incomings);
}

static const struct rds_incoming_ops fake_incoming_ops = {
	.owner	= THIS_MODULE,
	.copy	= fake_incoming_copy,
	.free	= fake_incoming_free,
};

/**
 * fake_deliver() - Deliver a message from the peer
 * @fake: the transport
 * @path: the path on which it arrives
 * @hdr: its header; the payload consists of fake_pattern()
 *
 * Return: 1 if the transport may read on; 0 if it must stop; -ENOMEM.
 */
int fake_deliver(struct fake *fake, struct rds_path *path,
		 const struct rds_header *hdr)
{
	u32 i, len = be32_to_cpu(hdr->h_len);
	struct fake_incoming *fake_inc;
	struct rds_rx_batch batch = {};
	u32 truesize;
	int go_on;

	fake_inc = kmalloc(struct_size(fake_inc, data, len), GFP_KERNEL);
	if (!fake_inc)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		fake_inc->data[i] = fake_pattern(i);
	atomic_inc(&fake_live_incomings);
	truesize = fake->truesize ?: sizeof(*fake_inc) + len;
	rds_incoming_init(&fake_inc->inc, &fake_incoming_ops, hdr, truesize);

	local_bh_disable();
	go_on = rds_deliver(path, &fake_inc->inc, &batch);
	rds_rx_batch_end(&batch);
	local_bh_enable();
	return go_on;
}

/**
 * fake_incomings() - Count the messages that are delivered and not yet freed
 *
 * Return: the number of messages.
 */
int fake_incomings(void)
{
	return atomic_read(&fake_live_incomings);
}
