// SPDX-License-Identifier: GPL-2.0-only
/* RDS_INFO_TCP_SOCKETS and RDS6_INFO_TCP_SOCKETS. */
#include <net/ipv6.h>
#include <net/tcp.h>

#include "tcp.h"

/* Store how many bytes of the current header or payload are missing. */
static void rds_tcp_record_frame(const struct rds_tcp_frame *fr, u64 *hdr_rem,
				 u64 *data_rem)
{
	u32 left = READ_ONCE(fr->fr_left);

	if (READ_ONCE(fr->fr_phase) == RDS_TCP_HEADER)
		*hdr_rem = left;
	else
		*data_rem = left;
}

static void rds_tcp_record_v4(const struct rds_tcp_path *tp,
			      struct rds_info_tcp_socket *rec)
{
	const struct sock *sk = tp->tp_sock->sk;
	u64 hdr_rem = 0, data_rem = 0;

	rds_tcp_record_frame(&tp->tp_rx.tr_frame, &hdr_rem, &data_rem);
	rec->local_addr = tp->tp_path->laddr.s6_addr32[3];
	rec->local_port = inet_sk(sk)->inet_sport;
	rec->peer_addr = tp->tp_path->faddr.s6_addr32[3];
	rec->peer_port = inet_sk(sk)->inet_dport;
	rec->hdr_rem = hdr_rem;
	rec->data_rem = data_rem;
	rec->last_sent_nxt = READ_ONCE(tcp_sk(sk)->snd_nxt);
	rec->last_expected_una = READ_ONCE(tp->tp_tx.tt_seq);
	rec->last_seen_una = READ_ONCE(tp->tp_tx.tt_una);
	rec->tos = tp->tp_path->tos;
}

static void rds_tcp_record_v6(const struct rds_tcp_path *tp,
			      struct rds6_info_tcp_socket *rec)
{
	const struct sock *sk = tp->tp_sock->sk;
	u64 hdr_rem = 0, data_rem = 0;

	rds_tcp_record_frame(&tp->tp_rx.tr_frame, &hdr_rem, &data_rem);
	rec->local_addr = tp->tp_path->laddr;
	rec->local_port = inet_sk(sk)->inet_sport;
	rec->peer_addr = tp->tp_path->faddr;
	rec->peer_port = inet_sk(sk)->inet_dport;
	rec->hdr_rem = hdr_rem;
	rec->data_rem = data_rem;
	rec->last_sent_nxt = READ_ONCE(tcp_sk(sk)->snd_nxt);
	rec->last_expected_una = READ_ONCE(tp->tp_tx.tt_seq);
	rec->last_seen_una = READ_ONCE(tp->tp_tx.tt_una);
}

/**
 * rds_tcp_record() - Describe the socket of a path
 * @path: the path
 * @opt: the RDS_INFO list
 * @record: a zeroed record of that list
 *
 * Context: Process context. Takes tp_lock.
 * Return: true if the list is one of this transport's, and the path has a
 * socket that belongs on it.
 */
bool rds_tcp_record(struct rds_path *path, int opt, void *record)
{
	bool v6 = opt == RDS6_INFO_TCP_SOCKETS, listed = false;
	struct rds_tcp_path *tp = path->data;

	if (!v6 && (opt != RDS_INFO_TCP_SOCKETS ||
		    !ipv6_addr_v4mapped(&path->laddr)))
		return false;

	spin_lock_bh(&tp->tp_lock);
	if (tp->tp_sock) {
		if (v6)
			rds_tcp_record_v6(tp, record);
		else
			rds_tcp_record_v4(tp, record);
		listed = true;
	}
	spin_unlock_bh(&tp->tp_lock);
	return listed;
}
