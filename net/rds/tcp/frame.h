/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames: how messages follow each other in the stream of bytes.
 *
 * A header, then as many bytes of payload as it says, then the next header. A
 * frame may begin and end anywhere in a segment. This file keeps count and
 * judges lengths; it moves no bytes and allocates nothing. A header that
 * announces more than the longest message ends the stream before anything has
 * been allocated for it.
 */
#ifndef _RDS_TCP_FRAME_H
#define _RDS_TCP_FRAME_H

#include <net/rds/wire.h>

/**
 * enum rds_tcp_phase - what the next bytes of the stream are
 * @RDS_TCP_HEADER: of a header
 * @RDS_TCP_BODY: of the payload of a message
 * @RDS_TCP_MAP: of a congestion map of the right length
 * @RDS_TCP_SKIP: of one that has another length, to be ignored
 * @RDS_TCP_OVERSIZED: of nothing that could be received; the stream ends here
 */
enum rds_tcp_phase {
	RDS_TCP_HEADER,
	RDS_TCP_BODY,
	RDS_TCP_MAP,
	RDS_TCP_SKIP,
	RDS_TCP_OVERSIZED,
};

/**
 * struct rds_tcp_frame - where a stream stands
 * @fr_hdr: the header being read, or the one read last
 * @fr_phase: what is next
 * @fr_left: bytes of that which are still to come; never 0, but for
 *	%RDS_TCP_OVERSIZED
 */
struct rds_tcp_frame {
	struct rds_header	fr_hdr;
	enum rds_tcp_phase	fr_phase;
	u32			fr_left;
};

/**
 * rds_tcp_frame_room() - where the next bytes of a header go
 * @fr: the stream, in phase %RDS_TCP_HEADER
 *
 * Context: any.
 * Return: room for &rds_tcp_frame.fr_left bytes.
 */
static inline void *rds_tcp_frame_room(struct rds_tcp_frame *fr)
{
	return (u8 *)(&fr->fr_hdr + 1) - fr->fr_left;
}

/**
 * rds_tcp_frame_next() - a header is next
 * @fr: the stream
 *
 * Context: any.
 */
static inline void rds_tcp_frame_next(struct rds_tcp_frame *fr)
{
	fr->fr_phase = RDS_TCP_HEADER;
	fr->fr_left = sizeof(fr->fr_hdr);
}

/**
 * rds_tcp_frame_init() - at the beginning of a stream
 * @fr: the stream
 *
 * Context: any.
 */
static inline void rds_tcp_frame_init(struct rds_tcp_frame *fr)
{
	memset(&fr->fr_hdr, 0, sizeof(fr->fr_hdr));
	rds_tcp_frame_next(fr);
}

/**
 * rds_tcp_frame_judge() - what follows a header
 * @hdr: the header, complete
 *
 * Context: any.
 * Return: any phase but %RDS_TCP_HEADER; its length, which may be 0, is
 * &rds_header.h_len.
 */
static inline enum rds_tcp_phase
rds_tcp_frame_judge(const struct rds_header *hdr)
{
	u32 len = be32_to_cpu(hdr->h_len);

	if (len > RDS_MAX_MSG_SIZE)
		return RDS_TCP_OVERSIZED;
	if (!rds_header_is_cong_map(hdr))
		return RDS_TCP_BODY;
	return len == RDS_CONG_MAP_BYTES ? RDS_TCP_MAP : RDS_TCP_SKIP;
}

/**
 * rds_tcp_frame_advance() - bytes have been taken from the stream
 * @fr: the stream
 * @bytes: how many, at most &rds_tcp_frame.fr_left. Those of a header are in
 *	their place, see rds_tcp_frame_room().
 *
 * Context: any.
 * Return: true if a frame has ended with them; its header is still there.
 */
static inline bool rds_tcp_frame_advance(struct rds_tcp_frame *fr, u32 bytes)
{
	fr->fr_left -= bytes;
	if (fr->fr_left)
		return false;

	if (fr->fr_phase == RDS_TCP_HEADER) {
		fr->fr_phase = rds_tcp_frame_judge(&fr->fr_hdr);
		if (fr->fr_phase == RDS_TCP_OVERSIZED)
			return false;
		fr->fr_left = be32_to_cpu(fr->fr_hdr.h_len);
		if (fr->fr_left)
			return false;
	}
	rds_tcp_frame_next(fr);
	return true;
}

#endif /* _RDS_TCP_FRAME_H */
