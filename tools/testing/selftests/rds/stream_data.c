// SPDX-License-Identifier: GPL-2.0
/* What streams carry: the calls that send and receive, and their flags */
#include "stream_pair.h"
#include "stream_wire.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/errqueue.h>

#define SEED	7

static char buf[1024 * 1024];

/* Send from socket a, in one call, the bytes that begin at @position. */
static long put(FIXTURE_DATA(stream) *self, uint64_t position, size_t len)
{
	stream_fill(buf, len, SEED, position);
	return ERR(send(self->a, buf, len, MSG_NOSIGNAL));
}

TEST_F(stream, both_directions)
{
	EXPECT_TRUE(stream_send(self->a, 1, 0, 1000));
	EXPECT_TRUE(stream_send(self->b, 2, 0, 1000));
	EXPECT_TRUE(stream_recv(self->a, 2, 0, 1000));
	EXPECT_TRUE(stream_recv(self->b, 1, 0, 1000));
}

TEST_F(stream, boundaries_are_not_kept)
{
	ASSERT_EQ(300, put(self, 0, 300));
	ASSERT_EQ(200, put(self, 300, 200));
	memset(buf, 0, sizeof(buf));
	ASSERT_EQ(500, ERR(recv(self->b, buf, 500, MSG_WAITALL)));
	EXPECT_TRUE(stream_check(buf, 500, SEED, 0));

	ASSERT_EQ(500, put(self, 0, 500));
	ASSERT_TRUE(stream_await_bytes(self->b, 500));
	EXPECT_EQ(1, ERR(recv(self->b, buf, 1, 0)));
	EXPECT_EQ(99, ERR(recv(self->b, buf + 1, 99, 0)));
	EXPECT_EQ(400, ERR(recv(self->b, buf + 100, sizeof(buf) - 100, 0)));
	EXPECT_TRUE(stream_check(buf, 500, SEED, 0));
}

/* Sizes around those of pages, fragments and buffers */
TEST_F(stream, sizes)
{
	static const size_t size[] = {
		1, 2, 3, 7, 63, 64, 65, 1447, 1448, 1449, 4095, 4096, 4097,
		8191, 8192, 8193, 65535, 65536, 65537, 131072, 262145,
	};
	struct stream_flow flow;
	uint64_t position = 0;
	unsigned int i;
	size_t total = 0;

	for (i = 0; i < ARRAY_SIZE(size); i++)
		total += size[i];
	ASSERT_EQ(0, stream_recv_aside(&flow, self->b, SEED, total));
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		EXPECT_EQ(size[i], put(self, position, size[i]));
		position += size[i];
	}
	EXPECT_TRUE(stream_joined(&flow));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(stream, single_bytes)
{
	char byte;
	int i;

	for (i = 0; i < 3000; i++) {
		stream_fill(&byte, 1, SEED, i);
		ASSERT_EQ(1, ERR(send(self->a, &byte, 1, 0)));
	}
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 3000));
	EXPECT_TRUE(rds_silent(self->b));
}

/* rstream passes MSG_WAITALL to send(). */
TEST_F(stream, flags_without_a_meaning)
{
	char byte = 0;

	EXPECT_EQ(1, ERR(send(self->a, "x", 1, MSG_WAITALL | MSG_CONFIRM |
			      MSG_TRUNC)));
	EXPECT_EQ(1, ERR(recv(self->b, &byte, 1, MSG_CONFIRM | MSG_EOR |
			      MSG_DONTROUTE)));
	EXPECT_EQ('x', byte);
}

TEST_F(stream, nothing_is_sent)
{
	char byte;

	EXPECT_EQ(0, ERR(send(self->a, NULL, 0, 0)));
	EXPECT_EQ(0, ERR(write(self->a, buf, 0)));
	EXPECT_TRUE(stream_quiet(self->b, POLLIN));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, &byte, 1, MSG_DONTWAIT)));
}

TEST_F(stream, nothing_is_received)
{
	ASSERT_EQ(5, put(self, 0, 5));
	ASSERT_TRUE(stream_await_bytes(self->b, 5));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 0, 0)));
	EXPECT_EQ(0, ERR(read(self->b, buf, 0)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 5));
}

/* recv() without room shows whether something can be received, as with TCP. */
TEST_F(stream, receiving_nothing_waits)
{
	const int peek = MSG_PEEK | MSG_DONTWAIT;
	struct rds_task task;

	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 0, MSG_DONTWAIT)));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 0, peek)));
	EXPECT_EQ(0, ERR(read(self->b, buf, 0)));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf + 1000, 0));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(5, put(self, 0, 5));
	EXPECT_EQ(0, rds_task_join(&task));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 0, peek)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 5));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_await(self->b, POLLRDHUP));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 0, MSG_DONTWAIT)));
}

TEST_F(stream, receive_waits)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf + 1000, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(30, put(self, 0, 30));
	EXPECT_EQ(30, rds_task_join(&task));
	EXPECT_TRUE(stream_check(buf + 1000, 30, SEED, 0));
}

TEST_F(stream, send_waits)
{
	static char large[16 * 1024 * 1024];
	struct rds_task task;
	struct rds_name none = {};

	/* More than both buffers hold, however far they grow */
	stream_fill(large, sizeof(large), SEED, 0);
	ASSERT_EQ(0, rds_task_send(&task, self->a, large, sizeof(large),
				   &none));
	EXPECT_TRUE(rds_task_blocked(&task));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sizeof(large)));
	EXPECT_EQ(sizeof(large), rds_task_join(&task));
}

TEST_F(stream, signal_interrupts_receive)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(0));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	pthread_kill(task.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, rds_task_join(&task));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, signal_restarts_receive)
{
	struct rds_task task;

	ASSERT_EQ(0, rds_signal_setup(SA_RESTART));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf + 1000, 100));
	EXPECT_TRUE(rds_task_blocked(&task));
	pthread_kill(task.thread, SIGUSR1);
	while (!rds_signal_count())
		usleep(1000);
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(30, put(self, 0, 30));
	EXPECT_EQ(30, rds_task_join(&task));
	EXPECT_TRUE(stream_check(buf + 1000, 30, SEED, 0));
}

/* What was sent before the signal is reported, and no more has arrived. */
TEST_F(stream, signal_interrupts_send)
{
	struct rds_task task;
	struct rds_name none = {};
	long filled, sent;

	ASSERT_EQ(0, rds_signal_setup(0));
	filled = stream_stuff(self->a, SEED);
	ASSERT_LT(0, filled);
	stream_fill(buf, sizeof(buf), SEED, filled);
	ASSERT_EQ(0, rds_task_send(&task, self->a, buf, sizeof(buf), &none));
	EXPECT_TRUE(rds_task_blocked(&task));
	pthread_kill(task.thread, SIGUSR1);
	sent = rds_task_join(&task);
	if (sent == -EINTR)
		sent = 0;
	ASSERT_LE(0, sent);
	EXPECT_GT((long)sizeof(buf), sent);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, filled + sent));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(stream_ended(self->b));
}

/*
 * Send single bytes until one does not fit. Returns their number, or the
 * negative errno if that is not EAGAIN.
 */
static long top_up(int fd, uint64_t position, int flags)
{
	long sent = 0;
	char byte;

	for (;;) {
		stream_fill(&byte, 1, SEED, position + sent);
		if (send(fd, &byte, 1, flags) != 1)
			return errno == EAGAIN ? sent : -errno;
		sent++;
	}
}

TEST_F(stream, without_waiting)
{
	long sent, more;

	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1, MSG_DONTWAIT)));
	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	more = top_up(self->a, sent, MSG_DONTWAIT);
	ASSERT_LE(0, more);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent + more));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1, MSG_DONTWAIT)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, nonblocking_descriptors)
{
	long sent, more;

	ASSERT_EQ(0, stream_nonblocking(self->a, true));
	ASSERT_EQ(0, stream_nonblocking(self->b, true));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1, 0)));
	EXPECT_EQ(-EAGAIN, ERR(read(self->b, buf, 1)));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1, MSG_WAITALL)));
	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	more = top_up(self->a, sent, 0);
	ASSERT_LE(0, more);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent + more));
}

TEST_F(stream, peek)
{
	ASSERT_EQ(500, put(self, 0, 500));
	ASSERT_TRUE(stream_await_bytes(self->b, 500));
	memset(buf, 0, sizeof(buf));
	EXPECT_EQ(10, ERR(recv(self->b, buf, 10, MSG_PEEK)));
	EXPECT_TRUE(stream_check(buf, 10, SEED, 0));
	EXPECT_EQ(500, ERR(recv(self->b, buf, 1000, MSG_PEEK)));
	EXPECT_TRUE(stream_check(buf, 500, SEED, 0));
	EXPECT_EQ(500, stream_inq(self->b));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 500));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1, MSG_PEEK | MSG_DONTWAIT)));
}

TEST_F(stream, peek_waits)
{
	struct rds_task task = {
		.fd = self->b,
		.buf = buf + 1000,
		.len = 100,
		.flags = MSG_PEEK,
		.nr = SYS_recvfrom,
	};

	ASSERT_EQ(0, rds_task_start(&task));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(30, put(self, 0, 30));
	EXPECT_EQ(30, rds_task_join(&task));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 30));
}

TEST_F(stream, wait_for_all)
{
	struct rds_task task = {
		.fd = self->b,
		.buf = buf + 5000,
		.len = 1000,
		.flags = MSG_WAITALL,
		.nr = SYS_recvfrom,
	};

	ASSERT_EQ(0, rds_task_start(&task));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(999, put(self, 0, 999));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(1, put(self, 999, 1));
	EXPECT_EQ(1000, rds_task_join(&task));
	EXPECT_TRUE(stream_check(buf + 5000, 1000, SEED, 0));
}

TEST_F(stream, wait_for_all_until_the_end)
{
	ASSERT_EQ(400, put(self, 0, 400));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_EQ(400, ERR(recv(self->b, buf, 1000, MSG_WAITALL)));
	EXPECT_EQ(0, ERR(recv(self->b, buf, 1000, MSG_WAITALL)));
}

/* What cannot be stored stays in the stream, and the call does not wait. */
TEST_F(stream, wait_for_all_where_memory_ends)
{
	size_t page = getpagesize();
	unsigned char *map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, munmap(map + page, page));
	ASSERT_EQ(100, put(self, 0, 100));
	ASSERT_EQ(2000, put(self, 100, 2000));
	ASSERT_TRUE(stream_await_bytes(self->b, 2100));
	EXPECT_EQ(100, ERR(recv(self->b, map + page - 1500, 3000,
				MSG_WAITALL)));
	EXPECT_TRUE(stream_check(map + page - 1500, 100, SEED, 0));
	EXPECT_TRUE(stream_recv(self->b, SEED, 100, 2000));
	munmap(map, page);
}

TEST_F(stream, wait_for_all_times_out)
{
	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 200));
	ASSERT_EQ(400, put(self, 0, 400));
	ASSERT_TRUE(stream_await_bytes(self->b, 400));
	EXPECT_EQ(400, ERR(recv(self->b, buf, 1000, MSG_WAITALL)));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 1000, MSG_WAITALL)));
}

/* A stream discards the bytes, and does not write to the buffer. */
TEST_F(stream, truncate)
{
	ASSERT_EQ(500, put(self, 0, 500));
	ASSERT_TRUE(stream_await_bytes(self->b, 500));
	memset(buf, 0x55, 500);
	EXPECT_EQ(200, ERR(recv(self->b, buf, 200, MSG_TRUNC)));
	EXPECT_EQ(0x55, buf[0]);
	EXPECT_EQ(0x55, buf[199]);
	EXPECT_EQ(50, ERR(recv(self->b, NULL, 50, MSG_TRUNC)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 250, 250));
}

/* What follows arrives together with what had more to come. */
TEST_F(stream, more_to_come)
{
	stream_fill(buf, 500, SEED, 0);
	EXPECT_EQ(200, ERR(send(self->a, buf, 200, MSG_MORE)));
	EXPECT_EQ(200, ERR(send(self->a, buf + 200, 200, MSG_MORE)));
	EXPECT_EQ(100, ERR(send(self->a, buf + 400, 100, 0)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 500));
	/* Nothing may follow: the end is sent all the same. */
	EXPECT_EQ(200, ERR(send(self->a, buf, 200, MSG_MORE)));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 200));
	EXPECT_TRUE(stream_ended(self->b));
}

TEST_F(stream, read_and_write)
{
	stream_fill(buf, 300, SEED, 0);
	EXPECT_EQ(300, ERR(write(self->a, buf, 300)));
	ASSERT_TRUE(stream_await_bytes(self->b, 300));
	memset(buf, 0, 300);
	EXPECT_EQ(300, ERR(read(self->b, buf, 1000)));
	EXPECT_TRUE(stream_check(buf, 300, SEED, 0));
	EXPECT_EQ(-ESPIPE, ERR(pwrite(self->a, buf, 1, 0)));
	EXPECT_EQ(-ESPIPE, ERR(pread(self->b, buf, 1, 0)));
	EXPECT_EQ(-ESPIPE, ERR(lseek(self->a, 0, SEEK_CUR)));
}

/* Give the parts of buf to @iov: of 0, 1, 2 ... bytes. Returns their sum. */
static size_t set_parts(struct iovec *iov, int count)
{
	size_t total = 0;
	int i;

	for (i = 0; i < count; i++) {
		iov[i].iov_base = buf + total;
		iov[i].iov_len = i;
		total += i;
	}
	return total;
}

TEST_F(stream, vectors)
{
	struct iovec iov[IOV_MAX];
	size_t total = set_parts(iov, 200);
	struct stream_flow flow;

	stream_fill(buf, total, SEED, 0);
	EXPECT_EQ(total, ERR(writev(self->a, iov, 200)));
	ASSERT_TRUE(stream_await_bytes(self->b, total));
	memset(buf, 0, sizeof(buf));
	EXPECT_EQ(total, ERR(readv(self->b, iov, 200)));
	EXPECT_TRUE(stream_check(buf, total, SEED, 0));

	/* So much may have to wait for the receiver. */
	total = set_parts(iov, IOV_MAX);
	stream_fill(buf, total, SEED, 0);
	ASSERT_EQ(0, stream_recv_aside(&flow, self->b, SEED, total));
	EXPECT_EQ(total, ERR(writev(self->a, iov, IOV_MAX)));
	EXPECT_TRUE(stream_joined(&flow));
}

/* A stream has neither names nor boundaries to report. */
TEST_F(stream, messages_have_no_name)
{
	struct rds_msg msg;

	ASSERT_EQ(100, put(self, 0, 100));
	ASSERT_EQ(30, ERR(rds_msg_recv(self->b, &msg, buf, 30, 0)));
	EXPECT_EQ(0, msg.hdr.msg_namelen);
	EXPECT_EQ(0, msg.hdr.msg_controllen);
	EXPECT_EQ(0, msg.hdr.msg_flags);
	EXPECT_TRUE(stream_recv(self->b, SEED, 30, 70));
}

/* The name that a send gives is ignored, because the stream has a peer. */
TEST_F(stream, send_to_a_name)
{
	struct rds_name name = rds_name(variant->stranger, 1);
	struct rds_msg msg;

	stream_fill(buf, 100, SEED, 0);
	EXPECT_EQ(50, ERR(rds_sendto(self->a, buf, 50, 0, &name)));
	rds_msg_init(&msg, buf + 50, 50);
	rds_msg_to(&msg, &name);
	EXPECT_EQ(50, ERR(sendmsg(self->a, &msg.hdr, 0)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 100));
}

TEST_F(stream, several_messages_in_one_call)
{
	struct mmsghdr msgs[10] = {};
	struct iovec iov[10];
	int i;

	for (i = 0; i < 10; i++) {
		iov[i].iov_base = buf + i * 100;
		iov[i].iov_len = 100;
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	stream_fill(buf, 1000, SEED, 0);
	EXPECT_EQ(10, ERR(sendmmsg(self->a, msgs, 10, 0)));
	ASSERT_TRUE(stream_await_bytes(self->b, 1000));
	memset(buf, 0, 1000);
	EXPECT_EQ(10, ERR(recvmmsg(self->b, msgs, 10, MSG_WAITALL, NULL)));
	EXPECT_TRUE(stream_check(buf, 1000, SEED, 0));
}

/*
 * A call that finds memory it cannot access says so, or how much it has done.
 * The stream goes on after that.
 */
TEST_F(stream, memory_of_the_sender_faults)
{
	long size = sysconf(_SC_PAGESIZE);
	char *page = rds_guarded_page();
	long sent;

	ASSERT_NE(NULL, page);
	EXPECT_EQ(-EFAULT, ERR(send(self->a, page + size, 10, 0)));
	stream_fill(page, size, SEED, 0);
	sent = ERR(send(self->a, page, size + 10, 0));
	if (sent == -EFAULT)
		sent = 0;
	ASSERT_LE(0, sent);
	EXPECT_GE(size, sent);
	EXPECT_EQ(10, put(self, sent, 10));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent + 10));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(stream, memory_of_the_receiver_faults)
{
	long size = sysconf(_SC_PAGESIZE);
	char *page = rds_guarded_page();
	long got;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(2 * size, put(self, 0, 2 * size));
	ASSERT_TRUE(stream_await_bytes(self->b, 2 * size));
	EXPECT_EQ(-EFAULT, ERR(recv(self->b, page + size, 10, 0)));
	EXPECT_EQ(-EFAULT, ERR(recv(self->b, page + size, 10, MSG_PEEK)));
	got = ERR(recv(self->b, page, 2 * size, MSG_PEEK));
	EXPECT_TRUE(got == -EFAULT || (got > 0 && got <= size));
	got = ERR(recv(self->b, page, 2 * size, 0));
	if (got == -EFAULT)
		got = 0;
	ASSERT_LE(0, got);
	EXPECT_GE(size, got);
	EXPECT_TRUE(stream_check(page, got, SEED, 0));
	EXPECT_TRUE(stream_recv(self->b, SEED, got, 2 * size - got));
}

/* Each write with MSG_ZEROCOPY is reported, as TCP of the family reports it. */
TEST_F(stream, the_error_queue_has_the_level_of_the_family)
{
	int level = variant->ipv6 ? SOL_IPV6 : SOL_IP;
	int type = variant->ipv6 ? IPV6_RECVERR : IP_RECVERR;
	struct pollfd poll_a = { .fd = self->a };
	struct sock_extended_err told;
	struct cmsghdr *cmsg;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	stream_fill(buf, 1000, SEED, 0);
	ASSERT_EQ(1000, ERR(send(self->a, buf, 1000, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	ASSERT_EQ(1, poll(&poll_a, 1, STREAM_PATIENCE));
	EXPECT_EQ(POLLERR, poll_a.revents);
	ASSERT_EQ(0, ERR(rds_msg_recv(self->a, &msg, buf, 0, MSG_ERRQUEUE)));
	cmsg = rds_msg_find(&msg, level, type);
	ASSERT_NE(NULL, cmsg);
	memcpy(&told, CMSG_DATA(cmsg), sizeof(told));
	EXPECT_EQ(SO_EE_ORIGIN_ZEROCOPY, told.ee_origin);
	EXPECT_EQ(0, told.ee_info);
	EXPECT_EQ(0, told.ee_data);
}

TEST_F(stream, accepted_stream_inherits_zerocopy)
{
	int a, b;

	ASSERT_EQ(0, rds_set(self->listener, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	EXPECT_EQ(0, rds_get(a, SOL_SOCKET, SO_ZEROCOPY));
	EXPECT_EQ(1, rds_get(b, SOL_SOCKET, SO_ZEROCOPY));
	stream_fill(buf, 1000, SEED, 0);
	ASSERT_EQ(1000, ERR(send(b, buf, 1000, MSG_ZEROCOPY)));
	EXPECT_TRUE(stream_recv(a, SEED, 0, 1000));
	EXPECT_TRUE(stream_await(b, POLLERR) & POLLERR);
	close(a);
	close(b);
}

/* As with TCP, a write of no bytes waits until the stream is connected. */
TEST_F(wire, nothing_to_send_while_connecting)
{
	int fd = stream_socket(variant->a);
	struct rds_name none = {};
	struct rds_task task;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, stream_catch_sigpipe());
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_EQ(0, stream_nonblocking(fd, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(-EAGAIN, ERR(send(fd, buf, 0, 0)));
	EXPECT_EQ(-EAGAIN, ERR(write(fd, buf, 0)));
	ASSERT_EQ(0, stream_nonblocking(fd, false));
	ASSERT_EQ(0, rds_set_timeout(fd, SO_SNDTIMEO, 300));
	EXPECT_EQ(-EAGAIN, ERR(send(fd, buf, 0, 0)));
	ASSERT_EQ(0, rds_set_timeout(fd, SO_SNDTIMEO, 0));
	ASSERT_EQ(0, rds_task_send(&task, fd, buf, 0, &none));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(0, rds_task_join(&task));
	EXPECT_EQ(0, stream_sigpipes());
	close(fd);
}

TEST_HARNESS_MAIN
