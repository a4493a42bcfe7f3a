/* SPDX-License-Identifier: GPL-2.0 */
/* One run of a workload, seen from either side of the control channel. */
#ifndef RDS_BENCH_SESSION_H
#define RDS_BENCH_SESSION_H

#include <stdbool.h>

#include "addr.h"
#include "bench/control.h"
#include "bench/params.h"
#include "bench/tally.h"

/*
 * @local is the address to bind data sockets to. The client sums up what
 * both sides counted in @total; @progress has it print what it has done about
 * once a second. Both end the process if they cannot go on.
 */
void session_client(struct control *control, const struct params *params,
		    const union addr *local, struct tally *total,
		    bool progress);
void session_server(struct control *control, const union addr *local);

#endif
