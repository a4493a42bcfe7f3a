// SPDX-License-Identifier: GPL-2.0
/* Write JSON to standard output. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "json.h"

#define MAX_DEPTH 8

static char closing[MAX_DEPTH];
static bool begun[MAX_DEPTH + 1];
static int depth;

static void put_string(const char *text)
{
	const unsigned char *c;

	putchar('"');
	for (c = (const unsigned char *)text; *c; c++) {
		if (*c < 0x20 || *c >= 0x7f)
			printf("\\u%04x", *c);
		else if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else
			putchar(*c);
	}
	putchar('"');
}

static void put_key(const char *key)
{
	if (begun[depth] && depth)
		printf(", ");
	begun[depth] = true;
	if (key) {
		put_string(key);
		printf(": ");
	}
}

static void descend(const char *key, char open, char close)
{
	put_key(key);
	putchar(open);
	closing[depth++] = close;
	begun[depth] = false;
}

void json_object(const char *key)
{
	descend(key, '{', '}');
}

void json_array(const char *key)
{
	descend(key, '[', ']');
}

void json_end(void)
{
	putchar(closing[--depth]);
	if (!depth)
		putchar('\n');
	fflush(stdout);
}

void json_string(const char *key, const char *value)
{
	put_key(key);
	put_string(value);
}

void json_unsigned(const char *key, uint64_t value)
{
	put_key(key);
	printf("%" PRIu64, value);
}

void json_fixed(const char *key, double value, int decimals)
{
	put_key(key);
	printf("%.*f", decimals, value);
}
