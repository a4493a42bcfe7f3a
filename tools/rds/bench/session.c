// SPDX-License-Identifier: GPL-2.0
/*
 * One run of a workload. The two sides exchange these lines on the control
 * channel:
 *
 *	client		server
 *	RUN params
 *			BOUND names	its sockets are bound
 *	PEERS names			the client's are bound, too
 *			READY -		its workers wait for messages
 *	... the workload ...
 *	DONE -
 *			RESULT tally
 *	END verdict
 *
 * So the sockets of both sides are bound before the first message is sent.
 */
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/link.h"
#include "bench/session.h"
#include "bench/worker.h"
#include "bench/workload.h"
#include "sock.h"

/* Time that the other side may take beyond its workers' timeout, in seconds */
#define GRACE 10

struct session {
	struct params			params;
	const struct link_family	*family;
	const struct workload		*workload;
	int				fds[MAX_SOCKETS];
	union addr			peers[MAX_SOCKETS];
};

static void prepare(struct session *session, const struct params *params)
{
	const char *fault = params_fault(params);

	session->params = *params;
	session->family = link_find(params->family);
	session->workload = workload_find(params->workload);
	if (!session->family)
		errx(2, "unknown family: %s", params->family);
	if (!session->workload)
		errx(2, "unknown workload: %s", params->workload);
	if ((session->workload->any_to_any || session->workload->rdma) &&
	    !session->family->any_to_any)
		errx(2, "%s does not work with %s", params->workload,
		     params->family);
	if (session->workload->any_to_any && !params->count)
		errx(2, "%s needs a number of messages", params->workload);
	if (session->workload->any_to_any && params->buffer < MAX_MESSAGE)
		errx(2, "%s needs buffers of 1 MiB", params->workload);
	if (params->ports && !session->family->any_to_any)
		errx(2, "%s has no RDS ports", params->family);
	if (fault)
		errx(2, "%s", fault);
}

static char *names_room(const struct session *session)
{
	return worker_memory(session->params.sockets * LINK_NAME_SIZE + 1);
}

static void append_name(char *names, const char *name)
{
	if (*names)
		strcat(names, " ");
	strcat(names, name);
}

static void check_socket(const struct session *session, int fd,
			 const char *what)
{
	const struct link_family *family = session->family;

	if (fd < 0)
		errx(2, "%s %s socket: %s", what, family->name, family->rds ?
		     rds_socket_hint(errno) : strerror(errno));
	if (link_set_buffers(fd, session->params.buffer))
		err(2, "set buffers of %" PRIu32 " bytes",
		    session->params.buffer);
}

/* The server's ports come first, so that both sides may share an address. */
static union addr name_of(const struct session *session, enum side side,
			  unsigned int i, const union addr *local)
{
	const struct params *params = &session->params;
	union addr addr = *local;

	if (params->ports && side == SIDE_CLIENT)
		i += params->sockets;
	if (params->ports)
		addr_set_port(&addr, params->ports + i);
	return addr;
}

static char *listen_all(struct session *session, const union addr *local)
{
	char *names = names_room(session);
	char name[LINK_NAME_SIZE];
	union addr own;
	unsigned int i;

	for (i = 0; i < session->params.sockets; i++) {
		own = name_of(session, SIDE_SERVER, i, local);
		session->fds[i] = session->family->listen(&own, name);
		check_socket(session, session->fds[i], "bind");
		append_name(names, name);
	}
	return names;
}

typedef void (*name_fn)(struct session *session, unsigned int i,
			const char *name, void *data);

/* Call @each for the name of each socket of the other side. */
static void visit_names(struct session *session, char *names, name_fn each,
			void *data)
{
	char *name, *rest;
	unsigned int i;

	name = strtok_r(names, " ", &rest);
	for (i = 0; i < session->params.sockets; i++) {
		if (!name)
			errx(2, "the other side has too few sockets");
		each(session, i, name, data);
		name = strtok_r(NULL, " ", &rest);
	}
}

static void note_peer(struct session *session, unsigned int i,
		      const char *name)
{
	if (session->family->any_to_any &&
	    !link_parse(name, &session->peers[i]))
		errx(2, "bad address: %s", name);
}

static void answer_one(struct session *session, unsigned int i,
		       const char *name, void *data)
{
	(void)data;
	session->fds[i] = session->family->answer(session->fds[i], name);
	check_socket(session, session->fds[i], "connect");
	note_peer(session, i, name);
}

struct dialling {
	const union addr	*local;
	char			*names;
};

static void dial_one(struct session *session, unsigned int i,
		     const char *name, void *data)
{
	struct dialling *dialling = data;
	char own_name[LINK_NAME_SIZE];
	union addr own;

	own = name_of(session, SIDE_CLIENT, i, dialling->local);
	session->fds[i] = session->family->dial(&own, name, own_name);
	check_socket(session, session->fds[i], "connect");
	append_name(dialling->names, own_name);
	note_peer(session, i, name);
}

static struct worker *make_workers(struct session *session, enum side side,
				   unsigned int *nr)
{
	struct worker *workers;
	unsigned int i;

	*nr = session->params.sockets * session->workload->workers;
	workers = worker_memory(*nr * sizeof(*workers));
	for (i = 0; i < *nr; i++) {
		workers[i].params = &session->params;
		workers[i].side = side;
		workers[i].index = i;
		workers[i].fd = session->fds[i % session->params.sockets];
		workers[i].family = session->family;
		workers[i].peers = session->peers;
	}
	return workers;
}

/* The session that show_progress() reports; a process has only one */
static const struct session *running;

static void show_progress(const struct tally *sum)
{
	fprintf(stderr, "  client: %" PRIu64 " sent, %" PRIu64 " received",
		sum->sent, sum->received);
	if (running->workload->any_to_any)
		fprintf(stderr, " of about %" PRIu64,
			running->params.count / 2);
	fprintf(stderr, " (%" PRIu64 " MB)\n", sum->bytes / 1000000);
}

/* The server has another clock. Assume that its run began when ours did. */
static void add_theirs(struct tally *total, const char *line)
{
	struct tally theirs;

	if (!tally_parse(&theirs, line))
		errx(2, "the server's result makes no sense");
	if (theirs.end) {
		theirs.begin += total->begin;
		theirs.end += total->begin;
	}
	tally_add(total, &theirs);
}

void session_client(struct control *control, const struct params *params,
		    const union addr *local, struct tally *total,
		    bool progress)
{
	static struct session session;
	char text[PARAMS_TEXT], *line;
	struct dialling dialling;
	struct worker *workers;
	unsigned int nr;

	prepare(&session, params);
	control_set_timeout(control, params->timeout + GRACE);
	params_format(params, text);
	control_send(control, "RUN", text);
	line = control_expect(control, "BOUND");
	dialling.local = local;
	dialling.names = names_room(&session);
	visit_names(&session, line, dial_one, &dialling);
	control_send(control, "PEERS", dialling.names);
	control_expect(control, "READY");

	workers = make_workers(&session, SIDE_CLIENT, &nr);
	running = &session;
	workers_start(workers, nr, session.workload->client);
	workers_wait(workers, nr, total, progress ? show_progress : NULL);

	control_send(control, "DONE", "-");
	add_theirs(total, control_expect(control, "RESULT"));
	control_send(control, "END", tally_fine(total) ? "fine" : "unsound");
}

bool session_server(struct control *control, const union addr *local)
{
	static struct session session;
	char text[TALLY_TEXT], *line;
	struct worker *workers;
	struct params params;
	struct tally total;
	unsigned int nr;

	control_set_timeout(control, GRACE);
	line = control_expect(control, "RUN");
	if (!params_parse(&params, line))
		errx(2, "a client of another version");
	prepare(&session, &params);
	control_set_timeout(control, params.timeout + GRACE);
	control_send(control, "BOUND", listen_all(&session, local));
	line = control_expect(control, "PEERS");
	visit_names(&session, line, answer_one, NULL);

	workers = make_workers(&session, SIDE_SERVER, &nr);
	workers_start(workers, nr, session.workload->server);
	control_send(control, "READY", "-");
	workers_wait(workers, nr, &total, NULL);

	control_set_timeout(control, 0);
	control_expect(control, "DONE");
	tally_format(&total, text);
	control_send(control, "RESULT", text);
	return !strcmp(control_expect(control, "END"), "fine");
}
