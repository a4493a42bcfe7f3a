// SPDX-License-Identifier: GPL-2.0
/* MSG_ZEROCOPY on streams: what is sent, and when the memory is free */
#define WIRE_PATIENCE	"60000"

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

/* What a user may lock: some writes of PART bytes, and not SIZE */
#define LOCKED	(32 * PAGE)

/* Writes whose notifications may be to come, or unread */
#define WRITES	1024

/* More bytes than are always copied; and a size for each of many writes, so
 * that every second one is copied, and no notification tells of neighbours
 */
#define PLACED	1100
#define PLACED_OR_ONE(i)	((i) % 2 ? 1 : PLACED)

/* Bytes in pieces that are too many for a frame */
#define PIECES	300
#define PIECE	10

/* Writes of each of two tasks */
#define WRITERS_EACH	30L

/* Writes of PART bytes, more than TCP has room for */
#define MANY	40

static char buf[SIZE] __attribute__((aligned(PAGE)));

struct told {
	long first;		/* numbers of the writes */
	long last;
	bool copied;		/* their bytes were copied */
};

/* Wait for a notification. Returns 0 or a negative errno. */
static long tell(int fd, struct told *told)
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
	told->first = err->ee_info;
	told->last = err->ee_data;
	told->copied = err->ee_code & SO_EE_CODE_ZEROCOPY_COPIED;
	return 0;
}

/* Receive a notification of some of @nr writes, none of which is in @seen. */
static bool tell_more(int fd, long nr, bool *seen, long *left)
{
	struct told told;
	long i;

	if (tell(fd, &told) || told.first > told.last || told.last >= nr)
		return false;
	for (i = told.first; i <= told.last; i++, --*left) {
		if (seen[i])
			return false;
		seen[i] = true;
	}
	return true;
}

/* Receive the notifications of all writes, @nr of them, each told once. They
 * need not come in order.
 */
static bool told_all(int fd, long nr)
{
	bool seen[WRITES] = {};
	long left = nr;

	while (left)
		if (!tell_more(fd, nr, seen, &left))
			return false;
	return !(rds_poll(fd) & POLLERR);
}

/* Receive the notification of a write that is the only one. */
static bool told_next(int fd, long number)
{
	struct told told;

	return !tell(fd, &told) && told.first == number && told.last == number;
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

/* Receive so many bytes, whatever they are. */
static bool received(int fd, size_t left)
{
	char got[4096];
	long ret;

	while (left) {
		if (!stream_await(fd, POLLIN))
			return false;
		ret = recv(fd, got, left < sizeof(got) ? left : sizeof(got), 0);
		if (ret <= 0)
			return false;
		left -= ret;
	}
	return true;
}

TEST_F(stream, bytes_arrive)
{
	long nr;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, SIZE, SEED, 0);
	nr = write_all(self->a, self->b, SIZE);
	ASSERT_LT(0, nr);
	EXPECT_TRUE(told_all(self->a, nr));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Pieces of which a device may need copies */
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
	EXPECT_TRUE(told_all(self->a, 2));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* A frame has only so many. */
TEST_F(stream, bytes_in_many_pieces)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = PIECES };
	struct told told = {};
	int i;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, PIECES * PIECE, SEED, 0);
	for (i = 0; i < PIECES; i++)
		iov[i] = (struct iovec){ buf + i * PIECE, PIECE };
	ASSERT_EQ(PIECES * PIECE, ERR(sendmsg(self->a, &msg, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PIECES * PIECE));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_EQ(0, told.last);
	EXPECT_TRUE(told.copied || stream_over_inet());
}

/* Without the option of the socket, the flag has no effect. */
TEST_F(stream, flag_without_option)
{
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
}

/* A device reads one stretch of memory in place. Others are copied. Within the
 * host all is copied, and over TCP that depends on devices on the way.
 */
TEST_F(stream, stretches_of_memory)
{
	struct iovec gap[] = { { buf + 1, PLACED }, { buf + PAGE + 5, 100 } };
	struct msghdr msg = { .msg_iov = gap, .msg_iovlen = ARRAY_SIZE(gap) };
	struct told told = {};
	char got[PLACED + 100];

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf + 1, PART, SEED, 0);
	ASSERT_EQ(PART, ERR(send(self->a, buf + 1, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_TRUE(variant->apart || told.copied == !variant->device);
	ASSERT_EQ(sizeof(got), ERR(sendmsg(self->a, &msg, MSG_ZEROCOPY)));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_EQ(1, told.first);
	EXPECT_TRUE(variant->apart || told.copied);
	ASSERT_EQ(sizeof(got), ERR(recv(self->b, got, sizeof(got),
					MSG_WAITALL)));
	EXPECT_EQ(0, memcmp(got, buf + 1, PLACED));
	EXPECT_EQ(0, memcmp(got + PLACED, buf + PAGE + 5, 100));
}

/* That the rest of a large write is copied is not told. */
TEST_F(stream, rest_of_a_large_write)
{
	const long len = 131072 + 100;	/* the largest frame, and a rest */
	struct told told = {};

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, len, SEED, 0);
	ASSERT_EQ(len, ERR(send(self->a, buf, len, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, len));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_TRUE(variant->apart || told.copied == !variant->device);
}

/* What is not read is bounded, and no longer if it is read. Where all is
 * copied, as within the host, one notification tells of many writes.
 */
TEST_F(stream, unread_notifications_are_bounded)
{
	struct told told = {};
	char got[PLACED];
	long more, i;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 0; i < WRITES; i++) {
		ASSERT_EQ(PLACED_OR_ONE(i), ERR(send(self->a, buf,
						     PLACED_OR_ONE(i),
						     MSG_ZEROCOPY)));
		ASSERT_EQ(PLACED_OR_ONE(i), ERR(recv(self->b, got,
						     PLACED_OR_ONE(i),
						     MSG_WAITALL)));
	}
	more = ERR(send(self->a, buf, 1, MSG_ZEROCOPY));
	EXPECT_TRUE(variant->apart || more == (variant->device ? -ENOBUFS : 1));
	if (more == 1)
		EXPECT_EQ(1, ERR(recv(self->b, got, 1, 0)));
	EXPECT_TRUE(stream_works(self->a, self->b));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_TRUE(variant->apart ||
		    told.last == (variant->device ? told.first : WRITES));
	ASSERT_EQ(PLACED, ERR(send(self->a, buf, PLACED, MSG_ZEROCOPY)));
	EXPECT_TRUE(variant->apart ||
		    more == ERR(send(self->a, buf, 1, MSG_ZEROCOPY)));
}

/* Once it is told, the memory is free: what it becomes is not received. Within
 * the host, that is at once.
 */
TEST_F(stream, memory_is_free_once_told)
{
	struct told told = {};

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, PART, SEED, 0);
	ASSERT_EQ(PART, ERR(send(self->a, buf, PART, MSG_ZEROCOPY)));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_EQ(0, told.first);
	EXPECT_TRUE(variant->apart || told.copied == !variant->device);
	stream_fill(buf, PART, LATER, 0);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, PART));
}

/* The part before memory that is not there is written, as far as frames go that
 * have only memory that is there.
 */
TEST_F(stream, memory_that_ends)
{
	const size_t size = 64 * PAGE;
	char *map;
	long got;

	map = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, munmap(map + size, size));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(map, size, SEED, 0);
	EXPECT_EQ(-EFAULT, ERR(send(self->a, map + size - 1, PAGE,
				    MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	got = ERR(send(self->a, map, 2 * size, MSG_ZEROCOPY));
	ASSERT_LT(0, got);
	EXPECT_GE(size, got);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, got));
	EXPECT_TRUE(told_all(self->a, 1));
	EXPECT_TRUE(stream_works(self->a, self->b));
	munmap(map, size);
}

/* Have a child without rights lock at most LOCKED bytes. */
static bool drop_rights(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct rlimit limit = { LOCKED, LOCKED };
	struct __user_cap_data_struct none[2] = {};

	return !setrlimit(RLIMIT_MEMLOCK, &limit) && !setgid(4321) &&
	       !setuid(4321) && !syscall(SYS_capset, &head, none);
}

/* More than the limit is refused before any byte is sent. What is free again
 * counts no longer.
 */
static int write_without_rights(int fd, int peer)
{
	int i;

	if (!drop_rights())
		return 1;
	if (ERR(send(fd, buf, SIZE, MSG_ZEROCOPY)) != -ENOBUFS)
		return 2;
	for (i = 0; i < 20; i++) {
		stream_fill(buf, PART, SEED, i * PART);
		if (send(fd, buf, PART, MSG_ZEROCOPY) != PART ||
		    !stream_recv(peer, SEED, i * PART, PART))
			return 3;
		if (!told_next(fd, i))
			return 4;
	}
	return 0;
}

TEST_F(stream, memory_counts_as_locked)
{
	int status = -1;
	pid_t pid;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	pid = fork();
	if (!pid)
		_exit(write_without_rights(self->a, self->b));
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
	EXPECT_TRUE(told_all(self->a, 1));
}

/* TCP has no room for most of what is written. */
TEST_F(wire, memory_waits_for_room)
{
	const size_t size = 4 * 1024 * 1024;
	size_t done = 0;
	long nr = 0, ret;
	char *map;

	map = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	stream_fill(map, size, SEED, 0);
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, wire_cut(variant));
	while (done < size) {
		ret = ERR(send(self->a, map + done, size - done < 150000 ?
			       size - done : 150000,
			       MSG_ZEROCOPY | MSG_DONTWAIT));
		if (ret < 0)
			break;
		done += ret;
		nr++;
	}
	EXPECT_LT(0, nr);
	EXPECT_TRUE(done == size || ret == -EAGAIN);
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, done));
	EXPECT_TRUE(told_all(self->a, nr));
	EXPECT_TRUE(stream_works(self->a, self->b));
	munmap(map, size);
}

/* So many notifications may be to come or to be read, and no more. */
TEST_F(wire, memory_is_bounded)
{
	bool seen[WRITES + 1] = {};
	struct told told = {};
	long left = WRITES / 2;
	size_t done = 0;
	int i;

	if (stream_over_inet())
		SKIP(return, "TCP itself allows fewer");
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, SIZE, SEED, 0);
	ASSERT_EQ(0, wire_cut(variant));
	for (i = 0; i < WRITES; i++) {
		ASSERT_EQ(PLACED_OR_ONE(i),
			  ERR(send(self->a, buf, PLACED_OR_ONE(i),
				   MSG_ZEROCOPY)));
		done += PLACED_OR_ONE(i);
	}
	EXPECT_EQ(-ENOBUFS, ERR(send(self->a, buf, 1, MSG_ZEROCOPY)));
	/* Those that were copied are told at once. */
	for (i = 1; i < WRITES; i += 2) {
		ASSERT_EQ(0, tell(self->a, &told));
		EXPECT_EQ(i, told.first);
		EXPECT_EQ(i, told.last);
		EXPECT_TRUE(told.copied);
	}
	EXPECT_TRUE(stream_quiet(self->a, POLLERR));
	ASSERT_EQ(1, ERR(send(self->a, buf, 1, MSG_ZEROCOPY)));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_EQ(WRITES, told.first);

	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(received(self->b, done + 1));
	for (i = 1; i < WRITES; i += 2)
		seen[i] = true;
	seen[WRITES] = true;
	while (left)
		ASSERT_TRUE(tell_more(self->a, WRITES, seen, &left));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Each of many small writes is reported. */
TEST_F(stream, small_writes)
{
	const int nr = 200, size = 100;
	int i;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, nr * size, SEED, 0);
	for (i = 0; i < nr; i++)
		ASSERT_EQ(size, ERR(send(self->a, buf + i * size, size,
					 MSG_ZEROCOPY |
					 (i + 1 < nr ? MSG_MORE : 0))));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, nr * size));
	EXPECT_TRUE(told_all(self->a, nr));
}

static void *write_aside(void *arg)
{
	int *fd = arg;
	long i;

	for (i = 0; i < WRITERS_EACH; i++)
		if (send(*fd, buf, PLACED, MSG_ZEROCOPY) != PLACED)
			break;
	return (void *)i;
}

/* Two tasks write: each write has a number. */
TEST_F(stream, two_writers)
{
	void *other = NULL;
	pthread_t thread;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_aside, &self->a));
	EXPECT_EQ(WRITERS_EACH, (long)write_aside(&self->a));
	ASSERT_EQ(0, pthread_join(thread, &other));
	ASSERT_EQ(WRITERS_EACH, (long)other);
	EXPECT_TRUE(received(self->b, 2 * PLACED * WRITERS_EACH));
	EXPECT_TRUE(told_all(self->a, 2 * WRITERS_EACH));
}

/* A stream that ends gives back at once what TCP has not taken, and later what
 * it has.
 */
TEST_F(wire, end_frees_the_memory)
{
	bool seen[MANY] = {};
	long nr, left;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, wire_cut(variant));
	for (nr = 0; nr < MANY; nr++)
		if (send(self->a, buf, PART, MSG_ZEROCOPY | MSG_DONTWAIT) <= 0)
			break;
	ASSERT_LT(0, nr);
	EXPECT_TRUE(nr == MANY || stream_over_inet());
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_USER_TIMEOUT, 500));
	EXPECT_TRUE(stream_await_all(self->a, POLLERR | POLLHUP));
	EXPECT_EQ(ETIMEDOUT, rds_get(self->a, SOL_SOCKET, SO_ERROR));
	left = nr;
	while (!seen[nr - 1])
		ASSERT_TRUE(tell_more(self->a, nr, seen, &left));
	ASSERT_EQ(0, wire_mend(variant));
	while (left)
		ASSERT_TRUE(tell_more(self->a, nr, seen, &left));
}

/* What is to be told is not hidden while the socket connects again. */
TEST_F(wire, told_while_connecting)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct told told = {};

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(1, ERR(send(self->a, buf, 1, MSG_ZEROCOPY)));
	ASSERT_TRUE(received(self->b, 1));
	ASSERT_TRUE(stream_await_all(self->a, POLLERR));
	ASSERT_EQ(0, ERR(connect(self->a, &none, sizeof(none))));
	EXPECT_EQ(ECONNRESET, rds_get(self->a, SOL_SOCKET, SO_ERROR));
	ASSERT_EQ(0, stream_nonblocking(self->a, true));
	ASSERT_EQ(-EINPROGRESS,
		  ERR(rds_connect(self->a, rds_name(variant->nobody, 4100))));
	EXPECT_EQ(POLLERR, rds_poll(self->a));
	ASSERT_EQ(0, tell(self->a, &told));
	EXPECT_EQ(0, told.last);
	EXPECT_EQ(0, rds_poll(self->a));
}

/* A namespace does not wait for memory that TCP is still to send from. */
TEST_F(wire, namespace_does_not_wait_for_lent_memory)
{
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(PART, ERR(send(self->b, buf, PART, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_quiet(self->b, POLLERR));
	ASSERT_EQ(0, stream_linger(self->b, true, 0));
	stream_close(&self->b);
	stream_close(&self->listener);
	veth_forget();
	/* TCP itself gives up later (WIRE_PATIENCE). */
	EXPECT_TRUE(wire_far_ends(STREAM_PATIENCE));
	EXPECT_EQ(0, stream_linger(self->a, true, 0));
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
