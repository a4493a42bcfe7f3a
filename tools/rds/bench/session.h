/* SPDX-License-Identifier: GPL-2.0 */
/* One run of a workload, on the client and on the server */
#ifndef RDS_BENCH_SESSION_H
#define RDS_BENCH_SESSION_H

#include <stdbool.h>

#include "addr.h"
#include "bench/control.h"
#include "bench/params.h"
#include "bench/tally.h"

/*
 * Run a workload. @local is the address to bind data sockets to. The client
 * adds up the tallies of both sides in @total. If @progress, it prints its own
 * progress about once a second. The server returns whether the client has found
 * the run fine. Both functions exit the process on failure.
 */
void session_client(struct control *control, const struct params *params,
		    const union addr *local, struct tally *total,
		    bool progress);
bool session_server(struct control *control, const union addr *local);

#endif
