/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Messages that wait at the sender for a congested port (net/rds/core/park.c,
 * send.c, cong_flow.c).
 *
 * A path has two messages of one socket for a port of the peer (0 and 1), one
 * for another port (2) and, with GROW, the barrier probe (3). Maps of the peer
 * mark the port and free it, at any moment. A task calls sendmsg() beside the
 * work item of the path. The connection may be lost, and the path comes UP
 * again.
 *
 * Proved, by assertions:
 * - When nothing more can happen and the port is free, no message is parked or
 *   queued, and the path is not on the wait queue.
 * - Messages of a pair of sockets get their sequence numbers in their order. A
 *   message with a number is sent before all that have none.
 * - The barrier probe is sent behind all messages queued before it.
 * - If the port stays congested (STUCK), messages for another port pass.
 *
 * Modelled: all of park.c, rds_send_submit(), rds_send_enqueue(),
 * rds_send_owned(), rds_send_messages(), rds_send_step(), rds_send_reset(),
 * rds_cong_changed(). A map that reaches the sender is right in the end: see
 * congestion.pml. The gate is open. A message is on the wire as soon as it is
 * picked, and the transport takes it at once. Cancels, flushes, and lack of
 * memory are left out. The peer stops reading the path when a message arrives
 * that was sent although the port was marked; in the code it then has to be
 * much.
 *
 * search: check clean safety -DSTUCK
 * search: check clean safety -DGROW -DMARKS=1 -DOTHERS=0
 * search: check clean safety -DRESETS=1 -DMARKS=1
 * search: soak clean safety -DGROW -DMARKS=1
 * search: soak clean safety -DGROW -DRESETS=1 -DMARKS=1 -DOTHERS=0
 * search: soak clean safety -DRESETS=1
 * search: check finds assertion safety -DFAULT_M2 -DSTUCK -- what is queued for a congested port is sent
 * search: check finds assertion safety -DFAULT_WATCH -- the map is not looked at again after the path has entered the wait queue
 * search: check finds assertion safety -DFAULT_CLEAR -- the request to look at the map is cleared after the look
 * search: check finds assertion safety -DFAULT_BEHIND -- a message is not parked behind one for its port
 * search: check finds assertion safety -DFAULT_KICK -- a free port kicks nobody
 * search: check finds assertion safety -DFAULT_LEFT -DRESETS=1 -DMARKS=1 -- a lost connection drops the request to look at the map
 * search: check finds assertion safety -DFAULT_ORDER -DRESETS=1 -DMARKS=1 -- messages that were sent before return behind the others
 * search: check finds assertion safety -DFAULT_END -DGROW -DMARKS=1 -DOTHERS=0 -- parked messages stay parked when the barrier probe is queued
 * search: check finds assertion safety -DFAULT_AHEAD -DGROW -DMARKS=1 -DOTHERS=0 -- messages are picked before parked ones have returned
 */
#include "tables.pml"

#ifndef RESETS
#define RESETS	0	/* connections that are lost */
#endif
#ifndef MARKS
#define MARKS	2	/* how often the port becomes congested */
#endif
#ifndef OTHERS
#define OTHERS	1	/* messages for another port */
#endif
#define PROBE	3
#define NONE	4	/* no message */
#define LATE	9	/* ticket of a message that is not queued yet */

byte state = RDS_PATH_UP;	/* cp_state */
bool queued;			/* the work item waits to run */
bool owned;			/* cp_xmit_lock */
bool marked;			/* the port's bit in the copy of the map */
bool pf_unpark;			/* RDS_PF_UNPARK */
bool on_waitq, pk_waits;
byte pk_from;
byte next_ticket;
byte ticket[4] = LATE;
bool numbered[4];		/* m_seq */
byte msg = NONE;		/* pt_msg */
byte resets = RESETS;
bool stopped;			/* the peer does not read the path any more */
bool arrived;			/* message 2 has arrived there */

chan queue = [4] of { byte };	/* pt_queue */
chan parked = [2] of { byte };	/* pd_msgs of the port */
chan sent = [4] of { byte };	/* pt_retrans */

byte n, m;			/* used in one step only */
bool done, park;

/* rds_send_pending() */
#define pending	(len(queue) > 0 || msg != NONE || pf_unpark)

/* rds_park_wants(), under cp_lock */
#ifdef FAULT_M2
#define is_marked	false
#else
#define is_marked	marked
#endif
#ifdef FAULT_BEHIND
#define wants(m)	(!numbered[m] && m < 2 && \
			 is_marked && ticket[m] >= pk_from)
#else
#define wants(m)	(!numbered[m] && m < 2 && (len(parked) > 0 || \
			 (is_marked && ticket[m] >= pk_from)))
#endif

/* rds_send_register() */
inline enlist(i)
{
	ticket[i] = next_ticket;
	next_ticket++
}

/* rds_send_pick(): what must hold, and the number */
inline pick(i)
{
	if
	:: !numbered[i] ->
		assert(i != 1 || numbered[0]);
		assert(i != PROBE ||
		       ((ticket[0] > ticket[i] || numbered[0]) &&
			(ticket[1] > ticket[i] || numbered[1]) &&
			(ticket[2] > ticket[i] || numbered[2])));
		/* No message with a number waits. */
		n = len(queue);
		do
		:: n > 0 ->
			queue?m;
			assert(!numbered[m]);
			queue!m;
			n--
		:: n == 0 -> break
		od;
		numbered[i] = true;
		stopped = stopped || (i < 2 && marked && ticket[i] >= pk_from);
		arrived = arrived || (i == 2 && !stopped)
	:: else
	fi;
	m = 0;
	if
	:: resets > 0 || state != RDS_PATH_UP -> sent!i
	:: else		/* No connection is lost any more. */
	fi;
	msg = i
}

/* rds_park_requeue(), under cp_lock */
inline requeue()
{
	n = len(queue);
	done = false;
	do
	:: n > 0 ->
		queue?m;
		if
		:: !done && !numbered[m] ->
			done = true;
			do
			:: len(parked) > 0 ->
				parked?i;
				queue!i
			:: len(parked) == 0 -> break
			od
		:: else
		fi;
		queue!m;
		n--
	:: n == 0 -> break
	od;
	do
	:: len(parked) > 0 ->
		parked?i;
		queue!i
	:: len(parked) == 0 -> break
	od;
	i = 0;
	m = 0;
	done = false
}

/* rds_park_look() */
inline look(all)
{
	d_step {
		if
		:: len(parked) > 0 ->
			parked?<i>;
			if
			:: all || !marked || ticket[i] < pk_from -> requeue()
			:: else -> i = 0
			fi
		:: len(parked) == 0
		fi
	}
	d_step {
		if
		:: len(parked) == 0 && pk_waits ->
			on_waitq = false;
			pk_waits = false
		:: else
		fi
	}
}

/* rds_park_release() */
inline release()
{
	if
	:: pf_unpark ->
#ifdef FAULT_CLEAR
		look(false);
		pf_unpark = false
#else
		pf_unpark = false;
		look(false)
#endif
	:: else
	fi
}

/* rds_send_step() and rds_send_next(), under cp_lock, then rds_park_watch() */
inline send_step()
{
	d_step {
		msg = NONE;
		park = false;
#ifdef FAULT_AHEAD
		do
		:: msg == NONE && len(queue) > 0 ->
#else
		do
		:: msg == NONE && len(queue) > 0 && !pf_unpark ->
#endif
			queue?i;
			if
			:: wants(i) ->
				parked!i;
				park = true
			:: else -> pick(i)
			fi
		:: else -> break
		od;
		i = 0;
		parks = park && !pk_waits;
		park = false
	};
	if
	:: parks ->
		d_step {
			parks = false;
			pk_waits = true;
			on_waitq = true
		}
#ifndef FAULT_WATCH
		pf_unpark = true
#endif
	:: else
	fi
}

/* rds_send_owned() and rds_send_messages(); the caller has the lock. A message
 * in hand is passed to the transport in the step that picks the next one.
 */
inline send_owned()
{
	do
	:: true ->
		do
		:: state == RDS_PATH_UP ->
			if
			:: msg == NONE ->
				release();
				send_step()
			:: else
			fi;
			if
			:: msg == NONE -> break
			:: else -> send_step()
			fi;
			if
			:: msg == NONE && !pending -> break
			:: else
			fi
		:: else -> break
		od;
		up = (state == RDS_PATH_UP);
		owned = false;
		if
		:: atomic { up && pending && !owned -> owned = true }
		:: else -> break
		fi
	od;
	up = false
}

/* sendmsg(): rds_send_submit() */
active proctype task()
{
	byte i, x, y;
	bool parks, up;

	do
	:: x + y < 2 + OTHERS ->
		atomic {
			if
			:: x < 2 ->
				i = x;
				x++
			:: y < OTHERS ->
				i = 2;
				y++
			fi
		}
		/* rds_send_enqueue(), with the lock or without it */
		if
		:: atomic { state == RDS_PATH_UP && !owned -> owned = true };
			d_step {
				enlist(i);
				if
				:: state == RDS_PATH_UP && !pending &&
				   !wants(i) -> pick(i)
				:: else -> queue!i
				fi;
				i = 0
			}
			send_owned()
		:: atomic { state != RDS_PATH_UP || owned ->
				enlist(i);
				queue!i;
				i = 0 };
			if
			:: atomic { state == RDS_PATH_UP && !owned ->
					owned = true };
				send_owned()
			:: else
			fi
		fi
	:: x + y == 2 + OTHERS -> break
	od
}

/* The work item: rds_path_work() */
active proctype work()
{
	byte i;
	bool parks, up;

end:	do
	:: atomic { queued -> queued = false };
		if
		:: atomic { state == RDS_PATH_ERROR -> !owned;
				owned = true };
			/* rds_path_shut_down() and rds_send_reset() */
			state = path_next(state, RDS_EV_SHUTDOWN);
			pf_unpark = false;
#ifndef FAULT_LEFT
			look(true);
#endif
			d_step {
				msg = NONE;
#ifndef FAULT_ORDER
				n = len(queue);
#endif
				do
				:: len(sent) > 0 ->
					sent?m;
					queue!m
				:: len(sent) == 0 -> break
				od;
				do
				:: n > 0 ->
					queue?m;
					queue!m;
					n--
				:: n == 0 -> break
				od;
				m = 0;
				owned = false;
				state = path_next(state, RDS_EV_SHUTDOWN_DONE)
			}
			/* rds_path_connect() */
			d_step {
				state = path_next(state, RDS_EV_CONNECT);
				state = path_next(state, RDS_EV_CONNECTED);
				queued = true
			}
		:: else
		fi;
		/* rds_send_run_waiting() */
		atomic { !owned -> owned = true };
		send_owned()
	od
}

/* Maps of the peer: rds_deliver_cong_map() and rds_cong_changed() */
active proctype maps()
{
	byte k = MARKS;

	do
	:: k > 0 ->
		atomic {
			marked = true;
			k--
		}
#ifdef STUCK
		if
		:: k == 0 -> break
		:: else
		fi;
#endif
		marked = false;
		/* rds_park_wake() */
		if
		:: on_waitq ->
			pf_unpark = true;
#ifndef FAULT_KICK
			queued = true
#endif
		:: else
		fi
	:: k == 0 -> break
	od
}

#ifdef GROW
/* rds_mp_spread() and rds_park_end(), under cp_lock, then the kick */
active proctype grow()
{
	d_step {
		pk_from = next_ticket;
#ifndef FAULT_END
		pf_unpark = true;
#endif
		enlist(PROBE);
		queue!PROBE
	}
	queued = true
}
#endif

/* Acks arrive: rds_path_ack_mark(). The connection is lost: rds_path_drop() */
active proctype network()
{
end:	do
	:: d_step { len(sent) > 0 && !(msg != NONE && sent?[eval(msg)]) ->
			sent?m;
			m = 0 }
	:: d_step { resets > 0 && state == RDS_PATH_UP ->
			resets--;
			state = path_next(state, RDS_EV_DROP);
			queued = true }
	od
}

init {
	/* Nothing more can happen. */
	timeout;
#ifdef STUCK
	assert(arrived);
#else
	assert(len(queue) == 0 && len(parked) == 0);
	assert(!on_waitq && msg == NONE)
#endif
}
