// SPDX-License-Identifier: GPL-2.0
/*
 * rds-info - print what the kernel reports about RDS: counters, sockets,
 * connections, their paths, and the messages in their queues
 *
 * A table of columns describes each list (info/lists.c). Both the text and the
 * JSON are made from it. The kernel returns the size of its records. If they
 * are shorter than ours, the last columns are missing. If they are longer, only
 * the columns in the table are printed.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <linux/rds.h>

#include "info/lists.h"
#include "json.h"
#include "sock.h"

enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* The records of one list as the kernel returned them */
struct listing {
	unsigned char	*bytes;
	size_t		record_size;
	size_t		nr;
};

static struct {
	bool	ipv6;
	bool	verbose;
	bool	json;
	bool	everything;	/* the user named no list */
} options;

static const char usage_text[] =
"Usage: rds-info [options]\n"
"Print what the kernel knows about RDS; with no list named, all of it.\n"
"\n"
"  -c            counters\n"
"  -k            sockets\n"
"  -n            connections (flags: s sending, c connecting, C connected,\n"
"                E error)\n"
"  -p            the paths of connections, what has become of them and why\n"
"  -S            streams and sockets that listen for them (flags: s this end\n"
"                accepted it, W writes and R reads no more, w and r: the peer)\n"
"  -r, -s, -t    messages waiting to be received, sent, acknowledged\n"
"  -T, -I        TCP sockets, IB connections\n"
"  -a            IPv6 addresses too (IPv4 ones appear as ::ffff:a.b.c.d)\n"
"  -v            more about IB connections\n"
"  --json        print JSON\n"
"  -h, --help    print this help\n"
"  -V, --version print the version\n"
"\n"
"Exit status: 0; 1 if something asked for could not be read; 2 on bad usage.\n";

static bool want_source(int letter)
{
	size_t i;

	for (i = 0; i < NR_SOURCES; i++) {
		if (sources[i].letter == letter) {
			sources[i].wanted = true;
			return true;
		}
	}
	return false;
}

static void parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ },
	};
	int c;

	options.everything = true;
	while ((c = getopt_long(argc, argv, "cknpSrstTIavhV", longs,
				NULL)) != -1) {
		if (want_source(c)) {
			options.everything = false;
			continue;
		}
		switch (c) {
		case 'a':
			options.ipv6 = true;
			break;
		case 'v':
			options.verbose = true;
			break;
		case 'j':
			options.json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(EXIT_FINE);
		case 'V':
			puts("rds-info " VERSION);
			exit(EXIT_FINE);
		default:
			fputs(usage_text, stderr);
			exit(EXIT_USAGE);
		}
	}
	if (optind != argc) {
		fputs(usage_text, stderr);
		exit(EXIT_USAGE);
	}
}

/*
 * Read one list. If the buffer is too small, the kernel returns ENOSPC and the
 * size that it needs. That size may grow before the next call.
 */
static int read_listing(int fd, int id, struct listing *listing)
{
	unsigned char *bytes = NULL, *larger;
	socklen_t room = 0, len;
	int ret;

	for (;;) {
		len = room;
		ret = getsockopt(fd, rds_level(), id, bytes, &len);
		if (ret >= 0)
			break;
		if (errno != ENOSPC)
			goto fail;
		room = len > room ? len : 2 * room + 1;
		larger = realloc(bytes, room);
		if (!larger)
			goto fail;
		bytes = larger;
	}
	listing->bytes = bytes;
	listing->record_size = ret;
	listing->nr = ret ? len / ret : 0;
	return 0;
fail:
	free(bytes);
	return -1;
}

/*
 * Remove the records that are not IPv4. In a list with both families, each
 * record begins with the local address.
 */
static void keep_ipv4(struct listing *listing)
{
	unsigned char *from = listing->bytes, *to = listing->bytes;
	struct in6_addr addr;
	size_t i, nr = 0;

	if (listing->record_size < sizeof(addr))
		return;
	for (i = 0; i < listing->nr; i++, from += listing->record_size) {
		memcpy(&addr, from, sizeof(addr));
		if (!IN6_IS_ADDR_V4MAPPED(&addr))
			continue;
		memmove(to, from, listing->record_size);
		to += listing->record_size;
		nr++;
	}
	listing->nr = nr;
}

static uint64_t read_unsigned(const struct column *column,
			      const unsigned char *field)
{
	uint32_t u32;
	uint64_t u64;
	uint16_t u16;

	switch (column->kind) {
	case KIND_U8:
	case KIND_STATE:
	case KIND_STREAM:
		return *field;
	case KIND_PORT:
		memcpy(&u16, field, sizeof(u16));
		return ntohs(u16);
	case KIND_U32:
	case KIND_REASON:
		memcpy(&u32, field, sizeof(u32));
		return u32;
	default:
		memcpy(&u64, field, sizeof(u64));
		return u64;
	}
}

struct letter {
	unsigned int	flag;
	char		letter;
};

/* The last of @letters has no flag. */
static void format_letters(char *text, unsigned int flags,
			   const struct letter *letters)
{
	for (; letters->flag; letters++)
		*text++ = flags & letters->flag ? letters->letter : '-';
	*text = '\0';
}

static void format_flags(char *text, unsigned int flags)
{
	static const struct letter letters[] = {
		{ RDS_INFO_CONNECTION_FLAG_SENDING, 's' },
		{ RDS_INFO_CONNECTION_FLAG_CONNECTING, 'c' },
		{ RDS_INFO_CONNECTION_FLAG_CONNECTED, 'C' },
		{ 0x08, 'E' },		/* only some kernels have this flag */
		{ }
	};

	format_letters(text, flags, letters);
}

static void format_halves(char *text, unsigned int flags)
{
	static const struct letter letters[] = {
		{ RDS_INFO_STREAM_FLAG_SERVER, 's' },
		{ RDS_INFO_STREAM_FLAG_NO_WRITE, 'W' },
		{ RDS_INFO_STREAM_FLAG_NO_READ, 'R' },
		{ RDS_INFO_STREAM_FLAG_PEER_NO_WRITE, 'w' },
		{ RDS_INFO_STREAM_FLAG_PEER_NO_READ, 'r' },
		{ }
	};

	format_letters(text, flags, letters);
}

/* Print at most two units: 17ms, 4.2s, 3m07s, 5h40m, 12d03h. */
static void format_age(char *text, size_t size, uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (!s)
		snprintf(text, size, "%" PRIu64 "ms", ms);
	else if (s < 60)
		snprintf(text, size, "%" PRIu64 ".%" PRIu64 "s", s,
			 ms % 1000 / 100);
	else if (s < 60 * 60)
		snprintf(text, size, "%" PRIu64 "m%02" PRIu64 "s", s / 60,
			 s % 60);
	else if (s < 24 * 60 * 60)
		snprintf(text, size, "%" PRIu64 "h%02" PRIu64 "m", s / 3600,
			 s / 60 % 60);
	else
		snprintf(text, size, "%" PRIu64 "d%02" PRIu64 "h", s / 86400,
			 s / 3600 % 24);
}

/* Format @number as a word, or as a number if there is no word for it. */
static void format_word(char *text, size_t size, uint64_t number,
			const char *const *words, size_t nr)
{
	if (number < nr)
		snprintf(text, size, "%s", words[number]);
	else
		snprintf(text, size, "%" PRIu64, number);
}

static void format_state(char *text, size_t size, uint64_t state)
{
	static const char *const words[] = {
		"down", "connecting", "disconnecting", "up", "resetting",
		"error",
	};

	format_word(text, size, state, words, sizeof(words) / sizeof(words[0]));
}

/* The same names as in the tracepoint rds:rds_path_drop */
static void format_reason(char *text, size_t size, uint64_t reason)
{
	static const char *const words[] = {
		"none", "xmit-failed", "peer-closed", "peer-reset", "timeout",
		"unreachable", "local-abort", "connect-failed", "yield",
		"raced", "peer-restarted", "tuned", "protocol", "oversized",
		"idle", "unregister", "net-exit", "no-memory",
		"refused", "silent",
	};

	format_word(text, size, reason, words,
		    sizeof(words) / sizeof(words[0]));
}

static void format_stream(char *text, size_t size, uint64_t state)
{
	static const char *const words[] = {
		"ended", "listening", "connecting", "waiting", "open",
		"closed",
	};

	format_word(text, size, state, words, sizeof(words) / sizeof(words[0]));
}

static void format_field(char *text, size_t size, const struct column *column,
			 const unsigned char *field)
{
	switch (column->kind) {
	case KIND_ADDR4:
		inet_ntop(AF_INET, field, text, size);
		break;
	case KIND_ADDR6:
		inet_ntop(AF_INET6, field, text, size);
		break;
	case KIND_MAPPED:
		inet_ntop(AF_INET, field + 12, text, size);
		break;
	case KIND_TEXT:
		snprintf(text, size, "%.*s", (int)column->size,
			 (const char *)field);
		break;
	case KIND_FLAGS:
		format_flags(text, *field);
		break;
	case KIND_AGE:
		format_age(text, size, read_unsigned(column, field));
		break;
	case KIND_STATE:
		format_state(text, size, read_unsigned(column, field));
		break;
	case KIND_REASON:
		format_reason(text, size, read_unsigned(column, field));
		break;
	case KIND_STREAM:
		format_stream(text, size, read_unsigned(column, field));
		break;
	case KIND_HALVES:
		format_halves(text, *field);
		break;
	default:
		snprintf(text, size, "%" PRIu64, read_unsigned(column, field));
	}
}

/* Check whether the column is wanted and the kernel's record contains it. */
static bool has_column(const struct column *column,
		       const struct listing *listing)
{
	if (column->verbose && !options.verbose)
		return false;
	return column->offset + column->size <= listing->record_size;
}

static void print_table(const struct source *source,
			const struct column *columns,
			const struct listing *listing)
{
	const struct column *column;
	char text[INET6_ADDRSTRLEN];
	size_t i;

	printf("\n%s:\n", source->title);
	for (column = columns; column->title; column++)
		if (has_column(column, listing))
			printf(" %*s", column->width, column->title);
	printf("\n");
	for (i = 0; i < listing->nr; i++) {
		for (column = columns; column->title; column++) {
			if (!has_column(column, listing))
				continue;
			format_field(text, sizeof(text), column,
				     listing->bytes +
				     i * listing->record_size + column->offset);
			printf(" %*s", column->width, text);
		}
		printf("\n");
	}
}

static void json_field(const struct column *column, const unsigned char *field)
{
	char text[INET6_ADDRSTRLEN];

	switch (column->kind) {
	case KIND_ADDR4:
	case KIND_ADDR6:
	case KIND_MAPPED:
	case KIND_TEXT:
	case KIND_FLAGS:
	case KIND_STATE:
	case KIND_REASON:
	case KIND_STREAM:
	case KIND_HALVES:
		format_field(text, sizeof(text), column, field);
		json_string(column->key, text);
		break;
	default:
		json_unsigned(column->key, read_unsigned(column, field));
	}
}

static void print_json(const struct source *source,
		       const struct column *columns,
		       const struct listing *listing)
{
	const struct column *column;
	size_t i;

	json_array(source->key);
	for (i = 0; i < listing->nr; i++) {
		json_object(NULL);
		for (column = columns; column->title; column++)
			if (has_column(column, listing))
				json_field(column, listing->bytes +
					   i * listing->record_size +
					   column->offset);
		json_end();
	}
	json_end();
}

/* An older kernel lacks the IPv6 form. Its IPv4 form then lists everything. */
static const struct query *read_source(int fd, const struct source *source,
				       struct listing *listing)
{
	if (options.ipv6 && source->v6.id) {
		if (!read_listing(fd, source->v6.id, listing))
			return &source->v6;
		if (errno != ENOPROTOOPT)
			return NULL;
	}
	if (read_listing(fd, source->v4.id, listing))
		return NULL;
	if (source->v4.mixed)
		keep_ipv4(listing);
	return &source->v4;
}

static int show_source(int fd, const struct source *source)
{
	const struct query *query;
	struct listing listing;
	bool missing;

	query = read_source(fd, source, &listing);
	if (!query) {
		missing = errno == ENOPROTOOPT;
		/* A transport that is not loaded has nothing to list. */
		if (missing && options.everything)
			return 0;
		fflush(stdout);
		if (missing && source->missing)
			warnx("%s: %s", source->title, source->missing);
		else
			warn("%s", source->title);
		return -1;
	}
	if (options.json)
		print_json(source, query->columns, &listing);
	else
		print_table(source, query->columns, &listing);
	free(listing.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int status = EXIT_FINE;
	size_t i;
	int fd;

	parse_options(argc, argv);
	fd = rds_socket(0);
	if (fd < 0)
		errx(EXIT_FAILED, "socket: %s", rds_socket_hint(errno));

	if (options.json)
		json_object(NULL);
	for (i = 0; i < NR_SOURCES; i++)
		if (options.everything || sources[i].wanted)
			if (show_source(fd, &sources[i]))
				status = EXIT_FAILED;
	if (options.json)
		json_end();
	close(fd);
	if (fflush(stdout) || ferror(stdout))
		err(EXIT_FAILED, "standard output");
	return status;
}
