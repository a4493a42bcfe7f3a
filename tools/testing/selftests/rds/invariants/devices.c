// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses whose device is removed while they are used. ip(8) creates and
 * removes the devices; it reads commands from a pipe.
 */
#include "loop.h"

#include <fcntl.h>
#include <sched.h>

#define LINK 77

static const char *make_link =
	"link add rdstest index 77 type dummy\n"
	"link set rdstest up\n"
	"addr add fe80::77/64 dev rdstest nodad\n"
	"addr add 10.77.0.1/24 dev rdstest\n";

static char payload[64];

static struct rds_name link_local(unsigned int port)
{
	struct rds_name name = rds_name("fe80::77", port);

	name.in6.sin6_scope_id = LINK;
	return name;
}

/*
 * An address of a device makes bind() request a transport module, which takes
 * longer than the race may. The sysctl for this is that of the initial
 * namespace.
 */
static int set_autoload(const char *value)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int first = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int ret;

	if (home < 0 || first < 0 || setns(first, CLONE_NEWNET))
		return -1;
	ret = rds_sysctl_set("autoload", value);
	if (setns(home, CLONE_NEWNET))
		ret = -1;
	close(first);
	close(home);
	return ret;
}

struct race {
	atomic_bool *stop;
	unsigned long bound;
	unsigned long refused;
	long bad;
};

/* Bind, send to itself, and close; with or without the device. */
static void *bind_main(void *data)
{
	struct race *race = data;
	struct rds_name name;
	long ret;
	int fd;

	while (!*race->stop) {
		fd = rds_socket();
		ret = ERR(rds_bind(fd, link_local(0)));
		if (!ret) {
			race->bound++;
			name = rds_sockname(fd);
			rds_sendto(fd, payload, 8, MSG_DONTWAIT, &name);
			rds_set(fd, SOL_RDS, RDS_RECVERR, 1);
		} else if (ret == -EADDRNOTAVAIL) {
			race->refused++;
		} else {
			race->bad = ret;
		}
		close(fd);
	}
	return NULL;
}

TEST_F(loop, cve_2026_74563_bind_racing_link_deletion)
{
	struct race race[2] = {};
	atomic_bool stop = false;
	pthread_t thread[2];
	unsigned int i;
	FILE *ip;

	ASSERT_EQ(0, set_autoload("0"));
	ip = popen("ip -batch -", "w");
	ASSERT_NE(NULL, ip);
	for (i = 0; i < 2; i++) {
		race[i].stop = &stop;
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, bind_main,
					    &race[i]));
	}
	for (i = 0; i < few_or(30); i++)
		fprintf(ip, "%slink del rdstest\n", make_link);
	EXPECT_EQ(0, pclose(ip));
	stop = true;
	for (i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		EXPECT_LT(0, race[i].bound);
		EXPECT_LT(0, race[i].refused);
		EXPECT_EQ(0, race[i].bad);
	}
	EXPECT_EQ(0, set_autoload("1"));
}

/* A socket bound to an address that is gone is useless, but harmless. */
TEST_F(loop, i7_device_removed_under_bound_socket)
{
	struct rds_name name4 = rds_name("10.77.0.1", 4000);
	struct rds_name name6 = link_local(4000);
	int fd4, fd6;
	FILE *ip;

	ip = popen("ip -batch -", "w");
	ASSERT_NE(NULL, ip);
	fputs(make_link, ip);
	ASSERT_EQ(0, pclose(ip));
	fd4 = rds_socket();
	fd6 = rds_socket();
	ASSERT_EQ(0, rds_bind(fd4, name4));
	ASSERT_EQ(0, rds_bind(fd6, name6));
	EXPECT_TRUE(loop_works(fd4, fd4, &name4, 64));
	EXPECT_TRUE(loop_works(fd6, fd6, &name6, 64));

	ASSERT_EQ(0, system("ip link del rdstest"));
	rds_sendto(fd4, payload, 8, MSG_DONTWAIT, &name4);
	rds_sendto(fd6, payload, 8, MSG_DONTWAIT, &name6);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	close(fd4);
	close(fd6);
}

TEST_F(loop, i7_scope_of_no_device)
{
	struct rds_name name = link_local(4000);
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_bind(fd, name)));
	name.in6.sin6_scope_id = 0x7fffffff;
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_bind(fd, name)));
	name.in6.sin6_scope_id = 0xffffffff;
	EXPECT_EQ(-EADDRNOTAVAIL, ERR(rds_bind(fd, name)));
	name.in6.sin6_scope_id = 0;
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, name)));
	close(fd);
}

TEST_HARNESS_MAIN
