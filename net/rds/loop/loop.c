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
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/rds/transport.h>
#include <net/route.h>

static int rds_loop_check_v4(struct net *net, __be32 ip)
{
	if (ipv4_is_loopback(ip))
		return 0;
	return inet_addr_type(net, ip) == RTN_LOCAL ? 0 : -EADDRNOTAVAIL;
}

static int rds_loop_check_v6(struct net *net, const struct in6_addr *ip,
			     int ifindex)
{
	struct net_device *dev = NULL;
	int ret = -EADDRNOTAVAIL;

	if (ipv6_addr_loopback(ip))
		return 0;
	if (!ipv6_mod_enabled())
		return ret;
	if (!(ipv6_addr_type(ip) & IPV6_ADDR_LINKLOCAL))
		ifindex = 0;

	rcu_read_lock();
	if (ifindex)
		dev = dev_get_by_index_rcu(net, ifindex);
	if ((!ifindex || dev) && ipv6_chk_addr(net, ip, dev, 0))
		ret = 0;
	rcu_read_unlock();
	return ret;
}

static int rds_loop_laddr_check(struct net *net, const struct in6_addr *addr,
				int ifindex)
{
	if (ipv6_addr_v4mapped(addr))
		return rds_loop_check_v4(net, addr->s6_addr32[3]);
	return rds_loop_check_v6(net, addr, ifindex);
}

/* Loopback cannot reach a destination on another host, so fail before the
 * connection is made.
 */
static int rds_loop_path_alloc(struct rds_path *path)
{
	if (rds_loop_laddr_check(path->net, &path->faddr, path->ifindex))
		return -ENETUNREACH;
	return 0;
}

static int rds_loop_path_connect(struct rds_path *path)
{
	struct rds_path *peer = rds_path_get_reverse(path);

	if (IS_ERR(peer))
		return PTR_ERR(peer);

	rds_path_restart_rx(peer);
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
	struct rds_rx_batch batch;

	local_bh_disable();
	rds_rx_batch_begin(&batch);
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
