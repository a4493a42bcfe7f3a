// SPDX-License-Identifier: GPL-2.0
/*
 * 64 threads send and receive on one socket. Each message carries its sender, a
 * number, and contents made from both. At the end every message that was sent
 * has arrived once and unchanged; and each receiver has received the messages
 * of one sender in order.
 */
#include "loop.h"

#define SENDERS 32
#define RECEIVERS 32
#define MAX_MESSAGES 200
#define MAX_LEN 6000

struct stamp {
	uint32_t sender;
	uint32_t number;
};

struct crowd {
	int fd;
	struct rds_name name;
	unsigned int messages;	/* of each sender */
	atomic_uint seen[SENDERS][MAX_MESSAGES];
	atomic_uint received;
	atomic_uint wrong;
	atomic_uint reordered;
	atomic_uint failed;
};

struct member {
	struct crowd *crowd;
	uint32_t id;
	pthread_t thread;
};

static size_t length_of(const struct stamp *stamp)
{
	return sizeof(*stamp) +
	       (stamp->sender * 7919 + stamp->number * 104729) % MAX_LEN;
}

static unsigned int seed_of(const struct stamp *stamp)
{
	return stamp->sender * MAX_MESSAGES + stamp->number;
}

static void *sender_main(void *data)
{
	struct member *member = data;
	struct stamp stamp = { .sender = member->id };
	char buf[sizeof(stamp) + MAX_LEN];
	size_t len;

	for (; stamp.number < member->crowd->messages; stamp.number++) {
		len = length_of(&stamp);
		memcpy(buf, &stamp, sizeof(stamp));
		rds_fill(buf + sizeof(stamp), len - sizeof(stamp),
			 seed_of(&stamp));
		if (rds_sendto(member->crowd->fd, buf, len, 0,
			       &member->crowd->name) != (ssize_t)len)
			member->crowd->failed++;
	}
	return NULL;
}

/* Check that it is what was sent; set @stamp to its sender and number. */
static bool is_right(const char *buf, size_t len, struct stamp *stamp)
{
	if (len < sizeof(*stamp))
		return false;
	memcpy(stamp, buf, sizeof(*stamp));
	return stamp->sender < SENDERS && stamp->number < MAX_MESSAGES &&
	       len == length_of(stamp) &&
	       rds_check(buf + sizeof(*stamp), len - sizeof(*stamp),
			 seed_of(stamp));
}

static void *receiver_main(void *data)
{
	struct crowd *crowd = ((struct member *)data)->crowd;
	int64_t last[SENDERS];
	char buf[sizeof(struct stamp) + MAX_LEN];
	struct stamp stamp;
	ssize_t len;

	memset(last, 0xff, sizeof(last));
	while (crowd->received < SENDERS * crowd->messages) {
		len = recv(crowd->fd, buf, sizeof(buf), 0);
		if (len < 0)	/* timeout: check whether all have arrived */
			continue;
		if (!is_right(buf, len, &stamp)) {
			crowd->wrong++;
		} else {
			crowd->seen[stamp.sender][stamp.number]++;
			if (stamp.number <= last[stamp.sender])
				crowd->reordered++;
			last[stamp.sender] = stamp.number;
		}
		crowd->received++;
	}
	return NULL;
}

TEST_F(loop, i14_64_threads_on_one_socket)
{
	static struct member member[SENDERS + RECEIVERS];
	static struct crowd crowd;
	unsigned int i, j, missing = 0, doubled = 0;

	crowd.fd = self->a;
	crowd.messages = few_or(MAX_MESSAGES);
	crowd.name = self->a_name;
	ASSERT_EQ(0, rds_rcvbuf(self->a, 64 * 1024));
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_RCVTIMEO, 200));
	for (i = 0; i < SENDERS + RECEIVERS; i++) {
		member[i].crowd = &crowd;
		member[i].id = i;
		ASSERT_EQ(0, pthread_create(&member[i].thread, NULL,
					    i < SENDERS ? sender_main :
							  receiver_main,
					    &member[i]));
	}
	for (i = 0; i < SENDERS + RECEIVERS; i++)
		pthread_join(member[i].thread, NULL);

	for (i = 0; i < SENDERS; i++) {
		for (j = 0; j < crowd.messages; j++) {
			missing += !crowd.seen[i][j];
			doubled += crowd.seen[i][j] > 1;
		}
	}
	EXPECT_EQ(0, crowd.failed);
	EXPECT_EQ(0, crowd.wrong);
	EXPECT_EQ(0, crowd.reordered);
	EXPECT_EQ(0, missing);
	EXPECT_EQ(0, doubled);
	EXPECT_TRUE(rds_silent(self->a));
}

TEST_HARNESS_MAIN
