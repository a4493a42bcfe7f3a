// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that aligns the fragments of large messages: a SEND of such a message
 * is no longer than FRAME_PAYLOAD, header included. The kernel does so to such
 * a peer, and to no other; and to none on an iWARP device.
 */
#include "test.h"

#define MAX_LEN	65536
/* More than a message of MAX_LEN has */
#define SENDS	20

/* The messages, and how many SENDs each is */
FIXTURE(message) {
	struct site site;
	unsigned char bytes[MAX_LEN];
	unsigned char payload[PEER_SLOT];
};

FIXTURE_VARIANT(message) {
	unsigned int len;
	unsigned int aligned;
	unsigned int plain;
};

FIXTURE_VARIANT_ADD(message, of_one_fragment) { 4096, 1, 1 };
FIXTURE_VARIANT_ADD(message, a_byte_longer) { 4097, 2, 2 };
FIXTURE_VARIANT_ADD(message, of_two) { 2 * 4048, 2, 2 };
FIXTURE_VARIANT_ADD(message, of_two_that_are_plain) { 2 * 4096, 3, 2 };
FIXTURE_VARIANT_ADD(message, of_three) { 2 * 4048 + 1, 3, 2 };
FIXTURE_VARIANT_ADD(message, of_64_kib) { MAX_LEN, 17, 16 };

FIXTURE_SETUP(message)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(message)
{
	site_tear_down(&self->site);
}

static unsigned int at_most(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Send a message in fragments of that size, or so many of these. If @number is
 * not 0, it is that of the first SEND.
 */
static bool say(struct site *site, const unsigned char *bytes, unsigned int len,
		unsigned int size, unsigned int fragments, uint32_t number)
{
	struct frame frame = frame_data(site->seq++, len, SITE_PEER_PORT,
					SITE_PORT);
	unsigned int at;
	uint32_t padding;

	for (at = 0; at < len && fragments--; at += size) {
		if (number) {
			padding = htonl(number++);
			memcpy(frame.padding, &padding, sizeof(padding));
			frame_seal(&frame);
		}
		if (!peer_send(&site->peer, &frame, bytes + at,
			       at_most(size, len - at)))
			return false;
	}
	return true;
}

/* Hear a message. Check the size of each SEND of it, and its bytes. Return how
 * many SENDs it was; 0 if there is an error.
 */
static unsigned int hear(struct site *site, unsigned char *payload,
			 const unsigned char *bytes, unsigned int len,
			 unsigned int size)
{
	unsigned int at = 0, sends = 0;
	struct frame frame;
	int got;

	while (at < len) {
		got = peer_hear(&site->peer, &frame, payload, PEER_PATIENCE);
		if (got < 0)
			return 0;
		if (frame.dport != htons(SITE_PEER_PORT))
			continue;
		if ((unsigned int)got != at_most(size, len - at) ||
		    memcmp(payload, bytes + at, got))
			return 0;
		at += got;
		sends++;
	}
	return sends;
}

/* Exchange a message both ways. Return how many SENDs that of the kernel is; 0
 * if there is an error.
 */
static unsigned int exchange(FIXTURE_DATA(message) *self, unsigned int len,
			     unsigned int size, uint32_t number)
{
	struct site *site = &self->site;

	if (!say(site, self->bytes, len, size, SENDS, number) ||
	    !site_hears(site, self->bytes, len) ||
	    rds_sendto(site->fd, self->bytes, len, 0, &site->name) != len)
		return 0;
	return hear(site, self->payload, self->bytes, len, size);
}

TEST_F(message, is_aligned_both_ways)
{
	unsigned int size = variant->len > 4096 ? FRAME_ALIGNED : FRAME_PAYLOAD;
	struct site *site = &self->site;

	if (site_is_iwarp())
		SKIP(return, "there the kernel does not align");
	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_ALIGNED, 0));
	EXPECT_EQ(variant->aligned, exchange(self, variant->len, size, 0));
	EXPECT_TRUE(site_is_up(site));
	EXPECT_TRUE(site_honest(site));
}

/* As two ends that run our implementation are today */
TEST_F(message, is_aligned_and_numbered)
{
	unsigned int size = variant->len > 4096 ? FRAME_ALIGNED : FRAME_PAYLOAD;
	struct site *site = &self->site;

	if (site_is_iwarp())
		SKIP(return, "there the kernel does not align");
	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_ALIGNED |
					  HANDSHAKE_NUMBERS, 0));
	EXPECT_EQ(variant->aligned, exchange(self, variant->len, size, 1));
	EXPECT_TRUE(site_is_up(site));
}

/* Any other capability; over iWARP, this one, too */
TEST_F(message, is_plain_for_an_older_build)
{
	uint32_t not = site_is_iwarp() ? 0 : HANDSHAKE_ALIGNED;
	struct site *site = &self->site;

	not |= HANDSHAKE_NUMBERS;
	ASSERT_EQ(PEER_UP, site_dial_ours(site, 0xffU << 24 & ~not, 0));
	EXPECT_EQ(variant->plain,
		  exchange(self, variant->len, FRAME_PAYLOAD, 0));
	EXPECT_TRUE(site_is_up(site));
}

/* The first fragment of a message of two, of a size that the kernel does not
 * expect
 */
FIXTURE(wrong) {
	struct site site;
	unsigned char bytes[MAX_LEN];
};

FIXTURE_VARIANT(wrong) {
	uint32_t capabilities;
	unsigned int size;
};

FIXTURE_VARIANT_ADD(wrong, plain_one) {
	HANDSHAKE_ALIGNED, FRAME_PAYLOAD
};

FIXTURE_VARIANT_ADD(wrong, shorter_one) {
	HANDSHAKE_ALIGNED, FRAME_ALIGNED - 1
};

FIXTURE_VARIANT_ADD(wrong, longer_one) {
	HANDSHAKE_ALIGNED, FRAME_ALIGNED + 1
};

FIXTURE_VARIANT_ADD(wrong, aligned_one) { 0, FRAME_ALIGNED };

FIXTURE_SETUP(wrong)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial_ours(&self->site, variant->capabilities,
					  0));
}

FIXTURE_TEARDOWN(wrong)
{
	site_tear_down(&self->site);
}

TEST_F(wrong, ends_the_connection)
{
	struct site *site = &self->site;

	if (site_is_iwarp() && variant->capabilities)
		SKIP(return, "there the kernel does not align");
	ASSERT_TRUE(say(site, self->bytes, 2 * FRAME_ALIGNED, variant->size,
			1, 0));
	EXPECT_TRUE(peer_await_end(&site->peer));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_honest(site));
}

FIXTURE(aligned) {
	struct site site;
	unsigned char bytes[MAX_LEN];
	unsigned char payload[PEER_SLOT];
};

FIXTURE_SETUP(aligned)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
}

FIXTURE_TEARDOWN(aligned)
{
	site_tear_down(&self->site);
}

/* Hear a congestion map of the kernel. */
static bool hear_map(struct site *site, unsigned char *payload)
{
	unsigned int at = 0;
	struct frame frame;
	int got;

	while (at < FRAME_MAP) {
		got = peer_hear(&site->peer, &frame, payload, PEER_PATIENCE);
		if (got < 0)
			return false;
		if (frame.flags != FRAME_CONG)
			continue;
		if (got != FRAME_PAYLOAD || frame.len != htonl(FRAME_MAP))
			return false;
		at += got;
	}
	return true;
}

/* A map has two fragments for any peer. The upper half of the peer's ports is
 * congested.
 */
TEST_F(aligned, maps_are_not)
{
	struct frame frame = frame_data(0, FRAME_MAP, 0, 0);
	struct site *site = &self->site;
	struct rds_name upper;
	unsigned int half;

	ASSERT_EQ(0, site_set_up(site));
	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_ALIGNED, 0));
	frame.flags = FRAME_CONG;
	frame_seal(&frame);
	for (half = 0; half < 2; half++) {
		memset(self->payload, half ? 0xff : 0, FRAME_PAYLOAD);
		ASSERT_TRUE(peer_send(&site->peer, &frame, self->payload,
				      FRAME_PAYLOAD));
	}
	EXPECT_TRUE(site_talks(site, 10));
	upper = rds_name(site->address, 40000);
	EXPECT_EQ(-ENOBUFS, ERR(rds_sendto(site->fd, self->bytes, 10,
					   MSG_DONTWAIT, &upper)));
	EXPECT_TRUE(hear_map(site, self->payload));
	EXPECT_TRUE(site_is_up(site));
}

/* The kernel dials. The peer's first SENDs may arrive before its reply has been
 * read.
 */
TEST_F(aligned, peer_that_is_dialed)
{
	struct handshake6 handshake, stated;
	struct site *site = &self->site;

	ASSERT_EQ(0, site_set_up_listening(site, true));
	ASSERT_TRUE(site_send(site, 0, 1));
	handshake = handshake6_honest(site->address, SITE_NEAR6);
	handshake.tail.reserved = HANDSHAKE_OURS;
	handshake.tail.last = htonl(SITE_EPOCH | HANDSHAKE_ALIGNED);
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	memcpy(&stated, site->peer.private_data, sizeof(stated));
	EXPECT_EQ(HANDSHAKE_OURS, stated.tail.reserved);
	EXPECT_EQ(site_is_iwarp(),
		  !(ntohl(stated.tail.last) & HANDSHAKE_ALIGNED));
	if (site_is_iwarp())
		return;
	ASSERT_TRUE(peer_reply(&site->peer, &handshake, sizeof(handshake),
			       false, false));
	ASSERT_TRUE(say(site, self->bytes, 10000, FRAME_ALIGNED, SENDS, 0));
	EXPECT_TRUE(site_hears(site, self->bytes, 10000));
	EXPECT_TRUE(site_hear_all(site, 0, 1));
	ASSERT_EQ(10000, rds_sendto(site->fd, self->bytes, 10000, 0,
				    &site->name));
	EXPECT_EQ(3, hear(site, self->payload, self->bytes, 10000,
			  FRAME_ALIGNED));
	EXPECT_TRUE(site_is_up(site));
}

TEST_HARNESS_MAIN
