// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of RDS sockets: bind(), connect(), getsockname(), getpeername().
 *
 * bind() finds the transport before it takes the socket lock, for that may
 * load a module; it begins anew if another thread has chosen one meanwhile.
 * Everything about a bound socket that a delivery needs is in place before it
 * enters the table; the transport follows when nothing can fail any more, and
 * rs_is_bound tells lockless readers that all of it is there.
 */
#include <net/ipv6.h>

#include "bind.h"
#include "cong.h"
#include "sock_ops.h"
#include "transport.h"

#include <trace/events/rds.h>

static int rds_bind_parse(const struct rds_sockaddr *sa, int len,
			  struct rds_addr *addr)
{
	if (rds_addr_parse(sa, len, addr) != RDS_ADDR_OK)
		return -EINVAL;
	return addr->port == htons(RDS_PORT_PROBE) ? -EINVAL : 0;
}

/* The transport to bind to, with a reference, or an error pointer. @chosen is
 * what the user has chosen, if anything.
 */
static const struct rds_transport *
rds_bind_transport(struct rds_sock *rs, const struct rds_transport *chosen,
		   const struct rds_addr *addr)
{
	struct net *net = sock_net(&rs->rs_sk);
	const struct rds_transport *trans;
	int ret;

	if (!chosen) {
		trans = rds_transport_for_laddr(net, &addr->ip, addr->ifindex);
		if (trans)
			return trans;
		net_info_ratelimited("rds: %pI6c is not an address of any loaded transport\n",
				     &addr->ip);
		return ERR_PTR(-EADDRNOTAVAIL);
	}

	ret = rds_transport_owns(chosen, net, &addr->ip, addr->ifindex);
	if (ret == -EPROTOTYPE || ret == -ENOMEM)
		return ERR_PTR(ret);
	if (ret)
		return ERR_PTR(-ENOPROTOOPT);
	__module_get(chosen->owner);
	return chosen;
}

static int rds_bind_enter(struct rds_sock *rs, const struct rds_addr *addr)
{
	int ret;

	rs->rs_map = rds_cong_map_get(rs->rs_rn, RDS_CONG_LOCAL, &addr->ip,
				      addr->ifindex);
	if (!rs->rs_map)
		return -ENOMEM;

	ret = rds_bind_add(rs, addr);
	if (ret) {
		rds_cong_map_put(rs->rs_map);
		rs->rs_map = NULL;
	}
	return ret;
}

/* -ERESTART: the choice of transport has changed since @chosen was read. */
static int rds_bind_locked(struct rds_sock *rs, const struct rds_addr *addr,
			   const struct rds_transport *chosen,
			   const struct rds_transport *trans)
{
	int ret;

	if (rs->rs_is_bound)
		return -EINVAL;
	if (rs->rs_trans != chosen)
		return -ERESTART;
	if (addr->ifindex && rs->rs_peer.ifindex &&
	    addr->ifindex != rs->rs_peer.ifindex)
		return -EINVAL;

	ret = rds_bind_enter(rs, addr);
	if (ret)
		return ret;

	if (!chosen) {
		__module_get(trans->owner);
		WRITE_ONCE(rs->rs_trans, trans);
	}
	/* Pairs with rds_sock_is_bound(). */
	smp_store_release(&rs->rs_is_bound, true);
	trace_rds_sock_bind(&rs->rs_sk, &rs->rs_bound.ip, rs->rs_bound.port);
	return 0;
}

static int rds_bind_try(struct rds_sock *rs, const struct rds_addr *addr)
{
	const struct rds_transport *chosen = READ_ONCE(rs->rs_trans);
	const struct rds_transport *trans;
	int ret;

	if (rds_sock_is_bound(rs))
		return -EINVAL;

	trans = rds_bind_transport(rs, chosen, addr);
	if (IS_ERR(trans))
		return PTR_ERR(trans);

	lock_sock(&rs->rs_sk);
	ret = rds_bind_locked(rs, addr, chosen, trans);
	release_sock(&rs->rs_sk);

	rds_transport_put(trans);
	return ret;
}

/**
 * rds_sock_bind() - bind(2)
 * @sock: the socket
 * @sa: the address
 * @len: its length
 *
 * Context: process, may sleep; may load modules.
 * Return: 0; -EINVAL for an address that cannot be bound or a socket that is;
 * -EADDRNOTAVAIL if no transport has the address; -ENOPROTOOPT if the one the
 * user chose has not; -EPROTOTYPE if that does not work in this namespace;
 * -EADDRINUSE; -ENOMEM; -EINTR while looking for a free port.
 */
int rds_sock_bind(struct socket *sock, struct rds_sockaddr *sa, int len)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr addr;
	int ret;

	ret = rds_bind_parse(sa, len, &addr);
	if (ret)
		return ret;

	do {
		ret = rds_bind_try(rs, &addr);
	} while (ret == -ERESTART);
	return ret;
}

static int rds_connect_parse(const struct rds_sockaddr *sa, int len,
			     struct rds_addr *addr)
{
	switch (rds_addr_parse(sa, len, addr)) {
	case RDS_ADDR_OK:
		return 0;
	case RDS_ADDR_FAMILY:
		return -EAFNOSUPPORT;
	case RDS_ADDR_ANY:
		return -EDESTADDRREQ;
	case RDS_ADDR_NOT_UNICAST:
		return sa->sa_family == AF_INET6 ? -EPROTOTYPE : -EINVAL;
	default:
		return -EINVAL;
	}
}

/**
 * rds_sock_connect() - connect(2): where sendmsg() goes without an address
 * @sock: the socket
 * @sa: the address
 * @len: its length
 * @flags: ignored
 *
 * Records the address; no route or transport is looked at. May be repeated.
 *
 * Context: process, may sleep.
 * Return: 0; -EAFNOSUPPORT; -EDESTADDRREQ for the IPv4 wildcard; -EPROTOTYPE
 * for an IPv6 address that is not of one host; -EINVAL.
 */
int rds_sock_connect(struct socket *sock, struct rds_sockaddr *sa, int len,
		     int flags)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr addr;
	int ret;

	ret = rds_connect_parse(sa, len, &addr);
	if (ret)
		return ret;

	lock_sock(sock->sk);
	if (addr.ifindex && rs->rs_bound.ifindex &&
	    addr.ifindex != rs->rs_bound.ifindex) {
		ret = -EINVAL;
	} else {
		spin_lock_bh(&rs->rs_lock);
		write_seqcount_begin(&rs->rs_peer_seq);
		rs->rs_peer = addr;
		write_seqcount_end(&rs->rs_peer_seq);
		spin_unlock_bh(&rs->rs_lock);
	}
	release_sock(sock->sk);
	return ret;
}

/* Unbound, but connected: the wildcard of the peer's family. */
static int rds_format_unbound(const struct rds_addr *peer, struct sockaddr *sa)
{
	if (ipv6_addr_any(&peer->ip) || ipv6_addr_v4mapped(&peer->ip)) {
		memset(sa, 0, sizeof(struct sockaddr_in));
		if (!ipv6_addr_any(&peer->ip))
			sa->sa_family = AF_INET;
		return sizeof(struct sockaddr_in);
	}

	memset(sa, 0, sizeof(struct sockaddr_in6));
	sa->sa_family = AF_INET6;
	return sizeof(struct sockaddr_in6);
}

/**
 * rds_sock_getname() - getsockname(2), getpeername(2)
 * @sock: the socket
 * @sa: room for a struct sockaddr_storage
 * @peer: which of the two
 *
 * Context: process.
 * Return: the length; -ENOTCONN if there is no peer.
 */
int rds_sock_getname(struct socket *sock, struct sockaddr *sa, int peer)
{
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr addr;

	rds_sock_read_peer(rs, &addr);

	if (peer) {
		if (ipv6_addr_any(&addr.ip))
			return -ENOTCONN;
		return rds_addr_format(&addr, sa);
	}
	if (rds_sock_is_bound(rs))
		return rds_addr_format(&rs->rs_bound, sa);
	return rds_format_unbound(&addr, sa);
}
