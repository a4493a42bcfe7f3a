// SPDX-License-Identifier: GPL-2.0
/*
 * Reads, writes and atomic operations on a peer's memory, in random order,
 * while memory is freed, operations are canceled, and sockets are closed. A
 * model holds the expected contents of all memory.
 *
 * Operations of one socket are done in the order in which they were sent. So
 * the model changes when an operation is sent. If one fails, or is canceled,
 * the model is read from memory when no operation is left.
 *
 * RDS_SEED, which is printed, repeats a run; each variant takes a third of
 * RDS_SECONDS, or five seconds. In a slow kernel it takes as long as it needs
 * to do at least one operation of each kind, up to PATIENCE.
 */
#include "pair.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE	4096UL
#define REGIONS	6
#define JOBS	12
#define LARGEST	(24 * PAGE)
#define PATIENCE	60	/* s */

/* Memory of the peer; cookie 0: it is not registered */
struct region {
	unsigned char *mem;
	unsigned char *model;
	uint64_t cookie;
	size_t begin;
	size_t len;
};

enum kind { READ, WRITE, ADD };

struct job {
	bool busy;
	enum kind kind;
	size_t len;
	unsigned char *local;
	unsigned char *want;
};

struct mix {
	const char *from;
	bool device;
	int a;
	int b;
	struct rds_name to;
	struct region region[REGIONS];
	struct job job[JOBS];
	unsigned int busy;
	/* An operation has failed or was canceled: memory differs from the
	 * model.
	 */
	bool lost;
	uint64_t random;
	unsigned int done[3];
	unsigned int failed;
	char wrong[100];
};

static char payload[100];

/* Return false, for its caller to return. */
__attribute__((format(printf, 2, 3)))
static bool wrong(struct mix *mix, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(mix->wrong, sizeof(mix->wrong), format, args);
	va_end(args);
	return false;
}

static unsigned int dice(struct mix *mix, unsigned int faces)
{
	mix->random ^= mix->random << 13;
	mix->random ^= mix->random >> 7;
	mix->random ^= mix->random << 17;
	return (mix->random >> 20) % faces;
}

static unsigned char *pages(void)
{
	unsigned char *mem = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mem == MAP_FAILED ? NULL : mem;
}

static bool mix_open(struct mix *mix)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++) {
		mix->region[i].mem = pages();
		mix->region[i].model = pages();
		if (!mix->region[i].mem || !mix->region[i].model)
			return false;
	}
	for (i = 0; i < JOBS; i++) {
		mix->job[i].local = pages();
		mix->job[i].want = pages();
		if (!mix->job[i].local || !mix->job[i].want)
			return false;
	}
	return true;
}

static long region_register(struct mix *mix, struct region *r)
{
	r->begin = dice(mix, PAGE / 8) * 8;
	r->len = 8 * PAGE + dice(mix, LARGEST - 9 * PAGE);
	return rds_get_mr(mix->b, r->mem + r->begin, r->len,
			  RDS_RDMA_READWRITE, &r->cookie);
}

static long region_free(struct mix *mix, struct region *r)
{
	uint64_t cookie = r->cookie;

	r->cookie = 0;
	return rds_free_mr(mix->b, cookie);
}

static long send_with(struct mix *mix, int type, const void *args, size_t len)
{
	struct rds_msg msg;

	/* Half of them without a message */
	rds_msg_init(&msg, payload, dice(mix, 2) * sizeof(payload));
	rds_msg_to(&msg, &mix->to);
	rds_msg_add(&msg, SOL_RDS, type, args, len);
	return ERR(sendmsg(mix->a, &msg.hdr, MSG_DONTWAIT));
}

/* An operation that fails here has not begun. */
static long job_send(struct mix *mix, struct job *job, struct region *r,
		     size_t off)
{
	uint64_t flags = RDS_RDMA_NOTIFY_ME | RDS_RDMA_SILENT |
			 (dice(mix, 4) ? 0 : RDS_RDMA_FENCE);
	/* In two pieces */
	size_t cut = 1 + (job->len > 1 ? dice(mix, job->len - 1) : 0);
	struct rds_iovec vec[2] = {
		{ (uintptr_t)job->local, cut },
		{ (uintptr_t)job->local + cut, job->len - cut },
	};
	struct rds_rdma_args args = {
		.cookie = r->cookie,
		.remote_vec = { off, job->len },
		.local_vec_addr = (uintptr_t)vec,
		.nr_local = job->len > cut ? 2 : 1,
		.flags = flags |
			 (job->kind == WRITE ? RDS_RDMA_READWRITE : 0),
		.user_token = job - mix->job,
	};
	struct rds_atomic_args atomic = {
		.cookie = r->cookie,
		.local_addr = (uintptr_t)job->local,
		.remote_addr = off,
		.fadd.add = 0x0123456789abcdef,
		.flags = flags,
		.user_token = job - mix->job,
	};

	if (job->kind == ADD)
		return send_with(mix, RDS_CMSG_ATOMIC_FADD, &atomic,
				 sizeof(atomic));
	return send_with(mix, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

/* Compute what the operation is to find, and to leave. */
static void job_model(struct job *job, unsigned char *there)
{
	uint64_t sum;

	memcpy(job->want, there, job->len);
	if (job->kind == WRITE)
		memcpy(there, job->local, job->len);
	if (job->kind == ADD) {
		memcpy(&sum, there, sizeof(sum));
		sum += 0x0123456789abcdef;
		memcpy(there, &sum, sizeof(sum));
	}
}

/* Return 0, or an errno that is not expected. */
static long mix_begin(struct mix *mix, struct job *job, struct region *r)
{
	size_t off;
	long ret;

	if (job->busy || !r->cookie)
		return 0;
	job->kind = dice(mix, 3);
	job->len = job->kind == ADD ? 8 : 1 + dice(mix, r->len - 1);
	off = dice(mix, r->len - job->len + 1);
	if (job->kind == ADD)
		off &= ~7UL;
	rds_fill(job->local, job->len, mix->random);
	ret = job_send(mix, job, r, off);
	if (ret == -EAGAIN || ret == -ENOBUFS)
		return 0;
	if (ret < 0)
		return ret;
	job_model(job, r->model + r->begin + off);
	job->busy = true;
	mix->busy++;
	return 0;
}

/* Check whether it has completed as it may. */
static bool job_end(struct mix *mix, struct job *job, int status)
{
	if (!job->busy)
		return wrong(mix, "a report of no operation");
	job->busy = false;
	mix->busy--;
	if (status != RDS_RDMA_SUCCESS) {
		mix->failed++;
		return mix->lost || wrong(mix, "operation %d ended as %d",
					  job->kind, status);
	}
	mix->done[job->kind]++;
	return mix->lost || job->kind == WRITE ||
	       !memcmp(job->local, job->want, job->len) ||
	       wrong(mix, "operation %d read other bytes", job->kind);
}

/* Process the reports that have arrived; or, if @all, until no operation is
 * left.
 */
static bool mix_hear(struct mix *mix, bool all)
{
	struct rds_rdma_notify notify;
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	char byte;
	long ret;

	rds_drain(mix->b);
	do {
		ret = ERR(rds_msg_recv(mix->a, &msg, &byte, 1,
				       all && mix->busy ? 0 : MSG_DONTWAIT));
		if (ret == -EAGAIN)
			return true;
		if (ret < 0)
			return wrong(mix, "recvmsg: %ld", ret);
		if (ret)
			return wrong(mix, "a message from nobody");
		for (cmsg = CMSG_FIRSTHDR(&msg.hdr); cmsg;
		     cmsg = CMSG_NXTHDR(&msg.hdr, cmsg)) {
			if (cmsg->cmsg_type != RDS_CMSG_RDMA_STATUS)
				continue;
			memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
			if (notify.user_token >= JOBS)
				return wrong(mix, "no token of ours");
			if (!job_end(mix, &mix->job[notify.user_token],
				     notify.status))
				return false;
		}
	} while (true);
}

static bool mix_matches(const struct mix *mix)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		if (memcmp(mix->region[i].mem, mix->region[i].model, LARGEST))
			return false;
	return true;
}

/* Read the model from memory; no operation is left. */
static void mix_learn(struct mix *mix)
{
	unsigned int i;

	for (i = 0; i < REGIONS; i++)
		memcpy(mix->region[i].model, mix->region[i].mem, LARGEST);
	mix->lost = false;
}

static bool mix_settle(struct mix *mix)
{
	if (!mix_hear(mix, true))
		return false;
	if (!mix->lost)
		return mix_matches(mix) || wrong(mix, "memory has other bytes");
	mix_learn(mix);
	return true;
}

/* Wait until the device has completed the operations of a socket that was
 * closed. They precede what is sent now by the same connection; or end the
 * connection, if they are for memory that was freed.
 */
static bool mix_pass(struct mix *mix)
{
	struct region *r = mix->region;
	long ret;

	if (region_register(mix, r))
		return wrong(mix, "RDS_GET_MR: %m");
	do {
		if (!mix_hear(mix, false))
			return false;
		ret = mix_begin(mix, mix->job, r);
		if (ret)
			return wrong(mix, "sendmsg: %ld", ret);
	} while (!mix->busy);
	if (!mix_settle(mix))
		return false;
	return !region_free(mix, r) || wrong(mix, "RDS_FREE_MR: %m");
}

/* Close the socket, with all its operations; these are never reported. */
static bool mix_reopen(struct mix *mix)
{
	unsigned int i;

	close(mix->a);
	mix->a = rds_bound(mix->from, 0);
	/* The device may continue them: it holds the memory, which this process
	 * unmaps.
	 */
	for (i = 0; i < JOBS; i++) {
		mix->job[i].busy = false;
		munmap(mix->job[i].local, LARGEST);
		mix->job[i].local = pages();
		if (!mix->job[i].local)
			return wrong(mix, "mmap: %m");
	}
	mix->busy = 0;
	mix->lost = true;
	for (i = 0; i < REGIONS; i++)
		if (mix->region[i].cookie &&
		    region_free(mix, &mix->region[i]))
			return wrong(mix, "RDS_FREE_MR: %m");
	if (mix->a < 0)
		return wrong(mix, "bind: %m");
	return mix_pass(mix);
}

static bool mix_cancel(struct mix *mix)
{
	mix->lost = true;
	if (setsockopt(mix->a, SOL_RDS, RDS_CANCEL_SENT_TO, NULL, 0))
		return wrong(mix, "RDS_CANCEL_SENT_TO: %m");
	return mix_settle(mix);
}

/* Free a region, while operations may use it. */
static bool mix_free(struct mix *mix)
{
	struct region *r = &mix->region[dice(mix, REGIONS)];

	/* The registration is kept, or not. */
	if (mix->device &&
	    rds_sysctl_set("ib/mr_pool_software", dice(mix, 3) ? "1" : "0"))
		return wrong(mix, "mr_pool_software: %m");
	if (!r->cookie)
		return !region_register(mix, r) ||
		       wrong(mix, "RDS_GET_MR: %m");
	mix->lost = mix->lost || mix->busy;
	if (region_free(mix, r))
		return wrong(mix, "RDS_FREE_MR: %m");
	return mix_settle(mix);
}

/* Do a step; return false if something is wrong. */
static bool mix_step(struct mix *mix)
{
	long ret;

	switch (dice(mix, 200)) {
	case 0:
		return mix_reopen(mix);
	case 1:
		return mix_cancel(mix);
	case 2 ... 9:
		return mix_free(mix);
	case 10 ... 19:
		return mix_settle(mix);
	default:
		if (!mix_hear(mix, false))
			return false;
		ret = mix_begin(mix, &mix->job[dice(mix, JOBS)],
				&mix->region[dice(mix, REGIONS)]);
		return !ret || wrong(mix, "sendmsg: %ld", ret);
	}
}

static bool await_unpinned(void)
{
	unsigned int left;

	for (left = 5000; left && rds_pages_pinned(); left--)
		usleep(1000);
	return left;
}

static bool mix_done_each(const struct mix *mix)
{
	return mix->done[READ] && mix->done[WRITE] && mix->done[ADD];
}

TEST_F_TIMEOUT(pair, i8_random_operations, LONG)
{
	const char *seed = getenv("RDS_SEED"), *seconds = getenv("RDS_SECONDS");
	time_t end = time(NULL) + (seconds ? atoi(seconds) : 15) / 3;
	time_t latest = end + PATIENCE;
	struct mix mix = {
		.from = variant->a,
		.device = variant->transport == RDS_TRANS_IB,
		.a = self->a, .b = self->b, .to = self->b_name,
		.random = seed ? strtoull(seed, NULL, 0) : time(NULL),
	};
	unsigned long steps = 0;
	ssize_t len;

	TH_LOG("RDS_SEED=%llu", (unsigned long long)mix.random);
	ASSERT_TRUE(mix_open(&mix));
	while (time(NULL) < end ||
	       (!mix_done_each(&mix) && time(NULL) < latest)) {
		ASSERT_TRUE(mix_step(&mix))
			TH_LOG("step %lu: %s", steps, mix.wrong);
		steps++;
	}
	EXPECT_TRUE(mix_settle(&mix))
		TH_LOG("%s", mix.wrong);
	TH_LOG("%lu steps; %u reads, %u writes, %u atomics done, %u failed",
	       steps, mix.done[READ], mix.done[WRITE], mix.done[ADD],
	       mix.failed);
	EXPECT_TRUE(mix_done_each(&mix));
	EXPECT_TRUE(mix_reopen(&mix))
		TH_LOG("%s", mix.wrong);
	EXPECT_TRUE(!mix.device ||
		    !rds_sysctl_set("ib/mr_pool_software", "0"));
	self->a = mix.a;
	rds_drain(self->b);
	EXPECT_TRUE(await_unpinned());
	EXPECT_EQ(2, rds_sendto(self->a, "ok", 2, 0, &self->b_name));
	/* Behind the messages of the last operations */
	do {
		len = rds_recv(self->b, payload, sizeof(payload));
	} while (len == sizeof(payload));
	EXPECT_EQ(2, len);
}

TEST_HARNESS_MAIN
