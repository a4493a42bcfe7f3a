/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames: the format of the TCP stream.
 *
 * The stream is a sequence of frames. A frame is a header, followed by as many
 * bytes of payload as the header announces. A frame may begin and end anywhere
 * in a segment. This file tracks the position in the stream and checks lengths;
 * it copies no data and allocates nothing. If a header announces more than the
 * longest message, the stream ends before anything is allocated for it.
 */
#ifndef _RDS_TCP_FRAME_H
#define _RDS_TCP_FRAME_H

#include <net/rds/wire.h>

/**
 * enum rds_tcp_phase - type of the next bytes in the stream
 * @RDS_TCP_HEADER: a header
 * @RDS_TCP_BODY: payload of a message
 * @RDS_TCP_MAP: payload of a congestion map that has the right length
 * @RDS_TCP_SKIP: payload of a congestion map that has another length; ignored
 * @RDS_TCP_OVERSIZED: a payload too long to be received; the stream ends here
 */
enum rds_tcp_phase {
	RDS_TCP_HEADER,
	RDS_TCP_BODY,
	RDS_TCP_MAP,
	RDS_TCP_SKIP,
	RDS_TCP_OVERSIZED,
};

/**
 * struct rds_tcp_frame - position in a received stream
 * @fr_hdr: the header being read, or the one read last
 * @fr_phase: type of the next bytes
 * @fr_left: bytes of this phase still to be read; never 0, except in phase
 *	%RDS_TCP_OVERSIZED
 */
struct rds_tcp_frame {
	struct rds_header	fr_hdr;
	enum rds_tcp_phase	fr_phase;
	u32			fr_left;
};

/**
 * rds_tcp_frame_room() - Get the buffer for the next bytes of a header
 * @fr: the stream, in phase %RDS_TCP_HEADER
 *
 * Context: Any context.
 * Return: room for &rds_tcp_frame.fr_left bytes.
 */
static inline void *rds_tcp_frame_room(struct rds_tcp_frame *fr)
{
	return (u8 *)(&fr->fr_hdr + 1) - fr->fr_left;
}

/**
 * rds_tcp_frame_next() - Expect a header next
 * @fr: the stream
 *
 * Context: Any context.
 */
static inline void rds_tcp_frame_next(struct rds_tcp_frame *fr)
{
	fr->fr_phase = RDS_TCP_HEADER;
	fr->fr_left = sizeof(fr->fr_hdr);
}

/**
 * rds_tcp_frame_init() - Initialize the position at the start of a stream
 * @fr: the stream
 *
 * Context: Any context.
 */
static inline void rds_tcp_frame_init(struct rds_tcp_frame *fr)
{
	memset(&fr->fr_hdr, 0, sizeof(fr->fr_hdr));
	rds_tcp_frame_next(fr);
}

/**
 * rds_tcp_frame_judge() - Determine the phase that follows a header
 * @hdr: the header, complete
 *
 * Context: Any context.
 * Return: any phase but %RDS_TCP_HEADER. The length of that phase is
 * &rds_header.h_len, and may be 0.
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
 * rds_tcp_frame_advance() - Account for bytes taken from the stream
 * @fr: the stream
 * @bytes: number of bytes, at most &rds_tcp_frame.fr_left. If they belong to a
 *	header, the caller has copied them to rds_tcp_frame_room().
 *
 * Context: Any context.
 * Return: true if these bytes end a frame; its header is still in @fr.
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
