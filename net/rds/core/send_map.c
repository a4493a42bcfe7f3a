// SPDX-License-Identifier: GPL-2.0-only
/*
 * Our congestion map on its way to the peer.
 *
 * It is sent whole, from a snapshot, so that a map that goes on changing goes
 * in one piece. The next goes when the peer has acknowledged the last, and not
 * in the jiffy in which that was taken; what changes meanwhile costs nothing
 * (RDS_PF_CONG_LATER). Between two maps a message goes, if one may. So a user
 * who has a port become congested and free all the time keeps nobody's
 * messages.
 *
 * Those who change the map flag the paths once a jiffy at most. A change that
 * was not flagged for that reason is found here: after each map the path's work
 * looks, in a later jiffy, whether there is a newer one.
 */
#include <linux/slab.h>

#include "compat.h"
#include "cong.h"
#include "cong_flow.h"
#include "conn.h"
#include "send.h"

/* Until the path's work looks whether the next map may go, in jiffies */
#define RDS_MAP_DELAY	1

static bool rds_send_map_is_fresh(const struct rds_cpath *cp)
{
	return !time_after(jiffies, READ_ONCE(cp->cp_map_at));
}

/* The ack may have come just now, and the path's work have seen no flag. */
static void rds_send_put_map_off(struct rds_cpath *cp)
{
	set_bit(RDS_PF_CONG_LATER, &cp->cp_flags);
	clear_bit(RDS_PF_CONG, &cp->cp_flags);
	/* Pairs with the one in rds_path_map_acked(). */
	smp_mb__after_atomic();
	if (!READ_ONCE(cp->cp_map_out))
		rds_cpath_kick(cp, RDS_MAP_DELAY);
}

static int rds_send_take_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	struct rds_cong_map *map = cp->cp_conn->c_lcong;

	lockdep_assert_held(&cp->cp_xmit_lock);

	/* Not newer than the bits that are copied after it. */
	WRITE_ONCE(cp->cp_map_ver, rds_cong_ver(map));
	cp->cp_map = kmemdup(map->cm_bits, RDS_CONG_MAP_BYTES, GFP_NOFS);
	if (!cp->cp_map) {
		set_bit(RDS_PF_CONG, &cp->cp_flags);
		return -ENOMEM;
	}
	/* Not before the bits were read; and before the ack can come. */
	WRITE_ONCE(cp->cp_map_at, jiffies);
	WRITE_ONCE(cp->cp_map_out, true);
	return 0;
}

/**
 * rds_send_cong_map() - send the peer our congestion map, if it is to have it
 * @cp: the path, UP
 *
 * Context: process, may sleep. cp_xmit_lock is held.
 * Return: 0, also if the map has to wait for the one before; otherwise as
 * &rds_data_ops.xmit_cong_map, or -ENOMEM.
 */
int rds_send_cong_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	const struct rds_data_ops *ops = cp->cp_trans->data;
	int ret;

	lockdep_assert_held(&cp->cp_xmit_lock);

	if (!cp->cp_map) {
		if (!test_bit(RDS_PF_CONG, &cp->cp_flags))
			return 0;
		if (READ_ONCE(cp->cp_map_out) || rds_send_map_is_fresh(cp)) {
			rds_send_put_map_off(cp);
			return 0;
		}
		clear_bit(RDS_PF_CONG_LATER, &cp->cp_flags);
		if (!test_and_clear_bit(RDS_PF_CONG, &cp->cp_flags) ||
		    !ops->xmit_cong_map)
			return 0;
		ret = rds_send_take_map(cp);
		if (ret)
			return ret;
	}

	ret = ops->xmit_cong_map(&cp->cp_pub, cp->cp_map);
	if (ret == -EAGAIN || ret == -ENOMEM)
		return ret;

	kfree(cp->cp_map);
	cp->cp_map = NULL;
	cp->cp_map_yields = true;
	return ret < 0 ? ret : 0;
}

/**
 * rds_send_forget_map() - a connection is lost: its map will not be acked
 * @cp: the path; its transport is shut down
 *
 * The next connection begins with a map, without delay.
 *
 * Context: process. cp_xmit_lock is held.
 */
void rds_send_forget_map(struct rds_cpath *cp)
	__must_hold(&cp->cp_xmit_lock)
{
	lockdep_assert_held(&cp->cp_xmit_lock);

	kfree(cp->cp_map);
	cp->cp_map = NULL;
	cp->cp_map_yields = false;
	WRITE_ONCE(cp->cp_map_at, jiffies - 1);
	WRITE_ONCE(cp->cp_map_out, false);
}

/* Path 0 tells all that is new. */
static bool rds_send_map_is_old(const struct rds_cpath *cp)
{
	const struct rds_conn *conn = cp->cp_conn;

	return !cp->cp_loops && cp == rds_conn_path(conn, 0) &&
	       READ_ONCE(cp->cp_map_ver) != rds_cong_ver(conn->c_lcong);
}

/* Is there a newer map that no flag has the path send? */
static bool rds_send_map_was_missed(const struct rds_cpath *cp)
{
	return cp->cp_trans->data->xmit_cong_map &&
	       !test_bit(RDS_PF_CONG, &cp->cp_flags) &&
	       (test_bit(RDS_PF_CONG_LATER, &cp->cp_flags) ||
		rds_send_map_is_old(cp));
}

/**
 * rds_send_map_again() - have the next map sent, if there is one and it may go
 * @cp: the path
 *
 * Context: process, the path's work item, before it sends.
 */
void rds_send_map_again(struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP || READ_ONCE(cp->cp_map_out) ||
	    rds_send_map_is_fresh(cp))
		return;
	if (test_and_clear_bit(RDS_PF_CONG_LATER, &cp->cp_flags) ||
	    rds_send_map_is_old(cp))
		set_bit(RDS_PF_CONG, &cp->cp_flags);
}

/**
 * rds_send_map_delay() - when is rds_send_map_again() to be called again?
 * @cp: the path
 *
 * Context: process, the path's work item.
 * Return: in how many jiffies; LONG_MAX if a kick will come.
 */
long rds_send_map_delay(const struct rds_cpath *cp)
{
	if (rds_cpath_state(cp) != RDS_PATH_UP || READ_ONCE(cp->cp_map_out))
		return LONG_MAX;
	/* The jiffy may have ended after rds_send_map_again() looked. */
	if (rds_send_map_is_fresh(cp) || rds_send_map_was_missed(cp))
		return RDS_MAP_DELAY;
	return LONG_MAX;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_send_map_delay);

/**
 * rds_path_map_acked() - the peer has the congestion map that was sent last
 * @path: the path that carried it
 *
 * May be called from within xmit_cong_map().
 *
 * Context: any; locks of the transport may be held.
 */
void rds_path_map_acked(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);
	struct rds_conn *conn = cp->cp_conn;
	u32 gen = READ_ONCE(cp->cp_map_ver);

	if ((s32)(gen - READ_ONCE(conn->c_map_acked_ver)) > 0)
		WRITE_ONCE(conn->c_map_acked_ver, gen);
	WRITE_ONCE(cp->cp_map_out, false);
	/* Pairs with the one in rds_send_put_map_off(). */
	smp_mb();
	rds_cpath_kick(cp, RDS_MAP_DELAY);
	rds_cong_make_good(cp);
}
EXPORT_SYMBOL_GPL(rds_path_map_acked);
