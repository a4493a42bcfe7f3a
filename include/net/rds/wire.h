/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The RDS wire format: message header, extension headers, checksum.
 *
 * RDS Wire Specification 3.1, with the header size as deployed: 48 bytes.
 * Every multi-byte field is big-endian. The functions in this file keep no
 * state and do not trust their input: no access goes beyond the structure.
 *
 * "Our implementation" means this one. Peers may run another.
 */
#ifndef _NET_RDS_WIRE_H
#define _NET_RDS_WIRE_H

#include <linux/build_bug.h>
#include <linux/ip.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/types.h>
#include <net/checksum.h>
#include <uapi/linux/rds.h>

#define RDS_EXTHDR_SPACE	16
#define RDS_FRAG_SIZE		4096
#define RDS_CONG_MAP_BYTES	8192
#define RDS_CONG_MAP_BITS	65536
#define RDS_MAX_MSG_SIZE	SZ_1M

/* Reserved ports. Sockets may bind all others. */
enum rds_port {
	RDS_PORT_PING	= 0,	/* destination: ping; source: pong */
	RDS_PORT_PROBE	= 1,	/* multipath handshake */
};

/**
 * enum rds_wire_flag - bits of &rds_header.h_flags
 * @RDS_FLAG_CONG_BITMAP: the payload is a congestion map; valid only if no
 *	other flag is set
 * @RDS_FLAG_ACK_REQUIRED: the sender asks for an ack soon
 * @RDS_FLAG_RETRANSMITTED: the message was sent before, on an earlier
 *	connection
 */
enum rds_wire_flag {
	RDS_FLAG_CONG_BITMAP	= 0x01,
	RDS_FLAG_ACK_REQUIRED	= 0x02,
	RDS_FLAG_RETRANSMITTED	= 0x04,
};

/**
 * struct rds_header - header of every message or fragment
 * @h_sequence: sequence number of the message on its path, from 1; 0 if the
 *	message is unnumbered
 * @h_ack: last sequence number received in order (RDMA devices only)
 * @h_len: bytes of payload of the whole message
 * @h_sport: port of the sending socket
 * @h_dport: port of the receiving socket
 * @h_flags: bits of enum rds_wire_flag
 * @h_credit: receive credits granted (RDMA devices only)
 * @h_padding: zero; over RDMA devices between two ends that run our
 *	implementation, the number of the SEND
 * @h_csum: Internet checksum of the header, or 0 if there is none
 * @h_exthdr: extension headers, see enum rds_exthdr_type
 */
struct rds_header {
	__be64	h_sequence;
	__be64	h_ack;
	__be32	h_len;
	__be16	h_sport;
	__be16	h_dport;
	u8	h_flags;
	u8	h_credit;
	u8	h_padding[4];
	__sum16	h_csum;
	u8	h_exthdr[RDS_EXTHDR_SPACE];
};

static_assert(sizeof(struct rds_header) == 48);
static_assert(offsetof(struct rds_header, h_ack) == 8);
static_assert(offsetof(struct rds_header, h_len) == 16);
static_assert(offsetof(struct rds_header, h_sport) == 20);
static_assert(offsetof(struct rds_header, h_dport) == 22);
static_assert(offsetof(struct rds_header, h_flags) == 24);
static_assert(offsetof(struct rds_header, h_credit) == 25);
static_assert(offsetof(struct rds_header, h_csum) == 30);
static_assert(offsetof(struct rds_header, h_exthdr) == 32);

/**
 * enum rds_exthdr_type - types of extension headers
 * @RDS_EXTHDR_NONE: ends the list
 * @RDS_EXTHDR_VERSION: never sent, ignored
 * @RDS_EXTHDR_RDMA: the rkey that the preceding RDMA operation used
 * @RDS_EXTHDR_RDMA_DEST: an rkey and an offset for the peer to use
 * @RDS_EXTHDR_RDMA_BYTES: byte count and direction of an RDMA operation
 * @RDS_EXTHDR_NPATHS: how many paths the sender supports
 * @RDS_EXTHDR_GEN_NUM: generation number of the sender
 * @RDS_EXTHDR_CAP_BITS: capabilities in some vendor kernels, ignored
 * @RDS_EXTHDR_SPORT_IDX: the sender's TCP source ports name the path
 * @RDS_EXTHDR_STREAM: the message is a frame of a stream. Only our
 *	implementation sends it, and only to a peer that has announced that it
 *	knows streams; see Documentation/protocol.rst.
 * @RDS_EXTHDR_SW_RDMA: software RDMA request or response: an operation on the
 *	receiver's memory, or its result. Only our implementation sends it, and
 *	only to a peer that runs our implementation; see
 *	Documentation/protocol.rst.
 * @RDS_EXTHDR_OURS: capabilities and epoch of the sender. Only our
 *	implementation sends it; see Documentation/protocol.rst.
 * @RDS_EXTHDR_MAX: types from here on end the list
 *
 * An extension header is a type byte and a payload. The type fixes the size of
 * the payload, see rds_exthdr_size().
 */
enum rds_exthdr_type {
	RDS_EXTHDR_NONE		= 0,
	RDS_EXTHDR_VERSION	= 1,
	RDS_EXTHDR_RDMA		= 2,
	RDS_EXTHDR_RDMA_DEST	= 3,
	RDS_EXTHDR_RDMA_BYTES	= 4,
	RDS_EXTHDR_NPATHS	= 5,
	RDS_EXTHDR_GEN_NUM	= 6,
	RDS_EXTHDR_CAP_BITS	= 7,
	RDS_EXTHDR_SPORT_IDX	= 8,
	RDS_EXTHDR_STREAM	= 13,
	RDS_EXTHDR_SW_RDMA	= 14,
	RDS_EXTHDR_OURS		= 15,
	RDS_EXTHDR_MAX		= 16,
};

/**
 * rds_exthdr_size() - Get the payload size of an extension header type
 * @type: the type byte
 *
 * An unknown type is a bare type byte without payload. This lets old parsers
 * survive new types: the payload of a new type begins with a zero byte, which
 * ends parsing.
 *
 * Context: Any context.
 * Return: the size in bytes, without the type byte; 0 for unknown types.
 */
static inline unsigned int rds_exthdr_size(u8 type)
{
	switch (type) {
	case RDS_EXTHDR_VERSION:
	case RDS_EXTHDR_RDMA:
	case RDS_EXTHDR_GEN_NUM:
	case RDS_EXTHDR_CAP_BITS:
		return 4;
	case RDS_EXTHDR_RDMA_DEST:
	case RDS_EXTHDR_RDMA_BYTES:
		return 8;
	case RDS_EXTHDR_STREAM:
	case RDS_EXTHDR_SW_RDMA:
		return 15;
	case RDS_EXTHDR_OURS:
		return 5;
	case RDS_EXTHDR_NPATHS:
		return 2;
	case RDS_EXTHDR_SPORT_IDX:
		return 1;
	default:
		return 0;
	}
}

/**
 * rds_exthdr_next() - Step through the extension headers
 * @area: the RDS_EXTHDR_SPACE bytes of &rds_header.h_exthdr
 * @pos: position to parse, 0 for the first call; advanced past the header found
 * @payload: set to the payload of the header found, inside @area
 *
 * Context: Any context.
 * Return: the type of the header found; RDS_EXTHDR_NONE at the end of the list.
 * A type out of range and a payload that does not fit also end the list.
 */
static inline u8 rds_exthdr_next(const u8 *area, unsigned int *pos,
				 const u8 **payload)
{
	unsigned int size;
	u8 type;

	if (*pos >= RDS_EXTHDR_SPACE)
		return RDS_EXTHDR_NONE;

	type = area[*pos];
	if (type == RDS_EXTHDR_NONE || type >= RDS_EXTHDR_MAX)
		return RDS_EXTHDR_NONE;

	size = rds_exthdr_size(type);
	if (*pos + 1 + size > RDS_EXTHDR_SPACE)
		return RDS_EXTHDR_NONE;

	*payload = area + *pos + 1;
	*pos += 1 + size;
	return type;
}

/**
 * rds_exthdr_add() - Append an extension header
 * @area: the RDS_EXTHDR_SPACE bytes, zeroed before the first call
 * @pos: first free byte; advanced past the new header
 * @type: the type byte
 * @payload: rds_exthdr_size(@type) bytes
 *
 * Context: Any context.
 * Return: true if the header was added; false if there is no room for it.
 */
static inline bool rds_exthdr_add(u8 *area, unsigned int *pos, u8 type,
				  const void *payload)
{
	unsigned int size = rds_exthdr_size(type);

	if (*pos + 1 + size > RDS_EXTHDR_SPACE)
		return false;

	area[*pos] = type;
	memcpy(area + *pos + 1, payload, size);
	*pos += 1 + size;
	return true;
}

/**
 * rds_header_set_csum() - Compute the checksum of a finished header
 * @hdr: the header
 *
 * Context: Any context.
 */
static inline void rds_header_set_csum(struct rds_header *hdr)
{
	hdr->h_csum = 0;
	hdr->h_csum = ip_fast_csum(hdr, sizeof(*hdr) >> 2);
}

/**
 * rds_header_csum_ok() - Verify the checksum of a header, if it has one
 * @hdr: the header
 *
 * Context: Any context.
 * Return: true if the checksum is correct, or if its field is 0.
 */
static inline bool rds_header_csum_ok(const struct rds_header *hdr)
{
	return !hdr->h_csum || !ip_fast_csum(hdr, sizeof(*hdr) >> 2);
}

/**
 * rds_header_is_cong_map() - Check whether the payload is a congestion map
 * @hdr: the header
 *
 * Context: Any context.
 * Return: true if %RDS_FLAG_CONG_BITMAP is the only flag set.
 */
static inline bool rds_header_is_cong_map(const struct rds_header *hdr)
{
	return hdr->h_flags == RDS_FLAG_CONG_BITMAP;
}

#endif /* _NET_RDS_WIRE_H */
