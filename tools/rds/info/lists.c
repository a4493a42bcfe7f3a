// SPDX-License-Identifier: GPL-2.0
/* The lists that the kernel returns; see lists.h. */
#include <linux/rds.h>

#include "info/lists.h"

#define COLUMN(record, field, title, kind, width, verbose) \
	{ title, #field, kind, width, offsetof(struct record, field), \
	  sizeof(((struct record *)NULL)->field), verbose }
#define SHOW(record, field, title, kind, width) \
	COLUMN(record, field, title, kind, width, false)
#define DETAIL(record, field, title, kind, width) \
	COLUMN(record, field, title, kind, width, true)
#define END_OF_COLUMNS { }

static const struct column counter_columns[] = {
	SHOW(rds_info_counter, name, "CounterName", KIND_TEXT, 32),
	SHOW(rds_info_counter, value, "Value", KIND_U64, 16),
	END_OF_COLUMNS
};

#define SOCKET_COLUMNS(record, addr, width) { \
	SHOW(record, bound_addr, "BoundAddr", addr, width), \
	SHOW(record, bound_port, "BPort", KIND_PORT, 5), \
	SHOW(record, connected_addr, "ConnAddr", addr, width), \
	SHOW(record, connected_port, "CPort", KIND_PORT, 5), \
	SHOW(record, sndbuf, "SndBuf", KIND_U32, 10), \
	SHOW(record, rcvbuf, "RcvBuf", KIND_U32, 10), \
	SHOW(record, inum, "Inode", KIND_U64, 10), \
	END_OF_COLUMNS }

#define MESSAGE_COLUMNS(record, addr, width) { \
	SHOW(record, laddr, "LocalAddr", addr, width), \
	SHOW(record, lport, "LPort", KIND_PORT, 5), \
	SHOW(record, faddr, "RemoteAddr", addr, width), \
	SHOW(record, fport, "RPort", KIND_PORT, 5), \
	SHOW(record, seq, "Seq", KIND_U64, 12), \
	SHOW(record, len, "Bytes", KIND_U32, 8), \
	SHOW(record, tos, "Tos", KIND_U8, 3), \
	END_OF_COLUMNS }

static const struct column socket_columns[] =
	SOCKET_COLUMNS(rds_info_socket, KIND_ADDR4, 15);
static const struct column socket6_columns[] =
	SOCKET_COLUMNS(rds6_info_socket, KIND_ADDR6, 32);
static const struct column message_columns[] =
	MESSAGE_COLUMNS(rds_info_message, KIND_ADDR4, 15);
static const struct column message6_columns[] =
	MESSAGE_COLUMNS(rds6_info_message, KIND_ADDR6, 32);

static const struct column connection_columns[] = {
	SHOW(rds_info_connection, laddr, "LocalAddr", KIND_ADDR4, 15),
	SHOW(rds_info_connection, faddr, "RemoteAddr", KIND_ADDR4, 15),
	SHOW(rds_info_connection, tos, "Tos", KIND_U8, 3),
	SHOW(rds_info_connection, next_tx_seq, "NextTX", KIND_U64, 12),
	SHOW(rds_info_connection, next_rx_seq, "NextRX", KIND_U64, 12),
	SHOW(rds_info_connection, flags, "Flags", KIND_FLAGS, 5),
	SHOW(rds_info_connection, transport, "Transport", KIND_TEXT, -10),
	END_OF_COLUMNS
};

static const struct column connection6_columns[] = {
	SHOW(rds6_info_connection, laddr, "LocalAddr", KIND_ADDR6, 32),
	SHOW(rds6_info_connection, faddr, "RemoteAddr", KIND_ADDR6, 32),
	SHOW(rds6_info_connection, next_tx_seq, "NextTX", KIND_U64, 12),
	SHOW(rds6_info_connection, next_rx_seq, "NextRX", KIND_U64, 12),
	SHOW(rds6_info_connection, flags, "Flags", KIND_FLAGS, 5),
	SHOW(rds6_info_connection, transport, "Transport", KIND_TEXT, -10),
	END_OF_COLUMNS
};

#define TCP_COLUMNS(record, addr, width) \
	SHOW(record, local_addr, "LocalAddr", addr, width), \
	SHOW(record, local_port, "LPort", KIND_PORT, 5), \
	SHOW(record, peer_addr, "RemoteAddr", addr, width), \
	SHOW(record, peer_port, "RPort", KIND_PORT, 5), \
	SHOW(record, hdr_rem, "HdrRemain", KIND_U64, 10), \
	SHOW(record, data_rem, "DataRemain", KIND_U64, 10), \
	SHOW(record, last_sent_nxt, "SentNxt", KIND_U32, 10), \
	SHOW(record, last_expected_una, "ExpectUna", KIND_U32, 10), \
	SHOW(record, last_seen_una, "SeenUna", KIND_U32, 10)

static const struct column tcp_columns[] = {
	TCP_COLUMNS(rds_info_tcp_socket, KIND_ADDR4, 15),
	SHOW(rds_info_tcp_socket, tos, "Tos", KIND_U8, 3),
	END_OF_COLUMNS
};

static const struct column tcp6_columns[] = {
	TCP_COLUMNS(rds6_info_tcp_socket, KIND_ADDR6, 32),
	END_OF_COLUMNS
};

#define PATH_COLUMNS(addr, width) { \
	SHOW(rds6_info_path, laddr, "LocalAddr", addr, width), \
	SHOW(rds6_info_path, faddr, "RemoteAddr", addr, width), \
	SHOW(rds6_info_path, tos, "Tos", KIND_U8, 3), \
	SHOW(rds6_info_path, index, "Path", KIND_U8, 4), \
	SHOW(rds6_info_path, npaths, "Of", KIND_U8, 2), \
	SHOW(rds6_info_path, state, "State", KIND_STATE, -13), \
	SHOW(rds6_info_path, since_ms, "Since", KIND_AGE, 7), \
	SHOW(rds6_info_path, attempts, "Tried", KIND_U32, 6), \
	SHOW(rds6_info_path, established, "Up", KIND_U32, 6), \
	SHOW(rds6_info_path, resets, "Reset", KIND_U32, 6), \
	SHOW(rds6_info_path, drop_reason, "LastDrop", KIND_REASON, -14), \
	SHOW(rds6_info_path, next_tx_seq, "NextTX", KIND_U64, 12), \
	SHOW(rds6_info_path, next_rx_seq, "NextRX", KIND_U64, 12), \
	SHOW(rds6_info_path, rx_held, "RxHeld", KIND_U64, 9), \
	SHOW(rds6_info_path, transport, "Transport", KIND_TEXT, -10), \
	END_OF_COLUMNS }

#define STREAM_COLUMNS(addr, width) { \
	SHOW(rds6_info_stream, laddr, "LocalAddr", addr, width), \
	SHOW(rds6_info_stream, lport, "LPort", KIND_PORT, 5), \
	SHOW(rds6_info_stream, faddr, "RemoteAddr", addr, width), \
	SHOW(rds6_info_stream, fport, "RPort", KIND_PORT, 5), \
	SHOW(rds6_info_stream, state, "State", KIND_STREAM, -10), \
	SHOW(rds6_info_stream, flags, "Flags", KIND_HALVES, -5), \
	SHOW(rds6_info_stream, recv_queue, "RecvQ", KIND_U32, 9), \
	SHOW(rds6_info_stream, send_queue, "SendQ", KIND_U32, 9), \
	SHOW(rds6_info_stream, credit, "Credit", KIND_U32, 10), \
	SHOW(rds6_info_stream, silent_ms, "Silent", KIND_AGE, 7), \
	SHOW(rds6_info_stream, inum, "Inode", KIND_U64, 10), \
	END_OF_COLUMNS }

static const struct column stream_columns[] = STREAM_COLUMNS(KIND_MAPPED, 15);
static const struct column stream6_columns[] = STREAM_COLUMNS(KIND_ADDR6, 32);

static const struct column path_columns[] = PATH_COLUMNS(KIND_MAPPED, 15);
static const struct column path6_columns[] = PATH_COLUMNS(KIND_ADDR6, 32);

#define IB_COLUMNS(record, addr, width) { \
	SHOW(record, src_addr, "LocalAddr", addr, width), \
	SHOW(record, dst_addr, "RemoteAddr", addr, width), \
	SHOW(record, tos, "Tos", KIND_U8, 3), \
	SHOW(record, sl, "SL", KIND_U8, 3), \
	SHOW(record, src_gid, "LocalDev", KIND_ADDR6, 32), \
	SHOW(record, dst_gid, "RemoteDev", KIND_ADDR6, 32), \
	DETAIL(record, max_send_wr, "SendWR", KIND_U32, 8), \
	DETAIL(record, max_recv_wr, "RecvWR", KIND_U32, 8), \
	DETAIL(record, max_send_sge, "SendSGE", KIND_U32, 8), \
	DETAIL(record, rdma_mr_max, "MaxMR", KIND_U32, 8), \
	DETAIL(record, rdma_mr_size, "MRSize", KIND_U32, 8), \
	DETAIL(record, cache_allocs, "Cached", KIND_U32, 8), \
	END_OF_COLUMNS }

static const struct column ib_columns[] =
	IB_COLUMNS(rds_info_rdma_connection, KIND_ADDR4, 15);
static const struct column ib6_columns[] =
	IB_COLUMNS(rds6_info_rdma_connection, KIND_ADDR6, 32);

struct source sources[NR_SOURCES] = {
	{ 'c', "Counters", "counters",
	  { RDS_INFO_COUNTERS, counter_columns }, { } },
	{ 'k', "RDS Sockets", "sockets",
	  { RDS_INFO_SOCKETS, socket_columns },
	  { RDS6_INFO_SOCKETS, socket6_columns } },
	{ 'n', "RDS Connections", "connections",
	  { RDS_INFO_CONNECTIONS, connection_columns },
	  { RDS6_INFO_CONNECTIONS, connection6_columns } },
	{ 'p', "RDS Paths", "paths",
	  { RDS6_INFO_PATHS, path_columns, true },
	  { RDS6_INFO_PATHS, path6_columns },
	  "this kernel's RDS does not have this list" },
	{ 'S', "RDS Streams", "streams",
	  { RDS6_INFO_STREAMS, stream_columns, true },
	  { RDS6_INFO_STREAMS, stream6_columns },
	  "rds_stream is not loaded, or this RDS does not have this list" },
	{ 'r', "Receive Message Queue", "receive_queue",
	  { RDS_INFO_RECV_MESSAGES, message_columns },
	  { RDS6_INFO_RECV_MESSAGES, message6_columns } },
	{ 's', "Send Message Queue", "send_queue",
	  { RDS_INFO_SEND_MESSAGES, message_columns },
	  { RDS6_INFO_SEND_MESSAGES, message6_columns } },
	{ 't', "Retransmit Message Queue", "retransmit_queue",
	  { RDS_INFO_RETRANS_MESSAGES, message_columns },
	  { RDS6_INFO_RETRANS_MESSAGES, message6_columns } },
	{ 'T', "TCP Connections", "tcp_connections",
	  { RDS_INFO_TCP_SOCKETS, tcp_columns },
	  { RDS6_INFO_TCP_SOCKETS, tcp6_columns },
	  "RDS over TCP is not loaded" },
	{ 'I', "RDS IB Connections", "ib_connections",
	  { RDS_INFO_IB_CONNECTIONS, ib_columns },
	  { RDS6_INFO_IB_CONNECTIONS, ib6_columns },
	  "RDS over InfiniBand is not loaded" },
};
