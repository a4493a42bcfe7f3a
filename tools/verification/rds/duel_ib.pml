/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Duels over InfiniBand: two ends that dial each other at the same time
 * (net/rds/core/path.c, path_work.c, path_connect.c, accept.c, offer.c;
 * net/rds/ib/path.c, path_ops.c, accept.c, cm.c, conn.c).
 *
 * There is one path, and both ends dial it at any moment. A connection that the
 * peer has dialed waits in the request queue, then it is the offer of the path,
 * then the connection of the path. Paths that are UP are dropped at any moment,
 * by either end. A message of the connection manager may be lost although it is
 * repeated. Then the other end learns nothing.
 *
 * Proved, by assertions: when nothing more can happen, both ends are UP on the
 * same connection, and no other connection and no offer is left. A disturbance
 * causes at most MOST dials of the two ends together, so no duel goes on for
 * ever; without timers that end early, at most three.
 *
 * Modelled: rds_path_run(), rds_cpath_yield_to_offer() with
 * rds_offer_displaces(), rds_path_shut_down(), rds_cpath_forget_connection(),
 * rds_path_reconnect(), rds_cpath_connect_later(), rds_path_connect(),
 * rds_cpath_connect(), rds_path_connect_done(), rds_path_drop(),
 * rds_path_refuses_offer() with rds_offer_wins_duel();
 * rds_ib_accept_request(), rds_ib_accept_work_fn(), rds_ib_path_offer(),
 * rds_ib_path_use_offer(), rds_ib_dial(), rds_ib_accept(),
 * rds_ib_cm_come_up(), rds_ib_path_dialed(), rds_ib_drop(),
 * rds_ib_watchdog_work(), rds_ib_path_shutdown(), rds_ib_conn_free(). With
 * IWARP, an end cannot drop its attempt before the other end has answered. A
 * timer ends when nothing else can happen, EARLY timers end before. Both ends
 * run our implementation. Left out: messages, devices and ports that go away,
 * restarts, memory that is short, the list of refused connections (a connection
 * is freed at once).
 *
 * A REQ of an attempt that a host has given up arrives before the REP that the
 * host sends afterwards. With UNORDERED it may arrive later, and displaces the
 * connection that is UP. In the code it has to come later than in the same
 * jiffy for that.
 *
 * search: check clean safety -DEARLY=0 -DMOST=3
 * search: check clean safety -DIWARP -DEARLY=0 -DMOST=3
 * search: check finds assertion safety -DFAULT_LATE -DMISSED=0 -DEARLY=0 -DMOST=3 -- a request that was made before our dial was accepted is not refused
 * search: soak finds assertion safety -DFAULT_YIELD -DMISSED=0 -DEARLY=0 -DMOST=3 -- both ends give their attempts up in a duel
 * search: check finds assertion safety -DFAULT_STUBBORN -DMISSED=0 -DEARLY=0 -DMOST=3 -- both ends keep their attempts in a duel
 * search: check finds assertion safety -DFAULT_STUCK -DIWARP -DMISSED=0 -DEARLY=0 -DMOST=3 -- the winner keeps an offer whose end waits for an answer
 * search: soak clean safety
 * search: soak clean safety -DIWARP
 * search: soak clean safety -DLOSSES=2 -DEARLY=0 -DMOST=3
 * search: soak clean safety -DIWARP -DLOSSES=2 -DEARLY=0 -DMOST=3
 * search: soak clean safety -DLOSSES=0 -DMISSED=0
 * search: soak finds assertion safety -DFAULT_ENDED -DMISSED=0 -DEARLY=0 -DMOST=3 -- the offer in use outlives its connection
 * search: soak finds assertion safety -DFAULT_GONE -DMISSED=0 -DLOSSES=0 -- an offer is withdrawn, and core does not know
 * search: soak finds assertion safety -DUNORDERED -DMISSED=0 -DEARLY=0 -DMOST=3 -- a REQ arrives after the REP that was sent after it
 */
#include "tables.pml"

#ifndef LOSSES
#define LOSSES	1	/* paths that are dropped */
#endif
#ifndef MISSED
#define MISSED	1	/* messages of the connection manager that are lost */
#endif
#ifndef EARLY
#define EARLY	1	/* timers that end before all else has happened */
#endif
#ifndef MOST
#define MOST	5	/* dials that one disturbance may cause */
#endif
#define NR	4	/* connections that exist at the same time */

/* One end of a connection, as in ic_state */
#define NIL		0
#define DIALING		1
#define OFFERED		2
#define ACCEPTING	3
#define UP		4

/* End 0 has the lower address. */
#if defined(FAULT_YIELD)
#define LOWER(h)	0
#elif defined(FAULT_STUBBORN)
#define LOWER(h)	1
#else
#define LOWER(h)	((h) == 0)
#endif

byte state[2];			/* cp_state */
byte offer[2];			/* cp_offer */
bool plan[2];			/* RDS_PF_CONNECT */
bool due[2];			/* pd_connect_at has come */
bool backs_off[2];		/* pd_backoff_ms is not 0 */
bool work[2];			/* cp_work is queued */
bool dialed[2];			/* pd_dialed */
byte conn[2];			/* ip_conn; 0 if there is none */
byte kept[2];			/* ip_offer */

/* For each connection: the end that has dialed, and the other one */
bit dialer[NR + 1];
byte out[NR + 1];		/* ic_state of the end that has dialed */
byte in[NR + 1];		/* ic_state of the other end */
bool out_over[NR + 1];		/* ic_dropped */
bool in_over[NR + 1];
bool early_in[NR + 1];		/* since is not after pd_dialed_at */

/* What is on its way: REQ, REP, RTU, and REJ or DREQ */
bool req[NR + 1];
bool rep[NR + 1];
bool rtu[NR + 1];
bool end_out[NR + 1];
bool end_in[NR + 1];

chan requests_0 = [NR] of { byte };	/* rds_ib_requests of end 0 */
chan requests_1 = [NR] of { byte };

byte losses = LOSSES;
byte missed = MISSED;
byte early = EARLY;
byte made;			/* dials since the last disturbance */

/* Used within one step only */
hidden byte ok;
hidden byte c, old, i;

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
inline offer_event(h, e)
{
	offer[h] = offer_to[offer[h] * RDS_OFFER_EVENTS + e]
}

/* rds_path_drop() */
inline drop(h)
{
	event(h, RDS_EV_DROP);
	work[h] = true
}

/* A message of the connection manager is sent, and repeated. If it is lost
 * nevertheless, the other end learns nothing.
 */
inline send(flag)
{
	if
	:: flag = true
	:: missed -> missed--; made = 0
	fi
}

/* rds_ib_conn_free() at the end that has dialed */
inline free_out(x)
{
	if
	:: in[x] || req[x] -> send(end_in[x])
	:: else
	fi;
	out[x] = NIL;
	out_over[x] = false;
	rep[x] = false;
	end_out[x] = false
}

/* rds_ib_conn_free() at the other end */
inline free_in(x)
{
	if
	:: out[x] -> send(end_out[x])
	:: else
	fi;
	in[x] = NIL;
	in_over[x] = false;
	early_in[x] = false;
	rtu[x] = false;
	end_in[x] = false
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

/* rds_ib_dial() */
inline dial(h)
{
	made++;
	assert(made <= MOST);
	c = 1;
	do
	:: c <= NR && (out[c] || in[c] || req[c]) -> c++
	:: else -> break
	od;
	assert(c <= NR);
	dialer[c] = h;
	out[c] = DIALING;
	conn[h] = c;
	send(req[c])
}

/* rds_path_work() */
proctype worker(bit h)
{
end:
	do
	:: atomic {
		work[h] -> work[h] = false;
		/* rds_cpath_yield_to_offer() */
		if
		:: offer_displaces(0, LOWER(h), 1, state[h], offer[h]) ->
			event(h, RDS_EV_DROP)
		:: else
		fi;
		/* rds_path_shut_down() */
		event(h, RDS_EV_SHUTDOWN);
		if
		:: ok
		:: else -> goto connect
		fi
	   };
	   atomic {
		/* rds_ib_path_shutdown() */
#ifdef IWARP
		/* rdma_disconnect() waits for the answer. */
		conn[h] == 0 || dialer[conn[h]] != h ||
		out[conn[h]] != DIALING || out_over[conn[h]] ||
		rep[conn[h]] || end_out[conn[h]];
#endif
		c = conn[h];
		conn[h] = 0;
		if
		:: c && dialer[c] == h -> free_out(c)
		:: c && dialer[c] != h -> free_in(c)
		:: else
		fi;
		/* rds_cpath_forget_connection() */
		dialed[h] = false;
#ifndef FAULT_ENDED
		offer_event(h, RDS_OFFER_ENDED)
#endif
	   };
	   atomic {
		event(h, RDS_EV_SHUTDOWN_DONE);
		if
		:: ok -> connect_later(h)	/* rds_path_reconnect() */
		:: else -> work[h] = true
		fi
	   };
connect:
	   /* rds_path_connect(), rds_ib_path_connect() */
	   atomic {
		if
		:: state[h] == RDS_PATH_DOWN &&
		   (offer[h] == RDS_OFFER_WAITS || plan[h] && due[h]) ->
			plan[h] = false;
			due[h] = false;
			event(h, RDS_EV_CONNECT);
			if
			:: kept[h] ->
				/* rds_ib_path_use_offer() */
				conn[h] = kept[h];
				kept[h] = 0;
				offer_event(h, RDS_OFFER_TAKEN)
			:: else -> dial(h); goto end
			fi
		:: else -> goto end
		fi
	   };
	   /* rds_ib_accept(), rds_ib_reply() */
	   atomic {
		c = conn[h];
		if
		:: in_over[c] ->
			conn[h] = 0;
			free_in(c);
			event(h, RDS_EV_CONNECT_FAILED);
			offer_event(h, RDS_OFFER_ENDED);
			connect_later(h)
		:: else ->
			in[c] = ACCEPTING;
			if
			:: out[c] -> send(rep[c])
			:: else -> end_in[c] = true
			fi
		fi
	   }
	od
}

/* rds_ib_accept_work_fn(): rds_path_accept(), rds_ib_path_offer() */
proctype accepter(bit h; chan requests)
{
end:
	do
	:: atomic {
		requests?c ->
		if
		:: in_over[c] -> free_in(c)
#ifndef FAULT_LATE
		   /* rds_path_refuses_offer() */
		:: !in_over[c] && dialed[h] && early_in[c] -> free_in(c)
#endif
#if defined(IWARP) && !defined(FAULT_STUCK)
		:: !in_over[c] && !(dialed[h] && early_in[c]) &&
		   offer_wins(0, LOWER(h), 1, state[h], offer[h]) ->
			free_in(c)
#endif
		:: else ->
			old = kept[h];
			kept[h] = c;
			offer_event(h, RDS_OFFER_KEPT);
			work[h] = true;
			if
			:: old -> free_in(old)
			:: else
			fi
		fi
	   }
	od
}

/* A host sends its REP after the REQ of the attempt that it has given up. They
 * arrive in this order.
 */
#ifndef UNORDERED
#define ASKS(i, x)	(req[i] && dialer[i] != dialer[x])
#define IN_ORDER(x)	!(ASKS(1, x) || ASKS(2, x) || ASKS(3, x) || ASKS(4, x))
#else
#define IN_ORDER(x)	true
#endif

/* The events of a connection: rds_ib_cm_handler() */
proctype events(byte x)
{
end:
	do
	:: atomic {
		/* rds_ib_accept_request() */
		req[x] -> req[x] = false;
		in[x] = OFFERED;
		if
		:: dialer[x] == 0 -> requests_1!x
		:: else -> requests_0!x
		fi
	   }
	:: atomic {
		rep[x] && out[x] == DIALING && !out_over[x] && IN_ORDER(x) ->
		rep[x] = false;
		rtu[x] = in[x] == ACCEPTING;
		/* rds_ib_path_dialed(); otherwise the shutdown is to come */
		out[x] = UP;
		if
		:: state[dialer[x]] == RDS_PATH_CONNECTING
		:: else -> goto end
		fi;
		dialed[dialer[x]] = true;
		for (i : 1 .. NR) {
			early_in[i] = early_in[i] || in[i] == OFFERED &&
				      dialer[i] != dialer[x]
		}
		offer_event(dialer[x], RDS_OFFER_OVERTAKEN);
		old = kept[dialer[x]];
		kept[dialer[x]] = 0;
		if
		:: old -> free_in(old)
		:: else
		fi
	   };
	   atomic {
		/* rds_path_connect_done() */
		if
		:: out[x] == UP && conn[dialer[x]] == x ->
			event(dialer[x], RDS_EV_CONNECTED);
			if
			:: ok ->
				plan[dialer[x]] = false;
				due[dialer[x]] = false;
				backs_off[dialer[x]] = false
			:: else -> drop(dialer[x])
			fi
		:: else
		fi
	   }
	:: atomic {
		rtu[x] -> rtu[x] = false;
		if
		:: in[x] == ACCEPTING && !in_over[x] ->
			in[x] = UP;
			event(1 - dialer[x], RDS_EV_CONNECTED);
			if
			:: ok ->
				plan[1 - dialer[x]] = false;
				due[1 - dialer[x]] = false;
				backs_off[1 - dialer[x]] = false
			:: else -> drop(1 - dialer[x])
			fi
		:: else
		fi
	   }
	:: atomic {
		/* rds_ib_drop() */
		end_in[x] && !req[x] && !rtu[x] ->
		end_in[x] = false;
		if
		:: kept[1 - dialer[x]] == x ->
			kept[1 - dialer[x]] = 0;
#ifndef FAULT_GONE
			offer_event(1 - dialer[x], RDS_OFFER_GONE);
#endif
			free_in(x)
		:: else ->
			if
			:: conn[1 - dialer[x]] == x && !in_over[x] ->
				drop(1 - dialer[x])
			:: else
			fi;
			in_over[x] = in[x] != NIL
		fi
	   }
	:: atomic {
		end_out[x] && !rep[x] ->
		end_out[x] = false;
		if
		:: conn[dialer[x]] == x && !out_over[x] ->
			drop(dialer[x])
		:: else
		fi;
		out_over[x] = out[x] != NIL
	   }
	od
}

#define DIAL_WAITS(h)	(plan[h] && !due[h])
/* rds_ib_watchdog_work(), or a device that gets no answer */
#define OUT_WAITS(x)	(out[x] && !out_over[x] && \
			 (out[x] == DIALING || in[x] == NIL))
#define IN_WAITS(x)	(in[x] && !in_over[x] && \
			 (in[x] == ACCEPTING || in[x] == UP && out[x] == NIL))
#define WATCHDOG	(OUT_WAITS(1) || OUT_WAITS(2) || OUT_WAITS(3) || \
			 OUT_WAITS(4) || IN_WAITS(1) || IN_WAITS(2) || \
			 IN_WAITS(3) || IN_WAITS(4))
#define TIMER		(DIAL_WAITS(0) || DIAL_WAITS(1) || WATCHDOG)

inline watchdog(x)
{
	if
	:: OUT_WAITS(x) -> out_over[x] = true; drop(dialer[x])
	:: IN_WAITS(x) -> in_over[x] = true; drop(1 - dialer[x])
	:: else
	fi
}

/* Timers end when nothing else can happen; all watchdogs at the same time, and
 * before a back-off, which doubles.
 */
active proctype time()
{
end:
	do
	:: atomic {
		timeout && !WATCHDOG && DIAL_WAITS(0) ->
		due[0] = true;
		work[0] = true
	   }
	:: atomic {
		timeout && !WATCHDOG && DIAL_WAITS(1) ->
		due[1] = true;
		work[1] = true
	   }
	:: atomic {
		timeout && WATCHDOG ->
		watchdog(1);
		watchdog(2);
		watchdog(3);
		watchdog(4)
	   }
	od
}

/* A timer may also end early. */
active proctype haste()
{
end:
	do
	:: atomic {
		early && TIMER -> early--; made = 0;
		if
		:: DIAL_WAITS(0) -> due[0] = true; work[0] = true
		:: DIAL_WAITS(1) -> due[1] = true; work[1] = true
		:: OUT_WAITS(1) || IN_WAITS(1) -> watchdog(1)
		:: OUT_WAITS(2) || IN_WAITS(2) -> watchdog(2)
		:: OUT_WAITS(3) || IN_WAITS(3) -> watchdog(3)
		:: OUT_WAITS(4) || IN_WAITS(4) -> watchdog(4)
		fi
	   }
	od
}

active proctype trouble()
{
end:
	do
	:: atomic {
		losses && state[0] == RDS_PATH_UP ->
		losses--; made = 0; drop(0)
	   }
	:: atomic {
		losses && state[1] == RDS_PATH_UP ->
		losses--; made = 0; drop(1)
	   }
	od
}

/* When nothing more can happen */
active proctype watcher()
{
	atomic {
		timeout && !TIMER ->
		assert(state[0] == RDS_PATH_UP && state[1] == RDS_PATH_UP);
		assert(conn[0] == conn[1] && out[conn[0]] == UP &&
		       in[conn[0]] == UP);
		assert(!kept[0] && !kept[1]);
		assert(!in[1] + !in[2] + !in[3] + !in[4] == 3);
		assert(!out[1] + !out[2] + !out[3] + !out[4] == 3)
	}
}

init {
	atomic {
		look_up();
		for (i : 0 .. 1) {
			plan[i] = true;
			due[i] = true;
			work[i] = true
		}
		run worker(0);
		run worker(1);
		run accepter(0, requests_0);
		run accepter(1, requests_1);
		run events(1);
		run events(2);
		run events(3);
		run events(4)
	}
}
