// SPDX-License-Identifier: GPL-2.0
/*
 * A library to preload into rds-bench. It simulates a faulty kernel: it spoils
 * one message of each process that sends enough messages. The tests check
 * whether rds-bench notices.
 *
 *	FAULT		drop, double, swap (with the next) or flip (a bit);
 *			memory that is not copied supports only flip
 *	FAULT_AT	which message, counted from 1
 *	FAULT_SIZE	count messages of this size only
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "linux/rds.h"

#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

typedef ssize_t (*sendmsg_fn)(int fd, const struct msghdr *msg, int flags);
typedef ssize_t (*sendto_fn)(int fd, const void *bytes, size_t size, int flags,
			     const struct sockaddr *to, socklen_t to_len);

/* A message and its destination */
struct message {
	char			*bytes;
	size_t			size;
	struct sockaddr_storage	to;
	socklen_t		to_len;
};

static struct message held;

static long number(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? atol(value) : -1;
}

static int is_fault(const char *fault)
{
	const char *wanted = getenv("FAULT");

	return wanted && !strcmp(wanted, fault);
}

static ssize_t really_send(int fd, const struct message *message, int flags)
{
	static sendto_fn really;

	if (!really)
		really = (sendto_fn)dlsym(RTLD_NEXT, "sendto");
	return really(fd, message->bytes, message->size, flags,
		      message->to_len ? (void *)&message->to : NULL,
		      message->to_len);
}

static void hold(const struct message *message)
{
	held = *message;
	held.bytes = malloc(message->size + 1);
	memcpy(held.bytes, message->bytes, message->size);
}

static ssize_t send_flipped(int fd, const struct message *message, int flags)
{
	size_t at = message->size / 2;
	ssize_t ret;

	message->bytes[at] ^= 0x10;
	ret = really_send(fd, message, flags);
	message->bytes[at] ^= 0x10;
	return ret;
}

static ssize_t spoil(int fd, const struct message *message, int flags)
{
	if (is_fault("drop"))
		return message->size;
	if (is_fault("swap")) {
		hold(message);
		return message->size;
	}
	if (is_fault("double"))
		really_send(fd, message, flags);
	if (is_fault("flip"))
		return send_flipped(fd, message, flags);
	return really_send(fd, message, flags);
}

/* Check whether this is the message to spoil. */
static int is_due(size_t size)
{
	static long seen;

	if (number("FAULT_SIZE") >= 0 && (size_t)number("FAULT_SIZE") != size)
		return 0;
	if (!size && is_fault("flip"))
		return 0;
	return ++seen == number("FAULT_AT");
}

/* Two messages can be out of order only if they have the same destination. */
static int same_way(const struct message *message)
{
	return message->to_len == held.to_len &&
	       !memcmp(&message->to, &held.to, held.to_len);
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags,
	       const struct sockaddr *to, socklen_t to_len)
{
	struct message message = {
		.bytes = (char *)bytes,
		.size = size,
		.to_len = to_len,
	};
	ssize_t ret;

	if (to_len)
		memcpy(&message.to, to, to_len);
	if (is_due(size))
		return spoil(fd, &message, flags);
	ret = really_send(fd, &message, flags);
	if (held.bytes && same_way(&message)) {
		really_send(fd, &held, flags);
		held.bytes = NULL;
	}
	return ret;
}

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	return sendto(fd, bytes, size, flags, NULL, 0);
}

/*
 * Return the memory that is sent without a copy, by MSG_ZEROCOPY or by an RDMA
 * operation. Returns NULL if there is none.
 */
static unsigned char *uncopied(const struct msghdr *msg, int flags)
{
	const struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	const struct rds_rdma_args *args;
	const struct rds_iovec *vec;

	if (flags & MSG_ZEROCOPY)
		return msg->msg_iov->iov_base;
	if (!cmsg || cmsg->cmsg_type != RDS_CMSG_RDMA_ARGS)
		return NULL;
	args = (const void *)CMSG_DATA(cmsg);
	vec = (const void *)(uintptr_t)args->local_vec_addr;
	return (unsigned char *)(uintptr_t)vec->addr;
}

/* Leave the bit flipped, because the memory is read later. */
ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	static sendmsg_fn really;
	unsigned char *bytes;

	bytes = uncopied(msg, flags);
	if (!really)
		really = (sendmsg_fn)dlsym(RTLD_NEXT, "sendmsg");
	if (bytes && is_fault("flip") && is_due(1))
		bytes[20] ^= 0x10;
	return really(fd, msg, flags);
}
