/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two ends that dial each other over TCP (net/rds/core/path.c, path_work.c,
 * path_connect.c, accept.c, offer.c; net/rds/tcp/accept.c, connect.c, path.c).
 *
 * There is one path. Both ends have messages for each other. The end with the
 * lower address (LO) dials. The other one (HI) knocks: it dials, and LO resets
 * that attempt and dials itself. A connection that LO has dialed is pending at
 * HI, then an offer of the path, then the connection of the path. Connections
 * are lost at any moment: one end learns nothing, or both ends are reset, or an
 * end drops its path. A SYN may be lost or refused, and the RST of an end that
 * closes may be lost. Frames to HI may be read late.
 *
 * Proved, by assertions: when nothing more can happen, both ends are UP on the
 * same connection, that is the offer in use, and no other connection is left. A
 * disturbance causes at most MOST attempts of the two ends together, so no duel
 * goes on for ever. An end takes a connection or dials only if it has none, and
 * has at most one offer. An end that is left with a connection which the other
 * one has lost finds out by the next connection or knock of the other end, not
 * only by TCP's keepalive. There is one exception, see "relies": without
 * keepalive (NO_KEEPALIVE), the property does not hold for it.
 *
 * Modelled: rds_path_run(), rds_cpath_yield_to_offer(), rds_gate_expire(),
 * rds_path_shut_down(), rds_cpath_forget_connection(), rds_path_reconnect(),
 * rds_cpath_connect_later(), rds_path_connect(), rds_cpath_connect(),
 * rds_path_connect_done(), rds_path_drop(), rds_cpath_connect_now(),
 * rds_accept_knock(), rds_accept_place(), rds_accept_wait(),
 * rds_accept_is_alive(), rds_probe_receive(); rds_tcp_accept_work(),
 * rds_tcp_pending_is_second(), rds_tcp_path_offer(), rds_tcp_path_connect(),
 * rds_tcp_take(), rds_tcp_state_changed(), rds_tcp_path_shutdown(). A timer
 * ends when nothing else can happen, EARLY timers end before. A SYN that is not
 * lost is answered within RDS_CONNECT_FRESH. Both ends run our implementation
 * and know each other. Left out: messages, other paths, restarts, the kicks of
 * the timers (see idle.pml), and memory that is short. With QUIET, HI has its
 * first message when its first connection is lost.
 *
 * An offer that waits is one that the transport has. With FAULT_LATE,
 * RDS_OFFER_KEPT is reported after path_offer(). Meanwhile the work item may have
 * used the connection and lost it. HI then makes one attempt without need, during
 * which it takes no connection.
 *
 * search: check clean safety -DLOSSES=0 -DMISSED=0
 * search: check clean safety -DQUIET -DMISSED=0
 * search: check finds assertion safety -DFAULT_LATE -DLOSSES=0 -DMISSED=0 -- an offer is reported when it is gone already
 * search: check finds assertion safety -DFAULT_PROBE -DQUIET -DMISSED=0 -DEARLY=0 -- a connection that waits does not have the one in use probed
 * search: check finds assertion safety -DFAULT_KNOCK -DQUIET -DMISSED=0 -DEARLY=0 -- a knock does not have a path that is UP probed
 * search: soak finds assertion safety -DFAULT_GONE -DQUIET -DMISSED=0 -DEARLY=0 -- a connection is taken that has ended, and nobody notices
 * search: soak clean safety -DMISSED=0
 * search: soak clean safety -DEARLY=0
 * search: soak clean safety -DLOSSES=0 -DMISSED=2
 * search: soak clean safety -DQUIET
 * search: soak clean safety -DQUIET -DLOSSES=2 -DEARLY=0
 * search: soak finds assertion safety -DNO_KEEPALIVE -DQUIET -DMISSED=0 -DEARLY=0 -- a reply that is read late hides that the other end has lost the connection (as the code is without TCP's keepalive)
 * search: soak finds assertion safety -DFAULT_AGAIN -DQUIET -DMISSED=0 -DEARLY=0 -- a shutdown does not retry the pending connections
 * search: soak finds assertion safety -DFAULT_ENDED -DQUIET -DMISSED=0 -DEARLY=0 -- the offer in use outlives its connection
 * search: soak finds assertion safety -DFAULT_ROOM -DQUIET -DMISSED=0 -DEARLY=0 -- a path that is in use takes another offer
 */
#include "tables.pml"

#define LO	0	/* the end with the lower address: it dials */
#define HI	1	/* the other end: it knocks */

#ifndef LOSSES
#define LOSSES	1	/* connections that are lost or dropped */
#endif
#ifndef MISSED
#define MISSED	1	/* packets that do not arrive */
#endif
#ifndef EARLY
#define EARLY	1	/* timers that end before all else has happened */
#endif
#ifndef MOST
#define MOST	5	/* attempts that one disturbance may cause */
#endif
#define NR	3	/* connections that exist at the same time */

/* The TCP state of the socket of a path */
#define NIL	0
#define SYN	1	/* TCP_SYN_SENT */
#define LOST	2	/* TCP_SYN_SENT, and no answer will come */
#define OPEN	3	/* TCP_ESTABLISHED */
#define HALF	4	/* TCP_CLOSE_WAIT: the peer's FIN has arrived */
#define FIN	5	/* TCP_FIN_WAIT: our FIN has been sent */
#define CLOSED	6	/* TCP_CLOSE */

/* Where HI has a connection that LO has dialed */
#define LISTED	1	/* in tn_pending, or about to be */
#define OFFERED	2	/* in tp_offers */
#define USED	3	/* tp_sock */

/* Handshake frames; a probe is answered. */
#define REPLY	1
#define PROBE	2

/* The number of HI's own attempt, which LO never uses */
#define KNOCK	(NR + 1)

byte state[2];			/* cp_state */
byte offer = RDS_OFFER_NONE;	/* cp_offer of HI */
bool plan[2];			/* RDS_PF_CONNECT */
bool due[2];			/* pd_connect_at has come */
bool backs_off[2];		/* pd_backoff_ms is not 0 */
bool work[2];			/* cp_work is queued */
byte say[2];			/* RDS_PF_PROBE_NOW, RDS_PF_REPLY_NOW */
bool ending[2];			/* te_ending */
bool late[2];			/* RDS_TCP_FIN_TIMEOUT is over */
byte used[2];			/* tp_sock: which connection, or 0 */
byte tcp[2];			/* the state of that socket */
bool heard;			/* pr_heard of LO */
bool knocked;			/* LO's listener has an attempt of HI */
bool again;			/* RDS_TCP_NF_AGAIN of HI */

/* What is on its way to LO's socket */
bool fin_lo;
bool rst_lo;

/* The other end of each connection */
byte hi[NR + 1];		/* where it is */
bool ready[NR + 1];		/* RDS_TCP_PF_READY */
bool since[NR + 1];		/* HI has got a frame since it has accepted */
byte frame_hi[NR + 1];		/* a frame is on its way, or not read yet */
bool fin_hi[NR + 1];
bool rst_hi[NR + 1];

chan pending = [NR] of { byte };	/* tn_pending of HI */
chan offers = [2] of { byte };		/* tp_offers of HI */

/* A reply that was read after its sender had given the connection up hides that
 * from HI until TCP's keepalive finds it.
 */
bool relies;

byte losses = LOSSES;
byte missed = MISSED;
byte early = EARLY;
byte made;			/* attempts since the last disturbance */

/* Used within one step only */
hidden byte ok;
hidden byte c;

/* The tables, looked up once; 0 if an event does not apply */
hidden byte path_to[RDS_PATH_STATES * RDS_EVENTS];
hidden byte offer_to[RDS_OFFER_STATES * RDS_OFFER_EVENTS];

inline look_up()
{
	for (c : 0 .. RDS_PATH_STATES * RDS_EVENTS - 1) {
		ok = c % RDS_EVENTS;
		path_to[c] = (path_applies(c / RDS_EVENTS, ok) ->
			      path_next(c / RDS_EVENTS, ok) + 1 : 0)
	}
	for (c : 0 .. RDS_OFFER_STATES * RDS_OFFER_EVENTS - 1) {
		ok = c % RDS_OFFER_EVENTS;
		offer_to[c] = offer_next(c / RDS_OFFER_EVENTS, ok)
	}
}

/* rds_cpath_event() */
inline event(h, e)
{
	ok = path_to[state[h] * RDS_EVENTS + e];
	state[h] = (ok -> ok - 1 : state[h])
}

/* rds_cpath_offer_event() */
inline offer_event(e)
{
	offer = offer_to[offer * RDS_OFFER_EVENTS + e]
}

/* rds_path_drop() */
inline drop(h)
{
	event(h, RDS_EV_DROP);
	work[h] = true
}

/* rds_tcp_dropped(); rds_tcp_end_progress() */
inline tcp_dropped(h)
{
	if
	:: ending[h] -> work[h] = true
	:: else -> drop(h)
	fi
}

/* A RST is sent. It may be lost. */
inline reset(flag)
{
	if
	:: flag = true
	:: missed -> missed--; made = 0
	fi
}

/* rds_tcp_pending_event() */
inline tell_pending(c)
{
	if
	:: hi[c] == LISTED -> ready[c] = true
	:: else
	fi
}

inline reset_hi(c)
{
	if
	:: hi[c] -> reset(rst_hi[c]); tell_pending(c)
	:: else
	fi
}

inline reset_lo(c)
{
	if
	:: c == used[LO] -> reset(rst_lo)
	:: else
	fi
}

/* A frame is sent on a path that is UP. If the socket of the other end is gone,
 * TCP answers with a RST. What was to be said before is said, too.
 */
inline send_hi(c)
{
	if
	:: hi[c] && !(hi[c] == USED && tcp[HI] == CLOSED) ->
		frame_hi[c] = (say[LO] > frame_hi[c] -> say[LO] : frame_hi[c]);
		tell_pending(c)
	:: else -> rst_lo = true
	fi
}

inline reply(h)
{
	say[h] = (say[h] -> say[h] : REPLY);
	work[h] = true
}

/* LO reads it at once. */
inline send_lo(c)
{
	if
	:: c == used[LO] && tcp[LO] != CLOSED ->
		/* rds_cpath_heard(), rds_probe_receive() */
		heard = true;
		backs_off[LO] = false;
		if
		:: say[HI] == PROBE -> reply(LO)
		:: else
		fi
	:: else -> rst_hi[c] = true
	fi
}

/* HI's socket is released. */
inline hi_gone(c)
{
	hi[c] = NIL;
	ready[c] = false;
	since[c] = false;
	frame_hi[c] = 0;
	fin_hi[c] = false;
	rst_hi[c] = false
}

/* rds_cpath_connect_later(), rds_backoff_next() */
inline connect_later(h)
{
	if
	:: plan[h]
	:: else ->
		plan[h] = true;
		due[h] = !backs_off[h];
		backs_off[h] = true;
		work[h] = work[h] || due[h]
	fi
}

/* clear_bit(RDS_PF_CONNECT) */
inline no_plan(h)
{
	plan[h] = false;
	due[h] = false
}

inline attempt()
{
	made++;
	assert(made <= MOST)
}

/* rds_cpath_connect_soon(): a message is sent */
inline connect_soon(h)
{
	if
	:: state[h] == RDS_PATH_DOWN && !plan[h] ->
		due[h] = true;
		plan[h] = true;
		work[h] = true
	:: else
	fi
}

/* rds_path_work() of LO */
active proctype lo_work()
{
end:
	do
	:: atomic {
		work[LO] -> work[LO] = false;
		/* rds_path_shut_down() */
		event(LO, RDS_EV_SHUTDOWN);
		if
		:: ok || ending[LO]
		:: else -> goto connect
		fi
	   };
	   atomic {
		/* rds_tcp_path_shutdown() */
		c = used[LO];
		if
		:: tcp[LO] == OPEN && !late[LO] ->
			/* rds_tcp_finish() */
			ending[LO] = true;
			tcp[LO] = FIN;
			if
			:: hi[c] -> fin_hi[c] = true; tell_pending(c)
			:: else -> rst_lo = true
			fi;
			goto end
		:: tcp[LO] == FIN && !late[LO] -> goto end
		:: else ->
			/* rds_tcp_discard() */
			if
			:: tcp[LO] == HALF && hi[c] ->
				fin_hi[c] = true;
				tell_pending(c)
			:: tcp[LO] == OPEN || tcp[LO] == FIN -> reset_hi(c)
			:: else
			fi;
			used[LO] = 0;
			tcp[LO] = NIL;
				fin_lo = false;
			rst_lo = false;
			ending[LO] = false;
			late[LO] = false;
			/* rds_cpath_forget_connection() */
			heard = false;
			say[LO] = 0
		fi
	   };
	   atomic {
		event(LO, RDS_EV_SHUTDOWN_DONE);
		if
		:: ok -> connect_later(LO)	/* rds_path_reconnect() */
		:: else -> work[LO] = true
		fi
	   };
connect:
	   /* rds_path_connect(), rds_send_run_waiting() */
	   atomic {
		if
		:: state[LO] == RDS_PATH_DOWN && plan[LO] && due[LO] ->
			no_plan(LO);
			event(LO, RDS_EV_CONNECT);
			/* rds_tcp_dial() */
			attempt();
			c = 1;
			do
			:: c <= NR && hi[c] -> c++
			:: else -> break
			od;
			assert(c <= NR);
			assert(!used[LO]);
			used[LO] = c;
			tcp[LO] = SYN
		:: state[LO] == RDS_PATH_UP && say[LO] ->
			if
			:: tcp[LO] == OPEN -> send_hi(used[LO])
			:: else
			fi;
			say[LO] = 0
		:: else
		fi
	   }
	od
}

/* What TCP reports of LO's socket, which is locked: rds_tcp_state_changed(),
 * rds_tcp_recv()
 */
active proctype lo_socket()
{
end:
	do
	:: atomic {
		tcp[LO] == SYN ->
		if
		:: tcp[LO] = OPEN;
		   hi[used[LO]] = LISTED;
		   ready[used[LO]] = true;
		   pending!used[LO];
		   /* rds_path_connect_done() */
		   event(LO, RDS_EV_CONNECTED);
		   if
		   :: ok ->
			say[LO] = PROBE;
			no_plan(LO);	/* rds_cpath_has_connected() */
			work[LO] = true
		   :: else -> drop(LO)
		   fi
		:: missed ->
			missed--;
			made = 0;
			if
			:: tcp[LO] = LOST
			:: tcp[LO] = CLOSED; drop(LO)	/* refused */
			fi
		fi
	   }
	:: atomic {
		fin_lo ->
		fin_lo = false;
		if
		:: tcp[LO] == FIN -> tcp[LO] = CLOSED
		:: tcp[LO] == OPEN -> tcp[LO] = HALF
		:: else
		fi;
		tcp_dropped(LO)
	   }
	:: atomic {
		rst_lo ->
		rst_lo = false;
		fin_lo = false;
		tcp[LO] = CLOSED;
		tcp_dropped(LO)
	   }
	od
}

/* rds_tcp_accept_work() of LO: rds_tcp_accepted(), rds_accept_knock() */
active proctype lo_accept()
{
end:
	do
	:: atomic {
		knocked && state[LO] == RDS_PATH_UP ->
		knocked = false
	   };
	   atomic {
#ifndef FAULT_KNOCK
		say[LO] = PROBE;	/* rds_probe_soon() */
#endif
		work[LO] = true
	   }
	:: atomic {
		knocked && state[LO] != RDS_PATH_UP ->
		knocked = false
	   };
	   /* rds_cpath_connect_now() */
	   atomic {
		due[LO] = true;
		plan[LO] = true;
		work[LO] = true;
		/* The attempt is older than RDS_CONNECT_FRESH. */
		if
		:: state[LO] == RDS_PATH_CONNECTING && tcp[LO] == LOST ->
			drop(LO)
		:: else
		fi
	   }
	od
}

/* rds_path_work() of HI */
active proctype hi_work()
{
end:
	do
	:: atomic {
		work[HI] -> work[HI] = false;
		/* rds_cpath_yield_to_offer() */
		if
		:: offer_displaces(1, 0, 1, state[HI], offer) ->
			event(HI, RDS_EV_DROP)
		:: else
		fi;
		/* rds_path_shut_down() */
		event(HI, RDS_EV_SHUTDOWN);
		if
		:: ok || ending[HI]
		:: else -> goto connect
		fi
	   };
	   atomic {
		/* rds_tcp_path_shutdown() */
		c = used[HI];
		if
		:: tcp[HI] == OPEN && !late[HI] && !len(offers) ->
			/* rds_tcp_finish() */
			ending[HI] = true;
			tcp[HI] = FIN;
			if
			:: c == used[LO] -> fin_lo = true
			:: else -> rst_hi[c] = true
			fi;
			goto end
		:: tcp[HI] == FIN && !late[HI] && !len(offers) -> goto end
		:: else ->
			/* rds_tcp_discard() */
			if
			:: tcp[HI] == HALF && c == used[LO] -> fin_lo = true
			:: tcp[HI] == OPEN || tcp[HI] == FIN -> reset_lo(c)
			:: else
			fi;
			if
			:: c && c != KNOCK -> hi_gone(c)
			:: else
			fi;
			used[HI] = 0;
			tcp[HI] = NIL;
			ending[HI] = false;
			late[HI] = false;
			/* rds_cpath_forget_connection() */
			say[HI] = 0;
#ifndef FAULT_ENDED
			offer_event(RDS_OFFER_ENDED);
#endif
			relies = false
		fi
	   };
	   atomic {
		event(HI, RDS_EV_SHUTDOWN_DONE);
		if
		:: ok ->
			connect_later(HI);	/* rds_path_reconnect() */
#ifndef FAULT_AGAIN
			again = len(pending) > 0
#endif
		:: else -> work[HI] = true
		fi
	   };
connect:
	   /* rds_path_connect(), rds_send_run_waiting() */
	   atomic {
		if
		:: state[HI] == RDS_PATH_DOWN &&
		   (offer == RDS_OFFER_WAITS || plan[HI] && due[HI]) ->
			no_plan(HI);
			assert(offer != RDS_OFFER_WAITS || len(offers));
			offer_event(RDS_OFFER_CLAIMED)
		:: state[HI] == RDS_PATH_UP && say[HI] ->
			if
			:: tcp[HI] == OPEN -> send_lo(used[HI])
			:: else
			fi;
			say[HI] = 0;
			goto end
		:: else -> goto end
		fi
	   };
	   /* rds_cpath_connect(), rds_tcp_path_connect() */
	   atomic {
		event(HI, RDS_EV_CONNECT);
		if
		:: !ok -> offer_event(RDS_OFFER_RETURNED)
		:: ok && len(offers) ->
			/* rds_tcp_take() */
			assert(!used[HI]);
			offers?c;
			hi[c] = USED;
			used[HI] = c;
			offer_event(RDS_OFFER_TAKEN);
			/* rds_path_connect_done() */
			event(HI, RDS_EV_CONNECTED);
			no_plan(HI);
			say[HI] = PROBE;
			work[HI] = true;
			if
			:: tcp[HI] = OPEN
			:: fin_hi[c] ->
				fin_hi[c] = false;
				tcp[HI] = HALF;
#ifndef FAULT_GONE
				drop(HI)
#endif
			:: rst_hi[c] ->
				rst_hi[c] = false;
				tcp[HI] = CLOSED;
#ifndef FAULT_GONE
				drop(HI)
#endif
			fi
		:: ok && !len(offers) ->
			/* rds_tcp_dial() */
			attempt();
			used[HI] = KNOCK;
			tcp[HI] = SYN
		fi
	   }
	od
}

/* What TCP reports of HI's socket */
active proctype hi_socket()
{
end:
	do
	:: atomic {
		used[HI] == KNOCK && tcp[HI] == SYN ->
		if
		:: /* rds_tcp_established() */
		   tcp[HI] = CLOSED;
		   drop(HI);
		   knocked = true
		:: missed ->
			missed--;
			made = 0;
			if
			:: tcp[HI] = LOST
			:: tcp[HI] = CLOSED; drop(HI)
			fi
		fi
	   }
	:: atomic {
		used[HI] && used[HI] != KNOCK && frame_hi[used[HI]] ->
		backs_off[HI] = false;
		/* rds_probe_receive(): ph_at */
		since[1] = hi[1] == LISTED;
		since[2] = hi[2] == LISTED;
		since[3] = hi[3] == LISTED;
		if
		:: frame_hi[used[HI]] == PROBE -> reply(HI)
		:: frame_hi[used[HI]] == REPLY && used[HI] != used[LO] ->
			relies = true
		:: else
		fi;
		frame_hi[used[HI]] = 0;
		/* rds_mp_learn() */
		again = len(pending) > 0
	   }
	:: atomic {
		used[HI] && used[HI] != KNOCK && fin_hi[used[HI]] &&
		!frame_hi[used[HI]] ->
		fin_hi[used[HI]] = false;
		if
		:: tcp[HI] == FIN -> tcp[HI] = CLOSED
		:: tcp[HI] == OPEN -> tcp[HI] = HALF
		:: else
		fi;
		tcp_dropped(HI)
	   }
	:: atomic {
		used[HI] && used[HI] != KNOCK && rst_hi[used[HI]] ->
		rst_hi[used[HI]] = false;
		fin_hi[used[HI]] = false;
		frame_hi[used[HI]] = 0;
		tcp[HI] = CLOSED;
		tcp_dropped(HI)
	   }
	od
}

/* rds_accept_is_free() */
#ifndef FAULT_ROOM
#define HAS_ROOM	(offer == RDS_OFFER_NONE && \
			 (state[HI] == RDS_PATH_DOWN || \
			  state[HI] == RDS_PATH_CONNECTING))
#else
#define HAS_ROOM	(offer == RDS_OFFER_NONE || \
			 offer == RDS_OFFER_IN_USE)
#endif

/* rds_tcp_pending_all_place() goes on. Jumps to placed if a path has taken a
 * connection.
 */
inline place_all()
{
	do
	:: !left ->
		all = false;
		first = false;
		break
	:: left ->
		left--;
		pending?c;
		if
		:: !all && !ready[c] ->
			pending!c;
			first = first && !frame_hi[c]
		:: (all || ready[c]) && frame_hi[c] && first &&
		   HAS_ROOM && len(offers) < 2 ->
			/* rds_accept_place(), rds_tcp_path_offer() */
			ready[c] = false;
#ifndef FAULT_ROOM
			assert(!len(offers));
#endif
			hi[c] = OFFERED;
			offers!c;
#ifndef FAULT_LATE
			offer_event(RDS_OFFER_KEPT);
			work[HI] = true
#else
			goto kept
#endif
		:: (all || ready[c]) && !frame_hi[c] &&
		   (fin_hi[c] || rst_hi[c]) ->
			/* RDS_TCP_END_CLOSED */
			if
			:: rst_hi[c]
			:: else -> reset_lo(c)
			fi;
			hi_gone(c);
			all = true
		:: else ->
			pending!c;
			ready[c] = false;
			/* rds_accept_wait() */
			if
			:: frame_hi[c] && first && !since[c] &&
			   state[HI] == RDS_PATH_UP ->
#ifndef FAULT_PROBE
				say[HI] = PROBE;
				work[HI] = true
#else
				skip
#endif
			:: else
			fi;
			/* rds_tcp_pending_is_second() */
			first = first && !frame_hi[c]
		fi
	od
}

/* rds_tcp_accept_work() of HI */
active proctype hi_accept()
{
	bool all, first;	/* first: none before it has a valid header */
	byte left;

end:
	do
	:: atomic {
		again || ready[1] || ready[2] || ready[3] ->
		all = again;
		again = false;
		left = len(pending);
		first = true;
		place_all();
		goto end
	   }
#ifdef FAULT_LATE
kept:
	   atomic {
		offer_event(RDS_OFFER_KEPT);
		work[HI] = true;
		place_all()
	   }
#endif
	od
}

#define DIAL_WAITS(h)	(plan[h] && !due[h])
#define SYN_LOST(h)	(tcp[h] == LOST)
#define FIN_WAITS(h)	(tcp[h] == FIN && !late[h])
#ifndef NO_KEEPALIVE
#define HALF_OPEN	(relies && tcp[HI] == OPEN && used[HI] != used[LO])
#else
#define HALF_OPEN	false
#endif
#define SHORT_TIMER	(SYN_LOST(LO) || SYN_LOST(HI) || FIN_WAITS(LO) || \
			 FIN_WAITS(HI) || HALF_OPEN)
#define SILENT		(state[LO] == RDS_PATH_UP && tcp[LO] == OPEN && !heard)
#define LONG_TIMER	(DIAL_WAITS(LO) || DIAL_WAITS(HI) || SILENT)
#define TIMER		(SHORT_TIMER || LONG_TIMER || len(pending))

inline dial_due(h)
{
	due[h] = true;
	work[h] = true
}

/* ETIMEDOUT */
inline syn_expires(h)
{
	tcp[h] = CLOSED;
	drop(h)
}

inline fin_expires(h)
{
	late[h] = true;
	work[h] = true
}

/* Time. A timer ends when nothing else can happen. Back-off and the time limit
 * of a silent connection double, so in the end they are the longest.
 */
active proctype time()
{
end:
	do
	:: atomic { timeout && SYN_LOST(LO) -> syn_expires(LO) }
	:: atomic { timeout && SYN_LOST(HI) -> syn_expires(HI) }
	:: atomic { timeout && FIN_WAITS(LO) -> fin_expires(LO) }
	:: atomic { timeout && FIN_WAITS(HI) -> fin_expires(HI) }
	   /* TCP's keepalive */
	:: atomic { timeout && HALF_OPEN -> rst_hi[used[HI]] = true }
	:: atomic {
		timeout && !SHORT_TIMER &&
		(LONG_TIMER || len(pending)) ->
		if
		:: DIAL_WAITS(LO) -> dial_due(LO)
		:: DIAL_WAITS(HI) -> dial_due(HI)
		:: SILENT -> drop(LO)		/* rds_gate_expire() */
		:: len(pending) ->
			/* rds_tcp_pending_deadline() */
			pending?c;
			reset_lo(c);
			hi_gone(c);
			again = len(pending) > 0
		fi
	   }
	od
}

/* A timer may also end early. */
active proctype haste()
{
end:
	do
	:: atomic {
		early && (SHORT_TIMER || LONG_TIMER) ->
		early--;
		made = 0;
		if
		:: DIAL_WAITS(LO) -> dial_due(LO)
		:: DIAL_WAITS(HI) -> dial_due(HI)
		:: SYN_LOST(LO) -> syn_expires(LO)
		:: SYN_LOST(HI) -> syn_expires(HI)
		:: FIN_WAITS(LO) -> fin_expires(LO)
		:: FIN_WAITS(HI) -> fin_expires(HI)
		:: HALF_OPEN -> rst_hi[used[HI]] = true
		:: SILENT -> drop(LO)
		fi
	   }
	od
}

/* Connections are lost, and paths are dropped. */
active proctype trouble()
{
end:
	do
	:: atomic {
		losses && tcp[LO] == OPEN ->
		losses--;
		made = 0;
		if
		:: tcp[LO] = CLOSED;	/* HI learns nothing. */
		   tcp_dropped(LO)
		:: rst_lo = true;
		   reset_hi(used[LO])
		:: state[LO] == RDS_PATH_UP -> drop(LO)
		fi
	   }
	:: atomic {
		losses && tcp[HI] == OPEN ->
		losses--;
		made = 0;
		if
		:: tcp[HI] = CLOSED;	/* LO learns nothing. */
		   tcp_dropped(HI)
		:: state[HI] == RDS_PATH_UP -> drop(HI)
		fi
	   }
	od
}

/* When nothing more can happen */
active proctype watcher()
{
	atomic {
		timeout && !TIMER ->
		assert(state[LO] == RDS_PATH_UP && state[HI] == RDS_PATH_UP);
		assert(used[LO] == used[HI] && tcp[LO] == OPEN &&
		       tcp[HI] == OPEN);
		assert(offer == RDS_OFFER_IN_USE && !len(offers));
		assert(!hi[1] + !hi[2] + !hi[3] == 2)
	}
}

init {
	atomic {
		look_up();
		connect_soon(LO);
#ifndef QUIET
		connect_soon(HI)
#endif
	}
}
