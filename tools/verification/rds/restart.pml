/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The peer restarts, and what was queued for its former incarnation is dropped
 * (net/rds/core/restart.c, multipath.c, probe.c, gate.c, retrans.c).
 *
 * Path 0 is UP. The peer restarts at any moment, and path 0 gets a connection
 * to the new incarnation. A task queues two messages on path 0 at any moment. A
 * message is meant for the new incarnation if it is queued after the handshake
 * frame of that incarnation has arrived. With KEPT, path 1 has an offer of the
 * former incarnation, which it takes late, because it has stopped reading. Its
 * handshake frame is read then.
 *
 * Proved, by assertions: a message is sent only to the incarnation that it is
 * meant for. No message for the new incarnation is dropped. When nothing more
 * can happen, no message is queued.
 *
 * Modelled: rds_probe_receive(), rds_probe_note_turn(), rds_mp_apply(),
 * rds_mp_get_frame(), rds_restart(), rds_restart_is_stale(), rds_mp_flush(),
 * rds_send_flush(), rds_gate_update(), rds_send_reset(), rds_mp_apply_last().
 * Both ends run our implementation. Generations are 1 and 2. Acks, and the
 * number of paths, are left out.
 *
 * search: check clean safety
 * search: check clean safety -DKEPT
 * search: check finds assertion safety -DFAULT_FORMER -DKEPT -- a connection of the former incarnation that is read late counts as a restart
 * search: check finds assertion safety -DFAULT_NOTE -- all that is queued when the work item acts is dropped
 * search: check finds assertion safety -DFAULT_GATE -- the gate does not wait for the flush
 * search: check finds assertion safety -DFAULT_FRAME -- the gate does not wait for the frame on this connection
 * search: check finds assertion safety -DFAULT_LEARN -- the frame counts before its consequences are flagged
 */
#include "tables.pml"

#define MESSAGES	2

/* This end */
byte state[2];			/* cp_state */
bool pf_handshake[2];		/* RDS_PF_HANDSHAKE */
bool learning[2];		/* RDS_PF_LEARNING */
byte frame[2];			/* ph_frame: a generation, or 0 */
bool known;			/* ph_known of path 0 */
bool open;			/* !pg_shut of path 0 */
bool pf_flush;			/* RDS_PF_FLUSH of path 0 */
byte turn;			/* ph_turn of path 0 */
byte turn_ticket;
byte flush_ticket;
byte next_ticket;
byte peer = 1;			/* c_peer_hs */
byte former[2];			/* ph_former */
byte newest = 1;		/* of all frames that have arrived */
byte meant[MESSAGES];		/* for which generation it is */

chan queue = [MESSAGES] of { byte };
chan sent = [MESSAGES] of { byte };

/* The peer */
byte gen = 1;
byte to;			/* the generation that path 0 leads to */
bool says;			/* its frame has not arrived yet */

byte m, n;			/* used in one step only */

#ifdef FAULT_FORMER
#define is_former(p, g)	false
#else
#define is_former(p, g)	((g) == former[p] && (g) != peer)
#endif

/* rds_probe_receive() */
inline receive(p, g)
{
	frame[p] = g;
	newest = (g > newest -> g : newest);
	if
	:: g != peer && !is_former(p, g) && turn != g ->
		turn = g;
		turn_ticket = next_ticket
	:: else
	fi;
	pf_handshake[p] = true
}

/* rds_path_drop() */
inline drop(p)
{
	state[p] = path_next(state[p], RDS_EV_DROP)
}

/* rds_restart() */
inline restart(p)
{
	if
	:: p != 0 && state[0] == RDS_PATH_UP && frame[0] != 0 &&
	   frame[0] != frame[p] -> drop(0)
	:: else
	fi;
	flush_ticket = next_ticket;
#ifndef FAULT_NOTE
	if
	:: turn == frame[p] -> flush_ticket = turn_ticket
	:: else
	fi;
#endif
	turn = 0;
	pf_flush = true
}

/* rds_mp_take_frame() and rds_mp_apply() */
inline apply(p)
{
	d_step {
		learning[p] = true;
		pf_handshake[p] = false
	}
#ifdef FAULT_LEARN
	learning[p] = false;
	known = known || p == 0;
#endif
	d_step {
		if
		:: frame[p] != peer && !is_former(p, frame[p]) ->
			restart(p);
			former[1 - p] = peer;
			former[p] = 0;
			peer = frame[p]
		:: else
		fi
	}
	d_step {
		known = known || (p == 0 && !is_former(p, frame[p]));
		learning[p] = false
	}
}

/* rds_gate_is_shut() of path 0 */
#ifdef FAULT_FRAME
#define awaits_peer	false
#else
#define awaits_peer	(!known)
#endif
#ifdef FAULT_GATE
#define awaits_work	false
#else
#define awaits_work	(pf_handshake[0] || learning[0] || pf_flush)
#endif

/* The work item of path 0 */
active proctype work0()
{
end:	do
	/* rds_mp_learn() */
	:: state[0] == RDS_PATH_UP && pf_handshake[0] -> apply(0)
	/* rds_path_shut_down(): rds_mp_apply_last(), rds_send_reset(),
	 * rds_cpath_forget_connection()
	 */
	:: state[0] == RDS_PATH_ERROR ->
		if
		:: pf_handshake[0] -> apply(0)
		:: else
		fi;
		d_step {
			state[0] = path_next(state[0], RDS_EV_SHUTDOWN);
			n = len(queue);
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
			frame[0] = 0;
			known = false;
			open = false;
			says = false;
			state[0] = path_next(state[0], RDS_EV_SHUTDOWN_DONE)
		}
	/* rds_mp_flush() and rds_send_flush() */
	:: d_step { pf_flush && state[0] != RDS_PATH_ERROR ->
			pf_flush = false;
			n = len(queue);
			do
			:: n > 0 ->
				queue?m;
				n--;
				if
				:: m < flush_ticket -> assert(meant[m] != gen)
				:: else -> queue!m
				fi
			:: n == 0 -> break
			od;
			m = 0 }
	/* rds_path_connect() */
	:: d_step { state[0] == RDS_PATH_DOWN ->
			state[0] = path_next(state[0], RDS_EV_CONNECT);
			state[0] = path_next(state[0], RDS_EV_CONNECTED);
			to = gen;
			says = true }
	od
}

/* rds_gate_update() and rds_send_step(), in any task */
active proctype send()
{
end:	do
	:: d_step { state[0] == RDS_PATH_UP && len(queue) > 0 &&
		    (open || !(awaits_peer || awaits_work)) ->
			open = true;
			queue?m;
			assert(meant[m] == to || to != gen);
			sent!m;
			m = 0 }
	od
}

/* sendmsg(). The number of a message is its ticket. */
active proctype sender()
{
	do
	:: d_step { next_ticket < MESSAGES ->
			meant[next_ticket] = newest;
			queue!next_ticket;
			next_ticket++ }
	:: next_ticket == MESSAGES -> break
	od
}

/* The peer restarts, and its frame arrives on path 0. */
active proctype network()
{
end:	do
	:: d_step { gen == 1 ->
			gen = 2;
			if
			:: state[0] == RDS_PATH_UP -> drop(0)
			:: else
			fi;
			says = false }
	:: d_step { says && state[0] == RDS_PATH_UP ->
			says = false;
			receive(0, to) }
	od
}

#ifdef KEPT
/* Path 1 may read again: it takes its offer, and reads the frame. */
active proctype work1()
{
	d_step {
		state[1] = path_next(state[1], RDS_EV_CONNECT);
		state[1] = path_next(state[1], RDS_EV_CONNECTED);
		receive(1, 1)
	}
	if
	:: pf_handshake[1] -> apply(1)
	:: else
	fi
}
#endif

init {
	/* Nothing more can happen. */
	timeout;
	assert(len(queue) == 0)
}
