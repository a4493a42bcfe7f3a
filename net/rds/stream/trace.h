/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of streams, see Documentation/tracing.rst. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds_stream

#if !defined(_RDS_STREAM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RDS_STREAM_TRACE_H

#include <linux/tracepoint.h>
#include <net/rds/frame.h>

#include "stream.h"

#define RDS_STREAM_STATES_SHOWN					\
	EM(RDS_STREAM_IDLE,		"IDLE")			\
	EM(RDS_STREAM_LISTEN,		"LISTEN")		\
	EM(RDS_STREAM_ASKING,		"ASKING")		\
	EM(RDS_STREAM_REQUESTED,	"REQUESTED")		\
	EM(RDS_STREAM_OPEN,		"OPEN")			\
	EMe(RDS_STREAM_ENDED,		"ENDED")

#define RDS_STREAM_EVENTS_SHOWN					\
	EM(RDS_STREAM_EV_LISTEN,	"listen")		\
	EM(RDS_STREAM_EV_CONNECT,	"connect")		\
	EM(RDS_STREAM_EV_KNOWN,		"known")		\
	EM(RDS_STREAM_EV_AGAIN,		"again")		\
	EM(RDS_STREAM_EV_RESPONSE,	"response")		\
	EM(RDS_STREAM_EV_ACCEPT,	"accept")		\
	EM(RDS_STREAM_EV_FAIL,		"fail")			\
	EM(RDS_STREAM_EV_CLOSE,		"close")		\
	EMe(RDS_STREAM_EV_DISCONNECT,	"disconnect")

#define RDS_FRAME_OPS_SHOWN					\
	EM(RDS_FRAME_REQUEST,		"REQUEST")		\
	EM(RDS_FRAME_RESPONSE,		"RESPONSE")		\
	EM(RDS_FRAME_RST,		"RST")			\
	EM(RDS_FRAME_SHUTDOWN,		"SHUTDOWN")		\
	EM(RDS_FRAME_RW,		"RW")			\
	EM(RDS_FRAME_CREDIT_UPDATE,	"CREDIT_UPDATE")	\
	EM(RDS_FRAME_CREDIT_REQUEST,	"CREDIT_REQUEST")	\
	EM(RDS_FRAME_BUSY,		"BUSY")			\
	EM(RDS_FRAME_MAP,		"MAP")			\
	EMe(RDS_FRAME_PUT,		"PUT")

#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);

RDS_STREAM_STATES_SHOWN
RDS_STREAM_EVENTS_SHOWN
RDS_FRAME_OPS_SHOWN

#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

#define rds_stream_show_state(state)				\
	__print_symbolic(state, RDS_STREAM_STATES_SHOWN)
#define rds_stream_show_event(event)				\
	__print_symbolic(event, RDS_STREAM_EVENTS_SHOWN)
#define rds_stream_show_op(op)	__print_symbolic(op, RDS_FRAME_OPS_SHOWN)

/* st_lock is held. Names are zero before the stream has them. */
TRACE_EVENT(rds_stream_state,
	TP_PROTO(const struct rds_stream *st, enum rds_stream_state from,
		 enum rds_stream_event event),
	TP_ARGS(st, from, event),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u16, lport)
		__field(u16, fport)
		__field(u32, id)
		__field(u8, from)
		__field(u8, to)
		__field(u8, event)
		__field(int, err)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &st->st_local.ip,
		       sizeof(struct in6_addr));
		memcpy(__entry->faddr, &st->st_peer.ip,
		       sizeof(struct in6_addr));
		__entry->lport = ntohs(st->st_local.port);
		__entry->fport = ntohs(st->st_peer.port);
		__entry->id = st->st_id;
		__entry->from = from;
		__entry->to = st->st_state;
		__entry->event = event;
		__entry->err = -READ_ONCE(st->st_sk.sk_err);
	),
	TP_printk("[%pI6c]:%u > [%pI6c]:%u id=%08x %s > %s event=%s err=%d",
		  __entry->laddr, __entry->lport, __entry->faddr,
		  __entry->fport, __entry->id,
		  rds_stream_show_state(__entry->from),
		  rds_stream_show_state(__entry->to),
		  rds_stream_show_event(__entry->event), __entry->err)
);

DECLARE_EVENT_CLASS(rds_stream_frame_class,
	TP_PROTO(const struct rds_conn *conn, __be16 lport, __be16 fport,
		 const u8 *exthdr, u32 len),
	TP_ARGS(conn, lport, fport, exthdr, len),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u16, lport)
		__field(u16, fport)
		__field(u32, id)
		__field(u32, len)
		__field(u32, fwd)
		__field(u32, buf)
		__field(u8, op)
		__field(u8, flags)
		__field(u8, arg)
	),
	TP_fast_assign(
		struct rds_upper_names names;
		struct rds_frame frame = {};

		rds_upper_names(conn, &names);
		rds_frame_read(exthdr, &frame);
		memcpy(__entry->laddr, &names.laddr, sizeof(struct in6_addr));
		memcpy(__entry->faddr, &names.faddr, sizeof(struct in6_addr));
		__entry->lport = ntohs(lport);
		__entry->fport = ntohs(fport);
		__entry->id = frame.id;
		__entry->len = len;
		__entry->fwd = frame.fwd;
		__entry->buf = frame.buf;
		__entry->op = frame.op;
		__entry->flags = frame.flags;
		__entry->arg = frame.arg;
	),
	TP_printk("[%pI6c]:%u > [%pI6c]:%u id=%08x %s len=%u flags=%#x arg=%u fwd=%u buf=%u",
		  __entry->laddr, __entry->lport, __entry->faddr,
		  __entry->fport, __entry->id,
		  rds_stream_show_op(__entry->op), __entry->len,
		  __entry->flags, __entry->arg, __entry->fwd, __entry->buf)
);

DEFINE_EVENT(rds_stream_frame_class, rds_stream_frame_out,
	TP_PROTO(const struct rds_conn *conn, __be16 lport, __be16 fport,
		 const u8 *exthdr, u32 len),
	TP_ARGS(conn, lport, fport, exthdr, len));

DEFINE_EVENT(rds_stream_frame_class, rds_stream_frame_in,
	TP_PROTO(const struct rds_conn *conn, __be16 lport, __be16 fport,
		 const u8 *exthdr, u32 len),
	TP_ARGS(conn, lport, fport, exthdr, len));

#endif /* _RDS_STREAM_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
