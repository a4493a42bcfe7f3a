/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices, and the addresses that they serve. */
#ifndef _RDS_IB_DEVICE_H
#define _RDS_IB_DEVICE_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

#include "mr.h"

struct rds_ib_conn;
struct rds_ib_reg_qp;

/**
 * struct rds_ib_device - a device that we use
 * @dv_item: on the list of all
 * @dv_dev: the device
 * @dv_pd: protection domain of all queue pairs
 * @dv_events: tells of its ports
 * @dv_renew: a port has come up
 * @dv_removed: it is going
 * @dv_refs: the client's, and one for each connection
 * @dv_gone: the last reference has been given up
 * @dv_lock: guards @dv_conns, and who owns them
 * @dv_conns: its connections
 * @dv_mrs: memory that it has, &rds_ib_mr.im_item; guarded by the lock of mr.c
 * @dv_reg_qp_lock: guards @dv_reg_qp
 * @dv_reg_qp: registers it; NULL if there is none, or it has failed (reg_qp.c)
 * @dv_mr_pools: what for, the next time; small ones first
 * @dv_mr_look: gives back what of that is not needed
 * @dv_no_atomics: its driver has refused an atomic operation
 * @dv_no_mr_atomics: it has refused to register memory for those of peers
 */
struct rds_ib_device {
	struct list_head	dv_item;
	struct ib_device	*dv_dev;
	struct ib_pd		*dv_pd;
	struct ib_event_handler	dv_events;
	struct delayed_work	dv_renew;
	bool			dv_removed;
	refcount_t		dv_refs;
	struct completion	dv_gone;
	spinlock_t		dv_lock;		/* connections */
	struct list_head	dv_conns;
	struct list_head	dv_mrs;
	struct mutex		dv_reg_qp_lock;		/* dv_reg_qp */
	struct rds_ib_reg_qp	*dv_reg_qp;
	struct rds_ib_mr_pool	dv_mr_pools[RDS_IB_MR_POOLS];
	struct delayed_work	dv_mr_look;
	bool			dv_no_atomics;
	bool			dv_no_mr_atomics;
};

extern struct workqueue_struct *rds_ib_wq;

/* addr.c */
void rds_ib_sockaddr_init(struct sockaddr_storage *ss,
			  const struct in6_addr *addr, u16 port, int ifindex);
bool rds_ib_sockaddr_read(const struct sockaddr_storage *ss,
			  struct in6_addr *addr);
int rds_ib_laddr_check(struct net *net, const struct in6_addr *addr,
		       int ifindex);
struct rds_ib_device *rds_ib_device_of(struct net *net,
				       const struct in6_addr *addr,
				       int ifindex);
bool rds_ib_has_route(const struct rdma_cm_id *id);
void rds_ib_id_destroy(struct rdma_cm_id *id);

/* client.c */
int rds_ib_client_init(void);
void rds_ib_client_exit(void);

/* device.c */
void rds_ib_device_enlist(struct rds_ib_device *d);
struct rds_ib_device *rds_ib_device_delist(const struct ib_device *dev);
bool rds_ib_device_has(const struct ib_device *dev);
struct rds_ib_device *rds_ib_device_get(const struct ib_device *dev);
struct rds_ib_device *rds_ib_device_by_conn(const struct in6_addr *laddr,
					    int ifindex);
void rds_ib_device_put(struct rds_ib_device *d);
bool rds_ib_port_is_down(const struct rdma_cm_id *id);
int rds_ib_device_join(struct rds_ib_conn *ic, struct ib_device *dev);
void rds_ib_device_leave(struct rds_ib_conn *ic);

#endif /* _RDS_IB_DEVICE_H */
