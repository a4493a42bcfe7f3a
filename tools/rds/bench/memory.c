// SPDX-License-Identifier: GPL-2.0
/*
 * Workloads without a copy. The server registers memory of the size of one
 * message, and the client writes to it (workload "write") or reads it ("read").
 * Or the client sends messages from its own memory with MSG_ZEROCOPY ("lend").
 * In each case the side that gets the data checks it and sends a word. The
 * other side waits for the word before it continues. The time is measured from
 * one transfer to the next. The client overwrites lent memory as soon as the
 * kernel reports it free. This must not change what the server receives.
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
	uint64_t	cookie;		/* of the server's memory */
	char		word;		/* last word received */
};

/* Words that the two sides exchange. They are not counted as messages. */
enum {
	WORD_GO_ON,
	WORD_END,
};

/*
 * Results of hear(): the peer's word has arrived; the kernel has reported that
 * an operation, or a send from lent memory, has completed.
 */
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

/* Send a message, with one control message if there is @data. */
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

/* Receive once. Returns the TOLD_* flags of what has arrived. */
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

/*
 * Wait for the word and for the completion, in any order. If the memory was
 * lent, overwrite it as soon as its send has completed.
 */
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

/*
 * Fill in the noise again, because the memory was overwritten after the last
 * message.
 */
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

/*
 * The client does not read the message that is in place when it ends, so do not
 * count it.
 */
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
	.rdma = true,
	.client = write_client,
	.server = write_server,
};

const struct workload read_workload = {
	.name = "read",
	.unit = "reads",
	.workers = 1,
	.rdma = true,
	.client = read_client,
	.server = read_server,
};

const struct workload lend_workload = {
	.name = "lend",
	.unit = "messages",
	.workers = 1,
	.rdma = true,
	.client = lend_client,
	.server = lend_server,
};
