// SPDX-License-Identifier: GPL-2.0
/*
 * Which sockets become streams: the lines of the configuration file that name
 * this program, and the ports in the environment. Both are read once.
 *
 * A line has the name of a program, a domain, a type and a protocol, and may
 * have a port or a range of ports. "*" stands for all.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <sys/socket.h>

#include "config.h"

#define DEFAULT_FILE	"/etc/rdma/rsocket/preload_config"
#define RULES_MAX	128
#define RANGES_MAX	32
#define PORT_MAX	65535

struct range {
	int	first;
	int	last;
};

struct rule {
	int		domain;		/* 0: both */
	struct range	ports;
};

static struct rule rules[RULES_MAX];
static int nr_rules;
static struct range ranges[RANGES_MAX];
static int nr_ranges;
static bool limited;		/* to the ranges */
static bool strict, verbose;

/* Read "PORT", "FIRST-LAST" or "*". */
static bool read_range(const char *text, struct range *range)
{
	char *end;

	range->first = 0;
	range->last = PORT_MAX;
	if (!strcmp(text, "*"))
		return true;
	if (!isdigit((unsigned char)*text))
		return false;
	range->first = strtol(text, &end, 10);
	range->last = range->first;
	if (*end == '-') {
		text = end + 1;
		range->last = strtol(text, &end, 10);
	}
	return end != text && !*end && range->first <= range->last &&
	       range->last <= PORT_MAX;
}

/* Is @text one of "*", @name and @other? */
static bool is(const char *text, const char *name, const char *other)
{
	return !strcmp(text, "*") || !strcasecmp(text, name) ||
	       (other && !strcasecmp(text, other));
}

/* Report whether the line is a rule, also if it is one for other sockets. */
static bool read_rule(char *line)
{
	char *words[5], *rest = line, *word;
	struct rule rule = { 0, { 0, PORT_MAX } };
	int count = 0;

	while ((word = strsep(&rest, " \t\r\n")))
		if (*word && count < 5)
			words[count++] = word;
		else if (*word)
			return false;
	if (count < 4 || (count == 5 && !read_range(words[4], &rule.ports)))
		return false;
	if (fnmatch(words[0], program_invocation_short_name, 0) ||
	    !is(words[2], "stream", "sock_stream") || !is(words[3], "tcp", "6"))
		return true;
	if (is(words[1], "inet", "af_inet"))
		rule.domain = strcmp(words[1], "*") ? AF_INET : 0;
	else if (is(words[1], "inet6", "af_inet6"))
		rule.domain = AF_INET6;
	else
		return true;
	if (nr_rules == RULES_MAX)
		return false;
	rules[nr_rules++] = rule;
	return true;
}

/* Without a file, all programs' sockets become streams. */
static void read_file(const char *path)
{
	static const struct rule all = { 0, { 0, PORT_MAX } };
	char *line = NULL, *comment;
	size_t room = 0;
	int number = 0;
	FILE *file;

	file = fopen(path, "re");
	if (!file) {
		if (errno == ENOENT || errno == ENOTDIR)
			rules[nr_rules++] = all;
		else
			fprintf(stderr, "rds-run: %s: %s\n", path,
				strerror(errno));
		return;
	}
	while (getline(&line, &room, file) > 0) {
		number++;
		comment = strchr(line, '#');
		if (comment)
			*comment = '\0';
		if (line[strspn(line, " \t\r\n")] && !read_rule(line))
			fprintf(stderr, "rds-run: %s: line %d is no rule\n",
				path, number);
	}
	free(line);
	fclose(file);
}

/* What cannot be used allows no port, so that none is a stream by mistake. */
static void read_ports(const char *list)
{
	char *copy = strdup(list), *rest = copy, *word;

	limited = true;
	while (copy && (word = strsep(&rest, ","))) {
		if (nr_ranges == RANGES_MAX ||
		    !read_range(word, &ranges[nr_ranges])) {
			fprintf(stderr, "rds-run: bad port: %s\n", word);
			continue;
		}
		nr_ranges++;
	}
	free(copy);
}

static bool is_on(const char *name)
{
	const char *text = getenv(name);

	return text && *text && strcmp(text, "0");
}

static void read_all(void)
{
	const char *path = secure_getenv("RDS_PRELOAD_CONFIG");
	const char *ports = getenv("RDS_PRELOAD_PORTS");

	read_file(path ? path : DEFAULT_FILE);
	if (ports && *ports)
		read_ports(ports);
	strict = is_on("RDS_PRELOAD_STRICT");
	verbose = is_on("RDS_PRELOAD_VERBOSE");
}

static void read_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_all);
}

static bool matches(const struct rule *rule, int domain)
{
	return !rule->domain || rule->domain == domain;
}

/* Report whether sockets of this domain become streams, of some port. */
bool config_wants(int domain)
{
	int i;

	read_once();
	for (i = 0; i < nr_rules; i++)
		if (matches(&rules[i], domain))
			return true;
	return false;
}

static bool within(const struct range *range, int port)
{
	return port >= range->first && port <= range->last;
}

bool config_wants_port(int domain, int port)
{
	bool wanted = false;
	int i;

	read_once();
	for (i = 0; i < nr_rules && !wanted; i++)
		wanted = matches(&rules[i], domain) &&
			 within(&rules[i].ports, port);
	if (!wanted || !limited)
		return wanted;
	for (i = 0; i < nr_ranges; i++)
		if (within(&ranges[i], port))
			return true;
	return false;
}

bool config_strict(void)
{
	read_once();
	return strict;
}

void config_report(int fd, const char *what)
{
	read_once();
	if (verbose)
		fprintf(stderr, "rds-run: %s[%d]: descriptor %d: %s\n",
			program_invocation_short_name, getpid(), fd, what);
}
