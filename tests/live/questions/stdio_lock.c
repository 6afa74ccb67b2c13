/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread waits for the lock of a FILE, as another one writes it to a pipe that is read slowly. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "truth.h"

static FILE *file;
static char text[300000];

static void *archive(void *unused)
{
	prctl(PR_SET_NAME, "archiver");
	memset(text, 'x', sizeof(text) - 1);
	fprintf(file, "%s\n", text);
	fflush(file);
	return unused;
}

static void read_slowly(int from)
{
	static char bytes[65536];

	prctl(PR_SET_NAME, "logsink");
	for (int parts = 0; read(from, bytes, sizeof(bytes)) > 0; parts++)
		if (!parts)
			usleep(500000);
	_exit(0);
}

int main(void)
{
	pthread_t archiver;
	uint64_t begin;
	int ends[2];

	if (pipe(ends))
		return 1;
	if (!fork()) {
		close(ends[1]);
		read_slowly(ends[0]);
	}
	close(ends[0]);
	file = fdopen(ends[1], "w");
	prctl(PR_SET_NAME, "logwriter");
	pthread_create(&archiver, NULL, archive, NULL);
	usleep(100000);
	begin = now();
	fprintf(file, "hello\n");
	tell("logwriter", begin, now());
	pthread_join(archiver, NULL);
	return 0;
}
