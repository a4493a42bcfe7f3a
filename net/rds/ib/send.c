// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sending of messages and congestion maps, under the path's transmit lock.
 *
 * Each fragment is one work request. Work requests are batched until the batch
 * is full, or core indicates that no other message follows. Then all of them
 * are numbered, if the peer expects it, and posted together.
 *
 * If the device supports inline data, it copies a short fragment while the
 * fragment is posted. After that nothing has to be kept for the fragment, and
 * its completion does not matter. Until then the batch holds a reference to the
 * message: core regards the message as sent, so nothing else keeps it if its
 * ack arrives or its sender closes the socket.
 *
 * All other fragments are mapped. The slot of the message's last fragment holds
 * a reference to the message until the slot is completed.
 *
 * A completion costs about a twentieth of what sending 1 KiB costs. Therefore
 * only some work requests are signaled. If a message is large, or its payload
 * is in the user's pages, a signaled work request follows at once.
 *
 * If xmit() finds no slot or no credit, it sets a bit, checks once more, and
 * then waits for rds_path_kick(). Completions and received credits check the
 * bit after they have made room.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "ib.h"

/* Most bytes of payload of the messages that slots may reference before a
 * signaled work request has to follow
 */
#define RDS_IB_HELD_MAX		16384U

/**
 * struct rds_ib_piece - a piece of the payload of a fragment
 * @p_page: its page; NULL if it is at @p_data
 * @p_data: its address in slab memory
 * @p_off: offset in @p_page
 * @p_len: length in bytes
 */
struct rds_ib_piece {
	struct page	*p_page;
	void		*p_data;
	u32		p_off;
	u32		p_len;
};

/**
 * struct rds_ib_cargo - the payload of a fragment
 * @cg_len: length in bytes
 * @cg_nr: number of pieces
 * @cg_piece: the pieces
 */
struct rds_ib_cargo {
	u32			cg_len;
	unsigned int		cg_nr;
	struct rds_ib_piece	cg_piece[RDS_IB_SEND_PIECES];
};

static struct rds_ib_conn *rds_ib_tx_conn(struct rds_path *path)
{
	struct rds_ib_path *ip = path->data;

	return ip->ip_conn;
}

static void rds_ib_tx_inline(struct ib_sge *sge, struct rds_header *hdr,
			     const struct rds_ib_cargo *cg)
{
	const struct rds_ib_piece *p;
	unsigned int i;

	sge[0].addr = (uintptr_t)hdr;
	for (i = 0; i < cg->cg_nr; i++) {
		p = &cg->cg_piece[i];
		sge[1 + i].addr = p->p_page ?
				  (uintptr_t)page_address(p->p_page) +
				  p->p_off : (uintptr_t)p->p_data;
	}
}

static u64 rds_ib_tx_map_piece(struct ib_device *dev,
			       const struct rds_ib_piece *p)
{
	if (p->p_page)
		return ib_dma_map_page(dev, p->p_page, p->p_off, p->p_len,
				       DMA_TO_DEVICE);
	return ib_dma_map_single(dev, p->p_data, p->p_len, DMA_TO_DEVICE);
}

static int rds_ib_tx_map(struct rds_ib_conn *ic, struct ib_sge *sge,
			 struct rds_ib_tx_slot *slot,
			 const struct rds_ib_cargo *cg)
{
	struct ib_device *dev = ic->ic_dev->dv_dev;
	unsigned int i;
	u64 dma;

	for (i = 0; i < cg->cg_nr; i++) {
		dma = rds_ib_tx_map_piece(dev, &cg->cg_piece[i]);
		if (ib_dma_mapping_error(dev, dma)) {
			rds_ib_stat_inc(ib_tx_sg_mapping_failure);
			rds_ib_tx_unmap(ic, slot);
			return -ENOMEM;
		}
		slot->ts_dma[i] = dma;
		slot->ts_len[i] = cg->cg_piece[i].p_len;
		slot->ts_nr++;
		sge[1 + i].addr = dma;
	}
	return 0;
}

/* Fill in the SGEs of a work request. Returns its flags, or an errno. */
static int rds_ib_tx_elements(struct rds_ib_conn *ic, struct ib_sge *sge,
			      u32 nr, const struct rds_header *hdr,
			      const struct rds_ib_cargo *cg)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	u32 lkey = ic->ic_dev->dv_pd->local_dma_lkey;
	struct rds_header *to;
	unsigned int i;

	to = rds_ib_tx_header(ic, nr, &sge[0].addr);
	*to = *hdr;
	sge[0].length = sizeof(*hdr);
	sge[0].lkey = lkey;
	for (i = 0; i < cg->cg_nr; i++) {
		sge[1 + i].length = cg->cg_piece[i].p_len;
		sge[1 + i].lkey = lkey;
	}
	if (sizeof(*hdr) + cg->cg_len <= tx->tx_inline) {
		rds_ib_tx_inline(sge, to, cg);
		return IB_SEND_INLINE;
	}

	return rds_ib_tx_map(ic, sge, &tx->tx_slots[nr], cg);
}

/* Batch a fragment. The caller has made sure that there is room for it. Returns
 * the slot, or an errno as a pointer.
 */
static struct rds_ib_tx_slot *rds_ib_tx_add(struct rds_ib_conn *ic,
					    const struct rds_header *hdr,
					    const struct rds_ib_cargo *cg,
					    bool last)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	struct ib_send_wr *wr = &tx->tx_wr[tx->tx_nr];
	struct ib_sge *sge = tx->tx_sge[tx->tx_nr];
	u32 nr = rds_ib_ring_next(&tx->tx_ring);
	int flags;

	flags = rds_ib_tx_elements(ic, sge, nr, hdr, cg);
	if (flags < 0)
		return ERR_PTR(flags);
	if (last)
		flags |= IB_SEND_SOLICITED;
	if (!(flags & IB_SEND_INLINE))
		tx->tx_mapped = true;

	rds_ib_ring_get(&tx->tx_ring);
	memset(wr, 0, sizeof(*wr));
	wr->wr_cqe = &tx->tx_slots[nr].ts_cqe;
	wr->sg_list = sge;
	wr->num_sge = 1 + cg->cg_nr;
	wr->opcode = IB_WR_SEND;
	wr->send_flags = flags;
	if (++tx->tx_unsignaled >= tx->tx_signal ||
	    (!(flags & IB_SEND_INLINE) && rds_ib_tx_must_signal(ic)))
		rds_ib_tx_signal(tx, wr);
	tx->tx_nr++;
	tx->tx_batched += cg->cg_len;
	return &tx->tx_slots[nr];
}

static bool rds_ib_tx_is_full(const struct rds_ib_tx *tx)
{
	return tx->tx_nr == RDS_IB_BATCH ||
	       tx->tx_batched >= RDS_IB_BATCH_BYTES;
}

static bool rds_ib_tx_has_pages(const struct rds_payload *payload)
{
	return payload->kind == RDS_PAYLOAD_KERNEL ||
	payload->kind == RDS_PAYLOAD_USER;
}

/* Describe the next fragment of a payload. The user's pages are full except for
 * the first and the last. So there are enough pieces for the fragment, even if
 * it begins in the middle of a page; for one that is not wide, two are enough.
 */
static void rds_ib_tx_cargo(const struct rds_ib_tx *tx,
			    const struct rds_payload *payload, u32 size,
			    struct rds_ib_cargo *cg)
{
	u32 off = tx->tx_frag * size, skip = tx->tx_bvec_off, left;
	const struct bio_vec *bv = &payload->bvec[tx->tx_bvec];
	struct rds_ib_piece *p = cg->cg_piece;

	left = min(payload->len - off, size);
	cg->cg_len = left;
	cg->cg_nr = 0;
	if (!left)
		return;
	if (!rds_ib_tx_has_pages(payload)) {
		p->p_page = NULL;
		p->p_data = payload->data + off;
		p->p_len = left;
		cg->cg_nr = 1;
		return;
	}

	for (; left && cg->cg_nr < RDS_IB_SEND_PIECES; bv++, p++) {
		p->p_page = bv->bv_page;
		p->p_off = bv->bv_offset + skip;
		p->p_len = min(left, bv->bv_len - skip);
		left -= p->p_len;
		cg->cg_nr++;
		skip = 0;
	}
}

/* The fragment is batched: advance to the next one. */
static void rds_ib_tx_advance(struct rds_ib_tx *tx,
			      const struct rds_payload *payload,
			      u32 len)
{
	const struct bio_vec *bv;
	u32 bytes;

	tx->tx_frag++;
	if (!rds_ib_tx_has_pages(payload))
		return;
	while (len) {
		bv = &payload->bvec[tx->tx_bvec];
		bytes = min(len, bv->bv_len - tx->tx_bvec_off);
		len -= bytes;
		tx->tx_bvec_off += bytes;
		if (tx->tx_bvec_off == bv->bv_len) {
			tx->tx_bvec++;
			tx->tx_bvec_off = 0;
		}
	}
}

static void rds_ib_tx_rewind(struct rds_ib_tx *tx)
{
	tx->tx_op_piece = 0;
	tx->tx_op_bytes = 0;
	tx->tx_frag = 0;
	tx->tx_bvec = 0;
	tx->tx_bvec_off = 0;
	tx->tx_mapped = false;
}

/* Make the slot hold the message until the slot is completed. Without a
 * signaled work request, that may not be before further messages are sent. So
 * if the slots hold too many bytes, or a user waits for the completion, end
 * this batch with a signaled work request.
 */
static void rds_ib_tx_hold(struct rds_ib_tx *tx, struct rds_ib_tx_slot *slot,
			   struct rds_message *msg)
{
	slot->ts_msg = rds_message_get(msg);
	tx->tx_held += msg->m_payload.len;
	if (rds_op_outlook(msg) == RDS_OP_TO_DO)
		slot->ts_op = RDS_IB_OP_MSG;
	if (msg->m_payload.kind == RDS_PAYLOAD_USER || slot->ts_op ||
	    tx->tx_held > RDS_IB_HELD_MAX)
		tx->tx_signal_last = true;
}

/* The fragment could not be mapped, and core tries the message again later.
 * Post the batched work requests, which must not wait for that. Their
 * completions may also free resources that the mapping needs.
 */
static int rds_ib_tx_not_added(struct rds_ib_conn *ic, u8 news, int err)
{
	rds_ib_ack_untake(ic, news);
	return rds_ib_tx_post(ic) ?: err;
}

static int rds_ib_tx_fragment(struct rds_ib_conn *ic, struct rds_message *msg,
			      u32 frags)
{
	u32 size = rds_ib_frag_size(msg->m_payload.len, ic->ic_priv.wide);
	struct rds_ib_tx *tx = &ic->ic_tx;
	struct rds_ib_tx_slot *slot;
	struct rds_ib_cargo cargo;
	struct ib_send_wr *wr;
	struct rds_header hdr;
	bool last;
	u8 news;
	int ret;

	ret = rds_ib_tx_room(ic, &news);
	if (ret)
		return ret;

	last = tx->tx_frag + 1 == frags;
	rds_message_header(msg, rds_ib_ack_value(ic), &hdr);
	hdr.h_credit = news;
	rds_ib_tx_cargo(tx, &msg->m_payload, size, &cargo);
	wr = &tx->tx_wr[tx->tx_nr];
	slot = rds_ib_tx_add(ic, &hdr, &cargo, last);
	if (IS_ERR(slot))
		return rds_ib_tx_not_added(ic, news, PTR_ERR(slot));
	if (unlikely(msg->m_op) && msg->m_op->op_kind != RDS_OP_WRITE)
		wr->send_flags |= IB_SEND_FENCE;
	if (last && (tx->tx_mapped || msg->m_op))
		rds_ib_tx_hold(tx, slot, msg);
	rds_ib_tx_advance(tx, &msg->m_payload, cargo.cg_len);
	return rds_ib_tx_is_full(tx) ? rds_ib_tx_post(ic) : 0;
}

/**
 * rds_ib_xmit() - Send a message
 * @path: the path
 * @msg: the message
 * @more: another message follows at once
 *
 * Context: Same as &rds_data_ops.xmit.
 * Return: Same as &rds_data_ops.xmit.
 */
int rds_ib_xmit(struct rds_path *path, struct rds_message *msg, bool more)
{
	struct rds_ib_conn *ic = rds_ib_tx_conn(path);
	u32 frags = rds_ib_frags(msg->m_payload.len, ic->ic_priv.wide);
	struct rds_ib_tx *tx = &ic->ic_tx;
	int ret, result = RDS_XMIT_SENT;

	if (unlikely(msg->m_op) && !tx->tx_frag) {
		ret = rds_ib_xmit_op(ic, msg);
		if (ret == -ECANCELED)
			result = RDS_XMIT_DELIVERED;
		else if (ret)
			return ret;
		if (ret || msg->m_op->op_bare)
			goto through;
	}
	while (tx->tx_frag < frags) {
		ret = rds_ib_tx_fragment(ic, msg, frags);
		if (ret)
			return ret;
	}
	/* If the message was mapped, its slot holds the reference. */
	if (more && tx->tx_nr && !tx->tx_mapped)
		tx->tx_lent[tx->tx_nr_lent++] = rds_message_get(msg);
through:
	rds_ib_tx_rewind(tx);
	ret = more ? 0 : rds_ib_tx_post(ic);
	return ret ?: result;
}

/**
 * rds_ib_flush() - Post the batched work requests
 * @path: the path
 *
 * Context: Same as &rds_data_ops.flush.
 * Return: Same as &rds_data_ops.flush.
 */
int rds_ib_flush(struct rds_path *path)
{
	return rds_ib_tx_post(rds_ib_tx_conn(path));
}

static int rds_ib_tx_map_fragment(struct rds_ib_conn *ic)
{
	struct rds_ib_tx *tx = &ic->ic_tx;
	bool last = tx->tx_frag == RDS_CONG_MAP_BYTES / RDS_FRAG_SIZE - 1;
	struct rds_ib_cargo cargo = {
		.cg_len		= RDS_FRAG_SIZE,
		.cg_nr		= 1,
		.cg_piece[0]	= {
			.p_data	= tx->tx_map + tx->tx_frag * RDS_FRAG_SIZE,
			.p_len	= RDS_FRAG_SIZE,
		},
	};
	struct rds_header hdr = {
		.h_ack		= cpu_to_be64(rds_ib_ack_value(ic)),
		.h_len		= cpu_to_be32(RDS_CONG_MAP_BYTES),
		.h_flags	= RDS_FLAG_CONG_BITMAP,
	};
	struct rds_ib_tx_slot *slot;
	u8 news;
	int ret;

	ret = rds_ib_tx_room(ic, &news);
	if (ret)
		return ret;
	hdr.h_credit = news;
	slot = rds_ib_tx_add(ic, &hdr, &cargo, last);
	if (IS_ERR(slot))
		return rds_ib_tx_not_added(ic, news, PTR_ERR(slot));
	if (last) {
		slot->ts_map = tx->tx_map;
		tx->tx_map = NULL;
		tx->tx_signal_last = true;
	}
	tx->tx_frag++;
	return rds_ib_tx_is_full(tx) ? rds_ib_tx_post(ic) : 0;
}

/**
 * rds_ib_xmit_cong_map() - Send a congestion map
 * @path: the path
 * @map: the map
 *
 * The connection is reliable, so the completion of the map's last fragment
 * serves as the peer's ack.
 *
 * Context: Same as &rds_data_ops.xmit_cong_map.
 * Return: Same as &rds_data_ops.xmit_cong_map.
 */
int rds_ib_xmit_cong_map(struct rds_path *path, const void *map)
{
	const u32 frags = RDS_CONG_MAP_BYTES / RDS_FRAG_SIZE;
	struct rds_ib_conn *ic = rds_ib_tx_conn(path);
	struct rds_ib_tx *tx = &ic->ic_tx;
	int ret;

	if (!tx->tx_map && !tx->tx_frag) {
		tx->tx_map = kmemdup(map, RDS_CONG_MAP_BYTES, GFP_NOFS);
		if (!tx->tx_map)
			return rds_ib_tx_post(ic) ?: -ENOMEM;
		WRITE_ONCE(tx->tx_last_map, tx->tx_map);
	}
	while (tx->tx_frag < frags) {
		ret = rds_ib_tx_map_fragment(ic);
		if (ret)
			return ret;
	}
	rds_ib_tx_rewind(tx);
	ret = rds_ib_tx_post(ic);
	return ret ?: RDS_XMIT_SENT;
}
