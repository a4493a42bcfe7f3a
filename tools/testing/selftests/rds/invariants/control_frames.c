// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that carry no data are legal on loopback, and from a socket to itself:
 * congestion maps, pings, pongs. None of them may leak, and none may keep one
 * sender busy without end with the messages of others.
 */
#include "loop.h"

static char payload[PAGE];

static void fill_up(int from, const struct rds_name *to)
{
	while (rds_sendto(from, payload, sizeof(payload), MSG_DONTWAIT, to) > 0)
		;
}

/* The map of the address changes, over the connection to itself. */
TEST_F(loop, cve_2011_1023_congestion_to_oneself)
{
	unsigned int i;

	ASSERT_EQ(0, rds_rcvbuf(self->a, 2 * PAGE));
	for (i = 0; i < 50; i++) {
		fill_up(self->a, &self->a_name);
		EXPECT_EQ(ENOBUFS, errno);
		rds_drain(self->a);
	}
	EXPECT_TRUE(loop_works(self->a, self->a, &self->a_name, 64));
}

TEST_F(loop, cve_2011_1023_congestion_between_two)
{
	unsigned int i;

	ASSERT_EQ(0, rds_rcvbuf(self->a, 2 * PAGE));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 2 * PAGE));
	for (i = 0; i < 50; i++) {
		fill_up(self->a, &self->b_name);
		EXPECT_EQ(ENOBUFS, errno);
		fill_up(self->b, &self->a_name);
		EXPECT_EQ(ENOBUFS, errno);
		rds_drain(self->b);
		rds_drain(self->a);
	}
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

static bool ping(int fd, const char *addr, const void *data, size_t len)
{
	struct rds_name to = rds_name(addr, 0);
	char byte;

	return rds_sendto(fd, data, len, 0, &to) == (ssize_t)len &&
	       rds_recv(fd, &byte, 1) == 0;
}

TEST_F(loop, cve_2012_2372_ping_to_own_address)
{
	unsigned int i;

	for (i = 0; i < 50; i++) {
		EXPECT_TRUE(ping(self->a, "127.0.0.1", NULL, 0));
		EXPECT_TRUE(ping(self->a, "127.0.0.1", payload, 100));
		EXPECT_TRUE(ping(self->a, "127.0.0.2", NULL, 0));
	}
	EXPECT_TRUE(rds_silent(self->a));
}

/* Pings while the port that receives the pongs is congested */
TEST_F(loop, cve_2012_2372_ping_from_congested_port)
{
	struct rds_name to = rds_name("127.0.0.2", 0);
	unsigned int i;

	ASSERT_EQ(0, rds_rcvbuf(self->a, 2 * PAGE));
	fill_up(self->b, &self->a_name);
	for (i = 0; i < 50; i++)
		EXPECT_EQ(0, rds_sendto(self->a, NULL, 0, 0, &to));
	rds_drain(self->a);
	usleep(100000);
	rds_drain(self->a);
	EXPECT_TRUE(ping(self->a, "127.0.0.2", NULL, 0));
}

/* The port of the handshake cannot be bound, and messages to it do no harm. */
TEST_F(loop, i4_probe_port)
{
	struct rds_name probe = rds_name("127.0.0.2", 1);
	unsigned int i;
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, rds_name("127.0.0.1", 1))));
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(0, rds_sendto(self->a, NULL, 0, 0, &probe));
		EXPECT_EQ(10, rds_sendto(self->a, payload, 10, 0, &probe));
	}
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	close(fd);
}

/* Unreclaimable slab memory in KiB, or -1 */
static long slab_kib(void)
{
	FILE *file = fopen("/proc/meminfo", "r");
	char line[128];
	long kib = -1;

	while (file && kib < 0 && fgets(line, sizeof(line), file))
		sscanf(line, "SUnreclaim: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

#define PINGS 4000

/*
 * syzbot, 2019 to 2021: each ping on loopback left a message behind. That would
 * be 128 bytes at least; other activity of the kernel stays below half of that.
 * A debug kernel frees so late that this figure means nothing; but it searches
 * for leaks itself.
 */
TEST_F(loop, send_probe_memory_leak)
{
	unsigned int i;
	long before;

	for (i = 0; i < few_or(PINGS) / 10; i++)
		ASSERT_TRUE(ping(self->a, "127.0.0.2", NULL, 0));
	before = slab_kib();
	ASSERT_LT(0, before);
	for (i = 0; i < few_or(PINGS); i++)
		ASSERT_TRUE(ping(self->a, "127.0.0.2", NULL, 0));
	if (few_or(PINGS) == PINGS)
		EXPECT_LT(slab_kib() - before, PINGS * 128 / 2 / 1024);
}

struct flood {
	int fd;
	struct rds_name to;
	atomic_bool *stop;
	atomic_ulong *sent;
};

static void *flood_main(void *data)
{
	struct flood *flood = data;

	while (!*flood->stop)
		if (rds_sendto(flood->fd, payload, 64, MSG_DONTWAIT,
			       &flood->to) == 64)
			++*flood->sent;
	return NULL;
}

#define FLOODS 4

/*
 * The context that sends on a connection also sends what others have queued,
 * but not for ever: its own few messages get through while the others still
 * flood.
 */
TEST_F(loop, infinite_loop_in_send)
{
	struct flood flood[FLOODS];
	pthread_t thread[FLOODS];
	atomic_bool stop = false;
	atomic_ulong sent = 0;
	unsigned long before;
	unsigned int i;
	int fd;

	for (i = 0; i < FLOODS; i++) {
		fd = rds_bound("127.0.0.1", 0);
		ASSERT_LE(0, fd);
		/* This bounds what is queued before the messages of others. */
		ASSERT_EQ(0, rds_sndbuf(fd, 8192));
		/* To port 9, which no socket has: no receive queue fills up. */
		flood[i] = (struct flood) {
			.fd = fd, .to = rds_name("127.0.0.2", 9),
			.stop = &stop, .sent = &sent,
		};
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, flood_main,
					    &flood[i]));
	}
	while (sent < 100)
		usleep(1000);
	before = sent;
	for (i = 0; i < few_or(50) || sent == before; i++)
		EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 10));
	stop = true;
	for (i = 0; i < FLOODS; i++) {
		pthread_join(thread[i], NULL);
		close(flood[i].fd);
	}
}

TEST_HARNESS_MAIN
