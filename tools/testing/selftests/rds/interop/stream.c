// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "message.h"
#include "stream.h"

#ifndef SO_SNDBUFFORCE
#define SO_SNDBUFFORCE 32
#endif

#define SNDBUF (3 * MESSAGE_MAX)
/* Nanoseconds until a congested peer is tried again, whatever poll() reports */
#define CONGESTED 10000000

void stream_open(struct stream *stream, unsigned int port, int transport)
{
	stream->fd = rds_socket();
	if (stream->fd < 0)
		err(1, "socket");
	if (transport != RDS_TRANS_NONE &&
	    rds_set(stream->fd, SOL_RDS, SO_RDS_TRANSPORT, transport))
		err(1, "SO_RDS_TRANSPORT");
	if (rds_bind(stream->fd, rds_name(stream->group->local, port)))
		err(1, "bind %s port %u", stream->group->local, port);
	stream->peer = rds_name(stream->group->remote, port);
	if (rds_set(stream->fd, SOL_SOCKET, SO_SNDBUFFORCE, SNDBUF))
		err(1, "SO_SNDBUFFORCE");
	if (stream->lends && !lent_enable(stream->fd))
		err(1, "SO_ZEROCOPY");
}

/* Overwrite the buffer at once after a send that copies. A buffer that is lent
 * is overwritten when its completion arrives.
 */
static ssize_t send_from_scrap(struct stream *stream, struct message *msg)
{
	static unsigned char scrap[MESSAGE_MAX];
	struct iovec part[2];
	ssize_t sent;

	message_write(msg, part);
	if (stream->lends && msg->seq % 2 && msg->len) {
		sent = lent_send(&stream->lent, stream->fd, part,
				 &stream->peer);
		if (sent >= 0 || errno != EBUSY)
			return sent;
	}
	memcpy(scrap, part[0].iov_base, part[0].iov_len);
	memcpy(scrap + part[0].iov_len, part[1].iov_base, part[1].iov_len);
	sent = sendto(stream->fd, scrap, msg->len, MSG_DONTWAIT,
		      &stream->peer.sa, stream->peer.len);
	memset(scrap, 0xa5, msg->len);
	return sent;
}

bool stream_send(struct stream *stream, uint64_t now)
{
	struct message msg = {
		.seq = stream->sent,
		.stream = stream->out,
		.life = stream->life,
		.len = message_size(stream->out, stream->sent, stream->whole),
	};

	if (send_from_scrap(stream, &msg) == msg.len) {
		stream->sent++;
		return true;
	}
	if (errno == EAGAIN) {
		stream->full = true;
	} else if (errno != ENOBUFS) {
		stream->errors++;
		stream->error = errno;
	}
	stream->congested = now + CONGESTED;
	return false;
}

static void note(struct stream *stream, const void *bytes, uint32_t len,
		 uint64_t now)
{
	struct group *group = stream->group;
	struct message msg;

	stream->bytes += len;
	if (!message_read(bytes, len, stream->in, stream->whole, &msg) ||
	    !msg.life || msg.life > STREAM_LIVES) {
		stream->corrupt++;
		return;
	}
	if (!group->heard[msg.life - 1])
		group->heard[msg.life - 1] = now;
	if (len >= MESSAGE_NAMED)
		ledger_note(&stream->ledger[msg.life - 1], msg.seq);
	else
		ledger_note_short(&stream->ledger[0], stream->in, bytes, len);
}

unsigned int stream_receive(struct stream *stream, uint64_t now)
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
		len = recvmsg(stream->fd, &msg.hdr, MSG_DONTWAIT);
		if (len < 0)
			break;
		if (!lent_take_back(&stream->lent, &msg.hdr)) {
			stream->errors++;
			stream->error = EPROTO;
		}
		/* A completion alone is no message. */
		from.len = msg.hdr.msg_namelen;
		if (!from.len)
			continue;
		count++;
		if (rds_name_eq(&from, &stream->peer))
			note(stream, buf, len, now);
		else
			stream->corrupt++;
	}
	if (errno != EAGAIN) {
		stream->errors++;
		stream->error = errno;
	}
	return count;
}
