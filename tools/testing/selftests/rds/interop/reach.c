// SPDX-License-Identifier: GPL-2.0
/*
 * Operations of two machines on each other's memory. In each round one end maps
 * memory by a message; the other end writes or reads it, and reports this by
 * the message that goes with the operation. The test uses only what every RDS
 * over RDMA devices has.
 *
 * The argument HOW is the expected outcome: with "works" the operations
 * succeed. Over TCP they do so only if both ends run our implementation; if
 * not, "fails" expects each call to be refused, and "meets" only exchanges the
 * first messages. Over iWARP the end that is "unmapped" expects that no memory
 * can be registered.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "rds_test.h"

#define PORT 7000
#define LARGEST (1 << 20)
#define PAGE 4096
#define ROUNDS 24
/* The number of the messages before the first round */
#define MEETING UINT32_MAX
/* Seconds for the whole test */
#define PATIENCE 40

/* The contents of a message: what is to be done, and whether it succeeded */
struct talk {
	uint32_t round;
	uint32_t len;
	uint32_t writes;
	uint32_t good;
};

static unsigned char memory[LARGEST + PAGE] __attribute__((aligned(PAGE)));
static struct rds_name peer;
static uint32_t now;
static int fd;

static struct talk plan(uint32_t round)
{
	static const uint32_t lens[] = {
		1, 4000, 8192, 50000, 300001, LARGEST - PAGE,
	};

	return (struct talk){
		.round = round,
		.len = lens[round / 2 % (sizeof(lens) / sizeof(*lens))],
		.writes = round / 2 % 2 ^ round / 12 % 2,
		.good = 1,
	};
}

/* Usually not at the beginning of a page */
static unsigned char *place(const struct talk *talk)
{
	return memory + talk->round * 100 % PAGE;
}

/* The first of them may have to wait for a connection. */
static void say(const struct talk *talk, int type, const void *data, size_t len)
{
	struct rds_msg msg;

	do {
		rds_msg_init(&msg, (void *)talk, sizeof(*talk));
		rds_msg_to(&msg, &peer);
		if (type)
			rds_msg_add(&msg, SOL_RDS, type, data, len);
		if (sendmsg(fd, &msg.hdr, 0) == sizeof(*talk))
			return;
		usleep(10000);
	} while (errno == EAGAIN);
	err(1, "round %u: sendmsg, control message %d", talk->round, type);
}

/* Receive the next message. If it is the status of an operation, the operation
 * must have succeeded.
 */
static uint64_t hear(struct talk *talk, uint32_t round)
{
	struct rds_rdma_notify notify;
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	uint64_t cookie = 0;
	ssize_t ret;

	do {
		ret = rds_msg_recv(fd, &msg, talk, sizeof(*talk), 0);
		cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_STATUS);
		if (ret < 0)
			err(1, "round %u: recvmsg", round);
		if (!cmsg)
			continue;
		memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
		if (notify.status || notify.user_token != round)
			errx(1, "round %u: operation %llu ended by %d", round,
			     (unsigned long long)notify.user_token,
			     notify.status);
		return 0;
	} while (ret != sizeof(*talk) || talk->round == MEETING);
	if (talk->round != round)
		errx(1, "round %u: received round %u", round, talk->round);
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST);
	if (cmsg)
		memcpy(&cookie, CMSG_DATA(cmsg), sizeof(cookie));
	return cookie;
}

/* Repeat the first message until the peer has replied: without a socket at the
 * other end it is lost.
 */
static void meet(void)
{
	struct talk talk = { .round = MEETING }, heard = {};

	while (!heard.good) {
		say(&talk, 0, NULL, 0);
		usleep(100000);
		while (!heard.good &&
		       recv(fd, &heard, sizeof(heard), MSG_DONTWAIT) > 0)
			talk.good = 1;
	}
	say(&talk, 0, NULL, 0);
}

/* Wait until all messages have been sent: closing the socket would drop them.
 * Other implementations do not report this.
 */
static void linger(void)
{
	int left;

	do {
		usleep(1000);
		if (ioctl(fd, SIOCOUTQ, &left))
			left = sleep(1);
	} while (left);
}

static void expect_refusal(int type, const void *data, size_t len)
{
	struct talk talk = plan(0);
	struct rds_msg msg;

	rds_msg_init(&msg, &talk, sizeof(talk));
	rds_msg_to(&msg, &peer);
	rds_msg_add(&msg, SOL_RDS, type, data, len);
	if (sendmsg(fd, &msg.hdr, 0) >= 0)
		errx(1, "control message %d is accepted", type);
	if (errno != EOPNOTSUPP)
		err(1, "control message %d", type);
}

static void stay_unmapped(void)
{
	uint64_t cookie;
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)memory, PAGE },
		.cookie_addr = (uintptr_t)&cookie,
	};

	expect_refusal(RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	if (!setsockopt(fd, SOL_RDS, RDS_GET_MR, &map, sizeof(map)))
		errx(1, "memory is registered");
	if (errno != EOPNOTSUPP)
		err(1, "RDS_GET_MR");
	printf("refused\n");
}

static void fail(void)
{
	struct rds_iovec vec = { (uintptr_t)memory, PAGE };
	struct rds_get_mr_args map = { .vec = vec };
	struct rds_rdma_args args = {
		.cookie = 1,
		.remote_vec = { 0, PAGE },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
	};

	expect_refusal(RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	expect_refusal(RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	args.flags = RDS_RDMA_READWRITE;
	expect_refusal(RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	printf("refused\n");
}

static void late(int signal)
{
	errx(1, "round %u: not finished after %d s", now, PATIENCE);
}

static void own(uint32_t round)
{
	struct talk talk = plan(round), reply;
	struct rds_get_mr_args map = {
		.vec = { (uintptr_t)place(&talk), talk.len },
		.flags = RDS_RDMA_USE_ONCE |
			 (talk.writes ? RDS_RDMA_READWRITE : 0),
	};

	memset(memory, 0, sizeof(memory));
	if (!talk.writes)
		rds_fill(place(&talk), talk.len, round);
	say(&talk, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	hear(&reply, round);
	if (!reply.good)
		errx(1, "round %u: the peer has read something else", round);
	if (talk.writes && !rds_check(place(&talk), talk.len, round))
		errx(1, "round %u: the peer has written something else", round);
	hear(&reply, round);
	if (!reply.good)
		errx(1, "round %u: the peer has read something else", round);
}

static void work(uint32_t round)
{
	struct talk talk, want = plan(round);
	uint64_t cookie = hear(&talk, round);
	struct rds_iovec vec = { (uintptr_t)place(&want) + 1, want.len };
	struct rds_rdma_args args = {
		.cookie = cookie,
		.remote_vec = { 0, want.len },
		.local_vec_addr = (uintptr_t)&vec,
		.nr_local = 1,
		.flags = RDS_RDMA_NOTIFY_ME |
			 (want.writes ? RDS_RDMA_READWRITE : 0),
		.user_token = round,
	};

	if (memcmp(&talk, &want, sizeof(talk)) || !cookie)
		errx(1, "round %u: no offer", round);
	memset(memory, 0, sizeof(memory));
	if (want.writes)
		rds_fill(place(&want) + 1, want.len, round);
	say(&talk, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
	hear(&talk, round);
	talk = want;
	talk.good = rds_check(place(&want) + 1, want.len, round);
	say(&talk, 0, NULL, 0);
}

static void reach(char me)
{
	for (now = 0; now < ROUNDS; now++)
		if (now % 2 == (me == 'b'))
			own(now);
		else
			work(now);
	printf("%u rounds\n", ROUNDS);
}

int main(int argc, char **argv)
{
	int transport;

	if (argc != 6)
		errx(2, "usage: reach a|b HOW tcp|ib FROM TO");
	transport = strcmp(argv[3], "ib") ? RDS_TRANS_TCP : RDS_TRANS_IB;
	signal(SIGALRM, late);
	alarm(PATIENCE);
	peer = rds_name(argv[5], PORT);
	fd = rds_socket();
	if (fd < 0 || rds_set(fd, SOL_RDS, SO_RDS_TRANSPORT, transport) ||
	    rds_bind(fd, rds_name(argv[4], PORT)))
		err(1, "bind to %s", argv[4]);

	now = MEETING;
	meet();
	if (!strcmp(argv[2], "works")) {
		reach(*argv[1]);
		return 0;
	}
	if (!strcmp(argv[2], "fails"))
		fail();
	else if (!strcmp(argv[2], "unmapped"))
		stay_unmapped();
	linger();
	return 0;
}
