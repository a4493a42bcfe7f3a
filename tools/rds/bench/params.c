// SPDX-License-Identifier: GPL-2.0
/* The parameters of a run */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/params.h"

#define NR_PARAMS 15

void params_format(const struct params *params, char text[PARAMS_TEXT])
{
	snprintf(text, PARAMS_TEXT,
		 "%s %s size=%" PRIu32 " sockets=%" PRIu32 " count=%" PRIu64
		 " warmup=%" PRIu64 " duration=%.3f window=%" PRIu32
		 " batch=%" PRIu32 " buffer=%" PRIu32 " verify=%" PRIu32
		 " seed=%" PRIu32 " receiver=%" PRIu32 " ports=%" PRIu32
		 " timeout=%.3f",
		 params->workload, params->family, params->size,
		 params->sockets, params->count, params->warmup,
		 params->duration, params->window, params->batch,
		 params->buffer, params->verify, params->seed,
		 params->receiver, params->ports, params->timeout);
}

bool params_parse(struct params *params, const char *text)
{
	memset(params, 0, sizeof(*params));
	return sscanf(text,
		      "%15s %15s size=%" SCNu32 " sockets=%" SCNu32
		      " count=%" SCNu64 " warmup=%" SCNu64
		      " duration=%lf window=%" SCNu32 " batch=%" SCNu32
		      " buffer=%" SCNu32 " verify=%" SCNu32
		      " seed=%" SCNu32 " receiver=%" SCNu32
		      " ports=%" SCNu32 " timeout=%lf",
		      params->workload, params->family, &params->size,
		      &params->sockets, &params->count, &params->warmup,
		      &params->duration, &params->window, &params->batch,
		      &params->buffer, &params->verify, &params->seed,
		      &params->receiver, &params->ports,
		      &params->timeout) == NR_PARAMS;
}

const char *params_fault(const struct params *params)
{
	if (params->size > MAX_MESSAGE)
		return "a message has at most 1 MiB";
	if (params->size > params->buffer)
		return "a message must fit into the send buffer";
	if (!params->sockets || params->sockets > MAX_SOCKETS)
		return "1 to 256 sockets";
	if (params->ports + 2 * params->sockets > UINT16_MAX + 1)
		return "no RDS ports beyond 65535";
	if (!params->count == !params->duration)
		return "either a number of messages or a duration";
	if (!params->batch || params->batch > params->window)
		return "the window must hold at least one batch";
	if (!(params->timeout >= 0.1 && params->timeout <= 1e6))
		return "the timeout must be at least 0.1 s";
	return NULL;
}
