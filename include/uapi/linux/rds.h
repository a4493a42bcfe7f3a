/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * RDS - Reliable Datagram Sockets: the interface to user space.
 *
 * socket(AF_RDS, SOCK_SEQPACKET, 0) creates a socket that exchanges whole
 * messages with any number of peers, reliably and in order. See rds(7).
 *
 * The size of every structure is part of the ABI. The kernel build asserts the
 * sizes (net/rds/core/abi.c).
 */
#ifndef _UAPI_LINUX_RDS_H
#define _UAPI_LINUX_RDS_H

#include <linux/types.h>
#include <linux/sockios.h>
#include <linux/socket.h>
#include <linux/in6.h>

#define RDS_IB_ABI_VERSION		0x301

#ifndef SOL_RDS
#define SOL_RDS				276
#endif

/* Socket options at level SOL_RDS */
#define RDS_CANCEL_SENT_TO		1
#define RDS_GET_MR			2
#define RDS_FREE_MR			3
/* 4 was RDS_BARRIER */
#define RDS_RECVERR			5
#define RDS_CONG_MONITOR		6
#define RDS_GET_MR_FOR_DEST		7
#define SO_RDS_TRANSPORT		8
#define SO_RDS_MSG_RXPATH_LATENCY	10
/* The same, for sockets of type SOCK_STREAM */
#define RDS_STREAM_REFUSED		20
#define RDS_STREAM_IOMAP_SIZE		21

/* Values of SO_RDS_TRANSPORT */
#define RDS_TRANS_IB			0
#define RDS_TRANS_GAP			1
#define RDS_TRANS_IWARP			RDS_TRANS_GAP
#define RDS_TRANS_TCP			2
#define RDS_TRANS_COUNT			3
#define RDS_TRANS_NONE			(~0)
/* getsockopt() only: the socket is bound to the loopback transport */
#define RDS_TRANS_LOOP			3

/* ioctls; the argument points to one byte, an rds_tos_t */
#define SIOCRDSSETTOS			(SIOCPROTOPRIVATE)
#define SIOCRDSGETTOS			(SIOCPROTOPRIVATE + 1)
/* ioctls of streams; the argument points to a struct rds_stream_iomap */
#define SIOCRDSIOMAP			(SIOCPROTOPRIVATE + 2)
#define SIOCRDSIOUNMAP			(SIOCPROTOPRIVATE + 3)

typedef __u8 rds_tos_t;

/* Control messages at level SOL_RDS */
#define RDS_CMSG_RDMA_ARGS		1
#define RDS_CMSG_RDMA_DEST		2
#define RDS_CMSG_RDMA_MAP		3
#define RDS_CMSG_RDMA_STATUS		4
#define RDS_CMSG_CONG_UPDATE		5
#define RDS_CMSG_ATOMIC_FADD		6
#define RDS_CMSG_ATOMIC_CSWP		7
#define RDS_CMSG_MASKED_ATOMIC_FADD	8
#define RDS_CMSG_MASKED_ATOMIC_CSWP	9
#define RDS_CMSG_RXPATH_LATENCY		11
#define RDS_CMSG_ZCOPY_COOKIE		12
#define RDS_CMSG_ZCOPY_COMPLETION	13
/* The same, on streams: a __u64, where to write in the peer's mappings */
#define RDS_CMSG_STREAM_WRITE		20

/*
 * Lists, by getsockopt() at level SOL_RDS. On success, the call returns the
 * size of one record and stores the size of all records in *optlen. If it
 * fails with ENOSPC, it stores the size that it needs in *optlen.
 */
#define RDS_INFO_FIRST			10000
#define RDS_INFO_COUNTERS		10000
#define RDS_INFO_CONNECTIONS		10001
/* 10002 was RDS_INFO_FLOWS */
#define RDS_INFO_SEND_MESSAGES		10003
#define RDS_INFO_RETRANS_MESSAGES	10004
#define RDS_INFO_RECV_MESSAGES		10005
#define RDS_INFO_SOCKETS		10006
#define RDS_INFO_TCP_SOCKETS		10007
#define RDS_INFO_IB_CONNECTIONS		10008
#define RDS_INFO_CONNECTION_STATS	10009
#define RDS_INFO_IWARP_CONNECTIONS	10010
#define RDS6_INFO_CONNECTIONS		10011
#define RDS6_INFO_SEND_MESSAGES		10012
#define RDS6_INFO_RETRANS_MESSAGES	10013
#define RDS6_INFO_RECV_MESSAGES		10014
#define RDS6_INFO_SOCKETS		10015
#define RDS6_INFO_TCP_SOCKETS		10016
#define RDS6_INFO_IB_CONNECTIONS	10017
#define RDS_INFO_LAST			10017
/* Only in this implementation: one record per path of each connection */
#define RDS6_INFO_PATHS			10100
/* The same: one per stream, or socket that listens for streams */
#define RDS6_INFO_STREAMS		10101

#define TRANSNAMSIZ			16

struct rds_info_counter {
	__u8	name[32];
	__u64	value;
} __attribute__((packed));

#define RDS_INFO_CONNECTION_FLAG_SENDING	0x01
#define RDS_INFO_CONNECTION_FLAG_CONNECTING	0x02
#define RDS_INFO_CONNECTION_FLAG_CONNECTED	0x04

struct rds_info_connection {
	__u64	next_tx_seq;
	__u64	next_rx_seq;
	__be32	laddr;
	__be32	faddr;
	__u8	transport[TRANSNAMSIZ];
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

struct rds6_info_connection {
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		flags;
} __attribute__((packed));

#define RDS_INFO_MESSAGE_FLAG_ACK		0x01
#define RDS_INFO_MESSAGE_FLAG_FAST_ACK		0x02

struct rds_info_message {
	__u64	seq;
	__u32	len;
	__be32	laddr;
	__be32	faddr;
	__be16	lport;
	__be16	fport;
	__u8	flags;
	__u8	tos;
} __attribute__((packed));

struct rds6_info_message {
	__u64		seq;
	__u32		len;
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__be16		lport;
	__be16		fport;
	__u8		flags;
	__u8		tos;
} __attribute__((packed));

struct rds_info_socket {
	__u32	sndbuf;
	__be32	bound_addr;
	__be32	connected_addr;
	__be16	bound_port;
	__be16	connected_port;
	__u32	rcvbuf;
	__u64	inum;
} __attribute__((packed));

struct rds6_info_socket {
	__u32		sndbuf;
	struct in6_addr	bound_addr;
	struct in6_addr	connected_addr;
	__be16		bound_port;
	__be16		connected_port;
	__u32		rcvbuf;
	__u64		inum;
} __attribute__((packed));

struct rds_info_tcp_socket {
	__be32	local_addr;
	__be16	local_port;
	__be32	peer_addr;
	__be16	peer_port;
	__u64	hdr_rem;
	__u64	data_rem;
	__u32	last_sent_nxt;
	__u32	last_expected_una;
	__u32	last_seen_una;
	__u8	tos;
} __attribute__((packed));

struct rds6_info_tcp_socket {
	struct in6_addr	local_addr;
	__be16		local_port;
	struct in6_addr	peer_addr;
	__be16		peer_port;
	__u64		hdr_rem;
	__u64		data_rem;
	__u32		last_sent_nxt;
	__u32		last_expected_una;
	__u32		last_seen_una;
} __attribute__((packed));

/* state: 0 down, 1 connecting, 2 disconnecting, 3 up, 5 error (4: not used).
 * drop_reason: see rds-info(1); 0 if the path has never been dropped.
 */
struct rds6_info_path {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__u8		transport[TRANSNAMSIZ];
	__u8		index;
	__u8		npaths;
	__u8		tos;
	__u8		state;
	__u32		drop_reason;
	__u32		attempts;
	__u32		established;
	__u32		resets;
	__u64		since_ms;
	__u64		next_tx_seq;
	__u64		next_rx_seq;
	__u64		rx_held;
} __attribute__((packed));

#define RDS_INFO_STREAM_LISTEN			1
#define RDS_INFO_STREAM_CONNECTING		2
#define RDS_INFO_STREAM_WAITING			3	/* for accept() */
#define RDS_INFO_STREAM_OPEN			4
#define RDS_INFO_STREAM_CLOSED			5	/* delivers the rest */

#define RDS_INFO_STREAM_FLAG_SERVER		0x01	/* this end accepts */
#define RDS_INFO_STREAM_FLAG_NO_WRITE		0x02	/* this end ... */
#define RDS_INFO_STREAM_FLAG_NO_READ		0x04
#define RDS_INFO_STREAM_FLAG_PEER_NO_WRITE	0x08	/* the peer ... */
#define RDS_INFO_STREAM_FLAG_PEER_NO_READ	0x10

/* Bytes; for a listener, streams: those that wait for accept(), and its
 * backlog. inum is 0 if the stream has no socket. silent_ms: since the last
 * frame of the peer, or since it began.
 */
struct rds6_info_stream {
	struct in6_addr	laddr;
	struct in6_addr	faddr;
	__be16		lport;
	__be16		fport;
	__u8		state;
	__u8		flags;
	__u32		recv_queue;
	__u32		send_queue;
	__u32		credit;
	__u64		silent_ms;
	__u64		inum;
} __attribute__((packed));

#define RDS_IB_GID_LEN			16

struct rds_info_rdma_connection {
	__be32		src_addr;
	__be32		dst_addr;
	__u8		src_gid[RDS_IB_GID_LEN];
	__u8		dst_gid[RDS_IB_GID_LEN];
	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		rdma_mr_max;
	__u32		rdma_mr_size;
	__u8		tos;
	__u8		sl;
	__u32		cache_allocs;
};

struct rds6_info_rdma_connection {
	struct in6_addr	src_addr;
	struct in6_addr	dst_addr;
	__u8		src_gid[RDS_IB_GID_LEN];
	__u8		dst_gid[RDS_IB_GID_LEN];
	__u32		max_send_wr;
	__u32		max_recv_wr;
	__u32		max_send_sge;
	__u32		rdma_mr_max;
	__u32		rdma_mr_size;
	__u8		tos;
	__u8		sl;
	__u32		cache_allocs;
};

/* SO_RDS_MSG_RXPATH_LATENCY: latencies that can be measured */
enum rds_message_rxpath_latency {
	RDS_MSG_RX_HDR_TO_DGRAM_START = 0,
	RDS_MSG_RX_DGRAM_REASSEMBLE,
	RDS_MSG_RX_DGRAM_DELIVERED,
	RDS_MSG_RX_DGRAM_TRACE_MAX
};

struct rds_rx_trace_so {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/* RDS_CMSG_RXPATH_LATENCY; times in nanoseconds */
struct rds_cmsg_rx_trace {
	__u8	rx_traces;
	__u8	rx_trace_pos[RDS_MSG_RX_DGRAM_TRACE_MAX];
	__u64	rx_trace[RDS_MSG_RX_DGRAM_TRACE_MAX];
};

/*
 * Congestion monitoring: a 64-bit mask. Bit n stands for all ports whose number
 * is n modulo 64.
 */
#define RDS_CONG_MONITOR_SIZE		64
#define RDS_CONG_MONITOR_BIT(port)	\
	(((unsigned int)(port)) % RDS_CONG_MONITOR_SIZE)
#define RDS_CONG_MONITOR_MASK(port)	(1ULL << RDS_CONG_MONITOR_BIT(port))

/* RDMA and atomics; see rds-rdma(7) */
typedef __u64 rds_rdma_cookie_t;

struct rds_iovec {
	__u64	addr;
	__u64	bytes;
};

struct rds_get_mr_args {
	struct rds_iovec	vec;
	__u64			cookie_addr;
	__u64			flags;
};

struct rds_get_mr_for_dest_args {
	struct __kernel_sockaddr_storage dest_addr;
	struct rds_iovec	vec;
	__u64			cookie_addr;
	__u64			flags;
};

struct rds_free_mr_args {
	rds_rdma_cookie_t	cookie;
	__u64			flags;
};

struct rds_rdma_args {
	rds_rdma_cookie_t	cookie;
	struct rds_iovec	remote_vec;
	__u64			local_vec_addr;
	__u64			nr_local;
	__u64			flags;
	__u64			user_token;
};

struct rds_atomic_args {
	rds_rdma_cookie_t	cookie;
	__u64			local_addr;
	__u64			remote_addr;
	union {
		struct {
			__u64	compare;
			__u64	swap;
		} cswp;
		struct {
			__u64	add;
		} fadd;
		struct {
			__u64	compare;
			__u64	swap;
			__u64	compare_mask;
			__u64	swap_mask;
		} m_cswp;
		struct {
			__u64	add;
			__u64	nocarry_mask;
		} m_fadd;
	};
	__u64			flags;
	__u64			user_token;
};

struct rds_rdma_notify {
	__u64	user_token;
	__s32	status;
};

#define RDS_RDMA_SUCCESS		0
#define RDS_RDMA_REMOTE_ERROR		1
#define RDS_RDMA_CANCELED		2
#define RDS_RDMA_DROPPED		3
#define RDS_RDMA_OTHER_ERROR		4

#define RDS_RDMA_READWRITE		0x0001
#define RDS_RDMA_FENCE			0x0002
#define RDS_RDMA_INVALIDATE		0x0004
#define RDS_RDMA_USE_ONCE		0x0008
#define RDS_RDMA_DONTWAIT		0x0010
#define RDS_RDMA_NOTIFY_ME		0x0020
#define RDS_RDMA_SILENT			0x0040

/* RDS_CMSG_ZCOPY_COMPLETION */
#define RDS_MAX_ZCOOKIES		8

struct rds_zcopy_cookies {
	__u32	num;
	__u32	cookies[RDS_MAX_ZCOOKIES];
};

/*
 * Streams: socket(AF_RDS, SOCK_STREAM, protocol). With RDS_PROTO_INET, names
 * are struct sockaddr_in; with RDS_PROTO_INET6, struct sockaddr_in6.
 */
#define RDS_PROTO_INET			0
#define RDS_PROTO_INET6			1

/* RDS_STREAM_REFUSED: why the last connect() was refused, an int */
enum rds_stream_refusal {
	RDS_STREAM_NOT_REFUSED	= 0,	/* it was not refused */
	RDS_STREAM_NO_RDS	= 1,	/* no RDS at the address of the peer */
	RDS_STREAM_NO_STREAMS	= 2,	/* the peer's RDS has no streams */
	RDS_STREAM_NO_LISTENER	= 3,	/* no socket listens on the port */
};

/*
 * Direct placement: memory that the peer of a stream may write to.
 *
 * RDS_STREAM_IOMAP_SIZE, an int: how many mappings the peer may make. It counts
 * for streams that begin later, and those that are accepted inherit it from
 * their listener. 0, as at first, to RDS_STREAM_IOMAPS.
 */
#define RDS_STREAM_IOMAPS		128

/* Argument of SIOCRDSIOMAP; of SIOCRDSIOUNMAP, addr and len only. */
struct rds_stream_iomap {
	__u64	addr;		/* the memory */
	__u64	len;		/* in bytes, 1 to 2^30 */
	__s64	offset;		/* where the peer finds it; -1: the kernel
				 * chooses an offset, and stores it here
				 */
	__u32	prot;		/* PROT_WRITE; PROT_NONE: only a place */
	__u32	flags;		/* 0 */
};

#endif /* _UAPI_LINUX_RDS_H */
