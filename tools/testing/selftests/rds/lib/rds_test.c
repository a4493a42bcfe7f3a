// SPDX-License-Identifier: GPL-2.0
/* The helpers of rds_test.h */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "rds_test.h"

/* Time limit for an expected message, in milliseconds */
#define PATIENCE 30000

struct rds_name rds_name(const char *addr, unsigned int port)
{
	char text[INET6_ADDRSTRLEN + 16];
	struct rds_name name = {};
	char *scope;

	if (!strchr(addr, ':')) {
		name.len = sizeof(name.in);
		name.in.sin_family = AF_INET;
		name.in.sin_port = htons(port);
		if (inet_pton(AF_INET, addr, &name.in.sin_addr) != 1)
			abort();
		return name;
	}

	snprintf(text, sizeof(text), "%s", addr);
	scope = strchr(text, '%');
	if (scope)
		*scope++ = '\0';
	name.len = sizeof(name.in6);
	name.in6.sin6_family = AF_INET6;
	name.in6.sin6_port = htons(port);
	name.in6.sin6_scope_id = scope ? strtoul(scope, NULL, 10) : 0;
	if (inet_pton(AF_INET6, text, &name.in6.sin6_addr) != 1)
		abort();
	return name;
}

unsigned int rds_port(const struct rds_name *name)
{
	if (name->sa.sa_family == AF_INET)
		return ntohs(name->in.sin_port);
	return ntohs(name->in6.sin6_port);
}

struct in6_addr rds_addr6(const struct rds_name *name)
{
	struct in6_addr addr = { .s6_addr[10] = 0xff, .s6_addr[11] = 0xff };

	if (name->sa.sa_family == AF_INET6)
		return name->in6.sin6_addr;
	memcpy(&addr.s6_addr[12], &name->in.sin_addr, 4);
	return addr;
}

bool rds_name_eq(const struct rds_name *a, const struct rds_name *b)
{
	return a->len == b->len && !memcmp(&a->ss, &b->ss, a->len);
}

bool rds_wants_variant(const char *variant)
{
	const char *variants = getenv("RDS_VARIANTS");
	char name[64];

	snprintf(name, sizeof(name), ",%s,", variant);
	return !variants || strstr(variants, name);
}

bool rds_wants_device(void)
{
	const char *programs = getenv("RDS_RDMA_PROGRAMS");
	char name[64];

	snprintf(name, sizeof(name), ",%s,", program_invocation_short_name);
	return !programs || strstr(programs, name);
}

static int sysctl_open(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/net/rds/%s", name);
	return open(path, flags | O_CLOEXEC);
}

/* Read the text of a sysctl of net.rds, without its newline. */
int rds_sysctl_read(const char *name, char *buf, size_t size)
{
	int fd = sysctl_open(name, O_RDONLY);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len < 0)
		return -EIO;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return 0;
}

/* Return the permission bits of the file of a sysctl. */
int rds_sysctl_mode(const char *name)
{
	int fd = sysctl_open(name, O_RDONLY);
	struct stat st;
	int ret;

	if (fd < 0)
		return -errno;
	ret = fstat(fd, &st);
	close(fd);
	return ret ? ret : st.st_mode & 0777;
}

long rds_sysctl_get(const char *name)
{
	char text[32];
	int ret = rds_sysctl_read(name, text, sizeof(text));

	return ret ? ret : strtol(text, NULL, 10);
}

int rds_sysctl_set(const char *name, const char *value)
{
	int fd = sysctl_open(name, O_WRONLY);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

bool rds_module_loaded(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

int rds_socket(void)
{
	return socket(AF_RDS, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

int rds_bind(int fd, struct rds_name name)
{
	return bind(fd, &name.sa, name.len);
}

int rds_connect(int fd, struct rds_name name)
{
	return connect(fd, &name.sa, name.len);
}

/* Open a socket bound to @addr. Port 0 means any free port. */
int rds_bound(const char *addr, unsigned int port)
{
	int fd = rds_socket();

	if (fd < 0)
		return -1;
	if (rds_bind(fd, rds_name(addr, port))) {
		close(fd);
		return -1;
	}
	return fd;
}

struct rds_name rds_sockname(int fd)
{
	struct rds_name name = { .len = sizeof(name.ss) };

	if (getsockname(fd, &name.sa, &name.len))
		name.len = 0;
	return name;
}

struct rds_name rds_peername(int fd)
{
	struct rds_name name = { .len = sizeof(name.ss) };

	if (getpeername(fd, &name.sa, &name.len))
		name.len = 0;
	return name;
}

int rds_set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

int rds_get(int fd, int level, int option)
{
	socklen_t len = sizeof(int);
	int value;

	if (getsockopt(fd, level, option, &value, &len))
		return -errno;
	return value;
}

/* @option is SO_SNDTIMEO or SO_RCVTIMEO. */
int rds_set_timeout(int fd, int option, unsigned int ms)
{
	struct timeval tv = {
		.tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000,
	};

	return setsockopt(fd, SOL_SOCKET, option, &tv, sizeof(tv));
}

/* The FORCE options are not capped by the limits of the namespace. */
int rds_rcvbuf(int fd, int bytes)
{
	return rds_set(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes);
}

int rds_sndbuf(int fd, int bytes)
{
	return rds_set(fd, SOL_SOCKET, SO_SNDBUFFORCE, bytes);
}

ssize_t rds_sendto(int fd, const void *buf, size_t len, int flags,
		   const struct rds_name *to)
{
	return sendto(fd, buf, len, flags, &to->sa, to->len);
}

static ssize_t recv_patiently(int fd, struct msghdr *hdr, int flags)
{
	ssize_t ret;
	int err;

	if (flags & MSG_DONTWAIT)
		return recvmsg(fd, hdr, flags);
	rds_set_timeout(fd, SO_RCVTIMEO, PATIENCE);
	/* SIGCHLD may be delivered to any thread. */
	do
		ret = recvmsg(fd, hdr, flags);
	while (ret < 0 && errno == EINTR);
	err = errno;
	rds_set_timeout(fd, SO_RCVTIMEO, 0);
	errno = err;
	return ret;
}

ssize_t rds_recv(int fd, void *buf, size_t len)
{
	struct iovec iov = { buf, len };
	struct msghdr hdr = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recv_patiently(fd, &hdr, 0);
}

bool rds_arrived(int fd)
{
	struct msghdr hdr = {};

	return recv_patiently(fd, &hdr, MSG_PEEK) >= 0;
}

bool rds_silent(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == -1 &&
	       errno == EAGAIN;
}

/* The list of messages has addresses in their IPv6 form. */
static bool is_queued_for(const struct rds6_info_message *msg,
			  const struct rds_name *name)
{
	const void *addr = &name->in6.sin6_addr;
	size_t len = sizeof(msg->laddr), skip = 0;

	if (name->sa.sa_family == AF_INET) {
		addr = &name->in.sin_addr;
		len = sizeof(name->in.sin_addr);
		skip = sizeof(msg->laddr) - len;
	}
	return ntohs(msg->lport) == rds_port(name) &&
	       !memcmp((const char *)&msg->laddr + skip, addr, len);
}

int rds_queued(int fd)
{
	struct rds_name name = rds_sockname(fd);
	struct rds6_info_message msg[2000];
	socklen_t i, len = sizeof(msg);
	int count = 0;

	if (getsockopt(fd, SOL_RDS, RDS6_INFO_RECV_MESSAGES, msg, &len) < 0)
		return -errno;
	for (i = 0; i < len / sizeof(*msg); i++)
		count += is_queued_for(&msg[i], &name);
	return count;
}

/* Wait, in steps of a millisecond, until @what holds. */
#define AWAIT(what) ({							\
	unsigned int left_ = PATIENCE;					\
	bool held_;							\
	while (!(held_ = (what)) && left_--)				\
		usleep(1000);						\
	held_;								\
})

bool rds_await_queued(int fd, int count)
{
	return AWAIT(rds_queued(fd) >= count);
}

static int outq(int fd)
{
	int bytes = -1;

	ioctl(fd, SIOCOUTQ, &bytes);
	return bytes;
}

bool rds_await_acked(int fd)
{
	return AWAIT(outq(fd) == 0);
}

int64_t rds_counter(int fd, const char *name)
{
	struct rds_info_counter counter[256];
	socklen_t i, len = sizeof(counter);

	if (getsockopt(fd, SOL_RDS, RDS_INFO_COUNTERS, counter, &len) < 0)
		return -1;
	for (i = 0; i < len / sizeof(*counter); i++)
		if (!strcmp((char *)counter[i].name, name))
			return counter[i].value;
	return -1;
}

bool rds_await_counter(int fd, const char *name, int64_t value)
{
	return AWAIT(rds_counter(fd, name) >= value);
}

void rds_drain(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		;
}

/* Return every event that poll() can report for a socket. */
short rds_poll(int fd)
{
	struct pollfd pfd = {
		.fd = fd,
		.events = POLLIN | POLLPRI | POLLOUT | POLLRDNORM |
			  POLLRDBAND | POLLWRNORM | POLLWRBAND | POLLRDHUP,
	};

	if (poll(&pfd, 1, 0) < 0)
		return -1;
	return pfd.revents;
}

long rds_get_mr(int fd, const void *memory, size_t len, uint64_t flags,
		uint64_t *cookie)
{
	struct rds_get_mr_args args = {
		.vec = { (uintptr_t)memory, len },
		.cookie_addr = (uintptr_t)cookie,
		.flags = flags,
	};

	return ERR(setsockopt(fd, SOL_RDS, RDS_GET_MR, &args, sizeof(args)));
}

long rds_free_mr(int fd, uint64_t cookie)
{
	struct rds_free_mr_args args = { .cookie = cookie };

	return ERR(setsockopt(fd, SOL_RDS, RDS_FREE_MR, &args, sizeof(args)));
}

/* Return the value of a line of /proc/vmstat. */
static long vmstat(const char *name)
{
	FILE *file = fopen("/proc/vmstat", "r");
	size_t len = strlen(name);
	char line[100];
	long value = -1;

	while (file && value < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len) && line[len] == ' ')
			value = atol(line + len);
	if (file)
		fclose(file);
	return value;
}

/* Each CPU counts on its own. Reading this file adds up the counts. */
long rds_pages_pinned(void)
{
	FILE *file = fopen("/proc/sys/vm/stat_refresh", "r");

	if (!file)
		return -1;
	fgetc(file);
	fclose(file);
	return vmstat("nr_foll_pin_acquired") - vmstat("nr_foll_pin_released");
}

void rds_fill(void *buf, size_t len, unsigned int seed)
{
	unsigned char *byte = buf;
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		byte[i] = x >> 24;
	}
}

bool rds_check(const void *buf, size_t len, unsigned int seed)
{
	const unsigned char *byte = buf;
	uint32_t x = seed * 2654435761u + 1;
	size_t i;

	for (i = 0; i < len; i++) {
		x = x * 1664525 + 1013904223;
		if (byte[i] != x >> 24)
			return false;
	}
	return true;
}

char *rds_guarded_page(void)
{
	long size = sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || mprotect(page + size, size, PROT_NONE))
		return NULL;
	return page;
}

void rds_msg_init(struct rds_msg *msg, void *buf, size_t len)
{
	memset(msg, 0, sizeof(*msg));
	msg->iov.iov_base = buf;
	msg->iov.iov_len = len;
	msg->hdr.msg_iov = &msg->iov;
	msg->hdr.msg_iovlen = 1;
}

void rds_msg_to(struct rds_msg *msg, const struct rds_name *to)
{
	msg->name = *to;
	msg->hdr.msg_name = &msg->name.sa;
	msg->hdr.msg_namelen = msg->name.len;
}

/* Append a control message. Returns its data, for callers that write there. */
void *rds_msg_add(struct rds_msg *msg, int level, int type, const void *data,
		  size_t len)
{
	size_t used = msg->hdr.msg_controllen;
	struct cmsghdr *cmsg = (struct cmsghdr *)(msg->control + used);

	if (used + CMSG_SPACE(len) > sizeof(msg->control))
		abort();
	cmsg->cmsg_level = level;
	cmsg->cmsg_type = type;
	cmsg->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(cmsg), data, len);
	msg->hdr.msg_control = msg->control;
	msg->hdr.msg_controllen = used + CMSG_SPACE(len);
	return CMSG_DATA(cmsg);
}

ssize_t rds_msg_recv(int fd, struct rds_msg *msg, void *buf, size_t len,
		     int flags)
{
	rds_msg_init(msg, buf, len);
	msg->hdr.msg_name = &msg->name.sa;
	msg->hdr.msg_namelen = sizeof(msg->name.ss);
	msg->hdr.msg_control = msg->control;
	msg->hdr.msg_controllen = sizeof(msg->control);
	return recv_patiently(fd, &msg->hdr, flags);
}

struct cmsghdr *rds_msg_find(struct rds_msg *msg, int level, int type)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(&msg->hdr); cmsg;
	     cmsg = CMSG_NXTHDR(&msg->hdr, cmsg))
		if (cmsg->cmsg_level == level && cmsg->cmsg_type == type)
			return cmsg;
	return NULL;
}

unsigned int rds_msg_count(struct rds_msg *msg)
{
	struct cmsghdr *cmsg;
	unsigned int count = 0;

	for (cmsg = CMSG_FIRSTHDR(&msg->hdr); cmsg;
	     cmsg = CMSG_NXTHDR(&msg->hdr, cmsg))
		count++;
	return count;
}
