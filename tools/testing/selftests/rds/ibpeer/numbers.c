// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that numbers its SENDs, as the kernel does to such a peer. The device
 * may deliver a SEND twice if its acknowledgment is late: here the peer does so
 * itself. The kernel processes each SEND once.
 */
#include "test.h"

#define LEN	(2 * FRAME_PAYLOAD)
/* Milliseconds without a SEND of the kernel after which none will come */
#define STILL	500

FIXTURE(numbers) {
	struct site site;
	unsigned char bytes[LEN];
	unsigned char payload[PEER_SLOT];
};

FIXTURE_SETUP(numbers)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(numbers)
{
	site_tear_down(&self->site);
}

static bool say(struct site *site, uint32_t number, struct frame frame,
		const void *payload, unsigned int len)
{
	number = htonl(number);
	memcpy(frame.padding, &number, sizeof(number));
	frame_seal(&frame);
	return peer_send(&site->peer, &frame, payload, len);
}

static bool say_ack(struct site *site, uint32_t number, uint8_t credit)
{
	struct frame ack = { .credit = credit };

	return say(site, number, ack, NULL, 0);
}

static struct frame next(struct site *site, uint32_t len)
{
	return frame_data(site->seq++, len, SITE_PEER_PORT, SITE_PORT);
}

/* Send a message of one fragment, and check that the socket receives it. */
static bool talks(struct site *site, uint32_t number)
{
	unsigned char bytes[SITE_LEN];

	rds_fill(bytes, sizeof(bytes), number);
	return say(site, number, next(site, sizeof(bytes)), bytes,
		   sizeof(bytes)) &&
	       site_hears(site, bytes, sizeof(bytes));
}

static uint32_t number_of(const struct frame *frame)
{
	uint32_t number;

	memcpy(&number, frame->padding, sizeof(number));
	return ntohl(number);
}

/* The order in which the two fragments of a message arrive, by their numbers */
FIXTURE(order) {
	struct site site;
	unsigned char bytes[LEN];
};

FIXTURE_VARIANT(order) {
	uint32_t numbers[8];
	unsigned int repeated;
};

FIXTURE_VARIANT_ADD(order, first_twice) { { 1, 1, 2 }, 1 };
FIXTURE_VARIANT_ADD(order, first_often) { { 1, 1, 1, 1, 1, 2 }, 4 };
FIXTURE_VARIANT_ADD(order, last_twice) { { 1, 2, 2 }, 1 };
FIXTURE_VARIANT_ADD(order, each_twice) { { 1, 1, 2, 2 }, 2 };
FIXTURE_VARIANT_ADD(order, both_again) { { 1, 2, 1, 2 }, 2 };
FIXTURE_VARIANT_ADD(order, first_after_the_last) { { 1, 2, 1 }, 1 };

FIXTURE_SETUP(order)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial_ours(&self->site, HANDSHAKE_NUMBERS, 0));
}

FIXTURE_TEARDOWN(order)
{
	site_tear_down(&self->site);
}

TEST_F(order, of_fragments_is_known)
{
	struct site *site = &self->site;
	struct frame frame = next(site, LEN);
	const uint32_t *number;
	int64_t before;

	before = rds_counter(site->fd, "ib_rx_repeated");
	for (number = variant->numbers; *number; number++)
		ASSERT_TRUE(say(site, *number, frame, self->bytes +
				(*number - 1) * FRAME_PAYLOAD, FRAME_PAYLOAD));
	EXPECT_TRUE(site_hears(site, self->bytes, LEN));
	EXPECT_TRUE(talks(site, 3));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_is_up(site));
	EXPECT_EQ(before + variant->repeated,
		  rds_counter(site->fd, "ib_rx_repeated"));
	EXPECT_TRUE(site_honest(site));
}

/* The upper half of the ports is congested. */
TEST_F(numbers, of_fragments_of_maps_are_known)
{
	struct frame frame = frame_data(0, FRAME_MAP, 0, 0);
	struct site *site = &self->site;
	struct rds_name upper;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_NUMBERS, 0));
	frame.flags = FRAME_CONG;
	memset(self->bytes, 0, FRAME_PAYLOAD);
	memset(self->bytes + FRAME_PAYLOAD, 0xff, FRAME_PAYLOAD);
	ASSERT_TRUE(say(site, 1, frame, self->bytes, FRAME_PAYLOAD));
	ASSERT_TRUE(say(site, 1, frame, self->bytes, FRAME_PAYLOAD));
	ASSERT_TRUE(say(site, 2, frame, self->bytes + FRAME_PAYLOAD,
			FRAME_PAYLOAD));
	ASSERT_TRUE(talks(site, 3));
	EXPECT_EQ(10, ERR(rds_sendto(site->fd, self->bytes, 10, MSG_DONTWAIT,
				     &site->name)));
	upper = rds_name(site->address, 40000);
	EXPECT_EQ(-ENOBUFS, ERR(rds_sendto(site->fd, self->bytes, 10,
					   MSG_DONTWAIT, &upper)));
	EXPECT_TRUE(site_is_up(site));
}

/* Return how many SENDs of the kernel arrive. */
static unsigned int count(struct site *site, unsigned int *credits)
{
	unsigned int nr = 0;
	struct frame frame;

	for (; peer_hear(&site->peer, &frame, NULL, STILL) >= 0; nr++)
		*credits += frame.credit;
	return nr;
}

/* The last credit is for a SEND that grants some. */
TEST_F(numbers, of_credits_are_known)
{
	struct site *site = &self->site;
	unsigned int credits = 0;

	if (site_is_iwarp())
		SKIP(return, "the kernel grants credits, too");
	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_NUMBERS, 20));
	ASSERT_TRUE(site_send(site, 0, 60));
	EXPECT_EQ(19, count(site, &credits));
	ASSERT_TRUE(say_ack(site, 1, 5));
	ASSERT_TRUE(say_ack(site, 1, 5));
	EXPECT_EQ(5, count(site, &credits));
	ASSERT_TRUE(say_ack(site, 2, 3));
	ASSERT_TRUE(say_ack(site, 1, 5));
	EXPECT_EQ(3, count(site, &credits));
	EXPECT_EQ(0, credits);
	EXPECT_TRUE(site_is_up(site));
}

/* For the peer, a repeated SEND has used no buffer of the kernel. */
TEST_F(numbers, that_repeat_grant_no_credits)
{
	struct site *site = &self->site;
	unsigned int i, credits = 0;

	/* As many buffers as there can be: their number does not rise. */
	ASSERT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "512"));
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	EXPECT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_NUMBERS, 0));
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	EXPECT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "32"));
	for (i = 1; i <= 100; i++) {
		ASSERT_TRUE(say_ack(site, i, 0));
		ASSERT_TRUE(say_ack(site, i, 0));
	}
	EXPECT_LT(0, count(site, &credits));
	EXPECT_GE(100, credits);
	EXPECT_LE(100 - 2 * 16, credits);
}

/* The number of a SEND that follows number 1 */
FIXTURE(gap) {
	struct site site;
};

FIXTURE_VARIANT(gap) {
	uint32_t number;
};

FIXTURE_VARIANT_ADD(gap, of_one) { 3 };
FIXTURE_VARIANT_ADD(gap, of_many) { 1000 };
FIXTURE_VARIANT_ADD(gap, as_wide_as_can_be) { 0x80000001 };

FIXTURE_SETUP(gap)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial_ours(&self->site, HANDSHAKE_NUMBERS, 0));
	ASSERT_TRUE(talks(&self->site, 1));
}

FIXTURE_TEARDOWN(gap)
{
	site_tear_down(&self->site);
}

TEST_F(gap, ends_it)
{
	struct site *site = &self->site;

	ASSERT_TRUE(say_ack(site, variant->number, 0));
	EXPECT_TRUE(peer_await_end(&site->peer));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(site_honest(site));
}

/* Connect. The kernel may be connecting to that address by itself, as it is one
 * of its own, too, and refuse the peer until it is done.
 */
static enum peer_fate dial_again(struct site *site)
{
	unsigned int tries = PEER_PATIENCE / 100;
	enum peer_fate fate;

	for (;;) {
		peer_free(&site->peer);
		fate = site_dial_ours(site, HANDSHAKE_NUMBERS, 0);
		if (fate != PEER_REFUSED || !--tries)
			return fate;
		usleep(100000);
	}
}

TEST_F(numbers, start_anew_on_another_connection)
{
	struct site *site = &self->site;
	unsigned int turn, number;

	for (turn = 0; turn < 2; turn++) {
		ASSERT_EQ(PEER_UP, dial_again(site));
		for (number = 1; number < 4; number++)
			EXPECT_TRUE(talks(site, number));
		peer_hang_up(&site->peer);
		ASSERT_TRUE(site_await_drop(site));
	}
}

/* What a peer has in those bytes that has not announced numbers */
FIXTURE(junk) {
	struct site site;
};

FIXTURE_VARIANT(junk) {
	bool ours;
	uint32_t capabilities;
};

FIXTURE_VARIANT_ADD(junk, from_a_stock_peer) { false };
FIXTURE_VARIANT_ADD(junk, from_an_older_build) { true };
FIXTURE_VARIANT_ADD(junk, from_one_with_other_capabilities) {
	true, 0xffU << 24 & ~(HANDSHAKE_NUMBERS | HANDSHAKE_WIDE),
};

FIXTURE_SETUP(junk)
{
	struct site *site = &self->site;

	ASSERT_EQ(0, site_set_up(site));
	ASSERT_EQ(PEER_UP, variant->ours ?
			   site_dial_ours(site, variant->capabilities, 0) :
			   site_dial(site));
}

FIXTURE_TEARDOWN(junk)
{
	site_tear_down(&self->site);
}

TEST_F(junk, is_ignored)
{
	static const uint32_t junk[] = { 1, 1, 0, 7, -1, 0x80000000, 0 };
	struct site *site = &self->site;
	struct frame heard;
	unsigned int i;

	for (i = 0; i < sizeof(junk) / sizeof(*junk); i++)
		EXPECT_TRUE(talks(site, junk[i])) {
			TH_LOG("%#x", junk[i]);
		}
	/* The kernel leaves them zero. */
	ASSERT_TRUE(site_send(site, 0, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(site_hear(site, &heard, NULL));
		EXPECT_EQ(0, number_of(&heard));
	}
	EXPECT_TRUE(site_is_up(site));
}

/* Check the numbers of all that the kernel sends, until @count messages have
 * arrived. Return the last number; 0 if there is an error.
 */
static uint32_t hears_numbers(struct site *site, uint32_t last,
			      unsigned int count)
{
	struct frame frame;

	while (count) {
		if (peer_hear(&site->peer, &frame, NULL, PEER_PATIENCE) < 0 ||
		    number_of(&frame) != ++last || frame_csum(&frame))
			return 0;
		if (frame.dport == htons(SITE_PEER_PORT))
			count--;
	}
	return last;
}

/* Messages of one fragment and of several, with acks among them */
TEST_F(numbers, of_the_kernel_have_no_gap)
{
	static unsigned char large[5 * FRAME_PAYLOAD];
	struct site *site = &self->site;
	unsigned int number = 0, turn;
	struct frame frame;
	uint32_t last = 0;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, HANDSHAKE_NUMBERS, 0));
	for (turn = 0; turn < 10; turn++) {
		frame = next(site, 10);
		frame.flags = FRAME_ACK;
		frame.ack = htobe64(2 * turn);
		ASSERT_TRUE(say(site, ++number, frame, self->bytes, 10));
		ASSERT_TRUE(site_hears(site, self->bytes, 10));
		ASSERT_TRUE(site_send(site, turn, 1));
		ASSERT_EQ((ssize_t)sizeof(large),
			  rds_sendto(site->fd, large, sizeof(large), 0,
				     &site->name));
		last = hears_numbers(site, last, 1 + 5);
		ASSERT_NE(0, last);
	}
	/* There were acks, too. */
	EXPECT_LT(10 * (1 + 5), last);
}

/* The kernel dials. The peer's first SENDs may arrive before its reply has been
 * read.
 */
FIXTURE(dialed) {
	struct site site;
	unsigned char bytes[LEN];
};

FIXTURE_SETUP(dialed)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
	ASSERT_TRUE(site_send(&self->site, 0, 3));
}

FIXTURE_TEARDOWN(dialed)
{
	site_tear_down(&self->site);
}

TEST_F(dialed, peer_is_numbered_both_ways)
{
	struct handshake6 handshake = handshake6_honest(self->site.address,
							SITE_NEAR6);
	struct site *site = &self->site;
	struct frame frame = next(site, LEN);
	struct handshake6 stated;
	unsigned int i;

	handshake.tail.reserved = HANDSHAKE_OURS;
	handshake.tail.last = htonl(SITE_EPOCH | HANDSHAKE_NUMBERS);
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
	memcpy(&stated, site->peer.private_data, sizeof(stated));
	EXPECT_EQ(HANDSHAKE_OURS, stated.tail.reserved);
	EXPECT_NE(0, ntohl(stated.tail.last) & HANDSHAKE_NUMBERS);
	ASSERT_TRUE(peer_reply(&site->peer, &handshake, sizeof(handshake),
			       false, false));
	for (i = 0; i < 2; i++) {
		ASSERT_TRUE(say(site, i + 1, frame,
				self->bytes + i * FRAME_PAYLOAD,
				FRAME_PAYLOAD));
		ASSERT_TRUE(say(site, i + 1, frame,
				self->bytes + i * FRAME_PAYLOAD,
				FRAME_PAYLOAD));
	}
	EXPECT_TRUE(site_hears(site, self->bytes, LEN));
	EXPECT_NE(0, hears_numbers(site, 0, 3));
	EXPECT_TRUE(talks(site, 3));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_is_up(site));
}

TEST_HARNESS_MAIN
