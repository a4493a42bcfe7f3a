// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that the peer makes.
 *
 * Of two peers the lower address dials. What it dials is offered to a lane:
 * the one that its port names, if it has said that its ports do; otherwise the
 * first that is free, once the ones before it have proved to be alive. Until it
 * has said anything only one of its connections finds a place, and others wait
 * with the transport, as do those of lanes that we have not heard of yet: a
 * lane must not change under the numbers of its messages. So do those for a
 * lane that is in use; a probe on its connection finds out whether the peer
 * still knows that one.
 *
 * The higher address cannot but knock, and is called back.
 *
 * All of it runs under rn_lock, so that no connection is destroyed meanwhile.
 */
#include <net/ipv6.h>

#include "addr.h"
#include "conn.h"
#include "conn_reap.h"
#include "lanes.h"
#include "transport.h"

/* Nothing is made for who says nothing. But lanes of some peers are silent
 * until there is a message for them; those that are known for it, and name
 * them, are taken at their word.
 */
static struct rds_conn *rds_accept_silent(struct rds_net *rn,
					  const struct rds_conn_key *key)
{
	struct rds_conn *conn = rds_conn_lookup(rn, key);

	if (conn && READ_ONCE(conn->c_peer.names_lanes) &&
	    !READ_ONCE(conn->c_peer.ours))
		return conn;
	rds_conn_put(conn);
	return ERR_PTR(-EAGAIN);
}

static struct rds_conn *rds_accept_conn(struct rds_net *rn,
					const struct rds_transport *trans,
					const struct rds_peer *peer)
	__must_hold(&rn->rn_lock)
{
	struct rds_conn_key key = {
		.laddr = peer->laddr,
		.faddr = peer->faddr,
		.trans = trans,
		.ifindex = rds_addr_scope(&peer->faddr, peer->ifindex),
	};

	lockdep_assert_held(&rn->rn_lock);

	/* Its connections are about to be destroyed, or have been. */
	if (!rds_transport_is_registered(trans))
		return ERR_PTR(-ESHUTDOWN);
	if (peer->spoken)
		return rds_conn_get_for_peer(rn, &key);
	return rds_accept_silent(rn, &key);
}

/* No connection, or only an attempt of our own at one. One word is read, so
 * that an offer just being taken is seen.
 */
static bool rds_accept_is_free(const struct rds_cpath *cp)
{
	const unsigned long offered = BIT(RDS_PF_OFFER) | BIT(RDS_PF_TAKEN);

	if (!cp)
		return true;
	if (READ_ONCE(cp->cp_flags) & offered)
		return false;
	return rds_cpath_state(cp) == RDS_PATH_DOWN ||
	       rds_cpath_state(cp) == RDS_PATH_CONNECTING;
}

/* A peer that makes another connection: has it lost the one that there is, or
 * does it want one more? What it said before that does not tell.
 */
static bool rds_accept_is_alive(const struct rds_cpath *cp,
				const struct rds_peer *peer)
{
	return rds_cpath_state(cp) == RDS_PATH_UP &&
	       READ_ONCE(cp->cp_greeted) &&
	       time_after_eq(READ_ONCE(cp->cp_greeted_at), peer->since);
}

/* A lane that is in use may be so for us only. */
static int rds_accept_wait(struct rds_cpath *cp, const struct rds_peer *peer)
{
	if (rds_cpath_state(cp) == RDS_PATH_UP &&
	    !rds_accept_is_alive(cp, peer))
		rds_lanes_verify(cp);
	return -EAGAIN;
}

static int rds_accept_place_unnamed(const struct rds_conn *conn,
				    const struct rds_peer *peer)
{
	struct rds_cpath *first = conn->c_lanes[0];
	unsigned int i;

	if (rds_accept_is_free(first))
		return 0;
	if (!rds_accept_is_alive(first, peer))
		return rds_accept_wait(first, peer);

	for (i = 1; i < RDS_MAX_PATHS; i++) {
		if (rds_accept_is_free(conn->c_lanes[i]))
			return i;
	}
	return -EAGAIN;
}

/* Number of the lane, or an errno. */
static int rds_accept_place(const struct rds_conn *conn,
			    const struct rds_peer *peer)
{
	u8 named = peer->lane;

	if (!READ_ONCE(conn->c_peer.names_lanes))
		return rds_accept_place_unnamed(conn, peer);

	if (named >= READ_ONCE(conn->c_wanted))
		return -EAGAIN;
	if (!rds_accept_is_free(conn->c_lanes[named]))
		return rds_accept_wait(conn->c_lanes[named], peer);
	return named;
}

static int rds_accept_offer(struct rds_conn *conn,
			    const struct rds_peer *peer, void *offer)
	__must_hold(&conn->c_rn->rn_lock)
{
	int place = rds_accept_place(conn, peer);
	struct rds_cpath *cp;
	int ret;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	if (place < 0)
		return place;
	cp = rds_conn_add_lane(conn, place);
	if (!cp)
		return -ENOMEM;

	ret = cp->cp_trans->conn->path_offer(&cp->cp_pub, offer);
	if (ret)
		return ret;

	WRITE_ONCE(cp->cp_named, peer->lane);
	/* First the mark, lest it is our own attempt that comes up. */
	rds_path_offered(&cp->cp_pub);
	if (rds_cpath_state(cp) == RDS_PATH_CONNECTING &&
	    !test_bit(RDS_PF_TAKEN, &cp->cp_flags))
		rds_path_drop(&cp->cp_pub, RDS_DROP_RACED);
	return 0;
}

/**
 * rds_path_accept() - find a path for a connection that the peer has made
 * @net: the namespace
 * @trans: the transport
 * @peer: who; the one with the lower address
 * @offer: the connection, passed to conn_ops.path_offer()
 *
 * The rds connection is made if there is none. It goes by itself if no socket
 * comes to use it before it is disconnected.
 *
 * Context: process, may sleep. Takes rn_lock.
 * Return: 0 if a path has taken @offer; -EAGAIN to ask again when told by
 * conn_ops.accept_again(); any other errno if there is no place for it:
 * -ENOMEM, -ENETDOWN, -ESHUTDOWN, or what path_offer() returned.
 */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_peer *peer, void *offer)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn;
	int ret;

	mutex_lock(&rn->rn_lock);
	conn = rds_accept_conn(rn, trans, peer);
	if (IS_ERR(conn)) {
		ret = PTR_ERR(conn);
		goto out;
	}
	ret = rds_accept_offer(conn, peer, offer);
	/* It may be new, and nobody else would notice. */
	if (ret && ret != -EAGAIN)
		rds_conn_reap_later(rn);
	rds_conn_put(conn);
out:
	mutex_unlock(&rn->rn_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_path_accept);

/**
 * rds_path_knock() - a peer that may not dial wants to be called
 * @net: the namespace
 * @trans: the transport
 * @peer: who; the one with the higher address
 *
 * Context: process, may sleep. Takes rn_lock.
 * Return: 0; 1 if we are connected, or at it, already; or an errno as
 * rds_path_accept().
 */
int rds_path_knock(struct net *net, const struct rds_transport *trans,
		   const struct rds_peer *peer)
{
	struct rds_net *rn = rds_net(net);
	struct rds_conn *conn;
	struct rds_cpath *cp;
	int ret = 0;

	mutex_lock(&rn->rn_lock);
	conn = rds_accept_conn(rn, trans, peer);
	if (IS_ERR(conn)) {
		ret = PTR_ERR(conn);
		goto out;
	}

	WRITE_ONCE(conn->c_called_at, jiffies);
	WRITE_ONCE(conn->c_called, true);
	cp = rds_conn_lane(conn, 0);
	ret = rds_cpath_state(cp) == RDS_PATH_UP ||
	      rds_cpath_state(cp) == RDS_PATH_CONNECTING;
	if (rds_cpath_state(cp) == RDS_PATH_UP)
		rds_lanes_verify(cp);
	else
		rds_cpath_connect_now(cp);
	rds_conn_put(conn);
out:
	mutex_unlock(&rn->rn_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_path_knock);
