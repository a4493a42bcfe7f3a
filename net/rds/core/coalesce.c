// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small frames of several senders that share a transmission.
 *
 * While other tasks wait for the processor, a sender may leave its frame in the
 * queue of the path. The path's work item then sends it with those that other
 * senders have left meanwhile: over TCP, in one segment. If it was left alone,
 * that takes longer than to send it at once. So the work item counts, and if
 * there is little to share, senders send for a while themselves.
 *
 * A frame that was left waits for one run of the work item, and no longer.
 */
#include <linux/atomic.h>

#include "coalesce.h"
#include "compat.h"
#include "path_parts.h"

/* Frames left after which a sender sends all of them itself */
#define RDS_COALESCE_MOST	32

/**
 * rds_coalesce_add() - Leave a frame to the path's work item, if that is good
 * @pc: what the path knows about this; the frame is in its queue
 *
 * Context: Any context.
 * Return: 0 if the sender is to send the frame; otherwise the number of frames
 * that were left since the work item has run last. If it is 1, the sender kicks
 * the work item.
 */
unsigned int rds_coalesce_add(struct rds_path_coalesce *pc)
{
	unsigned int rest = READ_ONCE(pc->pc_rest), left;

	if (rest) {
		WRITE_ONCE(pc->pc_rest, rest - 1);
		return 0;
	}
	/* Fully ordered: the work item finds the frame in the queue, or the
	 * sender finds that the work item has begun to run.
	 */
	left = atomic_inc_return(&pc->pc_left);
	return left < RDS_COALESCE_MOST ? left : 0;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_coalesce_add);

/**
 * rds_coalesce_end() - Note that the frames that were left are sent now
 * @pc: what the path knows about this
 *
 * Context: The path's work item, before it looks at the queue.
 */
void rds_coalesce_end(struct rds_path_coalesce *pc)
{
	unsigned int left = atomic_xchg(&pc->pc_left, 0);

	if (!left)
		return;
	pc->pc_frames += left;
	if (++pc->pc_runs < RDS_COALESCE_RUNS)
		return;
	/* A run costs about a quarter of a transmission. */
	if (pc->pc_frames * 4 < pc->pc_runs * 5)
		WRITE_ONCE(pc->pc_rest, RDS_COALESCE_REST);
	pc->pc_frames = 0;
	pc->pc_runs = 0;
}
EXPORT_SYMBOL_RDS_KUNIT(rds_coalesce_end);
