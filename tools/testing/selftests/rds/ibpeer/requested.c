// SPDX-License-Identifier: GPL-2.0
/*
 * A peer to which the kernel connects, and which rejects the request, replies
 * late or not at all, or is lost. The kernel tries again, and as soon as the
 * peer replies correctly, it receives every message once.
 */
#include "requested.h"

/* Ways to reject a request, each three times before the peer accepts */
FIXTURE(refusal) {
	struct site site;
};

FIXTURE_VARIANT(refusal) {
	/* The private data: so many bytes, all alike, with a number in front */
	unsigned int len;
	uint32_t number;
	unsigned char byte;
	/* The peer does not reply, but closes. */
	bool goes;
};

FIXTURE_VARIANT_ADD(refusal, for_incompatible_versions) {
	.len = 4, .number = 1,
};

FIXTURE_VARIANT_ADD(refusal, for_incompatible_versions_in_network_order) {
	.len = 4, .number = 1U << 24,
};

FIXTURE_VARIANT_ADD(refusal, without_a_reason) { .len = 0 };
FIXTURE_VARIANT_ADD(refusal, for_reason_0) { .len = 4 };
FIXTURE_VARIANT_ADD(refusal, for_unknown_reasons) { .len = 4, .number = -1 };
FIXTURE_VARIANT_ADD(refusal, for_half_a_reason) { .len = 2, .number = 1 };
FIXTURE_VARIANT_ADD(refusal, with_all_that_fits) {
	.len = 148, .number = -1, .byte = 0xff,
};

FIXTURE_VARIANT_ADD(refusal, by_going) { .goes = true };

FIXTURE_SETUP(refusal)
{
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
}

FIXTURE_TEARDOWN(refusal)
{
	site_tear_down(&self->site);
}

TEST_F(refusal, is_followed_by_another_request)
{
	struct site *site = &self->site;
	unsigned char data[148];
	unsigned int i;

	memset(data, variant->byte, sizeof(data));
	memcpy(data, &variant->number, sizeof(variant->number));
	ASSERT_TRUE(site_send(site, 0, WAITING));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
		if (!variant->goes)
			EXPECT_TRUE(peer_reject(&site->peer, data,
						variant->len));
		peer_free(&site->peer);
		EXPECT_FALSE(site_is_up(site));
	}
	EXPECT_TRUE(site_honest(site));
	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_SERVED(0);
}

/* The kernel gives up after five seconds. */
TEST_F(requested, again_if_there_is_no_reply)
{
	struct site *site = &self->site;
	struct peer first;

	ASSERT_TRUE(peer_await_request(&site->listener, &first));
	EXPECT_TRUE(site_honest(site));
	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_SERVED(0);
	/* A reply as late as this is ignored. */
	EXPECT_FALSE(first.over);
	peer_reject(&first, NULL, 0);
	peer_free(&first);
	EXPECT_TRUE(site_talks(site, 10));
	EXPECT_TRUE(site_is_up(site));
}

/* Return the number of completions of the device for so many messages. */
static int64_t completions(struct site *site, unsigned int count,
			   unsigned int len)
{
	int64_t before = rds_counter(site->fd, "ib_tx_cq_event");
	unsigned char payload[PEER_SLOT] = {};
	struct frame heard, ack = {};

	while (count--) {
		if (rds_sendto(site->fd, payload, len, 0,
			       &site->name) != (ssize_t)len ||
		    !site_hear(site, &heard, payload))
			return -1;
		ack.ack = heard.seq;
		frame_seal(&ack);
		if (!peer_send(&site->peer, &ack, NULL, 0))
			return -1;
	}
	return rds_counter(site->fd, "ib_tx_cq_event") - before;
}

/* There are few completions, but enough so that not much memory waits. */
TEST_F(requested, few_completions_for_small_messages)
{
	struct site *site = &self->site;
	int64_t small, larger;

	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_SERVED(0);
	small = completions(site, 64, 1024);
	EXPECT_LE(64 / 16, small);
	EXPECT_GE(64 / 8, small);
	larger = completions(site, 40, 4096);
	EXPECT_LE(40 / 5, larger);
	EXPECT_GE(40 / 4, larger);
}

TEST_F(requested, again_if_it_closes_after_the_reply)
{
	struct site *site = &self->site;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(site_accept(site, 0, true));
		peer_free(&site->peer);
	}
	EXPECT_TRUE(site_honest(site));
	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_SERVED(0);
}

/*
 * The peer requests a connection, too, before it replies. If it marks its
 * request, both ends choose the same connection: that of the lower address. If
 * it does not, it may take a request as a sign that the connection is lost when
 * its own is up. So the kernel waits for the reply to its own request before it
 * replies.
 */
FIXTURE(duel) {
	struct site site;
	struct handshake6 handshake;
	/* The kernel's request */
	struct peer requested;
};

FIXTURE_VARIANT(duel) {
	bool below;
	bool marked;
	/* The peer accepts the kernel's request. */
	bool yields;
};

FIXTURE_VARIANT_ADD(duel, from_above_and_no) { };
FIXTURE_VARIANT_ADD(duel, from_above_and_yes) { .yields = true };
FIXTURE_VARIANT_ADD(duel, from_below_and_no) { .below = true };
FIXTURE_VARIANT_ADD(duel, from_below_and_yes) {
	.below = true, .yields = true,
};

FIXTURE_VARIANT_ADD(duel, marked_from_below) { .below = true, .marked = true };

FIXTURE_SETUP(duel)
{
	struct site *site = &self->site;

	ASSERT_EQ(0, variant->below ? site_set_up_below(site) :
				      site_set_up_listening(site, true));
	self->handshake = handshake6_honest(site->address, SITE_NEAR6);
	if (variant->marked)
		self->handshake.tail.reserved = 0xa1;
	ASSERT_TRUE(site_send(site, 0, WAITING));
	ASSERT_TRUE(peer_await_request(&site->listener, &self->requested));
	ASSERT_TRUE(peer_request(&site->peer, site->address, SITE_NEAR6,
				 &self->handshake, sizeof(self->handshake),
				 false, false));
}

FIXTURE_TEARDOWN(duel)
{
	peer_free(&self->requested);
	site_tear_down(&self->site);
}

TEST_F(duel, is_decided)
{
	struct site *site = &self->site;

	if (variant->marked) {
		EXPECT_EQ(PEER_UP, peer_await_reply(&site->peer, 4000));
		EXPECT_SERVED(0);
		return;
	}
	EXPECT_EQ(PEER_WAITS, peer_await_reply(&site->peer, 1000));
	if (!variant->yields) {
		ASSERT_TRUE(peer_reject(&self->requested, NULL, 0));
		ASSERT_EQ(PEER_UP, peer_await_reply(&site->peer,
						    PEER_PATIENCE));
	} else {
		ASSERT_EQ(PEER_UP,
			  peer_accept(&self->requested, &self->handshake,
				      sizeof(self->handshake), false,
				      false));
		EXPECT_EQ(PEER_REFUSED, peer_await_reply(&site->peer,
							 PEER_PATIENCE));
		peer_free(&site->peer);
		site->peer = self->requested;
		self->requested = (struct peer){};
	}
	EXPECT_SERVED(0);
}

/* Messages that have been sent are sent again, except those that the peer has
 * received.
 */
FIXTURE(again) {
	struct site site;
};

FIXTURE_VARIANT(again) {
	uint64_t ack;
	unsigned int first;
};

FIXTURE_VARIANT_ADD(again, all) { .ack = 0, .first = 0 };
FIXTURE_VARIANT_ADD(again, what_it_has_not_acknowledged) {
	.ack = 4, .first = 4,
};

FIXTURE_VARIANT_ADD(again, nothing) { .ack = WAITING, .first = WAITING };
/* The ack is about an end that had this address before the kernel was started.
 */
FIXTURE_VARIANT_ADD(again, all_if_the_ack_is_of_another_life) {
	.ack = 500, .first = 0,
};

FIXTURE_VARIANT_ADD(again, all_if_the_ack_is_of_the_far_future) {
	.ack = -1, .first = 0,
};

FIXTURE_SETUP(again)
{
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
	ASSERT_TRUE(site_send(&self->site, 0, WAITING));
}

FIXTURE_TEARDOWN(again)
{
	site_tear_down(&self->site);
}

/* Without receive buffers the peer has received nothing, as far as the kernel
 * can tell.
 */
TEST_F(again, is_sent)
{
	struct site *site = &self->site;

	ASSERT_TRUE(site_accept(site, 0, true));
	usleep(100000);
	peer_hang_up(&site->peer);
	EXPECT_TRUE(peer_await_end(&site->peer));
	peer_free(&site->peer);
	ASSERT_TRUE(site_accept(site, variant->ack, false));
	EXPECT_SERVED(variant->first);
	/* The sequence numbers continue. */
	ASSERT_TRUE(site_send(site, WAITING, 3));
	EXPECT_TRUE(site_hear_all(site, WAITING, 3));
}

/* Messages of the peer have arrived by an earlier connection. A peer that keeps
 * the last number that was acknowledged ignores it the second time, when it has
 * sent again the messages that it acknowledges. So the kernel must not repeat
 * it.
 */
FIXTURE(back) {
	struct site site;
};

FIXTURE_SETUP(back)
{
	struct site *site = &self->site;
	unsigned int i;

	ASSERT_EQ(0, site_set_up_listening(site, true));
	ASSERT_TRUE(site_send(site, 0, 1));
	ASSERT_TRUE(site_accept(site, 0, false));
	ASSERT_TRUE(site_hear_all(site, 0, 1));
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(site_talks(site, 10));
	peer_hang_up(&site->peer);
	ASSERT_TRUE(peer_await_end(&site->peer));
	peer_free(&site->peer);
	ASSERT_TRUE(peer_await_request(&site->listener, &site->peer));
}

FIXTURE_TEARDOWN(back)
{
	site_tear_down(&self->site);
}

/* Return what the kernel acknowledges by a frame that carries nothing else. */
static uint64_t hear_ack(struct site *site)
{
	unsigned char payload[PEER_SLOT];
	struct frame frame;

	do {
		if (peer_hear(&site->peer, &frame, payload, PEER_PATIENCE) < 0)
			return -1;
	} while (frame.flags || frame.dport);
	return be64toh(frame.ack);
}

static bool say_again(struct site *site, uint64_t seq)
{
	struct frame frame = frame_data(seq, 0, SITE_PEER_PORT, SITE_PORT);

	frame.flags = FRAME_AGAIN | FRAME_ACK;
	frame_seal(&frame);
	return peer_send(&site->peer, &frame, NULL, 0);
}

TEST_F(back, it_receives_acks_of_new_messages_only)
{
	struct site *site = &self->site;
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);
	struct handshake6 stated;
	unsigned char payload[PEER_SLOT];
	struct frame frame;

	memcpy(&stated, site->peer.private_data, sizeof(stated));
	EXPECT_EQ(0, stated.tail.ack);
	ASSERT_EQ(PEER_UP,
		  peer_accept(&site->peer, &handshake, sizeof(handshake),
			      false, false));
	ASSERT_TRUE(site_send(site, 1, 1));
	ASSERT_TRUE(site_hear(site, &frame, payload));
	EXPECT_EQ(0, frame.ack);

	ASSERT_TRUE(say_again(site, 3));
	EXPECT_EQ(3, hear_ack(site));
	ASSERT_TRUE(say_again(site, 4));
	EXPECT_EQ(4, hear_ack(site));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_talks(site, 10));
}

/* An address at which nothing listens, and later the peer does */
FIXTURE(unreachable) {
	struct site site;
};

FIXTURE_SETUP(unreachable)
{
	ASSERT_EQ(0, site_set_up_listening(&self->site, false));
	ASSERT_TRUE(site_send(&self->site, 0, WAITING));
}

FIXTURE_TEARDOWN(unreachable)
{
	site_tear_down(&self->site);
}

TEST_F(unreachable, peer_is_requested_until_it_listens)
{
	struct site *site = &self->site;

	sleep(1);
	EXPECT_FALSE(site_is_up(site));
	EXPECT_TRUE(site_honest(site));
	ASSERT_EQ(0, rdma_listen(site->listener.id, 1));
	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_SERVED(0);
}

TEST_HARNESS_MAIN
