// SPDX-License-Identifier: GPL-2.0
/*
 * Peers that vanish after they have received all that was sent to them, while
 * they owe an ack of it, or buffers for more. The kernel has nothing on its way
 * then, so that no device tells it of an error. It detects this all the same,
 * as messages wait for the peer.
 */
#include "test.h"

/* Buffers that a peer advertises. The last is for a SEND that has news. */
#define CREDITS 8

/* Seconds in which the watchdog of a connection looks at least twice */
#define LOOKS 12

/* More than the harness allows otherwise: looks, and PEER_PATIENCE */
#define SECONDS 60

FIXTURE(owed) {
	struct site site;
};

FIXTURE_SETUP(owed)
{
	peer_retries = 6;
	ASSERT_EQ(0, site_set_up(&self->site));
}

FIXTURE_TEARDOWN(owed)
{
	site_tear_down(&self->site);
}

/* The kernel has looked whether this peer is there, and goes on to do so. */
TEST_F_TIMEOUT(owed, acks_of_messages, SECONDS)
{
	struct site *site = &self->site;
	struct frame frame;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(site_send(site, 0, 1));
	EXPECT_TRUE(site_hear(site, &frame, NULL));
	sleep(LOOKS);
	EXPECT_TRUE(site_is_up(site));
	EXPECT_EQ(site->drops, site_drops(site));
	peer_vanish(&site->peer);
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(site_honest(site));
}

/* Without a credit, the kernel cannot even send an ack. */
TEST_F_TIMEOUT(owed, buffers, SECONDS)
{
	struct site *site = &self->site;
	struct frame frame;

	ASSERT_EQ(PEER_UP, site_dial_ours(site, 0, CREDITS));
	ASSERT_TRUE(site_send(site, 0, 2 * CREDITS));
	EXPECT_TRUE(site_hear(site, &frame, NULL));
	while (peer_hear(&site->peer, &frame, NULL, 1000) >= 0)
		;
	peer_vanish(&site->peer);
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
