/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Large files take long, and a short program ends meanwhile: the smallest file comes first, and the
 * thread goes ahead of most of what the machine runs. Its work is small: once for each file,
 * about 2 ms for a megabyte of code.
 *
 * Invariant: a table is published only for the number that the kernel side has for the file.
 */
#include "record/stacks/table_maker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/ending.h"
#include "base/thread.h"
#include "base/vector.h"
#include "record/stacks/unwind_heap.h"
#include "record/stream/clock.h"
#include "record/stream/steps.h"

#define JOBS_MOST 1024		 /* each has a file open */
#define ANEW_NS	  60000000000ull /* between two times that all tables are given up */
#define SECOND	  1000000000
#define LOOK_NS	  20000000 /* between two looks at whether the end has come */

struct job {
	struct clew_image_key key;
	uint32_t image;
	struct clew_opened file;
};

struct clew_table_maker {
	int map;
	struct clew_unwind_heap heap; /* the thread's */
	uint64_t begun; /* ns: when all tables were given up last, 0 never; the thread's */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* for all that follows */
	pthread_cond_t changed;
	struct vector jobs;
	bool busy;
	bool stopping;
};

/* ---- the thread ---- */

static void publish(const struct clew_table_maker *maker, const struct job *job,
		    const struct clew_image *image)
{
	struct clew_image known;

	if (bpf_map_lookup_elem(maker->map, &job->key, &known) == 0 && known.id == image->id &&
	    known.state == CLEW_IMAGE_ASKED)
		bpf_map_update_elem(maker->map, &job->key, image, BPF_EXIST);
}

/*
 * Gives all tables up, once the heap is full: programs come and go, and a daemon would have none
 * for new ones. The kernel side asks again for the files that it meets. False: that was a short
 * while ago, so that what is used takes more than the heap has.
 */
static bool begin_anew(struct clew_table_maker *maker)
{
	uint64_t now = clew_now();
	struct clew_image_key key, next;
	struct clew_image known;
	bool more;

	if (maker->begun && now - maker->begun < ANEW_NS)
		return false;
	maker->begun = now;
	more = !bpf_map_get_next_key(maker->map, NULL, &key);
	for (unsigned i = 0; more && i < CLEW_IMAGES_MOST; i++, key = next) {
		more = !bpf_map_get_next_key(maker->map, &key, &next);
		if (!bpf_map_lookup_elem(maker->map, &key, &known) &&
		    (known.state == CLEW_IMAGE_TABLE || known.state == CLEW_IMAGE_FULL))
			bpf_map_delete_elem(maker->map, &key);
	}
	/* Some programs may be reading the tables. */
	clew_wait_for_programs();
	maker->heap.used = 0;
	return true;
}

static void add_table(struct clew_table_maker *maker, const struct clew_unwind_table *table,
		      struct clew_image *image)
{
	int r = clew_unwind_heap_add(&maker->heap, table, image);

	if (r < 0 && begin_anew(maker))
		r = clew_unwind_heap_add(&maker->heap, table, image);
	if (r < 0)
		image->state = CLEW_IMAGE_FULL;
}

static void make(struct clew_table_maker *maker, const struct job *job)
{
	struct clew_image image = {.id = job->image, .state = CLEW_IMAGE_NONE};
	struct clew_unwind_row *rows;
	size_t count;
	int copy, r = clew_open_read(&job->file, CLEW_OPEN_FRAMES, &copy);

	if (r >= 0) {
		r = clew_unwind_rows(copy, &rows, &count);
		close(copy);
	}
	if (r >= 0) {
		struct clew_unwind_table table;

		if (clew_unwind_table_make(rows, count, &table) >= 0)
			add_table(maker, &table, &image);
		clew_unwind_table_done(&table);
		free(rows);
	}
	publish(maker, job, &image);
}

/* Takes the job with the smallest file out. The caller has the lock. False: there is none. */
static bool next_job(struct clew_table_maker *maker, struct job *ret_job)
{
	struct job *jobs = maker->jobs.data;
	size_t least = 0;

	if (!maker->jobs.count)
		return false;
	for (size_t i = 1; i < maker->jobs.count; i++)
		if (jobs[i].file.size < jobs[least].file.size)
			least = i;
	*ret_job = jobs[least];
	jobs[least] = jobs[--maker->jobs.count];
	return true;
}

static void *maker_main(void *argument)
{
	struct clew_table_maker *maker = argument;
	struct job job;

	pthread_setname_np(pthread_self(), "clew-tables");
	store_thread_hurry();
	pthread_mutex_lock(&maker->lock);
	while (!maker->stopping) {
		maker->busy = next_job(maker, &job);
		if (!maker->busy) {
			pthread_cond_broadcast(&maker->changed);
			pthread_cond_wait(&maker->changed, &maker->lock);
			continue;
		}
		pthread_mutex_unlock(&maker->lock);
		make(maker, &job);
		clew_opened_close(&job.file);
		pthread_mutex_lock(&maker->lock);
	}
	maker->busy = false;
	pthread_cond_broadcast(&maker->changed);
	pthread_mutex_unlock(&maker->lock);
	return NULL;
}

/* ---- for others ---- */

int clew_table_maker_open(int map, int heap, size_t blocks, struct clew_table_maker **ret)
{
	struct clew_table_maker *maker = calloc(1, sizeof(*maker));
	int r = maker ? clew_unwind_heap_open(heap, blocks, &maker->heap) : -ENOMEM;

	if (r < 0) {
		free(maker);
		return r;
	}
	maker->map = map;
	maker->jobs.item = sizeof(struct job);
	store_lock_init(&maker->lock);
	pthread_cond_init(&maker->changed, NULL);
	r = store_thread_start(&maker->thread, maker_main, maker);
	maker->started = r >= 0;
	if (r < 0)
		clew_table_maker_close(maker);
	else
		*ret = maker;
	return r;
}

int clew_table_maker_add(struct clew_table_maker *maker, const struct clew_image_key *key,
			 uint32_t image, const struct clew_opened *file)
{
	struct job job = {.key = *key, .image = image};
	int r = clew_opened_copy(file, &job.file);

	if (r < 0)
		return r;
	pthread_mutex_lock(&maker->lock);
	r = maker->stopping		     ? -ECANCELED
	    : maker->jobs.count >= JOBS_MOST ? -EBUSY
					     : vector_reserve(&maker->jobs, maker->jobs.count + 1);
	if (r >= 0) {
		((struct job *)maker->jobs.data)[maker->jobs.count++] = job;
		pthread_cond_broadcast(&maker->changed);
	}
	pthread_mutex_unlock(&maker->lock);
	if (r < 0)
		clew_opened_close(&job.file);
	return r;
}

void clew_table_maker_wait(struct clew_table_maker *maker)
{
	pthread_mutex_lock(&maker->lock);
	while (!ending_since() && (maker->busy || (maker->jobs.count && !maker->stopping))) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / SECOND;
		until.tv_nsec %= SECOND;
		pthread_cond_clockwait(&maker->changed, &maker->lock, CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&maker->lock);
}

void clew_table_maker_stop(struct clew_table_maker *maker)
{
	if (!maker->started)
		return;
	pthread_mutex_lock(&maker->lock);
	maker->stopping = true;
	pthread_cond_broadcast(&maker->changed);
	pthread_mutex_unlock(&maker->lock);
	pthread_join(maker->thread, NULL);
	maker->started = false;
}

void clew_table_maker_close(struct clew_table_maker *maker)
{
	if (!maker)
		return;
	clew_table_maker_stop(maker);
	for (size_t i = 0; i < maker->jobs.count; i++)
		clew_opened_close(&((struct job *)maker->jobs.data)[i].file);
	vector_done(&maker->jobs);
	clew_unwind_heap_close(&maker->heap);
	pthread_cond_destroy(&maker->changed);
	pthread_mutex_destroy(&maker->lock);
	free(maker);
}
