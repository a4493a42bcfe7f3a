// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring sends with MSG_NOSIGNAL, tries without blocking first, and waits by
 * polling. The tests use raw system calls, one request at a time.
 */
#include "pair.h"
#include "ring.h"

#include <poll.h>

#define RCVBUF 4096

static char buf[2 * RCVBUF];

static struct io_uring_sqe request(int op, int fd, const void *addr, int len)
{
	return (struct io_uring_sqe) {
		.opcode = op, .fd = fd, .addr = (uintptr_t)addr, .len = len,
	};
}

/* Skip a test only if the kernel has no io_uring. */
#define RING_SETUP(ring) do {						\
	int ret_ = ring_setup(ring);					\
									\
	if (ret_ == -ENOSYS)						\
		SKIP(return, "this kernel has no io_uring");		\
	ASSERT_EQ(0, ret_);						\
} while (0)

TEST_F(pair, sendmsg)
{
	struct io_uring_sqe sqe;
	struct rds_msg msg;
	struct ring ring;

	RING_SETUP(&ring);
	rds_fill(buf, 100, 1);
	rds_msg_init(&msg, buf, 100);
	rds_msg_to(&msg, &self->b_name);
	sqe = request(IORING_OP_SENDMSG, self->a, &msg.hdr, 1);
	EXPECT_EQ(100, ring_run(&ring, &sqe));
	memset(buf, 0, 100);
	EXPECT_EQ(100, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_TRUE(rds_check(buf, 100, 1));
}

TEST_F(pair, send_on_a_connected_socket)
{
	struct io_uring_sqe sqe;
	struct ring ring;

	RING_SETUP(&ring);
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	sqe = request(IORING_OP_SEND, self->a, "abc", 3);
	EXPECT_EQ(3, ring_run(&ring, &sqe));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_EQ(0, memcmp(buf, "abc", 3));
}

TEST_F(pair, recv_of_a_waiting_message)
{
	struct io_uring_sqe sqe;
	struct ring ring;

	RING_SETUP(&ring);
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	sqe = request(IORING_OP_RECV, self->b, buf, sizeof(buf));
	EXPECT_EQ(3, ring_run(&ring, &sqe));
	EXPECT_EQ(0, memcmp(buf, "abc", 3));
}

TEST_F(pair, recv_before_the_message)
{
	struct io_uring_sqe sqe;
	struct ring ring;

	RING_SETUP(&ring);
	/* The first poll may report earlier map updates. */
	rds_poll(self->b);
	sqe = request(IORING_OP_RECV, self->b, buf, sizeof(buf));
	ASSERT_EQ(1, ring_submit(&ring, &sqe));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(3, ring_wait(&ring));
	EXPECT_EQ(0, memcmp(buf, "abc", 3));
}

TEST_F(pair, recvmsg_tells_the_sender)
{
	struct io_uring_sqe sqe;
	struct rds_msg msg;
	struct ring ring;

	RING_SETUP(&ring);
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	rds_msg_init(&msg, buf, sizeof(buf));
	msg.hdr.msg_name = &msg.name.sa;
	msg.hdr.msg_namelen = sizeof(msg.name.ss);
	sqe = request(IORING_OP_RECVMSG, self->b, &msg.hdr, 1);
	EXPECT_EQ(3, ring_run(&ring, &sqe));
	EXPECT_EQ(self->a_name.len, msg.hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(&msg.name.ss, &self->a_name.ss,
			    self->a_name.len));
}

TEST_F(pair, poll_waits_for_a_message)
{
	struct io_uring_sqe sqe;
	struct ring ring;

	RING_SETUP(&ring);
	rds_poll(self->b);
	sqe = request(IORING_OP_POLL_ADD, self->b, NULL, 0);
	sqe.poll32_events = POLLIN;
	ASSERT_EQ(1, ring_submit(&ring, &sqe));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	EXPECT_EQ(POLLIN, ring_wait(&ring) & POLLIN);
}

TEST_F(pair, errors_come_through)
{
	struct io_uring_sqe sqe;
	struct rds_msg msg;
	struct ring ring;

	RING_SETUP(&ring);
	rds_msg_init(&msg, buf, 10);
	sqe = request(IORING_OP_SENDMSG, self->a, &msg.hdr, 1);
	EXPECT_EQ(-ENOTCONN, ring_run(&ring, &sqe));
	rds_msg_to(&msg, &self->b_name);
	sqe.msg_flags = MSG_MORE;
	EXPECT_EQ(-EOPNOTSUPP, ring_run(&ring, &sqe));
}

TEST_F(pair, congested_port)
{
	struct io_uring_sqe sqe;
	struct rds_msg msg;
	struct ring ring;

	RING_SETUP(&ring);
	ASSERT_EQ(0, rds_rcvbuf(self->b, RCVBUF));
	ASSERT_EQ(RCVBUF, ERR(rds_sendto(self->a, buf, RCVBUF, 0,
					 &self->b_name)));
	ASSERT_TRUE(pair_await_full(self, &self->b_name));
	rds_msg_init(&msg, buf, 10);
	rds_msg_to(&msg, &self->b_name);
	sqe = request(IORING_OP_SENDMSG, self->a, &msg.hdr, 1);
	sqe.msg_flags = MSG_DONTWAIT;
	EXPECT_EQ(-ENOBUFS, ring_run(&ring, &sqe));
}

TEST_HARNESS_MAIN
