// SPDX-License-Identifier: GPL-2.0
/*
 * rds-info - print what the kernel reports about RDS: counters, sockets,
 * connections, their paths, and the messages in their queues
 *
 * A table of columns describes each list. Both the text and the JSON are made
 * from it. The kernel returns the size of its records. If they are shorter than
 * ours, the last columns are missing. If they are longer, only the columns in
 * the table are printed.
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

#include "json.h"
#include "sock.h"

enum {
	EXIT_FINE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

enum kind {
	KIND_U8,
	KIND_U32,
	KIND_U64,
	KIND_PORT,
	KIND_ADDR4,
	KIND_ADDR6,
	KIND_MAPPED,		/* IPv4-mapped IPv6, printed as IPv4 */
	KIND_TEXT,
	KIND_FLAGS,
	KIND_AGE,		/* milliseconds */
	KIND_STATE,
	KIND_REASON,
};

struct column {
	const char	*title;
	const char	*key;
	enum kind	kind;
	int		width;		/* negative: left-aligned */
	size_t		offset;
	size_t		size;
	bool		verbose;	/* only with -v */
};

#define COLUMN(record, field, title, kind, width, verbose) \
	{ title, #field, kind, width, offsetof(struct record, field), \
	  sizeof(((struct record *)NULL)->field), verbose }
#define SHOW(record, field, title, kind, width) \
	COLUMN(record, field, title, kind, width, false)
#define DETAIL(record, field, title, kind, width) \
	COLUMN(record, field, title, kind, width, true)
#define END_OF_COLUMNS { }

static const struct column counter_columns[] = {
	SHOW(rds_info_counter, name, "CounterName", KIND_TEXT, 32),
	SHOW(rds_info_counter, value, "Value", KIND_U64, 16),
	END_OF_COLUMNS
};

#define SOCKET_COLUMNS(record, addr, width) { \
	SHOW(record, bound_addr, "BoundAddr", addr, width), \
	SHOW(record, bound_port, "BPort", KIND_PORT, 5), \
	SHOW(record, connected_addr, "ConnAddr", addr, width), \
	SHOW(record, connected_port, "CPort", KIND_PORT, 5), \
	SHOW(record, sndbuf, "SndBuf", KIND_U32, 10), \
	SHOW(record, rcvbuf, "RcvBuf", KIND_U32, 10), \
	SHOW(record, inum, "Inode", KIND_U64, 10), \
	END_OF_COLUMNS }

#define MESSAGE_COLUMNS(record, addr, width) { \
	SHOW(record, laddr, "LocalAddr", addr, width), \
	SHOW(record, lport, "LPort", KIND_PORT, 5), \
	SHOW(record, faddr, "RemoteAddr", addr, width), \
	SHOW(record, fport, "RPort", KIND_PORT, 5), \
	SHOW(record, seq, "Seq", KIND_U64, 12), \
	SHOW(record, len, "Bytes", KIND_U32, 8), \
	SHOW(record, tos, "Tos", KIND_U8, 3), \
	END_OF_COLUMNS }

static const struct column socket_columns[] =
	SOCKET_COLUMNS(rds_info_socket, KIND_ADDR4, 15);
static const struct column socket6_columns[] =
	SOCKET_COLUMNS(rds6_info_socket, KIND_ADDR6, 32);
static const struct column message_columns[] =
	MESSAGE_COLUMNS(rds_info_message, KIND_ADDR4, 15);
static const struct column message6_columns[] =
	MESSAGE_COLUMNS(rds6_info_message, KIND_ADDR6, 32);

static const struct column connection_columns[] = {
	SHOW(rds_info_connection, laddr, "LocalAddr", KIND_ADDR4, 15),
	SHOW(rds_info_connection, faddr, "RemoteAddr", KIND_ADDR4, 15),
	SHOW(rds_info_connection, tos, "Tos", KIND_U8, 3),
	SHOW(rds_info_connection, next_tx_seq, "NextTX", KIND_U64, 12),
	SHOW(rds_info_connection, next_rx_seq, "NextRX", KIND_U64, 12),
	SHOW(rds_info_connection, flags, "Flags", KIND_FLAGS, 5),
	SHOW(rds_info_connection, transport, "Transport", KIND_TEXT, -10),
	END_OF_COLUMNS
};

static const struct column connection6_columns[] = {
	SHOW(rds6_info_connection, laddr, "LocalAddr", KIND_ADDR6, 32),
	SHOW(rds6_info_connection, faddr, "RemoteAddr", KIND_ADDR6, 32),
	SHOW(rds6_info_connection, next_tx_seq, "NextTX", KIND_U64, 12),
	SHOW(rds6_info_connection, next_rx_seq, "NextRX", KIND_U64, 12),
	SHOW(rds6_info_connection, flags, "Flags", KIND_FLAGS, 5),
	SHOW(rds6_info_connection, transport, "Transport", KIND_TEXT, -10),
	END_OF_COLUMNS
};

#define TCP_COLUMNS(record, addr, width) \
	SHOW(record, local_addr, "LocalAddr", addr, width), \
	SHOW(record, local_port, "LPort", KIND_PORT, 5), \
	SHOW(record, peer_addr, "RemoteAddr", addr, width), \
	SHOW(record, peer_port, "RPort", KIND_PORT, 5), \
	SHOW(record, hdr_rem, "HdrRemain", KIND_U64, 10), \
	SHOW(record, data_rem, "DataRemain", KIND_U64, 10), \
	SHOW(record, last_sent_nxt, "SentNxt", KIND_U32, 10), \
	SHOW(record, last_expected_una, "ExpectUna", KIND_U32, 10), \
	SHOW(record, last_seen_una, "SeenUna", KIND_U32, 10)

static const struct column tcp_columns[] = {
	TCP_COLUMNS(rds_info_tcp_socket, KIND_ADDR4, 15),
	SHOW(rds_info_tcp_socket, tos, "Tos", KIND_U8, 3),
	END_OF_COLUMNS
};

static const struct column tcp6_columns[] = {
	TCP_COLUMNS(rds6_info_tcp_socket, KIND_ADDR6, 32),
	END_OF_COLUMNS
};

#define PATH_COLUMNS(addr, width) { \
	SHOW(rds6_info_path, laddr, "LocalAddr", addr, width), \
	SHOW(rds6_info_path, faddr, "RemoteAddr", addr, width), \
	SHOW(rds6_info_path, tos, "Tos", KIND_U8, 3), \
	SHOW(rds6_info_path, index, "Path", KIND_U8, 4), \
	SHOW(rds6_info_path, npaths, "Of", KIND_U8, 2), \
	SHOW(rds6_info_path, state, "State", KIND_STATE, -13), \
	SHOW(rds6_info_path, since_ms, "Since", KIND_AGE, 7), \
	SHOW(rds6_info_path, attempts, "Tried", KIND_U32, 6), \
	SHOW(rds6_info_path, established, "Up", KIND_U32, 6), \
	SHOW(rds6_info_path, resets, "Reset", KIND_U32, 6), \
	SHOW(rds6_info_path, drop_reason, "LastDrop", KIND_REASON, -14), \
	SHOW(rds6_info_path, next_tx_seq, "NextTX", KIND_U64, 12), \
	SHOW(rds6_info_path, next_rx_seq, "NextRX", KIND_U64, 12), \
	SHOW(rds6_info_path, rx_held, "RxHeld", KIND_U64, 9), \
	SHOW(rds6_info_path, transport, "Transport", KIND_TEXT, -10), \
	END_OF_COLUMNS }

static const struct column path_columns[] = PATH_COLUMNS(KIND_MAPPED, 15);
static const struct column path6_columns[] = PATH_COLUMNS(KIND_ADDR6, 32);

#define IB_COLUMNS(record, addr, width) { \
	SHOW(record, src_addr, "LocalAddr", addr, width), \
	SHOW(record, dst_addr, "RemoteAddr", addr, width), \
	SHOW(record, tos, "Tos", KIND_U8, 3), \
	SHOW(record, sl, "SL", KIND_U8, 3), \
	SHOW(record, src_gid, "LocalDev", KIND_ADDR6, 32), \
	SHOW(record, dst_gid, "RemoteDev", KIND_ADDR6, 32), \
	DETAIL(record, max_send_wr, "SendWR", KIND_U32, 8), \
	DETAIL(record, max_recv_wr, "RecvWR", KIND_U32, 8), \
	DETAIL(record, max_send_sge, "SendSGE", KIND_U32, 8), \
	DETAIL(record, rdma_mr_max, "MaxMR", KIND_U32, 8), \
	DETAIL(record, rdma_mr_size, "MRSize", KIND_U32, 8), \
	DETAIL(record, cache_allocs, "Cached", KIND_U32, 8), \
	END_OF_COLUMNS }

static const struct column ib_columns[] =
	IB_COLUMNS(rds_info_rdma_connection, KIND_ADDR4, 15);
static const struct column ib6_columns[] =
	IB_COLUMNS(rds6_info_rdma_connection, KIND_ADDR6, 32);

/* One form of a list: the number of its socket option, and its columns */
struct query {
	int			id;
	const struct column	*columns;
	bool			mixed;	/* also has IPv6 records, omitted */
};

struct source {
	char		letter;
	const char	*title;
	const char	*key;
	struct query	v4;
	struct query	v6;	/* id 0: the list has no IPv6 form */
	const char	*missing;	/* message if the kernel lacks it */
	bool		wanted;
};

static struct source sources[] = {
	{ 'c', "Counters", "counters",
	  { RDS_INFO_COUNTERS, counter_columns }, { } },
	{ 'k', "RDS Sockets", "sockets",
	  { RDS_INFO_SOCKETS, socket_columns },
	  { RDS6_INFO_SOCKETS, socket6_columns } },
	{ 'n', "RDS Connections", "connections",
	  { RDS_INFO_CONNECTIONS, connection_columns },
	  { RDS6_INFO_CONNECTIONS, connection6_columns } },
	{ 'p', "RDS Paths", "paths",
	  { RDS6_INFO_PATHS, path_columns, true },
	  { RDS6_INFO_PATHS, path6_columns },
	  "this kernel's RDS does not have this list" },
	{ 'r', "Receive Message Queue", "receive_queue",
	  { RDS_INFO_RECV_MESSAGES, message_columns },
	  { RDS6_INFO_RECV_MESSAGES, message6_columns } },
	{ 's', "Send Message Queue", "send_queue",
	  { RDS_INFO_SEND_MESSAGES, message_columns },
	  { RDS6_INFO_SEND_MESSAGES, message6_columns } },
	{ 't', "Retransmit Message Queue", "retransmit_queue",
	  { RDS_INFO_RETRANS_MESSAGES, message_columns },
	  { RDS6_INFO_RETRANS_MESSAGES, message6_columns } },
	{ 'T', "TCP Connections", "tcp_connections",
	  { RDS_INFO_TCP_SOCKETS, tcp_columns },
	  { RDS6_INFO_TCP_SOCKETS, tcp6_columns },
	  "RDS over TCP is not loaded" },
	{ 'I', "RDS IB Connections", "ib_connections",
	  { RDS_INFO_IB_CONNECTIONS, ib_columns },
	  { RDS6_INFO_IB_CONNECTIONS, ib6_columns },
	  "RDS over InfiniBand is not loaded" },
};

#define NR_SOURCES (sizeof(sources) / sizeof(sources[0]))

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
	while ((c = getopt_long(argc, argv, "cknprstTIavhV", longs,
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

static void format_flags(char *text, size_t size, unsigned int flags)
{
	static const struct {
		unsigned int	flag;
		char		letter;
	} letters[] = {
		{ RDS_INFO_CONNECTION_FLAG_SENDING, 's' },
		{ RDS_INFO_CONNECTION_FLAG_CONNECTING, 'c' },
		{ RDS_INFO_CONNECTION_FLAG_CONNECTED, 'C' },
		{ 0x08, 'E' },		/* only some kernels have this flag */
	};
	size_t i, n = sizeof(letters) / sizeof(letters[0]);

	if (n >= size)
		n = size - 1;
	for (i = 0; i < n; i++)
		text[i] = flags & letters[i].flag ? letters[i].letter : '-';
	text[n] = '\0';
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
	};

	format_word(text, size, reason, words,
		    sizeof(words) / sizeof(words[0]));
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
		format_flags(text, size, *field);
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
	return status;
}
