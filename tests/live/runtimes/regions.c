/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parallel regions of OpenMP: regions COUNT SEED. Two threads begin regions at the same time, of
 * one to three threads each; some are loops that OpenMP divides, some have no data. Prints a line
 * for each region with its id, the thread that began it, when it began, and when it was over, and
 * one for each share with the region's id, its thread, when it began and ended; zeros are those of
 * a thread that found nothing left of a loop.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST	2048
#define THREADS 3

struct share {
	long began, ended;
	pid_t tid;
};

static struct region {
	int id, shape, length, threads;
	pid_t tid;
	long from, over;
	struct share shares[THREADS];
} regions[MOST];

static int count, current; /* current: of a region without data, which one thread alone begins */

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void work(int length)
{
	for (long until = now() + length * 1000L; now() < until;)
		;
}

/* A thread may come to its share of a divided loop several times. */
static void take_part(struct region *region)
{
	struct share *share = &region->shares[omp_get_thread_num()];

	share->tid = (pid_t)syscall(SYS_gettid);
	if (!share->began)
		share->began = now();
	work(region->length * (1 + omp_get_thread_num()));
	share->ended = now();
}

static void without_data(void)
{
#pragma omp parallel num_threads(THREADS)
	take_part(&regions[current]);
}

static void begin(struct region *region)
{
	region->tid = (pid_t)syscall(SYS_gettid);
	region->from = now();
	if (region->shape == 0) {
#pragma omp parallel num_threads(region->threads)
		take_part(region);
	} else if (region->shape == 1) {
#pragma omp parallel for schedule(dynamic) num_threads(region->threads)
		for (int i = 0; i < 3 * THREADS; i++)
			take_part(region);
	} else {
		current = region->id;
		region->threads = THREADS;
		without_data();
	}
	region->over = now();
}

static void *half(void *argument)
{
	for (int i = argument ? 1 : 0; i < count; i += 2)
		begin(&regions[i]);
	return NULL;
}

int main(int argument_count, char **arguments)
{
	pthread_t other;

	count = argument_count > 1 ? atoi(arguments[1]) : 0;
	count = count < MOST ? count : MOST;
	srand(argument_count > 2 ? (unsigned)atoi(arguments[2]) : 1);
	for (int i = 0; i < count; i++)
		regions[i] = (struct region){.id = i,
					     .shape = rand() % (i % 2 ? 2 : 3),
					     .length = rand() % 100,
					     .threads = 1 + rand() % THREADS};
	pthread_create(&other, NULL, half, &other);
	half(NULL);
	pthread_join(other, NULL);
	usleep(10000);
	for (int i = 0; i < count; i++)
		printf("region %d %d %ld %ld\n", i, regions[i].tid, regions[i].from,
		       regions[i].over);
	for (int i = 0; i < count; i++)
		for (int k = 0; k < regions[i].threads; k++)
			printf("share %d %d %ld %ld\n", i, regions[i].shares[k].tid,
			       regions[i].shares[k].began, regions[i].shares[k].ended);
	return 0;
}
