// SPDX-License-Identifier: GPL-2.0
/*
 * The same as faults.c, for operations on memory of users and of peers over an
 * RDMA device: each allocation, and each access to user memory, of a call fails
 * once. If a call fails, nothing was done: nothing is registered, sent or
 * reported, no page stays pinned, and the next call works.
 *
 * Some of the allocations are those of the device in software, which returns
 * various errnos for them; these become ENOMEM or EIO.
 */
#include "sweep.h"
#include "verbs.h"

#define LEN	(5 * PAGE)

static char far[LEN] __attribute__((aligned(PAGE)));
static char near[LEN] __attribute__((aligned(PAGE)));
static char room[PAGE];

static bool await_pinned(long pages)
{
	unsigned int left;

	for (left = 5000; left && rds_pages_pinned() != pages; left--)
		usleep(1000);
	return left;
}

static bool is_precise(long ret)
{
	return ret >= 0 || ret == -ENOMEM || ret == -EFAULT;
}

/* Any socket returns ENOBUFS without memory for a copy of control messages. */
static bool is_precise_of_send(long ret)
{
	return is_precise(ret) || ret == -ENOBUFS;
}

static void scene_init(struct scene *scene, FIXTURE_DATA(rdma) *self)
{
	*scene = (struct scene) {
		.a = self->a, .b = self->b, .b_name = self->b_name,
	};
}

static void prepare_nothing(struct scene *scene)
{
	scene->cookie = 0;
}

static long run_get_mr(struct scene *scene)
{
	return rds_get_mr(scene->b, far, LEN, RDS_RDMA_READWRITE,
			  &scene->cookie);
}

static long run_get_mr_for_dest(struct scene *scene)
{
	struct rds_get_mr_for_dest_args args = {
		.vec = { (uintptr_t)far, LEN },
		.cookie_addr = (uintptr_t)&scene->cookie,
	};

	memcpy(&args.dest_addr, &scene->b_name.ss, scene->b_name.len);
	return ERR(setsockopt(scene->b, SOL_RDS, RDS_GET_MR_FOR_DEST, &args,
			      sizeof(args)));
}

/* A region that is registered can be freed, once; otherwise no cookie is
 * returned.
 */
static bool verify_get_mr(struct scene *scene, long ret)
{
	if (!is_precise(ret) || !ret != !!scene->cookie ||
	    (!ret && rds_free_mr(scene->b, scene->cookie)))
		return false;
	return await_pinned(0);
}

static void sweep_it(struct __test_metadata *_metadata,
		     FIXTURE_DATA(rdma) *self, struct scene *scene,
		     const struct faulty_call *call)
{
	ASSERT_TRUE(faults_setup());
	EXPECT_TRUE(sweep(scene, call, 1));
	EXPECT_LT(0, scene->failures);
	TH_LOG("%lu failures", scene->failures);
}

/* The registrations of the device are created the first time. */
static void sweep_registering(struct __test_metadata *_metadata,
			      FIXTURE_DATA(rdma) *self,
			      long (*run)(struct scene *scene))
{
	const struct faulty_call call = {
		.prepare = prepare_nothing, .run = run,
		.verify = verify_get_mr,
	};
	struct scene scene;

	scene_init(&scene, self);
	ASSERT_EQ(0, run(&scene));
	ASSERT_EQ(0, rds_free_mr(self->b, scene.cookie));
	sweep_it(_metadata, self, &scene, &call);
}

TEST_F(rdma, i19_get_mr)
{
	sweep_registering(_metadata, self, run_get_mr);
}

TEST_F(rdma, i19_get_mr_for_dest)
{
	sweep_registering(_metadata, self, run_get_mr_for_dest);
}

static void prepare_mr(struct scene *scene)
{
	if (run_get_mr(scene))
		abort();
}

static long run_free_mr(struct scene *scene)
{
	return rds_free_mr(scene->b, scene->cookie);
}

/* A region that was not freed is still there, and can be freed. */
static bool verify_free_mr(struct scene *scene, long ret)
{
	return is_precise(ret) &&
	       run_free_mr(scene) == (ret ? 0 : -EINVAL) && await_pinned(0);
}

TEST_F(rdma, i19_free_mr)
{
	static const struct faulty_call call = {
		.prepare = prepare_mr, .run = run_free_mr,
		.verify = verify_free_mr,
	};
	struct scene scene;

	scene_init(&scene, self);
	sweep_it(_metadata, self, &scene, &call);
}

static long send_with(struct scene *scene, int type, const void *args,
		      size_t len)
{
	struct rds_msg msg;

	rds_msg_init(&msg, near, 10);
	rds_msg_to(&msg, &scene->b_name);
	rds_msg_add(&msg, SOL_RDS, type, args, len);
	return ERR(sendmsg(scene->a, &msg.hdr, MSG_DONTWAIT));
}

static long run_map(struct scene *scene)
{
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)far, LEN },
		.cookie_addr = (uintptr_t)&scene->cookie,
	};

	return send_with(scene, RDS_CMSG_RDMA_MAP, &args, sizeof(args));
}

/* A message that was sent announces the region that was registered. */
static bool verify_map(struct scene *scene, long ret)
{
	struct cmsghdr *cmsg;
	struct rds_msg msg;
	uint64_t heard;

	if (ret < 0)
		return is_precise_of_send(ret) && rds_silent(scene->b) &&
		       await_pinned(0);
	if (rds_msg_recv(scene->b, &msg, room, sizeof(room), 0) != 10)
		return false;
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_DEST);
	if (!cmsg)
		return false;
	memcpy(&heard, CMSG_DATA(cmsg), sizeof(heard));
	return heard == scene->cookie && !rds_free_mr(scene->a, heard) &&
	       await_pinned(0);
}

TEST_F(rdma, cve_2024_27024_send_that_maps)
{
	static const struct faulty_call call = {
		.prepare = prepare_nothing, .run = run_map,
		.verify = verify_map,
	};
	struct scene scene;

	scene_init(&scene, self);
	ASSERT_EQ(10, run_map(&scene));
	ASSERT_TRUE(verify_map(&scene, 10));
	sweep_it(_metadata, self, &scene, &call);
}

/* Prepare operations on so much memory of the peer, which stays registered. */
static bool scene_with_memory(struct scene *scene, FIXTURE_DATA(rdma) *self)
{
	scene_init(scene, self);
	rds_fill(near, LEN, 1);
	rds_fill(far, LEN, 2);
	return !run_get_mr(scene);
}

static long run_rdma(struct scene *scene)
{
	/* In two pieces */
	struct rds_iovec vec[2] = {
		{ (uintptr_t)near, PAGE },
		{ (uintptr_t)near + PAGE, LEN - PAGE },
	};
	struct rds_rdma_args args = {
		.cookie = scene->cookie,
		.remote_vec = { 0, LEN },
		.local_vec_addr = (uintptr_t)vec,
		.nr_local = 2,
		.flags = RDS_RDMA_NOTIFY_ME | scene->option,
		.user_token = 7,
	};

	return send_with(scene, RDS_CMSG_RDMA_ARGS, &args, sizeof(args));
}

static long run_add(struct scene *scene)
{
	struct rds_atomic_args args = {
		.cookie = scene->cookie,
		.local_addr = (uintptr_t)near,
		.fadd.add = 1,
		.flags = RDS_RDMA_NOTIFY_ME,
		.user_token = 7,
	};

	return send_with(scene, RDS_CMSG_ATOMIC_FADD, &args, sizeof(args));
}

/* Check the status of the one operation that was sent. */
static bool is_reported(struct scene *scene)
{
	struct rds_rdma_notify notify;
	struct cmsghdr *cmsg;
	struct rds_msg msg;

	if (rds_msg_recv(scene->a, &msg, room, sizeof(room), 0) ||
	    rds_msg_count(&msg) != 1)
		return false;
	cmsg = rds_msg_find(&msg, SOL_RDS, RDS_CMSG_RDMA_STATUS);
	if (!cmsg)
		return false;
	memcpy(&notify, CMSG_DATA(cmsg), sizeof(notify));
	if (notify.status)
		printf("# status %d\n", notify.status);
	return notify.user_token == 7 && notify.status == RDS_RDMA_SUCCESS;
}

/* An operation that was sent is done and reported, once; one that failed is
 * neither.
 */
static bool verify_op(struct scene *scene, long ret)
{
	if (!is_precise_of_send(ret))
		return false;
	if (ret >= 0 && (rds_recv(scene->b, room, sizeof(room)) != 10 ||
			 !is_reported(scene)))
		return false;
	return rds_silent(scene->a) && rds_silent(scene->b) &&
	       await_pinned(LEN / PAGE);
}

static void prepare_rdma(struct scene *scene)
{
	rds_fill(near, LEN, 1);
	rds_fill(far, LEN, 2);
}

static bool verify_rdma(struct scene *scene, long ret)
{
	bool write = scene->option;

	return verify_op(scene, ret) &&
	       rds_check(near, LEN, ret < 0 || write ? 1 : 2) &&
	       rds_check(far, LEN, ret >= 0 && write ? 1 : 2);
}

static const struct faulty_call call_rdma = {
	.prepare = prepare_rdma, .run = run_rdma, .verify = verify_rdma,
};

TEST_F(rdma, i19_write)
{
	struct scene scene;

	ASSERT_TRUE(scene_with_memory(&scene, self));
	scene.option = RDS_RDMA_READWRITE;
	sweep_it(_metadata, self, &scene, &call_rdma);
	EXPECT_EQ(0, rds_free_mr(self->b, scene.cookie));
}

TEST_F(rdma, i19_read)
{
	struct scene scene;

	ASSERT_TRUE(scene_with_memory(&scene, self));
	sweep_it(_metadata, self, &scene, &call_rdma);
	EXPECT_EQ(0, rds_free_mr(self->b, scene.cookie));
}

static void prepare_add(struct scene *scene)
{
	memset(near, 0, 8);
	memcpy(far, &(uint64_t) { 1000 }, 8);
}

static bool verify_add(struct scene *scene, long ret)
{
	uint64_t mine, there;

	if (!verify_op(scene, ret))
		return false;
	memcpy(&mine, near, 8);
	memcpy(&there, far, 8);
	return mine == (ret < 0 ? 0 : 1000) && there == 1000 + (ret >= 0);
}

TEST_F(rdma, cve_2018_5333_add)
{
	static const struct faulty_call call = {
		.prepare = prepare_add, .run = run_add, .verify = verify_add,
	};
	struct scene scene;

	ASSERT_TRUE(scene_with_memory(&scene, self));
	sweep_it(_metadata, self, &scene, &call);
	EXPECT_EQ(0, rds_free_mr(self->b, scene.cookie));
}

TEST_HARNESS_MAIN
