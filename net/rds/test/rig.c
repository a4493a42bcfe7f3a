// SPDX-License-Identifier: GPL-2.0-only
/* Common parts of the tests of core; see rig.h. */
#include <linux/in.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <net/rds/compat.h>

#include "rig.h"

/**
 * rig_sysctl() - Get the tunables of init_net, which rig_exit() restores
 *
 * Return: the tunables.
 */
struct rds_sysctl *rig_sysctl(void)
{
	return &rds_net(&init_net)->rn_sysctl;
}

/**
 * rig_init() - Set up the fixture
 * @test: the test; its priv is the rig afterwards
 *
 * Return: 0 or an errno.
 */
int rig_init(struct kunit *test)
{
	struct rig *rig;

	rig = kunit_kzalloc(test, sizeof(*rig), GFP_KERNEL);
	if (!rig)
		return -ENOMEM;

	test->priv = rig;
	rig->peer = RIG_FADDR;
	rig->knows_duels = true;
	rig->saved = *rig_sysctl();
	rig->module_refs = module_refcount(THIS_MODULE);
	fake_init(&rig->fake);
	return fake_register(&rig->fake);
}

/**
 * rig_init_paths() - Set up the fixture with the capability flags of TCP
 * @test: the test; its priv is the rig afterwards
 *
 * Gates do not open by time, so the speed of the machine does not matter.
 *
 * Return: 0 or an errno.
 */
int rig_init_paths(struct kunit *test)
{
	int ret = rig_init(test);

	if (ret)
		return ret;
	rig_fake(test)->trans.caps = RDS_CAP_LOWER_DIALS | RDS_CAP_HANDSHAKE |
				     RDS_CAP_MULTIPATH;
	rig_fake(test)->hold_gate = true;
	return 0;
}

/**
 * rig_init_one_path() - Set up the fixture of rig_init_paths() with one path
 * @test: the test; its priv is the rig afterwards
 *
 * The peers of these tests have one path, too, so neither end offers more.
 *
 * Return: 0 or an errno.
 */
int rig_init_one_path(struct kunit *test)
{
	int ret = rig_init_paths(test);

	if (!ret)
		rig_fake(test)->max_paths = 1;
	return ret;
}

/**
 * rig_exit() - Tear down the fixture, and check that nothing is left
 * @test: the test
 */
void rig_exit(struct kunit *test)
{
	struct rig *rig = rig_of(test);
	unsigned int i;

	if (!rig)
		return;
	for (i = 0; i < RIG_SOCKS; i++) {
		if (rig->socks[i])
			sock_release(rig->socks[i]);
	}
	fake_unregister(&rig->fake);
	*rig_sysctl() = rig->saved;
	/* Connections and their maps are freed after an RCU grace period. Wait
	 * for that, so that the next test finds none.
	 */
	rcu_barrier();

	KUNIT_EXPECT_STREQ(test, rig->fake.broken ?: "nothing", "nothing");
	KUNIT_EXPECT_EQ(test, rig->fake.live_paths, 0);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), rig->module_refs);
}

static void rig_keep(struct kunit *test, struct socket *sock)
{
	struct rig *rig = rig_of(test);
	unsigned int i;

	for (i = 0; i < RIG_SOCKS; i++) {
		if (!rig->socks[i]) {
			rig->socks[i] = sock;
			return;
		}
	}
	sock_release(sock);
	KUNIT_FAIL(test, "too many sockets");
}

/**
 * rig_open() - Create an RDS socket that is not bound
 * @test: the test
 *
 * Return: the socket, which is closed at the end of the test if not before.
 */
struct socket *rig_open(struct kunit *test)
{
	struct socket *sock;

	KUNIT_ASSERT_EQ(test, 0, sock_create_kern(&init_net, AF_RDS,
						  SOCK_SEQPACKET, 0, &sock));
	rig_keep(test, sock);
	return sock;
}

/**
 * rig_bind() - Bind a socket
 * @sock: the socket
 * @ip: the IPv4 address
 * @port: the port
 *
 * Return: as bind().
 */
int rig_bind(struct socket *sock, u32 ip, u16 port)
{
	struct sockaddr_in sin = {
		.sin_family	 = AF_INET,
		.sin_port	 = htons(port),
		.sin_addr.s_addr = htonl(ip),
	};

	return kernel_bind(sock, (struct rds_sockaddr *)&sin, sizeof(sin));
}

/**
 * rig_socket() - Create a socket bound to the fake transport's address
 * @test: the test
 * @port: the port
 *
 * Return: the socket, which is closed at the end of the test if not before.
 */
struct socket *rig_socket(struct kunit *test, u16 port)
{
	struct socket *sock = rig_open(test);

	KUNIT_ASSERT_EQ(test, 0, rig_bind(sock, RIG_LADDR, port));
	return sock;
}

/**
 * rig_close() - Close a socket before the end of the test
 * @test: the test
 * @sock: the socket, from rig_open() or rig_socket()
 */
void rig_close(struct kunit *test, struct socket *sock)
{
	struct rig *rig = rig_of(test);
	unsigned int i;

	for (i = 0; i < RIG_SOCKS; i++) {
		if (rig->socks[i] == sock)
			rig->socks[i] = NULL;
	}
	sock_release(sock);
}

/**
 * rig_try_send() - Send a message
 * @test: the test
 * @sock: the sender
 * @dport: port at the peer
 * @len: bytes of payload, which consists of fake_pattern()
 * @flags: flags for sendmsg()
 *
 * Return: as sendmsg().
 */
int rig_try_send(struct kunit *test, struct socket *sock, u16 dport, u32 len,
		 int flags)
{
	struct sockaddr_in sin = {
		.sin_family	 = AF_INET,
		.sin_port	 = htons(dport),
		.sin_addr.s_addr = htonl(rig_of(test)->peer),
	};
	struct msghdr msg = {
		.msg_name	= &sin,
		.msg_namelen	= sizeof(sin),
		.msg_flags	= flags,
	};
	struct kvec vec = { .iov_len = len };
	u32 i;
	int ret;

	vec.iov_base = kvmalloc(max(len, 1U), GFP_KERNEL);
	if (!vec.iov_base)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		((u8 *)vec.iov_base)[i] = fake_pattern(i);

	ret = kernel_sendmsg(sock, &msg, &vec, 1, len);
	kvfree(vec.iov_base);
	return ret;
}

/**
 * rig_send() - Send a message to RIG_PEER_PORT, and expect success
 * @test: the test
 * @sock: the sender
 * @len: bytes of payload
 */
void rig_send(struct kunit *test, struct socket *sock, u32 len)
{
	KUNIT_ASSERT_EQ(test, (int)len,
			rig_try_send(test, sock, RIG_PEER_PORT, len,
				     MSG_DONTWAIT));
}

/**
 * rig_up() - Create a socket at RIG_PORT whose path to the peer is UP and idle
 * @test: the test
 *
 * One message has been sent and acknowledged, the log is empty, and poll() has
 * reported the congestion changes so far.
 *
 * Return: the socket.
 */
struct socket *rig_up(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	rds_path_ack(rig_path(test), 1);
	KUNIT_ASSERT_EQ(test, rig_msgs(sock), 0);
	rig_poll(sock);
	/* In a later jiffy, the path checks for a newer map. */
	schedule_timeout_uninterruptible(2);
	fake_settle(rig_fake(test));
	fake_forget(rig_fake(test));
	return sock;
}

static u64 rig_cong_mask(const void *control)
{
	const struct cmsghdr *cmsg = control;

	if (cmsg->cmsg_len != CMSG_LEN(sizeof(u64)) ||
	    cmsg->cmsg_level != SOL_RDS ||
	    cmsg->cmsg_type != RDS_CMSG_CONG_UPDATE)
		return 0;
	return *(const u64 *)CMSG_DATA((struct cmsghdr *)cmsg);
}

static bool rig_is_pattern(const u8 *data, int len)
{
	int i;

	for (i = 0; i < len; i++) {
		if (data[i] != fake_pattern(i))
			return false;
	}
	return true;
}

/**
 * rig_recv() - Receive a message without waiting
 * @test: the test
 * @sock: the receiver
 * @got: set to the result
 */
void rig_recv(struct kunit *test, struct socket *sock, struct rig_got *got)
{
	u8 control[CMSG_SPACE(sizeof(u64))] __aligned(8) = {};
	struct sockaddr_in6 from = {};
	struct sockaddr_in *sin = (struct sockaddr_in *)&from;
	struct msghdr msg = {
		.msg_name	= &from,
		.msg_control	= control,
		.msg_controllen	= sizeof(control),
	};
	struct kvec vec = { .iov_len = 8192 };

	vec.iov_base = kunit_kzalloc(test, vec.iov_len, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);

	memset(got, 0, sizeof(*got));
	got->ret = kernel_recvmsg(sock, &msg, &vec, 1, vec.iov_len,
				  MSG_DONTWAIT);
	got->flags = msg.msg_flags;
	got->from = ntohl(sin->sin_addr.s_addr);
	got->sport = ntohs(sin->sin_port);
	got->cong = rig_cong_mask(control);
	got->intact = rig_is_pattern(vec.iov_base, got->ret);
	kunit_kfree(test, vec.iov_base);
}

/**
 * rig_setsockopt() - Set an option at level SOL_RDS
 * @sock: the socket
 * @name: the option
 * @value: its value
 * @len: length of @value
 *
 * Return: as setsockopt().
 */
int rig_setsockopt(struct socket *sock, int name, void *value, int len)
{
	return sock->ops->setsockopt(sock, SOL_RDS, name,
				     KERNEL_SOCKPTR(value), len);
}

/**
 * rig_poll() - Poll a socket without waiting
 * @sock: the socket
 *
 * Return: the events, as in poll(2).
 */
unsigned int rig_poll(struct socket *sock)
{
	return (__force unsigned int)sock->ops->poll(NULL, sock, NULL);
}

/**
 * rig_stat_sum() - Read a counter; see rig_stat()
 * @offset: of the counter in &struct rds_stats
 *
 * Return: the sum over all CPUs.
 */
u64 rig_stat_sum(size_t offset)
{
	const struct rds_net *rn = rds_net(&init_net);
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += *(u64 *)((u8 *)per_cpu_ptr(rn->rn_stats, cpu) + offset);
	return sum;
}

/**
 * rig_stat_reaches() - Wait for a counter; see rig_await_stat()
 * @offset: of the counter in &struct rds_stats
 * @value: the value that the counter must reach
 *
 * A change of a counter wakes no waiter, so this polls the counter.
 *
 * Return: true if the counter is at least @value; false if it took too long.
 */
bool rig_stat_reaches(size_t offset, u64 value)
{
	u64 sum;

	return !read_poll_timeout(rig_stat_sum, sum, sum >= value, 1000,
				  120 * USEC_PER_SEC, false, offset);
}

/**
 * rig_set_bufs() - Set the sizes of both buffers of a socket
 * @sock: the socket
 * @bytes: payload bytes, as user space counts them
 */
void rig_set_bufs(struct socket *sock, int bytes)
{
	WRITE_ONCE(sock->sk->sk_sndbuf, 2 * bytes);
	WRITE_ONCE(sock->sk->sk_rcvbuf, 2 * bytes);
}

static void rig_sender_work(struct work_struct *work)
{
	struct rig_sender *sender = container_of(work, struct rig_sender, work);

	sender->ret = rig_try_send(sender->test, sender->sock, RIG_PEER_PORT,
				   sender->len, 0);
}

/**
 * rig_start_sender() - Start a task that sends to RIG_PEER_PORT
 * @sender: the sender, on the stack; all fields but its work item are set
 */
void rig_start_sender(struct rig_sender *sender)
{
	/* Let sendmsg() return even if core is wrong. */
	sender->sock->sk->sk_sndtimeo = 120 * HZ;
	INIT_WORK_ONSTACK(&sender->work, rig_sender_work);
	queue_work(system_unbound_wq, &sender->work);
}

/**
 * rig_finish_sender() - Wait for the task to finish
 * @sender: the sender, from rig_start_sender()
 *
 * Return: the return value of its sendmsg().
 */
int rig_finish_sender(struct rig_sender *sender)
{
	flush_work(&sender->work);
	destroy_work_on_stack(&sender->work);
	return sender->ret;
}

/**
 * rig_ops() - Format the log; see rig_expect_ops()
 * @test: the test
 * @failed: include calls that failed
 *
 * Return: as fake_ops().
 */
const char *rig_ops(struct kunit *test, bool failed)
{
	struct rig *rig = rig_of(test);

	return fake_ops(&rig->fake, failed, rig->text, sizeof(rig->text));
}

/**
 * rig_sent() - Format the messages sent; see rig_expect_sent()
 * @test: the test
 *
 * Return: as fake_sent().
 */
const char *rig_sent(struct kunit *test)
{
	struct rig *rig = rig_of(test);

	return fake_sent(&rig->fake, rig->text, sizeof(rig->text));
}

/**
 * rig_said() - Format what one path has sent; see rig_expect_said()
 * @test: the test
 * @index: number of the path
 *
 * Return: as fake_said().
 */
const char *rig_said(struct kunit *test, unsigned int index)
{
	struct rig *rig = rig_of(test);

	return fake_said(&rig->fake, index, rig->text, sizeof(rig->text));
}
