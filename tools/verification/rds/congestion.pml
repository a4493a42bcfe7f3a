/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a congestion map reaches the peer (net/rds/core/cong.c, cong_flow.c,
 * send_map.c, path_connect.c).
 *
 * A port of the receiver becomes congested and free again. The receiver has two
 * paths to the sender. Path 0 carries all changes of the map, path 1 only its
 * first map. The receiver dials: a connection may be pending at the sender, so
 * the sender may read a map late, after a newer one on another path. The peer's
 * TCP acknowledges a map before RDS there reads it. Connections are lost at any
 * moment, with the maps on their way. A jiffy ends at any moment.
 *
 * Proved: when nothing more can happen, the port has the same state in the copy
 * of the sender as in the map of the receiver (an assertion). So no map that is
 * owed is forgotten, whatever tasks run concurrently.
 *
 * Modelled: rds_cong_publish(), rds_cong_flag_conns(), rds_cong_resend_map(),
 * rds_deliver_cong_map(), rds_cong_is_late(), all of send_map.c,
 * rds_path_connect_done(), rds_send_owned(), and the work item of path 0 as far
 * as it concerns maps. Of path 1, only its first map is modelled: it is sent,
 * acknowledged, read, or lost and sent again. Messages are left out, and so is
 * what the sender does when a port becomes free: see park.pml. Memory is never
 * short. The map is one bit. The version does not wrap. Both ends run our
 * implementation.
 *
 * search: check clean safety -DONE_PATH
 * search: check clean safety -DCHANGES=1 -DRESETS=0
 * search: check clean safety -DONE_PATH -DCHANGES=1 -DRESETS=0 -DTASK
 * search: soak clean safety -DCHANGES=1
 * search: soak clean safety -DRESETS=0
 * search: soak clean safety -DONE_PATH -DRESETS=2
 * search: soak clean safety -DONE_PATH -DRESETS=0 -DTASK
 * search: check finds assertion safety -DFAULT_PUT_OFF -DONE_PATH -DRESETS=0 -DTASK -- a task that puts a map off undoes what the work item has just made due
 * search: check finds assertion safety -DFAULT_LATE -DCHANGES=1 -DRESETS=0 -- a late map is taken
 * search: check finds assertion safety -DFAULT_VERSION -DONE_PATH -DRESETS=0 -- the version of a map is read after its bits
 * search: check finds assertion safety -DFAULT_MISSED -DONE_PATH -DRESETS=0 -- nobody looks again for a map that was put off until its jiffy has ended
 * search: check finds assertion safety -DFAULT_OLD -DONE_PATH -DRESETS=0 -- a change in the jiffy of the last one is not looked for
 * search: check finds assertion safety -DFAULT_FIRST -DONE_PATH -- a new connection does not begin with a map
 * search: check finds assertion safety -DFAULT_FORGET -DONE_PATH -- a lost map still counts as on its way
 */
#include "tables.pml"

#ifndef RESETS
#define RESETS	1	/* connections that are lost */
#endif
#ifndef CHANGES
#define CHANGES	2	/* changes of the port; the last one frees it */
#endif

/* The receiver: the map, */
bool congested = CHANGES % 2;	/* the port's bit in cm_bits */
byte ver;			/* cm_ver */
bool flagged;			/* cm_flagged_at is this jiffy */
/* path 0, */
byte state = RDS_PATH_DOWN;	/* cp_state */
bool pf_cong;			/* RDS_PF_CONG */
bool pf_later;			/* RDS_PF_CONG_LATER */
bool has_map, snapshot;		/* pm_map, and the port's bit in it */
byte pm_ver;
bool pm_out;
bool fresh;			/* pm_at is this jiffy */
bool queued = true;		/* the work item waits to run */
bool timer;			/* or for the end of the jiffy */
#ifdef TASK
bool owned;			/* cp_xmit_lock */
#endif
/* and path 1 */
byte pm_ver1;
bool lost1;			/* its connection is lost */

/* The sender */
byte sstate = RDS_PATH_DOWN;	/* cp_state of path 0 */
bool mapped;			/* pr_mapped of path 0 */
bool copy;			/* the port's bit in its copy, c_fcong */

/* Between them */
bool lives;			/* the connection of path 0 exists */
bool taken;			/* path 0 of the sender has taken it */
bool taken1;			/* path 1 of the sender has taken its own */
bool unacked;			/* TCP owes an ack of the map */
byte resets = RESETS;
chan wire = [2] of { bool };	/* path 0 */
chan wire1 = [1] of { bool };	/* path 1 */

/* rds_cpath_kick() without delay, and with a delay of one jiffy */
inline kick()
{
	queued = true;
	timer = false
}

inline kick_later()
{
	timer = timer || !queued
}

/* rds_cong_resend_map() for path 1, by rds_cpath_heard() */
inline resend_map()
{
	if
	:: pm_ver1 != ver ->
		pf_cong = true;
		kick()
	:: else
	fi
}

/* rds_send_map_is_old() */
#ifdef FAULT_OLD
#define map_is_old	false
#else
#define map_is_old	(pm_ver != ver)
#endif

/* rds_send_put_map_off() */
inline put_map_off()
{
#ifdef FAULT_PUT_OFF
	pf_later = true;
	pf_cong = false;
#else
	pf_cong = false;
	pf_later = true;
#endif
	d_step {
		if
		:: !pm_out -> kick_later()
		:: else
		fi
	}
}

/* rds_send_take_map(): the version and the bits are two reads. */
inline take_map()
{
#ifdef FAULT_VERSION
	snapshot = congested;
	pm_ver = ver;
#else
	pm_ver = ver;
	snapshot = congested;
#endif
	d_step {
		has_map = true;
		fresh = true;
		pm_out = true
	}
}

/* rds_send_cong_map(), which returns -EAGAIN if there is no room */
inline send_cong_map()
{
	if
	:: has_map || !pf_cong
	:: else ->
		if
		:: pm_out || fresh -> put_map_off()
		:: else ->
			d_step {
				pf_later = false;
				pf_cong = false
			}
			take_map()
		fi
	fi;
	d_step {
		again = false;
		if
		:: has_map && (!lives || nfull(wire)) ->
			if
			:: lives ->
				wire!snapshot;
				unacked = true
			:: !lives
			fi;
			has_map = false;
			snapshot = false
		:: has_map && lives && full(wire) -> again = true
		:: !has_map
		fi
	}
}

/* rds_send_owned(): the caller has the lock. */
inline send_owned()
{
	do
	:: true ->
		again = false;
		if
		:: state == RDS_PATH_UP -> send_cong_map()
		:: else -> again = true
		fi;
		/* The lock is released; rds_send_pending() */
#ifdef TASK
		owned = false;
		if
		:: atomic { !again && pf_cong && !owned -> owned = true }
		:: else -> break
		fi
#else
		if
		:: !again && pf_cong
		:: else -> break
		fi
#endif
	od;
	again = false
}

/* The work item: rds_path_work() */
active proctype work()
{
	bool again;

end:	do
	:: atomic { queued ->
		queued = false;
#ifdef TASK
		state != RDS_PATH_ERROR || !owned;
#endif
		/* rds_path_shut_down(), rds_send_forget_map() */
		if
		:: state == RDS_PATH_ERROR ->
			state = path_next(state, RDS_EV_SHUTDOWN);
			has_map = false;
			snapshot = false;
			fresh = false;
#ifndef FAULT_FORGET
			pm_out = false;
#endif
			state = path_next(state, RDS_EV_SHUTDOWN_DONE)
		:: else
		fi;
		/* rds_path_connect() and rds_path_connect_done(): the map is
		 * due before the path is UP.
		 */
		if
		:: state == RDS_PATH_DOWN ->
			state = path_next(state, RDS_EV_CONNECT);
#ifndef FAULT_FIRST
			pf_cong = true;
#endif
			state = path_next(state, RDS_EV_CONNECTED);
			lives = true
		:: else
		fi };
		/* rds_send_map_again(), rds_send_map_is_old() */
		if
		:: state != RDS_PATH_UP || pm_out || fresh
		:: else ->
			d_step {
				if
				:: pf_later || map_is_old ->
					pf_later = false;
					pf_cong = true
				:: else
				fi
			}
		fi;
		/* rds_send_run_waiting() */
#ifdef TASK
		atomic { !owned -> owned = true };
#endif
		send_owned();
		/* rds_path_rearm(): rds_send_map_delay(), which reads pm_out
		 * first, and rds_send_map_was_missed()
		 */
		if
		:: state != RDS_PATH_UP || pm_out
		:: else ->
			d_step {
				if
				:: fresh -> kick_later()
#ifndef FAULT_MISSED
				:: !fresh && !pf_cong &&
				   (pf_later || map_is_old) -> kick_later()
#endif
				:: else
				fi
			}
		fi
	od
}

#ifdef TASK
/* rds_send_run(): a task sends on path 0, beside the work item. */
active proctype task()
{
	bool again;

	if
	:: atomic { !owned -> owned = true };
		send_owned()
	:: true
	fi
}
#endif

/* rds_cong_publish() */
active proctype publisher()
{
	byte n = CHANGES;

	do
	:: d_step { n > 0 ->
			n--;
			congested = !congested };
		ver++;
		/* rds_cong_flag_conns() */
		d_step {
			if
			:: !flagged ->
				flagged = true;
				if
				:: !pf_cong ->
					pf_cong = true;
					kick()
				:: else
				fi
			:: else
			fi
		}
	:: n == 0 -> break
	od
}

#ifndef ONE_PATH
/* Path 1 of the receiver comes UP, and sends its first map. */
active proctype path1()
{
again:	pm_ver1 = ver;
	wire1!congested;
end:	d_step { lost1 -> lost1 = false };
	goto again
}
#endif

/* The jiffy ends; acks arrive; connections are lost. */
active proctype network()
{
end:	do
	:: d_step { timer || fresh || flagged ->
			queued = queued || timer;
			timer = false;
			fresh = false;
			flagged = false }
	/* rds_path_map_acked(): TCP has the map, wherever it waits. */
	:: atomic { unacked ->
			unacked = false;
			pm_out = false };
		kick_later()
	/* rds_path_drop() at both ends */
	:: d_step { resets > 0 && lives ->
			resets--;
			lives = false;
			unacked = false;
			do
			:: nempty(wire) -> wire?_
			:: empty(wire) -> break
			od;
			state = path_next(state, RDS_EV_DROP);
			kick();
			sstate = (taken -> path_next(sstate, RDS_EV_DROP) :
				  sstate);
			taken = false }
#ifndef ONE_PATH
	:: d_step { resets > 0 && nempty(wire1) ->
			resets--;
			wire1?_;
			pm_ver1 = 0;
			taken1 = false;
			lost1 = true }
#endif
	od
}

/* The sender: the work items of its paths, and rds_deliver_cong_map() */
active proctype peer()
{
	bool map;

end:	do
	/* Path 0 takes the connection that was pending. */
	:: d_step { sstate == RDS_PATH_DOWN && lives && !taken ->
			sstate = path_next(sstate, RDS_EV_CONNECT);
			sstate = path_next(sstate, RDS_EV_CONNECTED);
			taken = true }
	/* rds_cpath_forget_connection() */
	:: d_step { sstate == RDS_PATH_ERROR ->
			sstate = path_next(sstate, RDS_EV_SHUTDOWN);
			mapped = false;
			sstate = path_next(sstate, RDS_EV_SHUTDOWN_DONE) }
	/* A map arrives on path 0. If TCP was full, it has room again. */
	:: d_step { taken && nempty(wire) ->
			wire?copy;
			mapped = true;
			if
			:: has_map -> kick()
			:: else
			fi }
#ifndef ONE_PATH
	/* Path 1 takes its connection, which the receiver hears, and reads
	 * the map: see rds_cong_is_late().
	 */
	:: d_step { nempty(wire1) && !taken1 ->
			taken1 = true;
			resend_map() }
	:: d_step { taken1 ->
			taken1 = false;
			pm_ver1 = 0;
			wire1?map;
#ifndef FAULT_LATE
			map = (mapped -> copy : map);
#endif
			copy = map;
			map = false }
#endif
	od
}

init {
	/* Nothing more can happen. */
	timeout;
	assert(!congested);
	assert(copy == congested)
}
