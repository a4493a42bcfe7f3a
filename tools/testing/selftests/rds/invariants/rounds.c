// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices, and the module that uses them, come and go while messages flow.
 * They leave nothing behind: no object of a device, no memory, no user of a
 * module. The number of rounds is a tenth of RDS_ROUNDS, or 10.
 */
#include "verbs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

static char buf[PAGE];

/* Each test unloads the module itself. */
FIXTURE(rounds) {
	int a;
	int b;
	struct rds_name b_name;
};

FIXTURE_SETUP(rounds)
{
	self->a = -1;
	self->b = -1;
}

FIXTURE_TEARDOWN(rounds)
{
	close(self->a);
	close(self->b);
	nldev_del(SPARE_RDMA_DEV);
	EXPECT_EQ(0, roce_setup());
}

/* The longest time that a removal may take, in milliseconds */
#define REMOVAL 20000

/*
 * Removal waits for connections to end, and these wait for posted work
 * requests, which must complete without help. What was in flight is sent again
 * when the device is back.
 */
TEST_F_TIMEOUT(rounds, cve_2026_97491_device_removed_under_traffic, LONG)
{
	long took, worst = 0;
	struct flow flow;
	unsigned int i;

	ASSERT_EQ(0, spare_add());
	ASSERT_TRUE(flow_start(&flow));
	for (i = 0; i < rounds(); i++) {
		ASSERT_TRUE(flow_goes_on(&flow, 20));
		took = now_ms();
		ASSERT_EQ(0, spare_del());
		took = now_ms() - took;
		worst = took > worst ? took : worst;
		ASSERT_EQ(0, spare_add());
	}
	EXPECT_GT(REMOVAL, worst);
	EXPECT_TRUE(flow_goes_on(&flow, 20));
	EXPECT_EQ(0, flow_end(&flow));
	TH_LOG("the slowest removal took %ld ms", worst);
}

/* Bind to an address again and again; any other thread runs first. */
static void *ask_main(void *data)
{
	struct sched_param param = {};
	atomic_bool *stop = data;

	if (sched_setscheduler(0, SCHED_IDLE, &param))
		return NULL;
	while (!*stop)
		rdma_bind(SPARE_A);
	return data;
}

/*
 * With one CPU and a preemptible kernel, the removal of a device continues as
 * soon as another thread's CM ID releases it. After that the thread must not
 * use the device any more, because it is gone before the thread runs again.
 */
TEST_F_TIMEOUT(rounds, i7_device_removed_beside_a_bind, LONG)
{
	atomic_bool stop = false;
	pthread_t thread;
	void *ret = NULL;
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ask_main, &stop));
	for (i = 0; i < few_or(50); i++) {
		EXPECT_EQ(0, spare_add());
		usleep(20000 + i * 100);
		EXPECT_EQ(0, spare_del());
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(&stop, ret);
}

/* Give back the memory that caches hold for later. */
static void shrink_caches(void)
{
	DIR *dir = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char path[300];
	int fd;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
			 entry->d_name);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (write(fd, "1", 1) != 1)
			printf("# %s cannot be shrunk\n", entry->d_name);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

#define CACHES 512

/*
 * Hundreds of objects come and go with modules, files and processes. In fewer
 * rounds than this, a leak cannot be told apart from them. The debug kernel
 * searches for leaks by other means.
 */
#define ROUNDS_TELL 25

struct caches {
	unsigned int count;
	struct {
		char name[64];
		long objects;
		long per_slab;
	} cache[CACHES];
};

/* Count the objects that each cache of the kernel has in use. */
static bool count_objects(struct caches *caches)
{
	unsigned int pass;
	char line[512];
	FILE *file;

	/*
	 * Some objects are freed a grace period later, or under memory
	 * pressure, and those that were used lately only at the second attempt.
	 * The first shrinking creates hundreds of inodes.
	 */
	for (pass = 0; pass < 2; pass++) {
		if (system("echo 3 >/proc/sys/vm/drop_caches"))
			return false;
		usleep(500000);
	}
	for (pass = 0; pass < 2; pass++)
		shrink_caches();
	caches->count = 0;
	file = fopen("/proc/slabinfo", "r");
	while (file && caches->count < CACHES &&
	       fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %ld %*d %*d %ld",
			   caches->cache[caches->count].name,
			   &caches->cache[caches->count].objects,
			   &caches->cache[caches->count].per_slab) == 3)
			caches->count++;
	if (file)
		fclose(file);
	return caches->count > 10;
}

static long objects_of(const struct caches *caches, const char *name)
{
	unsigned int i;

	for (i = 0; i < caches->count; i++)
		if (!strcmp(caches->cache[i].name, name))
			return caches->cache[i].objects;
	return 0;
}

/*
 * Count the caches that have grown by @least objects or more, and once more
 * after that: growth for other reasons does not go on with every round. In the
 * slabs that the CPUs allocate from, free slots count as objects.
 */
static unsigned int caches_grown(const struct caches seen[3], long least)
{
	long count[3], slots, slabs = 2 * sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i, grown = 0;
	const char *name;

	for (i = 0; i < seen[2].count; i++) {
		name = seen[2].cache[i].name;
		slots = slabs * seen[2].cache[i].per_slab;
		count[0] = objects_of(&seen[0], name);
		count[1] = objects_of(&seen[1], name);
		count[2] = objects_of(&seen[2], name);
		if (count[1] - count[0] < least ||
		    count[2] - count[1] < least ||
		    count[2] - count[0] < slots)
			continue;
		printf("# %s: %ld, %ld, %ld objects\n", name, count[0],
		       count[1], count[2]);
		grown++;
	}
	fflush(stdout);
	return grown;
}

/* In every other round the module is loaded on request of a socket. */
static bool load(unsigned int round)
{
	int fd, ret;

	if (round % 2)
		return !system("modprobe rds_rdma");
	fd = rds_socket();
	ret = rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB);
	close(fd);
	return !ret && module_users_fall_to("rds_rdma", 0);
}

/*
 * A module in use stays. When the last socket is closed it can be unloaded,
 * although there are connections with unread messages, and others that are
 * being dialed (CVE-2019-11815).
 */
static void unload_round(struct __test_metadata *_metadata,
			 FIXTURE_DATA(rounds) *self, unsigned int round)
{
	struct rds_name nobody = rds_name("10.0.0.200", 4000);
	unsigned int i;

	ASSERT_TRUE(load(round));
	self->a = rds_bound(ROCE_NEAR_IPV4, 4000);
	self->b = rds_bound(ROCE_FAR_IPV4, 4001);
	ASSERT_LE(0, self->b);
	self->b_name = rds_sockname(self->b);
	EXPECT_EQ(RDS_TRANS_IB, rds_get(self->a, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(-EWOULDBLOCK, module_unload("rds_rdma"));
	if (round % 3)
		EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	for (i = 0; i < 20; i++)
		rds_sendto(self->a, buf, 3000, MSG_DONTWAIT, &self->b_name);
	rds_sendto(self->a, buf, 8, MSG_DONTWAIT, &nobody);
	close(self->a);
	close(self->b);
	self->a = -1;
	self->b = -1;
	ASSERT_EQ(0, module_unload_at_last("rds_rdma"));
	EXPECT_EQ(-1, module_users("rds_rdma"));
}

TEST_F_TIMEOUT(rounds, i11_unload_with_connections, LONG)
{
	static struct caches seen[3];
	struct nldev_objects objects;
	unsigned int i, half = rounds() / 2;
	long users;

	ASSERT_EQ(0, module_unload_at_last("rds_rdma"));
	users = module_users("rds");
	ASSERT_EQ(0, nldev_objects(ROCE_RDMA_DEV, &objects));
	EXPECT_LT(0, objects.qp);
	/* Two rounds for what is created once and stays */
	for (i = 0; i < 2 * half + 2; i++) {
		if (i == 2 || i == 2 + half)
			ASSERT_TRUE(count_objects(&seen[i != 2]));
		unload_round(_metadata, self, i);
		EXPECT_TRUE(nldev_objects_fall_to(ROCE_RDMA_DEV, &objects));
		EXPECT_TRUE(module_users_fall_to("rds", users));
	}
	ASSERT_TRUE(count_objects(&seen[2]));
	if (half >= ROUNDS_TELL)
		EXPECT_EQ(0, caches_grown(seen, half));
}

/*
 * RDS over TCP listens on the port that RDS over RDMA listens on for IPv6, and
 * iWARP devices listen on ports of TCP. Both work, in whatever order they are
 * loaded.
 */
static bool tcp_listens(const char *addr, unsigned int port)
{
	struct rds_name name = rds_name(addr, port);
	int fd = socket(name.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	long ret = ERR(connect(fd, &name.sa, name.len));

	/* A connection of another program is reset, perhaps before connect()
	 * returns.
	 */
	close(fd);
	return !ret || ret == -ECONNRESET;
}

static void both_work(struct __test_metadata *_metadata)
{
	int a = rds_bound(ROCE_NEAR_IPV6, 0), b = rds_bound(ROCE_FAR_IPV6, 0);
	struct rds_name name = rds_sockname(b);

	EXPECT_EQ(RDS_TRANS_IB, rds_get(a, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_TRUE(loop_works(a, b, &name, 64));
	EXPECT_TRUE(tcp_listens("127.0.0.1", 16385));
	EXPECT_TRUE(tcp_listens("::1", 16385));
	close(a);
	close(b);
	EXPECT_TRUE(module_users_fall_to("rds_rdma", 0));
	/* A connection that nobody accepts any more uses it for a moment. */
	EXPECT_TRUE(module_users_fall_to("rds_tcp", 0));
	EXPECT_EQ(0, system("rmmod rds_rdma && rmmod rds_tcp"));
}

/*
 * A program that listens on an iWARP device receives a request for a
 * connection. Its outcome is not tested: in the debug kernel soft-iWARP by
 * itself may never complete it.
 */
static const char rping_over_siw[] =
	"address=" SPARE_A " log=$(mktemp);"
	"soon() { for i in $(seq 300); do \"$@\" && return; sleep 0.1; done; };"
	"listens() { rdma resource show cm_id | grep -q :7174; };"
	"asked() { grep -q CONNECT_REQUEST $log; };"
	"stdbuf -oL rping -s -d -a $address -p 7174 -C 3 >$log 2>&1 &\n"
	"server=$!; soon listens;"
	"rping -c -a $address -p 7174 -C 3 >/dev/null 2>&1 &\n"
	"client=$!; soon asked;"
	"kill $server $client; asked; ret=$?; rm $log; exit $ret";

/*
 * An iWARP device serves other programs as before. Its IPv6 addresses are left
 * to RDS over TCP, whose port they share.
 */
static void siw_serves_others(struct __test_metadata *_metadata)
{
	struct rds_name name = rds_name(SPARE_A_IPV6, 0);
	int fd;

	EXPECT_EQ(0, system("modprobe rds_rdma && modprobe rds_tcp"));
	EXPECT_EQ(0, system(rping_over_siw));
	EXPECT_EQ(-ENOPROTOOPT, rdma_bind(SPARE_A_IPV6));
	fd = rds_bound(SPARE_A_IPV6, 0);
	EXPECT_EQ(RDS_TRANS_TCP, rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT));
	EXPECT_EQ(0, rds_sendto(fd, NULL, 0, 0, &name));
	close(fd);
	fd = rds_bound(SPARE_A, 0);
	EXPECT_EQ(RDS_TRANS_IB, rds_get(fd, SOL_RDS, SO_RDS_TRANSPORT));
	close(fd);
	EXPECT_TRUE(module_users_fall_to("rds_rdma", 0));
}

/* rping listens on the port of RDS; wait until it does. */
static const char rping_has_the_port[] =
	"address=" ROCE_NEAR_IPV4 ";"
	"{ rping -s -a $address -p 18634 >/dev/null 2>&1; } &\n"
	"for i in $(seq 300);"
	"do rdma resource show cm_id | grep -q :18634 && exit;"
	"sleep 0.1;"
	"done;"
	"exit 1";

/*
 * Another program has the port: the module fails to load, and no socket that
 * was bound meanwhile keeps it as its transport.
 */
TEST_F(rounds, i6_port_in_use)
{
	struct rds_name to = rds_name(ROCE_FAR_IPV4, 4000);
	unsigned int i;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, module_unload_at_last("rds_rdma"));
	ASSERT_EQ(0, system(rping_has_the_port));
	pid = fork();
	while (!pid) {
		fd = rds_bound(ROCE_NEAR_IPV4, 0);
		rds_sendto(fd, buf, 10, MSG_DONTWAIT, &to);
		close(fd);
	}
	for (i = 0; i < few_or(15); i++)
		EXPECT_NE(0, system("modprobe rds_rdma 2>/dev/null"));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(-1, module_users("rds_rdma"));
	ASSERT_EQ(0, system("pkill -x rping; sleep 1; modprobe rds_rdma"));
}

TEST_F(rounds, listeners_in_either_order)
{
	bool siw;

	system("modprobe -q siw");
	siw = !nldev_add("siw1", "siw", SPARE_DEV);
	EXPECT_EQ(0, system("rmmod rds_rdma; rmmod rds_tcp 2>/dev/null;"
			    "modprobe rds_tcp && modprobe rds_rdma"));
	both_work(_metadata);
	EXPECT_EQ(0, system("modprobe rds_rdma && modprobe rds_tcp"));
	both_work(_metadata);
	/* A device that is added when both are loaded */
	EXPECT_EQ(0, system("modprobe rds_rdma && modprobe rds_tcp"));
	if (siw) {
		EXPECT_EQ(0, nldev_del("siw1"));
		EXPECT_EQ(0, nldev_add("siw1", "siw", SPARE_DEV));
	}
	both_work(_metadata);
	if (siw) {
		siw_serves_others(_metadata);
		EXPECT_EQ(0, nldev_del("siw1"));
	}
	TH_LOG("%s", siw ? "with an iWARP device" : "there is no siw here");
}

TEST_HARNESS_MAIN
