// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the tracepoints of streams: each one fires when it should, with the
 * right fields. Every test has a trace instance of its own.
 */
#include "stream_pair.h"
#include "tracing.h"

#include <arpa/inet.h>

#define SEED		11
#define NOBODY		3999
#define LISTENER	4011

#define ID	"id=[0-9a-f]{8}"
#define CREDIT	"fwd=[0-9]+ buf=[0-9]+"

/* The names of a stream, as events at one of its ends show them */
static const char *shown(struct rds_name local, struct rds_name peer)
{
	static char text[160];
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN];
	bool ipv6 = local.sa.sa_family == AF_INET6;
	const char *mapped = ipv6 ? "" : "::ffff:";

	inet_ntop(local.sa.sa_family, ipv6 ? (void *)&local.in6.sin6_addr :
		  (void *)&local.in.sin_addr, from, sizeof(from));
	inet_ntop(peer.sa.sa_family, ipv6 ? (void *)&peer.in6.sin6_addr :
		  (void *)&peer.in.sin_addr, to, sizeof(to));
	snprintf(text, sizeof(text),
		 "\\[%s%s\\]:%u > \\[%s%s\\]:%u " ID, mapped, from,
		 ntohs(local.in.sin_port), mapped, to,
		 ntohs(peer.in.sin_port));
	return text;
}

/* As shown(), for the end that @fd is */
static const char *end_of(int fd)
{
	return shown(rds_sockname(fd), rds_peername(fd));
}

/* Begin to trace. */
#define TRACE() do {							\
	if (stream_over_inet())						\
		SKIP(return, "TCP has none of these");			\
	ASSERT_EQ(0, trace_begin("rds_stream"));			\
} while (0)

TEST_F(stream, a_stream_opens)
{
	char near[160], far[160];
	int a, b;

	TRACE();
	ASSERT_TRUE(stream_open(self, variant, &a, &b));
	strcpy(near, end_of(a));
	strcpy(far, end_of(b));
	EXPECT_TRUE(traced("rds_stream_state", near,
			   "IDLE > ASKING event=connect err=0"));
	EXPECT_TRUE(traced("rds_stream_state", near,
			   "ASKING > REQUESTED event=known err=0"));
	EXPECT_TRUE(traced("rds_stream_frame_out", near,
			   "REQUEST len=0 flags=0x0 arg=0 fwd=0 buf=[1-9]"));
	EXPECT_TRUE(traced("rds_stream_frame_in", far,
			   "REQUEST len=0 flags=0x0 arg=0 fwd=0 buf=[1-9]"));
	EXPECT_TRUE(traced("rds_stream_state", far,
			   "IDLE > OPEN event=accept err=0"));
	EXPECT_TRUE(traced("rds_stream_frame_out", far,
			   "RESPONSE len=0 flags=0x1 arg=0 fwd=0 buf=[1-9]"));
	EXPECT_TRUE(traced("rds_stream_frame_in", near,
			   "RESPONSE len=0 flags=0x1 arg=0 fwd=0 buf=[1-9]"));
	EXPECT_TRUE(traced("rds_stream_state", near,
			   "REQUESTED > OPEN event=response err=0"));
	close(a);
	close(b);
	trace_end();
}

TEST_F(stream, bytes_go_both_ways)
{
	TRACE();
	ASSERT_TRUE(stream_send(self->a, SEED, 0, 1000));
	ASSERT_TRUE(stream_recv(self->b, SEED, 0, 1000));
	ASSERT_TRUE(stream_send(self->b, SEED, 0, 77));
	ASSERT_TRUE(stream_recv(self->a, SEED, 0, 77));
	EXPECT_TRUE(traced("rds_stream_frame_out", end_of(self->a),
			   "RW len=1000 flags=0x0 arg=0 " CREDIT));
	EXPECT_TRUE(traced("rds_stream_frame_in", end_of(self->b),
			   "RW len=1000 flags=0x0 arg=0 " CREDIT));
	EXPECT_TRUE(traced("rds_stream_frame_out", end_of(self->b),
			   "RW len=77 flags=0x1 arg=0 " CREDIT));
	EXPECT_TRUE(traced("rds_stream_frame_in", end_of(self->a),
			   "RW len=77 flags=0x1 arg=0 " CREDIT));
	trace_end();
}

TEST_F(stream, both_halves_end)
{
	char near[160], far[160];

	TRACE();
	strcpy(near, end_of(self->a));
	strcpy(far, end_of(self->b));
	ASSERT_EQ(0, shutdown(self->a, SHUT_WR));
	EXPECT_TRUE(traced("rds_stream_frame_out", near,
			   "SHUTDOWN len=0 flags=0x2 arg=0 " CREDIT));
	EXPECT_TRUE(traced("rds_stream_frame_in", far,
			   "SHUTDOWN len=0 flags=0x2 arg=0 " CREDIT));
	stream_close(&self->b);
	stream_close(&self->a);
	EXPECT_TRUE(traced("rds_stream_state", near,
			   "OPEN > ENDED event=close err=0"));
	EXPECT_TRUE(traced("rds_stream_state", far,
			   "OPEN > ENDED event=close err=0"));
	trace_end();
}

TEST_F(stream, one_end_resets)
{
	char near[160], far[160];

	TRACE();
	strcpy(near, end_of(self->a));
	strcpy(far, end_of(self->b));
	ASSERT_EQ(0, stream_linger(self->a, true, 0));
	stream_close(&self->a);
	EXPECT_TRUE(traced("rds_stream_frame_out", near, "RST len=0"));
	EXPECT_TRUE(traced("rds_stream_frame_in", far, "RST len=0"));
	EXPECT_TRUE(traced("rds_stream_state", far,
			   "OPEN > ENDED event=fail err=-104"));
	trace_end();
}

TEST_F(stream, nobody_listens)
{
	struct rds_name to = rds_name(variant->b, NOBODY), from;
	int fd;

	TRACE();
	fd = stream_bound(variant->a, 0);
	ASSERT_LE(0, fd);
	from = rds_sockname(fd);
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, to)));
	EXPECT_TRUE(traced("rds_stream_frame_out", shown(to, from),
			   "RST len=0 flags=0x1 arg=3 fwd=0 buf=0"));
	EXPECT_TRUE(traced("rds_stream_state", shown(from, to),
			   "REQUESTED > IDLE event=fail err=-111"));
	close(fd);
	trace_end();
}

TEST_F(stream, a_listener)
{
	char names[80];

	snprintf(names, sizeof(names),
		 "\\[[0-9a-f:.]+\\]:%u > \\[::\\]:0 id=00000000", LISTENER);
	TRACE();
	close(stream_far_listener(variant, LISTENER));
	EXPECT_TRUE(traced("rds_stream_state", names,
			   "IDLE > LISTEN event=listen err=0"));
	EXPECT_TRUE(traced("rds_stream_state", names,
			   "LISTEN > ENDED event=close err=0"));
	trace_end();
}

TEST_HARNESS_MAIN
