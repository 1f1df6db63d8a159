// SPDX-License-Identifier: GPL-2.0
/*
 * A program that loads a library with RTLD_DEEPBIND, as PHP does each extension, and
 * has it connect: deepbind ADDRESS PORT.  Says by what that goes.  Built twice: with
 * -DLIBRARY it is the library, which is found by the program's own DT_RUNPATH alone.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "lib/is_sdp.h"

int deepbind_connect(const char *host, int port);

#ifdef LIBRARY

int deepbind_connect(const char *host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sdp_info info = { };
	socklen_t len = sizeof(info);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, host, &a.sin_addr);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		perror("connect");
		return 1;
	}
	if (!getsockopt(fd, SOL_IP, IP_SDP_INFO, &info, &len) &&
	    info_is_sdp(&info))
		puts("sdp");
	else
		puts("tcp");
	return 0;
}

#else

int main(int argc, char **argv)
{
	int (*connects)(const char *host, int port);
	void *library = dlopen("deepbind.so", RTLD_NOW | RTLD_DEEPBIND);

	if (argc != 3 || !library) {
		fprintf(stderr, "deepbind: %s\n", library ? "ADDRESS PORT" : dlerror());
		return 2;
	}
	connects = dlsym(library, "deepbind_connect");
	return connects ? connects(argv[1], atoi(argv[2])) : 2;
}

#endif
