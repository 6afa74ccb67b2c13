/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that populates memory ahead. The trace of a large capture fills a gigabyte,
 * and the loading thread would spend a fifth of its time in page faults. The thread
 * populates pages and writes no byte, so that it does no harm when a vector has moved
 * meanwhile.
 */
#include "trace/touch.h"
#include "base/thread.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#define AHEAD (16u << 20) /* bytes of each vector after those used */
#define STEP  (2u << 20)  /* a huge page, so that each step is short */

/* The part of a vector to populate, as of the last update. */
struct window {
	char *data;
	size_t used, bytes;
	size_t touched; /* the thread's own: up to here it is populated, wherever the vector is */
};

struct trace_touch {
	pthread_t thread;
	pthread_mutex_t lock;  /* of all below */
	pthread_cond_t wanted; /* there was an update, or the thread is to end */
	bool updated, closing;
	struct window windows[TRACE_TOUCHED];
};

/* Populates one step of a vector, without holding the lock; false: there is nothing to do. */
static bool touch(struct trace_touch *touch, struct window *window)
{
	size_t from = window->touched > window->used ? window->touched
						     : window->used & ~(size_t)(STEP - 1),
	       end = from + STEP;
	char *data = window->data;

	if (end > window->used + AHEAD || end > window->bytes)
		return false;
	window->touched = end;
	pthread_mutex_unlock(&touch->lock);
	madvise(data + from, STEP, MADV_POPULATE_WRITE);
	pthread_mutex_lock(&touch->lock);
	return true;
}

static void *touch_main(void *context)
{
	struct trace_touch *all = context;

	pthread_mutex_lock(&all->lock);
	while (!all->closing) {
		bool done = false;

		for (int i = 0; i < TRACE_TOUCHED && !all->closing; i++)
			done |= touch(all, &all->windows[i]);
		if (!done && !all->updated && !all->closing)
			pthread_cond_wait(&all->wanted, &all->lock);
		all->updated = false;
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

struct trace_touch *trace_touch_new(void)
{
	struct trace_touch *touch = calloc(1, sizeof(*touch));

	if (!touch)
		return NULL;
	pthread_mutex_init(&touch->lock, NULL);
	pthread_cond_init(&touch->wanted, NULL);
	if (store_thread_start(&touch->thread, touch_main, touch) == 0)
		return touch;
	pthread_cond_destroy(&touch->wanted);
	pthread_mutex_destroy(&touch->lock);
	free(touch);
	return NULL;
}

void trace_touch_update(struct trace_touch *touch,
			const struct vector *const vectors[static TRACE_TOUCHED])
{
	pthread_mutex_lock(&touch->lock);
	for (int i = 0; i < TRACE_TOUCHED; i++) {
		touch->windows[i].data = vectors[i]->data;
		touch->windows[i].used = vectors[i]->count * vectors[i]->item;
		touch->windows[i].bytes = vectors[i]->bytes;
	}
	touch->updated = true;
	pthread_cond_signal(&touch->wanted);
	pthread_mutex_unlock(&touch->lock);
}

void trace_touch_free(struct trace_touch *touch)
{
	if (!touch)
		return;
	pthread_mutex_lock(&touch->lock);
	touch->closing = true;
	pthread_cond_signal(&touch->wanted);
	pthread_mutex_unlock(&touch->lock);
	pthread_join(touch->thread, NULL);
	pthread_cond_destroy(&touch->wanted);
	pthread_mutex_destroy(&touch->lock);
	free(touch);
}
