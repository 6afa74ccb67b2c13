/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of the segments of a path. See path_stacks.h. */
#include "answers/path/path_stacks.h"

#include <clew/tokens.h>

#include "convert/convert.h"
#include "trace/stacks.h"
#include "words/es.h"
#include "words/stack.h"
#include "words/stack_table.h"

/* The task whose time a segment is; CLEW_NO_TASK: that of no thread. */
static uint32_t task_of(const struct clew_path_stacks *stacks, const struct clew_model *model,
			const struct clew_path_segment *segment)
{
	return stacks->trace
		       ? clew_task_of_span(stacks->trace, clew_span_root(model, segment->span))
		       : CLEW_NO_TASK;
}

/* The wait that a segment is a part of; NULL: it is none, or not a thread's. */
static const struct clew_sleep *sleep_of(const struct clew_path_stacks *stacks,
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

static int add_samples(struct clew_samples *samples, const struct clew_path_stacks *stacks,
		       const struct clew_model *model, const struct clew_path_segment *segment)
{
	uint32_t task = task_of(stacks, model, segment);

	if (task == CLEW_NO_TASK || segment->start < 0 || segment->kind != CLEW_SEGMENT_RUNNING)
		return 0;
	return clew_samples_add(samples, stacks->trace, task, (uint64_t)segment->start,
				(uint64_t)segment->end);
}

int clew_path_stacks_add(struct clew_path_stacks *stacks, const struct clew_model *model,
			 const struct clew_path_segment *segment)
{
	const struct clew_sleep *sleep = sleep_of(stacks, model, segment);
	uint64_t ns = (uint64_t)(segment->end - segment->start);

	stacks->ran += segment->kind == CLEW_SEGMENT_RUNNING ? ns : 0;
	stacks->waited += sleep ? ns : 0;
	stacks->waited_with += clew_has_stack(stacks->trace, sleep) ? ns : 0;
	return add_samples(&stacks->samples, stacks, model, segment);
}

void clew_path_stacks_done(struct clew_path_stacks *stacks)
{
	clew_samples_done(&stacks->samples);
}

int clew_print_path_stack(FILE *out, const struct clew_path_stacks *stacks,
			  const struct clew_model *model, const struct clew_path_segment *segment)
{
	struct clew_samples samples = {};
	int r = add_samples(&samples, stacks, model, segment);

	if (r >= 0)
		r = clew_print_samples(out, ", ", stacks->trace, &samples);
	clew_samples_done(&samples);
	clew_print_in_stack(out, ", in ", stacks->trace, sleep_of(stacks, model, segment));
	return r;
}

int clew_json_path_stack(struct clew_json *json, const struct clew_path_stacks *stacks,
			 const struct clew_model *model, const struct clew_path_segment *segment)
{
	const struct clew_sleep *sleep = sleep_of(stacks, model, segment);
	struct clew_samples samples = {};
	int r = add_samples(&samples, stacks, model, segment);

	if (r >= 0)
		r = clew_json_samples(json, stacks->trace, &samples);
	clew_samples_done(&samples);
	if (sleep)
		clew_json_table_number(json, "stack", clew_stack_of_sleep(json->stacks, sleep));
	return r;
}

int clew_print_path_stacks(FILE *out, const struct clew_path_stacks *stacks)
{
	int r;

	if (!stacks->trace || (!stacks->waited && !stacks->samples.samples.count))
		return 0;
	r = clew_print_samples(out, "\nrunning: ", stacks->trace, &stacks->samples);
	if (stacks->samples.samples.count)
		putc('\n', out);
	clew_print_stacks_told(out, stacks->trace, stacks->waited, stacks->waited_with,
			       &stacks->samples);
	return r;
}

int clew_json_path_stacks(struct clew_json *json, const struct clew_path_stacks *stacks)
{
	if (!stacks->trace)
		return 0;
	clew_json_unsigned(json, "running_ns", stacks->ran);
	clew_json_unsigned(json, "waited_ns", stacks->waited);
	clew_json_unsigned(json, "stacks_ns", stacks->waited_with);
	clew_json_samples_told(json, stacks->trace, &stacks->samples);
	return clew_json_samples(json, stacks->trace, &stacks->samples);
}
