// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages of sendmsg(2): which are refused before anything is sent,
 * and in which order the checks are made. For successful operations see rdma.c,
 * for zerocopy see zcopy.c.
 */
#include "pair.h"

#include <sys/uio.h>

#define MAX_MESSAGE (1024 * 1024)

static char payload[MAX_MESSAGE + 1];
static char local[4096] __attribute__((aligned(8)));
static struct rds_iovec local_vec;

static struct rds_rdma_args rdma_args(void)
{
	local_vec.addr = (uintptr_t)local;
	local_vec.bytes = sizeof(local);
	return (struct rds_rdma_args) {
		.cookie = 0x100000000,
		.remote_vec.addr = 0,
		.remote_vec.bytes = sizeof(local),
		.local_vec_addr = (uintptr_t)&local_vec,
		.nr_local = 1,
	};
}

static struct rds_atomic_args atomic_args(void)
{
	return (struct rds_atomic_args) {
		.cookie = 0x100000000,
		.local_addr = (uintptr_t)local,
	};
}

static struct rds_get_mr_args mr_args(void)
{
	static uint64_t cookie;

	return (struct rds_get_mr_args) {
		.vec.addr = (uintptr_t)local,
		.vec.bytes = sizeof(local),
		.cookie_addr = (uintptr_t)&cookie,
	};
}

static void msg_init(struct rds_msg *msg, const struct rds_name *to)
{
	rds_msg_init(msg, payload, 10);
	rds_msg_to(msg, to);
}

static long msg_send(int fd, struct rds_msg *msg)
{
	return ERR(sendmsg(fd, &msg->hdr, MSG_DONTWAIT));
}

/* Send a message with one control message. */
static long send_with(int fd, const struct rds_name *to, int level, int type,
		      const void *data, size_t len)
{
	struct rds_msg msg;

	msg_init(&msg, to);
	rds_msg_add(&msg, level, type, data, len);
	return msg_send(fd, &msg);
}

static long send_with_rds(int fd, const struct rds_name *to, int type,
			  const void *data, size_t len)
{
	return send_with(fd, to, SOL_RDS, type, data, len);
}

/* A message that was refused must not be sent. */
FIXTURE(refused) {
	int fd;
	int to;
	struct rds_name name;
};

FIXTURE_VARIANT(refused) {
	const char *from;
	const char *to;
	bool apart;
	bool roce;
};

FIXTURE_VARIANT_ADD(refused, loop) {
	.from = "127.0.0.1",
	.to = "127.0.0.2",
};

FIXTURE_VARIANT_ADD(refused, tcp) {
	.from = VETH_NEAR_IPV4,
	.to = VETH_FAR_IPV4,
	.apart = true,
};

FIXTURE_VARIANT_ADD(refused, ib) {
	.from = ROCE_NEAR_IPV4,
	.to = ROCE_FAR_IPV4,
	.roce = true,
};

FIXTURE_SETUP(refused)
{
	if (variant->roce)
		ASSERT_EQ(0, roce_enter());
	self->fd = rds_bound(variant->from, 0);
	ASSERT_LE(0, self->fd);
	self->to = variant->apart ? veth_far_bound(variant->to, 0) :
				    rds_bound(variant->to, 0);
	ASSERT_LE(0, self->to);
	self->name = rds_sockname(self->to);
}

/*
 * The first message that arrives must be the one sent after all refused ones.
 */
FIXTURE_TEARDOWN(refused)
{
	char bytes[2];

	EXPECT_EQ(2, ERR(rds_sendto(self->fd, "ok", 2, 0, &self->name)));
	EXPECT_EQ(2, ERR(rds_recv(self->to, bytes, 2)));
	EXPECT_TRUE(!memcmp(bytes, "ok", 2));
	EXPECT_TRUE(rds_silent(self->to));
	close(self->to);
	close(self->fd);
}

TEST_F(refused, unknown_types)
{
	static const int types[] = {
		0, RDS_CMSG_RDMA_STATUS, RDS_CMSG_CONG_UPDATE, 10,
		RDS_CMSG_RXPATH_LATENCY, RDS_CMSG_ZCOPY_COMPLETION, 14, 99, -1,
	};
	char data[128] = {};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
						 types[i], data, sizeof(data)))
			TH_LOG("type %d", types[i]);
	}
}

TEST_F(refused, malformed)
{
	struct rds_msg msg;
	struct cmsghdr *cmsg = (struct cmsghdr *)msg.control;
	uint64_t cookie = 1;

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, 8);
	cmsg->cmsg_len = sizeof(*cmsg) - 1;
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
	cmsg->cmsg_len = 0;
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
	cmsg->cmsg_len = msg.hdr.msg_controllen + 1;
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
	cmsg->cmsg_len = (size_t)-1;
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

TEST_F(refused, bad_control_pointer)
{
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	msg.hdr.msg_control = (void *)8;
	msg.hdr.msg_controllen = 64;
	EXPECT_EQ(-EFAULT, msg_send(self->fd, &msg));
}

TEST_F(refused, rdma_args_too_short)
{
	struct rds_rdma_args args = rdma_args();
	size_t len;

	for (len = 0; len < sizeof(args); len += 8)
		EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
						 RDS_CMSG_RDMA_ARGS, &args,
						 len));
}

TEST_F(refused, rdma_of_too_many_bytes)
{
	struct rds_rdma_args args = rdma_args();

	args.remote_vec.bytes = MAX_MESSAGE + 1;
	EXPECT_EQ(-EMSGSIZE, send_with_rds(self->fd, &self->name,
					   RDS_CMSG_RDMA_ARGS, &args,
					   sizeof(args)));
	args.remote_vec.bytes = UINT64_MAX;
	EXPECT_EQ(-EMSGSIZE, send_with_rds(self->fd, &self->name,
					   RDS_CMSG_RDMA_ARGS, &args,
					   sizeof(args)));
}

TEST_F(refused, rdma_without_local_memory)
{
	struct rds_rdma_args args = rdma_args();

	args.nr_local = 0;
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_ARGS, &args,
					 sizeof(args)));
}

TEST_F(refused, rdma_of_too_many_vectors)
{
	struct rds_rdma_args args = rdma_args();

	args.nr_local = UIO_MAXIOV + 1;
	EXPECT_EQ(-EMSGSIZE, send_with_rds(self->fd, &self->name,
					   RDS_CMSG_RDMA_ARGS, &args,
					   sizeof(args)));
	args.nr_local = UINT64_MAX;
	EXPECT_EQ(-EMSGSIZE, send_with_rds(self->fd, &self->name,
					   RDS_CMSG_RDMA_ARGS, &args,
					   sizeof(args)));
}

TEST_F(refused, rdma_vectors_at_a_bad_address)
{
	struct rds_rdma_args args = rdma_args();

	args.local_vec_addr = 8;
	EXPECT_EQ(-EFAULT, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_ARGS, &args,
					 sizeof(args)));
}

TEST_F(refused, rdma_that_reaches_nothing)
{
	struct rds_rdma_args args = rdma_args();

	args.remote_vec.bytes = 0;
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_ARGS, &args,
					 sizeof(args)));
	args.flags = RDS_RDMA_READWRITE;
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_ARGS, &args,
					 sizeof(args)));
}

TEST_F(refused, map_of_nothing)
{
	struct rds_get_mr_args args = mr_args();

	args.vec.bytes = 0;
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_MAP, &args,
					 sizeof(args)));
}

TEST_F(refused, map_too_short)
{
	struct rds_get_mr_args args = mr_args();

	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_MAP, &args,
					 sizeof(args) - 8));
}

TEST_F(refused, dest_of_an_unknown_key)
{
	uint64_t cookie = 0x1234567800000000;

	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_DEST, &cookie,
					 sizeof(cookie)));
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_RDMA_DEST, &cookie, 4));
}

static const int atomics[] = {
	RDS_CMSG_ATOMIC_FADD, RDS_CMSG_ATOMIC_CSWP,
	RDS_CMSG_MASKED_ATOMIC_FADD, RDS_CMSG_MASKED_ATOMIC_CSWP,
};

TEST_F(refused, atomic_too_short)
{
	struct rds_atomic_args args = atomic_args();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(atomics); i++)
		EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
						 atomics[i], &args,
						 sizeof(args) - 8));
}

TEST_F(refused, atomic_on_bad_local_memory)
{
	struct rds_atomic_args args = atomic_args();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(atomics); i++) {
		args.local_addr = (uintptr_t)local + 1;
		EXPECT_EQ(-EFAULT, send_with_rds(self->fd, &self->name,
						 atomics[i], &args,
						 sizeof(args)));
		args.local_addr = 8;
		EXPECT_EQ(-EFAULT, send_with_rds(self->fd, &self->name,
						 atomics[i], &args,
						 sizeof(args)));
	}
}

/*
 * Soft-RoCE has no masked atomics. On other transports the message is sent, and
 * only the peer refuses the operation.
 */
TEST_F(refused, masked_atomics)
{
	struct rds_atomic_args args = atomic_args();
	size_t i;

	for (i = 2; i < ARRAY_SIZE(atomics); i++)
		EXPECT_EQ(variant->roce ? -EOPNOTSUPP : 10,
			  send_with_rds(self->fd, &self->name, atomics[i],
					&args, sizeof(args)));
}

/* Two control messages of the same kind */
TEST_F(refused, duplicates)
{
	struct rds_rdma_args rdma = rdma_args();
	struct rds_atomic_args atomic = atomic_args();
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma));
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &atomic,
		    sizeof(atomic));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ATOMIC_CSWP, &atomic,
		    sizeof(atomic));
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

/* A message cannot have two operations of different kinds either. */
TEST_F(refused, two_operations)
{
	struct rds_rdma_args rdma = rdma_args();
	struct rds_atomic_args atomic = atomic_args();
	struct rds_msg msg;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(atomics); i++) {
		msg_init(&msg, &self->name);
		rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &rdma,
			    sizeof(rdma));
		rds_msg_add(&msg, SOL_RDS, atomics[i], &atomic,
			    sizeof(atomic));
		EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
	}
}

/* A message cannot have both an operation and a key or a registration. */
TEST_F(refused, mixtures)
{
	struct rds_rdma_args rdma = rdma_args();
	struct rds_atomic_args atomic = atomic_args();
	struct rds_get_mr_args map = mr_args();
	uint64_t cookie = 1;
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie, 8);
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, &rdma, sizeof(rdma));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &atomic,
		    sizeof(atomic));
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

/* All control messages are checked before the first one is executed. */
TEST_F(refused, unknown_type_behind_a_good_one)
{
	struct rds_atomic_args atomic = atomic_args();
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ATOMIC_FADD, &atomic,
		    sizeof(atomic));
	rds_msg_add(&msg, SOL_RDS, 99, &atomic, 8);
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

TEST_F(refused, size_is_checked_before_control_messages)
{
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	msg.iov.iov_len = MAX_MESSAGE + 1;
	rds_msg_add(&msg, SOL_RDS, 99, local, 8);
	EXPECT_EQ(-EMSGSIZE, msg_send(self->fd, &msg));
}

TEST_F(refused, control_messages_are_checked_before_the_payload)
{
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	msg.iov.iov_base = (void *)8;
	rds_msg_add(&msg, SOL_RDS, 99, local, 8);
	EXPECT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

TEST_F(refused, payload_is_copied_before_control_messages_are_executed)
{
	struct rds_get_mr_args map = mr_args();
	struct rds_msg msg;

	msg_init(&msg, &self->name);
	msg.iov.iov_base = (void *)8;
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &map, sizeof(map));
	EXPECT_EQ(-EFAULT, msg_send(self->fd, &msg));
}

TEST_F(refused, zerocopy_cookie_without_the_flag)
{
	uint32_t cookie = 7;

	ASSERT_EQ(0, rds_set(self->fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	EXPECT_EQ(-EINVAL, send_with_rds(self->fd, &self->name,
					 RDS_CMSG_ZCOPY_COOKIE, &cookie, 4));
}

TEST_F(refused, repeatedly_without_losing_room)
{
	const uint64_t cookie = 0x1234567800000000;
	struct rds_msg msg;
	int i;

	ASSERT_EQ(0, rds_sndbuf(self->fd, 8192));
	msg_init(&msg, &self->name);
	msg.iov.iov_len = 8192;
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie,
		    sizeof(cookie));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(-EINVAL, msg_send(self->fd, &msg));
}

TEST_F(pair, other_levels_are_ignored)
{
	static const struct {
		int level;
		int type;
	} other[] = {
		{ IPPROTO_IP, IP_TTL }, { IPPROTO_IPV6, IPV6_PKTINFO },
		{ SOL_RDS + 1, RDS_CMSG_RDMA_ARGS }, { 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		EXPECT_EQ(10, send_with(self->a, &self->b_name, other[i].level,
					other[i].type, local, 4));
		EXPECT_EQ(10, ERR(rds_recv(self->b, payload, 100)));
	}
}

TEST_HARNESS_MAIN
