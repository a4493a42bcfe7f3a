// SPDX-License-Identifier: GPL-2.0
/* TCP_USER_TIMEOUT and keepalive of streams */
#include "stream_pair.h"
#include "stream_wire.h"

#include <limits.h>
#include <netinet/tcp.h>

#define SEED	7

static char buf[1024 * 1024];

static bool times_out(int fd)
{
	return (stream_await(fd, POLLERR) & POLLERR) &&
	       rds_get(fd, SOL_SOCKET, SO_ERROR) == ETIMEDOUT;
}

/* Write @size bytes whenever poll() says so. Returns why this ends. */
static long write_for_ever(int fd, size_t size)
{
	long ret;

	while (stream_await(fd, POLLOUT)) {
		ret = ERR(send(fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL));
		if (ret < 0 && ret != -EAGAIN)
			return ret;
	}
	return -ETIME;
}

/* A peer that has nothing to send may acknowledge late, but not that late. */
TEST_F(stream, user_timeout_spares_a_silent_peer)
{
	int i;

	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 190));
	for (i = 0; i < 3; i++) {
		ASSERT_TRUE(stream_send(self->a, SEED, 0, 100));
		ASSERT_TRUE(stream_recv(self->b, SEED, 0, 100));
	}
	poll(NULL, 0, 600);
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Each end of TCP_USER_TIMEOUT finds a peer that does not answer. */
TEST_F(wire, user_timeout_finds_a_dead_peer)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(3, ERR(send(self->a, "abc", 3, 0)));
	EXPECT_TRUE(times_out(self->a));
	EXPECT_EQ(-EPIPE, ERR(send(self->a, "x", 1, MSG_NOSIGNAL)));
}

TEST_F(wire, keepalive_finds_a_dead_peer)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPIDLE, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPINTVL, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPCNT, 2));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_KEEPALIVE, 1));
	ASSERT_EQ(0, wire_cut(variant));
	EXPECT_TRUE(times_out(self->a));
}

TEST_F(wire, keepalive_set_before_connect)
{
	int b, a = stream_socket(variant->a);

	ASSERT_EQ(0, rds_set(a, SOL_SOCKET, SO_KEEPALIVE, 1));
	ASSERT_EQ(0, rds_set(a, IPPROTO_TCP, TCP_KEEPIDLE, 1));
	ASSERT_EQ(0, rds_set(a, IPPROTO_TCP, TCP_KEEPINTVL, 1));
	ASSERT_EQ(0, rds_set(a, IPPROTO_TCP, TCP_KEEPCNT, 2));
	ASSERT_EQ(0, ERR(rds_connect(a, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	ASSERT_EQ(0, wire_cut(variant));
	EXPECT_TRUE(times_out(a));
	close(a);
	close(b);
}

TEST_F(wire, keepalive_keeps_a_stream)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPIDLE, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPINTVL, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPCNT, 1));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_KEEPALIVE, 1));
	poll(NULL, 0, 4000);
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* As with TCP, TCP_USER_TIMEOUT replaces the number of keepalive probes. */
TEST_F(wire, user_timeout_outlasts_keepalive)
{
	long before = now_ms();

	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPIDLE, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPINTVL, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_KEEPCNT, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_KEEPALIVE, 1));
	EXPECT_TRUE(times_out(self->a));
	EXPECT_LE(before + 2400, now_ms());
}

/* The peer's host answers, but its program does not read. As with TCP, the time
 * limit is also for what waits for that.
 */
TEST_F(stream, user_timeout_of_a_peer_that_does_not_read)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000));
	EXPECT_EQ(-ETIMEDOUT, write_for_ever(self->a, sizeof(buf)));
	EXPECT_EQ(-EPIPE, ERR(send(self->a, "x", 1, MSG_NOSIGNAL)));
}

/* Here no write() fails, but poll() never says that there is room. */
TEST_F(stream, user_timeout_of_short_writes)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000));
	EXPECT_EQ(-ETIMEDOUT, write_for_ever(self->a, 10000));
}

/* Likewise if the limit is set after the peer has stopped to read. */
TEST_F(stream, user_timeout_that_is_set_late)
{
	ASSERT_LT(0, stream_stuff(self->a, SEED));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 300));
	EXPECT_TRUE(times_out(self->a));
}

/* A writer that sleeps is told, too. */
TEST_F(stream, user_timeout_ends_a_write)
{
	struct rds_task task;

	ASSERT_LT(0, stream_stuff(self->a, SEED));
	/* A name is ignored, as by TCP. */
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, 1, &self->name));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 300));
	EXPECT_EQ(-ETIMEDOUT, rds_task_join(&task));
}

/* Returns how many sockets the namespace has. */
static int sockets_used(void)
{
	FILE *file = fopen("/proc/thread-self/net/sockstat", "r");
	int nr = -1;

	if (!file)
		return -1;
	if (fscanf(file, "sockets: used %d", &nr) != 1)
		nr = -1;
	fclose(file);
	return nr;
}

/* A socket that has ended can be given a limit, and is gone when closed. */
TEST_F(stream, user_timeout_after_the_end)
{
	int i, nr;

	ASSERT_LT(0, stream_stuff(self->a, SEED));
	ASSERT_EQ(0, stream_linger(self->b, true, 0));
	stream_close(&self->b);
	EXPECT_TRUE(stream_await_all(self->a, POLLERR | POLLHUP));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, INT_MAX));
	/* The other end may be in this namespace, too. */
	poll(NULL, 0, 300);
	nr = sockets_used();
	ASSERT_LT(0, nr);
	stream_close(&self->a);
	for (i = 0; i < 500 && sockets_used() != nr - 1; i++)
		poll(NULL, 0, 10);
	EXPECT_EQ(nr - 1, sockets_used());
}

/* The time begins again when the peer has read, and nothing happens when it is
 * over if all was read. If packets were lost, TCP may go on counting.
 */
TEST_F(wire, user_timeout_spares_a_slow_reader)
{
	int i, rounds = stream_over_inet() ? 1 : 2;
	long sent;

	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000));
	for (i = 0; i < rounds; i++) {
		sent = stream_stuff(self->a, SEED);
		ASSERT_LT(0, sent);
		poll(NULL, 0, 1700);
		ASSERT_TRUE(stream_recv(self->b, SEED, 0, sent));
	}
	poll(NULL, 0, 3200);
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_HARNESS_MAIN
