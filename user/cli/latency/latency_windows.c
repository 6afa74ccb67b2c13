/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Times of waits of a long capture, in windows. See latency_windows.h. Each window leaves its
 * groups, and results of several windows are added like those of several traces.
 */
#include "cli/latency/latency_windows.h"

#include <errno.h>

#include "cli/front/fail.h"
#include "cli/operand/long_operations.h"
#include "cli/operand/windows.h"
#include "explain/lock_waits.h"
#include "explain/operations.h"

struct long_latency {
	const struct clew_latency_options *options;
	const struct clew_trace *tasks; /* of the whole capture; NULL: a window knows enough */
	struct clew_latency *latency;
	struct clew_latency_left_out *left_out;
	struct clew_last_idle last_idle;
	struct vector longs; /* struct clew_operation: began before their window knows everything */
};

/* The groups of a window. */
struct left {
	struct clew_latency latency;
	struct clew_latency_left_out left_out;
	uint64_t from, to; /* ns: of the capture */
	struct clew_idle_ends *ends;
	size_t end_count;
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

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	const struct long_latency *it = context;
	struct clew_latency_options options = *it->options;
	struct clew_latency latency = clew_latency_new(it->latency->digits);
	struct left *left = out->root = shared_take(out, sizeof(*left));
	struct vector ends = {};
	int r;

	if (!left)
		return -ENOMEM;
	options.from = left->from = clew_trace_start(trace);
	options.to = left->to = clew_trace_end(trace);
	options.window = window;
	options.tasks = it->tasks;
	options.ends = &ends;
	r = clew_latency_gather(trace, &options, &latency, &left->left_out);
	if (r == 0)
		r = leave(out, &latency, &left->latency);
	left->ends = shared_copy(out, ends.data, ends.count * sizeof(*left->ends));
	left->end_count = ends.count;
	vector_done(&ends);
	clew_latency_done(&latency);
	return r == 0 && !left->ends ? -ENOMEM : r;
}

/* ---- in the calling process ---- */

/* Notes the operations that no window has. 0 or -ENOMEM. */
static int add_longs(struct long_latency *it, const struct left *left)
{
	struct vector *longs = &it->longs;

	for (size_t i = 0; i < left->end_count; i++) {
		int r = vector_reserve(longs, longs->count + 1);

		if (r == 0)
			r = clew_last_idle_add(&it->last_idle, &left->ends[i], left->from, left->to,
					       (struct clew_operation *)longs->data + longs->count);
		if (r < 0)
			return r;
		longs->count += (size_t)r;
	}
	return 0;
}

static int add(void *context, const struct shared *found)
{
	const struct left *left = found->root;
	struct long_latency *it = context;
	int r = add_longs(it, left);

	if (r < 0)
		return r;
	it->left_out->idle += left->left_out.idle;
	it->left_out->elsewhere += left->left_out.elsewhere;
	return clew_latency_merge(it->latency, &left->latency);
}

static int find_longs(void *context, const struct clew_trace *trace,
		      const struct clew_operation *operations, size_t count)
{
	struct long_latency *it = context;
	struct clew_latency_options options = *it->options;

	options.tasks = it->tasks;
	options.operations = operations;
	options.operation_count = count;
	return clew_latency_gather(trace, &options, it->latency, it->left_out);
}

static bool has_windows(const struct clew_latency_options *options, bool by_given)
{
	bool calls = options->by == CLEW_LATENCY_PATH || options->by == CLEW_LATENCY_FUNCTION;

	return !options->argument && !(by_given && calls);
}

/* The locks are known only when all waits for them are. */
static int answer_locks(const char *operand, struct clew_reader *reader,
			struct clew_selection *selection, struct long_latency *it,
			struct clew_trace **ret_names)
{
	struct clew_latency_options options = *it->options;
	struct clew_lock_times times;
	struct lock_waits waits;
	struct clew_windows_taker taker;
	int status;

	lock_waits_begin(&waits, true);
	taker = lock_waits_taker(&waits);
	status = clew_windows_look(operand, reader, 0, &taker, ret_names);
	if (!status)
		status = clew_selection_check(selection, *ret_names);
	if (!status) {
		times = lock_waits_times(&waits);
		options.locks = &times;
		options.from = clew_trace_start(*ret_names);
		options.to = clew_trace_end(*ret_names);
		if (clew_latency_gather(*ret_names, &options, it->latency, it->left_out) < 0)
			status = clew_fail_memory();
	}
	lock_waits_done(&waits);
	return status;
}

static int answer(const char *operand, struct clew_reader *reader, struct clew_selection *selection,
		  struct long_latency *it, enum clew_latency_level level,
		  struct clew_trace **ret_names)
{
	const struct clew_windows_taker taker = {.look = look, .add = add, .context = it};
	struct clew_trace *tasks = NULL;
	int status = 0;

	/* A task's group is the one that the capture saw last. */
	if (clew_selection_chooses(selection) || level == CLEW_LATENCY_CGROUP)
		status = clew_windows_names(operand, reader, &tasks);
	if (!status && tasks)
		status = clew_selection_check(selection, tasks);
	it->tasks = tasks;
	if (!status)
		status = clew_windows_look(operand, reader, 0, &taker, ret_names);
	if (!status)
		status = clew_long_operations(operand, it->longs.data, it->longs.count, find_longs,
					      it);
	clew_trace_free(tasks);
	return status;
}

int clew_latency_in_windows(const char *operand, struct clew_selection *selection, bool *by_given,
			    struct clew_latency_options *options, struct clew_latency *latency,
			    struct clew_latency_left_out *left_out, struct clew_trace **ret_names)
{
	struct long_latency it = {.options = options,
				  .latency = latency,
				  .left_out = left_out,
				  .longs.item = sizeof(struct clew_operation)};
	struct clew_reader *reader = NULL;
	int status = 0;

	*ret_names = NULL;
	if (has_windows(options, *by_given))
		status = clew_windows_open(operand, &reader);
	if (!reader)
		return status;
	if (!clew_reader_info(reader)->counts[CLEW_KIND_FUNCTION]) {
		options->by = *by_given ? options->by : CLEW_LATENCY_KIND;
		*by_given = true;
		options->chosen =
			(struct clew_chosen){.wants = clew_selection_wants, .context = selection};
		clew_last_idle_init(&it.last_idle);
		status = options->by == CLEW_LATENCY_LOCK
				 ? answer_locks(operand, reader, selection, &it, ret_names)
				 : answer(operand, reader, selection, &it, options->level,
					  ret_names);
		clew_last_idle_done(&it.last_idle);
		vector_done(&it.longs);
	}
	clew_reader_close(reader);
	return status;
}
