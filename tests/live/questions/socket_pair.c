/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program asks its helper ten times through a socket pair. One answer takes longer. The helper
 * is awake when that question comes and has taken it before the program waits, so that the
 * question wakes nobody.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "truth.h"

enum { QUESTIONS = 10, SLOW = QUESTIONS / 2 };

static atomic_int *taken;

static ssize_t take(int end, int i)
{
	ssize_t got;
	char byte;

	if (i != SLOW)
		return read(end, &byte, 1);
	do
		got = recv(end, &byte, 1, MSG_DONTWAIT);
	while (got < 0);
	*taken = 1;
	return got;
}

static void help(int end)
{
	char byte = 1;

	prctl(PR_SET_NAME, "pairhelp");
	for (int i = 0; take(end, i) == 1; i++) {
		usleep(i == SLOW ? 250000 : 30000);
		if (write(end, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static int ask(int end, int i)
{
	char byte = 1;

	if (write(end, &byte, 1) != 1)
		return -1;
	while (i == SLOW && !*taken)
		;
	return read(end, &byte, 1) == 1 ? 0 : -1;
}

int main(void)
{
	uint64_t from = 0, to = 0;
	int ends[2];

	taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (taken == MAP_FAILED || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	if (!fork()) {
		close(ends[1]);
		help(ends[0]);
	}
	close(ends[0]);
	prctl(PR_SET_NAME, "pairasks");
	for (int i = 0; i < QUESTIONS; i++) {
		uint64_t begin = now();

		if (ask(ends[1], i))
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
