// SPDX-License-Identifier: GPL-2.0
/*
 * User memory that is registered, and a peer that accesses it: what it can
 * access, what it cannot, and for how long.
 */
#include "site_memory.h"

#include <errno.h>
#include <sys/wait.h>

TEST_F(memory, is_written_and_read)
{
	static const unsigned int offs[] = { 0, 1, 4095, 5000, LEN - PAGE };
	struct site *site = &self->site;
	unsigned char back[PAGE];
	uint64_t cookie = 0;
	unsigned int i;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(site_talks(site, 100));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, RDS_RDMA_READWRITE,
				&cookie));
	EXPECT_EQ(BEGIN, cookie >> 32);
	for (i = 0; i < sizeof(offs) / sizeof(*offs); i++) {
		rds_fill(self->bytes, PAGE, 10 + i);
		EXPECT_TRUE(reach(site, IBV_WR_RDMA_WRITE, cookie, offs[i],
				  self->bytes, PAGE));
		EXPECT_TRUE(rds_check(self->area + offs[i], PAGE, 10 + i));
		rds_fill(self->area + offs[i], PAGE, 20 + i);
		EXPECT_TRUE(reach(site, IBV_WR_RDMA_READ, cookie, offs[i],
				  back, PAGE));
		EXPECT_TRUE(rds_check(back, PAGE, 20 + i));
	}
	EXPECT_TRUE(site_talks(site, 5000));
	EXPECT_EQ(0, rds_free_mr(site->fd, cookie));
	EXPECT_EQ(-EINVAL, rds_free_mr(site->fd, cookie));
	EXPECT_TRUE(site_talks(site, 5000));
	EXPECT_TRUE(site_honest(site));
}

/* The stock modules cannot do this. */
TEST_F(memory, is_registered_before_there_is_a_connection)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { (uintptr_t)self->area, LEN },
		.flags = RDS_RDMA_READWRITE,
	};
	struct site *site = &self->site;
	uint64_t cookie = 0, second = 0;

	args.cookie_addr = (uintptr_t)&second;
	memcpy(&args.dest_addr, &site->name.ss, site->name.len);
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, RDS_RDMA_READWRITE,
				&cookie));
	ASSERT_EQ(0, ERR(setsockopt(site->fd, SOL_RDS, RDS_GET_MR_FOR_DEST,
				    &args, sizeof(args))));
	EXPECT_NE(cookie, second);

	ASSERT_EQ(PEER_UP, site_dial(site));
	EXPECT_TRUE(reach(site, IBV_WR_RDMA_WRITE, cookie, 7, self->bytes,
			  PAGE));
	EXPECT_TRUE(rds_check(self->area + 7, PAGE, 2));
	memset(self->bytes, 0, PAGE);
	EXPECT_TRUE(reach(site, IBV_WR_RDMA_READ, second, 7, self->bytes,
			  PAGE));
	EXPECT_TRUE(rds_check(self->bytes, PAGE, 2));
	EXPECT_TRUE(site_talks(site, 5000));
}

#define PORTS "/proc/sys/net/ipv4/ip_local_port_range"
#define PORT 40000

static bool set_ports(const char *range)
{
	FILE *file = fopen(PORTS, "w");
	bool ok;

	if (!file)
		return false;
	ok = fputs(range, file) >= 0;
	return !fclose(file) && ok;
}

static bool get_ports(char *range, int len)
{
	FILE *file = fopen(PORTS, "r");
	bool ok;

	if (!file)
		return false;
	ok = fgets(range, len, file);
	fclose(file);
	return ok;
}

static struct rdma_cm_id *take_port(const char *address)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = inet_addr(address),
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (!rdma_bind_addr(id, (struct sockaddr *)&name))
		return id;
	rdma_destroy_id(id);
	return NULL;
}

/* The connection determines the device, so no port has to be bound to find it.
 */
TEST_F(memory, is_registered_when_all_ports_are_taken)
{
	struct site *site = &self->site;
	struct rdma_cm_id *id;
	uint64_t cookie = 0;
	char range[64];

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(get_ports(range, sizeof(range)));
	id = take_port(SITE_NEAR);
	ASSERT_NE(NULL, id);
	ASSERT_TRUE(set_ports("40000 40000"));
	EXPECT_EQ(0, rds_get_mr(site->fd, self->area, LEN, 0, &cookie));
	EXPECT_TRUE(set_ports(range));
	rdma_destroy_id(id);
	EXPECT_TRUE(reach(site, IBV_WR_RDMA_READ, cookie, 0, self->bytes,
			  PAGE));
	EXPECT_EQ(0, memcmp(self->bytes, self->area, PAGE));
}

/* Access beyond what the peer was given ends its connection, and nothing else.
 */
FIXTURE(beyond) {
	FIXTURE_DATA(memory) memory;
	uint64_t cookie;
};

FIXTURE_VARIANT(beyond) {
	enum ibv_wr_opcode opcode;
	int64_t off;
	uint64_t flags;
	bool freed;
};

FIXTURE_VARIANT_ADD(beyond, the_end_written) { WRITE, LEN - PAGE + 1, BOTH };
FIXTURE_VARIANT_ADD(beyond, the_end_read) { READ, LEN - PAGE + 1, BOTH };
FIXTURE_VARIANT_ADD(beyond, the_beginning_written) { WRITE, -1, BOTH };
FIXTURE_VARIANT_ADD(beyond, the_beginning_read) { READ, -1, BOTH };
FIXTURE_VARIANT_ADD(beyond, all_of_it_read) { READ, 1LL << 40, BOTH };
FIXTURE_VARIANT_ADD(beyond, the_right_to_read) { WRITE, 0, 0 };
FIXTURE_VARIANT_ADD(beyond, its_lifetime_written) { WRITE, 0, BOTH, true };
FIXTURE_VARIANT_ADD(beyond, its_lifetime_read) { READ, 0, BOTH, true };

FIXTURE_SETUP(beyond)
{
	struct site *site = &self->memory.site;

	memory_setup(_metadata, &self->memory, NULL);
	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(site_talks(site, 100));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->memory.area, LEN,
				variant->flags, &self->cookie));
}

FIXTURE_TEARDOWN(beyond)
{
	memory_teardown(_metadata, &self->memory, NULL);
}

TEST_F(beyond, ends_the_connection)
{
	struct site *site = &self->memory.site;
	unsigned char bytes[PAGE];

	memset(bytes, 0xee, sizeof(bytes));
	EXPECT_TRUE(reach(site, READ, self->cookie, 0, bytes, PAGE));
	EXPECT_TRUE(!memcmp(bytes, self->memory.area, PAGE));
	memset(bytes, 0xee, sizeof(bytes));
	if (variant->freed)
		ASSERT_EQ(0, rds_free_mr(site->fd, self->cookie));
	EXPECT_FALSE(reach(site, variant->opcode, self->cookie, variant->off,
			   bytes, PAGE));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_TRUE(is_untouched(self->memory.pages));
	EXPECT_TRUE(site_honest(site));
}

/* A peer that was given a key can invalidate it, which ends its connection. */
TEST_F(memory, that_a_peer_invalidates)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_INV };
	struct site *site = &self->site;
	uint64_t cookie = 0;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_TRUE(site_talks(site, 100));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, BOTH, &cookie));
	wr.invalidate_rkey = cookie;
	ASSERT_TRUE(peer_post(&site->peer, &wr, 64));
	EXPECT_TRUE(site_await_drop(site));
	EXPECT_EQ(0, rds_free_mr(site->fd, cookie));
	EXPECT_TRUE(is_untouched(self->pages));
	EXPECT_TRUE(site_honest(site));
}

/* The owner unmaps the memory and continues. */
TEST_F(memory, that_is_unmapped_or_left)
{
	struct site *site = &self->site;
	uint64_t cookie = 0;
	int status;
	pid_t pid;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, RDS_RDMA_READWRITE,
				&cookie));
	/* A child has its own copy. */
	pid = fork();
	if (!pid) {
		while (self->area[0] != 0xee && usleep(1000) == 0)
			;
		_exit(1);
	}
	ASSERT_LT(0, pid);
	rds_fill(self->bytes, PAGE, 3);
	EXPECT_TRUE(reach(site, WRITE, cookie, 0, self->bytes, PAGE));
	EXPECT_TRUE(rds_check(self->area, PAGE, 3));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));

	ASSERT_EQ(0, munmap(self->pages, PAGES * PAGE));
	EXPECT_TRUE(reach(site, WRITE, cookie, 0, self->bytes, PAGE));
	memset(self->bytes, 0, PAGE);
	EXPECT_TRUE(reach(site, READ, cookie, 0, self->bytes, PAGE));
	EXPECT_TRUE(rds_check(self->bytes, PAGE, 3));
	EXPECT_TRUE(site_talks(site, 100));
}

TEST_F(memory, that_is_invalid)
{
	int fd = self->site.fd;
	uint64_t cookie = 1;
	void *no_write;

	EXPECT_EQ(-EINVAL, rds_get_mr(fd, self->area, 0, 0, &cookie));
	EXPECT_EQ(-EINVAL, rds_get_mr(fd, self->area, -1, 0, &cookie));
	EXPECT_EQ(-EINVAL, rds_get_mr(fd, (void *)-PAGE, PAGE + 1, 0, &cookie));
	EXPECT_EQ(-EMSGSIZE, rds_get_mr(fd, self->area, (1 << 20) + 1, 0,
					&cookie));
	EXPECT_EQ(-EFAULT, rds_get_mr(fd, NULL, PAGE, 0, &cookie));
	EXPECT_EQ(-EFAULT, rds_get_mr(fd, (void *)-PAGE, PAGE, 0, &cookie));
	ASSERT_EQ(0, munmap(self->pages + 2 * PAGE, PAGE));
	EXPECT_EQ(-EFAULT, rds_get_mr(fd, self->area, LEN, 0, &cookie));
	no_write = mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	ASSERT_NE(MAP_FAILED, no_write);
	EXPECT_EQ(-EFAULT, rds_get_mr(fd, no_write, PAGE, RDS_RDMA_READWRITE,
				      &cookie));
	/* The address for the cookie is not mapped: CVE-2026-46053 */
	EXPECT_EQ(-EFAULT, rds_get_mr(fd, self->area, PAGE, 0, (void *)8));
	EXPECT_EQ(1, cookie);
	EXPECT_EQ(self->pinned, rds_pages_pinned());
	EXPECT_EQ(0, rds_free_mr(fd, 0));
	EXPECT_EQ(-EINVAL, rds_free_mr(fd, 1));
	munmap(no_write, PAGE);
}

static bool ext_dest(const struct frame *frame, uint64_t cookie)
{
	uint32_t key, off;

	memcpy(&key, frame->ext + 1, 4);
	memcpy(&off, frame->ext + 5, 4);
	return frame->ext[0] == 3 && ntohl(key) == (uint32_t)cookie &&
	       ntohl(off) == cookie >> 32;
}

static long send_cmsg(int fd, const struct rds_name *to, int type,
		      const void *data, size_t len)
{
	struct rds_msg msg;

	rds_msg_init(&msg, "abc", 3);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, type, data, len);
	return ERR(sendmsg(fd, &msg.hdr, 0));
}

/* A message announces the memory to the peer. */
TEST_F(memory, that_is_announced_to_a_peer)
{
	uint64_t mapped = 0, cookie = 0;
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)self->area, LEN },
		.cookie_addr = (uintptr_t)&mapped,
		.flags = RDS_RDMA_READWRITE,
	};
	struct site *site = &self->site;
	unsigned char payload[PEER_SLOT];
	struct frame frame;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_EQ(3, send_cmsg(site->fd, &site->name, RDS_CMSG_RDMA_MAP,
			       &args, sizeof(args)));
	ASSERT_TRUE(site_hear(site, &frame, payload));
	EXPECT_TRUE(ext_dest(&frame, mapped));
	EXPECT_TRUE(reach(site, WRITE, mapped, 0, self->bytes, PAGE));
	EXPECT_TRUE(rds_check(self->area, PAGE, 2));

	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, 0, &cookie));
	ASSERT_EQ(3, send_cmsg(site->fd, &site->name, RDS_CMSG_RDMA_DEST,
			       &cookie, sizeof(cookie)));
	ASSERT_TRUE(site_hear(site, &frame, payload));
	EXPECT_TRUE(ext_dest(&frame, cookie));
	ASSERT_EQ(0, rds_free_mr(site->fd, cookie));
	EXPECT_EQ(-EINVAL, send_cmsg(site->fd, &site->name, RDS_CMSG_RDMA_DEST,
				     &cookie, sizeof(cookie)));
	args.vec.bytes = 0;
	EXPECT_EQ(-EINVAL, send_cmsg(site->fd, &site->name, RDS_CMSG_RDMA_MAP,
				     &args, sizeof(args)));
	EXPECT_TRUE(site_talks(site, 100));
}

/* A message announces the memory to the socket at the other end. */
TEST_F(memory, that_is_announced_to_a_socket)
{
	int *honest = self->site.honest;
	struct rds_name to = rds_name(SITE_HONEST, SITE_HONEST_PORT);
	struct cmsghdr *cmsg;
	uint64_t mapped = 0, heard;
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)self->area, LEN },
		.cookie_addr = (uintptr_t)&mapped,
	};
	struct rds_msg msg;
	char room[10];

	ASSERT_EQ(3, send_cmsg(honest[0], &to, RDS_CMSG_RDMA_MAP, &args,
			       sizeof(args)));
	ASSERT_EQ(3, rds_msg_recv(honest[1], &msg, room, sizeof(room), 0));
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST);
	ASSERT_NE(NULL, cmsg);
	ASSERT_EQ(CMSG_LEN(sizeof(heard)), cmsg->cmsg_len);
	memcpy(&heard, CMSG_DATA(cmsg), sizeof(heard));
	EXPECT_EQ(mapped, heard);
	EXPECT_EQ(0, rds_free_mr(honest[0], mapped));
}

/* Send a message that reports that the peer has used the region. */
static bool say_used(struct site *site, uint64_t cookie)
{
	struct frame frame = frame_data(site->seq++, 0, SITE_PEER_PORT,
					SITE_PORT);
	uint32_t key = htonl(cookie);

	frame.ext[0] = 2;
	memcpy(frame.ext + 1, &key, 4);
	frame_seal(&frame);
	return peer_send(&site->peer, &frame, NULL, 0) &&
	       site_hears(site, "", 0);
}

TEST_F(memory, for_one_use)
{
	struct site *site = &self->site;
	uint64_t once = 0, often = 0;

	ASSERT_EQ(PEER_UP, site_dial(site));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, RDS_RDMA_USE_ONCE,
				&once));
	ASSERT_EQ(0, rds_get_mr(site->fd, self->area, LEN, 0, &often));
	EXPECT_TRUE(reach(site, READ, once, 0, self->bytes, PAGE));
	ASSERT_TRUE(say_used(site, 12345));
	ASSERT_TRUE(say_used(site, often));
	ASSERT_TRUE(say_used(site, once));
	ASSERT_TRUE(say_used(site, once));
	EXPECT_TRUE(reach(site, READ, often, 0, self->bytes, PAGE));
	EXPECT_EQ(0, rds_free_mr(site->fd, often));
	/* The call fails, and when it returns the region is gone. */
	EXPECT_EQ(-EINVAL, rds_free_mr(site->fd, once));
	EXPECT_FALSE(reach(site, READ, once, 0, self->bytes, PAGE));
	EXPECT_TRUE(site_honest(site));
}

/* Many regions of a socket that is closed without freeing them */
TEST_F(memory, of_a_socket_that_is_closed)
{
	struct site *site = &self->site;
	uint64_t cookie[200] = {};
	unsigned int i;
	long pinned;

	/* The peer's own memory is pinned, too. */
	ASSERT_EQ(PEER_UP, site_dial(site));
	pinned = rds_pages_pinned();
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, rds_get_mr(site->honest[0], self->pages + i,
					2 * PAGE, i % 3 ? BOTH : 0,
					&cookie[i]));
	EXPECT_TRUE(reach(site, READ, cookie[199], 0, self->bytes, PAGE));
	EXPECT_EQ(pinned + 400 + 199, rds_pages_pinned());
	close(site->honest[0]);
	EXPECT_EQ(pinned, rds_pages_pinned());
	site->honest[0] = site_socket(SITE_HONEST, 0);
	EXPECT_FALSE(reach(site, READ, cookie[199], 0, self->bytes, PAGE));
}

TEST_HARNESS_MAIN
