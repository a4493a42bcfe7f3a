// SPDX-License-Identifier: GPL-2.0
/*
 * What streams keep, and for how long: their module, the module of their
 * transport, and their network namespace. Nothing keeps them for ever.
 */
/* More than STREAM_PATIENCE: a test must not pass because the path gave up. */
#define WIRE_PATIENCE	"60000"

#include "stream_pair.h"
#include "stream_wire.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SEED	7
#define PORT	4100

/* Written with MSG_ZEROCOPY: fits in one frame, and in the window of TCP */
#define LENT	10000

/* net.rds.stream.close_stall_ms, and some more */
#define CLOSED_LASTS	(60000 + STREAM_PATIENCE)

/* Return the number of users of a module; -1 if it is not loaded. */
static long users(const char *module)
{
	char path[64];
	long count = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%ld", &count) != 1)
		count = -1;
	fclose(file);
	return count;
}

static bool users_fall_within(const char *module, long count,
			      unsigned int patience)
{
	unsigned int left;

	for (left = patience / 10; left; left--) {
		if (users(module) <= count)
			return true;
		usleep(10000);
	}
	printf("# %s has %ld users, not %ld, after %u ms\n", module,
	       users(module), count, patience);
	return false;
}

static bool users_fall_to(const char *module, long count)
{
	return users_fall_within(module, count, STREAM_PATIENCE);
}

/*
 * These tests count all sockets of the host. A program that has ended can leave
 * a closed stream behind, whose peer went with its namespace before it
 * acknowledged the last frame.
 */
static void __attribute__((constructor)) await_streams_of_others(void)
{
	users_fall_within("rds_stream", 0, CLOSED_LASTS);
}

/* Return 0, or an errno; -EWOULDBLOCK while the module is in use. */
static long unload(const char *module)
{
	return ERR(syscall(SYS_delete_module, module, O_NONBLOCK));
}

/* Unload it as soon as it has no users. */
static long unload_at_last(const char *module)
{
	unsigned int left = STREAM_PATIENCE / 10;
	long ret;

	while ((ret = unload(module)) == -EWOULDBLOCK && left--)
		usleep(10000);
	return ret;
}

static int load(const char *module)
{
	char command[64];

	snprintf(command, sizeof(command), "modprobe %s", module);
	return system(command);
}

static const char *transport(const FIXTURE_VARIANT(stream) *variant)
{
	if (variant->device)
		return "rds_rdma";
	return variant->apart ? "rds_tcp" : "rds_loop";
}

/* Close all sockets of the fixture. */
static void close_all(FIXTURE_DATA(stream) *self)
{
	stream_close(&self->a);
	stream_close(&self->b);
	stream_close(&self->listener);
}

/* RDS over IB listens on IPv6 addresses a moment after it was loaded. Until
 * then, it refuses connections.
 */
static bool open_again(FIXTURE_DATA(stream) *self,
		       const FIXTURE_VARIANT(stream) *variant)
{
	unsigned int left = variant->device ? STREAM_PATIENCE / 10 : 0;

	self->listener = stream_far_listener(variant, 0);
	if (self->listener < 0)
		return false;
	self->name = rds_sockname(self->listener);
	while (!stream_open(self, variant, &self->a, &self->b)) {
		if (!left-- || errno != ECONNREFUSED)
			return false;
		usleep(10000);
	}
	return true;
}

/* A transport cannot be unloaded while a stream uses one of its connections,
 * not even one that nobody has accepted.
 */
TEST_F(stream, transport_stays_while_it_is_used)
{
	const char *module = transport(variant);
	int a;

	EXPECT_EQ(-EWOULDBLOCK, unload(module));
	EXPECT_TRUE(stream_works(self->a, self->b));
	stream_close(&self->a);
	stream_close(&self->b);
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	EXPECT_EQ(-EWOULDBLOCK, unload(module));
	close(a);
}

/* A listener, and a socket that is only bound, use no connection. */
TEST_F(stream, transport_goes_and_comes_back)
{
	const char *module = transport(variant);
	int bound, i;

	bound = stream_bound(variant->a, PORT);
	ASSERT_LE(0, bound);
	for (i = 0; i < 3; i++) {
		close_all(self);
		ASSERT_EQ(0, unload_at_last(module));
		EXPECT_FALSE(rds_module_loaded(module));
		ASSERT_EQ(0, load(module));
		ASSERT_TRUE(open_again(self, variant));
		EXPECT_TRUE(stream_works(self->a, self->b));
	}
	close(bound);
}

/* Each kind of socket keeps the module of streams. */
TEST_F(stream, module_stays_for_any_socket)
{
	int fd;

	stream_close(&self->a);
	stream_close(&self->b);
	EXPECT_EQ(-EWOULDBLOCK, unload("rds_stream"));
	stream_close(&self->listener);
	ASSERT_TRUE(users_fall_to("rds_stream", 0));

	fd = stream_socket(variant->a);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload("rds_stream"));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	rds_connect(fd, rds_name(variant->stranger, PORT));
	EXPECT_EQ(-EWOULDBLOCK, unload("rds_stream"));
	close(fd);
	ASSERT_TRUE(users_fall_to("rds_stream", 0));

	fd = stream_bound(variant->a, PORT);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, unload("rds_stream"));
	close(fd);
	EXPECT_TRUE(users_fall_to("rds_stream", 0));
}

TEST_F(stream, module_goes_and_comes_back)
{
	int i;

	for (i = 0; i < 3; i++) {
		/* Some of it is never read. */
		ASSERT_TRUE(stream_send(self->a, SEED, 0, 100000));
		ASSERT_TRUE(stream_recv(self->b, SEED, 0, 1000));
		close_all(self);
		ASSERT_EQ(0, unload_at_last("rds_stream"));
		EXPECT_GT(0, stream_socket(variant->a));
		ASSERT_EQ(0, stream_load());
		ASSERT_TRUE(open_again(self, variant));
		EXPECT_TRUE(stream_works(self->a, self->b));
	}
}

/* Open a socket in the far namespace that is connecting to nobody. */
static int far_connecting(const FIXTURE_VARIANT(wire) *variant)
{
	int fd;

	if (veth_cross())
		return -1;
	fd = stream_socket(variant->b);
	if (veth_back() || stream_nonblocking(fd, true) ||
	    !rds_connect(fd, rds_name(variant->nobody, PORT)))
		return -1;
	return fd;
}

/* Streams that wait for accept(), connect, or have unread bytes end with their
 * sockets, and the namespace with them.
 */
TEST_F(wire, namespace_ends_with_its_sockets)
{
	int waiting = stream_socket(variant->a), connecting;
	char byte;

	ASSERT_LE(0, waiting);
	ASSERT_EQ(0, ERR(rds_connect(waiting, self->name)));
	connecting = far_connecting(variant);
	ASSERT_LE(0, connecting);
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	ASSERT_TRUE(stream_await_bytes(self->b, 1000));
	veth_forget();
	EXPECT_FALSE(wire_far_ends(STREAM_A_WHILE));

	close(self->listener);
	EXPECT_EQ(-ECONNRESET, ERR(recv(waiting, &byte, 1, 0)));
	close(self->b);
	EXPECT_EQ(-ECONNRESET, ERR(recv(self->a, &byte, 1, 0)));
	self->listener = -1;
	self->b = -1;
	EXPECT_FALSE(wire_far_ends(STREAM_A_WHILE));
	close(connecting);
	EXPECT_TRUE(wire_far_ends(STREAM_PATIENCE));
	close(waiting);
}

/* A closed stream keeps the namespace while it delivers what was written. */
TEST_F(wire, namespace_waits_for_what_was_written)
{
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, rds_set(self->b, IPPROTO_TCP, TCP_USER_TIMEOUT, 2000));
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 1000));
	close(self->b);
	close(self->listener);
	self->listener = -1;
	self->b = -1;
	veth_forget();
	EXPECT_FALSE(wire_far_ends(STREAM_A_WHILE));
	EXPECT_TRUE(wire_far_ends(STREAM_PATIENCE));
	/* Closed in order, it would stay for a minute. */
	EXPECT_EQ(0, stream_linger(self->a, true, 0));
}

/* An RST that cannot be sent keeps neither the namespace nor, with it, the
 * module.
 */
TEST_F(wire, namespace_does_not_wait_for_a_reset)
{
	long before = users("rds_stream");

	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_linger(self->b, true, 0));
	close(self->b);
	close(self->listener);
	self->listener = -1;
	self->b = -1;
	veth_forget();
	EXPECT_TRUE(wire_far_ends(STREAM_PATIENCE));
	EXPECT_TRUE(users_fall_to("rds_stream", before - 2));
	EXPECT_EQ(0, stream_linger(self->a, true, 0));
}

/* Close all sockets, the ends of the stream with an RST, and unload. */
static long reset_and_unload(FIXTURE_DATA(wire) *self)
{
	if (stream_linger(self->a, true, 0) || stream_linger(self->b, true, 0))
		return -1;
	stream_close(&self->a);
	stream_close(&self->b);
	stream_close(&self->listener);
	return unload_at_last("rds_stream");
}

/* Nor does an RST keep the module from being unloaded. */
TEST_F(wire, module_does_not_wait_for_a_reset)
{
	ASSERT_EQ(0, wire_cut(variant));
	EXPECT_EQ(0, reset_and_unload(self));
	ASSERT_EQ(0, stream_load());
}

/* Nor does memory of the user that TCP is still to send from. */
TEST_F(wire, module_does_not_wait_for_lent_memory)
{
	static char buf[LENT];

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(LENT, ERR(send(self->a, buf, LENT, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	EXPECT_EQ(0, reset_and_unload(self));
	ASSERT_EQ(0, stream_load());
}

/* Notifications come while their socket is closed, and later: none is lost. */
TEST_F(stream, notifications_after_close)
{
	static char buf[LENT];
	long before;
	int a, b, i;

	before = users("rds");
	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a, &b));
		ASSERT_EQ(0, rds_set(a, SOL_SOCKET, SO_ZEROCOPY, 1));
		ASSERT_EQ(LENT, ERR(send(a, buf, LENT, MSG_ZEROCOPY)));
		/* With an RST, or after some bytes have arrived */
		if (i % 2)
			ASSERT_TRUE(stream_await(b, POLLIN));
		ASSERT_EQ(0, stream_linger(a, i % 2 == 0, 0));
		close(a);
		close(b);
	}
	EXPECT_TRUE(users_fall_within("rds", before, STREAM_PATIENCE));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/*
 * In a child: open some streams between two new namespaces, and accept the
 * first one.
 */
static void open_apart(const FIXTURE_VARIANT(wire) *variant, int count,
		       int *a, int *b)
{
	int listener;

	if (rds_netns() || veth_setup() || veth_cross())
		_exit(1);
	listener = stream_listener(variant->b, 0);
	if (veth_back())
		_exit(2);
	while (count--) {
		*a = stream_socket(variant->a);
		if (rds_connect(*a, rds_sockname(listener)))
			_exit(3);
	}
	*b = stream_accept(listener);
	if (*b < 0)
		_exit(4);
}

/* Have streams in all states in both namespaces, and wait for the end. */
static void live(const FIXTURE_VARIANT(wire) *variant, int ready)
{
	int a, b;

	open_apart(variant, 3, &a, &b);
	if (far_connecting(variant) < 0 || !stream_send(a, SEED, 0, 1000) ||
	    !stream_send(b, SEED, 0, 1000) || write(ready, "x", 1) != 1)
		_exit(5);
	for (;;)
		pause();
}

/* Both namespaces end at once, with whatever is on its way. */
TEST_F(wire, killed_process_takes_its_namespaces_along)
{
	long before;
	int pipes[2];
	char byte;
	pid_t pid;
	int i;

	usleep(1000 * STREAM_A_WHILE);
	before = users("rds_stream");
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, pipe(pipes));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			live(variant, pipes[1]);
		close(pipes[1]);
		EXPECT_EQ(1, read(pipes[0], &byte, 1));
		close(pipes[0]);
		EXPECT_LT(before, users("rds_stream"));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		EXPECT_TRUE(users_fall_to("rds_stream", before));
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/*
 * The two ends of a stream are closed, and each namespace ends with its stream.
 * Neither end waits for the other one, which cannot answer any more. This is a
 * matter of milliseconds: the debug kernel without the mends needs about ten
 * rounds to fail.
 */
TEST_F(wire, namespaces_end_one_after_the_other)
{
	int i, a, b, status;
	long before;
	pid_t pid;

	usleep(1000 * STREAM_A_WHILE);
	before = users("rds_stream");
	for (i = 0; i < 5; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			open_apart(variant, 1, &a, &b);
			_exit(0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		ASSERT_TRUE(users_fall_to("rds_stream", before));
	}
}

TEST_HARNESS_MAIN
