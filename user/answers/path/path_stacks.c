/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks of the segments of a path, as text and as JSON. */
#include "answers/path/path_stacks.h"

#include "words/samples.h"
#include "words/stack.h"
#include "words/stack_table.h"

int clew_print_path_stack(FILE *out, const struct clew_path_stacks *stacks,
			  const struct clew_model *model, const struct clew_path_segment *segment)
{
	struct clew_samples samples = {};
	int r = clew_path_stacks_samples(stacks, model, segment, &samples);

	if (r >= 0)
		r = clew_print_samples(out, ", ", stacks->trace, &samples);
	clew_samples_done(&samples);
	clew_print_in_stack(out, ", in ", stacks->trace,
			    clew_path_stacks_sleep(stacks, model, segment));
	return r;
}

int clew_json_path_stack(struct clew_json *json, const struct clew_path_stacks *stacks,
			 const struct clew_model *model, const struct clew_path_segment *segment)
{
	const struct clew_sleep *sleep = clew_path_stacks_sleep(stacks, model, segment);
	struct clew_samples samples = {};
	int r = clew_path_stacks_samples(stacks, model, segment, &samples);

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
