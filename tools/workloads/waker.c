/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that wake others from known functions.
 *
 * Usage: waker
 *
 * In each case one thread sleeps and another one wakes it: by a mutex, a pipe, an eventfd, a
 * semaphore; after a long sleep in each way, and after many short ones in turns. In the last case
 * a timer ends the sleep. Prints a JSON object a case, one a line: `case`, the tids of `sleeper`
 * and `waker` (0: none), and the functions of this program that they are in then, innermost first:
 * `asleep` and `waking`.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define KEEP  __attribute__((noinline, noclone, used))
#define LAST  __asm__ volatile("" ::: "memory") /* what is before it is no tail call */
#define LONG  20000000				/* ns */
#define SHORT 50000
#define TURNS 200

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;
static sem_t semaphore, turn, taken;
static int ends[2], event;

static inline __attribute__((always_inline)) void rest(long ns)
{
	struct timespec time = {.tv_nsec = ns};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void check(bool right)
{
	if (!right)
		abort();
}

/* Where threads sleep, and where they are woken from. */
KEEP static void take_mutex(void)
{
	pthread_mutex_lock(&mutex);
	LAST;
}

KEEP static void give_mutex(void)
{
	pthread_mutex_unlock(&mutex);
	LAST;
}

KEEP static void read_pipe(void)
{
	char byte;

	check(read(ends[0], &byte, 1) == 1);
	LAST;
}

KEEP static void write_pipe(void)
{
	check(write(ends[1], "", 1) == 1);
	LAST;
}

KEEP static void read_event(void)
{
	uint64_t count;

	check(read(event, &count, sizeof(count)) == sizeof(count));
	LAST;
}

KEEP static void write_event(void)
{
	uint64_t count = 1;

	check(write(event, &count, sizeof(count)) == sizeof(count));
	LAST;
}

KEEP static void await_semaphore(void)
{
	sem_wait(&semaphore);
	LAST;
}

KEEP static void post_semaphore(void)
{
	sem_post(&semaphore);
	LAST;
}

KEEP static void await_turn(void)
{
	sem_wait(&turn);
	sem_post(&taken);
	LAST;
}

KEEP static void give_turn(void)
{
	sem_post(&turn);
	sem_wait(&taken);
	LAST;
}

KEEP static void await_timer(void)
{
	rest(LONG);
	LAST;
}

static const struct act {
	const char *name, *asleep, *waking;
	void (*sleep)(void);
	void (*wake)(void); /* NULL: a timer does */
	unsigned turns;
	long ns; /* of each sleep */
} acts[] = {
	{"mutex", "take_mutex", "give_mutex", take_mutex, give_mutex, 1, LONG},
	{"pipe", "read_pipe", "write_pipe", read_pipe, write_pipe, 1, LONG},
	{"eventfd", "read_event", "write_event", read_event, write_event, 1, LONG},
	{"semaphore", "await_semaphore", "post_semaphore", await_semaphore, post_semaphore, 1,
	 LONG},
	{"short", "await_turn", "give_turn", await_turn, give_turn, TURNS, SHORT},
	{"timer", "await_timer", NULL, await_timer, NULL, 1, LONG},
};

KEEP static void lead_to_sleep(const struct act *act)
{
	for (unsigned i = 0; i < act->turns; i++)
		act->sleep();
	LAST;
}

static int sleeper_tid, waker_tid;

/* However busy the machine is, the sleeper sleeps before it is woken. */
static void await_sleeper(void)
{
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", sleeper_tid);
	while (state != 'S') {
		FILE *file = fopen(path, "re");

		check(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
		rest(SHORT);
	}
}

KEEP static void lead_to_wake(const struct act *act)
{
	if (act->turns == 1)
		await_sleeper();
	for (unsigned i = 0; i < act->turns; i++) {
		rest(act->ns);
		act->wake();
	}
	LAST;
}

KEEP static void *sleeper(void *of)
{
	sleeper_tid = gettid();
	pthread_barrier_wait(&ready);
	lead_to_sleep(of);
	LAST;
	return NULL;
}

KEEP static void *waker(void *of)
{
	const struct act *act = of;

	waker_tid = gettid();
	if (act->wake == give_mutex)
		pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&ready);
	if (act->wake)
		lead_to_wake(act);
	LAST;
	return NULL;
}

static void run(const struct act *act)
{
	pthread_t threads[2];

	check(!pthread_create(&threads[0], NULL, sleeper, (void *)act) &&
	      !pthread_create(&threads[1], NULL, waker, (void *)act));
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("{\"case\": \"%s\", \"sleeper\": %d, \"waker\": %d, "
	       "\"asleep\": [\"%s\", \"lead_to_sleep\", \"sleeper\"], ",
	       act->name, sleeper_tid, act->wake ? waker_tid : 0, act->asleep);
	if (act->wake)
		printf("\"waking\": [\"%s\", \"lead_to_wake\", \"waker\"]}\n", act->waking);
	else
		puts("\"waking\": null}");
}

int main(void)
{
	event = eventfd(0, 0);
	check(event >= 0 && !pipe(ends) && !sem_init(&semaphore, 0, 0) && !sem_init(&turn, 0, 0) &&
	      !sem_init(&taken, 0, 0) && !pthread_barrier_init(&ready, NULL, 2));
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		run(&acts[i]);
	return 0;
}
