// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of the points of fail.h, as a file: rds_fail in debugfs. Each of
 * its lines is a point that has been reached at least once: its number, how
 * often it has been reached, how often it has failed, and its name.
 *
 * "NUMBER N", written to the file, has the point fail when it is reached the
 * Nth time from then on, once. "0 N" has the Nth point fail that is reached,
 * whichever it is. With "N M" instead of N, every Mth fails after that; then
 * what system calls reach does neither count nor fail, so that programs run
 * which do not expect it. "0 0" has none fail.
 *
 * The table outlives the modules that have the points, so that they can be
 * loaded again. A point has its number for as long as its module is loaded, and
 * gets the same one next time, by its name.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

/* What this file calls is no point. */
#undef copy_from_user

#define RDS_FAIL_POINTS	1024
#define RDS_FAIL_NAME	80
#define RDS_FAIL_NONE	(-1)	/* not a point of ours */

struct rds_fail_entry {
	char		fe_name[RDS_FAIL_NAME];
	unsigned long	fe_reached;
	unsigned long	fe_failed;
};

/* Protected by rds_fail_lock; the number of a point is its index and 1. */
static struct rds_fail_entry rds_fail_table[RDS_FAIL_POINTS];
static int rds_fail_nr;

/* The point that is to fail, 0 for any; in how many times, 0 for never; and in
 * how many again
 */
static int rds_fail_id;
static unsigned int rds_fail_in, rds_fail_again;

static DEFINE_RAW_SPINLOCK(rds_fail_lock);
static struct dentry *rds_fail_dentry;

/* Points in headers of the kernel are not ours. */
static int rds_fail_find(const char *name)
{
	const char *ours = strstr(name, "include/net/rds/") ?:
			   strstr(name, "net/rds/");
	int i;

	if (!ours)
		return RDS_FAIL_NONE;
	for (i = 0; i < rds_fail_nr; i++)
		if (!strcmp(rds_fail_table[i].fe_name, ours))
			return i + 1;
	if (rds_fail_nr == RDS_FAIL_POINTS)
		return RDS_FAIL_NONE;
	strscpy(rds_fail_table[rds_fail_nr].fe_name, ours, RDS_FAIL_NAME);
	return ++rds_fail_nr;
}

static bool rds_fail_now(int id)
{
	if (rds_fail_again && in_task() && !(current->flags & PF_KTHREAD))
		return false;
	if (!rds_fail_in || (rds_fail_id && rds_fail_id != id) ||
	    --rds_fail_in)
		return false;
	rds_fail_in = rds_fail_again;
	return true;
}

/**
 * rds_fail() - Count that a point is reached
 * @point: the point
 * @name: its file, line and function
 *
 * Context: Any context but NMI.
 * Return: whether the point is to fail.
 */
bool rds_fail(struct rds_fail_point *point, const char *name)
{
	struct rds_fail_entry *entry;
	unsigned long flags;
	bool fails = false;

	raw_spin_lock_irqsave(&rds_fail_lock, flags);
	if (!point->id)
		point->id = rds_fail_find(name);
	if (point->id != RDS_FAIL_NONE) {
		entry = &rds_fail_table[point->id - 1];
		entry->fe_reached++;
		fails = rds_fail_now(point->id);
		entry->fe_failed += fails;
	}
	raw_spin_unlock_irqrestore(&rds_fail_lock, flags);
	return fails;
}
EXPORT_SYMBOL_GPL(rds_fail);

static int rds_fail_show(struct seq_file *m, void *unused)
{
	struct rds_fail_entry entry;
	int i, nr;

	raw_spin_lock_irq(&rds_fail_lock);
	nr = rds_fail_nr;
	raw_spin_unlock_irq(&rds_fail_lock);
	for (i = 0; i < nr; i++) {
		raw_spin_lock_irq(&rds_fail_lock);
		entry = rds_fail_table[i];
		raw_spin_unlock_irq(&rds_fail_lock);
		seq_printf(m, "%d %lu %lu %s\n", i + 1, entry.fe_reached,
			   entry.fe_failed, entry.fe_name);
	}
	return 0;
}

static int rds_fail_open(struct inode *inode, struct file *file)
{
	return single_open(file, rds_fail_show, NULL);
}

static ssize_t rds_fail_write(struct file *file, const char __user *from,
			      size_t len, loff_t *pos)
{
	unsigned int id, in, again = 0;
	char text[32] = "";

	if (len >= sizeof(text) || copy_from_user(text, from, len) ||
	    sscanf(text, "%u %u %u", &id, &in, &again) < 2 ||
	    id > RDS_FAIL_POINTS)
		return -EINVAL;
	raw_spin_lock_irq(&rds_fail_lock);
	rds_fail_id = id;
	rds_fail_in = in;
	rds_fail_again = again;
	raw_spin_unlock_irq(&rds_fail_lock);
	return len;
}

static const struct file_operations rds_fail_fops = {
	.owner		= THIS_MODULE,
	.open		= rds_fail_open,
	.read		= seq_read,
	.write		= rds_fail_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static int __init rds_fail_init(void)
{
	rds_fail_dentry = debugfs_create_file("rds_fail", 0600, NULL, NULL,
					      &rds_fail_fops);
	return PTR_ERR_OR_ZERO(rds_fail_dentry);
}

static void __exit rds_fail_exit(void)
{
	debugfs_remove(rds_fail_dentry);
}

module_init(rds_fail_init);
module_exit(rds_fail_exit);

MODULE_DESCRIPTION("RDS: failures of single calls, for tests");
MODULE_LICENSE("GPL");
