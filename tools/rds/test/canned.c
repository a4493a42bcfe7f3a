// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload into rds-info. It answers in place of the kernel, with
 * paths in every state, dropped for every reason, and with times of all
 * magnitudes. It also has two connections over RDMA devices, one of them IPv6.
 *
 * Environment: CANNED_PATHS is the number of paths. If it is not set, the list
 * of paths is unknown, as on an older kernel. If CANNED_IB is set, the RDMA
 * connections are listed, and if CANNED_STREAMS is, some streams.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <linux/rds.h>

#define STATES 6

int socket(int family, int type, int protocol)
{
	(void)family;
	(void)type;
	(void)protocol;
	return dup(STDERR_FILENO);
}

/* Fill in path @i of @nr. The last path is IPv6. */
static void fill(struct rds6_info_path *path, unsigned int i, unsigned int nr)
{
	static const unsigned long long ages[] = {
		0, 17, 4249, 187000, 20400000, 1047600000,
	};

	memset(path, 0, sizeof(*path));
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &path->laddr);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", &path->faddr);
	if (i == nr - 1) {
		inet_pton(AF_INET6, "fd00::1", &path->laddr);
		inet_pton(AF_INET6, "fd00::2", &path->faddr);
	}
	memcpy(path->transport, "tcp", sizeof("tcp"));
	path->index = i % 8;
	path->npaths = 8;
	path->state = i % STATES;
	path->drop_reason = i;
	path->attempts = 1000 + i;
	path->established = 2000 + i;
	path->resets = 3000 + i;
	path->since_ms = ages[i % (sizeof(ages) / sizeof(ages[0]))];
	path->next_tx_seq = 4000 + i;
	path->next_rx_seq = 5000 + i;
	path->rx_held = 6000 + i;
}

/*
 * Store the size that is needed. If there is too little room, set errno to
 * ENOSPC and return 0.
 */
static int has_room(socklen_t *len, size_t needed)
{
	socklen_t room = *len;

	*len = needed;
	if (needed <= room)
		return 1;
	errno = ENOSPC;
	return 0;
}

static int get_paths(void *value, socklen_t *len)
{
	unsigned int i, nr = atoi(getenv("CANNED_PATHS"));
	struct rds6_info_path path;

	if (!has_room(len, nr * sizeof(path)))
		return -1;
	for (i = 0; i < nr; i++) {
		fill(&path, i, nr);
		memcpy((char *)value + i * sizeof(path), &path, sizeof(path));
	}
	return sizeof(path);
}

static int get_ib(void *value, socklen_t *len)
{
	struct rds_info_rdma_connection ib = {
		.max_send_wr = 101, .max_recv_wr = 102, .max_send_sge = 103,
		.rdma_mr_max = 104, .rdma_mr_size = 105, .tos = 106, .sl = 107,
		.cache_allocs = 108,
	};

	if (!has_room(len, sizeof(ib)))
		return -1;
	inet_pton(AF_INET, "10.0.0.1", &ib.src_addr);
	inet_pton(AF_INET, "10.0.0.2", &ib.dst_addr);
	inet_pton(AF_INET6, "fe80::1", ib.src_gid);
	inet_pton(AF_INET6, "fe80::2", ib.dst_gid);
	memcpy(value, &ib, sizeof(ib));
	return sizeof(ib);
}

static int get_ib6(void *value, socklen_t *len)
{
	struct rds6_info_rdma_connection ib[2] = {
		{ .max_send_wr = 101 }, { .max_send_wr = 201, .tos = 206,
		  .sl = 207, .cache_allocs = 208 },
	};

	if (!has_room(len, sizeof(ib)))
		return -1;
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &ib[0].src_addr);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", &ib[0].dst_addr);
	inet_pton(AF_INET6, "fd00::1", &ib[1].src_addr);
	inet_pton(AF_INET6, "fd00::2", &ib[1].dst_addr);
	inet_pton(AF_INET6, "fe80::3", ib[1].src_gid);
	inet_pton(AF_INET6, "fe80::4", ib[1].dst_gid);
	memcpy(value, ib, sizeof(ib));
	return sizeof(ib[0]);
}

static int get_streams(void *value, socklen_t *len)
{
	struct rds6_info_stream streams[] = {
		{ .lport = htons(7001), .state = RDS_INFO_STREAM_LISTEN,
		  .recv_queue = 101, .send_queue = 102, .inum = 103 },
		{ .lport = htons(7002), .fport = htons(7003),
		  .state = RDS_INFO_STREAM_OPEN,
		  .flags = RDS_INFO_STREAM_FLAG_SERVER |
			   RDS_INFO_STREAM_FLAG_NO_READ |
			   RDS_INFO_STREAM_FLAG_PEER_NO_WRITE,
		  .recv_queue = 201, .send_queue = 202, .credit = 203,
		  .silent_ms = 4249, .inum = 204 },
		{ .lport = htons(7004), .fport = htons(7005),
		  .state = RDS_INFO_STREAM_CLOSED,
		  .flags = RDS_INFO_STREAM_FLAG_NO_WRITE |
			   RDS_INFO_STREAM_FLAG_PEER_NO_READ },
	};

	if (!has_room(len, sizeof(streams)))
		return -1;
	inet_pton(AF_INET6, "::ffff:0.0.0.0", &streams[0].laddr);
	inet_pton(AF_INET6, "::ffff:10.0.0.1", &streams[1].laddr);
	inet_pton(AF_INET6, "::ffff:10.0.0.2", &streams[1].faddr);
	inet_pton(AF_INET6, "fd00::1", &streams[2].laddr);
	inet_pton(AF_INET6, "fd00::2", &streams[2].faddr);
	memcpy(value, streams, sizeof(streams));
	return sizeof(streams[0]);
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	(void)fd;
	if (level == SOL_RDS && name == RDS6_INFO_PATHS &&
	    getenv("CANNED_PATHS"))
		return get_paths(value, len);
	if (level == SOL_RDS && name == RDS_INFO_IB_CONNECTIONS &&
	    getenv("CANNED_IB"))
		return get_ib(value, len);
	if (level == SOL_RDS && name == RDS6_INFO_IB_CONNECTIONS &&
	    getenv("CANNED_IB"))
		return get_ib6(value, len);
	if (level == SOL_RDS && name == RDS6_INFO_STREAMS &&
	    getenv("CANNED_STREAMS"))
		return get_streams(value, len);
	errno = ENOPROTOOPT;
	return -1;
}
