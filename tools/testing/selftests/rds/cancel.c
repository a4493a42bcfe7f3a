// SPDX-License-Identifier: GPL-2.0
/*
 * RDS_CANCEL_SENT_TO and close(2). Over loopback a message has been delivered
 * when sendmsg(2) returns. So the tests there see only the checks of the
 * option, and that it does not take back delivered messages. Over a wire,
 * messages to an absent host wait and can be canceled: see unreachable.c.
 */
#include "pair.h"
#include "solo.h"

static char buf[100000];

static long cancel(int fd, const void *addr, socklen_t len)
{
	return ERR(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO, addr, len));
}

TEST_F(solo, unbound)
{
	struct rds_name name = rds_name("127.0.0.1", 5);

	EXPECT_EQ(-ENOTCONN, cancel(self->fd, &name.sa, name.len));
	EXPECT_EQ(-ENOTCONN, cancel(self->fd, NULL, 0));
	ASSERT_EQ(0, rds_connect(self->fd, name));
	EXPECT_EQ(-ENOTCONN, cancel(self->fd, &name.sa, name.len));
}

TEST_F(pair, without_an_address)
{
	EXPECT_EQ(0, cancel(self->a, NULL, 0));
}

TEST_F(pair, address_too_short)
{
	struct rds_name v6 = rds_name("::1", 4000);
	socklen_t len;

	for (len = 1; len < sizeof(struct sockaddr_in); len++)
		EXPECT_EQ(-EINVAL, cancel(self->a, &self->b_name.sa, len));
	/* The flow label is no address of IPv4. */
	v6.in6.sin6_flowinfo = htonl(INADDR_LOOPBACK);
	for (len = 1; len < sizeof(v6.in6); len++)
		EXPECT_EQ(-EINVAL, cancel(self->a, &v6.sa, len));
}

TEST_F(pair, address_of_either_family)
{
	struct rds_name v4 = rds_name("127.0.0.2", 4000);
	struct rds_name v6 = rds_name("::1", 4000);
	struct rds_name mapped = rds_name("::ffff:127.0.0.2", 4000);

	EXPECT_EQ(0, cancel(self->a, &v4.sa, v4.len));
	EXPECT_EQ(0, cancel(self->a, &v6.sa, v6.len));
	EXPECT_EQ(0, cancel(self->a, &mapped.sa, mapped.len));
	/* A length between the two counts as the shorter one. */
	EXPECT_EQ(0, cancel(self->a, &v4.sa, sizeof(v6.in6) - 1));
	EXPECT_EQ(0, cancel(self->a, &v6.sa, sizeof(v6.ss)));
}

TEST_F(pair, bad_pointer)
{
	EXPECT_EQ(-EFAULT, cancel(self->a, (void *)8,
				  sizeof(struct sockaddr_in)));
	EXPECT_EQ(-EFAULT, cancel(self->a, (void *)8,
				  sizeof(struct sockaddr_in6)));
}

TEST_F(pair, delivered_messages_stay_with_the_receiver)
{
	int i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(100, ERR(rds_sendto(self->a, buf, 100, 0,
					      &self->b_name)));
	ASSERT_TRUE(rds_await_queued(self->b, 10));
	EXPECT_EQ(0, cancel(self->a, &self->b_name.sa, self->b_name.len));
	EXPECT_EQ(0, cancel(self->a, NULL, 0));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(100, ERR(rds_recv(self->b, buf, sizeof(buf))));
}

TEST_F(pair, sending_goes_on_afterwards)
{
	int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(100, ERR(rds_sendto(self->a, buf, 100, 0,
					      &self->b_name)));
		ASSERT_TRUE(rds_await_queued(self->b, 1));
		ASSERT_EQ(0, cancel(self->a, NULL, 0));
		ASSERT_EQ(100, ERR(rds_recv(self->b, buf, sizeof(buf))));
	}
}

static void *sender(void *data)
{
	int fd = *(int *)data;
	int i;

	for (i = 0; i < 150; i++)
		send(fd, buf, 1000, MSG_DONTWAIT);
	return NULL;
}

/*
 * When messages are canceled on their way, their room in the send buffer is
 * returned.
 */
TEST_F(pair, while_another_thread_sends)
{
	pthread_t thread;
	int i;

	ASSERT_EQ(0, rds_sndbuf(self->a, 50000));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 1000 * 1000));
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	ASSERT_EQ(0, pthread_create(&thread, NULL, sender, &self->a));
	for (i = 0; i < 150; i++)
		EXPECT_EQ(0, cancel(self->a, NULL, 0));
	pthread_join(thread, NULL);
	EXPECT_TRUE(rds_await_acked(self->a));
	rds_drain(self->b);
	EXPECT_EQ(50000, ERR(send(self->a, buf, 50000, MSG_DONTWAIT)));
}

/*
 * A socket that is closed while messages are exchanged does not affect other
 * sockets.
 */
TEST_F(pair, closing_a_sender)
{
	struct rds_name name;
	int i, fd;

	for (i = 0; i < 20; i++) {
		fd = rds_bound(variant->a, 0);
		ASSERT_LE(0, fd);
		name = rds_sockname(fd);
		ASSERT_EQ(10, ERR(rds_sendto(fd, buf, 10, 0, &self->b_name)));
		ASSERT_TRUE(rds_await_queued(self->b, 1));
		ASSERT_EQ(5, ERR(rds_sendto(self->a, buf, 5, 0,
					    &self->b_name)));
		ASSERT_EQ(3, ERR(rds_sendto(self->b, buf, 3, 0, &name)));
		ASSERT_TRUE(rds_await_queued(self->b, 2));
		close(fd);
		EXPECT_EQ(10, ERR(rds_recv(self->b, buf, sizeof(buf))));
		EXPECT_EQ(5, ERR(rds_recv(self->b, buf, sizeof(buf))));
	}
}

TEST_HARNESS_MAIN
