// SPDX-License-Identifier: GPL-2.0
/*
 * Ping-pong: one message to the server and one back, again and again. Each
 * round trip is timed.
 */
#include "bench/check.h"
#include "bench/payload.h"
#include "bench/workload.h"

struct pingpong {
	struct worker	*worker;
	unsigned char	*bytes;
	struct check	check;
	uint32_t	seq;
};

/* Each direction of a socket pair is a stream of its own. */
static void prepare(struct pingpong *game, struct worker *worker)
{
	uint32_t size = worker->params->size;

	*game = (struct pingpong) {
		.worker = worker,
		.bytes = worker_memory(size),
		.check = {
			.tally = worker->tally,
			.size = size,
			.stream = 2 * worker->index +
				  (worker->side == SIDE_CLIENT),
		},
	};
	payload_noise(game->bytes, size, worker->index);
}

static void serve(struct pingpong *game)
{
	uint32_t size = game->check.size;

	if (game->worker->params->verify)
		payload_seal(game->bytes, size, game->check.stream ^ 1,
			     game->seq++);
	worker_send(game->worker, game->bytes, size);
}

/*
 * Receive one message. Returns false if it is the end mark of the other side.
 */
static bool take(struct pingpong *game)
{
	size_t size;

	/* Empty messages need room for the one byte of the end mark. */
	size = worker_receive(game->worker, game->bytes,
			      game->check.size ? game->check.size : 1);
	if (worker_at_end(game->worker, size))
		return false;
	if (game->worker->params->verify)
		check_message(&game->check, game->bytes, size);
	return true;
}

static void play(void *data)
{
	struct pingpong *game = data;

	serve(game);
	take(game);
}

static void run_client(struct worker *worker)
{
	struct pingpong game;

	prepare(&game, worker);
	worker_time_each(worker, play, &game);
	worker_send_end(worker);
}

static void run_server(struct worker *worker)
{
	struct pingpong game;

	prepare(&game, worker);
	while (take(&game))
		serve(&game);
}

const struct workload pingpong_workload = {
	.name = "pp",
	.unit = "round trips",
	.workers = 1,
	.client = run_client,
	.server = run_server,
};
