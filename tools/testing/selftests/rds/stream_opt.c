// SPDX-License-Identifier: GPL-2.0
/* Options and ioctls of streams */
#include "stream_pair.h"

#include <netinet/tcp.h>
#include <sys/time.h>

#define SEED	7

static char buf[1024 * 1024];

TEST_F(stream, no_error_at_first)
{
	EXPECT_EQ(0, rds_get(self->a, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(0, rds_get(self->listener, SOL_SOCKET, SO_ERROR));
	EXPECT_EQ(-ENOPROTOOPT, ERR(rds_set(self->a, SOL_SOCKET, SO_ERROR, 1)));
}

TEST_F(stream, acceptconn)
{
	EXPECT_EQ(1, rds_get(self->listener, SOL_SOCKET, SO_ACCEPTCONN));
	EXPECT_EQ(0, rds_get(self->a, SOL_SOCKET, SO_ACCEPTCONN));
	EXPECT_EQ(0, rds_get(self->b, SOL_SOCKET, SO_ACCEPTCONN));
	EXPECT_EQ(-ENOPROTOOPT,
		  ERR(rds_set(self->a, SOL_SOCKET, SO_ACCEPTCONN, 1)));
}

TEST_F(stream, buffers_read_back_doubled)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_SNDBUF, 40000));
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_RCVBUF, 50000));
	EXPECT_EQ(2 * 40000, rds_get(self->a, SOL_SOCKET, SO_SNDBUF));
	EXPECT_EQ(2 * 50000, rds_get(self->a, SOL_SOCKET, SO_RCVBUF));
	EXPECT_TRUE(stream_works(self->a, self->b));
	ASSERT_EQ(0, rds_sndbuf(self->a, 10000000));
	EXPECT_EQ(2 * 10000000, rds_get(self->a, SOL_SOCKET, SO_SNDBUF));
	ASSERT_EQ(0, rds_rcvbuf(self->a, 10000000));
	EXPECT_EQ(2 * 10000000, rds_get(self->a, SOL_SOCKET, SO_RCVBUF));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, buffers_have_a_minimum)
{
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_SNDBUF, 0));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVBUF, 0));
	EXPECT_LT(0, rds_get(self->a, SOL_SOCKET, SO_SNDBUF));
	EXPECT_LT(0, rds_get(self->b, SOL_SOCKET, SO_RCVBUF));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

/* Neither end keeps much more than its buffer is allowed to. */
TEST_F(stream, buffers_limit_what_is_queued)
{
	int a, b;
	long sent;

	/* The stream inherits the receive buffer of the listener. */
	ASSERT_EQ(0, rds_set(self->listener, SOL_SOCKET, SO_RCVBUF, 30000));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	EXPECT_EQ(2 * 30000, rds_get(b, SOL_SOCKET, SO_RCVBUF));
	ASSERT_EQ(0, rds_set(a, SOL_SOCKET, SO_SNDBUF, 30000));
	sent = stream_stuff(a, SEED);
	EXPECT_LT(1000, sent);
	EXPECT_GT(500000, sent);
	EXPECT_TRUE(stream_recv(b, SEED, 0, sent));
	close(a);
	close(b);
}

TEST_F(stream, large_buffers_hold_much)
{
	int a, b;
	long sent;

	ASSERT_EQ(0, rds_rcvbuf(self->listener, 4000000));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	ASSERT_EQ(0, rds_sndbuf(a, 4000000));
	sent = stream_stuff(a, SEED);
	EXPECT_LT(2000000, sent);
	EXPECT_TRUE(stream_recv(b, SEED, 0, sent));
	close(a);
	close(b);
}

TEST_F(stream, receive_times_out)
{
	long before = now_ms();

	ASSERT_EQ(0, rds_set_timeout(self->b, SO_RCVTIMEO, 50));
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 10, 0)));
	EXPECT_LE(40, now_ms() - before);
	EXPECT_EQ(-EAGAIN, ERR(recv(self->b, buf, 10, MSG_DONTWAIT)));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	ASSERT_TRUE(stream_await_bytes(self->b, 10));
	EXPECT_EQ(10, ERR(recv(self->b, buf, 20, 0)));
}

TEST_F(stream, send_times_out)
{
	long sent, ret, before;

	sent = stream_stuff(self->a, SEED);
	ASSERT_LT(0, sent);
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_SNDTIMEO, 300));
	stream_fill(buf, sizeof(buf), SEED, sent);
	before = now_ms();
	/* What has been sent by then is reported. */
	ret = ERR(send(self->a, buf, sizeof(buf), 0));
	EXPECT_LE(290, now_ms() - before);
	EXPECT_GT((long)sizeof(buf), ret);
	if (ret == -EAGAIN)
		ret = 0;
	ASSERT_LE(0, ret);
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, sent + ret));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(stream, timeouts_read_back)
{
	struct timeval tv = { .tv_sec = -2, .tv_usec = 1000000 };
	socklen_t len = sizeof(tv);

	EXPECT_EQ(-EDOM, ERR(setsockopt(self->a, SOL_SOCKET, SO_RCVTIMEO, &tv,
					len)));
	ASSERT_EQ(0, rds_set_timeout(self->a, SO_RCVTIMEO, 2500));
	ASSERT_EQ(0, getsockopt(self->a, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	EXPECT_EQ(2, tv.tv_sec);
	EXPECT_LE(500000, tv.tv_usec);
	EXPECT_GT(520000, tv.tv_usec);
	ASSERT_EQ(0, getsockopt(self->a, SOL_SOCKET, SO_SNDTIMEO, &tv, &len));
	EXPECT_EQ(0, tv.tv_sec);
	EXPECT_EQ(0, tv.tv_usec);
}

TEST_F(stream, lowat)
{
	struct rds_task task;

	EXPECT_EQ(1, rds_get(self->b, SOL_SOCKET, SO_RCVLOWAT));
	EXPECT_EQ(1, rds_get(self->b, SOL_SOCKET, SO_SNDLOWAT));
	EXPECT_EQ(-ENOPROTOOPT,
		  ERR(rds_set(self->b, SOL_SOCKET, SO_SNDLOWAT, 100)));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_RCVLOWAT, 100));
	ASSERT_EQ(0, rds_task_recv(&task, self->b, buf, 500));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 99));
	ASSERT_TRUE(stream_quiet(self->b, POLLIN));
	EXPECT_TRUE(rds_task_blocked(&task));
	ASSERT_TRUE(stream_send(self->a, SEED, 99, 1));
	EXPECT_EQ(100, rds_task_join(&task));
	EXPECT_TRUE(stream_check(buf, 100, SEED, 0));
	/* A call for less waits for less. */
	ASSERT_TRUE(stream_send(self->a, SEED, 100, 20));
	EXPECT_EQ(10, ERR(recv(self->b, buf, 10, 0)));
	EXPECT_TRUE(stream_check(buf, 10, SEED, 100));
	ASSERT_TRUE(stream_await_bytes(self->b, 10));
	EXPECT_EQ(10, ERR(recv(self->b, buf, 500, MSG_DONTWAIT)));
}

struct option {
	int level;
	int name;
	int initial;	/* or -1 if it depends on the system */
	int value;
	int bad;	/* a value that is refused, or 0 */
};

static const struct option options[] = {
	{ SOL_SOCKET, SO_REUSEADDR, 0, 1, 0 },
	{ SOL_SOCKET, SO_KEEPALIVE, 0, 1, 0 },
	{ SOL_SOCKET, SO_OOBINLINE, 0, 1, 0 },
	{ SOL_SOCKET, SO_PRIORITY, 0, 6, 0 },
	{ SOL_SOCKET, SO_DONTROUTE, 0, 1, 0 },
	{ IPPROTO_TCP, TCP_NODELAY, 0, 1, 0 },
	{ IPPROTO_TCP, TCP_CORK, 0, 1, 0 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, -1, 100, -1 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, -1, 20, -1 },
	{ IPPROTO_TCP, TCP_KEEPCNT, -1, 3, -1 },
	{ IPPROTO_TCP, TCP_KEEPIDLE, -1, 32767, 32768 },
	{ IPPROTO_TCP, TCP_KEEPINTVL, -1, 32767, 32768 },
	{ IPPROTO_TCP, TCP_KEEPCNT, -1, 127, 128 },
	{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 5000, -1 },
	{ IPPROTO_TCP, TCP_DEFER_ACCEPT, 0, 1, 0 },
};

/* Set an option, and check that it was set. */
static bool option_works(int fd, const struct option *opt)
{
	return !rds_set(fd, opt->level, opt->name, opt->value) &&
	       rds_get(fd, opt->level, opt->name) == opt->value;
}

/* A value that is refused leaves the one before. */
static bool option_refuses(int fd, const struct option *opt)
{
	return ERR(rds_set(fd, opt->level, opt->name, opt->bad)) == -EINVAL &&
	       rds_get(fd, opt->level, opt->name) == opt->value;
}

TEST_F(stream, options_read_back)
{
	const struct option *opt;
	bool good;
	int fd;

	for (opt = options; opt < options + ARRAY_SIZE(options); opt++) {
		fd = stream_socket(variant->a);
		ASSERT_LE(0, fd);
		good = opt->initial < 0 ||
		       rds_get(fd, opt->level, opt->name) == opt->initial;
		good = good && option_works(fd, opt);
		good = good && (!opt->bad || option_refuses(fd, opt));
		EXPECT_TRUE(good) {
			TH_LOG("option %d of level %d", opt->name, opt->level);
		}
		close(fd);
	}
}

TEST_F(stream, options_of_a_connected_stream)
{
	const struct option *opt;

	for (opt = options; opt < options + ARRAY_SIZE(options); opt++)
		EXPECT_TRUE(option_works(self->a, opt)) {
			TH_LOG("option %d of level %d", opt->name, opt->level);
		}
	/* Cork is one of them, and holds back less than a whole segment. */
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 0));
	EXPECT_TRUE(stream_works(self->a, self->b));
}

TEST_F(stream, accepted_stream_inherits)
{
	static const struct option inherited[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 0, 1, 0 },
		{ SOL_SOCKET, SO_RCVLOWAT, 1, 5, 0 },
		{ IPPROTO_TCP, TCP_NODELAY, 0, 1, 0 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, -1, 100, 0 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, -1, 20, 0 },
		{ IPPROTO_TCP, TCP_KEEPCNT, -1, 3, 0 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 0, 5000, 0 },
	};
	const struct option *opt;
	struct linger linger;
	socklen_t len = sizeof(linger);
	int a, b;

	for (opt = inherited; opt < inherited + ARRAY_SIZE(inherited); opt++)
		ASSERT_EQ(0, rds_set(self->listener, opt->level, opt->name,
				     opt->value));
	ASSERT_EQ(0, rds_set(self->listener, SOL_SOCKET, SO_SNDBUF, 30000));
	ASSERT_EQ(0, stream_linger(self->listener, true, 7));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	for (opt = inherited; opt < inherited + ARRAY_SIZE(inherited); opt++)
		EXPECT_EQ(opt->value, rds_get(b, opt->level, opt->name));
	EXPECT_EQ(60000, rds_get(b, SOL_SOCKET, SO_SNDBUF));
	ASSERT_EQ(0, getsockopt(b, SOL_SOCKET, SO_LINGER, &linger, &len));
	EXPECT_EQ(7, linger.l_linger);
	/* The other streams of the listener keep what they had. */
	EXPECT_EQ(0, rds_get(self->b, IPPROTO_TCP, TCP_NODELAY));
	close(a);
	close(b);
}

/* Send a byte that is to wait for more. Returns whether it waits at the sender.
 * It goes with the next frame of its path, perhaps one of a stream that is
 * being closed; and it waits for 200 ms only, which a slow host may take to
 * look. Both are worth another attempt.
 */
static bool holds_back(int a, int b, int flags)
{
	struct pollfd pfd = { .fd = b, .events = POLLIN };
	unsigned int tries;
	char byte;

	for (tries = 0; tries < 20; tries++) {
		if (send(a, "x", 1, flags) != 1)
			return false;
		if (poll(&pfd, 1, 50) == 0)
			return true;
		if (recv(b, &byte, 1, 0) != 1)
			return false;
	}
	return false;
}

/* Check that bytes arrive, and not only because they have waited for 200 ms. */
static bool arrives(int fd, long since, const char *bytes)
{
	char got[16] = {};
	size_t len = strlen(bytes);

	if (recv(fd, got, len, MSG_WAITALL) != len || strcmp(got, bytes))
		return false;
	return now_ms() - since < 150;
}

TEST_F(stream, more_waits_until_it_comes)
{
	unsigned int tries = 100;
	bool early = false;

	while (!early && tries--) {
		long since = now_ms();

		ASSERT_TRUE(holds_back(self->a, self->b, MSG_MORE));
		ASSERT_EQ(1, send(self->a, "y", 1, 0));
		early = arrives(self->b, since, "xy");
	}
	EXPECT_TRUE(early);
}

TEST_F(stream, options_that_end_a_cork)
{
	static const struct option ends[] = {
		{ IPPROTO_TCP, TCP_CORK, 0, 0, 0 },
		{ IPPROTO_TCP, TCP_NODELAY, 0, 1, 0 },
	};
	const struct option *end;
	unsigned int tries;
	long since;
	bool early;

	for (end = ends; end < ends + ARRAY_SIZE(ends); end++) {
		early = false;
		for (tries = 0; tries < 100 && !early; tries++) {
			ASSERT_EQ(0, rds_set(self->a, end->level, TCP_NODELAY,
					     0));
			ASSERT_EQ(0, rds_set(self->a, end->level, TCP_CORK,
					     1));
			since = now_ms();
			ASSERT_TRUE(holds_back(self->a, self->b, 0));
			ASSERT_EQ(0, rds_set(self->a, end->level, end->name,
					     end->value));
			early = arrives(self->b, since, "x");
		}
		EXPECT_TRUE(early) {
			TH_LOG("option %d", end->name);
		}
	}
}

/* How much longer a transfer may take with a cork, in ms. If it waited in vain,
 * it would take longer by twice as much.
 */
#define LONGER	3000

/* Send parts of which each one is waited for when the next one is sent. Returns
 * how long it takes, in ms; -1 if something goes wrong.
 */
static long send_parts(const FIXTURE_DATA(stream) *self, unsigned int seed)
{
	const size_t part = 200000;
	long before = now_ms();
	unsigned int i;

	for (i = 0; i < 60; i++) {
		if (!stream_send(self->a, seed, i * part, part))
			return -1;
		/* The rest of the part before may have waited for this. */
		if (i && !stream_recv(self->b, seed, (i - 1) * part, part))
			return -1;
	}
	return stream_recv(self->b, seed, (i - 1) * part, part) ?
	       now_ms() - before : -1;
}

/* What fills segments does not wait. */
TEST_F(stream, cork_lets_full_segments_go)
{
	long plain = send_parts(self, SEED), corked;

	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 1));
	corked = send_parts(self, SEED + 1);
	ASSERT_TRUE(plain >= 0 && corked >= 0);
	EXPECT_GT(LONGER, corked - plain);
}

/* As send_parts(), with small buffers and parts of 1000 bytes. */
static long send_through(int a, int b, unsigned int seed, unsigned int total)
{
	unsigned int sent = 0, got = 0;
	struct pollfd pfds[2];
	long before = now_ms(), ret;

	while (got < total) {
		pfds[0] = (struct pollfd){ a, sent < total ? POLLOUT : 0 };
		pfds[1] = (struct pollfd){ b, POLLIN };
		if (poll(pfds, 2, STREAM_PATIENCE) <= 0)
			return -1;
		if (pfds[0].revents & POLLOUT) {
			stream_fill(buf, 1000, seed, sent);
			ret = send(a, buf, 1000, MSG_DONTWAIT);
			sent += ret;
		} else {
			ret = recv(b, buf, sizeof(buf), MSG_DONTWAIT);
			if (ret > 0 && !stream_check(buf, ret, seed, got))
				return -1;
			got += ret;
		}
		if (ret <= 0)
			return -1;
	}
	return now_ms() - before;
}

/* A full buffer does not wait either: nothing could join what is in it. */
TEST_F(stream, cork_with_small_buffers)
{
	const unsigned int total = 300000;
	long plain, corked;
	int a, b;

	ASSERT_EQ(0, rds_set(self->listener, SOL_SOCKET, SO_RCVBUF, 5000));
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	ASSERT_EQ(0, rds_set(a, SOL_SOCKET, SO_SNDBUF, 5000));
	plain = send_through(a, b, SEED, total);
	ASSERT_EQ(0, rds_set(a, IPPROTO_TCP, TCP_CORK, 1));
	corked = send_through(a, b, SEED + 1, total);
	ASSERT_TRUE(plain >= 0 && corked >= 0);
	if (!stream_over_inet())
		EXPECT_GT(LONGER, corked - plain);
	close(a);
	close(b);
}

TEST_F(stream, cork_holds_back_until_it_is_removed)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 1));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	ASSERT_TRUE(stream_send(self->a, SEED, 10, 10));
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 0));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 20));
	/* A stream that ends is not corked. */
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 1));
	ASSERT_TRUE(stream_send(self->a, SEED, 20, 10));
	stream_close(&self->a);
	EXPECT_TRUE(stream_recv(self->b, SEED, 20, 10));
	EXPECT_TRUE(stream_ended(self->b));
}

/* A cork does not keep data for long. */
TEST_F(stream, cork_has_a_limit)
{
	ASSERT_EQ(0, rds_set(self->a, IPPROTO_TCP, TCP_CORK, 1));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 10));
	EXPECT_TRUE(stream_recv(self->b, SEED, 0, 10));
}

TEST_F(stream, bytes_to_be_read)
{
	EXPECT_EQ(0, stream_inq(self->b));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	ASSERT_TRUE(stream_await_bytes(self->b, 1000));
	EXPECT_EQ(1000, stream_inq(self->b));
	ASSERT_TRUE(stream_recv(self->b, SEED, 0, 300));
	EXPECT_EQ(700, stream_inq(self->b));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	ASSERT_TRUE(stream_await_all(self->b, POLLRDHUP));
	EXPECT_EQ(700, stream_inq(self->b));
	ASSERT_TRUE(stream_recv(self->b, SEED, 300, 700));
	EXPECT_EQ(0, stream_inq(self->b));
	EXPECT_EQ(-EINVAL, stream_inq(self->listener));
}

TEST_F(stream, bytes_to_be_acknowledged)
{
	EXPECT_EQ(0, stream_outq(self->a));
	EXPECT_EQ(-EINVAL, stream_outq(self->listener));
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	ASSERT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	EXPECT_TRUE(rds_await_acked(self->a));
}

TEST_F(stream, unknown_ioctls)
{
	int value = 0;

	EXPECT_EQ(-ENOTTY, ERR(ioctl(self->a, 0x5499, &value)));
	EXPECT_EQ(-EFAULT, ERR(ioctl(self->a, FIONREAD, (void *)8)));
}

TEST_HARNESS_MAIN
