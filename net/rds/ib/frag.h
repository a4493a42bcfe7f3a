/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fragments: how a message is cut, and put together.
 *
 * A message is one SEND, or several that follow each other: each a header and
 * as much payload as a fragment holds, the last one the rest. The headers are
 * the same but for ack, credits and checksum. An acknowledgment alone is a
 * header without ports and payload, and may come between fragments.
 *
 * This file judges headers and lengths; it moves no bytes.
 */
#ifndef _RDS_IB_FRAG_H
#define _RDS_IB_FRAG_H

#include <net/rds/wire.h>

/**
 * enum rds_ib_frag - what a SEND of the peer's is
 * @RDS_IB_FRAG_BAD: nonsense: the connection ends
 * @RDS_IB_FRAG_ACK: an acknowledgment alone
 * @RDS_IB_FRAG_PART: a part of a message, and more is to come
 * @RDS_IB_FRAG_LAST: the last part of a message, or all of it
 */
enum rds_ib_frag {
	RDS_IB_FRAG_BAD,
	RDS_IB_FRAG_ACK,
	RDS_IB_FRAG_PART,
	RDS_IB_FRAG_LAST,
};

/**
 * struct rds_ib_reasm - a message that is coming in
 * @ra_hdr: its first header
 * @ra_got: bytes of payload so far; 0: between messages
 */
struct rds_ib_reasm {
	struct rds_header	ra_hdr;
	u32			ra_got;
};

/**
 * rds_ib_frags() - how many fragments does a message take?
 * @len: bytes of payload
 *
 * Context: any.
 * Return: at least 1.
 */
static inline u32 rds_ib_frags(u32 len)
{
	return len ? DIV_ROUND_UP(len, RDS_FRAG_SIZE) : 1;
}

/**
 * rds_ib_frag_is_ack() - is it an acknowledgment alone?
 * @hdr: the header
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool rds_ib_frag_is_ack(const struct rds_header *hdr)
{
	return !hdr->h_sport && !hdr->h_dport && !hdr->h_len &&
	       !hdr->h_sequence && hdr->h_flags != RDS_FLAG_CONG_BITMAP;
}

/**
 * rds_ib_frag_same() - do two headers belong to the same message?
 * @a: one
 * @b: the other
 *
 * Context: any.
 * Return: true if they differ at most in what may differ.
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
 * rds_ib_frag_has_header() - is there a header, as it was sent?
 * @hdr: the header
 * @bytes: how many bytes have come, the header among them
 *
 * Context: any.
 * Return: true if there is.
 */
static inline bool rds_ib_frag_has_header(const struct rds_header *hdr,
					  u32 bytes)
{
	return bytes >= sizeof(*hdr) && rds_header_csum_ok(hdr);
}

/**
 * rds_ib_frag_judge() - what has come, and does it fit?
 * @ra: the message that is coming in; not changed
 * @hdr: the header that has come
 * @bytes: how many bytes of payload have come behind it
 *
 * Context: any.
 * Return: what it is.
 */
static inline enum rds_ib_frag
rds_ib_frag_judge(const struct rds_ib_reasm *ra, const struct rds_header *hdr,
		  u32 bytes)
{
	u32 len, want;

	if (!bytes && rds_ib_frag_is_ack(hdr))
		return RDS_IB_FRAG_ACK;

	len = be32_to_cpu(hdr->h_len);
	if (len > RDS_MAX_MSG_SIZE ||
	    (ra->ra_got && !rds_ib_frag_same(&ra->ra_hdr, hdr)))
		return RDS_IB_FRAG_BAD;

	want = min(len - ra->ra_got, (u32)RDS_FRAG_SIZE);
	if (bytes != want)
		return RDS_IB_FRAG_BAD;
	return ra->ra_got + bytes == len ? RDS_IB_FRAG_LAST :
					   RDS_IB_FRAG_PART;
}

/**
 * rds_ib_reasm_add() - a part that was judged good has been taken
 * @ra: the message that is coming in; @ra_hdr is that of the first part
 * @bytes: its payload
 * @frag: what it was judged to be
 *
 * Context: any.
 */
static inline void rds_ib_reasm_add(struct rds_ib_reasm *ra, u32 bytes,
				    enum rds_ib_frag frag)
{
	ra->ra_got = frag == RDS_IB_FRAG_LAST ? 0 : ra->ra_got + bytes;
}

#endif /* _RDS_IB_FRAG_H */
