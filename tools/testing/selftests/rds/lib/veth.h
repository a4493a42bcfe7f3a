/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second network namespace, joined to the caller's by a pair of veth devices.
 * To RDS over TCP, the two namespaces are two hosts, but one process can use
 * both. A socket stays in the namespace in which it was created.
 */
#ifndef RDS_VETH_H
#define RDS_VETH_H

#include <stdbool.h>

/*
 * The addresses of the two ends. The end with the lower address dials. With
 * IPv4 that is the near end, with IPv6 the far end.
 */
#define VETH_DEV	"veth0"
#define VETH_NEAR_IPV4	"10.1.0.1"
#define VETH_FAR_IPV4	"10.1.0.2"
#define VETH_NEAR_IPV6	"fd01::2"
#define VETH_FAR_IPV6	"fd01::1"
/* More addresses of the far end */
#define VETH_FAR_IPV4_2	"10.1.0.3"
#define VETH_FAR_IPV6_2	"fd01::3"
#define VETH_PREFIX_IPV4	24
#define VETH_PREFIX_IPV6	64

/*
 * Create a pair of devices, both called VETH_DEV: one in the caller's namespace
 * and one in @peer_ns.
 */
int veth_join(int peer_ns);
/* Create the far namespace. An earlier one is forgotten. */
int veth_setup(void);
/* Move the caller to the far namespace, and back to the near one. */
int veth_cross(void);
int veth_back(void);
/* Forget the far namespace, which ends unless something else uses it. */
void veth_forget(void);
/* Open a socket in the far namespace, unbound or bound to an address there. */
int veth_far_socket(void);
int veth_far_bound(const char *addr, unsigned int port);
/*
 * Wait until all TCP paths between the namespaces of two sockets are UP, and
 * both ends have received congestion maps.
 */
bool veth_paths_up(int near, int far);
/*
 * Bring up the paths between an address of each end, and let their congestion
 * maps arrive. Otherwise these may arrive in the middle of a test that counts
 * messages or maps.
 */
bool veth_warm_up(const char *near, const char *far);
/*
 * Create the far namespace, and warm up the variants tcp_ipv4 and tcp_ipv6, as
 * far as they are to be run.
 */
bool veth_connect(void);
/* Move to another namespace, and if there is a far one, connect another. */
bool veth_renew(void);

#endif /* RDS_VETH_H */
