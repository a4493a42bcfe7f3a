// SPDX-License-Identifier: GPL-2.0
/* The device of roce.h */
#define _GNU_SOURCE

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rds_test.h"
#include "roce.h"

static pid_t maker;

/* If the interface is deleted, the RDMA device is removed, too. */
static void remove_device(void)
{
	if (getpid() == maker && !roce_enter())
		system("ip link del " ROCE_DEV);
}

/*
 * Create the interface and its RDMA device. modprobe may fail, because the
 * module may be built in.
 */
static int make_device(void)
{
	maker = getpid();
	if (atexit(remove_device) ||
	    system("ip link add " ROCE_DEV " type dummy") || rds_up(ROCE_DEV))
		return -1;
	system("modprobe -q rdma_rxe");
	return system("rdma link add " ROCE_RDMA_DEV
		      " type rxe netdev " ROCE_DEV);
}

static int find_device(void)
{
	return if_nametoindex(ROCE_DEV) ? 0 : make_device();
}

static int set_up_addresses(void)
{
	static const char *const ipv4[] = {
		ROCE_NEAR_IPV4, ROCE_FAR_IPV4, ROCE_FAR_IPV4_2,
	};
	static const char *const ipv6[] = {
		ROCE_NEAR_IPV6, ROCE_FAR_IPV6, ROCE_FAR_IPV6_2,
	};
	unsigned int i;

	for (i = 0; i < 3; i++)
		if (rds_address_on(ROCE_DEV, ipv4[i], ROCE_PREFIX_IPV4) ||
		    rds_address_on(ROCE_DEV, ipv6[i], ROCE_PREFIX_IPV6))
			return -1;
	return 0;
}

/* The module is loaded only when a socket asks for this transport. */
static int load_transport(void)
{
	int fd = rds_socket();
	int ret = rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB);

	close(fd);
	return ret;
}

int roce_enter(void)
{
	return rds_initial_netns();
}

int roce_setup(void)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	int ret;

	if (home < 0)
		return -1;
	ret = roce_enter() || find_device() || set_up_addresses() ||
	      load_transport() ? -1 : 0;
	if (setns(home, CLONE_NEWNET))
		ret = -1;
	close(home);
	return ret;
}

static bool exchange_messages(const char *near, const char *far)
{
	int a = rds_bound(near, 0);
	int b = rds_bound(far, 0);
	struct rds_name a_name = rds_sockname(a);
	struct rds_name b_name = rds_sockname(b);
	bool up;

	up = rds_sendto(a, NULL, 0, 0, &b_name) == 0 && rds_arrived(b) &&
	     rds_sendto(b, NULL, 0, 0, &a_name) == 0 && rds_arrived(a);
	close(a);
	close(b);
	return up;
}

/* A child process sends, because it may stay in the namespace of the device. */
bool roce_connect(void)
{
	int status = -1;
	pid_t pid;

	if (roce_setup())
		return false;
	pid = fork();
	if (!pid)
		_exit(roce_enter() ||
		      !exchange_messages(ROCE_NEAR_IPV4, ROCE_FAR_IPV4) ||
		      !exchange_messages(ROCE_NEAR_IPV6, ROCE_FAR_IPV6));
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

int roce_await_bound(const char *addr)
{
	unsigned int left;
	int fd = -1;

	for (left = 300; left; left--) {
		fd = rds_socket();
		if (!rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB) &&
		    !rds_bind(fd, rds_name(addr, 0)))
			return fd;
		close(fd);
		usleep(100000);
	}
	return -1;
}
