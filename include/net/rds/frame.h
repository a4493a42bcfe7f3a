/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of streams: the extension header of 16 bytes that marks a message as
 * one. Pure functions, without state. Documentation/protocol.rst, "Streams",
 * has the format byte by byte.
 *
 * A stream has two ends. The client is the end that has asked for it, and the
 * server the end that has accepted it. The client draws the identifier, which
 * all frames of the stream carry.
 */
#ifndef _NET_RDS_FRAME_H
#define _NET_RDS_FRAME_H

#include <net/rds/compat.h>
#include <net/rds/wire.h>

/**
 * enum rds_frame_op - what a frame is for
 * @RDS_FRAME_REQUEST: the client asks for a stream
 * @RDS_FRAME_RESPONSE: the server has accepted the stream
 * @RDS_FRAME_RST: the sender has no such stream, or gives it up
 * @RDS_FRAME_SHUTDOWN: the sender ends one half of the stream, or both
 * @RDS_FRAME_RW: bytes of the stream
 * @RDS_FRAME_CREDIT_UPDATE: nothing but credits
 * @RDS_FRAME_CREDIT_REQUEST: the sender asks for a CREDIT_UPDATE
 * @RDS_FRAME_BUSY: the server cannot accept the stream now; the client may ask
 *	again
 * @RDS_FRAME_MAP: the sender lets its peer write to some memory, or no longer
 * @RDS_FRAME_PUT: bytes for such memory
 * @RDS_FRAME_OPS: number of the first op that is unknown
 */
enum rds_frame_op {
	RDS_FRAME_REQUEST		= 1,
	RDS_FRAME_RESPONSE		= 2,
	RDS_FRAME_RST			= 3,
	RDS_FRAME_SHUTDOWN		= 4,
	RDS_FRAME_RW			= 5,
	RDS_FRAME_CREDIT_UPDATE		= 6,
	RDS_FRAME_CREDIT_REQUEST	= 7,
	RDS_FRAME_BUSY			= 8,
	RDS_FRAME_MAP			= 9,
	RDS_FRAME_PUT			= 10,
	RDS_FRAME_OPS
};

/* Flags of frames */
#define RDS_FRAME_TO_CLIENT	0x01	/* the server has sent it */
#define RDS_FRAME_NO_MORE	0x02	/* SHUTDOWN: no bytes follow */
#define RDS_FRAME_NO_READ	0x04	/* SHUTDOWN: nothing is read any more */

/* Bytes of credit that a frame costs beside its payload */
#define RDS_FRAME_COST		256

/**
 * struct rds_frame - an extension header in decoded form, in host byte order
 * @op: enum rds_frame_op, or unknown
 * @flags: RDS_FRAME_TO_CLIENT and others
 * @arg: for RST: enum rds_stream_refusal, why there is no such stream; for
 *	REQUEST and RESPONSE: how many mappings the peer may make
 * @id: identifier of the stream
 * @fwd: credit that the frames which the sender has consumed had cost, in all;
 *	for PUT: where the bytes go, from the start of the mapping
 * @buf: credit for frames that the sender has not consumed; for PUT: the key of
 *	the mapping
 */
struct rds_frame {
	u8	op;
	u8	flags;
	u8	arg;
	u32	id;
	u32	fwd;
	u32	buf;
};

/**
 * rds_frame_write() - Encode an extension header
 * @exthdr: RDS_EXTHDR_SPACE bytes, overwritten
 * @frame: the values
 *
 * Context: Any context.
 */
static inline void rds_frame_write(u8 *exthdr, const struct rds_frame *frame)
{
	exthdr[0] = RDS_EXTHDR_STREAM;
	exthdr[1] = frame->op;
	exthdr[2] = frame->flags;
	exthdr[3] = frame->arg;
	put_unaligned_be32(frame->id, exthdr + 4);
	put_unaligned_be32(frame->fwd, exthdr + 8);
	put_unaligned_be32(frame->buf, exthdr + 12);
}

/**
 * rds_frame_read() - Decode an extension header
 * @exthdr: RDS_EXTHDR_SPACE bytes, from any peer, not validated
 * @frame: set to the values
 *
 * Context: Any context.
 * Return: true if it is the header of a frame.
 */
static inline bool rds_frame_read(const u8 *exthdr, struct rds_frame *frame)
{
	if (exthdr[0] != RDS_EXTHDR_STREAM)
		return false;
	frame->op = exthdr[1];
	frame->flags = exthdr[2];
	frame->arg = exthdr[3];
	frame->id = get_unaligned_be32(exthdr + 4);
	frame->fwd = get_unaligned_be32(exthdr + 8);
	frame->buf = get_unaligned_be32(exthdr + 12);
	return true;
}

/**
 * rds_frame_answer() - Make the header of an answer to a frame without a stream
 * @frame: the frame
 * @op: %RDS_FRAME_RST or %RDS_FRAME_BUSY
 * @reason: enum rds_stream_refusal; 0 for %RDS_FRAME_BUSY
 * @exthdr: RDS_EXTHDR_SPACE bytes, set to the header of the answer
 *
 * Context: Any context.
 * Return: true; false if the frame is itself such an answer, which must not be
 * answered.
 */
static inline bool rds_frame_answer(const struct rds_frame *frame, u8 op,
				    u8 reason, u8 *exthdr)
{
	struct rds_frame answer = {
		.op = op,
		.flags = ~frame->flags & RDS_FRAME_TO_CLIENT,
		.arg = reason,
		.id = frame->id,
	};

	if (frame->op == RDS_FRAME_RST || frame->op == RDS_FRAME_BUSY)
		return false;
	rds_frame_write(exthdr, &answer);
	return true;
}

/* Bytes of the payload of a MAP */
#define RDS_FRAME_MAP_BYTES	16

/**
 * struct rds_frame_map - the payload of a MAP in decoded form
 * @offset: where the peer finds the memory
 * @len: its length in bytes; 0 if the mapping of @key is removed
 * @key: by this the frames of the peer refer to the mapping
 */
struct rds_frame_map {
	u64	offset;
	u32	len;
	u32	key;
};

/**
 * rds_frame_map_write() - Encode the payload of a MAP
 * @bytes: RDS_FRAME_MAP_BYTES bytes, overwritten
 * @map: the values
 *
 * Context: Any context.
 */
static inline void rds_frame_map_write(u8 *bytes,
				       const struct rds_frame_map *map)
{
	put_unaligned_be64(map->offset, bytes);
	put_unaligned_be32(map->len, bytes + 8);
	put_unaligned_be32(map->key, bytes + 12);
}

/**
 * rds_frame_map_read() - Decode the payload of a MAP
 * @bytes: RDS_FRAME_MAP_BYTES bytes, from any peer, not validated
 * @map: set to the values
 *
 * Context: Any context.
 */
static inline void rds_frame_map_read(const u8 *bytes,
				      struct rds_frame_map *map)
{
	map->offset = get_unaligned_be64(bytes);
	map->len = get_unaligned_be32(bytes + 8);
	map->key = get_unaligned_be32(bytes + 12);
}

#endif /* _NET_RDS_FRAME_H */
