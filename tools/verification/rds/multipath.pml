/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The growth from one path to two, and the gate (net/rds/core/multipath.c,
 * gate.c, probe.c, send_queue.c; Documentation/protocol.rst).
 *
 * An end sends two messages of one pair of sockets. First there is one path.
 * When the peer's handshake frame has arrived, messages spread over two paths,
 * and both messages then belong to path 1. The end dials. A connection may be
 * pending at the peer: its TCP acknowledges data although no path has taken the
 * connection yet. A connection may be lost at any moment. If it was pending,
 * all data on it is lost, acknowledged or not. A path that has taken it
 * delivers what was acknowledged. Acks and replies take any time.
 *
 * Proved, by assertions: each message is delivered once, and in order; when
 * nothing more can happen, both have arrived.
 *
 * Modelled: rds_mp_apply(), rds_mp_grow(), rds_mp_publish(), rds_mp_spread(),
 * rds_mp_check_barrier(), rds_mp_probe_again(), rds_mp_pick() with
 * rds_send_admit(), rds_gate_update(), rds_probe_receive(),
 * rds_deliver_is_dup(), rds_send_reset(), rds_cpath_forget_connection(). Both
 * ends run our
 * implementation, and none restarts. Kicks of the work items are left out: a
 * step that may be done is done in the end. The frame that an end sends when it
 * has taken a connection, and its reply to the frame of the other end, are one
 * frame. The gate is looked at in the step that picks a message. The barrier
 * probe is repeated only when no reply is on its way.
 *
 * search: check clean safety
 * search: check clean safety -DRESETS=2
 * search: soak clean safety -DRESETS=3
 * search: check finds assertion safety -DFAULT_C2 -- the gate of a silent connection opens by time
 * search: check finds assertion safety -DFAULT_KNOWN -DRESETS=2 -- the frame on a former connection opens the gate
 * search: check finds assertion safety -DFAULT_GROW -- there is no barrier
 * search: check finds assertion safety -DFAULT_ACKED -- the acks of TCP open the other path
 * search: check finds assertion safety -DFAULT_ADMIT -- a sender that has chosen its path does not look at the number of paths again
 * search: check finds assertion safety -DFAULT_DUP -- a duplicate is not recognized
 * search: check finds assertion safety -DFAULT_AGAIN -DRESETS=2 -- the barrier probe is not repeated
 */
#include "tables.pml"

#ifndef RESETS
#define RESETS	1	/* connections that are lost */
#endif
#define PROBE	2	/* the barrier probe; 0 and 1 are the messages */
#define FAN_NONE	0
#define FAN_BARRIER	1
#define FAN_OPEN	2

/* The sending end */
byte state[2];			/* cp_state */
bool pf_handshake[2];		/* RDS_PF_HANDSHAKE */
bool learning[2];		/* RDS_PF_LEARNING */
bool known[2];			/* ph_known */
bool open[2];			/* !pg_shut */
byte npaths = 1;		/* c_npaths */
byte fan = FAN_NONE;		/* c_fan */
bool grows;			/* rds_mp_publish() has been called */
bool echo;			/* c_fan_echo is the tag of the barrier */
byte next_ticket[2] = 1;
byte next_seq[2] = 1;
byte seq[3];			/* m_seq */
bool acked[3];
chan queue0 = [3] of { byte };	/* pt_queue */
chan queue1 = [3] of { byte };
chan sent0 = [3] of { byte };	/* pt_retrans */
chan sent1 = [3] of { byte };

/* The receiving end */
bool agreed;			/* c_npaths_wanted is 2 */
bool tagged;			/* pr_tag of path 0 */
byte next_rx[2] = 1;		/* next_rx_seq */
bool got[2];

/* Between them */
bool lives[2], taken[2];
byte resets = RESETS;
chan data0 = [3] of { byte };
chan data1 = [3] of { byte };
chan frames0 = [2] of { bool };	/* to the sending end; with the tag or not */
chan frames1 = [2] of { bool };

byte n, m;			/* used in one step only */

/* rds_deliver() */
inline deliver(p, frames)
{
	if
#ifndef FAULT_DUP
	:: seq[m] < next_rx[p] ->
#else
	:: m == PROBE && seq[m] < next_rx[p] ->
#endif
		skip
	:: else ->
		next_rx[p] = seq[m] + 1;
		if
		:: m != PROBE ->
			assert(!got[m]);
			assert(m == 0 || got[0]);
			got[m] = true
		:: else -> tagged = true
		fi
	fi;
	/* A duplicate of the probe is answered, too. */
	if
	:: m == PROBE && len(frames) < 2 -> frames!true
	:: else
	fi
}

/* rds_gate_is_shut() */
#ifdef FAULT_C2
#define awaits_peer(p)	false
#else
#define awaits_peer(p)	(!known[p])
#endif
#define is_shut(p)	(awaits_peer(p) || pf_handshake[p] || learning[p] || \
			 (p == 1 && fan != FAN_OPEN))

/* The work item of a path of the sending end, and its senders */
proctype path(byte p; chan queue; chan sent; chan data)
{
	bool waits;

end:	do
	/* rds_path_connect(): path 1 is dialed when the peer knows us. */
	:: d_step { state[p] == RDS_PATH_DOWN && (p == 0 || npaths == 2) ->
			state[p] = path_next(state[p], RDS_EV_CONNECT);
			state[p] = path_next(state[p], RDS_EV_CONNECTED);
			lives[p] = true }
	/* rds_mp_learn() or rds_mp_apply_last(), rds_mp_apply() */
	:: d_step { pf_handshake[p] ->
			learning[p] = true;
			pf_handshake[p] = false };
		if
		:: p == 0 && !grows ->
			d_step {
				grows = true;
				npaths = 2;
				/* rds_mp_spread() */
#ifndef FAULT_GROW
				waits = next_ticket[0] > 1;
#endif
				if
				:: waits -> queue!PROBE
				:: else
				fi
			}
			d_step {
				fan = (waits -> FAN_BARRIER : FAN_OPEN);
				waits = false
			}
		:: else
		fi;
		d_step {
			known[p] = true;
			learning[p] = false
		}
	/* rds_mp_check_barrier() */
#ifdef FAULT_ACKED
	:: d_step { p == 0 && fan == FAN_BARRIER && acked[PROBE] ->
#else
	:: d_step { p == 0 && fan == FAN_BARRIER && echo ->
#endif
			fan = FAN_OPEN }
#ifndef FAULT_AGAIN
	/* rds_mp_probe_again(), if the reply cannot come any more */
	:: d_step { p == 0 && fan == FAN_BARRIER && !echo && acked[PROBE] &&
		    len(queue0) == 0 && len(sent0) == 0 && len(data0) == 0 &&
		    len(frames0) == 0 ->
			acked[PROBE] = false;
			seq[PROBE] = 0;
			queue0!PROBE }
#endif
	/* rds_gate_update() and rds_send_step(): the probe passes the gate. */
	:: d_step { state[p] == RDS_PATH_UP && lives[p] && len(queue) > 0 &&
		    (open[p] || !is_shut(p) || queue?[PROBE]) ->
			open[p] = open[p] || !is_shut(p);
			queue?m;
			if
			:: seq[m] == 0 ->
				seq[m] = next_seq[p];
				next_seq[p]++
			:: else
			fi;
			sent!m;
			data!m;
			m = 0 }
	/* rds_path_shut_down(), rds_send_reset(),
	 * rds_cpath_forget_connection()
	 */
	:: d_step { state[p] == RDS_PATH_ERROR && !pf_handshake[p] ->
			state[p] = path_next(state[p], RDS_EV_SHUTDOWN);
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
			open[p] = false;
#ifndef FAULT_KNOWN
			known[p] = false;
#endif
			state[p] = path_next(state[p], RDS_EV_SHUTDOWN_DONE) }
	od
}

/* The connection of a path, and the other end */
proctype wire(byte p; chan sent; chan data; chan frames)
{
end:	do
	/* rds_probe_receive() */
	:: d_step { state[p] == RDS_PATH_UP && len(frames) > 0 ->
			frames?n;
			echo = echo || n;
			n = 0;
			pf_handshake[p] = true }
	/* rds_path_ack_mark(): TCP has it, wherever it waits. */
	:: d_step { state[p] == RDS_PATH_UP && lives[p] && len(sent) > 0 ->
			sent?m;
			acked[m] = true;
			m = 0 }
	/* The other end takes the connection, and sends its frame. */
	:: d_step { lives[p] && !taken[p] && (p == 0 || agreed) ->
			taken[p] = true;
			frames!(p == 0 && tagged) }
	/* rds_deliver() there */
	:: d_step { taken[p] && len(data) > 0 ->
			data?m;
			deliver(p, frames);
			m = 0 }
	/* The connection is lost. The path there delivers first what was
	 * acknowledged. rds_path_drop()
	 */
	:: d_step { resets > 0 && lives[p] ->
			resets--;
			do
			:: len(data) > 0 ->
				data?m;
				if
				:: taken[p] && acked[m] -> deliver(p, frames)
				:: else
				fi
			:: len(data) == 0 -> break
			od;
			do
			:: len(frames) > 0 -> frames?_
			:: len(frames) == 0 -> break
			od;
			m = 0;
			lives[p] = false;
			taken[p] = false;
			state[p] = path_next(state[p], RDS_EV_DROP) }
	od
}

/* sendmsg(): rds_mp_pick(), then rds_send_enqueue() with rds_send_admit() */
active proctype sender()
{
	byte i, on;

	do
	:: i < 2 ->
		on = npaths;
		d_step {
			if
#ifndef FAULT_ADMIT
			:: on != npaths -> skip
#endif
			:: else ->
				if
				:: on == 1 -> queue0!i
				:: else -> queue1!i
				fi;
				next_ticket[on - 1]++;
				i++
			fi;
			on = 0
		}
	:: i == 2 -> break
	od
}

/* The other end learns of two paths, from the frame on path 0. */
active proctype learner()
{
	taken[0] -> agreed = true
}

init {
	atomic {
		run path(0, queue0, sent0, data0);
		run path(1, queue1, sent1, data1);
		run wire(0, sent0, data0, frames0);
		run wire(1, sent1, data1, frames1)
	}
	/* Nothing more can happen. */
	timeout;
	assert(got[0] && got[1])
}
