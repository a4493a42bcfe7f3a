// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of tracepoints that need a peer which misbehaves. ../trace_ib.c tests
 * the others.
 */
#include "test.h"
#include "tracing.h"

FIXTURE(traced) {
	struct site site;
	char ends[96];		/* the addresses, as events show them */
};

FIXTURE_SETUP(traced)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	snprintf(self->ends, sizeof(self->ends), "::ffff:%s > ::ffff:%s",
		 SITE_NEAR, self->site.address);
	ASSERT_EQ(0, trace_begin("rds_ib"));
}

FIXTURE_TEARDOWN(traced)
{
	trace_end();
	site_tear_down(&self->site);
}

/* The peer has no receive buffers, so the device cannot complete the ack. */
TEST_F(traced, an_ack_fails)
{
	struct site *site = &self->site;
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);
	int64_t sent = rds_counter(site->fd, "ib_ack_sent");

	ASSERT_EQ(PEER_UP, peer_dial(&site->peer, site->address, SITE_NEAR,
				     &handshake, sizeof(handshake), true,
				     false));
	ASSERT_TRUE(site_await_up(site));
	EXPECT_TRUE(site_talks(site, 100));
	EXPECT_TRUE(rds_await_counter(site->fd, "ib_ack_sent", sent + 1));
	peer_hang_up(&site->peer);
	EXPECT_TRUE(traced("rds_ib_wc_error", self->ends,
			   "qp=[1-9].* wr=ack status=WR_FLUSH_ERR vendor"));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
