/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The input of a command that adds up. */
#include "cli/operand/input.h"

#include <clew/kernel/records.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/operand/windows.h"
#include "convert/convert.h"
#include "format/text.h"
#include "words/wall.h"

/* Names what an answer needs and windows of a capture do not have; NULL: they have it all. */
static const char *lacking(const struct clew_reader *reader, const struct clew_input_needs *needs)
{
	const uint64_t *counts = clew_reader_info(reader)->counts;

	if (needs->whole)
		return needs->whole;
	if ((needs->functions && (counts[CLEW_KIND_FUNCTION] || counts[CLEW_KIND_MOMENT])) ||
	    (needs->announced && counts[CLEW_KIND_ANNOUNCE]))
		return "calls that began before them";
	return NULL;
}

/* Opens a long capture; input->reader stays NULL if it is to be read in one piece. */
static int open_long(const struct clew_input_needs *needs, struct clew_input *input)
{
	int status = clew_windows_open(input->operand, needs->models, &input->reader);
	const char *what = input->reader ? lacking(input->reader, needs) : NULL;

	if (status || !what)
		return status;
	clew_reader_close(input->reader);
	input->reader = NULL;
	return clew_fail(CLEW_EXIT_DONE, "%s: is read in one piece, as windows have no %s%s",
			 input->operand, what,
			 needs->window ? ": with --from and --to less is read" : "");
}

/* True if a part of it is asked for, which is read in one piece. */
static bool is_part(const struct clew_input_needs *needs)
{
	return (needs->window && clew_window_given(needs->window)) ||
	       (needs->ends && needs->ends->from);
}

static int open_piece(const struct clew_input_needs *needs, struct clew_input *input)
{
	if (!needs->models)
		return clew_open_window(input->operand, 0, needs->window, &input->trace);
	if (needs->ends)
		return clew_open_model_between(input->operand, needs->ends, needs->memory,
					       &input->model, &input->trace);
	return clew_open_model_window(input->operand, needs->window, &input->model, &input->trace);
}

int clew_input_open(const char *operand, const struct clew_input_needs *needs,
		    struct clew_input *ret_input)
{
	struct clew_window *window = needs->window;
	struct clew_time_base base;
	int status = 0;

	*ret_input =
		(struct clew_input){.operand = operand, .window = window, .works = needs->works};
	if (!is_part(needs))
		status = open_long(needs, ret_input);
	if (status)
		return status;
	if (!ret_input->reader)
		return open_piece(needs, ret_input);
	clew_wall_base_of(clew_reader_info(ret_input->reader), NULL, &base);
	if (window) {
		window->from = base.start;
		window->to = UINT64_MAX;
	}
	return 0;
}

void clew_input_done(struct clew_input *input)
{
	clew_reader_close(input->reader);
	clew_model_free(input->model);
	clew_trace_free(input->trace);
	clew_trace_free(input->tasks);
}

int clew_input_names(struct clew_input *input, const struct clew_trace **ret_names)
{
	int status = 0;

	if (!input->trace && !input->tasks)
		status = clew_windows_names(input->operand, input->reader, input->works,
					    &input->tasks);
	*ret_names = input->trace ?: input->tasks;
	return status;
}

int clew_input_works(struct clew_input *input, const char *what,
		     const struct clew_trace **ret_works)
{
	int status = clew_input_names(input, ret_works);
	uint64_t until, start;

	if (status)
		return status;
	until = clew_trace_works_until(*ret_works);
	start = clew_trace_start(*ret_works);
	if (until < UINT64_MAX)
		clew_fail(CLEW_EXIT_DONE,
			  "%s: %s until +%s, as more do not fit into memory: choose a later part "
			  "with --from",
			  input->operand, what, CLEW_DURATION(until > start ? until - start : 0));
	return 0;
}

int clew_input_model(struct clew_input *input, const struct clew_model **ret_model)
{
	const struct clew_trace *names;
	int status = input->model ? 0 : clew_input_names(input, &names);

	if (!status && !input->model && clew_model_from_trace(names, &input->model) < 0)
		status = clew_fail_memory();
	*ret_model = input->model;
	return status;
}

int clew_input_choose(struct clew_input *input, struct clew_selection *selection)
{
	const struct clew_trace *names;
	int status;

	/* Without a choice a window knows enough of a task. */
	if (input->reader && !clew_selection_chooses(selection) &&
	    !(selection->recorded_first && clew_reader_meta(input->reader, "command")))
		return 0;
	status = clew_input_names(input, &names);
	return status ? status : clew_selection_check(selection, names);
}

bool clew_input_wants(void *context, const struct clew_trace_task *task)
{
	const struct clew_input_choice *choice = context;

	if (choice->input->tasks)
		task = clew_trace_task(choice->input->tasks, task->serial);
	return task && clew_selection_wants(choice->selection, task);
}

int clew_input_look(struct clew_input *input, const struct clew_windows_taker *taker)
{
	int status;

	if (!input->reader)
		return clew_windows_alone(input->trace, taker) < 0 ? clew_fail_memory() : 0;
	status = clew_windows_look(input->operand, input->reader, 0, taker, &input->trace);
	if (!status && input->window)
		status = clew_window_take(input->window, input->trace);
	return status;
}

int clew_input_look_again(struct clew_input *input, const struct clew_windows_taker *taker)
{
	if (!input->reader)
		return clew_windows_alone(input->trace, taker) < 0 ? clew_fail_memory() : 0;
	return clew_windows_again(input->operand, input->reader, taker);
}
