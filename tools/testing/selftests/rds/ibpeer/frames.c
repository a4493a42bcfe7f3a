// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that connects correctly, and then sends invalid frames. The kernel
 * delivers none of them to a socket, ends the connection, and serves other
 * peers as before.
 */
#include "test.h"

#define LEN 5000

FIXTURE(frames) {
	struct site site;
	unsigned char bytes[FRAME_MAX_MSG];
};

FIXTURE_SETUP(frames)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
	ASSERT_TRUE(site_talks(&self->site, 100));
}

FIXTURE_TEARDOWN(frames)
{
	site_tear_down(&self->site);
}

/* Nothing has been delivered, the connection has ended, other peers are served.
 */
#define EXPECT_ENDED() do {						\
	EXPECT_TRUE(peer_await_end(&self->site.peer));			\
	EXPECT_TRUE(site_await_drop(&self->site));			\
	EXPECT_TRUE(rds_silent(self->site.fd));				\
	EXPECT_TRUE(site_honest(&self->site));				\
} while (0)

/* The connection stays up, and other peers are served. */
#define EXPECT_UNHARMED() do {						\
	EXPECT_TRUE(site_talks(&self->site, LEN));			\
	EXPECT_TRUE(site_is_up(&self->site));				\
	EXPECT_TRUE(rds_silent(self->site.fd));				\
	EXPECT_TRUE(site_honest(&self->site));				\
} while (0)

/* Return the header of the next message. */
static struct frame next(struct site *site, uint32_t len)
{
	return frame_data(site->seq, len, SITE_PEER_PORT, SITE_PORT);
}

TEST_F(frames, of_honest_messages_are_delivered)
{
	static const unsigned int lens[] = {
		0, 1, 4095, 4096, 4097, 8192, 70000, 200000,
	};
	unsigned int i;

	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		EXPECT_TRUE(site_talks(&self->site, lens[i])) {
			TH_LOG("of %u bytes", lens[i]);
		}
	}
	EXPECT_UNHARMED();
}

TEST_F(frames, without_checksum_are_delivered)
{
	struct frame frame = next(&self->site, 10);

	frame.csum = 0;
	self->site.seq++;
	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes, 10));
	EXPECT_TRUE(site_hears(&self->site, self->bytes, 10));
	EXPECT_UNHARMED();
}

TEST_F(frames, with_a_wrong_checksum_end_it)
{
	struct frame frame = next(&self->site, 10);

	frame.csum ^= htons(0x0100);
	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes, 10));
	EXPECT_ENDED();
}

TEST_F(frames, with_a_wrong_checksum_in_the_middle_end_it)
{
	struct frame frame = next(&self->site, LEN);

	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      FRAME_PAYLOAD));
	frame.csum ^= htons(1);
	ASSERT_TRUE(peer_send(&self->site.peer, &frame,
			      self->bytes + FRAME_PAYLOAD,
			      LEN - FRAME_PAYLOAD));
	EXPECT_ENDED();
}

/* The field that differs in the second fragment of a message */
FIXTURE(change) {
	struct site site;
	unsigned char bytes[FRAME_MAX_MSG];
};

FIXTURE_VARIANT(change) {
	uint64_t seq;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
};

FIXTURE_VARIANT_ADD(change, of_sequence) { .seq = 1 };
FIXTURE_VARIANT_ADD(change, of_length_up) { .len = 1 };
FIXTURE_VARIANT_ADD(change, of_length_down) { .len = -1 };
FIXTURE_VARIANT_ADD(change, of_length_to_nothing) { .len = -LEN };
FIXTURE_VARIANT_ADD(change, of_source_port) { .sport = 1 };
FIXTURE_VARIANT_ADD(change, of_destination_port) { .dport = 1 };

FIXTURE_SETUP(change)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
	ASSERT_TRUE(site_talks(&self->site, 100));
}

FIXTURE_TEARDOWN(change)
{
	site_tear_down(&self->site);
}

TEST_F(change, within_a_message_ends_it)
{
	struct frame frame = next(&self->site, LEN);

	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      FRAME_PAYLOAD));
	frame = frame_data(self->site.seq + variant->seq, LEN + variant->len,
			   SITE_PEER_PORT + variant->sport,
			   SITE_PORT + variant->dport);
	ASSERT_TRUE(peer_send(&self->site.peer, &frame,
			      self->bytes + FRAME_PAYLOAD,
			      LEN - FRAME_PAYLOAD));
	EXPECT_ENDED();
}

TEST_F(frames, that_are_too_few_end_it)
{
	struct frame frame = next(&self->site, 3 * FRAME_PAYLOAD);

	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      FRAME_PAYLOAD));
	self->site.seq++;
	ASSERT_TRUE(site_say(&self->site, self->bytes, 10));
	EXPECT_ENDED();
}

TEST_F(frames, that_are_too_many_end_it)
{
	struct frame frame = next(&self->site, LEN);

	ASSERT_TRUE(site_say(&self->site, self->bytes, LEN));
	EXPECT_TRUE(site_hears(&self->site, self->bytes, LEN));
	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      LEN - FRAME_PAYLOAD));
	EXPECT_ENDED();
}

/* The length in the header, and the length of the payload */
FIXTURE(length) {
	struct site site;
	unsigned char bytes[FRAME_MAX_MSG];
};

FIXTURE_VARIANT(length) {
	uint32_t stated;
	unsigned int sent;
};

FIXTURE_VARIANT_ADD(length, above_the_maximum) {
	.stated = FRAME_MAX_MSG + 1, .sent = FRAME_PAYLOAD,
};

FIXTURE_VARIANT_ADD(length, of_two_gigabytes) {
	.stated = 1U << 31, .sent = FRAME_PAYLOAD,
};

FIXTURE_VARIANT_ADD(length, of_all_ones) {
	.stated = -1, .sent = FRAME_PAYLOAD,
};

FIXTURE_VARIANT_ADD(length, above_the_maximum_and_nothing_sent) {
	.stated = FRAME_MAX_MSG + 1, .sent = 0,
};

FIXTURE_VARIANT_ADD(length, below_what_is_sent) { .stated = 10, .sent = 20 };
FIXTURE_VARIANT_ADD(length, above_what_is_sent) { .stated = 20, .sent = 10 };
FIXTURE_VARIANT_ADD(length, of_nothing_and_a_byte) { .stated = 0, .sent = 1 };
FIXTURE_VARIANT_ADD(length, of_a_byte_and_nothing) { .stated = 1, .sent = 0 };

FIXTURE_VARIANT_ADD(length, of_a_short_first_fragment) {
	.stated = LEN, .sent = FRAME_PAYLOAD - 1,
};

FIXTURE_VARIANT_ADD(length, above_a_receive_buffer) {
	.stated = LEN, .sent = FRAME_PAYLOAD + 1,
};

FIXTURE_SETUP(length)
{
	rds_fill(self->bytes, sizeof(self->bytes), 1);
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
	ASSERT_TRUE(site_talks(&self->site, 100));
}

FIXTURE_TEARDOWN(length)
{
	site_tear_down(&self->site);
}

TEST_F(length, ends_it)
{
	struct frame frame = next(&self->site, variant->stated);

	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      variant->sent));
	EXPECT_ENDED();
}

TEST_F(frames, without_a_whole_header_end_it)
{
	struct frame frame = next(&self->site, 0);

	ASSERT_TRUE(peer_send_raw(&self->site.peer, &frame,
				  sizeof(frame) - 1));
	EXPECT_ENDED();
}

TEST_F(frames, of_nothing_end_it)
{
	ASSERT_TRUE(peer_send_raw(&self->site.peer, self->bytes, 0));
	EXPECT_ENDED();
}

TEST_F(frames, of_noise_end_it)
{
	ASSERT_TRUE(peer_send_raw(&self->site.peer, self->bytes, 1000));
	EXPECT_ENDED();
}

TEST_F(frames, for_no_socket_are_dropped)
{
	struct frame frame = frame_data(self->site.seq++, 10, SITE_PEER_PORT,
					4999);

	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes, 10));
	EXPECT_UNHARMED();
}

TEST_F(frames, with_any_extension_header_are_delivered)
{
	struct frame frame;
	unsigned int i;

	for (i = 0; i < 64; i++) {
		frame = next(&self->site, 10);
		self->site.seq++;
		rds_fill(frame.ext, sizeof(frame.ext), i);
		frame.ext[0] = i % 20;
		frame_seal(&frame);
		ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
				      10));
		EXPECT_TRUE(site_hears(&self->site, self->bytes, 10));
	}
	EXPECT_UNHARMED();
}

TEST_F(frames, with_any_other_flags_are_delivered)
{
	struct frame frame;
	unsigned int flags;

	for (flags = 2; flags < 256; flags++) {
		/* Each frame has a new number: one with an old number would be
		 * a duplicate.
		 */
		frame = next(&self->site, 10);
		self->site.seq++;
		frame.flags = flags;
		frame_seal(&frame);
		ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
				      10));
		EXPECT_TRUE(site_hears(&self->site, self->bytes, 10)) {
			TH_LOG("flags %#x", flags);
		}
	}
	EXPECT_UNHARMED();
}

/* A device may send frames again that have arrived, if the acknowledgment is
 * late.
 */
TEST_F(frames, that_are_repeated_are_dropped)
{
	struct site *site = &self->site;
	uint64_t first = site->seq;
	int64_t before;

	before = rds_counter(site->fd, "ib_rx_repeated");
	ASSERT_TRUE(site_talks(site, LEN));
	ASSERT_TRUE(site_talks(site, 10));
	ASSERT_TRUE(site_say(site, self->bytes, 0));
	ASSERT_TRUE(site_hears(site, self->bytes, 0));

	site->seq = first;
	ASSERT_TRUE(site_say(site, self->bytes, LEN));
	ASSERT_TRUE(site_say(site, self->bytes, 10));
	ASSERT_TRUE(site_say(site, self->bytes, 0));
	EXPECT_TRUE(rds_await_counter(site->fd, "ib_rx_repeated", before + 3));
	EXPECT_UNHARMED();

	/* A peer that starts with new numbers does so by another connection. */
	peer_hang_up(&site->peer);
	ASSERT_TRUE(site_await_drop(site));
	peer_free(&site->peer);
	site->seq = 1;
	ASSERT_EQ(PEER_UP, site_dial(site));
	EXPECT_UNHARMED();
	EXPECT_EQ(before + 3, rds_counter(site->fd, "ib_rx_repeated"));
}

TEST_F(frames, that_require_it_are_acknowledged)
{
	struct frame frame = next(&self->site, 10), heard;
	unsigned int tries;

	frame.flags = FRAME_ACK;
	frame_seal(&frame);
	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes, 10));
	for (tries = 0; tries < 10; tries++) {
		ASSERT_LE(0, peer_hear(&self->site.peer, &heard, NULL,
				       PEER_PATIENCE));
		EXPECT_EQ(0, frame_csum(&heard));
		if (be64toh(heard.ack) == self->site.seq)
			break;
	}
	EXPECT_EQ(self->site.seq, be64toh(heard.ack));
	EXPECT_TRUE(site_hears(&self->site, self->bytes, 10));
	self->site.seq++;
	EXPECT_UNHARMED();
}

TEST_F(frames, may_come_between_the_fragments_if_they_only_acknowledge)
{
	struct frame frame = next(&self->site, LEN), ack = {};

	frame_seal(&ack);
	self->site.seq++;
	ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
			      FRAME_PAYLOAD));
	ASSERT_TRUE(peer_send(&self->site.peer, &ack, NULL, 0));
	ASSERT_TRUE(peer_send(&self->site.peer, &frame,
			      self->bytes + FRAME_PAYLOAD,
			      LEN - FRAME_PAYLOAD));
	EXPECT_TRUE(site_hears(&self->site, self->bytes, LEN));
	EXPECT_UNHARMED();
}

TEST_F(frames, with_acks_beyond_what_was_sent_do_no_harm)
{
	static const uint64_t acks[] = { 1000, 1ULL << 32, 1ULL << 63, -1 };
	struct frame ack = {}, heard;
	unsigned char payload[FRAME_PAYLOAD];
	unsigned int i;

	for (i = 0; i < sizeof(acks) / sizeof(*acks); i++) {
		ack.ack = htobe64(acks[i]);
		frame_seal(&ack);
		if (!peer_send(&self->site.peer, &ack, NULL, 0))
			break;
	}
	/* The kernel may treat them as invalid. If not, messages still arrive.
	 */
	if (site_talks(&self->site, 10)) {
		ASSERT_EQ(10, rds_sendto(self->site.fd, self->bytes, 10, 0,
					 &self->site.name));
		ASSERT_TRUE(site_hear(&self->site, &heard, payload));
		EXPECT_EQ(10, ntohl(heard.len));
		EXPECT_EQ(0, memcmp(payload, self->bytes, 10));
	}
	EXPECT_TRUE(site_honest(&self->site));
}

TEST_F(frames, with_credits_without_end_do_no_harm)
{
	struct frame ack = { .credit = 255 }, heard;
	unsigned int i;

	frame_seal(&ack);
	for (i = 0; i < 1000; i++)
		ASSERT_TRUE(peer_send(&self->site.peer, &ack, NULL, 0));
	ASSERT_EQ(10, rds_sendto(self->site.fd, self->bytes, 10, 0,
				 &self->site.name));
	EXPECT_TRUE(site_hear(&self->site, &heard, NULL));
	EXPECT_UNHARMED();
}

/* Maps of all lengths other than the right one, up to the maximum */
TEST_F(frames, of_maps_with_wrong_lengths_change_nothing)
{
	static const unsigned int lens[] = {
		0, 1, 48, 4096, 8191, 8193, 12288, 65536, FRAME_MAX_MSG,
	};
	unsigned int i, off, part;
	struct frame frame;

	memset(self->bytes, 0xff, sizeof(self->bytes));
	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		frame = frame_data(0, lens[i], 0, 0);
		frame.flags = FRAME_CONG;
		frame_seal(&frame);
		for (off = 0; off < lens[i] || !off; off += part) {
			part = lens[i] - off;
			if (part > FRAME_PAYLOAD)
				part = FRAME_PAYLOAD;
			if (!peer_send(&self->site.peer, &frame,
				       self->bytes + off, part))
				break;
			if (!part)
				break;
		}
		EXPECT_TRUE(site_talks(&self->site, 10)) {
			TH_LOG("after a map of %u bytes", lens[i]);
		}
		EXPECT_EQ(10, ERR(rds_sendto(self->site.fd, self->bytes, 10,
					     MSG_DONTWAIT, &self->site.name)));
	}
	EXPECT_TRUE(site_honest(&self->site));
}

TEST_F(frames, of_maps_are_applied)
{
	struct frame frame = frame_data(0, FRAME_MAP, 0, 0);
	unsigned int turn;

	frame.flags = FRAME_CONG;
	frame_seal(&frame);
	for (turn = 0; turn < 2; turn++) {
		memset(self->bytes, turn ? 0 : 0xff, FRAME_MAP);
		ASSERT_TRUE(peer_send(&self->site.peer, &frame, self->bytes,
				      FRAME_PAYLOAD));
		ASSERT_TRUE(peer_send(&self->site.peer, &frame,
				      self->bytes + FRAME_PAYLOAD,
				      FRAME_PAYLOAD));
		ASSERT_TRUE(site_talks(&self->site, 10));
		EXPECT_EQ(turn ? 10 : -ENOBUFS,
			  ERR(rds_sendto(self->site.fd, self->bytes, 10,
					 MSG_DONTWAIT, &self->site.name)));
	}
	EXPECT_UNHARMED();
}

TEST_F(frames, that_ping_receive_a_pong)
{
	struct frame ping = frame_data(self->site.seq++, 0, SITE_PEER_PORT, 0);
	struct frame heard;

	ASSERT_TRUE(peer_send(&self->site.peer, &ping, NULL, 0));
	ASSERT_TRUE(site_hear(&self->site, &heard, NULL));
	EXPECT_EQ(0, heard.sport);
	EXPECT_EQ(0, heard.len);
	EXPECT_UNHARMED();
}

/* Requests other than SEND, with keys that the kernel has never given to a peer
 */
FIXTURE(request) {
	struct site site;
	unsigned char bytes[FRAME_MAX_MSG];
};

FIXTURE_VARIANT(request) {
	struct ibv_send_wr wr;
	unsigned int len;
};

FIXTURE_VARIANT_ADD(request, to_write) {
	.wr = { .opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { 4096, 0x1234 } },
	.len = 64,
};

FIXTURE_VARIANT_ADD(request, to_write_to_key_0) {
	.wr = { .opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { 0, 0 } },
	.len = 64,
};

FIXTURE_VARIANT_ADD(request, to_read) {
	.wr = { .opcode = IBV_WR_RDMA_READ, .wr.rdma = { 4096, 0x1234 } },
	.len = 64,
};

FIXTURE_VARIANT_ADD(request, to_add) {
	.wr = {
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { .remote_addr = 4096, .rkey = 0x1234 },
	},
	.len = 8,
};

FIXTURE_VARIANT_ADD(request, to_write_nothing_with_immediate) {
	.wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM },
	.len = 0,
};

FIXTURE_VARIANT_ADD(request, to_write_with_immediate) {
	.wr = {
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.wr.rdma = { 4096, 0x1234 },
	},
	.len = 64,
};

FIXTURE_VARIANT_ADD(request, to_invalidate) {
	.wr = { .opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = 0x1234 },
	.len = 64,
};

FIXTURE_SETUP(request)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
	ASSERT_TRUE(site_talks(&self->site, 100));
}

FIXTURE_TEARDOWN(request)
{
	site_tear_down(&self->site);
}

TEST_F(request, ends_it)
{
	struct ibv_send_wr wr = variant->wr;

	ASSERT_TRUE(peer_post(&self->site.peer, &wr, variant->len));
	EXPECT_ENDED();
}

TEST_HARNESS_MAIN
