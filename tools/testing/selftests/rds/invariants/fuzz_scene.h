/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the sockets of the fuzzer are: two namespaces joined by veth, and the
 * one of an RDMA device if there is one
 */
#ifndef RDS_FUZZ_SCENE_H
#define RDS_FUZZ_SCENE_H

#include "rds_test.h"

/* Set up the scene, in the namespace of the caller. */
bool fuzz_scene_init(void);
void fuzz_scene_end(void);
bool fuzz_scene_has_rdma(void);
/* Has a socket of each type been opened? */
bool fuzz_scene_was_used(void);

/*
 * Places for sockets: near, far, at the RDMA device, and in a namespace that
 * belongs to an unprivileged user
 */
#define FUZZ_NEAR	0
#define FUZZ_FAR	1
#define FUZZ_RDMA	2
#define FUZZ_FOREIGN	3
#define FUZZ_WHERES	4

/* socket() in one of these places */
int fuzz_scene_socket(unsigned int where, int type, int protocol);
/* The place of a name; where an unknown one is does not matter. */
unsigned int fuzz_scene_where(uint64_t name);
/*
 * Cases that run at the same time do so in different lanes. A port from 4000
 * to 4099 is another one in each, so that they do not take each other's.
 */
extern __thread unsigned int fuzz_lane;
/*
 * A name of the table of addresses, which begins with 1. @len replaces the
 * right length unless it is 0.
 */
struct rds_name fuzz_scene_name(uint64_t name, uint64_t port, uint64_t len);

/* The tunables of the near namespace, and their first values */
void fuzz_sysctl_write(uint64_t index, uint64_t value);
void fuzz_sysctl_restore(void);
#define FUZZ_SYSCTLS	22

#endif /* RDS_FUZZ_SCENE_H */
