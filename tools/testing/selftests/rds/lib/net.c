// SPDX-License-Identifier: GPL-2.0
/* The helpers of rds_test.h for network namespaces, interfaces, addresses */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "rds_test.h"

#define LOOPBACK_IFINDEX 1

/* Set the flags of a network device of the caller's namespace. */
static int set_flags(const char *dev, short flags)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq ifr = { .ifr_flags = flags };
	int ret;

	if (fd < 0)
		return -1;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", dev);
	ret = ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
	return ret;
}

int rds_up(const char *dev)
{
	return set_flags(dev, IFF_UP);
}

int rds_down(const char *dev)
{
	return set_flags(dev, 0);
}

/* Move the caller to a new network namespace, with lo up. */
int rds_netns(void)
{
	if (unshare(CLONE_NEWNET))
		return -1;
	return rds_up("lo");
}

/* Move the caller to the initial namespace, that of process 1. */
int rds_initial_netns(void)
{
	int fd = open("/proc/1/ns/net", O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -1;
	ret = setns(fd, CLONE_NEWNET);
	close(fd);
	return ret;
}

int rds_netlink(const struct nlmsghdr *request)
{
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
	} reply;
	int ret = -1;
	int fd;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -1;
	/* The rest of the reply repeats the request. */
	if (send(fd, request, request->nlmsg_len, 0) >= 0 &&
	    recv(fd, &reply, sizeof(reply), 0) >= 0) {
		errno = -reply.err.error;
		ret = errno ? -1 : 0;
	}
	close(fd);
	return ret;
}

struct addr_request {
	struct nlmsghdr nlh;
	struct ifaddrmsg ifa;
	struct rtattr attr;
	unsigned char addr[sizeof(struct in6_addr)];
};

static int addr_change(const char *addr, bool add, int ifindex,
		       unsigned int prefix)
{
	struct rds_name name = rds_name(addr, 0);
	bool ipv4 = name.sa.sa_family == AF_INET;
	size_t len = ipv4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	struct addr_request req = {
		.nlh.nlmsg_type = add ? RTM_NEWADDR : RTM_DELADDR,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK |
				   (add ? NLM_F_CREATE | NLM_F_EXCL : 0),
		.ifa.ifa_family = name.sa.sa_family,
		.ifa.ifa_prefixlen = prefix ?: len * 8,
		.ifa.ifa_flags = IFA_F_NODAD,
		.ifa.ifa_index = ifindex,
		.attr.rta_type = IFA_LOCAL,
		.attr.rta_len = RTA_LENGTH(len),
	};

	req.nlh.nlmsg_len = offsetof(struct addr_request, addr) + len;
	if (ipv4)
		memcpy(req.addr, &name.in.sin_addr, len);
	else
		memcpy(req.addr, &name.in6.sin6_addr, len);
	return rds_netlink(&req.nlh) && errno != EEXIST ? -1 : 0;
}

/* Add @addr to lo as a single address, unless lo has it, or remove it. */
int rds_address(const char *addr, bool add)
{
	return addr_change(addr, add, LOOPBACK_IFINDEX, 0);
}

/* Add @addr to another device, with the prefix of its network. */
int rds_address_on(const char *dev, const char *addr, unsigned int prefix)
{
	return addr_change(addr, true, if_nametoindex(dev), prefix);
}

int rds_address_off(const char *dev, const char *addr, unsigned int prefix)
{
	return addr_change(addr, false, if_nametoindex(dev), prefix);
}
