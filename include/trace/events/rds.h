/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of RDS. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds

#if !defined(_TRACE_RDS_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_RDS_H

#include <linux/tracepoint.h>
#include <net/net_namespace.h>
#include <net/rds/transport.h>

#define RDS_DROP_REASONS					\
	EM(RDS_DROP_NONE,		"none")			\
	EM(RDS_DROP_XMIT_FAILED,	"xmit-failed")		\
	EM(RDS_DROP_PEER_CLOSED,	"peer-closed")		\
	EM(RDS_DROP_PEER_RESET,		"peer-reset")		\
	EM(RDS_DROP_TIMEOUT,		"timeout")		\
	EM(RDS_DROP_UNREACHABLE,	"unreachable")		\
	EM(RDS_DROP_LOCAL_ABORT,	"local-abort")		\
	EM(RDS_DROP_CONNECT_FAILED,	"connect-failed")	\
	EM(RDS_DROP_YIELD,		"yield")		\
	EM(RDS_DROP_RACED,		"raced")		\
	EM(RDS_DROP_PEER_RESTARTED,	"peer-restarted")	\
	EM(RDS_DROP_TUNED,		"tuned")		\
	EM(RDS_DROP_PROTOCOL,		"protocol")		\
	EM(RDS_DROP_OVERSIZED,		"oversized")		\
	EM(RDS_DROP_IDLE,		"idle")			\
	EM(RDS_DROP_UNREGISTER,		"unregister")		\
	EM(RDS_DROP_NET_EXIT,		"net-exit")		\
	EM(RDS_DROP_NO_MEMORY,		"no-memory")		\
	EM(RDS_DROP_REFUSED,		"refused")		\
	EMe(RDS_DROP_SILENT,		"silent")

#define RDS_MSG_FATES						\
	EM(RDS_MSG_CANCELED,		"canceled")		\
	EM(RDS_MSG_CONN_GONE,		"conn-gone")		\
	EM(RDS_MSG_PEER_RESTARTED,	"peer-restarted")	\
	EM(RDS_MSG_OLD_SEQ,		"old-seq")		\
	EM(RDS_MSG_NO_SOCK,		"no-sock")		\
	EM(RDS_MSG_DEAD_SOCK,		"dead-sock")		\
	EM(RDS_MSG_PING_OFF,		"ping-off")		\
	EM(RDS_MSG_OP_FAILED,		"op-failed")		\
	EMe(RDS_MSG_PING_LIMIT,		"ping-limit")

#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);

RDS_DROP_REASONS
RDS_MSG_FATES
TRACE_DEFINE_ENUM(RDS_XMIT_DELIVERED);

#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

#define rds_show_drop(reason)	__print_symbolic(reason, RDS_DROP_REASONS)
#define rds_show_fate(fate)	__print_symbolic(fate, RDS_MSG_FATES)

/* Same numbers as enum rds_path_state and enum rds_path_event */
#define rds_show_state(state)			\
	__print_symbolic(state,			\
			 { 0, "DOWN" },		\
			 { 1, "CONNECTING" },	\
			 { 2, "DISCONNECTING" },	\
			 { 3, "UP" },		\
			 { 4, "ERROR" })

#define rds_show_event(event)			\
	__print_symbolic(event,			\
			 { 0, "connect" },	\
			 { 1, "connected" },	\
			 { 2, "connect-failed" },	\
			 { 3, "drop" },		\
			 { 4, "shutdown" },	\
			 { 5, "shutdown-done" })

DECLARE_EVENT_CLASS(rds_sock_class,
	TP_PROTO(const struct sock *sk, const struct in6_addr *ip, __be16 port),
	TP_ARGS(sk, ip, port),
	TP_STRUCT__entry(
		__field(unsigned long, ino)
		__field(u16, port)
		__array(u8, ip, sizeof(struct in6_addr))
	),
	TP_fast_assign(
		__entry->ino = sock_i_ino((struct sock *)sk);
		__entry->port = ntohs(port);
		memcpy(__entry->ip, ip, sizeof(struct in6_addr));
	),
	TP_printk("ino=%lu addr=%pI6c port=%u",
		  __entry->ino, __entry->ip, __entry->port)
);

DEFINE_EVENT(rds_sock_class, rds_sock_bind,
	TP_PROTO(const struct sock *sk, const struct in6_addr *ip, __be16 port),
	TP_ARGS(sk, ip, port));

DEFINE_EVENT(rds_sock_class, rds_sock_release,
	TP_PROTO(const struct sock *sk, const struct in6_addr *ip, __be16 port),
	TP_ARGS(sk, ip, port));

DECLARE_EVENT_CLASS(rds_msg_class,
	TP_PROTO(const struct rds_path *path, const struct rds_message *msg,
		 int detail),
	TP_ARGS(path, msg, detail),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, index)
		__field(u8, flags)
		__field(int, detail)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &path->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->faddr, sizeof(struct in6_addr));
		__entry->seq = msg->m_seq;
		__entry->len = msg->m_payload.len;
		__entry->sport = ntohs(msg->m_sport);
		__entry->dport = ntohs(msg->m_dport);
		__entry->index = path->index;
		__entry->flags = msg->m_flags;
		__entry->detail = detail;
	),
	TP_printk("%pI6c:%u > %pI6c:%u path=%u seq=%llu len=%u flags=0x%x%s",
		  __entry->laddr, __entry->sport, __entry->faddr,
		  __entry->dport, __entry->index, __entry->seq, __entry->len,
		  __entry->flags,
		  __entry->detail == RDS_XMIT_DELIVERED ? " delivered" : "")
);

DEFINE_EVENT(rds_msg_class, rds_msg_xmit,
	TP_PROTO(const struct rds_path *path, const struct rds_message *msg,
		 int detail),
	TP_ARGS(path, msg, detail));

DEFINE_EVENT(rds_msg_class, rds_msg_queue,
	TP_PROTO(const struct rds_path *path, const struct rds_message *msg,
		 int detail),
	TP_ARGS(path, msg, detail));

DEFINE_EVENT(rds_msg_class, rds_msg_ack,
	TP_PROTO(const struct rds_path *path, const struct rds_message *msg,
		 int detail),
	TP_ARGS(path, msg, detail));

TRACE_EVENT(rds_msg_drop,
	TP_PROTO(const struct rds_path *path, const struct rds_message *msg,
		 enum rds_msg_fate fate),
	TP_ARGS(path, msg, fate),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(int, fate)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &path->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->faddr, sizeof(struct in6_addr));
		__entry->seq = msg->m_seq;
		__entry->len = msg->m_payload.len;
		__entry->sport = ntohs(msg->m_sport);
		__entry->dport = ntohs(msg->m_dport);
		__entry->fate = fate;
	),
	TP_printk("%pI6c:%u > %pI6c:%u seq=%llu len=%u reason=%s",
		  __entry->laddr, __entry->sport, __entry->faddr,
		  __entry->dport, __entry->seq, __entry->len,
		  rds_show_fate(__entry->fate))
);

DECLARE_EVENT_CLASS(rds_inc_class,
	TP_PROTO(const struct rds_path *path, const struct rds_incoming *inc,
		 int fate),
	TP_ARGS(path, inc, fate),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u64, seq)
		__field(u32, len)
		__field(u16, sport)
		__field(u16, dport)
		__field(u8, index)
		__field(u8, flags)
		__field(int, fate)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &path->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->faddr, sizeof(struct in6_addr));
		__entry->seq = inc->i_seq;
		__entry->len = inc->i_len;
		__entry->sport = ntohs(inc->i_sport);
		__entry->dport = ntohs(inc->i_dport);
		__entry->index = path->index;
		__entry->flags = inc->i_flags;
		__entry->fate = fate;
	),
	TP_printk("%pI6c:%u < %pI6c:%u path=%u seq=%llu len=%u flags=0x%x%s%s",
		  __entry->laddr, __entry->dport, __entry->faddr,
		  __entry->sport, __entry->index, __entry->seq, __entry->len,
		  __entry->flags, __entry->fate < 0 ? "" : " reason=",
		  __entry->fate < 0 ? "" : rds_show_fate(__entry->fate))
);

DEFINE_EVENT(rds_inc_class, rds_deliver,
	TP_PROTO(const struct rds_path *path, const struct rds_incoming *inc,
		 int fate),
	TP_ARGS(path, inc, fate));

DEFINE_EVENT(rds_inc_class, rds_recv_drop,
	TP_PROTO(const struct rds_path *path, const struct rds_incoming *inc,
		 int fate),
	TP_ARGS(path, inc, fate));

TRACE_EVENT(rds_path_state,
	TP_PROTO(const struct rds_path *path, int from, int to, int event),
	TP_ARGS(path, from, to, event),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u8, index)
		__field(u8, from)
		__field(u8, to)
		__field(u8, event)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &path->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->faddr, sizeof(struct in6_addr));
		__entry->index = path->index;
		__entry->from = from;
		__entry->to = to;
		__entry->event = event;
	),
	TP_printk("%pI6c > %pI6c path=%u %s -> %s on %s",
		  __entry->laddr, __entry->faddr, __entry->index,
		  rds_show_state(__entry->from), rds_show_state(__entry->to),
		  rds_show_event(__entry->event))
);

TRACE_EVENT(rds_path_drop,
	TP_PROTO(const struct rds_path *path, enum rds_drop_reason reason),
	TP_ARGS(path, reason),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u8, index)
		__field(int, reason)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &path->laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &path->faddr, sizeof(struct in6_addr));
		__entry->index = path->index;
		__entry->reason = reason;
	),
	TP_printk("%pI6c > %pI6c path=%u reason=%s",
		  __entry->laddr, __entry->faddr, __entry->index,
		  rds_show_drop(__entry->reason))
);

TRACE_EVENT(rds_cong,
	TP_PROTO(const struct in6_addr *ip, __be16 port, bool congested),
	TP_ARGS(ip, port, congested),
	TP_STRUCT__entry(
		__array(u8, ip, sizeof(struct in6_addr))
		__field(u16, port)
		__field(bool, congested)
	),
	TP_fast_assign(
		memcpy(__entry->ip, ip, sizeof(struct in6_addr));
		__entry->port = ntohs(port);
		__entry->congested = congested;
	),
	TP_printk("%pI6c:%u %s", __entry->ip, __entry->port,
		  __entry->congested ? "congested" : "free")
);

#endif /* _TRACE_RDS_H */

#include <trace/define_trace.h>
