// SPDX-License-Identifier: GPL-2.0
/*
 * TCP connections that are lost and made again while messages flow: whatever
 * happens to them, each message arrives once, and those from one socket to
 * another arrive in order. Every path comes back.
 */
#include "wire.h"

#include <sched.h>

#define FLOWS	4	/* in each direction */
#define MAX_LEN	20000
#define LAST	0xffffffff

static void __attribute__((constructor)) enter_wire(void)
{
	wire_enter();
}

FIXTURE_SETUP(wire)
{
	ASSERT_TRUE(wire_bind(self, variant, 0, 0));
}

FIXTURE_TEARDOWN(wire)
{
	close(self->a);
	close(self->b);
}

/* Messages from one socket to another, sent until stopped */
struct flow {
	int from;
	int to;
	struct rds_name name;
	pthread_t sender;
	pthread_t receiver;
	/* Read by the main thread while the flow goes on */
	_Atomic uint32_t sent;
	uint32_t got;
	const char *wrong;
};

struct body {
	uint32_t number;
	char fill[MAX_LEN];
};

static atomic_bool stop;

static ssize_t flow_len(uint32_t number)
{
	/* Mostly small, some that are spliced */
	return offsetof(struct body, fill) +
	       (number % 16 ? number * 37 % 600 : MAX_LEN);
}

static bool flow_send(struct flow *flow, struct body *body, uint32_t number,
		      ssize_t len)
{
	ssize_t ret;

	body->number = number;
	/* With a timeout, the end of any child interrupts the call. */
	do
		ret = rds_sendto(flow->from, body, len, 0, &flow->name);
	while (ret < 0 && errno == EINTR);
	return ret == len;
}

static void *flow_sender(void *data)
{
	struct flow *flow = data;
	struct body body;
	ssize_t len;

	while (!stop) {
		len = flow_len(flow->sent);
		rds_fill(body.fill, len - offsetof(struct body, fill),
			 flow->sent);
		if (!flow_send(flow, &body, flow->sent, len)) {
			flow->wrong = "cannot send";
			return NULL;
		}
		flow->sent++;
		/* Let the other threads have the processor. */
		if (!(flow->sent % 8))
			usleep(500);
	}
	if (!flow_send(flow, &body, LAST, sizeof(body.number)))
		flow->wrong = "cannot send the last";
	return NULL;
}

static const char *flow_judge(const struct flow *flow, const struct body *body,
			      ssize_t len)
{
	if (len < (ssize_t)sizeof(body->number))
		return "nothing came";
	if (body->number < flow->got)
		return "doubled or out of order";
	if (body->number > flow->got)
		return "lost or out of order";
	if (len != flow_len(flow->got))
		return "wrong length";
	if (!rds_check(body->fill, len - offsetof(struct body, fill),
		       flow->got))
		return "wrong contents";
	return NULL;
}

static void *flow_receiver(void *data)
{
	struct flow *flow = data;
	struct body body;
	ssize_t len;

	while (!flow->wrong) {
		len = rds_recv(flow->to, &body, sizeof(body));
		if (len == sizeof(body.number) && body.number == LAST)
			break;
		flow->wrong = flow_judge(flow, &body, len);
		flow->got++;
	}
	return NULL;
}

static bool flow_start(struct flow *flow, const char *near, const char *far,
		       bool there)
{
	*flow = (struct flow) {
		.from = there ? veth_far_bound(far, 0) : rds_bound(near, 0),
		.to = there ? rds_bound(near, 0) : veth_far_bound(far, 0),
	};
	flow->name = rds_sockname(flow->to);
	/* A sender must not wait for ever for a receiver that gave up. */
	return flow->from >= 0 && flow->to >= 0 &&
	       !rds_set_timeout(flow->from, SO_SNDTIMEO, 60000) &&
	       !pthread_create(&flow->sender, NULL, flow_sender, flow) &&
	       !pthread_create(&flow->receiver, NULL, flow_receiver, flow);
}

static void flows_start(struct __test_metadata *_metadata, struct flow *flow,
			const FIXTURE_VARIANT(wire) *variant)
{
	int i;

	stop = false;
	for (i = 0; i < 2 * FLOWS; i++)
		ASSERT_TRUE(flow_start(&flow[i], variant->near, variant->far,
				       i % 2));
	/* A slow machine may take long to begin all these threads. */
	for (i = 0; i < 2 * FLOWS; i++)
		while (!flow[i].sent && !flow[i].wrong)
			usleep(1000);
}

static void flows_end(struct __test_metadata *_metadata, struct flow *flow)
{
	int i;

	stop = true;
	for (i = 0; i < 2 * FLOWS; i++) {
		pthread_join(flow[i].sender, NULL);
		pthread_join(flow[i].receiver, NULL);
		EXPECT_EQ(NULL, flow[i].wrong)
			TH_LOG("flow %d: %s, after %u of %u", i, flow[i].wrong,
			       flow[i].got, flow[i].sent);
		EXPECT_EQ(flow[i].sent, flow[i].got);
		EXPECT_LT(0, flow[i].sent);
		EXPECT_TRUE(rds_await_acked(flow[i].from));
		close(flow[i].from);
		close(flow[i].to);
	}
}

static bool wire_works(FIXTURE_DATA(wire) *self)
{
	return loop_works(self->a, self->b, &self->b_name, 64) &&
	       loop_works(self->b, self->a, &self->a_name, 5000);
}

/*
 * CVE-2022-50676: work was canceled under the lock that it takes. Also, what
 * TCP has acknowledged is not lost with its connection.
 */
TEST_F_TIMEOUT(wire, cve_2022_50676_reset_at_the_near_end, LONG)
{
	struct flow flow[2 * FLOWS];
	unsigned int i;

	flows_start(_metadata, flow, variant);
	for (i = 0; i < few_or(20); i++) {
		EXPECT_EQ(0, reset_here());
		usleep(20000);
	}
	flows_end(_metadata, flow);
	EXPECT_TRUE(wire_works(self));
}

TEST_F_TIMEOUT(wire, cve_2022_50676_reset_at_the_far_end, LONG)
{
	struct flow flow[2 * FLOWS];
	unsigned int i;

	flows_start(_metadata, flow, variant);
	for (i = 0; i < few_or(20); i++) {
		EXPECT_EQ(0, at_far_end(reset_here));
		usleep(20000);
	}
	flows_end(_metadata, flow);
	EXPECT_TRUE(wire_works(self));
}

static void *reset_far_until_stopped(void *data)
{
	atomic_uint *resets = data;

	if (veth_cross())
		return NULL;
	while (!stop) {
		if (!reset_here())
			++*resets;
		usleep(7000);
	}
	return NULL;
}

/*
 * CVE-2026-43226, CVE-2026-43230: a peer connects while its old connection is
 * being dropped, or a connection is dropped while the next attempt waits. Every
 * state has an exit.
 */
TEST_F_TIMEOUT(wire, cve_2026_43226_reset_at_both_ends, LONG)
{
	struct flow flow[2 * FLOWS];
	atomic_uint resets = 0;
	pthread_t thread;
	unsigned int i;

	flows_start(_metadata, flow, variant);
	ASSERT_EQ(0, pthread_create(&thread, NULL, reset_far_until_stopped,
				    &resets));
	/* It may take the other end a while until it runs. */
	for (i = 0; i < few_or(40) || resets < few_or(10); i++) {
		EXPECT_EQ(0, reset_here());
		usleep(5000);
	}
	flows_end(_metadata, flow);
	pthread_join(thread, NULL);
	EXPECT_TRUE(wire_works(self));
}

/* End sockets of this namespace, as an administrator can; return their number.
 */
static int kill_paths(const char *filter)
{
	char command[128], line[512];
	int killed = 0;
	FILE *ss;

	snprintf(command, sizeof(command), "ss -K -tnH %s", filter);
	ss = popen(command, "r");
	while (ss && fgets(line, sizeof(line), ss))
		killed++;
	if (ss)
		pclose(ss);
	return killed;
}

TEST_F_TIMEOUT(wire, i16_connections_killed, LONG)
{
	struct flow flow[2 * FLOWS];
	int killed = 0;
	unsigned int i;

	flows_start(_metadata, flow, variant);
	for (i = 0; i < few_or(10); i++) {
		killed += kill_paths(i % 2 ? "dport = 16385" :
					     "sport = 16385");
		usleep(30000);
	}
	flows_end(_metadata, flow);
	EXPECT_LT(0, killed);
	EXPECT_TRUE(wire_works(self));
}

static int link_set(const char *what)
{
	char command[64];

	snprintf(command, sizeof(command), "ip link set " VETH_DEV " %s",
		 what);
	return system(command);
}

/* The addresses of a device that is down exist, but no packet is sent from
 * them.
 */
TEST_F_TIMEOUT(wire, cve_2026_43230_drop_while_the_link_is_down, LONG)
{
	struct flow flow[2 * FLOWS];
	unsigned int i;

	/* Otherwise its IPv6 addresses would be lost. */
	ASSERT_EQ(0, system("sysctl -qw net.ipv6.conf." VETH_DEV
			    ".keep_addr_on_down=1"));
	flows_start(_metadata, flow, variant);
	for (i = 0; i < few_or(10); i++) {
		ASSERT_EQ(0, link_set("down"));
		EXPECT_EQ(0, reset_here());
		usleep(20000);
		EXPECT_EQ(0, at_far_end(reset_here));
		ASSERT_EQ(0, link_set("up"));
		usleep(20000);
	}
	flows_end(_metadata, flow);
	EXPECT_TRUE(wire_works(self));
}

/* Count the connections all of whose paths have a TCP socket, which came back
 * as that path: the port of the end that dialed tells which path it is.
 */
static int whole_connections(int fd)
{
	struct rds6_info_tcp_socket sock[64];
	socklen_t i, len = sizeof(sock);
	unsigned int seen[2] = {};

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_TCP_SOCKETS, sock, &len) < 0)
		return -errno;
	for (i = 0; i < len / sizeof(*sock); i++) {
		bool dialed = ntohs(sock[i].peer_port) == 16385;

		seen[dialed] |= 1 << ntohs(dialed ? sock[i].local_port :
						    sock[i].peer_port) % PATHS;
	}
	return (seen[0] == 0xff) + (seen[1] == 0xff);
}

/*
 * 2020: only the path that had something to send came back. 2026: a path came
 * back as another one.
 */
TEST_F_TIMEOUT(wire, all_paths_come_back_as_themselves, LONG)
{
	unsigned long before, after;
	unsigned int i, left;
	int all;

	ASSERT_TRUE(wire_works(self));
	ASSERT_TRUE(await_all_paths(self->a));
	all = all_paths_up(self->a);
	ASSERT_LT(0, all);
	for (i = 0; i < few_or(10); i++) {
		rds_tcp_paths_up(self->a, &before);
		ASSERT_EQ(0, i % 2 ? reset_here() : at_far_end(reset_here));
		/* One path may come back while another is yet to go. */
		for (left = 30000; left; left--) {
			if (rds_tcp_paths_up(self->a, &after) == all &&
			    after > before &&
			    whole_connections(self->a) == all / PATHS)
				break;
			usleep(1000);
		}
		ASSERT_LT(0, left);
		EXPECT_TRUE(wire_works(self));
	}
}

static void *read_lists_until_stopped(void *data)
{
	static const int lists[] = {
		RDS_INFO_TCP_SOCKETS, RDS6_INFO_TCP_SOCKETS, RDS6_INFO_PATHS,
		RDS6_INFO_CONNECTIONS, RDS6_INFO_RETRANS_MESSAGES,
	};
	static char buf[65536];
	unsigned long rounds = 0;
	int fd = *(int *)data;
	socklen_t len;

	while (!stop) {
		len = sizeof(buf);
		getsockopt(fd, SOL_RDS, lists[rounds++ % ARRAY_SIZE(lists)],
			   buf, &len);
	}
	return NULL;
}

/* A socket is listed only while it exists. */
TEST_F_TIMEOUT(wire, list_entry_visible_before_its_socket, LONG)
{
	struct flow flow[2 * FLOWS];
	pthread_t near, far;
	unsigned int i;

	flows_start(_metadata, flow, variant);
	ASSERT_EQ(0, pthread_create(&near, NULL, read_lists_until_stopped,
				    &self->a));
	ASSERT_EQ(0, pthread_create(&far, NULL, read_lists_until_stopped,
				    &self->b));
	for (i = 0; i < few_or(20); i++) {
		EXPECT_EQ(0, reset_here());
		usleep(5000);
	}
	flows_end(_metadata, flow);
	pthread_join(near, NULL);
	pthread_join(far, NULL);
}

/* Both ends send their first message at once. */
TEST_F_TIMEOUT(wire, cve_2026_23419_duels_at_first_contact, LONG)
{
	unsigned int i;
	int a, b;

	for (i = 0; i < few_or(10); i++) {
		struct rds_name a_name, b_name;
		char byte;

		ASSERT_EQ(0, rds_netns());
		ASSERT_EQ(0, veth_setup());
		a = rds_bound(variant->near, 4000);
		b = veth_far_bound(variant->far, 4001);
		a_name = rds_sockname(a);
		b_name = rds_sockname(b);
		ASSERT_EQ(1, ERR(rds_sendto(a, "a", 1, 0, &b_name)));
		ASSERT_EQ(1, ERR(rds_sendto(b, "b", 1, 0, &a_name)));
		EXPECT_EQ(1, ERR(rds_recv(b, &byte, 1)));
		EXPECT_EQ('a', byte);
		EXPECT_EQ(1, ERR(rds_recv(a, &byte, 1)));
		EXPECT_EQ('b', byte);
		EXPECT_TRUE(await_paths(a, PATHS));
		EXPECT_TRUE(await_paths(b, PATHS));
		close(a);
		close(b);
	}
}

TEST_HARNESS_MAIN
