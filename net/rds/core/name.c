// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of RDS sockets: bind(), connect(), getsockname(), getpeername().
 *
 * bind() finds the transport before it takes the socket lock, because this may
 * load a module. If another thread has chosen a transport for the socket
 * meanwhile, bind() starts over.
 *
 * A delivery can find the socket as soon as it is in the table of bound
 * sockets. Therefore bind() first sets all fields that a delivery needs, and
 * then adds the socket to the table. It sets the transport when nothing can
 * fail any more. Last it sets rs_is_bound, which tells lockless readers that
 * all of these fields are set.
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

/* Find the transport to bind to. @chosen is the transport that the user has
 * chosen, or NULL. Returns it with a reference to its module, or an error
 * pointer.
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

/* Returns -ERESTART if another thread has changed the choice of transport since
 * the caller read @chosen.
 */
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
 * rds_sock_bind() - Implement bind(2)
 * @sock: the socket
 * @sa: the address
 * @len: its length in bytes
 *
 * Context: Process context, may sleep and load modules. Takes the socket lock.
 * Return: 0 on success; -EINVAL if the address cannot be bound, or the socket
 * is bound already; -EADDRNOTAVAIL if no transport serves the address;
 * -ENOPROTOOPT if the transport that the user has chosen does not serve it;
 * -EPROTOTYPE if that transport does not work in this namespace; -EADDRINUSE;
 * -ENOMEM; -EINTR if a signal interrupted the search for a free port.
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
 * rds_sock_connect() - Implement connect(2)
 * @sock: the socket
 * @sa: the address
 * @len: its length in bytes
 * @flags: ignored
 *
 * Sets the destination of sendmsg() calls that give no address. Does not check
 * for a route or a transport. A socket may be connected again.
 *
 * Context: Process context, may sleep. Takes the socket lock and rs_lock.
 * Return: 0 on success; -EAFNOSUPPORT if the address is neither IPv4 nor IPv6;
 * -EDESTADDRREQ for the IPv4 wildcard; -EPROTOTYPE for an IPv6 address that is
 * not the address of one host; -EINVAL for any other invalid address.
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

/* Write the name of an unbound socket: the wildcard of the peer's family, or
 * AF_UNSPEC if the socket is not connected.
 */
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
 * rds_sock_getname() - Implement getsockname(2) and getpeername(2)
 * @sock: the socket
 * @sa: room for a struct sockaddr_storage
 * @peer: nonzero for getpeername()
 *
 * Context: Process context.
 * Return: the length of the name in bytes; -ENOTCONN for getpeername() if the
 * socket is not connected.
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
