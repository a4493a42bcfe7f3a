// SPDX-License-Identifier: GPL-2.0
/* Much data, many streams, streams that are not read, splice(2), sendfile(2) */
#include "stream_pair.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/utsname.h>

#define LARGE	(8 * 1024 * 1024)
#define STREAMS	50
#define SEED	7

TEST_F(stream, large_transfer)
{
	struct stream_flow out;

	ASSERT_EQ(0, stream_send_aside(&out, self->a, SEED, LARGE));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, LARGE));
	EXPECT_TRUE(stream_joined(&out));
	EXPECT_TRUE(rds_silent(self->b));
}

/* Each end sends and receives at the same time. */
TEST_F(stream, large_transfers_in_both_directions)
{
	struct stream_flow out[2], in[2];
	int i;

	ASSERT_EQ(0, stream_send_aside(&out[0], self->a, 1, LARGE));
	ASSERT_EQ(0, stream_send_aside(&out[1], self->b, 2, LARGE));
	ASSERT_EQ(0, stream_recv_aside(&in[0], self->b, 1, LARGE));
	ASSERT_EQ(0, stream_recv_aside(&in[1], self->a, 2, LARGE));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(stream_joined(&out[i]));
		EXPECT_TRUE(stream_joined(&in[i]));
	}
}

TEST_F(stream, large_transfer_in_small_buffers)
{
	struct stream_flow out;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_SNDBUF, 1));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVBUF, 1));
	ASSERT_EQ(0, stream_send_aside(&out, self->a, SEED, LARGE / 128));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, LARGE / 128));
	EXPECT_TRUE(stream_joined(&out));
}

/* Sizes that fit neither each other nor any buffer */
TEST_F(stream, odd_sizes)
{
	uint64_t sent = 0, got = 0;
	unsigned int size = 1;
	char buf[20000];
	ssize_t ret;

	while (got < 1000000) {
		size = size * 1103515245 + 12345;
		ret = size >> 8 & 16383;
		stream_fill(buf, ret, SEED, sent);
		ret = send(self->a, buf, ret, MSG_DONTWAIT);
		ASSERT_TRUE(ret >= 0 || errno == EAGAIN);
		sent += ret < 0 ? 0 : ret;
		ret = recv(self->b, buf, 1 + (size >> 12 & 16383),
			   MSG_DONTWAIT);
		ASSERT_TRUE(ret > 0 || errno == EAGAIN);
		if (ret < 0)
			continue;
		ASSERT_TRUE(stream_check(buf, ret, SEED, got));
		got += ret;
	}
	EXPECT_TRUE(stream_recv(self->b, SEED, got, sent - got));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(stream, many_streams_in_turn)
{
	int i, round, a[STREAMS], b[STREAMS];

	for (i = 0; i < STREAMS; i++)
		ASSERT_TRUE(stream_open(self, variant, &a[i], &b[i]));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < STREAMS; i++) {
			ASSERT_TRUE(stream_send(a[i], i, round * 500, 500));
			ASSERT_TRUE(stream_send(b[i], 99 - i, round * 50, 50));
		}
		for (i = STREAMS - 1; i >= 0; i--) {
			ASSERT_TRUE(stream_recv(b[i], i, round * 500, 500));
			ASSERT_TRUE(stream_recv(a[i], 99 - i, round * 50, 50));
		}
	}
	for (i = 0; i < STREAMS; i++) {
		close(a[i]);
		EXPECT_TRUE(stream_ended(b[i]));
		close(b[i]);
	}
}

TEST_F(stream, many_streams_at_once)
{
	struct stream_flow out[STREAMS], in[STREAMS];
	int i, a[STREAMS], b[STREAMS];

	for (i = 0; i < STREAMS; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a[i], &b[i]));
		ASSERT_EQ(0, stream_send_aside(&out[i], a[i], i,
					       LARGE / STREAMS));
		ASSERT_EQ(0, stream_recv_aside(&in[i], b[i], i,
					       LARGE / STREAMS));
	}
	for (i = 0; i < STREAMS; i++) {
		EXPECT_TRUE(stream_joined(&out[i]));
		EXPECT_TRUE(stream_joined(&in[i]));
		close(a[i]);
		EXPECT_TRUE(stream_ended(b[i]));
		close(b[i]);
	}
}

/* Streams whose receivers do not read hinder no other one. */
TEST_F(stream, streams_that_are_not_read)
{
	int i, a[10], b[10];
	long sent[10];

	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(stream_open(self, variant, &a[i], &b[i]));
		sent[i] = stream_stuff(a[i], i);
		ASSERT_LT(0, sent[i]);
	}
	for (i = 0; i < 100; i++) {
		ASSERT_TRUE(stream_send(self->a, SEED, i * 10000, 10000));
		ASSERT_TRUE(stream_recv(self->b, SEED, i * 10000, 10000));
	}
	/* The other direction of the streams works, too. */
	for (i = 0; i < 10; i++) {
		ASSERT_TRUE(stream_send(b[i], 20 + i, 0, 10000));
		ASSERT_TRUE(stream_recv(a[i], 20 + i, 0, 10000));
	}
	for (i = 0; i < 10; i++) {
		EXPECT_TRUE(stream_recv(b[i], i, 0, sent[i]));
		close(a[i]);
		EXPECT_TRUE(stream_ended(b[i]));
		close(b[i]);
	}
}

/* A writer that has used up all the credit it knows of goes on as soon as this
 * is read, not when it asks, a second later.
 */
TEST_F(stream, receive_buffer_that_grows)
{
	unsigned int tries = 10;
	bool early = false;
	long sent, since;
	int a, b;

	ASSERT_EQ(0, rds_set(self->listener, SOL_SOCKET, SO_RCVBUF, 50000));
	while (!early && tries--) {
		ASSERT_TRUE(stream_open(self, variant, &a, &b));
		ASSERT_TRUE(stream_works(a, b));
		ASSERT_EQ(0, rds_rcvbuf(b, LARGE));
		sent = stream_stuff(a, SEED);
		ASSERT_LT(0, sent);
		since = now_ms();
		ASSERT_TRUE(stream_recv(b, SEED, 0, sent));
		EXPECT_EQ(POLLOUT, stream_await(a, POLLOUT));
		early = now_ms() - since < 500;
		close(a);
		close(b);
	}
	EXPECT_TRUE(early);
}

/* Create a file with the first @len bytes of a stream. */
static int make_file(size_t len)
{
	int fd = memfd_create("contents", MFD_CLOEXEC);
	char *map;

	if (fd < 0 || ftruncate(fd, len))
		return -1;
	map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	stream_fill(map, len, SEED, 0);
	munmap(map, len);
	return fd;
}

TEST_F(stream, sendfile)
{
	struct stream_flow in;
	int fd = make_file(LARGE);
	off_t offset = 0;
	long ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, stream_recv_aside(&in, self->b, SEED, LARGE));
	while (offset < LARGE) {
		ret = ERR(sendfile(self->a, fd, &offset, LARGE));
		ASSERT_LT(0, ret);
	}
	EXPECT_EQ(0, ERR(sendfile(self->a, fd, &offset, 1)));
	EXPECT_TRUE(stream_joined(&in));
	EXPECT_TRUE(rds_silent(self->b));
	close(fd);
}

TEST_F(stream, sendfile_of_a_part)
{
	int fd = make_file(100000);
	off_t offset = 12345;

	ASSERT_LE(0, fd);
	EXPECT_EQ(5000, ERR(sendfile(self->a, fd, &offset, 5000)));
	EXPECT_EQ(12345 + 5000, offset);
	EXPECT_TRUE(stream_recv(self->b, SEED, 12345, 5000));
	EXPECT_EQ(0, lseek(fd, 0, SEEK_CUR));
	close(fd);
}

/* Since Linux 6.5, sendfile() tells that the file has ended. */
static bool tells_the_end_of_a_file(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	return !uname(&name) &&
	       sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 5));
}

/* The last bytes of a file do not wait for more, which a cork does for 200 ms.
 * By chance they go with a frame of another stream, but not several times.
 */
TEST_F(stream, sendfile_beyond_the_end)
{
	unsigned int tries = 100, early = 0;
	const int len = 5000;
	int fd = make_file(len);
	off_t offset;
	long since;

	if (!tells_the_end_of_a_file())
		SKIP(return, "sendfile() does not tell the end of a file");
	ASSERT_LE(0, fd);
	while (early < 5 && tries--) {
		offset = 0;
		since = now_ms();
		ASSERT_EQ(len, ERR(sendfile(self->a, fd, &offset, 100000)));
		ASSERT_TRUE(stream_recv(self->b, SEED, 0, len));
		early = now_ms() - since < 150 ? early + 1 : 0;
	}
	EXPECT_EQ(5, early);
	close(fd);
}

/* What sendfile() says it has sent is all that arrives. */
TEST_F(stream, sendfile_without_waiting)
{
	int fd = make_file(4 * LARGE);
	off_t offset = 0;
	long ret;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_SNDBUF, 65536));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVBUF, 65536));
	ASSERT_EQ(0, stream_nonblocking(self->a, true));
	do
		ret = ERR(sendfile(self->a, fd, &offset, 4 * LARGE));
	while (ret > 0 && offset < 4 * LARGE);
	EXPECT_EQ(-EAGAIN, ret);
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, offset));
	EXPECT_TRUE(stream_ended(self->b));
	close(fd);
}

TEST_F(stream, splice_from_a_pipe)
{
	char buf[10000];
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	stream_fill(buf, sizeof(buf), SEED, 0);
	ASSERT_EQ(sizeof(buf), ERR(write(fds[1], buf, sizeof(buf))));
	EXPECT_EQ(sizeof(buf), ERR(splice(fds[0], NULL, self->a, NULL,
					  sizeof(buf), 0)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sizeof(buf)));
	close(fds[0]);
	close(fds[1]);
}

TEST_F(stream, splice_to_a_pipe)
{
	char buf[10000];
	long got = 0, ret;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ(0, stream_nonblocking(self->b, true));
	EXPECT_EQ(-EAGAIN, ERR(splice(self->b, NULL, fds[1], NULL, 100, 0)));
	ASSERT_EQ(0, stream_nonblocking(self->b, false));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, sizeof(buf)));
	while (got < (long)sizeof(buf)) {
		ret = ERR(splice(self->b, NULL, fds[1], NULL,
				 sizeof(buf) - got, 0));
		ASSERT_LT(0, ret);
		ASSERT_EQ(ret, ERR(read(fds[0], buf + got, ret)));
		got += ret;
	}
	EXPECT_TRUE(stream_check(buf, sizeof(buf), SEED, 0));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(0, ERR(splice(self->b, NULL, fds[1], NULL, 100, 0)));
	close(fds[0]);
	close(fds[1]);
}

/* A proxy between two streams, which copies nothing itself */
struct proxy {
	int from;
	int to;
	size_t len;
	bool good;
};

static void *proxy_main(void *data)
{
	struct proxy *proxy = data;
	size_t left = proxy->len;
	int fds[2];
	long in, out;

	if (pipe(fds))
		return NULL;
	while (left) {
		in = splice(proxy->from, NULL, fds[1], NULL, 65536,
			    SPLICE_F_MOVE);
		if (in <= 0)
			break;
		left -= in;
		for (; in; in -= out) {
			out = splice(fds[0], NULL, proxy->to, NULL, in,
				     SPLICE_F_MOVE | SPLICE_F_MORE);
			if (out <= 0)
				return NULL;
		}
	}
	proxy->good = !left && !shutdown(proxy->to, SHUT_WR);
	close(fds[0]);
	close(fds[1]);
	return NULL;
}

TEST_F(stream, splice_from_stream_to_stream)
{
	struct proxy proxy = { .from = self->b, .len = LARGE };
	struct stream_flow out;
	pthread_t thread;
	int b;

	ASSERT_TRUE(stream_open(self, variant, &proxy.to, &b));
	ASSERT_EQ(0, stream_send_aside(&out, self->a, SEED, LARGE));
	ASSERT_EQ(0, pthread_create(&thread, NULL, proxy_main, &proxy));
	EXPECT_TRUE(stream_recv(b, SEED, 0, LARGE));
	EXPECT_TRUE(stream_ended(b));
	pthread_join(thread, NULL);
	EXPECT_TRUE(proxy.good);
	EXPECT_TRUE(stream_joined(&out));
	close(proxy.to);
	close(b);
}

TEST_HARNESS_MAIN
