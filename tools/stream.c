/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One process sends to another over TCP on loopback as fast as it can.
 *
 * Usage: stream SECONDS; prints "BYTES SECONDS", as the receiver counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buffer[128 * 1024];

static uint64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
}

static int check(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
		exit(3);
	}
	return result;
}

static void send_until(int fd, uint64_t end)
{
	while (now_ns() < end)
		if (write(fd, buffer, sizeof(buffer)) < 0)
			break;
	_exit(0);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	uint64_t start, bytes = 0;
	int listener, fd;
	ssize_t got;

	if (argc != 2) {
		fprintf(stderr, "usage: stream SECONDS\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	listener = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
	check(bind(listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	check(listen(listener, 1), "listen");
	check(getsockname(listener, (struct sockaddr *)&address, &size), "getsockname");
	start = now_ns();
	if (check(fork(), "fork") == 0) {
		fd = check(socket(AF_INET, SOCK_STREAM, 0), "socket");
		check(connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
		send_until(fd, start + (uint64_t)(atof(argv[1]) * 1e9));
	}
	fd = check(accept(listener, NULL, NULL), "accept");
	while ((got = read(fd, buffer, sizeof(buffer))) > 0)
		bytes += (uint64_t)got;
	printf("%llu %.6f\n", (unsigned long long)bytes, (double)(now_ns() - start) / 1e9);
	wait(NULL);
	return 0;
}
