// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that ignores congestion maps and goes on sending to a socket that does
 * not read. When the path stops reading, the kernel keeps what its posted
 * buffers receive, and posts no others in their place. When the socket reads,
 * everything arrives.
 */
#include "test.h"

/* Buffers, of which the kernel allocates a chunk of 22 at a time: this number
 * leaves some of the last chunk spare.
 */
#define BUFFERS "50"
#define RCVBUF 4096
#define LEN 1000
#define HELD "65536"
/* The kernel takes this many messages at most: up to 70 until so much memory is
 * held that the path stops, and then one for each buffer posted. The faster the
 * first ones arrive, the more buffers it posts for the next.
 */
#define LIMIT 600
/* More messages than that, and fewer than the buffers that it may have */
#define MOST 1000
/* No message is taken in so many milliseconds: none will be. */
#define STILL 3000

FIXTURE(backlog) {
	struct site site;
};

FIXTURE_SETUP(backlog)
{
	ASSERT_EQ(0, rds_sysctl_set("ib/min_recv_wr", BUFFERS));
	ASSERT_EQ(0, rds_sysctl_set("rx_held_max", HELD));
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
	ASSERT_EQ(0, rds_rcvbuf(self->site.fd, RCVBUF));
}

FIXTURE_TEARDOWN(backlog)
{
	EXPECT_EQ(0, rds_sysctl_set("ib/min_recv_wr", "32"));
	EXPECT_EQ(0, rds_sysctl_set("rx_held_max", "16777216"));
	site_tear_down(&self->site);
}

/* Have the peer process events, until it can post a request or the kernel takes
 * no more.
 */
static bool has_place(struct peer *peer)
{
	struct frame frame;
	int tries = STILL / 100;

	while (peer->sent - peer->done >= PEER_SLOTS && tries--)
		peer_hear(peer, &frame, NULL, 100);
	return peer->sent - peer->done < PEER_SLOTS;
}

TEST_F(backlog, holds_no_more_than_the_buffers_posted)
{
	struct site *site = &self->site;
	unsigned char bytes[LEN];
	unsigned int i, taken, sent = 0;

	for (; sent < MOST && has_place(&site->peer); sent++) {
		rds_fill(bytes, LEN, sent);
		ASSERT_TRUE(site_say(site, bytes, LEN));
	}
	taken = site->peer.done;
	TH_LOG("the kernel took %u messages", taken);
	EXPECT_GT(LIMIT, taken);
	EXPECT_TRUE(site_is_up(site));

	for (i = 0; i < sent; i++) {
		rds_fill(bytes, LEN, i);
		ASSERT_TRUE(site_hears(site, bytes, LEN));
	}
	EXPECT_TRUE(site_talks(site, LEN));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
