/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A writer of a reader-writer lock that prefers readers, of which one has it at any time: a reader
 * keeps it until another one has it, too.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "truth.h"

enum { READERS = 3 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t end;
static atomic_int holders;

/* Takes one from the holders; false: there would be none. */
static bool may_leave(void)
{
	int count = holders;

	while (count > 1)
		if (atomic_compare_exchange_weak(&holders, &count, count - 1))
			return true;
	return false;
}

static void *read_again(void *number)
{
	prctl(PR_SET_NAME, "reader");
	usleep(10000 * (unsigned)(uintptr_t)number);
	while (now() < end) {
		pthread_rwlock_rdlock(&lock);
		holders++;
		do
			usleep(40000);
		while (!may_leave() && now() < end);
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
