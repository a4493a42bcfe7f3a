// SPDX-License-Identifier: GPL-2.0-only
/*
 * What peers tell each other of themselves, as extension headers.
 *
 * Pure. A frame of ours fills the sixteen bytes exactly: number of paths,
 * generation number, "my ports name the paths", and a header of our own. That
 * one begins with a zero byte, where older parsers stop; the four bytes
 * behind it are an epoch of 24 bits and a byte of capabilities. Generation
 * and epoch together identify the peer's end of a connection: the generation
 * changes when its host forgets everything, the epoch also when it only
 * forgets this connection.
 *
 * Between two of ours the upper half of the number of paths has a meaning of
 * its own: the highest bit says that they are in use, not only on offer; the
 * others are the tag of a barrier. Other implementations take the lesser of
 * their number and ours, so that it would mean nothing to them; and they are
 * not sent it.
 */
#include "compat.h"
#include "handshake.h"

/* We number, and judge duplicates, without exception. */
#define RDS_CAP_BIT_STRICT	0x01
/* We do operations on memory that we are asked for, see sw_request.c. */
#define RDS_CAP_BIT_SW_RDMA	0x02
#define RDS_CAP_BITS		(RDS_CAP_BIT_STRICT | RDS_CAP_BIT_SW_RDMA)

#define RDS_EPOCH_SHIFT		8

/* In the number of paths */
#define RDS_NPATHS_IN_USE	0x8000
#define RDS_NPATHS_TAG_SHIFT	8
#define RDS_NPATHS_MASK		0xff

/**
 * rds_handshake_write() - write a handshake frame's extension headers
 * @exthdr: RDS_EXTHDR_SPACE bytes
 * @self: what to say
 *
 * Context: any.
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
	/* Not 0 even if generation and epoch were. */
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
 * rds_handshake_read() - read a handshake frame's extension headers
 * @exthdr: RDS_EXTHDR_SPACE bytes, from anybody
 * @hs: set to what they say; what is not there has its default
 *
 * Context: any.
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
