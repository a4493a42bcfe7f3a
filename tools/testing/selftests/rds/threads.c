// SPDX-License-Identifier: GPL-2.0
/* Many threads on one socket, and calls that race with each other */
#include "pair.h"

#include <sched.h>

#define THREADS	64
#define EACH	50		/* messages of one thread */
#define SIZE	600		/* of the largest message */

struct body {
	uint32_t thread;
	uint32_t number;
	uint32_t len;
	char fill[SIZE];
};

#define HEAD offsetof(struct body, fill)

struct crowd {
	int fd;
	struct rds_name to;
	atomic_uint next_thread;
	atomic_uint received;
	atomic_uint bad;
	atomic_uint doubled;
	atomic_uchar seen[THREADS][EACH];
};

static struct crowd crowd;

static size_t compose(struct body *body, unsigned int thread,
		      unsigned int number)
{
	body->thread = thread;
	body->number = number;
	body->len = (thread * 37 + number * 101) % SIZE;
	rds_fill(body->fill, body->len, thread * EACH + number);
	return HEAD + body->len;
}

static void account(const struct body *body, size_t len)
{
	if (len < HEAD || len != HEAD + body->len ||
	    body->thread >= THREADS || body->number >= EACH ||
	    !rds_check(body->fill, body->len,
		       body->thread * EACH + body->number)) {
		crowd.bad++;
		return;
	}
	if (crowd.seen[body->thread][body->number]++)
		crowd.doubled++;
	crowd.received++;
}

/* Count the messages of the first @threads threads that never arrived. */
static unsigned int missing(unsigned int threads)
{
	unsigned int i, j, count = 0;

	for (i = 0; i < threads; i++)
		for (j = 0; j < EACH; j++)
			count += !crowd.seen[i][j];
	return count;
}

/*
 * Send to the shared socket itself and read from it, in turn. A thread that
 * reads has sent one message more than it has read, so there is always a
 * message to read.
 */
static void *send_and_receive(void *data)
{
	unsigned int thread = crowd.next_thread++;
	unsigned int number;
	struct body body;
	ssize_t len;

	for (number = 0; number < EACH; number++) {
		len = compose(&body, thread, number);
		if (rds_sendto(crowd.fd, &body, len, 0, &crowd.to) != len)
			crowd.bad++;
		len = recv(crowd.fd, &body, sizeof(body), 0);
		if (len < 0)
			crowd.bad++;
		else
			account(&body, len);
	}
	return NULL;
}

static void *send_blocking(void *data)
{
	unsigned int thread = crowd.next_thread++;
	unsigned int number;
	struct body body;
	ssize_t len;

	for (number = 0; number < EACH; number++) {
		len = compose(&body, thread, number);
		if (rds_sendto(crowd.fd, &body, len, 0, &crowd.to) != len)
			crowd.bad++;
	}
	return NULL;
}

static void *receive_blocking(void *data)
{
	int fd = *(int *)data;
	struct body body;
	ssize_t len;
	int i;

	for (i = 0; i < EACH; i++) {
		len = recv(fd, &body, sizeof(body), 0);
		if (len < 0)
			crowd.bad++;
		else
			account(&body, len);
	}
	return NULL;
}

TEST_F(pair, everybody_sends_and_receives_on_one_socket)
{
	pthread_t thread[THREADS];
	int i;

	crowd.fd = self->a;
	crowd.to = self->a_name;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL,
					    send_and_receive, NULL));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, crowd.bad);
	EXPECT_EQ(0, crowd.doubled);
	EXPECT_EQ(0, missing(THREADS));
	EXPECT_TRUE(rds_silent(self->a));
}

/* With a small receive buffer, the senders must wait for the receivers. */
TEST_F(pair, half_send_and_half_receive_blocking)
{
	pthread_t thread[THREADS];
	int i;

	crowd.fd = self->a;
	crowd.to = self->b_name;
	ASSERT_EQ(0, rds_rcvbuf(self->b, 4096));
	for (i = 0; i < THREADS; i += 2) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, send_blocking,
					    NULL));
		ASSERT_EQ(0, pthread_create(&thread[i + 1], NULL,
					    receive_blocking, &self->b));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, crowd.bad);
	EXPECT_EQ(0, crowd.doubled);
	EXPECT_EQ(0, missing(THREADS / 2));
	EXPECT_TRUE(rds_silent(self->b));
}

#define SENDERS 16

static void *send_in_order(void *data)
{
	int fd = *(int *)data;
	uint32_t i;

	for (i = 0; i < EACH; i++)
		if (rds_sendto(fd, &i, sizeof(i), 0, &crowd.to) != sizeof(i))
			crowd.bad++;
	return NULL;
}

TEST_F(pair, each_sender_keeps_its_order)
{
	uint32_t number, expected[SENDERS] = {};
	struct rds_name name[SENDERS];
	pthread_t thread[SENDERS];
	struct rds_msg msg;
	int i, j, fd[SENDERS];

	crowd.to = self->b_name;
	for (i = 0; i < SENDERS; i++) {
		fd[i] = rds_bound(variant->a, 0);
		ASSERT_LE(0, fd[i]);
		name[i] = rds_sockname(fd[i]);
	}
	for (i = 0; i < SENDERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, send_in_order,
					    &fd[i]));
	for (i = 0; i < SENDERS * EACH; i++) {
		ASSERT_EQ(4, ERR(rds_msg_recv(self->b, &msg, &number, 4, 0)));
		for (j = 0; j < SENDERS; j++)
			if (!memcmp(&msg.name.ss, &name[j].ss, name[j].len))
				break;
		ASSERT_LT(j, SENDERS);
		ASSERT_EQ(expected[j], number);
		expected[j]++;
	}
	for (i = 0; i < SENDERS; i++) {
		pthread_join(thread[i], NULL);
		close(fd[i]);
	}
	EXPECT_EQ(0, crowd.bad);
}

/* Calls made by several threads as nearly at once as a barrier allows */
struct race {
	int fd;
	struct rds_name name;
	long ret;
	pthread_t thread;
	pthread_barrier_t *start;
};

#define RACERS 8
#define RACES 20

static void *race_bind(void *data)
{
	struct race *race = data;

	pthread_barrier_wait(race->start);
	race->ret = ERR(rds_bind(race->fd, race->name));
	return NULL;
}

/*
 * Run the racers. Returns how many of them returned 0, or -1 if one returned an
 * errno other than @losers_errno.
 */
static int run_race(struct race *race, int losers_errno)
{
	pthread_barrier_t start;
	int i, winners = 0;

	pthread_barrier_init(&start, NULL, RACERS);
	for (i = 0; i < RACERS; i++) {
		race[i].start = &start;
		if (pthread_create(&race[i].thread, NULL, race_bind, &race[i]))
			return -1;
	}
	for (i = 0; i < RACERS; i++) {
		pthread_join(race[i].thread, NULL);
		if (!race[i].ret)
			winners++;
		else if (race[i].ret != -losers_errno)
			return -1;
	}
	pthread_barrier_destroy(&start);
	return winners;
}

TEST_F(pair, one_of_many_sockets_gets_the_port)
{
	struct race race[RACERS];
	int i, j;

	for (i = 0; i < RACES; i++) {
		for (j = 0; j < RACERS; j++) {
			race[j].fd = rds_socket();
			race[j].name = rds_name(variant->a, 4000);
		}
		ASSERT_EQ(1, run_race(race, EADDRINUSE));
		for (j = 0; j < RACERS; j++)
			close(race[j].fd);
	}
}

TEST_F(pair, one_socket_is_bound_once)
{
	struct race race[RACERS];
	struct rds_name name;
	int i, j, fd;

	for (i = 0; i < RACES; i++) {
		fd = rds_socket();
		for (j = 0; j < RACERS; j++) {
			race[j].fd = fd;
			race[j].name = rds_name(variant->a, 4000 + j);
		}
		ASSERT_EQ(1, run_race(race, EINVAL));
		name = rds_sockname(fd);
		for (j = 0; j < RACERS; j++)
			if (!race[j].ret)
				ASSERT_EQ(4000 + j, rds_port(&name));
		close(fd);
	}
}

static void *send_until_bound(void *data)
{
	struct race *race = data;

	pthread_barrier_wait(race->start);
	do {
		race->ret = ERR(rds_sendto(race->fd, "x", 1, 0, &race->name));
	} while (race->ret == -ENOTCONN);
	return NULL;
}

/* CVE-2015-6937 and CVE-2015-7990: a send sees a complete binding or none. */
TEST_F(pair, sending_while_being_bound)
{
	pthread_barrier_t start;
	struct race race;
	char byte;
	int i;

	pthread_barrier_init(&start, NULL, 2);
	for (i = 0; i < RACES; i++) {
		race.fd = rds_socket();
		race.name = self->b_name;
		race.start = &start;
		ASSERT_EQ(0, pthread_create(&race.thread, NULL,
					    send_until_bound, &race));
		pthread_barrier_wait(&start);
		ASSERT_EQ(0, ERR(rds_bind(race.fd, rds_name(variant->a, 0))));
		pthread_join(race.thread, NULL);
		ASSERT_EQ(1, race.ret);
		ASSERT_EQ(1, ERR(rds_recv(self->b, &byte, 1)));
		close(race.fd);
	}
	pthread_barrier_destroy(&start);
}

static atomic_bool stop;

static void *send_until_stopped(void *data)
{
	struct race *race = data;
	char buf[3000] = {};
	long ret;

	race->ret = 0;
	while (!stop) {
		ret = ERR(rds_sendto(race->fd, buf, sizeof(buf), MSG_DONTWAIT,
				     &race->name));
		if (ret != sizeof(buf) && ret != -ENOBUFS && ret != -EAGAIN)
			race->ret = ret;
	}
	return NULL;
}

/*
 * The receiver is closed and reopened, congested or not. The sender only loses
 * messages.
 */
TEST_F(pair, sending_while_the_receiver_comes_and_goes)
{
	struct race race = { .fd = self->a, .name = self->b_name };
	int i;

	ASSERT_EQ(0, pthread_create(&race.thread, NULL, send_until_stopped,
				    &race));
	for (i = 0; i < 60; i++) {
		close(self->b);
		self->b = pair_far_bound(variant, rds_port(&self->b_name));
		EXPECT_LE(0, self->b);
		EXPECT_EQ(0, rds_rcvbuf(self->b, 4096));
	}
	rds_arrived(self->b);
	stop = true;
	pthread_join(race.thread, NULL);
	EXPECT_EQ(0, race.ret);
	EXPECT_TRUE(rds_await_acked(self->a));
	rds_drain(self->b);
	EXPECT_EQ(1, ERR(rds_sendto(self->a, "x", 1, 0, &self->b_name)));
}

static atomic_long got;

static void *receive_until_stopped(void *data)
{
	struct race *race = data;
	char byte;

	while (!stop)
		if (recv(race->fd, &byte, 1, MSG_DONTWAIT) >= 0)
			got++;
	return NULL;
}

/* Use options and ioctls while messages arrive. */
TEST_F(pair, asking_while_receiving)
{
	struct race race = { .fd = self->b };
	int i, value;
	long sent = 0;

	ASSERT_EQ(0, pthread_create(&race.thread, NULL, receive_until_stopped,
				    &race));
	for (i = 0; i < 100; i++) {
		sent += ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT,
				       &self->b_name));
		EXPECT_EQ(0, ioctl(self->b, FIONREAD, &value));
		EXPECT_EQ(0, rds_rcvbuf(self->b, 4096 + i));
		rds_poll(self->b);
	}
	while (got < sent || !rds_silent(self->b))
		sched_yield();
	stop = true;
	pthread_join(race.thread, NULL);
	EXPECT_EQ(sent, got);
}

TEST_HARNESS_MAIN
