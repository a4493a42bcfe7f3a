// SPDX-License-Identifier: GPL-2.0-only
/*
 * poll() on RDS sockets.
 *
 * There is no EPOLLERR: nothing sets the error of these sockets, or adds to
 * their error queues.
 *
 * The events for room to send do not depend on congestion, which belongs to a
 * destination. A sender that has met ENOBUFS polls for input instead. poll()
 * reports the next change of any congestion map to it, until it acts on the
 * change. With explicit monitoring, poll() reports the port groups that the
 * socket waits for (rds(7), "Congestion monitoring").
 */
#include <linux/poll.h>

#include "cong_flow.h"
#include "notify.h"
#include "sock_ops.h"
#include "zcopy.h"

/**
 * rds_sock_poll() - Report socket events for poll(2), select(2) and epoll(7)
 * @file: the file of the descriptor
 * @sock: the socket
 * @wait: poll table, to which the wait queue of the socket is added
 *
 * Context: Process context.
 * Return: the EPOLL* events.
 */
__poll_t rds_sock_poll(struct file *file, struct socket *sock,
		       struct poll_table_struct *wait)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	__poll_t mask;

	sock_poll_wait(file, sock, wait);

	mask = rds_cong_poll(rs, poll_requested_events(wait));
	if (!list_empty(&rs->rs_recv_queue) || rds_zcopy_pending(rs) ||
	    rds_notes_pending(rs))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (rds_sock_writeable(rs))
		mask |= EPOLLOUT | EPOLLWRNORM;
	return mask;
}
