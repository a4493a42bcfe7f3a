// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over RDMA devices: devices that do not exist, are removed, or belong to
 * another namespace; frames from a socket to itself; lists of connections.
 */
#include "paths.h"
#include "verbs.h"

#include <sched.h>

static char payload[PAGE];

static void fill_up(int from, const struct rds_name *to)
{
	while (rds_sendto(from, payload, sizeof(payload), MSG_DONTWAIT, to) > 0)
		;
}

/* Read until all that the socket has sent to itself has arrived. */
static bool drain_all(int fd)
{
	unsigned int tries;
	int left = 1;

	for (tries = 0; left && tries < 30000; tries++) {
		rds_drain(fd);
		if (ioctl(fd, SIOCOUTQ, &left))
			return false;
		if (left)
			usleep(1000);
	}
	rds_drain(fd);
	return !left;
}

/* The map of an address changes, over the device's connection to itself. */
TEST_F(rdma, cve_2011_1023_congestion_to_oneself)
{
	unsigned int i;

	ASSERT_EQ(0, rds_rcvbuf(self->a, 2 * PAGE));
	for (i = 0; i < few_or(50); i++) {
		fill_up(self->a, &self->a_name);
		/* The send buffer may be full before the port is congested. */
		EXPECT_TRUE(errno == ENOBUFS || errno == EAGAIN);
		EXPECT_TRUE(drain_all(self->a));
	}
	EXPECT_TRUE(loop_works(self->a, self->a, &self->a_name, 64));
}

static bool ping(int fd, const char *addr, const void *data, size_t len)
{
	struct rds_name to = rds_name(addr, 0);
	char byte;

	return rds_sendto(fd, data, len, 0, &to) == (ssize_t)len &&
	       rds_recv(fd, &byte, 1) == 0;
}

TEST_F(rdma, cve_2012_2372_ping_to_own_address)
{
	unsigned int i;

	for (i = 0; i < few_or(50); i++) {
		EXPECT_TRUE(ping(self->a, ROCE_NEAR_IPV4, NULL, 0));
		EXPECT_TRUE(ping(self->a, ROCE_NEAR_IPV4, payload, 100));
		EXPECT_TRUE(ping(self->a, ROCE_FAR_IPV4, NULL, 0));
	}
	EXPECT_TRUE(rds_silent(self->a));
}

static bool both_ways_work(int a, int b)
{
	struct rds_name a_name = rds_sockname(a), b_name = rds_sockname(b);

	return loop_works(a, b, &b_name, 64) && loop_works(b, a, &a_name, 64);
}

/*
 * The connection has the scope of whichever address is link-local; the far end
 * learns it from the device on which the request has arrived.
 */
TEST_F(rdma, link_local_at_both_ends_or_at_one)
{
	char near[64], far[64];
	int a, b, global;

	snprintf(near, sizeof(near), "fe80::a%%%u", if_nametoindex(ROCE_DEV));
	snprintf(far, sizeof(far), "fe80::b%%%u", if_nametoindex(ROCE_DEV));
	ASSERT_EQ(0, rds_address_on(ROCE_DEV, "fe80::a", ROCE_PREFIX_IPV6));
	ASSERT_EQ(0, rds_address_on(ROCE_DEV, "fe80::b", ROCE_PREFIX_IPV6));
	a = roce_await_bound(near);
	b = roce_await_bound(far);
	global = rds_bound(ROCE_FAR_IPV6, 0);
	ASSERT_TRUE(a >= 0 && b >= 0 && global >= 0);
	EXPECT_TRUE(both_ways_work(a, b));
	EXPECT_TRUE(both_ways_work(a, global));
	EXPECT_TRUE(both_ways_work(global, b));
	close(a);
	close(b);
	close(global);
	EXPECT_EQ(0, system("ip address del fe80::a/64 dev " ROCE_DEV));
	EXPECT_EQ(0, system("ip address del fe80::b/64 dev " ROCE_DEV));
}

/* Return the sum of the numbers in the lines of a file that match a format. */
static long sum_of_lines(const char *path, const char *format)
{
	FILE *file = fopen(path, "r");
	long sum = 0, number;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, format, &number) == 1)
			sum += number;
	if (file)
		fclose(file);
	return sum;
}

/* Return the memory that is available in KiB, with what each CPU keeps for
 * itself: that is many megabytes at times.
 */
static long memory_available(void)
{
	return sum_of_lines("/proc/meminfo", "MemAvailable: %ld") +
	       sum_of_lines("/proc/zoneinfo", " count: %ld") * (PAGE / 1024);
}

#define IDLE 60

/*
 * The memory of idle connections, with all that soft-RoCE takes for them; both
 * ends are on this host. Other implementations take five megabytes. A kernel
 * that searches for memory errors takes as much again for itself, and holds
 * freed memory back.
 */
TEST_F(rdma, idle_connections_are_small)
{
	int fd[IDLE], first = rdma_sender(IDLE + 1);
	unsigned int i;
	long kib;

	/* One connection for what is created once and stays */
	EXPECT_TRUE(loop_works(first, self->b, &self->b_name, 64));
	kib = memory_available();
	for (i = 0; i < IDLE; i++) {
		fd[i] = rdma_sender(i + 1);
		EXPECT_TRUE(loop_works(fd[i], self->b, &self->b_name, 64));
	}
	kib -= memory_available();
	if (access("/sys/kernel/debug/kmemleak", F_OK)) {
		EXPECT_GT(768 * 2 * IDLE, kib);
		EXPECT_LT(0, kib);
	}
	TH_LOG("%ld KiB for each end", kib / (2 * IDLE));
	for (i = 0; i < IDLE; i++)
		close(fd[i]);
	close(first);
}

/* An interface without an RDMA device, and addresses that have neither */
TEST_F(rdma, cve_2013_7339_bind_without_a_device)
{
	int fd;

	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A_IPV6));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("127.0.0.1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("::1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("198.51.100.1"));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind("2001:db8::1"));
	/* A socket without a chosen transport uses another one. */
	fd = rds_bound(SPARE_A, 0);
	EXPECT_EQ(RDS_TRANS_TCP, rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT));
	close(fd);
	/* With a device the bind succeeds. */
	ASSERT_EQ(0, spare_add());
	EXPECT_EQ(0, rdma_bind(SPARE_A));
	EXPECT_EQ(0, rdma_bind(SPARE_A_IPV6));
	ASSERT_EQ(0, spare_del());
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A));
}

struct binder {
	atomic_bool stop;
	unsigned long bound;
	unsigned long refused;
	long bad;
};

/* Bind, send to itself, and close; with or without the device. */
static void *bind_main(void *data)
{
	struct binder *binder = data;
	struct rds_name name;
	long ret;
	int fd;

	while (!binder->stop) {
		fd = rdma_socket();
		ret = ERR(rds_bind(fd, rds_name(SPARE_A, 0)));
		if (!ret) {
			binder->bound++;
			name = rds_sockname(fd);
			rds_sendto(fd, payload, 8, MSG_DONTWAIT, &name);
		} else if (ret == -ENOPROTOOPT) {
			binder->refused++;
		} else {
			binder->bad = ret;
		}
		close(fd);
	}
	return NULL;
}

TEST_F(rdma, cve_2026_74563_bind_racing_device_removal)
{
	struct binder binder = {};
	pthread_t thread;
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, bind_main, &binder));
	for (i = 0; i < few_or(25); i++) {
		EXPECT_EQ(0, spare_add());
		usleep(i * 2000);
		EXPECT_EQ(0, spare_del());
		usleep(1000);
	}
	binder.stop = true;
	pthread_join(thread, NULL);
	EXPECT_LT(0, binder.bound);
	EXPECT_LT(0, binder.refused);
	EXPECT_EQ(0, binder.bad);
}

/*
 * The type of service is set when a route is resolved, for a connection that
 * may be dropped at that moment.
 */
TEST_F(rdma, cve_2023_52573_dropped_while_dialing)
{
	struct rds_name nobody = rds_name(SPARE_NOBODY, 4000);
	unsigned char tos = 3;
	unsigned int i;
	int fd;

	for (i = 0; i < few_or(25); i++) {
		ASSERT_EQ(0, spare_add());
		fd = rds_bound(SPARE_A, 0);
		ASSERT_LE(0, fd);
		ASSERT_EQ(0, ioctl(fd, SIOCRDSSETTOS, &tos));
		ASSERT_EQ(8, ERR(rds_sendto(fd, payload, 8, 0, &nobody)));
		usleep(i % 5 * 500);
		ASSERT_EQ(0, spare_del());
		close(fd);
	}
}

static bool all_zero(const void *data, size_t len)
{
	const char *byte = data;

	while (len--)
		if (byte[len])
			return false;
	return true;
}

/* Get the records of a connection of type of service 0 from both lists, or
 * return false.
 */
static bool rdma_records(int fd, const struct rds_name *peer,
			 struct rds_info_rdma_connection *v4,
			 struct rds6_info_rdma_connection *v6)
{
	static struct rds6_info_rdma_connection list6[512];
	static struct rds_info_rdma_connection list[512];
	socklen_t i, len = sizeof(list), len6 = sizeof(list6);
	unsigned int found = 0;

	memset(list, 0xa5, sizeof(list));
	memset(list6, 0xa5, sizeof(list6));
	if (getsockopt(fd, SOL_RDS, RDS_INFO_IB_CONNECTIONS, list, &len) !=
	    sizeof(*list) ||
	    getsockopt(fd, SOL_RDS, RDS6_INFO_IB_CONNECTIONS, list6, &len6) !=
	    sizeof(*list6))
		return false;
	for (i = 0; i < len / sizeof(*list) && !(found & 1); i++) {
		*v4 = list[i];
		found |= v4->dst_addr == peer->in.sin_addr.s_addr &&
			 !v4->tos;
	}
	for (i = 0; i < len6 / sizeof(*list6) && !(found & 2); i++) {
		*v6 = list6[i];
		found |= v6->dst_addr.s6_addr32[3] ==
			 peer->in.sin_addr.s_addr && !v6->tos ? 2 : 0;
	}
	return found == 3;
}

/* There is a hole behind the type of service, before the next field. */
#define HOLE(record) (offsetof(typeof(record), sl) + 1)
#define HOLE_LEN(record) (offsetof(typeof(record), cache_allocs) - HOLE(record))

/* The record of a connection that is not up has only addresses. */
TEST_F(rdma, cve_2026_52995_connection_that_is_not_there_yet)
{
	struct rds_name nobody = rds_name("10.0.0.200", 4000);
	struct rds6_info_rdma_connection v6;
	struct rds_info_rdma_connection v4;

	ASSERT_EQ(8, rds_sendto(self->a, payload, 8, 0, &nobody));
	ASSERT_TRUE(rdma_records(self->a, &nobody, &v4, &v6));
	EXPECT_EQ(self->a_name.in.sin_addr.s_addr, v4.src_addr);
	EXPECT_TRUE(all_zero(v4.src_gid, sizeof(v4) -
			     offsetof(typeof(v4), src_gid)));
	EXPECT_TRUE(all_zero(v6.src_gid, sizeof(v6) -
			     offsetof(typeof(v6), src_gid)));
	EXPECT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO,
				    NULL, 0)));
}

TEST_F(rdma, cve_2026_52995_holes_in_the_record)
{
	struct rds6_info_rdma_connection v6;
	struct rds_info_rdma_connection v4;

	ASSERT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	ASSERT_TRUE(rdma_records(self->a, &self->b_name, &v4, &v6));
	EXPECT_FALSE(all_zero(v4.src_gid, sizeof(v4.src_gid)));
	EXPECT_FALSE(all_zero(v4.dst_gid, sizeof(v4.dst_gid)));
	EXPECT_LT(0, v4.max_send_wr);
	EXPECT_LT(0, v6.max_recv_wr);
	EXPECT_LT(0, v4.rdma_mr_max);
	EXPECT_EQ(v4.rdma_mr_max, v6.rdma_mr_max);
	/* A megabyte that begins in the middle of a page */
	EXPECT_EQ(257, v4.rdma_mr_size);
	EXPECT_EQ(257, v6.rdma_mr_size);
	EXPECT_TRUE(all_zero((char *)&v4 + HOLE(v4), HOLE_LEN(v4)));
	EXPECT_TRUE(all_zero((char *)&v6 + HOLE(v6), HOLE_LEN(v6)));
}

static long ib_sysctl(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "ib/%s", name);
	return rds_sysctl_get(path);
}

static long ib_sysctl_set(const char *name, const char *value)
{
	char path[64];

	snprintf(path, sizeof(path), "ib/%s", name);
	return rds_sysctl_set(path, value);
}

static bool ib_sysctl_refuses(const char *name, const char *value)
{
	long ret = ib_sysctl_set(name, value);

	if (ret != -EINVAL)
		printf("# %s = %s: errno %ld\n", name, value, -ret);
	return ret == -EINVAL;
}

TEST_F(rdma, sysctls_have_bounds)
{
	static const struct {
		const char *name;
		long value;	/* by default, or -1 */
		const char *good;
		const char *bad[3];
	} all[] = {
		{ "max_send_wr", 256, "65536", { "0", "65537", "-1" } },
		{ "max_recv_wr", 512, "65536", { "0", "65537", "-1" } },
		{ "min_recv_wr", 32, "65536", { "3", "65537", "-1" } },
		{ "max_unsignaled_wr", 16, "64", { "0", "65", "-1" } },
		{ "max_recv_allocation", -1, "4096", { "-1", "x", "1y" } },
		{ "flow_control", 0, "1", { "-1", "2", "x" } },
		{ "mr_pool_max", 1024, "65536", { "65537", "-1", "x" } },
		{ "mr_pool_software", 0, "1", { "-1", "2", "x" } },
	};
	char before[32];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		snprintf(before, sizeof(before), "%ld", ib_sysctl(all[i].name));
		if (all[i].value >= 0) {
			EXPECT_EQ(all[i].value, atol(before));
		}
		for (j = 0; j < 3; j++)
			EXPECT_TRUE(ib_sysctl_refuses(all[i].name,
						      all[i].bad[j]));
		EXPECT_EQ(0, ib_sysctl_set(all[i].name, all[i].good));
		EXPECT_EQ(atol(all[i].good), ib_sysctl(all[i].name));
		EXPECT_EQ(0, ib_sysctl_set(all[i].name, before));
	}
}

/*
 * Namespaces other than the initial one have no connections over RDMA devices,
 * not even over a device on one of their interfaces. So none can be left
 * behind.
 */
TEST_F(rdma, cve_2026_53077_refused_outside_the_first_namespace)
{
	struct rds6_info_rdma_connection v6[4];
	socklen_t len = sizeof(v6);
	struct rds_name name;
	int fd, other;

	ASSERT_EQ(0, rds_netns());
	fd = rds_socket();
	EXPECT_EQ(-EPROTOTYPE, ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_IB)));
	ASSERT_EQ(0, spare_interface());
	ASSERT_EQ(0, spare_add());
	EXPECT_EQ(-EPROTOTYPE, ERR(rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT,
					   RDS_TRANS_IB)));
	ASSERT_EQ(0, rds_bind(fd, rds_name(SPARE_A, 0)));
	EXPECT_EQ(RDS_TRANS_TCP, rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT));
	other = rds_bound(SPARE_B, 0);
	name = rds_sockname(other);
	EXPECT_TRUE(loop_works(fd, other, &name, 64));
	EXPECT_EQ(sizeof(*v6), getsockopt(fd, SOL_RDS, RDS6_INFO_IB_CONNECTIONS,
					  v6, &len));
	EXPECT_EQ(0, len);
	/* The initial namespace does not use that device either. */
	ASSERT_EQ(0, rds_initial_netns());
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A));
	EXPECT_EQ(0, spare_del());
	close(fd);
	close(other);
}

/* The same address in two namespaces, by two transports: no message crosses. */
TEST_F(rdma, cve_2026_68335_same_name_in_two_namespaces)
{
	unsigned int port = rds_port(&self->b_name);
	struct rds_name to = self->b_name;
	int a, b;

	ASSERT_EQ(0, rds_netns());
	ASSERT_EQ(0, rds_address(ROCE_NEAR_IPV4, true));
	ASSERT_EQ(0, rds_address(ROCE_FAR_IPV4, true));
	a = rds_bound(ROCE_NEAR_IPV4, rds_port(&self->a_name));
	b = rds_bound(ROCE_FAR_IPV4, port);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_TRUE(loop_works(a, b, &to, 100));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 200));
	EXPECT_TRUE(rds_silent(b));
	close(a);
	close(b);
}

static int set_flags(const char *dev, short flags)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_flags = flags };
	int ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	ret = ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return ret;
}

static int rename_interface(const char *from, const char *to)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = {};
	int ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", from);
	snprintf(ifr.ifr_newname, sizeof(ifr.ifr_newname), "%s", to);
	ret = ioctl(fd, SIOCSIFNAME, &ifr);
	close(fd);
	return ret;
}

/* Count the connections to one of the spare addresses that are not UP. */
static int spare_dialing(int fd)
{
	struct rds_name a_name = rds_name(SPARE_A, 0);
	struct rds_name b_name = rds_name(SPARE_B, 0);
	struct in6_addr a = rds_addr6(&a_name), b = rds_addr6(&b_name);
	struct rds6_info_path *path;
	unsigned int i, nr;
	int dialing = 0;

	path = rds_paths(fd, &nr);
	if (!path)
		return -1;
	for (i = 0; i < nr; i++)
		dialing += path[i].state != PATH_UP &&
			   (!memcmp(&path[i].faddr, &a, sizeof(a)) ||
			    !memcmp(&path[i].faddr, &b, sizeof(b)));
	free(path);
	return dialing;
}

/*
 * If one of its packets finds no route, soft-RoCE loses the queue pair by which
 * it connects all others, until the device is created again. So no connection
 * may be half made when the interface goes down. The connections of earlier
 * tests come back with the device.
 */
static bool spare_settles(int fd)
{
	unsigned int left;

	for (left = 30000; left && spare_dialing(fd); left--)
		usleep(1000);
	return left;
}

/*
 * Linux before 6.2 renames no interface that is up. What is in flight then
 * arrives later, once and in order.
 */
TEST_F(rdma, i7_interface_renamed_under_traffic)
{
	struct flow flow;

	ASSERT_EQ(0, spare_add());
	ASSERT_TRUE(flow_start(&flow));
	EXPECT_TRUE(flow_goes_on(&flow, 50));
	ASSERT_TRUE(spare_settles(self->a));
	ASSERT_EQ(0, set_flags(SPARE_DEV, 0));
	ASSERT_EQ(0, rename_interface(SPARE_DEV, "rocex"));
	ASSERT_EQ(0, rds_up("rocex"));
	EXPECT_TRUE(flow_goes_on(&flow, 100));
	EXPECT_EQ(0, flow_end(&flow));
	ASSERT_EQ(0, spare_del());
	ASSERT_EQ(0, set_flags("rocex", 0));
	ASSERT_EQ(0, rename_interface("rocex", SPARE_DEV));
	ASSERT_EQ(0, spare_interface());
}

/* The interface and its device are removed while sockets use them. */
TEST_F(rdma, i7_interface_removed_under_traffic)
{
	struct flow flow;

	ASSERT_EQ(0, spare_add());
	ASSERT_TRUE(flow_start(&flow));
	EXPECT_TRUE(flow_goes_on(&flow, 50));
	ASSERT_EQ(0, system("ip link del " SPARE_DEV));
	EXPECT_FALSE(nldev_exists(SPARE_RDMA_DEV));
	usleep(200000);
	ASSERT_EQ(0, spare_interface());
	ASSERT_EQ(0, spare_add());
	EXPECT_TRUE(flow_goes_on(&flow, 50));
	EXPECT_EQ(0, flow_end(&flow));
}

/* Send a message by each of several connections, which then stay. */
static bool connect_many(void)
{
	int to = rds_bound(SPARE_B, 0);
	struct rds_name name = rds_sockname(to);
	bool good = true;
	uint8_t tos;
	int fd;

	for (tos = 0; tos < 8 && good; tos++) {
		fd = rds_bound(SPARE_A, 0);
		good = rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT) == RDS_TRANS_IB &&
		       !ioctl(fd, SIOCRDSSETTOS, &tos) &&
		       loop_works(fd, to, &name, 64);
		close(fd);
	}
	close(to);
	return good;
}

/*
 * Idle connections: none has detected that there is no route any more, and each
 * has to notify its peer.
 */
TEST_F(rdma, i7_interface_removed_with_many_connections)
{
	unsigned int round;

	for (round = 0; round < few_or(10); round++) {
		ASSERT_EQ(0, spare_interface());
		ASSERT_EQ(0, spare_add());
		ASSERT_TRUE(connect_many());
		ASSERT_EQ(0, system("ip link del " SPARE_DEV));
		EXPECT_FALSE(nldev_exists(SPARE_RDMA_DEV));
	}
	EXPECT_EQ(0, spare_interface());
}

TEST_HARNESS_MAIN
