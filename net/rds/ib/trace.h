/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of RDS over InfiniBand verbs, see Documentation/tracing.rst. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rds_ib

#if !defined(_RDS_IB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _RDS_IB_TRACE_H

#include <linux/tracepoint.h>
#include <trace/misc/rdma.h>

#include "compat.h"
#include "ib.h"

#define RDS_IB_STATE_NAMES					\
	EM(RDS_IB_IDLE,			"IDLE")			\
	EM(RDS_IB_RESOLVING,		"RESOLVING")		\
	EM(RDS_IB_DIALING,		"DIALING")		\
	EM(RDS_IB_OFFERED,		"OFFERED")		\
	EM(RDS_IB_ACCEPTING,		"ACCEPTING")		\
	EM(RDS_IB_UP,			"UP")			\
	EMe(RDS_IB_CLOSED,		"CLOSED")

#define RDS_IB_WR_KINDS						\
	EM(RDS_IB_WR_SEND,		"send")			\
	EM(RDS_IB_WR_READ,		"read")			\
	EM(RDS_IB_WR_WRITE,		"write")		\
	EM(RDS_IB_WR_ATOMIC,		"atomic")		\
	EM(RDS_IB_WR_ACK,		"ack")			\
	EM(RDS_IB_WR_RECV,		"recv")			\
	EMe(RDS_IB_WR_REG,		"reg")

#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);

RDS_IB_STATE_NAMES
RDS_IB_WR_KINDS

#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

#define rds_ib_show_state(state)			\
	__print_symbolic(state, RDS_IB_STATE_NAMES)
#define rds_ib_show_wr(kind)				\
	__print_symbolic(kind, RDS_IB_WR_KINDS)

TRACE_EVENT(rds_ib_cm_event,
	TP_PROTO(const struct rdma_cm_id *id, const struct rdma_cm_event *event,
		 u32 qpn, int state),
	TP_ARGS(id, event, qpn, state),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u32, qp)
		__field(int, event)
		__field(int, status)
		__field(u8, state)
	),
	TP_fast_assign(
		memset(__entry->laddr, 0, sizeof(struct in6_addr));
		memset(__entry->faddr, 0, sizeof(struct in6_addr));
		rds_ib_sockaddr_read(&id->route.addr.src_addr,
				     (struct in6_addr *)__entry->laddr);
		rds_ib_sockaddr_read(&id->route.addr.dst_addr,
				     (struct in6_addr *)__entry->faddr);
		__entry->qp = qpn;
		__entry->event = event->event;
		__entry->status = event->status;
		__entry->state = state;
	),
	TP_printk("%pI6c > %pI6c qp=%u event=%s status=%d state=%s",
		  __entry->laddr, __entry->faddr, __entry->qp,
		  rdma_show_cm_event(__entry->event), __entry->status,
		  rds_ib_show_state(__entry->state))
);

TRACE_EVENT(rds_ib_state,
	TP_PROTO(const struct rds_ib_conn *ic, int from, int to),
	TP_ARGS(ic, from, to),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u8, tos)
		__field(u32, qp)
		__field(u8, from)
		__field(u8, to)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &ic->ic_request.laddr,
		       sizeof(struct in6_addr));
		memcpy(__entry->faddr, &ic->ic_request.faddr,
		       sizeof(struct in6_addr));
		__entry->tos = ic->ic_request.tos;
		__entry->qp = ic->ic_qpn;
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%pI6c > %pI6c tos=%u qp=%u %s -> %s",
		  __entry->laddr, __entry->faddr, __entry->tos, __entry->qp,
		  rds_ib_show_state(__entry->from),
		  rds_ib_show_state(__entry->to))
);

/* @ic is NULL for a work request of the registration QP. */
TRACE_EVENT(rds_ib_wc_error,
	TP_PROTO(const struct rds_ib_conn *ic, u32 qp, enum rds_ib_wr_kind kind,
		 enum ib_wc_status status, u32 vendor_err),
	TP_ARGS(ic, qp, kind, status, vendor_err),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u32, qp)
		__field(u8, kind)
		__field(int, status)
		__field(u32, vendor_err)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, ic ? &ic->ic_request.laddr :
		       &in6addr_any, sizeof(struct in6_addr));
		memcpy(__entry->faddr, ic ? &ic->ic_request.faddr :
		       &in6addr_any, sizeof(struct in6_addr));
		__entry->qp = qp;
		__entry->kind = kind;
		__entry->status = status;
		__entry->vendor_err = vendor_err;
	),
	TP_printk("%pI6c > %pI6c qp=%u wr=%s status=%s vendor_err=0x%x",
		  __entry->laddr, __entry->faddr, __entry->qp,
		  rds_ib_show_wr(__entry->kind),
		  rdma_show_wc_status(__entry->status), __entry->vendor_err)
);

DECLARE_EVENT_CLASS(rds_ib_stall_class,
	TP_PROTO(const struct rds_ib_conn *ic),
	TP_ARGS(ic),
	TP_STRUCT__entry(
		__array(u8, laddr, sizeof(struct in6_addr))
		__array(u8, faddr, sizeof(struct in6_addr))
		__field(u32, qp)
		__field(bool, limited)
		__field(u32, credits)
		__field(u32, slots)
	),
	TP_fast_assign(
		memcpy(__entry->laddr, &ic->ic_request.laddr,
		       sizeof(struct in6_addr));
		memcpy(__entry->faddr, &ic->ic_request.faddr,
		       sizeof(struct in6_addr));
		__entry->qp = ic->ic_qpn;
		__entry->limited = ic->ic_credits.cr_limited;
		__entry->credits = READ_ONCE(ic->ic_credits.cr_send);
		__entry->slots = rds_ib_ring_room(&ic->ic_tx.tx_ring);
	),
	TP_printk("%pI6c > %pI6c qp=%u limited=%d credits=%u slots=%u",
		  __entry->laddr, __entry->faddr, __entry->qp,
		  __entry->limited, __entry->credits, __entry->slots)
);

DEFINE_EVENT(rds_ib_stall_class, rds_ib_tx_stall,
	TP_PROTO(const struct rds_ib_conn *ic), TP_ARGS(ic));

DEFINE_EVENT(rds_ib_stall_class, rds_ib_tx_unstall,
	TP_PROTO(const struct rds_ib_conn *ic), TP_ARGS(ic));

DECLARE_EVENT_CLASS(rds_ib_mr_class,
	TP_PROTO(const struct rds_ib_device *d, u32 rkey, u64 len, u32 npages,
		 int err),
	TP_ARGS(d, rkey, len, npages, err),
	TP_STRUCT__entry(
		__string(dev, dev_name(&d->dv_dev->dev))
		__field(u32, rkey)
		__field(u64, len)
		__field(u32, npages)
		__field(int, err)
	),
	TP_fast_assign(
		rds_assign_str(dev, dev_name(&d->dv_dev->dev));
		__entry->rkey = rkey;
		__entry->len = len;
		__entry->npages = npages;
		__entry->err = err;
	),
	TP_printk("dev=%s rkey=0x%x len=%llu npages=%u err=%d",
		  __get_str(dev), __entry->rkey, __entry->len, __entry->npages,
		  __entry->err)
);

DEFINE_EVENT(rds_ib_mr_class, rds_ib_mr_map,
	TP_PROTO(const struct rds_ib_device *d, u32 rkey, u64 len, u32 npages,
		 int err),
	TP_ARGS(d, rkey, len, npages, err));

DEFINE_EVENT(rds_ib_mr_class, rds_ib_mr_unmap,
	TP_PROTO(const struct rds_ib_device *d, u32 rkey, u64 len, u32 npages,
		 int err),
	TP_ARGS(d, rkey, len, npages, err));

DEFINE_EVENT(rds_ib_mr_class, rds_ib_mr_invalidate,
	TP_PROTO(const struct rds_ib_device *d, u32 rkey, u64 len, u32 npages,
		 int err),
	TP_ARGS(d, rkey, len, npages, err));

DECLARE_EVENT_CLASS(rds_ib_device_class,
	TP_PROTO(const struct ib_device *dev, int err),
	TP_ARGS(dev, err),
	TP_STRUCT__entry(
		__string(dev, dev_name(&dev->dev))
		__field(int, err)
	),
	TP_fast_assign(
		rds_assign_str(dev, dev_name(&dev->dev));
		__entry->err = err;
	),
	TP_printk("dev=%s err=%d", __get_str(dev), __entry->err)
);

DEFINE_EVENT(rds_ib_device_class, rds_ib_device_add,
	TP_PROTO(const struct ib_device *dev, int err), TP_ARGS(dev, err));

DEFINE_EVENT(rds_ib_device_class, rds_ib_device_remove,
	TP_PROTO(const struct ib_device *dev, int err), TP_ARGS(dev, err));

DEFINE_EVENT(rds_ib_device_class, rds_ib_device_gone,
	TP_PROTO(const struct ib_device *dev, int err), TP_ARGS(dev, err));

#endif /* _RDS_IB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
