/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A writer of a reader-writer lock that prefers readers, of which one has it at any time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "truth.h"

enum { READERS = 3 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t end;

static void *read_again(void *number)
{
	prctl(PR_SET_NAME, "reader");
	usleep(10000 * (unsigned)(uintptr_t)number);
	while (now() < end) {
		pthread_rwlock_rdlock(&lock);
		usleep(40000);
		pthread_rwlock_unlock(&lock);
		usleep(500);
	}
	return NULL;
}

int main(void)
{
	pthread_t readers[READERS];
	uint64_t begin;

	end = now() + 900000000;
	for (uintptr_t i = 0; i < READERS; i++)
		pthread_create(&readers[i], NULL, read_again, (void *)i);
	prctl(PR_SET_NAME, "starved");
	usleep(100000);
	begin = now();
	pthread_rwlock_wrlock(&lock);
	tell("starved", begin, now());
	pthread_rwlock_unlock(&lock);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	return 0;
}
