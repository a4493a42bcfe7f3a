// SPDX-License-Identifier: GPL-2.0
/* rds-bench - load RDS sockets, measure performance and verify the messages */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "addr.h"
#include "bench/control.h"
#include "bench/copies.h"
#include "bench/report.h"
#include "bench/session.h"
#include "bench/workload.h"

#define DEFAULT_PORT	4100
#define DEFAULT_COUNT	2000

enum {
	EXIT_FINE = 0,
	EXIT_UNSOUND = 1,	/* lost, duplicate, corrupt, or no progress */
	EXIT_TROUBLE = 2,
};

static struct {
	struct params	params;
	const char	*server;	/* host name or address */
	const char	*local;		/* address to bind to; NULL: choose */
	const char	*remote;	/* the other end's address (--local) */
	const char	*netns;		/* other end's namespace (--local) */
	uint16_t	port;
	bool		serve;
	bool		once;
	bool		both;
	bool		json;
	bool		progress;
} options = {
	.params = {
		.workload = "pp",
		.family = "rds",
		.size = 64,
		.sockets = 1,
		.warmup = 200,
		.window = 64,
		.batch = 16,
		.buffer = 2U << 20,
		.seed = 1,
		.timeout = 10,
	},
	.port = DEFAULT_PORT,
};

static const char usage_text[] =
"Usage: rds-bench -s [options]           wait for clients\n"
"       rds-bench [options] SERVER       run a workload with a server\n"
"       rds-bench --local [options]      run both ends on this host\n"
"       rds-bench -w copies [options]    copy, without a socket\n"
"\n"
"  -w, --workload NAME  pp (ping-pong), stream (one way), mix (any socket to\n"
"                       any, sizes 0 to 1 MiB, always verified), write and\n"
"                       read (of the server's memory, by RDMA), lend (from\n"
"                       the client's memory, without a copy), copies (two\n"
"                       bare copies, no socket); default pp\n"
"  -f, --family NAME    rds; to compare, seqpacket (AF_UNIX, on one host);\n"
"                       stream (of RDS), tcp or unix (on one host): messages\n"
"                       behind their lengths\n"
"  -z, --size BYTES     of one message (default 64; K and M are understood)\n"
"  -n, --sockets N      sockets on each side (default 1), a process for each\n"
"  -c, --count N        messages in all (default 2000)\n"
"  -d, --duration SEC   run for a time instead\n"
"      --warmup N       messages before the clock starts (default 200)\n"
"      --window N       stream: messages in flight (default 64)\n"
"      --batch N        stream: messages for one credit (default 16)\n"
"      --buffer BYTES   SO_SNDBUF and SO_RCVBUF (default 2M)\n"
"      --receiver WHEN  stream: let the receiver run eager (at each message) or\n"
"                       lazy (when the sender waits); default: any\n"
"  -v, --verify         number and checksum every message\n"
"      --seed N         mix: who sends what to whom (default 1)\n"
"      --ports PORT     RDS ports of the data sockets, from this one on: first\n"
"                       the server's, then the client's (default: any)\n"
"  -t, --timeout SEC    give up when nothing moves for so long (default 10)\n"
"  -I, --bind ADDRESS   local address of the data sockets\n"
"      --remote ADDRESS with --local, the address of the other end\n"
"      --netns NAME     with --local, the other end's network namespace, as ip\n"
"                       netns knows it\n"
"  -p, --port PORT      TCP port of the control channel (default 4100)\n"
"      --once           with -s, end after one client\n"
"      --json           print JSON, and no progress unless asked for\n"
"      --progress       with --json: say every second how far it is\n"
"  -h, --help           print this help\n"
"  -V, --version        print the version\n"
"\n"
"Exit status: 0; 1 if messages were lost, doubled, reordered or damaged or if\n"
"nothing moved any more; 2 on other errors.\n";

static void __attribute__((noreturn)) usage_error(void)
{
	fputs(usage_text, stderr);
	exit(EXIT_TROUBLE);
}

static double parse_number(const char *text, double max)
{
	double number;
	char *end;

	number = strtod(text, &end);
	if (end == text)
		errx(EXIT_TROUBLE, "not a number: %s", text);
	if (*end == 'K' || *end == 'k')
		number *= 1 << 10;
	else if (*end == 'M' || *end == 'm')
		number *= 1 << 20;
	else
		end--;
	if (end[1] || !(number >= 0 && number <= max))
		errx(EXIT_TROUBLE, "bad number: %s", text);
	return number;
}

static uint32_t parse_receiver(const char *text)
{
	if (!strcmp(text, "any"))
		return RECEIVER_ANY;
	if (!strcmp(text, "eager"))
		return RECEIVER_EAGER;
	if (!strcmp(text, "lazy"))
		return RECEIVER_LAZY;
	errx(EXIT_TROUBLE, "not eager, lazy or any: %s", text);
}

static void parse_name(char name[NAME_SIZE], const char *text)
{
	if (strlen(text) >= NAME_SIZE || strchr(text, ' '))
		errx(EXIT_TROUBLE, "unknown name: %s", text);
	strcpy(name, text);
}

enum {
	OPTION_WARMUP = 256,
	OPTION_WINDOW,
	OPTION_BATCH,
	OPTION_BUFFER,
	OPTION_RECEIVER,
	OPTION_SEED,
	OPTION_PORTS,
	OPTION_REMOTE,
	OPTION_NETNS,
	OPTION_ONCE,
	OPTION_LOCAL,
	OPTION_JSON,
	OPTION_PROGRESS,
};

static const struct option longs[] = {
	{ "workload", required_argument, NULL, 'w' },
	{ "family", required_argument, NULL, 'f' },
	{ "size", required_argument, NULL, 'z' },
	{ "sockets", required_argument, NULL, 'n' },
	{ "count", required_argument, NULL, 'c' },
	{ "duration", required_argument, NULL, 'd' },
	{ "warmup", required_argument, NULL, OPTION_WARMUP },
	{ "window", required_argument, NULL, OPTION_WINDOW },
	{ "batch", required_argument, NULL, OPTION_BATCH },
	{ "buffer", required_argument, NULL, OPTION_BUFFER },
	{ "verify", no_argument, NULL, 'v' },
	{ "receiver", required_argument, NULL, OPTION_RECEIVER },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "ports", required_argument, NULL, OPTION_PORTS },
	{ "timeout", required_argument, NULL, 't' },
	{ "bind", required_argument, NULL, 'I' },
	{ "remote", required_argument, NULL, OPTION_REMOTE },
	{ "port", required_argument, NULL, 'p' },
	{ "netns", required_argument, NULL, OPTION_NETNS },
	{ "once", no_argument, NULL, OPTION_ONCE },
	{ "local", no_argument, NULL, OPTION_LOCAL },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "progress", no_argument, NULL, OPTION_PROGRESS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ },
};

/* The options of the workload that are whole numbers of 32 bits */
static const struct {
	int		option;
	uint32_t	*value;
	uint32_t	max;
} numbers[] = {
	{ 'z', &options.params.size, MAX_MESSAGE },
	{ 'n', &options.params.sockets, MAX_SOCKETS },
	{ OPTION_WINDOW, &options.params.window, 1 << 20 },
	{ OPTION_BATCH, &options.params.batch, 1 << 20 },
	{ OPTION_BUFFER, &options.params.buffer, 1 << 29 },
	{ OPTION_SEED, &options.params.seed, UINT32_MAX },
	{ OPTION_PORTS, &options.params.ports, UINT16_MAX },
};

static bool parse_u32(int c)
{
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].option == c) {
			*numbers[i].value = parse_number(optarg,
							 numbers[i].max);
			return true;
		}
	}
	return false;
}

/*
 * Handle an option that describes the workload. Returns false for any other
 * option.
 */
static bool parse_param(int c)
{
	struct params *params = &options.params;

	switch (c) {
	case 'w':
		parse_name(params->workload, optarg);
		return true;
	case 'f':
		parse_name(params->family, optarg);
		return true;
	case 'c':
		params->count = parse_number(optarg, UINT32_MAX);
		return true;
	case 'd':
		params->duration = parse_number(optarg, 1e6);
		return true;
	case OPTION_WARMUP:
		params->warmup = parse_number(optarg, UINT32_MAX);
		return true;
	case 'v':
		params->verify = true;
		return true;
	case OPTION_RECEIVER:
		params->receiver = parse_receiver(optarg);
		return true;
	case 't':
		params->timeout = parse_number(optarg, 1e6);
		return true;
	default:
		return parse_u32(c);
	}
}

static void parse_other(int c)
{
	switch (c) {
	case 's':
		options.serve = true;
		break;
	case 'I':
		options.local = optarg;
		break;
	case OPTION_REMOTE:
		options.remote = optarg;
		break;
	case OPTION_NETNS:
		options.netns = optarg;
		break;
	case 'p':
		options.port = parse_number(optarg, UINT16_MAX);
		break;
	case OPTION_ONCE:
		options.once = true;
		break;
	case OPTION_LOCAL:
		options.both = true;
		break;
	case OPTION_JSON:
		options.json = true;
		break;
	case OPTION_PROGRESS:
		options.progress = true;
		break;
	case 'h':
		fputs(usage_text, stdout);
		exit(EXIT_FINE);
	case 'V':
		puts("rds-bench " VERSION);
		exit(EXIT_FINE);
	default:
		usage_error();
	}
}

static bool is_mix(void)
{
	return !strcmp(options.params.workload, mix_workload.name);
}

static bool is_copies(void)
{
	return !strcmp(options.params.workload, "copies");
}

/* Nothing arrives, so nothing can be verified. */
static void check_copies(struct params *params)
{
	const char *fault = params_fault(params);

	if (fault)
		errx(EXIT_TROUBLE, "%s", fault);
	if (params->verify)
		errx(EXIT_TROUBLE, "copies cannot be verified");
	strcpy(params->family, "memfd");
}

static void parse_options(int argc, char **argv)
{
	struct params *params = &options.params;
	int c;

	while ((c = getopt_long(argc, argv, "w:f:z:n:c:d:vt:I:p:shV", longs,
				NULL)) != -1)
		if (!parse_param(c))
			parse_other(c);
	if (optind < argc)
		options.server = argv[optind++];
	if (optind < argc ||
	    options.serve + options.both + is_copies() + !!options.server != 1)
		usage_error();
	if (options.netns && !(options.both && options.remote))
		errx(EXIT_TROUBLE, "--netns needs --local and --remote");
	if (!params->duration && !params->count)
		params->count = DEFAULT_COUNT;
	if (is_mix()) {
		params->size = 0;
		params->warmup = 0;
		params->verify = true;
	}
	if (is_copies())
		check_copies(params);
}

static void resolve(union addr *addr, const char *name)
{
	int error = addr_resolve(addr, name, AF_UNSPEC);

	if (error)
		errx(EXIT_TROUBLE, "%s: %s", name, gai_strerror(error));
}

/*
 * Get the local address of the data sockets: @name, or by default the one that
 * the control channel uses.
 */
static void data_address(union addr *addr, const char *name, int control_fd)
{
	socklen_t len = sizeof(*addr);

	if (name)
		resolve(addr, name);
	else if (getsockname(control_fd, &addr->sa, &len))
		err(EXIT_TROUBLE, "control channel");
	addr_unmap(addr);
	addr_set_port(addr, 0);
}

static int serve_one(int fd, const char *local)
{
	struct control control;
	union addr addr;
	bool fine;

	control_open(&control, fd);
	data_address(&addr, local, fd);
	fine = session_server(&control, &addr);
	control_close(&control);
	return fine ? EXIT_FINE : EXIT_UNSOUND;
}

/* Serve one client at a time, each in a process of its own. */
static void serve(int listener, const char *local)
{
	int status, fd;
	pid_t pid;

	do {
		do {
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
			if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
				err(EXIT_TROUBLE, "accept");
		} while (fd < 0);
		fflush(NULL);
		pid = fork();
		if (pid < 0)
			err(EXIT_TROUBLE, "fork");
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			exit(serve_one(fd, local));
		}
		close(fd);
		waitpid(pid, &status, 0);
	} while (!options.once);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_TROUBLE);
}

static void run_client(const union addr *server, struct tally *total)
{
	struct control control;
	union addr local;

	control_open(&control, control_dial(server));
	data_address(&local, options.local, control.fd);
	session_client(&control, &options.params, &local, total,
		       options.progress || !options.json);
	control_close(&control);
}

static void enter_netns(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		err(EXIT_TROUBLE, "network namespace %s", name);
	close(fd);
}

/*
 * Run both ends on this host. Their control channel uses the loopback device of
 * the client's namespace, even if the server is in another one.
 */
static void run_local(struct tally *total)
{
	union addr addr;
	socklen_t len = sizeof(addr);
	int listener, status;
	pid_t pid;

	resolve(&addr, "127.0.0.1");
	listener = control_listen(&addr);
	if (getsockname(listener, &addr.sa, &len))
		err(EXIT_TROUBLE, "control socket");
	options.once = true;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		err(EXIT_TROUBLE, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (options.netns)
			enter_netns(options.netns);
		serve(listener, options.remote ? options.remote :
						 options.local);
	}
	close(listener);
	run_client(&addr, total);
	waitpid(pid, &status, 0);
}

static void run_server(void)
{
	union addr any = { .in6.sin6_family = AF_INET6 };

	/* If the kernel has no IPv6, listen on IPv4. */
	if (access("/proc/net/if_inet6", F_OK))
		any.sa.sa_family = AF_INET;
	addr_set_port(&any, options.port);
	serve(control_listen(&any), options.local);
}

static const char *unit(void)
{
	const struct workload *workload;

	workload = workload_find(options.params.workload);
	return workload ? workload->unit : "copies";
}

int main(int argc, char **argv)
{
	static struct tally total;
	union addr server;

	parse_options(argc, argv);
	if (options.serve)
		run_server();
	if (is_copies()) {
		copies_run(&options.params, &total);
	} else if (options.both) {
		run_local(&total);
	} else {
		resolve(&server, options.server);
		addr_set_port(&server, options.port);
		run_client(&server, &total);
	}
	if (options.json)
		report_json(&options.params, &total);
	else
		report_text(&options.params, &total, unit());
	if (fflush(stdout) || ferror(stdout))
		err(EXIT_TROUBLE, "standard output");
	return tally_fine(&total) ? EXIT_FINE : EXIT_UNSOUND;
}
