/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of the RDS wire format as a peer needs that keeps one TCP
 * connection and exchanges small messages.
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

/* What a header says, in this machine's byte order */
struct wire_frame {
	uint64_t sequence;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
	bool is_map;
	bool retransmitted;
};

/* A stream of frames, taken apart */
struct wire_stream {
	unsigned char header[WIRE_HEADER];
	unsigned char payload[WIRE_PAYLOAD];
	size_t header_got;
	size_t payload_got;
};

/*
 * Consumes some of @len bytes and says how many. When that completes a frame,
 * fills it in and sets @complete; its payload, or its first bytes, are in
 * @stream then.
 */
size_t wire_feed(struct wire_stream *stream, const void *bytes, size_t len,
		 struct wire_frame *frame, bool *complete);

/*
 * Writes a header; @npaths, unless 0, is announced in it. A map is a frame of
 * WIRE_MAP bytes, which the caller adds.
 */
void wire_header(unsigned char header[WIRE_HEADER],
		 const struct wire_frame *frame, unsigned int npaths);

#endif
