// SPDX-License-Identifier: GPL-2.0
/*
 * Random calls of several threads on a few RDS sockets: random lengths,
 * pointers, control messages, options. The calls have to return, plain messages
 * have to work afterwards, and the modules must not stay in use. The kernel's
 * own checks find everything else. The calls go on for RDS_SECONDS, or 20
 * seconds. RDS_SEED, which is printed, repeats what each thread does, but not
 * how the threads meet.
 */
#include "loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#define THREADS 6
#define SOCKETS 8
#define CALLS_PER_LOOK 64

struct fuzzer {
	uint64_t state;
	unsigned long calls;
	pthread_t thread;
	atomic_bool done;
};

static atomic_int sockets[SOCKETS];
static atomic_bool stop;
static char *memory;	/* 64 pages; the last cannot be accessed */

#define MEMORY (64 * PAGE)

/* xorshift64*: small, and the same everywhere */
static uint32_t rnd(struct fuzzer *f)
{
	f->state ^= f->state >> 12;
	f->state ^= f->state << 25;
	f->state ^= f->state >> 27;
	return (f->state * 2685821657736338717ULL) >> 32;
}

static uint32_t below(struct fuzzer *f, uint32_t limit)
{
	return rnd(f) % limit;
}

static bool once_in(struct fuzzer *f, uint32_t n)
{
	return !below(f, n);
}

static size_t rnd_length(struct fuzzer *f)
{
	static const size_t odd[] = {
		0, 1, 4095, 4096, 4097, 65536, 1 << 20, (1 << 20) + 1,
		INT32_MAX, UINT32_MAX, SIZE_MAX, SIZE_MAX / 2,
	};

	if (once_in(f, 4))
		return odd[below(f, ARRAY_SIZE(odd))];
	return below(f, once_in(f, 4) ? MEMORY : 300);
}

static void *rnd_pointer(struct fuzzer *f)
{
	static const unsigned long odd[] = {
		0, 8, 0x7ffffffff000, 0x8000000000000000, 0xffff888000000000,
		0xffffffff81000000, -1UL, -PAGE,
	};

	if (once_in(f, 12))
		return (void *)odd[below(f, ARRAY_SIZE(odd))];
	if (once_in(f, 8))	/* near the last page */
		return memory + MEMORY - PAGE - below(f, 200);
	return memory + below(f, MEMORY - PAGE);
}

static int rnd_socket(struct fuzzer *f)
{
	return sockets[below(f, SOCKETS)];
}

static struct rds_name rnd_name(struct fuzzer *f)
{
	static const char *const addresses[] = {
		"127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "::1",
		"0.0.0.0", "224.0.0.1", "255.255.255.255", "198.51.100.1",
		"::", "fe80::1%1", "ff02::1", "::ffff:127.0.0.1", "10.0.0.1",
	};
	struct rds_name name;

	name = rds_name(addresses[below(f, once_in(f, 3) ?
					ARRAY_SIZE(addresses) : 5)],
			once_in(f, 20) ? rnd(f) : 4000 + below(f, 8));
	if (once_in(f, 30))
		name.len = below(f, sizeof(name.ss) + 8);
	if (once_in(f, 50))
		name.sa.sa_family = rnd(f);
	return name;
}

static void fuzz_socket(struct fuzzer *f)
{
	int fd = socket(AF_RDS, once_in(f, 50) ? rnd(f) % 8 :
			SOCK_SEQPACKET | (once_in(f, 2) ? SOCK_NONBLOCK : 0),
			once_in(f, 50) ? rnd(f) : 0);

	if (fd < 0)
		return;
	rds_set_timeout(fd, SO_RCVTIMEO, 1 + below(f, 20));
	rds_set_timeout(fd, SO_SNDTIMEO, 1 + below(f, 20));
	close(atomic_exchange(&sockets[below(f, SOCKETS)], fd));
}

static void fuzz_bind(struct fuzzer *f)
{
	struct rds_name name = rnd_name(f);

	bind(rnd_socket(f), &name.sa, name.len);
}

static void fuzz_connect(struct fuzzer *f)
{
	struct rds_name name = rnd_name(f);

	connect(rnd_socket(f), &name.sa, name.len);
}

static void fuzz_names(struct fuzzer *f)
{
	socklen_t len = once_in(f, 3) ? rnd(f) : below(f, 200);

	getsockname(rnd_socket(f), rnd_pointer(f), &len);
	getpeername(rnd_socket(f), rnd_pointer(f), &len);
}

/* Make control messages, most of them meaningful. */
static size_t rnd_control(struct fuzzer *f, char *control, size_t size)
{
	struct cmsghdr *cmsg;
	size_t used = 0, len;
	unsigned int i, count = below(f, 4);

	for (i = 0; i < count; i++) {
		len = once_in(f, 4) ? below(f, 100) : 8 * (1 + below(f, 9));
		if (used + CMSG_SPACE(len) > size)
			break;
		cmsg = (struct cmsghdr *)(control + used);
		cmsg->cmsg_level = once_in(f, 6) ? (int)rnd(f) : SOL_RDS;
		cmsg->cmsg_type = once_in(f, 10) ? rnd(f) : below(f, 15);
		cmsg->cmsg_len = once_in(f, 20) ? rnd(f) : CMSG_LEN(len);
		used += CMSG_SPACE(len);
		while (len--)
			CMSG_DATA(cmsg)[len] = once_in(f, 3) ? rnd(f) : 0;
	}
	return once_in(f, 20) ? below(f, size + 1) : used;
}

static void rnd_msg(struct fuzzer *f, struct rds_msg *msg, struct iovec *iov)
{
	unsigned int i;

	memset(msg, 0, sizeof(*msg));
	msg->name = rnd_name(f);
	if (!once_in(f, 4)) {
		msg->hdr.msg_name = &msg->name.sa;
		msg->hdr.msg_namelen = msg->name.len;
	}
	msg->hdr.msg_iov = iov;
	msg->hdr.msg_iovlen = below(f, 4);
	for (i = 0; i < msg->hdr.msg_iovlen; i++)
		iov[i] = (struct iovec) { rnd_pointer(f), rnd_length(f) };
	if (once_in(f, 2)) {
		msg->hdr.msg_control = msg->control;
		msg->hdr.msg_controllen = rnd_control(f, msg->control,
						      sizeof(msg->control));
	}
	if (once_in(f, 40))
		msg->hdr.msg_control = rnd_pointer(f);
}

static int rnd_flags(struct fuzzer *f)
{
	if (once_in(f, 20))
		return rnd(f) | MSG_DONTWAIT;
	return (once_in(f, 8) ? 0 : MSG_DONTWAIT) |
	       (once_in(f, 10) ? MSG_PEEK : 0) |
	       (once_in(f, 10) ? MSG_ZEROCOPY : 0);
}

static void fuzz_sendmsg(struct fuzzer *f)
{
	int flags = rnd_flags(f) & ~MSG_PEEK;
	uint32_t cookie = rnd(f);
	struct iovec iov[4];
	struct rds_msg msg;

	rnd_msg(f, &msg, iov);
	/* Most zero-copy sends are valid. */
	if ((flags & MSG_ZEROCOPY) && !once_in(f, 4)) {
		msg.hdr.msg_controllen = 0;
		rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
			    sizeof(cookie));
	}
	sendmsg(rnd_socket(f), &msg.hdr, flags);
}

static void fuzz_sendmmsg(struct fuzzer *f)
{
	struct mmsghdr vec[3];
	struct iovec iov[3][4];
	struct rds_msg msg[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		rnd_msg(f, &msg[i], iov[i]);
		vec[i].msg_hdr = msg[i].hdr;
	}
	syscall(SYS_sendmmsg, rnd_socket(f), vec, 3, rnd_flags(f) & ~MSG_PEEK);
}

static void fuzz_recvmsg(struct fuzzer *f)
{
	struct iovec iov[4];
	struct rds_msg msg;

	rnd_msg(f, &msg, iov);
	if (once_in(f, 2)) {
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = below(f, sizeof(msg.control));
	}
	recvmsg(rnd_socket(f), &msg.hdr, rnd_flags(f));
}

static void fuzz_setsockopt(struct fuzzer *f)
{
	static const int options[] = {
		RDS_CANCEL_SENT_TO, RDS_GET_MR, RDS_FREE_MR, RDS_RECVERR,
		RDS_CONG_MONITOR, RDS_GET_MR_FOR_DEST,
		SO_RDS_MSG_RXPATH_LATENCY, SO_TIMESTAMP,
	};
	int option = options[below(f, ARRAY_SIZE(options))];
	struct rds_name name = rnd_name(f);

	if (once_in(f, 10))
		option = rnd(f) % (once_in(f, 2) ? 100 : UINT32_MAX);
	/* This may start modprobe, which would take all the time. */
	if (option == SO_RDS_TRANSPORT)
		return;
	if (once_in(f, 3))
		setsockopt(rnd_socket(f), SOL_RDS, option, &name.sa, name.len);
	else
		setsockopt(rnd_socket(f), SOL_RDS, option, rnd_pointer(f),
			   once_in(f, 2) ? 4 : below(f, 200));
}

static void fuzz_buffers(struct fuzzer *f)
{
	int fd = rnd_socket(f);

	rds_set(fd, SOL_SOCKET, once_in(f, 2) ? SO_SNDBUF : SO_RCVBUF,
		once_in(f, 3) ? (int)rnd(f) : (int)below(f, 200000));
	rds_set(fd, SOL_SOCKET, SO_ZEROCOPY, !once_in(f, 4));
	rds_set(fd, SOL_SOCKET, SO_TIMESTAMP_NEW, below(f, 2));
}

static void fuzz_getsockopt(struct fuzzer *f)
{
	int option = once_in(f, 4) ? (int)below(f, 70) :
				     RDS_INFO_FIRST + (int)below(f, 20);
	socklen_t len = once_in(f, 10) ? rnd(f) : below(f, MEMORY);

	getsockopt(rnd_socket(f), SOL_RDS, option, rnd_pointer(f),
		   once_in(f, 20) ? rnd_pointer(f) : (void *)&len);
}

static void fuzz_ioctl(struct fuzzer *f)
{
	static const unsigned long commands[] = {
		SIOCRDSSETTOS, SIOCRDSGETTOS, SIOCINQ, SIOCOUTQ,
	};
	unsigned long command = commands[below(f, ARRAY_SIZE(commands))];

	if (once_in(f, 10))
		command = SIOCPROTOPRIVATE + below(f, 16);
	ioctl(rnd_socket(f), command, rnd_pointer(f));
}

static void fuzz_poll(struct fuzzer *f)
{
	struct pollfd pfd[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		pfd[i] = (struct pollfd) { rnd_socket(f), rnd(f), 0 };
	poll(pfd, 3, below(f, 3));
}

static void fuzz_close(struct fuzzer *f)
{
	close(atomic_exchange(&sockets[below(f, SOCKETS)], -1));
}

/* Make calls that no RDS socket supports. */
static void fuzz_others(struct fuzzer *f)
{
	int fd = rnd_socket(f);

	switch (below(f, 5)) {
	case 0:
		listen(fd, rnd(f));
		break;
	case 1:
		accept4(fd, NULL, NULL, SOCK_NONBLOCK);
		break;
	case 2:
		shutdown(fd, rnd(f) % 4);
		break;
	case 3:
		fcntl(fd, F_SETFL, once_in(f, 2) ? O_NONBLOCK : 0);
		break;
	case 4:
		rds_set(fd, SOL_SOCKET, SO_REUSEADDR, below(f, 2));
		break;
	}
}

typedef void fuzz_call(struct fuzzer *f);

static fuzz_call *const calls[] = {
	fuzz_socket, fuzz_bind, fuzz_bind, fuzz_connect, fuzz_names,
	fuzz_sendmsg, fuzz_sendmsg, fuzz_sendmsg, fuzz_sendmmsg,
	fuzz_recvmsg, fuzz_recvmsg, fuzz_recvmsg, fuzz_setsockopt,
	fuzz_setsockopt, fuzz_buffers, fuzz_getsockopt, fuzz_ioctl, fuzz_poll,
	fuzz_close, fuzz_others,
};

static void *fuzz_main(void *data)
{
	struct fuzzer *f = data;

	while (!stop) {
		calls[below(f, ARRAY_SIZE(calls))](f);
		f->calls++;
	}
	f->done = true;
	return NULL;
}

static void interrupt(int sig)
{
}

/* A thread may sleep in a call without a timeout: it is woken up. */
static unsigned long fuzz_run(unsigned int seconds, uint64_t seed)
{
	struct fuzzer fuzzer[THREADS] = {};
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		fuzzer[i].state = (seed + i + 1) * 0x9e3779b97f4a7c15ULL;
		pthread_create(&fuzzer[i].thread, NULL, fuzz_main, &fuzzer[i]);
	}
	sleep(seconds);
	stop = true;
	for (i = 0; i < THREADS; i++) {
		while (!fuzzer[i].done) {
			pthread_kill(fuzzer[i].thread, SIGUSR1);
			usleep(10000);
		}
		pthread_join(fuzzer[i].thread, NULL);
		sum += fuzzer[i].calls;
	}
	return sum;
}

static unsigned long long setting(const char *name, unsigned long long other)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : other;
}

TEST_F_TIMEOUT(loop, i4_random_calls, LONG)
{
	unsigned int seconds = setting("RDS_SECONDS", 20);
	unsigned long long seed = setting("RDS_SEED", time(NULL));
	struct sigaction action = { .sa_handler = interrupt };
	unsigned long sum;
	unsigned int i;

	printf("# RDS_SECONDS=%u RDS_SEED=%llu\n", seconds, seed);
	memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	ASSERT_EQ(0, mprotect(memory + MEMORY - PAGE, PAGE, PROT_NONE));
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < SOCKETS; i++)
		sockets[i] = rds_socket();

	sum = fuzz_run(seconds, seed);
	printf("# %lu calls\n", sum);
	EXPECT_LT(0, sum);
	for (i = 0; i < SOCKETS; i++)
		close(sockets[i]);
	rds_drain(self->b);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_HARNESS_MAIN
