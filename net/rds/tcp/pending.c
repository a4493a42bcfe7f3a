// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket of a pending connection: one that a peer has made and no path has
 * taken. This file attaches its callbacks and closes it. accept.c decides what
 * happens to it.
 */
#include <linux/slab.h>
#include <net/sock.h>

#include "tcp.h"
#include "trace.h"

/**
 * rds_tcp_accept_soon() - Queue the work item for pending connections
 * @tn: the namespace
 *
 * Context: Any context.
 */
void rds_tcp_accept_soon(struct rds_tcp_net *tn)
{
	mod_delayed_work(rds_tcp_wq, &tn->tn_accept_work, 0);
}

/* The socket is locked, so the pending connection stays attached meanwhile. */
static void rds_tcp_pending_event(struct sock *sk)
{
	struct rds_tcp_pending *pa = sk->sk_user_data;

	set_bit(RDS_TCP_PF_READY, &pa->pa_flags);
	rds_tcp_accept_soon(pa->pa_tn);
}

/**
 * rds_tcp_pending_attach() - Attach the callbacks of a pending connection
 * @pa: the pending connection
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_pending_attach(struct rds_tcp_pending *pa)
{
	struct sock *sk = pa->pa_sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = pa;
	sk->sk_data_ready = rds_tcp_pending_event;
	sk->sk_state_change = rds_tcp_pending_event;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * rds_tcp_pending_detach() - Detach the callbacks of a pending connection
 * @pa: the pending connection
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_pending_detach(struct rds_tcp_pending *pa)
{
	const struct rds_tcp_callbacks *def = &pa->pa_tn->tn_default;
	struct sock *sk = pa->pa_sock->sk;

	lock_sock(sk);
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = def->data_ready;
	sk->sk_state_change = def->state_change;
	write_unlock_bh(&sk->sk_callback_lock);
	release_sock(sk);
}

/**
 * rds_tcp_pending_close() - Reset a pending connection and free it
 * @pa: the pending connection, on no list
 * @reason: why, for the trace
 * @err: the error that it is closed for, or 0
 *
 * Context: Process context, may sleep. Takes the TCP socket lock.
 */
void rds_tcp_pending_close(struct rds_tcp_pending *pa, enum rds_tcp_end reason,
			   int err)
{
	trace_rds_tcp_pending_end(pa->pa_sock->sk, reason, err, pa->pa_born);
	rds_tcp_pending_detach(pa);
	rds_tcp_abort(pa->pa_sock);
	kfree(pa);
}
