// SPDX-License-Identifier: GPL-2.0-only
/*
 * The multipath handshake: encoding and parsing of handshake frames.
 *
 * A handshake frame is an empty message whose extension headers announce its
 * sender. The functions in this file keep no state and take no locks. The
 * parser accepts any sixteen bytes, as a peer may send anything.
 *
 * The extension headers that we write fill the sixteen bytes exactly: the
 * number of paths, the generation number, the mark that our source ports name
 * the paths, and a header of our own (RDS_EXTHDR_OURS). Our header begins with
 * a zero byte, where a parser that does not know the header stops. The other
 * four bytes are a 24-bit epoch and a byte of capabilities.
 *
 * The generation number and the epoch together identify the peer's end of a
 * connection. The generation number changes when the peer's host loses all RDS
 * state. The epoch also changes when that host only frees this connection.
 *
 * Between two hosts that run our implementation, the upper byte of the number
 * of paths has a meaning of its own. Its highest bit indicates that the paths
 * are in use, not only offered. Its other bits are the tag of a barrier. Other
 * implementations take the smaller of their number of paths and ours, so this
 * byte would have no meaning for them. We send them zero instead.
 */
#include "compat.h"
#include "handshake.h"

/* We follow the rules for sequence numbers and duplicates without exception. */
#define RDS_CAP_BIT_STRICT	0x01
/* We execute RDMA requests in software, see sw_response.c. */
#define RDS_CAP_BIT_SW_RDMA	0x02
/* We know frames of streams, if only to refuse them. */
#define RDS_CAP_BIT_STREAMS	0x04
#define RDS_CAP_BITS		(RDS_CAP_BIT_STRICT | RDS_CAP_BIT_SW_RDMA | \
				 RDS_CAP_BIT_STREAMS)

#define RDS_EPOCH_SHIFT		8

/* Fields in the number of paths */
#define RDS_NPATHS_IN_USE	0x8000
#define RDS_NPATHS_TAG_SHIFT	8
#define RDS_NPATHS_MASK		0xff

/**
 * rds_handshake_write() - Write the extension headers of a handshake frame
 * @exthdr: RDS_EXTHDR_SPACE bytes, overwritten
 * @self: content of the frame
 *
 * Context: Any.
 */
void rds_handshake_write(u8 *exthdr, const struct rds_handshake_self *self)
{
	unsigned int pos = 0;
	u8 ours[5] = {};
	u8 npaths[2];
	u8 gen[4];

	put_unaligned_be16(min_t(u16, self->npaths, RDS_NPATHS_MASK) |
			   (self->in_use ? RDS_NPATHS_IN_USE : 0) |
			   (self->tag & RDS_HANDSHAKE_TAGS) <<
			   RDS_NPATHS_TAG_SHIFT, npaths);
	put_unaligned_be32(self->gen, gen);
	put_unaligned_be32(self->epoch << RDS_EPOCH_SHIFT | RDS_CAP_BITS,
			   ours + 1);

	memset(exthdr, 0, RDS_EXTHDR_SPACE);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_NPATHS, npaths);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_GEN_NUM, gen);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_SPORT_IDX, ours);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_OURS, ours);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_handshake_write);

static void rds_handshake_read_ours(const u8 *payload, struct rds_handshake *hs)
{
	u32 word = get_unaligned_be32(payload + 1);

	if (payload[0] || !(word & RDS_CAP_BIT_STRICT))
		return;
	hs->ours = true;
	hs->sw_rdma = word & RDS_CAP_BIT_SW_RDMA;
	hs->streams = word & RDS_CAP_BIT_STREAMS;
	/* Not 0 even if the generation number and the epoch are. */
	hs->id |= word;
}

static void rds_handshake_read_upper(struct rds_handshake *hs)
{
	if (!hs->ours)
		return;
	hs->in_use = hs->npaths & RDS_NPATHS_IN_USE;
	hs->tag = hs->npaths >> RDS_NPATHS_TAG_SHIFT & RDS_HANDSHAKE_TAGS;
	hs->npaths = hs->npaths & RDS_NPATHS_MASK ?: 1;
}

/**
 * rds_handshake_read() - Parse the extension headers of a handshake frame
 * @exthdr: RDS_EXTHDR_SPACE bytes, from any peer, not validated
 * @hs: set to the content; fields that the frame lacks get their defaults
 *
 * Context: Any.
 */
void rds_handshake_read(const u8 *exthdr, struct rds_handshake *hs)
{
	unsigned int pos = 0;
	const u8 *payload;
	u8 type;

	memset(hs, 0, sizeof(*hs));
	hs->npaths = 1;

	while ((type = rds_exthdr_next(exthdr, &pos, &payload))) {
		switch (type) {
		case RDS_EXTHDR_NPATHS:
			hs->npaths = get_unaligned_be16(payload) ?: 1;
			break;
		case RDS_EXTHDR_GEN_NUM:
			hs->id |= (u64)get_unaligned_be32(payload) << 32;
			break;
		case RDS_EXTHDR_SPORT_IDX:
			hs->names_paths = true;
			break;
		case RDS_EXTHDR_OURS:
			rds_handshake_read_ours(payload, hs);
			break;
		}
	}
	rds_handshake_read_upper(hs);
}
EXPORT_SYMBOL_RDS_KUNIT(rds_handshake_read);
