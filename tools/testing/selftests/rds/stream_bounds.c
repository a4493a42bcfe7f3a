// SPDX-License-Identifier: GPL-2.0
/* Bounds of streams: /proc/sys/net/rds/stream, and the counters that tell */
#include "stream_wire.h"

#include <fcntl.h>
#include <sched.h>

#define SEED	7

static const struct {
	const char *name;
	long value;
	long low;
	long high;
} sysctls[] = {
	{ "stream/closed_max", 8192, 0, INT32_MAX },
	{ "stream/close_stall_ms", 60000, 1000, 86400000 },
	{ "stream/close_max_ms", 600000, 1000, 86400000 },
	{ "stream/unaccepted_credit", 32768, 4096, 1 << 30 },
};

static int set(const char *name, long value)
{
	char path[64], text[24];

	snprintf(path, sizeof(path), "stream/%s", name);
	snprintf(text, sizeof(text), "%ld", value);
	return rds_sysctl_set(path, text);
}

static int set_path(const char *path, long value)
{
	return set(path + strlen("stream/"), value);
}

TEST_F(wire, sysctls_in_a_new_namespace)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		EXPECT_EQ(sysctls[i].value, rds_sysctl_get(sysctls[i].name))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(0644, rds_sysctl_mode(sysctls[i].name));
	}
}

TEST_F(wire, sysctls_have_bounds)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		EXPECT_EQ(-EINVAL, set_path(sysctls[i].name,
					    sysctls[i].low - 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(-EINVAL, set_path(sysctls[i].name,
					    sysctls[i].high + 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(sysctls[i].value, rds_sysctl_get(sysctls[i].name));
		EXPECT_EQ(0, set_path(sysctls[i].name, sysctls[i].low));
		EXPECT_EQ(0, set_path(sysctls[i].name, sysctls[i].high));
		EXPECT_EQ(sysctls[i].high, rds_sysctl_get(sysctls[i].name));
	}
	/* Each namespace has its own. */
	ASSERT_EQ(0, veth_cross());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		EXPECT_EQ(sysctls[i].value, rds_sysctl_get(sysctls[i].name));
	ASSERT_EQ(0, veth_back());
}

/* Read until the stream ends. Returns 0 or a negative errno. */
static long drained(int fd)
{
	char buf[4096];
	long ret;

	do {
		if (!stream_await(fd, POLLIN))
			return -ETIMEDOUT;
		ret = ERR(recv(fd, buf, sizeof(buf), 0));
	} while (ret > 0);
	return ret;
}

/* Close the near end while its last bytes cannot be delivered. */
static int close_cut_off(FIXTURE_DATA(wire) *self,
			 const FIXTURE_VARIANT(wire) *variant)
{
	int ret = wire_cut(variant);

	if (!ret && !stream_send(self->a, SEED, 0, 10))
		ret = -1;
	close(self->a);
	self->a = -1;
	return ret;
}

TEST_F(wire, closed_stream_that_stalls_is_reset)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_stall_ms", 1000));
	ASSERT_EQ(0, close_cut_off(self, variant));
	EXPECT_TRUE(rds_await_counter(fd, "stream_closed_stalled", 1));
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_late"));
	ASSERT_EQ(0, wire_mend(variant));
	/* The peer learns of it when it sends something, at the latest. */
	EXPECT_NE(-ETIMEDOUT,
		  stream_send_fails(self->b, MSG_NOSIGNAL));
	close(fd);
}

/* The time begins when the socket is closed, and not when the wire was cut. */
TEST_F(wire, closed_stream_gets_all_of_its_time)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_stall_ms", 2500));
	ASSERT_EQ(0, wire_cut(variant));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	poll(NULL, 0, 2600);
	close(self->a);
	self->a = -1;
	poll(NULL, 0, 1600);
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_stalled"));
	EXPECT_TRUE(rds_await_counter(fd, "stream_closed_stalled", 1));
	ASSERT_EQ(0, wire_mend(variant));
	close(fd);
}

TEST_F(wire, closed_stream_has_a_limit)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_max_ms", 1000));
	ASSERT_EQ(0, close_cut_off(self, variant));
	EXPECT_TRUE(rds_await_counter(fd, "stream_closed_late", 1));
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_stalled"));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_NE(-ETIMEDOUT,
		  stream_send_fails(self->b, MSG_NOSIGNAL));
	close(fd);
}

/* A stream that delivers in time is not reset, however short the time is. */
TEST_F(wire, closed_stream_that_delivers_ends)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_max_ms", 1000));
	ASSERT_EQ(0, set("close_stall_ms", 1000));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	close(self->a);
	self->a = -1;
	poll(NULL, 0, 2500);
	EXPECT_EQ(0, drained(self->b));
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_late"));
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_stalled"));
	close(fd);
}

/* Drop the path while the wire is cut: it cannot come back until then. */
static int lose_path(const FIXTURE_VARIANT(wire) *variant)
{
	int ret = wire_cut(variant);

	return ret ?: rds_sysctl_set("tcp/rds_tcp_sndbuf", "262144");
}

/* Reset the near end. */
static int reset_near(FIXTURE_DATA(wire) *self)
{
	int ret = stream_linger(self->a, true, 0);

	close(self->a);
	self->a = -1;
	return ret;
}

/* A peer that only reads has no other way to learn of it. */
TEST_F(wire, reset_waits_for_the_peer)
{
	ASSERT_EQ(0, lose_path(variant));
	ASSERT_EQ(0, reset_near(self));
	poll(NULL, 0, 100);
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(-ECONNRESET, drained(self->b));
}

TEST_F(wire, resets_that_wait_are_limited)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("closed_max", 0));
	ASSERT_EQ(0, lose_path(variant));
	EXPECT_EQ(0, rds_counter(fd, "stream_untold"));
	ASSERT_EQ(0, reset_near(self));
	EXPECT_EQ(1, rds_counter(fd, "stream_untold"));
	close(fd);
}

TEST_F(wire, reset_does_not_wait_forever)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_stall_ms", 1000));
	ASSERT_EQ(0, lose_path(variant));
	ASSERT_EQ(0, reset_near(self));
	poll(NULL, 0, 900);
	EXPECT_EQ(0, rds_counter(fd, "stream_untold"));
	EXPECT_TRUE(rds_await_counter(fd, "stream_untold", 1));
	ASSERT_EQ(0, wire_mend(variant));
	/* The peer learns of it when it sends something. */
	EXPECT_NE(-ETIMEDOUT, stream_send_fails(self->b, MSG_NOSIGNAL));
	EXPECT_EQ(1, rds_counter(fd, "stream_untold"));
	close(fd);
}

/* The value of the first namespace caps that of others. */
static int set_first(const char *name, long value)
{
	int here = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int first = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int ret = -1;

	if (!setns(first, CLONE_NEWNET)) {
		ret = set(name, value);
		if (setns(here, CLONE_NEWNET))
			ret = -1;
	}
	close(here);
	close(first);
	return ret;
}

TEST_F(wire, first_namespace_limits_the_others)
{
	int fd = rds_socket(), ret;

	ASSERT_EQ(0, lose_path(variant));
	ASSERT_EQ(0, set_first("closed_max", 0));
	ret = reset_near(self);
	EXPECT_EQ(0, set_first("closed_max", 8192));
	EXPECT_EQ(0, ret);
	EXPECT_EQ(1, rds_counter(fd, "stream_untold"));
	close(fd);
}

/* A peer that was never asked for the stream need not be told. */
TEST_F(wire, stream_that_was_not_asked_for)
{
	int fd = rds_socket(), a;

	ASSERT_EQ(0, set("closed_max", 0));
	ASSERT_EQ(0, lose_path(variant));
	a = stream_socket(variant->a);
	ASSERT_LE(0, a);
	ASSERT_EQ(0, stream_nonblocking(a, true));
	EXPECT_EQ(-EINPROGRESS, ERR(rds_connect(a, self->name)));
	close(a);
	EXPECT_EQ(0, rds_counter(fd, "stream_untold"));
	close(fd);
}

/* A reset that is acknowledged is not counted. */
TEST_F(wire, reset_that_arrives_waits_no_more)
{
	int fd = rds_socket();

	ASSERT_EQ(0, set("close_stall_ms", 1000));
	ASSERT_EQ(0, reset_near(self));
	EXPECT_EQ(-ECONNRESET, drained(self->b));
	poll(NULL, 0, 2500);
	EXPECT_EQ(0, rds_counter(fd, "stream_untold"));
	close(fd);
}

TEST_F(wire, closed_streams_are_limited)
{
	int fd = rds_socket(), a, b;

	ASSERT_EQ(0, set("closed_max", 1));
	a = stream_socket(variant->a);
	ASSERT_LE(0, a);
	ASSERT_EQ(0, ERR(rds_connect(a, self->name)));
	b = stream_accept(self->listener);
	ASSERT_LE(0, b);
	ASSERT_TRUE(stream_works(a, b));
	ASSERT_EQ(0, close_cut_off(self, variant));
	EXPECT_EQ(0, rds_counter(fd, "stream_closed_limited"));
	close(a);
	EXPECT_EQ(1, rds_counter(fd, "stream_closed_limited"));
	ASSERT_EQ(0, wire_mend(variant));
	EXPECT_EQ(0, drained(self->b));
	EXPECT_EQ(-ECONNRESET, drained(b));
	close(b);
	close(fd);
}

/* Connect, and send as much as possible without accept(). */
static long sent_unaccepted(FIXTURE_DATA(wire) *self,
			    const FIXTURE_VARIANT(wire) *variant, int *fd)
{
	*fd = stream_socket(variant->a);
	if (*fd < 0 || rds_connect(*fd, self->name))
		return -1;
	return stream_stuff(*fd, SEED);
}

TEST_F(wire, unaccepted_credit)
{
	long sent;
	int a, b;

	sent = sent_unaccepted(self, variant, &a);
	EXPECT_LT(16000, sent);
	EXPECT_GT(32768, sent);
	b = stream_accept(self->listener);
	EXPECT_TRUE(stream_recv(b, SEED, 0, sent));
	close(a);
	close(b);
	ASSERT_EQ(0, veth_cross());
	ASSERT_EQ(0, set("unaccepted_credit", 400000));
	ASSERT_EQ(0, veth_back());
	sent = sent_unaccepted(self, variant, &a);
	EXPECT_LT(200000, sent);
	EXPECT_GT(400000, sent);
	b = stream_accept(self->listener);
	EXPECT_TRUE(stream_recv(b, SEED, 0, sent));
	close(a);
	close(b);
}

TEST_F(wire, busy_listeners_are_counted)
{
	int far = veth_far_socket(), fd[4], i;
	long ret;

	ASSERT_LE(0, far);
	ASSERT_EQ(0, ERR(listen(self->listener, 1)));
	EXPECT_EQ(0, rds_counter(far, "stream_busy"));
	for (i = 0; i < 4; i++) {
		fd[i] = stream_socket(variant->a);
		ASSERT_EQ(0, stream_nonblocking(fd[i], true));
		/* A stream may be there before the call returns. */
		ret = ERR(rds_connect(fd[i], self->name));
		EXPECT_TRUE(!ret || ret == -EINPROGRESS);
	}
	EXPECT_TRUE(rds_await_counter(far, "stream_busy", 1));
	for (i = 0; i < 4; i++)
		close(fd[i]);
	close(far);
}

TEST_HARNESS_MAIN
