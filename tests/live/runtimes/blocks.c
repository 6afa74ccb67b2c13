/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work for libdispatch's queues: blocks COUNT SEED. Functions with a context of their own go to a
 * concurrent queue, as blocks do. Others share few contexts, and go to a serial queue, which runs
 * them in their order. Prints for each its id, its shape, when it was submitted, its thread, and
 * when it began and ended.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST   4096
#define SHARED 3

void *dispatch_get_global_queue(intptr_t, uintptr_t);
void *dispatch_queue_create(const char *, void *);
void *dispatch_group_create(void);
void dispatch_async_f(void *, void *, void (*)(void *));
void dispatch_barrier_async_f(void *, void *, void (*)(void *));
void dispatch_group_async_f(void *, void *, void *, void (*)(void *));
void dispatch_after_f(uint64_t, void *, void *, void (*)(void *));
uint64_t dispatch_time(uint64_t, int64_t);
void dispatch_async(void *, void (^)(void));
void dispatch_group_async(void *, void *, void (^)(void));

struct item {
	int id, shape, length;
	long from, to, began, ended;
	pid_t tid;
};

static struct item items[MOST];
static int serial[MOST], serial_count, serial_next, left;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void run(struct item *item)
{
	item->tid = (pid_t)syscall(SYS_gettid);
	item->began = now();
	if (item->length % 2)
		usleep((useconds_t)item->length);
	else
		while (now() < item->began + item->length * 1000L)
			;
	item->ended = now();
	pthread_mutex_lock(&mutex);
	left--;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static void own(void *context)
{
	run(context);
}

/* The serial queue runs its items in the order in which they were submitted. */
static void shared(void *context)
{
	(void)context;
	run(&items[serial[serial_next++]]);
}

static void submit(struct item *item, void *queue, void *in_order, void *group)
{
	static char contexts[SHARED];

	if (item->shape < 2)
		serial[serial_count++] = item->id;
	item->from = now();
	switch (item->shape) {
	case 0:
		dispatch_async_f(in_order, &contexts[item->id % SHARED], shared);
		break;
	case 1:
		dispatch_barrier_async_f(in_order, &contexts[item->id % SHARED], shared);
		break;
	case 2:
		dispatch_async_f(queue, item, own);
		break;
	case 3:
		dispatch_group_async_f(group, queue, item, own);
		break;
	case 4:
		dispatch_after_f(dispatch_time(0, item->length * 1000), queue, item, own);
		break;
	case 5:
		dispatch_async(queue, ^{ run(item); });
		break;
	default:
		dispatch_group_async(group, queue, ^{ run(item); });
		break;
	}
	item->to = now();
}

int main(int count_of_arguments, char **arguments)
{
	int count = count_of_arguments > 1 ? atoi(arguments[1]) : 0;
	void *queue = dispatch_get_global_queue(0, 0);
	void *in_order = dispatch_queue_create("in order", NULL);
	void *group = dispatch_group_create();

	srand(count_of_arguments > 2 ? (unsigned)atoi(arguments[2]) : 1);
	for (int i = 0; i < count && i < MOST; i++) {
		items[i] = (struct item){.id = i, .shape = rand() % 7, .length = rand() % 200};
		pthread_mutex_lock(&mutex);
		left++;
		while (left > 20)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		submit(&items[i], queue, in_order, group);
	}
	pthread_mutex_lock(&mutex);
	while (left)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	usleep(10000);
	for (int i = 0; i < count && i < MOST; i++)
		printf("%d %d %ld %ld %d %ld %ld\n", i, items[i].shape, items[i].from, items[i].to,
		       items[i].tid, items[i].began, items[i].ended);
	return 0;
}
