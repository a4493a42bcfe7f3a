/* SPDX-License-Identifier: GPL-2.0-only */
/* The contract, continued: messages, sent and received. */
#ifndef _NET_RDS_MESSAGE_H
#define _NET_RDS_MESSAGE_H

#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/in6.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <net/rds/wire.h>

struct module;
struct rds_incoming;
struct rds_op;
struct rds_path;
struct rds_sock;
struct sock;
struct rds_loan;

/**
 * enum rds_msg_fate - why a message was dropped instead of delivered
 * @RDS_MSG_CANCELED: its socket gave it up: RDS_CANCEL_SENT_TO or close()
 * @RDS_MSG_CONN_GONE: its connection was destroyed
 * @RDS_MSG_PEER_RESTARTED: it was meant for an earlier incarnation of the peer
 * @RDS_MSG_OLD_SEQ: it is a duplicate
 * @RDS_MSG_NO_SOCK: no socket is bound to its destination port
 * @RDS_MSG_DEAD_SOCK: the receiving socket was being closed
 * @RDS_MSG_PING_OFF: it is a ping, and net.rds.ping_enable is off
 * @RDS_MSG_OP_FAILED: the software RDMA write that precedes it failed
 * @RDS_MSG_PING_LIMIT: it is a ping, and too many pongs wait on the path
 */
enum rds_msg_fate {
	RDS_MSG_CANCELED,
	RDS_MSG_CONN_GONE,
	RDS_MSG_PEER_RESTARTED,
	RDS_MSG_OLD_SEQ,
	RDS_MSG_NO_SOCK,
	RDS_MSG_DEAD_SOCK,
	RDS_MSG_PING_OFF,
	RDS_MSG_OP_FAILED,
	RDS_MSG_PING_LIMIT,
};

/**
 * enum rds_payload_kind - type of memory that holds a payload
 * @RDS_PAYLOAD_EMPTY: no memory
 * @RDS_PAYLOAD_INLINE: bytes inside the allocation of the payload's owner
 * @RDS_PAYLOAD_KERNEL: pages of the page allocator
 * @RDS_PAYLOAD_USER: the sender's own pages, which it may write to at any time;
 *	only for transports with %RDS_CAP_ZEROCOPY or %RDS_CAP_ZEROCOPY_STRETCH
 */
enum rds_payload_kind {
	RDS_PAYLOAD_EMPTY,
	RDS_PAYLOAD_INLINE,
	RDS_PAYLOAD_KERNEL,
	RDS_PAYLOAD_USER,
};

/**
 * struct rds_payload - payload of a message
 * @kind: type of its memory, which decides how core releases it
 * @nr: entries of @bvec in use
 * @len: length in bytes
 * @data: the bytes (%RDS_PAYLOAD_INLINE). This is slab memory: copy it, never
 *	splice it.
 * @bvec: the memory. %RDS_PAYLOAD_KERNEL: pages, which may be compound; all but
 *	the last are full. %RDS_PAYLOAD_USER: pieces of pages, of any size.
 */
struct rds_payload {
	enum rds_payload_kind	kind;
	unsigned int		nr;
	u32			len;
	union {
		u8		*data;
		struct bio_vec	*bvec;
	};
};

/**
 * struct rds_incoming_ops - how to read and free a received message
 */
struct rds_incoming_ops {
	/**
	 * @owner: module of the two functions, or NULL for core itself. Core
	 * pins it while a message is queued.
	 */
	struct module	*owner;

	/**
	 * @copy: Required. Copy @len bytes of the payload, from @offset on,
	 * into @to. The payload has as many bytes. Do not consume the message.
	 *
	 * Context: Process context, may sleep, if @to is user memory; any
	 * context otherwise. No locks.
	 * Return: 0 if all @len bytes were copied; -EFAULT otherwise, and the
	 * message stays readable.
	 */
	int (*copy)(struct rds_incoming *inc, u32 offset, u32 len,
		    struct iov_iter *to);

	/**
	 * @free: Required. Free the message. The last reference is gone.
	 *
	 * Context: Any context, including softirq. No locks of core are held.
	 */
	void (*free)(struct rds_incoming *inc);
};

/* Receive path time stamps, see SO_RDS_MSG_RXPATH_LATENCY in rds(7). */
enum rds_rx_stamp {
	RDS_RX_STAMP_HDR,	/* header received */
	RDS_RX_STAMP_START,	/* first payload received */
	RDS_RX_STAMP_END,	/* message complete */
	RDS_RX_STAMP_DELIVERED,	/* taken by recvmsg() */
	RDS_RX_STAMPS
};

/**
 * struct rds_incoming - a received message
 * @i_ops: how to read and free it
 * @i_seq: its sequence number on the path
 * @i_len: bytes of payload
 * @i_truesize: bytes of memory that the message keeps allocated
 * @i_sport: sending port
 * @i_dport: receiving port
 * @i_flags: bits of enum rds_wire_flag
 * @i_exthdr: extension headers
 * @i_stamps: local_clock() at each enum rds_rx_stamp. If the transport leaves
 *	the first at 0, core stamps the message when it is delivered, provided
 *	that a socket has asked for latencies.
 *
 * A transport embeds this structure in its own, initializes it by
 * rds_incoming_init(), and passes its reference to rds_deliver().
 */
struct rds_incoming {
	const struct rds_incoming_ops *i_ops;
	u64			i_seq;
	u32			i_len;
	u32			i_truesize;
	__be16			i_sport;
	__be16			i_dport;
	u8			i_flags;
	u8			i_exthdr[RDS_EXTHDR_SPACE];
	u64			i_stamps[RDS_RX_STAMPS];
	/* private: core's own */
	struct rds_path		*i_path;
	u8			i_tos;
	bool			i_charged;
	int			i_ifindex;
	refcount_t		i_refs;
	struct list_head	i_item;
	struct in6_addr		i_saddr;
	ktime_t			i_tstamp;
};

/**
 * struct rds_message - an outgoing message, as far as a transport reads it
 * @m_seq: its sequence number on the path; 0 until core picks it to be sent
 * @m_sport: sending port
 * @m_dport: receiving port
 * @m_flags: bits of enum rds_wire_flag; stable while the message is being sent
 * @m_exthdr: extension headers
 * @m_payload: the payload
 * @m_loan: while it is referenced, core does not notify the sender that its
 *	pages are free again (%RDS_PAYLOAD_USER); see loan.h
 * @m_op: operation to do before the message is sent, see rds_op_outlook(). If
 *	the transport has no &rds_rdma_ops, core does the operation, and the
 *	transport ignores this field.
 * @m_mark: the transport's own, if it passes acks on by rds_path_ack_mark():
 *	position in the byte stream where the message ends. It must be set
 *	before the last byte of the message can be acknowledged.
 *
 * The transport borrows the message during data_ops.xmit(). The payload stays
 * unchanged until rds_path_ack() covers @m_seq, unless the sender cancels the
 * message. If the transport needs the payload beyond that ack, or after xmit()
 * has returned even if the message is canceled, it takes a reference: by
 * rds_message_get(), or on the pages. If the pages are the sender's
 * (%RDS_PAYLOAD_USER), a reference on them is not enough: the transport takes
 * one on @m_loan, too. It must not give such pages to a reader on this host,
 * only a copy of them.
 */
struct rds_message {
	u64			m_seq;
	__be16			m_sport;
	__be16			m_dport;
	u8			m_flags;
	u8			m_exthdr[RDS_EXTHDR_SPACE];
	struct rds_payload	m_payload;
	struct rds_loan		*m_loan;
	struct rds_op		*m_op;
	u32			m_mark;
	/* private: core's own */
	refcount_t		m_refs;
	u64			m_ticket;
	bool			m_on_path;
	bool			m_on_sock;
	bool			m_canceled;
	bool			m_lost;
	bool			m_passed;
	u8			m_kind;
	bool			m_want_ack;
	u32			m_epoch;
	union {
		struct list_head	m_path_item;
		struct llist_node	m_pong;
	};
	struct list_head	m_sock_item;
	union {
		struct rds_sock	*m_rs;
		void		*m_owner;
	};
	struct rds_path		*m_path;
	struct rds_incoming	m_inc;
};

/**
 * struct rds_rx_batch - deliveries that share their wake-ups
 * @sk: private: the socket to wake next; the batch holds a reference
 *
 * A batch begins zeroed, in deliver context, and ends by rds_rx_batch_end() in
 * the same context.
 */
struct rds_rx_batch {
	struct sock *sk;
};

/**
 * rds_message_get() - Take another reference to a message
 * @msg: the message; the caller holds or borrows a reference
 *
 * Context: Any context.
 * Return: @msg.
 */
static inline struct rds_message *rds_message_get(struct rds_message *msg)
{
	refcount_inc(&msg->m_refs);
	return msg;
}

/**
 * rds_message_header() - Build the wire header of a message
 * @msg: the message
 * @ack: value of h_ack
 * @hdr: the header to fill in; initialized completely, without checksum or
 *	credits
 *
 * A header is built for each attempt to send, so that no earlier attempt shares
 * it (RDS Wire Specification 3.1, "RDS 3.1 header").
 *
 * Context: Any context. The path's transmit lock is held.
 */
static inline void rds_message_header(const struct rds_message *msg, u64 ack,
				      struct rds_header *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->h_sequence = cpu_to_be64(msg->m_seq);
	hdr->h_ack = cpu_to_be64(ack);
	hdr->h_len = cpu_to_be32(msg->m_payload.len);
	hdr->h_sport = msg->m_sport;
	hdr->h_dport = msg->m_dport;
	hdr->h_flags = msg->m_flags;
	memcpy(hdr->h_exthdr, msg->m_exthdr, sizeof(hdr->h_exthdr));
}

/**
 * rds_incoming_init() - Initialize a received message from its header
 * @inc: the message; part of the transport's own structure
 * @ops: functions to read and free the message
 * @hdr: the header; the caller has checked that its length fits the payload
 * @truesize: bytes of memory that the message keeps from being freed
 *
 * Context: Any context.
 */
static inline void rds_incoming_init(struct rds_incoming *inc,
				     const struct rds_incoming_ops *ops,
				     const struct rds_header *hdr,
				     u32 truesize)
{
	inc->i_ops = ops;
	inc->i_seq = be64_to_cpu(hdr->h_sequence);
	inc->i_len = be32_to_cpu(hdr->h_len);
	inc->i_truesize = truesize;
	inc->i_sport = hdr->h_sport;
	inc->i_dport = hdr->h_dport;
	inc->i_flags = hdr->h_flags;
	memcpy(inc->i_exthdr, hdr->h_exthdr, sizeof(inc->i_exthdr));
	memset(inc->i_stamps, 0, sizeof(inc->i_stamps));
	inc->i_path = NULL;
	refcount_set(&inc->i_refs, 1);
}

/**
 * rds_copy_page_to_iter() - Copy a part of a page that was received
 * @page: the page, perhaps the first of several that are contiguous
 * @offset: first byte to copy
 * @bytes: number of bytes to copy
 * @to: the destination
 *
 * Unlike copy_page_to_iter(), this copies contiguous pages in one step, and
 * does not give the page itself to a pipe, which would take it for one of the
 * page cache (before 6.5).
 *
 * Context: Process context, may sleep, if @to is user memory; any context
 * otherwise.
 * Return: the number of bytes copied; fewer than @bytes after a fault.
 */
static inline size_t rds_copy_page_to_iter(struct page *page, size_t offset,
					   size_t bytes, struct iov_iter *to)
{
	size_t done = 0, part, got;
	void *from;

	if (likely(!PageHighMem(page)))
		return copy_to_iter(page_address(page) + offset, bytes, to);

	while (done < bytes) {
		part = min(bytes - done, PAGE_SIZE - offset_in_page(offset));
		from = kmap_local_page(page + offset / PAGE_SIZE);
		got = copy_to_iter(from + offset_in_page(offset), part, to);
		kunmap_local(from);
		done += got;
		offset += got;
		if (got < part)
			break;
	}
	return done;
}

/* Each is documented where it is defined, in the file of net/rds/core that is
 * named here.
 */

/* message.c */
void rds_message_put(struct rds_message *msg);
struct rds_incoming *rds_message_to_incoming(struct rds_message *msg);

/* deliver.c */
bool rds_deliver(struct rds_path *path, struct rds_incoming *inc,
		 struct rds_rx_batch *batch);
void rds_rx_batch_add(struct rds_rx_batch *batch, struct sock *sk);
void rds_rx_batch_end(struct rds_rx_batch *batch);

/* cong_flow.c */
void rds_deliver_cong_map(struct rds_path *path, const void *map, u32 len);

#endif /* _NET_RDS_MESSAGE_H */
