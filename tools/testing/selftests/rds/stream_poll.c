// SPDX-License-Identifier: GPL-2.0
/* poll(2), select(2), epoll(7) and SIGIO for streams */
#include "stream_pair.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/select.h>

#define READABLE	STREAM_READABLE
#define WRITABLE	STREAM_WRITABLE
#define ENDED		(READABLE | POLLRDHUP)
#define SEED		7

static char buf[1024 * 1024];

TEST_F(stream, idle_is_writable)
{
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
	EXPECT_EQ(WRITABLE, rds_poll(self->b));
}

TEST_F(stream, unconnected)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(WRITABLE | POLLHUP, rds_poll(fd));
	ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(variant->a, 0))));
	EXPECT_EQ(WRITABLE | POLLHUP, rds_poll(fd));
	close(fd);
}

TEST_F(stream, pending_connection_makes_readable)
{
	int b, a;

	EXPECT_EQ(0, rds_poll(self->listener));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	ASSERT_TRUE(stream_await(self->listener, POLLIN));
	EXPECT_EQ(READABLE, rds_poll(self->listener));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_EQ(0, rds_poll(self->listener));
	close(a);
	close(b);
}

TEST_F(stream, data_makes_readable)
{
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	ASSERT_TRUE(stream_await_bytes(self->b, 10));
	EXPECT_EQ(READABLE | WRITABLE, rds_poll(self->b));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 9));
	EXPECT_EQ(READABLE | WRITABLE, rds_poll(self->b));
	EXPECT_TRUE(stream_recv(self->b, SEED, 9, 1));
	EXPECT_EQ(WRITABLE, rds_poll(self->b));
}

TEST_F(stream, half_close)
{
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_await_all(self->b, POLLRDHUP));
	EXPECT_EQ(ENDED | WRITABLE, rds_poll(self->b));
	ASSERT_TRUE(stream_ended(self->b));
	EXPECT_EQ(ENDED | WRITABLE, rds_poll(self->b));
	/* What sends nothing any more, can still receive. */
	EXPECT_EQ(0, rds_poll(self->a) & (POLLIN | POLLRDHUP | POLLHUP));
}

TEST_F(stream, shutdown_of_reading)
{
	ASSERT_EQ(0, shutdown(self->a, SHUT_RD));
	EXPECT_EQ(ENDED | WRITABLE, rds_poll(self->a));
}

TEST_F(stream, both_halves_closed)
{
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_ended(self->b));
	ASSERT_EQ(0, shutdown(self->b, SHUT_WR));
	EXPECT_TRUE(stream_await_all(self->a, ENDED | POLLHUP));
	EXPECT_TRUE(stream_await_all(self->b, ENDED | POLLHUP));
	EXPECT_EQ(0, rds_poll(self->a) & POLLERR);
	EXPECT_EQ(0, rds_poll(self->b) & POLLERR);
}

TEST_F(stream, shutdown_of_both)
{
	ASSERT_EQ(0, shutdown(self->a, SHUT_RDWR));
	EXPECT_TRUE(stream_await_all(self->a, ENDED | POLLHUP));
}

TEST_F(stream, reset)
{
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	EXPECT_TRUE(stream_await_all(self->b, ENDED | POLLERR | POLLHUP));
	EXPECT_EQ(ECONNRESET, rds_get(self->b, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(ENDED | POLLHUP | WRITABLE, rds_poll(self->b));
}

TEST_F(stream, full_and_drained)
{
	long sent = stream_stuff(self->a, SEED);

	ASSERT_LT(0, sent);
	EXPECT_EQ(0, rds_poll(self->a));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_EQ(POLLOUT, stream_await(self->a, POLLOUT));
	EXPECT_EQ(WRITABLE, rds_poll(self->a));
}

/* POLLOUT means that a send without waiting does something. */
TEST_F(stream, writable_means_room)
{
	uint64_t got = 0;
	long sent, ret;
	int i;

	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	for (i = 0; i < 20; i++) {
		while (!(rds_poll(self->a) & POLLOUT)) {
			ASSERT_LT(got, sent);
			ASSERT_TRUE(stream_recv(self->b, SEED, got, 1));
			got++;
			ret = ERR(recv(self->b, buf, 65536, MSG_DONTWAIT));
			ASSERT_TRUE(ret > 0 || ret == -EAGAIN);
			if (ret < 0)
				continue;
			ASSERT_TRUE(stream_check(buf, ret, SEED, got));
			got += ret;
		}
		stream_fill(buf, 10, SEED, sent);
		ASSERT_EQ(10, ERR(send(self->a, buf, 10, MSG_DONTWAIT)));
		sent += 10;
	}
	EXPECT_TRUE(stream_recv(self->b, SEED, got, sent - got));
}

TEST_F(stream, data_wakes_a_poll)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_poll(&task, self->b, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1));
	EXPECT_EQ(POLLIN, rds_task_join(&task));
}

TEST_F(stream, connection_wakes_a_poll)
{
	struct rds_task task;
	int a;

	ASSERT_EQ(0, rds_task_poll(&task, self->listener, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	EXPECT_EQ(POLLIN, rds_task_join(&task));
	close(a);
}

TEST_F(stream, room_wakes_a_poll)
{
	long sent = stream_stuff(self->a, SEED);
	struct rds_task task;

	ASSERT_LT(0, sent);
	ASSERT_EQ(0, rds_task_poll(&task, self->a, POLLOUT));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_EQ(POLLOUT, rds_task_join(&task));
}

TEST_F(stream, half_close_wakes_a_poll)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_poll(&task, self->b, POLLRDHUP));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(POLLRDHUP, rds_task_join(&task));
}

TEST_F(stream, reset_wakes_a_poll)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_poll(&task, self->b, 0));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	EXPECT_EQ(POLLERR, rds_task_join(&task) & POLLERR);
}

TEST_F(stream, select)
{
	struct timeval patience = { .tv_sec = STREAM_PATIENCE / 1000 };
	fd_set in, out;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(self->b, &in);
	FD_SET(self->a, &out);
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1));
	ASSERT_TRUE(stream_await_bytes(self->b, 1));
	EXPECT_EQ(2, select((self->a > self->b ? self->a : self->b) + 1, &in,
			    &out, NULL, &patience));
	EXPECT_TRUE(FD_ISSET(self->b, &in));
	EXPECT_TRUE(FD_ISSET(self->a, &out));
}

/* Watch @fd with epoll. Returns the descriptor of the epoll instance. */
static int watch(int fd, uint32_t events)
{
	struct epoll_event event = { .events = events };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	if (epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(epoll);
		return -1;
	}
	return epoll;
}

/* Return the next events, or 0 if there are none within @ms. */
static uint32_t next_events(int epoll, int ms)
{
	struct epoll_event event;

	return epoll_wait(epoll, &event, 1, ms) == 1 ? event.events : 0;
}

TEST_F(stream, level_triggered)
{
	int epoll = watch(self->b, EPOLLIN);

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 2));
	EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 2));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	close(epoll);
}

/* An edge is reported once, although data is left. */
TEST_F(stream, edge_triggered_input)
{
	int epoll = watch(self->b, EPOLLIN | EPOLLRDHUP | EPOLLET);

	ASSERT_LE(0, epoll);
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 2));
	EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	ASSERT_TRUE(stream_send(self->a, SEED, 2, 1));
	EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	EXPECT_TRUE(stream_recv(self->b, SEED, 1, 2));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(EPOLLIN | EPOLLRDHUP, next_events(epoll, STREAM_PATIENCE));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	close(epoll);
}

TEST_F(stream, edge_triggered_output)
{
	int epoll = watch(self->a, EPOLLOUT | EPOLLET);
	long sent;

	ASSERT_LE(0, epoll);
	EXPECT_EQ(EPOLLOUT, next_events(epoll, STREAM_PATIENCE));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	while (next_events(epoll, STREAM_A_WHILE))
		;
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_EQ(EPOLLOUT, next_events(epoll, STREAM_PATIENCE));
	close(epoll);
}

TEST_F(stream, edge_triggered_accept)
{
	int i, a[3], epoll = watch(self->listener, EPOLLIN | EPOLLET);

	ASSERT_LE(0, epoll);
	for (i = 0; i < 3; i++) {
		a[i] = stream_connected(variant, self->name);
		ASSERT_LE(0, a[i]);
		EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	}
	for (i = 0; i < 3; i++)
		close(a[i]);
	close(epoll);
}

/* A program with edges for everything, as event loops have them */
TEST_F(stream, edges_carry_a_transfer)
{
	int epoll = watch(self->b, EPOLLIN | EPOLLRDHUP | EPOLLET);
	struct stream_flow out;
	uint64_t got = 0;
	ssize_t ret;

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, stream_send_aside(&out, self->a, SEED, 3000000));
	while (got < 3000000) {
		ASSERT_NE(0, next_events(epoll, STREAM_PATIENCE));
		while ((ret = recv(self->b, buf, 7000, MSG_DONTWAIT)) > 0) {
			ASSERT_TRUE(stream_check(buf, ret, SEED, got));
			got += ret;
		}
		ASSERT_EQ(-1, ret);
		ASSERT_EQ(EAGAIN, errno);
	}
	EXPECT_TRUE(stream_joined(&out));
	close(epoll);
}

TEST_F(stream, lowat_delays_input)
{
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 100));
	EXPECT_EQ(100, rds_get(self->b, SOL_SOCKET, SO_RCVLOWAT));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 99));
	ASSERT_TRUE(stream_await_bytes(self->b, 99));
	EXPECT_EQ(WRITABLE, rds_poll(self->b));
	ASSERT_TRUE(stream_send(self->a, SEED, 99, 1));
	EXPECT_EQ(POLLIN, stream_await(self->b, POLLIN));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 100));
	/* The end is reported however little precedes it. */
	ASSERT_TRUE(stream_send(self->a, SEED, 100, 1));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(POLLIN, stream_await(self->b, POLLIN));
	EXPECT_TRUE(stream_recv(self->b, SEED, 100, 1));
	EXPECT_TRUE(stream_ended(self->b));
}

/* What is there may be enough for a smaller mark. */
TEST_F(stream, lowat_that_is_lowered)
{
	int epoll = watch(self->b, EPOLLIN | EPOLLET);

	ASSERT_LE(0, epoll);
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 100));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 50));
	ASSERT_TRUE(stream_await_bytes(self->b, 50));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 51));
	EXPECT_EQ(0, next_events(epoll, STREAM_A_WHILE));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 0));
	EXPECT_EQ(1, rds_get(self->b, SOL_SOCKET, SO_RCVLOWAT));
	EXPECT_EQ(EPOLLIN, next_events(epoll, STREAM_PATIENCE));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 50));
	close(epoll);
}

static atomic_uint sigios;

static void count_sigio(int sig)
{
	(void)sig;
	sigios++;
}

static bool await_sigio(unsigned int before)
{
	unsigned int left;

	for (left = STREAM_PATIENCE; left && sigios == before; left--)
		usleep(1000);
	return sigios != before;
}

TEST_F(stream, sigio)
{
	struct sigaction action = { .sa_handler = count_sigio };
	unsigned int before;

	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	ASSERT_EQ(0, fcntl(self->b, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->b, F_SETFL, O_ASYNC));
	before = sigios;
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1));
	EXPECT_TRUE(await_sigio(before));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1));
	before = sigios;
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(await_sigio(before));
	EXPECT_TRUE(stream_ended(self->b));
}

/* A program that has met EAGAIN is told of room. */
TEST_F(stream, sigio_of_room)
{
	struct sigaction action = { .sa_handler = count_sigio };
	unsigned int before;
	long sent;

	ASSERT_EQ(0, sigaction(SIGIO, &action, NULL));
	ASSERT_EQ(0, fcntl(self->a, F_SETOWN, getpid()));
	ASSERT_EQ(0, fcntl(self->a, F_SETFL, O_ASYNC));
	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	before = sigios;
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_TRUE(await_sigio(before));
}

TEST_HARNESS_MAIN
