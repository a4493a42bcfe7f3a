// SPDX-License-Identifier: GPL-2.0
/*
 * Streams that processes and threads share or pass on, and very many of them:
 * RDS_STREAMS, or a thousand
 */
#include "stream_pair.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SEED	7
#define CROWD	1000
#define THREADS	16
#define EACH	2000	/* bytes of one thread */
#define GREETED	100

/* Wait for a child process. Returns its exit status, or -1. */
static int child_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(stream, child_sends_and_parent_receives)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(!stream_send(self->a, SEED, 0, 300000));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 300000));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* The end of a stream comes when its last descriptor is closed. */
TEST_F(stream, last_copy_ends_the_stream)
{
	int sync[2];
	pid_t pid;
	char byte;

	ASSERT_EQ(0, pipe(sync));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(sync[1]);
		if (read(sync[0], &byte, 1))
			_exit(2);
		_exit(!stream_send(self->a, SEED, 0, 1000));
	}
	stream_close(&self->a);
	EXPECT_TRUE(stream_quiet(self->b, POLLIN | POLLRDHUP));
	close(sync[1]);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	EXPECT_TRUE(stream_ended(self->b));
	EXPECT_EQ(0, child_status(pid));
	close(sync[0]);
}

TEST_F(stream, duplicate_descriptors)
{
	int fd = dup(self->a);

	ASSERT_LE(0, fd);
	stream_close(&self->a);
	EXPECT_TRUE(stream_works(fd, self->b));
	/* shutdown() does not wait for other descriptors. */
	self->a = dup(fd);
	ASSERT_EQ(0, shutdown(fd, SHUT_WR));
	EXPECT_TRUE(stream_ended(self->b));
	close(fd);
}

/* A program that knows nothing of sockets echoes what it reads. */
TEST_F(stream, another_program_uses_the_stream)
{
	struct stream_flow out;
	pid_t pid;

	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (dup2(self->b, 0) == 0 && dup2(self->b, 1) == 1)
			execlp("cat", "cat", NULL);
		_exit(127);
	}
	stream_close(&self->b);
	ASSERT_EQ(0, stream_send_aside(&out, self->a, SEED, 500000));
	EXPECT_TRUE(stream_recv(self->a, SEED, 0, 500000));
	EXPECT_TRUE(stream_joined(&out));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(stream_ended(self->a));
	EXPECT_EQ(0, child_status(pid));
}

TEST_F(stream, exec_closes_the_stream)
{
	int sync[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(sync));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (dup2(sync[0], 0) == 0)
			execlp("cat", "cat", NULL);
		_exit(127);
	}
	close(sync[0]);
	fcntl(sync[1], F_SETFD, FD_CLOEXEC);
	stream_close(&self->a);
	EXPECT_TRUE(stream_ended(self->b));
	/* This ends the program. A copy of the pipe may end it before. */
	close(sync[1]);
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
}

/* Pass a descriptor to the other end of a pair of Unix sockets. */
static bool pass(int sock, int fd)
{
	struct rds_msg msg;

	rds_msg_init(&msg, "x", 1);
	rds_msg_add(&msg, SOL_SOCKET, SCM_RIGHTS, &fd, sizeof(fd));
	return sendmsg(sock, &msg.hdr, 0) == 1;
}

static int passed(int sock)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	char byte;
	int fd;

	if (rds_msg_recv(sock, &msg, &byte, 1, 0) != 1)
		return -1;
	cmsg = rds_msg_find(&msg, SOL_SOCKET, SCM_RIGHTS);
	if (!cmsg)
		return -1;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

TEST_F(stream, descriptors_are_passed)
{
	int fd, pair[2];
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(self->a);
		fd = passed(pair[1]);
		_exit(fd < 0 || !stream_recv(fd, 1, 0, 1000) ||
		      !stream_send(fd, 2, 0, 1000));
	}
	ASSERT_TRUE(pass(pair[0], self->a));
	stream_close(&self->a);
	ASSERT_TRUE(stream_send(self->b, 1, 0, 1000));
	EXPECT_TRUE(stream_recv(self->b, 2, 0, 1000));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_TRUE(stream_ended(self->b));
	close(pair[0]);
	close(pair[1]);
}

/* A listener is passed with the connections that nobody has accepted. */
TEST_F(stream, listeners_are_passed)
{
	int a, b, fd, pair[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	ASSERT_TRUE(pass(pair[0], self->listener));
	stream_close(&self->listener);
	fd = passed(pair[1]);
	ASSERT_LE(0, fd);
	b = stream_accept(fd);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* A descriptor that nobody receives is closed with the Unix socket. */
TEST_F(stream, descriptors_in_flight_are_closed)
{
	int pair[2];

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	ASSERT_TRUE(pass(pair[0], self->a));
	stream_close(&self->a);
	EXPECT_TRUE(stream_quiet(self->b, POLLIN | POLLRDHUP));
	close(pair[0]);
	close(pair[1]);
	EXPECT_TRUE(stream_ended(self->b));
}

TEST_F(stream, killed_process_ends_its_streams)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		stream_send(self->a, SEED, 0, 1000);
		for (;;)
			pause();
	}
	stream_close(&self->a);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	EXPECT_TRUE(stream_ended(self->b));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
}

TEST_F(stream, killed_sender_and_receiver)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		stream_send(self->a, SEED, 0, 1000000000);
		_exit(0);
	}
	stream_close(&self->a);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 100000));
	/* It has data that it did not read. */
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 10));
	EXPECT_TRUE(stream_recv(self->b, SEED, 100000, 100000));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_GT(0, stream_send_fails(self->b, MSG_NOSIGNAL));
}

static atomic_uint counts[THREADS];
static atomic_uint bad;

struct share {
	int fd;
	unsigned char thread;
	const FIXTURE_VARIANT(stream) *variant;
};

static void *send_own_byte(void *data)
{
	struct share *share = data;
	unsigned char part[50];
	int i;

	memset(part, share->thread, sizeof(part));
	for (i = 0; i < EACH / 50; i++)
		if (send(share->fd, part, 50, 0) != 50)
			bad++;
	return NULL;
}

static void *count_bytes(void *data)
{
	struct share *share = data;
	unsigned char part[33];
	ssize_t ret, i;

	while ((ret = recv(share->fd, part, sizeof(part), 0)) > 0)
		for (i = 0; i < ret; i++)
			if (part[i] < THREADS)
				counts[part[i]]++;
			else
				bad++;
	bad += ret < 0;
	return NULL;
}

/* All bytes arrive once, although many send and receive on one stream. */
TEST_F(stream, threads_share_a_stream)
{
	struct share out = { .fd = self->a }, in = { .fd = self->b };
	pthread_t sender[THREADS], receiver[THREADS];
	struct share shares[THREADS];
	int i;

	for (i = 0; i < THREADS; i++) {
		shares[i] = out;
		shares[i].thread = i;
		ASSERT_EQ(0, pthread_create(&receiver[i], NULL, count_bytes,
					    &in));
		ASSERT_EQ(0, pthread_create(&sender[i], NULL, send_own_byte,
					    &shares[i]));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(sender[i], NULL);
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	for (i = 0; i < THREADS; i++)
		pthread_join(receiver[i], NULL);
	for (i = 0; i < THREADS; i++)
		EXPECT_EQ(EACH, counts[i]);
	EXPECT_EQ(0, bad);
}

/* Accept, and answer with the number of this thread, until told to end. */
static void *serve(void *data)
{
	struct share *share = data;
	int fd;

	while ((fd = accept(share->fd, NULL, NULL)) >= 0) {
		counts[share->thread]++;
		if (send(fd, &share->thread, 1, MSG_NOSIGNAL) != 1)
			bad++;
		close(fd);
	}
	return NULL;
}

static void *be_client(void *data)
{
	struct share *share = data;
	unsigned char byte = THREADS;
	struct rds_name name = rds_sockname(share->fd);
	int i, fd;

	for (i = 0; i < 20; i++) {
		fd = stream_connected(share->variant, name);
		if (fd < 0 || recv(fd, &byte, 1, 0) != 1 ||
		    byte >= THREADS || recv(fd, &byte, 1, 0))
			bad++;
		close(fd);
	}
	return NULL;
}

TEST_F(stream, threads_share_a_listener)
{
	pthread_t server[THREADS], client[THREADS];
	struct share shares[THREADS];
	unsigned int total = 0;
	int i;

	for (i = 0; i < THREADS; i++) {
		shares[i].fd = self->listener;
		shares[i].thread = i;
		shares[i].variant = variant;
		ASSERT_EQ(0, pthread_create(&server[i], NULL, serve,
					    &shares[i]));
		ASSERT_EQ(0, pthread_create(&client[i], NULL, be_client,
					    &shares[i]));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(client[i], NULL);
	ASSERT_EQ(0, shutdown(self->listener, SHUT_RDWR));
	for (i = 0; i < THREADS; i++) {
		pthread_join(server[i], NULL);
		total += counts[i];
	}
	EXPECT_EQ(20 * THREADS, total);
	EXPECT_EQ(0, bad);
}

static void allow_files(struct __test_metadata *_metadata, unsigned int count)
{
	struct rlimit limit;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur >= count)
		return;
	limit.rlim_cur = count;
	if (limit.rlim_max < count)
		limit.rlim_max = count;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
}

/* How many streams are very many */
static int crowd(void)
{
	const char *text = getenv("RDS_STREAMS");
	int count = text ? atoi(text) : CROWD;

	return count < CROWD ? count : CROWD;
}

TEST_F(stream, many_streams_at_once)
{
	static int a[CROWD], b[CROWD];
	int i, count = crowd();

	ASSERT_LT(0, count);
	allow_files(_metadata, 2 * count + 100);
	for (i = 0; i < count; i++)
		ASSERT_TRUE(stream_open(self, variant, &a[i], &b[i]));
	for (i = 0; i < count; i++) {
		ASSERT_TRUE(stream_send(a[i], i, 0, 100 + i));
		ASSERT_TRUE(stream_send(b[count - 1 - i], 3 * i, 0, 70));
	}
	for (i = 0; i < count; i++) {
		ASSERT_TRUE(stream_recv(b[i], i, 0, 100 + i));
		ASSERT_TRUE(stream_recv(a[count - 1 - i], 3 * i, 0, 70));
	}
	for (i = 0; i < count; i++)
		close(i & 1 ? a[i] : b[i]);
	for (i = 0; i < count; i++) {
		EXPECT_TRUE(stream_ended(i & 1 ? b[i] : a[i]));
		close(i & 1 ? b[i] : a[i]);
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, many_streams_one_after_another)
{
	int i, a, b, count = crowd();

	ASSERT_LT(0, count);
	for (i = 0; i < count; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a, &b));
		ASSERT_TRUE(stream_send(a, i, 0, 10));
		close(a);
		ASSERT_TRUE(stream_recv(b, i, 0, 10));
		ASSERT_TRUE(stream_ended(b));
		close(b);
	}
}

static atomic_bool stop;

static void *send_and_ignore(void *data)
{
	static const char part[3000];
	int *fd = data;

	while (!stop)
		send(*fd, part, sizeof(part), MSG_NOSIGNAL | MSG_DONTWAIT);
	return NULL;
}

/* Streams end in all ways while another thread sends on them. */
TEST_F(stream, ends_while_another_thread_sends)
{
	pthread_t thread;
	int i, a, b;

	for (i = 0; i < 40; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a, &b));
		stop = false;
		ASSERT_EQ(0, pthread_create(&thread, NULL, send_and_ignore,
					    &a));
		EXPECT_TRUE(stream_await(b, POLLIN));
		if (i & 1)
			ASSERT_EQ(0, stream_linger(b, true, 0));
		if (i & 2)
			ASSERT_EQ(0, shutdown(a, SHUT_RDWR));
		close(b);
		EXPECT_TRUE(stream_await_all(a, POLLHUP));
		stop = true;
		pthread_join(thread, NULL);
		close(a);
	}
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Greet each client as soon as accept(2) has returned it, and close. */
static void *greet(void *listener)
{
	int left = GREETED, fd;

	while (left) {
		fd = accept(*(int *)listener, NULL, NULL);
		if (fd < 0 && errno != EAGAIN)
			break;
		if (fd < 0)
			continue;
		if (send(fd, "x", 1, 0) != 1)
			break;
		close(fd);
		left--;
	}
	return (void *)(long)left;
}

/* A server may send before the frame that accepts the stream was sent. The
 * window is a few instructions long: without the mend, this fails only if
 * something delays the kernel between the two.
 */
TEST_F(stream, server_that_speaks_first)
{
	pthread_t server;
	unsigned int i;
	void *left;
	char byte;
	int fd;

	ASSERT_EQ(0, stream_nonblocking(self->listener, true));
	ASSERT_EQ(0, pthread_create(&server, NULL, greet, &self->listener));
	for (i = 0; i < GREETED; i++) {
		fd = stream_connected(variant, self->name);
		ASSERT_LE(0, fd) {
			TH_LOG("%u: %s", i, strerror(errno));
		}
		EXPECT_EQ(1, recv(fd, &byte, 1, 0));
		close(fd);
	}
	ASSERT_EQ(0, pthread_join(server, &left));
	EXPECT_EQ(0, (long)left);
}

TEST_HARNESS_MAIN
