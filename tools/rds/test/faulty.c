// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into rds-bench, this plays a kernel that does not do its job: it
 * spoils one message of each process that sends enough of them. The tests see
 * whether rds-bench notices.
 *
 *	FAULT		drop, double, swap (with the next) or flip (a bit)
 *	FAULT_AT	which message, counted from 1
 *	FAULT_SIZE	count messages of this size only
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

typedef ssize_t (*sendto_fn)(int fd, const void *bytes, size_t size, int flags,
			     const struct sockaddr *to, socklen_t to_len);

/* A message, and where it was to go */
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

/* Returns true for the one message whose turn it is. */
static int is_due(size_t size)
{
	static long seen;

	if (number("FAULT_SIZE") >= 0 && (size_t)number("FAULT_SIZE") != size)
		return 0;
	if (!size && is_fault("flip"))
		return 0;
	return ++seen == number("FAULT_AT");
}

/* Two messages are out of order only if they have the same way to go. */
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
