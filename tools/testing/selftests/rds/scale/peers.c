// SPDX-License-Identifier: GPL-2.0
/* A thousand RDS peers in one thread */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"
#include "peers.h"
#include "rds_test.h"
#include "steer.h"
#include "veth.h"
#include "wire.h"

#define FAR		"10.2.0.2"
#define PREFIX		16
#define LOW_NET		"10.1.0.0/16"
#define HIGH_NET	"10.3.0.0/16"
#define DARK_LOW_NET	"10.1.255.0/24"
#define DARK_HIGH_NET	"10.3.255.0/24"

#define LISTEN_PORT	7001	/* WIRE_TCP_PORT is steered to this port */
#define PLAIN_PORT	7000

#define TICK_MS		50

/* What epoll reports for sockets that are no peers */
enum {
	EVENT_LISTENER = 1 << 30,
	EVENT_COMMAND,
};

enum command {
	COMMAND_NONE,
	COMMAND_DOWN,
	COMMAND_UP,
	COMMAND_STOP,
};

struct peers {
	unsigned int nr;	/* of the honest ones */
	struct peer *all;
	int epoll;
	int listener;
	struct steer steer;
	int plain;
	int wake;		/* an eventfd: there is a command */
	bool down;
	bool ready;
	pthread_t thread;

	struct tally tally;

	pthread_mutex_t lock;
	pthread_cond_t changed;	/* for those that wait for the thread */
	enum command command;
};

static void __attribute__((noreturn)) die(const char *what)
{
	perror(what);
	exit(1);
}

/* Addresses */

static uint32_t silent_address(unsigned int i)
{
	switch (i) {
	case PEERS_HUNG:
		return 0x0a03fe01;	/* 10.3.254.1 */
	case PEERS_DARK:
		return 0x0a03ff01;
	case PEERS_DARK_LOW:
		return 0x0a01ff01;
	default:
		return 0x0a01fe01;
	}
}

struct in_addr peers_address(const struct peers *peers, unsigned int i)
{
	uint32_t net = i % 2 ? 0x0a030000 : 0x0a010000, host = i / 2;
	struct in_addr addr;

	if (i >= peers->nr)
		addr.s_addr = htonl(silent_address(i - peers->nr));
	else
		addr.s_addr = htonl(net | host / 250 << 8 | (host % 250 + 1));
	return addr;
}

static struct peer *peer_at(struct peers *peers, struct in_addr addr)
{
	unsigned int i;
	uint32_t low;

	for (i = peers->nr; i < peers->nr + PEERS_SILENT; i++)
		if (peers->all[i].addr.s_addr == addr.s_addr)
			return &peers->all[i];
	low = ntohl(addr.s_addr) & 0xffff;
	i = ((low >> 8) * 250 + (low & 0xff) - 1) * 2;
	if (ntohl(addr.s_addr) >> 16 == 0x0a03)
		i++;
	if (i >= peers->nr || peers->all[i].addr.s_addr != addr.s_addr)
		return NULL;
	return &peers->all[i];
}

/* The thread */

static void accept_all(struct peers *peers)
{
	struct sockaddr_in name;
	struct peer *peer;
	socklen_t len;
	int fd;

	while ((fd = accept4(peers->listener, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		len = sizeof(name);
		if (getsockname(fd, (struct sockaddr *)&name, &len))
			die("getsockname");
		peer = peer_at(peers, name.sin_addr);
		if (peer)
			peer_take(peer, fd);
		else
			peer_reset(fd);
	}
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in name = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	int fd, one = 1;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
	    listen(fd, 4096))
		die("the peers' listener");
	return fd;
}

static void watch(struct peers *peers, int fd, uint32_t who)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = who };

	if (epoll_ctl(peers->epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

static void open_listener(struct peers *peers)
{
	peers->listener = listen_at(LISTEN_PORT);
	if (steer_to(&peers->steer, peers->listener))
		die("the peers' listener");
	watch(peers, peers->listener, EVENT_LISTENER);
}

static void set_link(bool up)
{
	if (up ? rds_up(VETH_DEV) : rds_down(VETH_DEV))
		die("the peers' link");
}

static void go_down(struct peers *peers)
{
	unsigned int i;

	peers->down = true;
	close(peers->listener);
	peers->listener = -1;
	for (i = 0; i < peers->nr + PEERS_SILENT; i++) {
		peer_hang_up(&peers->all[i]);
		peers->all[i].dial_at = 0;
	}
	set_link(false);
}

static void come_up(struct peers *peers)
{
	struct peer *peer;
	unsigned int i;

	peers->down = false;
	set_link(true);
	open_listener(peers);
	for (i = 0; i < peers->nr; i++) {
		peer = &peers->all[i];
		if (peer_is_lower(peer) && peer->met)
			peer_dial(peer);
	}
}

/* Process a command. Return false if it was the last. */
static bool run_command(struct peers *peers)
{
	enum command command;
	eventfd_t nr;

	eventfd_read(peers->wake, &nr);
	pthread_mutex_lock(&peers->lock);
	command = peers->command;
	pthread_mutex_unlock(&peers->lock);
	if (command == COMMAND_DOWN)
		go_down(peers);
	else if (command == COMMAND_UP)
		come_up(peers);
	pthread_mutex_lock(&peers->lock);
	peers->command = COMMAND_NONE;
	pthread_cond_signal(&peers->changed);
	pthread_mutex_unlock(&peers->lock);
	return command != COMMAND_STOP;
}

static void redial(struct peers *peers)
{
	int64_t time = peer_now();
	unsigned int i;

	for (i = 0; i < peers->nr; i++)
		if (peers->all[i].dial_at && peers->all[i].dial_at <= time)
			peer_dial(&peers->all[i]);
}

static void run_all(const char *const *commands)
{
	for (; *commands; commands++) {
		if (system(*commands)) {
			fprintf(stderr, "failed: %s\n", *commands);
			exit(1);
		}
	}
}

/* In this namespace, any address of these networks is local. */
static const char *const make_far[] = {
	"ip route add local " LOW_NET " dev lo",
	"ip route add local " HIGH_NET " dev lo",
	"ip route add blackhole " DARK_LOW_NET " table local",
	"ip route add blackhole " DARK_HIGH_NET " table local",
	"sysctl -q -w net.core.somaxconn=4096",
	"sysctl -q -w net.ipv4.tcp_max_syn_backlog=4096",
	NULL
};

static const char *const make_near[] = {
	"ip route add " LOW_NET " via " FAR,
	"ip route add " HIGH_NET " via " FAR,
	NULL
};

static int set_up_end(const char *addr)
{
	return rds_up(VETH_DEV) || rds_address_on(VETH_DEV, addr, PREFIX);
}

/* Move this thread to a namespace that is joined to that of the program. */
static void leave(void)
{
	int near = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	if (near < 0 || rds_netns() || veth_join(near) || set_up_end(FAR))
		die("a network namespace for the peers");
	close(near);
}

static void settle_in(struct peers *peers)
{
	leave();
	run_all(make_far);
	if (steer_start(&peers->steer, WIRE_TCP_PORT))
		die("BPF at the look-up of sockets");
	open_listener(peers);
	peers->plain = listen_at(PLAIN_PORT);
	pthread_mutex_lock(&peers->lock);
	peers->ready = true;
	pthread_cond_signal(&peers->changed);
	pthread_mutex_unlock(&peers->lock);
}

static void *peers_main(void *data)
{
	struct peers *peers = data;
	struct epoll_event events[64];
	bool on = true;
	int i, nr;

	settle_in(peers);
	while (on) {
		nr = epoll_wait(peers->epoll, events, 64,
				peers->down ? -1 : TICK_MS);
		for (i = 0; i < nr; i++) {
			if (events[i].data.u32 == EVENT_LISTENER)
				accept_all(peers);
			else if (events[i].data.u32 == EVENT_COMMAND)
				on = run_command(peers);
			else
				peer_serve(&peers->all[events[i].data.u32]);
		}
		if (!peers->down)
			redial(peers);
	}
	return NULL;
}

/* Called by the test */

static void order(struct peers *peers, enum command command)
{
	pthread_mutex_lock(&peers->lock);
	peers->command = command;
	eventfd_write(peers->wake, 1);
	while (peers->command != COMMAND_NONE)
		pthread_cond_wait(&peers->changed, &peers->lock);
	pthread_mutex_unlock(&peers->lock);
}

void peers_go_down(struct peers *peers)
{
	order(peers, COMMAND_DOWN);
}

void peers_come_up(struct peers *peers)
{
	order(peers, COMMAND_UP);
}

int peers_plain_listener(const struct peers *peers, struct sockaddr_in *name)
{
	*name = (struct sockaddr_in) {
		.sin_family = AF_INET,
		.sin_port = htons(PLAIN_PORT),
	};
	inet_aton(FAR, &name->sin_addr);
	return peers->plain;
}

static void allow_files(unsigned int nr)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		die("limit of files");
	if (limit.rlim_cur >= nr)
		return;
	limit.rlim_cur = nr;
	if (limit.rlim_max < nr)
		limit.rlim_max = nr;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("limit of files");
}

static void join(struct peers *peers)
{
	pthread_mutex_lock(&peers->lock);
	while (!peers->ready)
		pthread_cond_wait(&peers->changed, &peers->lock);
	pthread_mutex_unlock(&peers->lock);
	if (set_up_end(PEERS_HOST))
		die("the link to the peers");
	run_all(make_near);
}

static void make_peers(struct peers *peers, unsigned int nr)
{
	struct peer *peer;
	unsigned int i;

	peers->nr = nr;
	peers->all = calloc(nr + PEERS_SILENT, sizeof(*peers->all));
	if (!peers->all)
		die("peers");
	for (i = 0; i < nr + PEERS_SILENT; i++) {
		peer = &peers->all[i];
		peer->index = i;
		peer->addr = peers_address(peers, i);
		inet_aton(PEERS_HOST, &peer->host);
		peer->silent = i >= nr;
		peer->epoll = peers->epoll;
		peer->tally = &peers->tally;
		peer->fd = -1;
	}
}

struct peers *peers_start(unsigned int nr)
{
	struct peers *peers = calloc(1, sizeof(*peers));

	allow_files(4 * nr + 100);
	pthread_mutex_init(&peers->lock, NULL);
	pthread_cond_init(&peers->changed, NULL);
	tally_init(&peers->tally);
	peers->epoll = epoll_create1(EPOLL_CLOEXEC);
	peers->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	watch(peers, peers->wake, EVENT_COMMAND);
	make_peers(peers, nr);
	if (pthread_create(&peers->thread, NULL, peers_main, peers))
		die("the peers' thread");
	join(peers);
	return peers;
}

struct tally *peers_tally(struct peers *peers)
{
	return &peers->tally;
}

void peers_stop(struct peers *peers)
{
	unsigned int i;

	order(peers, COMMAND_STOP);
	pthread_join(peers->thread, NULL);
	for (i = 0; i < peers->nr + PEERS_SILENT; i++)
		peer_hang_up(&peers->all[i]);
	if (peers->listener >= 0)
		close(peers->listener);
	steer_stop(&peers->steer);
	close(peers->plain);
	close(peers->wake);
	close(peers->epoll);
	free(peers->all);
	free(peers);
}
