// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that stops receiving during the handshake, in a way that takes the
 * kernel long to detect. How long depends on the device.
 */
#include "requested.h"

/* The test waits until the kernel has repeated its messages often enough, or
 * has waited long enough.
 */
TEST_F(requested, again_if_it_receives_nothing_after_the_reply)
{
	struct site *site = &self->site;
	struct handshake6 handshake = handshake6_honest(site->address,
							SITE_NEAR6);
	struct peer first;

	ASSERT_TRUE(peer_await_request(&site->listener, &first));
	ASSERT_EQ(PEER_ACCEPTED,
		  peer_accept(&first, &handshake, sizeof(handshake),
			      true, true));
	EXPECT_TRUE(site_honest(site));
	ASSERT_TRUE(site_accept(site, 0, false));
	EXPECT_TRUE(site_hear_all(site, 0, WAITING));
	EXPECT_TRUE(site_talks(site, 5000));
	EXPECT_TRUE(site_honest(site));
	peer_free(&first);
	EXPECT_TRUE(site_talks(site, 10));
}

TEST_HARNESS_MAIN
