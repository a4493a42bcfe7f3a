// SPDX-License-Identifier: GPL-2.0
/*
 * Each point that is reached while something is set up fails once: the modules,
 * a network namespace, an RDMA device. What was not set up leaves nothing
 * behind, and what was set up works. See point_sweep.h.
 */
#include "faults.h"

#include <sched.h>
#include <sys/wait.h>

#include "nldev.h"
#include "point_sweep.h"
#include "roce.h"

#define MODPROBE "/proc/sys/kernel/modprobe"

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

static long run_module(const struct set_up *what)
{
	int fd = open(module_path, O_RDONLY | O_CLOEXEC);
	long ret;

	if (fd < 0)
		return -errno;
	ret = ERR(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return ret;
}

static bool verify_module(const struct set_up *what, long ret)
{
	if (ret)
		return module_users(what->name) < 0;
	return module_users_fall_to(what->name, 0) &&
	       !module_unload_at_last(what->name);
}

static bool sweep_module(const char *name, unsigned int wanted)
{
	const struct set_up what = { name, run_module, verify_module };

	return find_module(name) && sweep_set_up(&what, wanted);
}

FIXTURE(module) {
	char modprobe[256];
};

/* To search for a missing module takes seconds each time. */
FIXTURE_SETUP(module)
{
	FILE *file = fopen(MODPROBE, "r");

	ASSERT_TRUE(file && fgets(self->modprobe, sizeof(self->modprobe),
				  file));
	fclose(file);
	ASSERT_EQ(0, system("modprobe rds"));
	system("rmmod rds_stream rds_rdma rds_tcp rds_loop 2>/dev/null");
	ASSERT_TRUE(write_file(MODPROBE, "\n"));
}

FIXTURE_TEARDOWN(module)
{
	EXPECT_TRUE(write_file(MODPROBE, self->modprobe));
	EXPECT_EQ(0, system("modprobe rds && modprobe rds_tcp"));
}

TEST_F_TIMEOUT(module, core, LONG)
{
	ASSERT_EQ(0, module_unload_at_last("rds"));
	EXPECT_TRUE(sweep_module("rds", 10));
}

TEST_F_TIMEOUT(module, loopback, LONG)
{
	EXPECT_TRUE(sweep_module("rds_loop", 0));
}

TEST_F_TIMEOUT(module, tcp, LONG)
{
	EXPECT_TRUE(sweep_module("rds_tcp", 5));
}

TEST_F_TIMEOUT(module, streams, LONG)
{
	EXPECT_TRUE(sweep_module("rds_stream", 3));
}

TEST_F_TIMEOUT(module, rdma, LONG)
{
	ASSERT_EQ(0, system("modprobe -q rdma_cm"));
	EXPECT_TRUE(sweep_module("rds_rdma", 5));
}

static long run_namespace(const struct set_up *what)
{
	return ERR(unshare(CLONE_NEWNET));
}

/* A new namespace has sysctls, and sockets can be bound. */
static bool verify_namespace(const struct set_up *what, long ret)
{
	int fd;

	if (ret)
		return true;
	fd = rds_bound("127.0.0.1", 4000);
	close(fd);
	return fd >= 0 && rds_sysctl_get("max_unacked_packets") == 16;
}

FIXTURE(set_up) { };

FIXTURE_SETUP(set_up)
{
	ASSERT_EQ(0, system("modprobe rds_tcp && modprobe rds_stream"));
}

FIXTURE_TEARDOWN(set_up) { }

TEST_F_TIMEOUT(set_up, namespace, LONG)
{
	const struct set_up what = { "namespace", run_namespace,
				     verify_namespace };

	EXPECT_TRUE(sweep_set_up(&what, 15));
}

static long run_device(const struct set_up *what)
{
	return nldev_add(ROCE_RDMA_DEV, "rxe", ROCE_DEV);
}

/* The device is there, whatever RDS does; but RDS may not serve it. */
static bool verify_device(const struct set_up *what, long ret)
{
	return !ret && !nldev_del(ROCE_RDMA_DEV);
}

TEST_F_TIMEOUT(set_up, device, LONG)
{
	const struct set_up what = { "device", run_device, verify_device };

	ASSERT_EQ(0, roce_setup());
	ASSERT_EQ(0, roce_enter());
	ASSERT_TRUE(roce_connect());
	ASSERT_EQ(0, nldev_del(ROCE_RDMA_DEV));
	EXPECT_TRUE(sweep_set_up(&what, 3));
	ASSERT_EQ(0, nldev_add(ROCE_RDMA_DEV, "rxe", ROCE_DEV));
	EXPECT_TRUE(roce_connect());
}

TEST_HARNESS_MAIN
