// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the TCP transport: its lists, counters and sysctls, and how
 * connections are made, end, and are detected as dead
 */
#include "pair.h"

#include <arpa/inet.h>
#include <sys/wait.h>

#define TCP_PORT	16385
#define PATHS		8

/* enum rds_drop_reason, as rds-info(1) lists it */
enum {
	PEER_CLOSED = 2,
	PEER_RESET = 3,
	TIMEOUT = 4,
	YIELD = 8,
	TUNED = 11,
};

static char buf[1024 * 1024];

FIXTURE(tcp) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
};

FIXTURE_VARIANT(tcp) {
	const char *near;
	const char *far;
	bool dials;		/* the near end dials */
};

FIXTURE_VARIANT_ADD(tcp, ipv4) {
	.near = VETH_NEAR_IPV4,
	.far = VETH_FAR_IPV4,
	.dials = true,
};

FIXTURE_VARIANT_ADD(tcp, ipv6) {
	.near = VETH_NEAR_IPV6,
	.far = VETH_FAR_IPV6,
};

/* pair.h has the same variants over TCP, named with the prefix "tcp_". */
static bool tcp_wants(const char *variant)
{
	char name[32];

	snprintf(name, sizeof(name), "tcp_%s", variant);
	return rds_wants_variant(name);
}

static void __attribute__((constructor)) tcp_choose_variants(void)
{
	rds_choose_variants(&_tcp_fixture_object, tcp_wants);
}

static void tcp_open(struct __test_metadata *_metadata, FIXTURE_DATA(tcp) *self,
		     const FIXTURE_VARIANT(tcp) *variant)
{
	self->a = rds_bound(variant->near, 0);
	ASSERT_LE(0, self->a);
	self->b = veth_far_bound(variant->far, 0);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

/*
 * Reopen the sockets in new namespaces, for tests that change sysctls or the
 * link, or that need a first contact.
 */
static void tcp_move(struct __test_metadata *_metadata, FIXTURE_DATA(tcp) *self,
		     const FIXTURE_VARIANT(tcp) *variant)
{
	close(self->a);
	close(self->b);
	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, ERR(veth_setup()));
	tcp_open(_metadata, self, variant);
}

FIXTURE_SETUP(tcp)
{
	tcp_open(_metadata, self, variant);
}

FIXTURE_TEARDOWN(tcp)
{
	close(self->a);
	close(self->b);
}

static bool works(int from, int to)
{
	struct rds_name name = rds_sockname(to);

	return rds_sendto(from, "abc", 3, 0, &name) == 3 &&
	       rds_recv(to, buf, sizeof(buf)) == 3 && !memcmp(buf, "abc", 3);
}

/* Get the paths from @laddr to @faddr. Returns their number, or -1. */
static int paths(int fd, const struct rds_name *laddr,
		 const struct rds_name *faddr, struct rds6_info_path *path)
{
	struct in6_addr local = rds_addr6(laddr), peer = rds_addr6(faddr);
	struct rds6_info_path all[64];
	socklen_t i, len = sizeof(all);
	int count = 0;

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_PATHS, all, &len) !=
	    sizeof(*all))
		return -1;
	for (i = 0; i < len / sizeof(*all); i++)
		if (!memcmp(&all[i].laddr, &local, sizeof(local)) &&
		    !memcmp(&all[i].faddr, &peer, sizeof(peer)) &&
		    count < PATHS)
			path[count++] = all[i];
	return count;
}

/*
 * Return how often the paths of one end have come UP in total, or -1 while one
 * of them is not UP.
 */
static long established(FIXTURE_DATA(tcp) *self, int fd)
{
	bool near = fd == self->a;
	struct rds6_info_path path[PATHS];
	long sum = 0;
	int i, count;

	count = paths(fd, near ? &self->a_name : &self->b_name,
		      near ? &self->b_name : &self->a_name, path);
	for (i = 0; i < count; i++) {
		if (path[i].state != PATH_UP)
			return -1;
		sum += path[i].established;
	}
	return count == PATHS ? sum : -1;
}

/*
 * Wait until all paths are UP and have come UP more than @before times in
 * total.
 */
static bool await_established(FIXTURE_DATA(tcp) *self, int fd, long before)
{
	unsigned int left;

	for (left = 30000; left; left--) {
		if (established(self, fd) > before)
			return true;
		usleep(1000);
	}
	return false;
}

/* Sysctls of the namespace of the caller */
static long set(const char *name, long value)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), "tcp/%s", name);
	snprintf(text, sizeof(text), "%ld", value);
	return rds_sysctl_set(path, text);
}

static long get(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "tcp/%s", name);
	return rds_sysctl_get(path);
}

/* Lists */

TEST_F(tcp, paths_have_their_numbers)
{
	struct rds6_info_path path[PATHS];
	unsigned int seen = 0;
	int i;

	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	ASSERT_EQ(PATHS, paths(self->a, &self->a_name, &self->b_name, path));
	for (i = 0; i < PATHS; i++) {
		EXPECT_STREQ("tcp", (char *)path[i].transport);
		EXPECT_EQ(PATHS, path[i].npaths);
		EXPECT_EQ(0, path[i].tos);
		EXPECT_LE(1, path[i].established);
		EXPECT_LE(1, path[i].attempts);
		EXPECT_EQ(0, path[i].rx_held);
		EXPECT_GT(3600 * 1000, path[i].since_ms);
		seen |= 1 << path[i].index;
	}
	EXPECT_EQ(0xff, seen);
}

TEST_F(tcp, paths_tell_how_they_were_dropped)
{
	struct rds6_info_path before[PATHS], after[PATHS], far[PATHS];
	long near, there;
	int i;

	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	ASSERT_TRUE(await_established(self, self->b, 0));
	near = established(self, self->a);
	there = established(self, self->b);
	ASSERT_EQ(PATHS, paths(self->a, &self->a_name, &self->b_name, before));
	ASSERT_EQ(0, set("rds_tcp_rcvbuf", 0));
	ASSERT_TRUE(await_established(self, self->a, near + PATHS - 1));
	ASSERT_TRUE(await_established(self, self->b, there + PATHS - 1));
	ASSERT_EQ(PATHS, paths(self->a, &self->a_name, &self->b_name, after));
	ASSERT_EQ(PATHS, paths(self->b, &self->b_name, &self->a_name, far));
	for (i = 0; i < PATHS; i++) {
		EXPECT_EQ(before[i].index, after[i].index);
		EXPECT_LT(before[i].resets, after[i].resets);
		EXPECT_LT(before[i].attempts, after[i].attempts);
		/*
		 * An end that does not dial may since have connected only to
		 * ask the peer to dial.
		 */
		EXPECT_TRUE(after[i].drop_reason == TUNED ||
			    (!variant->dials && after[i].drop_reason == YIELD))
			TH_LOG("reason %u", after[i].drop_reason);
		EXPECT_TRUE(far[i].drop_reason == PEER_CLOSED ||
			    far[i].drop_reason == PEER_RESET)
			TH_LOG("reason %u", far[i].drop_reason);
	}
}

static bool is_idle(const struct rds6_info_tcp_socket *sock)
{
	return sock->hdr_rem == 48 && !sock->data_rem &&
	       sock->last_sent_nxt == sock->last_expected_una &&
	       sock->last_seen_una == sock->last_expected_una;
}

/*
 * Get the records of the idle sockets between two addresses. Returns their
 * number, or -1.
 */
static int idle_sockets(int fd, const struct rds_name *laddr,
			const struct rds_name *faddr,
			struct rds6_info_tcp_socket *sock)
{
	struct in6_addr local = rds_addr6(laddr), peer = rds_addr6(faddr);
	struct rds6_info_tcp_socket all[64];
	socklen_t i, len = sizeof(all);
	int count = 0;

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_TCP_SOCKETS, all, &len) !=
	    sizeof(*all))
		return -1;
	for (i = 0; i < len / sizeof(*all); i++)
		if (!memcmp(&all[i].local_addr, &local, sizeof(local)) &&
		    !memcmp(&all[i].peer_addr, &peer, sizeof(peer)) &&
		    is_idle(&all[i]) && count < PATHS)
			sock[count++] = all[i];
	return count;
}

/* Every path has a socket, and the port of the dialing end names the path. */
TEST_F(tcp, socket_records_ipv6_form)
{
	struct rds6_info_tcp_socket sock[PATHS];
	unsigned int seen = 0, left;
	int i, count = 0;

	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	for (left = 30000; left && count < PATHS; left--) {
		count = idle_sockets(self->a, &self->a_name, &self->b_name,
				     sock);
		usleep(1000);
	}
	ASSERT_EQ(PATHS, count);
	for (i = 0; i < count; i++) {
		unsigned int local = ntohs(sock[i].local_port);
		unsigned int peer = ntohs(sock[i].peer_port);

		EXPECT_EQ(TCP_PORT, variant->dials ? peer : local);
		seen |= 1 << (variant->dials ? local : peer) % PATHS;
	}
	EXPECT_EQ(0xff, seen);
}

/*
 * This list has IPv4 sockets only, with the same values as in the other list.
 */
TEST_F(tcp, socket_records_ipv4_form)
{
	struct rds_info_tcp_socket all[64];
	socklen_t i, len = sizeof(all);
	struct in_addr near, far;
	int count = 0;

	ASSERT_EQ(1, inet_pton(AF_INET, VETH_NEAR_IPV4, &near));
	ASSERT_EQ(1, inet_pton(AF_INET, VETH_FAR_IPV4, &far));
	ASSERT_TRUE(veth_warm_up(VETH_NEAR_IPV4, VETH_FAR_IPV4));
	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	memset(all, 0xa5, sizeof(all));
	ASSERT_EQ(41, ERR(getsockopt(self->a, SOL_RDS, RDS_INFO_TCP_SOCKETS,
				     all, &len)));
	for (i = 0; i < len / sizeof(*all); i++) {
		EXPECT_EQ(near.s_addr, all[i].local_addr);
		EXPECT_EQ(far.s_addr, all[i].peer_addr);
		EXPECT_EQ(TCP_PORT, ntohs(all[i].peer_port));
		EXPECT_EQ(0, all[i].tos);
		EXPECT_GE(48, all[i].hdr_rem);
		count++;
	}
	EXPECT_EQ(PATHS, count);
}

/* Counters */

TEST_F(tcp, receiving_and_acknowledging_are_counted)
{
	int64_t ready = rds_counter(self->b, "tcp_data_ready_calls");
	int64_t space = rds_counter(self->a, "tcp_write_space_calls");

	ASSERT_LE(0, ready);
	ASSERT_LE(0, space);
	ASSERT_TRUE(works(self->a, self->b));
	EXPECT_LT(ready, rds_counter(self->b, "tcp_data_ready_calls"));
	EXPECT_TRUE(rds_await_counter(self->a, "tcp_write_space_calls",
				      space + 1));
}

TEST_F(tcp, full_send_buffers_are_counted)
{
	int64_t full;
	int i;

	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, set("rds_tcp_sndbuf", 4608));
	full = rds_counter(self->a, "tcp_sndbuf_full");
	ASSERT_LE(0, full);
	ASSERT_EQ(0, rds_sndbuf(self->a, 8 * sizeof(buf)));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 8 * sizeof(buf)));
	for (i = 0; i < 4; i++) {
		rds_fill(buf, sizeof(buf), i);
		ASSERT_EQ(sizeof(buf), ERR(rds_sendto(self->a, buf, sizeof(buf),
						      0, &self->b_name)));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(sizeof(buf), ERR(rds_recv(self->b, buf,
						    sizeof(buf))));
		EXPECT_TRUE(rds_check(buf, sizeof(buf), i));
	}
	EXPECT_LT(full, rds_counter(self->a, "tcp_sndbuf_full"));
}

/* The peer may reset the connection at once. */
static bool tcp_dial(int fd, const char *to)
{
	struct rds_name name = rds_name(to, TCP_PORT);

	return !connect(fd, &name.sa, name.len) || errno == ECONNRESET;
}

/* No path takes a connection of this host to itself. */
TEST_F(tcp, connections_without_a_place_are_counted)
{
	int64_t stale = rds_counter(self->a, "tcp_listen_closed_stale");
	int fd = socket(self->a_name.sa.sa_family, SOCK_STREAM, 0);

	ASSERT_LE(0, stale);
	ASSERT_TRUE(tcp_dial(fd, variant->near));
	EXPECT_TRUE(rds_await_counter(self->a, "tcp_listen_closed_stale",
				      stale + 1));
	EXPECT_GE(0, read(fd, buf, 1));
	close(fd);
}

/* On a slow link, both ends dial before either notices the other's attempt. */
TEST_F(tcp, duels_are_counted_and_end)
{
	int64_t raced;

	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 200ms"));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_EQ(4, ERR(rds_sendto(self->b, "abcd", 4, 0, &self->a_name)));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_EQ(4, ERR(rds_recv(self->a, buf, sizeof(buf))));
	raced = rds_counter(self->a, "tcp_connect_raced") +
		rds_counter(self->b, "tcp_connect_raced");
	EXPECT_LE(1, raced);
	ASSERT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_TRUE(await_established(self, self->a, 0));
	EXPECT_TRUE(works(self->a, self->b));
	EXPECT_TRUE(works(self->b, self->a));
}

#define CROWD	100	/* senders to one port */
#define OTHERS	16	/* pairs of other sockets */
#define LARGE	100000
#define SHORT	20	/* short messages of each pair */

/*
 * Send until the buffer of @fd is full, or the port is known to be congested.
 */
static void send_large(int fd, const struct rds_name *to)
{
	while (rds_sendto(fd, buf, LARGE, MSG_DONTWAIT, to) == LARGE)
		;
}

/*
 * Many senders queue messages for a receiver that does not read. When the
 * senders learn of the congestion, these messages are parked at their end and
 * do not delay messages of other sockets. On a slow link the senders learn of
 * it some time after they have begun.
 */
TEST_F(tcp, incast_keeps_nobody_else)
{
	int crowd[CROWD], near[OTHERS], far[OTHERS];
	struct rds_name name;
	int64_t stopped, parked;
	int i, j;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	stopped = rds_counter(self->b, "recv_path_stopped");
	parked = rds_counter(self->a, "send_parked");
	for (i = 0; i < OTHERS; i++) {
		near[i] = rds_bound(variant->near, 0);
		far[i] = veth_far_bound(variant->far, 0);
		ASSERT_TRUE(works(near[i], far[i]));
	}
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 400ms limit 100000"));
	for (i = 0; i < CROWD; i++) {
		crowd[i] = rds_bound(variant->near, 0);
		ASSERT_LE(0, crowd[i]);
		send_large(crowd[i], &self->b_name);
	}
	for (i = 0; i < OTHERS; i++) {
		name = rds_sockname(far[i]);
		for (j = 0; j < SHORT; j++)
			ASSERT_EQ(1, ERR(rds_sendto(near[i], "x", 1, 0,
						    &name)));
	}
	for (i = 0; i < OTHERS; i++) {
		for (j = 0; j < SHORT; j++)
			ASSERT_EQ(1, ERR(rds_recv(far[i], buf, sizeof(buf))));
		close(near[i]);
		close(far[i]);
	}
	EXPECT_EQ(stopped, rds_counter(self->b, "recv_path_stopped"));
	EXPECT_LT(parked, rds_counter(self->a, "send_parked"));
	EXPECT_EQ(LARGE, ERR(rds_recv(self->b, buf, sizeof(buf))));
	for (i = 0; i < CROWD; i++)
		close(crowd[i]);
}

/* sysctls */

static const struct {
	const char *name;
	long value;
	long low;
	long high;
} sysctls[] = {
	{ "rds_tcp_sndbuf", 0, 0, INT32_MAX / 2 },
	{ "rds_tcp_rcvbuf", 0, 0, INT32_MAX / 2 },
	{ "user_timeout_ms", 10000, 1000, 24 * 60 * 60 * 1000 },
	{ "legacy_multipath", 0, 0, 1 },
	{ "max_paths", 8, 1, 8 },
	{ "partial_max_kb", 0, 0, INT32_MAX },
};

TEST_F(tcp, sysctls_in_a_new_namespace)
{
	char path[64];
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		snprintf(path, sizeof(path), "tcp/%s", sysctls[i].name);
		EXPECT_EQ(sysctls[i].value, get(sysctls[i].name))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(0644, rds_sysctl_mode(path));
	}
}

TEST_F(tcp, sysctls_have_bounds)
{
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		EXPECT_EQ(-EINVAL, set(sysctls[i].name, sysctls[i].low - 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(-EINVAL, set(sysctls[i].name, sysctls[i].high + 1))
			TH_LOG("%s", sysctls[i].name);
		EXPECT_EQ(sysctls[i].value, get(sysctls[i].name));
		EXPECT_EQ(0, set(sysctls[i].name, sysctls[i].low));
		EXPECT_EQ(sysctls[i].low, get(sysctls[i].name));
		EXPECT_EQ(0, set(sysctls[i].name, sysctls[i].high));
		EXPECT_EQ(sysctls[i].high, get(sysctls[i].name));
	}
}

/*
 * 0 lets TCP choose the size. Sizes from 1 up to the least size that TCP can
 * use are refused.
 */
TEST_F(tcp, buffers_have_a_least_size)
{
	ASSERT_EQ(0, rds_netns());
	EXPECT_EQ(-EINVAL, set("rds_tcp_sndbuf", 1));
	EXPECT_EQ(-EINVAL, set("rds_tcp_sndbuf", 4096));
	EXPECT_EQ(0, get("rds_tcp_sndbuf"));
	EXPECT_EQ(0, set("rds_tcp_sndbuf", 4608));
	EXPECT_EQ(-EINVAL, set("rds_tcp_rcvbuf", 1));
	EXPECT_EQ(-EINVAL, set("rds_tcp_rcvbuf", 2048));
	EXPECT_EQ(0, get("rds_tcp_rcvbuf"));
	EXPECT_EQ(0, set("rds_tcp_rcvbuf", 2304));
	EXPECT_EQ(4608, get("rds_tcp_sndbuf"));
}

TEST_F(tcp, sysctls_are_of_one_namespace)
{
	size_t i;

	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		ASSERT_EQ(0, set(sysctls[i].name, sysctls[i].high));
	ASSERT_EQ(0, rds_netns());
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		EXPECT_EQ(sysctls[i].value, get(sysctls[i].name));
}

/* Get the smallest and the largest @field that `ss` shows for sockets here. */
static void socket_memory(const char *field, long *least, long *most)
{
	FILE *ss = popen("ss -tmnH state established", "r");
	char line[512], *found;
	long value;

	*least = INT32_MAX;
	*most = -1;
	while (ss && fgets(line, sizeof(line), ss)) {
		found = strstr(line, field);
		if (!found)
			continue;
		value = strtol(found + strlen(field), NULL, 10);
		*least = value < *least ? value : *least;
		*most = value > *most ? value : *most;
	}
	if (ss)
		pclose(ss);
}

/*
 * Wait until all sockets have the size @wanted. Connections that are about to
 * be replaced, or to be taken by a path, may still have another size.
 */
static bool await_socket_memory(const char *field, long wanted)
{
	unsigned int tries = 100;
	long least, most;

	do {
		socket_memory(field, &least, &most);
		if (least == wanted && most == wanted)
			return true;
		usleep(100000);
	} while (--tries);
	printf("# %s from %ld to %ld\n", field, least, most);
	return false;
}

/*
 * In the upstream kernel, the sysctl for receiving set the size for sending,
 * for five years.
 */
TEST_F(tcp, buffers_have_the_size_that_was_set)
{
	long before;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	ASSERT_EQ(0, set("rds_tcp_rcvbuf", 34567));
	before = established(self, self->a);
	ASSERT_EQ(0, set("rds_tcp_sndbuf", 45678));
	ASSERT_TRUE(await_established(self, self->a, before + PATHS - 1));
	EXPECT_TRUE(await_socket_memory(",rb", 34567));
	EXPECT_TRUE(await_socket_memory(",tb", 45678));
	EXPECT_TRUE(works(self->a, self->b));
	EXPECT_TRUE(works(self->b, self->a));
}

/* The second write does not drop a connection that the peer has made since the
 * first write, and that no path has taken yet.
 */
TEST_F(tcp, buffers_have_the_size_that_was_set_last)
{
	long size;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(works(self->a, self->b));
	for (size = 45000; size < 45010; size++) {
		ASSERT_TRUE(await_established(self, self->a, 0));
		ASSERT_EQ(0, set("rds_tcp_sndbuf", 56789));
		usleep((size - 45000) * 2000);
		ASSERT_EQ(0, set("rds_tcp_sndbuf", size));
		ASSERT_TRUE(await_socket_memory(",tb", size));
	}
	/* With 0 the kernel chooses the size again. */
	ASSERT_EQ(0, set("rds_tcp_sndbuf", 0));
	EXPECT_TRUE(works(self->a, self->b));
	EXPECT_TRUE(works(self->b, self->a));
}

/* A write takes effect by reconnecting, even if it changes nothing. */
TEST_F(tcp, writing_a_buffer_size_reconnects)
{
	static const char *const names[] = {
		"rds_tcp_sndbuf", "rds_tcp_rcvbuf",
	};
	long near, far;
	size_t i;

	ASSERT_TRUE(works(self->a, self->b));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_TRUE(await_established(self, self->a, 0));
		ASSERT_TRUE(await_established(self, self->b, 0));
		near = established(self, self->a);
		far = established(self, self->b);
		ASSERT_EQ(0, set(names[i], 0));
		EXPECT_TRUE(await_established(self, self->a,
					      near + PATHS - 1));
		EXPECT_TRUE(await_established(self, self->b, far + PATHS - 1));
		EXPECT_TRUE(works(self->a, self->b));
	}
	/* A write that fails does not reconnect. */
	near = established(self, self->a);
	ASSERT_EQ(-EINVAL, set("rds_tcp_rcvbuf", 1));
	EXPECT_TRUE(works(self->a, self->b));
	EXPECT_EQ(near, established(self, self->a));
}

/*
 * Wait until one end has @count paths, all of them UP. Returns false if it ever
 * has more.
 */
static bool await_paths(int fd, const struct rds_name *laddr,
			const struct rds_name *faddr, int count)
{
	struct rds6_info_path path[PATHS];
	int i, up, listed, tries;

	for (tries = 30000; tries; tries--) {
		listed = paths(fd, laddr, faddr, path);
		for (up = i = 0; i < listed; i++)
			up += path[i].state == PATH_UP;
		if (listed > count || (listed > 0 && path[0].npaths > count))
			return false;
		if (up == count && path[0].npaths == count)
			return true;
		usleep(1000);
	}
	return false;
}

TEST_F(tcp, max_paths_bounds_the_paths)
{
	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, set("max_paths", 2));
	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(works(self->b, self->a));
	EXPECT_TRUE(await_paths(self->a, &self->a_name, &self->b_name, 2));
	EXPECT_TRUE(await_paths(self->b, &self->b_name, &self->a_name, 2));
}

/*
 * Wait until the far end has forgotten the connection, which its sockets did
 * not use.
 */
static bool await_forgotten(FIXTURE_DATA(tcp) *self)
{
	struct rds6_info_path path[PATHS];
	unsigned int left;

	for (left = 60000; left; left--) {
		if (!paths(self->b, &self->b_name, &self->a_name, path))
			return true;
		usleep(1000);
	}
	return false;
}

/* Check that 16 pairs of sockets get their messages through, on any paths. */
static bool all_pairs_work(const FIXTURE_VARIANT(tcp) *variant)
{
	enum { PAIRS = 16, TIMES = 5 };
	int near[PAIRS], far[PAIRS], i, times;
	struct rds_name name;
	bool good = true;

	for (i = 0; i < PAIRS; i++) {
		near[i] = rds_bound(variant->near, 0);
		far[i] = veth_far_bound(variant->far, 0);
		name = rds_sockname(far[i]);
		for (times = 0; times < TIMES; times++)
			good &= rds_sendto(near[i], "abc", 3, 0, &name) == 3;
	}
	for (i = 0; i < PAIRS; i++) {
		for (times = 0; good && times < TIMES; times++)
			good = rds_recv(far[i], buf, sizeof(buf)) == 3;
		good = good && works(far[i], near[i]);
		close(near[i]);
		close(far[i]);
	}
	return good;
}

/* The far end, whose sockets did not use the connection, forgets it. By then,
 * one end would use fewer paths than the connection has: the far end if
 * @lower_far, or else the near end, which keeps the connection.
 */
static bool paths_outlast(FIXTURE_DATA(tcp) *self,
			  const FIXTURE_VARIANT(tcp) *variant, bool lower_far)
{
	struct rds_name ping = rds_name(variant->far, 0);

	if (rds_sendto(self->a, NULL, 0, 0, &ping) ||
	    rds_recv(self->a, buf, sizeof(buf)) ||
	    !await_established(self, self->a, 0) ||
	    !await_established(self, self->b, 0))
		return false;
	if ((!lower_far && set("max_paths", 1)) ||
	    system("tc qdisc add dev " VETH_DEV " root netem loss 100%") ||
	    veth_cross() || (lower_far && set("max_paths", 1)) ||
	    set("rds_tcp_sndbuf", 0) || veth_back() ||
	    !await_forgotten(self) ||
	    system("tc qdisc del dev " VETH_DEV " root"))
		return false;
	return all_pairs_work(variant);
}

TEST_F(tcp, paths_outlast_a_peer_that_would_have_fewer)
{
	tcp_move(_metadata, self, variant);
	EXPECT_TRUE(paths_outlast(self, variant, true));
}

TEST_F(tcp, paths_outlast_what_we_would_offer)
{
	tcp_move(_metadata, self, variant);
	EXPECT_TRUE(paths_outlast(self, variant, false));
}

/*
 * The connection of a peer that does not answer is dropped, and made again when
 * the peer answers.
 */
TEST_F(tcp, user_timeout_finds_a_dead_peer)
{
	struct rds6_info_path path[PATHS];
	unsigned int left;
	long before;
	int i, dead = 0, count;

	tcp_move(_metadata, self, variant);
	ASSERT_TRUE(works(self->a, self->b));
	ASSERT_TRUE(await_established(self, self->a, 0));
	ASSERT_EQ(0, set("user_timeout_ms", 1000));
	before = established(self, self->a);
	ASSERT_EQ(0, set("rds_tcp_sndbuf", 0));
	ASSERT_TRUE(await_established(self, self->a, before + PATHS - 1));
	ASSERT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem loss 100%"));
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	for (left = 60000; left && !dead; left--) {
		count = paths(self->a, &self->a_name, &self->b_name, path);
		for (i = 0; i < count; i++)
			dead += path[i].drop_reason == TIMEOUT;
		usleep(1000);
	}
	EXPECT_LT(0, dead);
	EXPECT_TRUE(rds_silent(self->b));
	ASSERT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_EQ(3, ERR(rds_recv(self->b, buf, sizeof(buf))));
	EXPECT_TRUE(works(self->a, self->b));
	EXPECT_TRUE(works(self->b, self->a));
}

TEST_HARNESS_MAIN
