/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The locks of all of a trace.
 *
 * A hold is explained by the window in which it ends; what of it came before that window knows
 * anything, by those in which that was.
 */
#include "explain/locks_sum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/internal.h"

static size_t shown(const struct clew_locks_sum *sum)
{
	return sum->asked->top < sum->locks.count ? sum->asked->top : sum->locks.count;
}

/* ---- the part of a window ---- */

struct left_part {
	size_t lock;
	struct clew_contended found; /* holders, what they did, and inversions */
	struct left_part *next;
};

static const struct clew_trace_window *window_of(const struct clew_locks_sum *sum, uint64_t at)
{
	const struct clew_trace_window *windows = sum->waits.windows.data;
	size_t low = 0, high = sum->waits.windows.count - 1;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at < windows[middle].to)
			high = middle;
		else
			low = middle + 1;
	}
	return &windows[low];
}

/* The part of a hold that a window explains. False: none. */
static bool part_of(const struct clew_locks_sum *sum, const struct clew_trace_window *window,
		    struct clew_lock_hold *hold)
{
	const struct clew_trace_window *last = window_of(sum, hold->to);
	bool ends_here = last->from == window->from;
	uint64_t from = ends_here ? window->known : window->from,
		 to = last->known < window->to ? last->known : window->to;

	hold->from = hold->from > from ? hold->from : from;
	if (!ends_here)
		hold->to = hold->to < to ? hold->to : to;
	return hold->from < hold->to;
}

/* A lock with those holds, or parts of them, that a window explains. 0 or -ENOMEM. */
static int make_part(const struct clew_locks_sum *sum, const struct clew_trace_window *window,
		     const struct clew_contended *lock, struct clew_contended *ret_part)
{
	*ret_part = *lock;
	ret_part->hold_count = 0;
	ret_part->holds = malloc((lock->hold_count + 1) * sizeof(*lock->holds));
	ret_part->holders = malloc((lock->holder_count + 1) * sizeof(*lock->holders));
	if (!ret_part->holds || !ret_part->holders) {
		free(ret_part->holds);
		free(ret_part->holders);
		return -ENOMEM;
	}
	/* Earlier windows have found theirs. */
	ret_part->inversions = NULL;
	ret_part->inversion_count = 0;
	for (size_t i = 0; i < lock->holder_count; i++)
		ret_part->holders[i] = (struct clew_lock_holder){.task = lock->holders[i].task};
	for (size_t i = 0; i < lock->hold_count; i++) {
		struct clew_lock_hold hold = lock->holds[i];

		if (part_of(sum, window, &hold))
			ret_part->holds[ret_part->hold_count++] = hold;
	}
	return 0;
}

/* Text needs the trace that the segment is of. */
static int say(const struct clew_locks_asked *asked, const struct clew_trace *trace,
	       uint32_t holder, struct clew_lock_doing *doing, struct shared *out)
{
	char *text = NULL;
	size_t size;
	FILE *words = open_memstream(&text, &size);

	if (!words)
		return -ENOMEM;
	asked->say(words, trace, holder, doing);
	if (!fclose(words))
		doing->words = shared_string(out, text);
	free(text);
	return doing->words ? 0 : -ENOMEM;
}

static bool copy_item(struct shared *out, const void **item, size_t size)
{
	if (*item)
		*item = shared_copy(out, *item, size);
	return *item;
}

/* Leaves a sleep with the timer that it is about; further links are to the window's own trace. */
static const struct clew_sleep *leave_sleep(struct shared *out, const struct clew_sleep *sleep)
{
	struct clew_sleep *copy = shared_copy(out, sleep, sizeof(*sleep));

	if (!copy)
		return NULL;
	copy->holders = NULL;
	copy->links = NULL;
	copy->holder_count = copy->link_count = copy->and_count = 0;
	for (uint32_t i = 0; i < sleep->link_count && !copy->links; i++) {
		if (sleep->links[i].kind != CLEW_LINK_TIMER)
			continue;
		copy->links = shared_copy(out, &sleep->links[i], sizeof(*sleep->links));
		if (!copy->links)
			return NULL;
		copy->link_count = 1;
	}
	return copy;
}

/* Leaves what a segment points to. */
static int leave_segment(struct shared *out, struct clew_segment *segment)
{
	if ((segment->link &&
	     !copy_item(out, (const void **)&segment->link, sizeof(*segment->link))) ||
	    (segment->stay &&
	     !copy_item(out, (const void **)&segment->stay, sizeof(*segment->stay))) ||
	    (segment->spin &&
	     !copy_item(out, (const void **)&segment->spin, sizeof(*segment->spin))))
		return -ENOMEM;
	if (!segment->sleep)
		return 0;
	segment->sleep = leave_sleep(out, segment->sleep);
	return segment->sleep ? 0 : -ENOMEM;
}

static int leave_holder(const struct clew_locks_sum *sum, const struct clew_trace *trace,
			struct clew_lock_holder *holder, struct shared *out)
{
	int r = 0;

	if (!holder->doing_count)
		return 0;
	holder->doing =
		shared_copy(out, holder->doing, holder->doing_count * sizeof(*holder->doing));
	if (!holder->doing)
		return -ENOMEM;
	for (size_t i = 0; i < holder->doing_count && r == 0; i++) {
		if (sum->asked->say)
			r = say(sum->asked, trace, holder->task, &holder->doing[i], out);
		if (r == 0)
			r = leave_segment(out, &holder->doing[i].segment);
	}
	return r;
}

static int leave_part(const struct clew_locks_sum *sum, const struct clew_trace *trace, size_t lock,
		      const struct clew_contended *part, struct shared *out)
{
	struct left_part *left = shared_take(out, sizeof(*left));
	struct clew_contended *found;
	int r = 0;

	if (!left)
		return -ENOMEM;
	left->lock = lock;
	left->next = out->root;
	out->root = left;
	found = &left->found;
	found->holder_count = part->holder_count;
	found->holders =
		shared_copy(out, part->holders, part->holder_count * sizeof(*part->holders));
	found->inversion_count = part->inversion_count;
	found->inversions = shared_copy(out, part->inversions,
					part->inversion_count * sizeof(*part->inversions));
	if (!found->holders || !found->inversions)
		return -ENOMEM;
	for (size_t i = 0; i < found->holder_count && r == 0; i++)
		r = leave_holder(sum, trace, &found->holders[i], out);
	return r;
}

/* Memory is not freed: the process ends with the window. */
static int explain_window(const struct clew_locks_sum *sum, const struct clew_trace *trace,
			  const struct clew_trace_window *window, struct shared *out)
{
	int r = 0;

	for (size_t i = 0; i < shown(sum) && r == 0; i++) {
		struct clew_contended part;

		r = make_part(sum, window, &sum->locks.locks[i], &part);
		if (r < 0 || !part.hold_count)
			continue;
		r = clew_lock_explain(trace, NULL, &part);
		if (r == 0)
			r = leave_part(sum, trace, i, &part, out);
	}
	return r;
}

/* ---- all of them ---- */

/* Explains the locks in the trace that has all. */
static int explain_alone(struct clew_locks_sum *sum, const struct clew_trace *trace)
{
	const struct clew_relations *relations = sum->asked->relations;
	size_t top = sum->asked->top;
	int r = 0;

	for (size_t i = 0; i < shown(sum) && r == 0; i++)
		r = clew_lock_explain(trace, relations, &sum->locks.locks[i]);
	for (size_t i = 0, more = top; i < sum->taken.count && r == 0; i++) {
		struct clew_taken_lock *lock = &sum->taken.locks[i];

		if (lock->waited < top || (lock->waited == SIZE_MAX && more && more--))
			r = clew_taken_explain(trace, relations, lock);
	}
	return r;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	return window->alone ? explain_alone(context, trace)
			     : explain_window(context, trace, window, out);
}

static int add(void *context, const struct shared *found)
{
	struct clew_locks_sum *sum = context;
	int r = 0;

	for (const struct left_part *left = found->root; left && r == 0; left = left->next)
		r = clew_lock_explain_more(sum->names, &left->found, &sum->locks.locks[left->lock],
					   &sum->arena);
	return r;
}

void clew_locks_sum_begin(struct clew_locks_sum *sum, const struct clew_locks_asked *asked)
{
	*sum = (struct clew_locks_sum){.asked = asked};
	lock_waits_begin(&sum->waits, false);
}

void clew_locks_sum_done(struct clew_locks_sum *sum)
{
	clew_taken_done(&sum->taken);
	clew_locks_done(&sum->locks);
	lock_waits_done(&sum->waits);
	arena_done(&sum->arena);
}

struct clew_windows_taker clew_locks_sum_taker(struct clew_locks_sum *sum)
{
	return lock_waits_taker(&sum->waits);
}

int clew_locks_sum_make(struct clew_locks_sum *sum, const struct clew_trace *names)
{
	const struct clew_locks_asked *asked = sum->asked;
	const struct clew_lock_waiting waiting = lock_waits_waiting(&sum->waits);
	int r = clew_locks_make_of(names, &waiting, &asked->chosen, asked->from, asked->to,
				   &sum->locks);

	sum->names = names;
	return r < 0 ? r
		     : clew_taken_make(names, &asked->chosen, asked->from, asked->to, &sum->locks,
				       &sum->taken);
}

bool clew_locks_sum_again(struct clew_locks_sum *sum, struct clew_windows_taker *ret_taker)
{
	*ret_taker = (struct clew_windows_taker){.look = look, .add = add, .context = sum};
	return shown(sum) || sum->taken.count;
}

void clew_locks_sum_finish(struct clew_locks_sum *sum)
{
	for (size_t i = 0; i < shown(sum) && !lock_waits_alone(&sum->waits); i++)
		clew_lock_explain_end(&sum->locks.locks[i]);
}
