/* SPDX-License-Identifier: GPL-2.0-only */
/* The multipath handshake: what each peer announces about itself. */
#ifndef _RDS_CORE_HANDSHAKE_H
#define _RDS_CORE_HANDSHAKE_H

#include <linux/types.h>
#include <net/rds/wire.h>

/* Barrier tags range from 1 to this value. */
#define RDS_HANDSHAKE_TAGS	127

/**
 * struct rds_handshake - content of a received handshake frame
 * @id: identity of the sender: the generation number in the upper 32 bits, the
 *	epoch and the capabilities in the lower ones; 0 if it announces none
 * @npaths: number of paths that the sender offers, at least 1
 * @in_use: the sender uses @npaths paths, and continues to use them; sent by
 *	our implementation only
 * @tag: tag of a barrier, or 0. In a probe: the barrier that the probe belongs
 *	to. In a reply: the last barrier whose probe has arrived at the sender
 *	on this path. Sent by our implementation only
 * @names_paths: the source ports of the sender name its paths
 * @ours: the sender runs our implementation, and never uses a sequence number
 *	twice
 * @sw_rdma: the sender executes RDMA requests in software
 * @streams: the sender knows frames of streams
 */
struct rds_handshake {
	u64	id;
	u16	npaths;
	bool	in_use;
	u8	tag;
	bool	names_paths;
	bool	ours;
	bool	sw_rdma;
	bool	streams;
};

/**
 * struct rds_handshake_self - content of a handshake frame to be sent
 * @npaths: number of paths that we offer
 * @in_use: @npaths paths are in use; set only for a peer that runs our
 *	implementation
 * @tag: tag of a barrier, at most RDS_HANDSHAKE_TAGS, or 0; set only for such
 *	a peer
 * @gen: our generation number
 * @epoch: 24 bits that differ from one incarnation of the connection to the
 *	next
 */
struct rds_handshake_self {
	u16	npaths;
	bool	in_use;
	u8	tag;
	u32	gen;
	u32	epoch;
};

void rds_handshake_write(u8 *exthdr, const struct rds_handshake_self *self);
void rds_handshake_read(const u8 *exthdr, struct rds_handshake *hs);

/**
 * rds_handshake_gen() - Get the generation number from an identity
 * @hs: content of the peer's handshake frame
 *
 * Context: Any.
 * Return: the generation number; 0 if the peer announces none.
 */
static inline u32 rds_handshake_gen(const struct rds_handshake *hs)
{
	return hs->id >> 32;
}

/**
 * rds_handshake_is_probe() - Test whether the ports of a frame mark a probe
 * @sport: sending port
 * @dport: receiving port
 *
 * Context: Any.
 * Return: true if the frame is a probe; false otherwise.
 */
static inline bool rds_handshake_is_probe(__be16 sport, __be16 dport)
{
	return sport == cpu_to_be16(RDS_PORT_PROBE) &&
	       dport == cpu_to_be16(RDS_PORT_PING);
}

/**
 * rds_handshake_is_reply() - Test whether the ports of a frame mark a reply
 * @sport: sending port
 * @dport: receiving port
 *
 * Context: Any.
 * Return: true if the frame is a reply to a probe; false otherwise.
 */
static inline bool rds_handshake_is_reply(__be16 sport, __be16 dport)
{
	return sport == cpu_to_be16(RDS_PORT_PING) &&
	       dport == cpu_to_be16(RDS_PORT_PROBE);
}

#endif /* _RDS_CORE_HANDSHAKE_H */
