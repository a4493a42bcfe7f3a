/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Helpers for all RDS tests: addresses, bound sockets, control messages, and
 * blocking calls in threads of their own
 */
#ifndef RDS_TEST_H
#define RDS_TEST_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <linux/sockios.h>

#include "linux/rds.h"

struct nlmsghdr;

#ifndef AF_RDS
#define AF_RDS 21
#endif

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif

/* The result of a system call, or its negative errno: one value to compare */
#define ERR(call) ({			\
	long ret_ = (call);		\
	ret_ == -1 ? -errno : ret_;	\
})

/* A socket address of either family, with its length */
struct rds_name {
	socklen_t len;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	};
};

/* @addr is numeric, with a numeric scope if any: "fe80::1%1" */
struct rds_name rds_name(const char *addr, unsigned int port);
unsigned int rds_port(const struct rds_name *name);
bool rds_name_eq(const struct rds_name *a, const struct rds_name *b);
/* The address as in the lists of the kernel: IPv4 in its mapped form */
struct in6_addr rds_addr6(const struct rds_name *name);

/* The state UP in &struct rds6_info_path */
#define PATH_UP		3

/*
 * Check whether to run @variant of a test. If RDS_VARIANTS is set, it lists the
 * variants to run, with a comma before and after each.
 */
bool rds_wants_variant(const char *variant);
/*
 * Check whether to run this program over RDMA devices. On a slow kernel,
 * RDS_RDMA_PROGRAMS lists the programs to run, with a comma before and after
 * each.
 */
bool rds_wants_device(void);

/* Network namespaces, addresses, sysctls */
int rds_netns(void);
int rds_initial_netns(void);
int rds_address(const char *addr, bool add);
int rds_address_on(const char *dev, const char *addr, unsigned int prefix);
int rds_address_off(const char *dev, const char *addr, unsigned int prefix);
/* Set a network device of the caller's namespace up, or down. */
int rds_up(const char *dev);
int rds_down(const char *dev);
/*
 * Have the kernel process a request of rtnetlink, which asks for an
 * acknowledgment. Returns 0, or -1 with errno set.
 */
int rds_netlink(const struct nlmsghdr *request);
int rds_sysctl_read(const char *name, char *buf, size_t size);
int rds_sysctl_mode(const char *name);
long rds_sysctl_get(const char *name);
int rds_sysctl_set(const char *name, const char *value);
bool rds_module_loaded(const char *name);

/* Sockets */
int rds_socket(void);
int rds_bind(int fd, struct rds_name name);
int rds_connect(int fd, struct rds_name name);
int rds_bound(const char *addr, unsigned int port);
struct rds_name rds_sockname(int fd);
struct rds_name rds_peername(int fd);
int rds_set(int fd, int level, int option, int value);
int rds_get(int fd, int level, int option);
int rds_set_timeout(int fd, int option, unsigned int ms);
int rds_rcvbuf(int fd, int bytes);
int rds_sndbuf(int fd, int bytes);

/* Plain messages */
ssize_t rds_sendto(int fd, const void *buf, size_t len, int flags,
		   const struct rds_name *to);
/* Receive an expected message. Fails with ETIMEDOUT if it does not arrive. */
ssize_t rds_recv(int fd, void *buf, size_t len);
/* Wait for a message and leave it in the queue. */
bool rds_arrived(int fd);
/* Check that the queue is empty now. */
bool rds_silent(int fd);
/* Return the number of messages in the queue of a bound socket. */
int rds_queued(int fd);
/* Wait until at least @count messages are in the queue. */
bool rds_await_queued(int fd, int count);
/* Wait until everything sent is acknowledged. */
bool rds_await_acked(int fd);
void rds_drain(int fd);
short rds_poll(int fd);

/*
 * Return a counter of the namespace of @fd, or -1 if there is no such counter.
 */
int64_t rds_counter(int fd, const char *name);
/* Wait until the counter is at least @value. */
bool rds_await_counter(int fd, const char *name, int64_t value);

/*
 * Register memory for access by peers, and free the registration. Both return 0
 * or a negative errno.
 */
long rds_get_mr(int fd, const void *memory, size_t len, uint64_t flags,
		uint64_t *cookie);
long rds_free_mr(int fd, uint64_t cookie);

/* Return how many pages of user memory are pinned, or -1. */
long rds_pages_pinned(void);

/* Fill and check a buffer. @seed distinguishes one message from another. */
void rds_fill(void *buf, size_t len, unsigned int seed);
bool rds_check(const void *buf, size_t len, unsigned int seed);

/* Map a page that can be accessed, followed by one that cannot. */
char *rds_guarded_page(void);

/* A msghdr with room for everything it can point to */
struct rds_msg {
	struct msghdr hdr;
	struct iovec iov;
	struct rds_name name;
	char control[1024] __attribute__((aligned(8)));
};

void rds_msg_init(struct rds_msg *msg, void *buf, size_t len);
void rds_msg_to(struct rds_msg *msg, const struct rds_name *to);
void *rds_msg_add(struct rds_msg *msg, int level, int type, const void *data,
		  size_t len);
/* Like rds_recv(), but prepare @msg for a name and control messages, too. */
ssize_t rds_msg_recv(int fd, struct rds_msg *msg, void *buf, size_t len,
		     int flags);
struct cmsghdr *rds_msg_find(struct rds_msg *msg, int level, int type);
unsigned int rds_msg_count(struct rds_msg *msg);

/* A call that is expected to block, made by a thread of its own */
struct rds_task {
	int fd;
	int flags;
	short events;
	void *buf;
	size_t len;
	struct rds_name to;
	long nr;
	long ret;
	pthread_t thread;
	atomic_int tid;
	atomic_bool done;
};

int rds_task_send(struct rds_task *task, int fd, void *buf, size_t len,
		  const struct rds_name *to);
int rds_task_recv(struct rds_task *task, int fd, void *buf, size_t len);
int rds_task_poll(struct rds_task *task, int fd, short events);
int rds_task_accept(struct rds_task *task, int fd);
int rds_task_connect(struct rds_task *task, int fd,
		     const struct rds_name *to);
/* Make the call whose number and arguments the caller has put into @task. */
int rds_task_start(struct rds_task *task);
/*
 * Wait until the thread sleeps in its call. Returns false if the call returned.
 */
bool rds_task_blocked(struct rds_task *task);
/*
 * Wait for the thread. Returns the result of its call, or its negative errno.
 */
long rds_task_join(struct rds_task *task);

/* SIGUSR1 interrupts a call, and is counted; it has no other effect. */
int rds_signal_setup(int sa_flags);
unsigned int rds_signal_count(void);

#endif /* RDS_TEST_H */
