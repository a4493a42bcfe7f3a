// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contract of include/net/rds/transport.h, from the transport's side:
 * registration, the order of the ops, and which objects pin the module until
 * they are released.
 */
#include <linux/module.h>

#include "../core/path.h"
#include "rig_peer.h"

/* RDMA ops that lack a required one, so that the registration fails */
static void *map_nothing(struct net *net, const struct in6_addr *laddr,
			 int ifindex, const struct rds_mr_memory *mem, u32 *key)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static const struct rds_rdma_ops no_unmap = { .mr_map = map_nothing };
static const struct rds_rdma_ops no_rdma;

static const char * const names[RDS_TRANS_STATS_MAX + 1];

static void no_sums(struct net *net, u64 *sums)
{
}

static const struct rds_info_ops no_counters;
static const struct rds_info_ops most_counters = {
	.nr_stats = RDS_TRANS_STATS_MAX, .stat_names = names, .stats = no_sums,
};

static const struct rds_info_ops more_counters = {
	.nr_stats = RDS_TRANS_STATS_MAX + 1, .stat_names = names,
	.stats = no_sums,
};

static const struct rds_info_ops nameless_counters = {
	.nr_stats = 1, .stats = no_sums,
};

/* A transport that is to be registered, and lacks something */
struct register_row {
	const char			*name;
	int				ret;
	/* Where missing pointers are in struct fake; 0: nothing is missing */
	size_t				lacks[2];
	unsigned int			caps;
	unsigned int			type;	/* 0: a valid one */
	const struct rds_rdma_ops	*rdma;
	const struct rds_info_ops	*info;
	bool				nameless;
};

#define CONN		offsetof(struct fake, trans.conn)
#define DATA		offsetof(struct fake, trans.data)
#define CONN_OP(op)	offsetof(struct fake, conn_ops.op)
#define DATA_OP(op)	offsetof(struct fake, data_ops.op)

static const struct register_row registers[] = {
	{ "complete", 0 },
	{ "no_name", -EINVAL, .nameless = true },
	{ "no_conn_ops", -EINVAL, { CONN } },
	{ "no_data_ops", -EINVAL, { DATA } },
	{ "no_laddr_check", -EINVAL, { CONN_OP(laddr_check) } },
	{ "no_path_connect", -EINVAL, { CONN_OP(path_connect) } },
	{ "no_path_shutdown", -EINVAL, { CONN_OP(path_shutdown) } },
	{ "no_xmit", -EINVAL, { DATA_OP(xmit) } },
	{ "no_map", -EINVAL, { DATA_OP(xmit_cong_map) } },
	{ "no_map_on_loopback", 0, { DATA_OP(xmit_cong_map) },
	  RDS_CAP_LOOPBACK },
	{ "no_rx_resume", -EINVAL, { DATA_OP(rx_resume) } },
	{ "no_rx_resume_on_loopback", 0, { DATA_OP(rx_resume) },
	  RDS_CAP_LOOPBACK },
	{ "no_max_paths", 0, { CONN_OP(max_paths) } },
	{ "no_max_paths_with_paths", -EINVAL, { CONN_OP(max_paths) },
	  RDS_CAP_HANDSHAKE | RDS_CAP_MULTIPATH },
	{ "paths", 0, {}, RDS_CAP_HANDSHAKE | RDS_CAP_MULTIPATH },
	{ "handshake_without_paths", 0, { CONN_OP(max_paths) },
	  RDS_CAP_HANDSHAKE },
	{ "paths_without_handshake", -EINVAL, {}, RDS_CAP_MULTIPATH },
	{ "no_optional_op", 0, { CONN_OP(path_alloc), CONN_OP(path_free) } },
	{ "empty_rdma_ops", -EINVAL, .rdma = &no_rdma },
	{ "no_mr_unmap", -EINVAL, .rdma = &no_unmap },
	{ "no_counters", 0, .info = &no_counters },
	{ "most_counters", 0, .info = &most_counters },
	{ "more_counters", -EINVAL, .info = &more_counters },
	{ "nameless_counters", -EINVAL, .info = &nameless_counters },
	{ "type_out_of_range", -EINVAL, .type = RDS_TRANS_SLOTS },
	{ "type_huge", -EINVAL, .type = RDS_TRANS_NONE },
};

static void register_desc(const struct register_row *row, char *desc)
{
	strscpy(desc, row->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(registers, registers, register_desc);

static void spoil(struct fake *fake, const struct register_row *row)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(row->lacks); i++) {
		if (row->lacks[i])
			memset((char *)fake + row->lacks[i], 0, sizeof(void *));
	}
	if (row->nameless)
		fake->trans.name[0] = '\0';
	if (row->type)
		fake->trans.type = row->type;
	if (row->rdma)
		fake->trans.rdma = row->rdma;
	if (row->info)
		fake->trans.info = row->info;
	fake->trans.caps |= row->caps;
}

/* Register a second transport, in an unused slot. */
static void register_checks(struct kunit *test)
{
	const struct register_row *row = test->param_value;
	struct fake *other;
	int ret;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	fake_init(other);
	other->trans.type = RDS_TRANS_GAP;
	spoil(other, row);

	ret = rds_transport_register(&other->trans);
	if (!ret)
		rds_transport_unregister(&other->trans);
	KUNIT_EXPECT_EQ(test, ret, row->ret);
}

static void register_taken_slot(struct kunit *test)
{
	struct fake *other;

	other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, other);
	fake_init(other);
	KUNIT_EXPECT_EQ(test, rds_transport_register(&other->trans), -EEXIST);
	KUNIT_EXPECT_EQ(test, rds_transport_register(&rig_fake(test)->trans),
			-EEXIST);

	fake_unregister(rig_fake(test));
	KUNIT_EXPECT_EQ(test, fake_register(rig_fake(test)), 0);
}

/* fake.c detects ops that overlap, and rig_exit() then fails the test. */
static void ops_in_order(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_expect_ops(test, "");
	rig_send(test, sock, 10);
	rig_await(test, FAKE_SENT, 1);
	rig_send(test, sock, 10);
	rig_expect_ops(test, "aCMXX");

	rds_path_drop(rig_path(test), RDS_DROP_PEER_RESET);
	rig_await(test, FAKE_SENT, 4);
	rig_expect_ops(test, "aCMXXsCMXX");

	rds_path_ack(rig_path(test), 2);
	rig_close(test, sock);
	fake_unregister(rig_fake(test));
	rig_expect_ops(test, "aCMXXsCMXXsf");
}

static void failed_alloc_is_not_freed(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	fake_fail(&rig_fake(test)->alloc, -EADDRNOTAVAIL, 1);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT, 1, 0),
			-EADDRNOTAVAIL);
	fake_fail(&rig_fake(test)->alloc, -ENOMEM, 1);
	KUNIT_EXPECT_EQ(test, rig_try_send(test, sock, RIG_PEER_PORT, 1, 0),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, rig_msgs(sock), 0);
	rig_expect_ops(test, "aa");

	rig_send(test, sock, 1);
	rig_await(test, FAKE_SENT, 1);
	rig_expect_ops(test, "aaaCMX");
}

static void path_knows_its_key(struct kunit *test)
{
	static const struct in6_addr peer = {
		.s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
	};
	const struct rds_path *path;

	rig_up(test);
	path = rig_path(test);
	KUNIT_EXPECT_PTR_EQ(test, path->net, &init_net);
	KUNIT_EXPECT_EQ(test, 0, memcmp(&path->laddr, &fake_laddr,
					sizeof(fake_laddr)));
	KUNIT_EXPECT_EQ(test, 0, memcmp(&path->faddr, &peer, sizeof(peer)));
	KUNIT_EXPECT_EQ(test, path->ifindex, 0);
	KUNIT_EXPECT_EQ(test, path->tos, 0);
	KUNIT_EXPECT_EQ(test, path->index, 0);
	KUNIT_EXPECT_FALSE(test, path->passive);
}

static void sockets_share_the_path(struct kunit *test)
{
	struct socket *one = rig_up(test);
	struct socket *two = rig_socket(test, RIG_PORT + 1);

	rig_send(test, one, 1);
	rig_send(test, two, 1);
	rig_expect_ops(test, "XX");
	KUNIT_EXPECT_EQ(test, fake_nth(rig_fake(test), FAKE_SENT, 1)->sport,
			RIG_PORT + 1);
}

static void bound_socket_pins_the_module(struct kunit *test)
{
	int refs = rig_of(test)->module_refs;
	struct socket *sock;

	sock = rig_socket(test, RIG_PORT);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	rig_close(test, sock);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
}

static void chosen_transport_is_pinned(struct kunit *test)
{
	int refs = rig_of(test)->module_refs;
	struct socket *sock = rig_open(test);
	int tcp = RDS_TRANS_TCP;

	KUNIT_EXPECT_EQ(test, 0, rig_setsockopt(sock, SO_RDS_TRANSPORT, &tcp,
						sizeof(tcp)));
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	KUNIT_EXPECT_EQ(test, rig_setsockopt(sock, SO_RDS_TRANSPORT, &tcp,
					     sizeof(tcp)), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, rig_bind(sock, RIG_FADDR, RIG_PORT),
			-ENOPROTOOPT);
	KUNIT_EXPECT_EQ(test, rig_bind(sock, RIG_LADDR, RIG_PORT), 0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	rig_close(test, sock);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs);
}

static int laddr_check_without_memory(struct net *net,
				      const struct in6_addr *addr, int ifindex)
{
	return -ENOMEM;
}

/* If laddr_check() returns -ENOMEM, the transport may serve the address all the
 * same. So bind() fails, and core does not ask the next transport.
 */
static void want_of_memory_is_told(struct kunit *test)
{
	struct rds_conn_ops *ops = &rig_fake(test)->conn_ops;
	struct socket *chosen = rig_open(test);
	struct socket *sock = rig_open(test);
	int refs = rig_of(test)->module_refs;
	typeof(ops->laddr_check) laddr_check;
	int tcp = RDS_TRANS_TCP;

	KUNIT_EXPECT_EQ(test, 0, rig_setsockopt(chosen, SO_RDS_TRANSPORT, &tcp,
						sizeof(tcp)));
	laddr_check = ops->laddr_check;
	ops->laddr_check = laddr_check_without_memory;
	KUNIT_EXPECT_EQ(test, -ENOMEM, rig_bind(sock, RIG_LADDR, RIG_PORT));
	KUNIT_EXPECT_EQ(test, -ENOMEM, rig_bind(chosen, RIG_LADDR, RIG_PORT));
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	ops->laddr_check = laddr_check;
	KUNIT_EXPECT_EQ(test, 0, rig_bind(sock, RIG_LADDR, RIG_PORT));
	KUNIT_EXPECT_EQ(test, 0, rig_bind(chosen, RIG_LADDR, RIG_PORT + 1));
}

static void unread_message_pins_the_module(struct kunit *test)
{
	int refs = rig_of(test)->module_refs;
	struct socket *sock = rig_up(test);
	struct rig_got got;

	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	rig_deliver(test, 1, 9, RIG_PORT, 100, 0);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 2);
	rig_recv(test, sock, &got);
	KUNIT_EXPECT_EQ(test, got.ret, 100);
	KUNIT_EXPECT_EQ(test, module_refcount(THIS_MODULE), refs + 1);
	KUNIT_EXPECT_EQ(test, fake_incomings(), 0);
}

/* A message whose socket is closed is being sent, and pongs wait behind it.
 * Neither delays the end of the transport.
 */
static void unregister_with_messages(struct kunit *test)
{
	struct socket *sock = rig_up(test);
	unsigned int i;

	fake_fail(&rig_fake(test)->xmit, -EAGAIN, FAKE_FOR_EVER);
	rig_send(test, sock, 100000);
	rig_close(test, sock);
	for (i = 0; i < 10; i++)
		rig_deliver(test, 1 + i, 100 + i, RDS_PORT_PING, 0, 0);

	fake_forget(rig_fake(test));
	fake_unregister(rig_fake(test));
	rig_expect_done(test, "sf");
}

static void unregister_while_connecting(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_fake(test)->connect_later = true;
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECTED, 1);
	rig_close(test, sock);
	fake_unregister(rig_fake(test));
	rig_expect_ops(test, "aCsf");
}

static void unregister_while_backing_off(struct kunit *test)
{
	struct socket *sock = rig_socket(test, RIG_PORT);

	rig_sysctl()->reconnect_max_ms = 1000 * 1000;
	rig_sysctl()->reconnect_min_ms = 1000 * 1000;
	fake_fail(&rig_fake(test)->connect, -ECONNREFUSED, FAKE_FOR_EVER);
	rig_send(test, sock, 1);
	rig_await(test, FAKE_CONNECT, 2);
	rig_close(test, sock);

	fake_forget(rig_fake(test));
	fake_unregister(rig_fake(test));
	rig_expect_done(test, "sf");
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE_PARAM(register_checks, registers_gen_params),
	KUNIT_CASE(register_taken_slot),
	KUNIT_CASE(ops_in_order),
	KUNIT_CASE(failed_alloc_is_not_freed),
	KUNIT_CASE(path_knows_its_key),
	KUNIT_CASE(sockets_share_the_path),
	KUNIT_CASE(bound_socket_pins_the_module),
	KUNIT_CASE(chosen_transport_is_pinned),
	KUNIT_CASE(want_of_memory_is_told),
	KUNIT_CASE(unread_message_pins_the_module),
	KUNIT_CASE(unregister_with_messages),
	KUNIT_CASE(unregister_while_connecting),
	KUNIT_CASE(unregister_while_backing_off),
	{}
};

static struct kunit_suite contract_suite = {
	.name		= "rds_contract",
	.init		= rig_init,
	.exit		= rig_exit,
	.test_cases	= contract_cases,
};

kunit_test_suite(contract_suite);
