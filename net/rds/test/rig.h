/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common parts of the tests of core: the registered fake transport, and kernel
 * sockets that are bound to its address. rig_exit() tears everything down after
 * each test. If anything is left over then, the test fails.
 */
#ifndef _RDS_TEST_RIG_H
#define _RDS_TEST_RIG_H

#include <kunit/test.h>
#include <linux/net.h>
#include <linux/workqueue.h>

#include "../core/conn.h"
#include "../core/rds_net.h"
#include "../core/sock.h"
#include "fake.h"

#define RIG_SOCKS	4

/* Addresses of the fake transport and of the peer */
#define RIG_LADDR	0xc0000201	/* 192.0.2.1 */
#define RIG_FADDR	0xc0000202	/* 192.0.2.2 */
#define RIG_LOWER	0xc0000102	/* 192.0.1.2, a peer that dials us */

/* Ports of our sockets, and of the peer's socket that we send to */
#define RIG_PORT	4000
#define RIG_PEER_PORT	5000

/**
 * struct rig - the fixture
 * @fake: the transport
 * @socks: sockets to close when the test ends
 * @peer: the peer's IPv4 address; 192.0.2.2 unless a test changes it
 * @tos: type of service of the connections that the peer makes
 * @offers_since: when the peer made the connections that it offers, in jiffies;
 *	if 0, the default, the peer makes each one just when it is offered
 * @knows_duels: the peer knows which connection is kept when both ends dial;
 *	true unless a test changes it
 * @saved: the sysctls before the test
 * @module_refs: number of references to this module before the test
 * @text: output buffer of fake_ops(), fake_sent() and fake_said()
 */
struct rig {
	struct fake		fake;
	struct socket		*socks[RIG_SOCKS];
	u32			peer;
	u8			tos;
	unsigned long		offers_since;
	bool			knows_duels;
	struct rds_sysctl	saved;
	int			module_refs;
	char			text[512];
};

/**
 * struct rig_got - result of recvmsg()
 * @ret: its return value
 * @flags: msg_flags
 * @from: the sender's IPv4 address, 0 if there was none
 * @sport: the sender's port
 * @cong: mask of RDS_CMSG_CONG_UPDATE, 0 if there was none
 * @intact: the payload is as fake_deliver() made it
 */
struct rig_got {
	int	ret;
	int	flags;
	u32	from;
	u16	sport;
	u64	cong;
	bool	intact;
};

/**
 * struct rig_sender - a task that sends one message and may have to wait
 * @test: the test
 * @sock: the sender's socket
 * @len: bytes of payload
 * @ret: return value of sendmsg()
 * @work: the work item that runs the task
 */
struct rig_sender {
	struct kunit		*test;
	struct socket		*sock;
	u32			len;
	int			ret;
	struct work_struct	work;
};

/* Payload bytes and messages in the send buffer of a socket */
static inline int rig_bytes(const struct socket *sock)
{
	return READ_ONCE(rds_sk(sock->sk)->rs_snd_bytes);
}

static inline int rig_msgs(const struct socket *sock)
{
	return READ_ONCE(rds_sk(sock->sk)->rs_snd_msgs);
}

int rig_init(struct kunit *test);
void rig_exit(struct kunit *test);

static inline struct rig *rig_of(struct kunit *test)
{
	return test->priv;
}

static inline struct fake *rig_fake(struct kunit *test)
{
	return &rig_of(test)->fake;
}

static inline struct rds_path *rig_path(struct kunit *test)
{
	return rig_fake(test)->path;
}

static inline struct rds_conn *rig_conn(struct kunit *test)
{
	return to_cpath(rig_path(test))->cp_conn;
}

/* Return the path that has this number now, or NULL. */
static inline struct rds_cpath *rig_nth_cpath(struct kunit *test,
					      unsigned int i)
{
	return rds_conn_path(rig_conn(test), i);
}

int rig_init_paths(struct kunit *test);
int rig_init_one_path(struct kunit *test);
struct socket *rig_open(struct kunit *test);
int rig_bind(struct socket *sock, u32 ip, u16 port);
struct socket *rig_socket(struct kunit *test, u16 port);
void rig_close(struct kunit *test, struct socket *sock);
struct socket *rig_up(struct kunit *test);
struct rds_sysctl *rig_sysctl(void);

int rig_try_send(struct kunit *test, struct socket *sock, u16 dport, u32 len,
		 int flags);
void rig_send(struct kunit *test, struct socket *sock, u32 len);
void rig_recv(struct kunit *test, struct socket *sock, struct rig_got *got);
int rig_setsockopt(struct socket *sock, int name, void *value, int len);
unsigned int rig_poll(struct socket *sock);
void rig_set_bufs(struct socket *sock, int bytes);
void rig_start_sender(struct rig_sender *sender);
int rig_finish_sender(struct rig_sender *sender);
u64 rig_stat_sum(size_t offset);
bool rig_stat_reaches(size_t offset, u64 value);
const char *rig_ops(struct kunit *test, bool failed);
const char *rig_sent(struct kunit *test);
const char *rig_said(struct kunit *test, unsigned int index);

/* Read a counter of init_net. */
#define rig_stat(name)	rig_stat_sum(offsetof(struct rds_stats, name))

/* Expect this log, in the letters of enum fake_op. */
#define rig_expect_ops(_test, ops) do {					\
	struct kunit *__test = (_test);					\
									\
	KUNIT_EXPECT_STREQ(__test, rig_ops(__test, true), ops);		\
} while (0)

/* The same, without calls that failed. */
#define rig_expect_done(_test, ops) do {				\
	struct kunit *__test = (_test);					\
									\
	KUNIT_EXPECT_STREQ(__test, rig_ops(__test, false), ops);	\
} while (0)

/* Expect these messages to have been sent, see fake_sent(). */
#define rig_expect_sent(_test, sent) do {				\
	struct kunit *__test = (_test);					\
									\
	KUNIT_EXPECT_STREQ(__test, rig_sent(__test), sent);		\
} while (0)

/* Expect one path to have sent this, see fake_said(). */
#define rig_expect_said(_test, index, said) do {			\
	struct kunit *__test = (_test);					\
									\
	KUNIT_EXPECT_STREQ(__test, rig_said(__test, index), said);	\
} while (0)

/* Wait until the log has this many calls of an op. */
#define rig_await(_test, op, count) do {				\
	struct kunit *__test = (_test);					\
									\
	KUNIT_ASSERT_TRUE(__test,					\
			  fake_await(rig_fake(__test), op, count));	\
} while (0)

/* Wait until a counter is at least @value. */
#define rig_await_stat(test, name, value)				\
	KUNIT_ASSERT_TRUE(test, rig_stat_reaches(			\
		offsetof(struct rds_stats, name), value))

#endif /* _RDS_TEST_RIG_H */
