// SPDX-License-Identifier: GPL-2.0
/* Cases of fuzz_case.h: how they are made, changed, read and written */
#include <stdlib.h>
#include <string.h>

#include "fuzz_case.h"

static const struct fuzz_kind *const families[] = {
	fuzz_socket_kinds, fuzz_message_kinds, fuzz_option_kinds,
	fuzz_world_kinds,
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

uint32_t fuzz_random(struct fuzz_random *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return (random->state * 2685821657736338717ULL) >> 32;
}

uint32_t fuzz_below(struct fuzz_random *random, uint32_t limit)
{
	return fuzz_random(random) % limit;
}

static bool once_in(struct fuzz_random *random, uint32_t n)
{
	return !fuzz_below(random, n);
}

/* The likely values are at the head of a table, so prefer that. */
static uint64_t table_value(const struct fuzz_arg *arg,
			    struct fuzz_random *random)
{
	unsigned int limit = arg->count;

	if (limit > 4 && !once_in(random, 3))
		limit = (limit + 1) / 2;
	return arg->values[fuzz_below(random, limit)];
}

static uint64_t any_value(struct fuzz_random *random)
{
	uint64_t value = (uint64_t)fuzz_random(random) << 32 |
			 fuzz_random(random);

	return value >> fuzz_below(random, 64);
}

static uint64_t new_value(const struct fuzz_arg *arg,
			  struct fuzz_random *random)
{
	uint64_t value = table_value(arg, random);

	while (arg->bits && once_in(random, 3))
		value |= table_value(arg, random);
	if (once_in(random, 60))
		value = any_value(random);
	return value;
}

static uint64_t other_value(const struct fuzz_arg *arg, uint64_t value,
			    struct fuzz_random *random)
{
	switch (fuzz_below(random, 8)) {
	case 0:
		return value + 1;
	case 1:
		return value - 1;
	case 2:
		return value ^ 1ULL << fuzz_below(random, 32);
	case 3:
		return arg->bits ? value ^ table_value(arg, random) : 0;
	default:
		return new_value(arg, random);
	}
}

static const struct fuzz_kind *new_kind(struct fuzz_random *random)
{
	unsigned int sum = 0, i, left;
	const struct fuzz_kind *kind;

	for (i = 0; i < FAMILIES; i++)
		for (kind = families[i]; kind->name; kind++)
			sum += kind->weight;
	left = fuzz_below(random, sum);
	for (i = 0; i < FAMILIES; i++)
		for (kind = families[i]; kind->name; kind++) {
			if (left < kind->weight)
				return kind;
			left -= kind->weight;
		}
	abort();
}

/* Most arguments have their usual value, or a call would rarely succeed. */
static void new_call(struct fuzz_call *call, struct fuzz_random *random)
{
	unsigned int i;

	memset(call, 0, sizeof(*call));
	call->kind = new_kind(random);
	for (i = 0; i < FUZZ_ARGS && call->kind->arg[i].name; i++)
		if (i < 3 || once_in(random, 2))
			call->arg[i] = new_value(&call->kind->arg[i], random);
		else
			call->arg[i] = call->kind->arg[i].values[0];
}

static void insert_call(struct fuzz_case *c, unsigned int index,
			const struct fuzz_call *call)
{
	if (c->count == FUZZ_CALLS)
		fuzz_delete_call(c, FUZZ_CALLS - 1);
	if (index > c->count)
		index = c->count;
	memmove(&c->call[index + 1], &c->call[index],
		(c->count - index) * sizeof(*call));
	c->call[index] = *call;
	c->count++;
}

void fuzz_delete_call(struct fuzz_case *c, unsigned int index)
{
	c->count--;
	memmove(&c->call[index], &c->call[index + 1],
		(c->count - index) * sizeof(c->call[0]));
}

void fuzz_generate(struct fuzz_case *c, struct fuzz_random *random)
{
	unsigned int i;

	c->threads = once_in(random, 6) ? 2 + fuzz_below(random, 3) : 1;
	c->count = 2 + fuzz_below(random, FUZZ_CALLS - 1);
	for (i = 0; i < c->count; i++)
		new_call(&c->call[i], random);
}

static void change_call(struct fuzz_call *call, struct fuzz_random *random)
{
	unsigned int args = 0, i;

	while (args < FUZZ_ARGS && call->kind->arg[args].name)
		args++;
	if (!args)
		return;
	do {
		i = fuzz_below(random, args);
		call->arg[i] = other_value(&call->kind->arg[i], call->arg[i],
					   random);
	} while (once_in(random, 2));
}

/* Continue with the calls of another case. */
static void splice(struct fuzz_case *c, const struct fuzz_case *other,
		   struct fuzz_random *random)
{
	unsigned int from = fuzz_below(random, other->count + 1);

	c->count = fuzz_below(random, c->count + 1);
	while (from < other->count && c->count < FUZZ_CALLS)
		c->call[c->count++] = other->call[from++];
}

static void mutate_once(struct fuzz_case *c, const struct fuzz_case *other,
			struct fuzz_random *random)
{
	unsigned int way = fuzz_below(random, 12);
	struct fuzz_call call;
	unsigned int index;

	index = c->count ? fuzz_below(random, c->count) : 0;
	if (!c->count || way < 3) {
		new_call(&call, random);
		insert_call(c, fuzz_below(random, c->count + 1), &call);
	} else if (way < 8) {
		change_call(&c->call[index], random);
	} else if (way == 8) {
		fuzz_delete_call(c, index);
	} else if (way == 9) {
		call = c->call[index];
		insert_call(c, fuzz_below(random, c->count + 1), &call);
	} else if (way == 10) {
		splice(c, other, random);
	} else if (other->count) {
		call = other->call[fuzz_below(random, other->count)];
		insert_call(c, fuzz_below(random, c->count + 1), &call);
	}
	if (once_in(random, 10))
		c->threads = 1 + fuzz_below(random, FUZZ_THREADS);
}

void fuzz_mutate(struct fuzz_case *c, const struct fuzz_case *other,
		 struct fuzz_random *random)
{
	do {
		mutate_once(c, other, random);
	} while (!c->count || !once_in(random, 3));
}

static const struct fuzz_kind *find_kind(const char *name)
{
	const struct fuzz_kind *kind;
	unsigned int i;

	for (i = 0; i < FAMILIES; i++)
		for (kind = families[i]; kind->name; kind++)
			if (!strcmp(kind->name, name))
				return kind;
	return NULL;
}

/* Parse "name=value". */
static bool read_arg(struct fuzz_call *call, char *word)
{
	char *value = strchr(word, '=');
	char *end;
	int i;

	if (!value)
		return false;
	*value++ = '\0';
	for (i = 0; i < FUZZ_ARGS && call->kind->arg[i].name; i++)
		if (!strcmp(call->kind->arg[i].name, word)) {
			call->arg[i] = strtoull(value, &end, 0);
			return end != value && !*end;
		}
	return false;
}

static bool read_call(struct fuzz_case *c, char *line)
{
	struct fuzz_call *call = &c->call[c->count];
	char *save = NULL;
	char *word = strtok_r(line, " \t\n", &save);

	if (!strcmp(word, "threads")) {
		word = strtok_r(NULL, " \t\n", &save);
		c->threads = word ? strtoul(word, NULL, 0) : 0;
		return c->threads && c->threads <= FUZZ_THREADS;
	}
	if (c->count == FUZZ_CALLS)
		return false;
	memset(call, 0, sizeof(*call));
	call->kind = find_kind(word);
	if (!call->kind)
		return false;
	while ((word = strtok_r(NULL, " \t\n", &save)))
		if (!read_arg(call, word))
			return false;
	c->count++;
	return true;
}

int fuzz_read(FILE *file, struct fuzz_case *c)
{
	char line[1024], copy[1024];

	c->threads = 1;
	c->count = 0;
	while (fgets(line, sizeof(line), file)) {
		if (line[0] == '#')
			continue;
		if (!line[strspn(line, " \t\n")]) {
			if (c->count)
				return 0;
			continue;
		}
		strcpy(copy, line);
		if (!read_call(c, line)) {
			fprintf(stderr, "# not a call: %s", copy);
			return -1;
		}
	}
	return c->count ? 0 : 1;
}

void fuzz_write(FILE *file, const struct fuzz_case *c)
{
	unsigned int i, j;

	if (c->threads > 1)
		fprintf(file, "threads %u\n", c->threads);
	for (i = 0; i < c->count; i++) {
		const struct fuzz_call *call = &c->call[i];

		fprintf(file, "%s", call->kind->name);
		for (j = 0; j < FUZZ_ARGS && call->kind->arg[j].name; j++)
			if (call->arg[j])
				fprintf(file, call->arg[j] < 100000 ?
					" %s=%llu" : " %s=0x%llx",
					call->kind->arg[j].name,
					(unsigned long long)call->arg[j]);
		fprintf(file, "\n");
	}
	fprintf(file, "\n");
}
