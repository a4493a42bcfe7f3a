/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An RDMA device in software (RoCE), for RDS over RDMA from the host to itself.
 * RDS serves such devices in the initial network namespace only, so that is
 * where it is, and where whoever uses it has to be.
 */
#ifndef RDS_ROCE_H
#define RDS_ROCE_H

/* As scripts/vm/run --rdma rxe names them */
#define ROCE_DEV	"roce0"
#define ROCE_RDMA_DEV	"rxe0"
#define ROCE_NEAR_IPV4	"10.0.0.1"
#define ROCE_NEAR_IPV6	"fd00::1"
/* More addresses of the same device: for the other end, and for a third */
#define ROCE_FAR_IPV4	"10.0.0.2"
#define ROCE_FAR_IPV6	"fd00::2"
#define ROCE_FAR_IPV4_2	"10.0.0.3"
#define ROCE_FAR_IPV6_2	"fd00::3"
#define ROCE_PREFIX_IPV4	24
#define ROCE_PREFIX_IPV6	64

/*
 * Has the device, its addresses and the transport ready. A device made for it
 * is removed when the program ends. Leaves the caller where it was.
 */
int roce_setup(void);
/* Moves the caller to where the device is */
int roce_enter(void);

#endif /* RDS_ROCE_H */
