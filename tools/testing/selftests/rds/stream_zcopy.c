// SPDX-License-Identifier: GPL-2.0
/* MSG_ZEROCOPY on streams: what is sent, and when the memory is free */
#include "stream_pair.h"
#include "stream_wire.h"

#include <linux/capability.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define SEED	7
#define LATER	8

/* More than one frame, and not a number of pages */
#define SIZE	300001

/* Fits in one frame, and in the window of TCP */
#define PART	20000

#define PAGE	4096

static char buf[SIZE] __attribute__((aligned(PAGE)));

/*
 * Wait for a notification. Returns the number of the last write that it tells
 * of, or a negative errno. Sets *copied if the bytes were copied.
 */
static long told(int fd, bool *copied)
{
	struct sock_extended_err *err;
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	long ret;

	if (!stream_await_all(fd, POLLERR))
		return -ETIMEDOUT;
	ret = ERR(rds_msg_recv(fd, &msg, NULL, 0, MSG_ERRQUEUE));
	if (ret)
		return ret;
	cmsg = rds_msg_find(&msg, SOL_IP, IP_RECVERR) ?:
	       rds_msg_find(&msg, SOL_IPV6, IPV6_RECVERR);
	if (!cmsg)
		return -ENOMSG;
	err = (void *)CMSG_DATA(cmsg);
	if (err->ee_errno || err->ee_origin != SO_EE_ORIGIN_ZEROCOPY)
		return -EBADMSG;
	*copied = err->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return err->ee_data;
}

/* Receive the notifications of writes up to number @last. */
static bool told_all(int fd, long last)
{
	long next = 0, ret;
	bool copied;

	while (next <= last) {
		ret = told(fd, &copied);
		if (ret < next)
			return false;
		next = ret + 1;
	}
	return next == last + 1 && !(rds_poll(fd) & POLLERR);
}

/* Write all without blocking forever. Returns the number of writes. */
static long write_all(int fd, int peer, size_t len)
{
	struct stream_flow in;
	size_t done = 0;
	long nr = 0, ret;

	if (stream_recv_aside(&in, peer, SEED, len))
		return -1;
	while (done < len) {
		ret = send(fd, buf + done, len - done, MSG_ZEROCOPY);
		if (ret <= 0)
			break;
		done += ret;
		nr++;
	}
	return stream_joined(&in) && done == len ? nr : -1;
}

TEST_F(stream, bytes_arrive)
{
	long nr;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, SIZE, SEED, 0);
	nr = write_all(self->a, self->b, SIZE);
	ASSERT_LT(0, nr);
	EXPECT_TRUE(told_all(self->a, nr - 1));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Pieces that touch more pages than their bytes fill are copied. */
TEST_F(stream, bytes_in_pieces)
{
	struct iovec small[] = {
		{ buf + 1, 5000 }, { buf + 5001, 1 }, { buf + 5002, 0 },
		{ buf + 5002, 100 }, { buf + 5102, PAGE },
	};
	struct iovec large[] = {
		{ buf + 5102 + PAGE, 10 * PAGE }, { buf + 5102 + 11 * PAGE, 7 },
	};
	const size_t first = 5101 + PAGE, second = 10 * PAGE + 7;
	struct msghdr msg = {};

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf + 1, first + second, SEED, 0);
	msg.msg_iov = small;
	msg.msg_iovlen = ARRAY_SIZE(small);
	ASSERT_EQ(first, ERR(sendmsg(self->a, &msg, MSG_ZEROCOPY)));
	msg.msg_iov = large;
	msg.msg_iovlen = ARRAY_SIZE(large);
	ASSERT_EQ(second, ERR(sendmsg(self->a, &msg, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, first + second));
	EXPECT_TRUE(told_all(self->a, 1));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Without the option of the socket, the flag has no effect. */
TEST_F(stream, flag_without_option)
{
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
}

/* Within the host, bytes are copied: nobody reads the memory later. */
TEST_F(stream, own_host)
{
	bool copied = false;

	if (variant->apart || variant->device)
		return;
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	ASSERT_EQ(0, told(self->a, &copied));
	EXPECT_TRUE(copied);
	stream_fill(buf, PART, LATER, 0);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
}

/* The part before memory that is not there is written, or nothing. */
TEST_F(stream, memory_that_ends)
{
	const size_t size = 16 * PAGE;
	char *map;
	long got;

	map = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, munmap(map + size, size));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(map, size, SEED, 0);
	got = ERR(send(self->a, map, 2 * size, MSG_ZEROCOPY));
	if (got == -EFAULT) {
		got = 0;
		EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	}
	ASSERT_LE(0, got);
	EXPECT_GE(size, got);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, got));
	EXPECT_TRUE(stream_works(self->a, self->b));
	munmap(map, size);
}

/* Write as a user who may lock one page. */
static int write_without_rights(int fd)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct rlimit limit = { PAGE, PAGE };
	struct __user_cap_data_struct none[2] = {};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4321) ||
	    setuid(4321) || syscall(SYS_capset, &head, none))
		return 1;
	return ERR(send(fd, buf, SIZE, MSG_ZEROCOPY)) == -ENOBUFS ? 0 : 2;
}

TEST_F(stream, memory_counts_as_locked)
{
	int status = -1;
	pid_t pid;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	pid = fork();
	if (!pid)
		_exit(write_without_rights(self->a));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* The memory belongs to the stream until the peer has it: what is written there
 * meanwhile arrives, and nobody is told that it is free.
 */
TEST_F(wire, memory_is_not_copied)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	stream_fill(buf, PART, LATER, 0);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, LATER, 0, PART));
	EXPECT_TRUE(told_all(self->a, 0));
}

/* A stream that ends gives the memory back, and tells so. */
TEST_F(wire, end_frees_the_memory)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 500));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_await_all(self->a, POLLERR | POLLHUP));
	EXPECT_EQ(ETIMEDOUT, rds_get(self->a, SOL_SOCKET, SO_ERROR));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(told_all(self->a, 0));
}

/* close() delivers what is in the memory of the user, too. */
TEST_F(wire, close_delivers)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	stream_close(&self->a);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
	EXPECT_TRUE(stream_ended(self->b));
}

TEST_HARNESS_MAIN
