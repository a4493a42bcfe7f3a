// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation, and every access to user memory, fails once: a call is made
 * again and again, and each time one more of them succeeds before one fails,
 * until none fails. Each call must succeed or fail with a plain errno, do what
 * its result means, and leave everything in working order. The kernel's own
 * checks find leaks and worse.
 *
 * Needs CONFIG_FAULT_INJECTION, CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC and
 * CONFIG_FAULT_INJECTION_USERCOPY.
 */
#include "sweep.h"

#include <sys/syscall.h>

static char payload[5 * PAGE];
static char room[8 * PAGE];

static long run_socket(struct scene *scene)
{
	scene->fd = rds_socket();
	return scene->fd < 0 ? -errno : 0;
}

static bool verify_socket(struct scene *scene, long ret)
{
	return ret || !close(scene->fd);
}

static const struct faulty_call socket_call = {
	.run = run_socket,
	.verify = verify_socket,
};

/* Use a new address, so that everything has to be created. */
static void prepare_fresh_name(struct scene *scene)
{
	scene->name = rds_name("127.1.0.0", 4000);
	scene->name.in.sin_addr.s_addr = htonl(0x7f010000 + ++scene->number);
}

static void prepare_bind(struct scene *scene)
{
	prepare_fresh_name(scene);
	scene->fd = rds_socket();
}

static long run_bind(struct scene *scene)
{
	return ERR(rds_bind(scene->fd, scene->name));
}

/* If the bind failed, the socket is unbound, and can be bound. */
static bool verify_bind(struct scene *scene, long ret)
{
	bool ok = !ret || !rds_bind(scene->fd, scene->name);

	ok = ok && loop_works(scene->fd, scene->fd, &scene->name, 64);
	close(scene->fd);
	return ok;
}

static const struct faulty_call bind_call = {
	.prepare = prepare_bind,
	.run = run_bind,
	.verify = verify_bind,
};

static long run_send(struct scene *scene)
{
	return ERR(rds_sendto(scene->a, payload, scene->len, MSG_DONTWAIT,
			      &scene->name));
}

/* A message that was sent arrives once and whole; one that failed does not. */
static bool verify_send(struct scene *scene, long ret)
{
	if (ret >= 0 &&
	    (rds_recv(scene->b, room, sizeof(room)) != ret ||
	     !rds_check(room, ret, 1)))
		return false;
	return rds_silent(scene->b);
}

static void prepare_send(struct scene *scene)
{
	scene->name = scene->b_name;
}

static const struct faulty_call send_call = {
	.prepare = prepare_send,
	.run = run_send,
	.verify = verify_send,
};

/* Each time to a receiver to which this socket has never sent */
static void prepare_first_send(struct scene *scene)
{
	prepare_fresh_name(scene);
	scene->b = rds_socket();
	if (rds_bind(scene->b, scene->name))
		abort();
}

static bool verify_first_send(struct scene *scene, long ret)
{
	bool ok = verify_send(scene, ret) &&
		  loop_works(scene->a, scene->b, &scene->name, 64);

	close(scene->b);
	return ok;
}

static const struct faulty_call first_send = {
	.prepare = prepare_first_send,
	.run = run_send,
	.verify = verify_first_send,
};

static unsigned char target[PAGE] __attribute__((aligned(PAGE)));

/* Send a message with an operation on @target, or one that announces memory. */
static long run_send_cmsg(struct scene *scene)
{
	static uint64_t told, result;
	const struct rds_iovec vec = { (uintptr_t)payload, 100 };
	const struct rds_rdma_args rdma = {
		.cookie = scene->cookie, .remote_vec.bytes = 100,
		.local_vec_addr = (uintptr_t)&vec, .nr_local = 1,
		.flags = RDS_RDMA_READWRITE,
	};
	const struct rds_atomic_args atomic = {
		.cookie = scene->cookie, .local_addr = (uintptr_t)&result,
	};
	const struct rds_get_mr_args map = {
		.vec = vec, .cookie_addr = (uintptr_t)&told,
	};
	struct rds_msg msg;

	rds_msg_init(&msg, payload, scene->len);
	rds_msg_to(&msg, &scene->b_name);
	if (scene->option == RDS_CMSG_RDMA_ARGS)
		rds_msg_add(&msg, SOL_RDS, scene->option, &rdma, sizeof(rdma));
	else if (scene->option == RDS_CMSG_RDMA_DEST)
		rds_msg_add(&msg, SOL_RDS, scene->option, &scene->own, 8);
	else if (scene->option == RDS_CMSG_RDMA_MAP)
		rds_msg_add(&msg, SOL_RDS, scene->option, &map, sizeof(map));
	else
		rds_msg_add(&msg, SOL_RDS, scene->option, &atomic,
			    sizeof(atomic));
	return ERR(sendmsg(scene->a, &msg.hdr, MSG_DONTWAIT));
}

static bool begin_operations(struct scene *scene)
{
	return !rds_get_mr(scene->b, target, PAGE, RDS_RDMA_READWRITE,
			   &scene->cookie) &&
	       !rds_get_mr(scene->a, target, PAGE, 0, &scene->own);
}

static const struct faulty_call send_operation = {
	.run = run_send_cmsg,
	.verify = verify_send,
};

static void zcopy_on(struct scene *scene)
{
	scene->name = scene->b_name;
	if (rds_set(scene->a, SOL_SOCKET, SO_ZEROCOPY, 1))
		abort();
}

static long run_zcopy(struct scene *scene)
{
	uint32_t cookie = 7;
	struct rds_msg msg;

	rds_msg_init(&msg, payload, scene->len);
	rds_msg_to(&msg, &scene->b_name);
	rds_msg_add(&msg, SOL_RDS, RDS_CMSG_ZCOPY_COOKIE, &cookie,
		    sizeof(cookie));
	return ERR(sendmsg(scene->a, &msg.hdr, MSG_ZEROCOPY | MSG_DONTWAIT));
}

static long run_recv_completion(struct scene *scene)
{
	static struct rds_msg msg;

	rds_msg_init(&msg, room, sizeof(room));
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = sizeof(msg.control);
	return ERR(recvmsg(scene->a, &msg.hdr, MSG_DONTWAIT));
}

/* A send that succeeded is reported, once; one that failed is not. */
static bool verify_zcopy(struct scene *scene, long ret)
{
	if (!verify_send(scene, ret))
		return false;
	return (ret < 0 || !run_recv_completion(scene)) &&
	       run_recv_completion(scene) == -EAGAIN;
}

/*
 * The first zerocopy send of a socket also allocates the queue of completions,
 * which stays. So when a sweep begins with it and has let this allocation fail,
 * all later ones move up by one, and one of them never fails. After a complete
 * send, all calls make the same allocations.
 */
static bool begin_zcopy(struct scene *scene)
{
	long ret;

	zcopy_on(scene);
	ret = run_zcopy(scene);
	return ret == (long)scene->len && verify_zcopy(scene, ret);
}

static const struct faulty_call send_zcopy = {
	.prepare = zcopy_on,
	.run = run_zcopy,
	.verify = verify_zcopy,
};

static void prepare_completion(struct scene *scene)
{
	zcopy_on(scene);
	if (run_zcopy(scene) != (long)scene->len ||
	    rds_recv(scene->b, room, sizeof(room)) != (ssize_t)scene->len)
		abort();
}

/* A completion that could not be reported is reported the next time. */
static bool verify_completion(struct scene *scene, long ret)
{
	return (!ret || !run_recv_completion(scene)) &&
	       run_recv_completion(scene) == -EAGAIN;
}

static const struct faulty_call receive_completions = {
	.prepare = prepare_completion,
	.run = run_recv_completion,
	.verify = verify_completion,
};

static void prepare_recv(struct scene *scene)
{
	if (rds_sendto(scene->a, payload, scene->len, 0,
		       &scene->b_name) != (ssize_t)scene->len)
		abort();
}

/* No name is requested: it is copied by generic code, when the message is gone.
 */
static long run_recv(struct scene *scene)
{
	static struct rds_msg msg;

	rds_msg_init(&msg, room, sizeof(room));
	msg.hdr.msg_control = msg.control;
	msg.hdr.msg_controllen = sizeof(msg.control);
	return ERR(recvmsg(scene->b, &msg.hdr, MSG_DONTWAIT));
}

/* A message received is whole; after an errno it is still there. */
static bool verify_recv(struct scene *scene, long ret)
{
	if (ret < 0)
		ret = rds_recv(scene->b, room, sizeof(room));
	return ret == (long)scene->len && rds_check(room, ret, 1) &&
	       rds_silent(scene->b);
}

/* With all the control messages that a message can have */
static bool begin_receive(struct scene *scene)
{
	struct rds_rx_trace_so so = { .rx_traces = 3, { 0, 1, 2 } };

	return !rds_set(scene->b, SOL_SOCKET, SO_TIMESTAMP, 1) &&
	       !setsockopt(scene->b, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so,
			   sizeof(so));
}

static const struct faulty_call receive_message = {
	.prepare = prepare_recv,
	.run = run_recv,
	.verify = verify_recv,
};

static long run_info(struct scene *scene)
{
	socklen_t len = sizeof(room);
	long ret;

	ret = ERR(getsockopt(scene->a, SOL_RDS, scene->option, room, &len));
	return ret == -ENOPROTOOPT ? 0 : ret;
}

/* The list of received messages has one. */
static bool begin_lists(struct scene *scene)
{
	prepare_recv(scene);
	return true;
}

static const struct faulty_call get_list = {
	.run = run_info,
};

static long run_options(struct scene *scene)
{
	struct rds_rx_trace_so so = {};
	uint8_t tos = 0;
	int queued;

	if (rds_connect(scene->a, scene->b_name) ||
	    rds_set(scene->a, SOL_RDS, RDS_RECVERR, 1) ||
	    rds_set(scene->a, SOL_RDS, RDS_CONG_MONITOR, 0) ||
	    setsockopt(scene->a, SOL_RDS, RDS_CANCEL_SENT_TO,
		       &scene->b_name.in, sizeof(scene->b_name.in)) ||
	    setsockopt(scene->a, SOL_RDS, SO_RDS_MSG_RXPATH_LATENCY, &so,
		       sizeof(so)) ||
	    ioctl(scene->a, SIOCRDSGETTOS, &tos) ||
	    ioctl(scene->a, SIOCOUTQ, &queued) ||
	    ioctl(scene->a, SIOCINQ, &queued))
		return -errno;
	rds_poll(scene->a);
	return 0;
}

static const struct faulty_call set_options = {
	.run = run_options,
};

/* A case: a call, and what it is made with */
FIXTURE_VARIANT(loop) {
	const struct faulty_call *call;
	bool (*begin)(struct scene *scene);	/* before the first call */
	size_t len;		/* of the message */
	int option;		/* of getsockopt(), or a control message */
	int last;		/* option; 0: there is only one */
};

#define CASE(name, ...) \
	FIXTURE_VARIANT_ADD(loop, name) { .call = __VA_ARGS__ }

CASE(i19_socket, &socket_call);
CASE(i19_bind, &bind_call);
CASE(i19_send_empty, &send_call, .len = 0);
CASE(i19_send_small, &send_call, .len = 64);
CASE(i19_send_page, &send_call, .len = PAGE);
CASE(i19_send_pages, &send_call, .len = 5 * PAGE);
CASE(cve_2021_45480_first_send, &first_send, .len = 100);

#define OPERATION(type) \
	&send_operation, begin_operations, .len = 100, .option = type

CASE(i19_send_rdma, OPERATION(RDS_CMSG_RDMA_ARGS));
CASE(i19_send_dest, OPERATION(RDS_CMSG_RDMA_DEST));
CASE(i19_send_map, OPERATION(RDS_CMSG_RDMA_MAP));
CASE(i19_send_fadd, OPERATION(RDS_CMSG_ATOMIC_FADD));
CASE(i19_send_cswp, OPERATION(RDS_CMSG_ATOMIC_CSWP));
CASE(i19_send_masked_fadd, OPERATION(RDS_CMSG_MASKED_ATOMIC_FADD));
CASE(i19_send_masked_cswp, OPERATION(RDS_CMSG_MASKED_ATOMIC_CSWP));

CASE(cve_2026_43502_zerocopy_small, &send_zcopy, .len = 64);
CASE(cve_2026_43502_zerocopy_page, &send_zcopy, .len = PAGE);
CASE(cve_2026_43502_zerocopy_pages, &send_zcopy, .len = 5 * PAGE);
CASE(i19_zerocopy_again_small, &send_zcopy, begin_zcopy, .len = 64);
CASE(i19_zerocopy_again_page, &send_zcopy, begin_zcopy, .len = PAGE);
CASE(i19_zerocopy_again_pages, &send_zcopy, begin_zcopy, .len = 5 * PAGE);
CASE(i9_receive_completions, &receive_completions, .len = 100);

CASE(i19_receive_empty, &receive_message, begin_receive, .len = 0);
CASE(i19_receive_small, &receive_message, begin_receive, .len = 64);
CASE(i19_receive_pages, &receive_message, begin_receive, .len = 5 * PAGE);

#define LISTS \
	&get_list, begin_lists, .len = 100, \
	.option = RDS_INFO_FIRST, .last = RDS_INFO_LAST

CASE(i19_lists, LISTS);
CASE(i19_options, &set_options);

TEST_F(loop, each_failure_is_clean)
{
	struct scene scene = {
		.a = self->a, .b = self->b, .b_name = self->b_name,
		.len = variant->len, .option = variant->option,
	};

	ASSERT_TRUE(faults_setup());
	rds_fill(payload, sizeof(payload), 1);
	if (variant->begin)
		ASSERT_TRUE(variant->begin(&scene));
	do {
		EXPECT_TRUE(sweep(&scene, variant->call, 1))
			TH_LOG("option %d", scene.option);
	} while (scene.option++ < variant->last);
	EXPECT_LT(0, scene.failures);
	EXPECT_TRUE(rds_silent(self->a));
	rds_drain(self->b);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

TEST_HARNESS_MAIN
