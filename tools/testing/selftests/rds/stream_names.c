// SPDX-License-Identifier: GPL-2.0
/* Names of streams whose address says little: of no host, or of one link */
#include "stream_pair.h"

#include <net/if.h>

#define PORT	4000
/* Streams that have ended may keep their port for a minute. */
#define SERVER_PORT	4001
/* All addresses of IPv4, in a name of IPv6 */
#define MAPPED_ANY	"::ffff:0.0.0.0"
#define MAPPED_LOOP	"::ffff:127.0.0.1"
/*
 * Link-local addresses of the two ends, and another one of the far end, which
 * the near end reaches from its link-local one
 */
#define NEAR_LINK	"fe80::a"
#define FAR_LINK	"fe80::b"
#define FAR_GLOBAL	"fd02::b"

/* Open a socket of IPv6 alone. */
static int v6only_socket(void)
{
	int fd = stream_socket("::");

	if (fd >= 0 && rds_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Close the socket, and return the result of its bind(2). */
static long bind_and_close(int fd, const char *addr, unsigned int port)
{
	long ret = ERR(rds_bind(fd, rds_name(addr, port)));

	close(fd);
	return ret;
}

/* Return the result of bind(2) or connect(2) of a new socket. */
static long try_bind(const char *addr, unsigned int port)
{
	return bind_and_close(stream_socket(addr), addr, port);
}

static long try_connect(const char *addr, unsigned int port)
{
	int fd = stream_socket(addr);
	long ret = ERR(rds_connect(fd, rds_name(addr, port)));

	close(fd);
	return ret;
}

/*
 * Connect a socket that is bound to @from to @to, and check the names of its
 * ends, both of which are @loop.
 */
static bool goes_to(const char *from, const char *to, const char *loop)
{
	int listener = stream_listener(loop, 0);
	struct rds_name name = rds_sockname(listener);
	unsigned int port = rds_port(&name);
	int b = -1, a = stream_bound(from, 0);
	bool good = false;

	if (!rds_connect(a, rds_name(to, port))) {
		struct rds_name expected = rds_name(loop, port);
		struct rds_name local = rds_sockname(a), near;

		b = stream_accept(listener);
		name = rds_peername(a);
		near = rds_name(loop, rds_port(&local));
		good = rds_name_eq(&name, &expected) &&
		       rds_name_eq(&local, &near) && stream_works(a, b);
	}
	close(a);
	close(b);
	close(listener);
	return good;
}

TEST(mapped_wildcard_keeps_its_name)
{
	int fd = stream_bound(MAPPED_ANY, 0);
	struct rds_name expected, name = rds_sockname(fd);

	ASSERT_LE(0, fd);
	expected = rds_name(MAPPED_ANY, rds_port(&name));
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	ASSERT_EQ(0, listen(fd, 1));
	name = rds_sockname(fd);
	EXPECT_TRUE(rds_name_eq(&name, &expected));
	close(fd);
}

TEST(mapped_wildcard_takes_only_ipv4)
{
	int listener = stream_listener(MAPPED_ANY, 0);
	struct rds_name name = rds_sockname(listener);
	unsigned int port = rds_port(&name);

	ASSERT_LE(0, listener);
	EXPECT_EQ(-ECONNREFUSED, try_connect("::1", port));
	EXPECT_EQ(-ECONNREFUSED, try_connect("::", port));
	EXPECT_EQ(0, try_connect("127.0.0.1", port));
	EXPECT_EQ(0, try_connect("0.0.0.0", port));
	EXPECT_EQ(0, try_connect(MAPPED_LOOP, port));
	EXPECT_EQ(0, try_connect(MAPPED_ANY, port));
	close(listener);
}

/* A listener of IPv6 alone can have the same port. */
TEST(both_wildcards_at_one_port)
{
	int v4 = stream_listener(MAPPED_ANY, SERVER_PORT);
	int a4 = stream_socket("::"), a6 = stream_socket("::");
	int b, v6 = v6only_socket();

	ASSERT_LE(0, v4);
	ASSERT_EQ(0, ERR(rds_bind(v6, rds_name("::", SERVER_PORT))));
	ASSERT_EQ(0, ERR(listen(v6, 1)));
	ASSERT_EQ(0, ERR(rds_connect(a4, rds_name(MAPPED_LOOP, SERVER_PORT))));
	b = stream_accept(v4);
	EXPECT_TRUE(stream_works(a4, b));
	close(b);
	ASSERT_EQ(0, ERR(rds_connect(a6, rds_name("::1", SERVER_PORT))));
	b = stream_accept(v6);
	EXPECT_TRUE(stream_works(a6, b));
	close(b);
	close(a4);
	close(a6);
	close(v4);
	close(v6);
}

/* What can be bound beside the mapped wildcard, whichever comes first */
TEST(ports_beside_the_mapped_wildcard)
{
	static const struct {
		const char *addr;
		bool v6only;
		long ret;
	} others[] = {
		{ "::1", false, 0 },
		{ "::1", true, 0 },
		{ "::", false, -EADDRINUSE },
		{ "::", true, 0 },
		{ "0.0.0.0", false, -EADDRINUSE },
		{ "127.0.0.1", false, -EADDRINUSE },
		{ MAPPED_LOOP, false, -EADDRINUSE },
		{ MAPPED_ANY, false, -EADDRINUSE },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		const char *addr = others[i].addr;
		int fd = stream_bound(MAPPED_ANY, PORT);

		ASSERT_LE(0, fd);
		EXPECT_EQ(others[i].ret,
			  bind_and_close(others[i].v6only ? v6only_socket() :
					 stream_socket(addr), addr, PORT))
			TH_LOG("%s after the wildcard", addr);
		close(fd);

		fd = others[i].v6only ? v6only_socket() : stream_socket(addr);
		ASSERT_EQ(0, ERR(rds_bind(fd, rds_name(addr, PORT))));
		EXPECT_EQ(others[i].ret, try_bind(MAPPED_ANY, PORT))
			TH_LOG("%s before the wildcard", addr);
		close(fd);
	}
}

TEST(v6only_refuses_the_mapped_wildcard)
{
	int fd = v6only_socket();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, rds_name(MAPPED_ANY, PORT))));
	EXPECT_EQ(-EINVAL, ERR(rds_bind(fd, rds_name(MAPPED_ANY, 0))));
	EXPECT_EQ(-ENETUNREACH,
		  ERR(rds_connect(fd, rds_name(MAPPED_ANY, PORT))));
	EXPECT_EQ(0, ERR(rds_bind(fd, rds_name("::", PORT))));
	close(fd);
}

/* A wildcard as destination is this host, at an address of a family that the
 * source can have.
 */
TEST(wildcards_as_destination)
{
	EXPECT_TRUE(goes_to("::", "::", "::1"));
	EXPECT_TRUE(goes_to("::", MAPPED_ANY, MAPPED_LOOP));
	EXPECT_TRUE(goes_to("::1", "::", "::1"));
	EXPECT_TRUE(goes_to(MAPPED_ANY, MAPPED_LOOP, MAPPED_LOOP));
	EXPECT_TRUE(goes_to(MAPPED_ANY, MAPPED_ANY, MAPPED_LOOP));
	EXPECT_TRUE(goes_to(MAPPED_ANY, "::", MAPPED_LOOP));
	EXPECT_TRUE(goes_to(MAPPED_LOOP, "::", MAPPED_LOOP));
	EXPECT_TRUE(goes_to("0.0.0.0", "0.0.0.0", "127.0.0.1"));
}

/* Return the result of connect(2) of a socket that is bound to @from. */
static long try_from(const char *from, const char *to)
{
	int fd = stream_bound(from, 0);
	long ret = ERR(rds_connect(fd, rds_name(to, PORT)));

	close(fd);
	return ret;
}

TEST(families_do_not_mix)
{
	EXPECT_EQ(-EAFNOSUPPORT, try_from(MAPPED_LOOP, "::1"));
	EXPECT_EQ(-EAFNOSUPPORT, try_from(MAPPED_ANY, "::1"));
	EXPECT_EQ(-ENETUNREACH, try_from("::1", MAPPED_LOOP));
	EXPECT_EQ(-ENETUNREACH, try_from("::1", MAPPED_ANY));
}

/* An attempt that fails leaves the choice of the user. */
TEST(wildcard_after_a_failure)
{
	int fd = stream_bound(MAPPED_ANY, 0);
	struct rds_name name = rds_sockname(fd);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ECONNREFUSED, ERR(rds_connect(fd, rds_name(MAPPED_LOOP,
							      PORT))));
	ASSERT_EQ(0, ERR(listen(fd, 1)));
	name = rds_sockname(fd);
	EXPECT_EQ(0, try_connect(MAPPED_LOOP, rds_port(&name)));
	EXPECT_EQ(-ECONNREFUSED, try_connect("::1", rds_port(&name)));
	close(fd);
}

FIXTURE(link) {
	unsigned int near_dev;	/* index of the device of the near end */
	unsigned int far_dev;
	char near[64];		/* the link-local addresses with their scopes */
	char far[64];		/* as the near end writes it */
};

FIXTURE_SETUP(link)
{
	ASSERT_EQ(0, rds_netns());
	/* Let the devices have different indices. */
	ASSERT_EQ(0, system("ip link add spare0 type veth peer spare1"));
	ASSERT_EQ(0, ERR(veth_setup()));
	ASSERT_EQ(0, rds_address_on(VETH_DEV, NEAR_LINK, 64));
	ASSERT_EQ(0, system("ip route add " FAR_GLOBAL " dev " VETH_DEV
			    " src " NEAR_LINK));
	self->near_dev = if_nametoindex(VETH_DEV);
	snprintf(self->near, sizeof(self->near), NEAR_LINK "%%%u",
		 self->near_dev);
	snprintf(self->far, sizeof(self->far), FAR_LINK "%%%u",
		 self->near_dev);
	ASSERT_EQ(0, veth_cross());
	ASSERT_EQ(0, rds_address_on(VETH_DEV, FAR_LINK, 64));
	ASSERT_EQ(0, rds_address_on(VETH_DEV, FAR_GLOBAL, 128));
	self->far_dev = if_nametoindex(VETH_DEV);
	ASSERT_EQ(0, veth_back());
	ASSERT_NE(self->near_dev, self->far_dev);
}

FIXTURE_TEARDOWN(link)
{
}

/*
 * Connect a socket that is bound to @from, which may be the wildcard, to the
 * address @to of the far end, where a socket listens at @at. The near end of
 * the stream must be our link-local address.
 */
static bool link_works(FIXTURE_DATA(link) *self, const char *from,
		       const char *to, const char *at)
{
	struct rds_name name, near, far;
	int a, b = -1, listener;
	bool good = false;

	if (veth_cross())
		return false;
	listener = stream_listener(at, 0);
	name = rds_sockname(listener);
	if (veth_back())
		abort();
	a = stream_bound(from, 0);
	if (!rds_connect(a, rds_name(to, rds_port(&name)))) {
		b = stream_accept(listener);
		name = rds_name(to, rds_port(&name));
		far = rds_peername(a);
		good = rds_name_eq(&far, &name);
		near = rds_sockname(a);
		/* At the far end, the scopes are of that end. */
		far = rds_peername(b);
		name = rds_name(NEAR_LINK, rds_port(&near));
		name.in6.sin6_scope_id = self->far_dev;
		good = good && rds_name_eq(&far, &name) && stream_works(a, b);
	}
	close(a);
	close(b);
	close(listener);
	return good;
}

TEST_F(link, both_ends)
{
	EXPECT_TRUE(link_works(self, self->near, self->far, "::"));
	EXPECT_TRUE(link_works(self, "::", self->far, "::"));
}

TEST_F(link, one_end_that_is_bound)
{
	EXPECT_TRUE(link_works(self, self->near, VETH_FAR_IPV6, "::"));
	EXPECT_TRUE(link_works(self, self->near, VETH_FAR_IPV6,
			       VETH_FAR_IPV6));
}

TEST_F(link, source_of_a_route)
{
	EXPECT_TRUE(link_works(self, "::", FAR_GLOBAL, "::"));
	EXPECT_TRUE(link_works(self, "::", FAR_GLOBAL, FAR_GLOBAL));
}

TEST_HARNESS_MAIN
