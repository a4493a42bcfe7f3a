// SPDX-License-Identifier: GPL-2.0
/* poll(2), select(2) and epoll(7) */
#include "pair.h"
#include "solo.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define READABLE	(POLLIN | POLLRDNORM)
#define WRITABLE	(POLLOUT | POLLWRNORM)
#define MAP_UPDATED	(READABLE | POLLWRBAND)
#define RCVBUF		4096

static char payload[2 * RCVBUF];

/*
 * The first poll of a socket may report map updates from before the socket
 * existed, such as those of a new connection. The second poll does not.
 */
static short poll_again(int fd)
{
	rds_poll(fd);
	return rds_poll(fd);
}

/* Congest the port of socket b. */
static void fill(struct __test_metadata *_metadata, FIXTURE_DATA(pair) *self)
{
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a, payload, RCVBUF, 0,
					 &self->b_name)));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
}

static void drain(struct __test_metadata *_metadata, FIXTURE_DATA(pair) *self)
{
	ASSERT_EQ(RCVBUF, ERR(rds_recv(self->b, payload, sizeof(payload))));
	ASSERT_TRUE(pair_await_free(self, &self->b_name));
}

static void update_map(struct __test_metadata *_metadata,
		       FIXTURE_DATA(pair) *self)
{
	fill(_metadata, self);
	drain(_metadata, self);
}

static long try_send(FIXTURE_DATA(pair) *self)
{
	return ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT, &self->b_name));
}

TEST_F(solo, unbound_is_writable)
{
	EXPECT_EQ(WRITABLE, poll_again(self->fd));
}

TEST_F(pair, idle_is_writable)
{
	EXPECT_EQ(WRITABLE, poll_again(self->a));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
}

TEST_F(pair, message_makes_readable)
{
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	EXPECT_EQ(READABLE | WRITABLE, poll_again(self->b));
	EXPECT_EQ(READABLE | WRITABLE, rds_poll(self->b));
	ASSERT_EQ(3, ERR(rds_recv(self->b, payload, 100)));
	EXPECT_EQ(WRITABLE, rds_poll(self->b));
}

TEST_F(pair, empty_message_makes_readable)
{
	ASSERT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	EXPECT_EQ(READABLE | WRITABLE, poll_again(self->b));
	ASSERT_EQ(0, ERR(rds_recv(self->b, payload, 100)));
	EXPECT_EQ(WRITABLE, rds_poll(self->b));
}

TEST_F(pair, peer_gone_is_no_hangup)
{
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	close(self->b);
	self->b = -1;
	EXPECT_EQ(WRITABLE, poll_again(self->a));
}

TEST_F(pair, map_update_shows_once)
{
	update_map(_metadata, self);
	rds_poll(self->a);
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
	update_map(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
	update_map(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
}

TEST_F(pair, map_update_shows_on_every_socket)
{
	int fd = rds_bound(variant->a, 0);

	ASSERT_LE(0, fd);
	update_map(_metadata, self);
	EXPECT_EQ(WRITABLE, poll_again(fd));
	update_map(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(fd));
	EXPECT_EQ(WRITABLE, rds_poll(fd));
	close(fd);
}

TEST_F(pair, map_update_before_the_first_poll)
{
	int fd;

	update_map(_metadata, self);
	fd = rds_bound(variant->a, 0);
	ASSERT_LE(0, fd);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(fd));
	EXPECT_EQ(WRITABLE, rds_poll(fd));
	close(fd);
}

TEST_F(pair, congested_destination_leaves_writable)
{
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	EXPECT_EQ(WRITABLE, rds_poll(self->a) & WRITABLE);
}

/* The map update that made a send fail is not reported to the sender again. */
TEST_F(pair, refused_sender_is_told_of_later_updates_only)
{
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
	drain(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
}

TEST_F(pair, refused_sender_is_told_until_it_sends)
{
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	drain(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	ASSERT_EQ(1, try_send(self));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
}

TEST_F(pair, refused_sender_is_told_until_it_finds_no_input)
{
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	drain(_metadata, self);
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	ASSERT_TRUE(rds_silent(self->a));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
}

/* A program that sends to many ports remembers which of them were refused. */
TEST_F(pair, refused_sender_is_told_after_it_has_sent_elsewhere)
{
	int fd = pair_far_bound(variant, 0);
	struct rds_name name;

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	drain(_metadata, self);
	ASSERT_EQ(1, ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT, &name)));
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	close(fd);
}

TEST_F(pair, refused_sender_is_woken_after_it_has_sent_elsewhere)
{
	int fd = pair_far_bound(variant, 0);
	struct rds_name name;
	struct rds_task task;

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	ASSERT_EQ(1, ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT, &name)));
	ASSERT_EQ(0, rds_task_poll(&task, self->a, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	drain(_metadata, self);
	EXPECT_EQ(POLLIN, rds_task_join(&task));
	close(fd);
}

TEST_F(pair, refused_sender_is_told_after_it_was_refused_elsewhere)
{
	int fd = pair_far_bound(variant, 0);
	struct rds_name name;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_rcvbuf(fd, RCVBUF));
	name = rds_sockname(fd);
	fill(_metadata, self);
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a, payload, RCVBUF, 0, &name)));
	ASSERT_TRUE(pair_await_full(self, &name));
	ASSERT_EQ(-ENOBUFS, try_send(self));
	drain(_metadata, self);
	ASSERT_EQ(-ENOBUFS, ERR(rds_sendto(self->a, "x", 1, MSG_DONTWAIT,
					   &name)));
	EXPECT_EQ(MAP_UPDATED | WRITABLE, rds_poll(self->a));
	close(fd);
	ASSERT_TRUE(pair_await_free(self, &name));
}

TEST_F(pair, poll_waits_for_a_message)
{
	struct rds_task task;

	rds_poll(self->b);
	ASSERT_EQ(0, rds_task_poll(&task, self->b, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(POLLIN, rds_task_join(&task));
}

/*
 * A program that does not use RDS_CONG_MONITOR learns in this way that it may
 * send again: it polls for input, and tries again whenever that reports an
 * update.
 */
TEST_F(pair, poll_waits_for_a_map_update)
{
	struct rds_task task;

	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	rds_poll(self->a);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	ASSERT_EQ(0, rds_task_poll(&task, self->a, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	drain(_metadata, self);
	EXPECT_EQ(POLLIN, rds_task_join(&task));
	EXPECT_EQ(1, try_send(self));
}

TEST_F(pair, select_sees_messages)
{
	struct timeval now = {};
	fd_set in, out;

	rds_poll(self->b);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(self->b, &in);
	FD_SET(self->b, &out);
	EXPECT_EQ(1, select(self->b + 1, &in, &out, NULL, &now));
	EXPECT_FALSE(FD_ISSET(self->b, &in));
	EXPECT_TRUE(FD_ISSET(self->b, &out));

	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	FD_SET(self->b, &in);
	EXPECT_EQ(2, select(self->b + 1, &in, &out, NULL, &now));
	EXPECT_TRUE(FD_ISSET(self->b, &in));
}

static int epoll_on(int fd, unsigned int events)
{
	struct epoll_event event = { .events = events };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	if (ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event))
		return -1;
	return ep;
}

/* Return the events of an epoll instance with one descriptor, or 0. */
static unsigned int epoll_events(int ep)
{
	struct epoll_event event;

	return epoll_wait(ep, &event, 1, 0) == 1 ? event.events : 0;
}

/* The same, but wait for events that must come. */
static unsigned int epoll_wait_events(int ep)
{
	struct epoll_event event;

	return epoll_wait(ep, &event, 1, 30000) == 1 ? event.events : 0;
}

TEST_F(pair, epoll_level_triggered)
{
	int ep = epoll_on(self->b, EPOLLIN);

	ASSERT_LE(0, ep);
	EXPECT_EQ(0, epoll_events(ep));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(EPOLLIN, epoll_wait_events(ep));
	EXPECT_EQ(EPOLLIN, epoll_events(ep));
	ASSERT_EQ(3, ERR(rds_recv(self->b, payload, 100)));
	EXPECT_EQ(0, epoll_events(ep));
	close(ep);
}

/* Each message is an edge, even if the queue was not empty. */
TEST_F(pair, epoll_edge_triggered)
{
	int i, ep = epoll_on(self->b, EPOLLIN | EPOLLET);

	ASSERT_LE(0, ep);
	EXPECT_EQ(0, epoll_events(ep));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0,
					    &self->b_name)));
		EXPECT_EQ(EPOLLIN, epoll_wait_events(ep));
		EXPECT_EQ(0, epoll_events(ep));
	}
	close(ep);
}

TEST_F(pair, epoll_oneshot)
{
	int ep = epoll_on(self->b, EPOLLIN | EPOLLONESHOT);

	ASSERT_LE(0, ep);
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(EPOLLIN, epoll_wait_events(ep));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(0, epoll_events(ep));
	close(ep);
}

TEST_F(pair, epoll_sees_a_map_update)
{
	int ep;

	fill(_metadata, self);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	ep = epoll_on(self->a, EPOLLIN | EPOLLET);
	ASSERT_LE(0, ep);
	epoll_events(ep);
	ASSERT_EQ(-ENOBUFS, try_send(self));
	EXPECT_EQ(0, epoll_events(ep));
	drain(_metadata, self);
	EXPECT_EQ(EPOLLIN, epoll_wait_events(ep));
	close(ep);
}

TEST_F(pair, epoll_outlives_the_descriptor)
{
	int ep = epoll_on(self->b, EPOLLIN);

	ASSERT_LE(0, ep);
	close(self->b);
	self->b = -1;
	EXPECT_EQ(0, epoll_events(ep));
	close(ep);
}

TEST_HARNESS_MAIN
