/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew path: the critical path from one position to another, or of every instance of
 * some spans, where its time went, and sums of that.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/path/path.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/groups.h"
#include "cli/operand/input.h"
#include "cli/operand/long_operations.h"
#include "cli/operand/query.h"
#include "cli/operand/windows.h"
#include "cli/record/fresh.h"
#include "words/es.h"
#include "words/lines.h"

struct path_values {
	struct clew_group_choice group;
	const char *from;
	const char *to;
	const char *all;
	const char *hierarchy;
	const char *marks;
	struct clew_number top;
	uint64_t idle; /* bit mask, 0 the default */
	uint32_t strategy;
	bool operations;
	bool all_origins;
	struct clew_source_choice source;
	bool json;
	struct clew_fresh fresh;
};

static int take_strategy(const struct clew_option *option, const char *argument, void *value)
{
	int strategy = clew_strategy_from_name(argument);

	if (strategy < 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: no strategy '%s': there are most_work, temporal_most_work, "
				 "most_prox, predecessor, least_work, "
				 "least_prox, causal",
				 option->name, argument);
	*(uint32_t *)value = (uint32_t)strategy;
	return 0;
}

const struct clew_option clew_path_options[] = {
	{0, "from", "POSITION", "the path begins there, as in 's0.0.0 @ 0%'", clew_take_string,
	 offsetof(struct path_values, from)},
	{0, "to", "POSITION", "the path ends there", clew_take_string,
	 offsetof(struct path_values, to)},
	{0, "all", "PATTERN", "the paths of all these spans, each from its start to its end",
	 clew_take_string, offsetof(struct path_values, all)},
	{0, "operations", NULL,
	 "with --all, the paths of what these spans did between two idle waits each",
	 clew_take_flag, offsetof(struct path_values, operations)},
	{0, "idle", "KIND,..",
	 "waits between operations (poll, accept, receive, read of an empty pipe)",
	 clew_take_wait_kinds, offsetof(struct path_values, idle)},
	{0, "strategy", "STRATEGY",
	 "most_work (the default), temporal_most_work, most_prox, predecessor, least_work, "
	 "least_prox or causal",
	 take_strategy, offsetof(struct path_values, strategy)},
	{0, "top", "K", "K distinct paths, the best first", clew_take_number,
	 offsetof(struct path_values, top)},
	{0, "all-origins", NULL,
	 "follow every origin that ends in time, not the triggering one alone", clew_take_flag,
	 offsetof(struct path_values, all_origins)},
	{0, "marks", "REGEX", "also list the marks on the path whose labels match",
	 clew_take_string, offsetof(struct path_values, marks)},
	CLEW_GROUP_OPTIONS(struct path_values, group, "spans of threads"),
	{0, "hierarchy", "NAME", "whose categories patterns mean (the first one)", clew_take_string,
	 offsetof(struct path_values, hierarchy)},
	CLEW_SOURCE_OPTIONS(struct path_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	CLEW_FRESH_OPTIONS(struct path_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct path_values, json)},
	CLEW_OPTION_END,
};

static int check(void *context)
{
	struct path_values *values = context;
	bool grouped = !values->from && !values->to && clew_groups_asked(&values->group);

	/* Any request may be one of those that are asked about. */
	values->fresh.recording.messages_if_shown = values->operations && grouped;
	if (values->all && (values->from || values->to || values->top.given))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"path: --all has the ends of its spans: leave --from, --to and --top out");
	if ((values->operations && !values->all && !grouped) ||
	    (values->idle && !values->operations))
		return clew_fail(CLEW_EXIT_INPUT, "path: operations are of spans: give --all with "
						  "--operations, and --operations with --idle");
	if (!values->all && (!values->from || !values->to) && (!grouped || values->top.given))
		return clew_fail(CLEW_EXIT_INPUT,
				 "path: an end is missing: give --from and --to, --all or a group");
	return 0;
}

static int out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "path: out of memory: free some, or take a smaller trace");
}

static int open_input(const struct path_values *values, const char *operand, struct clew_ends *ends,
		      char **memory, struct clew_input *input)
{
	const struct clew_input_needs needs = {
		.whole = !values->operations		 ? "paths of whole spans"
			 : values->json			 ? "single paths"
			 : !clew_is_by_name(values->all) ? "properties of spans besides their names"
							 : NULL,
		/* Functions that were called are spans as well, which the names do not have. */
		.functions = true,
		.models = true,
		.ends = ends,
		.memory = memory,
	};

	return clew_input_open(operand, &needs, input);
}

static struct clew_path_asked asked_by(const struct path_values *values)
{
	/* A pattern, or all threads of a group. */
	bool all = values->all || !values->from;

	return (struct clew_path_asked){.options = {.strategy = values->strategy,
						    .all_origins = values->all_origins,
						    .top = values->top.value},
					.all = all,
					.operations = values->operations,
					.idle = values->idle,
					/* Text shows only sums of instances. */
					.keep = !all || values->json};
}

/* The spans that were chosen, in order. The caller frees them. */
static int choose(const struct path_values *values, const struct clew_scope *scope,
		  const struct clew_model *model, uint32_t **ret_spans, size_t *ret_count)
{
	int status = 0;

	if (values->all)
		status = clew_find_spans("--all", values->all, model, scope, ret_spans, ret_count);
	else
		*ret_spans = clew_scope_roots(model, scope, ret_count);
	if (status)
		return status;
	if (!*ret_spans)
		return out_of_memory();
	clew_sort_spans(*ret_spans, ret_count);
	return 0;
}

static int fail(const struct path_values *values, int r)
{
	if (r == -ENOENT)
		return clew_fail(
			CLEW_EXIT_NEGATIVE,
			"no path leads from '%s' to '%s': see with clew dump what depends on what",
			values->from, values->to);
	if (r < 0 && r != -ENOMEM)
		return clew_fail(CLEW_EXIT_INPUT, "the trace is inconsistent: see clew check");
	return r < 0 ? out_of_memory() : 0;
}

static int check_found(const struct path_values *values, const struct clew_path_sum *sum)
{
	if (sum->counts.count)
		return 0;
	if (values->operations && !sum->counts.without_path)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "no operation of '%s' lies between two idle waits: choose other "
				 "spans, or other waits with --idle",
				 values->all ?: "all");
	return clew_fail(CLEW_EXIT_NEGATIVE, "no span of '%s' has a path: see clew check",
			 values->all ?: "all");
}

static int find_one(const struct path_values *values, const struct clew_ends *ends,
		    const struct clew_scope *scope, struct clew_path_sum *sum)
{
	struct clew_position from, to;
	int status = clew_find_ends(ends->from, ends->to, sum->model, scope, &from, &to);

	return status ? status : fail(values, clew_path_sum_between(sum, &from, &to));
}

/* Where the idle wait was in an exchange after all, a long operation began earlier. */
static int find_longs(const char *operand, struct clew_path_sum *sum)
{
	int status = 0;

	for (int attempt = 0; attempt < 2 && !status; attempt++) {
		struct vector longs = sum->windows.longs;
		struct clew_operation *all = longs.data;

		sum->windows.longs = (struct vector){.item = longs.item};
		for (size_t i = 0; attempt && i < longs.count; i++)
			all[i].from = 0;
		status = clew_long_operations(operand, all, longs.count, sizeof(*all),
					      clew_path_sum_longs, sum);
		vector_done(&longs);
	}
	return status;
}

/* The names of a long capture again, with what separates operations. *ret_works is for
 * clew_trace_free(); NULL: it is too much. */
static int read_works(const struct clew_input *input, const struct path_values *values,
		      struct clew_trace **ret_works)
{
	int status = values->idle
			     ? 0
			     : clew_windows_names(input->operand, input->reader, true, ret_works);

	if (!status && *ret_works && clew_trace_works_until(*ret_works) < UINT64_MAX) {
		clew_trace_free(*ret_works);
		*ret_works = NULL;
	}
	return status;
}

static int look_at_windows(struct clew_input *input, const uint32_t *spans, size_t count,
			   struct clew_path_sum *sum)
{
	struct clew_windows_taker taker;
	int status;

	if (clew_path_sum_taker(sum, input->tasks, spans, count, &taker) < 0)
		return out_of_memory();
	status = clew_input_look(input, &taker);
	return status ? status : find_longs(input->operand, sum);
}

static int find_in_windows(const struct path_values *values, struct clew_input *input,
			   const uint32_t *spans, size_t count, struct clew_path_sum *sum)
{
	struct clew_trace *works = NULL;
	int status = read_works(input, values, &works);

	sum->windows.works = works;
	if (!status)
		status = look_at_windows(input, spans, count, sum);
	sum->windows.works = NULL;
	clew_trace_free(works);
	if (!status && clew_path_sum_finish(sum, input->trace) < 0)
		status = out_of_memory();
	return status;
}

static int find_all(const struct path_values *values, struct clew_input *input,
		    const struct clew_scope *scope, struct clew_path_sum *sum)
{
	uint32_t *spans = NULL;
	size_t count = 0;
	int status = choose(values, scope, input->model, &spans, &count), r = 0;

	if (!status && input->reader)
		status = find_in_windows(values, input, spans, count, sum);
	for (size_t i = 0; i < count && !status && !input->reader && r == 0; i++)
		r = clew_path_sum_span(sum, spans[i]);
	free(spans);
	return status ?: fail(values, r);
}

static int find_marks(const struct path_values *values, struct clew_path_sum *sum)
{
	struct clew_query_error error;
	int r = values->marks ? clew_path_sum_marks(sum, values->marks, &error) : 0;

	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "--marks, at byte %zu: %s", error.offset,
				 error.message);
	return r < 0 ? clew_fail_query("--marks", r) : 0;
}

static int find(const struct path_values *values, const struct clew_ends *ends,
		struct clew_input *input, struct clew_path_sum *sum)
{
	struct clew_scope scope = {.hierarchy = values->hierarchy};
	const struct clew_model *model;
	bool *only = NULL;
	int status = clew_input_model(input, &model);

	if (!status)
		status = clew_groups_spans(model, &values->group, &only);
	scope.only = only;
	if (!status && !input->reader && clew_path_sum_model(sum, model, input->trace) < 0)
		status = out_of_memory();
	if (!status)
		status = sum->asked->all ? find_all(values, input, &scope, sum)
					 : find_one(values, ends, &scope, sum);
	free(only);
	return status;
}

static int say(const struct path_values *values, const struct clew_input *input,
	       struct clew_path_sum *sum)
{
	int r = values->json ? clew_json_paths(stdout, sum, values->top.given)
			     : clew_print_paths(stdout, sum);

	if (r < 0)
		return out_of_memory();
	if (input->trace && !values->json)
		clew_print_lines_told(stdout, input->trace);
	return 0;
}

static int answer(const struct path_values *values, const struct clew_ends *ends,
		  struct clew_input *input)
{
	const struct clew_path_asked asked = asked_by(values);
	bool lines = clew_source_wanted(&values->source);
	struct clew_path_sum sum;
	int status = 0;

	clew_path_sum_begin(&sum, &asked);
	/* The stacks of a long capture come with its names. */
	if (lines && !input->reader)
		status = clew_need_stacks("path", input->trace, &values->source);
	if (!status)
		status = find(values, ends, input, &sum);
	if (!status && lines && input->reader)
		status = clew_need_stacks("path", input->trace, &values->source);
	if (!status && asked.all)
		status = check_found(values, &sum);
	if (!status)
		status = find_marks(values, &sum);
	if (!status)
		status = say(values, input, &sum);
	clew_path_sum_done(&sum);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct path_values *values = context;
	struct clew_input input = {};
	struct clew_ends ends = {.from = values->from, .to = values->to};
	char *memory[2] = {};
	int status = open_input(values, operands[0], &ends, memory, &input);

	if (!status)
		status = answer(values, &ends, &input);
	clew_input_done(&input);
	free(memory[0]);
	free(memory[1]);
	return status;
}

int clew_command_path(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.check = check,
							    .answer = question_answer};
	struct path_values values = {.top = {.value = 1}};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
