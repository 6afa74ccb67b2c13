/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew locks of a long capture. The locks are made of the waits that all windows have left
 * (lock_waits.h). Then each window is looked at again for what the holders did.
 *
 * A hold is explained by the window in which it ends; what of it came before that window knows
 * anything, by those in which that was.
 */
#include "cli/locks/locks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/locks/locks.h"
#include "cli/front/fail.h"
#include "cli/operand/windows.h"
#include "cli/windowed/lock_waits.h"
#include "trace/internal.h"

struct long_locks {
	const struct locks_values *values;
	const struct clew_trace *names;
	struct lock_waits waits;
	struct arena arena; /* what the holders did */
	struct clew_locks locks;
};

/* ---- what the holders did ---- */

struct left_part {
	size_t lock;
	struct clew_contended found; /* holders, what they did, and inversions */
	struct left_part *next;
};

static const struct clew_trace_window *window_of(const struct long_locks *it, uint64_t at)
{
	const struct clew_trace_window *windows = it->waits.windows.data;
	size_t low = 0, high = it->waits.windows.count - 1;

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
static bool part_of(const struct long_locks *it, const struct clew_trace_window *window,
		    struct clew_lock_hold *hold)
{
	const struct clew_trace_window *last = window_of(it, hold->to);
	bool ends_here = last->from == window->from;
	uint64_t from = ends_here ? window->known : window->from,
		 to = last->known < window->to ? last->known : window->to;

	hold->from = hold->from > from ? hold->from : from;
	if (!ends_here)
		hold->to = hold->to < to ? hold->to : to;
	return hold->from < hold->to;
}

/* A lock with those holds, or parts of them, that a window explains. 0 or -ENOMEM. */
static int make_part(const struct long_locks *it, const struct clew_trace_window *window,
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

		if (part_of(it, window, &hold))
			ret_part->holds[ret_part->hold_count++] = hold;
	}
	return 0;
}

/* Text needs the trace that the segment is of. */
static int say(const struct clew_trace *trace, uint32_t holder, struct clew_lock_doing *doing,
	       struct shared *out)
{
	char *text = NULL;
	size_t size;
	FILE *words = open_memstream(&text, &size);

	if (!words)
		return -ENOMEM;
	clew_print_lock_doing(words, trace, holder, doing);
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

static int leave_holder(const struct long_locks *it, const struct clew_trace *trace,
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
		if (!it->values->json)
			r = say(trace, holder->task, &holder->doing[i], out);
		if (r == 0)
			r = leave_segment(out, &holder->doing[i].segment);
	}
	return r;
}

static int leave_part(const struct long_locks *it, const struct clew_trace *trace, size_t lock,
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
		r = leave_holder(it, trace, &found->holders[i], out);
	return r;
}

static size_t shown(const struct long_locks *it)
{
	size_t top = locks_top(it->values);

	return top < it->locks.count ? top : it->locks.count;
}

/* Memory is not freed: the process ends with the window. */
static int explain_window(void *context, struct clew_trace *trace,
			  const struct clew_trace_window *window, struct shared *out)
{
	const struct long_locks *it = context;
	int r = 0;

	for (size_t i = 0; i < shown(it) && r == 0; i++) {
		struct clew_contended part;

		r = make_part(it, window, &it->locks.locks[i], &part);
		if (r < 0 || !part.hold_count)
			continue;
		r = clew_lock_explain(trace, NULL, &part);
		if (r == 0)
			r = leave_part(it, trace, i, &part, out);
	}
	return r;
}

static int add_explained(void *context, const struct shared *found)
{
	struct long_locks *it = context;
	int r = 0;

	for (const struct left_part *left = found->root; left && r == 0; left = left->next)
		r = clew_lock_explain_more(it->names, &left->found, &it->locks.locks[left->lock],
					   &it->arena);
	return r;
}

/* ---- */

static int answer(const char *operand, struct clew_reader *reader, struct long_locks *it,
		  struct locks_values *values)
{
	const struct clew_windows_taker taker = {
		.look = explain_window, .add = add_explained, .context = it};
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = &values->selection};
	const struct clew_lock_waiting waiting = lock_waits_waiting(&it->waits);
	struct clew_taken_locks taken = {};
	int status = 0, r = clew_locks_make_of(it->names, &waiting, &chosen, values->window.from,
					       values->window.to, &it->locks);

	if (r == 0)
		r = clew_taken_make(it->names, &chosen, values->window.from, values->window.to,
				    &it->locks, &taken);
	if (r < 0)
		return clew_fail_memory();
	if (shown(it))
		status = clew_windows_again(operand, reader, &taker);
	for (size_t i = 0; i < shown(it); i++)
		clew_lock_explain_end(&it->locks.locks[i]);
	if (!status)
		locks_print(it->names, values, &it->locks, &taken);
	clew_taken_done(&taken);
	return status;
}

int locks_in_windows(const char *operand, struct clew_reader *reader, struct locks_values *values)
{
	struct long_locks it = {
		.values = values,
	};
	struct clew_trace *names = NULL;
	int status = lock_waits_gather(operand, reader, false, &it.waits, &names);

	it.names = names;
	if (!status)
		status = clew_window_take(&values->window, names);
	if (!status)
		status = clew_selection_check(&values->selection, names);
	if (!status)
		status = answer(operand, reader, &it, values);
	clew_locks_done(&it.locks);
	lock_waits_done(&it.waits);
	arena_done(&it.arena);
	clew_trace_free(names);
	return status;
}
