/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thousand RDS peers, played by one thread in a network namespace of its
 * own, which a veth joins to the caller's. Half of them have lower addresses
 * than the host under test and dial it, half have higher ones and wait for it
 * to dial, as RDS over TCP has it.
 *
 * Behind the honest ones there are PEERS_SILENT more, which give no answer,
 * each in a way of its own.
 */
#ifndef SCALE_PEERS_H
#define SCALE_PEERS_H

#include <netinet/in.h>

#include "tally.h"

#define PEERS_HOST	"10.2.0.1"

enum {
	PEERS_HUNG,	/* higher: takes a connection, never reads or writes */
	PEERS_DARK,	/* higher: no packet to it is answered */
	PEERS_DARK_LOW,	/* lower: the same */
	PEERS_SHY,	/* lower: resets connections and never dials */
	PEERS_SILENT,
};

struct peers;

/* Joins the caller's namespace to a new one with @nr honest peers. */
struct peers *peers_start(unsigned int nr);
void peers_stop(struct peers *peers);

/* Where peer @i is; those from @nr on are the silent ones. */
struct in_addr peers_address(const struct peers *peers, unsigned int i);

/*
 * The peers reset all connections and refuse new ones; their end of the veth
 * goes down. Or all that back again, when those with lower addresses dial.
 */
void peers_go_down(struct peers *peers);
void peers_come_up(struct peers *peers);

/* What they have counted */
struct tally *peers_tally(struct peers *peers);

/* A plain TCP listener in the peers' namespace, and where to find it */
int peers_plain_listener(const struct peers *peers, struct sockaddr_in *name);

#endif
