// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a socket keeps of its namespace.
 *
 * A kernel socket holds no counted reference to its namespace, so that the
 * namespace goes away when its last process does. But the socket may outlive
 * it by a while: packets that refer to it wait in a queue of another
 * namespace. So it keeps the memory of the namespace, until it is destroyed.
 * Destroying it then runs code of this module, which is why the module waits
 * for such sockets before it goes.
 */
#include <linux/wait.h>
#include <net/sock.h>

#include "compat.h"
#include "tcp.h"

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
