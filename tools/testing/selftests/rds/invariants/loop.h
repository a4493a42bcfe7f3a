/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most of these tests: two sockets on loopback addresses, in a
 * network namespace of their own. When a test ends, the modules must not have
 * more users than before: a message or a socket that was never freed holds a
 * reference to one of them.
 */
#ifndef RDS_LOOP_H
#define RDS_LOOP_H

#include "harness.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define PAGE 4096UL

/*
 * A debug kernel takes many times as long for everything, and finds in few
 * rounds what others find in many.
 */
static inline unsigned int few_or(unsigned int many)
{
	return access("/sys/kernel/debug/kmemleak", F_OK) ? many : many / 5;
}

/* Return the number of users of a module; -1 if it is not loaded. */
static inline long module_users(const char *module)
{
	char path[64];
	long users = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/module/%s/refcnt", module);
	file = fopen(path, "r");
	if (!file)
		return -1;
	if (fscanf(file, "%ld", &users) != 1)
		users = -1;
	fclose(file);
	return users;
}

/* Wait: sockets are freed a grace period after they are closed. */
static inline bool module_users_fall_to(const char *module, long users)
{
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (module_users(module) <= users)
			return true;
		usleep(10000);
	}
	return false;
}

/* Return 0, or an errno; -EWOULDBLOCK while the module is in use. */
static inline long module_unload(const char *module)
{
	return ERR(syscall(SYS_delete_module, module, O_NONBLOCK));
}

/*
 * Unload a module when its last user is gone. A frame of a peer that arrives
 * just then, for a socket that was closed, is a user for a moment.
 */
static inline long module_unload_at_last(const char *module)
{
	long ret = -EWOULDBLOCK;
	int tries;

	for (tries = 0; ret == -EWOULDBLOCK && tries < 1000; tries++) {
		if (!module_users_fall_to(module, 0))
			break;
		ret = module_unload(module);
	}
	return ret;
}

FIXTURE(loop) {
	int a;
	int b;
	struct rds_name a_name;
	struct rds_name b_name;
	long rds_users;
	long loop_users;
};

FIXTURE_SETUP(loop)
{
	ASSERT_EQ(0, rds_netns());
	/* The first bind loads the transports. */
	self->a = rds_bound("127.0.0.1", 0);
	ASSERT_LE(0, self->a);
	close(self->a);
	self->a = rds_socket();
	ASSERT_EQ(0, rds_set(self->a, SOL_RDS, SO_RDS_TRANSPORT,
			     RDS_TRANS_TCP));
	close(self->a);
	ASSERT_TRUE(module_users_fall_to("rds_loop", 0));
	self->rds_users = module_users("rds");
	self->loop_users = module_users("rds_loop");

	self->a = rds_bound("127.0.0.1", 4000);
	ASSERT_LE(0, self->a);
	self->b = rds_bound("127.0.0.2", 4001);
	ASSERT_LE(0, self->b);
	self->a_name = rds_sockname(self->a);
	self->b_name = rds_sockname(self->b);
}

FIXTURE_TEARDOWN(loop)
{
	close(self->a);
	close(self->b);
	EXPECT_TRUE(module_users_fall_to("rds_loop", self->loop_users));
	EXPECT_TRUE(module_users_fall_to("rds", self->rds_users));
}

/* Check that a message of @len bytes from @from arrives at @to whole. */
static inline bool loop_works(int from, int to, const struct rds_name *name,
			      size_t len)
{
	static char out[65536], in[sizeof(out)];

	if (len > sizeof(out))
		return false;
	rds_fill(out, len, len);
	return rds_sendto(from, out, len, 0, name) == (ssize_t)len &&
	       rds_recv(to, in, sizeof(in)) == (ssize_t)len &&
	       rds_check(in, len, len);
}

#endif /* RDS_LOOP_H */
