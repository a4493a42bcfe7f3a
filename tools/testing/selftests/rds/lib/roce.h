/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A software RDMA device (RoCE), for RDS over RDMA from this host to itself.
 * RDS serves such devices in the initial network namespace only. So the device
 * is there, and its users must be there, too.
 */
#ifndef RDS_ROCE_H
#define RDS_ROCE_H

#include <stdbool.h>

/* The names and addresses that scripts/vm/run --rdma rxe uses */
#define ROCE_DEV	"roce0"
#define ROCE_RDMA_DEV	"rxe0"
#define ROCE_NEAR_IPV4	"10.0.0.1"
#define ROCE_NEAR_IPV6	"fd00::1"
/* More addresses of the same device, for the other end and for a third one */
#define ROCE_FAR_IPV4	"10.0.0.2"
#define ROCE_FAR_IPV6	"fd00::2"
#define ROCE_FAR_IPV4_2	"10.0.0.3"
#define ROCE_FAR_IPV6_2	"fd00::3"
#define ROCE_PREFIX_IPV4	24
#define ROCE_PREFIX_IPV6	64

/*
 * Set up the device, its addresses and the transport. If this creates the
 * device, it is removed when the program ends. The caller stays in its
 * namespace.
 */
int roce_setup(void);
/* Move the caller to the namespace of the device. */
int roce_enter(void);
/*
 * Set up the device, and send a message each way by both address families. The
 * congestion maps arrive before the messages, not in the middle of a test.
 */
bool roce_connect(void);
/*
 * Return a socket bound to @addr, an address of any RDMA device that has just
 * been set up: its GID may come later than the address. Returns -1 if it does
 * not come.
 */
int roce_await_bound(const char *addr);

#endif /* RDS_ROCE_H */
