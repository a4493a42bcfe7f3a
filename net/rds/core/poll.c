// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll() on RDS sockets.
 *
 * Room to send says nothing of congestion, which belongs to a destination. A
 * sender that met ENOBUFS polls for input: it is told of the next change of
 * any congestion map, once, or, with explicit monitoring, of the port groups
 * it waits for (rds(7), "Congestion Control").
 */
#include <linux/poll.h>

#include "cong_flow.h"
#include "notify.h"
#include "sock_ops.h"
#include "zcopy.h"

/**
 * rds_sock_poll() - poll(2), select(2), epoll(7)
 * @file: the descriptor
 * @sock: the socket
 * @wait: where to be woken
 *
 * Context: process.
 * Return: the events.
 */
__poll_t rds_sock_poll(struct file *file, struct socket *sock,
		       struct poll_table_struct *wait)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs = rds_sk(sk);
	__poll_t mask;

	sock_poll_wait(file, sock, wait);

	mask = rds_cong_poll(rs, poll_requested_events(wait));
	if (!list_empty_careful(&rs->rs_recv_queue) || rds_zcopy_pending(rs) ||
	    rds_notes_pending(rs))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rds_sock_writeable(rs))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (sk->sk_err || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}
