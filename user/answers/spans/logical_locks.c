/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks of runtimes that were waited for, and who had them meanwhile. Each moment of a wait counts
 * for one holder, or for none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/spans/logical_sum.h"
#include "base/map.h"

static struct logical_lock *lock_at(const struct logical_locks *locks, size_t number)
{
	return (struct logical_lock *)locks->list.data + number;
}

static int find_lock(struct logical_locks *locks, struct map *places,
		     const struct clew_job_wait *wait, struct logical_lock **ret)
{
	const uint64_t *known = map_get(places, wait->joined, 0);
	size_t place = known ? *known : locks->list.count;
	int r = 0;

	if (!known) {
		r = vector_reserve(&locks->list, locks->list.count + 1);
		r = r < 0 ? r : map_set(places, wait->joined, 0, place);
		if (r < 0)
			return r;
		*lock_at(locks, locks->list.count++) = (struct logical_lock){.wait = wait};
	}
	*ret = lock_at(locks, place);
	return 0;
}

static int add_holder(struct logical_lock *lock, const struct clew_jobs *jobs,
		      const struct clew_job_holder *holder, uint64_t ns)
{
	const char *name = holder->job == CLEW_NO_NUMBER
				   ? NULL
				   : clew_job_name(jobs, clew_job_at(jobs, holder->job));
	struct logical_holder *larger;
	size_t i = 0;

	while (i < lock->holder_count &&
	       (name && lock->holders[i].name
			? strcmp(name, lock->holders[i].name) != 0
			: name || lock->holders[i].name || holder->task != lock->holders[i].task))
		i++;
	if (i == lock->holder_count) {
		larger = realloc(lock->holders, (i + 1) * sizeof(*larger));
		if (!larger)
			return -ENOMEM;
		lock->holders = larger;
		lock->holders[lock->holder_count++] =
			(struct logical_holder){.name = name, .task = holder->task};
	}
	lock->holders[i].ns += ns;
	lock->holders[i].exact_ns += holder->exact ? ns : 0;
	return 0;
}

static int add_wait(struct logical_lock *lock, const struct clew_jobs *jobs,
		    const struct clew_job_wait *wait, uint64_t end)
{
	uint64_t at = wait->from;
	int r = 0;

	lock->count++;
	lock->ns += end - wait->from;
	if (end - wait->from >= lock->max) {
		lock->max = end - wait->from;
		lock->wait = wait;
	}
	while (r >= 0 && at < end) {
		struct clew_job_holder holder;

		bool known = clew_job_holder_of(jobs, wait, at, &holder);

		holder.until = holder.until > at && holder.until < end ? holder.until : end;
		if (known)
			r = add_holder(lock, jobs, &holder, holder.until - at);
		else
			lock->unheld += holder.until - at;
		at = holder.until;
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct logical_lock *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->wait < y->wait ? -1 : x->wait > y->wait;
}

static int by_held(const void *a, const void *b)
{
	const struct logical_holder *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : x->task < y->task ? -1 : x->task > y->task;
}

int logical_locks(const struct clew_logical *logical, struct logical_locks *ret)
{
	const struct clew_jobs *jobs = logical->jobs;
	struct map places = {};
	int r = 0;

	*ret = (struct logical_locks){.list.item = sizeof(struct logical_lock)};
	for (size_t i = 0; r >= 0 && i < jobs->waits.count; i++) {
		const struct clew_job_wait *wait = (struct clew_job_wait *)jobs->waits.data + i;
		uint64_t end = clew_trace_until(jobs->trace, logical_wait_end(wait));
		struct logical_lock *lock;

		if (!wait->kind->lock || !clew_logical_wants_wait(logical, wait))
			continue;
		r = find_lock(ret, &places, wait, &lock);
		r = r < 0 ? r : add_wait(lock, jobs, wait, end > wait->from ? end : wait->from);
	}
	map_done(&places);
	for (size_t i = 0; i < ret->list.count; i++)
		if (lock_at(ret, i)->holder_count > 1)
			qsort(lock_at(ret, i)->holders, lock_at(ret, i)->holder_count,
			      sizeof(struct logical_holder), by_held);
	if (ret->list.count > 1)
		qsort(ret->list.data, ret->list.count, ret->list.item, by_time);
	return r;
}

void logical_locks_done(struct logical_locks *locks)
{
	for (size_t i = 0; i < locks->list.count; i++)
		free(lock_at(locks, i)->holders);
	vector_done(&locks->list);
}
