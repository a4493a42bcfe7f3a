// SPDX-License-Identifier: GPL-2.0
/* ioctl(2): type of service, and the sizes of the queues */
#include "pair.h"
#include "solo.h"

static long set_tos(int fd, unsigned char tos)
{
	return ERR(ioctl(fd, SIOCRDSSETTOS, &tos));
}

TEST_F(solo, set_tos_unbound)
{
	EXPECT_EQ(-ENOTTY, set_tos(self->fd, 0));
	EXPECT_EQ(-ENOTTY, set_tos(self->fd, 7));
}

static int get_tos(int fd)
{
	unsigned char tos = 0xa5;

	return ioctl(fd, SIOCRDSGETTOS, &tos) ? -errno : tos;
}

/*
 * Loopback has no type of service. TCP maps every type to 0. RDMA devices
 * support it: once set, it cannot be changed.
 */
TEST_F(pair, set_tos)
{
	bool kept = variant->transport == RDS_TRANS_IB;
	long expected = variant->transport == RDS_TRANS_LOOP ? -ENOTTY : 0;

	EXPECT_EQ(expected, set_tos(self->a, 0));
	EXPECT_EQ(expected, set_tos(self->a, 7));
	EXPECT_EQ(kept ? 7 : 0, get_tos(self->a));
	EXPECT_EQ(kept ? -EINVAL : expected, set_tos(self->a, 8));
	EXPECT_EQ(kept ? 7 : 0, get_tos(self->a));
}

/*
 * Messages with a type of service arrive at the same socket, and lists show it.
 */
TEST_F(pair, messages_of_a_tos)
{
	int expected = variant->transport == RDS_TRANS_IB ? 5 : 0;
	struct rds6_info_message msg[10];
	socklen_t len = sizeof(msg);
	char byte;

	set_tos(self->a, 5);
	ASSERT_EQ(1, ERR(rds_sendto(self->a, "x", 1, 0, &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	ASSERT_EQ(sizeof(*msg), getsockopt(self->b, SOL_RDS,
					   RDS6_INFO_RECV_MESSAGES, msg,
					   &len));
	ASSERT_EQ(sizeof(*msg), len);
	EXPECT_EQ(expected, msg->tos);
	ASSERT_EQ(1, ERR(rds_recv(self->b, &byte, 1)));
	ASSERT_EQ(1, ERR(rds_sendto(self->b, "y", 1, 0, &self->a_name)));
	EXPECT_EQ(1, ERR(rds_recv(self->a, &byte, 1)));
	EXPECT_EQ(0, get_tos(self->b));
}

TEST_F(pair, get_tos_writes_one_byte)
{
	unsigned char tos[3] = { 0xa5, 0xa5, 0xa5 };

	EXPECT_EQ(0, ERR(ioctl(self->a, SIOCRDSGETTOS, &tos[1])));
	EXPECT_EQ(0xa5, tos[0]);
	EXPECT_EQ(0, tos[1]);
	EXPECT_EQ(0xa5, tos[2]);
}

TEST_F(solo, get_tos_unbound)
{
	unsigned char tos = 0xa5;

	EXPECT_EQ(0, ERR(ioctl(self->fd, SIOCRDSGETTOS, &tos)));
	EXPECT_EQ(0, tos);
}

TEST_F(solo, tos_bad_pointer)
{
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->fd, SIOCRDSGETTOS, 8)));
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->fd, SIOCRDSSETTOS, 8)));
}

TEST_F(solo, unknown_ioctl)
{
	int value;

	EXPECT_EQ(-ENOTTY, ERR(ioctl(self->fd, SIOCPROTOPRIVATE + 2, &value)));
	EXPECT_EQ(-ENOTTY, ERR(ioctl(self->fd, SIOCATMARK, &value)));
}

static long fionread(int fd)
{
	int value = -1;
	long ret = ERR(ioctl(fd, FIONREAD, &value));

	return ret ? ret : value;
}

static long outq(int fd)
{
	int value = -1;
	long ret = ERR(ioctl(fd, SIOCOUTQ, &value));

	return ret ? ret : value;
}

TEST_F(pair, fionread_of_an_empty_queue)
{
	EXPECT_EQ(0, fionread(self->b));
}

TEST_F(pair, fionread_is_the_size_of_the_next_message)
{
	char buf[5000] = {};

	ASSERT_EQ(100, rds_sendto(self->a, buf, 100, 0, &self->b_name));
	ASSERT_EQ(5000, rds_sendto(self->a, buf, 5000, 0, &self->b_name));
	ASSERT_EQ(0, rds_sendto(self->a, buf, 0, 0, &self->b_name));
	ASSERT_EQ(7, rds_sendto(self->a, buf, 7, 0, &self->b_name));
	ASSERT_TRUE(rds_await_queued(self->b, 4));
	EXPECT_EQ(100, fionread(self->b));
	rds_recv(self->b, buf, sizeof(buf));
	EXPECT_EQ(5000, fionread(self->b));
	rds_recv(self->b, buf, sizeof(buf));
	EXPECT_EQ(0, fionread(self->b));
	rds_recv(self->b, buf, sizeof(buf));
	EXPECT_EQ(7, fionread(self->b));
	rds_recv(self->b, buf, sizeof(buf));
	EXPECT_EQ(0, fionread(self->b));
}

TEST_F(solo, queue_sizes_unbound)
{
	EXPECT_EQ(0, fionread(self->fd));
	EXPECT_EQ(0, outq(self->fd));
}

TEST_F(pair, outq_of_acknowledged_messages)
{
	char buf[1000] = {};

	EXPECT_EQ(0, outq(self->a));
	ASSERT_EQ(1000, rds_sendto(self->a, buf, 1000, 0, &self->b_name));
	if (variant->wire)
		EXPECT_TRUE(rds_await_acked(self->a));
	EXPECT_EQ(0, outq(self->a));
}

TEST_HARNESS_MAIN
