// SPDX-License-Identifier: GPL-2.0
/*
 * A socket without a transport: each call on it fails with an errno, and so
 * does each call that races with the bind() that assigns one.
 */
#include "loop.h"

static char payload[64];

static struct rds_get_mr_args mr_args(uint64_t *cookie)
{
	return (struct rds_get_mr_args) {
		.vec.addr = (uintptr_t)payload, .vec.bytes = sizeof(payload),
		.cookie_addr = (uintptr_t)cookie,
	};
}

static long get_mr(int fd)
{
	uint64_t cookie;
	struct rds_get_mr_args args = mr_args(&cookie);

	return ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)));
}

static long get_mr_for_dest(int fd, const struct rds_name *to)
{
	uint64_t cookie;
	struct rds_get_mr_for_dest_args args = {
		.vec.addr = (uintptr_t)payload, .vec.bytes = sizeof(payload),
		.cookie_addr = (uintptr_t)&cookie,
	};

	memcpy(&args.dest_addr, &to->ss, to->len);
	return ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR_FOR_DEST, &args,
			      sizeof(args)));
}

static long free_mr(int fd, uint64_t cookie)
{
	struct rds_free_mr_args args = { .cookie = cookie };

	return ERR(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)));
}

static long send_map(int fd, const struct rds_name *to)
{
	uint64_t cookie;
	struct rds_get_mr_args args = mr_args(&cookie);
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 8);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, 0));
}

TEST_F(loop, cve_2015_6937_send_unbound)
{
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, ERR(rds_sendto(fd, payload, 8, 0,
					    &self->b_name)));
	EXPECT_EQ(-ENOTCONN, ERR(send(fd, payload, 8, 0)));
	ASSERT_EQ(0, rds_connect(fd, self->b_name));
	EXPECT_EQ(-ENOTCONN, ERR(send(fd, payload, 8, 0)));
	EXPECT_EQ(-ENOTCONN, ERR(setsockopt(fd, SOL_RDS, RDS_CANCEL_SENT_TO,
					    &self->b_name.in,
					    sizeof(self->b_name.in))));
	EXPECT_EQ(-ENOTTY, ERR(ioctl(fd, SIOCRDSSETTOS, payload)));
	EXPECT_EQ(-EAGAIN, ERR(recv(fd, payload, 8, MSG_DONTWAIT)));
	EXPECT_TRUE(rds_silent(self->b));
	close(fd);
}

/* A bind() that fails must leave nothing behind. */
TEST_F(loop, cve_2015_6937_send_after_failed_bind)
{
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRNOTAVAIL,
		  ERR(rds_bind(fd, rds_name("198.51.100.1", 4000))));
	EXPECT_EQ(-ENOTCONN, ERR(rds_sendto(fd, payload, 8, 0,
					    &self->b_name)));
	EXPECT_EQ(-EADDRINUSE, ERR(rds_bind(fd, self->b_name)));
	EXPECT_EQ(-ENOTCONN, ERR(rds_sendto(fd, payload, 8, 0,
					    &self->b_name)));
	EXPECT_EQ(RDS_TRANS_NONE, rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(0, rds_bind(fd, rds_name("127.0.0.3", 0)));
	EXPECT_TRUE(loop_works(fd, self->b, &self->b_name, 8));
	close(fd);
}

#define RACERS 6

struct race {
	int fd;
	struct rds_name to;
	pthread_barrier_t *start;
	unsigned long sent;
	long bad;
};

/* Make one kind of call each; @bad keeps an errno that must not occur. */
static void *race_main(void *data)
{
	struct race *race = data;
	unsigned int i;
	long ret;

	pthread_barrier_wait(race->start);
	for (i = 0; i < 50; i++) {
		ret = ERR(rds_sendto(race->fd, payload, 8, MSG_DONTWAIT,
				     &race->to));
		if (ret == 8)
			race->sent++;
		else if (ret != -ENOTCONN && ret != -ENOBUFS &&
			 ret != -EAGAIN)
			race->bad = ret;
		ret = get_mr(race->fd);
		if (ret != -ENOTCONN && ret != -EOPNOTSUPP)
			race->bad = ret;
		rds_get(race->fd, SOL_RDS, SO_RDS_TRANSPORT);
	}
	return NULL;
}

static void *bind_main(void *data)
{
	struct race *race = data;

	pthread_barrier_wait(race->start);
	race->bad = ERR(rds_bind(race->fd, rds_name("127.0.0.1", 0)));
	return NULL;
}

/* Run senders and binders on one new socket; one of the binders wins. */
static long run_race(const struct rds_name *to, unsigned long *sent)
{
	struct race race[RACERS];
	pthread_t thread[RACERS];
	pthread_barrier_t start;
	unsigned int i, bound = 0;
	int fd = rds_socket();
	long bad = 0;

	pthread_barrier_init(&start, NULL, RACERS);
	for (i = 0; i < RACERS; i++) {
		race[i] = (struct race) {
			.fd = fd, .to = *to, .start = &start,
		};
		pthread_create(&thread[i], NULL, i < 2 ? bind_main : race_main,
			       &race[i]);
	}
	for (i = 0; i < RACERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < RACERS; i++) {
		*sent += race[i].sent;
		if (i < 2 && !race[i].bad)
			bound++;
		else if (i < 2 ? race[i].bad != -EINVAL : race[i].bad)
			bad = race[i].bad;
	}
	pthread_barrier_destroy(&start);
	close(fd);
	return bound == 1 ? bad : -EDOM;
}

TEST_F(loop, cve_2015_7990_send_racing_bind)
{
	unsigned long sent = 0, received = 0;
	unsigned int i;
	char room[64];

	ASSERT_EQ(0, rds_rcvbuf(self->b, 1 << 20));
	for (i = 0; i < few_or(40); i++)
		EXPECT_EQ(0, run_race(&self->b_name, &sent));
	while (recv(self->b, room, sizeof(room), MSG_DONTWAIT) == 8)
		received++;
	EXPECT_LT(0, sent);
	EXPECT_EQ(sent, received);
}

TEST_F(loop, cve_2018_7492_get_mr_unbound)
{
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ENOTCONN, get_mr(fd));
	EXPECT_EQ(-ENOTCONN, get_mr_for_dest(fd, &self->b_name));
	EXPECT_EQ(-EINVAL, free_mr(fd, 0));
	EXPECT_EQ(-EINVAL, free_mr(fd, 12345));
	EXPECT_EQ(-ENOTCONN, send_map(fd, &self->b_name));
	close(fd);
}

/* Before any connection */
TEST_F(loop, cve_2024_35902_get_mr_bound)
{
	EXPECT_EQ(0, get_mr(self->a));
	EXPECT_EQ(0, get_mr_for_dest(self->a, &self->b_name));
	EXPECT_EQ(0, free_mr(self->a, 0));
	EXPECT_EQ(-EINVAL, free_mr(self->a, 12345));
}

TEST_F(loop, cve_2024_27024_map_before_first_message)
{
	char bytes[8];

	EXPECT_LT(0, send_map(self->a, &self->b_name));
	EXPECT_LT(0, rds_recv(self->b, bytes, sizeof(bytes)));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 8));
	EXPECT_LT(0, send_map(self->a, &self->b_name));
}

/* Request a transport that is not loaded, and then bind. */
TEST_F(loop, i6_transport_that_is_not_loaded)
{
	int fd = rds_socket();
	long ret;

	ASSERT_LE(0, fd);
	ret = ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IWARP));
	EXPECT_EQ(-ENOPROTOOPT, ret);
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
				       RDS_TRANS_COUNT)));
	EXPECT_EQ(-EINVAL, ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, -1)));
	EXPECT_EQ(0, rds_bind(fd, rds_name("127.0.0.3", 0)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_IWARP)));
	EXPECT_TRUE(loop_works(fd, self->b, &self->b_name, 8));
	close(fd);
}

TEST_HARNESS_MAIN
