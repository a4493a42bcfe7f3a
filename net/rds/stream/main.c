// SPDX-License-Identifier: GPL-2.0-only
/* Streams over RDS connections: init and exit of the module. */
#include <linux/module.h>

#include "stream.h"

static const struct rds_upper rds_stream_upper = {
	.owner		= THIS_MODULE,
	.create		= rds_stream_create,
	.deliver	= rds_stream_deliver,
	.done		= rds_stream_frame_done,
	.event		= rds_stream_conn_event,
	.info		= &rds_stream_info_ops,
};

static int __net_init rds_stream_init_net(struct net *net)
{
	struct rds_stream_net *sn = rds_stream_net(net);

	rds_stream_net_init(sn);
	rds_stream_reset_net_init(sn);
	return rds_stream_sysctl_net_init(net);
}

static void __net_exit rds_stream_exit_net(struct net *net)
{
	rds_stream_reset_net_exit(rds_stream_net(net));
	rds_stream_sysctl_net_exit(net);
}

static struct pernet_operations rds_stream_net_ops = {
	.init	= rds_stream_init_net,
	.exit	= rds_stream_exit_net,
	.id	= &rds_stream_net_id,
	.size	= sizeof(struct rds_stream_net),
};

static int __init rds_stream_init(void)
{
	int ret;

	ret = register_pernet_subsys(&rds_stream_net_ops);
	if (ret)
		return ret;
	ret = proto_register(&rds_stream_proto, 1);
	if (ret)
		goto err_net;
	ret = rds_upper_register(&rds_stream_upper);
	if (ret)
		goto err_proto;
	return 0;

err_proto:
	proto_unregister(&rds_stream_proto);
err_net:
	unregister_pernet_subsys(&rds_stream_net_ops);
	return ret;
}

static void __exit rds_stream_exit(void)
{
	rds_stream_reset_exit();
	rds_upper_unregister(&rds_stream_upper);
	/* Sockets are freed after a grace period. */
	rcu_barrier();
	proto_unregister(&rds_stream_proto);
	unregister_pernet_subsys(&rds_stream_net_ops);
}

module_init(rds_stream_init);
module_exit(rds_stream_exit);

MODULE_DESCRIPTION("RDS: streams");
MODULE_LICENSE("GPL");
