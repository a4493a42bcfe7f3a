// SPDX-License-Identifier: GPL-2.0
/* How streams end: shutdown(2), close(2), resets, peers that do not answer */
#include "stream_pair.h"
#include "stream_wire.h"

#include <sys/wait.h>

#define SEED	7

/* Seconds */
#define LINGER	20

static char buf[1024 * 1024];

TEST_F(stream, half_close)
{
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 5000));
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 5000));
	EXPECT_TRUE(stream_ended(self->b));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, 0)));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, MSG_DONTWAIT)));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, MSG_PEEK)));
}

/* The other direction goes on for as long as its sender wants. */
TEST_F(stream, half_closed_stream_works)
{
	struct stream_flow out;

	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	EXPECT_TRUE(stream_ended(self->b));
	ASSERT_EQ(0, stream_send_aside(&out, self->b, SEED, 1000000));
	EXPECT_TRUE(stream_recv(self->a, SEED, 0, 1000000));
	EXPECT_TRUE(stream_joined(&out));
	EXPECT_TRUE(rds_silent(self->a));
	ASSERT_EQ(0, ERR(shutdown(self->b, SHUT_WR)));
	EXPECT_TRUE(stream_ended(self->a));
}

TEST_F(stream, no_send_after_half_close)
{
	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	EXPECT_EQ(-EPIPE, ERR(send(self->a, "x", 1, MSG_NOSIGNAL)));
	EXPECT_EQ(0, stream_sigpipes());
	EXPECT_EQ(-EPIPE, ERR(send(self->a, "x", 1, 0)));
	EXPECT_EQ(1, stream_sigpipes());
	EXPECT_EQ(-EPIPE, ERR(write(self->a, "x", 1)));
	EXPECT_EQ(2, stream_sigpipes());
	EXPECT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	EXPECT_TRUE(stream_ended(self->b));
}

TEST_F(stream, sigpipe_kills)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		send(self->a, "x", 1, 0);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGPIPE, WTERMSIG(status));
}

TEST_F(stream, shutdown_of_reading)
{
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_RD)));
	EXPECT_EQ(0, ERR(recv(self->a, buf, 10, 0)));
	EXPECT_EQ(0, ERR(recv(self->a, buf, 10, MSG_DONTWAIT)));
	/* Its other direction is as before. */
	EXPECT_TRUE(stream_send(self->a, SEED, 0, 1000));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(stream, shutdown_of_reading_keeps_what_has_arrived)
{
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 1000));
	ASSERT_TRUE(stream_await_bytes(self->a, 1000));
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_RD)));
	EXPECT_TRUE(stream_recv(self->a, SEED, 0, 1000));
	EXPECT_TRUE(stream_ended(self->a));
}

TEST_F(stream, shutdown_of_both)
{
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_RDWR)));
	EXPECT_EQ(0, ERR(recv(self->a, buf, 10, 0)));
	EXPECT_EQ(-EPIPE, ERR(send(self->a, "x", 1, MSG_NOSIGNAL)));
	EXPECT_TRUE(stream_ended(self->b));
}

TEST_F(stream, shutdown_wakes_a_receiver)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->a, buf, 10));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_RDWR)));
	EXPECT_EQ(0, rds_task_join(&task));
}

TEST_F(stream, shutdown_wakes_a_sender)
{
	struct rds_name none = {};
	struct rds_task task;

	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_LT(0, stream_stuff(self->a, SEED));
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, sizeof(buf), &none));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	/* It reports what it has sent, if anything. */
	EXPECT_GT((long)sizeof(buf), rds_task_join(&task));
	EXPECT_TRUE(task.ret > 0 || task.ret == -EPIPE);
}

TEST_F(stream, end_wakes_a_receiver)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf, 10));
	EXPECT_TRUE(rds_task_blocked(&task));
	stream_close(&self->a);
	EXPECT_EQ(0, rds_task_join(&task));
}

TEST_F(stream, shutdown_refuses_nonsense)
{
	EXPECT_EQ(-EINVAL, ERR(shutdown(self->a, 3)));
	EXPECT_EQ(-EINVAL, ERR(shutdown(self->a, -1)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* close() returns before the data has arrived, and none of it is lost. */
TEST_F(stream, close_delivers)
{
	long sent;

	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	stream_close(&self->a);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_TRUE(stream_ended(self->b));
	EXPECT_EQ(0, rds_get(self->b, SOL_SOCKET, SO_ERROR));
}

TEST_F(stream, close_delivers_after_half_close)
{
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 100000));
	ASSERT_EQ(0, ERR(shutdown(self->a, SHUT_WR)));
	stream_close(&self->a);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 100000));
	EXPECT_TRUE(stream_ended(self->b));
}

/* Both ends have sent all they wanted, and close at the same time. */
TEST_F(stream, both_ends_close)
{
	int i, a, b;

	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a, &b));
		ASSERT_TRUE(stream_works(a, b));
		close(i & 1 ? a : b);
		close(i & 1 ? b : a);
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* The peer must learn that what it sent was not read. */
TEST_F(stream, close_with_unread_data_resets)
{
	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 1000));
	ASSERT_TRUE(stream_await_bytes(self->a, 1000));
	stream_close(&self->a);
	EXPECT_EQ(-ECONNRESET, stream_result(self->b));
	/* The error is reported once. */
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, 0)));
	EXPECT_EQ(-EPIPE, ERR(send(self->b, "x", 1, MSG_NOSIGNAL)));
	EXPECT_EQ(0, stream_sigpipes());
	EXPECT_EQ(-EPIPE, ERR(send(self->b, "x", 1, 0)));
	EXPECT_EQ(1, stream_sigpipes());
}

/* The first call that fails after a reset has the error, with no signal. */
TEST_F(stream, reset_fails_a_send)
{
	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	ASSERT_TRUE(stream_await_all(self->b, POLLERR));
	EXPECT_EQ(-ECONNRESET, ERR(send(self->b, "x", 1, 0)));
	EXPECT_EQ(0, stream_sigpipes());
	EXPECT_EQ(-EPIPE, ERR(send(self->b, "x", 1, 0)));
	EXPECT_EQ(1, stream_sigpipes());
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, 0)));
}

TEST_F(stream, reset_is_an_error_of_the_socket)
{
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	ASSERT_TRUE(stream_await_all(self->b, POLLERR));
	EXPECT_EQ(ECONNRESET, rds_get(self->b, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(0, rds_get(self->b, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, 0)));
}

/* An error that nobody has read is no error of the next stream. */
TEST_F(stream, errors_end_with_their_stream)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	ASSERT_EQ(0, stream_linger(self->b, true, 0));
	stream_close(&self->b);
	ASSERT_TRUE(stream_await(self->a, POLLERR) & POLLERR);
	ASSERT_EQ(0, ERR(connect(self->a, &none, sizeof(none))));
	ASSERT_EQ(0, ERR(rds_connect(self->a, self->name)));
	self->b = stream_accept(self->listener);
	ASSERT_LE(0, self->b);
	EXPECT_EQ(0, rds_poll(self->a) & POLLERR);
	EXPECT_TRUE(stream_works(self->a, self->b));
	EXPECT_EQ(0, rds_get(self->a, SOL_SOCKET, SO_ERROR));
}

TEST_F(stream, reset_wakes_a_receiver)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf, 10));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	EXPECT_EQ(-ECONNRESET, rds_task_join(&task));
}

static bool await_taken(int fd)
{
	unsigned int left;

	for (left = STREAM_PATIENCE; left && stream_inq(fd); left--)
		usleep(1000);
	return left;
}

/*
 * A read that has got some bytes leaves the error to the next one. It has to
 * have got them before the reset, which may discard what nobody has read.
 */
TEST_F(stream, reset_behind_some_bytes)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 100));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	ASSERT_TRUE(stream_await_bytes(self->b, 10));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf, 500));
	ASSERT_TRUE(await_taken(self->b));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	EXPECT_EQ(10, rds_task_join(&task));
	EXPECT_EQ(-ECONNRESET, ERR(recv(self->b, buf, 10, 0)));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 10, 0)));
}

TEST_F(stream, reset_wakes_a_sender)
{
	struct rds_name none = {};
	struct rds_task task;

	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_LT(0, stream_stuff(self->b, SEED));
	ASSERT_EQ(0, rds_task_send(&task, self->b, buf, sizeof(buf), &none));
	EXPECT_TRUE(rds_task_blocked(&task));
	stream_close(&self->a);
	EXPECT_GT((long)sizeof(buf), rds_task_join(&task));
	EXPECT_TRUE(task.ret > 0 || task.ret == -ECONNRESET ||
		    task.ret == -EPIPE);
	EXPECT_GT(0, ERR(send(self->b, "x", 1, MSG_NOSIGNAL)));
}

/*
 * The peer has closed its socket and does not read. A sender learns of that
 * when it sends.
 */
TEST_F(stream, send_to_a_closed_peer)
{
	long ret;

	ASSERT_EQ(0, stream_catch_sigpipe());
	stream_close(&self->a);
	ASSERT_TRUE(stream_ended(self->b));
	ret = stream_send_fails(self->b, MSG_NOSIGNAL);
	EXPECT_TRUE(ret == -EPIPE || ret == -ECONNRESET);
	EXPECT_EQ(0, stream_sigpipes());
	EXPECT_EQ(-EPIPE, stream_send_fails(self->b, 0));
	EXPECT_EQ(1, stream_sigpipes());
}

/* A stream that was reset does not disturb the others of its connection. */
TEST_F(stream, reset_of_one_stream)
{
	int i, a[10], b[10];

	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a[i], &b[i]));
		ASSERT_TRUE(stream_send(b[i], i, 0, 10000));
	}
	for (i = 0; i < 10; i += 2) {
		ASSERT_EQ(0, stream_linger(a[i], true, 0));
		close(a[i]);
		EXPECT_TRUE(stream_await_all(b[i], POLLERR));
		close(b[i]);
	}
	for (i = 1; i < 10; i += 2) {
		EXPECT_TRUE(stream_recv(a[i], i, 0, 10000));
		EXPECT_TRUE(stream_works(a[i], b[i]));
		close(a[i]);
		close(b[i]);
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, linger_reads_back)
{
	struct linger linger = { 5, 5 };
	socklen_t len = sizeof(linger);

	ASSERT_EQ(0, getsockopt(self->a, SOL_SOCKET, SO_LINGER, &linger, &len));
	EXPECT_EQ(0, linger.l_onoff);
	ASSERT_EQ(0, stream_linger(self->a, true, 30));
	ASSERT_EQ(0, getsockopt(self->a, SOL_SOCKET, SO_LINGER, &linger, &len));
	EXPECT_EQ(1, linger.l_onoff);
	EXPECT_EQ(30, linger.l_linger);
}

static void *close_socket(void *data)
{
	int *fd = data;
	long before = now_ms();

	close(*fd);
	return (void *)(now_ms() - before);
}

/* close() waits until all is acknowledged. */
TEST_F(stream, linger_delivers)
{
	pthread_t thread;
	void *took;
	long sent;

	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	ASSERT_EQ(0, stream_linger(self->a, true, 100));
	ASSERT_EQ(0, pthread_create(&thread, NULL, close_socket, &self->a));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_TRUE(stream_ended(self->b));
	pthread_join(thread, &took);
	self->a = -1;
	EXPECT_GT(STREAM_PATIENCE, (long)took);
}

/* Nothing is left to be sent: close() returns at once. */
TEST_F(stream, linger_without_data)
{
	ASSERT_TRUE(stream_works(self->a, self->b));
	ASSERT_EQ(0, stream_linger(self->a, true, 1000));
	stream_close(&self->a);
	EXPECT_TRUE(stream_ended(self->b));
}

/* The end of a listener does not concern its streams. */
TEST_F(stream, streams_outlive_their_listener)
{
	stream_close(&self->listener);
	EXPECT_TRUE(stream_works(self->a, self->b));
	stream_close(&self->a);
	EXPECT_TRUE(stream_ended(self->b));
}

/* What was sent during an interruption arrives after it. */
TEST_F(wire, interruption)
{
	ASSERT_TRUE(stream_works(self->a, self->b));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, 1, 0, 10000));
	ASSERT_TRUE(stream_send(self->b, 2, 0, 10000));
	EXPECT_TRUE(stream_quiet(self->b, POLLIN));
	EXPECT_TRUE(stream_quiet(self->a, POLLIN));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, 1, 0, 10000));
	EXPECT_TRUE(stream_recv(self->a, 2, 0, 10000));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Accept a stream, and send a byte on it. */
static void b_speaks(int listener)
{
	int fd = stream_accept(listener);

	send(fd, "x", 1, MSG_NOSIGNAL);
	close(fd);
}

/* A read waits as long as connect() does, and can be interrupted. */
TEST_F(wire, read_while_connecting)
{
	int fd = stream_socket(variant->a);
	struct rds_task task;
	char byte;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(-EAGAIN, ERR(recv(fd, &byte, 1, 0)));
	EXPECT_EQ(-EAGAIN, ERR(recv(fd, &byte, 1, MSG_PEEK)));
	ASSERT_EQ(0, stream_nonblocking(fd, false));
	ASSERT_EQ(0, rds_set_timeout(fd, SO_RCVTIMEO, 300));
	EXPECT_EQ(-EAGAIN, ERR(recv(fd, &byte, 1, 0)));
	ASSERT_EQ(0, rds_set_timeout(fd, SO_RCVTIMEO, 0));
	ASSERT_EQ(0, rds_task_recv(&task, fd, &byte, 1));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, wire_mend(variant));
	b_speaks(self->listener);
	EXPECT_EQ(1, rds_task_join(&task));
	close(fd);
}

/* As with TCP, shutdown() of any half ends the attempt. */
TEST_F(wire, shutdown_while_connecting)
{
	int fd = stream_socket(variant->a), how;
	struct rds_task task;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	for (how = SHUT_RD; how <= SHUT_RDWR; how++) {
		ASSERT_EQ(0, stream_nonblocking(fd, true));
		EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
		EXPECT_EQ(0, ERR(shutdown(fd, how)));
		EXPECT_EQ(ECONNRESET, rds_get(fd, SOL_SOCKET, SO_ERROR));
		ASSERT_EQ(0, stream_nonblocking(fd, false));
		ASSERT_EQ(0, rds_task_connect(&task, fd, &self->name));
		EXPECT_TRUE(rds_task_blocked(&task));
		EXPECT_EQ(0, ERR(shutdown(fd, how)));
		EXPECT_EQ(-ECONNRESET, rds_task_join(&task));
	}
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	close(fd);
}

/* close() waits no longer than it was told to. */
TEST_F(wire, linger_times_out)
{
	long took;

	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	ASSERT_EQ(0, stream_linger(self->a, true, 1));
	took = (long)close_socket(&self->a);
	self->a = -1;
	EXPECT_LE(900, took);
	EXPECT_GT(STREAM_PATIENCE, took);
}

TEST_F(wire, bytes_to_be_acknowledged)
{
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	EXPECT_EQ(1000, stream_outq(self->a));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	EXPECT_TRUE(rds_await_acked(self->a));
}

/* What was sent in an interruption arrives after it, and so does the end. */
TEST_F(wire, close_during_an_interruption)
{
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10000));
	stream_close(&self->a);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 10000));
	EXPECT_TRUE(stream_ended(self->b));
}

/* Nobody reads what waits to be sent to a peer that is closed. So it keeps
 * neither the stream nor close(). TCP does not learn of such a close.
 */
TEST_F(wire, close_behind_the_peers)
{
	long took;

	ASSERT_EQ(0, wire_cut_far(variant));
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 10));
	stream_close(&self->a);
	EXPECT_TRUE(stream_ended(self->b));
	EXPECT_EQ(10, stream_outq(self->b));
	ASSERT_EQ(0, stream_linger(self->b, true, LINGER));
	took = (long)close_socket(&self->b);
	self->b = -1;
	if (!stream_over_inet())
		EXPECT_GT(1000 * LINGER, took);
}

TEST_HARNESS_MAIN
