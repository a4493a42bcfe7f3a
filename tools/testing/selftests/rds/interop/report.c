// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "report.h"

#define MS 1000000

/* Sums over the flows of a group */
struct sums {
	uint32_t sent, received, lost, duplicated, reordered, corrupt;
	/* The same for messages that were not for this life, or were sent by an
	 * earlier one
	 */
	uint32_t stale_received, stale_holes;
	uint64_t bytes;
	unsigned int errors;
	int error;
};

static void add_flow(struct sums *sums, const struct flow *flow, bool returns)
{
	const struct ledger *ledger = &flow->ledger[returns];
	const struct ledger *old = &flow->ledger[0];
	uint32_t queued = flow->peer_queued, early;

	early = ledger->next < queued ? ledger->next : queued;
	sums->sent += flow->sent;
	sums->received += ledger->received;
	sums->lost += ledger_missing(ledger, flow->peer_stale,
				     flow->peer_sent);
	sums->duplicated += ledger->duplicated;
	sums->reordered += ledger->reordered;
	sums->corrupt += flow->corrupt;
	sums->bytes += flow->bytes;
	sums->errors += flow->errors;
	if (flow->error)
		sums->error = flow->error;
	sums->stale_received += early - ledger_missing(ledger, 0, early);
	if (returns) {
		sums->stale_received += old->received;
		sums->stale_holes += ledger_missing(old, 0, old->next);
		sums->duplicated += old->duplicated;
		sums->reordered += old->reordered;
	}
}

static void write_time(FILE *file, const char *name, uint64_t from, uint64_t to)
{
	if (from && to)
		fprintf(file, ", \"%s\": %lld", name,
			((long long)to - (long long)from) / MS);
	else
		fprintf(file, ", \"%s\": null", name);
}

static void write_count(FILE *file, const char *name, uint64_t count)
{
	fprintf(file, ", \"%s\": %llu", name, (unsigned long long)count);
}

static void write_group(FILE *file, const struct group *group,
			const struct report *report)
{
	struct sums sums = {};
	unsigned int i;

	for (i = 0; i < group->count; i++)
		add_flow(&sums, &group->flow[i], report->returns);
	fprintf(file, "{\"name\": \"%s\", \"error\": \"%s\"", group->name,
		sums.error ? strerror(sums.error) : "");
	write_count(file, "sent", sums.sent);
	write_count(file, "received", sums.received);
	write_count(file, "lost", sums.lost);
	write_count(file, "duplicated", sums.duplicated);
	write_count(file, "reordered", sums.reordered);
	write_count(file, "corrupt", sums.corrupt);
	write_count(file, "stale_received", sums.stale_received);
	write_count(file, "stale_holes", sums.stale_holes);
	write_count(file, "bytes", sums.bytes);
	write_count(file, "errors", sums.errors);
	write_time(file, "first_ms", report->start, group->heard[0]);
	write_time(file, "return_ms", report->met,
		   group->heard[report->returns]);
	fprintf(file, "}");
}

static void write_counters(FILE *file, const struct report *report)
{
	const struct rds_info_counter *entry;
	const char *comma = "";
	uint64_t before;
	unsigned int i;

	for (i = 0; i < report->after.count; i++) {
		entry = &report->after.entry[i];
		before = counters_value(&report->before,
					(const char *)entry->name);
		if (entry->value == before)
			continue;
		fprintf(file, "%s\"%.32s\": %lld", comma, entry->name,
			(long long)(entry->value - before));
		comma = ", ";
	}
}

void report_write(FILE *file, const struct report *report)
{
	unsigned int i;

	fprintf(file, "{\"groups\": [");
	for (i = 0; i < report->count; i++) {
		fprintf(file, i ? ",\n" : "\n");
		write_group(file, &report->groups[i], report);
	}
	fprintf(file, "],\n\"stuck\": %u, \"gave_up\": %s", report->stuck,
		report->gave_up ? "true" : "false");
	write_time(file, "ms", report->start, report->end);
	fprintf(file, ",\n\"counters\": {");
	write_counters(file, report);
	fprintf(file, "}}\n");
}
