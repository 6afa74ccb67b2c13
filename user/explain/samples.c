/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples of running tasks. */
#include "explain/samples.h"

#include <errno.h>

#include "trace/stacks.h"

int clew_samples_add_list(struct clew_samples *samples, const struct clew_task_stacks *list,
			  size_t count)
{
	samples->samples.item = sizeof(list);
	if (vector_reserve(&samples->samples, samples->samples.count + count) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		((const struct clew_task_stacks **)
			 samples->samples.data)[samples->samples.count++] = &list[i];
	return 0;
}

int clew_samples_export(const struct clew_samples *samples, struct shared *shared,
			struct clew_samples_found *ret_found)
{
	const struct clew_task_stacks *const *all = samples->samples.data;
	size_t count = samples->samples.count;
	struct clew_task_stacks *copies = shared_take(shared, count * sizeof(*copies));

	if (!copies)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		copies[i] = *all[i];
	*ret_found = (struct clew_samples_found){.samples = copies, .count = count};
	return 0;
}

int clew_samples_import(struct clew_samples *samples, struct arena *arena,
			const struct clew_samples_found *found)
{
	const struct clew_task_stacks *copies;

	if (!found->count)
		return 0;
	copies = arena_copy(arena, found->samples, found->count * sizeof(*copies));
	return copies ? clew_samples_add_list(samples, copies, found->count) : -ENOMEM;
}

int clew_samples_add(struct clew_samples *samples, const struct clew_trace *trace, uint32_t task,
		     uint64_t from, uint64_t to)
{
	size_t count;
	const struct clew_task_stacks *found = clew_trace_samples(trace, task, from, to, &count);

	return clew_samples_add_list(samples, found, count);
}

int clew_samples_add_segments(struct clew_samples *samples, const struct clew_trace *trace,
			      const struct clew_segment *const *segments, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		if (segments[i]->kind == CLEW_SEGMENT_RUNNING)
			r = clew_samples_add(samples, trace, segments[i]->task, segments[i]->start,
					     segments[i]->end);
	return r;
}

int clew_samples_of_why(struct clew_samples *samples, const struct clew_trace *trace,
			const struct clew_why *why)
{
	int r = 0;

	for (size_t i = 0; i < why->segment_count && r >= 0; i++) {
		const struct clew_segment *segment = &why->segments[i];

		r = clew_samples_add_segments(samples, trace, &segment, 1);
	}
	return r;
}

size_t clew_samples_with_stack(const struct clew_trace *trace, const struct clew_samples *samples)
{
	const struct clew_task_stacks *const *all = samples->samples.data;
	struct clew_sleep_stacks stacks;
	size_t count = 0;

	for (size_t i = 0; i < samples->samples.count; i++) {
		clew_trace_sample_stacks(trace, all[i], &stacks);
		count += (stacks.user && stacks.user->count) ||
			 (stacks.kernel && stacks.kernel->count);
	}
	return count;
}

void clew_samples_done(struct clew_samples *samples)
{
	vector_done(&samples->samples);
}
