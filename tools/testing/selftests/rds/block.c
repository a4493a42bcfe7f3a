// SPDX-License-Identifier: GPL-2.0
/* Blocking calls, which wait for a message, a timeout or a signal */
#include "pair.h"

#include <fcntl.h>
#include <sched.h>

static char received[4096];

TEST_F(pair, receive_waits_for_a_message)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, rds_task_join(&task));
	EXPECT_EQ(0, memcmp(received, "abc", 3));
}

TEST_F(pair, receive_waits_for_an_empty_message)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &self->b_name)));
	EXPECT_EQ(0, rds_task_join(&task));
}

/*
 * A receiver waits on an unbound socket, too. It gets a message once the socket
 * is bound.
 */
TEST_F(pair, receive_waits_on_an_unbound_socket)
{
	struct rds_name name = rds_name(variant->b, 4000);
	struct rds_task task;
	int fd = pair_far_socket(variant);

	ASSERT_EQ(0, rds_task_recv(&task, fd, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, rds_bind(fd, name));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &name)));
	EXPECT_EQ(3, rds_task_join(&task));
	close(fd);
}

TEST_F(pair, one_message_wakes_one_receiver_after_another)
{
	struct rds_task task[3];
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, rds_task_recv(&task[i], self->b, received + i,
					   1));
		EXPECT_TRUE(rds_task_blocked(&task[i]));
	}
	for (i = 0; i < 3; i++)
		ASSERT_EQ(1, ERR(rds_sendto(self->a, "x", 1, 0,
					    &self->b_name)));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, rds_task_join(&task[i]));
	EXPECT_EQ(0, memcmp(received, "xxx", 3));
}

TEST_F(pair, receive_timeout)
{
	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 20));
	EXPECT_EQ(-ETIMEDOUT, ERR(recv(self->b, received, 100, 0)));
	/*
	 * SO_RCVTIMEO limits the wait. MSG_DONTWAIT still means that there is
	 * no wait.
	 */
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 100, MSG_DONTWAIT)));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_TRUE(rds_await_queued(self->b, 1));
	EXPECT_EQ(3, ERR(recv(self->b, received, 100, 0)));
}

TEST_F(pair, receive_in_time)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 600 * 1000));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, rds_task_join(&task));
}

TEST_F(pair, nonblocking_descriptor)
{
	ASSERT_EQ(0, fcntl(self->b, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 100, 0)));
	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 600 * 1000));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 100, 0)));
}

TEST_F(pair, signal_interrupts_receive)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, pthread_kill(task.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, rds_task_join(&task));
	EXPECT_EQ(1, rds_signal_count());
}

TEST_F(pair, signal_restarts_receive)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(SA_RESTART));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, pthread_kill(task.thread, SIGUSR1));
	while (!rds_signal_count())
		sched_yield();
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, rds_task_join(&task));
	EXPECT_EQ(1, rds_signal_count());
}

TEST_F(pair, signal_interrupts_receive_with_a_timeout)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 600 * 1000));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, pthread_kill(task.thread, SIGUSR1));
	EXPECT_EQ(-EINTR, rds_task_join(&task));
}

/*
 * Messages for one socket do not wake a receiver that waits on another socket.
 */
TEST_F(pair, other_traffic_does_not_wake)
{
	struct rds_task task;
	int i;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, received, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(3, ERR(rds_sendto(self->a, "own", 3, 0,
					    &self->a_name)));
		ASSERT_EQ(3, ERR(rds_recv(self->a, received + 200, 100)));
	}
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, rds_task_join(&task));
}

TEST_HARNESS_MAIN
