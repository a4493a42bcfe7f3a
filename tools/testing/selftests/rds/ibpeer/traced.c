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

/* The peer has no receive buffers, so the device cannot complete the ack. The
 * peer asks for it: when the second message is received, the ack of the first
 * one has been posted. (A counter would count the acks of others, too.)
 */
TEST_F(traced, an_ack_fails)
{
	struct site *site = &self->site;
	struct handshake handshake = handshake_honest(site->address, SITE_NEAR);
	char bytes[10] = "";
	struct frame frame;
	unsigned int i;

	ASSERT_EQ(PEER_UP, peer_dial(&site->peer, site->address, SITE_NEAR,
				     &handshake, sizeof(handshake), true,
				     false));
	ASSERT_TRUE(site_await_up(site));
	for (i = 0; i < 2; i++) {
		frame = frame_data(site->seq++, sizeof(bytes), SITE_PEER_PORT,
				   SITE_PORT);
		frame.flags = FRAME_ACK;
		frame_seal(&frame);
		ASSERT_TRUE(peer_send(&site->peer, &frame, bytes,
				      sizeof(bytes)));
		EXPECT_TRUE(site_hears(site, bytes, sizeof(bytes)));
	}
	peer_hang_up(&site->peer);
	EXPECT_TRUE(traced("rds_ib_wc_error", self->ends,
			   "qp=[1-9].* wr=ack status=WR_FLUSH_ERR vendor"));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
