/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Functions to be traced: a thread parses for 30 ms, wants in store() a mutex that another thread
 * has, which writes a file in flush() meanwhile, and works for 10 ms in none of them. Prints
 * what it saw of itself: times of its own CPU clock, and CLOCK_MONOTONIC around the wait.
 *
 * Argument: a file to write.
 */
#include "workload.h"

#include <inttypes.h>

#define MS	1000000ull
#define PARSES	(30 * MS)
#define OUTSIDE (10 * MS)
#define HOLDS	(20 * MS)

void parse(uint64_t ns);
void store(void);
void flush(int file);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool held, wants;
static uint64_t wait_from, wait_to, flush_from, flush_to;
static _Atomic int holder_tid;

static uint64_t clock_of(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Works for so long by the thread's own clock. */
static void work(uint64_t ns)
{
	uint64_t until = clock_of(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

__attribute__((noinline, noclone)) void parse(uint64_t ns)
{
	work(ns);
}

__attribute__((noinline, noclone)) void store(void)
{
	wants = true;
	wait_from = clock_of(CLOCK_MONOTONIC);
	pthread_mutex_lock(&lock);
	wait_to = clock_of(CLOCK_MONOTONIC);
	pthread_mutex_unlock(&lock);
}

/* Writes until the other thread has waited for long enough. */
__attribute__((noinline, noclone)) void flush(int file)
{
	static char page[1 << 16];
	uint64_t until;

	flush_from = clock_of(CLOCK_MONOTONIC);
	until = flush_from + HOLDS;
	do {
		if (pwrite(file, page, sizeof(page), 0) != sizeof(page) || fsync(file) < 0)
			_exit(1);
		flush_to = clock_of(CLOCK_MONOTONIC);
	} while (flush_to < until);
}

static void *hold(void *argument)
{
	holder_tid = (int)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	held = true;
	while (!wants)
		sched_yield();
	flush(*(int *)argument);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t begin, own[4], stolen = wl_nobodys_time(-1);
	pthread_t holder;
	int file = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;

	if (file < 0) {
		fputs("functions: FILE: a file to write\n", stderr);
		return 2;
	}
	pthread_create(&holder, NULL, hold, &file);
	while (!held)
		sched_yield();
	begin = clock_of(CLOCK_MONOTONIC);
	own[0] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	parse(PARSES);
	own[1] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	store();
	own[2] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	work(OUTSIDE);
	own[3] = clock_of(CLOCK_THREAD_CPUTIME_ID);
	printf("{\"tid\":%d,\"holder\":%d,\"begin\":%" PRIu64 ",\"end\":%" PRIu64
	       ",\"parse\":%" PRIu64 ",\"store\":%" PRIu64 ",\"outside\":%" PRIu64
	       ",\"wait_from\":%" PRIu64 ",\"wait_to\":%" PRIu64 ",\"flush_from\":%" PRIu64
	       ",\"flush_to\":%" PRIu64 ",\"stolen\":%" PRIu64 "}\n",
	       (int)syscall(SYS_gettid), holder_tid, begin, clock_of(CLOCK_MONOTONIC),
	       own[1] - own[0], own[2] - own[1], own[3] - own[2], wait_from, wait_to, flush_from,
	       flush_to, wl_nobodys_time(-1) - stolen);
	pthread_join(holder, NULL);
	return 0;
}
