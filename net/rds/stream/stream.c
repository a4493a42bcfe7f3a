// SPDX-License-Identifier: GPL-2.0-only
/*
 * The object of a stream: from socket() or the REQUEST until the last reference
 * is put.
 */
#include <linux/module.h>
#include <linux/rds.h>

#include "stream.h"

struct proto rds_stream_proto = {
	.name		= "RDS_STREAM",
	.owner		= THIS_MODULE,
	.obj_size	= sizeof(struct rds_stream),
	.keepalive	= rds_stream_keepalive,
};

static void rds_stream_destruct(struct sock *sk)
{
	struct rds_stream *st = rds_stream(sk);

	WARN_ON_ONCE(!list_empty(&st->st_tx.tx_frames));
	WARN_ON_ONCE(!list_empty(&st->st_accept_queue));
	WARN_ON_ONCE(!list_empty(&st->st_maps.sm_own));
	WARN_ON_ONCE(st->st_flags & RDS_STREAM_F_LISTED);
	rds_stream_maps_free(st);
	rds_stream_purge(st);
	skb_queue_purge(&sk->sk_error_queue);
	if (st->st_conn)
		rds_upper_close(st->st_conn);
	if (st->st_account)
		sock_put(st->st_account);
}

static void rds_stream_init(struct rds_stream *st)
{
	INIT_HLIST_NODE(&st->st_bind);
	INIT_HLIST_NODE(&st->st_node);
	INIT_HLIST_NODE(&st->st_conn_node);
	mutex_init(&st->st_mutex);
	spin_lock_init(&st->st_lock);
	INIT_LIST_HEAD(&st->st_tx.tx_frames);
	INIT_LIST_HEAD(&st->st_rx.rx_queue);
	INIT_LIST_HEAD(&st->st_maps.sm_own);
	INIT_LIST_HEAD(&st->st_accept_queue);
	INIT_LIST_HEAD(&st->st_accept_item);
	rds_stream_init_options(st);
}

/**
 * rds_stream_alloc() - Allocate a stream
 * @net: the namespace
 * @sock: its socket; NULL if accept() gives it one
 * @protocol: RDS_PROTO_INET or RDS_PROTO_INET6
 * @kern: nonzero if the socket is for use by the kernel
 * @gfp: allocation flags
 *
 * Context: Any context that @gfp permits.
 * Return: an idle stream with one reference and no account yet; NULL if there
 * is no memory.
 */
struct rds_stream *rds_stream_alloc(struct net *net, struct socket *sock,
				    int protocol, int kern, gfp_t gfp)
{
	struct rds_stream *st;
	struct sock *sk;

	sk = sk_alloc(net, AF_RDS, gfp, &rds_stream_proto, kern);
	if (!sk)
		return NULL;

	sock_init_data(sock, sk);
	sk->sk_type = SOCK_STREAM;
	sk->sk_protocol = protocol;
	sk->sk_destruct = rds_stream_destruct;
	sk->sk_write_space = rds_stream_write_space;
	sk->sk_sndbuf = RDS_STREAM_BUFFER;
	sk->sk_rcvbuf = RDS_STREAM_BUFFER;
	sock_set_flag(sk, SOCK_RCU_FREE);
	timer_setup(&sk->sk_timer, rds_stream_timer, 0);

	st = rds_stream(sk);
	st->st_v6 = protocol == RDS_PROTO_INET6;
	if (!st->st_v6)
		ipv6_addr_set_v4mapped(0, &st->st_selected);
	st->st_local.ip = st->st_selected;
	rds_stream_init(st);
	return st;
}
