// SPDX-License-Identifier: GPL-2.0
/*
 * One end of messages between two machines: several flows each way. Every
 * message is checked: its contents, its order, and that it arrives once. The
 * program runs on both machines, and uses only what every RDS has.
 */
#include <err.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backlog.h"
#include "journal.h"
#include "meeting.h"
#include "message.h"
#include "report.h"
#include "flow.h"

#define SECOND 1000000000ULL
#define TICK (SECOND / 40)
/*
 * Once the last message of the peer has got through, the others arrive soon.
 * But if it has only been sent, and not acknowledged, they arrive after a
 * reconnect at worst. Over soft-RoCE a connection may stall for 20 seconds
 * before it is dropped.
 */
#define QUIET (3 * SECOND)
#define QUIET_UNACKED (25 * SECOND)
/* Seconds that a peer may need to return, on a busy host */
#define BOOT_TIME 150

static const char help[] =
"usage: flows OPTIONS\n"
"  --me a|b          which end this is\n"
"  --dir DIR         that both ends see, empty at first\n"
"  --group NAME,LOCAL,REMOTE,STARTER\n"
"                    flows between two addresses; STARTER, the end that\n"
"                    sends first, is a, b or both; may be repeated\n"
"  --sockets N       socket pairs of each group (default 4)\n"
"  --messages N      to be sent in all, by both (default 2000)\n"
"  --seconds S       spread over this time once all flow (default 2)\n"
"  --life N          this is the N-th time that this end is started\n"
"  --returns         the other end will be started again during the run\n"
"  --lends           every other message is sent from memory that is\n"
"                    overwritten when its send is reported as complete\n"
"  --acked           both ends acknowledge all messages, over InfiniBand, too\n"
"  --whole           no message is too short for its whole head\n"
"  --largest BYTES   no message is larger, at both ends (default 1 MiB)\n"
"  --ib              over an RDMA device (default: the transport that has\n"
"                    the addresses)\n"
"  --tcp             over TCP, though an RDMA device may have the addresses\n"
"  --journal         write DIR/END.LIFE.journal; only with --whole\n"
"  --limit S         give up after so long without progress (default 20),\n"
"                    not counting the time that the other end is away\n"
"The file DIR/gone reports to one end that the other has ended; this end\n"
"acknowledges it by DIR/END.LIFE.noted. Writes DIR/END.LIFE.result, as JSON.\n";

static struct group groups[FLOW_GROUPS];
static struct flow flows[FLOW_GROUPS * FLOW_SOCKETS];
static struct flow *flows_end = flows;
static struct meeting meeting = { .me = 'a', .my_life = 1, .peer_life = 1 };
static struct report report = { .groups = groups };
static unsigned int sockets = 4, messages = 2000, life = 1, limit = 20;
static unsigned int total, largest = MESSAGE_MAX;
static bool returns, whole, lends, acked, ib, tcp, journal;
static double seconds = 2;

/* The time of the last progress, and of the last message received */
static uint64_t progress, arrival;
/* Since when messages flow in all groups both ways */
static uint64_t flowing;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static void set_me(char *text)
{
	meeting.me = *text;
}

static void set_dir(char *text)
{
	meeting.dir = text;
}

static void set_seconds(char *text)
{
	seconds = atof(text);
}

static void add_group(char *text)
{
	struct group *group = &groups[report.count];

	if (report.count == FLOW_GROUPS)
		errx(2, "too many groups");
	group->name = strsep(&text, ",");
	group->local = strsep(&text, ",");
	group->remote = strsep(&text, ",");
	group->starter = text;
	if (!text)
		errx(2, "a group has four parts");
	report.count++;
}

/* What an option does: it calls a function, or sets a number or a flag. */
static const struct {
	const char *name;
	void (*call)(char *text);
	unsigned int *number;
	bool *flag;
} settings[] = {
	{ "me", .call = set_me },
	{ "dir", .call = set_dir },
	{ "group", .call = add_group },
	{ "sockets", .number = &sockets },
	{ "messages", .number = &messages },
	{ "seconds", .call = set_seconds },
	{ "life", .number = &life },
	{ "returns", .flag = &returns },
	{ "lends", .flag = &lends },
	{ "acked", .flag = &acked },
	{ "whole", .flag = &whole },
	{ "largest", .number = &largest },
	{ "ib", .flag = &ib },
	{ "tcp", .flag = &tcp },
	{ "journal", .flag = &journal },
	{ "limit", .number = &limit },
};

#define SETTINGS (sizeof(settings) / sizeof(*settings))

static void apply(unsigned int i, char *text)
{
	if (settings[i].call)
		settings[i].call(text);
	else if (settings[i].number)
		*settings[i].number = atoi(text);
	else
		*settings[i].flag = true;
}

static void usage(void)
{
	fputs(help, stderr);
	exit(2);
}

static void parse(int argc, char **argv)
{
	struct option options[SETTINGS + 1] = {};
	unsigned int i;
	int option;

	for (i = 0; i < SETTINGS; i++) {
		options[i].name = settings[i].name;
		options[i].has_arg = settings[i].flag ? no_argument :
							required_argument;
		options[i].val = i;
	}
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == '?')
			usage();
		apply(option, optarg);
	}
	if (!meeting.dir || !report.count || optind < argc || !sockets ||
	    largest < sizeof(struct message) || largest > MESSAGE_MAX ||
	    sockets > FLOW_SOCKETS || !life || life > FLOW_LIVES ||
	    (ib && tcp) || (journal && !whole))
		usage();
}

static int transport(void)
{
	if (ib)
		return RDS_TRANS_IB;
	return tcp ? RDS_TRANS_TCP : RDS_TRANS_NONE;
}

static void open_flow(struct group *group, unsigned int i)
{
	unsigned int number = (group - groups) * FLOW_SOCKETS + i;
	unsigned int direction = meeting.me == 'b';
	struct flow *flow = flows_end++;

	flow->group = group;
	flow->out = number * 2 + direction;
	flow->in = number * 2 + !direction;
	flow->life = life;
	flow->whole = whole;
	flow->lends = lends;
	flow->total = total;
	flow_open(flow, FLOW_PORT + number, transport());
}

static void open_flows(void)
{
	struct group *group;
	unsigned int i;

	total = messages / (report.count * sockets * 2);
	if (life > 1 || returns)
		total = (total + 1) / 2;
	for (group = groups; group < groups + report.count; group++) {
		group->flow = flows_end;
		group->count = sockets;
		for (i = 0; i < sockets; i++)
			open_flow(group, i);
	}
}

/* Send nothing before the peer can receive it. */
static void meet(void)
{
	meeting.peer = meeting.me == 'a' ? 'b' : 'a';
	meeting.my_life = life;
	meeting_say(&meeting, "bound");
	while (!meeting_said(&meeting, "bound"))
		usleep(10000);
	report.start = now();
	progress = report.start;
	if (life > 1)
		report.met = report.start;
}

static bool may_start(const struct group *group)
{
	return *group->starter == meeting.me || group->heard[0] ||
	       !strcmp(group->starter, "both");
}

/*
 * Return how many messages a flow should have sent by now. The time that they
 * are spread over begins when all flows have begun, so that its length does not
 * depend on how long the start takes.
 */
static uint32_t due(const struct flow *flow, uint64_t time)
{
	uint32_t early = total / 8 + 1, count;

	if (!may_start(flow->group))
		return 0;
	if (!flowing)
		return early < total ? early : total;
	count = (double)(time - flowing) / SECOND / seconds * total;
	count += early;
	/* Continue until the peer has returned, and then send as many again. */
	if (returns && !flow->group->heard[1])
		return count;
	return count < flow->total ? count : flow->total;
}

/* Note in the journal how much has been sent so far. */
static void journal_mark(const struct flow *flow, enum journal_kind kind)
{
	journal_note((struct journal_entry){
		.time = now(),
		.seq = flow->sent,
		.flow = flow->out,
		.life = flow->life,
		.kind = kind,
	}, NULL);
}

/* The messages sent after the return of the peer are for its new life. */
static void note_return(struct group *group)
{
	struct flow *flow = group->flow;

	for (; flow < group->flow + group->count; flow++) {
		flow->stale = flow->sent;
		journal_mark(flow, JOURNAL_RETURNED);
		flow->total = flow->sent + total;
	}
}

/* Check whether the peer is away; messages sent to it are no progress. */
static bool alone(const struct group *group)
{
	return returns && flowing && !group->heard[1];
}

/* Send what is due, and return whether all has been sent. */
static bool transmit(uint64_t time)
{
	struct flow *flow;
	bool all = true;

	for (flow = flows; flow < flows_end; flow++) {
		while (!flow->full && time >= flow->congested &&
		       flow->sent < due(flow, time) &&
		       flow_send(flow, time))
			if (!alone(flow->group))
				progress = time;
		if (flow->sent < flow->total ||
		    (returns && !flow->group->heard[1]))
			all = false;
	}
	return all;
}

static bool hopeless(uint64_t time)
{
	uint64_t patience = limit;

	if (returns && !report.met)
		patience += BOOT_TIME;
	return time > progress + patience * SECOND;
}

static void wait_and_receive(void)
{
	struct pollfd fds[FLOW_GROUPS * FLOW_SOCKETS], *fd = fds;
	struct flow *flow;
	uint64_t time, before;

	for (flow = flows; flow < flows_end; flow++)
		*fd++ = (struct pollfd){
			.fd = flow->fd,
			.events = POLLIN | (flow->full ? POLLOUT : 0),
		};
	if (poll(fds, fd - fds, 5) <= 0)
		return;
	time = now();
	fd = fds;
	for (flow = flows; flow < flows_end; flow++) {
		if (fd->revents & POLLOUT)
			flow->full = false;
		before = flow->group->heard[1];
		if (fd->revents & POLLIN && flow_receive(flow, time)) {
			progress = time;
			arrival = time;
		}
		if (flow->group->heard[1] != before)
			note_return(flow->group);
		fd++;
	}
}

static void say_sent(void)
{
	FILE *file = meeting_write(&meeting, "sent");
	struct flow *flow;

	for (flow = flows; flow < flows_end; flow++)
		fprintf(file, "%u %u %u\n", flow->sent, flow->queued,
			flow->stale);
	meeting_publish(&meeting, "sent", file);
}

/* Check whether the peer has sent all, and read how much that is. */
static bool hear_sent(void)
{
	FILE *file = meeting_read(&meeting, "sent");
	struct flow *flow;

	if (!file)
		return false;
	for (flow = flows; flow < flows_end; flow++)
		if (fscanf(file, "%u %u %u", &flow->peer_sent,
			   &flow->peer_queued, &flow->peer_stale) != 3)
			errx(1, "the peer's list is too short");
	fclose(file);
	return true;
}

static bool all_flow(void)
{
	struct group *group;

	for (group = groups; group < groups + report.count; group++)
		if (!group->heard[0])
			return false;
	return true;
}

static bool complete(void)
{
	struct flow *flow;

	for (flow = flows; flow < flows_end; flow++)
		if (ledger_missing(&flow->ledger[returns], flow->peer_stale,
				   flow->peer_sent))
			return false;
	return true;
}

/* The progress of the exchange; each step follows the one before */
static struct {
	bool flows;
	bool noted;
	bool sent;
	bool heard_sent;
	bool drained;
	bool done;
} so_far;

/* Over InfiniBand not all peers acknowledge the last messages. */
static bool all_acked(void)
{
	return acked || !ib;
}

/* Count the messages that have not been acknowledged, or have not been sent. */
static unsigned int backlog(void)
{
	return backlog_messages(flows->fd, FLOW_PORT,
				FLOW_PORT + FLOW_GROUPS * FLOW_SOCKETS,
				all_acked());
}

static uint64_t quiet(void)
{
	return all_acked() ? QUIET : QUIET_UNACKED;
}

static void finish_sending(uint64_t time)
{
	static unsigned int last = -1;

	if (so_far.drained)
		return;
	report.stuck = backlog();
	if (report.stuck < last)
		progress = time;
	last = report.stuck;
	if (!report.stuck) {
		meeting_say(&meeting, "drained");
		so_far.drained = true;
	}
}

/*
 * Check whether messages that were sent and not acknowledged may still arrive.
 * They cannot while there is no connection, and other implementations need
 * their time to make one.
 */
static bool may_come(void)
{
	struct group *group;

	if (all_acked())
		return false;
	for (group = groups; group < groups + report.count; group++)
		if (!backlog_is_connected(flows->fd, group->local,
					  group->remote))
			return true;
	return false;
}

/* What is missing then is lost. */
static bool nothing_comes(uint64_t time)
{
	if (complete())
		return true;
	if (!meeting_said(&meeting, "drained"))
		return false;
	if (may_come())
		arrival = time;
	return time > arrival + quiet();
}

/* The messages sent so far are for a life of the peer that has ended. */
static void note_end(void)
{
	struct flow *flow;

	for (flow = flows; flow < flows_end; flow++) {
		flow->queued = flow->sent;
		journal_mark(flow, JOURNAL_NOTED);
	}
	meeting_say(&meeting, "noted");
	so_far.noted = true;
}

static void look_for_peer(uint64_t time)
{
	if (!returns || !flowing || report.met)
		return;
	if (!so_far.noted && meeting_told(&meeting, "gone"))
		note_end();
	if (meeting_said(&meeting, "bound")) {
		report.met = time;
		progress = time;
	}
}

/* Return false when the run is over. */
static bool tick(uint64_t time, bool sent)
{
	look_for_peer(time);
	if (!so_far.flows && all_flow()) {
		counters_read(flows->fd, &report.before);
		meeting_say(&meeting, "flows");
		so_far.flows = true;
	}
	if (so_far.flows && !flowing && meeting_said(&meeting, "flows")) {
		flowing = time;
		/* From now on, only the files of the peer's next life count. */
		meeting.peer_life += returns;
	}
	if (sent && !so_far.sent) {
		say_sent();
		so_far.sent = true;
	}
	if (so_far.sent)
		finish_sending(time);
	so_far.heard_sent = so_far.heard_sent || hear_sent();
	if (so_far.drained && so_far.heard_sent && !so_far.done &&
	    nothing_comes(time)) {
		meeting_say(&meeting, "done");
		so_far.done = true;
	}
	return !so_far.done || !meeting_said(&meeting, "done");
}

static void converse(void)
{
	uint64_t time, next = 0;
	bool sent;

	for (;;) {
		time = now();
		sent = transmit(time);
		wait_and_receive();
		if (time < next)
			continue;
		next = time + TICK;
		journal_flush();
		if (!tick(time, sent))
			return;
		if (hopeless(time)) {
			report.gave_up = true;
			return;
		}
	}
}

static void finish(void)
{
	FILE *file;

	report.end = now();
	report.returns = returns;
	journal_flush();
	counters_read(flows->fd, &report.after);
	file = meeting_write(&meeting, "result");
	report_write(file, &report);
	meeting_publish(&meeting, "result", file);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	message_init(largest);
	if (journal)
		journal_open(meeting.dir, meeting.me, life);
	open_flows();
	meet();
	converse();
	finish();
	return 0;
}
