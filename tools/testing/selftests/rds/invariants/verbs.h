/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the tests of RDS over RDMA devices in software: the fixture has two
 * sockets at a device that is connected to itself (roce.h). A second device,
 * on an interface of its own, is added and removed as a test needs it.
 */
#ifndef RDS_VERBS_H
#define RDS_VERBS_H

#include "loop.h"
#include "nldev.h"
#include "roce.h"

#include <net/if.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SPARE_DEV	"roce1"
#define SPARE_RDMA_DEV	"rxe1"
#define SPARE_A		"10.0.1.1"
#define SPARE_B		"10.0.1.2"
#define SPARE_A_IPV6	"fd02::1"
#define SPARE_NOBODY	"10.0.1.9"

FIXTURE(rdma) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
};

/* Create the spare interface, with its addresses. */
static inline int spare_interface(void)
{
	if (!if_nametoindex(SPARE_DEV) &&
	    system("ip link add " SPARE_DEV " type dummy"))
		return -1;
	return rds_up(SPARE_DEV) || rds_address_on(SPARE_DEV, SPARE_A, 24) ||
	       rds_address_on(SPARE_DEV, SPARE_B, 24) ||
	       rds_address_on(SPARE_DEV, SPARE_A_IPV6, 64) ? -1 : 0;
}

/* Return a socket that is to use an RDMA device. */
static inline int rdma_socket(void)
{
	int fd = rds_socket();

	if (fd >= 0 && rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, RDS_TRANS_IB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static inline long rdma_bind(const char *addr)
{
	int fd = rdma_socket();
	long ret;

	ret = ERR(rds_bind(fd, rds_name(addr, 0)));
	close(fd);
	return ret;
}

/* Return a socket with a type of service; each type has a connection of its
 * own.
 */
static inline int rdma_sender(unsigned int tos)
{
	int fd = rds_bound(ROCE_NEAR_IPV4, 0);
	uint8_t byte = tos;

	if (fd < 0 || !ioctl(fd, SIOCRDSSETTOS, &byte))
		return fd;
	close(fd);
	return -1;
}

static pid_t rdma_main;

static inline void rdma_remove_interface(void)
{
	if (getpid() == rdma_main && !roce_enter())
		system("ip link del " SPARE_DEV);
}

/* Runs once in a program. */
static void __attribute__((constructor)) rdma_set_up_devices(void)
{
	rdma_main = getpid();
	if (!roce_setup() && !roce_enter() && !spare_interface() &&
	    !atexit(rdma_remove_interface))
		return;
	perror("Cannot set an RDMA device up");
	exit(KSFT_FAIL);
}

FIXTURE_SETUP(rdma)
{
	nldev_del(SPARE_RDMA_DEV);
	self->a = rds_bound(ROCE_NEAR_IPV4, 0);
	ASSERT_LE(0, self->a);
	self->b = rds_bound(ROCE_FAR_IPV4, 0);
	ASSERT_LE(0, self->b);
	ASSERT_EQ(RDS_TRANS_IB, rds_get(self->a, SOL_RDS, SO_RDS_TRANSPORT));
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

FIXTURE_TEARDOWN(rdma)
{
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	close(self->a);
	close(self->b);
	nldev_del(SPARE_RDMA_DEV);
}

static inline int spare_add(void)
{
	return nldev_add(SPARE_RDMA_DEV, "rxe", SPARE_DEV);
}

static inline int spare_del(void)
{
	return nldev_del(SPARE_RDMA_DEV);
}

/* A tenth of RDS_ROUNDS, but at least two */
static inline unsigned int rounds(void)
{
	const char *text = getenv("RDS_ROUNDS");
	unsigned int count = text ? atoi(text) / 10 : 10;

	return count < 2 ? 2 : count;
}

/*
 * A process that sends from one address of the spare device to another, and
 * checks that every message arrives once, whole and in order
 */
#define FLOW_AHEAD	32
#define FLOW_LEN	20000

struct flow {
	pid_t pid;
	atomic_uint *got;
};

static atomic_bool flow_stop;

static inline void flow_on_term(int sig)
{
	flow_stop = true;
}

static inline size_t flow_len(unsigned int number)
{
	return sizeof(number) + number * 7919 % (FLOW_LEN - sizeof(number));
}

/* Return the line of a failure, or 0. */
static inline int flow_take(int fd, unsigned int *got)
{
	static char in[FLOW_LEN];
	ssize_t len;

	while ((len = recv(fd, in, sizeof(in), MSG_DONTWAIT)) >= 0) {
		if (len != (ssize_t)flow_len(*got))
			return __LINE__;
		if (!rds_check(in, len, *got))
			return __LINE__;
		++*got;
	}
	return errno == EAGAIN ? 0 : __LINE__;
}

static inline int flow_give(int fd, const struct rds_name *to,
			    unsigned int *sent, unsigned int got)
{
	static char out[FLOW_LEN];
	size_t len;

	while (!flow_stop && *sent - got < FLOW_AHEAD) {
		len = flow_len(*sent);
		rds_fill(out, len, *sent);
		if (rds_sendto(fd, out, len, MSG_DONTWAIT, to) < 0)
			return errno == EAGAIN || errno == ENOBUFS ?
			       0 : __LINE__;
		++*sent;
	}
	return 0;
}

static inline int flow_main(int a, int b, atomic_uint *got)
{
	struct pollfd pfd = { .fd = b, .events = POLLIN };
	struct rds_name to = rds_sockname(b);
	unsigned int sent = 0, taken = 0;
	long last = now_ms();
	int wrong;

	do {
		wrong = flow_give(a, &to, &sent, taken);
		poll(&pfd, 1, 20);
		wrong = wrong ?: flow_take(b, &taken);
		if (*got != taken)
			last = now_ms();
		*got = taken;
		if (now_ms() - last > 60000)
			wrong = wrong ?: __LINE__;
	} while (!wrong && (!flow_stop || sent != taken));
	if (wrong)
		printf("# flow: line %d, sent %u, got %u\n", wrong, sent,
		       taken);
	fflush(stdout);
	return !!wrong;
}

static inline bool flow_start(struct flow *flow)
{
	int a = rds_bound(SPARE_A, 0), b = rds_bound(SPARE_B, 0);

	flow->got = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a < 0 || b < 0 || flow->got == MAP_FAILED ||
	    rds_get(a, SOL_RDS, SO_RDS_TRANSPORT) != RDS_TRANS_IB)
		return false;
	fflush(stdout);
	flow->pid = fork();
	if (!flow->pid) {
		signal(SIGTERM, flow_on_term);
		_exit(flow_main(a, b, flow->got));
	}
	close(a);
	close(b);
	return flow->pid > 0;
}

/* Wait until it has received some more. */
static inline bool flow_goes_on(struct flow *flow, unsigned int more)
{
	unsigned int from = *flow->got, tries;

	for (tries = 0; tries < 60000; tries++) {
		if (*flow->got - from >= more)
			return true;
		usleep(1000);
	}
	return false;
}

/* Wait until all that was sent has arrived; return 0 if it was right. */
static inline int flow_end(struct flow *flow)
{
	int status = -1;

	kill(flow->pid, SIGTERM);
	waitpid(flow->pid, &status, 0);
	return status;
}

#endif /* RDS_VERBS_H */
