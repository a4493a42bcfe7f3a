// SPDX-License-Identifier: GPL-2.0
/* Calls of the fuzzer that send and receive */
#define _GNU_SOURCE

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fuzz_run.h"

#define IOVS	4

const uint64_t fuzz_places[16] = {
	0, 4096, 100, 8192, 4095, 65536, 131072, 12345,
	FUZZ_MEMORY - FUZZ_PAGE - 10, FUZZ_MEMORY - FUZZ_PAGE,
	0x7ffffffff000, 0x8000000000000000, 0xffff888000000000,
	0xffffffff81000000, -1UL, -FUZZ_PAGE,
};

const uint64_t fuzz_sizes[24] = {
	64, 300, 1000, 4096, 8192, 20000, 1, 8, 4097, 65536, 100000, 16, 4, 0,
	4095, 32, 200000, 1 << 20, (1 << 20) + 1, INT32_MAX, UINT32_MAX,
	SIZE_MAX, SIZE_MAX / 2, 36,
};

const uint64_t fuzz_rdma_flags[8] = {
	RDS_RDMA_READWRITE, RDS_RDMA_USE_ONCE, RDS_RDMA_NOTIFY_ME,
	RDS_RDMA_INVALIDATE, RDS_RDMA_FENCE, RDS_RDMA_SILENT,
	RDS_RDMA_DONTWAIT, 0x80,
};

const uint64_t fuzz_cookies[8] = { 0, 1, 0, 1, 2, 3, 0x1234567800000010, -1UL };

static const uint64_t flags[] = {
	0, MSG_DONTWAIT, MSG_DONTWAIT, MSG_PEEK, MSG_TRUNC, MSG_ZEROCOPY,
	MSG_WAITALL, MSG_NOSIGNAL, MSG_MORE, MSG_EOR, MSG_OOB, MSG_ERRQUEUE,
	MSG_DONTROUTE, MSG_CTRUNC, MSG_CMSG_CLOEXEC, 0x20000000,
};

static const uint64_t cmsgs[] = {
	0, 0, RDS_CMSG_RDMA_ARGS, RDS_CMSG_RDMA_DEST, RDS_CMSG_RDMA_MAP,
	RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP, RDS_CMSG_ZCOPY_COOKIE,
	RDS_CMSG_MASKED_ATOMIC_FADD, RDS_CMSG_MASKED_ATOMIC_CSWP,
	RDS_CMSG_STREAM_WRITE, RDS_CMSG_RDMA_STATUS, RDS_CMSG_CONG_UPDATE,
	RDS_CMSG_ZCOPY_COMPLETION, RDS_CMSG_RXPATH_LATENCY, 10, 99, 1001, 1002,
};

static const uint64_t cmsg_lens[] = { 0, 0, 0, 16, 17, 15, 24, 80, 1 << 30 };
static const uint64_t control_lens[] = { 0, 0, 0, 1, 15, 16, 24, 40, 500 };
static const uint64_t offsets[] = { 0, 8, 64, 4, 4096, 65536, -1UL };
static const uint64_t locals[] = { 1, 2, 0, 4, 3, 513, -1UL };
static const uint64_t tokens[] = { 1, 2, 0, 0xffffffff, -1UL };
static const uint64_t iovs[] = { 1, 2, 0, 3, 4 };
static const uint64_t counts[] = { 1, 1, 2, 4 };
static const uint64_t recv_controls[] = { 256, 40, 0, 16, 20, 60, 1000 };

/* What arguments of sendmsg are */
enum {
	FD, NAME, PORT, NAMELEN, MEM, SIZE, IOVCOUNT, FLAGS, CMSG, CMSG2,
	CMSG_LENGTH, CONTROL_LENGTH, COOKIE, RFLAGS, RBYTES, ROFFSET, LOCAL,
	TOKEN, COUNT,
};

union cmsg_data {
	struct rds_rdma_args rdma;
	struct rds_get_mr_args map;
	struct rds_atomic_args atomic;
	uint64_t word;
	uint32_t half;
};

/* Fill the data of a control message; return its length. */
static size_t cmsg_fill(struct fuzz_run *run, const uint64_t *arg,
			uint64_t type, union cmsg_data *data,
			struct rds_iovec *local)
{
	void *mem = fuzz_mem(run, arg[MEM]);

	switch (type) {
	case RDS_CMSG_RDMA_ARGS:
		data->rdma.cookie = fuzz_cookie(run, arg[COOKIE]);
		data->rdma.remote_vec.addr = arg[ROFFSET];
		data->rdma.remote_vec.bytes = arg[RBYTES];
		data->rdma.local_vec_addr = (uintptr_t)local;
		data->rdma.nr_local = arg[LOCAL];
		data->rdma.flags = arg[RFLAGS];
		data->rdma.user_token = arg[TOKEN];
		return sizeof(data->rdma);
	case RDS_CMSG_RDMA_DEST:
		data->word = fuzz_cookie(run, arg[COOKIE]);
		return sizeof(data->word);
	case RDS_CMSG_RDMA_MAP:
		data->map.vec.addr = (uintptr_t)mem;
		data->map.vec.bytes = arg[RBYTES];
		data->map.cookie_addr = (uintptr_t)&run->cookie[0];
		data->map.flags = arg[RFLAGS];
		return sizeof(data->map);
	case RDS_CMSG_ATOMIC_FADD:
	case RDS_CMSG_ATOMIC_CSWP:
	case RDS_CMSG_MASKED_ATOMIC_FADD:
	case RDS_CMSG_MASKED_ATOMIC_CSWP:
		data->atomic.cookie = fuzz_cookie(run, arg[COOKIE]);
		data->atomic.local_addr = (uintptr_t)mem;
		data->atomic.remote_addr = arg[ROFFSET];
		data->atomic.m_cswp.compare = arg[TOKEN];
		data->atomic.m_cswp.compare_mask = arg[TOKEN];
		data->atomic.flags = arg[RFLAGS];
		data->atomic.user_token = arg[TOKEN];
		return sizeof(data->atomic);
	case RDS_CMSG_ZCOPY_COOKIE:
		data->half = arg[TOKEN];
		return sizeof(data->half);
	default:
		data->word = type == RDS_CMSG_STREAM_WRITE ? arg[ROFFSET] :
							     arg[TOKEN];
		return sizeof(data->word);
	}
}

/* Types from 1000 are of SOL_SOCKET. */
static void cmsg_add(struct fuzz_run *run, struct rds_msg *msg,
		     const uint64_t *arg, uint64_t type,
		     struct rds_iovec *local)
{
	union cmsg_data data = {};
	size_t len;

	if (!type)
		return;
	len = cmsg_fill(run, arg, type, &data, local);
	rds_msg_add(msg, type < 1000 ? SOL_RDS : SOL_SOCKET, type % 1000,
		    &data, len);
}

/* Cut the memory into pieces: the last byte of it is in the last piece. */
static unsigned int cut(struct fuzz_run *run, const uint64_t *arg,
			struct iovec *iov)
{
	unsigned int count = arg[IOVCOUNT] % (IOVS + 1);
	unsigned int i;

	for (i = 0; i < count; i++) {
		iov[i].iov_base = fuzz_mem(run, arg[MEM] + i * 4000);
		iov[i].iov_len = arg[SIZE] / count;
	}
	return count;
}

static void cut_local(struct fuzz_run *run, const uint64_t *arg,
		      struct rds_iovec *local)
{
	unsigned int count = arg[LOCAL] % (IOVS + 1);
	unsigned int i;

	for (i = 0; i < count; i++) {
		local[i].addr = (uintptr_t)fuzz_mem(run, arg[MEM] + i * 5000);
		local[i].bytes = arg[RBYTES] / count;
	}
}

static void send_prepare(struct fuzz_run *run, struct rds_msg *msg,
			 struct iovec *iov, struct rds_iovec *local,
			 const uint64_t *arg)
{
	struct cmsghdr *first = (struct cmsghdr *)msg->control;

	memset(msg, 0, sizeof(*msg));
	if (arg[NAME]) {
		msg->name = fuzz_scene_name(arg[NAME], arg[PORT],
					    arg[NAMELEN]);
		msg->hdr.msg_name = &msg->name.sa;
		msg->hdr.msg_namelen = msg->name.len;
	}
	msg->hdr.msg_iov = iov;
	msg->hdr.msg_iovlen = cut(run, arg, iov);
	cut_local(run, arg, local);
	cmsg_add(run, msg, arg, arg[CMSG], local);
	cmsg_add(run, msg, arg, arg[CMSG2], local);
	if (msg->hdr.msg_controllen && arg[CMSG_LENGTH])
		first->cmsg_len = arg[CMSG_LENGTH];
	if (arg[CONTROL_LENGTH]) {
		msg->hdr.msg_control = msg->control;
		msg->hdr.msg_controllen = arg[CONTROL_LENGTH] %
					  sizeof(msg->control);
	}
}

static void call_sendmsg(struct fuzz_run *run, const uint64_t *arg)
{
	struct rds_iovec local[IOVS] = {};
	struct mmsghdr vec[IOVS];
	struct iovec iov[IOVS];
	struct rds_msg msg;
	unsigned int i;

	send_prepare(run, &msg, iov, local, arg);
	if (arg[COUNT] % (IOVS + 1) < 2) {
		sendmsg(fuzz_fd(run, arg[FD]), &msg.hdr, arg[FLAGS]);
		return;
	}
	for (i = 0; i < IOVS; i++)
		vec[i].msg_hdr = msg.hdr;
	syscall(SYS_sendmmsg, fuzz_fd(run, arg[FD]), vec,
		arg[COUNT] % (IOVS + 1), arg[FLAGS]);
}

/* What arguments of recvmsg are, from SIZE on */
enum { R_MEM = 1, R_SIZE, R_IOVS, R_FLAGS, R_CONTROL, R_NAMELEN, R_COUNT };

static void call_recvmsg(struct fuzz_run *run, const uint64_t *arg)
{
	const uint64_t shape[] = {
		[MEM] = arg[R_MEM], [SIZE] = arg[R_SIZE],
		[IOVCOUNT] = arg[R_IOVS],
	};
	struct mmsghdr vec[IOVS];
	struct iovec iov[IOVS];
	struct rds_msg msg = {};
	unsigned int i;

	msg.hdr.msg_iov = iov;
	msg.hdr.msg_iovlen = cut(run, shape, iov);
	msg.hdr.msg_name = &msg.name.sa;
	msg.hdr.msg_namelen = arg[R_NAMELEN] % 129;
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = arg[R_CONTROL] % sizeof(msg.control);
	if (arg[R_COUNT] % (IOVS + 1) < 2) {
		recvmsg(fuzz_fd(run, arg[FD]), &msg.hdr, arg[R_FLAGS]);
		return;
	}
	for (i = 0; i < IOVS; i++)
		vec[i].msg_hdr = msg.hdr;
	syscall(SYS_recvmmsg, fuzz_fd(run, arg[FD]), vec,
		arg[R_COUNT] % (IOVS + 1), arg[R_FLAGS], NULL);
}

static void call_rw(struct fuzz_run *run, const uint64_t *arg)
{
	void *mem = fuzz_mem(run, arg[1]);
	ssize_t ret;

	if (arg[3] & 1)
		ret = write(fuzz_fd(run, arg[0]), mem, arg[2]);
	else
		ret = read(fuzz_fd(run, arg[0]), mem, arg[2]);
	(void)ret;
}

const struct fuzz_kind fuzz_message_kinds[] = {
	{ "sendmsg", 30, 0, false, call_sendmsg, {
		FUZZ_FD, FUZZ_NAME, FUZZ_PORT, FUZZ_NAMELEN, FUZZ_MEM,
		FUZZ_SIZE, { "iovs", FUZZ_TABLE(iovs) },
		{ "flags", FUZZ_TABLE(flags), true },
		{ "cmsg", FUZZ_TABLE(cmsgs) }, { "cmsg2", FUZZ_TABLE(cmsgs) },
		{ "cmsglen", FUZZ_TABLE(cmsg_lens) },
		{ "control", FUZZ_TABLE(control_lens) },
		FUZZ_COOKIE, FUZZ_RDMA_FLAGS,
		{ "rbytes", FUZZ_TABLE(fuzz_sizes) },
		{ "roffset", FUZZ_TABLE(offsets) },
		{ "local", FUZZ_TABLE(locals) },
		{ "token", FUZZ_TABLE(tokens) },
		{ "count", FUZZ_TABLE(counts) } } },
	{ "recvmsg", 20, 0, false, call_recvmsg, {
		FUZZ_FD, FUZZ_MEM, FUZZ_SIZE, { "iovs", FUZZ_TABLE(iovs) },
		{ "flags", FUZZ_TABLE(flags), true },
		{ "control", FUZZ_TABLE(recv_controls) },
		{ "namelen", FUZZ_TABLE(fuzz_namelens) },
		{ "count", FUZZ_TABLE(counts) } } },
	{ "rw", 3, 0, false, call_rw, {
		FUZZ_FD, FUZZ_MEM, FUZZ_SIZE,
		{ "write", FUZZ_TABLE(fuzz_bools) } } },
	{ }
};
