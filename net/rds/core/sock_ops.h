/* SPDX-License-Identifier: GPL-2.0-only */
/* System calls on RDS sockets, by the file that implements them. */
#ifndef _RDS_CORE_SOCK_OPS_H
#define _RDS_CORE_SOCK_OPS_H

#include <linux/net.h>

#include <net/rds/compat.h>

#include "sock.h"

extern struct proto rds_proto;

/* sock.c */
int rds_sock_create(struct net *net, struct socket *sock, int protocol,
		    int kern);
int rds_sock_release(struct socket *sock);

/* name.c */
int rds_sock_bind(struct socket *sock, struct rds_sockaddr *sa, int len);
int rds_sock_connect(struct socket *sock, struct rds_sockaddr *sa, int len,
		     int flags);
int rds_sock_getname(struct socket *sock, struct sockaddr *sa, int peer);

/* sendmsg.c */
int rds_sock_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);

/* recvmsg.c */
int rds_sock_recvmsg(struct socket *sock, struct msghdr *msg, size_t size,
		     int flags);

/* poll.c */
__poll_t rds_sock_poll(struct file *file, struct socket *sock,
		       struct poll_table_struct *wait);

/* sockopt.c */
int rds_sock_setsockopt(struct socket *sock, int level, int optname,
			sockptr_t optval, unsigned int optlen);
int rds_sock_getsockopt(struct socket *sock, int level, int optname,
			char __user *optval, int __user *optlen);
int rds_sock_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);

/* info.c */
int rds_info_getsockopt(struct socket *sock, int optname,
			char __user *optval, int __user *optlen);

#endif /* _RDS_CORE_SOCK_OPS_H */
