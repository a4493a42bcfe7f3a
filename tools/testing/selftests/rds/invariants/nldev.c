// SPDX-License-Identifier: GPL-2.0
/* The requests of nldev.h */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "nldev.h"

struct message {
	struct nlmsghdr nlh;
	char attrs[4096];
};

static void start(struct message *msg, unsigned int command, int flags)
{
	memset(msg, 0, sizeof(*msg));
	msg->nlh.nlmsg_len = NLMSG_HDRLEN;
	msg->nlh.nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, command);
	msg->nlh.nlmsg_flags = NLM_F_REQUEST | flags;
}

static void add(struct message *msg, int type, const void *data, size_t len)
{
	struct nlattr *attr = (void *)msg + NLMSG_ALIGN(msg->nlh.nlmsg_len);

	attr->nla_type = type;
	attr->nla_len = NLA_HDRLEN + len;
	memcpy((char *)attr + NLA_HDRLEN, data, len);
	msg->nlh.nlmsg_len = NLMSG_ALIGN(msg->nlh.nlmsg_len) +
			     NLA_ALIGN(attr->nla_len);
}

static void add_text(struct message *msg, int type, const char *text)
{
	add(msg, type, text, strlen(text) + 1);
}

/* Send a request; its reply replaces it. Return 0 or an errno. */
static int transact(struct message *msg)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	struct nlmsgerr *err = (void *)msg->attrs;
	ssize_t len = -1;

	if (fd < 0)
		return -errno;
	if (send(fd, msg, msg->nlh.nlmsg_len, 0) >= 0) {
		memset(msg, 0, sizeof(*msg));
		len = recv(fd, msg, sizeof(*msg), 0);
	}
	close(fd);
	if (len < NLMSG_HDRLEN)
		return -EIO;
	return msg->nlh.nlmsg_type == NLMSG_ERROR ? err->error : 0;
}

/* Return the attribute at an offset, which is advanced; NULL behind the last.
 */
static struct nlattr *next_attr(char *first, size_t len, size_t *at)
{
	struct nlattr *attr = (void *)(first + *at);

	if (*at + NLA_HDRLEN > len || attr->nla_len < NLA_HDRLEN)
		return NULL;
	*at += NLA_ALIGN(attr->nla_len);
	return attr;
}

static struct nlattr *find(char *first, size_t len, int type)
{
	struct nlattr *attr;
	size_t at = 0;

	while ((attr = next_attr(first, len, &at)))
		if ((attr->nla_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

static void *data_of(struct nlattr *attr)
{
	return (char *)attr + NLA_HDRLEN;
}

static size_t len_of(const struct nlattr *attr)
{
	return attr->nla_len - NLA_HDRLEN;
}

/* Get name and number of a device of the list; return true if it is @name. */
static bool is_device(struct nlmsghdr *nlh, const char *name, uint32_t *index)
{
	char *attrs = (char *)nlh + NLMSG_HDRLEN;
	size_t len = nlh->nlmsg_len - NLMSG_HDRLEN;
	struct nlattr *text = find(attrs, len, RDMA_NLDEV_ATTR_DEV_NAME);
	struct nlattr *number = find(attrs, len, RDMA_NLDEV_ATTR_DEV_INDEX);

	if (!text || !number || strcmp(data_of(text), name))
		return false;
	memcpy(index, data_of(number), sizeof(*index));
	return true;
}

/* Search a part of the list; return false behind the last part. */
static bool look_through(struct nlmsghdr *nlh, int len, const char *name,
			 uint32_t *index, int *ret)
{
	for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
		if (nlh->nlmsg_type == NLMSG_DONE ||
		    nlh->nlmsg_type == NLMSG_ERROR)
			return false;
		if (is_device(nlh, name, index))
			*ret = 0;
	}
	return true;
}

static int find_device(const char *name, uint32_t *index)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
	static struct nlmsghdr part[2048];
	struct message msg;
	int ret = -ENODEV;
	ssize_t len;

	if (fd < 0)
		return -errno;
	start(&msg, RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	if (send(fd, &msg, msg.nlh.nlmsg_len, 0) >= 0)
		do
			len = recv(fd, part, sizeof(part), 0);
		while (len > 0 && look_through(part, len, name, index, &ret));
	close(fd);
	return ret;
}

bool nldev_exists(const char *name)
{
	uint32_t index;

	return !find_device(name, &index);
}

int nldev_add(const char *name, const char *type, const char *netdev)
{
	struct message msg;

	start(&msg, RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
	add_text(&msg, RDMA_NLDEV_ATTR_DEV_NAME, name);
	add_text(&msg, RDMA_NLDEV_ATTR_LINK_TYPE, type);
	add_text(&msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev);
	return transact(&msg);
}

int nldev_del(const char *name)
{
	struct message msg;
	uint32_t index;
	int ret = find_device(name, &index);

	if (ret)
		return ret;
	start(&msg, RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
	add(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	return transact(&msg);
}

static void take_entry(struct nldev_objects *objects, const char *name,
		       long count)
{
	if (!strcmp(name, "pd"))
		objects->pd = count;
	else if (!strcmp(name, "cq"))
		objects->cq = count;
	else if (!strcmp(name, "qp"))
		objects->qp = count;
	else if (!strcmp(name, "cm_id"))
		objects->cm_id = count;
	else if (!strcmp(name, "mr"))
		objects->mr = count;
}

int nldev_objects(const char *name, struct nldev_objects *objects)
{
	struct nlattr *table, *entry, *text, *count;
	struct message msg;
	uint64_t value;
	uint32_t index;
	size_t at = 0;
	int ret = find_device(name, &index);

	memset(objects, 0, sizeof(*objects));
	if (ret)
		return ret;
	start(&msg, RDMA_NLDEV_CMD_RES_GET, 0);
	add(&msg, RDMA_NLDEV_ATTR_DEV_INDEX, &index, sizeof(index));
	ret = transact(&msg);
	if (ret)
		return ret;
	table = find(msg.attrs, msg.nlh.nlmsg_len - NLMSG_HDRLEN,
		     RDMA_NLDEV_ATTR_RES_SUMMARY);
	if (!table)
		return -ENOENT;
	while ((entry = next_attr(data_of(table), len_of(table), &at))) {
		text = find(data_of(entry), len_of(entry),
			    RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME);
		count = find(data_of(entry), len_of(entry),
			     RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR);
		if (!text || !count)
			return -ENOENT;
		memcpy(&value, data_of(count), sizeof(value));
		take_entry(objects, data_of(text), value);
	}
	return 0;
}

bool nldev_objects_fall_to(const char *name,
			   const struct nldev_objects *before)
{
	struct nldev_objects now;
	unsigned int tries;

	for (tries = 0; tries < 1000; tries++) {
		if (nldev_objects(name, &now))
			return false;
		if (now.pd <= before->pd && now.cq <= before->cq &&
		    now.qp <= before->qp && now.cm_id <= before->cm_id &&
		    now.mr <= before->mr)
			return true;
		usleep(10000);
	}
	printf("# pd %ld, cq %ld, qp %ld, cm_id %ld, mr %ld are left\n",
	       now.pd, now.cq, now.qp, now.cm_id, now.mr);
	fflush(stdout);
	return false;
}
