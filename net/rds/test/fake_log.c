// SPDX-License-Identifier: GPL-2.0-only
/* The log of the fake transport; see fake_log.h. */
#include <linux/ctype.h>
#include <linux/sched.h>

#include "fake.h"

/* The debug kernel under emulation is slow, and its host may be busy. */
#define FAKE_PATIENCE	(120 * HZ)

/**
 * fake_log_locked() - Add a call to the log
 * @fake: the transport; its lock is held
 * @path: the path
 * @call: the call
 */
void fake_log_locked(struct fake *fake, struct rds_path *path,
		     const struct fake_call *call)
{
	lockdep_assert_held(&fake->lock);
	if (fake->nr_calls < FAKE_MAX_CALLS) {
		fake->calls[fake->nr_calls] = *call;
		fake->calls[fake->nr_calls].index = path->index;
		fake->calls[fake->nr_calls].task = current;
		fake->nr_calls++;
	} else {
		fake->broken = "more calls than the log can hold";
	}
}

/**
 * fake_log() - Add a call to the log
 * @fake: the transport
 * @path: the path
 * @call: the call
 */
void fake_log(struct fake *fake, struct rds_path *path,
	      const struct fake_call *call)
{
	spin_lock(&fake->lock);
	fake_log_locked(fake, path, call);
	spin_unlock(&fake->lock);
}

/**
 * fake_forget() - Clear the log
 * @fake: the transport
 */
void fake_forget(struct fake *fake)
{
	spin_lock(&fake->lock);
	fake->nr_calls = 0;
	fake->nr_backoff = 0;
	spin_unlock(&fake->lock);
}

static bool fake_is(const struct fake_call *call, enum fake_op op)
{
	return call->op == tolower(op) && (islower(op) || call->ret >= 0);
}

/**
 * fake_nth() - Look up a call in the log
 * @fake: the transport
 * @op: count calls of this op only
 * @n: number of the call, from 0
 *
 * Return: the call, or NULL if the log has fewer.
 */
const struct fake_call *fake_nth(struct fake *fake, enum fake_op op,
				 unsigned int n)
{
	const struct fake_call *call = NULL;
	unsigned int i;

	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls && !call; i++) {
		if (fake_is(&fake->calls[i], op) && !n--)
			call = &fake->calls[i];
	}
	spin_unlock(&fake->lock);
	return call;
}

/**
 * fake_count() - Count the calls of an op in the log
 * @fake: the transport
 * @op: the op
 *
 * Return: the number of calls.
 */
unsigned int fake_count(struct fake *fake, enum fake_op op)
{
	unsigned int i, count = 0;

	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls; i++)
		count += fake_is(&fake->calls[i], op);
	spin_unlock(&fake->lock);
	return count;
}

/**
 * fake_await() - Wait for calls, and for core to process their results
 * @fake: the transport
 * @op: the op
 * @count: number of calls
 *
 * Return: true if the log has at least @count calls; false if they took too
 * long.
 */
bool fake_await(struct fake *fake, enum fake_op op, unsigned int count)
{
	bool done;

	done = wait_event_timeout(fake->wait, fake_count(fake, op) >= count,
				  FAKE_PATIENCE);
	fake_settle(fake);
	return done;
}

/**
 * fake_ops() - Format the log
 * @fake: the transport
 * @failed: include calls that failed
 * @buf: the output buffer
 * @size: size of @buf
 *
 * Return: @buf, with a letter of enum fake_op for each call.
 */
const char *fake_ops(struct fake *fake, bool failed, char *buf, size_t size)
{
	const struct fake_call *call;
	unsigned int i;
	size_t pos = 0;

	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls && pos + 1 < size; i++) {
		call = &fake->calls[i];
		if (call->ret < 0 && !failed)
			continue;
		if (call->ret >= 0 && strchr("cmoux", call->op))
			buf[pos++] = toupper(call->op);
		else
			buf[pos++] = call->op;
	}
	spin_unlock(&fake->lock);
	buf[pos] = '\0';
	return buf;
}

/* Format the messages of the path with number @index, and its maps; or, if
 * @index is negative, the messages of all paths. @mark returns what follows the
 * number of a message.
 */
static const char *fake_list(struct fake *fake, int index,
			     const char *(*mark)(const struct fake_call *call),
			     char *buf, size_t size)
{
	const struct fake_call *call;
	size_t pos = 0;
	unsigned int i;

	buf[0] = '\0';
	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls; i++) {
		call = &fake->calls[i];
		if (call->ret < 0 || (index >= 0 && call->index != index))
			continue;
		if (call->op == FAKE_MAP && index >= 0)
			pos += scnprintf(buf + pos, size - pos, "%sM",
					 pos ? " " : "");
		if (call->op != FAKE_XMIT)
			continue;
		pos += scnprintf(buf + pos, size - pos, "%s%llu%s%s",
				 pos ? " " : "", call->seq, mark(call),
				 call->flags & RDS_FLAG_RETRANSMITTED ?
				 "r" : "");
	}
	spin_unlock(&fake->lock);
	return buf;
}

static const char *fake_ack_mark(const struct fake_call *call)
{
	return call->flags & RDS_FLAG_ACK_REQUIRED ? "a" : "";
}

/**
 * fake_sent() - Format the messages that the transport has taken
 * @fake: the transport
 * @buf: the output buffer
 * @size: size of @buf
 *
 * Return: @buf, with the sequence numbers. An "a" follows a number if the
 * message requests an ack, and an "r" if it is marked as retransmitted.
 */
const char *fake_sent(struct fake *fake, char *buf, size_t size)
{
	return fake_list(fake, -1, fake_ack_mark, buf, size);
}

static const char *fake_kind(const struct fake_call *call)
{
	if (call->sport == RDS_PORT_PROBE && call->dport == RDS_PORT_PING)
		return "p";
	if (call->sport == RDS_PORT_PING && call->dport == RDS_PORT_PROBE)
		return "y";
	return "";
}

/**
 * fake_said() - Format what one path has sent
 * @fake: the transport
 * @index: number of the path
 * @buf: the output buffer
 * @size: size of @buf
 *
 * Return: @buf, with the sequence numbers. A "p" follows the number of a probe,
 * a "y" that of a reply, and an "r" that of a message marked as retransmitted.
 * "M" is a congestion map.
 */
const char *fake_said(struct fake *fake, unsigned int index, char *buf,
		      size_t size)
{
	return fake_list(fake, index, fake_kind, buf, size);
}
