// SPDX-License-Identifier: GPL-2.0-only
/*
 * The accounts that unread messages are charged to.
 *
 * An account is a socket that users cannot reach. Messages are not charged to
 * the user's own socket, because SO_RESERVE_MEM lets the user change the charge
 * of that socket, under another lock, and keep a part of it reserved.
 *
 * What is charged to an account is charged to the memory cgroup of the task
 * that has allocated it. Messages that were sent on this host are not charged,
 * because they are already charged to their sender, except for pongs, which
 * core sends. A cgroup limit is no reason to refuse a message.
 */
#include <net/rds/transport.h>
#include <net/sock.h>

#include "account.h"

/* Bytes that an account may keep charged beyond what was charged to it. To
 * charge each message of a few bytes separately would take longer than to
 * deliver it.
 */
#define RDS_ACCOUNT_SLACK	(4 * PAGE_SIZE)

/* Memory that unread messages hold, in pages. Each socket has a limit, and
 * memory cgroups have theirs. There is no limit for all sockets together.
 */
static atomic_long_t rds_memory_allocated;
static DEFINE_PER_CPU(int, rds_memory_reserve);
static long rds_memory_limits[] = { LONG_MAX, LONG_MAX, LONG_MAX };

static struct proto rds_account_proto = {
	.name			= "RDS account",
	.obj_size		= sizeof(struct sock),
	.memory_allocated	= &rds_memory_allocated,
	.per_cpu_fw_alloc	= &rds_memory_reserve,
	.sysctl_mem		= rds_memory_limits,
};

/**
 * rds_account_alloc() - Allocate an account
 * @net: the namespace; outlives the account
 *
 * Context: Process context, may sleep. The memory cgroup is that of the task.
 * Return: the account with one reference, to be put by sock_put(), when nothing
 * is charged to it; NULL if there is no memory.
 */
struct sock *rds_account_alloc(struct net *net)
{
	struct sock *account;

	/* The account is a kernel socket, so it holds no reference to the
	 * namespace.
	 */
	account = sk_alloc(net, AF_RDS, GFP_KERNEL_ACCOUNT, &rds_account_proto,
			   1);
	if (!account)
		return NULL;
	refcount_set(&account->sk_refcnt, 1);
	/* Give back the slack. */
	account->sk_destruct = sk_mem_reclaim;
	return account;
}

/**
 * rds_account_charge() - Charge a message to an account
 * @account: the account
 * @inc: the message, about to be queued
 *
 * Context: Any context. A lock that guards the account is held.
 */
void rds_account_charge(struct sock *account, struct rds_incoming *inc)
{
	int lacks;

	inc->i_charged = false;
	/* Only pongs come from port 0. */
	if (!inc->i_ops->owner && inc->i_sport)
		return;
	lacks = inc->i_truesize - account->sk_forward_alloc;
	inc->i_charged = lacks <= 0 ||
			 __sk_mem_schedule(account, lacks, SK_MEM_RECV);
	if (inc->i_charged)
		account->sk_forward_alloc -= inc->i_truesize;
}

/**
 * rds_account_uncharge() - Undo rds_account_charge()
 * @account: the account
 * @inc: the message, about to leave the queue
 *
 * Context: As rds_account_charge().
 */
void rds_account_uncharge(struct sock *account, const struct rds_incoming *inc)
{
	if (!inc->i_charged)
		return;
	account->sk_forward_alloc += inc->i_truesize;
	if (account->sk_forward_alloc > RDS_ACCOUNT_SLACK)
		__sk_mem_reclaim(account, account->sk_forward_alloc -
					  RDS_ACCOUNT_SLACK);
}
