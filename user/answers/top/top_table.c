/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of clew top's screen. */
#include "answers/top/top_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "answers/why/why_text.h"
#include "base/hash.h"
#include "format/text.h"
#include "words/class.h"
#include "words/object.h"
#include "words/task.h"

const char *const top_table_names[TOP_TABLES] = {
	[TOP_WAITS] = "waits", [TOP_OBJECTS] = "objects",   [TOP_BLAME] = "who blocks whom",
	[TOP_CPUS] = "CPUs",   [TOP_REQUESTS] = "requests", [TOP_SPANS] = "spans",
};

const struct top_column top_columns[TOP_TABLES][TOP_COLUMNS_MOST + 1] = {
	[TOP_WAITS] = {{"AGE", 12, false, true},
		       {"KIND", 8, false, false},
		       {"THREAD", 22, false, false},
		       {"WHY", 20, true, false}},
	[TOP_OBJECTS] = {{"WAITED/S", 9, false, true},
			 {"WAITS", 7, false, true},
			 {"LONGEST", 11, false, true},
			 {"KIND", 8, false, false},
			 {"OBJECT", 20, true, false, true},
			 {"HAD BY", 22, false, false}},
	[TOP_BLAME] = {{"WAITED/S", 9, false, true},
		       {"KIND", 8, false, false},
		       {"VICTIM", 18, true, false, true},
		       {"ANTAGONIST", 18, true, false, true}},
	[TOP_CPUS] = {{"CPU", 4, false, true},
		      {"BUSY", 6, false, true},
		      {"QUEUE", 7, false, true},
		      {"LONGEST", 11, false, true},
		      {"RAN MOST", 18, true, false},
		      {"WAITED MOST", 18, true, false}},
	[TOP_REQUESTS] = {{"AGE", 12, false, true},
			  {"KIND", 8, false, false},
			  {"THREAD", 22, false, false},
			  {"REQUEST", 20, true, false}},
	[TOP_SPANS] = {{"OPEN", 7, false, true},
		       {"RUNNING", 7, false, true},
		       {"QUEUED", 7, false, true},
		       {"OLDEST", 11, false, true},
		       {"SPAN", 20, true, false},
		       {"SUBMITTED IN", 20, true, false}},
};

/* ---- cells ---- */

/* A row that is being filled, cell by cell. */
struct filling {
	struct top_row *row;
	size_t cell, size;
	FILE *out; /* of the cell; NULL: no memory */
	bool failed;
};

static FILE *begin_cell(struct filling *filling, uint64_t value)
{
	filling->row->values[filling->cell] = value;
	filling->out = open_memstream(&filling->row->cells[filling->cell++], &filling->size);
	return filling->out;
}

static void end_cell(struct filling *filling)
{
	filling->failed |= !filling->out || fclose(filling->out);
	filling->out = NULL;
}

__attribute__((format(printf, 3, 4))) static void put_cell(struct filling *filling, uint64_t value,
							   const char *format, ...)
{
	FILE *out = begin_cell(filling, value);
	va_list arguments;

	va_start(arguments, format);
	if (out)
		vfprintf(out, format, arguments);
	va_end(arguments);
	end_cell(filling);
}

/* Puts a name, made safe for a terminal. */
static void put_name(struct filling *filling, const char *name)
{
	if (begin_cell(filling, 0))
		clew_print_safe(filling->out, name);
	end_cell(filling);
}

static void put_task(struct filling *filling, const struct clew_trace *trace, uint32_t task,
		     uint64_t at)
{
	if (begin_cell(filling, 0) && task != CLEW_NO_TASK)
		clew_print_task(filling->out, trace, task, at);
	end_cell(filling);
}

/* Seconds in each second of the period. */
static void put_rate(struct filling *filling, const struct top_period *period, uint64_t ns)
{
	uint64_t length = period->report.to - period->report.from;

	put_cell(filling, ns, "%.3f", length ? (double)ns / (double)length : 0);
}

/* ---- rows ---- */

static void fill_wait(struct filling *filling, const struct top_period *period, size_t i)
{
	const struct clew_now *wait = &period->waits[i];

	filling->row->wait = wait->sleep;
	filling->row->style = clew_style_of_kind(wait->sleep->kind);
	put_cell(filling, wait->ns, "%s%s", CLEW_DURATION(wait->ns), wait->longer ? "+" : "");
	put_name(filling, clew_wait_kind_name(wait->sleep->kind));
	put_task(filling, period->trace, wait->sleep->task, clew_trace_end(period->trace));
	put_cell(filling, 0, "%s", wait->told.text ?: "");
}

static void fill_object(struct filling *filling, const struct top_period *period, size_t i)
{
	const struct top_object *object = &period->objects[i];
	const struct clew_sleep *longest = object->longest;

	filling->row->wait = longest;
	filling->row->style = clew_style_of_kind(longest->kind);
	put_rate(filling, period, object->ns);
	put_cell(filling, object->waits, "%zu", object->waits);
	put_cell(filling, object->longest_ns, "%s", CLEW_DURATION(object->longest_ns));
	put_name(filling, clew_wait_kind_name(longest->kind));
	if (begin_cell(filling, 0) &&
	    !clew_print_object(filling->out, period->trace, &longest->object, longest))
		fputs("no object", filling->out);
	end_cell(filling);
	put_task(filling, period->trace, object->holder, clew_trace_end(period->trace));
}

static void fill_pair(struct filling *filling, const struct top_period *period,
		      const struct top_pair *pair)
{
	filling->row->style =
		pair->kind == SUMS_DISK ? CLEW_STYLE_DISK : clew_style_of_kind(pair->kind);
	put_rate(filling, period, pair->ns);
	put_name(filling, sums_pair_kind_name(pair->kind));
	put_name(filling, pair->victim);
	put_name(filling, pair->antagonist);
}

static void put_program(struct filling *filling, const struct top_period *period, uint32_t program,
			uint64_t ns)
{
	uint64_t length = period->report.to - period->report.from;

	if (begin_cell(filling, 0) && program != UINT32_MAX) {
		clew_print_safe(filling->out, period->report.summary.programs[program].name);
		fprintf(filling->out, " %u %%", clew_percent(ns, length));
	}
	end_cell(filling);
}

static void fill_queue(struct filling *filling, const struct top_period *period, size_t cpu)
{
	const struct top_queue *queue = &period->queues[cpu];
	uint64_t length = period->report.to - period->report.from;

	filling->row->style = CLEW_STYLE_PLAIN;
	put_cell(filling, cpu, "%zu", cpu);
	put_cell(filling, queue->busy_ns, "%u %%", clew_percent(queue->busy_ns, length));
	put_rate(filling, period, queue->ready_ns);
	put_cell(filling, queue->longest_ns, "%s", CLEW_DURATION(queue->longest_ns));
	put_program(filling, period, queue->ran, queue->ran_ns);
	put_program(filling, period, queue->waited, queue->waited_ns);
}

static void fill_request(struct filling *filling, const struct top_period *period, size_t i)
{
	const struct top_request *request = &period->requests[i];
	const struct clew_kind_operation *operation = request->operation;

	filling->row->wait = operation->by;
	filling->row->style = CLEW_STYLE_NETWORK;
	put_cell(filling, request->ns, "%s%s", CLEW_DURATION(request->ns),
		 request->longer ? "+" : "");
	put_name(filling, clew_operation_kind_name((enum clew_operation_kind)operation->kind));
	put_task(filling, period->trace, operation->operation.task, clew_trace_end(period->trace));
	if (begin_cell(filling, 0))
		clew_print_class_of(filling->out, period->trace, operation, true);
	end_cell(filling);
}

static void fill_span(struct filling *filling, const struct top_period *period, size_t i)
{
	const struct top_span *span = &period->spans[i];
	uint64_t ns = clew_trace_end(period->trace) - span->oldest->begin;

	filling->row->style = CLEW_STYLE_PLAIN;
	put_cell(filling, span->count, "%" PRIu64, span->count);
	put_cell(filling, span->now[CLEW_JOB_RUNS], "%" PRIu64, span->now[CLEW_JOB_RUNS]);
	put_cell(filling, span->now[CLEW_JOB_QUEUED], "%" PRIu64, span->now[CLEW_JOB_QUEUED]);
	put_cell(filling, ns, "%s", CLEW_DURATION(ns));
	if (begin_cell(filling, 0)) {
		fprintf(filling->out, "%s.", span->oldest->runtime->name);
		clew_print_safe(filling->out, span->name);
	}
	end_cell(filling);
	put_name(filling, span->in ?: "");
}

static size_t most_rows(const struct top_period *period, const struct top_choice *choice)
{
	switch (choice->table) {
	case TOP_WAITS:
		return period->wait_count;
	case TOP_REQUESTS:
		return period->request_count;
	case TOP_SPANS:
		return period->span_count;
	case TOP_OBJECTS:
		return period->object_count;
	case TOP_BLAME:
		return period->pairs[choice->by].count;
	default:
		return period->queue_count;
	}
}

/* False: there is no such row. */
static bool fill(struct filling *filling, const struct top_period *period,
		 const struct top_choice *choice, size_t i)
{
	if (choice->table == TOP_CPUS && !period->queues[i].seen)
		return false;
	if (choice->table == TOP_WAITS)
		fill_wait(filling, period, i);
	else if (choice->table == TOP_REQUESTS)
		fill_request(filling, period, i);
	else if (choice->table == TOP_SPANS)
		fill_span(filling, period, i);
	else if (choice->table == TOP_OBJECTS)
		fill_object(filling, period, i);
	else if (choice->table == TOP_BLAME)
		fill_pair(filling, period, &period->pairs[choice->by].pairs[i]);
	else
		fill_queue(filling, period, i);
	return true;
}

/* The columns that say which row it is: they end the list. */
static const unsigned naming[TOP_TABLES][4] = {
	[TOP_WAITS] = {2, TOP_COLUMNS_MOST},	   [TOP_OBJECTS] = {3, 4, TOP_COLUMNS_MOST},
	[TOP_BLAME] = {1, 2, 3, TOP_COLUMNS_MOST}, [TOP_CPUS] = {0, TOP_COLUMNS_MOST},
	[TOP_REQUESTS] = {2, 3, TOP_COLUMNS_MOST}, [TOP_SPANS] = {4, 5, TOP_COLUMNS_MOST},
};

static uint64_t name_of(enum top_table table, const struct top_row *row)
{
	uint64_t hash = HASH_SEED;

	for (const unsigned *column = naming[table]; *column < TOP_COLUMNS_MOST; column++)
		hash = hash_text(hash_mix(hash, *column), row->cells[*column]);
	return hash;
}

static void row_done(struct top_row *row)
{
	for (size_t i = 0; i < TOP_COLUMNS_MOST; i++)
		free(row->cells[i]);
	*row = (struct top_row){};
}

static bool matches(const struct top_row *row, const char *filter)
{
	for (size_t i = 0; i < TOP_COLUMNS_MOST && row->cells[i]; i++)
		if (strcasestr(row->cells[i], filter))
			return true;
	return !*filter;
}

static int in_order(const void *left, const void *right, void *context)
{
	const struct top_choice *choice = context;
	const struct top_row *a = left, *b = right;
	const struct top_column *column = &top_columns[choice->table][choice->sort];

	if (!column->number)
		return strcasecmp(a->cells[choice->sort], b->cells[choice->sort]);
	if (a->values[choice->sort] == b->values[choice->sort])
		return 0;
	/* CPUs come by number. */
	return (a->values[choice->sort] > b->values[choice->sort]) ==
			       (choice->table == TOP_CPUS && !choice->sort)
		       ? 1
		       : -1;
}

int top_rows_make(const struct top_period *period, const struct top_choice *choice,
		  struct top_rows *ret_rows)
{
	size_t count = most_rows(period, choice);
	struct top_choice order = *choice;
	bool failed;

	*ret_rows = (struct top_rows){.rows = calloc(count + 1, sizeof(*ret_rows->rows))};
	failed = !ret_rows->rows;
	for (size_t i = 0; i < count && !failed; i++) {
		struct filling filling = {.row = &ret_rows->rows[ret_rows->count]};

		if (!fill(&filling, period, choice, i))
			continue;
		failed = filling.failed;
		if (failed) {
			row_done(filling.row);
			break;
		}
		filling.row->name = name_of(choice->table, filling.row);
		if (matches(filling.row, choice->filter))
			ret_rows->count++;
		else
			row_done(filling.row);
	}
	if (failed)
		return -ENOMEM;
	/* glibc's qsort_r() keeps the order of equal ones as long as it has memory. */
	if (ret_rows->count)
		qsort_r(ret_rows->rows, ret_rows->count, sizeof(*ret_rows->rows), in_order, &order);
	return 0;
}

void top_rows_done(struct top_rows *rows)
{
	for (size_t i = 0; rows->rows && i < rows->count; i++)
		row_done(&rows->rows[i]);
	free(rows->rows);
	*rows = (struct top_rows){};
}

/* ---- a chain ---- */

char *top_chain_text(const struct top_period *period, const struct clew_sleep *wait, size_t lines,
		     size_t width)
{
	const struct clew_trace *trace = period->trace;
	const struct clew_why_view view = {.lines = lines, .width = width};
	uint64_t end = clew_trace_end(trace), from = wait->start, to = wait->end;
	struct clew_why_sums sums = {};
	struct clew_why why = {};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r = out ? 0 : -ENOMEM;

	if (from < clew_trace_start(trace))
		from = clew_trace_start(trace);
	if (r == 0)
		r = clew_why_explain(trace, period->relations, wait->task, from,
				     to < end ? to : end, &why);
	if (r >= 0)
		r = clew_restraints_make(trace, &why, &sums.restraints, &sums.restraint_count);
	if (r >= 0)
		r = clew_print_why(out, trace, period->relations, &why, &sums, &view);
	clew_why_done(&why);
	free(sums.restraints);
	if (out && fclose(out))
		r = -ENOMEM;
	if (r < 0) {
		free(text);
		return NULL;
	}
	return text;
}
