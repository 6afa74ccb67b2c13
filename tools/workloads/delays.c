/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations in which functions are on the path, beside it, in a lock's section, in a pipeline, or
 * in one branch of several. Prints a sum that no delay may change.
 *
 * Usage: delays MODE COUNT
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#define SLACK 3000000ull /* ns by which one branch takes longer than the other one */
#define WORK  300000ull

#define VISIBLE __attribute__((noinline, visibility("default")))

void on_path(void), off_path(void), section(void);
void path_operation(void), branch_operation(void), pipe_operation(void), lock_operation(void);

static uint64_t sum;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t served = PTHREAD_COND_INITIALIZER;
static unsigned long next_ticket, serving;

static void rest(uint64_t ns)
{
	const struct timespec time = {.tv_nsec = (long)ns};

	nanosleep(&time, NULL);
}

/* The functions that are made to take longer. */
VISIBLE void on_path(void)
{
	rest(WORK);
	__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);
}

VISIBLE void off_path(void)
{
	rest(WORK);
	__atomic_add_fetch(&sum, 2, __ATOMIC_RELAXED);
}

VISIBLE void section(void)
{
	rest(WORK);
	sum += 3;
}

struct stage {
	sem_t come, done;
	void (*work)(void);
	uint64_t more;
};

static void *stage_run(void *context)
{
	struct stage *stage = context;

	for (;;) {
		sem_wait(&stage->come);
		stage->work();
		if (stage->more)
			rest(stage->more);
		sem_post(&stage->done);
	}
	return NULL;
}

/* Keeps a thread on one CPU, if there is that one: a function that takes longer keeps its CPU busy,
 * and would delay whoever has to wake there. */
static void keep_on(pthread_t thread, unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(thread, sizeof(set), &set);
}

static struct stage *stage_start(void (*work)(void), uint64_t more, unsigned cpu)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	pthread_t thread;

	stage->work = work;
	stage->more = more;
	sem_init(&stage->come, 0, 0);
	sem_init(&stage->done, 0, 0);
	pthread_create(&thread, NULL, stage_run, stage);
	keep_on(thread, cpu);
	return stage;
}

static void nothing(void)
{
}

static struct stage *branches[2];

/* The operations. */
VISIBLE void path_operation(void)
{
	on_path();
	rest(WORK);
}

VISIBLE void branch_operation(void)
{
	for (unsigned i = 0; i < 2; i++)
		sem_post(&branches[i]->come);
	for (unsigned i = 0; i < 2; i++)
		sem_wait(&branches[i]->done);
}

VISIBLE void pipe_operation(void)
{
	for (unsigned i = 0; i < 2; i++) {
		sem_post(&branches[i]->come);
		sem_wait(&branches[i]->done);
	}
}

/* A lock that is taken in the order in which threads come: of a plain one the last owner mostly
 * takes it again, and the others wait for longer than any measurement. */
VISIBLE void lock_operation(void)
{
	unsigned long ticket;

	pthread_mutex_lock(&lock);
	ticket = next_ticket++;
	while (serving != ticket)
		pthread_cond_wait(&served, &lock);
	pthread_mutex_unlock(&lock);
	section();
	pthread_mutex_lock(&lock);
	serving++;
	pthread_cond_broadcast(&served);
	pthread_mutex_unlock(&lock);
}

static unsigned long count;

static void *lock_run(void *context)
{
	for (unsigned long i = 0; i < count; i++)
		lock_operation();
	return context;
}

static void run_locks(void)
{
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, lock_run, NULL);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void run(void (*operation)(void))
{
	for (unsigned long i = 0; i < count; i++)
		operation();
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";

	count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
	/* A sleep that ends with other timers' would end sooner beside a busy CPU. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (strcmp(mode, "lock") != 0)
		keep_on(pthread_self(), 0);
	if (!strcmp(mode, "path")) {
		run(path_operation);
	} else if (!strcmp(mode, "fan")) {
		branches[0] = stage_start(on_path, SLACK, 0);
		branches[1] = stage_start(off_path, 0, 1);
		run(branch_operation);
	} else if (!strcmp(mode, "pipe")) {
		branches[0] = stage_start(on_path, 0, 0);
		branches[1] = stage_start(nothing, WORK, 1);
		run(pipe_operation);
	} else if (!strcmp(mode, "lock")) {
		run_locks();
	} else {
		fputs("usage: delays path|fan|pipe|lock COUNT\n", stderr);
		return 2;
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
