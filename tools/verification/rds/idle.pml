/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A loopback path that is dropped and shut down while messages are sent.
 *
 * Two senders queue one message each and wake the path: rds_send_submit(),
 * rds_send_owned(), rds_sendmsg_connect(), rds_cpath_connect_soon(). The work
 * item shuts down, connects, sends and sets its timer: rds_path_work(),
 * rds_path_run(), rds_path_shut_down(), rds_path_reconnect(),
 * rds_cpath_connect_later(), rds_path_connect(), rds_cpath_connect(),
 * rds_path_connect_done(), rds_path_rearm(), rds_cpath_kick(). The reaper takes
 * the path down concurrently: rds_path_shut_down_idle(). Another context drops
 * it: rds_path_drop(). The states are those of path_state.c.
 *
 * It proves that no message is queued when nobody is awake: the work item
 * neither runs nor is pending, and no timer runs. The transport is connected
 * when a message is given to it. All messages are sent in the end, if drops
 * and failures of path_connect() end.
 *
 * Left out: the handshake and its gate, offers, receiving, other paths, time
 * (a timer may end at any moment), weak memory order (the steps are in the
 * order that the barriers of the code give), destruction, lack of memory.
 * A drop does not come while the reaper shuts the path down, see FAULT_BOTH.
 * The number of drops, of runs of the reaper, and of failures of path_connect()
 * (with -DFAILS) is bounded.
 *
 * search: check clean safety -DIDLES=0
 * search: check clean safety -DDROPS=0 -DFAILS
 * search: check clean ltl sent -DIDLES=0
 * search: check finds assertion safety -DFAULT_CLEAR_LATE -DDROPS=0 -- the plan to connect is cleared after the path has come UP
 * search: check finds assertion safety -DFAULT_KICK_LOST -DIDLES=0 -- the work item is marked as not pending after it has looked
 * search: check finds assertion safety -DFAULT_NO_LOOK -DIDLES=0 -- a shutdown does not look at the queue
 * search: check finds assertion safety -DFAULT_DROP_QUIET -DIDLES=0 -- a drop does not kick the work item
 * search: check finds assertion safety -DFAULT_C1 -DDROPS=0 -- a plan that the reaper makes wakes nobody
 * search: check finds assertion safety -DFAULT_IDLE_QUIET -DDROPS=0 -- the reaper does not kick the work item for an older plan
 * search: check finds assertion safety -DFAULT_REARM -DDROPS=0 -DFAILS -- a run that comes early does not set the timer again
 * search: check finds assertion safety -DFAULT_BOTH -DSENDERS=1 -- a path is dropped while the reaper shuts it down
 * search: soak clean safety
 * search: soak clean ltl sent -DDROPS=0
 */
#include "tables.pml"

#define NOBODY	0
#define TIMER	1
#define NOW	2

#ifndef DROPS
#define DROPS	1
#endif
#ifndef SENDERS
#define SENDERS	2
#endif
#ifndef IDLES
#define IDLES	1
#endif

byte state = RDS_PATH_DOWN;	/* cp_state, changed under cp_lock */
bool plan;			/* RDS_PF_CONNECT */
bool due;			/* pd_connect_at has come */
byte work;			/* how cp_work is queued */
byte queued;			/* messages in pt_queue */
byte nr_sent;			/* messages given to the transport */
bool xmit;			/* cp_xmit_lock */
bool link;			/* path->data of the transport */
bool reaping;			/* rds_path_shut_down_idle() runs */
byte drops = DROPS;		/* how often the path is still dropped */
byte idles = IDLES;		/* how often the reaper still takes it down */
#ifdef FAILS
bool may_fail = true;		/* path_connect() may still fail */
#endif

/* rds_cpath_event() */
inline event(e, applies)
{
	d_step {
		applies = path_applies(state, e);
		state = path_next(state, e);
	}
}

/* rds_cpath_kick() without delay */
inline kick()
{
	work = NOW;
}

/* rds_cpath_kick() with a delay; a later run is brought forward to now */
inline kick_later()
{
	atomic {
		if
		:: work == NOBODY -> work = TIMER
		:: work == TIMER -> work = NOW
		:: work != NOBODY
		fi
	}
}

inline lock()
{
	atomic { !xmit -> xmit = true }
}

/* mutex_trylock() */
inline trylock(taken)
{
	d_step {
		taken = !xmit;
		xmit = true;
	}
}

/* rds_send_owned(): the lock is held */
inline send_owned(taken)
{
	do
	:: atomic { state == RDS_PATH_UP && queued -> skip };
	   d_step {
		assert(link);
		if
		:: queued -> queued--; nr_sent++
		:: else
		fi
	   }
	:: state != RDS_PATH_UP ->
		xmit = false;
		break
	:: state == RDS_PATH_UP && !queued ->
		xmit = false;
		/* Looks again, for a sender that has not got the lock. */
		if
		:: queued ->
			trylock(taken);
			if
			:: taken
			:: else -> break
			fi
		:: else -> break
		fi
	od
}

/* rds_cpath_connect_soon() */
inline connect_soon()
{
	if
	:: state == RDS_PATH_DOWN ->
		if
		:: !plan ->
			due = true;
			plan = true;
			kick()
		:: else
		fi
	:: else
	fi
}

/* rds_cpath_connect_later(): the first attempt comes at once */
inline connect_later()
{
	if
	:: !plan ->
		if
		:: due = true;
		   plan = true;
#ifdef FAULT_C1
		   if
		   :: in_work -> kick()
		   :: else
		   fi
#else
		   kick()
#endif
		:: due = false;
		   plan = true;
#ifdef FAULT_C1
		   if
		   :: in_work -> kick_later()
		   :: else
		   fi
#else
		   kick_later()
#endif
		fi
	:: else
	fi
}

/* rds_path_shut_down(), with rds_path_reconnect() */
inline shut_down(applies)
{
	event(RDS_EV_SHUTDOWN, applies);
	if
	:: applies ->
		/* path_shutdown(), rds_send_reset() */
		lock();
		d_step {
			link = false;
			xmit = false;
		}
		event(RDS_EV_SHUTDOWN_DONE, applies);
		if
		:: !applies -> kick()
		:: else ->
#ifndef FAULT_NO_LOOK
			if
			:: queued -> connect_later()
			:: else
			fi
#else
			skip
#endif
		fi
	:: else
	fi
}

/* rds_path_drop() */
inline drop(applies)
{
	event(RDS_EV_DROP, applies);
#ifndef FAULT_DROP_QUIET
	kick()
#endif
}

/* rds_path_connect() and what it calls */
inline connect(applies)
{
	if
	:: state == RDS_PATH_DOWN && plan && due ->
		plan = false;
		event(RDS_EV_CONNECT, applies);
		if
#ifdef FAILS
		:: applies && may_fail ->
			may_fail = false;
			event(RDS_EV_CONNECT_FAILED, applies);
			connect_later()
#endif
		:: applies ->
			link = true;
			/* rds_path_connect_done() */
#ifdef FAULT_CLEAR_LATE
			event(RDS_EV_CONNECTED, applies);
			if
			:: applies -> plan = false; kick()
			:: else -> drop(applies)
			fi
#else
			d_step {
				applies = path_applies(state, RDS_EV_CONNECTED);
				state = path_next(state, RDS_EV_CONNECTED);
				/* rds_cpath_has_connected() */
				if
				:: applies -> plan = false
				:: else
				fi
			}
			if
			:: applies -> kick()
			:: else -> drop(applies)
			fi
#endif
		:: !applies
		fi
	:: else
	fi
}

/* rds_path_work() */
active proctype worker()
{
	bool ok;
#ifdef FAULT_C1
	bool in_work = true;
#endif

end:
	do
	:: atomic {
		work != NOBODY ->
		/* Time passes before the timer ends. */
		if
		:: work == TIMER -> due = true
		:: else
		fi;
#ifndef FAULT_KICK_LOST
		work = NOBODY
#endif
	   }
	   shut_down(ok);
	   connect(ok);
#ifdef FAULT_KICK_LOST
	   work = NOBODY;
#endif
	   /* rds_send_run_waiting() */
	   lock();
	   send_owned(ok);
#ifndef FAULT_REARM
	   /* rds_path_rearm() */
	   if
	   :: plan && state == RDS_PATH_DOWN ->
		if
		:: due -> kick()
		:: else -> kick_later()
		fi
	   :: else
	   fi
#endif
	od
}

/* rds_send_submit(), then rds_sendmsg_connect() */
active [SENDERS] proctype sender()
{
	bool owned;

	if
	:: state == RDS_PATH_UP -> trylock(owned)
	:: else
	fi;
	queued++;		/* rds_send_enqueue() */
	if
	:: owned -> send_owned(owned)
	:: else ->
		if
		:: state == RDS_PATH_UP ->
			/* rds_send_run() */
			trylock(owned);
			if
			:: owned -> send_owned(owned)
			:: else
			fi
		:: else
		fi
	fi;
	if
	:: state != RDS_PATH_UP -> connect_soon()
	:: else
	fi
}

/* rds_path_shut_down_idle() */
active proctype reaper()
{
	bool ok;
#ifdef FAULT_C1
	bool in_work;
#endif

end:
	do
	:: atomic {
		idles && state == RDS_PATH_UP -> idles--;
		reaping = true
	   };
	   event(RDS_EV_DROP, ok);
	   shut_down(ok);
	   reaping = false;
#if defined(FAULT_C1)
	   connect_soon()
#elif !defined(FAULT_IDLE_QUIET)
	   if
	   :: plan -> kick()
	   :: else
	   fi
#endif
	od
}

active proctype dropper()
{
	bool ok;

end:
	do
#ifdef FAULT_BOTH
	:: atomic { drops -> drops-- };
	   drop(ok)
#else
	:: atomic {
		drops && !reaping -> drops--;
		event(RDS_EV_DROP, ok)
	   }
#ifndef FAULT_DROP_QUIET
	   kick()
#endif
#endif
	od
}

/* Nobody is awake. */
active proctype watcher()
{
	timeout -> assert(!queued)
}

ltl sent { <>[] (queued == 0 && nr_sent == SENDERS) }
