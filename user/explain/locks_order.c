/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * In which order a lock was handed over:
 *
 *  - A release that woke a waiter handed the lock over to it, unless it came too late.
 *  - A task that barged in got it from the last one that released it. That may be the same task,
 *    which then is no hand-over.
 *
 * A convoy is a number of hand-overs in a row without barging, each to a task that already waited
 * when the one before it got the lock: the queue feeds itself.
 */
#include <clew/tokens.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>

#include "explain/locks_internal.h"

#define SOON	     50000 /* ns: who sleeps again this soon may have found the lock taken */
#define CONVOY_LEAST 3	   /* hand-overs */

struct order {
	struct clew_contended *lock;
	size_t *next; /* by wait: 1 + the next wait of the same task, 0 none */
};

static int by_task(const void *a, const void *b, void *context)
{
	const struct clew_lock_wait *waits = context, *left = &waits[*(const size_t *)a],
				    *right = &waits[*(const size_t *)b];

	if (left->task != right->task)
		return left->task < right->task ? -1 : 1;
	return left->from < right->from ? -1 : left->from > right->from;
}

static int find_next(struct order *order)
{
	size_t count = order->lock->wait_count, *sorted = malloc((count + 1) * sizeof(*sorted));

	order->next = calloc(count + 1, sizeof(*order->next));
	if (!sorted || !order->next) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), by_task, order->lock->waits);
	for (size_t i = 1; i < count; i++)
		if (order->lock->waits[sorted[i]].task == order->lock->waits[sorted[i - 1]].task)
			order->next[sorted[i - 1]] = 1 + sorted[i];
	free(sorted);
	return 0;
}

/* The hold that contains a moment, NULL none. */
static const struct clew_lock_hold *hold_at(const struct clew_contended *lock, uint64_t at)
{
	size_t low = 0, high = lock->hold_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lock->holds[middle].to <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < lock->hold_count && lock->holds[low].from <= at ? &lock->holds[low] : NULL;
}

/*
 * True if the waiter that a release woke got the lock. It came too late if another task is known to
 * have had the lock when it came, or if it slept on the lock again at once.
 */
static bool got_it(const struct order *order, size_t index)
{
	const struct clew_contended *lock = order->lock;
	const struct clew_lock_wait *wait = &lock->waits[index],
				    *again = order->next[index]
						     ? &lock->waits[order->next[index] - 1]
						     : NULL;
	uint64_t came = wait->sleep->switch_in;
	const struct clew_lock_hold *hold;

	if (came == CLEW_TIME_OPEN)
		return false;
	hold = hold_at(lock, came);
	if (hold && !hold->coming)
		return hold->task == wait->task;
	return !again || again->from - came > SOON;
}

static int add(struct clew_contended *lock, struct clew_lock_handover handover)
{
	int r = locks_reserve((void **)&lock->handovers, lock->handover_count,
			      sizeof(*lock->handovers));

	if (r == 0)
		lock->handovers[lock->handover_count++] = handover;
	return r;
}

static bool is_release(const struct clew_lock_wait *wait)
{
	return wait->sleep && wait->sleep->edge_type == CLEW_EDGE_UNLOCK &&
	       wait->sleep->end != CLEW_TIME_OPEN && wait->sleep->end == wait->to &&
	       wait->sleep->ended_by != CLEW_NO_TASK;
}

/* A woken waiter takes the lock when it comes, and a task that never waited may have had it in
 * between. Only where the release itself grants the lock there is no such time. */
static uint8_t evidence_of(const struct clew_contended *lock, const struct clew_lock_wait *wait)
{
	const struct clew_sleep *sleep = wait->sleep;
	const struct clew_lock_hold *hold = hold_at(lock, sleep->end);
	unsigned operation = sleep->object.futex_operation & FUTEX_CMD_MASK;
	bool granted = sleep->object.kind == CLEW_OBJECT_FUTEX &&
		       (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2);

	granted |= hold && hold->task == wait->task && !hold->coming;
	return granted || sleep->edge_evidence > CLEW_EVIDENCE_OBSERVED ? sleep->edge_evidence
									: CLEW_EVIDENCE_OBSERVED;
}

static int add_woken(const struct order *order)
{
	struct clew_contended *lock = order->lock;
	int r = 0;

	for (size_t i = 0; i < lock->wait_count && r == 0; i++) {
		const struct clew_lock_wait *wait = &lock->waits[i];

		if (is_release(wait) && got_it(order, i))
			r = add(lock,
				(struct clew_lock_handover){.at = wait->sleep->end,
							    .from = wait->sleep->ended_by,
							    .to = wait->task,
							    .evidence = evidence_of(lock, wait)});
	}
	return r;
}

/* Counts takes past a woken thread. The holder before in the order of holds was the last one to
 * release the lock. */
static int add_barged(struct clew_contended *lock)
{
	int r = 0;

	for (size_t i = 1; i < lock->hold_count && r == 0; i++) {
		const struct clew_lock_hold *hold = &lock->holds[i], *before = hold - 1;

		if (!hold->barged || before->to != hold->from)
			continue;
		while (before > lock->holds && before->coming && before[-1].to == before->from)
			before--;
		if (before->coming)
			continue;
		lock->barged++;
		if (before->task == hold->task)
			continue;
		r = add(lock, (struct clew_lock_handover){.at = before->to,
							  .from = before->task,
							  .to = hold->task,
							  .evidence = hold->evidence,
							  .barged = true});
	}
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct clew_lock_handover *left = a, *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return (left->to > right->to) - (left->to < right->to);
}

/* ---- convoys ---- */

/* True if a task waited for the lock from before a moment on until it was handed over. */
static bool waited_since(const struct clew_contended *lock,
			 const struct clew_lock_handover *handover, uint64_t before)
{
	/* Waits are in order of their begin. */
	for (size_t i = 0; i < lock->wait_count && lock->waits[i].from < before; i++)
		if (lock->waits[i].task == handover->to && lock->waits[i].to == handover->at)
			return true;
	return false;
}

static void find_convoys(struct clew_contended *lock)
{
	size_t length = 0;

	for (size_t i = 0; i < lock->handover_count; i++) {
		const struct clew_lock_handover *this = &lock->handovers[i],
						*before = i ? this - 1 : NULL;
		bool goes_on = length && this->from == before->to && !this->barged &&
			       waited_since(lock, this, before->at);

		length = goes_on ? length + 1 : !this->barged;
		lock->convoys += length == CONVOY_LEAST;
		if (length > lock->convoy_length)
			lock->convoy_length = length;
	}
}

int locks_find_order(struct clew_contended *lock)
{
	struct order order = {.lock = lock};
	int r = find_next(&order);

	if (r == 0)
		r = add_woken(&order);
	if (r == 0)
		r = add_barged(lock);
	free(order.next);
	if (r == 0 && lock->handover_count)
		qsort(lock->handovers, lock->handover_count, sizeof(*lock->handovers), by_time);
	if (r == 0)
		find_convoys(lock);
	return r;
}
