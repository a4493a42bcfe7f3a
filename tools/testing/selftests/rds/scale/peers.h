/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thousand RDS peers, played by one thread in a network namespace of its own,
 * which a veth joins to the caller's. Half of them have lower addresses than
 * the host under test and dial it. The other half have higher addresses and
 * wait for the host to dial, as RDS over TCP specifies.
 *
 * Behind the honest peers there are PEERS_SILENT more, which do not reply, each
 * in a way of its own.
 */
#ifndef SCALE_PEERS_H
#define SCALE_PEERS_H

#include <netinet/in.h>

#include "tally.h"

#define PEERS_HOST	"10.2.0.1"

enum {
	PEERS_HUNG,	/* higher: accepts a connection, does no more */
	PEERS_DARK,	/* higher: no packet to it gets a reply */
	PEERS_DARK_LOW,	/* lower: the same */
	PEERS_SHY,	/* lower: resets connections and never dials */
	PEERS_SILENT,
};

struct peers;

/* Join the caller's namespace to a new one with @nr honest peers. */
struct peers *peers_start(unsigned int nr);
void peers_stop(struct peers *peers);

/* Return the address of peer @i; those from @nr on are the silent ones. */
struct in_addr peers_address(const struct peers *peers, unsigned int i);

/*
 * Down: the peers reset all connections and refuse new ones, and their end of
 * the veth goes down. Up: the reverse; then those with lower addresses dial.
 */
void peers_go_down(struct peers *peers);
void peers_come_up(struct peers *peers);

/* Return the counts of the peers. */
struct tally *peers_tally(struct peers *peers);

/* Open a plain TCP listener in the peers' namespace; get its name. */
int peers_plain_listener(const struct peers *peers, struct sockaddr_in *name);

#endif
