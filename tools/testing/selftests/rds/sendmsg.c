// SPDX-License-Identifier: GPL-2.0
/* sendmsg(2): its checks, their order, and what it delivers */
#include "pair.h"
#include "solo.h"

#include <sys/mman.h>
#include <sys/uio.h>

#define MAX_MESSAGE (1024 * 1024)

static char payload[2 * MAX_MESSAGE];
static char received[2 * MAX_MESSAGE];

static const int accepted_flags[] = {
	0, MSG_DONTWAIT, MSG_NOSIGNAL, MSG_EOR,
	MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR,
};

static const int refused_flags[] = {
	MSG_OOB, MSG_PEEK, MSG_DONTROUTE, MSG_CTRUNC, MSG_PROXY, MSG_TRUNC,
	MSG_WAITALL, MSG_FIN, MSG_SYN, MSG_CONFIRM, MSG_RST, MSG_ERRQUEUE,
	MSG_MORE, MSG_FASTOPEN, MSG_OOB | MSG_DONTWAIT,
	MSG_MORE | MSG_NOSIGNAL,
};

static long send_to(int fd, const char *addr, unsigned int port)
{
	struct rds_name to = rds_name(addr, port);

	return ERR(rds_sendto(fd, "abc", 3, MSG_DONTWAIT, &to));
}

TEST_F(pair, accepted_flags)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(accepted_flags); i++) {
		rds_fill(payload, 50, i);
		ASSERT_EQ(50, ERR(rds_sendto(self->a, payload, 50,
					     accepted_flags[i],
					     &self->b_name)));
		ASSERT_EQ(50, ERR(rds_recv(self->b, received, 100)));
		EXPECT_TRUE(rds_check(received, 50, i));
	}
}

TEST_F(pair, refused_flags)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused_flags); i++) {
		EXPECT_EQ(-EOPNOTSUPP, ERR(rds_sendto(self->a, "abc", 3,
						      refused_flags[i],
						      &self->b_name)))
			TH_LOG("flags %#x", refused_flags[i]);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(solo, flags_are_checked_before_the_name)
{
	struct rds_name to = rds_name("0.0.0.0", 5);

	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_sendto(self->fd, "abc", 3, MSG_MORE,
					      &to)));
}

TEST_F(pair, name_too_short)
{
	socklen_t len;

	for (len = 1; len < self->b_name.len; len++)
		EXPECT_EQ(-EINVAL, ERR(sendto(self->a, "abc", 3, 0,
					      &self->b_name.sa, len)));
}

TEST_F(solo, name_is_checked_before_the_binding)
{
	struct rds_name to = rds_name("127.0.0.1", 5);

	EXPECT_EQ(-EINVAL, ERR(sendto(self->fd, "abc", 3, 0, &to.sa, 8)));
	to.sa.sa_family = AF_UNIX;
	EXPECT_EQ(-EINVAL, ERR(rds_sendto(self->fd, "abc", 3, 0, &to)));
	to.sa.sa_family = AF_UNSPEC;
	EXPECT_EQ(-EINVAL, ERR(rds_sendto(self->fd, "abc", 3, 0, &to)));
}

TEST_F(solo, name_not_unicast)
{
	EXPECT_EQ(-EINVAL, send_to(self->fd, "0.0.0.0", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "255.255.255.255", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "224.0.0.1", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "::", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "ff02::1%1", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "::ffff:0.0.0.0", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "::ffff:255.255.255.255", 5));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "::ffff:224.0.0.1", 5));
}

TEST_F(solo, link_local_name_needs_a_scope)
{
	EXPECT_EQ(-EINVAL, send_to(self->fd, "fe80::1", 5));
}

TEST_F(solo, unbound)
{
	EXPECT_EQ(-ENOTCONN, send_to(self->fd, "127.0.0.1", 5));
	EXPECT_EQ(-ENOTCONN, send_to(self->fd, "::1", 5));
	EXPECT_EQ(-ENOTCONN, ERR(send(self->fd, "abc", 3, 0)));
}

TEST_F(solo, connected_but_unbound)
{
	ASSERT_EQ(0, rds_connect(self->fd, rds_name("127.0.0.1", 5)));
	EXPECT_EQ(-ENOTCONN, ERR(send(self->fd, "abc", 3, 0)));
}

TEST_F(pair, bound_without_a_destination)
{
	EXPECT_EQ(-ENOTCONN, ERR(send(self->a, "abc", 3, 0)));
	EXPECT_EQ(-ENOTCONN, ERR(send(self->a, "abc", 0, 0)));
}

TEST_F(solo, name_of_the_other_family)
{
	int fd = rds_bound("::1", 0);

	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-EOPNOTSUPP, send_to(self->fd, "::1", 5));
	EXPECT_EQ(-EOPNOTSUPP, send_to(fd, "127.0.0.1", 5));
	EXPECT_EQ(-EOPNOTSUPP, send_to(fd, "::ffff:127.0.0.1", 5));
	close(fd);
}

TEST_F(solo, binding_is_checked_before_the_size)
{
	struct rds_name to = rds_name("127.0.0.1", 5);

	EXPECT_EQ(-ENOTCONN, ERR(rds_sendto(self->fd, payload,
					    MAX_MESSAGE + 1, 0, &to)));
}

TEST_F(solo, family_is_checked_before_the_size)
{
	struct rds_name to = rds_name("::1", 5);

	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(-EOPNOTSUPP, ERR(rds_sendto(self->fd, payload,
					      MAX_MESSAGE + 1, 0, &to)));
}

TEST_F(solo, mapped_name_is_an_ipv4_name)
{
	struct rds_name to = rds_name("::ffff:127.0.0.2", 4000);
	int fd = rds_bound("127.0.0.2", 4000);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("127.0.0.1", 0)));
	EXPECT_EQ(3, ERR(rds_sendto(self->fd, "abc", 3, 0, &to)));
	EXPECT_EQ(3, ERR(rds_recv(fd, received, 100)));
	close(fd);
}

TEST_F(solo, scope_of_another_interface)
{
	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("fe80::1%1", 4000)));
	EXPECT_EQ(-EINVAL, send_to(self->fd, "fe80::1%2", 4000));
}

TEST_F(solo, link_local_to_link_local)
{
	struct rds_name name = rds_name("fe80::1%1", 4000);
	struct rds_msg msg;

	ASSERT_EQ(0, ERR(rds_address("fe80::1", true)));
	ASSERT_EQ(0, rds_bind(self->fd, name));
	EXPECT_EQ(3, send_to(self->fd, "fe80::1%1", 4000));
	ASSERT_EQ(3, ERR(rds_msg_recv(self->fd, &msg, received, 100, 0)));
	EXPECT_EQ(name.len, msg.hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(&msg.name.ss, &name.ss, name.len));
}

/*
 * Loopback cannot send a message to another host. Over a wire, the message
 * waits without a time limit.
 */
TEST_F(pair, name_of_another_host)
{
	EXPECT_EQ(variant->wire ? 3 : -ENETUNREACH,
		  send_to(self->a, variant->stranger, 5));
}

TEST_F(pair, connected_to_another_host)
{
	ASSERT_EQ(0, rds_connect(self->a, rds_name(variant->stranger, 5)));
	EXPECT_EQ(variant->wire ? 3 : -ENETUNREACH,
		  ERR(send(self->a, "abc", 3, 0)));
}

TEST_F(pair, larger_than_any_message)
{
	ASSERT_EQ(0, rds_sndbuf(self->a, 4 * MAX_MESSAGE));
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, payload, MAX_MESSAGE + 1,
					    0, &self->b_name)));
}

TEST_F(pair, largest_message)
{
	ASSERT_EQ(0, rds_sndbuf(self->a, 4 * MAX_MESSAGE));
	rds_fill(payload, MAX_MESSAGE, 1);
	ASSERT_EQ(MAX_MESSAGE, ERR(rds_sendto(self->a, payload, MAX_MESSAGE,
					      0, &self->b_name)));
	ASSERT_EQ(MAX_MESSAGE, ERR(rds_recv(self->b, received,
					    sizeof(received))));
	EXPECT_TRUE(rds_check(received, MAX_MESSAGE, 1));
}

TEST_F(pair, larger_than_the_send_buffer)
{
	ASSERT_EQ(0, rds_sndbuf(self->a, 8192));
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, payload, 8193, 0,
					    &self->b_name)));
	EXPECT_EQ(8192, ERR(rds_sendto(self->a, payload, 8192, 0,
				       &self->b_name)));
}

/* The limit is half of the value that getsockopt() returns. */
TEST_F(pair, larger_than_the_default_send_buffer)
{
	int limit = rds_get(self->a, SOL_SOCKET, SO_SNDBUF) / 2;

	ASSERT_LT(0, limit);
	ASSERT_LT(limit, MAX_MESSAGE);
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, payload, limit + 1, 0,
					    &self->b_name)));
	EXPECT_EQ(limit, ERR(rds_sendto(self->a, payload, limit, 0,
					&self->b_name)));
}

TEST_F(pair, size_is_checked_before_the_payload)
{
	EXPECT_EQ(-EMSGSIZE, ERR(rds_sendto(self->a, (void *)8,
					    MAX_MESSAGE + 1, 0,
					    &self->b_name)));
}

TEST_F(pair, bad_payload)
{
	EXPECT_EQ(-EFAULT, ERR(rds_sendto(self->a, (void *)8, 100, 0,
					  &self->b_name)));
	EXPECT_EQ(-EFAULT, ERR(rds_sendto(self->a, (void *)-8192L, 100, 0,
					  &self->b_name)));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, payload_that_ends_badly)
{
	long size = sysconf(_SC_PAGESIZE);
	char *page = rds_guarded_page();

	ASSERT_NE(NULL, page);
	EXPECT_EQ(-EFAULT, ERR(rds_sendto(self->a, page, size + 1, 0,
					  &self->b_name)));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(size, ERR(rds_sendto(self->a, page, size, 0,
				       &self->b_name)));
	EXPECT_EQ(size, ERR(rds_recv(self->b, received, 8192)));
}

/* A send that failed must not stay charged to the send buffer. */
TEST_F(pair, failed_sends_take_no_room)
{
	int i;

	ASSERT_EQ(0, rds_sndbuf(self->a, 8192));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(-EFAULT, ERR(rds_sendto(self->a, (void *)8, 8000,
						  MSG_DONTWAIT,
						  &self->b_name)));
	EXPECT_EQ(8192, ERR(rds_sendto(self->a, payload, 8192, MSG_DONTWAIT,
				       &self->b_name)));
}

TEST_F(pair, empty_message)
{
	struct rds_msg msg;

	EXPECT_EQ(0, ERR(rds_sendto(self->a, NULL, 0, 0, &self->b_name)));
	EXPECT_EQ(0, ERR(rds_msg_recv(self->b, &msg, received, 100, 0)));
	EXPECT_EQ(self->a_name.len, msg.hdr.msg_namelen);
	EXPECT_EQ(0, memcmp(&msg.name.ss, &self->a_name.ss,
			    self->a_name.len));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, empty_message_without_an_iovec)
{
	struct msghdr hdr = {
		.msg_name = &self->b_name.sa,
		.msg_namelen = self->b_name.len,
	};

	EXPECT_EQ(0, ERR(sendmsg(self->a, &hdr, 0)));
	EXPECT_EQ(0, ERR(rds_recv(self->b, received, 100)));
}

TEST_F(pair, to_itself)
{
	rds_fill(payload, 100, 3);
	EXPECT_EQ(100, ERR(rds_sendto(self->a, payload, 100, 0,
				      &self->a_name)));
	EXPECT_EQ(100, ERR(rds_recv(self->a, received, 200)));
	EXPECT_TRUE(rds_check(received, 100, 3));
}

TEST_F(pair, to_a_port_without_a_socket)
{
	struct rds_name to = self->b_name;
	int other = pair_far_bound(variant, 0);
	int64_t drops = rds_counter(other, "recv_drop_no_sock");

	close(self->b);
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &to)));
	EXPECT_TRUE(rds_await_counter(other, "recv_drop_no_sock", drops + 1));
	close(other);
	/* The message was dropped, not queued for a later socket. */
	self->b = pair_far_bound(variant, rds_port(&to));
	ASSERT_LE(0, self->b);
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &to)));
	EXPECT_EQ(3, ERR(rds_recv(self->b, received, 100)));
}

/*
 * A message arrives before its send returns, even the first one of a
 * connection. There is one exception: if another context is already sending on
 * the path, that context sends this message, too, and it may arrive later.
 */
static void arrive_at_once(struct __test_metadata *_metadata, const char *from,
			   const char *to)
{
	int a = rds_bound(from, 0);
	int b = rds_bound(to, 0);
	struct rds_name name = rds_sockname(b);
	int64_t met;
	int i, late = 0;
	long ret;

	for (i = 0; i < 50; i++) {
		rds_fill(payload, 100, i);
		met = rds_counter(a, "send_lock_contention");
		ASSERT_EQ(100, ERR(rds_sendto(a, payload, 100, 0, &name)));
		ret = ERR(recv(b, received, 200, MSG_DONTWAIT));
		if (ret == -EAGAIN) {
			late++;
			EXPECT_LT(met, rds_counter(a, "send_lock_contention"));
			ret = rds_recv(b, received, 200);
		}
		ASSERT_EQ(100, ret);
		ASSERT_TRUE(rds_check(received, 100, i));
	}
	EXPECT_GT(5, late);
	close(a);
	close(b);
}

TEST_F(solo, loopback_arrives_before_sendmsg_returns)
{
	solo_move(_metadata, self);
	arrive_at_once(_metadata, "127.0.0.1", "127.0.0.2");
	arrive_at_once(_metadata, "::1", "::1");
}

TEST_F(pair, every_size_arrives_intact)
{
	static const size_t sizes[] = {
		0, 1, 2, 3, 7, 8, 63, 64, 65, 2047, 2048, 2049, 4095, 4096,
		4097, 8191, 8192, 8193, 12288, 65535, 65536, 65537, 262144,
		MAX_MESSAGE - 1, MAX_MESSAGE,
	};
	size_t i;

	ASSERT_EQ(0, rds_sndbuf(self->a, 2 * MAX_MESSAGE));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		rds_fill(payload, sizes[i], i);
		ASSERT_EQ(sizes[i], ERR(rds_sendto(self->a, payload, sizes[i],
						   0, &self->b_name)));
		ASSERT_EQ(sizes[i], ERR(rds_recv(self->b, received,
						 sizeof(received))));
		EXPECT_TRUE(rds_check(received, sizes[i], i))
			TH_LOG("size %zu", sizes[i]);
	}
}

TEST_F(pair, unaligned_payload)
{
	size_t offset;

	for (offset = 1; offset < 16; offset++) {
		rds_fill(payload + offset, 9000, offset);
		ASSERT_EQ(9000, ERR(rds_sendto(self->a, payload + offset, 9000,
					       0, &self->b_name)));
		ASSERT_EQ(9000, ERR(rds_recv(self->b, received + 16 - offset,
					     10000)));
		EXPECT_TRUE(rds_check(received + 16 - offset, 9000, offset));
	}
}

TEST_F(pair, gathers_its_iovec)
{
	struct iovec iov[UIO_MAXIOV];
	struct msghdr hdr = {
		.msg_name = &self->b_name.sa,
		.msg_namelen = self->b_name.len,
		.msg_iov = iov,
		.msg_iovlen = UIO_MAXIOV,
	};
	int i;

	rds_fill(payload, UIO_MAXIOV * 10, 4);
	for (i = 0; i < UIO_MAXIOV; i++) {
		iov[i].iov_base = payload + 10 * i;
		iov[i].iov_len = 10;
	}
	EXPECT_EQ(10 * UIO_MAXIOV, ERR(sendmsg(self->a, &hdr, 0)));
	EXPECT_EQ(10 * UIO_MAXIOV,
		  ERR(rds_recv(self->b, received, sizeof(received))));
	EXPECT_TRUE(rds_check(received, 10 * UIO_MAXIOV, 4));
}

/*
 * Overwrite the buffer after each send. The receiver must get the old contents.
 */
static void reuse(struct __test_metadata *_metadata, FIXTURE_DATA(pair) *self,
		  size_t len, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		rds_fill(payload, len, i);
		ASSERT_EQ(len, ERR(rds_sendto(self->a, payload, len, 0,
					      &self->b_name)));
		memset(payload, ~i, len);
	}
	for (i = 0; i < count; i++) {
		ASSERT_EQ(len, ERR(rds_recv(self->b, received,
					    sizeof(received))));
		ASSERT_TRUE(rds_check(received, len, i))
			TH_LOG("size %zu, message %u", len, i);
	}
}

TEST_F(pair, payload_may_be_reused_at_once)
{
	ASSERT_EQ(0, rds_sndbuf(self->a, 8 * MAX_MESSAGE));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 8 * MAX_MESSAGE));
	reuse(_metadata, self, 64, 300);
	reuse(_metadata, self, 1024, 200);
	reuse(_metadata, self, 2049, 100);
	reuse(_metadata, self, 4096, 100);
	reuse(_metadata, self, 16384, 50);
	reuse(_metadata, self, 65536, 16);
	reuse(_metadata, self, 262144, 4);
	reuse(_metadata, self, MAX_MESSAGE, 3);
}

#define BATCH 8

TEST_F(pair, sendmmsg_sends_every_message)
{
	struct mmsghdr batch[BATCH] = {};
	struct rds_msg msg[BATCH];
	int i;

	for (i = 0; i < BATCH; i++) {
		rds_fill(payload + 100 * i, 100, i);
		rds_msg_init(&msg[i], payload + 100 * i, 50 + i);
		rds_msg_to(&msg[i], &self->b_name);
		batch[i].msg_hdr = msg[i].hdr;
	}
	ASSERT_EQ(BATCH, ERR(sendmmsg(self->a, batch, BATCH, 0)));
	for (i = 0; i < BATCH; i++) {
		EXPECT_EQ(50 + i, batch[i].msg_len);
		EXPECT_EQ(50 + i, ERR(rds_recv(self->b, received, 100)));
		EXPECT_TRUE(rds_check(received, 50 + i, i));
	}
}

TEST_F(pair, sendmmsg_stops_at_the_first_failure)
{
	struct mmsghdr batch[3] = {};
	struct rds_msg msg[3];
	int i;

	for (i = 0; i < 3; i++) {
		rds_msg_init(&msg[i], payload, 10);
		rds_msg_to(&msg[i], &self->b_name);
		batch[i].msg_hdr = msg[i].hdr;
	}
	batch[1].msg_hdr.msg_namelen = 3;
	EXPECT_EQ(1, ERR(sendmmsg(self->a, batch, 3, 0)));
	EXPECT_EQ(10, ERR(rds_recv(self->b, received, 100)));
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, order_is_kept)
{
	uint32_t i, seen;

	ASSERT_EQ(0, rds_rcvbuf(self->b, MAX_MESSAGE));
	for (i = 0; i < 300; i++)
		ASSERT_EQ(4, ERR(rds_sendto(self->a, &i, 4, 0,
					    &self->b_name)));
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(4, ERR(rds_recv(self->b, &seen, 4)));
		ASSERT_EQ(i, seen);
	}
	EXPECT_TRUE(rds_silent(self->b));
}

TEST_F(pair, delivered_messages_outlive_their_socket)
{
	rds_fill(payload, 5000, 6);
	ASSERT_EQ(5000, ERR(rds_sendto(self->a, payload, 5000, 0,
				       &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	close(self->a);
	self->a = -1;
	EXPECT_EQ(5000, ERR(rds_recv(self->b, received, 5000)));
	EXPECT_TRUE(rds_check(received, 5000, 6));
}

TEST_HARNESS_MAIN
