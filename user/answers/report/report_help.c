/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds what would help: makes a causal trace, applies to it what-if programs for what the slowest
 * operations spent their time on, and measures the operations of the class again.
 */
#include "answers/report/report_help.h"

#include <clew/what_if.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers/report/report.h"
#include "convert/convert.h"
#include "words/ledger.h"

#define MOST_EXPLAINED 20     /* operations, the slowest */
#define MOST_TRIED     5      /* changes */
#define MOST_RUNS      300000 /* of tasks on CPUs: a simulation of more takes too long */
/* Percent of the time of the operations that a change has to be about; that it has to gain; and
 * that a simulation without the change may be off. */
#define LEAST_PART 5
#define LEAST_GAIN 3
#define MOST_OFF   40

struct trial {
	const struct report *report;
	const struct clew_kind_operation *operations; /* slowest first */
	size_t count;
	struct clew_model *model;
	struct clew_what_if_time *times; /* by ES */
	uint64_t *lengths;		 /* room for those of all operations */
	unsigned cpus;			 /* that something ran on */
};

/* ---- the length of operations ---- */

static int longest_first(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a > b ? -1 : a < b;
}

/* Returns the 99th percentile, by which operations are measured; of few the longest one. */
static uint64_t measure(uint64_t *lengths, size_t count)
{
	qsort(lengths, count, sizeof(*lengths), longest_first);
	return lengths[count / 100];
}

/* The last ES of a span that begins at or before a moment; CLEW_NONE: none does. */
static uint32_t es_at(const struct clew_model *model, const struct clew_span *span, clew_time at)
{
	uint32_t low = span->elementary.first, high = low + span->elementary.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->es[middle].start <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low > span->elementary.first ? low - 1 : CLEW_NONE;
}

/* When a moment in the gap behind an ES would be: as long after the origin of the dependency that
 * ends the gap as it was; without such an origin, as long after the gap's begin. */
static clew_time in_gap(const struct trial *trial, uint32_t es, clew_time at)
{
	const struct clew_model *model = trial->model;
	const struct clew_es *next = &model->es[es + 1];
	clew_time then = trial->times[es].end + (at - model->es[es].end);

	if (next->in != CLEW_NONE && model->dependencies[next->in].origins.count) {
		uint32_t origin = model->origins[model->dependencies[next->in].origins.first];

		if (model->es[origin].end <= at)
			then = trial->times[origin].end + (at - model->es[origin].end);
	}
	if (then < trial->times[es].end)
		then = trial->times[es].end;
	return then < trial->times[es + 1].start ? then : trial->times[es + 1].start;
}

/* When a moment of a thread would be. */
static clew_time moment(const struct trial *trial, const struct clew_span *span, clew_time at)
{
	const struct clew_model *model = trial->model;
	uint32_t es = es_at(model, span, at), first = span->elementary.first;
	const struct clew_es *old;
	const struct clew_what_if_time *new;
	clew_time length;

	if (es == CLEW_NONE)
		return trial->times[first].start - (model->es[first].start - at);
	old = &model->es[es];
	new = &trial->times[es];
	length = old->end - old->start;
	if (at <= old->end)
		return new->start + (length ? (clew_time)((__int128)(at - old->start) *
							  (new->end - new->start) / length)
					    : 0);
	if (es + 1 == first + span->elementary.count)
		return new->end + (at - old->end);
	return in_gap(trial, es, at);
}

/* Applies a program. *ret_ns: how long the operations would take. -EINVAL: it cannot be applied. */
static int try(const struct trial *trial, const char *program, uint64_t *ret_ns)
{
	const struct clew_what_if_options options = {.hierarchy = 0, .times = trial->times};
	struct clew_query_error error;
	struct clew_program *compiled;
	struct clew_what_if result;
	int r = clew_program_compile(program, strlen(program), false, &compiled, &error);

	if (r < 0)
		return r;
	r = clew_what_if(trial->model, compiled, &options, NULL, &result, &error);
	clew_program_free(compiled);
	for (size_t i = 0; i < trial->count && r == 0; i++) {
		const struct clew_operation *it = &trial->operations[i].operation;
		uint32_t span = clew_span_of_task(trial->report->trace, it->task);
		const struct clew_span *thread = &trial->model->spans[span];
		clew_time ns = span == CLEW_NONE || !thread->elementary.count
				       ? (clew_time)(it->to - it->from)
				       : moment(trial, thread, (clew_time)it->to) -
						 moment(trial, thread, (clew_time)it->from);

		trial->lengths[i] = ns > 0 ? (uint64_t)ns : 0;
	}
	if (r == 0)
		*ret_ns = measure(trial->lengths, trial->count);
	return r;
}

/* ---- programs ---- */

/* Prints a name as a pattern, in which a character that may be an operator is any character. */
static void print_pattern(FILE *out, const char *name)
{
	for (; *name; name++)
		if ((*name & 0xc0) != 0x80)
			fputc(isalnum((unsigned char)*name) || strchr("_-", *name) ? *name : '.',
			      out);
}

/* Prints a pattern for all threads of a task's name. */
static void print_threads(FILE *out, const struct clew_trace *trace, uint32_t serial)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	fputs("spans((^", out);
	print_pattern(out, task ? task->comm : "");
	fputs("-[0-9]))", out);
}

static void print_device(FILE *out, uint32_t device)
{
	fprintf(out, "spans(%u:%u/(.))", CLEW_DEVICE_MAJOR(device), CLEW_DEVICE_MINOR(device));
}

/* Counts the CPUs that the tasks that were asked for ran on, but for a small part of their time;
 * `all`: those that anything ran on. 0: no memory. */
static unsigned cpus_of(const struct report *report, bool all)
{
	uint64_t *ran = calloc(UINT16_MAX + 1, sizeof(*ran)), sum = 0;
	unsigned found = 0;
	size_t count;
	const struct clew_run *runs = clew_trace_runs(report->trace, &count);

	for (size_t i = 0; ran && i < count; i++) {
		if (!all && !clew_is_chosen(&report->chosen, report->trace, runs[i].task))
			continue;
		ran[runs[i].cpu] += runs[i].end - runs[i].start;
		sum += runs[i].end - runs[i].start;
	}
	for (unsigned cpu = 0; ran && cpu <= UINT16_MAX; cpu++)
		found += ran[cpu] && (all || ran[cpu] * 100 >= sum * LEAST_PART);
	free(ran);
	return found;
}

static void print_cpus(FILE *out, const struct trial *trial, const struct report_help *help)
{
	const struct clew_trace *trace = trial->report->trace;
	const struct clew_trace_task *root =
		clew_trace_task(trace, trial->operations->operation.task);

	fprintf(out, "set cpus to %u", help->cpus);
	if (help->alone && trial->report->helps.command && root) {
		fputs(" for spans((^", out);
		print_pattern(out, root->comm);
		fprintf(out, "-%u$), (^", root->tid);
		print_pattern(out, root->comm);
		fprintf(out, "-%u$) => *)", root->tid);
	} else if (help->alone) {
		fputs(" for ", out);
		print_threads(out, trace, help->change.task);
	}
	fputc(';', out);
}

static void print_program(FILE *out, const struct trial *trial, const struct report_help *help)
{
	const struct clew_trace *trace = trial->report->trace;
	const struct clew_change *change = &help->change;

	switch ((enum clew_change_kind)change->kind) {
	case CLEW_CHANGE_CPU:
		print_cpus(out, trial, help);
		return;
	case CLEW_CHANGE_DEVICE:
		fputs("scale ", out);
		print_device(out, change->device);
		fputs(" by .5; scale waits ", out);
		print_device(out, change->device);
		fputs(" by .5;", out);
		return;
	case CLEW_CHANGE_LOCK:
		fputs("remove dependencies(unlock) from ", out);
		print_threads(out, trace, change->task);
		fputs(" to ", out);
		print_threads(out, trace, change->waiter);
		fputc(';', out);
		return;
	case CLEW_CHANGE_SLEEP:
		fputs("scale waits(sleep) ", out);
		break;
	case CLEW_CHANGE_RUN:
		fputs("scale ", out);
		break;
	case CLEW_CHANGE_ANSWER:
		fputs("scale waits(socket) ", out);
		break;
	case CLEW_CHANGE_QUOTA:
		fputs("drop waits(throttle) ", out);
		print_threads(out, trace, change->task);
		fputc(';', out);
		return;
	}
	print_threads(out, trace, change->task);
	fputs(" by .5;", out);
}

/* The program that `print` prints; NULL: no memory. */
static char *program_of(const struct trial *trial, const struct report_help *help)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	print_program(out, trial, help);
	fclose(out);
	return text;
}

/* ---- choosing ---- */

static bool gains(uint64_t before, uint64_t after)
{
	return after < before && (before - after) * 100 >= before * LEAST_GAIN;
}

/* A simulation of CPUs is off: what it says without a change shows by how much. True if it says
 * anything. */
static int bound_by_simulation(const struct trial *trial, uint64_t before, struct report_help *help)
{
	struct report_help unchanged = *help;
	uint64_t same, after = help->most;
	char *program;
	int r;

	unchanged.cpus--;
	program = program_of(trial, &unchanged);
	r = program ? try(trial, program, &same) : -ENOMEM;
	free(program);
	if (r < 0)
		return r;
	if (!same || (same > before ? same - before : before - same) * 100 > before * MOST_OFF)
		return 0;
	help->most = (uint64_t)((__int128)before * after / same);
	help->least = after < help->most ? after : help->most;
	help->most = after > help->most ? after : help->most;
	if (!gains(before, help->most) && !gains(before, help->least) && !gains(before, same) &&
	    !gains(same, before)) {
		help->no_change = true;
		help->least = help->most = before;
	}
	return 1;
}

/* Chooses one CPU more than the tasks that were asked for may use. */
static void choose_cpus(const struct trial *trial, struct report_help *help)
{
	const struct report *report = trial->report;
	unsigned own = clew_is_chosen(&report->chosen, report->trace, help->change.task)
			       ? cpus_of(report, false)
			       : 0;

	help->alone = own && own < trial->cpus;
	help->cpus = (help->alone ? own : trial->cpus) + 1;
}

/* 1: it helps; 0: it does not, or nothing can be said; or -errno. */
static int try_change(const struct trial *trial, uint64_t before, struct report_help *help)
{
	bool simulated = help->change.kind == CLEW_CHANGE_CPU;
	int r;

	if (simulated)
		choose_cpus(trial, help);
	help->program = program_of(trial, help);
	if (!help->program)
		return -ENOMEM;
	r = try(trial, help->program, &help->most);
	help->least = help->most;
	if (r == 0)
		r = simulated ? bound_by_simulation(trial, before, help) : 1;
	if (r == -ENOMEM || r == 0)
		return r;
	return r == 1 && (help->no_change || gains(before, help->most));
}

/* Keeps one that helps, in order of what it would leave. */
static void keep(struct report_helps *helps, struct report_help *help)
{
	size_t place = helps->count;

	while (place && helps->list[place - 1].most > help->most)
		place--;
	if (place == REPORT_MOST_HELPS) {
		free(help->program);
		return;
	}
	if (helps->count == REPORT_MOST_HELPS)
		free(helps->list[--helps->count].program);
	memmove(&helps->list[place + 1], &helps->list[place],
		(helps->count - place) * sizeof(*help));
	helps->list[place] = *help;
	helps->count++;
}

static int try_changes(const struct trial *trial, const struct vector *changes, uint64_t examined,
		       struct report_helps *helps)
{
	const struct clew_change *all = changes->data;
	bool cpus = false;
	int r = 0;

	for (size_t i = 0, tried = 0; i < changes->count && tried < MOST_TRIED && r >= 0; i++) {
		struct report_help help = {.change = all[i]};

		if (all[i].ns * 100 < examined * LEAST_PART)
			break;
		/* A second program that is ready is helped by the same CPU. */
		if (all[i].kind == CLEW_CHANGE_CPU && cpus)
			continue;
		cpus |= all[i].kind == CLEW_CHANGE_CPU;
		tried++;
		r = try_change(trial, helps->before, &help);
		if (r > 0)
			keep(helps, &help);
		else
			free(help.program);
	}
	return r < 0 ? r : 0;
}

static int look(struct trial *trial, struct report_helps *helps)
{
	size_t explained = trial->count < MOST_EXPLAINED ? trial->count : MOST_EXPLAINED;
	struct vector changes;
	uint64_t examined = 0;
	int r = clew_changes_find(trial->report->trace, trial->report->relations, trial->operations,
				  explained, &changes);

	for (size_t i = 0; i < trial->count; i++) {
		const struct clew_operation *it = &trial->operations[i].operation;

		trial->lengths[i] = it->to - it->from;
		examined += i < explained ? trial->lengths[i] : 0;
	}
	helps->before = measure(trial->lengths, trial->count);
	if (r == 0 && changes.count)
		r = clew_model_with_frames(trial->report->trace, 0, &trial->model);
	if (r == 0 && trial->model) {
		trial->times = calloc((size_t)trial->model->es_count + 1, sizeof(*trial->times));
		r = trial->times ? try_changes(trial, &changes, examined, helps) : -ENOMEM;
	}
	vector_done(&changes);
	return r;
}

/* True if nothing is missing that a simulation would need, and it is small enough. */
static bool can_be_tried(const struct report *report)
{
	struct clew_ledger_sum sum;
	size_t runs;

	clew_ledger_add_up(clew_trace_info(report->trace), &sum);
	clew_trace_runs(report->trace, &runs);
	return runs <= MOST_RUNS && sum.balanced && !sum.total.lost && !sum.missing &&
	       !clew_trace_gaps(report->trace, report->from, report->to, NULL);
}

static int find(struct trial *trial, struct report_helps *helps)
{
	int r;

	trial->cpus = cpus_of(trial->report, true);
	trial->lengths = calloc(trial->count + 1, sizeof(*trial->lengths));
	r = trial->lengths ? look(trial, helps) : -ENOMEM;
	free(trial->lengths);
	free(trial->times);
	clew_model_free(trial->model);
	/* A trace that no causal trace can be made of, such as one that is too large, has none. */
	return r == -ENOMEM ? r : 0;
}

int report_find_helps(struct report *report, const struct clew_recorded *command)
{
	const struct clew_operation_classes *found = &report->classes;
	struct clew_kind_operation whole = {};
	struct trial trial = {.report = report};

	if (command)
		whole.operation = (struct clew_operation){
			.task = command->root,
			.from = command->from > report->from ? command->from : report->from,
			.to = command->to < report->to ? command->to : report->to};
	if (whole.operation.from < whole.operation.to) {
		report->helps.command = true;
		trial.operations = &whole;
		trial.count = 1;
	} else if (found->class_count) {
		trial.operations = &found->operations[found->classes[0].first];
		trial.count = found->classes[0].count;
	}
	report->helps.tried = trial.count && can_be_tried(report);
	return report->helps.tried ? find(&trial, &report->helps) : 0;
}

void report_helps_done(struct report_helps *helps)
{
	for (size_t i = 0; i < helps->count; i++)
		free(helps->list[i].program);
	*helps = (struct report_helps){};
}
