// SPDX-License-Identifier: GPL-2.0
/*
 * Modules are unloaded, and namespaces end, while messages flow. RDS_ROUNDS is
 * the number of rounds (default 100). RDS_MODPROBE_D names the directory of the
 * packaged modprobe configuration.
 */
#include "loop.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MAX_LEN 20000

static unsigned int rounds(void)
{
	const char *text = getenv("RDS_ROUNDS");

	return text ? atoi(text) : 100;
}

/* A process that sends to itself and checks what arrives */
struct traffic {
	pid_t pid;
	int up;
};

static atomic_bool stop;

static void on_term(int sig)
{
	stop = true;
}

static bool exchange(int a, int b, const struct rds_name *to,
		     unsigned int number)
{
	static char out[MAX_LEN], in[MAX_LEN];
	ssize_t len = number * 7919 % MAX_LEN;

	rds_fill(out, len, number);
	return rds_sendto(a, out, len, 0, to) == len &&
	       rds_recv(b, in, sizeof(in)) == len && rds_check(in, len, number);
}

static int traffic_main(int up)
{
	struct rds_name to = rds_name("127.0.0.2", 5001);
	int a = rds_bound("127.0.0.1", 5000);
	int b = rds_bound("127.0.0.2", 5001);
	unsigned int number;

	signal(SIGTERM, on_term);
	for (number = 0; !stop; number++) {
		if (!exchange(a, b, &to, number))
			return 1;
		if (number == 10 && write(up, "x", 1) != 1)
			return 2;
	}
	return rds_silent(b) ? 0 : 3;
}

/* Start it; return when messages flow. */
static bool traffic_start(struct traffic *traffic, int flags)
{
	char byte;
	int up[2];

	if (pipe(up))
		return false;
	traffic->pid = fork();
	if (!traffic->pid) {
		close(up[0]);
		_exit(flags && rds_netns() ? 4 : traffic_main(up[1]));
	}
	close(up[1]);
	traffic->up = up[0];
	return read(up[0], &byte, 1) == 1;
}

/* Return its exit status, or 100 plus the signal that killed it. */
static int traffic_stop(struct traffic *traffic, int sig)
{
	int status;

	kill(traffic->pid, sig);
	waitpid(traffic->pid, &status, 0);
	close(traffic->up);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   100 + WTERMSIG(status);
}

/* Each namespace ends with messages in flight, sent and unread. */
TEST_F_TIMEOUT(loop, i10_namespaces_end_under_traffic, LONG)
{
	struct traffic here, there;
	unsigned int i;

	ASSERT_TRUE(traffic_start(&here, 0));
	for (i = 0; i < rounds(); i++) {
		ASSERT_TRUE(traffic_start(&there, CLONE_NEWNET));
		EXPECT_EQ(100 + SIGKILL, traffic_stop(&there, SIGKILL));
	}
	EXPECT_EQ(0, traffic_stop(&here, SIGTERM));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* Several at a time, so that they end in one batch */
TEST_F_TIMEOUT(loop, i10_namespaces_end_together, LONG)
{
	struct traffic there[8];
	unsigned int i, j;

	for (i = 0; i < rounds() / 10; i++) {
		for (j = 0; j < ARRAY_SIZE(there); j++)
			ASSERT_TRUE(traffic_start(&there[j], CLONE_NEWNET));
		for (j = 0; j < ARRAY_SIZE(there); j++)
			EXPECT_EQ(j % 2 ? 0 : 100 + SIGKILL,
				  traffic_stop(&there[j],
					       j % 2 ? SIGTERM : SIGKILL));
	}
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

struct module {
	const char *name;
	char path[256];
};

static bool module_find(struct module *module, const char *name)
{
	FILE *modinfo;
	char command[64];

	module->name = name;
	snprintf(command, sizeof(command), "modinfo -n %s", name);
	modinfo = popen(command, "r");
	if (!modinfo || !fgets(module->path, sizeof(module->path), modinfo))
		return false;
	module->path[strcspn(module->path, "\n")] = '\0';
	return !pclose(modinfo);
}

static long module_load(const struct module *module)
{
	int fd = open(module->path, O_RDONLY | O_CLOEXEC);
	long ret;

	if (fd < 0)
		return -errno;
	ret = ERR(syscall(SYS_finit_module, fd, "", 0));
	close(fd);
	return ret;
}

static long unload(const struct module *module)
{
	return module_unload(module->name);
}

FIXTURE(modules) {
	struct module rds;
	struct module loop;
};

FIXTURE_SETUP(modules)
{
	static const char *const others[] = { "rds_tcp", "rds_rdma" };
	unsigned int i;

	ASSERT_TRUE(module_find(&self->rds, "rds"));
	ASSERT_TRUE(module_find(&self->loop, "rds_loop"));
	/* These would hold a reference to the others. */
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (module_users(others[i]) < 0)
			continue;
		ASSERT_TRUE(module_users_fall_to(others[i], 0));
		ASSERT_EQ(0, module_unload(others[i]));
	}
}

FIXTURE_TEARDOWN(modules)
{
	EXPECT_LE(0, module_users("rds"));
}

/* Run the command that operators use, with the configuration that we ship. */
static int modprobe_remove(void)
{
	const char *dir = getenv("RDS_MODPROBE_D");
	char command[512];

	snprintf(command, sizeof(command),
		 "modprobe %s %s -r rds_tcp rds 2>/dev/null", dir ? "-C" : "",
		 dir ?: "");
	return system(command);
}

TEST_F_TIMEOUT(modules, i11_unload_under_traffic, LONG)
{
	struct traffic traffic;
	unsigned int i;

	ASSERT_TRUE(traffic_start(&traffic, 0));
	for (i = 0; i < rounds(); i++) {
		/* In use: neither way unloads it. */
		EXPECT_EQ(-EWOULDBLOCK, unload(&self->loop));
		EXPECT_EQ(-EWOULDBLOCK, unload(&self->rds));
		if (!i)
			EXPECT_NE(0, modprobe_remove());
		EXPECT_EQ(0, traffic_stop(&traffic, SIGTERM));
		ASSERT_TRUE(module_users_fall_to("rds_loop", 0));
		if (!i) {
			ASSERT_TRUE(module_users_fall_to("rds", 1));
			EXPECT_EQ(0, modprobe_remove());
			EXPECT_EQ(-1, module_users("rds"));
		} else {
			ASSERT_EQ(0, unload(&self->loop));
			ASSERT_TRUE(module_users_fall_to("rds", 0));
			ASSERT_EQ(0, unload(&self->rds));
		}
		EXPECT_EQ(-EAFNOSUPPORT, ERR(rds_socket()));
		ASSERT_EQ(0, module_load(&self->rds));
		/* In every other round this module is loaded on demand. */
		if (i % 2)
			ASSERT_EQ(0, module_load(&self->loop));
		ASSERT_TRUE(traffic_start(&traffic, 0));
	}
	EXPECT_EQ(0, traffic_stop(&traffic, SIGTERM));
}

/* The process is killed while it sends: messages sent and not read are freed.
 */
TEST_F_TIMEOUT(modules, i11_unload_after_kill, LONG)
{
	struct traffic traffic;
	unsigned int i;

	for (i = 0; i < rounds() / 10; i++) {
		ASSERT_TRUE(traffic_start(&traffic, 0));
		EXPECT_EQ(100 + SIGKILL, traffic_stop(&traffic, SIGKILL));
		ASSERT_TRUE(module_users_fall_to("rds_loop", 0));
		ASSERT_EQ(0, unload(&self->loop));
		ASSERT_TRUE(module_users_fall_to("rds", 0));
		ASSERT_EQ(0, unload(&self->rds));
		ASSERT_EQ(0, module_load(&self->rds));
	}
}

TEST_HARNESS_MAIN
