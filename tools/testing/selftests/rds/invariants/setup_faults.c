// SPDX-License-Identifier: GPL-2.0
/*
 * As faults.c, for objects that are set up once: connections, a network
 * namespace, and the modules. Of a module's set-up only the tail is
 * tried that fits into a short run; RDS_TAILS is how many times as much.
 */
#include "sweep.h"

#include <sched.h>
#include <sys/syscall.h>

#define CONNECTIONS 60

/* A path that cannot come up without memory comes up later. */
TEST_F(loop, i19_connection_made_by_a_worker)
{
	struct rds_name name = rds_name("127.1.0.0", 4000);
	char sent[64] = {}, received[2 * sizeof(sent)];
	int fd[CONNECTIONS];
	unsigned int i;

	ASSERT_TRUE(faults_setup());
	ASSERT_TRUE(write_file(FAULT("failslab/task-filter"), "Y"));
	ASSERT_TRUE(write_file(FAULT("failslab/times"), "100"));
	ASSERT_TRUE(write_file(FAULT("failslab/probability"), "30"));
	for (i = 0; i < CONNECTIONS; i++) {
		name.in.sin_addr.s_addr = htonl(0x7f010001 + i);
		fd[i] = rds_socket();
		ASSERT_EQ(0, rds_bind(fd[i], name));
		ASSERT_TRUE(mark_workers("1"));
		EXPECT_EQ(64, rds_sendto(self->a, sent, 64, 0, &name));
	}
	EXPECT_TRUE(mark_workers("0"));
	ASSERT_TRUE(write_file(FAULT("failslab/probability"), "0"));
	ASSERT_TRUE(write_file(FAULT("failslab/times"), "0"));
	for (i = 0; i < CONNECTIONS; i++) {
		EXPECT_EQ(64, rds_recv(fd[i], received, sizeof(received)));
		EXPECT_TRUE(rds_silent(fd[i]));
		close(fd[i]);
	}
}

/* Count the allocations and copies of a call when none fails. */
static long count_faults(struct scene *scene, const struct faulty_call *call)
{
	long left;

	if (call->prepare)
		call->prepare(scene);
	faults_arm(MANY);
	call->run(scene);
	left = faults_disarm();
	if (call->verify)
		call->verify(scene, 0);
	return MANY - left;
}

/*
 * Where to begin, if most of the work is not ours: at the tail, which is.
 * Before it the kernel returns other errnos, and warns where the fields of
 * trace events cannot be allocated. Memory that one call has to fetch from the
 * page allocator may be there for the next: so take the least of some counts.
 */
static long first_fault(struct scene *scene, const struct faulty_call *call,
			long tail)
{
	long least = MANY, count, i;

	for (i = 0; i < 4; i++) {
		count = count_faults(scene, call);
		if (count < least)
			least = count;
	}
	return least <= tail ? 1 : least - tail;
}

/*
 * Sweep the last @tail failures. If there are fewer of them now than when they
 * were counted, count again: the sweep has begun behind the end.
 */
static bool sweep_tail(struct scene *scene, const struct faulty_call *call,
		       long tail, unsigned int wanted)
{
	int tries;

	for (tries = 0; tries < 5 && scene->failures <= wanted; tries++) {
		scene->failures = 0;
		if (!sweep(scene, call, first_fault(scene, call, tail)))
			return false;
	}
	return scene->failures > wanted;
}

static int home;

static void prepare_namespace(struct scene *scene)
{
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

static long run_namespace(struct scene *scene)
{
	return ERR(unshare(CLONE_NEWNET));
}

/* A new namespace has all its sysctls. */
static bool verify_namespace(struct scene *scene, long ret)
{
	bool ok = ret || rds_sysctl_get("max_unacked_packets") == 16;
	int fd;

	if (!ret) {
		fd = rds_bound("127.0.0.1", 4000);
		ok = ok && fd >= 0;
		close(fd);
	}
	ok = !setns(home, CLONE_NEWNET) && ok;
	close(home);
	return ok;
}

#define NAMESPACE_TAIL 45

TEST_F_TIMEOUT(loop, i19_new_namespace, LONG)
{
	static const struct faulty_call call = {
		.prepare = prepare_namespace, .run = run_namespace,
		.verify = verify_namespace,
	};
	struct scene scene = {};

	ASSERT_TRUE(faults_setup());
	EXPECT_TRUE(sweep_tail(&scene, &call, NAMESPACE_TAIL, 10));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* A module in use cannot be loaded: this one has no sockets. */
static char module_path[256];

static bool find_module(const char *name)
{
	FILE *modinfo;

	snprintf(module_path, sizeof(module_path), "modinfo -n %s", name);
	modinfo = popen(module_path, "r");
	if (!modinfo || !fgets(module_path, sizeof(module_path), modinfo))
		return false;
	module_path[strcspn(module_path, "\n")] = '\0';
	return !pclose(modinfo);
}

static void prepare_module(struct scene *scene)
{
	scene->fd = open(module_path, O_RDONLY | O_CLOEXEC);
	if (scene->fd < 0)
		abort();
}

static long run_module(struct scene *scene)
{
	return ERR(syscall(SYS_finit_module, scene->fd, "", 0));
}

/* If the module was loaded, it works and can be unloaded; if not, nothing is
 * left.
 */
static bool verify_rds(struct scene *scene, long ret)
{
	int fd = rds_socket();

	close(scene->fd);
	if (ret)
		return fd < 0 && module_users("rds") < 0;
	close(fd);
	return fd >= 0 && module_users_fall_to("rds", 0) &&
	       !syscall(SYS_delete_module, "rds", O_NONBLOCK);
}

#define KMEMLEAK "/sys/kernel/debug/kmemleak"

/*
 * Linux 6.1 loses the name of a slab cache whose entry in sysfs cannot be
 * created. Clear these reports if nothing else has leaked; otherwise all stay
 * to be reported. A kernel without kmemleak reports nothing.
 */
static bool forget_lost_names(void)
{
	unsigned int leaks = 0, names = 0;
	char line[256];
	FILE *file;

	if (access(KMEMLEAK, F_OK))
		return true;
	if (!write_file(KMEMLEAK, "scan"))
		return false;
	sleep(6);	/* younger objects are not reported as leaks */
	if (!write_file(KMEMLEAK, "scan"))
		return false;
	file = fopen(KMEMLEAK, "r");
	while (file && fgets(line, sizeof(line), file)) {
		leaks += !!strstr(line, "unreferenced object");
		names += !!strstr(line, " sysfs_slab_add+");
	}
	if (file)
		fclose(file);
	return leaks == names && write_file(KMEMLEAK, "clear");
}

static long tail_of_set_up(long usual)
{
	const char *text = getenv("RDS_TAILS");

	return text ? atol(text) * usual : usual;
}

#define MODPROBE "/proc/sys/kernel/modprobe"

FIXTURE(module) {
	char modprobe[256];
};

FIXTURE_SETUP(module)
{
	FILE *file = fopen(MODPROBE, "r");

	ASSERT_TRUE(file && fgets(self->modprobe, sizeof(self->modprobe),
				  file));
	fclose(file);
}

FIXTURE_TEARDOWN(module)
{
	EXPECT_TRUE(write_file(MODPROBE, self->modprobe));
}

TEST_F_TIMEOUT(module, i19_init, LONG)
{
	static const struct faulty_call call = {
		.prepare = prepare_module, .run = run_module,
		.verify = verify_rds,
	};
	struct scene scene = {};

	ASSERT_TRUE(faults_setup());
	ASSERT_TRUE(find_module("rds"));
	ASSERT_TRUE(module_users_fall_to("rds_tcp", 0));
	ASSERT_TRUE(module_users_fall_to("rds_loop", 0));
	system("rmmod rds_stream rds_rdma rds_tcp rds_loop 2>/dev/null");
	ASSERT_TRUE(module_users_fall_to("rds", 0));
	ASSERT_EQ(0, syscall(SYS_delete_module, "rds", O_NONBLOCK));
	/* To search for a missing module takes seconds each time. */
	ASSERT_TRUE(write_file(MODPROBE, "\n"));
	EXPECT_TRUE(sweep_tail(&scene, &call, tail_of_set_up(50), 10));
	EXPECT_EQ(0, system("modprobe rds && modprobe rds_tcp"));
}

/* A module that is loaded beside rds, which stays */
static const char *module_name;

static bool verify_module(struct scene *scene, long ret)
{
	close(scene->fd);
	if (ret)
		return module_users(module_name) < 0;
	return module_users_fall_to(module_name, 0) &&
	       !syscall(SYS_delete_module, module_name, O_NONBLOCK);
}

static bool sweep_module(const char *name)
{
	static const struct faulty_call call = {
		.prepare = prepare_module, .run = run_module,
		.verify = verify_module,
	};
	struct scene scene = {};

	module_name = name;
	return faults_setup() && find_module(name) &&
	       sweep_tail(&scene, &call, tail_of_set_up(15), 5);
}

TEST_F_TIMEOUT(module, i19_init_over_tcp, LONG)
{
	ASSERT_EQ(0, system("modprobe rds"));
	ASSERT_TRUE(module_users_fall_to("rds_tcp", 0));
	system("rmmod rds_tcp 2>/dev/null");
	EXPECT_TRUE(sweep_module("rds_tcp"));
	EXPECT_EQ(0, system("modprobe rds_tcp"));
}

TEST_F_TIMEOUT(module, i19_init_of_streams, LONG)
{
	ASSERT_EQ(0, system("modprobe rds"));
	system("rmmod rds_stream 2>/dev/null");
	ASSERT_TRUE(module_users("rds_stream") < 0);
	EXPECT_TRUE(sweep_module("rds_stream"));
}

/* The RDMA stack stays loaded. */
TEST_F_TIMEOUT(module, i19_init_over_rdma, LONG)
{
	ASSERT_EQ(0, system("modprobe rdma_cm && modprobe rds"));
	EXPECT_TRUE(sweep_module("rds_rdma"));
	/* The names of the caches of all modules */
	EXPECT_TRUE(forget_lost_names());
}

TEST_HARNESS_MAIN
