// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "message.h"

#define KIB 1024
#define SPREAD (64 * KIB)

/* The body of each message is a part of this array. */
static unsigned char noise[MESSAGE_MAX + SPREAD];
static uint32_t largest;

static uint64_t mix(uint64_t value)
{
	value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
	value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
	return value ^ (value >> 31);
}

static uint64_t hash(unsigned int flow, unsigned int life, uint32_t seq)
{
	return mix(((uint64_t)life << 48) + ((uint64_t)flow << 32) + seq +
		   0x9e3779b97f4a7c15ULL);
}

void message_init(uint32_t limit)
{
	uint64_t word;
	size_t i;

	largest = limit;
	for (i = 0; i < sizeof(noise); i += sizeof(word)) {
		word = mix(i + 1);
		memcpy(noise + i, &word, sizeof(word));
	}
}

/* About half are small, most others a few KiB, a few as large as possible. */
static uint32_t any_size(uint64_t random)
{
	uint32_t kind = random % 256, size = random >> 32;

	if (!kind)
		return MESSAGE_MAX;
	if (kind < 16)
		return 0;
	if (kind < 48)
		return size % 64;
	if (kind < 144)
		return size % KIB;
	if (kind < 232)
		return size % (8 * KIB);
	return size % (64 * KIB) + 1;
}

uint32_t message_size(unsigned int flow, uint32_t seq, bool whole)
{
	uint32_t size = any_size(hash(flow, 0, seq));

	if (whole && size < sizeof(struct message))
		return sizeof(struct message);
	return size < largest ? size : largest;
}

static const unsigned char *body(const struct message *msg)
{
	return noise + hash(msg->flow, msg->life, msg->seq) % SPREAD;
}

static uint32_t check(const struct message *msg)
{
	return mix(hash(msg->flow, msg->life, msg->seq) + msg->len);
}

void message_write(struct message *msg, struct iovec iov[2])
{
	msg->check = check(msg);
	iov[0].iov_base = msg;
	iov[0].iov_len = msg->len < sizeof(*msg) ? msg->len : sizeof(*msg);
	iov[1].iov_base = (void *)body(msg);
	iov[1].iov_len = msg->len - iov[0].iov_len;
}

bool message_read(const void *bytes, uint32_t len, unsigned int flow,
		  bool whole, struct message *msg)
{
	uint32_t head = len < sizeof(*msg) ? len : sizeof(*msg);

	/* A field that does not fit is taken to have its expected value. */
	*msg = (struct message){ .flow = flow, .life = 1, .len = len };
	if (len < MESSAGE_NAMED)
		return !whole;
	memcpy(msg, bytes, head < offsetof(struct message, check) ?
		    head : offsetof(struct message, check));
	msg->check = check(msg);
	return msg->flow == flow && msg->len == len &&
	       len == message_size(flow, msg->seq, whole) &&
	       !memcmp(bytes, msg, head) &&
	       !memcmp((const char *)bytes + head, body(msg), len - head);
}
