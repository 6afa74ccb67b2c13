/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew why: where every nanosecond of a thread's time, or of its slowest
 * operations, went.
 */
#include "explain/why.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/ask/slowest.h"
#include "answers/classes.h"
#include "answers/why/by_program.h"
#include "answers/why/causes.h"
#include "answers/why/restraints.h"
#include "answers/why/why_json.h"
#include "answers/why/why_text.h"
#include "base/interval.h"
#include "cli/ask/ask.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/terminal.h"
#include "cli/one/why_now.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "cli/record/fresh.h"
#include "explain/operations.h"
#include "format/text.h"
#include "words/ledger.h"
#include "words/lines.h"

struct why_values {
	struct clew_selection selection;
	struct clew_ask ask;
	struct clew_number slowest;
	const char *class; /* a kind of operations; NULL: those that hurt most */
	struct clew_window window;
	uint64_t idle;	  /* bit mask, 0 the default */
	uint32_t without; /* bit mask */
	size_t lines;	  /* for one answer */
	bool last;	  /* of several answers, or the only one: the ledger stands behind it */
	bool without_functions;
	struct clew_source_choice source;
	bool steps;
	bool all;
	bool json;
	bool now;
	bool unchosen; /* no option chose: the answer is .. */
	enum clew_about about;
	struct clew_fresh fresh;
};

const struct clew_option clew_why_options[] = {
	{'t', "tid", "N", "explain this thread", clew_take_number,
	 offsetof(struct why_values, selection.tid)},
	{'p', "pid", "N", "threads of this process", clew_take_number,
	 offsetof(struct why_values, selection.pid)},
	{0, "comm", "GLOB", "threads named like this", clew_take_string,
	 offsetof(struct why_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct why_values, selection.group, "threads"),
	{0, "slowest", "[N]",
	 "explain the N (1) longest operations of the chosen threads, of all by default",
	 clew_take_number, offsetof(struct why_values, slowest)},
	{0, "class", "KIND",
	 "with --slowest, those of this kind: request, served, pipeline, connect, work, start, "
	 "command, span",
	 clew_take_string, offsetof(struct why_values, class)},
	CLEW_ASK_OPTIONS(struct why_values, ask),
	{0, "now", NULL,
	 "with --pid: what its threads wait for at this moment, and who could end it",
	 clew_take_flag, offsetof(struct why_values, now)},
	CLEW_WINDOW_OPTIONS(struct why_values, window),
	{0, "idle", "KIND,..",
	 "waits between operations (poll, accept, receive, read of an empty pipe)",
	 clew_take_wait_kinds, offsetof(struct why_values, idle)},
	{0, "without", "TYPE,..", "answer as if no dependency of these types had been seen",
	 clew_take_edge_types, offsetof(struct why_values, without)},
	{0, "without-functions", NULL, "answer as if no function had been traced", clew_take_flag,
	 offsetof(struct why_values, without_functions)},
	CLEW_SOURCE_OPTIONS(struct why_values, source,
			    "tell functions with lines of the source, and inlined ones, too"),
	{0, "steps", NULL, "print the steps in order of time, too", clew_take_flag,
	 offsetof(struct why_values, steps)},
	{0, "all", NULL, "print every cause and every step, whatever their number", clew_take_flag,
	 offsetof(struct why_values, all)},
	CLEW_FRESH_OPTIONS(struct why_values, fresh),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct why_values, json)},
	CLEW_OPTION_END,
};

/* Explains one operation or other interval; `answer` NULL: as text. */
static int explain(const struct clew_trace *trace, const struct clew_relations *relations,
		   const struct why_values *values, const struct clew_operation *operation,
		   struct clew_why_answer *answer)
{
	struct clew_why_view view = {.all = values->all,
				     .steps = values->steps,
				     .ledger = values->last,
				     .lines = values->lines,
				     .width = clew_terminal_width()};
	struct clew_why_sums sums = {};
	struct clew_why why = {};
	int r = clew_why_operation(trace, relations, operation, &why);

	if (r >= 0 && answer)
		r = clew_causes_make(trace, relations, &why, &sums.causes, &sums.cause_count);
	if (r >= 0 && answer)
		r = clew_by_program_make(trace, &why, &sums.shares, &sums.share_count);
	if (r >= 0)
		r = clew_restraints_make(trace, &why, &sums.restraints, &sums.restraint_count);
	if (r >= 0)
		r = answer ? clew_json_why(answer, &why, &sums)
			   : clew_print_why(stdout, trace, relations, &why, &sums, &view);
	if (r < 0)
		clew_fail(CLEW_EXIT_SYSTEM, "%s: free some memory and try again", strerror(-r));
	clew_causes_free(sums.causes, sums.cause_count);
	free(sums.shares);
	free(sums.restraints);
	clew_why_done(&why);
	return r < 0 ? CLEW_EXIT_SYSTEM : 0;
}

static int print_found(const struct clew_asked_in *in, struct why_values *values,
		       const struct clew_slowest *found)
{
	const struct clew_asked_of of = {in->trace, in->relations};
	int status = 0;

	if (found->ask &&
	    clew_print_ask(stdout, found->ask, &of, found->operations, found->total) < 0)
		status = clew_fail_memory();
	for (size_t i = 0; !status && i < found->count; i++) {
		clew_print_slowest(stdout, in->trace, found, i, clew_terminal_width());
		values->last = i + 1 == found->count;
		status = explain(in->trace, in->relations, values, &found->operations[i], NULL);
	}
	if (!status && found->count) {
		clew_print_lines_told(stdout, in->trace);
		clew_print_cost(stdout, clew_trace_info(in->trace));
	}
	return status;
}

static int json_found(const struct clew_asked_in *in, const struct why_values *values,
		      const struct clew_slowest *found)
{
	struct clew_why_answer answer;
	struct clew_json *json = &answer.fields.json;
	const struct clew_asked_of of = {in->trace, in->relations};
	int status = 0;

	if (clew_why_answer_begin(&answer, in->trace, in->relations) < 0)
		return clew_fail_memory();
	clew_json_unsigned(json, "total", found->total);
	clew_json_bool(json, "between_sleeps", found->between_sleeps);
	if (values->unchosen)
		clew_json_about(json, values->about);
	if (clew_json_slowest(json, &of, found) < 0)
		status = clew_fail_memory();
	clew_json_array(json, "operations");
	for (size_t i = 0; !status && i < found->count; i++) {
		clew_json_object(json, NULL);
		clew_json_slowest_one(json, in->trace, found, i);
		status = explain(in->trace, in->relations, values, &found->operations[i], &answer);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_ledger(json, in->trace, in->window->from, in->window->to);
	return clew_why_answer_end(&answer, stdout) < 0 ? clew_fail_memory() : status;
}

/* The longest operations of the class that is asked for. Returns an exit status. */
static int find_class(const struct clew_asked_in *in, const struct why_values *values,
		      struct clew_slowest *found)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = (void *)in->selection};
	struct clew_operation_classes *classes = &found->classes;
	const struct clew_operation_class *class;

	if (clew_classes_find(in->trace, &chosen, in->window->from, in->window->to, classes) < 0)
		return clew_fail_memory();
	while (values->class && found->class < classes->class_count &&
	       strcmp(clew_operation_kind_name(classes->classes[found->class].kind), values->class))
		found->class ++;
	if (found->class == classes->class_count) {
		classes->class_count = 0;
		return clew_ask_offer(in, 0, values->slowest.value);
	}
	class = &classes->classes[found->class];
	found->total = class->count;
	found->operations =
		clew_class_longest(classes, found->class, values->slowest.value, &found->count);
	return found->operations ? 0 : clew_fail_memory();
}

/* The longest operations between waits of the kinds that are asked for. Returns an exit status. */
static int find_between(const struct clew_asked_in *in, const struct why_values *values,
			struct clew_slowest *found)
{
	if (clew_operations_slowest(in->trace, clew_selection_wants, (void *)in->selection,
				    values->idle, in->window->from, in->window->to,
				    values->slowest.value, &found->operations, &found->count,
				    &found->total, &found->between_sleeps) < 0)
		return clew_fail_memory();
	return found->count ? 0 : clew_ask_offer(in, values->idle, values->slowest.value);
}

static int explain_slowest(const struct clew_asked_in *in, struct why_values *values)
{
	struct clew_slowest found = {.ask = clew_ask_given(&values->ask) ? &values->ask : NULL};
	int status = 0;

	if (!values->slowest.given)
		values->slowest.value = 1;
	if (clew_ask_given(&values->ask)) {
		status = clew_ask_find(&values->ask, in, &found.operations, &found.total);
		found.count =
			found.total < values->slowest.value ? found.total : values->slowest.value;
	} else if (values->idle) {
		status = find_between(in, values, &found);
	} else {
		status = find_class(in, values, &found);
	}
	values->lines = clew_terminal_lines() / (found.count ?: 1);
	if (values->json && (!status || status == CLEW_EXIT_NEGATIVE))
		status = json_found(in, values, &found) ?: status;
	else if (!status)
		status = print_found(in, values, &found);
	free(found.operations);
	clew_classes_done(&found.classes);
	return status;
}

static bool lives_in(const struct clew_trace_task *task, uint64_t from, uint64_t to)
{
	return task->birth < to && from < task->death;
}

/* Names the threads that were chosen, so that the user can ask for one. */
static int fail_several(const struct clew_trace *trace, const struct why_values *values,
			uint64_t from, uint64_t to, size_t count)
{
	enum { MOST_NAMED = 4 };
	char names[MOST_NAMED * (CLEW_COMM_SIZE + sizeof(", -4294967295"))];
	size_t used = 0, named = 0;

	for (size_t i = 0, tasks = clew_trace_task_count(trace); i < tasks && named < MOST_NAMED;
	     i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (clew_selection_wants((void *)&values->selection, task) &&
		    lives_in(task, from, to))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s-%u",
						 named++ ? ", " : "", CLEW_COMM_SIZE, task->comm,
						 task->tid);
	}
	return clew_fail(CLEW_EXIT_INPUT,
			 "%zu threads are chosen, %s%s: choose one by --tid, or ask for --slowest",
			 count, names, count > named ? ", .." : "");
}

/* Chooses of several threads that whose operation the interval overlaps most. */
static int choose_of_several(const struct clew_trace *trace, const struct why_values *values,
			     uint64_t from, uint64_t to, size_t count,
			     const struct clew_trace_task **ret_task)
{
	const struct clew_chosen chosen = {.wants = clew_selection_wants,
					   .context = (void *)&values->selection};
	struct clew_operation_classes found;
	const struct clew_kind_operation *one;
	int status = 0;

	if (!clew_window_given(&values->window))
		return fail_several(trace, values, from, to, count);
	if (clew_classes_find(trace, &chosen, from, to, &found) < 0)
		return clew_fail_memory();
	one = clew_classes_at(&found, from, to);
	if (!one)
		status = fail_several(trace, values, from, to, count);
	else if (!values->json)
		clew_print_one_of_several(stdout, trace, &found, one, clew_terminal_width());
	if (one)
		*ret_task = clew_trace_task(trace, one->operation.task);
	clew_classes_done(&found);
	return status;
}

/* The one thread that is chosen and lives in the interval. */
static int choose_thread(const struct clew_trace *trace, struct why_values *values, uint64_t from,
			 uint64_t to, const struct clew_trace_task **ret_task)
{
	const struct clew_trace_task *chosen = NULL, *dead = NULL;
	size_t count = 0;

	for (size_t i = 0, tasks = clew_trace_task_count(trace); i < tasks; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (!clew_selection_wants(&values->selection, task))
			continue;
		dead = task;
		if (!lives_in(task, from, to))
			continue;
		chosen = task;
		count++;
	}
	if (!count && dead)
		return clew_fail(
			CLEW_EXIT_INPUT,
			"thread %u did not live between --from and --to: choose another time",
			dead->tid);
	if (count > 1 && values->selection.tid.given)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%zu threads had the tid %u one after the other: choose one by "
				 "--from and --to",
				 count, values->selection.tid.value);
	if (count > 1)
		return choose_of_several(trace, values, from, to, count, ret_task);
	*ret_task = chosen;
	return 0;
}

static int print_one(const struct clew_trace *trace, const struct clew_relations *relations,
		     const struct why_values *values, const struct clew_operation *operation)
{
	int status = explain(trace, relations, values, operation, NULL);

	if (!status) {
		clew_print_lines_told(stdout, trace);
		clew_print_cost(stdout, clew_trace_info(trace));
	}
	return status;
}

static int json_one(const struct clew_trace *trace, const struct clew_relations *relations,
		    const struct why_values *values, const struct clew_operation *operation)
{
	struct clew_why_answer answer;
	int status;

	if (clew_why_answer_begin(&answer, trace, relations) < 0)
		return clew_fail_memory();
	if (values->unchosen)
		clew_json_about(&answer.fields.json, values->about);
	status = explain(trace, relations, values, operation, &answer);
	return clew_why_answer_end(&answer, stdout) < 0 ? clew_fail_memory() : status;
}

/* A thread's time in an interval, as far as it lives then. */
static int explain_thread(const struct clew_trace *trace, const struct clew_relations *relations,
			  struct why_values *values, const struct clew_trace_task *task,
			  uint64_t from, uint64_t to)
{
	/* The interval is limited to the thread's life. */
	struct clew_operation operation = {.from = from < task->birth ? task->birth : from,
					   .to = to > task->death ? task->death : to,
					   .task = task->serial};

	values->lines = clew_terminal_lines();
	values->last = true;
	return (values->json ? json_one : print_one)(trace, relations, values, &operation);
}

static int explain_one(const struct clew_trace *trace, const struct clew_relations *relations,
		       struct why_values *values, uint64_t from, uint64_t to)
{
	const struct clew_trace_task *task = NULL;
	int status = choose_thread(trace, values, from, to, &task);

	return status ?: explain_thread(trace, relations, values, task, from, to);
}

/* ---- where nothing was chosen ---- */

/* True if a thread waited for work for most of an interval; a sleep of its own choice is none. */
static bool mostly_idle(const struct clew_trace *trace, uint32_t task, uint64_t from, uint64_t to)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	uint64_t idle = 0;

	for (size_t i = 0; i < count; i++)
		if (sleeps[i].task == task && sleeps[i].kind != CLEW_WAIT_SLEEP &&
		    wait_is_idle(trace, &sleeps[i]))
			idle += interval_overlap(sleeps[i].start, sleeps[i].end, from, to);
	return idle > (to - from) / 2;
}

/*
 * A recorded command is explained as a whole, by its first thread. A command that waited for work
 * most of the time is a service: then, and where none was recorded, it is the slowest operation.
 */
static int explain_default(const struct clew_asked_in *in, struct why_values *values)
{
	const struct clew_trace *trace = in->trace;
	const struct clew_recorded *recorded = &values->selection.recorded;
	bool any = recorded->root != CLEW_NO_TASK;
	uint64_t from = in->window->from, to = in->window->to;
	bool whole;

	if (any && from < recorded->from)
		from = recorded->from;
	if (any && to > recorded->to)
		to = recorded->to;
	whole = any && from < to && !mostly_idle(trace, recorded->root, from, to);
	values->slowest.given = !whole;
	values->slowest.value = 1;
	values->unchosen = true;
	values->about = whole ? CLEW_ABOUT_COMMAND : any ? CLEW_ABOUT_SLOWEST : CLEW_ABOUT_ALL;
	if (!values->json)
		clew_print_about(stdout, trace, values->about);
	return whole ? explain_thread(trace, in->relations, values,
				      clew_trace_task(trace, recorded->root), from, to)
		     : explain_slowest(in, values);
}

static bool chooses(const struct why_values *values)
{
	return values->selection.tid.given || values->selection.pid.given ||
	       values->selection.comm || values->selection.groups || values->slowest.given ||
	       clew_ask_given(&values->ask);
}

static int answer(const struct clew_trace *trace, struct why_values *values, const char *operand)
{
	struct clew_asked_in in = {.trace = trace,
				   .selection = &values->selection,
				   .window = &values->window,
				   .operand = operand};
	struct clew_relations *relations = NULL;
	uint64_t from = values->window.from, to = values->window.to;
	int status;

	values->selection.recorded_first = !values->slowest.given && !clew_ask_given(&values->ask);
	status = clew_selection_check(&values->selection, trace);
	if (status)
		return status;
	/* Announced calls are not needed if calls are left out. */
	if (!(values->without >> CLEW_EDGE_CALL & 1))
		status = clew_try_relations(trace, &relations);
	in.relations = relations;
	if (!status && !chooses(values))
		status = explain_default(&in, values);
	else if (!status && (values->slowest.given || clew_ask_given(&values->ask)))
		status = explain_slowest(&in, values);
	else if (!status)
		status = explain_one(trace, relations, values, from, to);
	clew_relations_free(relations);
	return status;
}

/* ---- at this moment ---- */

/* An option beside --now that chooses something else; NULL: there is none. */
static const char *option_not_now(const struct why_values *values)
{
	return values->selection.tid.given ? "--tid"
	       : values->selection.comm	   ? "--comm"
	       : clew_groups_asked(&values->selection.group)
		       ? "--cgroup, --container, --pod or --unit"
	       : values->slowest.given		    ? "--slowest"
	       : clew_ask_given(&values->ask)	    ? "--call and the like"
	       : clew_window_given(&values->window) ? "--from or --to"
	       : values->fresh.recording.duration   ? "-d"
	       : values->fresh.keep		    ? "--keep"
	       : values->fresh.words		    ? "a command"
						    : NULL;
}

static int check_now(const struct why_values *values)
{
	const char *option = option_not_now(values);

	if (!values->selection.pid.given)
		return clew_fail(CLEW_EXIT_INPUT, "why: --now without a process: give --pid N");
	if (option)
		return clew_fail(CLEW_EXIT_INPUT,
				 "why: --now and %s: ask about a process alone, by --pid N",
				 option);
	return 0;
}

static int question_check(void *context)
{
	struct why_values *values = context;

	/* Any request may be one of those that are asked about. */
	values->fresh.recording.messages_if_shown = clew_selection_chooses(&values->selection);
	if (values->idle && clew_ask_given(&values->ask))
		return clew_fail(CLEW_EXIT_INPUT,
				 "why: --idle is about operations between idle waits: leave it out "
				 "with --call, --file, --lock, --operation and --span");
	if (values->class && clew_operation_kind_of(values->class) == CLEW_OPERATION_KINDS)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--class %s: there is no such kind of operations: give request, "
				 "served, pipeline, connect, work, start, command or span",
				 values->class);
	return values->now ? check_now(values) : 0;
}

static int question_answer(void *context, char **operands)
{
	struct why_values *values = context;
	struct clew_trace *trace;
	int status;

	if (values->now) {
		status = clew_why_now(operands[0], &values->selection, values->json);
		clew_selection_done(&values->selection);
		return status;
	}
	/* An operation may go on after the interval. */
	if (!values->slowest.given && !clew_ask_given(&values->ask))
		values->window.thread = values->selection.tid.value;
	status = clew_open_window(operands[0], values->without, &values->window, &trace);
	if (status)
		return status;
	if (values->without_functions)
		clew_trace_forget_functions(trace);
	if (clew_source_wanted(&values->source))
		status = clew_need_stacks("why", trace, &values->source);
	if (!status)
		status = answer(trace, values, operands[0]);
	clew_selection_done(&values->selection);
	clew_trace_free(trace);
	return status;
}

int clew_command_why(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.check = question_check,
							    .answer = question_answer};
	struct why_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
