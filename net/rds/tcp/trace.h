/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of RDS over TCP, see Documentation/tracing.rst. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds_tcp

#if !defined(_RDS_TCP_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RDS_TCP_TRACE_H

#include <linux/tracepoint.h>
#include <net/inet_sock.h>
#include <net/tcp.h>

#include "end.h"
#include "tcp.h"

#define RDS_TCP_ENDS						\
	EM(RDS_TCP_END_OFFERED,		"offered")		\
	EM(RDS_TCP_END_LOCAL,		"local")		\
	EM(RDS_TCP_END_KNOCK,		"knock")		\
	EM(RDS_TCP_END_NO_MEMORY,	"no-memory")		\
	EM(RDS_TCP_END_PEER_LIMIT,	"peer-limit")		\
	EM(RDS_TCP_END_FULL,		"full")			\
	EM(RDS_TCP_END_CLOSED,		"closed")		\
	EM(RDS_TCP_END_OVERSIZED,	"oversized")		\
	EM(RDS_TCP_END_SILENT,		"silent")		\
	EM(RDS_TCP_END_NO_PATH,		"no-path")		\
	EM(RDS_TCP_END_LATE,		"late")			\
	EM(RDS_TCP_END_STOPPED,		"stopped")		\
	EMe(RDS_TCP_END_PATH_GONE,	"path-gone")

#define RDS_TCP_STATES						\
	EM(TCP_ESTABLISHED,		"ESTABLISHED")		\
	EM(TCP_SYN_SENT,		"SYN_SENT")		\
	EM(TCP_FIN_WAIT1,		"FIN_WAIT1")		\
	EM(TCP_FIN_WAIT2,		"FIN_WAIT2")		\
	EM(TCP_TIME_WAIT,		"TIME_WAIT")		\
	EM(TCP_CLOSE,			"CLOSE")		\
	EM(TCP_CLOSE_WAIT,		"CLOSE_WAIT")		\
	EM(TCP_LAST_ACK,		"LAST_ACK")		\
	EMe(TCP_CLOSING,		"CLOSING")

#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);

RDS_TCP_ENDS
RDS_TCP_STATES

#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

#define rds_tcp_show_end(end)		__print_symbolic(end, RDS_TCP_ENDS)
#define rds_tcp_show_state(state)	__print_symbolic(state, RDS_TCP_STATES)

/* The socket of a path, which the caller has locked. A socket that is about to
 * dial does not have the peer's port yet, but that port is always the same.
 */
DECLARE_EVENT_CLASS(rds_tcp_sock_class,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u16, lport)
		__field(u16, fport)
		__field(u8, index)
		__field(bool, dialed)
		__field(u8, state)
		__field(int, err)
		__field(u32, unread)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &tp->tp_path->laddr,
		       sizeof(struct in6_addr));
		memcpy(__entry->faddr, &tp->tp_path->faddr,
		       sizeof(struct in6_addr));
		__entry->lport = ntohs(inet_sk(sk)->inet_sport);
		__entry->fport = tp->tp_dialed ? RDS_TCP_PORT :
				 ntohs(inet_sk(sk)->inet_dport);
		__entry->index = tp->tp_path->index;
		__entry->dialed = tp->tp_dialed;
		__entry->state = sk->sk_state;
		__entry->err = err;
		__entry->unread = tcp_inq(sk);
	),
	TP_printk("[%pI6c]:%u > [%pI6c]:%u path=%u %s state=%s err=%d unread=%u",
		  __entry->laddr, __entry->lport, __entry->faddr,
		  __entry->fport, __entry->index,
		  __entry->dialed ? "dialed" : "accepted",
		  rds_tcp_show_state(__entry->state), __entry->err,
		  __entry->unread)
);

DEFINE_EVENT(rds_tcp_sock_class, rds_tcp_attach,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err));

DEFINE_EVENT(rds_tcp_sock_class, rds_tcp_detach,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err));

DEFINE_EVENT(rds_tcp_sock_class, rds_tcp_rx_pause,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err));

DEFINE_EVENT(rds_tcp_sock_class, rds_tcp_rx_resume,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err));

DEFINE_EVENT(rds_tcp_sock_class, rds_tcp_send_error,
	TP_PROTO(const struct rds_tcp_path *tp, struct sock *sk, int err),
	TP_ARGS(tp, sk, err));

/* A connection that a peer has made, and that no path has taken */
DECLARE_EVENT_CLASS(rds_tcp_accept_class,
	TP_PROTO(const struct sock *sk, enum rds_tcp_end reason, int err,
		 unsigned long since),
	TP_ARGS(sk, reason, err, since),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u16, fport)
		__field(u8, reason)
		__field(int, err)
		__field(u32, age_ms)
	),
	TP_fast_assign(
		rds_tcp_addrs(sk, (struct in6_addr *)__entry->laddr,
			      (struct in6_addr *)__entry->faddr);
		__entry->fport = ntohs(inet_sk(sk)->inet_dport);
		__entry->reason = reason;
		__entry->err = err;
		__entry->age_ms = jiffies_to_msecs(jiffies - since);
	),
	TP_printk("%pI6c < [%pI6c]:%u reason=%s err=%d age_ms=%u",
		  __entry->laddr, __entry->faddr, __entry->fport,
		  rds_tcp_show_end(__entry->reason), __entry->err,
		  __entry->age_ms)
);

DEFINE_EVENT(rds_tcp_accept_class, rds_tcp_refuse,
	TP_PROTO(const struct sock *sk, enum rds_tcp_end reason, int err,
		 unsigned long since),
	TP_ARGS(sk, reason, err, since));

DEFINE_EVENT(rds_tcp_accept_class, rds_tcp_pending_end,
	TP_PROTO(const struct sock *sk, enum rds_tcp_end reason, int err,
		 unsigned long since),
	TP_ARGS(sk, reason, err, since));

#endif /* _RDS_TCP_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
