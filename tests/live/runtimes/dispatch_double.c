/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A library that looks to a program, and to its probes, as libdispatch does: the same functions,
 * one that all work is called by and that is nothing but a jump, and blocks that are copied by one
 * function. Three threads take work in the order in which it comes. It is built without symbols.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PUBLIC __attribute__((visibility("default")))

struct block {
	void *isa;
	int flags, reserved;
	void (*invoke)(struct block *);
	struct {
		unsigned long reserved, size;
	} * descriptor;
};

struct queue {
	int in_order, busy;
};

struct work {
	struct work *next;
	struct queue *queue;
	void *context;
	void (*function)(void *);
	uint64_t due;
};

static struct queue global;
static struct work *first;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void callout(void *context, void (*function)(void *));
__asm__(".text\n.hidden callout\n.type callout, @function\ncallout:\n.cfi_startproc\n"
	"jmp *%rsi\n.cfi_endproc\n.size callout, . - callout\n");

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The oldest work that is due and whose queue is free. */
static struct work *take(void)
{
	for (struct work **at = &first; *at; at = &(*at)->next) {
		struct work *work = *at;
		int earlier = 0;

		for (struct work *w = first; w != work; w = w->next)
			earlier |= work->queue->in_order && w->queue == work->queue;
		if (earlier || work->queue->busy || work->due > now())
			continue;
		work->queue->busy = work->queue->in_order;
		*at = work->next;
		return work;
	}
	return NULL;
}

static void *worker(void *argument)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct work *work = take();
		struct timespec until;

		if (!work) {
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += 1000000;
			if (until.tv_nsec >= 1000000000) {
				until.tv_sec++;
				until.tv_nsec -= 1000000000;
			}
			pthread_cond_timedwait(&changed, &mutex, &until);
			continue;
		}
		pthread_mutex_unlock(&mutex);
		callout(work->context, work->function);
		pthread_mutex_lock(&mutex);
		work->queue->busy = 0;
		free(work);
	}
	return argument;
}

static void begin(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, worker, NULL);
}

static __attribute__((noinline)) void push(struct queue *queue, void *context,
					   void (*function)(void *), uint64_t due)
{
	struct work *work = malloc(sizeof(*work)), **last = &first;

	*work = (struct work){.queue = queue, .context = context, .function = function, .due = due};
	pthread_once(&once, begin);
	pthread_mutex_lock(&mutex);
	while (*last)
		last = &(*last)->next;
	*last = work;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static __attribute__((noinline)) void *copy(const struct block *block)
{
	void *result = malloc(block->descriptor->size);

	return result ? memcpy(result, block, block->descriptor->size) : NULL;
}

static void call_and_release(void *context)
{
	struct block *block = context;

	block->invoke(block);
	free(block);
}

PUBLIC void *_NSConcreteStackBlock[32];

PUBLIC void *dispatch_get_global_queue(intptr_t which, uintptr_t flags)
{
	(void)which, (void)flags;
	return &global;
}

PUBLIC void *dispatch_queue_create(const char *label, void *attributes)
{
	struct queue *queue = calloc(1, sizeof(*queue));

	(void)label, (void)attributes;
	queue->in_order = 1;
	return queue;
}

PUBLIC void *dispatch_group_create(void)
{
	return calloc(1, 64);
}

PUBLIC uint64_t dispatch_time(uint64_t from, int64_t ns)
{
	return (from ?: now()) + (uint64_t)ns;
}

PUBLIC void dispatch_async_f(void *queue, void *context, void (*function)(void *))
{
	push(queue, context, function, 0);
}

PUBLIC void dispatch_barrier_async_f(void *queue, void *context, void (*function)(void *))
{
	push(queue, context, function, 1);
}

PUBLIC void dispatch_group_async_f(void *group, void *queue, void *context,
				   void (*function)(void *))
{
	(void)group;
	push(queue, context, function, 0);
}

static __attribute__((noinline)) uint64_t left_until(uint64_t when)
{
	uint64_t time = now();

	return when > time ? when - time : 0;
}

static __attribute__((noinline)) void *timer(void)
{
	return calloc(1, 64);
}

PUBLIC void dispatch_after_f(uint64_t when, void *queue, void *context, void (*function)(void *))
{
	void *made;

	if (!left_until(when)) {
		dispatch_async_f(queue, context, function);
		return;
	}
	made = timer();
	push(queue, context, function, when);
	free(made);
}

PUBLIC void dispatch_async(void *queue, void *block)
{
	push(queue, copy(block), call_and_release, 0);
}

PUBLIC void dispatch_barrier_async(void *queue, void *block)
{
	push(queue, copy(block), call_and_release, 1);
}

PUBLIC void dispatch_group_async(void *group, void *queue, void *block)
{
	(void)group;
	push(queue, copy(block), call_and_release, 0);
}

PUBLIC void dispatch_after(uint64_t when, void *queue, void *block)
{
	push(queue, copy(block), call_and_release, when);
}
