// SPDX-License-Identifier: GPL-2.0
/*
 * Invalid acks while messages are in flight: of a socket that stays, and of
 * many that are closed with messages in flight
 */
#include "test.h"

#define FLOOD 500
#define FLOOD_LEN 100
#define FLOOD_SECONDS 60
#define CHURN_PORT 5100

FIXTURE(flood) {
	struct site site;
	pthread_t sender;
	pthread_t churner;
	atomic_bool over;
};

FIXTURE_VARIANT(flood) {
	/* The number to acknowledge; if 0, the last one received plus @more */
	uint64_t ack;
	uint64_t more;
};

FIXTURE_VARIANT_ADD(flood, with_true_acks) {};
FIXTURE_VARIANT_ADD(flood, with_acks_of_all_there_can_be) { .ack = -1 };
FIXTURE_VARIANT_ADD(flood, with_acks_of_another_life) { .ack = 1 << 20 };
FIXTURE_VARIANT_ADD(flood, with_acks_of_what_is_not_sent_yet) {
	.more = 100000,
};

FIXTURE_SETUP(flood)
{
	ASSERT_EQ(0, site_set_up(&self->site));
	ASSERT_EQ(PEER_UP, site_dial(&self->site));
}

FIXTURE_TEARDOWN(flood)
{
	site_tear_down(&self->site);
}

static bool flood_send(struct site *site, int fd, uint32_t number, int flags)
{
	unsigned char bytes[FLOOD_LEN];

	memcpy(bytes, &number, sizeof(number));
	rds_fill(bytes + sizeof(number), FLOOD_LEN - sizeof(number), number);
	return rds_sendto(fd, bytes, FLOOD_LEN, flags, &site->name) ==
	       FLOOD_LEN;
}

static void *flood_sender(void *data)
{
	struct site *site = data;
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		if (!flood_send(site, site->fd, i, 0))
			break;
	return NULL;
}

static void *flood_churner(void *data)
{
	FIXTURE_DATA(flood) *self = data;
	unsigned int i, port = 0;
	int fd;

	while (!atomic_load(&self->over)) {
		fd = site_socket(SITE_NEAR, CHURN_PORT + port++ % 10);
		if (fd < 0)
			continue;
		for (i = 0; i < 5; i++)
			flood_send(&self->site, fd, i, MSG_DONTWAIT);
		close(fd);
		usleep(5000);
	}
	return NULL;
}

/* Check a message of any of the sockets. Return its number, or -1. */
static int64_t flood_number(const struct frame *frame, const void *payload)
{
	uint32_t number;

	memcpy(&number, payload, sizeof(number));
	if (ntohl(frame->len) != FLOOD_LEN || frame_csum(frame) ||
	    !rds_check((const char *)payload + sizeof(number),
		       FLOOD_LEN - sizeof(number), number))
		return -1;
	return number;
}

static bool flood_ack(struct site *site, uint64_t ack)
{
	struct frame frame = { .ack = htobe64(ack) };

	frame_seal(&frame);
	return peer_send(&site->peer, &frame, NULL, 0);
}

TEST_F(flood, loses_nothing)
{
	struct site *site = &self->site;
	unsigned char payload[PEER_SLOT];
	time_t deadline = time(NULL) + FLOOD_SECONDS;
	unsigned int next = 0, heard = 0;
	struct frame frame;
	uint64_t ack = 0;
	int64_t number;

	ASSERT_EQ(0, pthread_create(&self->sender, NULL, flood_sender, site));
	ASSERT_EQ(0, pthread_create(&self->churner, NULL, flood_churner,
				    self));
	while (next < FLOOD && time(NULL) < deadline &&
	       site_hear(site, &frame, payload)) {
		number = flood_number(&frame, payload);
		ASSERT_LE(0, number);
		if (frame.sport == htons(SITE_PORT))
			ASSERT_EQ(next++, number);
		ack = be64toh(frame.seq);
		if (++heard % 8 == 0)
			ASSERT_TRUE(flood_ack(site, variant->ack ?:
					      ack + variant->more));
		if (heard % 32 == 0)
			ASSERT_TRUE(flood_ack(site, ack));
	}
	ASSERT_EQ(FLOOD, next);
	atomic_store(&self->over, true);
	pthread_join(self->churner, NULL);
	/* Acknowledge the last one received, and check that this has an effect.
	 */
	while (peer_hear(&site->peer, &frame, payload, 500) >= 0)
		if (frame.seq)
			ack = be64toh(frame.seq);
	EXPECT_TRUE(flood_ack(site, ack));
	EXPECT_TRUE(rds_await_acked(site->fd));
	pthread_join(self->sender, NULL);
	EXPECT_EQ(site->drops, site_drops(site));
	EXPECT_TRUE(site_honest(site));
}

TEST_HARNESS_MAIN
