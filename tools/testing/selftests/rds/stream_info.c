// SPDX-License-Identifier: GPL-2.0
/* RDS6_INFO_STREAMS: the list of streams, and of sockets that listen */
#include "stream_pair.h"
#include "stream_wire.h"

#include <pthread.h>
#include <sys/stat.h>

#define SEED	7
#define MOST	1024

static struct rds6_info_stream streams[MOST];

/* Read the list of the namespace of @fd. Returns the number of records. */
static int list(int fd)
{
	socklen_t len = sizeof(streams);

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_STREAMS, streams, &len) !=
	    sizeof(streams[0]))
		return -1;
	return len / sizeof(streams[0]);
}

/* Find the record of @sock. */
static const struct rds6_info_stream *find(int fd, int sock)
{
	struct stat stat;
	int i, nr;

	if (fstat(sock, &stat))
		return NULL;
	nr = list(fd);
	for (i = 0; i < nr; i++) {
		if (streams[i].inum == stat.st_ino)
			return &streams[i];
	}
	return NULL;
}

/* Find the record of a stream without a socket. */
static const struct rds6_info_stream *find_state(int fd, unsigned int state)
{
	int i, nr = list(fd);

	for (i = 0; i < nr; i++) {
		if (streams[i].state == state && !streams[i].inum)
			return &streams[i];
	}
	return NULL;
}

/* A socket that shows the list of the far end */
static int far_lister(const FIXTURE_VARIANT(stream) *variant)
{
	return variant->apart ? veth_far_socket() : rds_socket();
}

static bool has_names(const struct rds6_info_stream *record, int sock)
{
	struct rds_name near = rds_sockname(sock), far = rds_peername(sock);
	struct in6_addr laddr = rds_addr6(&near), faddr = rds_addr6(&far);

	return !memcmp(&record->laddr, &laddr, sizeof(laddr)) &&
	       !memcmp(&record->faddr, &faddr, sizeof(faddr)) &&
	       ntohs(record->lport) == rds_port(&near) &&
	       ntohs(record->fport) == rds_port(&far);
}

TEST_F(stream, both_ends)
{
	int near = rds_socket(), far = far_lister(variant);
	const struct rds6_info_stream *record;

	record = find(near, self->a);
	ASSERT_NE(NULL, record);
	EXPECT_TRUE(has_names(record, self->a));
	EXPECT_EQ(RDS_INFO_STREAM_OPEN, record->state);
	EXPECT_EQ(0, record->flags);
	EXPECT_LT(0, record->credit);
	record = find(far, self->b);
	ASSERT_NE(NULL, record);
	EXPECT_TRUE(has_names(record, self->b));
	EXPECT_EQ(RDS_INFO_STREAM_OPEN, record->state);
	EXPECT_EQ(RDS_INFO_STREAM_FLAG_SERVER, record->flags);
	close(near);
	close(far);
}

TEST_F(stream, listening_socket)
{
	int far = far_lister(variant), a;
	const struct rds6_info_stream *record;
	struct in6_addr none = {};

	ASSERT_EQ(0, listen(self->listener, 5));
	a = stream_connected(variant, self->name);
	ASSERT_LE(0, a);
	record = find(far, self->listener);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(RDS_INFO_STREAM_LISTEN, record->state);
	EXPECT_EQ(rds_port(&self->name), ntohs(record->lport));
	EXPECT_EQ(0, memcmp(&record->faddr, &none, sizeof(none)));
	EXPECT_EQ(1, record->recv_queue);
	EXPECT_EQ(5, record->send_queue);
	EXPECT_EQ(0, record->credit);
	EXPECT_EQ(0, record->silent_ms);
	record = find_state(far, RDS_INFO_STREAM_WAITING);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(RDS_INFO_STREAM_FLAG_SERVER, record->flags);
	close(a);
	close(far);
}

TEST_F(stream, queues)
{
	int near = rds_socket(), far = far_lister(variant);
	const struct rds6_info_stream *record;

	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	ASSERT_TRUE(stream_await_bytes(self->b, 1000));
	EXPECT_TRUE(rds_await_acked(self->a));
	record = find(far, self->b);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(1000, record->recv_queue);
	EXPECT_EQ(0, record->send_queue);
	ASSERT_TRUE(stream_recv(self->b, SEED, 0, 300));
	poll(NULL, 0, 50);
	record = find(far, self->b);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(700, record->recv_queue);
	EXPECT_LE(50, record->silent_ms);
	EXPECT_GT(STREAM_PATIENCE, record->silent_ms);
	record = find(near, self->a);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(0, record->recv_queue);
	EXPECT_EQ(0, record->send_queue);
	close(near);
	close(far);
}

TEST_F(stream, halves)
{
	int near = rds_socket(), far = far_lister(variant);
	const struct rds6_info_stream *record;

	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_await_all(self->b, POLLRDHUP));
	ASSERT_EQ(0, shutdown(self->b, SHUT_RD));
	record = find(near, self->a);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(RDS_INFO_STREAM_FLAG_NO_WRITE, record->flags);
	record = find(far, self->b);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(RDS_INFO_STREAM_FLAG_SERVER | RDS_INFO_STREAM_FLAG_NO_READ |
		  RDS_INFO_STREAM_FLAG_PEER_NO_WRITE, record->flags);
	close(near);
	close(far);
}

/* A closed stream that has something to deliver is listed without a socket. */
TEST_F(wire, closed_and_connecting)
{
	const struct rds6_info_stream *record;
	int fd = rds_socket(), connecting;

	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	close(self->a);
	self->a = -1;
	record = find_state(fd, RDS_INFO_STREAM_CLOSED);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(10, record->send_queue);
	EXPECT_EQ(RDS_INFO_STREAM_FLAG_NO_WRITE | RDS_INFO_STREAM_FLAG_NO_READ,
		  record->flags);

	connecting = stream_socket(variant->a);
	ASSERT_LE(0, connecting);
	ASSERT_EQ(0, stream_nonblocking(connecting, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(connecting, self->name)));
	record = find(fd, connecting);
	ASSERT_NE(NULL, record);
	EXPECT_EQ(RDS_INFO_STREAM_CONNECTING, record->state);
	EXPECT_EQ(2, list(fd));
	close(connecting);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 10));
	close(fd);
}

/* Each namespace has its own list, and nothing stays on it. */
TEST_F(wire, namespaces_and_the_end)
{
	int near = rds_socket(), far = veth_far_socket();
	unsigned int left = STREAM_PATIENCE / 10;

	EXPECT_EQ(1, list(near));
	EXPECT_NE(NULL, find(near, self->a));
	EXPECT_EQ(2, list(far));
	EXPECT_EQ(NULL, find(far, self->a));
	stream_close(&self->a);
	stream_close(&self->b);
	stream_close(&self->listener);
	while ((list(near) || list(far)) && left--)
		usleep(10000);
	EXPECT_EQ(0, list(near));
	EXPECT_EQ(0, list(far));
	close(near);
	close(far);
}

TEST_F(wire, buffer_that_is_too_small)
{
	int far = veth_far_socket();
	socklen_t len = 2 * sizeof(streams[0]) - 1;
	const char *behind = (char *)&streams[1];

	ASSERT_LE(0, far);
	memset(streams, 0xa5, 2 * sizeof(streams[0]));
	EXPECT_EQ(-ENOSPC, ERR(getsockopt(far, SOL_RDS, RDS6_INFO_STREAMS,
					  streams, &len)));
	EXPECT_EQ(2 * sizeof(streams[0]), len);
	/* The listener comes first. */
	EXPECT_EQ(RDS_INFO_STREAM_LISTEN, streams[0].state);
	EXPECT_EQ((char)0xa5, *behind);
	len = 0;
	EXPECT_EQ(-ENOSPC, ERR(getsockopt(far, SOL_RDS, RDS6_INFO_STREAMS,
					  NULL, &len)));
	EXPECT_EQ(2 * sizeof(streams[0]), len);
	close(far);
}

static struct rds_name churned;
static volatile bool churn_ends;

/* Have streams begin and end, and sockets listen and be closed. */
static void *churn(void *arg)
{
	const FIXTURE_VARIANT(stream) *variant = arg;
	unsigned int rounds = 0;
	int fd[2];

	while (!churn_ends) {
		fd[0] = stream_connected(variant, churned);
		fd[1] = stream_listener(variant->a, 0);
		close(fd[0]);
		close(fd[1]);
		rounds += fd[0] >= 0 && fd[1] >= 0;
	}
	return rounds ? arg : NULL;
}

/* Others may come as fast as some are accepted. */
static void accept_some(int listener)
{
	int i, fd;

	for (i = 0; i < 16; i++) {
		fd = accept(listener, NULL, NULL);
		if (fd >= 0)
			close(fd);
	}
}

/* Nothing that has gone is looked at. */
TEST_F(stream, while_streams_come_and_go)
{
	int near = rds_socket(), far = far_lister(variant), i;
	pthread_t threads[3];
	void *result;

	churned = self->name;
	churn_ends = false;
	ASSERT_EQ(0, stream_nonblocking(self->listener, true));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, churn,
					    (void *)variant));
	for (i = 0; i < 20; i++) {
		EXPECT_NE(NULL, find(near, self->a));
		EXPECT_NE(NULL, find(far, self->b));
		accept_some(self->listener);
	}
	churn_ends = true;
	for (i = 0; i < 3; i++) {
		/* It may wait until the listener has room. */
		while (pthread_tryjoin_np(threads[i], &result)) {
			accept_some(self->listener);
			usleep(1000);
		}
		EXPECT_NE(NULL, result);
	}
	close(near);
	close(far);
}

TEST_HARNESS_MAIN
