/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The holds of a lock. Each wait names the holders while it lasted. At each moment the best
 * evidence of the waits of that moment counts, and among equals the holder that most of them name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/locks_internal.h"

/* One holder that one wait names. */
struct claim {
	uint64_t from;
	uint64_t to;
	uint32_t task;
	uint8_t evidence;
	bool barged;
	bool coming;
};

struct claims {
	struct claim *all; /* in order of `from` */
	size_t count;
	size_t *active; /* those at the moment */
	size_t active_count;
};

static int by_from(const void *a, const void *b)
{
	const struct claim *left = a, *right = b;

	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return (left->task > right->task) - (left->task < right->task);
}

static int add_claim(struct claims *claims, const struct clew_lock_wait *wait, struct claim claim)
{
	int r = locks_reserve((void **)&claims->all, claims->count, sizeof(claim));

	claim.from = claim.from > wait->from ? claim.from : wait->from;
	claim.to = claim.to < wait->to ? claim.to : wait->to;
	if (r == 0 && claim.task != CLEW_NO_TASK && claim.from < claim.to)
		claims->all[claims->count++] = claim;
	return r;
}

static int collect(const struct clew_contended *lock, uint64_t end, struct claims *claims)
{
	int r = 0;

	for (size_t i = 0; i < lock->wait_count; i++) {
		const struct clew_lock_wait *wait = &lock->waits[i];

		for (uint32_t k = 0; wait->sleep && k < wait->sleep->holder_count && r == 0; k++) {
			const struct clew_holder *holder = &wait->sleep->holders[k];

			r = add_claim(claims, wait,
				      (struct claim){
					      .from = holder->from,
					      .to = holder->to == CLEW_TIME_OPEN ? end : holder->to,
					      .task = holder->task,
					      .evidence = holder->evidence,
					      .barged = holder->barged,
					      .coming = holder->coming,
				      });
		}
		/* A spinning task reads who has the lock when it begins. */
		if (wait->spin && r == 0)
			r = add_claim(claims, wait,
				      (struct claim){.from = wait->from,
						     .to = wait->to,
						     .task = wait->spin->holder,
						     .evidence = CLEW_EVIDENCE_OBSERVED});
	}
	if (claims->count)
		qsort(claims->all, claims->count, sizeof(*claims->all), by_from);
	claims->active = malloc((claims->count + 1) * sizeof(*claims->active));
	return r < 0 ? r : claims->active ? 0 : -ENOMEM;
}

/* The number of claims at the moment that are for the same as one of them. */
static size_t votes(const struct claims *claims, const struct claim *claim)
{
	size_t count = 0;

	for (size_t i = 0; i < claims->active_count; i++) {
		const struct claim *other = &claims->all[claims->active[i]];

		count += other->task == claim->task && other->coming == claim->coming;
	}
	return count;
}

static bool is_better(const struct claims *claims, const struct claim *claim,
		      const struct claim *than)
{
	size_t count, other;

	if (claim->evidence != than->evidence)
		return claim->evidence < than->evidence;
	count = votes(claims, claim);
	other = votes(claims, than);
	/* A wait that began later has read the owner later. */
	return count != other ? count > other : claim->from > than->from;
}

static const struct claim *best_of(const struct claims *claims)
{
	const struct claim *best = NULL;

	for (size_t i = 0; i < claims->active_count; i++) {
		const struct claim *claim = &claims->all[claims->active[i]];

		if (!best || is_better(claims, claim, best))
			best = claim;
	}
	return best;
}

/* True if a wait tells that the holder did not let go at a moment. */
static bool goes_on(const struct claims *claims, const struct claim *best, uint64_t at)
{
	for (size_t i = 0; i < claims->active_count; i++) {
		const struct claim *claim = &claims->all[claims->active[i]];

		if (claim->task == best->task && claim->coming == best->coming && claim->from < at)
			return true;
	}
	return false;
}

/* Adds from..to, to the last hold if it is the same one. */
static int add_hold(struct clew_contended *lock, const struct claims *claims, uint64_t from,
		    uint64_t to)
{
	const struct claim *best = best_of(claims);
	struct clew_lock_hold *last = lock->hold_count ? &lock->holds[lock->hold_count - 1] : NULL;
	int r;

	if (!best)
		return 0;
	if (last && last->to == from && last->task == best->task && last->coming == best->coming &&
	    goes_on(claims, best, from)) {
		last->to = to;
		last->barged |= best->barged;
		if (best->evidence > last->evidence)
			last->evidence = best->evidence;
		return 0;
	}
	r = locks_reserve((void **)&lock->holds, lock->hold_count, sizeof(*lock->holds));
	if (r == 0)
		lock->holds[lock->hold_count++] =
			(struct clew_lock_hold){.from = from,
						.to = to,
						.task = best->task,
						.evidence = best->evidence,
						.barged = best->barged,
						.coming = best->coming};
	return r;
}

/* The end of the interval from `at` in which nothing changes. */
static uint64_t next_change(const struct claims *claims, size_t next)
{
	uint64_t until = next < claims->count ? claims->all[next].from : UINT64_MAX;

	for (size_t i = 0; i < claims->active_count; i++)
		if (claims->all[claims->active[i]].to < until)
			until = claims->all[claims->active[i]].to;
	return until;
}

static int sweep(struct clew_contended *lock, struct claims *claims)
{
	size_t next = 0, kept;
	uint64_t at = 0, until;
	int r = 0;

	while (r == 0 && (next < claims->count || claims->active_count)) {
		if (!claims->active_count)
			at = claims->all[next].from;
		for (; next < claims->count && claims->all[next].from <= at; next++)
			claims->active[claims->active_count++] = next;
		until = next_change(claims, next);
		r = add_hold(lock, claims, at, until);
		kept = 0;
		for (size_t i = 0; i < claims->active_count; i++)
			if (claims->all[claims->active[i]].to > until)
				claims->active[kept++] = claims->active[i];
		claims->active_count = kept;
		at = until;
	}
	return r;
}

/* ---- sums ---- */

static int by_length(const void *a, const void *b)
{
	const struct clew_lock_holder *left = a, *right = b;

	if (left->held_ns != right->held_ns)
		return left->held_ns > right->held_ns ? -1 : 1;
	if (left->coming_ns != right->coming_ns)
		return left->coming_ns > right->coming_ns ? -1 : 1;
	return left->first < right->first ? -1 : 1;
}

static int by_task(const void *a, const void *b)
{
	const struct clew_lock_hold *const *left = a, *const *right = b;

	if ((*left)->task != (*right)->task)
		return (*left)->task < (*right)->task ? -1 : 1;
	return (*left)->from < (*right)->from ? -1 : (*left)->from > (*right)->from;
}

static void add_to_holder(struct clew_lock_holder *holder, const struct clew_lock_hold *hold,
			  uint64_t by_evidence[CLEW_EVIDENCE_COUNT])
{
	uint64_t ns = hold->to - hold->from;

	if (hold->coming) {
		holder->coming_ns += ns;
		return;
	}
	holder->held_ns += ns;
	holder->max_ns = ns > holder->max_ns ? ns : holder->max_ns;
	holder->holds++;
	holder->barged += hold->barged;
	by_evidence[hold->evidence] += ns;
	for (uint8_t i = 0; i < CLEW_EVIDENCE_COUNT; i++)
		if (by_evidence[i] > by_evidence[holder->evidence])
			holder->evidence = i;
}

static int add_up(struct clew_contended *lock)
{
	const struct clew_lock_hold **sorted = malloc((lock->hold_count + 1) * sizeof(*sorted));
	uint64_t by_evidence[CLEW_EVIDENCE_COUNT];
	int r = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < lock->hold_count; i++)
		sorted[i] = &lock->holds[i];
	qsort(sorted, lock->hold_count, sizeof(*sorted), by_task);
	for (size_t i = 0; i < lock->hold_count && r == 0; i++) {
		if (i == 0 || sorted[i]->task != sorted[i - 1]->task) {
			r = locks_reserve((void **)&lock->holders, lock->holder_count,
					  sizeof(*lock->holders));
			if (r < 0)
				break;
			memset(by_evidence, 0, sizeof(by_evidence));
			lock->holders[lock->holder_count++] = (struct clew_lock_holder){
				.task = sorted[i]->task, .first = sorted[i]->from};
		}
		add_to_holder(&lock->holders[lock->holder_count - 1], sorted[i], by_evidence);
	}
	free(sorted);
	if (r == 0 && lock->holder_count)
		qsort(lock->holders, lock->holder_count, sizeof(*lock->holders), by_length);
	return r;
}

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Adds up when anybody waited, and how many at once. */
static int count_at_once(struct clew_contended *lock)
{
	uint64_t *ends = malloc((lock->wait_count + 1) * sizeof(*ends)), covered = 0, held = 0;
	size_t over = 0;

	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < lock->wait_count; i++)
		ends[i] = lock->waits[i].to;
	qsort(ends, lock->wait_count, sizeof(*ends), by_value);
	for (size_t i = 0; i < lock->wait_count; i++) {
		const struct clew_lock_wait *wait = &lock->waits[i];
		uint64_t from = wait->from > covered ? wait->from : covered;

		while (ends[over] <= wait->from)
			over++;
		if (i + 1 - over > lock->most_at_once)
			lock->most_at_once = i + 1 - over;
		if (wait->to > from) {
			lock->contended_ns += wait->to - from;
			covered = wait->to;
		}
	}
	free(ends);
	for (size_t i = 0; i < lock->hold_count; i++)
		held += lock->holds[i].to - lock->holds[i].from;
	lock->unheld_ns = lock->contended_ns - held;
	return 0;
}

int locks_find_holds(struct clew_contended *lock, uint64_t end)
{
	struct claims claims = {};
	int r = collect(lock, end, &claims);

	if (r == 0)
		r = sweep(lock, &claims);
	if (r == 0)
		r = add_up(lock);
	free(claims.all);
	free(claims.active);
	return r < 0 ? r : count_at_once(lock);
}
