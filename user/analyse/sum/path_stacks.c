/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks and samples of the segments of paths. */
#include "analyse/sum/path_stacks.h"

#include <clew/tokens.h>

#include "convert/convert.h"
#include "trace/stacks.h"

/* The task whose time a segment is; CLEW_NO_TASK: that of no thread. */
static uint32_t task_of(const struct clew_path_stacks *stacks, const struct clew_model *model,
			const struct clew_path_segment *segment)
{
	return stacks->trace
		       ? clew_task_of_span(stacks->trace, clew_span_root(model, segment->span))
		       : CLEW_NO_TASK;
}

const struct clew_sleep *clew_path_stacks_sleep(const struct clew_path_stacks *stacks,
						const struct clew_model *model,
						const struct clew_path_segment *segment)
{
	uint32_t task = task_of(stacks, model, segment);
	struct clew_piece piece;

	if (task == CLEW_NO_TASK || segment->start < 0 || segment->kind == CLEW_SEGMENT_RUNNING ||
	    segment->kind == CLEW_SEGMENT_RUNQUEUE)
		return NULL;
	return clew_trace_piece(stacks->trace, task, (uint64_t)segment->start, false, &piece) &&
			       piece.kind == CLEW_PIECE_SLEEP
		       ? piece.sleep
		       : NULL;
}

int clew_path_stacks_samples(const struct clew_path_stacks *stacks, const struct clew_model *model,
			     const struct clew_path_segment *segment, struct clew_samples *samples)
{
	uint32_t task = task_of(stacks, model, segment);

	if (task == CLEW_NO_TASK || segment->start < 0 || segment->kind != CLEW_SEGMENT_RUNNING)
		return 0;
	return clew_samples_add(samples, stacks->trace, task, (uint64_t)segment->start,
				(uint64_t)segment->end);
}

static bool has_stack(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const struct clew_trace_stack *stack;
	struct clew_sleep_stacks stacks;

	if (!sleep || !clew_trace_sleep_stacks(trace, sleep, &stacks))
		return false;
	stack = stacks.user ?: stacks.kernel;
	return stack && stack->count;
}

int clew_path_stacks_add(struct clew_path_stacks *stacks, const struct clew_model *model,
			 const struct clew_path_segment *segment)
{
	const struct clew_sleep *sleep = clew_path_stacks_sleep(stacks, model, segment);
	uint64_t ns = (uint64_t)(segment->end - segment->start);

	stacks->ran += segment->kind == CLEW_SEGMENT_RUNNING ? ns : 0;
	stacks->waited += sleep ? ns : 0;
	stacks->waited_with += has_stack(stacks->trace, sleep) ? ns : 0;
	return clew_path_stacks_samples(stacks, model, segment, &stacks->samples);
}

void clew_path_stacks_done(struct clew_path_stacks *stacks)
{
	clew_samples_done(&stacks->samples);
}
