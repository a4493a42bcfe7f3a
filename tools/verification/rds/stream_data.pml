/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data, credit and the end of a stream: net/rds/stream/send.c, recv.c, frame.c,
 * deliver.c, event.c, end.c and close.c.
 *
 * End 0 writes three units and end 1 has a buffer of two. Then end 0 shuts its
 * writing half, end 1 reads to the end and shuts its own. One end may send a
 * keepalive probe at any time. With DEATH, end 1 may reset the stream instead.
 *
 * Proved: units arrive in order, once, and within the credit; the writer does
 * not wait for ever, even without the timer that asks for credit; a stream that
 * ends in order is not reported as reset; no deadlock, so both ends end.
 *
 * Assumed: core finishes the frames that the peer has before it delivers what
 * the peer sends afterwards. LATE_ACKS drops this; acks are in order then too.
 *
 * Left out: the beginning, bytes in both directions, memory that is short,
 * SHUT_RD, streams whose socket is closed, direct placement, and the send
 * buffer. Frames arrive in order. TIMER adds the timer that asks for credit.
 *
 * search: check clean safety
 * search: soak clean safety -DTIMER=1
 * search: soak clean safety -DDEATH=1
 * search: soak clean safety -DLATE_ACKS=1
 * search: check finds assertion safety -DFAULT_PROBE_RESETS -- a probe that crosses the end is reported as a reset
 * search: check finds end-state safety -DFAULT_THRESHOLD -- an update is not sent although the buffer was read
 * search: check finds assertion safety -DFAULT_OVERTAKES -- a SHUTDOWN overtakes units
 * search: check finds end-state safety -DFAULT_FORGETS -- a frame owed while another is on its way is not sent at the ack
 * search: check finds end-state safety -DFAULT_NO_RECHECK -- a writer does not look again before it sleeps
 */
#include "tables.pml"

/* The first one has the greatest number. */
mtype = { RW, RST, ASK, UPDATE, SHUTDOWN };

#define UNITS	3
#define BUFFER	2

/* Frames on their way to an end: op, and fwd or the number of a unit */
chan to0 = [2] of { mtype, byte };
chan to1 = [4] of { mtype, byte };

byte state[2] = RDS_STREAM_OPEN;
bool shut[2], peer_done[2];		/* F_WR_SHUT, F_PEER_DONE */
bool owe_shut[2], owe_ask[2], owe_update[2];
mtype control[2];			/* tx_control; 0 for none */
bool acked[2];				/* of that, core is to finish it */

byte cost, fwd;				/* tx_cost, tx_fwd of end 0 */
byte flying, arrived;			/* units on their way, and acked */
byte rx_cost, rx_fwd, rx_told;		/* of end 1 */
bool nospace, woken;			/* SOCK_NOSPACE, and the wake-up */
bool t_credit;
bool dead;				/* end 1 has reset the stream */

#define credit		(cost - fwd < BUFFER)
#define may_write	(state[0] != RDS_STREAM_OPEN || credit)
#define over(e)		(state[e] == RDS_STREAM_OPEN && control[e] == 0 && \
			 (e == 1 || flying == 0) && !owe_shut[e] && \
			 shut[e] && peer_done[e])
#define told_all(e)	(shut[e] && (e == 1 || flying == 0) && \
			 !owe_shut[e] && control[e] != SHUTDOWN)

/* A frame without payload is sent: there is one of each end. */
inline send(e, op)
{
	if
	:: e == 0 ->
#ifdef FAULT_OVERTAKES
		if
		:: op == SHUTDOWN -> to1 !! op, 0
		:: else -> to1 ! op, 0
		fi
#else
		to1 ! op, 0
#endif
	:: else -> rx_told = rx_fwd; to0 ! op, rx_fwd
	fi;
	control[e] = op
}

/* rds_stream_pay(), in the order of rds_stream_order */
inline pay(e)
{
	if
	:: state[e] == RDS_STREAM_OPEN && control[e] == 0 ->
		if
		:: owe_shut[e] ->
			owe_shut[e] = false;
			owe_update[e] = false;
			send(e, SHUTDOWN)
		:: !owe_shut[e] && owe_update[e] ->
			owe_update[e] = false;
			send(e, UPDATE)
		:: !owe_shut[e] && !owe_update[e] && owe_ask[e] ->
			owe_ask[e] = false;
			send(e, ASK)
		:: else
		fi
	:: else
	fi
}

/* rds_stream_leave(), rds_stream_wake_all() */
inline leave(e, event)
{
	state[e] = stream_next(state[e], event);
	owe_shut[e] = false;
	owe_ask[e] = false;
	owe_update[e] = false;
	control[e] = 0;
	acked[e] = false;
	if
	:: e == 0 ->
		flying = 0;
		arrived = 0;
		t_credit = false;
		woken = true
	:: else
	fi
}

/* rds_stream_finish() */
inline finish(e)
{
	if
	:: over(e) -> leave(e, RDS_STREAM_EV_CLOSE)
	:: else
	fi
}

/* rds_stream_watch_credit() */
inline watch()
{
#ifdef TIMER
	if
	:: !credit -> t_credit = true
	:: else
	fi
#else
	skip
#endif
}

/* rds_stream_shutdown(), SHUT_WR */
inline shutdown(e)
{
	atomic {
		if
		:: state[e] == RDS_STREAM_OPEN ->
			shut[e] = true;
			owe_shut[e] = true;
			pay(e)
		:: else
		fi
	}
	atomic { finish(e) }
}

/* rds_stream_write(), then rds_stream_read() to the end */
active proctype writer()
{
	do
	:: cost == UNITS || state[0] != RDS_STREAM_OPEN -> break
	/* rds_stream_write_frame() */
	:: atomic { cost < UNITS && state[0] == RDS_STREAM_OPEN && credit ->
		to1 ! RW, cost;
		cost++;
		flying++;
		watch() }
	/* rds_stream_write_ready(), rds_stream_wait() */
	:: atomic { cost < UNITS && !may_write ->
		woken = false }
		nospace = true;
		if
#ifndef FAULT_NO_RECHECK
		:: atomic { may_write -> nospace = false }
#endif
		:: atomic { woken -> woken = false }
		fi
	od;
	shutdown(0);
	state[0] != RDS_STREAM_OPEN || peer_done[0]
}

/* rds_stream_consume(), rds_stream_at_end() */
active proctype reader()
{
	do
	:: atomic { rx_cost > rx_fwd ->
		rx_fwd++;
		if
		:: state[1] == RDS_STREAM_OPEN && !peer_done[1] &&
#ifdef FAULT_THRESHOLD
		   rx_fwd - rx_told > BUFFER ->
#else
		   rx_fwd - rx_told >= 1 ->
#endif
			owe_update[1] = true;
			pay(1)
		:: else
		fi }
	:: rx_cost == rx_fwd &&
	   (peer_done[1] || state[1] != RDS_STREAM_OPEN) -> break
#ifdef DEATH
	/* rds_stream_must_reset(): close() before the end was read */
	:: atomic { state[1] == RDS_STREAM_OPEN && len(to0) < 2 ->
		dead = true;
		to0 ! RST, 0;
		leave(1, RDS_STREAM_EV_FAIL);
		rx_fwd = rx_cost };
		break
#endif
	od;
	assert(dead || rx_fwd == UNITS);
	shutdown(1)
}

/* rds_stream_timer(): rds_stream_keep() once, and credit */
active proctype timer()
{
	bool probed;
end:	do
	:: atomic { !probed && state[0] == RDS_STREAM_OPEN ->
		probed = true; owe_ask[0] = true; pay(0) }
	:: atomic { !probed && state[1] == RDS_STREAM_OPEN ->
		probed = true; owe_ask[1] = true; pay(1) }
	/* rds_stream_ask_credit() */
	:: atomic { t_credit ->
		t_credit = false;
		if
		:: state[0] == RDS_STREAM_OPEN && !credit && !shut[0] ->
			owe_ask[0] = true;
			pay(0);
			t_credit = true
		:: else
		fi }
	od
}

/* rds_stream_frame_done() */
active [2] proctype done()
{
end:	do
	/* Acks are in order: all units go before a SHUTDOWN. */
	:: atomic { acked[_pid - 3] && (_pid == 4 || flying == 0 ||
		    control[0] != SHUTDOWN) ->
		acked[_pid - 3] = false;
		control[_pid - 3] = 0;
#ifndef FAULT_FORGETS
		pay(_pid - 3)
#endif
	   }
	   atomic { finish(_pid - 3) }
	:: atomic { _pid == 3 && arrived > 0 ->
		arrived--;
		flying--;
		pay(0) }
	   atomic { finish(0) }
	od
}

/* rds_stream_end_forgotten() */
inline forgotten(e)
{
	if
	:: state[e] == RDS_STREAM_OPEN ->
#ifdef FAULT_PROBE_RESETS
		assert(dead);
#else
		assert(dead || (peer_done[e] && told_all(e)));
#endif
		leave(e, RDS_STREAM_EV_FAIL)
	:: else
	fi
}

/* rds_stream_deliver() of end 0 */
active proctype deliver0()
{
	mtype op;
	byte what;
	bool could;
end:	do
	:: atomic { nempty(to0);
#ifndef LATE_ACKS
		!acked[0] && !arrived;
#endif
		to0 ? op, what;
		if
		:: control[1] == op -> acked[1] = true
		:: else
		fi;
		if
		:: op == RST -> forgotten(0)
		:: op != RST && state[0] == RDS_STREAM_OPEN ->
			could = may_write;
			/* rds_stream_take_credit() */
			assert(what >= fwd && what <= cost);
			fwd = what;
			watch();
			if
			:: op == SHUTDOWN -> peer_done[0] = true; woken = true
			:: op == ASK -> owe_update[0] = true; pay(0)
			:: else
			fi
		/* rds_stream_unknown() */
		:: op != RST && state[0] != RDS_STREAM_OPEN ->
			if
			:: op != UPDATE && len(to1) < 4 -> to1 ! RST, 0
			:: else
			fi;
			could = true
		fi }
	   /* rds_stream_write_space(), without the lock */
	   atomic {
		if
		:: op != RST && !could && may_write && nospace ->
			nospace = false; woken = true
		:: else
		fi;
		finish(0);
		op = RST; what = 0; could = false }
	od
}

/* rds_stream_deliver() of end 1 */
active proctype deliver1()
{
	mtype op;
	byte what;
end:	do
	:: atomic { nempty(to1);
#ifndef LATE_ACKS
		!acked[1];
#endif
		to1 ? op, what;
		if
		:: op == RW && flying > arrived -> arrived++
		:: op != RW && control[0] == op -> acked[0] = true
		:: else
		fi;
		if
		:: op == RST -> forgotten(1)
		:: op != RST && state[1] == RDS_STREAM_OPEN ->
			if
			/* rds_stream_take_bytes() */
			:: op == RW ->
				assert(!peer_done[1] && what == rx_cost);
				assert(rx_cost < rx_told + BUFFER);
				rx_cost++
			:: op == SHUTDOWN -> peer_done[1] = true
			:: op == ASK -> owe_update[1] = true; pay(1)
			:: else
			fi
		:: op != RST && state[1] != RDS_STREAM_OPEN ->
			if
			:: op != UPDATE && len(to0) < 2 -> to0 ! RST, 0
			:: else
			fi
		fi }
	   atomic { finish(1); op = RST; what = 0 }
	od
}
