/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The waits of a trace that may be for locks. */
#include "explain/lock_waits.h"

#include <errno.h>
#include <string.h>

#include "trace/internal.h"

struct left {
	struct clew_trace_window window;
	struct clew_lock_waiting waiting;
	struct clew_sleep *sleeps;
	struct clew_lock_time *sleep_times;
	struct clew_lock_time *spin_times;
};

/* ---- in the process of a window ---- */

static int leave_sleeps(const struct clew_trace *trace, const struct clew_trace_window *window,
			struct shared *out, struct left *left)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++) {
		struct clew_sleep *copy;

		if (!clew_window_counts(window, sleeps[i].end) || !clew_may_be_lock(&sleeps[i]))
			continue;
		copy = shared_copy(out, &sleeps[i], sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		left->sleeps = left->sleeps ?: copy;
		left->waiting.sleep_count++;
		copy->links = NULL;
		copy->link_count = copy->and_count = 0;
	}
	left->waiting.sleeps = left->sleeps;
	return 0;
}

static int leave_holders(struct shared *out, struct left *left)
{
	for (size_t i = 0; i < left->waiting.sleep_count; i++) {
		struct clew_sleep *copy = &left->sleeps[i];

		copy->holders = shared_copy(out, copy->holders,
					    copy->holder_count * sizeof(*copy->holders));
		if (!copy->holders)
			return -ENOMEM;
	}
	return 0;
}

static int leave_spins(const struct clew_trace *trace, const struct clew_trace_window *window,
		       struct shared *out, struct left *left)
{
	const struct clew_spin *spins = trace->spins.data;

	for (size_t i = 0; i < trace->spins.count; i++) {
		struct clew_spin *copy;

		if (!clew_window_counts(window, spins[i].end))
			continue;
		copy = shared_copy(out, &spins[i], sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		left->waiting.spins = left->waiting.spins ?: copy;
		left->waiting.spin_count++;
	}
	return 0;
}

static int leave_times(const struct clew_trace *trace, struct shared *out, struct left *left)
{
	const struct clew_lock_waiting *waiting = &left->waiting;

	left->sleep_times = shared_take(out, waiting->sleep_count * sizeof(*left->sleep_times));
	left->spin_times = shared_take(out, waiting->spin_count * sizeof(*left->spin_times));
	if (!left->sleep_times || !left->spin_times)
		return -ENOMEM;
	return clew_lock_times_find(trace, waiting, left->sleep_times, left->spin_times);
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	const struct lock_waits *waits = context;
	struct left *left = out->root = shared_take(out, sizeof(*left));
	int r;

	if (!left)
		return -ENOMEM;
	left->window = *window;
	if (window->alone) {
		left->waiting = clew_lock_waiting_of(trace);
		return 0;
	}
	r = leave_sleeps(trace, window, out, left);
	if (r == 0)
		r = leave_holders(out, left);
	if (r == 0)
		r = leave_spins(trace, window, out, left);
	return r == 0 && waits->timed ? leave_times(trace, out, left) : r;
}

/* ---- in the calling process ---- */

static int append(struct vector *vector, const void *items, size_t count)
{
	int r = vector_reserve(vector, vector->count + count);

	if (r == 0 && count)
		memcpy((char *)vector->data + vector->count * vector->item, items,
		       count * vector->item);
	vector->count += r == 0 ? count : 0;
	return r;
}

static int append_times(struct lock_waits *waits, const struct left *left)
{
	int r = append(&waits->sleep_times, left->sleep_times, left->waiting.sleep_count);

	return r < 0 ? r : append(&waits->spin_times, left->spin_times, left->waiting.spin_count);
}

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct lock_waits *waits = context;
	size_t first = waits->sleeps.count;
	int r = append(&waits->windows, &left->window, 1);

	if (left->window.alone) {
		waits->alone = left->waiting;
		return r;
	}
	if (r == 0)
		r = append(&waits->spins, left->waiting.spins, left->waiting.spin_count);
	if (r == 0)
		r = append(&waits->sleeps, left->waiting.sleeps, left->waiting.sleep_count);
	if (r == 0 && waits->timed)
		r = append_times(waits, left);
	for (size_t i = first; r == 0 && i < waits->sleeps.count; i++) {
		struct clew_sleep *sleep = (struct clew_sleep *)waits->sleeps.data + i;

		if (sleep->holder_count)
			sleep->holders = arena_copy(&waits->arena, sleep->holders,
						    sleep->holder_count * sizeof(*sleep->holders));
		r = sleep->holder_count && !sleep->holders ? -ENOMEM : 0;
	}
	return r;
}

void lock_waits_begin(struct lock_waits *waits, bool timed)
{
	*waits = (struct lock_waits){
		.timed = timed,
		.windows.item = sizeof(struct clew_trace_window),
		.sleeps.item = sizeof(struct clew_sleep),
		.spins.item = sizeof(struct clew_spin),
		.sleep_times.item = sizeof(struct clew_lock_time),
		.spin_times.item = sizeof(struct clew_lock_time),
	};
}

struct clew_windows_taker lock_waits_taker(struct lock_waits *waits)
{
	return (struct clew_windows_taker){.look = look, .add = add, .context = waits};
}

void lock_waits_done(struct lock_waits *waits)
{
	vector_done(&waits->windows);
	vector_done(&waits->sleeps);
	vector_done(&waits->spins);
	vector_done(&waits->sleep_times);
	vector_done(&waits->spin_times);
	arena_done(&waits->arena);
}

struct clew_lock_waiting lock_waits_waiting(const struct lock_waits *waits)
{
	if (lock_waits_alone(waits))
		return waits->alone;
	return (struct clew_lock_waiting){.sleeps = waits->sleeps.data,
					  .sleep_count = waits->sleeps.count,
					  .spins = waits->spins.data,
					  .spin_count = waits->spins.count};
}

struct clew_lock_times lock_waits_times(const struct lock_waits *waits)
{
	return (struct clew_lock_times){.waiting = lock_waits_waiting(waits),
					.sleeps = waits->sleep_times.data,
					.spins = waits->spin_times.data};
}
