// SPDX-License-Identifier: GPL-2.0
/*
 * A module that misbehaves on demand, to test that scripts/vm/run detects it: a
 * word written to /sys/kernel/debug/trouble selects how.
 */
#include <linux/debug_locks.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static DEFINE_SPINLOCK(trouble_lock);
static DEFINE_MUTEX(trouble_a);
static DEFINE_MUTEX(trouble_b);
static struct dentry *trouble_file;

static void trouble_warn(void)
{
	WARN(1, "trouble asked for\n");
}

static void trouble_oops(void)
{
	int __user *nowhere = NULL;

	WRITE_ONCE(*(int __force *)nowhere, 0);
}

static void trouble_leak(void)
{
	void *lost[8];
	int i;

	for (i = 0; i < ARRAY_SIZE(lost); i++)
		lost[i] = kmalloc(1000, GFP_KERNEL);
	OPTIMIZER_HIDE_VAR(lost[0]);
	memset(lost, 0, sizeof(lost));
	barrier_data(lost);
}

static void trouble_sleep(void)
{
	spin_lock(&trouble_lock);
	might_sleep();
	spin_unlock(&trouble_lock);
}

/* Lockdep needs to see each order only once. */
static void trouble_order(void)
{
	mutex_lock(&trouble_a);
	mutex_lock(&trouble_b);
	mutex_unlock(&trouble_b);
	mutex_unlock(&trouble_a);

	mutex_lock(&trouble_b);
	mutex_lock(&trouble_a);
	mutex_unlock(&trouble_a);
	mutex_unlock(&trouble_b);
}

static void trouble_use_after_free(void)
{
	char *p = kzalloc(100, GFP_KERNEL);

	OPTIMIZER_HIDE_VAR(p);
	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	READ_ONCE(p[10]);
}

/* As lockdep does when it runs out of a resource: without a report. */
static void trouble_locks_off(void)
{
	debug_locks_off();
}

static const struct {
	const char *word;
	void (*make)(void);
} troubles[] = {
	{ "warn", trouble_warn },
	{ "oops", trouble_oops },
	{ "leak", trouble_leak },
	{ "sleep", trouble_sleep },
	{ "order", trouble_order },
	{ "use-after-free", trouble_use_after_free },
	{ "locks-off", trouble_locks_off },
};

static ssize_t trouble_write(struct file *file, const char __user *buf,
			     size_t len, loff_t *pos)
{
	char word[20] = "";
	int i;

	if (len >= sizeof(word) || copy_from_user(word, buf, len))
		return -EINVAL;
	strim(word);
	for (i = 0; i < ARRAY_SIZE(troubles); i++) {
		if (strcmp(word, troubles[i].word))
			continue;
		troubles[i].make();
		return len;
	}
	return -EINVAL;
}

static const struct file_operations trouble_fops = {
	.owner = THIS_MODULE,
	.write = trouble_write,
};

static int __init trouble_init(void)
{
	trouble_file = debugfs_create_file("trouble", 0200, NULL, NULL,
					   &trouble_fops);
	return 0;
}

static void __exit trouble_exit(void)
{
	debugfs_remove(trouble_file);
}

module_init(trouble_init);
module_exit(trouble_exit);
MODULE_DESCRIPTION("Misbehaves on demand, for testing the guest runner");
MODULE_LICENSE("GPL");
