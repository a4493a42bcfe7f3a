// SPDX-License-Identifier: GPL-2.0
/*
 * What is not copied. The server lets the client reach memory, as much as one
 * message has, and the client writes to it (workload "write"), or reads it
 * ("read"); or the client sends messages from its own memory ("lend"). In each
 * case the side that has the data looks at it, and the other waits for its word
 * before it goes on; what is timed is from one to the next. Memory that was
 * lent is written over as soon as the kernel says that it is free again, which
 * must not change what the server gets.
 */
#include <err.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "linux/rds.h"
#include "bench/check.h"
#include "bench/payload.h"
#include "bench/workload.h"
#include "sock.h"

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif

struct memory {
	struct worker	*worker;
	unsigned char	*bytes;
	struct check	check;
	uint32_t	seq;
	uint64_t	cookie;		/* of the server's */
	char		word;		/* what the peer said last */
};

/* What the two sides tell each other; it is not counted. */
enum {
	WORD_GO_ON,
	WORD_END,
};

/* What the kernel tells: that the peer said something, or that it is done. */
enum {
	TOLD_WORD = 1,
	TOLD_DONE = 2,
};

union control {
	struct cmsghdr	align;
	char		bytes[256];
};

static void prepare(struct memory *memory, struct worker *worker)
{
	uint32_t size = worker->params->size;

	*memory = (struct memory) {
		.worker = worker,
		.bytes = worker_memory(size),
		.check = {
			.tally = worker->tally,
			.size = size,
			.stream = worker->index,
		},
	};
	payload_noise(memory->bytes, size, worker->index);
}

/* With one control message, if there is @data */
static void send_with(struct memory *memory, struct iovec *iov, int type,
		      const void *data, size_t size, int flags)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 1 };
	union control control = {};
	struct cmsghdr *cmsg;

	if (data) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(size);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = rds_level();
		cmsg->cmsg_type = type;
		cmsg->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(cmsg), data, size);
	}
	worker_send_msg(memory->worker, &msg, flags);
}

static void say(struct memory *memory, char word)
{
	struct iovec iov = { &word, sizeof(word) };

	send_with(memory, &iov, 0, NULL, 0, 0);
}

static unsigned int read_control(struct memory *memory,
				 const struct cmsghdr *cmsg)
{
	struct rds_rdma_notify notify;

	switch (cmsg->cmsg_type) {
	case RDS_CMSG_RDMA_DEST:
		memcpy(&memory->cookie, CMSG_DATA(cmsg),
		       sizeof(memory->cookie));
		return 0;
	case RDS_CMSG_RDMA_STATUS:
		memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
		errno = EREMOTEIO;
		if (notify.status)
			worker_stop(memory->worker, "RDMA");
		return TOLD_DONE;
	case RDS_CMSG_ZCOPY_COMPLETION:
		return TOLD_DONE;
	default:
		return 0;
	}
}

/* Returns what the kernel has told. */
static unsigned int hear(struct memory *memory)
{
	struct iovec iov = { &memory->word, sizeof(memory->word) };
	union control control;
	union addr from;
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	unsigned int told;
	struct cmsghdr *cmsg;

	worker_receive_msg(memory->worker, &msg);
	told = msg.msg_namelen ? TOLD_WORD : 0;
	for (cmsg = CMSG_FIRSTHDR(&msg); cmsg; cmsg = CMSG_NXTHDR(&msg, cmsg))
		told |= read_control(memory, cmsg);
	return told;
}

static void await_word(struct memory *memory)
{
	while (!(hear(memory) & TOLD_WORD))
		;
}

/* In any order; what was lent is written over at once. */
static void await_both(struct memory *memory, bool lent)
{
	unsigned int told, all = 0;

	while (all != (TOLD_WORD | TOLD_DONE)) {
		told = hear(memory);
		if (lent && (told & TOLD_DONE))
			memset(memory->bytes, 0xdb, memory->check.size);
		all |= told;
	}
}

static void seal(struct memory *memory)
{
	if (memory->worker->params->verify)
		payload_seal(memory->bytes, memory->check.size,
			     memory->check.stream, memory->seq++);
	memory->worker->tally->sent++;
}

static void look(struct memory *memory)
{
	struct tally *tally = memory->worker->tally;

	tally->received++;
	tally->bytes += memory->check.size;
	if (memory->worker->params->verify)
		check_message(&memory->check, memory->bytes,
			      memory->check.size);
}

static void offer(struct memory *memory)
{
	char word = WORD_GO_ON;
	struct iovec iov = { &word, sizeof(word) };
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)memory->bytes, memory->check.size },
		.flags = RDS_RDMA_READWRITE,
	};

	send_with(memory, &iov, RDS_CMSG_RDMA_MAP, &args, sizeof(args), 0);
}

static void operate(struct memory *memory, uint64_t flags)
{
	char word = WORD_GO_ON;
	struct iovec iov = { &word, sizeof(word) };
	struct rds_iovec vec = {
		(uintptr_t)memory->bytes, memory->check.size,
	};
	struct rds_rdma_args args = {
		.cookie = memory->cookie,
		.remote_vec = { 0, memory->check.size },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
		.flags = flags | RDS_RDMA_NOTIFY_ME,
	};

	send_with(memory, &iov, RDS_CMSG_RDMA_ARGS, &args, sizeof(args), 0);
}

static void write_once(void *data)
{
	struct memory *memory = data;

	seal(memory);
	operate(memory, RDS_RDMA_READWRITE);
	await_both(memory, false);
}

static void read_once(void *data)
{
	struct memory *memory = data;

	operate(memory, 0);
	await_both(memory, false);
	look(memory);
}

/* The noise, too: the last message has written over it. */
static void lend_once(void *data)
{
	struct memory *memory = data;
	struct iovec iov = { memory->bytes, memory->check.size };
	uint32_t cookie = memory->seq;

	payload_noise(memory->bytes, memory->check.size, memory->seq);
	seal(memory);
	send_with(memory, &iov, RDS_CMSG_ZCOPY_COOKIE, &cookie, sizeof(cookie),
		  MSG_ZEROCOPY);
	await_both(memory, true);
}

static void write_client(struct worker *worker)
{
	struct memory memory;

	prepare(&memory, worker);
	await_word(&memory);
	worker_time_each(worker, write_once, &memory);
	say(&memory, WORD_END);
}

static void read_client(struct worker *worker)
{
	struct memory memory;

	prepare(&memory, worker);
	await_word(&memory);
	worker_time_each(worker, read_once, &memory);
	say(&memory, WORD_END);
}

static void lend_client(struct worker *worker)
{
	struct memory memory;
	int on = 1;

	if (setsockopt(worker->fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on)))
		worker_stop(worker, "SO_ZEROCOPY");
	prepare(&memory, worker);
	worker_time_each(worker, lend_once, &memory);
	worker_send_end(worker);
}

static void write_server(struct worker *worker)
{
	struct memory memory;

	prepare(&memory, worker);
	offer(&memory);
	await_word(&memory);
	while (memory.word != WORD_END) {
		look(&memory);
		say(&memory, WORD_GO_ON);
		await_word(&memory);
	}
}

/* What is there when the client ends was not to be read any more. */
static void read_server(struct worker *worker)
{
	struct memory memory;

	prepare(&memory, worker);
	seal(&memory);
	offer(&memory);
	await_word(&memory);
	while (memory.word != WORD_END) {
		seal(&memory);
		say(&memory, WORD_GO_ON);
		await_word(&memory);
	}
	worker->tally->sent--;
}

static void lend_server(struct worker *worker)
{
	struct memory memory;
	size_t size;

	prepare(&memory, worker);
	for (;;) {
		size = worker_receive(worker, memory.bytes, memory.check.size);
		if (worker_at_end(worker, size))
			break;
		if (worker->params->verify)
			check_message(&memory.check, memory.bytes, size);
		say(&memory, WORD_GO_ON);
	}
}

const struct workload write_workload = {
	.name = "write",
	.unit = "writes",
	.workers = 1,
	.client = write_client,
	.server = write_server,
};

const struct workload read_workload = {
	.name = "read",
	.unit = "reads",
	.workers = 1,
	.client = read_client,
	.server = read_server,
};

const struct workload lend_workload = {
	.name = "lend",
	.unit = "messages",
	.workers = 1,
	.client = lend_client,
	.server = lend_server,
};
