// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that connects with invalid private data, or stops half-way. The kernel
 * rejects what it cannot understand, replies to what it can, and serves other
 * peers as before.
 *
 * The connection manager of IB and RoCE pads private data with zeros: the
 * kernel cannot distinguish short data from data that ends in zeros. That of
 * iWARP delivers the data as it was sent; and over iWARP the kernel always
 * counts its receive buffers by credits.
 */
#include "test.h"

#define REJECT_INCOMPAT 1

/* The change to a valid handshake, and its outcome */
FIXTURE(handshake) {
	struct site site;
	struct handshake handshake;
};

FIXTURE_VARIANT(handshake) {
	/* If not NULL: instead of the valid addresses */
	const char *saddr;
	const char *daddr;
	/* If not 0: the version; 0xff stands for 0 */
	uint8_t major;
	uint8_t minor;
	bool no_minors;
	uint16_t minors;
	uint64_t ack;
	uint32_t credits;
	uint8_t tos;
	uint8_t reserved;
	uint16_t reserved_too;
	uint32_t last;
	/* If not 0: only so many bytes of it */
	unsigned int len;
	bool empty;
	bool nothing;
	enum peer_fate fate;
	/* It is rejected where its length is known. */
	bool too_short;
	/* The version that is chosen, if not 3.1 */
	uint8_t chosen;
};

#define REFUSED .fate = PEER_REFUSED

FIXTURE_VARIANT_ADD(handshake, honest) { .fate = PEER_UP };
FIXTURE_VARIANT_ADD(handshake, empty) { .empty = true, REFUSED };
FIXTURE_VARIANT_ADD(handshake, of_nothing) { .nothing = true, REFUSED };
FIXTURE_VARIANT_ADD(handshake, without_the_last_byte) {
	.len = sizeof(struct handshake) - 1, .fate = PEER_UP, .too_short = true,
};

FIXTURE_VARIANT_ADD(handshake, of_a_byte) { .len = 1, REFUSED };
FIXTURE_VARIANT_ADD(handshake, of_addresses_only) { .len = 8, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_0_0) {
	.major = 0xff, .minor = 0xff, REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, version_1_0) {
	.major = 1, .minor = 0xff, REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, version_2_1) { .major = 2, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_3_0) { .minor = 0xff, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_3_2) { .minor = 2, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_5_1) { .major = 5, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_254_1) { .major = 254, REFUSED };
FIXTURE_VARIANT_ADD(handshake, version_4_1) {
	.major = 4, .fate = PEER_UP, .chosen = 4,
};

FIXTURE_VARIANT_ADD(handshake, version_4_0_only) {
	.major = 4, .minor = 0xff, .minors = 1, REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, version_4_without_minors) {
	.major = 4, .no_minors = true, REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, version_4_of_unknown_minors) {
	.major = 4, .minor = 9, .minors = 0xfffc, REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, version_3_1_without_minors) {
	.no_minors = true, .fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, from_another) { .saddr = "10.9.0.77", REFUSED };
FIXTURE_VARIANT_ADD(handshake, from_the_kernel) { .saddr = SITE_NEAR, REFUSED };
FIXTURE_VARIANT_ADD(handshake, from_no_address) { .saddr = "0.0.0.0", REFUSED };
FIXTURE_VARIANT_ADD(handshake, from_loopback) { .saddr = "127.0.0.1", REFUSED };
FIXTURE_VARIANT_ADD(handshake, from_all) {
	.saddr = "255.255.255.255", REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, from_a_group) { .saddr = "224.0.0.1", REFUSED };
FIXTURE_VARIANT_ADD(handshake, to_another) { .daddr = SITE_HONEST, REFUSED };
FIXTURE_VARIANT_ADD(handshake, to_an_unknown_address) {
	.daddr = "10.99.0.1", REFUSED,
};

FIXTURE_VARIANT_ADD(handshake, to_no_address) { .daddr = "0.0.0.0", REFUSED };

FIXTURE_VARIANT_ADD(handshake, with_an_ack) { .ack = 5, .fate = PEER_UP };
FIXTURE_VARIANT_ADD(handshake, with_an_ack_of_the_far_future) {
	.ack = -1, .fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, with_many_credits) {
	.credits = 65535, .fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, with_credits_without_end) {
	.credits = -1, .fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, with_tos) { .tos = 3, .fate = PEER_UP };
FIXTURE_VARIANT_ADD(handshake, with_any_tos) { .tos = 255, .fate = PEER_UP };
FIXTURE_VARIANT_ADD(handshake, with_all_that_is_reserved) {
	.reserved = 0xff, .reserved_too = 0xffff, .last = -1,
	.fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, with_small_fragments) {
	.reserved_too = 1, .fate = PEER_UP,
};

FIXTURE_VARIANT_ADD(handshake, with_a_false_epoch) {
	.reserved = 0xa1, .last = 0x345678 | HANDSHAKE_UNKNOWN, .fate = PEER_UP,
};

static uint8_t changed(uint8_t honest, uint8_t change)
{
	if (!change)
		return honest;
	return change == 0xff ? 0 : change;
}

FIXTURE_SETUP(handshake)
{
	struct handshake_tail *tail = &self->handshake.tail;

	ASSERT_EQ(0, site_set_up(&self->site));
	if (variant->empty || variant->nothing)
		return;
	self->handshake = handshake_honest(variant->saddr ?: self->site.address,
					   variant->daddr ?: SITE_NEAR);
	tail->major = changed(tail->major, variant->major);
	tail->minor = changed(tail->minor, variant->minor);
	if (variant->minors || variant->no_minors)
		tail->minors = htons(variant->minors);
	tail->ack = htobe64(variant->ack);
	tail->credits = htonl(variant->credits);
	tail->tos = variant->tos;
	tail->reserved = variant->reserved;
	tail->reserved_too = htons(variant->reserved_too);
	tail->last = htonl(variant->last);
}

FIXTURE_TEARDOWN(handshake)
{
	site_tear_down(&self->site);
}

/* Check the kernel's reply: a valid handshake in the other direction. */
static void check_reply(struct __test_metadata *_metadata,
			struct site *site, uint8_t chosen, uint8_t tos)
{
	struct handshake want = handshake_honest(SITE_NEAR, site->address);
	struct handshake got;

	memcpy(&got, site->peer.private_data, sizeof(got));
	if (site_is_iwarp())
		EXPECT_EQ(sizeof(got), site->peer.private_len);
	EXPECT_LE(sizeof(got), site->peer.private_len);
	EXPECT_EQ(want.saddr, got.saddr);
	EXPECT_EQ(want.daddr, got.daddr);
	EXPECT_EQ(chosen ?: 3, got.tail.major);
	EXPECT_EQ(1, got.tail.minor);
	EXPECT_EQ(want.tail.minors, got.tail.minors);
	EXPECT_EQ(tos, got.tail.tos);
	EXPECT_EQ(0, got.tail.reserved_too);
	EXPECT_EQ(0, got.tail.ack);
	EXPECT_EQ(site_is_iwarp(), got.tail.credits != 0);
}

static void check_refusal(struct __test_metadata *_metadata, struct site *site)
{
	int reason;

	/* 28: rejected by the consumer, not by the system */
	if (!site_is_iwarp())
		EXPECT_EQ(28, site->peer.reason);
	EXPECT_LE(sizeof(reason), site->peer.private_len);
	memcpy(&reason, site->peer.private_data, sizeof(reason));
	EXPECT_EQ(REJECT_INCOMPAT, reason);
	EXPECT_FALSE(site_is_up(site));
}

TEST_F(handshake, is_checked)
{
	unsigned int len = variant->len ?: sizeof(self->handshake);
	enum peer_fate fate = variant->fate;
	struct site *site = &self->site;

	if (variant->nothing)
		len = 0;
	if (variant->too_short && site_is_iwarp())
		fate = PEER_REFUSED;
	ASSERT_EQ(fate, peer_dial(&site->peer, site->address, SITE_NEAR,
				  &self->handshake, len, false, false));
	if (fate == PEER_UP) {
		check_reply(_metadata, site, variant->chosen, variant->tos);
		/* Soft-iWARP does not read what arrives earlier. */
		if (site_is_iwarp())
			EXPECT_TRUE(site_await_up(site));
		EXPECT_TRUE(site_talks(site, 10));
		EXPECT_TRUE(site_talks(site, 70000));
	} else {
		check_refusal(_metadata, site);
	}
	EXPECT_TRUE(site_honest(site));
}

/* A peer with few receive buffers, which it announces by credits, and no more
 * of them. The kernel announces its own to the peer.
 */
FIXTURE(credits) {
	struct site site;
};

FIXTURE_VARIANT(credits) {
	unsigned int count;
};

FIXTURE_VARIANT_ADD(credits, of_1) { .count = 1 };
FIXTURE_VARIANT_ADD(credits, of_2) { .count = 2 };
FIXTURE_VARIANT_ADD(credits, of_7) { .count = 7 };

FIXTURE_SETUP(credits)
{
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(credits)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	site_tear_down(&self->site);
}

TEST_F(credits, are_not_exceeded)
{
	struct site *site = &self->site;
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);
	struct frame more = { .credit = 8 }, heard;
	unsigned int i, frames = 0;
	char bytes[10] = "";

	handshake.tail.credits = htonl(variant->count);
	ASSERT_EQ(PEER_UP, peer_dial(&site->peer, site->address, SITE_NEAR,
				     &handshake, sizeof(handshake), false,
				     false));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(sizeof(bytes),
			  rds_sendto(site->fd, bytes, sizeof(bytes), 0,
				     &site->name));
	while (peer_hear(&site->peer, &heard, NULL, 2000) >= 0)
		frames++;
	EXPECT_FALSE(site->peer.over);
	EXPECT_GE(variant->count, frames);
	/* With more credits, everything arrives: two frames of a map, too. */
	for (i = 0; i < 4; i++) {
		frame_seal(&more);
		ASSERT_TRUE(peer_send(&site->peer, &more, NULL, 0));
	}
	while (frames < 22 && peer_hear(&site->peer, &heard, NULL, 5000) >= 0)
		frames++;
	EXPECT_LE(22, frames);
	EXPECT_TRUE(site_honest(site));
}

/* The kernel has few buffers: as long as the peer sends slowly, or because no
 * memory is left for more, although the peer is fast.
 */
FIXTURE(few_buffers) {
	struct site site;
	char pages[32];
};

FIXTURE_VARIANT(few_buffers) {
	const char *pages;
	unsigned int pause_us;
};

FIXTURE_VARIANT_ADD(few_buffers, as_the_peer_is_slow) {
	.pause_us = 20000,
};

FIXTURE_VARIANT_ADD(few_buffers, as_memory_is_short) {
	.pages = "1",
};

FIXTURE_SETUP(few_buffers)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(0, rds_sysctl_read("ib/max_recv_allocation", self->pages,
				     sizeof(self->pages)));
	if (variant->pages)
		EXPECT_EQ(0, rds_sysctl_set("ib/max_recv_allocation",
					    variant->pages));
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	EXPECT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "4"));
}

FIXTURE_TEARDOWN(few_buffers)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/max_recv_allocation", self->pages));
	EXPECT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "32"));
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	site_tear_down(&self->site);
}

/* The peer sends no more fragments than the kernel has announced buffers for.
 * The ack of the message, which would announce more, is not due before its end.
 */
TEST_F(few_buffers, are_announced_within_a_message)
{
	static unsigned char bytes[40 * FRAME_PAYLOAD];
	struct site *site = &self->site;
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);
	struct frame frame = frame_data(site->seq++, sizeof(bytes),
					SITE_PEER_PORT, SITE_PORT);
	int64_t limited = rds_counter(site->fd, "ib_rx_alloc_limit");
	unsigned int sent, credits;
	struct handshake reply;
	struct frame heard;

	handshake.tail.credits = htonl(PEER_SLOTS);
	ASSERT_EQ(PEER_UP, peer_dial(&site->peer, site->address, SITE_NEAR,
				     &handshake, sizeof(handshake), false,
				     false));
	memcpy(&reply, site->peer.private_data, sizeof(reply));
	credits = ntohl(reply.tail.credits);
	EXPECT_EQ(4, credits);
	/* Soft-iWARP does not read what arrives earlier. */
	if (site_is_iwarp())
		ASSERT_TRUE(site_await_up(site));

	rds_fill(bytes, sizeof(bytes), 1);
	for (sent = 0; sent < sizeof(bytes); sent += FRAME_PAYLOAD) {
		while (!credits) {
			ASSERT_LE(0, peer_hear(&site->peer, &heard, NULL,
					       5000)) {
				TH_LOG("no credit after %u fragments",
				       sent / FRAME_PAYLOAD);
			}
			credits += heard.credit;
		}
		ASSERT_TRUE(peer_send(&site->peer, &frame, bytes + sent,
				      FRAME_PAYLOAD));
		credits--;
		usleep(variant->pause_us);
	}
	EXPECT_TRUE(site_hears(site, bytes, sizeof(bytes)));
	EXPECT_EQ(!!variant->pages,
		  rds_counter(site->fd, "ib_rx_alloc_limit") > limited);
	EXPECT_TRUE(site_honest(site));
}

FIXTURE(requesting) {
	struct site site;
	struct handshake handshake;
};

FIXTURE_SETUP(requesting)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	self->handshake = handshake_honest(self->site.address, SITE_NEAR);
}

FIXTURE_TEARDOWN(requesting)
{
	site_tear_down(&self->site);
}

TEST_F(requesting, and_closing_at_once_does_no_harm)
{
	struct site *site = &self->site;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(peer_request(&site->peer, site->address, SITE_NEAR,
					 &self->handshake,
					 sizeof(self->handshake), false, true));
		peer_free(&site->peer);
	}
	EXPECT_TRUE(site_honest(site));
	EXPECT_TRUE(site_await_none(site));
}

TEST_F(requesting, and_ignoring_the_reply_does_no_harm)
{
	struct site *site = &self->site;

	if (site_is_iwarp())
		SKIP(return, "no third step with iWARP");
	ASSERT_EQ(PEER_ACCEPTED,
		  peer_dial(&site->peer, site->address, SITE_NEAR,
			    &self->handshake, sizeof(self->handshake), true,
			    true));
	EXPECT_TRUE(site_honest(site));
	peer_free(&site->peer);
	EXPECT_TRUE(site_honest(site));
	EXPECT_TRUE(site_await_none(site));
	/* The peer can return. */
	ASSERT_EQ(PEER_UP, site_dial(site));
	EXPECT_TRUE(site_talks(site, 5000));
}

TEST_F(requesting, in_the_kernel_s_own_name_is_refused)
{
	struct site *site = &self->site;
	struct handshake handshake = handshake_honest(SITE_NEAR, SITE_NEAR);
	struct rds_name own = rds_name(SITE_NEAR, SITE_PORT);
	char bytes[10] = "to myself", heard[10];

	ASSERT_EQ(PEER_REFUSED,
		  peer_dial(&site->peer, SITE_NEAR, SITE_NEAR, &handshake,
			    sizeof(handshake), false, false));
	/* It is not rejected if the kernel itself requests it. */
	EXPECT_EQ(sizeof(bytes), rds_sendto(site->fd, bytes, sizeof(bytes), 0,
					    &own));
	EXPECT_EQ(sizeof(bytes), rds_recv(site->fd, heard, sizeof(heard)));
	EXPECT_EQ(0, memcmp(bytes, heard, sizeof(bytes)));
	EXPECT_TRUE(site_honest(site));
}

TEST_F(requesting, twice_leaves_one_connection)
{
	struct site *site = &self->site;
	struct peer first;
	enum peer_fate fate;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(site_talks(site, 10));
	first = site->peer;
	fate = site_dial(site);
	EXPECT_TRUE(fate == PEER_UP || fate == PEER_REFUSED);
	/* If it is rejected, the first one has to end, and the peer to request
	 * again.
	 */
	if (fate == PEER_REFUSED) {
		peer_free(&site->peer);
		site->peer = first;
		if (!first.over)
			peer_hang_up(&site->peer);
		EXPECT_TRUE(peer_await_end(&site->peer));
		peer_free(&site->peer);
		EXPECT_TRUE(site_await_none(site));
		EXPECT_EQ(PEER_UP, site_dial(site));
	} else {
		EXPECT_TRUE(peer_await_end(&first));
		peer_free(&first);
	}
	EXPECT_TRUE(site_talks(site, 5000));
	EXPECT_TRUE(site_honest(site));
}

TEST_F(requesting, by_many_at_once_does_no_harm)
{
	static struct peer crowd[40];
	struct site *site = &self->site;
	unsigned int i;

	/* Where a request is a TCP connection, some are rejected at once. */
	for (i = 0; i < 40; i++)
		ASSERT_TRUE(peer_request(&crowd[i], site->address, SITE_NEAR,
					 &self->handshake,
					 sizeof(self->handshake),
					 false, true) ||
			    site_is_iwarp());
	EXPECT_TRUE(site_honest(site));
	for (i = 0; i < 40; i++)
		peer_free(&crowd[i]);
	EXPECT_TRUE(site_honest(site));
	EXPECT_TRUE(site_await_none(site));
}

TEST_HARNESS_MAIN
