// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the tracepoints of RDS over TCP, between two namespaces: each one
 * fires when it should, with the right fields. Every test has a trace instance
 * of its own.
 */
#include "harness.h"
#include "tracing.h"
#include "veth.h"

#include <endian.h>
#include <fcntl.h>

#define TCP_PORT	16385

/* A port of which the last three bits are 0, so it names path 0 */
#define PEER_PORT	40000

#define LARGEST		(1 << 20)

static char buf[LARGEST];

/* The header of a message, as RDS over TCP has it */
struct header {
	uint64_t sequence;
	uint64_t ack;
	uint32_t len;
	uint16_t sport;
	uint16_t dport;
	uint8_t rest[24];
};

FIXTURE(tcp_trace) {
	int a;			/* at the higher address */
	int b;			/* at the lower address, which dials */
	struct rds_name a_name, b_name;
	const char *high, *low;	/* the addresses, as events show them */
	/* The ends of a connection, as events of its sockets show them */
	char dial[128];		/* at the lower end */
	char accept[128];	/* at the higher end */
	char knock[128];	/* at the higher end, if that end has dialed */
};

FIXTURE_VARIANT(tcp_trace) {
	bool near_is_low;
	const char *near, *far;
	const char *shown_near, *shown_far;
	/* More addresses below those of the two ends */
	const char *crowd;
	const char *shown_crowd;
	unsigned int prefix;
};

FIXTURE_VARIANT_ADD(tcp_trace, tcp_ipv4) {
	.near_is_low = true,
	.near = VETH_NEAR_IPV4,
	.far = VETH_FAR_IPV4,
	.shown_near = "::ffff:" VETH_NEAR_IPV4,
	.shown_far = "::ffff:" VETH_FAR_IPV4,
	.crowd = "10.0.0.%u",
	.shown_crowd = "::ffff:10.0.0.1",
	.prefix = VETH_PREFIX_IPV4,
};

FIXTURE_VARIANT_ADD(tcp_trace, tcp_ipv6) {
	.near = VETH_NEAR_IPV6,
	.far = VETH_FAR_IPV6,
	.shown_near = VETH_NEAR_IPV6,
	.shown_far = VETH_FAR_IPV6,
	.crowd = "fd00::%x",
	.shown_crowd = "fd00::1",
	.prefix = VETH_PREFIX_IPV6,
};

static void __attribute__((constructor)) choose_variants(void)
{
	rds_filter_variants(&_tcp_trace_fixture_object, rds_wants_variant);
}

FIXTURE_SETUP(tcp_trace)
{
	int near, far;

	if (!variant)
		return;
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, ERR(veth_setup()));
	near = rds_bound(variant->near, 0);
	far = veth_far_bound(variant->far, 0);
	ASSERT_LE(0, near);
	ASSERT_LE(0, far);
	ASSERT_EQ(0, trace_begin("rds_tcp"));
	self->a = variant->near_is_low ? far : near;
	self->b = variant->near_is_low ? near : far;
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
	self->high = variant->near_is_low ? variant->shown_far :
					    variant->shown_near;
	self->low = variant->near_is_low ? variant->shown_near :
					   variant->shown_far;
	snprintf(self->dial, sizeof(self->dial),
		 "\\[%s\\]:[0-9]+ > \\[%s\\]:%u", self->low, self->high,
		 TCP_PORT);
	snprintf(self->accept, sizeof(self->accept),
		 "\\[%s\\]:%u > \\[%s\\]:[0-9]+", self->high, TCP_PORT,
		 self->low);
	snprintf(self->knock, sizeof(self->knock),
		 "\\[%s\\]:[0-9]+ > \\[%s\\]:%u", self->high, self->low,
		 TCP_PORT);
}

FIXTURE_TEARDOWN(tcp_trace)
{
	if (!variant)
		return;
	trace_end();
	close(self->a);
	close(self->b);
}

/* A connection from @port, or from any port, that no path has taken */
static const char *from(const char *laddr, const char *faddr, unsigned int port)
{
	static char text[128];

	if (port)
		snprintf(text, sizeof(text), "%s < \\[%s\\]:%u", laddr, faddr,
			 port);
	else
		snprintf(text, sizeof(text), "%s < \\[%s\\]:[0-9]+", laddr,
			 faddr);
	return text;
}

/* Do @call in the namespace of the low or of the high end. */
#define AT(low_end, call) ({						\
	bool far_ = (low_end) != variant->near_is_low;			\
	long at_;							\
									\
	ASSERT_EQ(0, far_ ? veth_cross() : 0);				\
	at_ = ERR(call);						\
	ASSERT_EQ(0, far_ ? veth_back() : 0);				\
	at_;								\
})

/* Connect to @to by TCP alone, from @port of the address of @from. */
static int raw_connect(struct rds_name from, struct rds_name to,
		       unsigned int port)
{
	int fd = socket(from.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Both families have the port at the same place. */
	from.in.sin_port = htons(port);
	to.in.sin_port = htons(TCP_PORT);
	if (fd < 0 || rds_set(fd, SOL_SOCKET, SO_REUSEADDR, 1) ||
	    bind(fd, &from.sa, from.len) || connect(fd, &to.sa, to.len))
		return -1;
	return fd;
}

static struct header raw_header(uint64_t sequence, uint32_t len,
				const struct rds_name *to)
{
	struct header hdr = {
		.sequence = htobe64(sequence),
		.len = htobe32(len),
		.sport = htobe16(1000),
		.dport = htobe16(rds_port(to)),
	};

	return hdr;
}

TEST_F(tcp_trace, a_socket_is_attached_and_detached)
{
	NEED_VARIANT();
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_EQ(3, rds_recv(self->a, buf, sizeof(buf)));
	EXPECT_TRUE(traced("rds_tcp_attach", self->dial,
			   "path=0 dialed state=CLOSE err=0 unread=0"));
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, 0),
			   "reason=offered err=0 age_ms="));
	EXPECT_TRUE(traced("rds_tcp_attach", self->accept,
			   "path=0 accepted state=ESTABLISHED err=0 unread="));

	/* The connections are made again. */
	ASSERT_EQ(0, AT(true, rds_sysctl_set("tcp/rds_tcp_sndbuf", "0")));
	EXPECT_TRUE(traced("rds_tcp_detach", self->dial,
			   "path=0 dialed state=.* err=.* unread=0"));
	EXPECT_TRUE(traced("rds_tcp_detach", self->accept,
			   "path=0 accepted state=.* err=.* unread=0"));
}

/* The higher end dials only to be noticed. */
TEST_F(tcp_trace, a_knock_is_refused)
{
	NEED_VARIANT();
	ASSERT_EQ(3, rds_sendto(self->a, "abc", 3, 0, &self->b_name));
	ASSERT_EQ(3, rds_recv(self->b, buf, sizeof(buf)));
	EXPECT_TRUE(traced("rds_tcp_refuse",
			   from(self->low, self->high, 0),
			   "reason=knock err=0 age_ms=0"));
	EXPECT_TRUE(traced("rds_tcp_attach", self->knock,
			   "path=0 dialed"));
	EXPECT_TRUE(traced("rds_tcp_detach", self->knock,
			   "path=0 dialed state=(CLOSE|ESTABLISHED)"));
}

TEST_F(tcp_trace, our_own_address_is_refused)
{
	int fd;

	NEED_VARIANT();
	/* The reset may come before the call returns. */
	fd = AT(false, raw_connect(self->a_name, self->a_name, PEER_PORT));
	EXPECT_TRUE(traced("rds_tcp_refuse",
			   from(self->high, self->high, PEER_PORT),
			   "reason=local err=0"));
	if (fd >= 0)
		close(fd);
}

static int dial(FIXTURE_DATA(tcp_trace) *self,
		const FIXTURE_VARIANT(tcp_trace) *variant,
		struct __test_metadata *_metadata, unsigned int port)
{
	int fd = AT(true, raw_connect(self->b_name, self->a_name, port));

	EXPECT_LE(0, fd);
	return fd;
}

TEST_F(tcp_trace, a_pending_connection_ends)
{
	struct header hdr = raw_header(1, LARGEST + 1, &self->a_name);
	int silent, fd;

	NEED_VARIANT();
	silent = dial(self, variant, _metadata, PEER_PORT + 8);
	close(dial(self, variant, _metadata, PEER_PORT));
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT),
			   "reason=closed err=-104"));

	fd = dial(self, variant, _metadata, PEER_PORT + 16);
	ASSERT_EQ(sizeof(hdr), write(fd, &hdr, sizeof(hdr)));
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT + 16),
			   "reason=oversized err=-90"));
	close(fd);

	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT + 8),
			   "reason=silent err=0 age_ms=[0-9]{4,}"));
	close(silent);
}

TEST_F(tcp_trace, a_peer_makes_too_many_connections)
{
	int fd[12];
	unsigned int i;

	NEED_VARIANT();
	for (i = 0; i < 12; i++)
		fd[i] = dial(self, variant, _metadata, PEER_PORT + i);
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT),
			   "reason=peer-limit err=0"));
	for (i = 0; i < 12; i++)
		close(fd[i]);
}

/* As many peers with as many connections as a namespace may not have pending */
#define CROWD		33
#define CROWD_PATHS	8

/* Pending connections without a header end after 5 s. */
#define CROWD_MS	4500

static int join_crowd(const FIXTURE_VARIANT(tcp_trace) *variant, char *addr,
		      size_t size, unsigned int number)
{
	snprintf(addr, size, variant->crowd, number);
	return rds_address_on(VETH_DEV, addr, variant->prefix);
}

TEST_F(tcp_trace, a_namespace_has_too_many_connections)
{
	int fd[CROWD * CROWD_PATHS];
	unsigned int i;
	char addr[32];
	long start;

	NEED_VARIANT();
	ASSERT_EQ(0, AT(false, join_crowd(variant, addr, sizeof(addr),
					  CROWD + 1)));
	start = now_ms();
	for (i = 0; i < CROWD * CROWD_PATHS; i++) {
		if (i % CROWD_PATHS == 0)
			ASSERT_EQ(0, AT(true, join_crowd(variant, addr,
							 sizeof(addr),
							 i / CROWD_PATHS + 1)));
		fd[i] = AT(true, raw_connect(rds_name(addr, 0), self->a_name,
					     PEER_PORT + i % CROWD_PATHS));
		ASSERT_LE(0, fd[i]);
	}
	if (now_ms() - start > CROWD_MS)
		SKIP(return, "The first connection may have ended already");
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, variant->shown_crowd, PEER_PORT),
			   "reason=full err=0"));
	for (i = 0; i < CROWD * CROWD_PATHS; i++)
		close(fd[i]);
}

/* Dial as a peer that sends an empty message. */
static int dial_and_send(FIXTURE_DATA(tcp_trace) *self,
			 const FIXTURE_VARIANT(tcp_trace) *variant,
			 struct __test_metadata *_metadata, unsigned int port)
{
	struct header hdr = raw_header(1, 0, &self->a_name);
	int fd = dial(self, variant, _metadata, port);

	EXPECT_EQ(sizeof(hdr), write(fd, &hdr, sizeof(hdr)));
	return fd;
}

/* The ends agree on one path, and a connection is for another. */
TEST_F(tcp_trace, a_connection_is_for_no_path)
{
	int fd;

	NEED_VARIANT();
	ASSERT_EQ(0, AT(false, rds_sysctl_set("tcp/max_paths", "1")));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_EQ(3, rds_recv(self->a, buf, sizeof(buf)));
	fd = dial_and_send(self, variant, _metadata, PEER_PORT + 5);
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT + 5),
			   "reason=no-path err=-111"));
	close(fd);
}

/*
 * A peer that sends no handshake has one path. While that is in use, another
 * connection waits.
 */
TEST_F(tcp_trace, no_path_takes_a_connection_in_time)
{
	int first, second;

	NEED_VARIANT();
	first = dial_and_send(self, variant, _metadata, PEER_PORT);
	ASSERT_EQ(0, rds_recv(self->a, buf, sizeof(buf)));
	second = dial_and_send(self, variant, _metadata, PEER_PORT + 8);
	sleep(10);
	EXPECT_TRUE(traced("rds_tcp_pending_end",
			   from(self->high, self->low, PEER_PORT + 8),
			   "reason=late err=0 age_ms=[0-9]{5,}"));
	close(first);
	close(second);
}

/* The listener may have the connection still. */
TEST_F(tcp_trace, a_namespace_goes_away)
{
	int first, second;

	NEED_VARIANT();
	first = dial_and_send(self, variant, _metadata, PEER_PORT);
	ASSERT_EQ(0, rds_recv(self->a, buf, sizeof(buf)));
	second = dial_and_send(self, variant, _metadata, PEER_PORT + 8);
	close(self->a);
	self->a = -1;
	if (!variant->near_is_low)
		ASSERT_EQ(0, veth_cross());
	veth_forget();
	EXPECT_TRUE(traced("rds_tcp_(refuse|pending_end)",
			   from(self->high, self->low, PEER_PORT + 8),
			   "reason=stopped err=0"));
	close(first);
	close(second);
}

/* Send messages until the peer does not read any more. */
static unsigned int flood(int fd, const struct rds_name *to)
{
	static char frame[sizeof(struct header) + 1000];
	struct timeval patience = { .tv_sec = 3 };
	unsigned int sent = 0;
	struct header hdr;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	do {
		hdr = raw_header(++sent, 1000, to);
		memcpy(frame, &hdr, sizeof(hdr));
	} while (sent < 100000 &&
		 send(fd, frame, sizeof(frame), 0) == sizeof(frame));
	return sent;
}

/* The peer ignores that the port is congested. */
TEST_F(tcp_trace, the_receiver_pauses_and_resumes)
{
	unsigned int left = 100000;
	int fd;

	NEED_VARIANT();
	ASSERT_EQ(0, AT(false, rds_sysctl_set("rx_held_max", "65536")));
	fd = dial(self, variant, _metadata, PEER_PORT);
	ASSERT_GT(left, flood(fd, &self->a_name));
	EXPECT_TRUE(traced("rds_tcp_rx_pause", self->accept,
			   "path=0 accepted state=ESTABLISHED err=-105"));
	while (left-- && rds_recv(self->a, buf, sizeof(buf)) == 1000)
		if (rds_queued(self->a) < 1)
			break;
	EXPECT_TRUE(traced("rds_tcp_rx_resume", self->accept,
			   "path=0 accepted state=[A-Z_]+ err=0 unread=[1-9]"));
	close(fd);
}

/* Limit the memory of all TCP sockets, or read the limit. */
static int tcp_mem(char *text, size_t size, bool set)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ssize_t done = -1;
	int fd;

	if (home < 0 || rds_initial_netns())
		return -1;
	fd = open("/proc/sys/net/ipv4/tcp_mem", O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		done = set ? write(fd, text, strlen(text)) :
			     read(fd, text, size - 1);
	if (done >= 0 && !set)
		text[done] = '\0';
	close(fd);
	if (setns(home, CLONE_NEWNET))
		abort();
	close(home);
	return done < 0 ? -1 : 0;
}

/*
 * There is room in the send buffer, but no memory to fill it. If nothing is on
 * the way, TCP takes some all the same, so a delay keeps something there. And
 * each CPU has a megabyte that TCP does not account for.
 */
#define SENDS_WITHOUT_MEMORY	4

TEST_F(tcp_trace, a_send_ends_with_an_error)
{
	char before[64], none[] = "0 0 0";
	unsigned int i;
	bool found;

	NEED_VARIANT();
	ASSERT_EQ(0, AT(true, rds_sysctl_set("tcp/rds_tcp_sndbuf", "9000000")));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_EQ(3, rds_recv(self->a, buf, sizeof(buf)));
	ASSERT_TRUE(veth_paths_up(self->a, self->b));
	ASSERT_EQ(0, AT(true, system("tc qdisc add dev " VETH_DEV
				     " root netem delay 500ms")));
	ASSERT_EQ(0, tcp_mem(before, sizeof(before), false));
	ASSERT_EQ(0, tcp_mem(none, 0, true));
	rds_sndbuf(self->b, 2 * SENDS_WITHOUT_MEMORY * LARGEST);
	for (i = 0; i < SENDS_WITHOUT_MEMORY; i++)
		EXPECT_EQ(LARGEST, rds_sendto(self->b, buf, LARGEST, 0,
					      &self->a_name));
	found = traced("rds_tcp_send_error", self->dial,
		       "path=[0-7] dialed state=ESTABLISHED err=-12");
	ASSERT_EQ(0, tcp_mem(before, 0, true));
	ASSERT_EQ(0, AT(true, system("tc qdisc del dev " VETH_DEV " root")));
	for (i = 0; i < SENDS_WITHOUT_MEMORY; i++)
		EXPECT_EQ(LARGEST, rds_recv(self->a, buf, sizeof(buf)));
	EXPECT_TRUE(found);
}

TEST_HARNESS_MAIN
