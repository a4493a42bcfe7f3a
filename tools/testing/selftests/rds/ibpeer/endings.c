// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that disconnects, or falls silent, at every point of an exchange. The
 * kernel detects it and frees what the connection had. It serves other peers as
 * before, and this peer as soon as it returns.
 */
#include "test.h"

#define LEN 20000

enum phase {
	CONNECTED,
	SENT_A_FRAGMENT,
	SENT_A_MESSAGE,
	HEARD_A_FRAGMENT,
	TOLD_TO_SEND,
	PHASES
};

enum manner {
	HANGS_UP,
	VANISHES,
	IS_KILLED,
};

FIXTURE(ending) {
	struct site site;
	unsigned char bytes[FRAME_MAX_MSG];
};

FIXTURE_VARIANT(ending) {
	enum phase phase;
	enum manner manner;
	unsigned int retries;
};

#define ENDING_AFTER(RETRIES, MANNER, PHASE, NAME)			\
	FIXTURE_VARIANT_ADD(ending, NAME)				\
		{ .phase = PHASE, .manner = MANNER, .retries = RETRIES }
#define ENDING(MANNER, PHASE, NAME)					\
	ENDING_AFTER(7, MANNER, PHASE, NAME)

ENDING(HANGS_UP, CONNECTED, hangs_up_after_connecting);
ENDING(HANGS_UP, SENT_A_FRAGMENT, hangs_up_within_a_message);
ENDING(HANGS_UP, SENT_A_MESSAGE, hangs_up_after_a_message);
ENDING(HANGS_UP, HEARD_A_FRAGMENT, hangs_up_within_a_message_to_it);
ENDING(HANGS_UP, TOLD_TO_SEND, hangs_up_with_messages_queued_for_it);
ENDING(IS_KILLED, CONNECTED, is_killed_after_connecting);
ENDING(IS_KILLED, SENT_A_FRAGMENT, is_killed_within_a_message);
ENDING(IS_KILLED, SENT_A_MESSAGE, is_killed_after_a_message);
ENDING(IS_KILLED, HEARD_A_FRAGMENT, is_killed_within_a_message_to_it);
ENDING(IS_KILLED, TOLD_TO_SEND, is_killed_with_messages_queued_for_it);
/*
 * The device gives up after six retries, in four seconds. To soft-RoCE seven
 * means for ever: there the watchdog of the connection ends it, after 20
 * seconds.
 */
ENDING_AFTER(6, VANISHES, CONNECTED, vanishes_after_connecting);
ENDING_AFTER(7, VANISHES, SENT_A_FRAGMENT, vanishes_within_a_message);

FIXTURE_SETUP(ending)
{
	peer_retries = variant->retries;
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
}

FIXTURE_TEARDOWN(ending)
{
	site_tear_down(&self->site);
}

static bool send_to_peer(struct site *site, const void *bytes,
			 unsigned int count)
{
	while (count--)
		if (rds_sendto(site->fd, bytes, LEN, MSG_DONTWAIT,
			       &site->name) != LEN)
			return false;
	return true;
}

static bool reach(struct site *site, enum phase phase, const void *bytes)
{
	struct frame frame = frame_data(site->seq, LEN, SITE_PEER_PORT,
					SITE_PORT);

	switch (phase) {
	case SENT_A_FRAGMENT:
		return peer_send(&site->peer, &frame, bytes, FRAME_PAYLOAD);
	case SENT_A_MESSAGE:
		return site_talks(site, LEN);
	case HEARD_A_FRAGMENT:
		return send_to_peer(site, bytes, 1) &&
		       peer_hear(&site->peer, &frame, NULL,
				 PEER_PATIENCE) >= 0;
	case TOLD_TO_SEND:
		return send_to_peer(site, bytes, 5);
	default:
		return true;
	}
}

static void end(struct site *site, enum manner manner)
{
	switch (manner) {
	case HANGS_UP:
		peer_hang_up(&site->peer);
		break;
	case VANISHES:
		peer_vanish(&site->peer);
		break;
	case IS_KILLED:
		peer_free(&site->peer);
		break;
	}
}

/* A peer that falls silent is detected when there is something to send to it.
 */
TEST_F(ending, is_detected)
{
	struct site *site = &self->site;

	ASSERT_TRUE(reach(site, variant->phase, self->bytes));
	end(site, variant->manner);
	if (variant->manner == VANISHES)
		EXPECT_TRUE(send_to_peer(site, self->bytes, 1));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(rds_silent(site->fd));
	EXPECT_TRUE(site_honest(site));
	peer_free(&site->peer);
}

/* Seconds for which a peer may be busy with something else */
#define BUSY 2

/*
 * The end that dials announces how often packets are to be sent again. If this
 * is not often, the kernel waits longer each time.
 */
FIXTURE(silence) {
	struct site site;
};

FIXTURE_VARIANT(silence) {
	unsigned int retries;
};

FIXTURE_VARIANT_ADD(silence, of_a_peer_of_no_retries) { .retries = 0 };
FIXTURE_VARIANT_ADD(silence, of_a_peer_of_one) { .retries = 1 };
FIXTURE_VARIANT_ADD(silence, of_a_peer_of_six) { .retries = 6 };

FIXTURE_SETUP(silence)
{
	peer_retries = variant->retries;
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
}

FIXTURE_TEARDOWN(silence)
{
	site_tear_down(&self->site);
}

TEST_F(silence, is_tolerated_for_a_while)
{
	unsigned char bytes[LEN] = {};
	struct site *site = &self->site;

	peer_vanish(&site->peer);
	ASSERT_TRUE(send_to_peer(site, bytes, 1));
	sleep(BUSY);
	EXPECT_TRUE(site_is_up(site));
	EXPECT_EQ(site->drops, site_drops(site));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
