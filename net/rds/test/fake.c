// SPDX-License-Identifier: GPL-2.0-only
/* A fake transport for tests; see fake.h. */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "../core/conn.h"
#include "fake.h"

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

const struct in6_addr fake_laddr = {
	.s6_addr = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
};

/* The registered transport. Core passes no pointer to it to the ops. */
static struct fake *the_fake;

static void fake_enter(struct rds_path *path)
{
	struct fake_path *fp = path->data;

	might_sleep();
	if (atomic_inc_return(&fp->inside) != 1)
		the_fake->broken = "ops of one path overlap";
}

static void fake_leave(struct rds_path *path, const struct fake_call *call)
{
	struct fake_path *fp = path->data;

	fake_log(the_fake, path, call);
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
	fake_log(the_fake, path, &call);
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

static bool fake_has_paths(struct rds_path *path)
{
	return rds_cpath_can(to_cpath(path), RDS_CAP_MULTIPATH);
}

static int fake_path_offer(struct rds_path *path, void *offer)
{
	struct fake_call call = { .op = FAKE_OFFER, .offer = offer };
	struct fake_path *fp = path->data;

	might_sleep();
	call.ret = fake_decide(&the_fake->offer);
	spin_lock(&the_fake->lock);
	if (!fake_has_paths(path) &&
	    rds_path_refuses_offer(path, the_fake->offered_by, false))
		call.ret = -EALREADY;
	if (fp->offer && fake_has_paths(path))
		the_fake->broken = "an offer to a path that has one";
	/* The path's work item takes the offer as soon as it is reported. */
	fake_log_locked(the_fake, path, &call);
	if (!call.ret) {
		fp->offer = offer;
		rds_path_offer_event(path, RDS_OFFER_KEPT);
		/* Free the request, as if the path's work item had processed
		 * the offer already: core must not read it any more.
		 */
		kfree(the_fake->offered_by);
		the_fake->offered_by = NULL;
	}
	spin_unlock(&the_fake->lock);
	wake_up_all(&the_fake->wait);
	return call.ret;
}

static void fake_accept_again(struct net *net)
{
	might_sleep();
	atomic_inc(&the_fake->again_calls);
	/* Only the end of a connection changes this while a test waits. */
	if (!data_race(rds_net(net)->rn_nr_conns))
		atomic_inc(&the_fake->again_empty);
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
		rds_path_offer_event(path, RDS_OFFER_TAKEN);
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
	rds_path_offer_event(path, RDS_OFFER_GONE);
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
	wanted = rds_path_offer_event(path, RDS_OFFER_OVERTAKEN);
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
			READ_ONCE(to_cpath(path)->cp_dial.pd_backoff_ms);
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
	     (!fake_has_paths(path) && !rds_path_is_used(path))))
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

/* Called by the ops that core calls before it checks the gate. */
static void fake_hold_gate(struct rds_path *path)
{
	struct rds_cpath *cp = to_cpath(path);

	if (!the_fake->hold_gate)
		return;
	WRITE_ONCE(cp->cp_gate.pg_opens_at, jiffies + FAKE_AGES);
	WRITE_ONCE(cp->cp_gate.pg_silent_until, jiffies + FAKE_AGES);
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
		.intact	= fake_payload_is_intact(&msg->m_payload),
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
	fake_log(the_fake, path, &call);
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
	rds_path_kick(fake->path, RDS_KICK_SEND);
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
			flush_work(&cp->cp_work.work);
			rds_path_put(&cp->cp_pub);
		}
	}
}
