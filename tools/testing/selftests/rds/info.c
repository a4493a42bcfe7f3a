// SPDX-License-Identifier: GPL-2.0
/* RDS_INFO_*: lists of sockets, connections and messages */
#include "pair.h"
#include "solo.h"

#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define ROOM 65536

static char records[ROOM];
static char payload[5000];

static const struct {
	int option;
	int record;
} lists[] = {
	{ RDS_INFO_CONNECTIONS, 42 },
	{ RDS_INFO_SEND_MESSAGES, 26 },
	{ RDS_INFO_RETRANS_MESSAGES, 26 },
	{ RDS_INFO_RECV_MESSAGES, 26 },
	{ RDS_INFO_SOCKETS, 28 },
	{ RDS6_INFO_CONNECTIONS, 65 },
	{ RDS6_INFO_SEND_MESSAGES, 50 },
	{ RDS6_INFO_RETRANS_MESSAGES, 50 },
	{ RDS6_INFO_RECV_MESSAGES, 50 },
	{ RDS6_INFO_SOCKETS, 52 },
	{ RDS6_INFO_PATHS, 100 },
};

static long info(int fd, int option, void *buf, socklen_t *len)
{
	return ERR(getsockopt(fd, SOL_RDS, option, buf, len));
}

/* Read a whole list. Returns the number of records. */
static int info_read(struct __test_metadata *_metadata, int fd, int option,
		     int record)
{
	socklen_t len = sizeof(records);

	memset(records, 0xa5, sizeof(records));
	EXPECT_EQ(record, info(fd, option, records, &len));
	EXPECT_EQ(0, len % record);
	EXPECT_EQ((char)0xa5, records[len]);
	return len / record;
}

/*
 * Ensure that the namespace of socket a has two sockets. If socket b is in
 * another namespace, open one more, which the caller closes.
 */
static int make_it_two(const FIXTURE_VARIANT(pair) *variant)
{
	return variant->apart ? rds_bound(variant->a, 0) : -1;
}

TEST_F(pair, record_sizes)
{
	socklen_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		len = sizeof(records);
		EXPECT_EQ(lists[i].record,
			  info(self->a, lists[i].option, records, &len))
			TH_LOG("option %d", lists[i].option);
	}
}

TEST_F(solo, empty_lists)
{
	socklen_t len;
	size_t i;

	solo_move(_metadata, self);
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (lists[i].option == RDS6_INFO_SOCKETS)
			continue;
		len = 0;
		EXPECT_EQ(lists[i].record,
			  info(self->fd, lists[i].option, NULL, &len))
			TH_LOG("option %d", lists[i].option);
		EXPECT_EQ(0, len);
		len = sizeof(records);
		EXPECT_EQ(lists[i].record,
			  info(self->fd, lists[i].option, records, &len))
			TH_LOG("option %d", lists[i].option);
		EXPECT_EQ(0, len);
	}
}

TEST_F(solo, lists_that_do_not_exist)
{
	static const int options[] = {
		10002, RDS_INFO_CONNECTION_STATS, RDS_INFO_IWARP_CONNECTIONS,
		RDS_INFO_LAST + 1, RDS_INFO_FIRST - 1,
	};
	socklen_t len;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		len = sizeof(records);
		EXPECT_EQ(-ENOPROTOOPT,
			  info(self->fd, options[i], records, &len))
			TH_LOG("option %d", options[i]);
	}
}

static void transport_list(struct __test_metadata *_metadata, int fd,
			   const char *module, int option, int record)
{
	socklen_t len = sizeof(records);

	EXPECT_EQ(rds_module_loaded(module) ? record : -ENOPROTOOPT,
		  info(fd, option, records, &len));
}

TEST_F(solo, lists_of_transports_come_with_their_modules)
{
	transport_list(_metadata, self->fd, "rds_tcp",
		       RDS_INFO_TCP_SOCKETS, 41);
	transport_list(_metadata, self->fd, "rds_tcp",
		       RDS6_INFO_TCP_SOCKETS, 64);
	transport_list(_metadata, self->fd, "rds_rdma",
		       RDS_INFO_IB_CONNECTIONS, 68);
	transport_list(_metadata, self->fd, "rds_rdma",
		       RDS6_INFO_IB_CONNECTIONS, 92);
	transport_list(_metadata, self->fd, "rds_stream",
		       RDS6_INFO_STREAMS, 66);
}

TEST_F(pair, probing_tells_the_size_needed)
{
	int more = make_it_two(variant);
	socklen_t len = 0;

	EXPECT_EQ(-ENOSPC, info(self->a, RDS6_INFO_SOCKETS, NULL, &len));
	EXPECT_EQ(2 * 52, len);
	EXPECT_EQ(52, info(self->a, RDS6_INFO_SOCKETS, records, &len));
	EXPECT_EQ(2 * 52, len);
	close(more);
}

TEST_F(pair, a_buffer_of_one_byte_less)
{
	int more = make_it_two(variant);
	socklen_t len = 2 * 52 - 1;

	EXPECT_EQ(-ENOSPC, info(self->a, RDS6_INFO_SOCKETS, records, &len));
	EXPECT_EQ(2 * 52, len);
	close(more);
}

TEST_F(pair, a_larger_buffer_is_not_touched_beyond)
{
	int more = make_it_two(variant);
	socklen_t len = sizeof(records);

	memset(records, 0xa5, sizeof(records));
	EXPECT_EQ(52, info(self->a, RDS6_INFO_SOCKETS, records, &len));
	EXPECT_EQ(2 * 52, len);
	EXPECT_EQ((char)0xa5, records[2 * 52]);
	close(more);
}

TEST_F(pair, lengths_out_of_range)
{
	socklen_t len = -1;

	EXPECT_EQ(-EINVAL, info(self->a, RDS6_INFO_SOCKETS, records, &len));
	len = INT32_MIN;
	EXPECT_EQ(-EINVAL, info(self->a, RDS6_INFO_SOCKETS, records, &len));
}

TEST_F(pair, bad_buffer)
{
	void *readonly = mmap(NULL, 4096, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	socklen_t len = 4096;

	ASSERT_NE(MAP_FAILED, readonly);
	EXPECT_EQ(-EFAULT, info(self->a, RDS6_INFO_SOCKETS, (void *)8, &len));
	len = 4096;
	EXPECT_EQ(-EFAULT, info(self->a, RDS6_INFO_SOCKETS, readonly, &len));
	EXPECT_EQ(-EFAULT, info(self->a, RDS6_INFO_SOCKETS, records,
				(void *)8));
}

TEST_F(pair, unaligned_buffer_across_pages)
{
	char *page = rds_guarded_page();
	char *buf = page + sysconf(_SC_PAGESIZE) - 2 * 52;
	int more = make_it_two(variant);
	socklen_t len = 2 * 52;

	ASSERT_NE(NULL, page);
	EXPECT_EQ(52, info(self->a, RDS6_INFO_SOCKETS, buf, &len));
	len = sizeof(records) - 4093;
	EXPECT_EQ(52, info(self->a, RDS6_INFO_SOCKETS, records + 4093, &len));
	EXPECT_EQ(0, memcmp(buf, records + 4093, 2 * 52));
	close(more);
}

static unsigned long inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

TEST_F(pair, socket_record_ipv6_form)
{
	struct rds6_info_socket *sock = NULL;
	struct in6_addr a = rds_addr6(&self->a_name);
	struct in6_addr b = rds_addr6(&self->b_name);
	int i, count;

	ASSERT_EQ(0, rds_sndbuf(self->a, 9000));
	ASSERT_EQ(0, rds_rcvbuf(self->a, 8000));
	ASSERT_EQ(0, rds_connect(self->a, self->b_name));
	count = info_read(_metadata, self->a, RDS6_INFO_SOCKETS, 52);
	ASSERT_EQ(variant->apart ? 1 : 2, count);
	for (i = 0; i < count; i++) {
		sock = (void *)(records + 52 * i);
		if (sock->inum == inode_of(self->a))
			break;
	}
	ASSERT_LT(i, count);
	EXPECT_EQ(0, memcmp(&sock->bound_addr, &a, sizeof(a)));
	EXPECT_EQ(0, memcmp(&sock->connected_addr, &b, sizeof(b)));
	EXPECT_EQ(rds_port(&self->a_name), ntohs(sock->bound_port));
	EXPECT_EQ(rds_port(&self->b_name), ntohs(sock->connected_port));
	EXPECT_EQ(9000, sock->sndbuf);
	EXPECT_EQ(8000, sock->rcvbuf);
}

TEST_F(solo, socket_record_ipv4_form)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);
	struct rds_name peer = rds_name("127.0.0.3", 4003);
	struct rds_info_socket *sock = (void *)records;

	ASSERT_EQ(0, rds_bind(self->fd, name));
	ASSERT_EQ(0, rds_connect(self->fd, peer));
	ASSERT_EQ(1, info_read(_metadata, self->fd, RDS_INFO_SOCKETS, 28));
	EXPECT_EQ(name.in.sin_addr.s_addr, sock->bound_addr);
	EXPECT_EQ(peer.in.sin_addr.s_addr, sock->connected_addr);
	EXPECT_EQ(4000, ntohs(sock->bound_port));
	EXPECT_EQ(4003, ntohs(sock->connected_port));
	EXPECT_EQ(rds_get(self->fd, SOL_SOCKET, SO_SNDBUF) / 2, sock->sndbuf);
	EXPECT_EQ(rds_get(self->fd, SOL_SOCKET, SO_RCVBUF) / 2, sock->rcvbuf);
	EXPECT_EQ(inode_of(self->fd), sock->inum);
}

TEST_F(solo, unbound_sockets_are_listed_in_the_ipv6_form_only)
{
	struct rds6_info_socket *sock = (void *)records;

	EXPECT_EQ(0, info_read(_metadata, self->fd, RDS_INFO_SOCKETS, 28));
	ASSERT_EQ(1, info_read(_metadata, self->fd, RDS6_INFO_SOCKETS, 52));
	EXPECT_EQ(0, memcmp(&sock->bound_addr, &in6addr_any,
			    sizeof(in6addr_any)));
	EXPECT_EQ(0, sock->bound_port);
	EXPECT_EQ(inode_of(self->fd), sock->inum);
}

TEST_F(solo, ipv6_sockets_are_listed_in_the_ipv6_form_only)
{
	ASSERT_EQ(0, rds_bind(self->fd, rds_name("::1", 4000)));
	EXPECT_EQ(0, info_read(_metadata, self->fd, RDS_INFO_SOCKETS, 28));
	EXPECT_EQ(1, info_read(_metadata, self->fd, RDS6_INFO_SOCKETS, 52));
}

TEST_F(solo, closed_sockets_are_not_listed)
{
	int fd = rds_bound("127.0.0.1", 0);

	EXPECT_EQ(1, info_read(_metadata, self->fd, RDS_INFO_SOCKETS, 28));
	close(fd);
	EXPECT_EQ(0, info_read(_metadata, self->fd, RDS_INFO_SOCKETS, 28));
}

TEST_F(pair, connection_record_ipv6_form)
{
	struct rds6_info_connection *conn = NULL;
	struct in6_addr a = rds_addr6(&self->a_name);
	struct in6_addr b = rds_addr6(&self->b_name);
	int i, count;

	pair_move(_metadata, self, variant);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0,
					    &self->b_name)));
		ASSERT_EQ(3, ERR(rds_recv(self->b, payload, 100)));
	}
	count = info_read(_metadata, self->a, RDS6_INFO_CONNECTIONS, 65);
	ASSERT_LE(1, count);
	for (i = 0; i < count; i++) {
		conn = (void *)(records + 65 * i);
		if (!memcmp(&conn->laddr, &a, sizeof(a)) &&
		    !memcmp(&conn->faddr, &b, sizeof(b)) &&
		    conn->next_tx_seq > 1)
			break;
	}
	ASSERT_LT(i, count);
	/*
	 * Over a wire, pings use sequence numbers, too, and other paths carry
	 * some of the messages.
	 */
	if (!variant->wire)
		EXPECT_EQ(6, conn->next_tx_seq);
	EXPECT_STREQ(variant->name, (char *)conn->transport);
	EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTED,
		  conn->flags & ~RDS_INFO_CONNECTION_FLAG_SENDING);
}

TEST_F(solo, connection_record_ipv4_form)
{
	struct rds_name to = rds_name("127.0.0.2", 4002);
	struct rds_name from = rds_name("127.0.0.1", 4001);
	struct rds_info_connection *conn = NULL;
	int i, count, fd;

	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_bind(self->fd, from));
	fd = rds_bound("127.0.0.2", 4002);
	ASSERT_EQ(3, ERR(rds_sendto(self->fd, "abc", 3, 0, &to)));
	ASSERT_EQ(3, ERR(rds_recv(fd, payload, 100)));
	count = info_read(_metadata, self->fd, RDS_INFO_CONNECTIONS, 42);
	ASSERT_LE(1, count);
	for (i = 0; i < count; i++) {
		conn = (void *)(records + 42 * i);
		if (conn->laddr == from.in.sin_addr.s_addr &&
		    conn->faddr == to.in.sin_addr.s_addr)
			break;
	}
	ASSERT_LT(i, count);
	EXPECT_EQ(2, conn->next_tx_seq);
	EXPECT_STREQ("loopback", (char *)conn->transport);
	EXPECT_EQ(RDS_INFO_CONNECTION_FLAG_CONNECTED,
		  conn->flags & ~RDS_INFO_CONNECTION_FLAG_SENDING);
	EXPECT_EQ(0, conn->tos);
	close(fd);
}

TEST_F(solo, ipv6_connections_are_listed_in_the_ipv6_form_only)
{
	struct rds_name name = rds_name("::1", 4000);

	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_bind(self->fd, name));
	ASSERT_EQ(3, ERR(rds_sendto(self->fd, "abc", 3, 0, &name)));
	ASSERT_EQ(3, ERR(rds_recv(self->fd, payload, 100)));
	EXPECT_EQ(0, info_read(_metadata, self->fd, RDS_INFO_CONNECTIONS, 42));
	EXPECT_LE(1, info_read(_metadata, self->fd, RDS6_INFO_CONNECTIONS,
			       65));
}

TEST_F(solo, ipv4_connections_are_mapped_in_the_ipv6_form)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);
	struct rds6_info_connection *conn = (void *)records;
	struct in6_addr mapped = rds_addr6(&name);

	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_bind(self->fd, name));
	ASSERT_EQ(3, ERR(rds_sendto(self->fd, "abc", 3, 0, &name)));
	ASSERT_EQ(3, ERR(rds_recv(self->fd, payload, 100)));
	ASSERT_LE(1, info_read(_metadata, self->fd, RDS6_INFO_CONNECTIONS,
			       65));
	EXPECT_EQ(0, memcmp(&conn->laddr, &mapped, sizeof(mapped)));
	EXPECT_EQ(0, memcmp(&conn->faddr, &mapped, sizeof(mapped)));
}

TEST_F(pair, received_message_record_ipv6_form)
{
	struct rds6_info_message *msg = (void *)records;
	struct in6_addr a = rds_addr6(&self->a_name);
	struct in6_addr b = rds_addr6(&self->b_name);

	pair_move(_metadata, self, variant);
	ASSERT_EQ(5000, ERR(rds_sendto(self->a, payload, 5000, 0,
				       &self->b_name)));
	ASSERT_EQ(0, ERR(rds_sendto(self->a, payload, 0, 0, &self->b_name)));
	ASSERT_TRUE(rds_await_queued(self->b, 2));
	ASSERT_EQ(2, info_read(_metadata, self->b, RDS6_INFO_RECV_MESSAGES,
			       50));
	EXPECT_EQ(5000, msg[0].len);
	EXPECT_EQ(0, msg[1].len);
	EXPECT_LE(1, msg[0].seq);
	EXPECT_LE(1, msg[1].seq);
	if (!variant->wire) {
		EXPECT_EQ(1, msg[0].seq);
		EXPECT_EQ(2, msg[1].seq);
	}
	EXPECT_EQ(0, memcmp(&msg->laddr, &b, sizeof(b)));
	EXPECT_EQ(0, memcmp(&msg->faddr, &a, sizeof(a)));
	EXPECT_EQ(rds_port(&self->b_name), ntohs(msg->lport));
	EXPECT_EQ(rds_port(&self->a_name), ntohs(msg->fport));
	EXPECT_EQ(0, msg->flags);
	EXPECT_EQ(0, msg->tos);
}

TEST_F(solo, received_message_record_ipv4_form)
{
	struct rds_name name = rds_name("127.0.0.1", 4000);
	struct rds_info_message *msg = (void *)records;

	solo_move(_metadata, self);
	ASSERT_EQ(0, rds_bind(self->fd, name));
	ASSERT_EQ(3, ERR(rds_sendto(self->fd, "abc", 3, 0, &name)));
	ASSERT_TRUE(rds_arrived(self->fd));
	ASSERT_EQ(1, info_read(_metadata, self->fd, RDS_INFO_RECV_MESSAGES,
			       26));
	EXPECT_EQ(1, msg->seq);
	EXPECT_EQ(3, msg->len);
	EXPECT_EQ(name.in.sin_addr.s_addr, msg->laddr);
	EXPECT_EQ(name.in.sin_addr.s_addr, msg->faddr);
	EXPECT_EQ(4000, ntohs(msg->lport));
	EXPECT_EQ(4000, ntohs(msg->fport));
	EXPECT_EQ(0, msg->flags);
	EXPECT_EQ(0, msg->tos);
}

TEST_F(pair, read_messages_are_not_listed)
{
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_EQ(3, ERR(rds_recv(self->b, payload, 100)));
	EXPECT_EQ(0, info_read(_metadata, self->b, RDS6_INFO_RECV_MESSAGES,
			       50));
}

/* Count the listed messages from the port of socket @fd. */
static int count_from(struct __test_metadata *_metadata, int fd, int option)
{
	struct rds6_info_message *msg = (void *)records;
	struct rds_name name = rds_sockname(fd);
	int i, found = 0, count = info_read(_metadata, fd, option, 50);

	for (i = 0; i < count; i++)
		found += ntohs(msg[i].lport) == rds_port(&name);
	return found;
}

TEST_F(pair, delivered_messages_are_not_to_be_sent)
{
	ASSERT_EQ(3, ERR(rds_sendto(self->a, "abc", 3, 0, &self->b_name)));
	ASSERT_TRUE(rds_arrived(self->b));
	if (variant->wire)
		EXPECT_TRUE(rds_await_acked(self->a));
	EXPECT_EQ(0, count_from(_metadata, self->a, RDS6_INFO_SEND_MESSAGES));
	EXPECT_EQ(0, count_from(_metadata, self->a,
				RDS6_INFO_RETRANS_MESSAGES));
}

/*
 * If the buffer is short, messages and connections are listed as far as they
 * fit.
 */
TEST_F(pair, partial_list_of_messages)
{
	struct rds6_info_message *msg = (void *)records;
	socklen_t len = 2 * 50 + 20;
	int i;

	for (i = 1; i <= 3; i++)
		ASSERT_EQ(i, ERR(rds_sendto(self->a, payload, i, 0,
					    &self->b_name)));
	ASSERT_TRUE(rds_await_queued(self->b, 3));
	memset(records, 0xa5, sizeof(records));
	EXPECT_EQ(-ENOSPC, info(self->b, RDS6_INFO_RECV_MESSAGES, records,
				&len));
	EXPECT_EQ(3 * 50, len);
	EXPECT_EQ(1, msg[0].len);
	EXPECT_EQ(2, msg[1].len);
	EXPECT_EQ((char)0xa5, records[2 * 50]);
}

/* The list of sockets is returned completely or not at all. */
TEST_F(pair, partial_list_of_sockets)
{
	int more = make_it_two(variant);
	socklen_t len = 52;

	memset(records, 0xa5, sizeof(records));
	EXPECT_EQ(-ENOSPC, info(self->a, RDS6_INFO_SOCKETS, records, &len));
	EXPECT_EQ(2 * 52, len);
	EXPECT_EQ((char)0xa5, records[0]);
	EXPECT_EQ((char)0xa5, records[51]);
	close(more);
}

/*
 * A child opens and closes sockets while they are listed. Every call must
 * succeed, because the buffer has room for all of them.
 */
TEST_F(solo, list_that_changes)
{
	int fd[30];
	size_t i;
	pid_t pid;

	solo_move(_metadata, self);
	pid = fork();
	while (!pid) {
		for (i = 0; i < ARRAY_SIZE(fd); i++)
			fd[i] = rds_socket();
		for (i = 0; i < ARRAY_SIZE(fd); i++)
			close(fd[i]);
	}
	ASSERT_LT(0, pid);
	for (i = 0; i < 5000; i++) {
		info_read(_metadata, self->fd, RDS6_INFO_SOCKETS, 52);
		if (_metadata->passed != 1)
			break;
	}
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
}

TEST_F(solo, needs_no_capability)
{
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_EQ(1, info_read(_metadata, self->fd, RDS6_INFO_SOCKETS, 52));
}

TEST_HARNESS_MAIN
