// SPDX-License-Identifier: GPL-2.0-only
/*
 * The map of cover.h, as a file: rds_cover in debugfs. To read it gives the
 * map, and to write anything clears it.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/string.h>

unsigned long rds_cover_map[RDS_COVER_WORDS];
EXPORT_SYMBOL_GPL(rds_cover_map);

static struct dentry *rds_cover_dentry;

static ssize_t rds_cover_read(struct file *file, char __user *to, size_t len,
			      loff_t *pos)
{
	return simple_read_from_buffer(to, len, pos, rds_cover_map,
				       sizeof(rds_cover_map));
}

static ssize_t rds_cover_write(struct file *file, const char __user *from,
			       size_t len, loff_t *pos)
{
	memset(rds_cover_map, 0, sizeof(rds_cover_map));
	return len;
}

static const struct file_operations rds_cover_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= rds_cover_read,
	.write	= rds_cover_write,
	.llseek	= default_llseek,
};

static int __init rds_cover_init(void)
{
	rds_cover_dentry = debugfs_create_file("rds_cover", 0600, NULL, NULL,
					       &rds_cover_fops);
	return PTR_ERR_OR_ZERO(rds_cover_dentry);
}

static void __exit rds_cover_exit(void)
{
	debugfs_remove(rds_cover_dentry);
}

module_init(rds_cover_init);
module_exit(rds_cover_exit);

MODULE_DESCRIPTION("RDS: coverage of its modules, for fuzzers");
MODULE_LICENSE("GPL");
