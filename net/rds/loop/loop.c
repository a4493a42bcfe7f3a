// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDS over loopback: between addresses of one host.
 *
 * This transport has no wire. xmit() delivers the message in the context of the
 * sender, before it returns, and does not copy the payload.
 *
 * Each direction between two addresses is a connection of its own. The sending
 * path holds a reference to the path of the reverse connection, on which xmit()
 * delivers the message. Core calls xmit() serially per path, so deliveries on
 * the reverse path are serial, too.
 *
 * path_connect() takes the reference, and path_shutdown() puts it. Core calls
 * these two one at a time per path, and never concurrently with xmit().
 */
#include <linux/bottom_half.h>
#include <linux/err.h>
#include <linux/module.h>
#include <net/rds/addr.h>
#include <net/rds/transport.h>

/* Without IPv6, ::1 is still an address of this transport: it has no wire. */
static bool rds_loop_serves(struct net *net, const struct in6_addr *addr,
			    int ifindex)
{
	return ipv6_addr_loopback(addr) ||
	       rds_addr_is_local(net, addr, ifindex);
}

static int rds_loop_laddr_check(struct net *net, const struct in6_addr *addr,
				int ifindex)
{
	return rds_loop_serves(net, addr, ifindex) ? 0 : -EADDRNOTAVAIL;
}

/* Loopback cannot reach a destination on another host, so fail before the
 * connection is made.
 */
static int rds_loop_path_alloc(struct rds_path *path)
{
	if (rds_loop_serves(path->net, &path->faddr, path->ifindex))
		return 0;
	return -ENETUNREACH;
}

static int rds_loop_path_connect(struct rds_path *path)
{
	static const struct rds_path_resume resume = { .rx_restarts = true };
	struct rds_path *peer = rds_path_get_reverse(path);

	if (IS_ERR(peer))
		return PTR_ERR(peer);

	rds_path_resume(peer, &resume);
	path->data = peer;
	rds_path_connect_done(path);
	return 0;
}

static unsigned long rds_loop_path_shutdown(struct rds_path *path, bool abort)
{
	struct rds_path *peer = path->data;

	path->data = NULL;
	if (peer)
		rds_path_put(peer);
	return 0;
}

static int rds_loop_xmit(struct rds_path *path, struct rds_message *msg,
			 bool more)
{
	struct rds_rx_batch batch = {};

	local_bh_disable();
	rds_deliver(path->data, rds_message_to_incoming(msg), &batch);
	rds_rx_batch_end(&batch);
	local_bh_enable();
	return RDS_XMIT_DELIVERED;
}

static const struct rds_conn_ops rds_loop_conn_ops = {
	.laddr_check	= rds_loop_laddr_check,
	.path_alloc	= rds_loop_path_alloc,
	.path_connect	= rds_loop_path_connect,
	.path_shutdown	= rds_loop_path_shutdown,
};

static const struct rds_data_ops rds_loop_data_ops = {
	.xmit		= rds_loop_xmit,
};

static const struct rds_transport rds_loop_transport = {
	.name		= "loopback",
	.owner		= THIS_MODULE,
	.type		= RDS_TRANS_LOOP,
	.caps		= RDS_CAP_LOOPBACK | RDS_CAP_NETNS,
	.conn		= &rds_loop_conn_ops,
	.data		= &rds_loop_data_ops,
};

static int __init rds_loop_init(void)
{
	return rds_transport_register(&rds_loop_transport);
}

static void __exit rds_loop_exit(void)
{
	rds_transport_unregister(&rds_loop_transport);
}

module_init(rds_loop_init);
module_exit(rds_loop_exit);

MODULE_DESCRIPTION("RDS: loopback transport");
MODULE_LICENSE("GPL");
MODULE_ALIAS("rds-transport-3");
