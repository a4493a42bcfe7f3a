// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "journal.h"
#include "message.h"
#include "flow.h"

#ifndef SO_SNDBUFFORCE
#define SO_SNDBUFFORCE 32
#endif

#define SNDBUF (3 * MESSAGE_MAX)
/* Nanoseconds until a congested peer is tried again, whatever poll() reports */
#define CONGESTED 10000000

void flow_open(struct flow *flow, unsigned int port, int transport)
{
	flow->fd = rds_socket();
	if (flow->fd < 0)
		err(1, "socket");
	if (transport != RDS_TRANS_NONE &&
	    rds_set(flow->fd, SOL_RDS, SO_RDS_TRANSPORT, transport))
		err(1, "SO_RDS_TRANSPORT");
	if (rds_bind(flow->fd, rds_name(flow->group->local, port)))
		err(1, "bind %s port %u", flow->group->local, port);
	flow->peer = rds_name(flow->group->remote, port);
	if (rds_set(flow->fd, SOL_SOCKET, SO_SNDBUFFORCE, SNDBUF))
		err(1, "SO_SNDBUFFORCE");
	if (flow->lends && !lent_enable(flow->fd))
		err(1, "SO_ZEROCOPY");
}

/* The contents are made once more: the buffer has been overwritten. */
static void note_sent(struct message *msg, uint64_t now)
{
	static unsigned char whole[MESSAGE_MAX];
	struct iovec part[2];

	if (!journal_is_open())
		return;
	message_write(msg, part);
	memcpy(whole, part[0].iov_base, part[0].iov_len);
	memcpy(whole + part[0].iov_len, part[1].iov_base, part[1].iov_len);
	journal_note((struct journal_entry){
		.time = now,
		.seq = msg->seq,
		.len = msg->len,
		.flow = msg->flow,
		.life = msg->life,
		.kind = JOURNAL_SENT,
	}, whole);
}

/* Overwrite the buffer at once after a send that copies. A buffer that is lent
 * is overwritten when its completion arrives.
 */
static ssize_t send_from_scrap(struct flow *flow, struct message *msg)
{
	static unsigned char scrap[MESSAGE_MAX];
	struct iovec part[2];
	ssize_t sent;

	message_write(msg, part);
	if (flow->lends && msg->seq % 2 && msg->len) {
		sent = lent_send(&flow->lent, flow->fd, part,
				 &flow->peer);
		if (sent >= 0 || errno != EBUSY)
			return sent;
	}
	memcpy(scrap, part[0].iov_base, part[0].iov_len);
	memcpy(scrap + part[0].iov_len, part[1].iov_base, part[1].iov_len);
	sent = sendto(flow->fd, scrap, msg->len, MSG_DONTWAIT,
		      &flow->peer.sa, flow->peer.len);
	memset(scrap, 0xa5, msg->len);
	return sent;
}

bool flow_send(struct flow *flow, uint64_t now)
{
	struct message msg = {
		.seq = flow->sent,
		.flow = flow->out,
		.life = flow->life,
		.len = message_size(flow->out, flow->sent, flow->whole),
	};

	if (send_from_scrap(flow, &msg) == msg.len) {
		flow->sent++;
		note_sent(&msg, now);
		return true;
	}
	if (errno == EAGAIN) {
		flow->full = true;
	} else if (errno != ENOBUFS) {
		flow->errors++;
		flow->error = errno;
	}
	flow->congested = now + CONGESTED;
	return false;
}

/* A damaged message is noted under the names that it bears. */
static void note_received(const struct flow *flow, const void *bytes,
			  uint32_t len, uint64_t now)
{
	struct message msg = {};

	memcpy(&msg, bytes, len < sizeof(msg) ? len : sizeof(msg));
	journal_note((struct journal_entry){
		.time = now,
		.seq = msg.seq,
		.len = len,
		.flow = flow->in,
		.life = msg.life,
		.kind = JOURNAL_RECEIVED,
	}, bytes);
}

static void note(struct flow *flow, const void *bytes, uint32_t len,
		 uint64_t now)
{
	struct group *group = flow->group;
	struct message msg;

	flow->bytes += len;
	note_received(flow, bytes, len, now);
	if (!message_read(bytes, len, flow->in, flow->whole, &msg) ||
	    !msg.life || msg.life > FLOW_LIVES) {
		flow->corrupt++;
		return;
	}
	if (!group->heard[msg.life - 1])
		group->heard[msg.life - 1] = now;
	if (len >= MESSAGE_NAMED)
		ledger_note(&flow->ledger[msg.life - 1], msg.seq);
	else
		ledger_note_short(&flow->ledger[0], flow->in, bytes, len);
}

unsigned int flow_receive(struct flow *flow, uint64_t now)
{
	static char buf[MESSAGE_MAX + 1];
	struct rds_name from = {};
	unsigned int count = 0;
	struct rds_msg msg;
	ssize_t len;

	for (;;) {
		rds_msg_init(&msg, buf, sizeof(buf));
		msg.hdr.msg_name = &from.sa;
		msg.hdr.msg_namelen = sizeof(from.ss);
		msg.hdr.msg_control = msg.control;
		msg.hdr.msg_controllen = sizeof(msg.control);
		len = recvmsg(flow->fd, &msg.hdr, MSG_DONTWAIT);
		if (len < 0)
			break;
		if (!lent_take_back(&flow->lent, &msg.hdr)) {
			flow->errors++;
			flow->error = EPROTO;
		}
		/* A completion alone is no message. */
		from.len = msg.hdr.msg_namelen;
		if (!from.len)
			continue;
		count++;
		if (rds_name_eq(&from, &flow->peer))
			note(flow, buf, len, now);
		else
			flow->corrupt++;
	}
	if (errno != EAGAIN) {
		flow->errors++;
		flow->error = errno;
	}
	return count;
}
