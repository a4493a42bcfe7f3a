// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP sockets: how they are tuned, how they are reset, and how they hold the
 * memory of their namespace.
 *
 * A kernel socket holds no counted reference to its namespace. So the namespace
 * goes away when its last process exits. But the socket may outlive the
 * namespace for a while, because packets that refer to the socket wait in a
 * queue of another namespace. So the socket holds the memory of the namespace
 * until the socket is destroyed. Its destructor is code of this module, so the
 * module waits for all such sockets before it is unloaded.
 */
#include <linux/wait.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp.h"

/* The peer is probed after at most KEEPIDLE seconds of silence, and then every
 * KEEPINTVL seconds. With the default user timeout, several probes must be lost
 * before it expires.
 */
#define RDS_TCP_KEEPIDLE	5
#define RDS_TCP_KEEPINTVL	1
#define RDS_TCP_KEEPCNT		5

unsigned int rds_tcp_net_id __read_mostly;
struct workqueue_struct *rds_tcp_wq;

static atomic_t rds_tcp_nheld = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(rds_tcp_held_wait);

/* The original destructors. All sockets of a family have the same one. */
static void (*rds_tcp_destruct_v4)(struct sock *sk);
static void (*rds_tcp_destruct_v6)(struct sock *sk);

static void rds_tcp_destruct(struct sock *sk)
{
	struct net *net = sock_net(sk);

	if (sk->sk_family == AF_INET)
		READ_ONCE(rds_tcp_destruct_v4)(sk);
	else
		READ_ONCE(rds_tcp_destruct_v6)(sk);
	rds_tcp_net_drop(net);

	/* When the count is 0, the module may be unloaded. Before that,
	 * rds_tcp_wait_held() waits for the end of this RCU read-side section.
	 */
	rcu_read_lock();
	if (atomic_dec_and_test(&rds_tcp_nheld))
		wake_up(&rds_tcp_held_wait);
	rcu_read_unlock();
}

/**
 * rds_tcp_hold_net() - Make a socket hold the memory of its namespace
 * @sk: the socket, just created or accepted. Must not be a listener: its
 *	children would inherit the destructor without the reference.
 *
 * Context: Process context.
 */
void rds_tcp_hold_net(struct sock *sk)
{
	if (RDS_TCP_SOCK_KEEPS_NET)
		return;

	if (sk->sk_family == AF_INET)
		WRITE_ONCE(rds_tcp_destruct_v4, sk->sk_destruct);
	else
		WRITE_ONCE(rds_tcp_destruct_v6, sk->sk_destruct);
	rds_tcp_net_keep(sock_net(sk));
	atomic_inc(&rds_tcp_nheld);
	sk->sk_destruct = rds_tcp_destruct;
}

/**
 * rds_tcp_wait_held() - Wait until no socket needs this module
 *
 * Context: Process context, may sleep. No more sockets are created.
 */
void rds_tcp_wait_held(void)
{
	wait_event(rds_tcp_held_wait, !atomic_read(&rds_tcp_nheld));
	synchronize_rcu();
}

static void rds_tcp_tune_buffer(int *buf, int value, int least, int def,
				u8 *locks, u8 lock)
{
	if (value) {
		*locks |= lock;
		WRITE_ONCE(*buf, max(value, least));
	} else if (*locks & lock) {
		*locks &= ~lock;
		WRITE_ONCE(*buf, def);
	}
}

/**
 * rds_tcp_tune_buffers() - Apply the tunables for buffer sizes
 * @tn: the namespace
 * @sk: a listener, or a socket that is not attached to a path yet
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_tune_buffers(struct rds_tcp_net *tn, struct sock *sk)
{
	const struct rds_tcp_sysctl *ctl = &tn->tn_sysctl;
	const struct net *net = tn->tn_net;
	u8 locks;

	lock_sock(sk);
	locks = sk->sk_userlocks;
	rds_tcp_tune_buffer(&sk->sk_sndbuf, READ_ONCE(ctl->sndbuf),
			    SOCK_MIN_SNDBUF,
			    READ_ONCE(net->ipv4.sysctl_tcp_wmem[1]),
			    &locks, SOCK_SNDBUF_LOCK);
	rds_tcp_tune_buffer(&sk->sk_rcvbuf, READ_ONCE(ctl->rcvbuf),
			    SOCK_MIN_RCVBUF,
			    READ_ONCE(net->ipv4.sysctl_tcp_rmem[1]),
			    &locks, SOCK_RCVBUF_LOCK);
	sk->sk_userlocks = locks;
	release_sock(sk);
}

/**
 * rds_tcp_tune() - Set the TCP options of a socket
 * @tn: the namespace
 * @sk: the socket
 *
 * The socket keeps GFP_KERNEL for its allocations: the senders are system calls
 * and work items, and memory reclaim waits for none of these.
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_tune(struct rds_tcp_net *tn, struct sock *sk)
{
	int timeout = READ_ONCE(tn->tn_sysctl.user_timeout_ms);

	tcp_sock_set_nodelay(sk);
	sock_set_keepalive(sk);
	tcp_sock_set_keepidle(sk, clamp(timeout / (2 * MSEC_PER_SEC), 1L,
					(long)RDS_TCP_KEEPIDLE));
	tcp_sock_set_keepintvl(sk, RDS_TCP_KEEPINTVL);
	tcp_sock_set_keepcnt(sk, RDS_TCP_KEEPCNT);
	tcp_sock_set_user_timeout(sk, timeout);
}

/**
 * rds_tcp_addrs() - Get the addresses of a connected socket
 * @sk: the socket
 * @laddr: set to our address, IPv4 in its mapped form
 * @faddr: set to the peer's address, in the same form
 *
 * Context: Any context.
 */
void rds_tcp_addrs(const struct sock *sk, struct in6_addr *laddr,
		   struct in6_addr *faddr)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (sk->sk_family == AF_INET) {
		ipv6_addr_set_v4mapped(inet->inet_rcv_saddr, laddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, faddr);
		return;
	}
#if IS_ENABLED(CONFIG_IPV6)
	*laddr = sk->sk_v6_rcv_saddr;
	*faddr = sk->sk_v6_daddr;
#endif
}

/**
 * rds_tcp_abort() - Reset a connection and release its socket
 * @sock: the socket; the caller is its only user
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_abort(struct socket *sock)
{
	struct sock *sk = sock->sk;

	lock_sock(sk);
	if (sk->sk_state != TCP_CLOSE)
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
	release_sock(sk);
	sock_release(sock);
}
