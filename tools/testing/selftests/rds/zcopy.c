// SPDX-License-Identifier: GPL-2.0
/*
 * Sends from user memory (MSG_ZEROCOPY): what arrives, and when the sender is
 * notified that its memory is free again. Loopback copies the payload, which
 * only the time and the counters show.
 */
#include "memory.h"
#include "pair.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE	4096
#define LARGEST	(1 << 20)

static char sent[LARGEST + 2 * PAGE] __attribute__((aligned(PAGE)));
static char received[LARGEST];

static void zcopy_msg(struct rds_msg *msg, const struct rds_name *to,
		      void *buf, size_t len, uint32_t cookie)
{
	rds_msg_init(msg, buf, len);
	rds_msg_to(msg, to);
	rds_msg_add(msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
}

static long zcopy_send(int fd, const struct rds_name *to, void *buf, size_t len,
		       uint32_t cookie, int flags)
{
	struct rds_msg msg;

	zcopy_msg(&msg, to, buf, len, cookie);
	return ERR(sendmsg(fd, &msg.hdr, MSG_ZEROCOPY | flags));
}

static void zcopy_on(struct __test_metadata *_metadata, int fd)
{
	ASSERT_EQ(0, rds_set(fd, SOL_SOCKET, SO_ZEROCOPY, 1));
	ASSERT_EQ(0, rds_sndbuf(fd, 4 * LARGEST));
}

/* Get the cookies of the completion in @msg. Returns false if there is none. */
static bool told(struct rds_msg *msg, struct rds_zcopy_cookies *cookies)
{
	struct cmsghdr *cmsg = rds_msg_find(msg, SOL_RDS,
					    RDS_CMSG_ZCOPY_COMPLETION);

	memset(cookies, 0, sizeof(*cookies));
	if (!cmsg || cmsg->cmsg_len != CMSG_LEN(sizeof(*cookies)))
		return false;
	memcpy(cookies, CMSG_DATA(cmsg), sizeof(*cookies));
	return cookies->num && cookies->num <= RDS_MAX_ZCOOKIES;
}

/* Wait for a completion, which stays queued. That poll() reports input does not
 * mean that there is one: poll() also reports congestion updates, such as the
 * first maps of a connection.
 */
static bool await_completion(int fd)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;

	return !rds_msg_recv(fd, &msg, received, sizeof(received), MSG_PEEK) &&
	       told(&msg, &cookies);
}

/*
 * Wait until there is no input. An update is reported once, a completion until
 * it is taken.
 */
static bool await_no_input(int fd)
{
	unsigned int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (!(rds_poll(fd) & (POLLIN | POLLRDNORM)))
			return true;
		usleep(1000);
	}
	return false;
}

/*
 * Wait for a completion that comes alone. Returns how many cookies it has, or a
 * negative errno.
 */
static long await_cookies(int fd, struct rds_zcopy_cookies *cookies)
{
	struct rds_msg msg;
	long ret;

	ret = ERR(rds_msg_recv(fd, &msg, received, sizeof(received), 0));
	if (ret)
		return ret > 0 ? -EBADMSG : ret;
	if (msg.hdr.msg_namelen || msg.hdr.msg_flags ||
	    rds_msg_count(&msg) != 1 || !told(&msg, cookies))
		return -EPROTO;
	return cookies->num;
}

/* Wait for a completion with exactly @cookie. */
static bool await_cookie(int fd, uint32_t cookie)
{
	struct rds_zcopy_cookies cookies;

	return await_cookies(fd, &cookies) == 1 && cookies.cookies[0] == cookie;
}

TEST_F(pair, arrives_and_is_told)
{
	static const size_t sizes[] = {
		1, 48, 1000, 1500, PAGE - 1, PAGE, PAGE + 1, 10000, 65536,
		65537, 300000, LARGEST,
	};
	size_t i;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/*
		 * Neither end is at a page boundary, except in the first round.
		 */
		rds_fill(sent + 13 * i, sizes[i], i);
		ASSERT_EQ((long)sizes[i],
			  zcopy_send(self->a, &self->b_name, sent + 13 * i,
				     sizes[i], 100 + i, 0));
		EXPECT_TRUE(await_cookie(self->a, 100 + i));
		memset(sent, 0xff, sizeof(sent));
		ASSERT_EQ((long)sizes[i],
			  rds_recv(self->b, received, sizeof(received)));
		EXPECT_TRUE(rds_check(received, sizes[i], i));
	}
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
}

/*
 * After the notification, the sender may write to the memory at once, whether
 * the message has been read or not.
 */
TEST_F(pair, memory_is_free_when_told)
{
	unsigned int i, count = 20;
	struct rds_zcopy_cookies cookies;
	size_t len = 50000;
	long done, ret;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_rcvbuf(self->b, 4 * LARGEST));
	for (i = 0; i < count; i++) {
		rds_fill(sent + 7, len, i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name,
						sent + 7, len, i, 0));
		ASSERT_TRUE(await_cookie(self->a, i));
	}
	for (i = 0; i < count; i++) {
		ASSERT_EQ((long)len, rds_recv(self->b, received, len));
		EXPECT_TRUE(rds_check(received, len, i));
	}

	/* The same for many sends at once, each from memory of its own */
	for (i = 0; i < count; i++) {
		rds_fill(sent + i * len, len, 50 + i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name,
						sent + i * len, len, i, 0));
	}
	for (done = 0; done < count; done += ret) {
		ret = await_cookies(self->a, &cookies);
		ASSERT_LT(0, ret);
		for (i = 0; i < ret; i++)
			memset(sent + cookies.cookies[i] * len, 0xee, len);
	}
	EXPECT_EQ(count, done);
	for (i = 0; i < count; i++) {
		ASSERT_EQ((long)len, rds_recv(self->b, received, len));
		EXPECT_TRUE(rds_check(received, len, 50 + i));
	}
}

TEST_F(pair, eight_cookies_at_a_time_in_order)
{
	struct rds_zcopy_cookies cookies;
	unsigned int i, seen = 0;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(100, zcopy_send(self->a, &self->b_name, sent, 100, i,
					  0));
	ASSERT_TRUE(rds_await_acked(self->a));
	/* TCP may hold the memory for a moment after the ack. */
	usleep(300000);
	while (seen < 20) {
		ASSERT_EQ(seen < 16 ? 8 : 4, await_cookies(self->a, &cookies));
		for (i = 0; i < cookies.num; i++)
			EXPECT_EQ(seen++, cookies.cookies[i]);
		for (; i < RDS_MAX_ZCOOKIES; i++)
			EXPECT_EQ(0, cookies.cookies[i]);
	}
	EXPECT_TRUE(rds_silent(self->a));
}

/* A completion may come with a message, after all other control messages. */
TEST_F(pair, told_with_a_message)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_set(self->a, SOL_SOCKET, SO_TIMESTAMP, 1));
	ASSERT_EQ(5, zcopy_send(self->a, &self->b_name, sent, 5, 9, 0));
	ASSERT_EQ(5, rds_recv(self->b, received, sizeof(received)));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_TRUE(rds_arrived(self->a));
	usleep(300000);

	/* A peek at the message does not return the completion. */
	ASSERT_EQ(3, rds_msg_recv(self->a, &msg, received, 10, MSG_PEEK));
	EXPECT_FALSE(told(&msg, &cookies));
	ASSERT_EQ(3, rds_msg_recv(self->a, &msg, received, 10, 0));
	EXPECT_EQ(2, rds_msg_count(&msg));
	EXPECT_NE(NULL, rds_msg_find(&msg, SOL_SOCKET, SO_TIMESTAMP));
	ASSERT_TRUE(told(&msg, &cookies));
	EXPECT_EQ(1, cookies.num);
	EXPECT_EQ(9, cookies.cookies[0]);
	EXPECT_TRUE(rds_silent(self->a));
}

/* A completion that does not fit is not reported, and not lost. */
TEST_F(pair, no_room_to_be_told)
{
	struct rds_zcopy_cookies cookies;
	struct rds_msg msg;
	size_t room;

	zcopy_on(_metadata, self->a);
	ASSERT_EQ(5, zcopy_send(self->a, &self->b_name, sent, 5, 9, 0));
	ASSERT_TRUE(await_completion(self->a));
	EXPECT_LT(0, rds_poll(self->a) & POLLIN);
	for (room = 0; room < CMSG_SPACE(sizeof(cookies)); room++) {
		rds_msg_init(&msg, received, sizeof(received));
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = room;
		EXPECT_EQ(-EAGAIN, ERR(recvmsg(self->a, &msg.hdr,
					       MSG_DONTWAIT)));
	}
	EXPECT_EQ(-EAGAIN, ERR(recv(self->a, received, 1, MSG_DONTWAIT)));
	/* A reader that has no room for it still gets a message. */
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	ASSERT_EQ(3, rds_recv(self->a, received, 10));

	rds_msg_init(&msg, received, sizeof(received));
	msg.hdr.msg_control = (void *)8;
	msg.hdr.msg_controllen = CMSG_SPACE(sizeof(cookies));
	EXPECT_EQ(-EFAULT, ERR(recvmsg(self->a, &msg.hdr, MSG_DONTWAIT)));

	EXPECT_EQ(POLLIN | POLLRDNORM,
		  rds_poll(self->a) & (POLLIN | POLLRDNORM));
	/* A peek returns the completion, and leaves it queued. */
	ASSERT_EQ(0, rds_msg_recv(self->a, &msg, received, 10, MSG_PEEK));
	EXPECT_TRUE(told(&msg, &cookies));
	EXPECT_TRUE(await_cookie(self->a, 9));
	EXPECT_TRUE(await_no_input(self->a));
}

static void *send_a_little_later(void *arg)
{
	FIXTURE_DATA(pair) *self = arg;

	usleep(300000);
	return (void *)zcopy_send(self->a, &self->b_name, sent, 4000, 77, 0);
}

/* The stock kernel notifies only readers that do not block. */
TEST_F(pair, blocked_readers_are_told)
{
	struct rds_task other;
	pthread_t thread;
	void *ret;

	zcopy_on(_metadata, self->a);
	/* A reader that has no room for the completion sleeps on. */
	ASSERT_EQ(0, rds_task_recv(&other, self->a, received, 10));
	ASSERT_TRUE(rds_task_blocked(&other));
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_a_little_later, self));
	EXPECT_TRUE(await_cookie(self->a, 77));
	pthread_join(thread, &ret);
	EXPECT_EQ(4000, (long)ret);
	EXPECT_TRUE(rds_task_blocked(&other));
	ASSERT_EQ(3, rds_sendto(self->b, "abc", 3, 0, &self->a_name));
	EXPECT_EQ(3, rds_task_join(&other));
}

TEST_F(pair, what_is_refused)
{
	uint32_t cookie = 7;
	struct rds_msg msg;

	ASSERT_EQ(0, rds_sndbuf(self->a, 4 * LARGEST));
	EXPECT_EQ(-EINVAL, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	zcopy_on(_metadata, self->a);
	EXPECT_EQ(-EINVAL, zcopy_send(self->a, &self->b_name, sent, 0, 1, 0));
	EXPECT_EQ(-EMSGSIZE, zcopy_send(self->a, &self->b_name, sent,
					LARGEST + 1, 1, 0));
	rds_msg_init(&msg, sent, 10);
	rds_msg_to(&msg, &self->b_name);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	zcopy_msg(&msg, &self->b_name, sent, 10, 1);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, 0)));
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie, 4);
	EXPECT_EQ(-EINVAL, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
	EXPECT_EQ(10, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	EXPECT_EQ(10, rds_recv(self->b, received, 100));
	EXPECT_TRUE(await_cookie(self->a, 1));
}

/* "PinTheft": the first pages can be pinned, a later one cannot. */
TEST_F(pair, cve_2026_43494_memory_that_ends_part_way)
{
	char *pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov[3];
	struct rds_msg msg;
	unsigned int i;

	ASSERT_NE(MAP_FAILED, pages);
	ASSERT_EQ(0, mprotect(pages + 8 * PAGE, 8 * PAGE, PROT_NONE));
	zcopy_on(_metadata, self->a);
	for (i = 0; i < 16; i++) {
		EXPECT_EQ(-EFAULT,
			  zcopy_send(self->a, &self->b_name,
				     pages + i * PAGE / 2 + 1, 8 * PAGE, i, 0));
		zcopy_msg(&msg, &self->b_name, sent, 1, i);
		iov[0] = (struct iovec) { pages, i * PAGE / 2 };
		iov[1] = (struct iovec) { pages + 9 * PAGE, PAGE };
		iov[2] = (struct iovec) { pages, PAGE };
		msg.hdr.msg_iov = iov;
		msg.hdr.msg_iovlen = 3;
		EXPECT_EQ(-EFAULT, ERR(sendmsg(self->a, &msg.hdr,
					       MSG_ZEROCOPY)));
	}
	EXPECT_TRUE(rds_silent(self->a));
	EXPECT_TRUE(rds_silent(self->b));
	munmap(pages, 16 * PAGE);
}

/* In pieces of every size, and in so many that they are copied after all */
TEST_F(pair, many_pieces)
{
	static struct iovec iov[1024];
	unsigned int count, i;
	struct rds_msg msg;
	size_t at, len;

	zcopy_on(_metadata, self->a);
	for (count = 1; count <= ARRAY_SIZE(iov); count *= 2) {
		for (i = 0, at = 0; i < count; i++, at += len) {
			len = (i * 37) % 900 + 1;
			iov[i] = (struct iovec) { sent + at, len };
		}
		rds_fill(sent, at, count);
		zcopy_msg(&msg, &self->b_name, sent, 1, count);
		msg.hdr.msg_iov = iov;
		msg.hdr.msg_iovlen = count;
		ASSERT_EQ((long)at, ERR(sendmsg(self->a, &msg.hdr,
						MSG_ZEROCOPY)));
		EXPECT_TRUE(await_cookie(self->a, count));
		memset(sent, 0, sizeof(sent));
		ASSERT_EQ((long)at, rds_recv(self->b, received,
					     sizeof(received)));
		EXPECT_TRUE(rds_check(received, at, count));
	}
}

/*
 * Loopback copies every payload. RDMA copies a payload that is not contiguous.
 * TCP copies none.
 */
TEST_F(pair, what_is_copied)
{
	bool loop = variant->transport == RDS_TRANS_LOOP;
	bool tcp = variant->transport == RDS_TRANS_TCP;
	struct iovec iov[2] = {
		{ sent + 100, 5000 }, { sent + 20000, 60536 },
	};
	struct rds_msg msg;
	int64_t before;

	zcopy_on(_metadata, self->a);
	rds_fill(sent, sizeof(sent), 1);
	before = rds_counter(self->a, "copy_from_user");
	ASSERT_EQ(65536, zcopy_send(self->a, &self->b_name, sent + 100, 65536,
				    1, 0));
	EXPECT_EQ(before + (loop ? 65536 : 0),
		  rds_counter(self->a, "copy_from_user"));
	ASSERT_EQ(65536, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(0, memcmp(sent + 100, received, 65536));
	EXPECT_TRUE(await_cookie(self->a, 1));

	before = rds_counter(self->a, "copy_from_user");
	zcopy_msg(&msg, &self->b_name, sent, 1, 2);
	msg.hdr.msg_iov = iov;
	msg.hdr.msg_iovlen = 2;
	ASSERT_EQ(65536, ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)));
	EXPECT_EQ(before + (tcp ? 0 : 65536),
		  rds_counter(self->a, "copy_from_user"));
	ASSERT_EQ(65536, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(0, memcmp(sent + 100, received, 5000));
	EXPECT_EQ(0, memcmp(sent + 20000, received + 5000, 60536));
	EXPECT_TRUE(await_cookie(self->a, 2));
}

static bool is_told_nothing(int fd)
{
	struct rds_msg msg;

	rds_msg_init(&msg, received, sizeof(received));
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = sizeof(msg.control);
	return ERR(recvmsg(fd, &msg.hdr, MSG_DONTWAIT)) == -EAGAIN;
}

/*
 * While data is on its way through a slow network, its memory is not free. So
 * the data was not copied when it was sent.
 */
TEST_F(pair, held_by_a_slow_network)
{
	if (variant->transport != RDS_TRANS_TCP)
		return;
	zcopy_on(_metadata, self->a);
	rds_fill(sent, 30000, 1);
	/* The first message establishes the connection. */
	ASSERT_EQ(10, zcopy_send(self->a, &self->b_name, sent, 10, 1, 0));
	ASSERT_EQ(10, rds_recv(self->b, received, sizeof(received)));
	EXPECT_TRUE(await_cookie(self->a, 1));

	EXPECT_EQ(0, system("tc qdisc add dev " VETH_DEV
			    " root netem delay 1s"));
	EXPECT_EQ(30000, zcopy_send(self->a, &self->b_name, sent, 30000, 2, 0));
	usleep(300000);
	EXPECT_TRUE(is_told_nothing(self->a));
	EXPECT_TRUE(await_cookie(self->a, 2));
	memset(sent, 0xff, 30000);
	EXPECT_EQ(0, system("tc qdisc del dev " VETH_DEV " root"));
	EXPECT_EQ(30000, rds_recv(self->b, received, sizeof(received)));
	EXPECT_TRUE(rds_check(received, 30000, 1));
}

/* The process unmaps the memory before the message is read. */
TEST_F(pair, memory_that_is_unmapped)
{
	size_t len = 70000;
	unsigned int i;
	char *pages;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < 10; i++) {
		pages = mmap(NULL, len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, pages);
		rds_fill(pages, len, i);
		ASSERT_EQ((long)len, zcopy_send(self->a, &self->b_name, pages,
						len, i, 0));
		ASSERT_EQ(0, munmap(pages, len));
		ASSERT_EQ((long)len, rds_recv(self->b, received,
					      sizeof(received)));
		EXPECT_TRUE(rds_check(received, len, i));
		EXPECT_TRUE(await_cookie(self->a, i));
	}
}

static bool comes_from(FIXTURE_DATA(pair) *self, char *from, size_t len,
		       uint32_t cookie)
{
	return zcopy_send(self->a, &self->b_name, from, len, cookie, 0) ==
	       (long)len &&
	       await_cookie(self->a, cookie) &&
	       rds_recv(self->b, received, sizeof(received)) == (long)len &&
	       !memcmp(received, from, len);
}

/* A megabyte of each kind, which begins and ends within a page */
TEST_F(pair, memory_of_all_kinds)
{
	long huge = memory_need_huge_pages(4);
	unsigned int i;
	char *mem;

	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(memory_kinds); i++) {
		const struct memory_kind *kind = &memory_kinds[i];

		if (!memory_exists(kind)) {
			TH_LOG("This kernel has none that is %s", kind->name);
			continue;
		}
		mem = (char *)memory_map(kind);
		ASSERT_NE(NULL, mem) TH_LOG("%s", kind->name);
		rds_fill(mem, MEMORY_LEN, i);
		EXPECT_TRUE(comes_from(self, mem + 100, LARGEST, i))
			TH_LOG("%s", kind->name);
		munmap(mem, MEMORY_LEN);
	}
	memory_set_huge_pages(huge);
}

/* Memory of a file that is only read, and anonymous memory without contents */
TEST_F(pair, memory_that_is_only_read)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t len = 3 * PAGE;
	char *pages[2];
	unsigned int i;

	pages[0] = mmap(NULL, len, PROT_READ, MAP_PRIVATE, file, 0);
	pages[1] = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	close(file);
	zcopy_on(_metadata, self->a);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		ASSERT_NE(MAP_FAILED, pages[i]);
		EXPECT_TRUE(comes_from(self, pages[i], len, i));
		munmap(pages[i], len);
	}
}

/* A send that is canceled is reported like one that has arrived. */
TEST_F(pair, cancelled_and_told)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	struct rds_zcopy_cookies cookies;

	if (!variant->wire)
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(9000, zcopy_send(self->a, &nobody, sent, 9000, 1, 0));
	ASSERT_EQ(20, zcopy_send(self->a, &nobody, sent, 20, 2, 0));
	usleep(200000);
	EXPECT_TRUE(is_told_nothing(self->a));
	ASSERT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO,
				    &nobody.ss, nobody.len)));
	ASSERT_EQ(2, await_cookies(self->a, &cookies));
	EXPECT_EQ(1, cookies.cookies[0]);
	EXPECT_EQ(2, cookies.cookies[1]);
	EXPECT_TRUE(rds_await_acked(self->a));
}

/*
 * The socket is closed at various stages of its sends. Then no reader is left
 * for their completions.
 */
TEST_F(pair, closed_at_every_stage)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);
	unsigned int i;
	int fd;

	/*
	 * A device may deliver a message after the drain below, and nothing
	 * else reads it. So make room for all messages.
	 */
	ASSERT_EQ(0, rds_rcvbuf(self->b, 20 * 60000));
	for (i = 0; i < 20; i++) {
		fd = rds_bound(variant->a, 0);
		ASSERT_LE(0, fd);
		zcopy_on(_metadata, fd);
		ASSERT_EQ(60000, zcopy_send(fd, &self->b_name, sent, 60000, 1,
					    0));
		zcopy_send(fd, &nobody, sent, 9000, 2, 0);
		usleep(i * 100);
		close(fd);
		/*
		 * Take the message if it has arrived. If close() has canceled
		 * it, it never will.
		 */
		rds_drain(self->b);
	}
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(100, zcopy_send(self->a, &self->b_name, sent, 100, 3, 0));
	EXPECT_TRUE(await_cookie(self->a, 3));
}

/* A full send buffer refuses these sends, too, and reports no completion. */
TEST_F(pair, a_full_send_buffer)
{
	struct rds_name nobody = rds_name(variant->stranger, 4000);

	if (!variant->wire)
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_sndbuf(self->a, 8192));
	ASSERT_EQ(8192, zcopy_send(self->a, &nobody, sent, 8192, 1, 0));
	EXPECT_EQ(-EAGAIN, zcopy_send(self->a, &nobody, sent, 4000, 2,
				      MSG_DONTWAIT));
	ASSERT_EQ(0, ERR(setsockopt(self->a, SOL_RDS, RDS_CANCEL_SENT_TO,
				    &nobody.ss, nobody.len)));
	EXPECT_TRUE(await_cookie(self->a, 1));
	EXPECT_TRUE(rds_silent(self->a));
}

/*
 * A user may lock a megabyte and no more. Memory that was reported free no
 * longer counts.
 */
static int send_without_rights(FIXTURE_DATA(pair) *self)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct rlimit limit = { LARGEST, LARGEST };
	struct __user_cap_data_struct none[2] = {};
	struct iovec iov[100];
	struct rds_msg msg;
	unsigned int i;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(4321) ||
	    setuid(4321) || syscall(SYS_capset, &head, none))
		return 1;
	for (i = 0; i < 10; i++) {
		if (zcopy_send(self->a, &self->b_name, sent, 500000, i, 0) !=
		    500000)
			return 2;
		if (!await_cookie(self->a, i))
			return 3;
		if (rds_recv(self->b, received, sizeof(received)) != 500000)
			return 4;
	}
	if (zcopy_send(self->a, &self->b_name, sent, LARGEST, 1, 0) != -ENOMEM)
		return 5;
	limit.rlim_cur = 0;
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    zcopy_send(self->a, &self->b_name, sent, 1, 1, 0) != -ENOMEM)
		return 6;
	/* One byte of each of many pages counts as that many pages. */
	limit.rlim_cur = 20 * PAGE;
	for (i = 0; i < ARRAY_SIZE(iov); i++)
		iov[i] = (struct iovec) { sent + i * PAGE, 1 };
	zcopy_msg(&msg, &self->b_name, sent, 1, 1);
	msg.hdr.msg_iov = iov;
	msg.hdr.msg_iovlen = ARRAY_SIZE(iov);
	if (setrlimit(RLIMIT_MEMLOCK, &limit) ||
	    ERR(sendmsg(self->a, &msg.hdr, MSG_ZEROCOPY)) != -ENOMEM)
		return 8;
	return rds_silent(self->a) && rds_silent(self->b) ? 0 : 7;
}

TEST_F(pair, memory_that_may_be_locked)
{
	int status = -1;
	pid_t pid;

	zcopy_on(_metadata, self->a);
	pid = fork();
	if (!pid)
		_exit(send_without_rights(self));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status >> 8);
	EXPECT_TRUE(WIFEXITED(status));
}

/*
 * If a socket never reads its completions, sends fail in the end, because each
 * leaves one behind. Test one variant only: all are alike, and a slow kernel
 * takes long.
 */
TEST_F(pair, nobody_asks)
{
	struct rds_zcopy_cookies cookies;
	unsigned int sends = 0, heard = 0;
	long ret;

	if (strcmp(variant->a, "127.0.0.1"))
		return;
	zcopy_on(_metadata, self->a);
	do {
		ret = zcopy_send(self->a, &self->b_name, sent, 1, sends, 0);
		if (ret == 1)
			ASSERT_EQ(1, rds_recv(self->b, received, 1));
		sends += ret == 1;
	} while (ret == 1 && sends < 100000);
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(16384, sends);
	while (heard < sends) {
		ASSERT_EQ(8, await_cookies(self->a, &cookies));
		heard += cookies.num;
	}
	EXPECT_EQ(1, zcopy_send(self->a, &self->b_name, sent, 1, 1, 0));
}

/*
 * A send that fails leaves no completion behind. So more sends may fail than
 * there is room for completions.
 */
TEST_F(pair, failed_sends_take_no_room)
{
	unsigned int i, failed = 0;

	if (strcmp(variant->a, "127.0.0.1"))
		return;
	zcopy_on(_metadata, self->a);
	ASSERT_EQ(0, rds_rcvbuf(self->b, 2048));
	ASSERT_EQ(2048, zcopy_send(self->a, &self->b_name, sent, 2048, 1, 0));
	EXPECT_TRUE(await_cookie(self->a, 1));
	for (i = 0; i < 16384 + 10; i++)
		failed += zcopy_send(self->a, &self->b_name, sent, 1, 2,
				     MSG_DONTWAIT) == -ENOBUFS;
	EXPECT_EQ(i, failed);
	ASSERT_EQ(2048, rds_recv(self->b, received, sizeof(received)));
	EXPECT_EQ(1, zcopy_send(self->a, &self->b_name, sent, 1, 3, 0));
	EXPECT_TRUE(await_cookie(self->a, 3));
}

TEST_HARNESS_MAIN
