/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lengths, added up. */
#include "answers/latency/latency_sum.h"

#include <errno.h>
#include <string.h>

#include "explain/kinds.h"

/* The groups of a window. */
struct left {
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	struct clew_kind_operation *longs;
	size_t long_count;
};

/* ---- in the process of a window ---- */

static bool leave_histogram(struct shared *out, struct histogram *histogram)
{
	histogram->chunks = shared_copy(out, histogram->chunks,
					histogram->chunk_count * sizeof(*histogram->chunks));
	for (size_t i = 0; histogram->chunks && i < histogram->chunk_count; i++) {
		uint64_t **chunk = &histogram->chunks[i];

		if (!*chunk)
			continue;
		*chunk = shared_copy(out, *chunk, HISTOGRAM_CHUNK * sizeof(**chunk));
		if (!*chunk)
			return false;
	}
	return histogram->chunks;
}

static bool leave_name(struct shared *out, struct clew_latency_name *name)
{
	bool left = (name->name = shared_string(out, name->name)) &&
		    (name->place = shared_string(out, name->place));

	for (unsigned i = 0; i < name->property_count && left; i++)
		left = (name->properties[i].value = shared_string(out, name->properties[i].value));
	return left;
}

/* Only what clew_latency_merge() reads is left; it stays the window's otherwise. */
static int leave(struct shared *out, const struct clew_latency *latency, struct clew_latency *left)
{
	size_t count = latency->groups.count;

	*left = *latency;
	left->groups.data =
		shared_copy(out, latency->groups.data, count * sizeof(struct clew_latency_group));
	for (size_t i = 0; left->groups.data && i < count; i++) {
		struct clew_latency_group *group = clew_latency_at(left, i);

		if (!leave_histogram(out, &group->times) || !leave_name(out, &group->name))
			return -ENOMEM;
	}
	return left->groups.data ? 0 : -ENOMEM;
}

static int look(void *context, const struct clew_trace *trace,
		const struct clew_trace_window *window, struct shared *out)
{
	struct clew_latency_sum *sum = context;
	struct clew_latency_options options = sum->options;
	struct clew_latency latency;
	struct left *left = out->root = shared_take(out, sizeof(*left));
	struct vector longs = {.item = sizeof(struct clew_kind_operation)};
	int r;

	/* There is nothing to join. */
	if (window->alone)
		return clew_latency_gather(trace, &options, &sum->latency, &sum->left_out);
	if (!left)
		return -ENOMEM;
	latency = clew_latency_new(sum->latency.digits);
	options.from = clew_trace_start(trace);
	options.to = clew_trace_end(trace);
	options.window = window;
	options.longs = &longs;
	options.operations = sum->works.data;
	options.operation_count = sum->works.count;
	r = clew_latency_gather(trace, &options, &latency, &left->left_out);
	if (r == 0)
		r = leave(out, &latency, &left->latency);
	left->longs = shared_copy(out, longs.data, longs.count * sizeof(*left->longs));
	left->long_count = longs.count;
	vector_done(&longs);
	clew_latency_done(&latency);
	return r == 0 && !left->longs ? -ENOMEM : r;
}

/* ---- all of them ---- */

/* Notes the operations of which a window does not know all. 0 or -ENOMEM. */
static int add_longs(struct clew_latency_sum *sum, const struct left *left)
{
	struct vector *longs = &sum->longs;

	if (vector_reserve(longs, longs->count + left->long_count) < 0)
		return -ENOMEM;
	if (left->long_count)
		memcpy((struct clew_kind_operation *)longs->data + longs->count, left->longs,
		       left->long_count * sizeof(*left->longs));
	longs->count += left->long_count;
	return 0;
}

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct clew_latency_sum *sum = context;
	int r;

	if (!left || !left->latency.digits)
		return 0;
	r = add_longs(sum, left);
	if (r < 0)
		return r;
	sum->left_out.idle += left->left_out.idle;
	sum->left_out.elsewhere += left->left_out.elsewhere;
	return clew_latency_merge(&sum->latency, &left->latency);
}

static void trace_done(struct clew_latency_sum *sum)
{
	vector_done(&sum->longs);
	vector_done(&sum->works);
	lock_waits_done(&sum->locks);
}

void clew_latency_sum_begin(struct clew_latency_sum *sum, unsigned digits)
{
	sum->latency = clew_latency_new(digits);
}

void clew_latency_sum_done(struct clew_latency_sum *sum)
{
	trace_done(sum);
	clew_latency_done(&sum->latency);
}

struct clew_windows_taker clew_latency_sum_taker(struct clew_latency_sum *sum)
{
	vector_done(&sum->longs);
	lock_waits_done(&sum->locks);
	sum->longs = (struct vector){.item = sizeof(struct clew_kind_operation)};
	lock_waits_begin(&sum->locks, true);
	/* The locks are known only when all waits for them are. */
	if (sum->options.by == CLEW_LATENCY_LOCK)
		return lock_waits_taker(&sum->locks);
	return (struct clew_windows_taker){.look = look, .add = add, .context = sum};
}

int clew_latency_sum_works(struct clew_latency_sum *sum, const struct clew_trace *names)
{
	uint64_t busy = 0;

	vector_done(&sum->works);
	sum->works = (struct vector){.item = sizeof(struct clew_kind_operation)};
	/* A list that is empty is a list: without one the window's own operations count. */
	if (vector_reserve(&sum->works, 1) < 0)
		return -ENOMEM;
	return kinds_find(names, &sum->options.chosen, clew_trace_start(names),
			  clew_trace_end(names), &sum->works, &busy);
}

int clew_latency_sum_longs(void *context, const struct clew_trace *trace, const void *operations,
			   size_t count)
{
	struct clew_latency_sum *sum = context;
	struct clew_latency_options options = sum->options;

	options.operations = operations;
	options.operation_count = count;
	return clew_latency_gather(trace, &options, &sum->latency, &sum->left_out);
}

int clew_latency_sum_finish(struct clew_latency_sum *sum, const struct clew_trace *names)
{
	struct clew_latency_options options = sum->options;
	const struct clew_lock_times times = lock_waits_times(&sum->locks);

	if (options.by != CLEW_LATENCY_LOCK)
		return 0;
	if (!lock_waits_alone(&sum->locks)) {
		options.locks = &times;
		options.from = clew_trace_start(names);
		options.to = clew_trace_end(names);
		options.tasks = NULL;
	}
	return clew_latency_gather(names, &options, &sum->latency, &sum->left_out);
}

int clew_latency_sum_aggregate(struct clew_latency_sum *sum)
{
	struct clew_latency together;
	int r;

	if (sum->options.by != CLEW_LATENCY_FUNCTION)
		return 0;
	r = clew_latency_aggregate(&sum->latency, &together);
	clew_latency_done(&sum->latency);
	sum->latency = together;
	return r;
}
