// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

unsigned int peer_retries = 7;

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static unsigned char *slot(struct peer *peer, bool send, unsigned int i)
{
	return peer->memory + (send * PEER_SLOTS + i) * PEER_SLOT;
}

static void note_event(struct peer *peer, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	peer->reason = event->status;
	peer->private_len = param->private_data_len;
	if (param->private_data && param->private_data_len)
		memcpy(peer->private_data, param->private_data,
		       param->private_data_len);
	else
		peer->private_len = 0;
	if (event->event == RDMA_CM_EVENT_DISCONNECTED ||
	    event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		peer->over = true;
}

/* Return the type of the next event, or -1 if none arrives in time. */
static int next_event(struct peer *peer, long ms)
{
	struct pollfd fd = { .fd = peer->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	int type;

	if (poll(&fd, 1, ms) <= 0 || rdma_get_cm_event(peer->channel, &event))
		return -1;
	type = event->event;
	note_event(peer, event);
	rdma_ack_cm_event(event);
	return type;
}

static bool expect_event(struct peer *peer, int type)
{
	return next_event(peer, PEER_PATIENCE) == type;
}

/* Return the name of RDS at the address; @any: the system chooses the port. */
static struct sockaddr_storage name_of(const char *address, bool any)
{
	struct sockaddr_storage name = {};
	struct sockaddr_in *in = (struct sockaddr_in *)&name;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&name;

	if (inet_pton(AF_INET, address, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = any ? 0 : htons(FRAME_PORT);
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = any ? 0 : htons(FRAME_PORT6);
		inet_pton(AF_INET6, address, &in6->sin6_addr);
	}
	return name;
}

static bool has_address(const char *address)
{
	struct sockaddr_storage name = name_of(address, true);
	struct rdma_cm_id *id;
	bool found;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return false;
	found = !rdma_bind_addr(id, (struct sockaddr *)&name) && id->verbs;
	rdma_destroy_id(id);
	return found;
}

bool peer_await_address(const char *address)
{
	long deadline = now() + PEER_PATIENCE;

	while (!has_address(address)) {
		if (now() > deadline)
			return false;
		usleep(10000);
	}
	return true;
}

static bool resolve(struct peer *peer, const char *local, const char *remote)
{
	struct sockaddr_storage src = name_of(local, true);
	struct sockaddr_storage dst = name_of(remote, false);

	peer->channel = rdma_create_event_channel();
	return peer->channel &&
	       !rdma_create_id(peer->channel, &peer->id, peer, RDMA_PS_TCP) &&
	       !rdma_resolve_addr(peer->id, (struct sockaddr *)&src,
				  (struct sockaddr *)&dst, PEER_PATIENCE) &&
	       expect_event(peer, RDMA_CM_EVENT_ADDR_RESOLVED) &&
	       !rdma_resolve_route(peer->id, PEER_PATIENCE) &&
	       expect_event(peer, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static bool post_recv(struct peer *peer, unsigned int i)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot(peer, false, i),
		.length = PEER_SLOT,
		.lkey = peer->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return !ibv_post_recv(peer->qp, &wr, &bad);
}

static bool set_up(struct peer *peer, bool own_qp)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = PEER_SLOTS,
			.max_recv_wr = PEER_SLOTS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	size_t size = 2 * PEER_SLOTS * PEER_SLOT;

	peer->pd = ibv_alloc_pd(peer->id->verbs);
	peer->send_cq = ibv_create_cq(peer->id->verbs, PEER_SLOTS, NULL, NULL,
				      0);
	peer->recv_cq = ibv_create_cq(peer->id->verbs, PEER_SLOTS, NULL, NULL,
				      0);
	peer->memory = calloc(1, size);
	if (!peer->pd || !peer->send_cq || !peer->recv_cq || !peer->memory)
		return false;
	peer->mr = ibv_reg_mr(peer->pd, peer->memory, size,
			      IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = peer->send_cq;
	attr.recv_cq = peer->recv_cq;
	if (own_qp) {
		peer->qp = ibv_create_qp(peer->pd, &attr);
	} else if (!rdma_create_qp(peer->id, peer->pd, &attr)) {
		peer->qp = peer->id->qp;
	}
	return peer->mr && peer->qp;
}

static bool post_buffers(struct peer *peer)
{
	unsigned int i;

	for (i = 0; i < PEER_SLOTS && !peer->no_buffers; i++)
		if (!post_recv(peer, i))
			return false;
	return true;
}

static struct rdma_conn_param conn_param(const struct peer *peer,
					 const void *handshake,
					 unsigned int len)
{
	return (struct rdma_conn_param){
		.private_data = handshake,
		.private_data_len = len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = peer_retries,
		.rnr_retry_count = 7,
		.qp_num = peer->qp->qp_num,
	};
}

static int connect_with(struct peer *peer, const void *handshake,
			unsigned int len)
{
	struct rdma_conn_param param = conn_param(peer, handshake, len);

	return rdma_connect(peer->id, &param);
}

bool peer_request(struct peer *peer, const char *local, const char *remote,
		  const void *handshake, unsigned int len, bool no_buffers,
		  bool halfway)
{
	*peer = (struct peer){ .no_buffers = no_buffers };
	return resolve(peer, local, remote) && set_up(peer, halfway) &&
	       (halfway || post_buffers(peer)) && !connect_with(peer, handshake,
								len);
}

enum peer_fate peer_await_reply(struct peer *peer, unsigned int ms)
{
	switch (next_event(peer, ms)) {
	case RDMA_CM_EVENT_ESTABLISHED:
		return PEER_UP;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		return PEER_ACCEPTED;
	case RDMA_CM_EVENT_REJECTED:
		return PEER_REFUSED;
	case -1:
		return PEER_WAITS;
	default:
		return PEER_FAILED;
	}
}

enum peer_fate peer_dial(struct peer *peer, const char *local,
			 const char *remote, const void *handshake,
			 unsigned int len, bool no_buffers, bool halfway)
{
	if (!peer_request(peer, local, remote, handshake, len, no_buffers,
			  halfway))
		return PEER_FAILED;
	return peer_await_reply(peer, PEER_PATIENCE);
}

bool peer_listen(struct peer *listener, const char *local, bool listens)
{
	struct sockaddr_storage name = name_of(local, false);
	long deadline = now() + PEER_PATIENCE;

	*listener = (struct peer){ .channel = rdma_create_event_channel() };
	if (!listener->channel ||
	    rdma_create_id(listener->channel, &listener->id, NULL, RDMA_PS_TCP))
		return false;
	/* The device may not have that address yet. */
	while (rdma_bind_addr(listener->id, (struct sockaddr *)&name)) {
		if (errno == EADDRINUSE || now() > deadline)
			return false;
		usleep(1000);
	}
	return !listens || !rdma_listen(listener->id, PEER_SLOTS);
}

static bool next_request(struct peer *listener, struct peer *peer, long ms)
{
	struct pollfd fd = { .fd = listener->channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&fd, 1, ms) <= 0 || rdma_get_cm_event(listener->channel,
						       &event))
		return false;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		peer->id = event->id;
		note_event(peer, event);
	}
	rdma_ack_cm_event(event);
	return true;
}

bool peer_next_request(struct peer *listener, struct peer *peer,
		       unsigned int ms)
{
	long deadline = now() + ms, left = ms;

	*peer = (struct peer){};
	/* Other events are for requests that the kernel has given up. */
	while (!peer->id && left > 0 && next_request(listener, peer, left))
		left = deadline - now();
	if (!peer->id)
		return false;
	peer->channel = rdma_create_event_channel();
	return peer->channel && !rdma_migrate_id(peer->id, peer->channel);
}

bool peer_await_request(struct peer *listener, struct peer *peer)
{
	return peer_next_request(listener, peer, PEER_PATIENCE);
}

bool peer_reply(struct peer *peer, const void *handshake, unsigned int len,
		bool no_buffers, bool halfway)
{
	struct rdma_conn_param param;

	peer->no_buffers = no_buffers;
	if (!set_up(peer, halfway) || (!halfway && !post_buffers(peer)))
		return false;
	param = conn_param(peer, handshake, len);
	return !rdma_accept(peer->id, &param);
}

enum peer_fate peer_accept(struct peer *peer, const void *handshake,
			   unsigned int len, bool no_buffers, bool halfway)
{
	if (!peer_reply(peer, handshake, len, no_buffers, halfway))
		return PEER_FAILED;
	if (halfway)
		return PEER_ACCEPTED;
	if (expect_event(peer, RDMA_CM_EVENT_ESTABLISHED))
		return PEER_UP;
	return peer->over ? PEER_ENDED : PEER_FAILED;
}

bool peer_reject(struct peer *peer, const void *data, unsigned int len)
{
	return !rdma_reject(peer->id, data, len);
}

/* Take the next completion. Return false if there is none. */
static bool reap(struct peer *peer, struct ibv_cq *cq, struct ibv_wc *wc)
{
	if (ibv_poll_cq(cq, 1, wc) != 1)
		return false;
	if (wc->status != IBV_WC_SUCCESS)
		peer->over = true;
	return true;
}

static void reap_sent(struct peer *peer)
{
	struct ibv_wc wc;

	while (reap(peer, peer->send_cq, &wc))
		peer->done++;
}

bool peer_has_place(struct peer *peer)
{
	reap_sent(peer);
	return peer->sent - peer->done < PEER_SLOTS;
}

static bool await_place(struct peer *peer)
{
	long deadline = now() + PEER_PATIENCE;

	while (!peer_has_place(peer)) {
		if (now() > deadline)
			return false;
		next_event(peer, 1);
	}
	return true;
}

bool peer_post(struct peer *peer, struct ibv_send_wr *wr, unsigned int len)
{
	unsigned int i = peer->sent++ % PEER_SLOTS;
	struct ibv_sge sge = {
		.addr = (uintptr_t)slot(peer, true, i),
		.length = len,
		.lkey = peer->mr->lkey,
	};
	struct ibv_send_wr *bad;

	wr->wr_id = i;
	wr->sg_list = &sge;
	wr->num_sge = len ? 1 : 0;
	wr->send_flags |= IBV_SEND_SIGNALED;
	return !ibv_post_send(peer->qp, wr, &bad);
}

bool peer_send_raw(struct peer *peer, const void *bytes, unsigned int len)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.send_flags = peer->solicits ? IBV_SEND_SOLICITED : 0,
	};

	if (!await_place(peer) || peer->over)
		return false;
	memcpy(slot(peer, true, peer->sent % PEER_SLOTS), bytes, len);
	return peer_post(peer, &wr, len);
}

bool peer_send(struct peer *peer, const struct frame *frame,
	       const void *payload, unsigned int len)
{
	unsigned char bytes[PEER_SLOT];

	memcpy(bytes, frame, sizeof(*frame));
	if (len)
		memcpy(bytes + sizeof(*frame), payload, len);
	return peer_send_raw(peer, bytes, sizeof(*frame) + len);
}

static bool await_done(struct peer *peer)
{
	long deadline = now() + PEER_PATIENCE;

	while (peer->done != peer->sent && !peer->over && now() < deadline) {
		reap_sent(peer);
		next_event(peer, 1);
	}
	return peer->done == peer->sent && !peer->over;
}

bool peer_rdma(struct peer *peer, enum ibv_wr_opcode opcode, uint32_t rkey,
	       uint64_t address, void *bytes, unsigned int len)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.rdma = { .remote_addr = address, .rkey = rkey },
	};
	unsigned char *place;

	if (!await_place(peer) || peer->over)
		return false;
	place = slot(peer, true, peer->sent % PEER_SLOTS);
	memcpy(place, bytes, len);
	if (!peer_post(peer, &wr, len) || !await_done(peer))
		return false;
	if (opcode == IBV_WR_RDMA_READ)
		memcpy(bytes, place, len);
	return true;
}

int peer_hear(struct peer *peer, struct frame *frame, void *payload,
	      unsigned int ms)
{
	long deadline = now() + ms;
	unsigned char *bytes;
	struct ibv_wc wc;
	int len;

	while (!reap(peer, peer->recv_cq, &wc)) {
		reap_sent(peer);
		next_event(peer, 1);
		if (peer->over || now() > deadline)
			return -1;
	}
	if (peer->over || wc.byte_len < sizeof(*frame))
		return -1;
	bytes = slot(peer, false, wc.wr_id);
	memcpy(frame, bytes, sizeof(*frame));
	len = wc.byte_len - sizeof(*frame);
	if (payload)
		memcpy(payload, bytes + sizeof(*frame), len);
	post_recv(peer, wc.wr_id);
	return len;
}

bool peer_await_end(struct peer *peer)
{
	long deadline = now() + PEER_PATIENCE;
	struct ibv_wc wc;

	while (!peer->over && now() < deadline) {
		next_event(peer, 1);
		reap_sent(peer);
		while (reap(peer, peer->recv_cq, &wc))
			;
	}
	return peer->over;
}

void peer_hang_up(struct peer *peer)
{
	rdma_disconnect(peer->id);
}

/* A queue pair in this state drops everything that arrives. */
void peer_vanish(struct peer *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE);
}

void peer_free(struct peer *peer)
{
	if (peer->qp && peer->id->qp)
		rdma_destroy_qp(peer->id);
	else if (peer->qp)
		ibv_destroy_qp(peer->qp);
	if (peer->mr)
		ibv_dereg_mr(peer->mr);
	if (peer->send_cq)
		ibv_destroy_cq(peer->send_cq);
	if (peer->recv_cq)
		ibv_destroy_cq(peer->recv_cq);
	if (peer->pd)
		ibv_dealloc_pd(peer->pd);
	if (peer->id)
		rdma_destroy_id(peer->id);
	if (peer->channel)
		rdma_destroy_event_channel(peer->channel);
	free(peer->memory);
	*peer = (struct peer){};
}
