// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bound sockets of a namespace. Streams have ports of their own, beside those
 * of datagram sockets.
 *
 * A socket is in the table from bind(), or from the listen() or connect() that
 * selects a port for it, until it is closed. Accepted streams share the port of
 * their listener and are not in the table. While it listens, a socket is in the
 * table of listeners, too, which has a lock of its own: what a peer asks for is
 * not looked for among all that are bound, nor does it wait for a bind() that
 * looks among these.
 *
 * connect() selects a port that no socket has. If there is none, it selects one
 * that only clients of other servers have been given: the table of streams
 * (table.c) tells their streams apart.
 */
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <linux/random.h>
#include <net/ip.h>
#include <net/ipv6.h>

#include "stream.h"

/* Check whether a socket that is bound to @name takes what is sent to an
 * address. The unspecified address of a family counts as one of that family.
 */
static bool rds_stream_covers(const struct rds_stream *st,
			      const struct rds_stream_name *name,
			      const struct rds_stream_name *to)
{
	bool v4 = ipv6_addr_v4mapped(&to->ip);

	if (ipv6_addr_any(&name->ip))
		return !v4 || !st->st_opts[RDS_STREAM_V6ONLY];
	if (rds_stream_is_any(&name->ip))
		return v4;
	return ipv6_addr_equal(&name->ip, &to->ip) &&
	       name->ifindex == to->ifindex;
}

/* Check whether two names that are bound to one port have an address in
 * common.
 */
static bool rds_stream_overlaps(const struct rds_stream *st,
				const struct rds_stream *other,
				const struct rds_stream_name *name)
{
	return rds_stream_covers(st, name, &other->st_local) ||
	       rds_stream_covers(other, &other->st_local, name);
}

/* Sockets of one user share a port, and the streams for it, if all of them have
 * SO_REUSEPORT.
 */
static bool rds_stream_shares_port(const struct rds_stream *st,
				   const struct rds_stream *other)
{
	return st->st_sk.sk_reuseport && other->st_sk.sk_reuseport &&
	       uid_eq(READ_ONCE(st->st_sk.sk_uid),
		      READ_ONCE(other->st_sk.sk_uid));
}

/* Two sockets may otherwise share a port if both allow it, and neither listens.
 */
static bool rds_stream_is_free(struct rds_stream_net *sn,
			       const struct rds_stream *st,
			       const struct rds_stream_name *name, bool alone)
	__must_hold(&sn->sn_lock)
{
	const struct rds_stream *other;

	lockdep_assert_held(&sn->sn_lock);
	hash_for_each_possible(sn->sn_binds, other, st_bind,
			       (__force u16)name->port) {
		if (other == st || other->st_local.port != name->port)
			continue;
		if (alone)
			return false;
		if (rds_stream_overlaps(st, other, name) &&
		    !rds_stream_shares_port(st, other) &&
		    (!st->st_sk.sk_reuse || !other->st_sk.sk_reuse ||
		     READ_ONCE(other->st_state) == RDS_STREAM_LISTEN))
			return false;
	}
	return true;
}

/* Check whether a bound socket is a client of another server, and has not
 * selected its port.
 */
static bool rds_stream_is_elsewhere(const struct rds_stream *other,
				    const struct rds_stream_name *server)
{
	struct rds_stream_name peer;

	/* It may be connecting just now. If this is wrong, the table of streams
	 * refuses the stream, and connect() tries another port.
	 */
	peer = data_race(other->st_peer);
	/* As above: bind() may be setting it. */
	if (data_race(other->st_own_port) || !peer.port)
		return false;
	return peer.port != server->port ||
	       !ipv6_addr_equal(&peer.ip, &server->ip);
}

/* Check whether only clients of other servers have a port. */
static bool rds_stream_has_clients(struct rds_stream_net *sn,
				   const struct rds_stream *st, __be16 port,
				   const struct rds_stream_name *server)
	__must_hold(&sn->sn_lock)
{
	const struct rds_stream *other;

	lockdep_assert_held(&sn->sn_lock);
	hash_for_each_possible(sn->sn_binds, other, st_bind,
			       (__force u16)port) {
		if (other != st && other->st_local.port == port &&
		    !rds_stream_is_elsewhere(other, server))
			return false;
	}
	return true;
}

/* Bind a socket, if the port is free. A client whose port need not be free of
 * others has a @server.
 */
static int rds_stream_try_port(struct rds_stream *st,
			       const struct rds_stream_name *name, bool alone,
			       const struct rds_stream_name *server)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	bool free;

	spin_lock_bh(&sn->sn_lock);
	if (server)
		free = rds_stream_has_clients(sn, st, name->port, server);
	else
		free = rds_stream_is_free(sn, st, name, alone);
	if (free) {
		st->st_local = *name;
		st->st_is_bound = true;
		hash_add(sn->sn_binds, &st->st_bind, (__force u16)name->port);
	}
	spin_unlock_bh(&sn->sn_lock);
	return free ? 0 : -EADDRINUSE;
}

/* Take a port that is not reserved, and that no other socket has, or that only
 * clients of other servers than @server have, from a random one on.
 */
static int rds_stream_any_port(struct rds_stream *st,
			       const struct rds_stream_name *name,
			       const struct rds_stream_name *server)
{
	struct net *net = sock_net(&st->st_sk);
	struct rds_stream_name try = *name;
	int low, high, i, nr, first, port;

	inet_get_local_port_range(net, &low, &high);
	nr = high - low + 1;
	if (nr <= 0)
		return -EADDRINUSE;
	first = get_random_u32() % nr;
	for (i = 0; i < nr; i++) {
		port = low + (first + i) % nr;
		try.port = htons(port);
		if (!inet_is_local_reserved_port(net, port) &&
		    !rds_stream_try_port(st, &try, true, server))
			return 0;
		cond_resched();
	}
	return -EADDRINUSE;
}

/**
 * rds_stream_bind_name() - Bind a socket
 * @st: the socket, not bound
 * @name: the name; if its port is 0, a free one is selected
 *
 * Context: Process context, may sleep. The socket lock is held.
 * Return: 0; -EADDRINUSE if another socket has the name, or no port is free;
 * -EACCES if the user may not bind the port.
 */
int rds_stream_bind_name(struct rds_stream *st,
			 const struct rds_stream_name *name)
{
	struct net *net = sock_net(&st->st_sk);

	if (!name->port)
		return rds_stream_any_port(st, name, NULL);
	if (inet_port_requires_bind_service(net, ntohs(name->port)) &&
	    !ns_capable(net->user_ns, CAP_NET_BIND_SERVICE))
		return -EACCES;
	return rds_stream_try_port(st, name, false, NULL);
}

/**
 * rds_stream_share_port() - Bind a client to a port that other clients have
 * @st: the socket, not bound
 * @local: its address
 * @server: the name that it is about to connect to
 *
 * Context: Process context, may sleep. The socket lock is held.
 * Return: 0; -EADDRINUSE if each port has a stream to the server, or a user who
 * has selected it.
 */
int rds_stream_share_port(struct rds_stream *st,
			  const struct rds_stream_name *local,
			  const struct rds_stream_name *server)
{
	return rds_stream_any_port(st, local, server);
}

/**
 * rds_stream_selected() - Get the local name as the user has selected it
 * @st: the socket; a connect() may have given it an address
 *
 * Context: Process context. The socket lock is held.
 * Return: its name; the address is unspecified if the user has selected none.
 */
struct rds_stream_name rds_stream_selected(const struct rds_stream *st)
{
	struct rds_stream_name name = st->st_local;

	if (rds_stream_is_any(&st->st_selected)) {
		name.ip = st->st_selected;
		name.ifindex = 0;
	}
	return name;
}

/**
 * rds_stream_rename() - Give a bound socket another address
 * @st: the socket, bound
 * @name: the name; its port is the one that the socket has
 *
 * Context: Process context. The socket lock is held.
 */
void rds_stream_rename(struct rds_stream *st,
		       const struct rds_stream_name *name)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));

	spin_lock_bh(&sn->sn_lock);
	st->st_local = *name;
	spin_unlock_bh(&sn->sn_lock);
}

/**
 * rds_stream_unbind() - Remove a socket from the table of bound ones
 * @st: the socket; may be unbound
 *
 * Context: Process context. The socket lock is held.
 */
void rds_stream_unbind(struct rds_stream *st)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));

	if (!st->st_is_bound)
		return;
	spin_lock_bh(&sn->sn_lock);
	hash_del(&st->st_bind);
	st->st_is_bound = false;
	spin_unlock_bh(&sn->sn_lock);
}

/**
 * rds_stream_forget_port() - Unbind a socket whose port nobody has selected
 * @st: the socket, in no table of streams; the next port is another one
 *
 * Context: Process context. The socket lock is held.
 */
void rds_stream_forget_port(struct rds_stream *st)
{
	rds_stream_unbind(st);
	st->st_local.port = 0;
}

/**
 * rds_stream_bind_listen() - Let a bound socket listen
 * @st: the socket, bound
 *
 * Context: Process context. The socket lock is held.
 * Return: 0; -EADDRINUSE if another socket listens on the same name.
 */
int rds_stream_bind_listen(struct rds_stream *st)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));
	const struct rds_stream *other;
	u16 key;
	int ret = 0;

	spin_lock_bh(&sn->sn_lock);
	/* A connect() that has failed may have given it an address. */
	st->st_local = rds_stream_selected(st);
	key = (__force u16)st->st_local.port;
	spin_lock(&sn->sn_listen_lock);
	hash_for_each_possible(sn->sn_listeners, other, st_listen, key) {
		if (other->st_local.port == st->st_local.port &&
		    rds_stream_overlaps(st, other, &st->st_local) &&
		    !rds_stream_shares_port(st, other))
			ret = -EADDRINUSE;
	}
	if (!ret) {
		spin_lock(&st->st_lock);
		rds_stream_set_state(st, RDS_STREAM_EV_LISTEN);
		spin_unlock(&st->st_lock);
		hash_add(sn->sn_listeners, &st->st_listen, key);
	}
	spin_unlock(&sn->sn_listen_lock);
	spin_unlock_bh(&sn->sn_lock);
	return ret;
}

/**
 * rds_stream_unbind_listen() - Let a listener stop to listen
 * @st: the listener; it stays bound, and has ended
 *
 * Context: Process context. The socket lock is held.
 */
void rds_stream_unbind_listen(struct rds_stream *st)
{
	struct rds_stream_net *sn = rds_stream_net(sock_net(&st->st_sk));

	spin_lock_bh(&sn->sn_listen_lock);
	hash_del(&st->st_listen);
	spin_lock(&st->st_lock);
	rds_stream_set_state(st, RDS_STREAM_EV_CLOSE);
	spin_unlock(&st->st_lock);
	spin_unlock_bh(&sn->sn_listen_lock);
}

static u32 rds_stream_hash(const struct rds_stream_name *name)
{
	static u32 secret __read_mostly;

	net_get_random_once(&secret, sizeof(secret));
	return __ipv6_addr_jhash(&name->ip,
				 (__force u16)name->port ^ secret);
}

/* Get the socket behind @last in a bucket, or the first one. Puts @last. A
 * socket that was unbound meanwhile ends the bucket.
 */
static struct rds_stream *rds_stream_next_bind(struct rds_stream_net *sn,
					       unsigned int bucket,
					       struct rds_stream *last)
{
	struct hlist_node *node;
	struct rds_stream *st;

	spin_lock_bh(&sn->sn_lock);
	node = last ? last->st_bind.next : sn->sn_binds[bucket].first;
	st = hlist_entry_safe(node, struct rds_stream, st_bind);
	if (st)
		sock_hold(&st->st_sk);
	spin_unlock_bh(&sn->sn_lock);
	if (last)
		sock_put(&last->st_sk);
	return st;
}

/**
 * rds_stream_for_binds() - Call a function for each bound socket of a namespace
 * @net: the namespace
 * @fn: the function
 * @add: passed to @fn
 * @list: passed to @fn
 *
 * The lock is not held for longer than it takes to find one socket. So some may
 * be left out, or come twice, if others are bound or closed meanwhile.
 *
 * Context: Process context, may sleep. Takes sn_lock.
 */
void rds_stream_for_binds(const struct net *net, rds_stream_lister *fn,
			  rds_info_add_t *add, void *list)
{
	struct rds_stream_net *sn = rds_stream_net(net);
	struct rds_stream *st;
	unsigned int i;

	for (i = 0; i < HASH_SIZE(sn->sn_binds); i++) {
		st = NULL;
		while ((st = rds_stream_next_bind(sn, i, st))) {
			fn(st, add, list);
			cond_resched();
		}
	}
}

/**
 * rds_stream_find_listener() - Find the socket that accepts a stream
 * @net: the namespace
 * @to: the name that the client connects to
 * @from: the name of the client: its hash selects one of several sockets that
 *	share the port
 *
 * A socket that is bound to the address comes before one that is bound to all.
 *
 * Context: Any context.
 * Return: the socket with a reference for the caller, or NULL.
 */
struct rds_stream *rds_stream_find_listener(struct net *net,
					    const struct rds_stream_name *to,
					    const struct rds_stream_name *from)
{
	struct rds_stream_net *sn = rds_stream_net(net);
	struct rds_stream *st, *found = NULL;
	u32 nr = 0, hash = rds_stream_hash(from);
	bool any, found_any = true;

	spin_lock_bh(&sn->sn_listen_lock);
	hash_for_each_possible(sn->sn_listeners, st, st_listen,
			       (__force u16)to->port) {
		if (st->st_local.port != to->port ||
		    !rds_stream_covers(st, &st->st_local, to))
			continue;
		any = rds_stream_is_any(&st->st_local.ip);
		if (any && !found_any)
			continue;
		if (any != found_any)
			nr = 0;
		found_any = any;
		/* Each of @nr sockets is as likely as the others. */
		if (!reciprocal_scale(hash, ++nr))
			found = st;
		hash = jhash_1word(hash, nr);
	}
	if (found)
		sock_hold(&found->st_sk);
	spin_unlock_bh(&sn->sn_listen_lock);
	return found;
}
