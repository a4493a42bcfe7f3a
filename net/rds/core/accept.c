// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that the peer makes.
 *
 * On a transport with RDS_CAP_LOWER_DIALS, the end with the lower address
 * dials. A connection dialed by the peer is offered to a path:
 *
 * - If the peer has announced that its ports name paths, the offer goes to the
 *   path that the port names.
 * - Otherwise it goes to path 0 if that is free. If path 0 is in use, and has
 *   proved to be alive, it goes to the first other path that is free.
 *
 * In these cases the connection waits in the transport instead:
 *
 * - Before the peer has sent a handshake frame, path 0 takes one connection,
 *   and all others wait.
 * - A connection waits if it is not known yet which path it is for. Its
 *   messages carry the sequence numbers of one path, so it must not move to
 *   another path later.
 * - A connection for a path that is in use waits. A probe on the connection in
 *   use finds out whether the peer still has that connection.
 * - A connection for a path other than 0 waits while path 0 is UP and the
 *   peer's handshake on it has not been processed, if the handshake may show
 *   that the peer is another incarnation (see rds_legacy_is_early()).
 *
 * If the handshake on path 0 has been processed, and neither end has announced
 * so many paths, waiting is in vain. The connection is refused at once.
 *
 * The end with the higher address can only knock, and is dialed back.
 *
 * On a transport without paths both ends may dial. In a duel, the connection
 * dialed by the lower address is kept, and the higher address drops its own.
 * Not every peer follows this rule. If the peer does not, or if it has the
 * higher address, its offer is kept until our own attempt has ended. Otherwise
 * our attempt is dropped for the offer.
 *
 * Dropping our attempt whenever an offer arrives would not be enough. The peer
 * may read our request when the connection that it has dialed is UP already. A
 * request for a path that is UP means that the sender of the request has lost
 * the connection in use, so the peer would drop it. We draw the same conclusion
 * from a request of the peer, except if the peer made it before it accepted the
 * connection that we dialed.
 *
 * A connection of an address to itself has both ends on this host. The accepted
 * end belongs to the passive connection.
 *
 * All of this runs under rn_lock, so that no connection is destroyed meanwhile.
 */
#include <net/ipv6.h>

#include "addr.h"
#include "conn_get.h"
#include "conn_idle.h"
#include "conn_table.h"
#include "legacy.h"
#include "path_connect.h"
#include "probe.h"
#include "transport.h"

/* Do not create state for a peer that has sent no data. But some stock peers
 * send nothing on a path until they have a message for it. If the connection
 * exists, and its peer is a stock peer whose ports name paths, trust the port.
 */
static struct rds_conn *rds_accept_silent(struct rds_net *rn,
					  const struct rds_conn_key *key)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn && READ_ONCE(conn->c_peer_hs.names_paths) &&
	    !READ_ONCE(conn->c_peer_hs.ours))
		return conn;
	rds_conn_put(conn);
	return ERR_PTR(-EAGAIN);
}

/* Any host can put our address into a request. A request from our own address
 * is genuine only if we are dialing ourselves and wait for the reply.
 */
static bool rds_accept_is_our_own(struct rds_net *rn,
				  const struct rds_conn_key *key)
{
	struct rds_conn_key dialing = *key;
	struct rds_conn *conn;
	bool ours;

	dialing.passive = false;
	conn = rds_conn_lookup(rn, &dialing);
	ours = conn && rds_cpath_state(&conn->c_path) == RDS_PATH_CONNECTING;
	rds_conn_put(conn);
	return ours;
}

static struct rds_conn *rds_accept_conn(struct rds_net *rn,
					const struct rds_transport *trans,
					const struct rds_conn_request *peer)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn_key key = {
		.laddr = peer->laddr,
		.faddr = peer->faddr,
		.trans = trans,
		.ifindex = rds_addr_scope(&peer->faddr, peer->ifindex) ?:
			   rds_addr_scope(&peer->laddr, peer->ifindex),
		.tos = peer->tos,
		.passive = !(trans->caps & RDS_CAP_PREFERS_LOOPBACK) &&
			   ipv6_addr_equal(&peer->laddr, &peer->faddr),
	};

	lockdep_assert_held(&rn->rn_lock);

	/* The connections of @trans are being destroyed, or have been. */
	if (!rds_transport_is_registered(trans))
		return ERR_PTR(-ESHUTDOWN);
	if (key.passive && !rds_accept_is_our_own(rn, &key))
		return ERR_PTR(-ECONNREFUSED);
	if (peer->spoken)
		return rds_conn_get_for_peer(rn, &key);
	return rds_accept_silent(rn, &key);
}

/* A path is free if it has no connection, or only an attempt of our own. */
static bool rds_accept_is_free(const struct rds_cpath *cp)
{
	if (!cp)
		return true;
	if (READ_ONCE(cp->cp_offer) != RDS_OFFER_NONE)
		return false;
	return rds_cpath_state(cp) == RDS_PATH_DOWN ||
	       rds_cpath_state(cp) == RDS_PATH_CONNECTING;
}

/* A peer that makes another connection has either lost the existing one, or
 * wants one more. A handshake frame that arrived before the request does not
 * tell which, and a frame of the same jiffy may have arrived before it. If the
 * existing connection is alive, another frame follows on it. The last frame may
 * be so old that jiffies have wrapped.
 */
static bool rds_accept_is_alive(const struct rds_cpath *cp,
				const struct rds_conn_request *peer)
{
	return rds_cpath_state(cp) == RDS_PATH_UP &&
	       READ_ONCE(cp->cp_hs.ph_has_frame) &&
	       time_in_range(READ_ONCE(cp->cp_hs.ph_at), peer->since + 1,
			     jiffies);
}

/* The path may be in use only from our point of view. Probe the peer. */
static int rds_accept_wait(struct rds_cpath *cp,
			   const struct rds_conn_request *peer)
{
	if (rds_cpath_state(cp) == RDS_PATH_UP &&
	    !rds_accept_is_alive(cp, peer))
		rds_probe_soon(cp);
	return -EAGAIN;
}

/* Check whether the current peer has sent its handshake on path 0, and whether
 * the path's work item has processed it.
 */
static bool rds_accept_is_known(const struct rds_cpath *first)
{
	return rds_cpath_state(first) == RDS_PATH_UP &&
	       !rds_cpath_is_learning(first) &&
	       /* Pairs with the release in rds_mp_apply(). */
	       smp_load_acquire(&first->cp_hs.ph_known);
}

static int rds_accept_place_unnamed(const struct rds_conn *conn,
				    const struct rds_conn_request *peer)
{
	struct rds_cpath *first = conn->c_paths[0];
	unsigned int i;

	if (rds_accept_is_free(first))
		return 0;
	if (!rds_accept_is_alive(first, peer))
		return rds_accept_wait(first, peer);
	/* Wait: the handshake may announce that the peer's ports name paths. */
	if (!rds_accept_is_known(first))
		return -EAGAIN;

	for (i = 1; i < RDS_MAX_PATHS; i++) {
		if (rds_accept_is_free(conn->c_paths[i]))
			return i;
	}
	return -EAGAIN;
}

/* The two ends have not agreed on this path. The peer may have accepted our
 * offer, and may be about to announce that on path 0. Then the connection
 * waits.
 */
static int rds_accept_unagreed(const struct rds_conn *conn, u8 named)
{
	if (rds_accept_is_known(conn->c_paths[0]) &&
	    named >= READ_ONCE(conn->c_npaths_offered) &&
	    named >= READ_ONCE(conn->c_npaths_wanted))
		return -ECONNREFUSED;
	return -EAGAIN;
}

/* Returns the number of the path, or a negative errno. */
static int rds_accept_place(const struct rds_conn *conn,
			    const struct rds_conn_request *peer)
{
	u8 named = peer->index;

	if (!READ_ONCE(conn->c_peer_hs.names_paths))
		return rds_accept_place_unnamed(conn, peer);

	if (named >= READ_ONCE(conn->c_npaths_wanted))
		return rds_accept_unagreed(conn, named);
	if (rds_legacy_is_early(conn, named))
		return -EAGAIN;
	if (!rds_accept_is_free(conn->c_paths[named]))
		return rds_accept_wait(conn->c_paths[named], peer);
	return named;
}

static int rds_accept_offer(struct rds_conn *conn,
			    const struct rds_conn_request *peer, void *offer)
	__must_hold(&conn->c_rn->rn_lock)
{
	struct rds_cpath *cp = conn->c_paths[0];
	int place;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	/* The path's work item decides what the offer means for an existing
	 * connection, because it is the one that takes offers.
	 */
	if (!rds_cpath_can(cp, RDS_CAP_MULTIPATH)) {
		assign_bit(RDS_PF_NO_DUELS, &cp->cp_flags, !peer->knows_duels);
		return cp->cp_trans->conn->path_offer(&cp->cp_pub, offer);
	}

	place = rds_accept_place(conn, peer);
	if (place < 0)
		return place;
	cp = rds_conn_add_path(conn, place);
	if (!cp)
		return -ENOMEM;

	/* Read @peer first: it may be freed with @offer, once that is taken. */
	WRITE_ONCE(cp->cp_hs.ph_named, peer->index);
	return cp->cp_trans->conn->path_offer(&cp->cp_pub, offer);
}

/* Dial a peer that must not dial itself. If path 0 is UP, a probe tests whether
 * the peer still has that connection. Returns 1 if the path is in use already.
 */
static int rds_accept_knock(struct rds_conn *conn)
{
	struct rds_cpath *cp = rds_conn_path(conn, 0);
	enum rds_path_state state;

	WRITE_ONCE(conn->c_knocked_at, jiffies);
	WRITE_ONCE(conn->c_knocked, true);
	/* Either the path is seen DOWN here, or the work item that takes it
	 * down sees the knock. Pairs with the barrier in
	 * rds_conn_is_unneeded().
	 */
	smp_mb();
	state = rds_cpath_state(cp);
	if (state == RDS_PATH_UP)
		rds_probe_soon(cp);
	else
		rds_cpath_connect_now(cp);
	return state == RDS_PATH_UP || state == RDS_PATH_CONNECTING;
}

/**
 * rds_path_accept() - Find a path for a connection that the peer has made
 * @net: the namespace
 * @trans: the transport
 * @peer: the peer's request; with RDS_CAP_LOWER_DIALS the peer has the lower
 *	address, unless it knocks
 * @offer: the connection, passed to conn_ops.path_offer(); @peer may be part
 *	of it. NULL if the peer knocks: it has the higher address, must not
 *	dial, and has connected only to be dialed back
 *
 * If there is no RDS connection yet, it is created. When it is disconnected, it
 * is destroyed unless a socket has used it by then.
 *
 * Context: Process context, may sleep. Takes rn_lock.
 * Return: 0 if a path has taken @offer; -EAGAIN if the transport is to try
 * again when conn_ops.accept_again() is called; any other errno if @offer gets
 * no path: -ENOMEM; -ENETDOWN if the namespace is going away; -ESHUTDOWN if
 * @trans is not registered; -ECONNREFUSED if the request comes from our own
 * address but not from us, or names a path that neither end has announced; or
 * the error of path_alloc() or path_offer(). Without @offer: 0; 1 if path 0 is
 * UP or connecting already; or one of these errors; -EINVAL if peers of @trans
 * do not knock.
 */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_conn_request *peer, void *offer)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn;
	int ret;

	if (WARN_ON_ONCE(!offer && !(trans->caps & RDS_CAP_LOWER_DIALS)))
		return -EINVAL;

	mutex_lock(&rn->rn_lock);
	conn = rds_accept_conn(rn, trans, peer);
	if (IS_ERR(conn)) {
		ret = PTR_ERR(conn);
		goto out;
	}
	ret = offer ? rds_accept_offer(conn, peer, offer) :
		      rds_accept_knock(conn);
	/* If the connection is new, nothing else schedules the reaper. */
	if (ret < 0 && ret != -EAGAIN)
		rds_conn_reap_later(rn);
	rds_conn_put(conn);
out:
	mutex_unlock(&rn->rn_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_path_accept);
