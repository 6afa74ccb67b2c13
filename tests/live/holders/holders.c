/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * holders KIND THREADS MILLISECONDS FILE: threads take one lock again and again, and write down
 * by their own clock when they called for it, had it, released it and were done with that. Prints
 * a line for each hold: tid, these four times, and 1 if nobody else could have it then. A line
 * "word FROM TO" has the addresses of what is no lock, though threads wait for it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST  200000
#define HOLD  200000 /* ns, at most */
#define THINK 60000

struct hold {
	uint64_t calls, has, releases, done;
	bool alone;
};

struct thread {
	pthread_t thread;
	pid_t tid;
	unsigned number, seed;
	int file;
	size_t count;
	struct hold *holds;
};

static enum { MUTEX, RWLOCK, FLOCK, OFD, CONDITION, SEMAPHORE, EVENT } sort;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static _Atomic int event;
static bool busy;
static const char *path;
static uint64_t ends;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void spin(uint64_t ns)
{
	uint64_t until = now() + ns;

	while (now() < until)
		;
}

static void lock_file(struct thread *self, short type)
{
	struct flock range = {.l_type = type};
	int operation = type == F_UNLCK ? LOCK_UN : LOCK_EX;

	if (sort == FLOCK ? flock(self->file, operation) : fcntl(self->file, F_OFD_SETLKW, &range))
		err(1, "lock of the file");
}

/* The first thread sets and clears an event that is 2, as a mutex in use is. The others wait for
 * it, as glibc and as Rust wait. */
static void await_event(const struct thread *self)
{
	const int operation = self->number % 2 ? FUTEX_WAIT_BITSET : FUTEX_WAIT;

	if (self->number > 0) {
		syscall(SYS_futex, &event, operation | FUTEX_PRIVATE_FLAG, 2, NULL, NULL, ~0);
		nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		return;
	}
	event = 2;
	nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
	event = 0;
	for (int i = 0; i < 64; i++)
		syscall(SYS_futex, &event, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

/* True: nobody else has it. */
static bool take(struct thread *self)
{
	bool alone = sort != RWLOCK || rand_r(&self->seed) % 3 == 0;

	switch (sort) {
	case RWLOCK:
		(alone ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&rwlock);
		break;
	case FLOCK:
	case OFD:
		lock_file(self, F_WRLCK);
		break;
	case CONDITION:
		pthread_mutex_lock(&mutex);
		while (busy)
			pthread_cond_wait(&condition, &mutex);
		busy = true;
		pthread_mutex_unlock(&mutex);
		break;
	case SEMAPHORE:
		while (sem_wait(&semaphore))
			;
		break;
	case EVENT:
		await_event(self);
		break;
	default:
		pthread_mutex_lock(&mutex);
	}
	return alone;
}

static void release(struct thread *self)
{
	switch (sort) {
	case RWLOCK:
		pthread_rwlock_unlock(&rwlock);
		break;
	case FLOCK:
	case OFD:
		lock_file(self, F_UNLCK);
		break;
	case CONDITION:
		pthread_mutex_lock(&mutex);
		busy = false;
		pthread_mutex_unlock(&mutex);
		pthread_cond_signal(&condition);
		break;
	case SEMAPHORE:
		sem_post(&semaphore);
		break;
	case EVENT:
		break;
	default:
		pthread_mutex_unlock(&mutex);
	}
}

static void *contend(void *argument)
{
	struct thread *self = argument;

	self->tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_TIMERSLACK, 1);
	self->file = open(path, O_RDWR);
	while (now() < ends && self->count < MOST) {
		struct hold *hold = &self->holds[self->count++];

		hold->calls = now();
		hold->alone = take(self);
		hold->has = now();
		spin((uint64_t)rand_r(&self->seed) % HOLD);
		hold->releases = now();
		release(self);
		hold->done = now();
		spin((uint64_t)rand_r(&self->seed) % THINK);
		if (rand_r(&self->seed) % 16 == 0)
			nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
	}
	return NULL;
}

static void choose(const char *kind)
{
	static const char *const sorts[] = {"rwlock",	 "flock",     "ofd",
					    "condition", "semaphore", "event"};
	pthread_mutexattr_t attributes;

	for (unsigned i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (!strcmp(kind, sorts[i]))
			sort = RWLOCK + i;
	pthread_mutexattr_init(&attributes);
	if (!strcmp(kind, "adaptive"))
		pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
	if (!strcmp(kind, "robust"))
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (!strcmp(kind, "pi"))
		pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attributes);
	sem_init(&semaphore, 0, 1);
	printf("word %lu %lu\n", (unsigned long)&condition, (unsigned long)(&condition + 1));
	printf("word %lu %lu\n", (unsigned long)&semaphore, (unsigned long)(&semaphore + 1));
	printf("word %lu %lu\n", (unsigned long)&event, (unsigned long)(&event + 1));
}

int main(int count, char **arguments)
{
	unsigned threads = count == 5 ? (unsigned)atoi(arguments[2]) : 0;
	struct thread *all = calloc(threads, sizeof(*all));

	if (!threads || !all)
		return 2;
	choose(arguments[1]);
	path = arguments[4];
	ends = now() + (uint64_t)atoi(arguments[3]) * 1000000;
	for (unsigned i = 0; i < threads; i++) {
		all[i].number = i;
		all[i].seed = i + 1;
		all[i].holds = calloc(MOST, sizeof(*all[i].holds));
		if (!all[i].holds || pthread_create(&all[i].thread, NULL, contend, &all[i]))
			return 2;
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(all[i].thread, NULL);
		for (size_t k = 0; k < all[i].count; k++) {
			const struct hold *hold = &all[i].holds[k];

			printf("%d %lu %lu %lu %lu %d\n", all[i].tid, hold->calls, hold->has,
			       hold->releases, hold->done, hold->alone);
		}
	}
	return 0;
}
