// SPDX-License-Identifier: GPL-2.0
/*
 * One socket and a thousand peers: all of them are reached; what an idle
 * connection to one costs; and when all connections are lost at once, they are
 * all back soon and at little cost, although a few other peers do not reply.
 *
 * RDS_PEERS, RDS_ROUNDS: other numbers than 1000 peers and 1 round.
 * RDS_ICOUNT: CPU time counts instructions, so it is checked too.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "peer.h"
#include "peers.h"
#include "resources.h"

#define PEERS		1000
#define HOST_PORT	4000
#define PATIENCE	60.0

/*
 * A CPU that counts instructions skips the time when nothing runs: reading a
 * file of the host may take minutes by its clock. So only the program that has
 * started the machine can detect that a test hangs.
 */
#define TIMEOUT		1000000

/* The limits that are promised */
#define RECONNECT_SECONDS	10.0
#define CPU_MS_PER_PATH		1.0
#define IDLE_BYTES		(17 * 1024)

static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? atoi(text) : otherwise;
}

FIXTURE(scale) {
	struct peers *peers;
	unsigned int nr;
	uint32_t *sent;		/* messages to each peer */
	uint32_t *replied;	/* by each peer */
	unsigned int wrong;
	int fd;
};

FIXTURE_SETUP(scale)
{
	setlinebuf(stdout);
	ASSERT_EQ(0, mlockall(MCL_CURRENT | MCL_FUTURE));
	ASSERT_EQ(0, rds_netns());
	self->nr = setting("RDS_PEERS", PEERS);
	self->sent = calloc(self->nr + PEERS_SILENT, sizeof(*self->sent));
	self->replied = calloc(self->nr, sizeof(*self->replied));
	self->peers = peers_start(self->nr);
	self->fd = rds_bound(PEERS_HOST, HOST_PORT);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, rds_sndbuf(self->fd, 4 << 20));
	ASSERT_EQ(0, rds_rcvbuf(self->fd, 4 << 20));
}

FIXTURE_TEARDOWN(scale)
{
	close(self->fd);
	peers_stop(self->peers);
	free(self->replied);
	free(self->sent);
}

typedef FIXTURE_DATA(scale) scale_t;

static void name_of(const scale_t *scale, unsigned int i,
		    struct sockaddr_in *name)
{
	*name = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_port = htons(PEER_PORT),
		.sin_addr = peers_address(scale->peers, i),
	};
}

/* Receive the replies that have arrived; return whether there were any. */
static bool take_replies(scale_t *scale)
{
	struct peer_stamp stamp;
	bool any = false;
	ssize_t len;

	while ((len = recv(scale->fd, &stamp, sizeof(stamp),
			   MSG_DONTWAIT)) >= 0) {
		any = true;
		if (len == sizeof(stamp) && stamp.peer < scale->nr &&
		    stamp.number == scale->replied[stamp.peer])
			scale->replied[stamp.peer]++;
		else
			scale->wrong++;
	}
	return any;
}

static bool all_replied(const scale_t *scale)
{
	unsigned int i;

	for (i = 0; i < scale->nr; i++)
		if (scale->replied[i] != scale->sent[i])
			return false;
	return true;
}

static int send_one(scale_t *scale, unsigned int i)
{
	struct peer_stamp stamp = { .peer = i, .number = scale->sent[i] };
	struct pollfd pfd = { .fd = scale->fd, .events = POLLOUT };
	unsigned char message[PEER_MESSAGE];
	struct sockaddr_in name;
	ssize_t ret;

	name_of(scale, i, &name);
	peer_message(message, &stamp);
	do {
		ret = sendto(scale->fd, message, sizeof(message), MSG_DONTWAIT,
			     (struct sockaddr *)&name, sizeof(name));
	} while (ret < 0 && errno == EAGAIN &&
		 poll(&pfd, 1, PATIENCE * 1000) == 1);
	if (ret != sizeof(message))
		return -1;
	scale->sent[i]++;
	return 0;
}

/* Send to the peers from @first up to @end, without @end. */
static int send_to(scale_t *scale, unsigned int first, unsigned int end)
{
	unsigned int i;

	for (i = first; i < end; i++)
		if (send_one(scale, i))
			return -1;
	return 0;
}

static int send_to_all(scale_t *scale)
{
	return send_to(scale, 0, scale->nr);
}

/* Wait until each message has got a reply; return false after PATIENCE. */
static bool await_replies(scale_t *scale)
{
	struct pollfd pfd = { .fd = scale->fd, .events = POLLIN };
	struct cpu_time start;

	cpu_time_read(&start);
	do {
		take_replies(scale);
		if (all_replied(scale))
			return true;
		poll(&pfd, 1, 100);
	} while (cpu_time_since(&start).elapsed < PATIENCE * 1e9);
	return false;
}

/* Count the connections that the kernel lists as connected. */
static unsigned int connected(scale_t *scale)
{
	socklen_t room = 2 * scale->nr * sizeof(struct rds_info_connection);
	struct rds_info_connection *list = malloc(room);
	unsigned int i, up = 0;

	if (getsockopt(scale->fd, SOL_RDS, RDS_INFO_CONNECTIONS, list,
		       &room) < 0)
		room = 0;
	for (i = 0; i < room / sizeof(*list); i++)
		up += !!(list[i].flags & RDS_INFO_CONNECTION_FLAG_CONNECTED);
	free(list);
	return up;
}

static void print_cpu(const char *what, const struct cpu_time *spent,
		      unsigned int nr)
{
	printf("# %s: %.2f s", what, spent->elapsed / 1e9);
	printf(", CPUs were busy for %.0f ms, %.3f ms for each of %u\n",
	       spent->busy / 1e6, spent->busy / 1e6 / nr, nr);
}

static int plain_connect(const struct sockaddr_in *name, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    connect(fd, (const struct sockaddr *)name, sizeof(*name)) ||
	    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		return -1;
	return fd;
}

static int plain_accept(int listener, int epoll)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int fd;

	if (poll(&pfd, 1, PATIENCE * 1000) != 1)
		return -1;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		return -1;
	return fd;
}

/*
 * Measure the program's end of an idle TCP connection; a peer has one. It is
 * half of what both ends take if both belong to programs.
 */
static int plain_end(scale_t *scale, struct memory *end)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC), listener;
	struct memory before, after;
	struct sockaddr_in name;
	unsigned int i;

	listener = peers_plain_listener(scale->peers, &name);
	memory_read(&before);
	for (i = 0; i < scale->nr; i++)
		if (plain_connect(&name, epoll) < 0 ||
		    plain_accept(listener, epoll) < 0)
			return -1;
	memory_read(&after);
	end->all = (after.all - before.all) / scale->nr / 2;
	end->slab = (after.slab - before.slab) / scale->nr / 2;
	return 0;
}

/*
 * This counts all memory of the machine, less what the peers' ends take: the
 * connection with its paths, the TCP socket and what it holds, the peer's
 * congestion map. What the kernel allocates only once is allocated for the
 * first fifth of the connections, which is not counted.
 */
TEST_F_TIMEOUT(scale, an_idle_connection_takes_little_memory, TIMEOUT)
{
	unsigned int first = self->nr / 5, counted = self->nr - first;
	struct memory before, after, peer;

	ASSERT_EQ(0, send_to(self, 0, first));
	ASSERT_TRUE(await_replies(self));
	usleep(500000);		/* for frees after a grace period */
	memory_read(&before);
	ASSERT_EQ(0, send_to(self, first, self->nr));
	ASSERT_TRUE(await_replies(self));
	ASSERT_EQ(self->nr, connected(self));
	usleep(500000);
	memory_read(&after);
	ASSERT_EQ(0, plain_end(self, &peer));
	after.all = (after.all - before.all) / counted - peer.all;
	after.slab = (after.slab - before.slab) / counted - peer.slab;
	printf("# an idle connection: %ld bytes, %ld of them slab\n",
	       (long)after.all, (long)after.slab);
	printf("# (without the peer's end: %ld bytes, %ld of them slab)\n",
	       (long)peer.all, (long)peer.slab);
	EXPECT_GE(IDLE_BYTES, after.all);
	EXPECT_LT(0, after.slab);
}

TEST_F_TIMEOUT(scale, all_peers_hear_one_socket, TIMEOUT)
{
	struct cpu_time start, spent;
	unsigned int round;

	for (round = 0; round < 3; round++) {
		cpu_time_read(&start);
		ASSERT_EQ(0, send_to_all(self));
		EXPECT_TRUE(await_replies(self));
		spent = cpu_time_since(&start);
		print_cpu(round ? "messages and replies" :
				  "connections, messages and replies", &spent,
			  self->nr);
	}
	EXPECT_EQ(self->nr, connected(self));
	EXPECT_EQ(0, self->wrong);
	EXPECT_EQ(0, tally_get(peers_tally(self->peers), TALLY_WRONG));
	EXPECT_TRUE(rds_silent(self->fd));
}

/* Fill the connection to the peer that never reads. */
static int fill_up(scale_t *scale, int fd)
{
	static unsigned char message[65536];
	struct sockaddr_in name;

	name_of(scale, scale->nr + PEERS_HUNG, &name);
	while (sendto(fd, message, sizeof(message), MSG_DONTWAIT,
		      (struct sockaddr *)&name, sizeof(name)) >= 0)
		;
	return errno == EAGAIN ? 0 : -1;
}

static int disturb(scale_t *scale)
{
	unsigned int i;

	for (i = scale->nr; i < scale->nr + PEERS_SILENT; i++)
		if (send_one(scale, i))
			return -1;
	return 0;
}

/* Let all connections flap once, and wait until all are back; @spent gets what
 * it took.
 */
static bool flap(scale_t *scale, struct cpu_time *spent)
{
	struct tally *tally = peers_tally(scale->peers);
	struct cpu_time start, up;
	unsigned int i, heard = 0;
	bool back;

	cpu_time_read(&start);
	peers_go_down(scale->peers);
	usleep(1000000);
	if (send_to_all(scale))
		return false;
	usleep(1000000);
	peers_come_up(scale->peers);
	cpu_time_read(&up);
	for (i = 0; i < scale->nr; i++)
		heard += scale->sent[i];
	back = tally_wait(tally, TALLY_UP, scale->nr, PATIENCE) &&
	       tally_wait(tally, TALLY_HEARD, heard, PATIENCE);
	*spent = cpu_time_since(&start);
	spent->elapsed = cpu_time_since(&up).elapsed;
	return back;
}

TEST_F_TIMEOUT(scale, all_are_back_soon_after_a_flap, TIMEOUT)
{
	unsigned int round, rounds = setting("RDS_ROUNDS", 1);
	struct cpu_time spent;
	int full;

	full = rds_bound(PEERS_HOST, HOST_PORT + 1);
	ASSERT_LE(0, full);
	ASSERT_EQ(0, send_to_all(self));
	ASSERT_TRUE(await_replies(self));
	ASSERT_EQ(0, disturb(self));
	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, fill_up(self, full));
		ASSERT_TRUE(flap(self, &spent));
		print_cpu("all back", &spent, self->nr);
		EXPECT_GE(RECONNECT_SECONDS, spent.elapsed / 1e9);
		if (setting("RDS_ICOUNT", 0))
			EXPECT_GE(CPU_MS_PER_PATH,
				  spent.busy / 1e6 / self->nr);
		EXPECT_TRUE(await_replies(self));
		EXPECT_LE(self->nr, connected(self));
	}
	EXPECT_EQ(0, self->wrong);
	EXPECT_EQ(0, tally_get(peers_tally(self->peers), TALLY_WRONG));
	EXPECT_TRUE(rds_silent(self->fd));
	close(full);
}

TEST_HARNESS_MAIN
