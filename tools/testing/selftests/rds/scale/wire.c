// SPDX-License-Identifier: GPL-2.0
/* RDS frames in a stream of bytes */
#include <endian.h>
#include <string.h>

#include "wire.h"

#define FLAG_MAP		0x01
#define FLAG_RETRANSMITTED	0x04
#define EXTHDR_NPATHS		5

/* Offsets in the header */
enum {
	AT_SEQUENCE	= 0,
	AT_LEN		= 16,
	AT_SPORT	= 20,
	AT_DPORT	= 22,
	AT_FLAGS	= 24,
	AT_EXTHDR	= 32,
};

static uint16_t get16(const unsigned char *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static uint32_t get32(const unsigned char *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static uint64_t get64(const unsigned char *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static void put16(unsigned char *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put32(unsigned char *at, uint32_t value)
{
	value = htobe32(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(unsigned char *at, uint64_t value)
{
	put32(at, value >> 32);
	put32(at + 4, value);
}

static void read_header(const unsigned char *header, struct wire_frame *frame)
{
	frame->sequence = get64(header + AT_SEQUENCE);
	frame->len = get32(header + AT_LEN);
	frame->sport = get16(header + AT_SPORT);
	frame->dport = get16(header + AT_DPORT);
	frame->is_map = header[AT_FLAGS] == FLAG_MAP;
	frame->retransmitted = header[AT_FLAGS] & FLAG_RETRANSMITTED;
}

void wire_header(unsigned char header[WIRE_HEADER],
		 const struct wire_frame *frame, unsigned int npaths)
{
	memset(header, 0, WIRE_HEADER);
	put64(header + AT_SEQUENCE, frame->sequence);
	put32(header + AT_LEN, frame->len);
	put16(header + AT_SPORT, frame->sport);
	put16(header + AT_DPORT, frame->dport);
	header[AT_FLAGS] = (frame->is_map ? FLAG_MAP : 0) |
			   (frame->retransmitted ? FLAG_RETRANSMITTED : 0);
	if (npaths) {
		header[AT_EXTHDR] = EXTHDR_NPATHS;
		put16(header + AT_EXTHDR + 1, npaths);
	}
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Of a payload that does not fit, only the beginning is kept. */
static size_t feed_payload(struct wire_stream *stream, const void *bytes,
			   size_t len, uint32_t wanted)
{
	size_t part = smaller(len, wanted - stream->payload_got), kept;

	if (stream->payload_got < WIRE_PAYLOAD) {
		kept = smaller(part, WIRE_PAYLOAD - stream->payload_got);
		memcpy(stream->payload + stream->payload_got, bytes, kept);
	}
	stream->payload_got += part;
	return part;
}

size_t wire_feed(struct wire_stream *stream, const void *bytes, size_t len,
		 struct wire_frame *frame, bool *complete)
{
	size_t used;

	*complete = false;
	used = smaller(len, WIRE_HEADER - stream->header_got);
	memcpy(stream->header + stream->header_got, bytes, used);
	stream->header_got += used;
	if (stream->header_got < WIRE_HEADER)
		return used;

	read_header(stream->header, frame);
	used += feed_payload(stream, (const char *)bytes + used, len - used,
			     frame->len);
	if (stream->payload_got == frame->len) {
		*complete = true;
		stream->header_got = 0;
		stream->payload_got = 0;
	}
	return used;
}
