/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The peer in the tests of core: what it announces about itself, the messages,
 * congestion maps and handshake frames that arrive from it, and the connections
 * that it makes.
 */
#ifndef _RDS_TEST_RIG_PEER_H
#define _RDS_TEST_RIG_PEER_H

#include "../core/handshake.h"
#include "rig.h"

/**
 * enum rig_kind - kinds of peers
 * @RIG_OLD: announces only how many paths it has
 * @RIG_NEW: also announces a generation number, and that its ports name paths
 * @RIG_OURS: runs our implementation
 */
enum rig_kind {
	RIG_OLD,
	RIG_NEW,
	RIG_OURS,
};

/**
 * struct rig_peer - what a peer announces about itself
 * @kind: kind of the peer
 * @npaths: number of paths that it offers
 * @gen: its generation number
 * @epoch: its epoch
 * @in_use: it uses @npaths paths; this field and @tag for %RIG_OURS only
 * @tag: tag of the peer's barrier in a probe, or of our barrier in a reply
 */
struct rig_peer {
	enum rig_kind	kind;
	u16		npaths;
	u32		gen;
	u32		epoch;
	bool		in_use;
	u8		tag;
};

/* Peers. Those that run our implementation may offer one path until they
 * recognize this end.
 */
extern const struct rig_peer rig_ours_1;
extern const struct rig_peer rig_ours_8;
extern const struct rig_peer rig_ours_uses_8;
/* The same peer after a restart */
extern const struct rig_peer rig_restarted;
extern const struct rig_peer rig_restarted_8;
/* The same peer after it has forgotten the connection */
extern const struct rig_peer rig_forgetful;
extern const struct rig_peer rig_new_1;
extern const struct rig_peer rig_new_8;
extern const struct rig_peer rig_new_8_restarted;
extern const struct rig_peer rig_old_1;
extern const struct rig_peer rig_old_8;

void rig_deliver(struct kunit *test, u64 seq, u16 sport, u16 dport, u32 len,
		 u8 flags);
void rig_deliver_map(struct kunit *test, const u16 *ports, unsigned int nr,
		     u32 len);
void rig_map_with(struct kunit *test, unsigned int index, const u16 *ports,
		  unsigned int nr, u32 len);
bool rig_receive(struct kunit *test, struct rds_path *path,
		 const struct rds_header *hdr);
void rig_map_from(struct kunit *test, unsigned int index);
bool rig_probe_only(struct kunit *test, unsigned int index, u64 seq,
		    const struct rig_peer *peer);
void rig_probe_flags(struct kunit *test, unsigned int index, u64 seq, u8 flags,
		     const struct rig_peer *peer);
void rig_probe(struct kunit *test, unsigned int index, u64 seq,
	       const struct rig_peer *peer);
void rig_handshake(struct kunit *test, unsigned int index,
		   struct rds_header *hdr,
		   const struct rig_peer *peer);
void rig_reply(struct kunit *test, unsigned int index, u64 seq,
	       const struct rig_peer *peer);
int rig_offer_only(struct kunit *test, u8 index, void *offer);
int rig_offer(struct kunit *test, u8 index, void *offer);
int rig_knock(struct kunit *test);
struct socket *rig_dialed(struct kunit *test);

#endif /* _RDS_TEST_RIG_PEER_H */
