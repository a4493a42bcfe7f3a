// SPDX-License-Identifier: GPL-2.0-only
/* The PF_RDS protocol family: init and exit of the module. */
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "addr_watch.h"
#include "conn_table.h"
#include "message.h"
#include "netns.h"
#include "path_work.h"
#include "pin.h"
#include "sock_ops.h"
#include "upper.h"

#ifdef CONFIG_COMPAT
static int rds_compat_ioctl(struct socket *sock, unsigned int cmd,
			    unsigned long arg)
{
	return rds_sock_ioctl(sock, cmd, (unsigned long)compat_ptr(arg));
}
#endif

static const struct proto_ops rds_proto_ops = {
	.family		= AF_RDS,
	.owner		= THIS_MODULE,
	.release	= rds_sock_release,
	.bind		= rds_sock_bind,
	.connect	= rds_sock_connect,
	.socketpair	= sock_no_socketpair,
	.accept		= sock_no_accept,
	.getname	= rds_sock_getname,
	.poll		= rds_sock_poll,
	.ioctl		= rds_sock_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= rds_compat_ioctl,
#endif
	.gettstamp	= sock_gettstamp,
	.listen		= sock_no_listen,
	.shutdown	= sock_no_shutdown,
	.setsockopt	= rds_sock_setsockopt,
	.getsockopt	= rds_sock_getsockopt,
	.sendmsg	= rds_sock_sendmsg,
	.recvmsg	= rds_sock_recvmsg,
	.mmap		= sock_no_mmap,
};

static int rds_create(struct net *net, struct socket *sock, int protocol,
		      int kern)
{
	int ret;

	if (sock->type == SOCK_STREAM)
		return rds_upper_create(net, sock, protocol, kern);
	ret = rds_sock_create(net, sock, protocol, kern);
	if (!ret)
		sock->ops = &rds_proto_ops;
	return ret;
}

static const struct net_proto_family rds_family = {
	.family	= AF_RDS,
	.create	= rds_create,
	.owner	= THIS_MODULE,
};

static int __init rds_init(void)
{
	int ret;

	ret = rds_message_caches_create();
	if (ret)
		return ret;

	rds_wq = alloc_workqueue("rds", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rds_wq) {
		ret = -ENOMEM;
		goto err_caches;
	}

	rds_conn_table_init(rds_path_work);
	ret = rds_pin_init();
	if (ret)
		goto err_wq;

	ret = rds_net_register();
	if (ret)
		goto err_pin;

	ret = rds_addr_watch_start();
	if (ret)
		goto err_net;

	ret = proto_register(&rds_proto, 1);
	if (ret)
		goto err_watch;

	ret = sock_register(&rds_family);
	if (ret)
		goto err_proto;

	return 0;

err_proto:
	proto_unregister(&rds_proto);
err_watch:
	rds_addr_watch_stop();
err_net:
	rds_net_unregister();
err_pin:
	rds_pin_exit();
err_wq:
	destroy_workqueue(rds_wq);
err_caches:
	rds_message_caches_destroy();
	return ret;
}

static void __exit rds_exit(void)
{
	sock_unregister(AF_RDS);
	proto_unregister(&rds_proto);
	rds_addr_watch_stop();
	rds_net_unregister();
	rds_pin_exit();
	destroy_workqueue(rds_wq);
	/* RCU callbacks free the connections and their congestion maps. */
	rcu_barrier();
	rds_message_caches_destroy();
}

module_init(rds_init);
module_exit(rds_exit);

MODULE_DESCRIPTION("RDS: Reliable Datagram Sockets");
MODULE_LICENSE("GPL");
