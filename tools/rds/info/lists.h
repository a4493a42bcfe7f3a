/* SPDX-License-Identifier: GPL-2.0 */
/* The lists that the kernel returns, as tables of columns */
#ifndef RDS_INFO_LISTS_H
#define RDS_INFO_LISTS_H

#include <stdbool.h>
#include <stddef.h>

enum kind {
	KIND_U8,
	KIND_U32,
	KIND_U64,
	KIND_PORT,
	KIND_ADDR4,
	KIND_ADDR6,
	KIND_MAPPED,		/* IPv4-mapped IPv6, printed as IPv4 */
	KIND_TEXT,
	KIND_FLAGS,
	KIND_AGE,		/* milliseconds */
	KIND_STATE,
	KIND_REASON,
	KIND_STREAM,		/* state of a stream */
	KIND_HALVES,		/* flags of a stream */
};

/* A column without a title ends a list. */
struct column {
	const char	*title;
	const char	*key;
	enum kind	kind;
	int		width;		/* negative: left-aligned */
	size_t		offset;
	size_t		size;
	bool		verbose;	/* only with -v */
};

/* One form of a list: the number of its socket option, and its columns */
struct query {
	int			id;
	const struct column	*columns;
	bool			mixed;	/* also has IPv6 records, omitted */
};

struct source {
	char		letter;
	const char	*title;
	const char	*key;
	struct query	v4;
	struct query	v6;	/* id 0: the list has no IPv6 form */
	const char	*missing;	/* message if the kernel lacks it */
	bool		wanted;
};

#define NR_SOURCES 10

extern struct source sources[NR_SOURCES];

#endif /* RDS_INFO_LISTS_H */
