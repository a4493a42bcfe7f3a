// SPDX-License-Identifier: GPL-2.0
/*
 * Congestion: a port becomes congested when its queue holds as much payload as
 * its receive buffer allows. It then accepts no messages until less than half
 * of that is left.
 */
#include "pair.h"

#include <sched.h>

#define RCVBUF 4096

static char buf[1024 * 1024];

static long try_send(int fd, size_t len, const struct rds_name *to)
{
	return ERR(rds_sendto(fd, buf, len, MSG_DONTWAIT, to));
}

/* Fill the queue of socket b until its port is congested. */
static void congest(struct __test_metadata *_metadata,
		    FIXTURE_DATA(pair) *self)
{
	int i;

	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(RCVBUF / 4, try_send(self->a, RCVBUF / 4,
					       &self->b_name));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
}

static void take_one(struct __test_metadata *_metadata,
		     FIXTURE_DATA(pair) *self)
{
	ASSERT_EQ(RCVBUF / 4, ERR(rds_recv(self->b, buf, sizeof(buf))));
}

TEST_F(pair, full_at_exactly_the_receive_buffer)
{
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	EXPECT_EQ(RCVBUF, try_send(self->a, RCVBUF, &self->b_name));
	EXPECT_TRUE(pair_await_full(self, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, one_byte_less_is_not_full)
{
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	EXPECT_EQ(RCVBUF - 1, try_send(self->a, RCVBUF - 1, &self->b_name));
	EXPECT_TRUE(rds_await_queued(self->b, 1));
	EXPECT_EQ(100, try_send(self->a, 100, &self->b_name));
	EXPECT_TRUE(pair_await_full(self, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, default_receive_buffer)
{
	int limit = rds_get(self->b, SOL_SOCKET, SO_RCVBUF) / 2;
	int sent;

	for (sent = 0; sent < limit; sent += 1024)
		ASSERT_EQ(1024, try_send(self->a, 1024, &self->b_name));
	EXPECT_TRUE(pair_await_full(self, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
}

/*
 * If a reader fails to take a message, the message stays in the queue, and the
 * port stays congested. A message accepted in the meantime would exceed the
 * limit.
 */
TEST_F(pair, full_again_when_a_reader_fails)
{
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	ASSERT_EQ(RCVBUF, try_send(self->a, RCVBUF, &self->b_name));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	ASSERT_EQ(-EFAULT, ERR(recv(self->b, (void *)8, RCVBUF, 0)));
	EXPECT_EQ(1, rds_queued(self->b));
	/* Without a wire, the sender checks the receiver's own bit. */
	if (!variant->wire)
		EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
	EXPECT_TRUE(pair_await_full(self, &self->b_name));

	ASSERT_EQ(RCVBUF, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
}

TEST_F(pair, clears_below_half)
{
	congest(_metadata, self);
	take_one(_metadata, self);
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
	/* Exactly half is left. */
	take_one(_metadata, self);
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
	take_one(_metadata, self);
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(1, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, congests_again)
{
	int i;

	for (i = 0; i < 3; i++) {
		congest(_metadata, self);
		rds_drain(self->b);
		ASSERT_TRUE(pair_await_free(self, &self->b_name));
		ASSERT_EQ(1, try_send(self->a, 1, &self->b_name));
		ASSERT_EQ(1, ERR(rds_recv(self->b, buf, sizeof(buf))));
	}
}

TEST_F(pair, empty_messages_never_count)
{
	int i;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 1200));
	for (i = 0; i < 1300; i++)
		ASSERT_EQ(0, try_send(self->a, 0, &self->b_name));
	EXPECT_TRUE(rds_await_queued(self->b, 1300));
	EXPECT_EQ(1, try_send(self->a, 1, &self->b_name));
}

/* The memory of empty messages has a limit of its own, rx_held_max. */
TEST_F(pair, held_memory_is_bounded)
{
	int sent = 0;

	pair_move(_metadata, self, variant);
	ASSERT_EQ(0, pair_far_sysctl(self, "rx_held_max", "65536"));
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	while (sent < 100000 && try_send(self->a, 0, &self->b_name) == 0)
		sent++;
	EXPECT_LT(0, sent);
	EXPECT_GT(variant->wire ? 100000 : 1000, sent);
	EXPECT_TRUE(pair_await_full(self, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 0, &self->b_name));
	for (; sent; sent--)
		ASSERT_EQ(0, ERR(rds_recv(self->b, buf, sizeof(buf))));
	/* The port may have been full and free several times while messages
	 * arrived that had been sent before. The last map says that it is free.
	 */
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 20 * 1000));
	EXPECT_EQ(0, ERR(rds_sendto(self->a, buf, 0, 0, &self->b_name)));
}

TEST_F(pair, empty_messages_are_refused_too)
{
	congest(_metadata, self);
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 0, &self->b_name));
}

TEST_F(pair, peeking_clears_nothing)
{
	int i;

	congest(_metadata, self);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(RCVBUF / 4, ERR(recv(self->b, buf, sizeof(buf),
					       MSG_PEEK)));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, truncating_clears_as_much_as_reading)
{
	int i;

	congest(_metadata, self);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, ERR(rds_recv(self->b, buf, 1)));
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(1, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, other_ports_are_unaffected)
{
	struct rds_name name;
	int fd = pair_far_bound(variant, 0);

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	congest(_metadata, self);
	EXPECT_EQ(10, try_send(self->a, 10, &name));
	EXPECT_EQ(10, ERR(rds_recv(fd, buf, sizeof(buf))));
	close(fd);
}

TEST_F(pair, the_same_port_of_another_address_is_unaffected)
{
	int fd = pair_far_third(variant, rds_port(&self->b_name));
	struct rds_name name;

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	congest(_metadata, self);
	EXPECT_EQ(10, try_send(self->a, 10, &name));
	close(fd);
}

TEST_F(pair, every_sender_is_refused)
{
	int fd = rds_bound(variant->a, 0);

	ASSERT_LE(0, fd);
	congest(_metadata, self);
	EXPECT_EQ(-ENOBUFS, try_send(fd, 1, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->b, 1, &self->b_name));
	close(fd);
}

TEST_F(pair, a_full_receiver_can_still_send)
{
	congest(_metadata, self);
	EXPECT_EQ(10, try_send(self->b, 10, &self->a_name));
	EXPECT_EQ(10, ERR(rds_recv(self->a, buf, sizeof(buf))));
}

TEST_F(pair, closing_the_receiver_clears)
{
	congest(_metadata, self);
	close(self->b);
	self->b = -1;
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(1, try_send(self->a, 1, &self->b_name));
}

TEST_F(pair, the_next_owner_of_the_port_starts_empty)
{
	congest(_metadata, self);
	close(self->b);
	self->b = pair_far_bound(variant, rds_port(&self->b_name));
	ASSERT_LE(0, self->b);
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(10, try_send(self->a, 10, &self->b_name));
	EXPECT_EQ(10, ERR(rds_recv(self->b, buf, sizeof(buf))));
}

TEST_F(pair, refused_messages_are_not_delivered)
{
	int i;

	congest(_metadata, self);
	for (i = 0; i < 4; i++)
		take_one(_metadata, self);
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, a_blocking_sender_waits)
{
	struct rds_task task;
	int i;

	congest(_metadata, self);
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 77, &self->b_name));
	EXPECT_TRUE(rds_task_blocked(&task));
	take_one(_metadata, self);
	EXPECT_TRUE(rds_task_blocked(&task));
	for (i = 0; i < 3; i++)
		take_one(_metadata, self);
	EXPECT_EQ(77, rds_task_join(&task));
	EXPECT_EQ(77, ERR(rds_recv(self->b, buf, sizeof(buf))));
}

TEST_F(pair, closing_the_receiver_wakes_a_blocking_sender)
{
	struct rds_task task;

	congest(_metadata, self);
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 77, &self->b_name));
	EXPECT_TRUE(rds_task_blocked(&task));
	close(self->b);
	self->b = -1;
	EXPECT_EQ(77, rds_task_join(&task));
}

TEST_F(pair, send_timeout)
{
	congest(_metadata, self);
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 20));
	EXPECT_EQ(-ETIMEDOUT, ERR(rds_sendto(self->a, buf, 10, 0,
					     &self->b_name)));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 10, &self->b_name));
}

TEST_F(pair, send_in_time)
{
	struct rds_task task;
	int i;

	congest(_metadata, self);
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 600 * 1000));
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 77, &self->b_name));
	EXPECT_TRUE(rds_task_blocked(&task));
	for (i = 0; i < 4; i++)
		take_one(_metadata, self);
	EXPECT_EQ(77, rds_task_join(&task));
}

TEST_F(pair, signal_interrupts_a_blocking_sender)
{
	struct rds_task task;

	congest(_metadata, self);
	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 77, &self->b_name));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, pthread_kill(task.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, rds_task_join(&task));
}

TEST_F(pair, interrupted_senders_take_no_room)
{
	struct rds_task task;
	int i;

	ASSERT_EQ(0, rds_sndbuf(self->a, 8192));
	congest(_metadata, self);
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(-ETIMEDOUT, ERR(rds_sendto(self->a, buf, 8192, 0,
						     &self->b_name)));
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 0));
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 8192, &self->b_name));
	EXPECT_TRUE(rds_task_blocked(&task));
	for (i = 0; i < 4; i++)
		take_one(_metadata, self);
	EXPECT_EQ(8192, rds_task_join(&task));
}

/*
 * A port that is nearly full, but not congested, accepts a message of any size.
 */
TEST_F(pair, one_message_may_overshoot)
{
	ASSERT_EQ(0, rds_sndbuf(self->a, 2 * sizeof(buf)));
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	EXPECT_EQ(sizeof(buf), try_send(self->a, sizeof(buf), &self->b_name));
	EXPECT_TRUE(pair_await_full(self, &self->b_name));
	EXPECT_EQ(-ENOBUFS, try_send(self->a, 1, &self->b_name));
	EXPECT_EQ(sizeof(buf), ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_TRUE(pair_await_free(self, &self->b_name));
	EXPECT_EQ(1, try_send(self->a, 1, &self->b_name));
}

TEST_HARNESS_MAIN
