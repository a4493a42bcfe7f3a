// SPDX-License-Identifier: GPL-2.0
/* The namespaces of veth.h */
#define _GNU_SOURCE

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include "paths.h"
#include "veth.h"

static int near_ns = -1;
static int far_ns = -1;

static int own_ns(void)
{
	return open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
}

struct link_request {
	struct nlmsghdr nlh;
	struct ifinfomsg ifi;
	char attrs[512];
};

/* Append an attribute, in which others may be nested until link_close(). */
static struct rtattr *link_add(struct link_request *req, int type,
			       const void *data, size_t len)
{
	struct rtattr *attr = (void *)req + NLMSG_ALIGN(req->nlh.nlmsg_len);

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(attr), data, len);
	req->nlh.nlmsg_len = NLMSG_ALIGN(req->nlh.nlmsg_len) +
			     RTA_ALIGN(attr->rta_len);
	return attr;
}

/* Nest in @attr all attributes that were appended after it. */
static void link_close(struct link_request *req, struct rtattr *attr)
{
	attr->rta_len = (char *)req + req->nlh.nlmsg_len - (char *)attr;
}

int veth_join(int peer_ns)
{
	struct link_request req = {
		.nlh.nlmsg_len = NLMSG_LENGTH(sizeof(req.ifi)),
		.nlh.nlmsg_type = RTM_NEWLINK,
		.nlh.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE |
				   NLM_F_EXCL,
	};
	struct rtattr *info, *data, *peer;

	link_add(&req, IFLA_IFNAME, VETH_DEV, sizeof(VETH_DEV));
	info = link_add(&req, IFLA_LINKINFO, NULL, 0);
	link_add(&req, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = link_add(&req, IFLA_INFO_DATA, NULL, 0);
	peer = link_add(&req, VETH_INFO_PEER, NULL, 0);
	req.nlh.nlmsg_len += sizeof(struct ifinfomsg);
	link_add(&req, IFLA_IFNAME, VETH_DEV, sizeof(VETH_DEV));
	link_add(&req, IFLA_NET_NS_FD, &peer_ns, sizeof(peer_ns));
	link_close(&req, peer);
	link_close(&req, data);
	link_close(&req, info);
	return rds_netlink(&req.nlh);
}

static int set_up_end(const char *ipv4, const char *ipv6)
{
	return rds_up(VETH_DEV) ||
	       rds_address_on(VETH_DEV, ipv4, VETH_PREFIX_IPV4) ||
	       rds_address_on(VETH_DEV, ipv6, VETH_PREFIX_IPV6) ? -1 : 0;
}

void veth_forget(void)
{
	close(near_ns);
	close(far_ns);
	near_ns = -1;
	far_ns = -1;
}

int veth_setup(void)
{
	veth_forget();
	near_ns = own_ns();
	if (near_ns < 0 || rds_netns())
		return -1;
	far_ns = own_ns();
	if (far_ns < 0 || veth_back() || veth_join(far_ns) || veth_cross() ||
	    set_up_end(VETH_FAR_IPV4, VETH_FAR_IPV6) ||
	    rds_address_on(VETH_DEV, VETH_FAR_IPV4_2, VETH_PREFIX_IPV4) ||
	    rds_address_on(VETH_DEV, VETH_FAR_IPV6_2, VETH_PREFIX_IPV6) ||
	    veth_back())
		return -1;
	return set_up_end(VETH_NEAR_IPV4, VETH_NEAR_IPV6);
}

int veth_cross(void)
{
	return setns(far_ns, CLONE_NEWNET);
}

int veth_back(void)
{
	return setns(near_ns, CLONE_NEWNET);
}

int veth_far_socket(void)
{
	int fd, err;

	if (veth_cross())
		return -1;
	fd = rds_socket();
	err = errno;
	if (veth_back())
		abort();
	errno = err;
	return fd;
}

int veth_far_bound(const char *addr, unsigned int port)
{
	int fd, err;

	if (veth_cross())
		return -1;
	fd = rds_bound(addr, port);
	err = errno;
	if (veth_back())
		abort();
	errno = err;
	return fd;
}

/* Every path begins with a congestion map in each direction. */
bool veth_paths_up(int near, int far)
{
	unsigned long established;
	unsigned int left;

	for (left = 30000; left; left--) {
		int up = rds_tcp_paths_up(near, &established);

		if (up > 0 && !(up % 8) &&
		    rds_tcp_paths_up(far, &established) == up &&
		    rds_counter(near, "cong_update_received") >= up &&
		    rds_counter(far, "cong_update_received") >= up)
			return true;
		usleep(1000);
	}
	return false;
}

bool veth_warm_up(const char *near, const char *far)
{
	int a = rds_bound(near, 0);
	int b = veth_far_bound(far, 0);
	struct rds_name name = rds_sockname(b);
	bool up;

	up = rds_sendto(a, NULL, 0, 0, &name) == 0 && rds_arrived(b) &&
	     veth_paths_up(a, b);
	close(a);
	close(b);
	return up;
}

bool veth_connect(void)
{
	if (veth_setup())
		return false;
	if (rds_wants_variant("tcp_ipv4") &&
	    !veth_warm_up(VETH_NEAR_IPV4, VETH_FAR_IPV4))
		return false;
	return !rds_wants_variant("tcp_ipv6") ||
	       veth_warm_up(VETH_NEAR_IPV6, VETH_FAR_IPV6);
}

bool veth_renew(void)
{
	bool had = near_ns >= 0;

	return !rds_netns() && (!had || veth_connect());
}
