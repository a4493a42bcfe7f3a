// SPDX-License-Identifier: GPL-2.0
/*
 * RDS over RDMA devices: memory that is registered with a device, which may be
 * removed, and registrations that are kept for the next region
 */
#include "verbs.h"

static char payload[PAGE];

static struct rds_get_mr_args mr_args(uint64_t *cookie)
{
	return (struct rds_get_mr_args) {
		.vec.addr = (uintptr_t)payload, .vec.bytes = sizeof(payload),
		.cookie_addr = (uintptr_t)cookie,
		.flags = RDS_RDMA_READWRITE,
	};
}

static long get_mr(int fd, uint64_t *cookie)
{
	return rds_get_mr(fd, payload, sizeof(payload), RDS_RDMA_READWRITE,
			  cookie);
}

static long send_map(int fd, const struct rds_name *to)
{
	uint64_t cookie;
	struct rds_get_mr_args args = mr_args(&cookie);
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 8);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
	return ERR(sendmsg(fd, &msg.hdr, 0));
}

static long send_dest(int fd, const struct rds_name *to, uint64_t cookie)
{
	struct rds_msg msg;

	rds_msg_init(&msg, payload, 8);
	rds_msg_to(&msg, to);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST, &cookie,
		    sizeof(cookie));
	return ERR(sendmsg(fd, &msg.hdr, MSG_DONTWAIT));
}

/* Memory can be mapped for a peer before there is a connection to it. */
TEST_F(rdma, cve_2026_31425_map_before_first_message)
{
	struct rds_name name;
	int a, b;

	ASSERT_EQ(0, spare_add());
	a = rds_bound(SPARE_A, 0);
	b = rds_bound(SPARE_B, 0);
	ASSERT_LE(0, b);
	name = rds_sockname(b);
	EXPECT_EQ(8, send_map(a, &name));
	EXPECT_EQ(8, rds_recv(b, payload, sizeof(payload)));
	EXPECT_TRUE(rds_silent(b));
	EXPECT_TRUE(loop_works(a, b, &name, 64));
	close(a);
	close(b);
}

/* The removal of a device does not wait for the owners of registered memory,
 * and these can still free it.
 */
TEST_F(rdma, i11_memory_of_a_device_that_is_removed)
{
	uint64_t cookie[20];
	unsigned int i;
	int fd;

	ASSERT_EQ(0, spare_add());
	fd = rds_bound(SPARE_A, 0);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, get_mr(fd, &cookie[i]));
	ASSERT_EQ(8, send_dest(fd, &self->b_name, cookie[0]));
	ASSERT_EQ(0, spare_del());
	EXPECT_EQ(-EADDRNOTAVAIL, get_mr(fd, &cookie[10]));
	/* The key must not be sent any more: it may later denote other memory.
	 */
	EXPECT_EQ(-EINVAL, send_dest(fd, &self->b_name, cookie[0]));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, rds_free_mr(fd, cookie[i]));
	EXPECT_EQ(-EINVAL, rds_free_mr(fd, cookie[0]));

	ASSERT_EQ(0, spare_add());
	EXPECT_EQ(0, get_mr(fd, &cookie[0]));
	EXPECT_EQ(0, rds_free_mr(fd, cookie[0]));
	EXPECT_EQ(0, get_mr(fd, &cookie[0]));
	close(fd);
}

struct registrar {
	bool stop;
	unsigned int registered;
	unsigned int refused;
	long bad;
};

/* Every other region is left to close(). */
static void *register_main(void *data)
{
	struct registrar *registrar = data;
	uint64_t cookie;
	unsigned int i;
	long ret;
	int fd;

	while (!registrar->stop) {
		fd = rdma_socket();
		ret = ERR(rds_bind(fd, rds_name(SPARE_A, 0)));
		for (i = 0; i < 4 && !ret; i++) {
			ret = get_mr(fd, &cookie);
			registrar->registered += !ret;
			if (!ret && i % 2)
				ret = rds_free_mr(fd, cookie);
		}
		registrar->refused += !!ret;
		if (ret && ret != -ENOPROTOOPT && ret != -EADDRNOTAVAIL)
			registrar->bad = ret;
		close(fd);
	}
	return NULL;
}

static void register_and_go(struct __test_metadata *_metadata,
			    unsigned int times)
{
	struct registrar registrar[2] = {};
	pthread_t thread[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, register_main,
					    &registrar[i]));
	for (i = 0; i < times; i++) {
		EXPECT_EQ(0, spare_add());
		usleep(20000 + i * 2000);
		EXPECT_EQ(0, spare_del());
		usleep(1000);
	}
	for (i = 0; i < 2; i++) {
		registrar[i].stop = true;
		pthread_join(thread[i], NULL);
		EXPECT_LT(0, registrar[i].registered);
		EXPECT_LT(0, registrar[i].refused);
		EXPECT_EQ(0, registrar[i].bad);
	}
}

TEST_F(rdma, i11_memory_registered_while_devices_come_and_go)
{
	register_and_go(_metadata, few_or(25));
}

static bool keep(const char *max)
{
	return !rds_sysctl_set("ib/mr_pool_max", max) &&
	       !rds_sysctl_set("ib/mr_pool_software", "1");
}

static bool keep_none(void)
{
	return !rds_sysctl_set("ib/mr_pool_software", "0") &&
	       !rds_sysctl_set("ib/mr_pool_max", "1024");
}

/* With the registrations kept for reuse */
TEST_F_TIMEOUT(rdma, i19_memory_kept_while_devices_come_and_go, LONG)
{
	ASSERT_TRUE(keep("1024"));
	register_and_go(_metadata, rounds());
	EXPECT_TRUE(keep_none());
}

#define KEPT 20

/* Register some memory, and free it. */
static long register_some(int fd)
{
	uint64_t cookie[KEPT];
	unsigned int i;
	long ret = 0;

	for (i = 0; i < KEPT && !ret; i++)
		ret = get_mr(fd, &cookie[i]);
	for (i = 0; i < KEPT && !ret; i++)
		ret = rds_free_mr(fd, cookie[i]);
	return ret;
}

/* Return how many registrations were given back to devices since the counter
 * was @from.
 */
static int64_t freed_since(int fd, int64_t from)
{
	return rds_counter(fd, "ib_rdma_mr_8k_free") - from;
}

/* At most as many are kept as allowed, and only while they are used; none is
 * lost.
 */
TEST_F(rdma, i19_memory_that_is_kept_is_bounded)
{
	int64_t made, reused, from;
	unsigned int tries;
	int fd;

	ASSERT_EQ(0, spare_add());
	fd = rds_bound(SPARE_A, 0);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(keep("8"));
	made = rds_counter(fd, "ib_rdma_mr_8k_alloc");
	from = rds_counter(fd, "ib_rdma_mr_8k_free");
	reused = rds_counter(fd, "ib_rdma_mr_8k_reused");
	ASSERT_EQ(0, register_some(fd));
	EXPECT_EQ(made + KEPT, rds_counter(fd, "ib_rdma_mr_8k_alloc"));
	EXPECT_EQ(KEPT - 8, freed_since(fd, from));
	ASSERT_EQ(0, register_some(fd));
	EXPECT_EQ(reused + 8, rds_counter(fd, "ib_rdma_mr_8k_reused"));
	EXPECT_EQ(2 * KEPT - 16, freed_since(fd, from));
	/* Until none has been needed for a while */
	for (tries = 0; tries < 6000; tries++) {
		if (freed_since(fd, from) == 2 * KEPT - 8)
			break;
		usleep(10000);
	}
	EXPECT_EQ(2 * KEPT - 8, freed_since(fd, from));
	EXPECT_EQ(made + 2 * KEPT - 8,
		  rds_counter(fd, "ib_rdma_mr_8k_alloc"));
	EXPECT_LT(0, rds_counter(fd, "ib_rdma_mr_8k_pool_flush"));

	/* Or until the device is removed */
	from = rds_counter(fd, "ib_rdma_mr_8k_free");
	ASSERT_EQ(0, register_some(fd));
	EXPECT_EQ(KEPT - 8, freed_since(fd, from));
	ASSERT_EQ(0, spare_del());
	EXPECT_EQ(KEPT, freed_since(fd, from));
	EXPECT_TRUE(keep_none());
	close(fd);
}

/* The registrations of devices in software are not kept. */
TEST_F(rdma, i11_memory_of_software_is_not_kept)
{
	int64_t reused = rds_counter(self->a, "ib_rdma_mr_8k_reused");

	ASSERT_EQ(0, register_some(self->a));
	ASSERT_EQ(0, register_some(self->a));
	EXPECT_EQ(reused, rds_counter(self->a, "ib_rdma_mr_8k_reused"));
}

TEST_HARNESS_MAIN
