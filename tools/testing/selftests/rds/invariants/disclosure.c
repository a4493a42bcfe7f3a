// SPDX-License-Identifier: GPL-2.0
/*
 * Every byte that is copied to user space has been set on purpose. A kernel
 * built without automatic initialization shows a leak most easily, so the test
 * fills memory first: what it reads must not depend on what was there before.
 */
#include "loop.h"

#include <poll.h>

#define DIRT 0xa5

static char payload[PAGE];

static bool all_bytes(const void *buf, size_t len, unsigned char value)
{
	const unsigned char *byte = buf;

	while (len--)
		if (*byte++ != value)
			return false;
	return true;
}

/* Fill the kernel's stack: poll() keeps its argument there. */
static void dirty_stack(unsigned char value)
{
	struct pollfd pfd[30];

	memset(pfd, value, sizeof(pfd));
	poll(pfd, ARRAY_SIZE(pfd), 0);
	select(900, (fd_set *)pfd, NULL, NULL, &(struct timeval) {});
}

/* Fill the kernel's heap: the control buffer of sendmsg() is copied there. */
static void dirty_heap(int fd, unsigned char value)
{
	static const size_t sizes[] = {
		32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192,
	};
	struct msghdr hdr = {};
	char control[8192];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		memset(control, value, sizeof(control));
		hdr.msg_control = control;
		hdr.msg_controllen = sizes[i];
		for (j = 0; j < 16; j++)
			sendmsg(fd, &hdr, MSG_DONTWAIT);
	}
}

static void dirty(int fd, unsigned char value)
{
	dirty_heap(fd, value);
	dirty_stack(value);
}

struct info {
	int record;
	socklen_t len;
	unsigned char data[16384];
};

/* Read a list after filling the kernel's memory with @value. */
static bool read_info(int fd, int option, unsigned char value,
		      struct info *info)
{
	memset(info->data, DIRT, sizeof(info->data));
	info->len = sizeof(info->data);
	dirty(fd, value);
	info->record = getsockopt(fd, SOL_RDS, option, info->data, &info->len);
	return info->record > 0;
}

static bool info_is_the_same(int fd, int option)
{
	static const unsigned char values[] = { 0x00, 0x5a, 0xff };
	static struct info first, again;
	unsigned int i;

	if (!read_info(fd, option, 0x3c, &first))
		return false;
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (!read_info(fd, option, values[i], &again) ||
		    first.record != again.record || first.len != again.len ||
		    memcmp(first.data, again.data, first.len))
			return false;
	}
	/* Nothing behind the end was written. */
	return all_bytes(again.data + again.len,
			 sizeof(again.data) - again.len, DIRT);
}

TEST_F(loop, cve_2016_5244_received_messages)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(100 + i, rds_sendto(self->a, payload, 100 + i, 0,
					      &self->b_name));
	EXPECT_TRUE(info_is_the_same(self->a, RDS_INFO_RECV_MESSAGES));
	rds_drain(self->b);
}

/* One record, of which every field is known */
TEST_F(loop, cve_2016_5244_received_message_fields)
{
	static struct info info;
	struct rds_info_message *record = (void *)info.data;

	ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0, &self->b_name));
	ASSERT_TRUE(read_info(self->a, RDS_INFO_RECV_MESSAGES, 0xff, &info));
	ASSERT_EQ(sizeof(*record), info.len);
	EXPECT_EQ(10, record->len);
	EXPECT_EQ(htonl(0x7f000002), record->laddr);
	EXPECT_EQ(htonl(0x7f000001), record->faddr);
	EXPECT_EQ(htons(4001), record->lport);
	EXPECT_EQ(htons(4000), record->fport);
	EXPECT_EQ(0, record->flags);
	EXPECT_EQ(0, record->tos);
	rds_drain(self->b);
}

TEST_F(loop, cve_2019_16714_received_messages_ipv6)
{
	static struct info info;
	struct rds6_info_message *record = (void *)info.data;
	struct rds_name name;
	int fd = rds_bound("::1", 4002);

	ASSERT_LE(0, fd);
	name = rds_sockname(fd);
	ASSERT_EQ(10, rds_sendto(fd, payload, 10, 0, &name));
	EXPECT_TRUE(info_is_the_same(self->a, RDS6_INFO_RECV_MESSAGES));
	ASSERT_TRUE(read_info(self->a, RDS6_INFO_RECV_MESSAGES, 0xff, &info));
	ASSERT_EQ(sizeof(*record), info.len);
	EXPECT_EQ(0, memcmp(&record->laddr, &in6addr_loopback, 16));
	EXPECT_EQ(0, memcmp(&record->faddr, &in6addr_loopback, 16));
	EXPECT_EQ(0, record->flags);
	EXPECT_EQ(0, record->tos);
	close(fd);
}

TEST_F(loop, cve_2026_52995_connections)
{
	static struct info info;
	struct rds_info_connection *record = (void *)info.data;
	size_t used = strlen("loopback");

	ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 10));
	EXPECT_TRUE(info_is_the_same(self->a, RDS_INFO_CONNECTIONS));
	EXPECT_TRUE(info_is_the_same(self->a, RDS6_INFO_CONNECTIONS));
	ASSERT_TRUE(read_info(self->a, RDS_INFO_CONNECTIONS, 0xff, &info));
	ASSERT_LE(sizeof(*record), info.len);
	EXPECT_EQ(0, memcmp(record->transport, "loopback", used));
	EXPECT_TRUE(all_bytes(record->transport + used,
			      sizeof(record->transport) - used, 0));
	EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTED, record->flags);
	EXPECT_EQ(0, record->tos);
}

TEST_F(loop, i5_sockets)
{
	int unbound = rds_socket();

	ASSERT_LE(0, unbound);
	EXPECT_TRUE(info_is_the_same(self->a, RDS_INFO_SOCKETS));
	EXPECT_TRUE(info_is_the_same(self->a, RDS6_INFO_SOCKETS));
	ASSERT_EQ(0, rds_connect(unbound, self->b_name));
	EXPECT_TRUE(info_is_the_same(self->a, RDS6_INFO_SOCKETS));
	close(unbound);
}

/* Names are padded with zeros, whatever their length. */
TEST_F(loop, i5_counters)
{
	static struct info info;
	struct rds_info_counter *record = (void *)info.data;
	size_t used;

	EXPECT_TRUE(info_is_the_same(self->a, RDS_INFO_COUNTERS));
	ASSERT_TRUE(read_info(self->a, RDS_INFO_COUNTERS, 0xff, &info));
	EXPECT_LE(36 * sizeof(*record), info.len);
	for (; (void *)record < (void *)info.data + info.len; record++) {
		used = strnlen((char *)record->name, sizeof(record->name));
		EXPECT_LT(0, used);
		EXPECT_LT(used, sizeof(record->name));
		EXPECT_TRUE(all_bytes(record->name + used,
				      sizeof(record->name) - used, 0));
	}
}

/* A buffer that is too small by one byte receives whole records, and the size
 * needed.
 */
TEST_F(loop, i5_lists_cut_short)
{
	static unsigned char room[PAGE];
	socklen_t whole, len;
	unsigned int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0,
					 &self->b_name));
	for (len = 0; len < 3 * sizeof(struct rds_info_message); len++) {
		memset(room, DIRT, sizeof(room));
		dirty(self->a, 0xff);
		whole = len;
		EXPECT_EQ(-ENOSPC, ERR(getsockopt(self->a, SOL_RDS,
						  RDS_INFO_RECV_MESSAGES,
						  room, &whole)));
		EXPECT_EQ(3 * sizeof(struct rds_info_message), whole);
		EXPECT_TRUE(all_bytes(room + len, sizeof(room) - len, DIRT));
	}
	rds_drain(self->b);
}

static ssize_t recv_name(int fd, unsigned char *name, struct msghdr *hdr,
			 int flags)
{
	static char room[64];
	static struct iovec iov = { room, sizeof(room) };

	memset(name, DIRT, 128);
	*hdr = (struct msghdr) {
		.msg_name = name, .msg_namelen = 128,
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	dirty_stack(0xff);
	return ERR(recvmsg(fd, hdr, flags));
}

TEST_F(loop, cve_2012_3430_name_of_sender)
{
	unsigned char name[128];
	struct msghdr hdr;

	ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0, &self->b_name));
	ASSERT_EQ(10, recv_name(self->b, name, &hdr, 0));
	EXPECT_EQ(sizeof(struct sockaddr_in), hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(name, &self->a_name.in,
			    sizeof(struct sockaddr_in)));
	EXPECT_TRUE(all_bytes(name + sizeof(struct sockaddr_in),
			      128 - sizeof(struct sockaddr_in), DIRT));
}

TEST_F(loop, cve_2012_3430_name_of_ipv6_sender)
{
	unsigned char name[128];
	struct rds_name own;
	struct msghdr hdr;
	int fd = rds_bound("::1", 4002);

	ASSERT_LE(0, fd);
	own = rds_sockname(fd);
	ASSERT_EQ(10, rds_sendto(fd, payload, 10, 0, &own));
	ASSERT_EQ(10, recv_name(fd, name, &hdr, 0));
	EXPECT_EQ(sizeof(struct sockaddr_in6), hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(name, &own.in6, sizeof(struct sockaddr_in6)));
	EXPECT_TRUE(all_bytes(name + sizeof(struct sockaddr_in6),
			      128 - sizeof(struct sockaddr_in6), DIRT));
	close(fd);
}

/* A short buffer for the name receives as much as fits. */
TEST_F(loop, cve_2012_3430_short_name)
{
	unsigned char name[128];
	struct sockaddr_in want = self->a_name.in;
	char room[64];
	socklen_t len, got;

	for (len = 0; len <= sizeof(want); len++) {
		memset(name, DIRT, sizeof(name));
		ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0,
					 &self->b_name));
		got = len;
		ASSERT_EQ(10, recvfrom(self->b, room, sizeof(room), 0,
				       (void *)name, &got));
		EXPECT_EQ(sizeof(want), got);
		EXPECT_EQ(0, memcmp(name, &want, len));
		EXPECT_TRUE(all_bytes(name + len, 128 - len, DIRT));
	}
}

/* Without a message there is no name. */
TEST_F(loop, cve_2012_3430_no_name_without_message)
{
	unsigned char name[128];
	struct msghdr hdr;

	EXPECT_EQ(-EAGAIN, recv_name(self->b, name, &hdr, MSG_DONTWAIT));
	EXPECT_TRUE(all_bytes(name, 128, DIRT));
	EXPECT_EQ(-EAGAIN, recv_name(self->b, name, &hdr,
				     MSG_ERRQUEUE | MSG_DONTWAIT));
	EXPECT_TRUE(all_bytes(name, 128, DIRT));
	if (!recv_name(self->b, name, &hdr, MSG_OOB | MSG_DONTWAIT))
		EXPECT_EQ(0, hdr.msg_namelen);
	EXPECT_TRUE(all_bytes(name, 128, DIRT));
}

/* A congestion update arrives alone: no name, no data. */
TEST_F(loop, cve_2012_3430_no_name_with_congestion_update)
{
	struct rds_msg msg;
	char room[64];
	uint64_t mask;

	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, RDS_CONG_MONITOR, 1));
	ASSERT_EQ(0, rds_rcvbuf(self->b, PAGE));
	while (rds_sendto(self->a, payload, PAGE, MSG_DONTWAIT,
			  &self->b_name) > 0)
		;
	ASSERT_EQ(ENOBUFS, errno);
	rds_drain(self->b);

	memset(&msg, DIRT, sizeof(msg));
	dirty_stack(0xff);
	ASSERT_EQ(0, rds_msg_recv(self->a, &msg, room, sizeof(room),
				  MSG_DONTWAIT));
	EXPECT_EQ(0, msg.hdr.msg_namelen);
	EXPECT_EQ(1, rds_msg_count(&msg));
	ASSERT_EQ(CMSG_LEN(sizeof(mask)),
		  CMSG_FIRSTHDR(&msg.hdr)->cmsg_len);
	memcpy(&mask, CMSG_DATA(CMSG_FIRSTHDR(&msg.hdr)), sizeof(mask));
	EXPECT_TRUE(mask & RDS_CONG_MONITOR_MASK(4001));
}

static bool own_name_is_clean(int fd, bool peer, socklen_t want)
{
	unsigned char name[128];
	socklen_t len = sizeof(name);
	struct sockaddr_in *in = (void *)name;

	memset(name, DIRT, sizeof(name));
	dirty_stack(0xff);
	if (peer ? getpeername(fd, (void *)name, &len) :
		   getsockname(fd, (void *)name, &len))
		return false;
	return len == want &&
	       (want != sizeof(*in) || all_bytes(in->sin_zero, 8, 0)) &&
	       all_bytes(name + len, sizeof(name) - len, DIRT);
}

TEST_F(loop, i5_socket_names)
{
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_TRUE(own_name_is_clean(fd, false, sizeof(struct sockaddr_in)));
	ASSERT_EQ(0, rds_connect(fd, rds_name("127.0.0.1", 4000)));
	EXPECT_TRUE(own_name_is_clean(fd, false, sizeof(struct sockaddr_in)));
	EXPECT_TRUE(own_name_is_clean(fd, true, sizeof(struct sockaddr_in)));
	EXPECT_TRUE(own_name_is_clean(self->a, false,
				      sizeof(struct sockaddr_in)));
	ASSERT_EQ(0, rds_connect(fd, rds_name("::1", 4000)));
	EXPECT_TRUE(own_name_is_clean(fd, false, sizeof(struct sockaddr_in6)));
	EXPECT_TRUE(own_name_is_clean(fd, true, sizeof(struct sockaddr_in6)));
	close(fd);
}

static int recv_trace(int fd, struct rds_cmsg_rx_trace *trace)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	char room[64];

	memset(&msg, DIRT, sizeof(msg));
	dirty_stack(0xff);
	if (rds_msg_recv(fd, &msg, room, sizeof(room), 0) < 0)
		return -1;
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY);
	if (!cmsg || cmsg->cmsg_len != CMSG_LEN(sizeof(*trace)))
		return -1;
	memcpy(trace, CMSG_DATA(cmsg), sizeof(*trace));
	return 0;
}

/* list report of 2020-07: a hole of the structure kept its old contents */
TEST_F(loop, notify_cmsg_stack_hole)
{
	struct rds_rx_trace_so so = { .rx_traces = 1 };
	struct rds_cmsg_rx_trace trace;

	ASSERT_EQ(0, setsockopt(self->b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
				&so, sizeof(so)));
	ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0, &self->b_name));
	ASSERT_EQ(0, recv_trace(self->b, &trace));
	EXPECT_EQ(1, trace.rx_traces);
	EXPECT_TRUE(all_bytes(trace.rx_trace_pos,
			      (char *)trace.rx_trace -
			      (char *)trace.rx_trace_pos, 0));
	EXPECT_EQ(0, trace.rx_trace[1]);
	EXPECT_EQ(0, trace.rx_trace[2]);
}

/* list report of 2019-10: these were copied from a slab not meant for it */
TEST_F(loop, hardened_usercopy_of_control_messages)
{
	struct rds_rx_trace_so so = { .rx_traces = 3, { 0, 1, 2 } };
	struct rds_msg msg;
	char room[64];

	ASSERT_EQ(0, setsockopt(self->b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY,
				&so, sizeof(so)));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_OLD, 1));
	ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0, &self->b_name));
	ASSERT_EQ(10, rds_msg_recv(self->b, &msg, room, sizeof(room), 0));
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_OLD));
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RXPATH_LATENCY));
	ASSERT_EQ(0, rds_set(self->b, SOL_SOCKET, SO_TIMESTAMP_NEW, 1));
	ASSERT_EQ(10, rds_sendto(self->a, payload, 10, 0, &self->b_name));
	ASSERT_EQ(10, rds_msg_recv(self->b, &msg, room, sizeof(room), 0));
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP_NEW));
}

static const char * const sysctls[] = {
	"reconnect_min_delay_ms", "reconnect_max_delay_ms",
	"max_unacked_packets", "max_unacked_bytes", "ping_enable",
	"max_conns", "max_conns_per_user", "rx_held_max", "pongs_max",
	"op_timeout_ms",
};

static void read_sysctls(long value[ARRAY_SIZE(sysctls)])
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		value[i] = rds_sysctl_get(sysctls[i]);
}

/* Check that the one that was written has changed, and no other one. */
static bool only_changed(const long before[], unsigned int which, long value)
{
	long after[ARRAY_SIZE(sysctls)];
	unsigned int i;

	read_sysctls(after);
	for (i = 0; i < ARRAY_SIZE(sysctls); i++)
		if (after[i] != (i == which ? value : before[i]))
			return false;
	return true;
}

static int write_sysctl(unsigned int which, long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	return rds_sysctl_set(sysctls[which], text);
}

TEST_F(loop, cve_2015_2042_sysctl_sizes)
{
	/* No namespace can have more of a memory limit than the host allows. */
	static const long other[] = {
		2, 2000, 17, 0x7fffffff, 0, 77, 78, 0x800000, 79, 100,
	};
	long before[ARRAY_SIZE(sysctls)];
	unsigned int i;

	ASSERT_EQ(ARRAY_SIZE(sysctls), ARRAY_SIZE(other));
	read_sysctls(before);
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		EXPECT_EQ(0, write_sysctl(i, other[i]));
		EXPECT_TRUE(only_changed(before, i, other[i]))
			TH_LOG("number %u", i);
		EXPECT_EQ(0, write_sysctl(i, before[i]));
	}
	EXPECT_TRUE(only_changed(before, 0, before[0]));
}

/* One number and a newline, whatever follows in memory */
TEST_F(loop, cve_2015_2042_sysctl_texts)
{
	char text[64], want[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		ASSERT_EQ(0, rds_sysctl_read(sysctls[i], text, sizeof(text)));
		snprintf(want, sizeof(want), "%ld", atol(text));
		EXPECT_STREQ(want, text);
	}
}

/* A value that is no int, or is out of bounds, changes nothing. */
TEST_F(loop, cve_2015_2042_sysctl_values)
{
	static const char * const bad[] = {
		"-1", "2147483648", "4294967296", "18446744073709551616",
		"-2147483649", "x", "0x", "1x",
	};
	long before[ARRAY_SIZE(sysctls)];
	unsigned int i, j;

	read_sysctls(before);
	for (i = 0; i < ARRAY_SIZE(sysctls); i++) {
		for (j = 0; j < ARRAY_SIZE(bad); j++) {
			EXPECT_EQ(-EINVAL, rds_sysctl_set(sysctls[i], bad[j]))
				TH_LOG("value %u to number %u", j, i);
		}
	}
	EXPECT_TRUE(only_changed(before, 0, before[0]));
}

TEST_HARNESS_MAIN
