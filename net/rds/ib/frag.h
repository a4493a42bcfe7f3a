/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fragments: how a message is split and reassembled.
 *
 * A message is one SEND, or several in a row. Each is a header and as much
 * payload as a fragment holds; the last one has the rest. The headers differ
 * only in ack, credits, number and checksum. An ack that is sent alone is a
 * header without ports and payload. It may arrive between fragments.
 *
 * Each SEND costs both ends a work request, a buffer and its completion. So
 * between two ends of ours, a message that does not fit into RDS_FRAG_SIZE is
 * sent in wide fragments. Their buffers have room for RDS_IB_WIDE_BYTES of
 * payload. If that is not enough for all of it, header and payload together are
 * RDS_IB_WIDE_BYTES: with more, each fragment would need one packet more,
 * whatever the MTU of IB or RoCE is.
 *
 * No device should deliver a SEND twice, but soft-RoCE does when its
 * acknowledgments are late. Within a message, the copy of a fragment looks like
 * the next one, and the credits of any SEND would be granted again. So between
 * two ends of ours, all SENDs of a connection are numbered, from 1, in the
 * order in which they are posted. The number is in h_padding. It wraps.
 *
 * This file checks headers and lengths. It moves no payload.
 */
#ifndef _RDS_IB_FRAG_H
#define _RDS_IB_FRAG_H

#include <net/rds/wire.h>

/* Most bytes of payload of a wide fragment; and those of one of several */
#define RDS_IB_WIDE_BYTES	16384U
#define RDS_IB_WIDE_SIZE	(RDS_IB_WIDE_BYTES - \
				 (u32)sizeof(struct rds_header))

/**
 * enum rds_ib_frag - type of a received SEND
 * @RDS_IB_FRAG_BAD: it violates the protocol; the connection ends
 * @RDS_IB_FRAG_ACK: an ack alone
 * @RDS_IB_FRAG_PART: a fragment of a message, and more fragments follow
 * @RDS_IB_FRAG_LAST: the last fragment of a message, or all of it
 */
enum rds_ib_frag {
	RDS_IB_FRAG_BAD,
	RDS_IB_FRAG_ACK,
	RDS_IB_FRAG_PART,
	RDS_IB_FRAG_LAST,
};

/**
 * struct rds_ib_reasm - a message that is being reassembled
 * @ra_hdr: the header of its first fragment
 * @ra_got: bytes of payload received so far; 0 between messages
 */
struct rds_ib_reasm {
	struct rds_header	ra_hdr;
	u32			ra_got;
};

/**
 * rds_ib_frag_size() - Compute the size of the fragments of a message
 * @len: bytes of payload
 * @wide: the fragments of large messages are wide
 *
 * Context: Any context.
 * Return: the bytes of payload of each fragment but the last.
 */
static inline u32 rds_ib_frag_size(u32 len, bool wide)
{
	if (!wide || len <= RDS_FRAG_SIZE)
		return RDS_FRAG_SIZE;
	return len <= RDS_IB_WIDE_BYTES ? RDS_IB_WIDE_BYTES : RDS_IB_WIDE_SIZE;
}

/**
 * rds_ib_frags() - Compute the number of fragments of a message
 * @len: bytes of payload
 * @wide: the fragments of large messages are wide
 *
 * Context: Any context.
 * Return: the number, at least 1.
 */
static inline u32 rds_ib_frags(u32 len, bool wide)
{
	return len ? DIV_ROUND_UP(len, rds_ib_frag_size(len, wide)) : 1;
}

/**
 * rds_ib_frag_pages() - Compute the number of pages that a fragment fills
 * @bytes: bytes of its payload
 * @piece: bytes that fit into a page
 *
 * Context: Any context.
 * Return: the number.
 */
static inline u32 rds_ib_frag_pages(u32 bytes, u32 piece)
{
	return DIV_ROUND_UP(bytes, piece);
}

/**
 * rds_ib_msg_pages() - Compute the number of pages that a message fills
 * @len: bytes of its payload
 * @frag: bytes of payload of each fragment but the last
 * @piece: bytes that fit into a page
 *
 * Each fragment begins with a page of its own.
 *
 * Context: Any context.
 * Return: the number.
 */
static inline u32 rds_ib_msg_pages(u32 len, u32 frag, u32 piece)
{
	return len / frag * rds_ib_frag_pages(frag, piece) +
	       rds_ib_frag_pages(len % frag, piece);
}

/**
 * rds_ib_msg_page() - Find the page that has a byte of a message
 * @offset: offset of the byte in the payload
 * @frag: bytes of payload of each fragment but the last
 * @piece: bytes that fit into a page
 * @at: set to the offset of the byte in that page
 * @room: set to the number of bytes from there to the end of the page or of the
 *	fragment
 *
 * Context: Any context.
 * Return: the number of the page.
 */
static inline u32 rds_ib_msg_page(u32 offset, u32 frag, u32 piece, u32 *at,
				  u32 *room)
{
	u32 in_frag = offset % frag;

	*at = in_frag % piece;
	*room = min(piece - *at, frag - in_frag);
	return offset / frag * rds_ib_frag_pages(frag, piece) + in_frag / piece;
}

/**
 * rds_ib_frag_is_ack() - Check whether a header is an ack alone
 * @hdr: the header
 *
 * Context: Any context.
 * Return: true if it is.
 */
static inline bool rds_ib_frag_is_ack(const struct rds_header *hdr)
{
	return !hdr->h_sport && !hdr->h_dport && !hdr->h_len &&
	       !hdr->h_sequence && hdr->h_flags != RDS_FLAG_CONG_BITMAP;
}

/**
 * rds_ib_frag_same() - Check whether two headers belong to the same message
 * @a: one header
 * @b: the other header
 *
 * Context: Any context.
 * Return: true if they differ at most in the fields that may differ.
 */
static inline bool rds_ib_frag_same(const struct rds_header *a,
				    const struct rds_header *b)
{
	return a->h_sequence == b->h_sequence && a->h_len == b->h_len &&
	       a->h_sport == b->h_sport && a->h_dport == b->h_dport &&
	       a->h_flags == b->h_flags &&
	       !memcmp(a->h_exthdr, b->h_exthdr, sizeof(a->h_exthdr));
}

/**
 * rds_ib_number_set() - Write the number of a SEND to its header
 * @hdr: the header; its checksum has to be computed after this
 * @number: the number
 *
 * Context: Any context.
 */
static inline void rds_ib_number_set(struct rds_header *hdr, u32 number)
{
	__be32 padding = cpu_to_be32(number);

	memcpy(hdr->h_padding, &padding, sizeof(padding));
}

/**
 * rds_ib_number_ahead() - Compare the number of a SEND with the expected one
 * @hdr: its header
 * @last: number of the last SEND that has arrived; 0 if none has
 *
 * Context: Any context.
 * Return: 0 if the SEND is the next one; a negative number if it has arrived
 * before; otherwise the number of SENDs that are missing in between.
 */
static inline s32 rds_ib_number_ahead(const struct rds_header *hdr, u32 last)
{
	__be32 padding;

	memcpy(&padding, hdr->h_padding, sizeof(padding));
	return (s32)(be32_to_cpu(padding) - last - 1);
}

/**
 * rds_ib_frag_has_header() - Check whether a SEND begins with an intact header
 * @hdr: the header
 * @bytes: number of bytes received, including the header
 *
 * Context: Any context.
 * Return: true if the header is complete and its checksum is correct or absent.
 */
static inline bool rds_ib_frag_has_header(const struct rds_header *hdr,
					  u32 bytes)
{
	return bytes >= sizeof(*hdr) && rds_header_csum_ok(hdr);
}

/**
 * rds_ib_frag_judge() - Classify a SEND, and check that it fits the message
 * @ra: the message that is being reassembled; not changed
 * @hdr: the header received
 * @bytes: bytes of payload received behind the header
 * @wide: the fragments of large messages are wide; those of congestion maps
 *	never are
 *
 * Context: Any context.
 * Return: the type of the SEND.
 */
static inline enum rds_ib_frag
rds_ib_frag_judge(const struct rds_ib_reasm *ra, const struct rds_header *hdr,
		  u32 bytes, bool wide)
{
	u32 len, want;

	if (!bytes && rds_ib_frag_is_ack(hdr))
		return RDS_IB_FRAG_ACK;

	len = be32_to_cpu(hdr->h_len);
	if (len > RDS_MAX_MSG_SIZE ||
	    (ra->ra_got && !rds_ib_frag_same(&ra->ra_hdr, hdr)))
		return RDS_IB_FRAG_BAD;

	want = rds_ib_frag_size(len, wide && !rds_header_is_cong_map(hdr));
	want = min(len - ra->ra_got, want);
	if (bytes != want)
		return RDS_IB_FRAG_BAD;
	return ra->ra_got + bytes == len ? RDS_IB_FRAG_LAST :
					   RDS_IB_FRAG_PART;
}

/**
 * rds_ib_reasm_add() - Account for a fragment that has been taken
 * @ra: the message that is being reassembled; @ra_hdr is already that of its
 *	first fragment
 * @bytes: bytes of payload of the fragment
 * @frag: type of the fragment, as rds_ib_frag_judge() has returned it
 *
 * Context: Any context.
 */
static inline void rds_ib_reasm_add(struct rds_ib_reasm *ra, u32 bytes,
				    enum rds_ib_frag frag)
{
	ra->ra_got = frag == RDS_IB_FRAG_LAST ? 0 : ra->ra_got + bytes;
}

#endif /* _RDS_IB_FRAG_H */
