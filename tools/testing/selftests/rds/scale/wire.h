/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the RDS wire format that a peer needs which has one TCP
 * connection and exchanges small messages
 */
#ifndef SCALE_WIRE_H
#define SCALE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_TCP_PORT	16385
#define WIRE_HEADER	48
#define WIRE_MAP	8192
#define WIRE_PAYLOAD	256	/* the largest that is kept */

#define WIRE_PORT_PING	0
#define WIRE_PORT_PROBE	1

/* The fields of a header, in the byte order of this machine */
struct wire_frame {
	uint64_t sequence;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
	bool is_map;
	bool retransmitted;
};

/* A stream of frames while it is parsed */
struct wire_stream {
	unsigned char header[WIRE_HEADER];
	unsigned char payload[WIRE_PAYLOAD];
	size_t header_got;
	size_t payload_got;
};

/*
 * Consume some of @len bytes and return how many. If this completes a frame,
 * fill in @frame and set @complete; its payload, or the beginning of it, is
 * then in @stream.
 */
size_t wire_feed(struct wire_stream *stream, const void *bytes, size_t len,
		 struct wire_frame *frame, bool *complete);

/*
 * Write a header; @npaths, unless 0, is announced in it. A map is a frame of
 * WIRE_MAP bytes, which the caller adds.
 */
void wire_header(unsigned char header[WIRE_HEADER],
		 const struct wire_frame *frame, unsigned int npaths);

#endif
