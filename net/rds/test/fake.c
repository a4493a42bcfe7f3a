// SPDX-License-Identifier: GPL-2.0-only
/* A fake transport for tests; see fake.h. */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <net/ipv6.h>

#include "../core/conn.h"
#include "fake.h"

/* The debug kernel under emulation is slow, and its host may be busy. */
#define FAKE_PATIENCE	(120 * HZ)

/* Longer than any test takes */
#define FAKE_AGES	(24 * 3600 * HZ)

/**
 * struct fake_path - the transport's data of a path
 * @item: on &fake.paths
 * @path: the path
 * @inside: number of running ops that must not overlap
 * @offer: a connection made by the peer, or NULL
 */
struct fake_path {
	struct list_head	item;
	struct rds_path		*path;
	atomic_t		inside;
	void			*offer;
};

struct fake_incoming {
	struct rds_incoming	inc;
	u8			data[];
};

const struct in6_addr fake_laddr = {
	.s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
};

static atomic_t fake_live_incomings = ATOMIC_INIT(0);

/* The registered transport. Core passes no pointer to it to the ops. */
static struct fake *the_fake;

static void fake_enter(struct rds_path *path)
{
	struct fake_path *fp = path->data;

	might_sleep();
	if (atomic_inc_return(&fp->inside) != 1)
		the_fake->broken = "ops of one path overlap";
}

static void fake_log(struct rds_path *path, const struct fake_call *call)
{
	struct fake *fake = the_fake;

	spin_lock(&fake->lock);
	if (fake->nr_calls < FAKE_MAX_CALLS) {
		fake->calls[fake->nr_calls] = *call;
		fake->calls[fake->nr_calls].index = path->index;
		fake->calls[fake->nr_calls].task = current;
		fake->nr_calls++;
	} else {
		fake->broken = "more calls than the log can hold";
	}
	spin_unlock(&fake->lock);
}

static void fake_leave(struct rds_path *path, const struct fake_call *call)
{
	struct fake_path *fp = path->data;

	fake_log(path, call);
	atomic_dec(&fp->inside);
	wake_up_all(&the_fake->wait);
}

static int fake_decide(struct fake_plan *plan)
{
	int ret = 0;

	spin_lock(&the_fake->lock);
	if (plan->times) {
		ret = plan->err;
		if (plan->times > 0)
			plan->times--;
	}
	spin_unlock(&the_fake->lock);
	return ret;
}

static int fake_laddr_check(struct net *net, const struct in6_addr *addr,
			    int ifindex)
{
	might_sleep();
	return ipv6_addr_equal(addr, &fake_laddr) ? 0 : -EADDRNOTAVAIL;
}

static unsigned int fake_max_paths(struct net *net, bool legacy)
{
	return legacy ? the_fake->legacy_paths : the_fake->max_paths;
}

static int fake_path_alloc(struct rds_path *path)
{
	struct fake_call call = { .op = FAKE_ALLOC };
	struct fake_path *fp = NULL;

	might_sleep();
	call.ret = fake_decide(&the_fake->alloc);
	if (!call.ret) {
		fp = kzalloc(sizeof(*fp), GFP_KERNEL);
		if (!fp)
			call.ret = -ENOMEM;
	}
	fake_log(path, &call);
	wake_up_all(&the_fake->wait);
	if (!fp)
		return call.ret;

	fp->path = path;
	path->data = fp;
	spin_lock(&the_fake->lock);
	list_add_tail(&fp->item, &the_fake->paths);
	the_fake->live_paths++;
	if (!the_fake->path)
		the_fake->path = path;
	spin_unlock(&the_fake->lock);
	return 0;
}

static void fake_path_free(struct rds_path *path)
{
	struct fake_call call = { .op = FAKE_FREE };
	struct fake_path *fp = path->data;

	fake_enter(path);
	spin_lock(&the_fake->lock);
	list_del(&fp->item);
	the_fake->live_paths--;
	if (the_fake->path == path)
		the_fake->path = NULL;
	spin_unlock(&the_fake->lock);
	fake_leave(path, &call);
	path->data = NULL;
	kfree(fp);
}

static int fake_path_offer(struct rds_path *path, void *offer)
{
	struct fake_call call = { .op = FAKE_OFFER, .offer = offer };
	struct fake_path *fp = path->data;

	might_sleep();
	call.ret = fake_decide(&the_fake->offer);
	spin_lock(&the_fake->lock);
	if (!to_cpath(path)->cp_multi &&
	    rds_path_offer_is_late(path, the_fake->offered_by->since))
		call.ret = -EALREADY;
	if (fp->offer && to_cpath(path)->cp_multi)
		the_fake->broken = "an offer to a path that has one";
	if (!call.ret) {
		fp->offer = offer;
		if (!to_cpath(path)->cp_multi)
			rds_path_offered(path);
		/* Free the request, as if the path's work item had processed
		 * the offer already: core must not read it any more.
		 */
		kfree(the_fake->offered_by);
		the_fake->offered_by = NULL;
	}
	spin_unlock(&the_fake->lock);
	fake_log(path, &call);
	wake_up_all(&the_fake->wait);
	return call.ret;
}

static void fake_accept_again(struct net *net)
{
	might_sleep();
	atomic_inc(&the_fake->again_calls);
	wake_up_all(&the_fake->wait);
}

static void *fake_take_offer(struct rds_path *path)
{
	struct fake_path *fp = path->data;
	void *offer;

	spin_lock(&the_fake->lock);
	offer = fp->offer;
	fp->offer = NULL;
	if (offer)
		rds_path_taken(path);
	spin_unlock(&the_fake->lock);
	return offer;
}

/**
 * fake_withdraw() - Withdraw the peer's offer
 * @path: the path, of a transport without RDS_CAP_MULTIPATH
 *
 * Return: true if the path still had the offer.
 */
bool fake_withdraw(struct rds_path *path)
{
	struct fake_path *fp = path->data;
	bool found;

	spin_lock(&the_fake->lock);
	found = fp->offer;
	fp->offer = NULL;
	rds_path_offer_gone(path);
	spin_unlock(&the_fake->lock);
	return found;
}

/**
 * fake_dialed() - Let the peer accept our dial
 * @path: the path, of a transport without RDS_CAP_MULTIPATH
 *
 * Return: true if the path waits for the connection, and comes UP; false if it
 * does not wait any more.
 */
bool fake_dialed(struct rds_path *path)
{
	struct fake_path *fp = path->data;
	bool wanted;

	spin_lock(&the_fake->lock);
	wanted = rds_path_dialed(path);
	if (wanted)
		fp->offer = NULL;
	spin_unlock(&the_fake->lock);
	if (wanted)
		rds_path_connect_done(path);
	return wanted;
}

static int fake_path_connect(struct rds_path *path)
{
	struct fake_call call = { .op = FAKE_CONNECT };
	void (*hook)(struct rds_path *path);
	struct fake *fake = the_fake;
	bool done;

	fake_enter(path);
	if (fake->nr_backoff < ARRAY_SIZE(fake->backoff_ms))
		fake->backoff_ms[fake->nr_backoff++] =
			READ_ONCE(to_cpath(path)->cp_backoff_ms);
	if (rds_cpath_state(to_cpath(path)) != RDS_PATH_CONNECTING)
		fake->broken = "path_connect() in another state";

	hook = fake->in_connect;
	fake->in_connect = NULL;
	if (hook)
		hook(path);
	call.offer = fake_take_offer(path);
	call.ret = fake_decide(&fake->connect);
	if (!call.ret && !call.offer &&
	    (fake->peer_dials || path->passive ||
	     (!to_cpath(path)->cp_multi && !rds_path_is_used(path))))
		call.ret = -EAGAIN;
	hook = fake->after_connect;
	fake->after_connect = NULL;
	if (hook)
		hook(path);
	done = !call.ret && !fake->connect_later;
	fake_leave(path, &call);
	/* Core may call other ops from here on. */
	if (done)
		rds_path_connect_done(path);
	return call.ret;
}

static unsigned long fake_path_shutdown(struct rds_path *path, bool abort)
{
	void (*hook)(struct rds_path *path) = the_fake->in_shutdown;
	struct fake_call call = { .op = FAKE_SHUTDOWN, .abort = abort };

	fake_enter(path);
	the_fake->in_shutdown = NULL;
	if (hook)
		hook(path);
	if (!abort)
		call.ret = fake_decide(&the_fake->end);
	fake_leave(path, &call);
	return call.ret;
}

/**
 * fake_pattern() - Compute a byte of the payload that tests use
 * @offset: offset in the payload
 *
 * Return: the byte.
 */
u8 fake_pattern(u32 offset)
{
	return offset % 251;
}

static bool fake_is_pattern(const u8 *data, u32 offset, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++) {
		if (data[i] != fake_pattern(offset + i))
			return false;
	}
	return true;
}

static bool fake_bag_is_intact(const struct rds_payload *payload)
{
	const struct bio_vec *bv;
	unsigned int i;
	u32 offset = 0;

	switch (payload->kind) {
	case RDS_PAYLOAD_EMPTY:
		return !payload->len;
	case RDS_PAYLOAD_INLINE:
		return fake_is_pattern(payload->data, 0, payload->len);
	case RDS_PAYLOAD_KERNEL:
	case RDS_PAYLOAD_USER:
		for (i = 0; i < payload->nr; i++) {
			bv = &payload->bvec[i];
			if (!fake_is_pattern(page_address(bv->bv_page) +
					     bv->bv_offset, offset, bv->bv_len))
				return false;
			offset += bv->bv_len;
		}
		return offset == payload->len;
	}
	return false;
}

/* Called by the ops that core calls before it checks the gate. */
static void fake_hold_gate(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	if (!the_fake->hold_gate)
		return;
	WRITE_ONCE(cp->cp_gate_at, jiffies + FAKE_AGES);
	WRITE_ONCE(cp->cp_silent_until, jiffies + FAKE_AGES);
}

static int fake_xmit(struct rds_path *path, struct rds_message *msg, bool more)
{
	void (*hook)(struct rds_path *path, struct rds_message *msg);
	struct fake_call call = {
		.op	= FAKE_XMIT,
		.seq	= msg->m_seq,
		.sport	= ntohs(msg->m_sport),
		.dport	= ntohs(msg->m_dport),
		.len	= msg->m_payload.len,
		.flags	= msg->m_flags,
		.more	= more,
		.intact	= fake_bag_is_intact(&msg->m_payload),
	};

	fake_enter(path);
	memcpy(call.exthdr, msg->m_exthdr, sizeof(call.exthdr));
	if (!msg->m_seq)
		fake_hold_gate(path);
	call.ret = fake_decide(&the_fake->xmit) ?: RDS_XMIT_SENT;
	if (call.ret == RDS_XMIT_SENT) {
		the_fake->mark += sizeof(struct rds_header) + call.len;
		msg->m_mark = the_fake->mark;
	}
	hook = the_fake->in_xmit;
	the_fake->in_xmit = NULL;
	if (hook)
		hook(path, msg);
	fake_leave(path, &call);
	return call.ret;
}

static int fake_xmit_cong_map(struct rds_path *path, const void *map)
{
	struct fake_call call = { .op = FAKE_MAP };

	fake_enter(path);
	fake_hold_gate(path);
	call.ret = fake_decide(&the_fake->map);
	memcpy(the_fake->last_map, map, RDS_CONG_MAP_BYTES);
	if (the_fake->in_map)
		the_fake->in_map(path);
	if (!call.ret && !the_fake->keep_map_acks)
		rds_path_map_acked(path);
	fake_leave(path, &call);
	return call.ret;
}

/* No fake_enter(): other tasks may send at the same time. */
static void fake_rx_resume(struct rds_path *path)
{
	struct fake_call call = { .op = FAKE_RESUME };

	might_sleep();
	fake_log(path, &call);
	wake_up_all(&the_fake->wait);
}

static int fake_flush(struct rds_path *path)
{
	struct fake_call call = { .op = FAKE_FLUSH };

	fake_enter(path);
	call.ret = fake_decide(&the_fake->flush);
	fake_leave(path, &call);
	return call.ret;
}

/**
 * fake_init() - Initialize the transport
 * @fake: the transport, zeroed
 */
void fake_init(struct fake *fake)
{
	spin_lock_init(&fake->lock);
	init_waitqueue_head(&fake->wait);
	INIT_LIST_HEAD(&fake->paths);
	fake->max_paths = RDS_MAX_PATHS;
	fake->legacy_paths = 1;

	fake->conn_ops.laddr_check = fake_laddr_check;
	fake->conn_ops.path_alloc = fake_path_alloc;
	fake->conn_ops.path_free = fake_path_free;
	fake->conn_ops.max_paths = fake_max_paths;
	fake->conn_ops.path_offer = fake_path_offer;
	fake->conn_ops.accept_again = fake_accept_again;
	fake->conn_ops.path_connect = fake_path_connect;
	fake->conn_ops.path_shutdown = fake_path_shutdown;
	fake->data_ops.xmit = fake_xmit;
	fake->data_ops.xmit_cong_map = fake_xmit_cong_map;
	fake->data_ops.rx_resume = fake_rx_resume;

	strscpy(fake->trans.name, "fake", sizeof(fake->trans.name));
	fake->trans.owner = THIS_MODULE;
	fake->trans.type = RDS_TRANS_TCP;
	fake->trans.conn = &fake->conn_ops;
	fake->trans.data = &fake->data_ops;
}

/**
 * fake_batches() - Add a flush() op
 * @fake: the transport, not in use
 */
void fake_batches(struct fake *fake)
{
	fake->data_ops.flush = fake_flush;
}

/**
 * fake_register() - Register the transport with core
 * @fake: the transport
 *
 * Return: as rds_transport_register().
 */
int fake_register(struct fake *fake)
{
	int ret;

	the_fake = fake;
	ret = rds_transport_register(&fake->trans);
	fake->registered = !ret;
	return ret;
}

/**
 * fake_unregister() - Unregister the transport if it is registered
 * @fake: the transport
 */
void fake_unregister(struct fake *fake)
{
	if (!fake->registered)
		return;
	rds_transport_unregister(&fake->trans);
	fake->registered = false;
	the_fake = NULL;
}

/**
 * fake_fail() - Make an op fail from now on
 * @plan: the op's plan
 * @err: the errno
 * @times: number of calls that fail, or FAKE_FOR_EVER
 */
void fake_fail(struct fake_plan *plan, int err, int times)
{
	spin_lock(&the_fake->lock);
	plan->err = err;
	plan->times = times;
	spin_unlock(&the_fake->lock);
}

/**
 * fake_unblock() - Take messages and maps again, and notify core
 * @fake: the transport, with a path
 */
void fake_unblock(struct fake *fake)
{
	fake_fail(&fake->xmit, 0, 0);
	fake_fail(&fake->map, 0, 0);
	rds_path_kick(fake->path);
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

/* Return the n-th existing path with a reference to its connection, or NULL. */
static struct rds_cpath *fake_hold_path(struct fake *fake, unsigned int n)
{
	struct rds_cpath *cp = NULL;
	struct fake_path *fp;

	spin_lock(&fake->lock);
	list_for_each_entry(fp, &fake->paths, item) {
		if (!n--) {
			cp = to_cpath(fp->path);
			rds_conn_hold(cp->cp_conn);
			break;
		}
	}
	spin_unlock(&fake->lock);
	return cp;
}

/**
 * fake_settle() - Wait until no path's work item has more to do
 * @fake: the transport
 *
 * The work items of paths kick each other, hence the rounds. A retry that is
 * planned for later is not waited for, and stays planned.
 */
void fake_settle(struct fake *fake)
{
	struct rds_cpath *cp;
	unsigned int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; (cp = fake_hold_path(fake, i)); i++) {
			flush_delayed_work(&cp->cp_work);
			rds_path_put(&cp->cp_pub);
		}
	}
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
	const struct fake_call *call;
	size_t pos = 0;
	unsigned int i;

	buf[0] = '\0';
	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls; i++) {
		call = &fake->calls[i];
		if (call->op != FAKE_XMIT || call->ret < 0)
			continue;
		pos += scnprintf(buf + pos, size - pos, "%s%llu%s%s",
				 pos ? " " : "", call->seq,
				 call->flags & RDS_FLAG_ACK_REQUIRED ?
				 "a" : "",
				 call->flags & RDS_FLAG_RETRANSMITTED ?
				 "r" : "");
	}
	spin_unlock(&fake->lock);
	return buf;
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
	const struct fake_call *call;
	size_t pos = 0;
	unsigned int i;

	buf[0] = '\0';
	spin_lock(&fake->lock);
	for (i = 0; i < fake->nr_calls; i++) {
		call = &fake->calls[i];
		if (call->index != index || call->ret < 0)
			continue;
		if (call->op == FAKE_MAP)
			pos += scnprintf(buf + pos, size - pos, "%sM",
					 pos ? " " : "");
		if (call->op != FAKE_XMIT)
			continue;
		pos += scnprintf(buf + pos, size - pos, "%s%llu%s%s",
				 pos ? " " : "", call->seq, fake_kind(call),
				 call->flags & RDS_FLAG_RETRANSMITTED ?
				 "r" : "");
	}
	spin_unlock(&fake->lock);
	return buf;
}

static int fake_incoming_copy(struct rds_incoming *inc, u32 len,
			      struct iov_iter *to)
{
	struct fake_incoming *fake_inc;

	fake_inc = container_of(inc, struct fake_incoming, inc);
	return copy_to_iter(fake_inc->data, len, to) == len ? 0 : -EFAULT;
}

static void fake_incoming_free(struct rds_incoming *inc)
{
	kfree(container_of(inc, struct fake_incoming, inc));
	atomic_dec(&fake_live_incomings);
}

static const struct rds_incoming_ops fake_incoming_ops = {
	.owner	= THIS_MODULE,
	.copy	= fake_incoming_copy,
	.free	= fake_incoming_free,
};

/**
 * fake_deliver() - Deliver a message from the peer
 * @path: the path on which it arrives
 * @hdr: its header; the payload consists of fake_pattern()
 *
 * Return: 1 if the transport may read on; 0 if it must stop; -ENOMEM.
 */
int fake_deliver(struct rds_path *path, const struct rds_header *hdr)
{
	u32 i, len = be32_to_cpu(hdr->h_len);
	struct fake_incoming *fake_inc;
	struct rds_rx_batch batch;
	u32 truesize;
	int go_on;

	fake_inc = kmalloc(struct_size(fake_inc, data, len), GFP_KERNEL);
	if (!fake_inc)
		return -ENOMEM;
	for (i = 0; i < len; i++)
		fake_inc->data[i] = fake_pattern(i);
	atomic_inc(&fake_live_incomings);
	truesize = the_fake->truesize ?: sizeof(*fake_inc) + len;
	rds_incoming_init(&fake_inc->inc, &fake_incoming_ops, hdr, truesize);

	local_bh_disable();
	rds_rx_batch_begin(&batch);
	go_on = rds_deliver(path, &fake_inc->inc, &batch);
	rds_rx_batch_end(&batch);
	local_bh_enable();
	return go_on;
}

/**
 * fake_incomings() - Count the messages that are delivered and not yet freed
 *
 * Return: the number of messages.
 */
int fake_incomings(void)
{
	return atomic_read(&fake_live_incomings);
}
