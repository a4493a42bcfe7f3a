// SPDX-License-Identifier: GPL-2.0
/* Direct placement: memory of one end of a stream that the other writes to */
#include "stream_pair.h"

#include <limits.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define SEED	7
#define PAGE	4096
#define LEN	(64 * PAGE)
#define ENOUGH	4

/* What the peer maps, and what is written */
static char memory[LEN] __attribute__((aligned(PAGE)));
static char data[4 * LEN];

static void __attribute__((constructor)) rds_streams_only(void)
{
	if (!stream_over_inet())
		return;
	fprintf(stderr, "This program tests what sockets of TCP do not have\n");
	exit(KSFT_FAIL);
}

/* Open a stream whose ends may make as many mappings. */
static bool open_mapping(FIXTURE_DATA(stream) *self,
			 const FIXTURE_VARIANT(stream) *variant, int a_allows,
			 int b_allows, int *a, int *b)
{
	*b = -1;
	*a = variant->device ? stream_bound(variant->a, 0) :
			       stream_socket(variant->a);
	if (*a < 0 ||
	    rds_set(*a, SOL_RDS, RDS_STREAM_IOMAP_SIZE, a_allows) ||
	    rds_set(self->listener, SOL_RDS, RDS_STREAM_IOMAP_SIZE, b_allows) ||
	    rds_connect(*a, self->name))
		return false;
	*b = stream_accept(self->listener);
	return *b >= 0;
}

/* The ends of the fixture, with mappings allowed */
static bool reopen(FIXTURE_DATA(stream) *self,
		   const FIXTURE_VARIANT(stream) *variant)
{
	close(self->a);
	close(self->b);
	memset(memory, 0, sizeof(memory));
	return open_mapping(self, variant, ENOUGH, ENOUGH, &self->a, &self->b);
}

static long map_as(int fd, void *addr, size_t len, int prot, long offset)
{
	struct rds_stream_iomap args = {
		.addr = (unsigned long)addr,
		.len = len,
		.offset = offset,
		.prot = prot,
	};
	long ret = ERR(ioctl(fd, SIOCRDSIOMAP, &args));

	return ret ?: args.offset;
}

static long map(int fd, void *addr, size_t len, long offset)
{
	return map_as(fd, addr, len, PROT_WRITE, offset);
}

static long unmap(int fd, void *addr, size_t len)
{
	struct rds_stream_iomap args = {
		.addr = (unsigned long)addr,
		.len = len,
	};

	return ERR(ioctl(fd, SIOCRDSIOUNMAP, &args));
}

/* Write to mappings of the peer, with a control message of @cmsg_len bytes. */
static long put_with(int fd, const void *buf, size_t len, uint64_t offset,
		     int flags, int type, size_t cmsg_len)
{
	union {
		char room[CMSG_SPACE(2 * sizeof(offset))];
		struct cmsghdr align;
	} control = {};
	struct iovec iov = { (void *)buf, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_SPACE(cmsg_len),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_RDS;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(cmsg_len);
	memcpy(CMSG_DATA(cmsg), &offset, sizeof(offset));
	return ERR(sendmsg(fd, &msg, flags | MSG_NOSIGNAL));
}

static long put(int fd, const void *buf, size_t len, uint64_t offset)
{
	return put_with(fd, buf, len, offset, 0, RDS_CMSG_STREAM_WRITE,
			sizeof(offset));
}

/* Let the other end know, or have written, all that came before. */
static bool follows(int from, int to)
{
	return stream_send(from, SEED, 0, 1) && stream_recv(to, SEED, 0, 1);
}

/* Let this process, from now on without rights, lock so many bytes. */
static bool lock_at_most(size_t bytes)
{
	struct rlimit limit = { bytes, bytes };

	return !setrlimit(RLIMIT_MEMLOCK, &limit) && !setgid(12345) &&
	       !setuid(12345);
}

/* Check whether the limit leaves room for one more mapping of @len bytes. */
static bool fits(int fd, size_t len)
{
	return !map(fd, memory, len, 0) && !unmap(fd, memory, len);
}

/* Run a part of a test in a process of its own, which has the descriptors of @a
 * and @b alone. Returns what it returns.
 */
static int in_child(int (*part)(int a, int b, int spare), int *a, int *b,
		    int spare)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(part(*a, *b, spare));
	stream_close(a);
	stream_close(b);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(stream, placed_before_what_follows)
{
	unsigned int i;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	for (i = 0; i < 100; i++) {
		stream_fill(data, LEN, i, 0);
		ASSERT_EQ(LEN, put(self->a, data, LEN, 0));
		memset(data, 0, LEN);
		ASSERT_TRUE(follows(self->a, self->b));
		ASSERT_TRUE(stream_check(memory, LEN, i, 0));
	}
}

/* The same from memory that is read in place, until a notification */
TEST_F(stream, placed_from_memory_in_place)
{
	char room[256];
	struct msghdr told = {
		.msg_control = room,
		.msg_controllen = sizeof(room),
	};

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(data, LEN - 5, SEED, 0);
	ASSERT_EQ(LEN - 5, put_with(self->a, data, LEN - 5, 5, MSG_ZEROCOPY,
				    RDS_CMSG_STREAM_WRITE, 8));
	ASSERT_TRUE(follows(self->a, self->b));
	EXPECT_TRUE(stream_check(memory + 5, LEN - 5, SEED, 0));
	ASSERT_TRUE(stream_await_all(self->a, POLLERR));
	EXPECT_EQ(0, ERR(recvmsg(self->a, &told, MSG_ERRQUEUE)));
	EXPECT_LT(0, told.msg_controllen);
}

/* Any length at any place, and nothing beside it */
TEST_F(stream, exact_bytes)
{
	static const size_t size[] = { 1, 2, 7, 4095, 4096, 4097, 131073 };
	static const size_t at[] = { 0, 1, 4095, 4096, 70001 };
	static char expected[LEN];
	unsigned int i, j;

	ASSERT_TRUE(reopen(self, variant));
	/* The memory does not begin with a page. */
	ASSERT_EQ(1 << 20, map(self->b, memory + 13, LEN - 13, 1 << 20));
	ASSERT_TRUE(follows(self->b, self->a));
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		for (j = 0; j < ARRAY_SIZE(at); j++) {
			stream_fill(data, size[i], i * 10 + j, 0);
			memcpy(expected + 13 + at[j], data, size[i]);
			ASSERT_EQ(size[i], put(self->a, data, size[i],
					       (1 << 20) + at[j]));
			ASSERT_TRUE(follows(self->a, self->b));
			ASSERT_EQ(0, memcmp(memory, expected, LEN));
		}
	}
	/* Up to its end */
	ASSERT_EQ(1, put(self->a, "x", 1, (1 << 20) + LEN - 14));
	ASSERT_TRUE(follows(self->a, self->b));
	EXPECT_EQ('x', memory[LEN - 1]);
}

TEST_F(stream, both_ends_have_offsets_of_their_own)
{
	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->a, memory, PAGE, 0));
	ASSERT_EQ(0, map(self->b, memory + PAGE, PAGE, 0));
	ASSERT_TRUE(follows(self->a, self->b));
	ASSERT_TRUE(follows(self->b, self->a));
	ASSERT_EQ(1, put(self->a, "b", 1, 0));
	ASSERT_EQ(1, put(self->b, "a", 1, 0));
	ASSERT_TRUE(follows(self->a, self->b));
	ASSERT_TRUE(follows(self->b, self->a));
	EXPECT_EQ('a', memory[0]);
	EXPECT_EQ('b', memory[PAGE]);
}

TEST_F(stream, receiver_is_not_told)
{
	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	ASSERT_EQ(LEN, put(self->a, data, LEN, 0));
	EXPECT_TRUE(stream_quiet(self->b, POLLIN));
	EXPECT_EQ(0, stream_inq(self->b));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, data, 1, MSG_DONTWAIT)));
}

/* A writer that has no credit left writes to mappings all the same. */
TEST_F(stream, no_credit_is_needed)
{
	long sent;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	data[0] = 'x';
	ASSERT_EQ(LEN, put(self->a, data, LEN, 0));
	ASSERT_EQ(2 * LEN, put(self->a, data, LEN, 0) +
			   put(self->a, data, LEN, 0));
	ASSERT_TRUE(stream_recv(self->b, SEED, 0, sent));
	ASSERT_TRUE(follows(self->a, self->b));
	EXPECT_EQ('x', memory[0]);
}

/* Bytes of the stream that wait for more, for 200 ms at most, do not keep back
 * what is written to a mapping behind them. A slow host may take longer.
 */
TEST_F(stream, more_to_come_delays_no_placement)
{
	volatile char *place = memory;
	unsigned int tries = 20;
	bool early = false;
	long since;
	char byte;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	while (!early && tries--) {
		*place = 0;
		since = now_ms();
		ASSERT_EQ(1, send(self->a, "x", 1, MSG_MORE));
		ASSERT_EQ(1, put(self->a, "y", 1, 0));
		while (!*place && now_ms() - since < STREAM_PATIENCE)
			usleep(1000);
		ASSERT_EQ('y', *place);
		early = now_ms() - since < 150;
		ASSERT_EQ(1, recv(self->b, &byte, 1, 0));
	}
	EXPECT_TRUE(early);
}

/* The peer has no mapping for all of the bytes. */
TEST_F(stream, places_that_are_not_mapped)
{
	ASSERT_TRUE(reopen(self, variant));
	EXPECT_EQ(-EINVAL, put(self->a, data, 1, 0));
	ASSERT_EQ(PAGE, map(self->b, memory, PAGE, PAGE));
	ASSERT_EQ(2 * PAGE, map_as(self->b, memory, PAGE, PROT_NONE,
				   2 * PAGE));
	ASSERT_EQ(4 * PAGE, map(self->b, memory, PAGE, 4 * PAGE));
	ASSERT_TRUE(follows(self->b, self->a));
	EXPECT_EQ(-EINVAL, put(self->a, data, 1, PAGE - 1));
	EXPECT_EQ(-EINVAL, put(self->a, data, 1, 2 * PAGE));
	EXPECT_EQ(-EINVAL, put(self->a, data, 2, 2 * PAGE - 1));
	EXPECT_EQ(-EINVAL, put(self->a, data, PAGE + 1, PAGE));
	EXPECT_EQ(-EINVAL, put(self->a, data, 1, -1));
	EXPECT_EQ(-EINVAL, put(self->a, data, 1, 1ULL << 63));
	EXPECT_EQ(-EINVAL, put(self->b, data, 1, PAGE));
	EXPECT_EQ(1, put(self->a, "x", 1, 2 * PAGE - 1));
	ASSERT_TRUE(follows(self->a, self->b));
	EXPECT_EQ('x', memory[PAGE - 1]);
}

TEST_F(stream, offsets)
{
	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(PAGE, map(self->b, memory, PAGE, PAGE));
	EXPECT_EQ(-EINVAL, map(self->b, memory, PAGE, PAGE));
	EXPECT_EQ(-EINVAL, map(self->b, memory, PAGE, 2 * PAGE - 1));
	EXPECT_EQ(-EINVAL, map(self->b, memory, PAGE, 1));
	EXPECT_EQ(-EINVAL, map(self->b, memory, 4 * PAGE, 0));
	EXPECT_EQ(0, map(self->b, memory + PAGE, PAGE, 0));
	/* The first one that is free */
	EXPECT_EQ(2 * PAGE, map(self->b, memory + 2 * PAGE, PAGE, -1));
	EXPECT_EQ(0, unmap(self->b, memory + PAGE, PAGE));
	EXPECT_EQ(0, map(self->b, memory + PAGE, 100, -1));
	EXPECT_EQ(0, unmap(self->b, memory + 2 * PAGE, PAGE));
	EXPECT_EQ(LONG_MAX, map(self->b, memory + 5 * PAGE, PAGE, LONG_MAX));
	EXPECT_EQ(-EINVAL, map(self->b, memory, PAGE, LONG_MAX - PAGE + 1));
}

TEST_F(stream, arguments)
{
	struct rds_stream_iomap args = {
		.addr = (unsigned long)memory,
		.len = PAGE,
		.prot = PROT_WRITE,
		.flags = 1,
	};
	void *constant;

	ASSERT_TRUE(reopen(self, variant));
	EXPECT_EQ(-EINVAL, ERR(ioctl(self->b, SIOCRDSIOMAP, &args)));
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->b, SIOCRDSIOMAP, NULL)));
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->b, SIOCRDSIOUNMAP, NULL)));
	EXPECT_EQ(-EINVAL, map(self->b, memory, 0, 0));
	EXPECT_EQ(-EINVAL, map(self->b, memory, (1UL << 30) + 1, 0));
	args.flags = 0;
	args.len = UINT64_MAX;
	EXPECT_EQ(-EINVAL, ERR(ioctl(self->b, SIOCRDSIOMAP, &args)));
	args.len = UINT64_MAX - PAGE + 2;
	EXPECT_EQ(-EINVAL, ERR(ioctl(self->b, SIOCRDSIOMAP, &args)));
	EXPECT_EQ(-EINVAL, map(self->b, memory, PAGE, -2));
	EXPECT_EQ(-EINVAL, map_as(self->b, memory, PAGE, PROT_READ, 0));
	EXPECT_EQ(-EINVAL, map_as(self->b, memory, PAGE,
				  PROT_READ | PROT_WRITE, 0));
	EXPECT_EQ(-EFAULT, map(self->b, NULL, PAGE, 0));
	/* The range must not wrap. */
	args.addr = UINT64_MAX - PAGE + 1;
	args.len = PAGE + 1;
	EXPECT_EQ(-EINVAL, ERR(ioctl(self->b, SIOCRDSIOMAP, &args)));
	args.addr = (unsigned long)memory;
	constant = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	ASSERT_NE(MAP_FAILED, constant);
	EXPECT_EQ(-EFAULT, map(self->b, constant, PAGE, 0));
	args.len = PAGE;
	ASSERT_EQ(0, mprotect(constant, PAGE, PROT_READ | PROT_WRITE));
	memcpy(constant, &args, sizeof(args));
	ASSERT_EQ(0, mprotect(constant, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->b, SIOCRDSIOMAP, constant)));
	munmap(constant, 2 * PAGE);
	EXPECT_EQ(-EINVAL, unmap(self->b, memory, PAGE));
	/* None of these has left anything. */
	ASSERT_EQ(0, map(self->b, memory, PAGE, 0));
	EXPECT_EQ(-EINVAL, unmap(self->b, memory, PAGE - 1));
	EXPECT_EQ(-EINVAL, unmap(self->b, memory + 1, PAGE));
	EXPECT_EQ(0, unmap(self->b, memory, PAGE));
	EXPECT_EQ(-EINVAL, unmap(self->b, memory, PAGE));
}

TEST_F(stream, control_messages)
{
	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	EXPECT_EQ(-EINVAL, put_with(self->a, data, 1, 0, 0,
				    RDS_CMSG_STREAM_WRITE, 4));
	EXPECT_EQ(-EINVAL, put_with(self->a, data, 1, 0, 0,
				    RDS_CMSG_STREAM_WRITE, 16));
	EXPECT_EQ(-EINVAL, put_with(self->a, data, 1, 0, 0,
				    RDS_CMSG_RDMA_DEST, 8));
	EXPECT_EQ(0, put(self->a, data, 0, 0));
	EXPECT_EQ(-EFAULT, put(self->a, NULL, 1, 0));
	EXPECT_EQ(-EOPNOTSUPP, put_with(self->a, data, 1, 0, MSG_OOB,
					RDS_CMSG_STREAM_WRITE, 8));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* How many mappings the peer may make, and by default */
TEST_F(stream, number)
{
	int a, b, i;

	EXPECT_EQ(0, rds_get(self->a, SOL_RDS, RDS_STREAM_IOMAP_SIZE));
	EXPECT_EQ(-ENOMEM, map(self->a, memory, PAGE, 0));
	EXPECT_EQ(-ENOMEM, map(self->b, memory, PAGE, 0));
	EXPECT_EQ(-EINVAL, ERR(rds_set(self->a, SOL_RDS, RDS_STREAM_IOMAP_SIZE,
				       RDS_STREAM_IOMAPS + 1)));
	EXPECT_EQ(-EINVAL, ERR(rds_set(self->a, SOL_RDS, RDS_STREAM_IOMAP_SIZE,
				       -1)));
	/* This is too late for the stream. */
	EXPECT_EQ(0, rds_set(self->b, SOL_RDS, RDS_STREAM_IOMAP_SIZE, 1));
	EXPECT_EQ(-ENOMEM, map(self->a, memory, PAGE, 0));

	ASSERT_TRUE(open_mapping(self, variant, 2, RDS_STREAM_IOMAPS, &a, &b));
	EXPECT_EQ(RDS_STREAM_IOMAPS,
		  rds_get(b, SOL_RDS, RDS_STREAM_IOMAP_SIZE));
	for (i = 0; i < RDS_STREAM_IOMAPS; i++)
		ASSERT_EQ(i * PAGE, map(a, memory, PAGE, -1));
	EXPECT_EQ(-ENOMEM, map(a, memory, PAGE, -1));
	EXPECT_EQ(0, unmap(a, memory, PAGE));
	EXPECT_EQ(0, map(a, memory, PAGE, -1));
	EXPECT_EQ(0, map(b, memory, PAGE, -1));
	EXPECT_EQ(PAGE, map_as(b, memory, PAGE, PROT_NONE, -1));
	EXPECT_EQ(-ENOMEM, map_as(b, memory, PAGE, PROT_NONE, -1));
	EXPECT_TRUE(stream_works(a, b));
	close(a);
	close(b);
}

static int released(int a, int b, int spare)
{
	if (!lock_at_most(LEN + 4 * PAGE) || !fits(spare, LEN))
		return 1;
	if (map(b, memory, LEN, 0) || fits(spare, LEN))
		return 2;
	if (unmap(b, memory, LEN) || !fits(spare, LEN))
		return 3;
	/* A peer that is gone changes nothing. */
	if (map(b, memory, LEN, 0) || shutdown(a, SHUT_RDWR) ||
	    !stream_ended(b) || fits(spare, LEN))
		return 4;
	return 0;
}

/* When the call returns, or the socket is closed, nothing is pinned. */
TEST_F(stream, memory_is_released)
{
	int a, b;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_TRUE(open_mapping(self, variant, ENOUGH, ENOUGH, &a, &b));
	EXPECT_EQ(0, in_child(released, &self->a, &self->b, b));
	close(a);
	close(b);
}

static int closed(int a, int b, int spare)
{
	if (!lock_at_most(LEN + 4 * PAGE) || map(b, memory, LEN, 0))
		return 1;
	/* The parent may take a moment to close its own descriptors. */
	close(a);
	close(b);
	for (a = 0; a < STREAM_PATIENCE / 100 && !fits(spare, LEN); a++)
		usleep(100000);
	return a < STREAM_PATIENCE / 100 ? 0 : 2;
}

TEST_F(stream, memory_is_released_by_close)
{
	int spare, other;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_TRUE(open_mapping(self, variant, ENOUGH, ENOUGH, &other,
				 &spare));
	EXPECT_EQ(0, in_child(closed, &self->a, &self->b, spare));
	close(spare);
	close(other);
}

/* Bytes for a mapping that is gone do not arrive anywhere. */
TEST_F(stream, old_bytes_miss_the_next_mapping)
{
	char *next = memory + LEN / 2;
	int i;

	ASSERT_TRUE(reopen(self, variant));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, map(self->b, memory, LEN / 2, 0));
		ASSERT_TRUE(follows(self->b, self->a));
		memset(data, 'x', LEN);
		ASSERT_EQ(LEN / 2, put(self->a, data, LEN / 2, 0));
		ASSERT_EQ(LEN / 2, put(self->a, data, LEN / 2, 0));
		ASSERT_EQ(0, unmap(self->b, memory, LEN / 2));
		memset(memory, 0, LEN / 2);
		ASSERT_EQ(0, map(self->b, next, LEN / 2, 0));
		ASSERT_TRUE(follows(self->a, self->b));
		ASSERT_EQ(NULL, memchr(memory, 'x', LEN));
		ASSERT_EQ(0, unmap(self->b, next, LEN / 2));
		ASSERT_TRUE(follows(self->b, self->a));
		ASSERT_EQ(-EINVAL, put(self->a, data, 1, 0));
	}
}

TEST_F(stream, streams_that_are_not_open)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, map(fd, memory, PAGE, 0));
	EXPECT_EQ(-EPIPE, put(fd, data, 1, 0));
	close(fd);
	EXPECT_EQ(-ENOTCONN, map(self->listener, memory, PAGE, 0));

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_EQ(0, map(self->a, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(-EPIPE, put(self->a, data, 1, 0));
	EXPECT_EQ(-EPIPE, map(self->a, memory, PAGE, -1));
	EXPECT_TRUE(stream_ended(self->b));
	/* The other half goes on. */
	EXPECT_EQ(1, put(self->b, "x", 1, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	EXPECT_EQ('x', memory[0]);
	stream_close(&self->b);
	EXPECT_EQ(0, unmap(self->a, memory, LEN));
}

/* A task that waits for the send buffer, and one that does not want to */
TEST_F(stream, room)
{
	long done = 0, ret;

	ASSERT_TRUE(reopen(self, variant));
	ASSERT_EQ(0, map(self->b, memory, LEN, 0));
	ASSERT_TRUE(follows(self->b, self->a));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_SNDBUF, LEN / 2));
	do {
		ret = put_with(self->a, data, LEN, 0, MSG_DONTWAIT,
			       RDS_CMSG_STREAM_WRITE, 8);
		done += ret > 0 ? ret : 0;
	} while (ret == LEN && done < 20 * LEN);
	/* Over loopback, each write has arrived when it returns. */
	if (ret != LEN)
		EXPECT_TRUE(ret == -EAGAIN || (ret > 0 && ret < LEN));
	ASSERT_EQ(LEN, put(self->a, data, LEN, 0));
	ASSERT_TRUE(follows(self->a, self->b));
}

static int limited(int a, int b, int spare)
{
	if (!lock_at_most(4 * PAGE))
		return 1;
	if (map(b, memory, LEN, 0) != -ENOMEM)
		return 2;
	return fits(b, 2 * PAGE) ? 0 : 3;
}

TEST_F(stream, limit_of_locked_memory)
{
	ASSERT_TRUE(reopen(self, variant));
	EXPECT_EQ(0, in_child(limited, &self->a, &self->b, -1));
}

/* The socket passes to another process; its memory stays with the first. */
TEST_F(stream, memory_of_the_process_that_has_mapped)
{
	char *shared;
	int status;
	pid_t pid;

	ASSERT_TRUE(reopen(self, variant));
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (map(self->b, shared, PAGE, 0))
			_exit(1);
		_exit(follows(self->b, self->a) ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	/* The pages are still mapped, since the socket is still open. */
	ASSERT_EQ(1, put(self->a, "x", 1, 0));
	ASSERT_TRUE(follows(self->a, self->b));
	EXPECT_EQ('x', shared[0]);
	EXPECT_EQ(0, unmap(self->b, shared, PAGE));
	munmap(shared, PAGE);
}

TEST_HARNESS_MAIN
