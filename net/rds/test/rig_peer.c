// SPDX-License-Identifier: GPL-2.0-only
/* The peer in the tests of core; see rig_peer.h. */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "rig_peer.h"

const struct rig_peer rig_ours_1 = { RIG_OURS, 1, 77, 5 };
const struct rig_peer rig_ours_8 = { RIG_OURS, 8, 77, 5 };
const struct rig_peer rig_ours_uses_8 = { RIG_OURS, 8, 77, 5, true };
const struct rig_peer rig_restarted = { RIG_OURS, 1, 78, 6 };
const struct rig_peer rig_restarted_8 = { RIG_OURS, 8, 78, 6 };
const struct rig_peer rig_forgetful = { RIG_OURS, 1, 77, 6 };
const struct rig_peer rig_new_1 = { RIG_NEW, 1, 79, 0 };
const struct rig_peer rig_new_8 = { RIG_NEW, 8, 79, 0 };
const struct rig_peer rig_new_8_restarted = { RIG_NEW, 8, 80, 0 };
const struct rig_peer rig_old_1 = { RIG_OLD, 1, 0, 0 };
const struct rig_peer rig_old_8 = { RIG_OLD, 8, 0, 0 };

/**
 * rig_receive() - Deliver a message on a path
 * @test: the test
 * @path: the path
 * @hdr: the header
 *
 * Return: true if the transport may read on.
 */
bool rig_receive(struct kunit *test, struct rds_path *path,
		 const struct rds_header *hdr)
{
	int ret = fake_deliver(rig_fake(test), path, hdr);

	KUNIT_ASSERT_GE(test, ret, 0);
	return ret;
}

/**
 * rig_deliver() - Deliver a message on the first path
 * @test: the test
 * @seq: its sequence number
 * @sport: the peer's port
 * @dport: our port
 * @len: bytes of payload
 * @flags: of the header
 */
void rig_deliver(struct kunit *test, u64 seq, u16 sport, u16 dport, u32 len,
		 u8 flags)
{
	const struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(seq),
		.h_len		= htonl(len),
		.h_sport	= htons(sport),
		.h_dport	= htons(dport),
		.h_flags	= flags,
	};

	rig_receive(test, rig_path(test), &hdr);
}

/**
 * rig_deliver_map() - Deliver a congestion map on path 0
 * @test: the test
 * @ports: the congested ports
 * @nr: number of @ports
 * @len: length of the map
 */
void rig_deliver_map(struct kunit *test, const u16 *ports, unsigned int nr,
		     u32 len)
{
	rig_map_with(test, 0, ports, nr, len);
}

/**
 * rig_map_with() - Deliver a congestion map on a path
 * @test: the test
 * @index: number of the path
 * @ports: the congested ports
 * @nr: number of @ports
 * @len: length of the map
 */
void rig_map_with(struct kunit *test, unsigned int index, const u16 *ports,
		  unsigned int nr, u32 len)
{
	struct rds_cpath *cp = rig_nth_cpath(test, index);
	unsigned int i;
	u8 *map;

	map = kunit_kzalloc(test, max_t(u32, len, RDS_CONG_MAP_BYTES),
			    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, map);
	for (i = 0; i < nr; i++)
		map[ports[i] / 8] |= 1 << ports[i] % 8;

	local_bh_disable();
	rds_deliver_cong_map(&cp->cp_pub, map, len);
	local_bh_enable();
	kunit_kfree(test, map);
}

/**
 * rig_map_from() - Deliver an empty congestion map on a path
 * @test: the test
 * @index: number of the path
 */
void rig_map_from(struct kunit *test, unsigned int index)
{
	rig_map_with(test, index, NULL, 0, RDS_CONG_MAP_BYTES);
}

static void rig_write_exthdr(u8 *exthdr, const struct rig_peer *peer)
{
	const struct rds_handshake_self self = {
		.npaths = peer->npaths,
		.in_use = peer->in_use,
		.tag = peer->tag,
		.gen = peer->gen,
		.epoch = peer->epoch,
	};
	__be16 npaths = htons(peer->npaths);
	__be32 gen = htonl(peer->gen);
	unsigned int pos = 0;
	u8 zero = 0;

	if (peer->kind == RIG_OURS) {
		rds_handshake_write(exthdr, &self);
		return;
	}
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_NPATHS, &npaths);
	if (peer->kind == RIG_OLD)
		return;
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_GEN_NUM, &gen);
	rds_exthdr_add(exthdr, &pos, RDS_EXTHDR_SPORT_IDX, &zero);
}

static bool rig_handshake_only(struct kunit *test, unsigned int index,
			       struct rds_header *hdr,
			       const struct rig_peer *peer)
{
	struct rds_cpath *cp = rig_nth_cpath(test, index);

	KUNIT_ASSERT_NOT_NULL(test, cp);
	rig_write_exthdr(hdr->h_exthdr, peer);
	return rig_receive(test, &cp->cp_pub, hdr);
}

/**
 * rig_handshake() - Deliver a handshake frame, and let core act on it
 * @test: the test
 * @index: number of the path on which it arrives
 * @hdr: its header; the extension headers are filled in
 * @peer: content of the frame
 */
void rig_handshake(struct kunit *test, unsigned int index,
		   struct rds_header *hdr,
		   const struct rig_peer *peer)
{
	rig_handshake_only(test, index, hdr, peer);
	fake_settle(rig_fake(test));
}

static bool rig_probe_unsettled(struct kunit *test, unsigned int index, u64 seq,
				u8 flags, const struct rig_peer *peer)
{
	struct rds_header hdr = {
		.h_sequence	= cpu_to_be64(seq),
		.h_sport	= htons(RDS_PORT_PROBE),
		.h_dport	= htons(RDS_PORT_PING),
		.h_flags	= flags,
	};

	return rig_handshake_only(test, index, &hdr, peer);
}

/**
 * rig_probe_only() - Deliver a probe, without waiting for core to act on it
 * @test: the test
 * @index: number of the path on which it arrives
 * @seq: its sequence number; 0 if it has none
 * @peer: content of the probe
 *
 * Return: true if the transport may read on.
 */
bool rig_probe_only(struct kunit *test, unsigned int index, u64 seq,
		    const struct rig_peer *peer)
{
	return rig_probe_unsettled(test, index, seq, 0, peer);
}

/**
 * rig_probe_flags() - Deliver a probe with flags, and let core act on it
 * @test: the test
 * @index: number of the path on which it arrives
 * @seq: its sequence number; 0 if it has none
 * @flags: of the header
 * @peer: content of the probe
 */
void rig_probe_flags(struct kunit *test, unsigned int index, u64 seq, u8 flags,
		     const struct rig_peer *peer)
{
	rig_probe_unsettled(test, index, seq, flags, peer);
	fake_settle(rig_fake(test));
}

/**
 * rig_probe() - Deliver a probe without flags, and let core act on it
 * @test: the test
 * @index: number of the path on which it arrives
 * @seq: its sequence number; 0 if it has none
 * @peer: content of the probe
 */
void rig_probe(struct kunit *test, unsigned int index, u64 seq,
	       const struct rig_peer *peer)
{
	rig_probe_flags(test, index, seq, 0, peer);
}

/**
 * rig_reply() - Deliver a reply to a probe, and let core act on it
 * @test: the test
 * @index: number of the path on which it arrives
 * @seq: its sequence number; 0 if it has none
 * @peer: content of the reply
 *
 * If @seq is not 0 and a barrier is pending, this is the reply to the barrier
 * probe. A peer that runs our implementation sends that reply without a number,
 * and with the tag of the barrier.
 */
void rig_reply(struct kunit *test, unsigned int index, u64 seq,
	       const struct rig_peer *peer)
{
	const struct rds_conn *conn = rig_conn(test);
	struct rig_peer reply = *peer;
	struct rds_header hdr = {
		.h_sport	= htons(RDS_PORT_PING),
		.h_dport	= htons(RDS_PORT_PROBE),
	};

	if (seq && peer->kind == RIG_OURS &&
	    READ_ONCE(conn->c_fan) == RDS_FAN_BARRIER)
		reply.tag = READ_ONCE(conn->c_fan_tag);
	else
		hdr.h_sequence = cpu_to_be64(seq);
	rig_handshake(test, index, &hdr, &reply);
}

static void rig_name_peer(struct kunit *test, struct rds_conn_request *peer)
{
	memset(peer, 0, sizeof(*peer));
	peer->spoken = true;
	peer->knows_duels = rig_of(test)->knows_duels;
	peer->laddr = fake_laddr;
	peer->tos = rig_of(test)->tos;
	ipv6_addr_set_v4mapped(htonl(rig_of(test)->peer), &peer->faddr);
}

/**
 * rig_offer_only() - Offer a connection, without waiting for core to act on it
 * @test: the test
 * @index: the path that the peer's port names
 * @offer: stands for the connection that the peer has made
 *
 * Return: as rds_path_accept().
 */
int rig_offer_only(struct kunit *test, u8 index, void *offer)
{
	struct fake *fake = rig_fake(test);
	struct rds_conn_request *peer;
	int ret;

	peer = kmalloc(sizeof(*peer), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, peer);
	rig_name_peer(test, peer);
	peer->index = index;
	/* A handshake frame of the present jiffy counts as earlier than the
	 * offer.
	 */
	peer->since = rig_of(test)->offers_since ?: jiffies + 1;
	fake->offered_by = peer;
	ret = rds_path_accept(&init_net, &fake->trans, peer, offer);
	kfree(fake->offered_by);
	fake->offered_by = NULL;
	return ret;
}

/**
 * rig_offer() - Offer a connection, and let core act on it
 * @test: the test
 * @index: the path that the peer's port names
 * @offer: stands for the connection that the peer has made
 *
 * Return: as rds_path_accept().
 */
int rig_offer(struct kunit *test, u8 index, void *offer)
{
	int ret = rig_offer_only(test, index, offer);

	fake_settle(rig_fake(test));
	return ret;
}

/**
 * rig_knock() - Let the peer, which must not dial, knock
 * @test: the test
 *
 * Return: as rds_path_accept().
 */
int rig_knock(struct kunit *test)
{
	struct rds_conn_request peer;
	int ret;

	rig_name_peer(test, &peer);
	ret = rds_path_accept(&init_net, &rig_fake(test)->trans, &peer, NULL);
	fake_settle(rig_fake(test));
	return ret;
}

/**
 * rig_dialed() - Dial a peer that sends no handshake frame
 * @test: the test
 *
 * The peer has sent a congestion map. Path 0 has sent the first probe and one
 * message, and both are acknowledged.
 *
 * Return: a socket at RIG_PORT.
 */
struct socket *rig_dialed(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	rig_await(test, FAKE_MAPPED, 1);
	rig_map_from(test, 0);
	rig_await(test, FAKE_SENT, 2);
	rig_expect_said(test, 0, "M 1p 2");
	rds_path_ack(rig_path(test), 2);
	fake_forget(rig_fake(test));
	return sock;
}
