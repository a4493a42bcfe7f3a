/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A peer to which the kernel connects, because there are messages for it.
 *
 * The addresses are IPv6 addresses: the kernel listens on each of them
 * separately, so that other programs can use some. It listens on all IPv4
 * addresses at once.
 */
#ifndef REQUESTED_H
#define REQUESTED_H

#include "test.h"

/* The number of messages that wait for the peer */
#define WAITING 10

/* Once the peer replies correctly, everything works. */
#define EXPECT_SERVED(FIRST) do {					\
	EXPECT_TRUE(site_hear_all(&self->site, FIRST,			\
				  WAITING - (FIRST)));			\
	EXPECT_TRUE(site_talks(&self->site, 5000));			\
	EXPECT_TRUE(site_honest(&self->site));				\
} while (0)

FIXTURE(requested) {
	struct site site;
};

FIXTURE_SETUP(requested)
{
	ASSERT_EQ(0, site_set_up_listening(&self->site, true));
	ASSERT_TRUE(site_send(&self->site, 0, WAITING));
}

FIXTURE_TEARDOWN(requested)
{
	site_tear_down(&self->site);
}

#endif /* REQUESTED_H */
