/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program asks its helper ten times through a socket pair. One answer takes longer. */
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "truth.h"

enum { QUESTIONS = 10 };

static void help(int end)
{
	char byte;

	prctl(PR_SET_NAME, "pairhelp");
	for (int i = 0; read(end, &byte, 1) == 1; i++) {
		usleep(i == QUESTIONS / 2 ? 250000 : 30000);
		if (write(end, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

int main(void)
{
	uint64_t from = 0, to = 0;
	char byte = 1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (!fork()) {
		close(ends[1]);
		help(ends[0]);
	}
	close(ends[0]);
	prctl(PR_SET_NAME, "pairasks");
	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t begin = now();

		if (write(ends[1], &byte, 1) != 1 || read(ends[1], &byte, 1) != 1)
			return 1;
		if (now() - begin > to - from) {
			from = begin;
			to = now();
		}
		for (volatile int k = 0; k < 2000000; k++)
			;
	}
	tell("pairasks", from, to);
	return 0;
}
