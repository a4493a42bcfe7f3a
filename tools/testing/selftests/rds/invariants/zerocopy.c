// SPDX-License-Identifier: GPL-2.0
/*
 * Zero-copy sends from user memory, where the worst holes were: pages were
 * pinned and not released, or released twice. So a send that is refused leaves
 * nothing pinned, sends nothing, and is never reported; every other send is
 * reported once. The function of such sends is tested in ../zcopy.c.
 */
#include "loop.h"
#include "ring.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define PAGES 8

static char *pages;	/* followed by memory that cannot be accessed */

static bool make_pages(void)
{
	pages = mmap(NULL, 2 * PAGES * PAGE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED ||
	    mprotect(pages + PAGES * PAGE, PAGES * PAGE, PROT_NONE))
		return false;
	rds_fill(pages, PAGES * PAGE, 1);
	return true;
}

/* Return a field of /proc/self/status, in KiB. */
static long status_kib(const char *field)
{
	FILE *file = fopen("/proc/self/status", "r");
	size_t len = strlen(field);
	char line[128];
	long kib = -1;

	while (file && kib < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, field, len))
			sscanf(line + len, ": %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

static bool nothing_is_left(int from, int to)
{
	/* A change of congestion is reported once. */
	rds_poll(from);
	return !status_kib("VmPin") && rds_silent(from) && rds_silent(to) &&
	       !(rds_poll(from) & (POLLIN | POLLERR)) &&
	       rds_check(pages, PAGES * PAGE, 1);
}

static void zcopy_msg(struct rds_msg *msg, const struct rds_name *to,
		      void *buf, size_t len)
{
	uint32_t cookie = 7;

	rds_msg_init(msg, buf, len);
	rds_msg_to(msg, to);
	rds_msg_add(msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
}

static long zcopy_send(int fd, const struct rds_name *to, void *buf, size_t len)
{
	struct rds_msg msg;

	zcopy_msg(&msg, to, buf, len);
	return ERR(sendmsg(fd, &msg.hdr, MSG_ZEROCOPY | MSG_DONTWAIT));
}

/* Receive all completions that have arrived; return the number of their
 * cookies.
 */
static unsigned int zcopy_completed(int fd)
{
	struct rds_zcopy_cookies cookies;
	struct cmsghdr *cmsg;
	unsigned int count = 0;
	struct rds_msg msg;

	for (;;) {
		rds_msg_init(&msg, NULL, 0);
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = sizeof(msg.control);
		if (recvmsg(fd, &msg.hdr, MSG_DONTWAIT))
			return count;
		cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COMPLETION);
		if (!cmsg)
			return count;
		memcpy(&cookies, CMSG_DATA(cmsg), sizeof(cookies));
		count += cookies.num;
	}
}

/* The callback of the last reference put entries on the wrong list. */
TEST_F(loop, cve_2023_1078_each_is_reported_once)
{
	unsigned int i, sent = 0;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(-EINVAL, zcopy_send(self->a, &self->b_name, pages, PAGE));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 1; i < 1000; i++) {
		sent += zcopy_send(self->a, &self->b_name, pages, i) == i;
		rds_drain(self->b);
		if (i % 100 == 0) {
			EXPECT_EQ(sent, zcopy_completed(self->a));
			sent = 0;
		}
	}
	EXPECT_EQ(sent, zcopy_completed(self->a));
	EXPECT_LT(0, sent);
	EXPECT_TRUE(nothing_is_left(self->a, self->b));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* "PinTheft": the first pages can be pinned, a later one cannot. */
TEST_F(loop, cve_2026_43494_memory_that_ends_part_way)
{
	struct iovec iov[2];
	struct rds_msg msg;
	unsigned int i;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	for (i = 1; i < 2 * PAGES; i++) {
		EXPECT_EQ(-EFAULT, zcopy_send(self->a, &self->b_name, pages + 1,
					      (PAGES + i) * PAGE));
		zcopy_msg(&msg, &self->b_name, pages, 1);
		iov[0] = (struct iovec) { pages, i * PAGE / 2 };
		iov[1] = (struct iovec) { pages + PAGES * PAGE, PAGE };
		msg.hdr.msg_iov = iov;
		msg.hdr.msg_iovlen = 2;
		EXPECT_EQ(-EFAULT,
			  ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	}
	EXPECT_EQ(0, zcopy_completed(self->a));
	EXPECT_TRUE(nothing_is_left(self->a, self->b));
}

/* The process may not lock memory. */
TEST_F(loop, cve_2026_43502_no_memory_may_be_locked)
{
	struct rlimit none = {};
	int status = -1;
	pid_t pid;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	pid = fork();
	if (!pid)
		_exit(setrlimit(RLIMIT_MEMLOCK, &none) || setuid(4321) ||
		      zcopy_send(self->a, &self->b_name, pages, PAGE) !=
		      -ENOMEM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, zcopy_completed(self->a));
	EXPECT_TRUE(nothing_is_left(self->a, self->b));
}

/* The memory can be pinned, but not sent: there is no route, or no room. */
TEST_F(loop, cve_2026_43502_fails_before_queueing)
{
	struct rds_name other = rds_name("::1", 4001);
	struct rds_get_mr_args args = {};
	struct rds_msg msg;
	int fd = rds_socket();

	ASSERT_TRUE(make_pages());
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_set(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_EQ(-ENOTCONN, zcopy_send(fd, &self->b_name, pages, PAGE));
	EXPECT_EQ(-EOPNOTSUPP, zcopy_send(self->a, &other, pages, PAGE));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_rcvbuf(self->b, PAGE));
	ASSERT_EQ(PAGE, rds_sendto(self->a, pages, PAGE, 0, &self->b_name));
	EXPECT_EQ(-ENOBUFS, zcopy_send(self->a, &self->b_name, pages, PAGE));
	zcopy_msg(&msg, &self->b_name, pages, 100);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	EXPECT_EQ(0, zcopy_completed(self->a));
	rds_drain(self->b);
	/* The sender has noticed by now that the port is free. */
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_TRUE(nothing_is_left(self->a, self->b));
	close(fd);
}

TEST_F(loop, cve_2026_43494_sendmsg_by_io_uring)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SENDMSG };
	struct rds_msg msg;
	struct ring ring;
	unsigned int i;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(0, ring_setup(&ring));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_ZEROCOPY, 1));
	sqe.fd = self->a;
	sqe.addr = (uintptr_t)&msg.hdr;
	sqe.len = 1;
	for (i = 1; i < 2 * PAGES; i++) {
		zcopy_msg(&msg, &self->b_name, pages, i * PAGE);
		sqe.msg_flags = MSG_ZEROCOPY;
		EXPECT_EQ(i <= PAGES ? (int)(i * PAGE) : -EFAULT,
			  ring_run(&ring, &sqe));
		EXPECT_EQ(i <= PAGES, zcopy_completed(self->a));
		rds_drain(self->b);
		/* Control messages by io_uring pass the same checks. */
		sqe.msg_flags = 0;
		EXPECT_EQ(-EINVAL, ring_run(&ring, &sqe));
	}
	EXPECT_TRUE(nothing_is_left(self->a, self->b));

	rds_msg_init(&msg, pages, 64);
	rds_msg_to(&msg, &self->b_name);
	EXPECT_EQ(64, ring_run(&ring, &sqe));
	EXPECT_EQ(64, rds_recv(self->b, pages, PAGE));
	close(ring.fd);
}

/* With a registered buffer, as the public exploit does */
TEST_F(loop, cve_2026_43494_send_zc_by_io_uring)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_SEND_ZC };
	struct iovec iov;
	struct ring ring;
	unsigned int i;
	long ret;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(0, ring_setup(&ring));
	iov = (struct iovec) { pages, PAGES * PAGE };
	ASSERT_EQ(0, syscall(SYS_io_uring_register, ring.fd,
			     IORING_REGISTER_BUFFERS, &iov, 1));
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	sqe.fd = self->a;
	sqe.addr = (uintptr_t)pages;
	for (i = 1; i <= PAGES; i++) {
		sqe.len = i * PAGE;
		sqe.ioprio = i % 2 ? IORING_RECVSEND_FIXED_BUF : 0;
		/* -EINVAL because there is no cookie; -EOPNOTSUPP where
		 * io_uring checks first whether the socket supports such sends
		 */
		ret = ring_run(&ring, &sqe);
		EXPECT_TRUE(ret == -EINVAL || ret == -EOPNOTSUPP);
	}
	ASSERT_EQ(0, syscall(SYS_io_uring_register, ring.fd,
			     IORING_UNREGISTER_BUFFERS, NULL, 0));
	close(ring.fd);
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(rds_check(pages, PAGES * PAGE, 1));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* Pages that go into a pipe by reference, and from there into a socket */
TEST_F(loop, i8_splice_into_socket)
{
	struct iovec iov;
	int pipefd[2];
	ssize_t ret;

	ASSERT_TRUE(make_pages());
	ASSERT_EQ(0, pipe(pipefd));
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	iov = (struct iovec) { pages, 2 * PAGE };
	ASSERT_EQ(2 * PAGE, vmsplice(pipefd[1], &iov, 1, 0));
	ret = ERR(splice(pipefd[0], NULL, self->a, NULL, 2 * PAGE, 0));
	close(pipefd[0]);
	close(pipefd[1]);
	/* It may be sent as one message or as several, but whole. */
	while (ret > 0) {
		ssize_t len = rds_recv(self->b, pages + 4 * PAGE, 4 * PAGE);

		ASSERT_LT(0, len);
		ret -= len;
	}
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_HARNESS_MAIN
