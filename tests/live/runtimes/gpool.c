/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work for two of GLib's pools of threads: gpool COUNT SEED. A few pieces of memory are used again
 * and again, each for another item as soon as its function has run. Prints for each item its pool,
 * when it was pushed, the thread and times of its run, and the number of its memory.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As GLib has them; its headers are in another package. */
typedef struct _GThreadPool GThreadPool;
GThreadPool *g_thread_pool_new(void (*work)(void *data, void *pool), void *pool, int threads,
			       int exclusive, void **error);
int g_thread_pool_push(GThreadPool *pool, void *data, void **error);
void g_thread_pool_free(GThreadPool *pool, int immediate, int wait);

#define SLOTS 16

struct item {
	int id, pool;
	unsigned microseconds;
	uint64_t from, to, began, ended;
	pid_t tid;
};

struct slot {
	struct item *item;
	int busy;
};

static struct item *items;
static struct slot slots[SLOTS];

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(void *data, void *pool)
{
	struct slot *slot = data;
	struct item *item = slot->item;

	(void)pool;
	item->tid = gettid();
	item->began = now();
	if (item->microseconds % 2)
		usleep(item->microseconds);
	while (item->microseconds % 2 == 0 && now() < item->began + item->microseconds * 1000ull)
		;
	item->ended = now();
	__atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
}

static struct slot *free_slot(void)
{
	for (int i = 0;; i = (i + 1) % SLOTS) {
		if (!__atomic_load_n(&slots[i].busy, __ATOMIC_ACQUIRE))
			return &slots[i];
		if (i == SLOTS - 1)
			usleep(20);
	}
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 100;
	GThreadPool *pools[2];

	srand(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
	items = calloc((size_t)count, sizeof(*items));
	/* One has threads of its own, the other shares those of all pools. */
	for (int i = 0; i < 2; i++)
		pools[i] = g_thread_pool_new(work, NULL, 2 + i, i, NULL);
	for (int i = 0; i < count; i++) {
		struct slot *slot = free_slot();

		items[i] = (struct item){
			.id = i, .pool = rand() % 2, .microseconds = (unsigned)rand() % 300};
		*slot = (struct slot){.item = &items[i], .busy = 1};
		items[i].from = now();
		g_thread_pool_push(pools[items[i].pool], slot, NULL);
		items[i].to = now();
	}
	for (int i = 0; i < 2; i++)
		g_thread_pool_free(pools[i], 0, 1);
	for (int i = 0; i < count; i++)
		printf("%d %d %llu %llu %d %llu %llu\n", items[i].id, items[i].pool,
		       (unsigned long long)items[i].from, (unsigned long long)items[i].to,
		       items[i].tid, (unsigned long long)items[i].began,
		       (unsigned long long)items[i].ended);
	return 0;
}
