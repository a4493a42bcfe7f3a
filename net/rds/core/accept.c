// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connections that the peer makes.
 *
 * Of two peers the lower address dials. What it dials is offered to a path:
 * the one that its port names, if it has said that its ports do; otherwise the
 * first that is free, once the ones before it have proved to be alive. Until it
 * has said anything only one of its connections finds a place, and others wait
 * with the transport, as do those of paths that we have not heard of yet: a
 * path must not change under the numbers of its messages. So do those for a
 * path that is in use; a probe on its connection finds out whether the peer
 * still knows that one. And so do all while path 0 is about to tell who is
 * there. When it has told, and neither end has spoken of so many paths, there
 * will be no place: better to say so at once.
 *
 * The higher address cannot but knock, and is called back.
 *
 * Over a transport without paths both may dial, and when both do at once, it is
 * the lower one's connection that is kept; the higher one gives up its own. But
 * not every peer knows that rule. What one of those offers, or the higher one,
 * is kept until our own attempt has ended. To give that up as soon as there is
 * an offer is not enough: the peer may find our request when its own connection
 * is UP already. For a peer that connects while there is a connection has lost
 * that one, unless it asked before it said yes to what we have dialed. A
 * connection of an address with itself has two ends here: what is accepted
 * belongs to the passive one.
 *
 * All of it runs under rn_lock, so that no connection is destroyed meanwhile.
 */
#include <net/ipv6.h>

#include "addr.h"
#include "conn_get.h"
#include "conn_idle.h"
#include "conn_table.h"
#include "multipath.h"
#include "legacy.h"
#include "path_connect.h"
#include "transport.h"

/* Nothing is made for who says nothing. But paths of some peers are silent
 * until there is a message for them; those that are known for it, and name
 * them, are taken at their word.
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

/* Anybody can write our address into a request. But who connects an address
 * with itself is us, and waits for the answer.
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
		.ifindex = rds_addr_scope(&peer->faddr, peer->ifindex),
		.tos = peer->tos,
		.passive = !(trans->caps & RDS_CAP_PREFERS_LOOPBACK) &&
			   ipv6_addr_equal(&peer->laddr, &peer->faddr),
	};

	lockdep_assert_held(&rn->rn_lock);

	/* Its connections are about to be destroyed, or have been. */
	if (!rds_transport_is_registered(trans))
		return ERR_PTR(-ESHUTDOWN);
	if (key.passive && !rds_accept_is_our_own(rn, &key))
		return ERR_PTR(-ECONNREFUSED);
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
 * does it want one more? What it said before that does not tell, and in the
 * same jiffy it may have said it before; if it is alive, it says more.
 */
static bool rds_accept_is_alive(const struct rds_cpath *cp,
				const struct rds_conn_request *peer)
{
	return rds_cpath_state(cp) == RDS_PATH_UP &&
	       READ_ONCE(cp->cp_has_handshake) &&
	       time_after(READ_ONCE(cp->cp_handshake_at), peer->since);
}

/* A path that is in use may be so for us only. */
static int rds_accept_wait(struct rds_cpath *cp,
			   const struct rds_conn_request *peer)
{
	if (rds_cpath_state(cp) == RDS_PATH_UP &&
	    !rds_accept_is_alive(cp, peer))
		rds_mp_verify(cp);
	return -EAGAIN;
}

/* Path 0 of the peer that there is has greeted, and that was acted on. */
static bool rds_accept_is_known(const struct rds_cpath *first)
{
	return rds_cpath_state(first) == RDS_PATH_UP &&
	       !test_bit(RDS_PF_HANDSHAKE, &first->cp_flags) &&
	       /* Pairs with the release in rds_mp_apply(). */
	       smp_load_acquire(&first->cp_known);
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
	/* It may just have said that it names its paths. */
	if (!rds_accept_is_known(first))
		return -EAGAIN;

	for (i = 1; i < RDS_MAX_PATHS; i++) {
		if (rds_accept_is_free(conn->c_paths[i]))
			return i;
	}
	return -EAGAIN;
}

/* A path that we have not agreed on. What we have offered the peer may have
 * accepted, and is about to say so by path 0.
 */
static int rds_accept_unagreed(const struct rds_conn *conn, u8 named)
{
	if (rds_accept_is_known(conn->c_paths[0]) &&
	    named >= READ_ONCE(conn->c_npaths_offered) &&
	    named >= READ_ONCE(conn->c_npaths_wanted))
		return -ECONNREFUSED;
	return -EAGAIN;
}

/* Number of the path, or an errno. */
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
	int place;
	struct rds_cpath *cp = conn->c_paths[0];
	int ret;

	lockdep_assert_held(&conn->c_rn->rn_lock);

	/* What it means for the connection that there is, is the path's work's
	 * to see: that is what takes offers.
	 */
	if (!cp->cp_multi) {
		assign_bit(RDS_PF_NO_DUELS, &cp->cp_flags, !peer->knows_duels);
		return cp->cp_trans->conn->path_offer(&cp->cp_pub, offer);
	}

	place = rds_accept_place(conn, peer);
	if (place < 0)
		return place;
	cp = rds_conn_add_path(conn, place);
	if (!cp)
		return -ENOMEM;

	/* @peer may be gone with @offer as soon as that is taken. */
	WRITE_ONCE(cp->cp_named, peer->index);
	ret = cp->cp_trans->conn->path_offer(&cp->cp_pub, offer);
	if (!ret)
		rds_path_offered(&cp->cp_pub);
	return ret;
}

/**
 * rds_path_accept() - find a path for a connection that the peer has made
 * @net: the namespace
 * @trans: the transport
 * @peer: who; with RDS_CAP_LOWER_DIALS the one with the lower address
 * @offer: the connection, passed to conn_ops.path_offer(); @peer may be part
 * of it
 *
 * The rds connection is made if there is none. It goes by itself if no socket
 * comes to use it before it is disconnected.
 *
 * Context: process, may sleep. Takes rn_lock.
 * Return: 0 if a path has taken @offer; -EAGAIN to ask again when told by
 * conn_ops.accept_again(); any other errno if there is no place for it:
 * -ENOMEM, -ENETDOWN, -ESHUTDOWN, -ECONNREFUSED from our own address if it is
 * not us, or what path_offer() returned.
 */
int rds_path_accept(struct net *net, const struct rds_transport *trans,
		    const struct rds_conn_request *peer, void *offer)
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
		   const struct rds_conn_request *peer)
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
	cp = rds_conn_path(conn, 0);
	ret = rds_cpath_state(cp) == RDS_PATH_UP ||
	      rds_cpath_state(cp) == RDS_PATH_CONNECTING;
	if (rds_cpath_state(cp) == RDS_PATH_UP)
		rds_mp_verify(cp);
	else
		rds_cpath_connect_now(cp);
	rds_conn_put(conn);
out:
	mutex_unlock(&rn->rn_lock);
	return ret;
}
EXPORT_SYMBOL_GPL(rds_path_knock);
