/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format of RDS over reliable connections: the private data of a
 * connection, and the header of a SEND. Written from the RDS 3.1 wire
 * specification, independently of the kernel under test.
 */
#ifndef FRAME_H
#define FRAME_H

#include <arpa/inet.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

#define FRAME_PORT	18634
#define FRAME_PORT6	16385
#define FRAME_PAYLOAD	4096
/* Of a message of several wide fragments, and of one alone */
#define FRAME_WIDE	16336
#define FRAME_WIDEST	16384
#define FRAME_MAP	8192
#define FRAME_MAX_MSG	(1024 * 1024)

#define FRAME_CONG	0x01
#define FRAME_ACK	0x02
#define FRAME_AGAIN	0x04

/* In the reserved byte: an epoch follows */
#define HANDSHAKE_OURS	0xa1

/* In the word of the epoch: the sender knows streams */
#define HANDSHAKE_STREAMS	(1U << 24)
/* The same: it numbers its SENDs */
#define HANDSHAKE_NUMBERS	(1U << 25)
/* The same: the fragments of messages beyond FRAME_PAYLOAD are wide */
#define HANDSHAKE_WIDE	(1U << 27)

/* Bits above the epoch that have a meaning, and all others */
#define HANDSHAKE_KNOWN	(HANDSHAKE_STREAMS | HANDSHAKE_NUMBERS | HANDSHAKE_WIDE)
#define HANDSHAKE_UNKNOWN	(0xffU << 24 & ~HANDSHAKE_KNOWN)

struct frame {
	uint64_t seq;
	uint64_t ack;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
	uint8_t flags;
	uint8_t credit;
	uint8_t padding[4];
	uint16_t csum;
	uint8_t ext[16];
} __attribute__((packed));

_Static_assert(sizeof(struct frame) == 48, "a header has 48 bytes");

/* The part behind the addresses */
struct handshake_tail {
	uint8_t major;
	uint8_t minor;
	uint16_t minors;
	uint8_t tos;
	uint8_t reserved;
	uint16_t reserved_too;
	uint64_t ack;
	uint32_t credits;
	uint32_t last;
} __attribute__((packed));

struct handshake {
	uint32_t saddr;
	uint32_t daddr;
	struct handshake_tail tail;
} __attribute__((packed));

struct handshake6 {
	struct in6_addr saddr;
	struct in6_addr daddr;
	struct handshake_tail tail;
} __attribute__((packed));

_Static_assert(sizeof(struct handshake) == 32, "private data has 32 bytes");
_Static_assert(sizeof(struct handshake6) == 56, "for IPv6, 56");

/* Return the Internet checksum of a header; 0 if it contains the right one. */
static inline uint16_t frame_csum(const struct frame *frame)
{
	const unsigned char *byte = (const unsigned char *)frame;
	uint32_t sum = 0;
	unsigned int i;

	for (i = 0; i < sizeof(*frame); i += 2)
		sum += byte[i] << 8 | byte[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons(~sum);
}

static inline void frame_seal(struct frame *frame)
{
	frame->csum = 0;
	frame->csum = frame_csum(frame);
}

static inline struct frame frame_data(uint64_t seq, uint32_t len,
				      uint16_t sport, uint16_t dport)
{
	struct frame frame = {
		.seq = htobe64(seq),
		.len = htonl(len),
		.sport = htons(sport),
		.dport = htons(dport),
	};

	frame_seal(&frame);
	return frame;
}

static inline struct handshake_tail handshake_tail_honest(void)
{
	return (struct handshake_tail){
		.major = 3,
		.minor = 1,
		.minors = htons(3),
	};
}

static inline struct handshake handshake_honest(const char *from,
						const char *to)
{
	return (struct handshake){
		.saddr = inet_addr(from),
		.daddr = inet_addr(to),
		.tail = handshake_tail_honest(),
	};
}

static inline struct handshake6 handshake6_honest(const char *from,
						  const char *to)
{
	struct handshake6 handshake = { .tail = handshake_tail_honest() };

	inet_pton(AF_INET6, from, &handshake.saddr);
	inet_pton(AF_INET6, to, &handshake.daddr);
	return handshake;
}

#endif /* FRAME_H */
