/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When RDS over TCP is loaded, the kernel listens in every network namespace. A
 * program that plays a peer takes the connections to this port before the
 * kernel does, by a BPF program at the lookup of listeners.
 */
#ifndef SCALE_STEER_H
#define SCALE_STEER_H

#include <stdint.h>

/*
 * From now on, connections to @port in the caller's namespace go to the
 * listener last given to steer_to(). Without one they are refused.
 */
struct steer {
	int map;
	int prog;
	int link;
};

/* These return 0, or -1 with errno. */
int steer_start(struct steer *steer, uint16_t port);
int steer_to(const struct steer *steer, int listener);
void steer_stop(struct steer *steer);

#endif
