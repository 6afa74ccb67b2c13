/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the locks that tasks waited for, and adds up the waits. A futex is a lock if anybody was
 * seen to hold it: those of condition variables and events have no holder.
 */
#include "explain/locks.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "explain/locks_internal.h"
#include "trace/internal.h"

/* One wait of any task for what may be a lock. */
struct found {
	struct clew_wait_key key;
	struct clew_lock_wait wait;
	bool chosen;
};

struct finder {
	const struct clew_trace *trace;
	const struct clew_lock_waiting *waiting;
	const struct clew_chosen *chosen;
	uint64_t from;
	uint64_t to;
	uint64_t end; /* of the capture */
	struct vector found;
};

int locks_reserve(void **array, size_t count, size_t size)
{
	void *larger;

	/* Full at each power of two from 4 on. */
	if (count && (count < 4 || (count & (count - 1))))
		return 0;
	larger = realloc(*array, (count ? count * 2 : 4) * size);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	return 0;
}

/* ---- waits ---- */

/* Whoever waits for a kernel lock to read it has the same key as who waits to write, and another
 * lock at the same address has another key. */
static struct clew_wait_key kernel_key(const struct clew_trace *trace, uint64_t address,
				       uint64_t at)
{
	const char *name;

	return (struct clew_wait_key){
		{address, CLEW_OBJECT_LOCK, (uintptr_t)clew_trace_lock(trace, address, at, &name)}};
}

static int add(struct finder *finder, struct found *found)
{
	struct vector *vector = &finder->found;
	struct clew_lock_wait *wait = &found->wait;

	wait->from = wait->from > finder->from ? wait->from : finder->from;
	wait->to = wait->to < finder->to ? wait->to : finder->to;
	if (wait->from >= wait->to)
		return 0;
	if (vector_reserve(vector, vector->count + 1) < 0)
		return -ENOMEM;
	found->chosen = clew_is_chosen(finder->chosen, finder->trace, wait->task);
	((struct found *)vector->data)[vector->count++] = *found;
	return 0;
}

bool clew_may_be_lock(const struct clew_sleep *sleep)
{
	const char *call = clew_call_name(sleep->call);

	if (sleep->kind == CLEW_WAIT_FILE)
		return sleep->object.kind == CLEW_OBJECT_FILE && call &&
		       (!strcmp(call, "flock") || !strcmp(call, "fcntl"));
	return (sleep->kind == CLEW_WAIT_FUTEX || sleep->kind == CLEW_WAIT_LOCK) &&
	       clew_waits_for_object(sleep);
}

static int add_sleeps(struct finder *finder)
{
	int r = 0;

	for (size_t i = 0; i < finder->waiting->sleep_count && r == 0; i++) {
		const struct clew_sleep *sleep = &finder->waiting->sleeps[i];
		struct found found = {
			.wait = {.from = sleep->start,
				 .to = sleep->end == CLEW_TIME_OPEN ? finder->end : sleep->end,
				 .sleep = sleep,
				 .task = sleep->task}};

		if (!clew_may_be_lock(sleep))
			continue;
		found.key = sleep->object.kind == CLEW_OBJECT_LOCK
				    ? kernel_key(finder->trace, sleep->object.number, sleep->start)
				    : clew_wait_key(finder->trace, sleep);
		r = add(finder, &found);
	}
	return r;
}

static int add_spins(struct finder *finder)
{
	const struct clew_spin *spins = finder->waiting->spins;
	int r = 0;

	for (size_t i = 0; i < finder->waiting->spin_count && r == 0; i++) {
		struct found found = {.key = kernel_key(finder->trace, spins[i].lock, spins[i].end),
				      .wait = {.from = spins[i].start,
					       .to = spins[i].end,
					       .spin = &spins[i],
					       .task = spins[i].task}};

		r = add(finder, &found);
	}
	return r;
}

static int by_key_and_time(const void *a, const void *b)
{
	const struct found *left = a, *right = b;
	int order = memcmp(&left->key, &right->key, sizeof(left->key));

	if (order)
		return order;
	if (left->wait.from != right->wait.from)
		return left->wait.from < right->wait.from ? -1 : 1;
	return (left->wait.task > right->wait.task) - (left->wait.task < right->wait.task);
}

/* ---- locks ---- */

static bool is_lock(const struct found *first, const struct found *last)
{
	bool chosen = false, held = first->key.parts[1] != CLEW_OBJECT_FUTEX;

	for (const struct found *found = first; found < last; found++) {
		chosen |= found->chosen;
		held |= found->wait.sleep && found->wait.sleep->holder_count > 0;
	}
	return chosen && held;
}

static int by_number(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static int count_waiters(struct clew_contended *lock)
{
	uint32_t *tasks = malloc(lock->wait_count * sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < lock->wait_count; i++)
		tasks[i] = lock->waits[i].task;
	qsort(tasks, lock->wait_count, sizeof(*tasks), by_number);
	for (size_t i = 0; i < lock->wait_count; i++)
		lock->waiters += i == 0 || tasks[i] != tasks[i - 1];
	free(tasks);
	return 0;
}

static int make_lock(const struct finder *finder, const struct found *first,
		     const struct found *last, struct clew_contended *lock)
{
	int r;

	*lock = (struct clew_contended){.key = first->key};
	lock->waits = malloc((size_t)(last - first) * sizeof(*lock->waits));
	if (!lock->waits)
		return -ENOMEM;
	for (const struct found *found = first; found < last; found++) {
		uint64_t ns = found->wait.to - found->wait.from;

		if (!found->chosen)
			continue;
		if (ns > lock->max_wait_ns) {
			lock->max_wait_ns = ns;
			lock->longest = lock->wait_count;
		}
		lock->wait_ns += ns;
		lock->waits[lock->wait_count++] = found->wait;
	}
	r = count_waiters(lock);
	if (r == 0)
		r = locks_find_holds(lock, finder->end);
	return r < 0 ? r : locks_find_order(lock);
}

static int by_cost(const void *a, const void *b)
{
	const struct clew_contended *left = a, *right = b;

	if (left->wait_ns != right->wait_ns)
		return left->wait_ns > right->wait_ns ? -1 : 1;
	return left->waits[0].from < right->waits[0].from ? -1 : 1;
}

static int make_locks(struct finder *finder, struct clew_locks *locks)
{
	struct found *all = finder->found.data;
	size_t count = finder->found.count;
	int r = 0;

	if (count)
		qsort(all, count, sizeof(*all), by_key_and_time);
	for (size_t first = 0, last; first < count && r == 0; first = last) {
		for (last = first + 1; last < count && !memcmp(&all[last].key, &all[first].key,
							       sizeof(all[first].key));)
			last++;
		if (!is_lock(all + first, all + last))
			continue;
		r = locks_reserve((void **)&locks->locks, locks->count, sizeof(*locks->locks));
		if (r == 0)
			r = make_lock(finder, all + first, all + last,
				      &locks->locks[locks->count++]);
	}
	if (locks->count)
		qsort(locks->locks, locks->count, sizeof(*locks->locks), by_cost);
	return r < 0 ? r : locks_find_cycles(locks, finder->end);
}

int clew_locks_make_of(const struct clew_trace *trace, const struct clew_lock_waiting *waiting,
		       const struct clew_chosen *chosen, uint64_t from, uint64_t to,
		       struct clew_locks *ret_locks)
{
	struct finder finder = {.trace = trace,
				.waiting = waiting,
				.chosen = chosen,
				.from = from,
				.to = to,
				.end = clew_trace_end(trace),
				.found.item = sizeof(struct found)};
	int r;

	*ret_locks = (struct clew_locks){};
	r = add_sleeps(&finder);
	if (r == 0)
		r = add_spins(&finder);
	if (r == 0)
		r = make_locks(&finder, ret_locks);
	vector_done(&finder.found);
	if (r < 0)
		clew_locks_done(ret_locks);
	return r;
}

struct clew_lock_waiting clew_lock_waiting_of(const struct clew_trace *trace)
{
	struct clew_lock_waiting waiting = {.spins = trace->spins.data,
					    .spin_count = trace->spins.count};

	waiting.sleeps = clew_trace_sleeps(trace, &waiting.sleep_count);
	return waiting;
}

int clew_locks_make(const struct clew_trace *trace, const struct clew_chosen *chosen, uint64_t from,
		    uint64_t to, struct clew_locks *ret_locks)
{
	const struct clew_lock_waiting waiting = clew_lock_waiting_of(trace);

	return clew_locks_make_of(trace, &waiting, chosen, from, to, ret_locks);
}

void clew_locks_done(struct clew_locks *locks)
{
	for (size_t i = 0; i < locks->count; i++) {
		struct clew_contended *lock = &locks->locks[i];

		for (size_t k = 0; k < lock->holder_count; k++)
			free(lock->holders[k].doing);
		free(lock->waits);
		free(lock->holds);
		free(lock->holders);
		free(lock->handovers);
		free(lock->inversions);
	}
	for (size_t i = 0; i < locks->cycle_count; i++)
		free(locks->cycles[i].steps);
	free(locks->locks);
	free(locks->cycles);
	*locks = (struct clew_locks){};
}
