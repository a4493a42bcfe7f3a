// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that stops receiving during the handshake, in a way that takes the
 * kernel long to detect. How long depends on the device.
 */
#include "asked.h"

/* The test waits until the kernel has repeated its messages often enough, or
 * has waited long enough.
 */
TEST_F(asked, and_deaf_after_the_answer_it_is_asked_again)
{
	struct site *site = &self->site;
	struct hello6 hello = hello6_honest(site->address, SITE_NEAR6);
	struct peer first;

	ASSERT_TRUE(peer_asked(&site->ear, &first));
	ASSERT_EQ(PEER_ANSWERED, peer_accept(&first, &hello, sizeof(hello),
					     true, true));
	EXPECT_TRUE(site_honest(site));
	ASSERT_TRUE(site_answer(site, 0, false));
	EXPECT_TRUE(site_hear_all(site, 0, WAITING));
	EXPECT_TRUE(site_talks(site, 5000));
	EXPECT_TRUE(site_honest(site));
	peer_free(&first);
	EXPECT_TRUE(site_talks(site, 10));
}

TEST_HARNESS_MAIN
