// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that has wide fragments: a message beyond FRAME_PAYLOAD is one SEND if
 * it is not beyond FRAME_WIDEST, and otherwise SENDs of FRAME_WIDE bytes of
 * payload. The kernel does so to such a peer, and to no other.
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
	unsigned int wide;
	unsigned int plain;
};

FIXTURE_VARIANT_ADD(message, as_long_as_a_plain_fragment) { 4096, 1, 1 };
FIXTURE_VARIANT_ADD(message, a_byte_longer) { 4097, 1, 2 };
FIXTURE_VARIANT_ADD(message, of_one_wide_fragment) { FRAME_WIDEST, 1, 4 };
FIXTURE_VARIANT_ADD(message, of_two) { FRAME_WIDEST + 1, 2, 5 };
FIXTURE_VARIANT_ADD(message, of_two_that_are_full) { 2 * FRAME_WIDE, 2, 8 };
FIXTURE_VARIANT_ADD(message, of_64_kib) { MAX_LEN, 5, 16 };

FIXTURE_SETUP(message)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(message)
{
	site_tear_down(&self->site);
}

/* The size of the fragments of a message, if the peer has wide ones */
static unsigned int size_of(unsigned int len)
{
	if (len <= FRAME_PAYLOAD)
		return FRAME_PAYLOAD;
	return len <= FRAME_WIDEST ? FRAME_WIDEST : FRAME_WIDE;
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

TEST_F(message, is_wide_both_ways)
{
	unsigned int size = size_of(variant->len);
	struct site *site = &self->site;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_WIDE, 0));
	EXPECT_EQ(variant->wide, exchange(self, variant->len, size, 0));
	EXPECT_TRUE(site_is_up(site));
	EXPECT_TRUE(site_honest(site));
}

/* As two ends that run our implementation are today */
TEST_F(message, is_wide_and_numbered)
{
	unsigned int size = size_of(variant->len);
	struct site *site = &self->site;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_WIDE |
					  HANDSHAKE_NUMBERS, 0));
	EXPECT_EQ(variant->wide, exchange(self, variant->len, size, 1));
	EXPECT_TRUE(site_is_up(site));
}

/* Any other capability */
TEST_F(message, is_plain_for_an_older_build)
{
	const uint32_t not = HANDSHAKE_WIDE | HANDSHAKE_NUMBERS;
	struct site *site = &self->site;

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

FIXTURE_VARIANT_ADD(wrong, plain_one) { HANDSHAKE_WIDE, FRAME_PAYLOAD };
FIXTURE_VARIANT_ADD(wrong, shorter_one) { HANDSHAKE_WIDE, FRAME_WIDE - 1 };
FIXTURE_VARIANT_ADD(wrong, longer_one) { HANDSHAKE_WIDE, FRAME_WIDE + 1 };
FIXTURE_VARIANT_ADD(wrong, longest_one) { HANDSHAKE_WIDE, FRAME_WIDEST + 1 };
FIXTURE_VARIANT_ADD(wrong, wide_one) { 0, FRAME_WIDE };

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

	ASSERT_TRUE(say(site, self->bytes, 2 * FRAME_WIDE, variant->size, 1,
			0));
	EXPECT_TRUE(peer_await_end(&site->peer));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_honest(site));
}

FIXTURE(wide) {
	struct site site;
	unsigned char bytes[MAX_LEN];
	unsigned char payload[PEER_SLOT];
};

FIXTURE_SETUP(wide)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
}

FIXTURE_TEARDOWN(wide)
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
TEST_F(wide, maps_are_not)
{
	struct frame frame = frame_data(0, FRAME_MAP, 0, 0);
	struct site *site = &self->site;
	struct rds_name upper;
	unsigned int half;

	ASSERT_EQ(0, site_set_up(site));
	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_WIDE, 0));
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
static bool is_dialed(struct site *site, uint32_t capabilities)
{
	struct handshake6 handshake, stated;

	if (site_set_up_listening(site, true) || !site_send(site, 0, 1))
		return false;
	handshake = handshake6_honest(site->address, SITE_NEAR6);
	handshake.tail.reserved = HANDSHAKE_OURS;
	handshake.tail.last = htonl(SITE_EPOCH | capabilities);
	if (!peer_await_request(&site->listener, &site->peer))
		return false;
	memcpy(&stated, site->peer.private_data, sizeof(stated));
	return stated.tail.reserved == HANDSHAKE_OURS &&
	       ntohl(stated.tail.last) & HANDSHAKE_WIDE &&
	       peer_reply(&site->peer, &handshake, sizeof(handshake), false,
			  false);
}

/* Exchange a large message with a peer that was dialed. Return how many SENDs
 * that of the kernel is; 0 if there is an error.
 */
static unsigned int exchange_large(FIXTURE_DATA(wide) *self, unsigned int size)
{
	struct site *site = &self->site;

	if (!say(site, self->bytes, 40000, size, SENDS, 0) ||
	    !site_hears(site, self->bytes, 40000) ||
	    !site_hear_all(site, 0, 1) ||
	    rds_sendto(site->fd, self->bytes, 40000, 0, &site->name) != 40000)
		return 0;
	return hear(site, self->payload, self->bytes, 40000, size);
}

TEST_F(wide, peer_that_is_dialed)
{
	ASSERT_TRUE(is_dialed(&self->site, HANDSHAKE_WIDE));
	EXPECT_EQ(3, exchange_large(self, FRAME_WIDE));
	EXPECT_TRUE(site_is_up(&self->site));
}

/* The buffers that the kernel had when it dialed have room for a SEND that this
 * peer may not send.
 */
TEST_F(wide, peer_that_is_dialed_and_has_none)
{
	struct site *site = &self->site;

	ASSERT_TRUE(is_dialed(site, 0));
	EXPECT_EQ(10, exchange_large(self, FRAME_PAYLOAD));
	ASSERT_TRUE(say(site, self->bytes, FRAME_PAYLOAD + 1, FRAME_WIDEST, 1,
			0));
	EXPECT_TRUE(peer_await_end(&site->peer));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(rds_silent(site->fd));
}

/* The buffers that the kernel begins with once it knows the peer, as it
 * announces them. Wide ones take more memory.
 */
FIXTURE(buffers) {
	struct site site;
};

FIXTURE_VARIANT(buffers) {
	uint32_t capabilities;
	unsigned int told;
};

FIXTURE_VARIANT_ADD(buffers, plain) { 0, 32 };
FIXTURE_VARIANT_ADD(buffers, wide) { HANDSHAKE_WIDE, 16 };

FIXTURE_SETUP(buffers)
{
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(buffers)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	site_tear_down(&self->site);
}

TEST_F(buffers, are_there_when_it_connects)
{
	struct site *site = &self->site;
	struct handshake got;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, variant->capabilities, 8));
	memcpy(&got, site->peer.private_data, sizeof(got));
	EXPECT_EQ(variant->told, ntohl(got.tail.credits));
}

TEST_HARNESS_MAIN
