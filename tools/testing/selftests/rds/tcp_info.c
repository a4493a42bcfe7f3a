// SPDX-License-Identifier: GPL-2.0
/*
 * What RDS over TCP shows of itself: the lists of its paths and of its sockets,
 * and its counters
 */
#include "tcp.h"

#include <arpa/inet.h>

#define TCP_PORT	16385

/* Lists */

TEST_F(tcp, paths_have_their_numbers)
{
	struct rds6_info_path path[PATHS];
	unsigned int seen = 0;
	int i;

	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	ASSERT_EQ(PATHS, tcp_paths(self, self->a, path));
	for (i = 0; i < PATHS; i++) {
		EXPECT_STREQ("tcp", (char *)path[i].transport);
		EXPECT_EQ(PATHS, path[i].npaths);
		EXPECT_EQ(0, path[i].tos);
		EXPECT_LE(1, path[i].established);
		EXPECT_LE(1, path[i].attempts);
		EXPECT_EQ(0, path[i].rx_held);
		EXPECT_GT(3600 * 1000, path[i].since_ms);
		seen |= 1 << path[i].index;
	}
	EXPECT_EQ(0xff, seen);
}

TEST_F(tcp, paths_tell_how_they_were_dropped)
{
	struct rds6_info_path before[PATHS], after[PATHS], far[PATHS];
	long near, there;
	int i;

	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	ASSERT_TRUE(tcp_await_established(self, self->b, 0));
	near = tcp_established(self, self->a);
	there = tcp_established(self, self->b);
	ASSERT_EQ(PATHS, tcp_paths(self, self->a, before));
	ASSERT_EQ(0, tcp_set("rds_tcp_rcvbuf", 0));
	ASSERT_TRUE(tcp_await_established(self, self->a, near + PATHS - 1));
	ASSERT_TRUE(tcp_await_established(self, self->b, there + PATHS - 1));
	ASSERT_EQ(PATHS, tcp_paths(self, self->a, after));
	ASSERT_EQ(PATHS, tcp_paths(self, self->b, far));
	for (i = 0; i < PATHS; i++) {
		EXPECT_EQ(before[i].index, after[i].index);
		EXPECT_LT(before[i].resets, after[i].resets);
		EXPECT_LT(before[i].attempts, after[i].attempts);
		/*
		 * An end that does not dial may since have connected only to
		 * ask the peer to dial.
		 */
		EXPECT_TRUE(after[i].drop_reason == TUNED ||
			    (!variant->dials && after[i].drop_reason == YIELD))
			TH_LOG("reason %u", after[i].drop_reason);
		EXPECT_TRUE(far[i].drop_reason == PEER_CLOSED ||
			    far[i].drop_reason == PEER_RESET)
			TH_LOG("reason %u", far[i].drop_reason);
	}
}

static bool is_idle(const struct rds6_info_tcp_socket *sock)
{
	return sock->hdr_rem == 48 && !sock->data_rem &&
	       sock->last_sent_nxt == sock->last_expected_una &&
	       sock->last_seen_una == sock->last_expected_una;
}

/*
 * Get the records of the idle sockets between two addresses. Returns their
 * number, or -1.
 */
static int idle_sockets(int fd, const struct rds_name *laddr,
			const struct rds_name *faddr,
			struct rds6_info_tcp_socket *sock)
{
	struct in6_addr local = rds_addr6(laddr), peer = rds_addr6(faddr);
	struct rds6_info_tcp_socket all[64];
	socklen_t i, len = sizeof(all);
	int count = 0;

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_TCP_SOCKETS, all, &len) !=
	    sizeof(*all))
		return -1;
	for (i = 0; i < len / sizeof(*all); i++)
		if (!memcmp(&all[i].local_addr, &local, sizeof(local)) &&
		    !memcmp(&all[i].peer_addr, &peer, sizeof(peer)) &&
		    is_idle(&all[i]) && count < PATHS)
			sock[count++] = all[i];
	return count;
}

/* Every path has a socket, and the port of the dialing end names the path. */
TEST_F(tcp, socket_records_ipv6_form)
{
	struct rds6_info_tcp_socket sock[PATHS];
	unsigned int seen = 0, left;
	int i, count = 0;

	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	for (left = 30000; left && count < PATHS; left--) {
		count = idle_sockets(self->a, &self->a_name, &self->b_name,
				     sock);
		usleep(1000);
	}
	ASSERT_EQ(PATHS, count);
	for (i = 0; i < count; i++) {
		unsigned int local = ntohs(sock[i].local_port);
		unsigned int peer = ntohs(sock[i].peer_port);

		EXPECT_EQ(TCP_PORT, variant->dials ? peer : local);
		seen |= 1 << (variant->dials ? local : peer) % PATHS;
	}
	EXPECT_EQ(0xff, seen);
}

/*
 * This list has IPv4 sockets only, with the same values as in the other list.
 */
TEST_F(tcp, socket_records_ipv4_form)
{
	struct rds_info_tcp_socket all[64];
	socklen_t i, len = sizeof(all);
	struct in_addr near, far;
	int count = 0;

	ASSERT_EQ(1, inet_pton(AF_INET, VETH_NEAR_IPV4, &near));
	ASSERT_EQ(1, inet_pton(AF_INET, VETH_FAR_IPV4, &far));
	ASSERT_TRUE(veth_warm_up(VETH_NEAR_IPV4, VETH_FAR_IPV4));
	ASSERT_TRUE(tcp_works(self->a, self->b));
	ASSERT_TRUE(tcp_await_established(self, self->a, 0));
	memset(all, 0xa5, sizeof(all));
	ASSERT_EQ(41, ERR(getsockopt(self->a, SOL_RDS, RDS_INFO_TCP_SOCKETS,
				     all, &len)));
	for (i = 0; i < len / sizeof(*all); i++) {
		EXPECT_EQ(near.s_addr, all[i].local_addr);
		EXPECT_EQ(far.s_addr, all[i].peer_addr);
		EXPECT_EQ(TCP_PORT, ntohs(all[i].peer_port));
		EXPECT_EQ(0, all[i].tos);
		EXPECT_GE(48, all[i].hdr_rem);
		count++;
	}
	EXPECT_EQ(PATHS, count);
}

/* Counters */

TEST_F(tcp, receiving_and_acknowledging_are_counted)
{
	int64_t ready = rds_counter(self->b, "tcp_data_ready_calls");
	int64_t space = rds_counter(self->a, "tcp_write_space_calls");

	ASSERT_LE(0, ready);
	ASSERT_LE(0, space);
	ASSERT_TRUE(tcp_works(self->a, self->b));
	EXPECT_LT(ready, rds_counter(self->b, "tcp_data_ready_calls"));
	EXPECT_TRUE(rds_await_counter(self->a, "tcp_write_space_calls",
				      space + 1));
}

TEST_F(tcp, full_send_buffers_are_counted)
{
	int64_t full;
	int i;

	tcp_move(_metadata, self, variant);
	ASSERT_EQ(0, tcp_set("rds_tcp_sndbuf", 4608));
	full = rds_counter(self->a, "tcp_sndbuf_full");
	ASSERT_LE(0, full);
	ASSERT_EQ(0, rds_sndbuf(self->a, 8 * sizeof(buf)));
	ASSERT_EQ(0, rds_rcvbuf(self->b, 8 * sizeof(buf)));
	for (i = 0; i < 4; i++) {
		rds_fill(buf, sizeof(buf), i);
		ASSERT_EQ(sizeof(buf), ERR(rds_sendto(self->a, buf, sizeof(buf),
						      0, &self->b_name)));
	}
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(sizeof(buf), ERR(rds_recv(self->b, buf,
						    sizeof(buf))));
		EXPECT_TRUE(rds_check(buf, sizeof(buf), i));
	}
	EXPECT_LT(full, rds_counter(self->a, "tcp_sndbuf_full"));
}

/* The peer may reset the connection at once. */
static bool tcp_dial(int fd, const char *to)
{
	struct rds_name name = rds_name(to, TCP_PORT);

	return !connect(fd, &name.sa, name.len) || errno == ECONNRESET;
}

/* No path takes a connection of this host to itself. */
TEST_F(tcp, connections_without_a_place_are_counted)
{
	int64_t stale = rds_counter(self->a, "tcp_listen_closed_stale");
	int fd = socket(self->a_name.sa.sa_family, SOCK_STREAM, 0);

	ASSERT_LE(0, stale);
	ASSERT_TRUE(tcp_dial(fd, variant->near));
	EXPECT_TRUE(rds_await_counter(self->a, "tcp_listen_closed_stale",
				      stale + 1));
	EXPECT_GE(0, read(fd, buf, 1));
	close(fd);
}

TEST_HARNESS_MAIN
