// SPDX-License-Identifier: GPL-2.0
/*
 * Mix: every socket of either side sends messages of very different sizes to
 * every socket of the other. Two workers share a socket: one sends, the other
 * receives and checks.
 *
 * A seed alone determines the messages, their senders and their destinations.
 * So the receivers know which messages must arrive, even the empty ones,
 * without asking the senders.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bench/check.h"
#include "bench/payload.h"
#include "bench/workload.h"

/*
 * Sizes are log-uniform: first an octave is drawn, then a size in it. The
 * octaves above 128 KiB are drawn less often, because otherwise they would
 * account for nearly all bytes.
 */
#define TOP_OCTAVE	20
#define RARE_OCTAVE	18
#define RARITY		8
/* One size in this many is exactly the power of two. */
#define EVEN_SIZES	16

/* How long to wait for unexpected messages after the last one */
#define LINGER_MS	200

/* The messages that one socket sends, in order */
struct schedule {
	uint64_t	state;
	unsigned int	sockets;
};

struct shipment {
	unsigned int	to;
	uint32_t	size;
};

/* The messages that one socket must receive from one other socket */
struct expectation {
	struct ledger	ledger;
	uint32_t	*sizes;
	uint32_t	nr;
	uint32_t	room;
};

/*
 * A sender number is unique among all sockets, and a stream number is unique
 * among all pairs of sockets.
 */
static unsigned int sender_number(const struct params *params, enum side side,
				  unsigned int index)
{
	return index + (side == SIDE_SERVER) * params->sockets;
}

static uint32_t stream_number(unsigned int sender, unsigned int to)
{
	return sender * MAX_SOCKETS + to;
}

static enum side opposite(enum side side)
{
	return side == SIDE_CLIENT ? SIDE_SERVER : SIDE_CLIENT;
}

static void schedule_start(struct schedule *schedule,
			   const struct params *params, unsigned int sender)
{
	schedule->state = payload_hash(params->seed) + sender;
	schedule->state = payload_hash(schedule->state);
	schedule->sockets = params->sockets;
}

static uint64_t draw(struct schedule *schedule, uint64_t below)
{
	schedule->state += 0x9e3779b97f4a7c15ULL;
	return payload_hash(schedule->state) % below;
}

static uint32_t draw_size(struct schedule *schedule)
{
	unsigned int octave;
	uint32_t top;

	do {
		octave = draw(schedule, TOP_OCTAVE + 1);
	} while (octave >= RARE_OCTAVE && draw(schedule, RARITY));
	if (!octave)
		return 0;
	top = 1U << octave;
	if (!draw(schedule, EVEN_SIZES))
		return top;
	return top / 2 + draw(schedule, top / 2) + 1;
}

static void schedule_next(struct schedule *schedule, struct shipment *shipment)
{
	shipment->to = draw(schedule, schedule->sockets);
	shipment->size = draw_size(schedule);
}

/*
 * Return how many messages this socket sends. The sockets of both sides share
 * the total.
 */
static uint64_t quota(const struct params *params, unsigned int sender)
{
	unsigned int senders = 2 * params->sockets;

	return params->count / senders + (sender < params->count % senders);
}

/*
 * A message is a piece of a pool of noise, at an arbitrary offset. Its header
 * is written into the pool, which only adds to the noise.
 */
static void run_sender(struct worker *worker)
{
	const struct params *params = worker->params;
	uint32_t *seqs = worker_memory(params->sockets * sizeof(*seqs));
	unsigned char *pool = worker_memory(2 * MAX_MESSAGE), *bytes;
	unsigned int sender = sender_number(params, worker->side,
					    worker->index);
	uint64_t left = quota(params, sender);
	struct shipment shipment;
	struct schedule schedule;

	payload_noise(pool, 2 * MAX_MESSAGE, params->seed + sender);
	schedule_start(&schedule, params, sender);
	worker->tally->begin = time_now();
	while (left--) {
		schedule_next(&schedule, &shipment);
		bytes = pool + left * 4099 % MAX_MESSAGE;
		payload_seal(bytes, shipment.size,
			     stream_number(sender, shipment.to),
			     seqs[shipment.to]++);
		worker_send_to(worker, bytes, shipment.size,
			       &worker->peers[shipment.to]);
	}
	worker->tally->end = time_now();
}

static void expect(struct expectation *from, uint32_t size)
{
	uint32_t *sizes;

	if (from->nr == from->room) {
		from->room = from->room ? 2 * from->room : 1024;
		sizes = worker_memory(from->room * sizeof(*sizes));
		if (from->nr)
			memcpy(sizes, from->sizes, from->nr * sizeof(*sizes));
		free(from->sizes);
		from->sizes = sizes;
	}
	from->sizes[from->nr++] = size;
}

/*
 * Replay the schedules of all senders, and note the messages for this socket.
 */
static uint64_t expect_all(const struct worker *worker,
			   struct expectation *expectations)
{
	const struct params *params = worker->params;
	struct shipment shipment;
	struct schedule schedule;
	uint64_t left, all = 0;
	unsigned int i, sender;

	for (i = 0; i < params->sockets; i++) {
		sender = sender_number(params, opposite(worker->side), i);
		schedule_start(&schedule, params, sender);
		for (left = quota(params, sender); left; left--) {
			schedule_next(&schedule, &shipment);
			if (shipment.to == worker->index)
				expect(&expectations[i], shipment.size);
		}
		all += expectations[i].nr;
	}
	return all;
}

/*
 * Identify a message without a header. Normally it is the next one. If not,
 * take the first missing message that looks the same, or else one that has
 * already arrived. Returns false if there never was such a message.
 */
static bool identify(const struct expectation *from, uint32_t stream,
		     const void *bytes, size_t size, uint32_t *seq)
{
	uint32_t i, n;
	bool seen = false;

	for (n = 0; n < from->nr; n++) {
		i = (from->ledger.next + n) % from->nr;
		if (from->sizes[i] != size ||
		    !payload_is(bytes, size, stream, i))
			continue;
		if (!ledger_has(&from->ledger, i)) {
			*seq = i;
			return true;
		}
		if (!seen)
			*seq = i;
		seen = true;
	}
	return seen;
}

/*
 * Check and count a message. Returns true if it is, to the last bit, a message
 * of @stream.
 */
static bool accept_message(struct expectation *from, uint32_t stream,
			   const void *bytes, size_t size, struct tally *tally)
{
	uint32_t seq;

	if (size < PAYLOAD_HEADER) {
		if (!identify(from, stream, bytes, size, &seq))
			return false;
	} else if (!payload_open(bytes, size, stream, &seq) ||
		   seq >= from->nr || from->sizes[seq] != size) {
		return false;
	}
	check_arrival(&from->ledger, tally, seq);
	return true;
}

/*
 * Return the index of the sending socket, or the number of sockets if the
 * sender is unknown.
 */
static unsigned int find_sender(const struct worker *worker,
				const union addr *from)
{
	unsigned int i;

	for (i = 0; i < worker->params->sockets; i++)
		if (addr_same(&worker->peers[i], from))
			break;
	return i;
}

static void receive_one(struct worker *worker, unsigned char *bytes,
			struct expectation *expectations)
{
	const struct params *params = worker->params;
	unsigned int i, sender;
	union addr from;
	size_t size;

	size = worker_receive_from(worker, bytes, MAX_MESSAGE + 1, &from);
	i = find_sender(worker, &from);
	sender = sender_number(params, opposite(worker->side), i);
	if (i == params->sockets ||
	    !accept_message(&expectations[i],
			    stream_number(sender, worker->index), bytes, size,
			    worker->tally))
		worker->tally->corrupted++;
}

/*
 * Receive the messages after the last expected one, if any. POLLIN alone does
 * not mean that there is one: it is also raised when a port is no longer
 * congested.
 */
static void linger(struct worker *worker, unsigned char *bytes,
		   struct expectation *expectations)
{
	struct pollfd more = { .fd = worker->fd, .events = POLLIN };

	while (poll(&more, 1, LINGER_MS) > 0)
		while (recv(worker->fd, NULL, 0, MSG_PEEK | MSG_DONTWAIT) >= 0)
			receive_one(worker, bytes, expectations);
}

static void run_receiver(struct worker *worker)
{
	unsigned char *bytes = worker_memory(MAX_MESSAGE + 1);
	struct tally *tally = worker->tally;
	struct expectation *expectations;
	uint64_t expected;

	expectations = worker_memory(worker->params->sockets *
				     sizeof(*expectations));
	expected = expect_all(worker, expectations);
	tally->begin = time_now();
	while (tally->received - tally->duplicated < expected) {
		receive_one(worker, bytes, expectations);
		tally->end = time_now();
	}
	linger(worker, bytes, expectations);
	tally->measured = tally->received;
}

/* The first half of the workers sends, the second half receives. */
static void run_mix(struct worker *worker)
{
	if (worker->index < worker->params->sockets) {
		run_sender(worker);
	} else {
		worker->index -= worker->params->sockets;
		run_receiver(worker);
	}
}

const struct workload mix_workload = {
	.name = "mix",
	.unit = "messages",
	.workers = 2,
	.any_to_any = true,
	.client = run_mix,
	.server = run_mix,
};
