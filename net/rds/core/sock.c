// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS sockets: creation and close.
 *
 * References to a socket: the file descriptor holds one. Each message that is
 * not yet acknowledged holds one, so that a late ack still finds the socket.
 * Each delivery holds one until the socket is woken. So does each RDMA
 * operation until it is decided whether to notify the socket (op.c), and each
 * work item that ends a memory region (mr.c). Closing, step by step:
 *  1. Set rs_closed under rs_recv_lock: deliveries are refused. Drop the unread
 *     messages. The port no longer counts as congested.
 *  2. Remove the socket from the table of bound sockets. From here on another
 *     socket may be bound to the port and mark it as congested. Step 1 comes
 *     first, so that it does not remove that mark.
 *  3. Cancel the messages that the socket has sent. A message that a transport
 *     is sending goes on, but no longer counts. User space receives no
 *     completion of any of them.
 *  4. End the memory regions: peers cannot reach the memory any more.
 *  5. Put the references to the connection, the congestion map and the
 *     transport's module.
 *  6. Put the reference of the descriptor.
 *
 * Locks: the socket lock (bind, transport, options) > rs_lock, rs_recv_lock.
 * rs_lock and rs_recv_lock are never held together.
 */
#include <linux/module.h>

#include "account.h"
#include "bind.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "mr.h"
#include "notify.h"
#include "recv_queue.h"
#include "send.h"
#include "sock.h"
#include "sock_ops.h"
#include "transport.h"
#include "zcopy.h"

#include <trace/events/rds.h>

struct proto rds_proto = {
	.name			= "RDS",
	.owner			= THIS_MODULE,
	.obj_size		= sizeof(struct rds_sock),
};

static void rds_sock_destruct(struct sock *sk)
{
	struct rds_sock *rs = rds_sk(sk);

	WARN_ON_ONCE(!list_empty(&rs->rs_send_queue));
	WARN_ON_ONCE(!list_empty(&rs->rs_recv_queue));
	sock_put(rs->rs_account);
}

static void rds_sock_init(struct rds_sock *rs, struct rds_net *rn)
{
	rs->rs_rn = rn;
	spin_lock_init(&rs->rs_lock);
	seqcount_spinlock_init(&rs->rs_peer_seq, &rs->rs_lock);
	spin_lock_init(&rs->rs_recv_lock);
	INIT_LIST_HEAD(&rs->rs_send_queue);
	INIT_LIST_HEAD(&rs->rs_notes);
	INIT_LIST_HEAD(&rs->rs_recv_queue);
	INIT_LIST_HEAD(&rs->rs_cong.sg_item);
	INIT_LIST_HEAD(&rs->rs_item);
	xa_init_flags(&rs->rs_mrs, XA_FLAGS_LOCK_BH);
}

/**
 * rds_sock_create() - Implement socket(AF_RDS, SOCK_SEQPACKET, 0)
 * @net: the namespace
 * @sock: the socket being created
 * @protocol: must be 0
 * @kern: nonzero if the socket is for use by the kernel
 *
 * Context: Process context, may sleep. Takes rn_sock_lock.
 * Return: 0 on success; -ESOCKTNOSUPPORT for another type or protocol; -ENOMEM.
 */
int rds_sock_create(struct net *net, struct socket *sock, int protocol,
		    int kern)
{
	struct rds_net *rn = rds_net(net);
	struct sock *sk, *account;
	struct rds_sock *rs;

	if (sock->type != SOCK_SEQPACKET || protocol)
		return -ESOCKTNOSUPPORT;

	account = rds_account_alloc(net);
	if (!account)
		return -ENOMEM;
	sk = sk_alloc(net, AF_RDS, GFP_KERNEL, &rds_proto, kern);
	if (!sk) {
		sock_put(account);
		return -ENOMEM;
	}

	sock_init_data(sock, sk);
	sk->sk_protocol = protocol;
	sk->sk_destruct = rds_sock_destruct;
	sock_set_flag(sk, SOCK_RCU_FREE);

	rs = rds_sk(sk);
	rds_sock_init(rs, rn);
	rs->rs_account = account;

	mutex_lock(&rn->rn_sock_lock);
	list_add_tail(&rs->rs_item, &rn->rn_socks);
	mutex_unlock(&rn->rn_sock_lock);
	return 0;
}

static void rds_sock_unlist(struct rds_sock *rs)
{
	struct rds_net *rn = rs->rs_rn;

	mutex_lock(&rn->rn_sock_lock);
	list_del_init(&rs->rs_item);
	mutex_unlock(&rn->rn_sock_lock);

	if (rs->rs_rx_traces)
		atomic_dec(&rn->rn_rx_traces);
}

/**
 * rds_sock_release() - Release a socket on the last close()
 * @sock: the socket being closed
 *
 * Context: Process context, may sleep.
 * Return: 0.
 */
int rds_sock_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct rds_sock *rs;

	if (!sk)
		return 0;

	rs = rds_sk(sk);
	trace_rds_sock_release(sk, &rs->rs_bound.ip, rs->rs_bound.port);

	rds_sock_unlist(rs);
	rds_recv_purge(rs);
	if (rds_sock_is_bound(rs))
		rds_bind_del(rs);
	rds_send_abandon(rs);
	rds_notes_close(rs);
	rds_zcopy_close(rs);
	rds_mr_close(rs);
	rds_cong_monitor(rs, false, 0);

	/* This is the last close(), so no other task reads rs_conn. */
	rds_conn_put(rcu_dereference_protected(rs->rs_conn, true));
	rds_cong_map_put(rs->rs_map);
	rds_transport_put(rs->rs_trans);
	RCU_INIT_POINTER(rs->rs_conn, NULL);
	rs->rs_map = NULL;
	rs->rs_trans = NULL;

	sock_orphan(sk);
	sock->sk = NULL;
	sock_put(sk);
	return 0;
}
