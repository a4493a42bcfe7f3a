/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fixture of most tests of streams: a connected stream, and the listening
 * socket that it came from. Each test runs once for every transport and address
 * family listed here.
 *
 * The variants are those of pair.h, and so are the places of the two ends: over
 * TCP, the far end is in a network namespace of its own. Over RDMA, both ends
 * are in the initial namespace. Sockets of TCP (see stream.h) have no variants
 * over RDMA.
 */
#ifndef RDS_STREAM_PAIR_H
#define RDS_STREAM_PAIR_H

#include "harness.h"
#include "roce.h"
#include "stream.h"
#include "veth.h"

FIXTURE(stream) {
	int listener;		/* at the far end */
	int a;			/* the near end, which has connected */
	int b;			/* the far end, which was accepted */
	struct rds_name name;	/* of the listener */
};

FIXTURE_VARIANT(stream) {
	const char *a;		/* address of the near end */
	const char *b;		/* address of the far end */
	const char *any;	/* the unspecified address of the family */
	const char *stranger;	/* same family, on no host */
	bool ipv6;
	bool apart;		/* the ends are in two namespaces */
	bool device;		/* they use an RDMA device */
};

FIXTURE_VARIANT_ADD(stream, loop_ipv4) {
	.a = "127.0.0.1",
	.b = "127.0.0.1",
	.any = "0.0.0.0",
	.stranger = "198.51.100.1",
};

FIXTURE_VARIANT_ADD(stream, loop_ipv6) {
	.a = "::1",
	.b = "::1",
	.any = "::",
	.stranger = "2001:db8::1",
	.ipv6 = true,
};

FIXTURE_VARIANT_ADD(stream, tcp_ipv4) {
	.a = VETH_NEAR_IPV4,
	.b = VETH_FAR_IPV4,
	.any = "0.0.0.0",
	.stranger = "198.51.100.1",
	.apart = true,
};

FIXTURE_VARIANT_ADD(stream, tcp_ipv6) {
	.a = VETH_NEAR_IPV6,
	.b = VETH_FAR_IPV6,
	.any = "::",
	.stranger = "2001:db8::1",
	.ipv6 = true,
	.apart = true,
};

FIXTURE_VARIANT_ADD(stream, ib_ipv4) {
	.a = ROCE_NEAR_IPV4,
	.b = ROCE_FAR_IPV4,
	.any = "0.0.0.0",
	.stranger = "198.51.100.1",
	.device = true,
};

FIXTURE_VARIANT_ADD(stream, ib_ipv6) {
	.a = ROCE_NEAR_IPV6,
	.b = ROCE_FAR_IPV6,
	.any = "::",
	.stranger = "2001:db8::1",
	.ipv6 = true,
	.device = true,
};

static inline bool stream_wants(const char *variant)
{
	return rds_wants_variant(variant) &&
	       (strncmp(variant, "ib_", 3) ||
		(rds_wants_device() && !stream_over_inet()));
}

/*
 * Run this once per program, because a debug kernel is slow, and after the
 * constructor of harness.h.
 */
static void __attribute__((constructor)) stream_enter_netns(void)
{
	rds_choose_variants(&_stream_fixture_object, stream_wants);
	if (stream_over_inet()) {
		if (!veth_setup())
			return;
		perror("Cannot join two network namespaces");
	} else if (stream_load()) {
		perror("Cannot load the module rds_stream");
	} else if (!veth_connect()) {
		perror("Cannot connect two network namespaces by RDS over TCP");
	} else if (rds_wants_device() && !roce_connect()) {
		perror("Cannot connect an RDMA device to itself by RDS");
	} else {
		return;
	}
	exit(KSFT_FAIL);
}

/* Open an unbound socket at the far end. */
static inline int stream_far_socket(const FIXTURE_VARIANT(stream) *variant)
{
	int fd;

	if (variant->apart && veth_cross())
		return -1;
	fd = stream_socket(variant->b);
	if (variant->apart && veth_back())
		abort();
	return fd;
}

/* Open a listening socket at the far end. */
static inline int stream_far_listener(const FIXTURE_VARIANT(stream) *variant,
				      unsigned int port)
{
	int fd, err;

	if (variant->apart && veth_cross())
		return -1;
	fd = stream_listener(variant->b, port);
	err = errno;
	if (variant->apart && veth_back())
		abort();
	errno = err;
	return fd;
}

/* Open a socket at the near end, and connect it to @name. */
static inline int stream_connected(const FIXTURE_VARIANT(stream) *variant,
				   struct rds_name name)
{
	int fd, err;

	/* Both addresses of the device are on this host, so that the route
	 * to one of them does not begin at the other.
	 */
	fd = variant->device ? stream_bound(variant->a, 0) :
			       stream_socket(variant->a);
	if (fd < 0 || !rds_connect(fd, name))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/* Open one more stream. Its ends are put into @a and @b. */
static inline bool stream_open(FIXTURE_DATA(stream) *self,
			       const FIXTURE_VARIANT(stream) *variant, int *a,
			       int *b)
{
	*a = stream_connected(variant, self->name);
	*b = *a < 0 ? -1 : stream_accept(self->listener);
	return *b >= 0;
}

FIXTURE_SETUP(stream)
{
	if (variant->device)
		ASSERT_EQ(0, roce_enter());
	self->listener = stream_far_listener(variant, 0);
	ASSERT_LE(0, self->listener);
	self->name = rds_sockname(self->listener);
	ASSERT_TRUE(stream_open(self, variant, &self->a, &self->b));
}

FIXTURE_TEARDOWN(stream)
{
	close(self->a);
	close(self->b);
	close(self->listener);
}

/* Close one end. The fixture closes the other one. */
static inline void stream_close(int *fd)
{
	close(*fd);
	*fd = -1;
}

#endif /* RDS_STREAM_PAIR_H */
