// SPDX-License-Identifier: GPL-2.0
/* Print the results, as text for people and as JSON for programs. */
#include <inttypes.h>
#include <stdio.h>

#include "json.h"
#include "bench/report.h"

static double seconds(const struct tally *total)
{
	return (total->end - total->begin) / 1e9;
}

static double rate(const struct tally *total)
{
	return seconds(total) > 0 ? total->measured / seconds(total) : 0;
}

/*
 * Return the rate of the timed messages in megabytes per second. The mean size
 * of a message includes the warm-up.
 */
static double megabytes_per_second(const struct tally *total)
{
	if (!total->received)
		return 0;
	return rate(total) * total->bytes / total->received / 1e6;
}

static double usec_each(const struct tally *total)
{
	return total->measured ? seconds(total) * 1e6 / total->measured : 0;
}

static const struct {
	const char	*key;
	double		part;
} percentiles[] = {
	{ "p50", 0.5 },
	{ "p90", 0.9 },
	{ "p99", 0.99 },
	{ "p999", 0.999 },
};

#define NR_PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static void text_latency(const struct hist *hist)
{
	size_t i;

	printf("  latency, us    min %.2f", hist->min / 1e3);
	for (i = 0; i < NR_PERCENTILES; i++)
		printf(", %s %.2f", percentiles[i].key,
		       hist_percentile(hist, percentiles[i].part) / 1e3);
	printf(", max %.2f\n", hist->max / 1e3);
}

void report_text(const struct params *params, const struct tally *total,
		 const char *unit)
{
	printf("%s %s", params->family, params->workload);
	if (params->size)
		printf(", %" PRIu32 " bytes", params->size);
	printf(", %" PRIu32 " socket%s a side%s\n", params->sockets,
	       params->sockets == 1 ? "" : "s",
	       params->verify ? ", verified" : "");
	printf("  %-14s %" PRIu64 " in %.3f s\n", unit, total->measured,
	       seconds(total));
	printf("  rate           %.0f /s, %.2f us each, %.1f MB/s\n",
	       rate(total), usec_each(total), megabytes_per_second(total));
	if (total->hist.nr)
		text_latency(&total->hist);
	printf("  messages       %" PRIu64 " sent, %" PRIu64 " received, %"
	       PRIu64 " bytes\n", total->sent, total->received, total->bytes);
	printf("  lost           %" PRIu64 "\n", tally_lost(total));
	if (params->verify) {
		printf("  duplicated     %" PRIu64 "\n", total->duplicated);
		printf("  reordered      %" PRIu64 "\n", total->reordered);
		printf("  corrupted      %" PRIu64 "\n", total->corrupted);
	}
	if (total->timed_out)
		printf("  TIMED OUT      %" PRIu64 " workers, after %.1f s\n",
		       total->timed_out, params->timeout);
	if (total->failed)
		printf("  FAILED         %" PRIu64 " workers\n", total->failed);
	fflush(stdout);
}

static void json_latency(const struct hist *hist)
{
	size_t i;

	json_object("latency_us");
	json_fixed("min", hist->min / 1e3, 3);
	for (i = 0; i < NR_PERCENTILES; i++)
		json_fixed(percentiles[i].key,
			   hist_percentile(hist, percentiles[i].part) / 1e3,
			   3);
	json_fixed("max", hist->max / 1e3, 3);
	json_end();
}

void report_json(const struct params *params, const struct tally *total)
{
	json_object(NULL);
	json_string("family", params->family);
	json_string("workload", params->workload);
	json_unsigned("size", params->size);
	json_unsigned("sockets", params->sockets);
	json_unsigned("measured", total->measured);
	json_fixed("seconds", seconds(total), 6);
	json_fixed("per_second", rate(total), 1);
	json_fixed("usec_each", usec_each(total), 3);
	json_fixed("mb_per_second", megabytes_per_second(total), 2);
	if (total->hist.nr)
		json_latency(&total->hist);
	json_unsigned("sent", total->sent);
	json_unsigned("received", total->received);
	json_unsigned("bytes", total->bytes);
	json_unsigned("lost", tally_lost(total));
	/* Without verification these numbers are unknown. */
	if (params->verify) {
		json_unsigned("duplicated", total->duplicated);
		json_unsigned("reordered", total->reordered);
		json_unsigned("corrupted", total->corrupted);
	}
	json_unsigned("timed_out", total->timed_out);
	json_unsigned("failed", total->failed);
	json_end();
}
