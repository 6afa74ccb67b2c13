/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A critical path through two functions of two threads: main computes in early(), hands over, and
 * waits in await_late(); the worker computes in late() meanwhile and hands back. A rival on the
 * worker's CPU computes all the time, in turns of two functions.
 *
 * Usage: relay EARLY_MS LATE_MS
 *
 * Prints a JSON object: the threads, the moments by CLOCK_MONOTONIC at which main began and
 * ended, and the seconds that each function took by its thread's CPU clock.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEEP   __attribute__((noinline, noclone, used))
#define ROUNDS 2000
#define TURN   0.001

static sem_t go, done;
static atomic_bool over;
static double early_s, late_s, much_s, little_s, wait_s;
static int worker_tid, rival_tid;
static volatile long sum;

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double burn(double seconds)
{
	double start = now(CLOCK_THREAD_CPUTIME_ID), end;

	do {
		for (int i = 0; i < ROUNDS; i++)
			sum += i;
		end = now(CLOCK_THREAD_CPUTIME_ID);
	} while (end - start < seconds);
	return end - start;
}

/* The statements behind the calls keep them from being tail calls. */
KEEP static void early(double seconds)
{
	early_s = burn(seconds);
	sum++;
}

KEEP static void late(double seconds)
{
	late_s = burn(seconds);
	sum++;
}

KEEP static void much(void)
{
	much_s += burn(TURN * 0.7);
	sum++;
}

KEEP static void little(void)
{
	little_s += burn(TURN * 0.3);
	sum++;
}

KEEP static void await_late(void)
{
	double start = now(CLOCK_MONOTONIC);

	sem_wait(&done);
	wait_s = now(CLOCK_MONOTONIC) - start;
}

static void *rival(void *unused)
{
	rival_tid = gettid();
	pthread_setname_np(pthread_self(), "rival");
	while (!atomic_load(&over)) {
		much();
		little();
	}
	return unused;
}

static void *work(void *seconds)
{
	worker_tid = gettid();
	pthread_setname_np(pthread_self(), "worker");
	sem_wait(&go);
	late(*(double *)seconds);
	sem_post(&done);
	return NULL;
}

/* The calling thread's last CPU is the one that both others share. */
static pthread_attr_t *on_one_cpu(pthread_attr_t *attributes)
{
	cpu_set_t cpus, one;
	int last = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		last = CPU_ISSET(cpu, &cpus) ? cpu : last;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	pthread_attr_init(attributes);
	pthread_attr_setaffinity_np(attributes, sizeof(one), &one);
	return attributes;
}

int main(int count, char **arguments)
{
	pthread_attr_t attributes;
	pthread_t threads[2];
	double begin, end, seconds;

	if (count != 3) {
		fprintf(stderr, "usage: relay EARLY_MS LATE_MS\n");
		return 2;
	}
	seconds = atof(arguments[2]) / 1e3;
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	on_one_cpu(&attributes);
	if (pthread_create(&threads[0], &attributes, work, &seconds) ||
	    pthread_create(&threads[1], &attributes, rival, NULL))
		return 1;
	begin = now(CLOCK_MONOTONIC);
	early(atof(arguments[1]) / 1e3);
	sem_post(&go);
	await_late();
	end = now(CLOCK_MONOTONIC);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("{\"main\": %d, \"worker\": %d, \"rival\": %d, \"begin\": %.0f, \"end\": %.0f, "
	       "\"early\": %.6f, \"late\": %.6f, \"much\": %.6f, \"little\": %.6f, "
	       "\"waited\": %.6f}\n",
	       getpid(), worker_tid, rival_tid, begin * 1e9, end * 1e9, early_s, late_s, much_s,
	       little_s, wait_s);
	return 0;
}
