/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew spans: how often the traced functions were entered, how long they took, and how they
 * were left. With --key it is about announced calls; spans_key.c has that.
 *
 * A frame that a process has from its parent's fork is in no count. Times are of frames
 * whose end is known: those that are open, lost, or left nobody knows when have none.
 */
#include "base/sort.h"
#include "trace/frames.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/window.h"
#include "cli/record/fresh.h"
#include "cli/spans/spans_key.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/describe.h"
#include "words/dropped.h"
#include "words/frame.h"
#include "words/functions.h"
#include "words/ledger.h"
#include "words/task.h"

struct spans_values {
	struct clew_selection selection;
	struct clew_window window;
	const char *name; /* glob, or NULL */
	const char *key;  /* of announced calls, or NULL */
	bool list;
	bool json;
	struct clew_fresh fresh;
};

const struct clew_option clew_spans_options[] = {
	{0, "key", "KEY",
	 "the announced calls that have this descriptor or attribute: VALUE or TYPE=VALUE",
	 clew_take_string, offsetof(struct spans_values, key)},
	{0, "name", "GLOB", "only functions, with --key calls, named like this", clew_take_string,
	 offsetof(struct spans_values, name)},
	{'t', "tid", "N", "only what this thread was in", clew_take_number,
	 offsetof(struct spans_values, selection.tid)},
	{'p', "pid", "N", "only what this process's threads were in", clew_take_number,
	 offsetof(struct spans_values, selection.pid)},
	{0, "comm", "GLOB", "only what threads named like this were in", clew_take_string,
	 offsetof(struct spans_values, selection.comm)},
	CLEW_WINDOW_OPTIONS(struct spans_values, window),
	{0, "list", NULL, "each activation, too", clew_take_flag,
	 offsetof(struct spans_values, list)},
	CLEW_FRESH_OPTIONS(struct spans_values, fresh),
	CLEW_FUNCTION_OPTIONS(struct spans_values, fresh.recording),
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct spans_values, json)},
	CLEW_OPTION_END,
};

/* The sums of a function. */
struct row {
	uint32_t function;
	uint64_t count; /* frames, but those that are inherited */
	uint64_t closed[CLEW_FRAME_CLOSED_COUNT];
	uint64_t entries; /* of which only the entry is seen */
	uint64_t points;  /* without a length */
	uint64_t timed;	  /* with a total time; `totals` has them, sorted */
	uint64_t *totals;
	uint64_t total, self, probe;
	uint64_t unread; /* values */
};

struct answer {
	const struct clew_trace *trace;
	struct spans_values *values;
	bool *wanted; /* by function */
	struct row *rows;
	uint32_t row_count;
	uint64_t *totals;	/* of all rows */
	struct sort_key *timed; /* key: total time, index: function */
	size_t timed_count;
	struct row all;
	uint64_t cross_thread;
	uint64_t outermost_probe; /* of frames that are in no other one */
	struct clew_json *json;	  /* of the list */
};

/* ---- adding up ---- */

/* Frames of one task; `take` gets those that are wanted. */
static void walk_task(struct answer *answer, const struct clew_trace_task *task,
		      void (*take)(struct answer *, const struct clew_trace_task *,
				   const struct clew_trace_frame *))
{
	const struct clew_window *window = &answer->values->window;
	const struct clew_trace_frame *frames;
	size_t count;

	frames = clew_trace_frames(answer->trace, task->serial, &count);
	for (size_t i = 0; i < count; i++)
		if (answer->wanted[frames[i].function] &&
		    clew_window_has(window, frames[i].start,
				    clew_trace_until(answer->trace, frames[i].end)))
			take(answer, task, &frames[i]);
}

static void walk(struct answer *answer,
		 void (*take)(struct answer *, const struct clew_trace_task *,
			      const struct clew_trace_frame *))
{
	for (size_t i = 0; i < clew_trace_task_count(answer->trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(answer->trace, i);

		if (clew_selection_wants(&answer->values->selection, task))
			walk_task(answer, task, take);
	}
}

static unsigned count_unread(const struct clew_trace *trace, const struct clew_trace_frame *frame)
{
	const struct clew_frame_detail *detail = clew_trace_frame_detail(trace, frame);

	return detail ? (unsigned)__builtin_popcount(detail->unread & CLEW_FRAME_UNREAD) : 0;
}

static void add_frame(struct answer *answer, const struct clew_trace_task *task,
		      const struct clew_trace_frame *frame)
{
	struct row *rows[] = {&answer->rows[frame->function], &answer->all};
	const struct clew_frame_detail *detail = clew_trace_frame_detail(answer->trace, frame);
	bool entry = frame_is_entry(frame), timed = frame_has_time(frame);

	if (frame->flags & CLEW_FRAME_INHERITED)
		return;
	if (!frame->depth)
		answer->outermost_probe += frame->probe;
	answer->cross_thread +=
		detail && detail->end_task != CLEW_NO_TASK && detail->end_task != task->serial;
	for (unsigned i = 0; i < 2; i++) {
		struct row *row = rows[i];

		row->count++;
		row->unread += count_unread(answer->trace, frame);
		row->probe += frame->probe;
		row->self += frame->self;
		if (entry)
			row->entries++;
		else if (frame->closed == CLEW_FRAME_POINT)
			row->points++;
		else
			row->closed[frame->closed]++;
		if (timed) {
			row->timed++;
			row->total += frame->end - frame->start;
		}
	}
	if (timed)
		answer->timed[answer->timed_count++] = (struct sort_key){
			.key = frame->end - frame->start, .index = frame->function};
}

static void count_frame(struct answer *answer, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame)
{
	(void)task;
	(void)frame;
	answer->timed_count++;
}

/* Gives each row its total times in order. */
static int sort_totals(struct answer *answer)
{
	struct sort_key *spare = malloc((answer->timed_count + 1) * sizeof(*spare));
	uint64_t *next = answer->totals;

	if (!spare)
		return -1;
	sort_keys(answer->timed, spare, answer->timed_count);
	free(spare);
	for (uint32_t i = 0; i < answer->row_count; i++) {
		answer->rows[i].totals = next;
		next += answer->rows[i].timed;
		answer->rows[i].timed = 0;
	}
	for (size_t i = 0; i < answer->timed_count; i++) {
		struct row *row = &answer->rows[answer->timed[i].index];

		row->totals[row->timed++] = answer->timed[i].key;
	}
	return 0;
}

/* The calls that hurt most come first. */
static int by_self(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return x->count != y->count ? (x->count < y->count ? 1 : -1)
				    : (x->function > y->function) - (x->function < y->function);
}

static int add_up(struct answer *answer)
{
	uint32_t functions = clew_trace_function_count(answer->trace), kept = 0;

	answer->row_count = functions;
	answer->rows = calloc(functions + 1, sizeof(*answer->rows));
	answer->wanted = calloc(functions + 1, sizeof(*answer->wanted));
	if (!answer->rows || !answer->wanted)
		return clew_fail_memory();
	for (uint32_t i = 0; i < functions; i++) {
		const struct clew_trace_function *function = clew_trace_function(answer->trace, i);
		const char *glob = answer->values->name;

		answer->rows[i].function = i;
		answer->wanted[i] = !glob || (function && clew_match_function(glob, function));
	}
	walk(answer, count_frame);
	answer->timed = malloc((answer->timed_count + 1) * sizeof(*answer->timed));
	answer->totals = malloc((answer->timed_count + 1) * sizeof(*answer->totals));
	if (!answer->timed || !answer->totals)
		return clew_fail_memory();
	answer->timed_count = 0;
	walk(answer, add_frame);
	if (sort_totals(answer))
		return clew_fail_memory();
	for (uint32_t i = 0; i < functions; i++)
		if (answer->rows[i].count)
			answer->rows[kept++] = answer->rows[i];
	answer->row_count = kept;
	if (kept)
		qsort(answer->rows, kept, sizeof(*answer->rows), by_self);
	return 0;
}

static uint64_t built_of(const struct row *row)
{
	return row->closed[CLEW_FRAME_RETURNED] + row->closed[CLEW_FRAME_TAIL_CALL];
}

static uint64_t begun_of(const struct row *row)
{
	return row->count - row->entries - row->points;
}

/* The value that `share` of all are at or below: of 1,000 values, p99.9 is the 999th. */
static uint64_t percentile(const struct row *row, double share)
{
	uint64_t place = (uint64_t)(share * (double)row->timed);

	if ((double)place < share * (double)row->timed)
		place++;
	return row->totals[place ? place - 1 : 0];
}

/* ---- JSON ---- */

static void json_reasons(struct clew_json *json, const char *key, const struct row *row, bool all)
{
	clew_json_object(json, key);
	for (unsigned i = 0; i < CLEW_FRAME_CLOSED_COUNT; i++)
		if (row->closed[i] && (all || (i > CLEW_FRAME_TAIL_CALL && i != CLEW_FRAME_OPEN)))
			clew_json_unsigned(json, clew_frame_closed_name(i), row->closed[i]);
	clew_json_object_end(json);
}

static void json_total(struct clew_json *json, const struct row *row)
{
	static const struct {
		const char *name;
		double share;
	} percentiles[] = {
		{"p50_ns", .5}, {"p90_ns", .9}, {"p99_ns", .99}, {"p999_ns", .999}, {"max_ns", 1}};

	if (!row->timed) {
		clew_json_null(json, "total");
		return;
	}
	clew_json_object(json, "total");
	clew_json_unsigned(json, "count", row->timed);
	clew_json_unsigned(json, "sum_ns", row->total);
	clew_json_unsigned(json, "mean_ns", row->total / row->timed);
	for (unsigned i = 0; i < sizeof(percentiles) / sizeof(percentiles[0]); i++)
		clew_json_unsigned(json, percentiles[i].name,
				   percentile(row, percentiles[i].share));
	clew_json_object_end(json);
}

static void json_row(struct clew_json *json, const struct clew_trace *trace, const struct row *row)
{
	const struct clew_trace_function *function = clew_trace_function(trace, row->function);

	clew_json_object(json, NULL);
	clew_json_string(json, "name", function ? function->name : NULL);
	clew_json_string(json, "demangled",
			 function && strcmp(function->readable, function->name) ? function->readable
										: NULL);
	clew_json_string(json, "object", function ? function->object : NULL);
	clew_json_null(json, "runtime");
	clew_json_unsigned(json, "count", row->count);
	json_reasons(json, "closed", row, true);
	clew_json_unsigned(json, "entries_only", row->entries);
	clew_json_unsigned(json, "points", row->points);
	json_total(json, row);
	clew_json_unsigned(json, "self_ns", row->self);
	clew_json_unsigned(json, "probe_ns", row->probe);
	clew_json_unsigned(json, "unread", row->unread);
	clew_json_object_end(json);
}

static void json_summary(struct clew_json *json, const struct answer *answer)
{
	const struct row *all = &answer->all;
	uint64_t begun = begun_of(all);

	clew_json_object(json, "summary");
	clew_json_unsigned(json, "begun", begun);
	clew_json_unsigned(json, "built", built_of(all));
	if (begun)
		clew_json_number(json, "success_rate", (double)built_of(all) / (double)begun);
	else
		clew_json_null(json, "success_rate");
	json_reasons(json, "unmatched", all, false);
	clew_json_unsigned(json, "cross_thread", answer->cross_thread);
	clew_json_unsigned(json, "open", all->closed[CLEW_FRAME_OPEN]);
	clew_json_unsigned(json, "entries_only", all->entries);
	clew_json_unsigned(json, "points", all->points);
	clew_json_object_end(json);
}

static void json_frame(struct answer *answer, const struct clew_trace_task *task,
		       const struct clew_trace_frame *frame)
{
	clew_json_object(answer->json, NULL);
	clew_json_frame_fields(answer->json, answer->trace, task, frame);
	clew_json_object_end(answer->json);
}

static void answer_json(struct answer *answer)
{
	struct clew_json document = {.out = stdout}, *json = &document;

	answer->json = json;
	clew_json_answer(json);
	json_summary(json, answer);
	clew_json_array(json, "by_name");
	for (uint32_t i = 0; i < answer->row_count; i++)
		json_row(json, answer->trace, &answer->rows[i]);
	clew_json_array_end(json);
	if (answer->values->list) {
		clew_json_array(json, "list");
		walk(answer, json_frame);
		clew_json_array_end(json);
	}
	clew_json_array(json, "groups_dropped");
	clew_json_dropped(json, answer->trace);
	clew_json_array_end(json);
	clew_json_ledger(json, answer->trace, answer->values->window.from,
			 answer->values->window.to);
	clew_json_object_end(json);
	clew_json_end(json);
}

/* ---- text ---- */

#define WIDTH 80

/* Appends how calls ended that did not return. */
static void put_reasons(FILE *out, const struct row *row)
{
	const char *between = "";

	for (unsigned i = CLEW_FRAME_RETURNED + 1; i < CLEW_FRAME_CLOSED_COUNT; i++) {
		if (!row->closed[i])
			continue;
		fprintf(out, "%s%" PRIu64 " %s", between, row->closed[i],
			clew_frame_closed_text(i));
		between = ", ";
	}
}

/* Prints the text of a stream in memory, which it closes, in lines. */
static void print_lines(FILE *stream, char **text, size_t indent)
{
	if (fclose(stream) == 0) {
		printf("%*s", (int)indent, "");
		clew_print_wrapped(stdout, *text, indent, indent, WIDTH);
	}
	free(*text);
}

static void print_reasons(const struct row *row, size_t indent)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	put_reasons(stream, row);
	print_lines(stream, &text, indent);
}

static void print_row(const struct clew_trace *trace, const struct row *row)
{
	printf("%9s  %8" PRIu64 "  ", CLEW_DURATION(row->self), row->count);
	if (row->timed)
		printf("%9s  %9s  %9s  ", CLEW_DURATION(percentile(row, .5)),
		       CLEW_DURATION(percentile(row, .99)), CLEW_DURATION(percentile(row, 1)));
	else
		printf("%9s  %9s  %9s  ", "-", "-", "-");
	clew_print_safe(stdout, clew_function_name(trace, row->function));
	putchar('\n');
	if (begun_of(row) > row->closed[CLEW_FRAME_RETURNED])
		print_reasons(row, 23);
}

static void print_frame(struct answer *answer, const struct clew_trace_task *task,
			const struct clew_trace_frame *frame)
{
	const struct clew_trace *trace = answer->trace;

	printf("+%-13s ", CLEW_OFFSET(frame->start - clew_trace_start(trace),
				      clew_trace_end(trace) - clew_trace_start(trace)));
	printf("%9s  ", frame->end == CLEW_TIME_OPEN ? "open"
			: frame->closed == CLEW_FRAME_POINT
				? "-"
				: CLEW_DURATION(frame->end - frame->start));
	clew_print_task(stdout, trace, task->serial, frame->start);
	printf("  %*s", 2 * (frame->depth < 20 ? frame->depth : 20), "");
	clew_print_safe(stdout, clew_function_name(trace, frame->function));
	clew_print_frame_values(stdout, trace, frame);
	if (frame->closed != CLEW_FRAME_RETURNED && frame->closed != CLEW_FRAME_POINT)
		printf(" (%s%s)", frame->flags & CLEW_FRAME_INHERITED ? "inherited, " : "",
		       frame_is_entry(frame) ? "only the entry is seen"
					     : clew_frame_closed_text(frame->closed));
	putchar('\n');
}

static void put_summary(FILE *out, const struct answer *answer)
{
	const struct row *all = &answer->all;
	uint64_t begun = begun_of(all), returned = all->closed[CLEW_FRAME_RETURNED];
	uint32_t points = 0, functions;

	for (uint32_t i = 0; i < answer->row_count; i++)
		points += answer->rows[i].points != 0;
	functions = answer->row_count - points;
	if (functions || !points)
		fprintf(out, "%" PRIu64 " call%s of %" PRIu32 " function%s", begun,
			begun == 1 ? "" : "s", functions, functions == 1 ? "" : "s");
	if (begun == returned) {
		fputs(begun ? ", all of which returned" : "", out);
	} else {
		fprintf(out, "; %" PRIu64 " returned (%.1f %%), ", returned,
			100. * (double)returned / (double)begun);
		put_reasons(out, all);
	}
	if (all->entries)
		fprintf(out, "; of %" PRIu64 " more only the entry was seen", all->entries);
	if (all->points)
		fprintf(out, "%s%" PRIu32 " probe%s of programs %s met %" PRIu64 " time%s",
			functions ? "; " : "", points, points == 1 ? "" : "s",
			points == 1 ? "was" : "were", all->points, all->points == 1 ? "" : "s");
	if (answer->outermost_probe)
		fprintf(out, "; clew's own probes took %s of the time in them",
			CLEW_DURATION(answer->outermost_probe));
}

static void print_summary(const struct answer *answer)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	putchar('\n');
	if (!stream)
		return;
	put_summary(stream, answer);
	print_lines(stream, &text, 0);
}

static void answer_text(struct answer *answer)
{
	if (answer->values->list)
		walk(answer, print_frame);
	if (answer->values->list && answer->row_count)
		putchar('\n');
	if (answer->row_count)
		printf("%9s  %8s  %9s  %9s  %9s  %s\n", "self", "calls", "p50", "p99", "max",
		       "function");
	for (uint32_t i = 0; i < answer->row_count; i++)
		print_row(answer->trace, &answer->rows[i]);
	print_summary(answer);
	clew_print_dropped(stdout, answer->trace);
	clew_print_ledger(stdout, answer->trace, answer->values->window.from,
			  answer->values->window.to);
}

static int answer_spans(const struct clew_trace *trace, struct spans_values *values)
{
	struct answer answer = {.trace = trace, .values = values};
	int status = clew_selection_check(&values->selection, trace);

	if (!status && !clew_trace_function_count(trace))
		status = clew_fail(CLEW_EXIT_NEGATIVE, "no functions were recorded: give "
						       "`clew record` -f OBJECT:GLOB");
	if (!status)
		status = add_up(&answer);
	if (!status && values->name && !answer.row_count)
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "no call of a function '%s' was recorded: leave out --name to "
				   "see all",
				   values->name);
	if (!status)
		(values->json ? answer_json : answer_text)(&answer);
	free(answer.rows);
	free(answer.wanted);
	free(answer.timed);
	free(answer.totals);
	return status;
}

static int question_answer(void *context, char **operands)
{
	struct spans_values *values = context;
	struct clew_trace *trace;
	int status;

	if (values->key)
		return clew_spans_key(operands[0],
				      &(struct clew_key_question){.key = values->key,
								  .name = values->name,
								  .selection = values->selection,
								  .window = &values->window,
								  .json = values->json});
	status = clew_open_window(operands[0], 0, &values->window, &trace);
	if (status)
		return status;
	status = answer_spans(trace, values);
	clew_selection_done(&values->selection);
	clew_trace_free(trace);
	return status;
}

int clew_command_spans(const struct clew_command *command, int argc, char **argv)
{
	static const struct clew_fresh_question question = {.answer = question_answer};
	struct spans_values values = {};

	return clew_fresh_answer(command, argc, argv, &values, &values.fresh, &question);
}
