// SPDX-License-Identifier: GPL-2.0
/* Calls of the fuzzer for options, lists, registered memory and ioctls */
#define _GNU_SOURCE

#include <netinet/tcp.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz_run.h"

static const uint64_t levels[] = { SOL_RDS, SOL_SOCKET, SOL_TCP, SOL_IP, 0 };

static const uint64_t options[] = {
	RDS_RECVERR, RDS_CONG_MONITOR, SO_RDS_TRANSPORT,
	SO_RDS_MSG_RXPATH_LATENCY, RDS_CANCEL_SENT_TO, RDS_STREAM_IOMAP_SIZE,
	RDS_STREAM_REFUSED, SO_TIMESTAMP, SO_SNDBUF, SO_RCVBUF, SO_ZEROCOPY,
	63, SO_LINGER, SO_KEEPALIVE, SO_OOBINLINE, SO_REUSEADDR, SO_REUSEPORT,
	SO_RCVLOWAT, SO_SNDBUFFORCE, SO_RCVBUFFORCE, SO_ERROR, SO_PEEK_OFF,
	SO_INCOMING_CPU, SO_BUSY_POLL, RDS_GET_MR, RDS_FREE_MR,
	RDS_GET_MR_FOR_DEST, 4, SO_BINDTODEVICE, SO_MARK, SO_PRIORITY,
	SO_DONTROUTE, SO_BROADCAST, SO_TYPE, SO_ACCEPTCONN, SO_PROTOCOL,
	SO_DOMAIN, SO_PEERCRED, SO_COOKIE, SO_MEMINFO, SO_MAX_PACING_RATE,
};

static const uint64_t tcp_options[] = {
	TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT,
	TCP_USER_TIMEOUT, TCP_MAXSEG, TCP_QUICKACK, TCP_DEFER_ACCEPT,
	TCP_LINGER2, TCP_SYNCNT, TCP_WINDOW_CLAMP, TCP_NOTSENT_LOWAT,
	TCP_INFO, TCP_CONGESTION, TCP_ULP, TCP_FASTOPEN, TCP_REPAIR,
};

static const uint64_t lists[] = {
	10000, 10001, 10003, 10004, 10005, 10006, 10007, 10008, 10009, 10010,
	10011, 10012, 10013, 10014, 10015, 10016, 10017, 10018, 10100, 10002,
	10101,
};

static const uint64_t values[] = {
	1, 0, 2, 100, 2000, 4096, 65536, 200000, -1UL, 3, 0xff, 1 << 20,
	INT32_MAX, 0x80000000, 0x100000001, 0x0003020100,
};

static const uint64_t option_lens[] = { 4, 4, 4, 8, 0, 1, 2, 3, 16, 128, -1UL };
static const uint64_t mr_lens[] = { 0, 0, 0, 0, 0, 1, 8, 31, 64, 200 };
static const uint64_t commands[] = {
	SIOCRDSSETTOS, SIOCRDSGETTOS, SIOCINQ, SIOCOUTQ, SIOCRDSIOMAP,
	SIOCRDSIOUNMAP, SIOCATMARK, SIOCPROTOPRIVATE + 4, 0x5421, 0x8906,
};

static const uint64_t tos[] = { 0, 1, 2, 255 };
static const uint64_t map_offsets[] = { 0, -1UL, 4096, 1, 65536, 1UL << 63 };
static const uint64_t prots[] = { PROT_WRITE, PROT_NONE, PROT_READ, 7 };

/*
 * Choosing a transport that is not loaded starts modprobe, which would take all
 * the time.
 */
static bool starts_modprobe(uint64_t level, uint64_t option, uint64_t value)
{
	return (int)level == SOL_RDS && (int)option == SO_RDS_TRANSPORT &&
	       (int)value != RDS_TRANS_TCP && (int)value < RDS_TRANS_COUNT &&
	       (int)value >= 0 && !fuzz_scene_has_rdma();
}

static void call_setint(struct fuzz_run *run, const uint64_t *arg)
{
	uint64_t value[2] = { arg[3], 0 };

	if (!starts_modprobe(arg[1], arg[2], arg[3]))
		setsockopt(fuzz_fd(run, arg[0]), arg[1], arg[2], value,
			   arg[4] == 4 || arg[4] <= sizeof(value) ? arg[4] :
								     8);
}

static void call_settcp(struct fuzz_run *run, const uint64_t *arg)
{
	uint32_t value = arg[2];

	setsockopt(fuzz_fd(run, arg[0]), SOL_TCP, arg[1], &value,
		   sizeof(value));
}

static void call_setmem(struct fuzz_run *run, const uint64_t *arg)
{
	if ((int)arg[2] != SO_RDS_TRANSPORT)
		setsockopt(fuzz_fd(run, arg[0]), arg[1], arg[2],
			   fuzz_mem(run, arg[3]), arg[4]);
}

static void call_cancel(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[1], arg[2], arg[3]);

	setsockopt(fuzz_fd(run, arg[0]), SOL_RDS, RDS_CANCEL_SENT_TO, &name.sa,
		   name.len);
}

static void call_get(struct fuzz_run *run, const uint64_t *arg)
{
	socklen_t len = arg[4];

	getsockopt(fuzz_fd(run, arg[0]), arg[1], arg[2],
		   fuzz_mem(run, arg[3]), &len);
}

static void call_info(struct fuzz_run *run, const uint64_t *arg)
{
	socklen_t len = arg[3];

	getsockopt(fuzz_fd(run, arg[0]), SOL_RDS, arg[1],
		   fuzz_mem(run, arg[2]), &len);
}

static void call_gettcp(struct fuzz_run *run, const uint64_t *arg)
{
	socklen_t len = arg[3];

	getsockopt(fuzz_fd(run, arg[0]), SOL_TCP, arg[1],
		   fuzz_mem(run, arg[2]), &len);
}

/* The arguments of get_mr */
enum { FD, MEM, SIZE, COOKIE, RFLAGS, NAME, PORT, LENGTH };

/* With a name, the registration is for one destination. */
static void call_get_mr(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_name name = fuzz_scene_name(arg[NAME], arg[PORT], 0);
	uintptr_t cookie = (uintptr_t)&run->cookie[arg[COOKIE] % FUZZ_COOKIES];
	struct rds_get_mr_for_dest_args dest = {
		.vec.addr = (uintptr_t)fuzz_mem(run, arg[MEM]),
		.vec.bytes = arg[SIZE],
		.cookie_addr = cookie,
		.flags = arg[RFLAGS],
	};
	struct rds_get_mr_args mr = {
		.vec = dest.vec,
		.cookie_addr = cookie,
		.flags = arg[RFLAGS],
	};

	memcpy(&dest.dest_addr, &name.ss, sizeof(name.ss));
	if (arg[NAME])
		setsockopt(fuzz_fd(run, arg[FD]), SOL_RDS, RDS_GET_MR_FOR_DEST,
			   &dest, arg[LENGTH] ?: sizeof(dest));
	else
		setsockopt(fuzz_fd(run, arg[FD]), SOL_RDS, RDS_GET_MR, &mr,
			   arg[LENGTH] % sizeof(mr) ?: sizeof(mr));
}

static void call_free_mr(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_free_mr_args args = {
		.cookie = fuzz_cookie(run, arg[1]),
		.flags = arg[2],
	};

	setsockopt(fuzz_fd(run, arg[0]), SOL_RDS, RDS_FREE_MR, &args,
		   arg[3] % sizeof(args) ?: sizeof(args));
}

/* Whatever is in memory is no process to be sent signals. */
static void call_ioctl(struct fuzz_run *run, const uint64_t *arg)
{
	unsigned int command = arg[1];

	if (command != FIOSETOWN && command != SIOCSPGRP)
		ioctl(fuzz_fd(run, arg[0]), command, fuzz_mem(run, arg[2]));
}

/* Each value has connections of its own, so there are few. */
static void call_tos(struct fuzz_run *run, const uint64_t *arg)
{
	uint8_t value = tos[arg[1] % 4];

	ioctl(fuzz_fd(run, arg[0]), SIOCRDSSETTOS, &value);
}

static void call_iomap(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_stream_iomap map = {
		.addr = (uintptr_t)fuzz_mem(run, arg[1]),
		.len = arg[2],
		.offset = arg[3],
		.prot = arg[4],
		.flags = arg[5],
	};

	ioctl(fuzz_fd(run, arg[0]), arg[6] & 1 ? SIOCRDSIOUNMAP : SIOCRDSIOMAP,
	      &map);
}

const struct fuzz_kind fuzz_option_kinds[] = {
	{ "setint", 12, 0, false, call_setint, {
		FUZZ_FD, { "level", FUZZ_TABLE(levels) },
		{ "option", FUZZ_TABLE(options) },
		{ "value", FUZZ_TABLE(values) },
		{ "len", FUZZ_TABLE(option_lens) } } },
	{ "settcp", 3, 0, false, call_settcp, {
		FUZZ_FD, { "option", FUZZ_TABLE(tcp_options) },
		{ "value", FUZZ_TABLE(values) } } },
	{ "setmem", 2, 0, false, call_setmem, {
		FUZZ_FD, { "level", FUZZ_TABLE(levels) },
		{ "option", FUZZ_TABLE(options) }, FUZZ_MEM, FUZZ_SIZE } },
	{ "cancel", 3, 0, false, call_cancel, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT, FUZZ_NAMELEN } },
	{ "get", 5, 0, false, call_get, {
		FUZZ_FD, { "level", FUZZ_TABLE(levels) },
		{ "option", FUZZ_TABLE(options) }, FUZZ_MEM, FUZZ_SIZE } },
	{ "info", 5, 0, false, call_info, {
		FUZZ_FD, { "list", FUZZ_TABLE(lists) }, FUZZ_MEM,
		FUZZ_SIZE } },
	{ "gettcp", 2, 0, false, call_gettcp, {
		FUZZ_FD, { "option", FUZZ_TABLE(tcp_options) }, FUZZ_MEM,
		FUZZ_SIZE } },
	{ "get_mr", 10, 0, false, call_get_mr, {
		FUZZ_FD, FUZZ_MEM, FUZZ_SIZE, FUZZ_COOKIE, FUZZ_RDMA_FLAGS,
		FUZZ_NAME, FUZZ_PORT, { "len", FUZZ_TABLE(mr_lens) } } },
	{ "free_mr", 4, 0, false, call_free_mr, {
		FUZZ_FD, FUZZ_COOKIE, FUZZ_RDMA_FLAGS,
		{ "len", FUZZ_TABLE(mr_lens) } } },
	{ "ioctl", 4, 0, false, call_ioctl, {
		FUZZ_FD, { "command", FUZZ_TABLE(commands) }, FUZZ_MEM } },
	{ "tos", 2, 0, false, call_tos, {
		FUZZ_FD, { "value", FUZZ_TABLE(tos) } } },
	{ "iomap", 4, 0, false, call_iomap, {
		FUZZ_FD, FUZZ_MEM, FUZZ_SIZE,
		{ "offset", FUZZ_TABLE(map_offsets) },
		{ "prot", FUZZ_TABLE(prots) },
		{ "mapflags", FUZZ_TABLE(fuzz_bools) },
		{ "undo", FUZZ_TABLE(fuzz_bools) } } },
	{ }
};
