// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of many threads on few sockets. The test checks the result of each
 * call; the kernel's own checks find faults of locks, references and races.
 */
#include "loop.h"

#include <sched.h>

#define THREADS 8

static char payload[PAGE];

/* The data that the threads of a test share */
struct arena {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
	unsigned int rounds;
	atomic_ulong sent;
	atomic_ulong received;
	atomic_ulong refused;
	atomic_bool stop;
	atomic_long bad;
};

typedef void arena_step(struct arena *arena, unsigned int round);

struct actor {
	struct arena *arena;
	arena_step *step;
	pthread_t thread;
};

static void *actor_main(void *data)
{
	struct actor *actor = data;
	unsigned int i;

	for (i = 0; i < actor->arena->rounds && !actor->arena->stop; i++)
		actor->step(actor->arena, i);
	return NULL;
}

static void run_arena(struct arena *arena, arena_step *const *steps,
		      unsigned int count)
{
	struct actor actor[THREADS];
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		actor[i].arena = arena;
		actor[i].step = steps[i % count];
		pthread_create(&actor[i].thread, NULL, actor_main, &actor[i]);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(actor[i].thread, NULL);
}

static void arena_init(struct arena *arena, FIXTURE_DATA(loop) *self,
		       unsigned int rounds)
{
	memset(arena, 0, sizeof(*arena));
	arena->a = self->a;
	arena->b = self->b;
	arena->a_name = self->a_name;
	arena->b_name = self->b_name;
	arena->rounds = few_or(rounds);
}

static void count_send(struct arena *arena, long ret, long len)
{
	if (ret == len)
		arena->sent++;
	else if (ret == -ENOBUFS || ret == -EAGAIN)
		arena->refused++;
	else
		arena->bad = ret;
}

static void step_send_b(struct arena *arena, unsigned int round)
{
	size_t len = 1 + round % 100;

	count_send(arena, ERR(rds_sendto(arena->a, payload, len, MSG_DONTWAIT,
					 &arena->b_name)), len);
}

static void step_send_a(struct arena *arena, unsigned int round)
{
	size_t len = 1 + round % 100;

	count_send(arena, ERR(rds_sendto(arena->a, payload, len, MSG_DONTWAIT,
					 &arena->a_name)), len);
}

static void recv_one(struct arena *arena, int fd)
{
	char room[128];

	if (recv(fd, room, sizeof(room), MSG_DONTWAIT) > 0)
		arena->received++;
}

static void step_recv(struct arena *arena, unsigned int round)
{
	recv_one(arena, arena->a);
	recv_one(arena, arena->b);
}

static void step_poll(struct arena *arena, unsigned int round)
{
	rds_poll(arena->a);
	rds_poll(arena->b);
}

static void step_options(struct arena *arena, unsigned int round)
{
	rds_set(arena->a, SOL_RDS, RDS_CONG_MONITOR, round % 2);
	rds_set(arena->a, SOL_RDS, RDS_RECVERR, round % 2);
	rds_set(arena->b, SOL_SOCKET, SO_TIMESTAMP, round % 2);
	rds_get(arena->a, SOL_RDS, SO_RDS_TRANSPORT);
}

static void step_info(struct arena *arena, unsigned int round)
{
	static const int options[] = {
		RDS_INFO_COUNTERS, RDS_INFO_CONNECTIONS,
		RDS_INFO_SEND_MESSAGES, RDS_INFO_RETRANS_MESSAGES,
		RDS_INFO_RECV_MESSAGES, RDS_INFO_SOCKETS,
		RDS6_INFO_RECV_MESSAGES, RDS6_INFO_SOCKETS,
	};
	char room[PAGE];
	socklen_t len = sizeof(room);
	long ret;

	ret = ERR(getsockopt(arena->a, SOL_RDS,
			     options[round % ARRAY_SIZE(options)], room,
			     &len));
	if (ret <= 0 && ret != -ENOSPC)
		arena->bad = ret;
}

static void step_cancel(struct arena *arena, unsigned int round)
{
	if (setsockopt(arena->a, SOL_RDS, RDS_CANCEL_SENT_TO,
		       &arena->b_name.in, sizeof(arena->b_name.in)))
		arena->bad = -errno;
}

static void step_connect(struct arena *arena, unsigned int round)
{
	if (rds_connect(arena->a, round % 2 ? arena->a_name : arena->b_name))
		arena->bad = -errno;
}

static void drain(struct arena *arena)
{
	char room[128];

	while (recv(arena->a, room, sizeof(room), MSG_DONTWAIT) > 0)
		arena->received++;
	while (recv(arena->b, room, sizeof(room), MSG_DONTWAIT) > 0)
		arena->received++;
}

#define PATIENCE_MS 10000

/* What the senders have left on the queue is delivered by a work item, which
 * may not have run yet.
 */
static void receive_rest(struct arena *arena)
{
	unsigned int i;

	drain(arena);
	for (i = 0; i < PATIENCE_MS && arena->received < arena->sent; i++) {
		usleep(1000);
		drain(arena);
	}
}

/*
 * KCSAN report of 2023-10: two sendmsg() calls to different peers replace the
 * connection that the socket caches.
 */
TEST_F(loop, sendmsg_sendmsg_race)
{
	static arena_step *const steps[] = { step_send_a, step_send_b };
	struct arena arena;

	arena_init(&arena, self, 1000);
	run_arena(&arena, steps, ARRAY_SIZE(steps));
	receive_rest(&arena);
	EXPECT_EQ(0, arena.bad);
	EXPECT_LT(0, arena.sent);
	EXPECT_EQ(arena.sent, arena.received);
}

/* KCSAN report of 2026-05: poll() against sendmsg() to a congested port */
TEST_F(loop, seen_congestion_data_race)
{
	static arena_step *const steps[] = {
		step_send_b, step_poll, step_send_b, step_recv,
	};
	struct arena arena;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 512));
	arena_init(&arena, self, 1000);
	run_arena(&arena, steps, ARRAY_SIZE(steps));
	receive_rest(&arena);
	EXPECT_EQ(0, arena.bad);
	/* More is sent than can be received or queued: some of it is accepted.
	 */
	EXPECT_LT(0, arena.sent);
	EXPECT_LT(0, arena.refused);
	EXPECT_EQ(arena.sent, arena.received);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* list report of 2024-03; a lost wake-up would leave messages unsent. */
TEST_F(loop, bit_lock_ordering_in_send_path)
{
	static arena_step *const steps[] = {
		step_send_b, step_send_a, step_recv, step_connect,
	};
	struct arena arena;

	arena_init(&arena, self, 1500);
	run_arena(&arena, steps, ARRAY_SIZE(steps));
	receive_rest(&arena);
	EXPECT_EQ(0, arena.bad);
	EXPECT_LT(0, arena.sent);
	EXPECT_EQ(arena.sent, arena.received);
}

/* syzbot, 2020 to 2024, four generations: lock order of last puts and wake-ups
 */
TEST_F(loop, deadlock_rds_message_put)
{
	static arena_step *const steps[] = {
		step_send_b, step_recv, step_cancel, step_poll,
		step_send_a, step_info, step_options, step_send_b,
	};
	struct arena arena;

	ASSERT_EQ(0, rds_rcvbuf(self->b, 2048));
	arena_init(&arena, self, 700);
	run_arena(&arena, steps, ARRAY_SIZE(steps));
	EXPECT_EQ(0, arena.bad);
	rds_drain(self->a);
	rds_drain(self->b);
	rds_set(self->a, SOL_RDS, RDS_CONG_MONITOR, 0);
	rds_drain(self->a);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* The receiver is closed and bound again while others send to its name. */
static void step_replace(struct arena *arena, unsigned int round)
{
	int fd = rds_bound("127.0.0.3", 4003);

	if (fd < 0) {
		if (errno != EADDRINUSE)
			arena->bad = -errno;
		return;
	}
	rds_rcvbuf(fd, 512);
	sched_yield();
	recv_one(arena, fd);
	close(fd);
}

static void step_send_c(struct arena *arena, unsigned int round)
{
	struct rds_name to = rds_name("127.0.0.3", 4003);

	count_send(arena, ERR(rds_sendto(arena->a, payload, 64, MSG_DONTWAIT,
					 &to)), 64);
}

TEST_F(loop, close_racing_delivery)
{
	static arena_step *const steps[] = {
		step_send_c, step_replace, step_send_c, step_info,
	};
	struct rds_name to = rds_name("127.0.0.3", 4003);
	struct arena arena;
	int fd;

	arena_init(&arena, self, 500);
	run_arena(&arena, steps, ARRAY_SIZE(steps));
	EXPECT_EQ(0, arena.bad);
	/* The closed sockets have left nothing: no congested port, no message.
	 */
	fd = rds_bound("127.0.0.3", 4003);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(rds_silent(fd));
	EXPECT_TRUE(loop_works(self->a, fd, &to, 64));
	close(fd);
}

static void ignore_signal(int sig)
{
}

/* Blocking senders, interrupted again and again */
static void *blocking_main(void *data)
{
	struct arena *arena = data;
	long ret;

	while (!arena->stop) {
		ret = ERR(rds_sendto(arena->a, payload, 100, 0,
				     &arena->b_name));
		if (ret == 100)
			arena->sent++;
		else if (ret != -EINTR)
			arena->bad = ret;
	}
	return NULL;
}

/*
 * list report of 2026-02: sendmsg() returned the errno of the attempt to
 * transmit, although the message was queued and sent.
 */
TEST_F(loop, sendmsg_returned_errno_for_queued_message)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	pthread_t thread[4];
	struct arena arena;
	char room[128];
	unsigned int i;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 512));
	arena_init(&arena, self, 0);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, blocking_main,
					    &arena));
	for (i = 0; i < few_or(2000); i++) {
		if (recv(self->b, room, sizeof(room), MSG_DONTWAIT) == 100)
			arena.received++;
		pthread_kill(thread[i % 4], SIGUSR1);
	}
	arena.stop = true;
	/* A sender that sleeps wakes up when there is room, and then stops. */
	for (i = 0; i < 4; i++)
		while (pthread_tryjoin_np(thread[i], NULL)) {
			receive_rest(&arena);
			usleep(1000);
		}
	receive_rest(&arena);
	EXPECT_EQ(0, arena.bad);
	EXPECT_LT(0, arena.sent);
	EXPECT_EQ(arena.sent, arena.received);
}

#define FLOWS 3
#define CHURNERS 2
#define CHURN_SECONDS 20

/* Messages in one direction, between two addresses of their own */
struct flow {
	int from;
	int to;
	struct rds_name name;
	atomic_bool *stop;
	pthread_t sender;
	pthread_t receiver;
};

static void *flow_send(void *data)
{
	struct flow *flow = data;

	while (!*flow->stop)
		rds_sendto(flow->from, payload, 1, 0, &flow->name);
	return NULL;
}

static void *flow_receive(void *data)
{
	struct flow *flow = data;
	char byte;

	while (!*flow->stop)
		recv(flow->to, &byte, 1, 0);
	return NULL;
}

static bool flow_begin(struct flow *flow, unsigned int i, atomic_bool *stop)
{
	char addr[32];

	flow->stop = stop;
	snprintf(addr, sizeof(addr), "127.0.1.%u", 2 * i + 1);
	flow->from = rds_bound(addr, 0);
	snprintf(addr, sizeof(addr), "127.0.1.%u", 2 * i + 2);
	flow->to = rds_bound(addr, 4000);
	flow->name = rds_name(addr, 4000);
	return flow->from >= 0 && flow->to >= 0 &&
	       !rds_set_timeout(flow->from, SO_SNDTIMEO, 200) &&
	       !rds_set_timeout(flow->to, SO_RCVTIMEO, 200) &&
	       !pthread_create(&flow->sender, NULL, flow_send, flow) &&
	       !pthread_create(&flow->receiver, NULL, flow_receive, flow);
}

/* Check that what was sent has arrived, and that one more message does. */
static bool flow_goes_on(struct flow *flow)
{
	char buf[8];
	ssize_t len;

	pthread_join(flow->sender, NULL);
	pthread_join(flow->receiver, NULL);
	rds_drain(flow->to);
	if (rds_sendto(flow->from, "goes on", 7, MSG_DONTWAIT,
		       &flow->name) != 7) {
		perror("# the last message was refused");
		return false;
	}
	do
		len = rds_recv(flow->to, buf, sizeof(buf));
	while (len == 1);
	return len == 7;
}

struct churner {
	unsigned int id;
	atomic_bool *stop;
	pthread_t thread;
};

/* Each round leaves unused connections behind. */
static void *churn_main(void *data)
{
	struct churner *churner = data;
	struct rds_name to;
	unsigned int i, j;
	char addr[32];
	int fd;

	for (i = 1; !*churner->stop; i++) {
		snprintf(addr, sizeof(addr), "127.%u.%u.%u", churner->id + 1,
			 i / 250 % 250, i % 250 + 1);
		fd = rds_bound(addr, 0);
		for (j = 1; j <= 64; j++) {
			snprintf(addr, sizeof(addr), "127.100.0.%u", j);
			to = rds_name(addr, 4000);
			rds_sendto(fd, payload, 1, MSG_DONTWAIT, &to);
		}
		close(fd);
	}
	return NULL;
}

/*
 * Idle connections over loopback make room when there are many, and a
 * connection in one direction looks idle between two messages. A message that
 * was queued while its path was taken down stayed there for ever, and so did
 * all later ones.
 */
TEST_F(loop, idle_loopback_path_taken_down_under_a_sender)
{
	struct churner churner[CHURNERS];
	struct flow flow[FLOWS];
	atomic_bool stop = false;
	unsigned int i;

	for (i = 0; i < FLOWS; i++)
		ASSERT_TRUE(flow_begin(&flow[i], i, &stop));
	for (i = 0; i < CHURNERS; i++) {
		churner[i].id = i;
		churner[i].stop = &stop;
		ASSERT_EQ(0, pthread_create(&churner[i].thread, NULL,
					    churn_main, &churner[i]));
	}
	sleep(CHURN_SECONDS);
	stop = true;
	for (i = 0; i < CHURNERS; i++)
		pthread_join(churner[i].thread, NULL);
	for (i = 0; i < FLOWS; i++) {
		EXPECT_TRUE(flow_goes_on(&flow[i])) TH_LOG("flow %u", i);
		close(flow[i].from);
		close(flow[i].to);
	}
}

TEST_HARNESS_MAIN
