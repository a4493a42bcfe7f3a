// SPDX-License-Identifier: GPL-2.0
/*
 * A server of TCP that sends back what it receives, for the peer of a host with
 * streams: echo PORT
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void serve(int fd)
{
	char buffer[4096];
	ssize_t got;

	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(fd, buffer, got) != got)
			break;
}

int main(int argc, char **argv)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1, fd;

	if (argc != 2)
		return 2;
	signal(SIGCHLD, SIG_IGN);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	name.sin_port = htons(atoi(argv[1]));
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) ||
	    listen(listener, 16))
		return 1;
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd >= 0 && !fork()) {
			serve(fd);
			_exit(0);
		}
		close(fd);
	}
}
