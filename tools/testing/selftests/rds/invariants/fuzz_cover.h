/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Coverage by KCOV: which places of the modules the calls of a thread have
 * reached. In a kernel that traces nothing but these modules, no other place
 * gets in here.
 */
#ifndef RDS_FUZZ_COVER_H
#define RDS_FUZZ_COVER_H

#include <stdbool.h>
#include <stdint.h>

/* What one thread reaches */
struct fuzz_trace {
	int fd;
	uint64_t *area;	/* NULL: there is no KCOV */
};

/* Set up the trace of the calling thread. Without KCOV it stays empty. */
void fuzz_trace_open(struct fuzz_trace *trace);
void fuzz_trace_close(struct fuzz_trace *trace);
void fuzz_trace_clear(struct fuzz_trace *trace);

/* A set of places */
struct fuzz_places {
	uint64_t *slot;
	unsigned int count;
};

bool fuzz_places_init(struct fuzz_places *places);
void fuzz_places_free(struct fuzz_places *places);
void fuzz_places_clear(struct fuzz_places *places);
/* Add what a trace has reached. Returns how many places are new. */
unsigned int fuzz_places_add(struct fuzz_places *places,
			     const struct fuzz_trace *trace);
/* Whether all places of @part are in @places, too */
bool fuzz_places_include(const struct fuzz_places *places,
			 const struct fuzz_places *part);
/* Add to @places what is in @more, and not in @except if that is given. */
void fuzz_places_join(struct fuzz_places *places,
		      const struct fuzz_places *more,
		      const struct fuzz_places *except);
/* Remove from @places what is not in @other. */
void fuzz_places_keep(struct fuzz_places *places,
		      const struct fuzz_places *other);

#endif /* RDS_FUZZ_COVER_H */
