// SPDX-License-Identifier: GPL-2.0
/*
 * Stream: messages go one way, with as many in flight as fit into a window. For
 * each batch that the server has received, it returns a credit of 8 bytes.
 *
 * The clock runs between two moments at which every full batch has been
 * credited. So exactly the messages in between are timed.
 */
#include <err.h>
#include <sched.h>
#include <unistd.h>

#include "bench/check.h"
#include "bench/payload.h"
#include "bench/workload.h"

struct stream {
	struct worker	*worker;
	unsigned char	*bytes;
	uint64_t	sent;
	uint64_t	credited;
};

static void take_credit(struct stream *stream)
{
	const struct params *params = stream->worker->params;
	uint64_t credit;

	if (worker_receive(stream->worker, &credit, sizeof(credit)) !=
	    sizeof(credit) || credit != stream->credited + params->batch) {
		warnx("socket %u: a bad credit", stream->worker->index);
		stream->worker->tally->corrupted++;
		_exit(1);
	}
	stream->credited = credit;
	/* Credits are not counted as messages. */
	stream->worker->tally->received--;
	stream->worker->tally->bytes -= sizeof(credit);
}

static void send_one(struct stream *stream)
{
	const struct params *params = stream->worker->params;

	while (stream->sent - stream->credited >= params->window)
		take_credit(stream);
	if (params->verify)
		payload_seal(stream->bytes, params->size,
			     stream->worker->index, stream->sent);
	worker_send(stream->worker, stream->bytes, params->size);
	stream->sent++;
}

static void settle(struct stream *stream)
{
	while (stream->sent - stream->credited >=
	       stream->worker->params->batch)
		take_credit(stream);
}

static void run_client(struct worker *worker)
{
	uint64_t warmup = worker_share(worker, worker->params->warmup);
	uint32_t size = worker->params->size;
	struct tally *tally = worker->tally;
	struct stream stream = {
		.worker = worker,
		.bytes = worker_memory(size),
	};

	payload_noise(stream.bytes, size, worker->index);
	while (warmup--)
		send_one(&stream);
	settle(&stream);
	tally->begin = time_now();
	while (worker_goes_on(worker, tally->measured)) {
		send_one(&stream);
		tally->measured++;
	}
	settle(&stream);
	tally->end = time_now();
	worker_send_end(worker);
}

/*
 * On one CPU, a message may or may not make the scheduler switch to its
 * receiver, depending on what ran before. That changes the rate by a third. So
 * rates can be compared only if both were measured with RECEIVER_EAGER, or both
 * with RECEIVER_LAZY.
 */
static void set_receiver(const struct params *params)
{
	struct sched_param priority = { };
	int policy;

	switch (params->receiver) {
	case RECEIVER_EAGER:
		policy = SCHED_FIFO;
		priority.sched_priority = 1;
		break;
	case RECEIVER_LAZY:
		policy = SCHED_BATCH;
		break;
	default:
		return;
	}
	if (sched_setscheduler(0, policy, &priority))
		err(2, "set the receiver's scheduling");
}

static void run_server(struct worker *worker)
{
	const struct params *params = worker->params;
	unsigned char *bytes = worker_memory(params->size + 1);
	struct check check = {
		.tally = worker->tally,
		.stream = worker->index,
		.size = params->size,
	};
	uint64_t received;
	size_t size;

	set_receiver(params);
	for (received = 1; ; received++) {
		size = worker_receive(worker, bytes, params->size + 1);
		if (worker_at_end(worker, size))
			break;
		if (params->verify)
			check_message(&check, bytes, size);
		if (received % params->batch)
			continue;
		worker_send(worker, &received, sizeof(received));
		worker->tally->sent--;
	}
}

const struct workload stream_workload = {
	.name = "stream",
	.unit = "messages",
	.workers = 1,
	.client = run_client,
	.server = run_server,
};
