/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Circles of tasks: each waits for a lock that the next one holds, all at the same time. A search
 * goes from each wait along the holders, with the time in which all of the way is true. A circle
 * is found from its task with the least serial alone. Its evidence is the weakest of those of
 * its holders.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/locks_internal.h"

#define LONGEST 16 /* tasks of a circle */

/* `task` waited for a lock that `holder` had. */
struct arc {
	uint64_t from;
	uint64_t to;
	uint64_t after; /* the latest `to` of the same task's arcs up to this one */
	size_t lock;
	uint32_t task;
	uint32_t holder;
	uint8_t evidence;
};

struct search {
	struct clew_locks *locks;
	struct arc *arcs; /* in order of task and `from` */
	size_t count;
	const struct arc *way[LONGEST];
	int error;
};

static int by_task(const void *a, const void *b)
{
	const struct arc *left = a, *right = b;

	if (left->task != right->task)
		return left->task < right->task ? -1 : 1;
	return left->from < right->from ? -1 : left->from > right->from;
}

static int collect(struct search *search, uint64_t end)
{
	for (size_t i = 0; i < search->locks->count; i++) {
		const struct clew_contended *lock = &search->locks->locks[i];

		for (size_t k = 0; k < lock->wait_count; k++) {
			const struct clew_lock_wait *wait = &lock->waits[k];
			uint32_t holders = wait->sleep ? wait->sleep->holder_count : 0;

			for (uint32_t m = 0; m < holders; m++) {
				const struct clew_holder *holder = &wait->sleep->holders[m];
				uint64_t to = holder->to == CLEW_TIME_OPEN ? end : holder->to;

				if (holder->coming || holder->task == wait->task ||
				    holder->task == CLEW_NO_TASK)
					continue;
				if (locks_reserve((void **)&search->arcs, search->count,
						  sizeof(*search->arcs)) < 0)
					return -ENOMEM;
				search->arcs[search->count++] = (struct arc){
					.from = holder->from > wait->from ? holder->from
									  : wait->from,
					.to = to < wait->to ? to : wait->to,
					.lock = i,
					.task = wait->task,
					.holder = holder->task,
					.evidence = holder->evidence,
				};
			}
		}
	}
	return 0;
}

/* The first arc of a task that ends after a moment. A task waits for one lock at a time. */
static const struct arc *first_of(const struct search *search, uint32_t task, uint64_t after)
{
	size_t low = 0, high = search->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct arc *arc = &search->arcs[middle];

		if (arc->task < task || (arc->task == task && arc->after <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return search->arcs + low;
}

static bool has_lock(const struct search *search, size_t length, size_t lock)
{
	for (size_t i = 0; i < length; i++)
		if (search->way[i]->lock == lock)
			return true;
	return false;
}

/* True if the same tasks and locks were in a circle until this one closed. */
static struct clew_lock_cycle *known(const struct search *search, size_t length)
{
	for (size_t i = search->locks->cycle_count; i-- > 0;) {
		struct clew_lock_cycle *cycle = &search->locks->cycles[i];
		bool same = cycle->count == length;

		for (size_t k = 0; k < length && same; k++)
			same = cycle->steps[k].task == search->way[k]->task &&
			       cycle->steps[k].lock == search->way[k]->lock;
		if (same)
			return cycle;
	}
	return NULL;
}

static void add(struct search *search, size_t length, uint64_t from, uint64_t to)
{
	struct clew_locks *locks = search->locks;
	struct clew_lock_cycle *cycle = known(search, length), added = {.from = from, .to = to};

	if (cycle && cycle->to == from) {
		cycle->to = to;
		return;
	}
	added.steps = malloc(length * sizeof(*added.steps));
	if (!added.steps || locks_reserve((void **)&locks->cycles, locks->cycle_count,
					  sizeof(*locks->cycles)) < 0) {
		free(added.steps);
		search->error = -ENOMEM;
		return;
	}
	added.count = length;
	for (size_t i = 0; i < length; i++) {
		added.steps[i] = (struct clew_lock_step){.task = search->way[i]->task,
							 .lock = search->way[i]->lock};
		if (search->way[i]->evidence > added.evidence)
			added.evidence = search->way[i]->evidence;
	}
	locks->cycles[locks->cycle_count++] = added;
}

static void go_on(struct search *search, size_t length, uint64_t from, uint64_t to)
{
	uint32_t first = search->way[0]->task, task = search->way[length - 1]->holder;

	if (task == first) {
		add(search, length, from, to);
		return;
	}
	if (length == LONGEST || task < first)
		return;
	for (const struct arc *arc = first_of(search, task, from);
	     arc < search->arcs + search->count && arc->task == task && arc->from < to; arc++) {
		if (arc->to <= from || has_lock(search, length, arc->lock))
			continue;
		search->way[length] = arc;
		go_on(search, length + 1, arc->from > from ? arc->from : from,
		      arc->to < to ? arc->to : to);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct clew_lock_cycle *left = a, *right = b;

	return left->from < right->from ? -1 : left->from > right->from;
}

int locks_find_cycles(struct clew_locks *locks, uint64_t end)
{
	struct search search = {.locks = locks};
	int r = collect(&search, end);

	if (r == 0 && search.count)
		qsort(search.arcs, search.count, sizeof(*search.arcs), by_task);
	for (size_t i = 0; i < search.count; i++) {
		struct arc *arc = &search.arcs[i], *before = i ? arc - 1 : NULL;

		arc->after = arc->to;
		if (before && before->task == arc->task && before->after > arc->to)
			arc->after = before->after;
	}
	for (size_t i = 0; i < search.count && r == 0; i++) {
		search.way[0] = &search.arcs[i];
		go_on(&search, 1, search.arcs[i].from, search.arcs[i].to);
		r = search.error;
	}
	free(search.arcs);
	if (locks->cycle_count)
		qsort(locks->cycles, locks->cycle_count, sizeof(*locks->cycles), by_begin);
	return r;
}
