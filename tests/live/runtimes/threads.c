/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads of random shape, and what became of each: threads COUNT SEED. They return, call
 * pthread_exit or are canceled, run for a random time, sleep, and are joined or detached; some make
 * a thread of their own. Prints for each its id, when and by which thread it was made, its tid,
 * when its routine began and ended, and how.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum shape { RETURNS, EXITS, CANCELED, DETACHED, SHAPES };

struct item {
	int id, parent;
	enum shape shape;
	unsigned microseconds;
	uint64_t made_from, made_to, joined_from, joined_to;
	uint64_t began, ended;
	pid_t maker, tid;
	pthread_t thread;
	int has_child;
};

static struct item *items;
static int count, next;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *routine(void *argument);

/* One at a time, so that no two intervals of the log overlap. */
static void make(struct item *item, int parent)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, item->shape == DETACHED ? PTHREAD_CREATE_DETACHED
									 : PTHREAD_CREATE_JOINABLE);
	pthread_mutex_lock(&making);
	item->parent = parent;
	item->maker = gettid();
	item->made_from = now();
	if (pthread_create(&item->thread, &attributes, routine, item))
		abort();
	item->made_to = now();
	pthread_mutex_unlock(&making);
	pthread_attr_destroy(&attributes);
}

static void join(struct item *item)
{
	if (item->shape == CANCELED)
		pthread_cancel(item->thread);
	if (item->shape == DETACHED) {
		while (!__atomic_load_n(&item->ended, __ATOMIC_ACQUIRE))
			usleep(200);
		usleep(1000);
		return;
	}
	item->joined_from = now();
	pthread_join(item->thread, NULL);
	item->joined_to = now();
}

static void work(unsigned microseconds)
{
	for (uint64_t until = now() + microseconds * 1000ull; now() < until;)
		;
}

static struct item *take(void)
{
	struct item *item;

	pthread_mutex_lock(&lock);
	item = next < count ? &items[next++] : NULL;
	pthread_mutex_unlock(&lock);
	return item;
}

static void *routine(void *argument)
{
	struct item *item = argument, *child;

	item->tid = gettid();
	item->began = now();
	work(item->microseconds);
	if (item->has_child && item->shape != CANCELED && (child = take())) {
		child->has_child = 0;
		make(child, item->id);
		join(child);
	}
	if (item->shape == CANCELED)
		for (;;)
			pause();
	__atomic_store_n(&item->ended, now(), __ATOMIC_RELEASE);
	if (item->shape == EXITS)
		pthread_exit((void *)(uintptr_t)(item->id + 1000));
	return (void *)(uintptr_t)(item->id + 1000);
}

int main(int argc, char **argv)
{
	static const char *const words[] = {"returns", "exits", "canceled", "detached"};
	struct item *item, *batch[4];

	if (argc != 3)
		return 2;
	count = atoi(argv[1]);
	srand((unsigned)atoi(argv[2]));
	items = calloc((size_t)count, sizeof(*items));
	if (!items)
		return 1;
	for (int i = 0; i < count; i++)
		items[i] = (struct item){.id = i,
					 .shape = (enum shape)(rand() % SHAPES),
					 .microseconds = (unsigned)rand() % 400,
					 .has_child = rand() % 5 == 0};
	for (;;) {
		int size = 0;

		while (size < 4 && (item = take())) {
			batch[size++] = item;
			make(item, -1);
		}
		for (int i = 0; i < size; i++)
			join(batch[i]);
		if (!size)
			break;
	}
	for (int i = 0; i < count; i++)
		printf("%d %d %s %d %d %llu %llu %llu %llu %llu %llu\n", i, items[i].parent,
		       words[items[i].shape], (int)items[i].maker, (int)items[i].tid,
		       (unsigned long long)items[i].made_from, (unsigned long long)items[i].made_to,
		       (unsigned long long)items[i].began, (unsigned long long)items[i].ended,
		       (unsigned long long)items[i].joined_from,
		       (unsigned long long)items[i].joined_to);
	return 0;
}
