/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a stream begins: net/rds/stream/connect.c, listen.c, and what deliver.c,
 * event.c, end.c and frame.c do meanwhile. The states are those of state.c.
 *
 * A client connects, repeats its REQUEST while it is not answered, may time out,
 * and then connects again with another id. A listener has room for one stream.
 * Another task accepts, and reads, sends, closes or resets at once. The host of
 * the server may restart once.
 *
 * Proved: no deadlock; a client that is OPEN asks no more; no frame of a server
 * goes ahead of its RESPONSE; no answer is taken for that of another attempt,
 * and no bytes for those of another stream; when nothing moves any more, a
 * client that is OPEN has a server that is OPEN with the same id, or that has
 * closed, and no client waits.
 *
 * A REQUEST that the transport has when the RESPONSE arrives may begin a second
 * stream with the same id behind the first one. It does not last.
 *
 * Assumed: when the client knows of the restart, no frame of the former
 * incarnation arrives any more (pr_former).
 *
 * Left out: memory that is short, a peer without streams, close() while
 * connect() goes on, more than two attempts, data, connections that are lost,
 * and clients that are not connected although a server is OPEN. Frames arrive
 * in order. A RST that a client sends may be lost.
 *
 * search: check clean safety
 * search: check finds assertion safety -DFAULT_RESPONSE_LATE -- accept() finds a stream before its RESPONSE is owed
 * search: check finds assertion safety -DFAULT_NO_GRACE -- connect() does not wait for a delivery to the former attempt
 * search: check finds assertion safety -DFAULT_ANY_ID -- a client takes frames with any id
 * search: check finds assertion safety -DFAULT_RESTART_UNSEEN -- a stream that is open outlives a restart of its peer
 * search: check finds assertion safety -DFAULT_STALE_DELIVERY -- a restart does not wait for the delivery of a former answer
 * search: check finds assertion safety -DFAULT_BUSY_IS_FINAL -- a client that was told BUSY ignores the RESPONSE to a repeated REQUEST
 * search: check finds assertion safety -DFAULT_ASKS_ON -- a repeated REQUEST that waits to be sent outlives the RESPONSE
 * search: check finds assertion safety -DFAULT_SECOND_STAYS -- a RESPONSE behind the close() of the server is ignored
 */
#include "tables.pml"

mtype = { REQUEST, RESPONSE, BUSY, RST, RW, SHUTDOWN };

#define NONE	2

/* Frames on their way: op, id, and of a client the epoch they are meant for, of
 * a server whether another stream with this id has been there before
 */
chan to_server = [2] of { mtype, bit, bit };
chan to_client = [2] of { mtype, bit, bit };

/* The client, struct rds_stream. Each step is what one hold of st_lock does. */
byte state = RDS_STREAM_IDLE;
bit id;
bit epoch;		/* st_epoch */
bool owed;		/* tx_owed: the REQUEST */
bool t_connect, t_again;
bool deaf;		/* RDS_STREAM_F_PEER_DEAF */
bit taken;		/* the stream whose RESPONSE was taken */
bool untold;		/* a RST to a second stream was lost */

/* tx_control, and the epoch that its frame is meant for */
#define FREE	0
#define QUEUED	1	/* core has it */
#define SENT	2	/* the transport has it */
#define ACKED	3
#define LOST	4
byte control = FREE;
bit control_epoch;

bit known;		/* what core of the client knows of the epoch */
bit incarnation;	/* what it is */

/* Those who hold the RCU read lock: deliveries, timers, events */
bool delivers, expires, reports;

/* The server's streams, by id, and the table, the queue, and accept() */
byte server[2] = RDS_STREAM_IDLE;
bool answer[2];		/* tx_owed: the RESPONSE */
bool closed[2];		/* RDS_STREAM_F_CLOSED */
bit second[2];		/* it is not the first one with this id */
byte listed = NONE, queue = NONE, accepted = NONE;

#define connecting	(state == RDS_STREAM_ASKING || \
			 state == RDS_STREAM_REQUESTED)
#define room		(len(to_server) < 2)

inline set_state(event)
{
	state = stream_next(state, event)
}

/* rds_stream_pay() of the client */
inline pay()
{
	if
	:: owed && control == FREE &&
	   (state == RDS_STREAM_OPEN || state == RDS_STREAM_REQUESTED) ->
		owed = false;
		control = QUEUED;
		control_epoch = epoch
	:: else
	fi
}

/* rds_stream_ask() */
inline ask()
{
	if
	:: state == RDS_STREAM_ASKING ->
		epoch = known;
		set_state(RDS_STREAM_EV_KNOWN);
		t_again = true;
		owed = true;
		pay()
	:: else
	fi
}

/* rds_stream_again() */
inline give_up()
{
	if
	:: state == RDS_STREAM_REQUESTED ->
		set_state(RDS_STREAM_EV_AGAIN);
		t_again = true
	:: else
	fi
}

/* rds_stream_end_if(), with the states checked */
inline fail(tell)
{
	if
	:: tell && state != RDS_STREAM_ASKING && room ->
		to_server ! RST, id, epoch
	:: else
	fi;
	set_state(RDS_STREAM_EV_FAIL);
	owed = false;
	control = FREE;
	t_connect = false;
	t_again = false
}

/* rds_stream_connect(); rds_stream_forget_conn() waits for a grace period */
active proctype user()
{
	bit next;
again:
	atomic {
#ifndef FAULT_NO_GRACE
		!delivers && !expires && !reports;
#endif
		id = next;
		deaf = false;
		set_state(RDS_STREAM_EV_CONNECT);
		t_connect = true
	}
	atomic { ask() }
end:	atomic {
		state == RDS_STREAM_IDLE && next == 0 ->
		next = 1;
		goto again
	}
}

/* rds_stream_timer(): the lock is released before it acts */
active proctype timer()
{
end:	do
	:: atomic { t_connect -> t_connect = false; expires = true };
		atomic {
			/* rds_stream_fail_connect() */
			if
			:: connecting -> fail(true)
			:: else
			fi;
			expires = false
		}
	:: atomic { t_again && state == RDS_STREAM_REQUESTED ->
		/* rds_stream_repeat() */
		if
		:: control == FREE -> owed = true; pay()
		:: else
		fi
	   }
	:: atomic { t_again && state != RDS_STREAM_REQUESTED ->
		t_again = false;
		expires = true };
		atomic { ask(); expires = false }
	od
}

/* Core: the path's work item */
active proctype work()
{
end:	do
	:: atomic { control == QUEUED && room ->
		assert(state != RDS_STREAM_OPEN);
		to_server ! REQUEST, id, control_epoch;
		control = SENT
	   }
	od
}

/* rds_stream_frame_done() */
active proctype done()
{
end:	do
	:: atomic { control == ACKED -> control = FREE; pay() }
	:: atomic {
		control == LOST -> control = FREE;
		give_up()
	   }
	od
}

/* rds_stream_conn_event(): the peer is another incarnation */
active proctype event()
{
end:	atomic {
		known != incarnation;
#ifndef FAULT_STALE_DELIVERY
		/* rds_restart() */
		!delivers;
#endif
		known = incarnation;
		reports = true
	}
	/* rds_stream_peer_event() */
	atomic {
		if
#ifndef FAULT_RESTART_UNSEEN
		:: state == RDS_STREAM_OPEN && epoch != known -> fail(false)
#endif
		:: state == RDS_STREAM_REQUESTED && epoch != known ->
			set_state(RDS_STREAM_EV_AGAIN)
		:: else
		fi
	}
	atomic { ask(); reports = false }
}

/* rds_stream_deliver() of the client */
active proctype deliver_client()
{
	mtype op;
	bit whose, which;
end:	do
	:: atomic {
		to_client ? op, whose, which;
		/* rds_stream_is_over(): it has been acknowledged */
		if
		:: op == SHUTDOWN && listed == whose && closed[whose] ->
			server[whose] = stream_next(server[whose],
						    RDS_STREAM_EV_CLOSE);
			closed[whose] = false;
			listed = NONE
		:: else
		fi;
		/* rds_stream_lookup() */
		if
#ifdef FAULT_ANY_ID
		:: connecting || state == RDS_STREAM_OPEN -> delivers = true
#else
		:: (connecting || state == RDS_STREAM_OPEN) && whose == id ->
			delivers = true
#endif
		/* rds_stream_unknown() */
		:: else ->
			if
			:: op != RST && op != BUSY && room ->
				to_server ! RST, whose, known
			:: else
			fi
		fi
	   }
	   atomic {
		if
		:: delivers && op == RST ->
			/* rds_stream_found_rst() */
			if
			:: state == RDS_STREAM_OPEN ||
			   state == RDS_STREAM_REQUESTED ->
				assert(whose == id);
				fail(false)
			:: else
			fi
		:: delivers && op == BUSY ->
			/* rds_stream_busy() */
			give_up()
		:: delivers && op == RESPONSE ->
			/* rds_stream_take_response() */
			if
#ifndef FAULT_BUSY_IS_FINAL
			:: connecting ->
#else
			:: state == RDS_STREAM_REQUESTED ->
#endif
				assert(whose == id);
				set_state(RDS_STREAM_EV_RESPONSE);
				taken = which;
				t_connect = false;
				t_again = false;
				/* rds_stream_cancel_request() */
				owed = false;
#ifndef FAULT_ASKS_ON
				if
				:: control == QUEUED || control == SENT ->
					control = FREE
				:: else
				fi
#endif
#ifndef FAULT_SECOND_STAYS
			:: state == RDS_STREAM_OPEN && deaf ->
				if
				:: room -> to_server ! RST, id, epoch
				:: else -> untold = true
				fi
#endif
			:: else
			fi
		:: delivers && op == RW ->
			/* rds_stream_take_bytes() */
			assert(!connecting);
			if
			:: state == RDS_STREAM_OPEN && deaf -> fail(true)
			:: state == RDS_STREAM_OPEN && !deaf ->
				assert(which == taken)
			:: else
			fi
		:: delivers && op == SHUTDOWN ->
			/* rds_stream_take_shutdown() */
			assert(!connecting);
			deaf = true
		:: else
		fi;
		delivers = false;
		op = RST;
		whose = 0;
		which = 0
	   }
	od
}

/* rds_stream_deliver() of the server */
active proctype deliver_server()
{
	mtype op;
	bit whose, meant;
end:	do
	:: atomic {
		nfull(to_client) && nempty(to_server) ->
		to_server ? op, whose, meant;
		if
		:: meant != incarnation ->
			/* Core does not deliver what another one was to get. */
			if
			:: op == REQUEST && control == SENT && whose == id &&
			   control_epoch == meant -> control = LOST
			:: else
			fi;
			goto next
		:: op == REQUEST && meant == incarnation ->
			if
			:: control == SENT && whose == id &&
			   control_epoch == meant -> control = ACKED
			:: else
			fi
		:: else
		fi;
		/* rds_stream_lookup() */
		if
		:: op == RST && listed != whose -> goto next
		/* rds_stream_answers() */
		:: op == REQUEST && listed == whose ->
			if
			:: closed[whose] -> goto next
			:: else -> answer[whose] = true; goto respond
			fi
		:: (op == REQUEST && listed != NONE && listed != whose) ||
		   (op == RST && listed == whose) ->
			/* rds_stream_end_forgotten() */
			server[listed] = stream_next(server[listed],
						     RDS_STREAM_EV_FAIL);
			answer[listed] = false;
			closed[listed] = false;
			listed = NONE
		:: else
		fi;
		if
		:: op == RST -> goto next
		/* rds_stream_request(): the queue is full */
		:: op == REQUEST && queue != NONE ->
			to_client ! BUSY, whose, second[whose];
			goto next
		/* rds_stream_born() */
		:: else ->
			if
			:: server[whose] == RDS_STREAM_ENDED ->
				second[whose] = 1
			:: else
			fi;
			server[whose] = stream_next(RDS_STREAM_IDLE,
						 RDS_STREAM_EV_ACCEPT);
			listed = whose;
#ifndef FAULT_RESPONSE_LATE
			answer[whose] = true;
#endif
			skip
		fi
	   }
	   /* rds_stream_enqueue() */
	   atomic {
		if
		:: meant == incarnation -> queue = whose
		:: else
		fi
	   }
	   /* rds_stream_respond(); rds_stream_pay(), if it is answered again */
respond: atomic {
		nfull(to_client) || meant != incarnation ->
		if
		:: meant == incarnation && server[whose] == RDS_STREAM_OPEN ->
			answer[whose] = false;
			to_client ! RESPONSE, whose, second[whose]
		:: else
		fi
	   }
next:	   atomic { op = RST; whose = 0; meant = 0 }
	od
}

/* rds_stream_accept_wait(), then a write or close() */
active proctype task()
{
end:	do
	:: atomic { queue != NONE && accepted == NONE ->
		accepted = queue; queue = NONE }
	:: atomic { accepted != NONE && nfull(to_client) ->
		if
		:: server[accepted] == RDS_STREAM_OPEN && !answer[accepted] ->
			/* rds_stream_may_write(), rds_stream_write_some() */
			to_client ! RW, accepted, second[accepted]
		:: server[accepted] == RDS_STREAM_OPEN && !answer[accepted] ->
			/* rds_stream_let_go() */
			to_client ! SHUTDOWN, accepted, second[accepted];
			closed[accepted] = true
		:: server[accepted] == RDS_STREAM_OPEN ->
			/* rds_stream_release(): it resets the stream */
			to_client ! RST, accepted, second[accepted];
			server[accepted] = stream_next(server[accepted],
						       RDS_STREAM_EV_FAIL);
			answer[accepted] = false;
			listed = NONE
		/* It reads, if it has not ended. */
		:: true
		fi;
		accepted = NONE }
	od
}

/* The host of the server starts again: all is forgotten. */
active proctype restart()
{
	mtype op;
	bit whose, which;

	atomic {
		incarnation = 1;
		do
		:: to_client ? op, whose, which
		:: empty(to_client) -> break
		od;
		server[0] = RDS_STREAM_IDLE;
		server[1] = RDS_STREAM_IDLE;
		answer[0] = false;
		answer[1] = false;
		closed[0] = false;
		closed[1] = false;
		listed = NONE;
		queue = NONE;
		accepted = NONE;
		op = RST;
		whose = 0;
		which = 0
	}
}

/* Nothing moves any more, so no client waits or is alone. */
active proctype rest()
{
end:	atomic {
		timeout ->
		assert(!connecting);
		assert(state != RDS_STREAM_OPEN || deaf ||
		       (server[id] == RDS_STREAM_OPEN &&
			epoch == incarnation));
		assert(!deaf || state != RDS_STREAM_OPEN || untold ||
		       server[id] != RDS_STREAM_OPEN)
	}
}
