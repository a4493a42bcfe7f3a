// SPDX-License-Identifier: GPL-2.0
/* What streams over RDS have and TCP has not, and where they differ from it */
#include "stream_pair.h"

#include <netinet/tcp.h>
#include <sched.h>

#define PORT	4000
#define PLAYERS	12
#define ROUNDS	300
#define SEED	7

static void __attribute__((constructor)) rds_streams_only(void)
{
	if (!stream_over_inet())
		return;
	fprintf(stderr, "This program tests what sockets of TCP do not have\n");
	exit(KSFT_FAIL);
}

static long try_socket(int protocol)
{
	int fd = ERR(socket(AF_RDS, SOCK_STREAM, protocol));

	if (fd >= 0)
		close(fd);
	return fd;
}

/* Streams that have ended use the module until the peer has acknowledged. */
static bool unload(void)
{
	unsigned int left;

	for (left = STREAM_PATIENCE / 100; left; left--) {
		if (!system("rmmod rds_stream 2>/dev/null"))
			return true;
		usleep(100000);
	}
	return false;
}

/* The module is loaded by hand, not by a program that opens a socket. */
TEST(not_without_the_module)
{
	ASSERT_TRUE(unload());
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(0));
	EXPECT_EQ(-ESOCKTNOSUPPORT, try_socket(1));
	EXPECT_FALSE(rds_module_loaded("rds_stream"));
	ASSERT_EQ(0, stream_load());
	EXPECT_LE(0, try_socket(0));
	EXPECT_LE(0, try_socket(1));
}

TEST(two_protocols)
{
	EXPECT_LE(0, try_socket(0));
	EXPECT_LE(0, try_socket(1));
	EXPECT_GT(0, try_socket(2));
	EXPECT_GT(0, try_socket(IPPROTO_TCP));
	EXPECT_GT(0, try_socket(255));
}

TEST_F(stream, identity)
{
	EXPECT_EQ(AF_RDS, rds_get(self->a, SOL_SOCKET, SO_DOMAIN));
	EXPECT_EQ(SOCK_STREAM, rds_get(self->a, SOL_SOCKET, SO_TYPE));
	EXPECT_EQ(variant->ipv6, rds_get(self->a, SOL_SOCKET, SO_PROTOCOL));
	EXPECT_EQ(AF_RDS, rds_get(self->b, SOL_SOCKET, SO_DOMAIN));
	EXPECT_EQ(variant->ipv6, rds_get(self->b, SOL_SOCKET, SO_PROTOCOL));
}

/* A game of ping-pong. Each player has a stream. */
struct player {
	int fd;
	bool serves;
	bool good;
	pthread_t thread;
};

static void *play(void *arg)
{
	struct player *player = arg;
	unsigned int i;

	player->good = true;
	for (i = 0; i < ROUNDS && player->good; i++) {
		if (player->serves)
			player->good = stream_send(player->fd, SEED, i, 64);
		player->good &= stream_recv(player->fd, SEED, i, 64);
		if (!player->serves)
			player->good &= stream_send(player->fd, SEED, i, 64);
	}
	return NULL;
}

/* While other tasks wait for the processor, a transport that can send several
 * frames at a time is given several.
 */
TEST_F(stream, small_writes_share_transmissions)
{
	int rds = socket(AF_RDS, SOCK_SEQPACKET, 0), i;
	struct player players[2 * PLAYERS] = {};
	int64_t before, shared;
	cpu_set_t all, one;

	ASSERT_LE(0, rds);
	before = rds_counter(rds, "send_coalesced");
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(all), &all));
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	for (i = 0; i < 2 * PLAYERS; i += 2) {
		ASSERT_TRUE(stream_open(self, variant, &players[i].fd,
					&players[i + 1].fd));
		players[i].serves = true;
	}
	for (i = 0; i < 2 * PLAYERS; i++)
		ASSERT_EQ(0, pthread_create(&players[i].thread, NULL, play,
					    &players[i]));
	for (i = 0; i < 2 * PLAYERS; i++) {
		pthread_join(players[i].thread, NULL);
		EXPECT_TRUE(players[i].good);
		close(players[i].fd);
	}
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(all), &all));
	shared = rds_counter(rds, "send_coalesced") - before;
	if (variant->apart || variant->device) {
		EXPECT_LT(PLAYERS, shared);
	} else {
		EXPECT_EQ(0, shared);
	}
	close(rds);
}

TEST_F(stream, module_is_in_use)
{
	EXPECT_NE(0, system("rmmod rds_stream 2>/dev/null"));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, no_urgent_data)
{
	char byte;

	EXPECT_EQ(-EOPNOTSUPP, ERR(send(self->a, "x", 1, MSG_OOB)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(recv(self->b, &byte, 1, MSG_OOB)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* A control message of RDS is not ignored, as if it asked for nothing. */
TEST_F(stream, no_control_messages_of_rds)
{
	union {
		char		room[CMSG_SPACE(sizeof(uint64_t))];
		struct cmsghdr	align;
	} control = {};
	struct iovec iov = { "abc", 3 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_RDS;
	cmsg->cmsg_type = RDS_CMSG_RDMA_ARGS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(uint64_t));
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg, 0)));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, congestion_control)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	ASSERT_EQ(0, ERR(getsockopt(self->a, IPPROTO_TCP, TCP_CONGESTION, name,
				    &len)));
	EXPECT_STREQ("rds", name);
}

TEST_F(stream, not_refused)
{
	EXPECT_EQ(RDS_STREAM_NOT_REFUSED,
		  rds_get(self->a, SOL_RDS, RDS_STREAM_REFUSED));
}

TEST_F(stream, refused_without_a_listener)
{
	int fd = stream_socket(variant->a);

	ASSERT_LE(0, fd);
	EXPECT_EQ(RDS_STREAM_NOT_REFUSED,
		  rds_get(fd, SOL_RDS, RDS_STREAM_REFUSED));
	EXPECT_EQ(-ECONNREFUSED,
		  ERR(rds_connect(fd, rds_name(variant->b, PORT))));
	EXPECT_EQ(RDS_STREAM_NO_LISTENER,
		  rds_get(fd, SOL_RDS, RDS_STREAM_REFUSED));
	ASSERT_EQ(0, ERR(rds_connect(fd, self->name)));
	EXPECT_EQ(RDS_STREAM_NOT_REFUSED,
		  rds_get(fd, SOL_RDS, RDS_STREAM_REFUSED));
	close(fd);
}

/*
 * A server that is started again needs no SO_REUSEADDR: its former streams do
 * not keep the port.
 */
TEST_F(stream, port_of_a_closed_listener_is_free)
{
	int a, b, again;

	stream_close(&self->listener);
	again = stream_far_listener(variant, rds_port(&self->name));
	ASSERT_LE(0, again);
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	b = stream_accept(again);
	ASSERT_LE(0, b);
	EXPECT_TRUE(stream_works(a, b));
	EXPECT_TRUE(stream_works(self->a, self->b));
	close(a);
	close(b);
	close(again);
}

/* Streams that nobody reads do not delay messages, nor the other way round. */
TEST_F(stream, messages_beside_streams)
{
	struct rds_name name;
	int i, near, far;
	char buf[1000];
	long sent;

	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	near = rds_bound(variant->a, 0);
	far = variant->apart ? veth_far_bound(variant->b, 0) :
			       rds_bound(variant->b, 0);
	ASSERT_LE(0, near);
	ASSERT_LE(0, far);
	name = rds_sockname(far);
	for (i = 0; i < 100; i++) {
		rds_fill(buf, sizeof(buf), i);
		ASSERT_EQ(sizeof(buf), ERR(rds_sendto(near, buf, sizeof(buf), 0,
						      &name)));
		ASSERT_EQ(sizeof(buf), ERR(rds_recv(far, buf, sizeof(buf))));
		ASSERT_TRUE(rds_check(buf, sizeof(buf), i));
	}
	/* The receiver of messages does not read either. */
	ASSERT_EQ(0, rds_rcvbuf(far, 4096));
	for (i = 0; i < 20; i++)
		rds_sendto(near, buf, sizeof(buf), MSG_DONTWAIT, &name);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent));
	EXPECT_TRUE(stream_works(self->a, self->b));
	close(near);
	close(far);
}

TEST_HARNESS_MAIN
