// SPDX-License-Identifier: GPL-2.0
/* listen(2), accept(2) and connect(2) for streams */
#define WIRE_PATIENCE	"60000"
#include "stream_pair.h"
#include "stream_wire.h"

#include <fcntl.h>
#include <sys/resource.h>

#define PORT	4000
#define QUEUED	20

/* Return the result of connect(2) to @port of the far end. */
static long try_connect(const FIXTURE_VARIANT(stream) *variant,
			unsigned int port)
{
	int fd = stream_socket(variant->a);
	long ret = ERR(rds_connect(fd, rds_name(variant->b, port)));

	close(fd);
	return ret;
}

TEST_F(stream, both_directions_work)
{
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, accept_flags)
{
	int fd, a = stream_connected(variant, self->name);

	ASSERT_LE(0, a);
	ASSERT_TRUE(stream_await(self->listener, POLLIN));
	fd = accept4(self->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EXPECT_EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	close(a);

	/* The accepted socket does not inherit O_NONBLOCK. */
	ASSERT_EQ(0, stream_nonblocking(self->listener, true));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	ASSERT_TRUE(stream_await(self->listener, POLLIN));
	fd = accept(self->listener, NULL, NULL);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, fcntl(fd, F_GETFD));
	EXPECT_EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	EXPECT_EQ(-EINVAL, ERR(accept4(self->listener, NULL, NULL, 1)));
	close(fd);
	close(a);
}

TEST_F(stream, accept_returns_the_name_of_the_peer)
{
	int fd, a = stream_connected(variant, self->name);
	struct rds_name near = rds_sockname(a);
	struct rds_name name = { .len = sizeof(name.ss) };

	ASSERT_LE(0, a);
	ASSERT_TRUE(stream_await(self->listener, POLLIN));
	fd = accept(self->listener, &name.sa, &name.len);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(rds_name_eq(&name, &near));
	close(fd);
	close(a);
}

TEST_F(stream, accept_without_a_connection)
{
	int fd = stream_bound(variant->a, 0);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(accept(fd, NULL, NULL)));
	EXPECT_EQ(-EINVAL, ERR(accept(self->a, NULL, NULL)));
	ASSERT_EQ(0, stream_nonblocking(self->listener, true));
	EXPECT_EQ(-EAGAIN, ERR(accept(self->listener, NULL, NULL)));
	close(fd);
}

TEST_F(stream, accept_waits)
{
	struct rds_task task;
	int a;

	ASSERT_EQ(0, rds_task_accept(&task, self->listener));
	EXPECT_TRUE(rds_task_blocked(&task));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	EXPECT_LE(0, rds_task_join(&task));
	EXPECT_TRUE(stream_works(a, task.ret));
	close(task.ret);
	close(a);
}

TEST_F(stream, accept_times_out)
{
	long before = now_ms();

	ASSERT_EQ(0, rds_set_timeout(self->listener, SO_RCVTIMEO, 50));
	EXPECT_EQ(-EAGAIN, ERR(accept(self->listener, NULL, NULL)));
	EXPECT_LE(40, now_ms() - before);
}

TEST_F(stream, signal_interrupts_accept)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_task_accept(&task, self->listener));
	EXPECT_TRUE(rds_task_blocked(&task));
	pthread_kill(task.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, rds_task_join(&task));
	EXPECT_EQ(1, rds_signal_count());
}

TEST_F(stream, shutdown_ends_accept)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_accept(&task, self->listener));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_EQ(0, ERR(shutdown(self->listener, SHUT_RDWR)));
	EXPECT_EQ(-EINVAL, rds_task_join(&task));
	EXPECT_EQ(-ECONNREFUSED,
		  try_connect(variant, rds_port(&self->name)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, connections_are_accepted_in_order)
{
	struct rds_name name[QUEUED], peer;
	int i, b, a[QUEUED];

	for (i = 0; i < QUEUED; i++) {
		a[i] = stream_connected(variant, self->name);
		ASSERT_LE(0, a[i]);
		name[i] = rds_sockname(a[i]);
	}
	for (i = 0; i < QUEUED; i++) {
		b = stream_accept(self->listener);
		ASSERT_LE(0, b);
		peer = rds_peername(b);
		EXPECT_TRUE(rds_name_eq(&name[i], &peer));
		EXPECT_TRUE(stream_works(a[i], b));
		close(b);
		close(a[i]);
	}
}

TEST_F(stream, data_arrives_before_accept)
{
	int b, a = stream_connected(variant, self->name);

	ASSERT_LE(0, a);
	EXPECT_TRUE(stream_send(a, 1, 0, 5000));
	stream_close(&a);
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_recv(b, 1, 0, 5000));
	EXPECT_TRUE(stream_ended(b));
	close(b);
}

/* Connections that nobody will accept are reset. */
TEST_F(stream, closing_a_listener_resets_its_queue)
{
	int i, a[QUEUED];

	for (i = 0; i < QUEUED; i++) {
		a[i] = stream_connected(variant, self->name);
		ASSERT_LE(0, a[i]);
	}
	stream_close(&self->listener);
	for (i = 0; i < QUEUED; i++) {
		EXPECT_EQ(-ECONNRESET, stream_result(a[i]));
		close(a[i]);
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

#define CLIENTS	6

/* Let each client that is connected send its number, once. */
static void send_numbers(const int *client, bool *sent)
{
	int i;

	for (i = 0; i < CLIENTS; i++)
		if (!sent[i] && (rds_poll(client[i]) & POLLOUT))
			sent[i] = send(client[i], &i, sizeof(i),
				       MSG_NOSIGNAL) == sizeof(i);
}

/*
 * A full queue delays clients, and each one that goes on is accepted. In TCP a
 * client may have to send before the server knows that it is connected.
 */
TEST_F(stream, short_backlog)
{
	int a[CLIENTS], i, b, number;
	bool sent[CLIENTS] = {}, seen[CLIENTS] = {};
	long until = now_ms() + STREAM_PATIENCE;

	ASSERT_EQ(0, listen(self->listener, 1));
	for (i = 0; i < CLIENTS; i++) {
		a[i] = stream_socket(variant->a);
		ASSERT_LE(0, a[i]);
		ASSERT_EQ(0, stream_nonblocking(a[i], true));
		ASSERT_TRUE(!rds_connect(a[i], self->name) ||
			    errno == EINPROGRESS);
	}
	for (i = 0; i < CLIENTS && now_ms() < until;) {
		send_numbers(a, sent);
		if (stream_quiet(self->listener, POLLIN))
			continue;
		b = stream_accept(self->listener);
		ASSERT_LE(0, b);
		/* The client may learn later than the server. */
		while (stream_quiet(b, POLLIN) && now_ms() < until)
			send_numbers(a, sent);
		ASSERT_TRUE(stream_await_bytes(b, sizeof(number)));
		ASSERT_EQ(4, ERR(recv(b, &number, sizeof(number), 0)));
		ASSERT_FALSE(seen[number % CLIENTS]);
		seen[number % CLIENTS] = true;
		close(b);
		i++;
	}
	EXPECT_EQ(CLIENTS, i);
	for (i = 0; i < CLIENTS; i++)
		close(a[i]);
}

TEST_F(stream, listen_binds)
{
	int b, a, fd = stream_far_socket(variant);
	struct rds_name name;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ACCEPTCONN));
	ASSERT_EQ(0, ERR(listen(fd, 5)));
	EXPECT_EQ(1, rds_get(fd, SOL_SOCKET, SO_ACCEPTCONN));
	name = rds_sockname(fd);
	EXPECT_NE(0, rds_port(&name));
	a = stream_connected(variant, rds_name(variant->b, rds_port(&name)));
	ASSERT_LE(0, a);
	b = stream_accept(fd);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(fd);
}

TEST_F(stream, listen_of_a_stream)
{
	EXPECT_EQ(-EINVAL, ERR(listen(self->a, 1)));
	EXPECT_EQ(-EINVAL, ERR(listen(self->b, 1)));
	/* Another backlog is no mistake. */
	EXPECT_EQ(0, ERR(listen(self->listener, 0)));
	EXPECT_EQ(0, ERR(listen(self->listener, 10)));
	EXPECT_EQ(0, ERR(listen(self->listener, -1)));
}

TEST_F(stream, wildcard_listener)
{
	struct rds_name name, expected;
	int a, b, fd = stream_far_socket(variant);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(variant->any, 0))));
	ASSERT_EQ(0, listen(fd, 1));
	name = rds_sockname(fd);
	expected = rds_name(variant->b, rds_port(&name));
	a = stream_connected(variant, expected);
	ASSERT_LE(0, a);
	b = stream_accept(fd);
	ASSERT_LE(0, b);
	name = rds_sockname(b);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(fd);
}

TEST_F(stream, listener_is_no_stream)
{
	char byte = 0;

	EXPECT_EQ(-EISCONN, ERR(rds_connect(self->listener, self->name)));
	EXPECT_EQ(-ENOTCONN, ERR(recv(self->listener, &byte, 1, 0)));
	EXPECT_EQ(-EPIPE, ERR(send(self->listener, &byte, 1, MSG_NOSIGNAL)));
}

TEST_F(stream, unconnected_is_no_stream)
{
	int fd = stream_socket(variant->a);
	char byte = 0;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, stream_catch_sigpipe());
	EXPECT_EQ(-ENOTCONN, ERR(recv(fd, &byte, 1, 0)));
	EXPECT_EQ(-EPIPE, ERR(send(fd, &byte, 1, MSG_NOSIGNAL)));
	EXPECT_EQ(0, stream_sigpipes());
	EXPECT_EQ(-EPIPE, ERR(send(fd, &byte, 1, 0)));
	EXPECT_EQ(1, stream_sigpipes());
	EXPECT_EQ(-ENOTCONN, ERR(shutdown(fd, SHUT_RD)));
	EXPECT_EQ(-ENOTCONN, ERR(shutdown(fd, SHUT_WR)));
	EXPECT_EQ(-ENOTCONN, ERR(shutdown(fd, SHUT_RDWR)));
	close(fd);
}

TEST_F(stream, connect_once)
{
	EXPECT_EQ(-EISCONN, ERR(rds_connect(self->a, self->name)));
	EXPECT_EQ(-EISCONN, ERR(rds_connect(self->b, self->name)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, refused_without_a_listener)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECONNREFUSED,
		  ERR(rds_connect(fd, rds_name(variant->b, PORT))));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, rds_name(variant->b, 0))));
	/* The socket can be used again. */
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	close(fd);
}

/* A bound socket, and the near end of a stream, listen on no port. */
TEST_F(stream, refused_by_sockets_that_do_not_listen)
{
	struct rds_name name;
	int fd = stream_far_socket(variant);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(variant->b, 0))));
	name = rds_sockname(fd);
	EXPECT_EQ(-ECONNREFUSED, try_connect(variant, rds_port(&name)));
	name = rds_sockname(self->a);
	EXPECT_EQ(-ECONNREFUSED, try_connect(variant, rds_port(&name)));
	close(fd);
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, refused_by_a_closed_listener)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	stream_close(&self->listener);
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, self->name)));
	close(fd);
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, refused_without_blocking)
{
	int fd = stream_socket(variant->a);
	long ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	ret = ERR(rds_connect(fd, rds_name(variant->b, PORT)));
	if (ret == -EINPROGRESS) {
		EXPECT_TRUE(stream_await(fd, POLLOUT) & POLLERR);
		EXPECT_EQ(ECONNREFUSED, rds_get(fd, SOL_SOCKET, SO_ERROR));
		EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	} else {
		EXPECT_EQ(-ECONNREFUSED, ret);
	}
	close(fd);
}

TEST_F(stream, connect_without_blocking)
{
	int b, fd = stream_socket(variant->a);
	long ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	ret = ERR(rds_connect(fd, self->name));
	ASSERT_TRUE(ret == 0 || ret == -EINPROGRESS);
	EXPECT_EQ(POLLOUT, stream_await(fd, POLLOUT));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	/* The first call afterwards returns the result. */
	if (ret)
		EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(-EISCONN, ERR(rds_connect(fd, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(fd, b));
	close(fd);
	close(b);
}

TEST_F(stream, connect_to_malformed_names)
{
	struct rds_name name = self->name;
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(connect(fd, &name.sa, 0)));
	EXPECT_EQ(-EINVAL, ERR(connect(fd, &name.sa, 8)));
	EXPECT_EQ(-EINVAL, ERR(connect(fd, &name.sa, -1)));
	EXPECT_EQ(-EFAULT, ERR(connect(fd, (void *)8, name.len)));
	name.sa.sa_family = AF_UNIX;
	EXPECT_EQ(-EAFNOSUPPORT, ERR(connect(fd, &name.sa, name.len)));
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	close(fd);
}

TEST_F(stream, no_route)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENETUNREACH,
		  ERR(rds_connect(fd, rds_name(variant->stranger, PORT))));
	EXPECT_EQ(0, ERR(rds_connect(fd, self->name)));
	close(fd);
}

/* connect() to a name of no family ends the stream, and the socket is new. */
TEST_F(stream, connect_to_no_family)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct rds_name name = { .len = sizeof(name.ss) };
	int b;

	ASSERT_EQ(0, ERR(connect(self->a, &none, sizeof(none))));
	EXPECT_EQ(-ENOTCONN, ERR(getpeername(self->a, &name.sa, &name.len)));
	EXPECT_GE(0, stream_result(self->b));
	EXPECT_EQ(0, ERR(rds_connect(self->a, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(self->a, b));
	close(b);
}

/* Without a descriptor, accept() leaves the connection in the queue. */
TEST_F(stream, accept_without_a_descriptor)
{
	int b, a = stream_connected(variant, self->name);
	struct rlimit limit, none = {};

	ASSERT_LE(0, a);
	ASSERT_TRUE(stream_await(self->listener, POLLIN));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none.rlim_max = limit.rlim_max;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, ERR(accept(self->listener, NULL, NULL)));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
}

/* In a new namespace, the connection that refuses is made for that. */
TEST(refused_on_this_host_at_first)
{
	int a, b;

	ASSERT_EQ(0, rds_netns());
	a = stream_socket("127.0.0.1");
	b = stream_socket("::1");
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(a, rds_name("127.0.0.1",
							     PORT))));
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(b, rds_name("::1", PORT))));
	close(a);
	close(b);
}

/* A wildcard address as destination is the host itself. */
TEST(connect_to_the_wildcard)
{
	int b, a = stream_socket("127.0.0.1");
	int listener = stream_listener("127.0.0.1", 0);
	struct rds_name name = rds_sockname(listener);

	ASSERT_LE(0, listener);
	ASSERT_EQ(0, ERR(rds_connect(a, rds_name("0.0.0.0",
						 rds_port(&name)))));
	b = stream_accept(listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(listener);
}

/* The peer does not answer, because frames to it go to another address. */
TEST_F(wire, connecting_without_blocking)
{
	int b, fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(-EALREADY, ERR(rds_connect(fd, self->name)));
	EXPECT_TRUE(stream_quiet(fd, POLLOUT));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(POLLOUT, stream_await(fd, POLLOUT));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(fd, b));
	close(fd);
	close(b);
}

/* The connection is made even so. */
TEST_F(wire, signal_interrupts_connect)
{
	int b, fd = stream_socket(variant->a);
	struct rds_task task;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, rds_task_connect(&task, fd, &self->name));
	EXPECT_TRUE(rds_task_blocked(&task));
	pthread_kill(task.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, rds_task_join(&task));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(POLLOUT, stream_await(fd, POLLOUT));
	EXPECT_EQ(0, rds_get(fd, SOL_SOCKET, SO_ERROR));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(fd, b));
	close(fd);
	close(b);
}

/* SO_SNDTIMEO limits the wait of connect(), not the attempt. */
TEST_F(wire, connect_times_out)
{
	int fd = stream_socket(variant->a);
	long before = now_ms();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, rds_set_timeout(fd, SO_SNDTIMEO, 50));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_LE(40, now_ms() - before);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(POLLOUT, stream_await(fd, POLLOUT));
	close(fd);
}

/* A socket that is closed while it connects leaves nothing at the peer. */
TEST_F(wire, close_while_connecting)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	close(fd);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_works(self->a, self->b));
	if (!stream_quiet(self->listener, POLLIN)) {
		fd = stream_accept(self->listener);
		EXPECT_GE(0, stream_result(fd));
		close(fd);
	}
}

/* Whether the network says that there is no host, or nobody says anything */
TEST_F(wire, no_host)
{
	int fd = stream_socket(variant->a);
	long ret;

	ASSERT_LE(0, fd);
	ret = ERR(rds_connect(fd, rds_name(variant->nobody, PORT)));
	EXPECT_TRUE(ret == -EHOSTUNREACH || ret == -ETIMEDOUT);
	close(fd);
}

TEST_HARNESS_MAIN
