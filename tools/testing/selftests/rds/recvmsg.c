// SPDX-License-Identifier: GPL-2.0
/* recvmsg(2): data, names, flags; see timestamp.c for control messages */
#include "pair.h"
#include "solo.h"

#include <fcntl.h>
#include <sys/uio.h>

static char payload[65536];
static char received[65536];

/* Queue one more message of @len bytes at socket b. */
#define QUEUE(len, seed) do {						\
	int queued_ = rds_queued(self->b);				\
	rds_fill(payload, len, seed);					\
	ASSERT_EQ(len, ERR(rds_sendto(self->a, payload, len, 0,		\
				      &self->b_name)));			\
	ASSERT_TRUE(rds_await_queued(self->b, queued_ + 1));		\
} while (0)

TEST_F(solo, nothing_to_receive)
{
	EXPECT_EQ(-EAGAIN, ERR(recv(self->fd, received, 1, MSG_DONTWAIT)));
	ASSERT_EQ(0, fcntl(self->fd, F_SETFL, O_NONBLOCK));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->fd, received, 1, 0)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->fd, received, 1, 0)));
}

TEST_F(pair, oob_returns_at_once)
{
	EXPECT_EQ(0, ERR(recv(self->b, received, 1, MSG_OOB)));
	QUEUE(10, 1);
	EXPECT_EQ(0, ERR(recv(self->b, received, 100, MSG_OOB)));
	EXPECT_EQ(10, ERR(rds_recv(self->b, received, 100)));
}

TEST_F(pair, errqueue_is_empty)
{
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 1, MSG_ERRQUEUE)));
	QUEUE(10, 1);
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 1, MSG_ERRQUEUE)));
	EXPECT_EQ(10, ERR(rds_recv(self->b, received, 100)));
}

TEST_F(pair, one_message_at_a_time)
{
	QUEUE(10, 1);
	QUEUE(20, 2);
	EXPECT_EQ(10, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 10, 1));
	EXPECT_EQ(20, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 20, 2));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, writes_no_more_than_the_message)
{
	QUEUE(10, 1);
	memset(received, 0xa5, 100);
	EXPECT_EQ(10, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 10, 1));
	EXPECT_EQ((char)0xa5, received[10]);
	EXPECT_EQ((char)0xa5, received[99]);
}

TEST_F(pair, truncated)
{
	struct rds_msg msg;

	QUEUE(100, 1);
	QUEUE(50, 2);
	memset(received, 0xa5, 100);
	EXPECT_EQ(30, ERR(rds_msg_recv(self->b, &msg, received, 30, 0)));
	EXPECT_EQ(MSG_TRUNC, msg.hdr.msg_flags);
	EXPECT_TRUE(rds_check(received, 30, 1));
	EXPECT_EQ((char)0xa5, received[30]);
	/* The rest of the message is gone. */
	EXPECT_EQ(50, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	EXPECT_EQ(0, msg.hdr.msg_flags);
	EXPECT_TRUE(rds_check(received, 50, 2));
}

TEST_F(pair, trunc_asks_for_the_full_length)
{
	struct rds_msg msg;

	QUEUE(100, 1);
	EXPECT_EQ(100, ERR(rds_msg_recv(self->b, &msg, received, 30,
					MSG_TRUNC)));
	EXPECT_EQ(MSG_TRUNC, msg.hdr.msg_flags & MSG_TRUNC);
	EXPECT_TRUE(rds_check(received, 30, 1));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, exact_length_is_not_truncated)
{
	struct rds_msg msg;

	QUEUE(100, 1);
	EXPECT_EQ(100, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	EXPECT_EQ(0, msg.hdr.msg_flags);
}

TEST_F(pair, peek_leaves_the_message)
{
	int i;

	QUEUE(100, 1);
	for (i = 0; i < 3; i++) {
		memset(received, 0, 100);
		EXPECT_EQ(100, ERR(recv(self->b, received, 200, MSG_PEEK)));
		EXPECT_TRUE(rds_check(received, 100, 1));
	}
	EXPECT_EQ(100, ERR(rds_recv(self->b, received, 200)));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, received, 200,
				    MSG_PEEK | MSG_DONTWAIT)));
}

TEST_F(pair, peek_for_the_size)
{
	QUEUE(100, 1);
	EXPECT_EQ(100, ERR(recv(self->b, NULL, 0, MSG_PEEK | MSG_TRUNC)));
	EXPECT_EQ(100, ERR(recv(self->b, received, 10,
				MSG_PEEK | MSG_TRUNC)));
	EXPECT_EQ(100, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 100, 1));
}

TEST_F(pair, peek_truncated)
{
	struct rds_msg msg;

	QUEUE(100, 1);
	EXPECT_EQ(10, ERR(rds_msg_recv(self->b, &msg, received, 10,
				       MSG_PEEK)));
	EXPECT_EQ(MSG_TRUNC, msg.hdr.msg_flags);
	EXPECT_EQ(100, ERR(rds_recv(self->b, received, 100)));
}

TEST_F(pair, empty_buffer_takes_a_message)
{
	QUEUE(100, 1);
	EXPECT_EQ(0, ERR(rds_recv(self->b, NULL, 0)));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, name_of_the_sender)
{
	struct rds_msg msg;

	QUEUE(10, 1);
	EXPECT_EQ(10, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	EXPECT_EQ(self->a_name.len, msg.hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(&msg.name.ss, &self->a_name.ss,
			    self->a_name.len));
}

/* Only the address may be copied to user space (CVE-2012-3430). */
TEST_F(pair, name_buffer_is_not_filled_further)
{
	struct rds_name name = { .len = sizeof(name.ss) };
	unsigned char *bytes = (unsigned char *)&name.ss;
	size_t i;

	QUEUE(10, 1);
	memset(&name.ss, 0xa5, sizeof(name.ss));
	EXPECT_EQ(10, ERR(recvfrom(self->b, received, 100, 0, &name.sa,
				   &name.len)));
	ASSERT_EQ(self->a_name.len, name.len);
	EXPECT_TRUE(rds_name_eq(&self->a_name, &name));
	for (i = name.len; i < sizeof(name.ss); i++)
		ASSERT_EQ(0xa5, bytes[i]);
}

TEST_F(pair, name_truncated)
{
	struct rds_name name = { .len = 4 };
	unsigned char *bytes = (unsigned char *)&name.ss;

	QUEUE(10, 1);
	memset(&name.ss, 0xa5, sizeof(name.ss));
	EXPECT_EQ(10, ERR(recvfrom(self->b, received, 100, 0, &name.sa,
				   &name.len)));
	EXPECT_EQ(self->a_name.len, name.len);
	EXPECT_EQ(0, memcmp(bytes, &self->a_name.ss, 4));
	EXPECT_EQ(0xa5, bytes[4]);
}

TEST_F(pair, name_not_wanted)
{
	struct msghdr hdr = {};

	QUEUE(10, 1);
	EXPECT_EQ(0, ERR(recvmsg(self->b, &hdr, 0)));
	EXPECT_EQ(MSG_TRUNC, hdr.msg_flags);
}

TEST_F(pair, no_control_messages_by_default)
{
	struct rds_msg msg;

	QUEUE(10, 1);
	EXPECT_EQ(10, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	EXPECT_EQ(0, msg.hdr.msg_controllen);
	EXPECT_EQ(0, msg.hdr.msg_flags);
}

TEST_F(pair, names_of_several_senders)
{
	struct rds_name name[4];
	struct rds_msg msg;
	int i, fd[4];

	for (i = 0; i < 4; i++) {
		fd[i] = rds_bound(variant->a, 0);
		ASSERT_LE(0, fd[i]);
		name[i] = rds_sockname(fd[i]);
		ASSERT_EQ(4, ERR(rds_sendto(fd[i], &i, 4, 0, &self->b_name)));
		ASSERT_TRUE(rds_await_queued(self->b, i + 1));
	}
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(4, ERR(rds_msg_recv(self->b, &msg, received, 4, 0)));
		EXPECT_EQ(0, memcmp(&msg.name.ss, &name[i].ss, name[i].len));
		close(fd[i]);
	}
}

TEST_F(pair, scatters_into_its_iovec)
{
	struct iovec iov[4] = {
		{ received, 1 }, { received + 100, 0 },
		{ received + 1, 4999 }, { received + 5000, 5000 },
	};

	QUEUE(10000, 1);
	EXPECT_EQ(10000, ERR(readv(self->b, iov, 4)));
	EXPECT_TRUE(rds_check(received, 10000, 1));
}

TEST_F(pair, recvmmsg_takes_what_is_there)
{
	struct mmsghdr batch[4] = {};
	struct iovec iov[4];
	int i;

	for (i = 0; i < 4; i++) {
		iov[i].iov_base = received + 100 * i;
		iov[i].iov_len = 100;
		batch[i].msg_hdr.msg_iov = &iov[i];
		batch[i].msg_hdr.msg_iovlen = 1;
	}
	QUEUE(10, 1);
	QUEUE(20, 2);
	QUEUE(30, 3);
	EXPECT_EQ(3, ERR(recvmmsg(self->b, batch, 4, MSG_DONTWAIT, NULL)));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(10 * (i + 1), batch[i].msg_len);
		EXPECT_TRUE(rds_check(received + 100 * i, batch[i].msg_len,
				      i + 1));
	}
}

TEST_F(pair, bad_buffer_does_not_lose_the_message)
{
	QUEUE(100, 1);
	EXPECT_EQ(-EFAULT, ERR(rds_recv(self->b, (void *)8, 100)));
	EXPECT_EQ(-EFAULT, ERR(rds_recv(self->b, (void *)-8192L, 100)));
	EXPECT_EQ(100, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 100, 1));
}

TEST_F(pair, buffer_that_ends_badly_does_not_lose_the_message)
{
	long size = sysconf(_SC_PAGESIZE);
	char *page = rds_guarded_page();

	ASSERT_NE(NULL, page);
	QUEUE(100, 1);
	QUEUE(50, 2);
	EXPECT_EQ(-EFAULT, ERR(rds_recv(self->b, page + size - 10, 100)));
	EXPECT_EQ(100, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 100, 1));
	EXPECT_EQ(50, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_check(received, 50, 2));
}

TEST_F(pair, closing_with_messages_in_the_queue)
{
	struct rds_name to = self->b_name;

	QUEUE(100, 1);
	QUEUE(50000, 2);
	close(self->b);
	self->b = pair_far_bound(variant, rds_port(&to));
	ASSERT_LE(0, self->b);
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &to)));
	EXPECT_EQ(3, ERR(rds_recv(self->b, received, 100)));
}

TEST_F(pair, dup_shares_the_queue)
{
	int fd = dup(self->b);

	QUEUE(10, 1);
	QUEUE(20, 2);
	EXPECT_EQ(10, ERR(rds_recv(fd, received, 100)));
	close(fd);
	EXPECT_EQ(20, ERR(rds_recv(self->b, received, 100)));
}

TEST_HARNESS_MAIN
