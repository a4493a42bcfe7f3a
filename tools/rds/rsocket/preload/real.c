// SPDX-License-Identifier: GPL-2.0
/* The calls behind those that this library intercepts */
#include <dlfcn.h>
#include <pthread.h>

#include "real.h"

static struct real calls;

#define FIND(_name) (calls._name = dlsym(RTLD_NEXT, #_name))

static void find_all(void)
{
	FIND(socket);
	FIND(listen);
	FIND(bind);
	FIND(connect);
	FIND(getsockopt);
	FIND(setsockopt);
	FIND(close);
	FIND(dup);
	FIND(dup2);
	FIND(dup3);
	FIND(fcntl);
	FIND(epoll_ctl);
	FIND(epoll_pwait);
	FIND(ppoll);
	FIND(pselect);
}

const struct real *real(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_all);
	return &calls;
}
