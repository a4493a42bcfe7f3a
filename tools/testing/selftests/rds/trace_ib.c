// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of the tracepoints of RDS over InfiniBand verbs, from a device of each
 * test to itself: each one fires when it should, with the right fields. Every
 * test has a trace instance of its own.
 */
#include "harness.h"
#include "paths.h"
#include "roce.h"
#include "tracing.h"

#include <net/if.h>

#define LARGEST		(1 << 20)

static char buf[LARGEST];

#define DEV		"roce7"
#define RDMA_DEV	"rxe7"

FIXTURE(ib_trace) {
	int a, b;
	struct rds_name a_name, b_name;
	rds_tos_t tos;
	char a_to_b[96];	/* the addresses, as events show them */
	char b_to_a[96];
};

FIXTURE_VARIANT(ib_trace) {
	const char *a, *b;
	const char *shown_a, *shown_b;
	unsigned int prefix;
};

FIXTURE_VARIANT_ADD(ib_trace, ib_ipv4) {
	.a = "10.77.0.1",
	.b = "10.77.0.2",
	.shown_a = "::ffff:10.77.0.1",
	.shown_b = "::ffff:10.77.0.2",
	.prefix = 24,
};

FIXTURE_VARIANT_ADD(ib_trace, ib_ipv6) {
	.a = "fd77::1",
	.b = "fd77::2",
	.shown_a = "fd77::1",
	.shown_b = "fd77::2",
	.prefix = 64,
};

static void __attribute__((constructor)) choose_variants(void)
{
	rds_filter_variants(&_ib_trace_fixture_object, rds_wants_variant);
}

/* If the interface is deleted, the RDMA device is removed, too. */
static int remove_device(void)
{
	return if_nametoindex(DEV) ? system("ip link del " DEV) : 0;
}

FIXTURE_SETUP(ib_trace)
{
	if (!variant)
		return;
	snprintf(self->a_to_b, sizeof(self->a_to_b), "%s > %s",
		 variant->shown_a, variant->shown_b);
	snprintf(self->b_to_a, sizeof(self->b_to_a), "%s > %s",
		 variant->shown_b, variant->shown_a);
	ASSERT_EQ(0, roce_setup());
	ASSERT_EQ(0, roce_enter());
	ASSERT_EQ(0, trace_begin("rds_ib"));
	ASSERT_EQ(0, remove_device());
	ASSERT_EQ(0, system("ip link add " DEV " type dummy"));
	ASSERT_EQ(0, rds_up(DEV));
	ASSERT_EQ(0, system("rdma link add " RDMA_DEV " type rxe netdev " DEV));
	ASSERT_EQ(0, rds_address_on(DEV, variant->a, variant->prefix));
	ASSERT_EQ(0, rds_address_on(DEV, variant->b, variant->prefix));
	self->a = roce_await_bound(variant->a);
	self->b = roce_await_bound(variant->b);
	ASSERT_LE(0, self->a);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

FIXTURE_TEARDOWN(ib_trace)
{
	if (!variant)
		return;
	trace_end();
	close(self->a);
	close(self->b);
	EXPECT_EQ(0, remove_device());
}

static bool works(FIXTURE_DATA(ib_trace) *self, size_t len)
{
	return rds_sendto(self->a, buf, len, 0, &self->b_name) ==
	       (ssize_t)len &&
	       rds_recv(self->b, buf, sizeof(buf)) == (ssize_t)len;
}

/* Read @len bytes of the memory of socket b. */
static long read_far(FIXTURE_DATA(ib_trace) *self, uint64_t cookie, size_t len)
{
	struct rds_iovec vec = { (uintptr_t)buf, len };
	struct rds_rdma_args args = {
		.cookie = cookie,
		.remote_vec = { 0, len },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
	};
	struct rds_msg msg;

	rds_msg_init(&msg, "", 0);
	rds_msg_to(&msg, &self->b_name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	return ERR(sendmsg(self->a, &msg.hdr, 0));
}

/*
 * Have socket a use a connection that does not exist yet. Those that a test, or
 * a run of this program, has used remain in the initial namespace, and either
 * end may dial them when the device is there again.
 */
static bool use_new_connection(FIXTURE_DATA(ib_trace) *self)
{
	struct in6_addr addr = rds_addr6(&self->a_name);
	struct rds6_info_path *path;
	bool used[256] = { true };
	unsigned int i, nr;

	path = rds_paths(self->a, &nr);
	if (!path)
		return false;
	for (i = 0; i < nr; i++)
		if (!memcmp(&path[i].laddr, &addr, sizeof(addr)))
			used[path[i].tos] = true;
	free(path);
	while (used[self->tos])
		if (!++self->tos)
			return false;
	return !ioctl(self->a, SIOCRDSSETTOS, &self->tos);
}

TEST_F(ib_trace, a_connection_is_made)
{
	NEED_VARIANT();
	ASSERT_TRUE(use_new_connection(self));
	ASSERT_TRUE(works(self, 3));
	EXPECT_TRUE(traced("rds_ib_cm_event", self->a_to_b,
			   "qp=0 event=ADDR_RESOLVED .*state=RESOLVING"));
	EXPECT_TRUE(traced("rds_ib_cm_event", self->a_to_b,
			   "qp=0 event=ROUTE_RESOLVED .*state=RESOLVING"));
	EXPECT_TRUE(traced("rds_ib_cm_event", self->b_to_a,
			   "qp=0 event=CONNECT_REQUEST status=0 state=IDLE"));
	EXPECT_TRUE(traced("rds_ib_cm_event", self->a_to_b,
			   "qp=[1-9].* event=ESTABLISHED .*state=DIALING"));
	EXPECT_TRUE(traced("rds_ib_state", self->a_to_b,
			   "tos=%u qp=0 IDLE -> RESOLVING", self->tos));
	EXPECT_TRUE(traced("rds_ib_state", self->a_to_b,
			   "tos=%u qp=[1-9].* RESOLVING -> DIALING",
			   self->tos));
	EXPECT_TRUE(traced("rds_ib_state", self->a_to_b,
			   "tos=%u qp=[1-9].* DIALING -> UP", self->tos));
	EXPECT_TRUE(traced("rds_ib_state", self->b_to_a,
			   "tos=%u qp=0 IDLE -> OFFERED", self->tos));
	EXPECT_TRUE(traced("rds_ib_state", self->b_to_a,
			   "tos=%u qp=[1-9].* OFFERED -> ACCEPTING",
			   self->tos));
	EXPECT_TRUE(traced("rds_ib_state", self->b_to_a,
			   "tos=%u qp=[1-9].* ACCEPTING -> UP", self->tos));
}

TEST_F(ib_trace, a_work_request_fails)
{
	NEED_VARIANT();
	ASSERT_TRUE(works(self, 3));
	ASSERT_EQ(0, read_far(self, 0x12345678, 100));
	EXPECT_TRUE(traced("rds_ib_wc_error", self->a_to_b,
			   "qp=[1-9].* wr=read status=REM_ACCESS_ERR vendor"));
	EXPECT_TRUE(traced("rds_ib_state", self->a_to_b,
			   "tos=0 qp=[1-9].* UP -> CLOSED"));
}

TEST_F(ib_trace, memory_is_registered)
{
	static char memory[3 * 4096] __attribute__((aligned(4096)));
	uint64_t cookie;

	NEED_VARIANT();
	ASSERT_TRUE(works(self, 3));
	ASSERT_EQ(0, rds_sysctl_set("ib/mr_pool_software", "1"));
	ASSERT_EQ(0, rds_get_mr(self->b, memory + 4000, 5000,
				RDS_RDMA_READWRITE, &cookie));
	EXPECT_EQ(0, rds_free_mr(self->b, cookie));
	EXPECT_EQ(0, rds_sysctl_set("ib/mr_pool_software", "0"));
	EXPECT_TRUE(traced("rds_ib_mr_map", "dev=" RDMA_DEV,
			   "rkey=0x%x len=5000 npages=3 err=0",
			   (uint32_t)cookie));
	EXPECT_TRUE(traced("rds_ib_mr_unmap", "dev=" RDMA_DEV,
			   "rkey=0x%x len=5000 npages=3 err=0",
			   (uint32_t)cookie));
	EXPECT_TRUE(traced("rds_ib_mr_invalidate", "dev=" RDMA_DEV,
			   "rkey=0x%x len=5000 npages=3 err=0",
			   (uint32_t)cookie));
}

/*
 * Send messages of more work requests than the send queue has slots. Returns
 * true if the sender has stalled, which a fast device may prevent.
 */
static bool stalls(FIXTURE_DATA(ib_trace) *self)
{
	const int count = 4, len = LARGEST;
	int64_t before = rds_counter(self->a, "ib_tx_stalled");
	int i;

	rds_sndbuf(self->a, 2 * count * len);
	rds_rcvbuf(self->b, 2 * count * len);
	for (i = 0; i < count; i++)
		rds_sendto(self->a, buf, len, 0, &self->b_name);
	for (i = 0; i < count; i++)
		if (rds_recv(self->b, buf, sizeof(buf)) != len)
			return false;
	return rds_counter(self->a, "ib_tx_stalled") > before;
}

TEST_F(ib_trace, the_sender_stalls)
{
	char before[32];
	bool stalled;

	NEED_VARIANT();
	ASSERT_EQ(0, rds_sysctl_read("ib/max_send_wr", before, sizeof(before)));
	ASSERT_EQ(0, rds_sysctl_set("ib/max_send_wr", "32"));
	stalled = stalls(self);
	EXPECT_EQ(0, rds_sysctl_set("ib/max_send_wr", before));
	if (!stalled)
		SKIP(return, "The device has completed everything at once");
	EXPECT_TRUE(traced("rds_ib_tx_stall", self->a_to_b,
			   "qp=[1-9].* limited=0 credits=.* slots="));
	EXPECT_TRUE(traced("rds_ib_tx_unstall", self->a_to_b,
			   "qp=[1-9].* limited=0 credits=.* slots=[1-9]"));
}

/*
 * The message takes far more receive buffers than the peer may post at a time.
 * The sender waits unless the device, which is software, has the peer post
 * others within each call that sends.
 */
TEST_F(ib_trace, the_sender_has_no_credit)
{
	int64_t stalls, updates;
	char before[32];

	NEED_VARIANT();
	stalls = rds_counter(self->a, "ib_tx_stalled");
	updates = rds_counter(self->a, "ib_tx_credit_updates");
	ASSERT_EQ(0, rds_sysctl_read("ib/max_recv_wr", before, sizeof(before)));
	ASSERT_TRUE(use_new_connection(self));
	ASSERT_EQ(0, rds_sysctl_set("ib/flow_control", "1"));
	ASSERT_EQ(0, rds_sysctl_set("ib/max_recv_wr", "4"));
	rds_sndbuf(self->a, 2 * LARGEST);
	EXPECT_TRUE(works(self, LARGEST));
	EXPECT_EQ(0, rds_sysctl_set("ib/max_recv_wr", before));
	EXPECT_EQ(0, rds_sysctl_set("ib/flow_control", "0"));
	EXPECT_LT(updates, rds_counter(self->a, "ib_tx_credit_updates"));
	if (rds_counter(self->a, "ib_tx_stalled") == stalls)
		SKIP(return, "The device has completed everything at once");
	EXPECT_TRUE(traced("rds_ib_tx_stall", self->a_to_b,
			   "qp=[1-9].* limited=1 credits=[01] slots=[1-9]"));
	/* Slots that are free again end it, too, if there is no credit yet. */
	EXPECT_TRUE(traced("rds_ib_tx_unstall", self->a_to_b,
			   "qp=[1-9].* limited=1 credits=[0-9].* slots="));
}

TEST_F(ib_trace, a_device_comes_and_goes)
{
	static char memory[4096] __attribute__((aligned(4096)));
	uint64_t cookie;

	NEED_VARIANT();
	ASSERT_TRUE(works(self, 3));
	ASSERT_EQ(0, rds_get_mr(self->b, memory, 100, RDS_RDMA_READWRITE,
				&cookie));
	ASSERT_EQ(0, system("ip link del " DEV));
	EXPECT_TRUE(traced("rds_ib_device_add", "dev=" RDMA_DEV,
			   "err=0"));
	EXPECT_TRUE(traced("rds_ib_device_remove", "dev=" RDMA_DEV,
			   "err=0"));
	EXPECT_TRUE(traced("rds_ib_mr_unmap", "dev=" RDMA_DEV,
			   "rkey=0x%x len=100 npages=1 err=-19",
			   (uint32_t)cookie));
	EXPECT_TRUE(traced("rds_ib_state", self->a_to_b,
			   "tos=0 qp=[1-9].* UP -> CLOSED"));
	EXPECT_TRUE(traced("rds_ib_device_gone", "dev=" RDMA_DEV,
			   "err=0"));
}

TEST_HARNESS_MAIN
