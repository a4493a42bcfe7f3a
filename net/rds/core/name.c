// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of RDS sockets: bind(), connect(), getsockname(), getpeername().
 *
 * bind() finds the transport before it takes the socket lock, for that may
 * load a module; what it decides holds only if the socket is unbound still
 * when the lock is taken. Everything else about a bound socket is in place
 * before it enters the table, since messages arrive from then on, and
 * rs_is_bound tells lockless readers that it is.
 */
#include <net/ipv6.h>

#include "bind.h"
#include "cong.h"
#include "sock_ops.h"
#include "transport.h"

#include <trace/events/rds.h>

static int rds_bind_parse(const struct sockaddr *sa, int len,
			  struct rds_addr *addr)
{
	if (rds_addr_parse(sa, len, addr) != RDS_ADDR_OK)
		return -EINVAL;
	return addr->port == htons(RDS_PORT_PROBE) ? -EINVAL : 0;
}

/* @found is taken over if the socket has not chosen a transport itself. */
static int rds_bind_choose(struct rds_sock *rs, const struct rds_addr *addr,
			   const struct rds_transport **found)
{
	struct net *net = sock_net(&rs->rs_sk);
	int ret;

	if (!rs->rs_trans) {
		if (!*found) {
			net_info_ratelimited("rds: %pI6c is not an address of any loaded transport\n",
					     &addr->ip);
			return -EADDRNOTAVAIL;
		}
		rs->rs_trans = *found;
		*found = NULL;
		return 0;
	}

	ret = rds_transport_owns(rs->rs_trans, net, &addr->ip, addr->ifindex);
	if (ret == -EPROTOTYPE)
		return ret;
	return ret ? -ENOPROTOOPT : 0;
}

static int rds_bind_locked(struct rds_sock *rs, const struct rds_addr *addr,
			   const struct rds_transport **found)
{
	const struct rds_transport *before = rs->rs_trans;
	int ret;

	if (rs->rs_is_bound)
		return -EINVAL;
	if (addr->ifindex && rs->rs_peer.ifindex &&
	    addr->ifindex != rs->rs_peer.ifindex)
		return -EINVAL;

	ret = rds_bind_choose(rs, addr, found);
	if (ret)
		return ret;

	ret = -ENOMEM;
	rs->rs_map = rds_cong_map_get(rs->rs_rn, RDS_CONG_LOCAL,
				      &addr->ip, addr->ifindex);
	if (!rs->rs_map)
		goto err_trans;

	ret = rds_bind_add(rs, addr);
	if (ret)
		goto err_map;

	/* Pairs with rds_sock_is_bound(). */
	smp_store_release(&rs->rs_is_bound, true);
	trace_rds_sock_bind(&rs->rs_sk, &rs->rs_bound.ip, rs->rs_bound.port);
	return 0;

err_map:
	rds_cong_map_put(rs->rs_map);
	rs->rs_map = NULL;
err_trans:
	if (!before)
		*found = rs->rs_trans;
	rs->rs_trans = before;
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
 * -EADDRINUSE; -ENOMEM.
 */
int rds_sock_bind(struct socket *sock, struct sockaddr *sa, int len)
{
	const struct rds_transport *found = NULL;
	struct rds_sock *rs = rds_sk(sock->sk);
	struct rds_addr addr;
	int ret;

	ret = rds_bind_parse(sa, len, &addr);
	if (ret)
		return ret;
	if (rds_sock_is_bound(rs))
		return -EINVAL;
	if (!READ_ONCE(rs->rs_trans))
		found = rds_transport_for_laddr(sock_net(sock->sk), &addr.ip,
						addr.ifindex);

	lock_sock(sock->sk);
	ret = rds_bind_locked(rs, &addr, &found);
	release_sock(sock->sk);

	rds_transport_put(found);
	return ret;
}

static int rds_connect_parse(const struct sockaddr *sa, int len,
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
int rds_sock_connect(struct socket *sock, struct sockaddr *sa, int len,
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
		rs->rs_peer = addr;
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

	spin_lock_bh(&rs->rs_lock);
	addr = rs->rs_peer;
	spin_unlock_bh(&rs->rs_lock);

	if (peer) {
		if (ipv6_addr_any(&addr.ip))
			return -ENOTCONN;
		return rds_addr_format(&addr, sa);
	}
	if (rds_sock_is_bound(rs))
		return rds_addr_format(&rs->rs_bound, sa);
	return rds_format_unbound(&addr, sa);
}
