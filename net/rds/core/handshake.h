/* SPDX-License-Identifier: GPL-2.0-only */
/* What peers tell each other of themselves: the multipath handshake. */
#ifndef _RDS_CORE_HANDSHAKE_H
#define _RDS_CORE_HANDSHAKE_H

#include <linux/types.h>
#include <net/rds/wire.h>

/* Tags of barriers, from 1 */
#define RDS_HANDSHAKE_TAGS	127

/**
 * struct rds_handshake - what a handshake frame says of its sender
 * @id: its identity: generation number and epoch; 0 if it announces none
 * @npaths: paths that it offers, at least 1
 * @in_use: so many it uses, and goes on to; said by this implementation only
 * @tag: of the barrier that this is the probe of, or that has arrived where the
 *	answer comes from; 0 if there is none. Likewise
 * @names_paths: its ports name the paths
 * @ours: it is this implementation, and keeps sequence numbers strictly
 * @sw_rdma: it does operations on its memory that it is asked for
 */
struct rds_handshake {
	u64	id;
	u16	npaths;
	bool	in_use;
	u8	tag;
	bool	names_paths;
	bool	ours;
	bool	sw_rdma;
};

/**
 * struct rds_handshake_self - what we say
 * @npaths: paths that we offer
 * @in_use: so many are in use; only for peers of this implementation
 * @tag: a barrier's, likewise; up to RDS_HANDSHAKE_TAGS
 * @gen: our generation number
 * @epoch: 24 bits that differ from one life of the connection to the next
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
 * rds_handshake_gen() - the generation in an identity
 * @hs: what a peer has said
 *
 * Context: any.
 * Return: the generation number; 0 if it announces none.
 */
static inline u32 rds_handshake_gen(const struct rds_handshake *hs)
{
	return hs->id >> 32;
}

/**
 * rds_handshake_is_probe() - do these ports belong to a probe?
 * @sport: sending port
 * @dport: receiving port
 *
 * Context: any.
 * Return: true if they do.
 */
static inline bool rds_handshake_is_probe(__be16 sport, __be16 dport)
{
	return sport == cpu_to_be16(RDS_PORT_PROBE) &&
	       dport == cpu_to_be16(RDS_PORT_PING);
}

/**
 * rds_handshake_is_reply() - do these ports belong to the answer to a probe?
 * @sport: sending port
 * @dport: receiving port
 *
 * Context: any.
 * Return: true if they do.
 */
static inline bool rds_handshake_is_reply(__be16 sport, __be16 dport)
{
	return sport == cpu_to_be16(RDS_PORT_PING) &&
	       dport == cpu_to_be16(RDS_PORT_PROBE);
}

#endif /* _RDS_CORE_HANDSHAKE_H */
