// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sockets of TCP: how they are tuned, how they are reset, and what they keep of
 * their namespace.
 *
 * A kernel socket holds no counted reference to its namespace, so that the
 * namespace goes away when its last process does. But the socket may outlive
 * it by a while: packets that refer to it wait in a queue of another
 * namespace. So it keeps the memory of the namespace, until it is destroyed.
 * Destroying it then runs code of this module, which is why the module waits
 * for such sockets before it goes.
 */
#include <linux/wait.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "compat.h"
#include "tcp.h"

/* Silence after which the peer is probed, at most, and the time between two
 * probes, in seconds: several must get lost before the user timeout is over.
 */
#define RDS_TCP_KEEPIDLE	5
#define RDS_TCP_KEEPINTVL	1
#define RDS_TCP_KEEPCNT		5

unsigned int rds_tcp_net_id __read_mostly;
struct workqueue_struct *rds_tcp_wq;

static atomic_t rds_tcp_nheld = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(rds_tcp_held_wait);

/* All sockets of a family have the same. */
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

	/* Who waits may unload us: see rds_tcp_wait_held(). */
	rcu_read_lock();
	if (atomic_dec_and_test(&rds_tcp_nheld))
		wake_up(&rds_tcp_held_wait);
	rcu_read_unlock();
}

/**
 * rds_tcp_hold_net() - have a socket keep the memory of its namespace
 * @sk: the socket, just made or accepted; not a listener, whose children
 *	would inherit the duty without the reference
 *
 * Context: process.
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
 * rds_tcp_wait_held() - wait until no socket needs this module
 *
 * Context: process, may sleep; no socket is made any more.
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
 * rds_tcp_tune_buffers() - apply the tunables for buffers
 * @tn: the namespace
 * @sk: a listener, or a socket that no path has yet
 *
 * Context: process, may sleep.
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
 * rds_tcp_tune() - prepare a socket for its work
 * @tn: the namespace
 * @sk: the socket
 *
 * Its memory is allocated with GFP_KERNEL: what sends are system calls, and
 * work that no reclaim waits for.
 *
 * Context: process, may sleep.
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
 * rds_tcp_abort() - reset a connection and release its socket
 * @sock: the socket; nobody else uses it
 *
 * Context: process, may sleep.
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
