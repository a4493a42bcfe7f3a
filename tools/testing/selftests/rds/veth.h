/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A second network namespace, joined to the caller's by a pair of veth
 * devices: what two hosts are to RDS over TCP, in one process. A socket stays
 * in the namespace that it was made in.
 */
#ifndef RDS_VETH_H
#define RDS_VETH_H

#include <stdbool.h>

/*
 * The addresses of the two ends. The lower address of two dials: with IPv4
 * that is the near end, with IPv6 the far one.
 */
#define VETH_DEV	"veth0"
#define VETH_NEAR_IPV4	"10.1.0.1"
#define VETH_FAR_IPV4	"10.1.0.2"
#define VETH_NEAR_IPV6	"fd01::2"
#define VETH_FAR_IPV6	"fd01::1"
/* More of the far end's */
#define VETH_FAR_IPV4_2	"10.1.0.3"
#define VETH_FAR_IPV6_2	"fd01::3"
#define VETH_PREFIX_IPV4	24
#define VETH_PREFIX_IPV6	64

/* Makes the far namespace; one made before is forgotten */
int veth_setup(void);
/* Moves the caller to the far namespace, and to the near one */
int veth_cross(void);
int veth_back(void);
/* Forgets the far namespace, which ends if nobody else is in it */
void veth_forget(void);
/* A socket of the far namespace, bound to one of its addresses or not */
int veth_far_socket(void);
int veth_far_bound(const char *addr, unsigned int port);
/* Waits until every lane between two sockets' addresses has found its peer */
bool veth_lanes_up(int near, int far);

#endif /* RDS_VETH_H */
