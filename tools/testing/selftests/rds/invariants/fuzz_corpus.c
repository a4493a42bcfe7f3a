// SPDX-License-Identifier: GPL-2.0
/* The corpus of fuzz_corpus.h */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "fuzz_corpus.h"
#include "fuzz_log.h"

/* Not every run of a case reaches the same: threads meet, packets arrive. */
#define TRIES	3

void fuzz_corpus_add(struct fuzz_corpus *corpus, const struct fuzz_case *c,
		     struct fuzz_random *random)
{
	if (corpus->count < FUZZ_CORPUS_MAX)
		corpus->kept[corpus->count++] = *c;
	else
		corpus->kept[fuzz_below(random, FUZZ_CORPUS_MAX)] = *c;
}

static bool load_file(struct fuzz_corpus *corpus, const char *path)
{
	FILE *file = fopen(path, "r");
	int ret = -1;

	if (!file)
		return false;
	while (corpus->count < FUZZ_CORPUS_MAX) {
		ret = fuzz_read(file, &corpus->kept[corpus->count]);
		if (ret)
			break;
		corpus->count++;
	}
	fclose(file);
	return ret >= 0;
}

bool fuzz_corpus_load(struct fuzz_corpus *corpus, const char *path)
{
	struct dirent *entry;
	char name[512];
	bool fine = true;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return load_file(corpus, path);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		fine &= load_file(corpus, name);
	}
	closedir(dir);
	return fine;
}

bool fuzz_corpus_append(const char *path, const struct fuzz_case *c)
{
	FILE *file = fopen(path, "a");

	if (!file)
		return false;
	fuzz_write(file, c);
	return !fclose(file);
}

/* What all of a few runs reach: the rest depends on time */
static void reach_always(struct fuzz_run *run, const struct fuzz_case *c,
			 struct fuzz_places *always)
{
	struct fuzz_places once;
	unsigned int i;

	fuzz_places_clear(always);
	for (i = 0; i < TRIES && fuzz_places_init(&once); i++) {
		fuzz_run_case(run, c);
		fuzz_run_reached(run, i ? &once : always);
		if (i)
			fuzz_places_keep(always, &once);
		fuzz_places_free(&once);
	}
}

/* Whether one of a few runs reaches all of @wanted */
static bool reaches(struct fuzz_run *run, const struct fuzz_case *c,
		    const struct fuzz_places *wanted, struct fuzz_places *room)
{
	unsigned int i;

	for (i = 0; i < TRIES; i++) {
		fuzz_places_clear(room);
		fuzz_run_case(run, c);
		fuzz_run_reached(run, room);
		if (fuzz_places_include(room, wanted))
			return true;
	}
	return false;
}

static bool complains(struct fuzz_run *run, const struct fuzz_case *c)
{
	unsigned int i;

	for (i = 0; i < 10 * TRIES; i++) {
		fuzz_run_case(run, c);
		if (fuzz_log_complains())
			return true;
	}
	return false;
}

static void shorten(struct fuzz_run *run, struct fuzz_case *c,
		    const struct fuzz_places *wanted, struct fuzz_places *room)
{
	struct fuzz_case shorter = *c;
	unsigned int i;

	shorter.threads = 1;
	if (c->threads > 1 && (wanted ? reaches(run, &shorter, wanted, room) :
					complains(run, &shorter)))
		*c = shorter;
	for (i = c->count; i-- > 0 && c->count > 1;) {
		shorter = *c;
		fuzz_delete_call(&shorter, i);
		if (wanted ? reaches(run, &shorter, wanted, room) :
			     complains(run, &shorter))
			*c = shorter;
	}
}

void fuzz_minimize(struct fuzz_run *run, struct fuzz_case *c)
{
	struct fuzz_places wanted, room;

	if (complains(run, c)) {
		shorten(run, c, NULL, NULL);
		return;
	}
	if (!fuzz_places_init(&wanted) || !fuzz_places_init(&room))
		exit(1);
	reach_always(run, c, &wanted);
	shorten(run, c, &wanted, &room);
	fuzz_places_free(&wanted);
	fuzz_places_free(&room);
}

void fuzz_distill(struct fuzz_run *run, const struct fuzz_corpus *corpus,
		  FILE *to, long end_ms)
{
	struct fuzz_places all, once, part, room;
	unsigned int i;

	if (!fuzz_places_init(&all) || !fuzz_places_init(&once) ||
	    !fuzz_places_init(&part) || !fuzz_places_init(&room))
		exit(1);
	for (i = corpus->count; i-- > 0;) {
		struct fuzz_case c = corpus->kept[i];

		fuzz_places_clear(&once);
		fuzz_places_clear(&part);
		fuzz_run_case(run, &c);
		fuzz_run_reached(run, &once);
		fuzz_places_join(&part, &once, &all);
		if (!part.count)
			continue;
		if (now_ms() < end_ms)
			shorten(run, &c, &part, &room);
		fuzz_places_join(&all, &once, NULL);
		fprintf(to, "# adds %u\n", part.count);
		fuzz_write(to, &c);
	}
	fuzz_places_free(&all);
	fuzz_places_free(&once);
	fuzz_places_free(&part);
	fuzz_places_free(&room);
}
