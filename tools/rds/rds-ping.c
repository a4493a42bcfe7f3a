// SPDX-License-Identifier: GPL-2.0
/*
 * rds-ping - test whether a host runs RDS, and measure the round-trip time
 *
 * A host answers an empty message to port 0 with one from port 0. Several
 * sockets send the pings in turn, so that a ping which waits for a connection
 * does not delay the next one. On each socket the replies arrive in the order
 * of the pings.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>
#include <linux/rds.h>

#include "addr.h"
#include "json.h"
#include "sock.h"

#define NR_SOCKETS	8
/* Maximum number of unanswered pings of one socket */
#define MAX_PENDING	1024
/* How long to wait for the last replies */
#define LINGER_NS	(5 * NSEC_PER_SEC)
#define NSEC_PER_SEC	1000000000LL

enum {
	EXIT_REPLIED = 0,
	EXIT_SILENT = 1,
	EXIT_TROUBLE = 2,
};

struct ping {
	uint64_t	seq;
	int64_t		sent_at;
};

/* One socket and its unanswered pings, oldest first */
struct pinger {
	struct ping	pending[MAX_PENDING];
	unsigned int	oldest;
	unsigned int	nr;
	int		fd;
};

static struct {
	const char	*host;
	const char	*source;
	uint64_t	count;
	int64_t		interval;
	int		family;
	int		tos;
	bool		json;
} options = {
	.interval = NSEC_PER_SEC,
	.family = AF_UNSPEC,
	.tos = -1,
};

static struct {
	uint64_t	sent;
	uint64_t	received;
	uint64_t	duplicates;
	uint64_t	errors;
	double		min;
	double		max;
	double		sum;
	double		squares;
} totals;

static struct pinger pingers[NR_SOCKETS];
static volatile sig_atomic_t interrupted;

static const char usage_text[] =
"Usage: rds-ping [options] HOST\n"
"Send empty RDS messages to port 0 of HOST and time the answers.\n"
"\n"
"  -c COUNT      stop after COUNT pings (default: when interrupted)\n"
"  -i SECONDS    time between two pings (default 1; fractions are fine)\n"
"  -I ADDRESS    send from this local address\n"
"  -Q TOS        type of service, 0 to 255\n"
"  -4, -6        use IPv4 or IPv6 only\n"
"  --json        print JSON\n"
"  -h, --help    print this help\n"
"  -V, --version print the version\n"
"\n"
"Exit status: 0 if anything was answered, 1 if nothing was, 2 on errors.\n";

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static double parse_number(const char *text, double min, double max)
{
	double number;
	char *end;

	number = strtod(text, &end);
	if (end == text || *end || !(number >= min && number <= max))
		errx(EXIT_TROUBLE, "bad number: %s", text);
	return number;
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

	while ((c = getopt_long(argc, argv, "c:i:I:Q:46hV", longs,
				NULL)) != -1) {
		switch (c) {
		case 'c':
			options.count = parse_number(optarg, 1, 1e15);
			break;
		case 'i':
			options.interval = parse_number(optarg, 0.001, 1e6) *
					   NSEC_PER_SEC;
			break;
		case 'I':
			options.source = optarg;
			break;
		case 'Q':
			options.tos = parse_number(optarg, 0, 255);
			break;
		case '4':
			options.family = AF_INET;
			break;
		case '6':
			options.family = AF_INET6;
			break;
		case 'j':
			options.json = true;
			break;
		case 'h':
			fputs(usage_text, stdout);
			exit(0);
		case 'V':
			puts("rds-ping " VERSION);
			exit(0);
		default:
			fputs(usage_text, stderr);
			exit(EXIT_TROUBLE);
		}
	}
	if (optind != argc - 1) {
		fputs(usage_text, stderr);
		exit(EXIT_TROUBLE);
	}
	options.host = argv[optind];
}

static void resolve(union addr *addr, const char *name, int family)
{
	int error = addr_resolve(addr, name, family);

	if (error)
		errx(EXIT_TROUBLE, "%s: %s", name, gai_strerror(error));
}

static int open_socket(const union addr *local, const union addr *peer)
{
	unsigned char tos = options.tos;
	char text[ADDR_TEXT_SIZE];
	int fd;

	fd = rds_socket(SOCK_NONBLOCK);
	if (fd < 0)
		errx(EXIT_TROUBLE, "socket: %s", rds_socket_hint(errno));
	if (bind(fd, &local->sa, addr_len(local)))
		err(EXIT_TROUBLE, "bind to %s", addr_text(local, text));
	if (options.tos >= 0 && ioctl(fd, SIOCRDSSETTOS, &tos))
		err(EXIT_TROUBLE, "set type of service %d", options.tos);
	if (connect(fd, &peer->sa, addr_len(peer)))
		err(EXIT_TROUBLE, "connect to %s", addr_text(peer, text));
	return fd;
}

static void report(uint64_t seq, double usec, const char *remark)
{
	if (options.json) {
		json_object(NULL);
		json_unsigned("seq", seq);
		if (usec >= 0)
			json_fixed("usec", usec, 1);
		if (remark)
			json_string("remark", remark);
		json_end();
	} else if (usec >= 0) {
		printf("%4" PRIu64 ": %.0f usec\n", seq, usec);
	} else {
		printf("%4" PRIu64 ": %s\n", seq, remark);
	}
	fflush(stdout);
}

static void send_ping(struct pinger *pinger, uint64_t seq)
{
	struct ping *ping;

	totals.sent++;
	if (pinger->nr == MAX_PENDING) {
		totals.errors++;
		report(seq, -1, "ERROR: too many unanswered pings");
		return;
	}
	ping = &pinger->pending[(pinger->oldest + pinger->nr) % MAX_PENDING];
	ping->seq = seq;
	ping->sent_at = now();
	if (send(pinger->fd, NULL, 0, 0) < 0) {
		totals.errors++;
		report(seq, -1, strerror(errno));
		return;
	}
	pinger->nr++;
}

static void account(double usec)
{
	if (!totals.received || usec < totals.min)
		totals.min = usec;
	if (usec > totals.max)
		totals.max = usec;
	totals.sum += usec;
	totals.squares += usec * usec;
	totals.received++;
}

static void take_replies(struct pinger *pinger)
{
	struct ping *ping;
	char buffer[1];
	double usec;

	while (recv(pinger->fd, buffer, sizeof(buffer), 0) >= 0) {
		if (!pinger->nr) {
			totals.duplicates++;
			report(0, -1, "DUP!");
			continue;
		}
		ping = &pinger->pending[pinger->oldest];
		usec = (now() - ping->sent_at) / 1000.0;
		pinger->oldest = (pinger->oldest + 1) % MAX_PENDING;
		pinger->nr--;
		account(usec);
		report(ping->seq, usec, NULL);
	}
	if (errno != EAGAIN && errno != EINTR)
		warn("receive");
}

/* The signals that were blocked before the program blocked its own: these come
 * only while it waits, and so never between a look and a wait.
 */
static sigset_t uninterrupted;

static void catch_interrupts(void)
{
	struct sigaction interrupt = { .sa_handler = on_interrupt };
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGINT);
	sigaddset(&own, SIGTERM);
	sigprocmask(SIG_BLOCK, &own, &uninterrupted);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGTERM, &interrupt, NULL);
}

/*
 * Print replies until @deadline. If @last, stop as soon as no reply is missing.
 */
static void collect(int64_t deadline, bool last)
{
	struct pollfd polls[NR_SOCKETS];
	struct timespec timeout;
	int64_t left;
	int i;

	for (i = 0; i < NR_SOCKETS; i++) {
		polls[i].fd = pingers[i].fd;
		polls[i].events = POLLIN;
	}
	while ((left = deadline - now()) > 0 && !interrupted) {
		if (last && totals.received + totals.errors >= totals.sent)
			return;
		timeout.tv_sec = left / NSEC_PER_SEC;
		timeout.tv_nsec = left % NSEC_PER_SEC;
		if (ppoll(polls, NR_SOCKETS, &timeout, &uninterrupted) <= 0)
			continue;
		for (i = 0; i < NR_SOCKETS; i++)
			if (polls[i].revents & POLLIN)
				take_replies(&pingers[i]);
	}
}

static void ping_all(void)
{
	int64_t next = now();
	uint64_t seq;

	for (seq = 1; !interrupted; seq++) {
		send_ping(&pingers[seq % NR_SOCKETS], seq);
		if (seq == options.count)
			break;
		next += options.interval;
		collect(next, false);
	}
	interrupted = false;
	collect(now() + LINGER_NS, true);
}

static void print_summary(void)
{
	uint64_t lost = totals.sent - totals.received;
	double mean = 0, deviation = 0;

	if (totals.received) {
		mean = totals.sum / totals.received;
		deviation = sqrt(fmax(0, totals.squares / totals.received -
					 mean * mean));
	}
	if (options.json) {
		json_object(NULL);
		json_string("host", options.host);
		json_unsigned("sent", totals.sent);
		json_unsigned("received", totals.received);
		json_unsigned("lost", lost);
		json_unsigned("duplicates", totals.duplicates);
		json_unsigned("errors", totals.errors);
		json_fixed("min_usec", totals.min, 1);
		json_fixed("mean_usec", mean, 1);
		json_fixed("max_usec", totals.max, 1);
		json_fixed("stddev_usec", deviation, 1);
		json_end();
		return;
	}
	printf("--- %s: %" PRIu64 " sent, %" PRIu64 " received, %.0f%% lost",
	       options.host, totals.sent, totals.received,
	       totals.sent ? 100.0 * lost / totals.sent : 0);
	if (totals.duplicates)
		printf(", %" PRIu64 " duplicates", totals.duplicates);
	if (totals.errors)
		printf(", %" PRIu64 " errors", totals.errors);
	if (totals.received)
		printf("; min/mean/max/stddev %.0f/%.0f/%.0f/%.0f usec",
		       totals.min, mean, totals.max, deviation);
	printf("\n");
}

int main(int argc, char **argv)
{
	char text[ADDR_TEXT_SIZE];
	union addr local, peer;
	int i;

	parse_options(argc, argv);
	resolve(&peer, options.host, options.family);
	if (options.source)
		resolve(&local, options.source, peer.sa.sa_family);
	else if (addr_toward(&local, &peer))
		err(EXIT_TROUBLE, "no way to %s", addr_text(&peer, text));
	for (i = 0; i < NR_SOCKETS; i++)
		pingers[i].fd = open_socket(&local, &peer);

	catch_interrupts();
	ping_all();
	print_summary();
	if (fflush(stdout) || ferror(stdout))
		err(EXIT_TROUBLE, "standard output");
	if (totals.errors == totals.sent)
		return EXIT_TROUBLE;
	return totals.received ? EXIT_REPLIED : EXIT_SILENT;
}
