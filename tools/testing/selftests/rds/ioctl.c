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

/* TCP maps every type of service to 0, loopback knows of none */
TEST_F(pair, set_tos_on_a_transport_without)
{
	long expected = variant->transport == RDS_TRANS_TCP ? 0 : -ENOTTY;
	unsigned char tos = 0xa5;

	EXPECT_EQ(expected, set_tos(self->a, 0));
	EXPECT_EQ(expected, set_tos(self->a, 7));
	EXPECT_EQ(0, ERR(ioctl(self->a, SIOCRDSGETTOS, &tos)));
	EXPECT_EQ(0, tos);
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
