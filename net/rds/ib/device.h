/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices in use, and the local addresses that they serve. */
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
 * struct rds_ib_device - a device in use
 * @dv_item: entry in the list of devices (device.c)
 * @dv_dev: the device
 * @dv_pd: protection domain of all its QPs
 * @dv_events: handler of the asynchronous events of the device
 * @dv_renew: work item that drops connections without progress after their port
 *	has come up
 * @dv_renew_at: when @dv_renew is due, in jiffies; guarded by @dv_lock
 * @dv_removed: the device is being removed
 * @dv_refs: references: the client's, one for each connection and each MR, and
 *	those of tasks that use the device for a moment
 * @dv_gone: completed when the last reference is put
 * @dv_lock: guards @dv_conns, and ic_ip, ic_dropped, ic_renew and ic_renew_seen
 *	of each connection on it
 * @dv_conns: its connections
 * @dv_mrs: its MRs, by &rds_ib_mr.im_item; guarded by the lock of mr.c
 * @dv_reg_qp_lock: guards @dv_reg_qp
 * @dv_reg_qp: its registration QP; NULL if there is none, or if it has failed
 *	(reg_qp.c)
 * @dv_mr_pools: FRMRs that are kept for reuse; the pool for small memory is
 *	first
 * @dv_mr_look: work item that deallocates FRMRs which are not needed
 * @dv_no_atomics: the driver has refused an atomic operation
 * @dv_no_mr_atomics: the driver has refused to register memory for atomic
 *	operations of peers
 */
struct rds_ib_device {
	struct list_head	dv_item;
	struct ib_device	*dv_dev;
	struct ib_pd		*dv_pd;
	struct ib_event_handler	dv_events;
	struct delayed_work	dv_renew;
	unsigned long		dv_renew_at;
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
int rds_ib_device_join(struct rds_ib_conn *ic, const struct rdma_cm_id *id);
void rds_ib_device_leave(struct rds_ib_conn *ic);

#endif /* _RDS_IB_DEVICE_H */
