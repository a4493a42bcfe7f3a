// SPDX-License-Identifier: GPL-2.0
/*
 * Counts and lengths that the user chooses: each call succeeds or fails with an
 * errno, and uses no more memory than it should. A warning in the kernel log
 * fails the run.
 */
#include "loop.h"

static char payload[PAGE];
static struct rds_iovec vecs[1024];

static long send_cmsg(int fd, const struct rds_name *to, int type,
		      const void *data, size_t len)
{
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 8);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, type, data, len);
	return ERR(sendmsg(fd, &msg.hdr, MSG_DONTWAIT));
}

static long send_args(int fd, const struct rds_name *to,
		      const struct rds_rdma_args *args)
{
	return send_cmsg(fd, to, RDS_CMSG_RDMA_ARGS, args, sizeof(*args));
}

static struct rds_rdma_args one_page(void)
{
	vecs[0].addr = (uintptr_t)payload;
	vecs[0].bytes = sizeof(payload);
	return (struct rds_rdma_args) {
		.cookie = 1ULL << 32,
		.remote_vec.bytes = sizeof(payload),
		.local_vec_addr = (uintptr_t)vecs,
		.nr_local = 1,
	};
}

static const uint64_t huge_counts[] = {
	1025, 0x40001, 0x10000000, 0x7fffffff, 0x80000000, 0xffffffff,
	0x100000000, 0x100000001, 1ULL << 60, 0x0fffffffffffffff, ~0ULL,
};

/* Multiplied by the size of a vector these wrap, or cause huge allocations. */
TEST_F(loop, cve_2010_4175_cve_2022_21385_huge_vector_counts)
{
	struct rds_rdma_args args = one_page();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(huge_counts); i++) {
		args.nr_local = huge_counts[i];
		EXPECT_EQ(-EMSGSIZE, send_args(self->a, &self->b_name, &args))
			TH_LOG("%llx", args.nr_local);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* list report of 2021-02: the allocator warned about the order */
TEST_F(loop, nr_local_0x40001)
{
	struct rds_rdma_args args = one_page();

	args.nr_local = 0x40001;
	EXPECT_EQ(-EMSGSIZE, send_args(self->a, &self->b_name, &args));
	args.local_vec_addr = 0;
	EXPECT_EQ(-EMSGSIZE, send_args(self->a, &self->b_name, &args));
}

TEST_F(loop, cve_2018_5332_no_vectors_or_no_pages)
{
	struct rds_rdma_args args = one_page();
	unsigned int i;

	args.nr_local = 0;
	EXPECT_EQ(-EINVAL, send_args(self->a, &self->b_name, &args));

	memset(vecs, 0, sizeof(vecs));
	args.remote_vec.bytes = 0;
	for (i = 1; i <= ARRAY_SIZE(vecs); i *= 2) {
		args.nr_local = i;
		EXPECT_EQ(-EINVAL, send_args(self->a, &self->b_name, &args));
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* Invalid memory, and the errno for it as local memory */
static const struct {
	struct rds_iovec vec;
	int err;
	int remote;	/* result for it as memory of the peer */
} wrapping[] = {
	{ { ~0ULL, 1 }, -EFAULT, -EINVAL },
	{ { ~0ULL, ~0ULL }, -EINVAL, -EMSGSIZE },
	{ { 1, ~0ULL }, -EMSGSIZE, -EMSGSIZE },
	{ { -PAGE, PAGE }, -EFAULT, 8 },
	{ { -PAGE, 2 * PAGE }, -EINVAL, 8 },
	{ { 0xffffffff, 0xffffffff }, -EMSGSIZE, -EMSGSIZE },
	{ { PAGE, -PAGE }, -EMSGSIZE, -EMSGSIZE },
	{ { 1ULL << 63, 1ULL << 63 }, -EMSGSIZE, -EMSGSIZE },
};

TEST_F(loop, cve_2010_3865_vectors_that_wrap)
{
	struct rds_rdma_args args = one_page();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrapping); i++) {
		vecs[i] = wrapping[i].vec;
		args = one_page();
		args.local_vec_addr = (uintptr_t)&wrapping[i].vec;
		EXPECT_EQ(wrapping[i].err,
			  send_args(self->a, &self->b_name, &args))
			TH_LOG("%u", i);
		args = one_page();
		args.remote_vec = wrapping[i].vec;
		args.flags = RDS_RDMA_READWRITE;
		EXPECT_EQ(wrapping[i].remote,
			  send_args(self->a, &self->b_name, &args))
			TH_LOG("%u", i);
	}
	for (i = 0; i < ARRAY_SIZE(wrapping); i++)
		vecs[i] = wrapping[i].vec;
	args.local_vec_addr = (uintptr_t)vecs;
	args.nr_local = ARRAY_SIZE(wrapping);
	args.remote_vec.bytes = 1 << 20;
	EXPECT_EQ(-EINVAL, send_args(self->a, &self->b_name, &args));
	EXPECT_TRUE(rds_silent(self->b));
}

static long trace(int fd, unsigned int count, uint8_t p0, uint8_t p1,
		  uint8_t p2)
{
	struct rds_rx_trace_so so = {
		.rx_traces = count, .rx_trace_pos = { p0, p1, p2 },
	};

	return ERR(setsockopt(fd, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so,
			      sizeof(so)));
}

TEST_F(loop, cve_2017_18552_rx_trace_count)
{
	unsigned int count;

	for (count = 4; count < 256; count++)
		EXPECT_EQ(-EFAULT, trace(self->b, count, 0, 1, 2));
	EXPECT_EQ(0, trace(self->b, 3, 0, 1, 2));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_F(loop, cve_2024_23849_rx_trace_position)
{
	unsigned int pos;

	for (pos = RDS_MSG_RX_DGRAM_TRACE_MAX; pos < 256; pos++) {
		EXPECT_EQ(-EFAULT, trace(self->b, 1, pos, 0, 0));
		EXPECT_EQ(-EFAULT, trace(self->b, 3, 0, 1, pos));
	}
	/* Positions beyond the count are ignored. */
	EXPECT_EQ(0, trace(self->b, 1, 2, 255, 255));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
	EXPECT_EQ(0, trace(self->b, 0, 255, 255, 255));
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

static const struct {
	int type;
	size_t size;
} kinds[] = {
	{ RDS_CMSG_RDMA_ARGS, sizeof(struct rds_rdma_args) },
	{ RDS_CMSG_RDMA_DEST, sizeof(rds_rdma_cookie_t) },
	{ RDS_CMSG_RDMA_MAP, sizeof(struct rds_get_mr_args) },
	{ RDS_CMSG_ATOMIC_FADD, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_ATOMIC_CSWP, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_MASKED_ATOMIC_FADD, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_MASKED_ATOMIC_CSWP, sizeof(struct rds_atomic_args) },
	{ RDS_CMSG_ZCOPY_COOKIE, sizeof(uint32_t) },
};

/* list report of 2026-06: one of several passes did not check the length */
TEST_F(loop, short_cmsg_in_size_pass)
{
	static const char zeros[128];
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		for (len = 0; len < kinds[i].size; len++) {
			EXPECT_EQ(-EINVAL,
				  send_cmsg(self->a, &self->b_name,
					    kinds[i].type, zeros, len))
				TH_LOG("type %d, %zu bytes", kinds[i].type,
				       len);
		}
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* A wrong length is found before the data are read: they lie at the end. */
TEST_F(loop, cmsg_len_that_is_wrong)
{
	static const size_t lengths[] = {
		0, 1, sizeof(struct cmsghdr) - 1, CMSG_LEN(9), CMSG_LEN(4096),
		INT32_MAX, UINT32_MAX, SIZE_MAX, SIZE_MAX - 7,
	};
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	unsigned int i;
	uint64_t data = 0;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		rds_msg_init(&msg, payload, 8);
		rds_msg_to(&msg, &self->b_name);
		rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &data, 8);
		cmsg = (struct cmsghdr *)msg.control;
		cmsg->cmsg_len = lengths[i];
		EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, 0)))
			TH_LOG("length %zx", lengths[i]);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* A second control message that begins in the buffer and ends behind it */
TEST_F(loop, cmsg_cut_off)
{
	struct rds_msg msg;
	uint64_t data[8] = {};
	size_t whole, cut;

	rds_msg_init(&msg, payload, 8);
	rds_msg_to(&msg, &self->b_name);
	rds_msg_add(&msg, SOL_SOCKET, 99, data, 8);
	whole = msg.hdr.msg_controllen;
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_ARGS, data, 56);
	for (cut = whole + sizeof(struct cmsghdr);
	     cut < whole + CMSG_LEN(56); cut++) {
		msg.hdr.msg_controllen = cut;
		EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, 0)))
			TH_LOG("%zu of %zu", cut, whole + CMSG_LEN(56));
	}
	EXPECT_TRUE(rds_silent(self->b));
}

/* The family is in the first two bytes; it must not be read without them. */
TEST_F(loop, address_length_unchecked_before_family)
{
	struct sockaddr_storage ss;
	struct msghdr hdr = { .msg_name = &ss };
	static const int families[] = { AF_INET, AF_INET6, AF_UNSPEC, 65535 };
	socklen_t len, least;
	unsigned int i;
	int fd = rds_socket();

	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(families); i++) {
		memset(&ss, 0xff, sizeof(ss));
		ss.ss_family = families[i];
		least = sizeof(struct sockaddr_in);
		if (families[i] == AF_INET6)
			least = sizeof(struct sockaddr_in6);
		for (len = 0; len <= sizeof(ss); len++) {
			EXPECT_EQ(-1, bind(fd, (void *)&ss, len));
			EXPECT_EQ(-1, connect(fd, (void *)&ss, len));
			if (len < (i < 2 ? least : 2))
				EXPECT_EQ(EINVAL, errno)
					TH_LOG("family %d, length %u",
					       families[i], len);
			hdr.msg_namelen = len;
			if (len)
				EXPECT_EQ(-EINVAL,
					  ERR(sendmsg(self->a, &hdr, 0)))
					TH_LOG("family %d, length %u",
					       families[i], len);
		}
	}
	close(fd);
}

TEST_F(loop, i2_message_sizes)
{
	static char big[(1 << 20) + 1];

	ASSERT_EQ(0, rds_sndbuf(self->a, 4 << 20));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 4 << 20));
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, big, sizeof(big), 0,
					    &self->b_name)));
	EXPECT_EQ(1 << 20, rds_sendto(self->a, big, 1 << 20, 0, &self->b_name));
	EXPECT_EQ(1 << 20, rds_recv(self->b, big, sizeof(big)));
	EXPECT_EQ(0, rds_sendto(self->a, NULL, 0, 0, &self->b_name));
	EXPECT_EQ(0, rds_recv(self->b, big, sizeof(big)));
}

/* Lengths of 64 bits, and vectors whose sum is more than that */
TEST_F(loop, i2_message_lengths_that_wrap)
{
	struct iovec iov[3] = {
		{ payload, SIZE_MAX }, { payload, SIZE_MAX / 2 },
		{ payload, SIZE_MAX / 2 },
	};
	struct msghdr hdr = {
		.msg_name = &self->b_name.ss, .msg_namelen = self->b_name.len,
		.msg_iov = iov,
	};
	long ret;

	for (hdr.msg_iovlen = 1; hdr.msg_iovlen <= 3; hdr.msg_iovlen++) {
		ret = ERR(sendmsg(self->a, &hdr, MSG_DONTWAIT));
		EXPECT_LT(ret, 0);
		ret = ERR(recvmsg(self->b, &hdr, MSG_DONTWAIT));
		EXPECT_LT(ret, 0);
	}
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, payload, SIZE_MAX, 0,
					    &self->b_name)));
	hdr.msg_iovlen = 1025;
	EXPECT_EQ(-EMSGSIZE, ERR(sendmsg(self->a, &hdr, MSG_DONTWAIT)));
	EXPECT_TRUE(rds_silent(self->b));
}

/* optlen is signed on its way in. */
TEST_F(loop, i2_option_lengths)
{
	static const int lengths[] = { -1, INT32_MIN, INT32_MAX, 1 << 30 };
	char room[PAGE];
	socklen_t len;
	unsigned int i;
	int option;
	long ret;

	for (option = RDS_INFO_FIRST; option <= RDS_INFO_LAST; option++) {
		for (i = 0; i < ARRAY_SIZE(lengths); i++) {
			len = lengths[i];
			ret = ERR(getsockopt(self->a, SOL_RDS, option, room,
					     &len));
			if (lengths[i] < 0)
				EXPECT_TRUE(ret == -EINVAL ||
					    ret == -ENOPROTOOPT)
					TH_LOG("%d: %ld", option, ret);
		}
	}
	for (option = 0; option < 100; option++)
		for (i = 0; i < ARRAY_SIZE(lengths); i++)
			setsockopt(self->a, SOL_RDS, option, room, lengths[i]);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_HARNESS_MAIN
