// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over RDMA devices: events of a port that is up all the time, and of
 * addresses
 */
#include "verbs.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/*
 * Any change of an interface whose link is up makes soft-RoCE report that the
 * port has come up. A connection that has completions outstanding then, but
 * makes progress, stays.
 */
TEST_F(rdma, port_comes_up_again_under_traffic)
{
	struct flow flow;
	char change[64];
	int64_t resets;
	unsigned int i;

	ASSERT_EQ(0, spare_add());
	ASSERT_TRUE(flow_start(&flow));
	ASSERT_TRUE(flow_goes_on(&flow, 50));
	resets = rds_counter(self->a, "conn_reset");
	for (i = 0; i < 10; i++) {
		snprintf(change, sizeof(change),
			 "ip link set " SPARE_DEV " alias n%u", i);
		EXPECT_EQ(0, system(change));
		usleep(300000);
	}
	EXPECT_TRUE(flow_goes_on(&flow, 50));
	EXPECT_EQ(resets, rds_counter(self->a, "conn_reset"));
	EXPECT_EQ(0, flow_end(&flow));
}

#define NEW_ADDRESS "fd00::77"

/* As any user may do in a namespace of his own, add and remove an address all
 * the time.
 */
static void change_addresses(void)
{
	struct {
		struct in6_addr	addr;
		uint32_t	prefixlen;
		int		ifindex;
	} args = { .prefixlen = 64, .ifindex = 1 };
	int fd;

	/* The change of the user ends what was set before. */
	if (setuid(65534) || prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    unshare(CLONE_NEWUSER | CLONE_NEWNET))
		_exit(1);
	inet_pton(AF_INET6, "fd77::1", &args.addr);
	fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	while (!ioctl(fd, SIOCSIFADDR, &args) && !ioctl(fd, SIOCDIFADDR, &args))
		;
	_exit(1);
}

static bool rds_listens_at_new_address(void)
{
	return !system("rdma resource show cm_id | grep -q '" NEW_ADDRESS
		       ":16385'");
}

/* RDS listens at each IPv6 address of a device. */
TEST_F(rdma, listens_while_users_change_their_addresses)
{
	pid_t pid = fork();
	unsigned int i;

	ASSERT_LE(0, pid);
	if (!pid)
		change_addresses();
	usleep(500000);
	ASSERT_FALSE(rds_listens_at_new_address());
	EXPECT_EQ(0, system("ip address add " NEW_ADDRESS "/64 dev " ROCE_DEV
			    " nodad"));
	for (i = 0; i < 50 && !rds_listens_at_new_address(); i++)
		usleep(100000);
	EXPECT_GT(50, i);
	EXPECT_EQ(0, waitpid(pid, NULL, WNOHANG));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(0, system("ip address del " NEW_ADDRESS "/64 dev "
			    ROCE_DEV));
}

TEST_HARNESS_MAIN
