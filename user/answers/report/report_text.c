/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report as text. */
#include <stdlib.h>
#include <string.h>

#include "answers/classes.h"
#include "answers/report/report.h"
#include "answers/report/report_places.h"
#include "answers/sums.h"
#include "explain/wait_groups.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/describe.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/link.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait.h"

#define MOST_CAUSERS 3
#define MOST_OBJECTS 3
#define MOST_CLASSES 4

/* The words about a wait of which no object is known. */
static void print_without_object(FILE *out, const struct clew_sleep *sleep)
{
	const char *call = clew_call_name(sleep->call);

	if (sleep->kind == CLEW_WAIT_FAULT)
		fputs("page faults", out);
	else if (call)
		fprintf(out, "%s, object unknown", call);
	else
		fputs(clew_wait_kind_name(sleep->kind), out);
}

void report_print_awaited(FILE *out, const struct report *report, const struct clew_sleep *sleep)
{
	const struct clew_holder *holder = clew_wait_main_holder(sleep);
	const char *call = clew_call_name(sleep->call);

	if (!clew_waits_for_object(sleep) ||
	    !clew_print_object(out, report->trace, &sleep->object, sleep))
		print_without_object(out, sleep);
	else if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		fprintf(out, " (%s)", call);
	if (holder) {
		fputs(", held by ", out);
		clew_print_task(out, report->trace, holder->task, holder->from);
	}
}

/* The words for the act that ended the longest wait. */
static const char *const ended_words[CLEW_SPENT_COUNT] = {
	[CLEW_SPENT_NETWORK] = "answered",
	[CLEW_SPENT_THREAD] = "woke it",
	[CLEW_SPENT_PIPE] = "went on",
};

/* The longest wait of those that the headline is about; at peers, who ended it. */
static void print_longest(FILE *out, const struct report *report)
{
	const struct clew_sleep *sleep = report->wait;
	const char *call = clew_call_name(sleep->call);

	if (report->spent == CLEW_SPENT_TIMER) {
		if (call)
			fprintf(out, ", most of it in %s", call);
	} else if (report->spent != CLEW_SPENT_PEER) {
		fputs(", most of it for ", out);
		report_print_awaited(out, report, report->wait);
		if (clew_print_lost(out, sleep))
			return;
		if (!ended_words[report->spent] || sleep->ended_by == CLEW_NO_TASK)
			return;
		fputs(", until ", out);
		clew_print_task(out, report->trace, sleep->ended_by, sleep->end);
		fprintf(out, " %s", ended_words[report->spent]);
	} else if (sleep->ended_by != CLEW_NO_TASK) {
		fprintf(out, ", at most %s at once, for ",
			CLEW_DURATION(sleep->end - sleep->start));
		clew_print_task(out, report->trace, sleep->ended_by, sleep->end);
	}
}

/* The program that the headline is about, and its threads if those that spent time all have one
 * other name. */
static void print_subject(FILE *out, const struct report *report)
{
	const struct clew_program *program = &report->summary.programs[report->program];
	const struct clew_task_time *times = report->summary.times.times.data;
	const char *name = NULL;

	for (size_t i = 0; i < report->summary.times.times.count && report->chosen.some; i++) {
		const struct clew_trace_task *task = clew_trace_task(report->trace, times[i].task);

		if (!task || clew_summary_program(&report->summary, report->trace, task->serial) !=
				     report->program)
			continue;
		if (name && strcmp(name, task->comm)) {
			name = NULL;
			break;
		}
		name = task->comm;
	}
	if (name && strcmp(name, program->name)) {
		clew_print_safe(out, name);
		fputs(" of ", out);
	}
	clew_print_safe(out, program->name);
}

/* The words for most of the time; where no wait was seen in it, the recording does not show it. */
static const char *headline_words(const struct report *report)
{
	return report->spent == CLEW_SPENT_OTHER && !report->wait
		       ? "did what the recording does not show"
		       : report_spent_words(report->spent);
}

/* The headline about the longest operation of the class that hurts most. */
static void print_class_headline(FILE *out, const struct report *report)
{
	const struct clew_operation_class *class = &report->classes.classes[report->headed];
	bool one = class->count == 1;

	if (one)
		fputs("The ", out);
	else
		fprintf(out, "The longest of %zu ", class->count);
	clew_print_class(out, report->trace, &report->classes, report->headed, one);
	fprintf(out, " took %s", CLEW_DURATION(class->longest));
	if (!one)
		fprintf(out, " (p50 %s)", CLEW_DURATION(class->p50));
	fprintf(out, ": it %s for %u %% of that (%s)", headline_words(report),
		clew_percent(report->class_ns, report->class_total),
		CLEW_DURATION(report->class_ns));
	if (report->wait)
		print_longest(out, report);
	fputc('.', out);
}

void report_print_headline(FILE *out, const struct report *report)
{
	const struct clew_program *program;

	if (report->deadlock) {
		report_print_deadlock(out, report);
		return;
	}
	if (report->program == UINT32_MAX) {
		fputs("Nothing but clew and idle threads ran.", out);
		return;
	}
	program = &report->summary.programs[report->program];
	if (report->by_class) {
		print_class_headline(out, report);
		return;
	}
	print_subject(out, report);
	fprintf(out, " %s for %u %% of its time (%s of %s)", headline_words(report),
		clew_percent(program->spent[report->spent], program->total),
		CLEW_DURATION(program->spent[report->spent]), CLEW_DURATION(program->total));
	if (report->cause == report->program) {
		fprintf(out, ", mostly because its own threads ran (%s)",
			CLEW_DURATION(report->cause_ns));
	} else if (report->cause != UINT32_MAX) {
		fputs(", mostly because ", out);
		clew_print_safe(out, report->summary.programs[report->cause].name);
		fprintf(out, " ran (%s)", CLEW_DURATION(report->cause_ns));
	} else if (report->wait) {
		print_longest(out, report);
	} else if (report->spent == CLEW_SPENT_RUNNING) {
		fputs("; nothing made it wait for long", out);
	}
	fputc('.', out);
}

static void put_headline(FILE *out, const void *context)
{
	report_print_headline(out, context);
}

char *report_headline(const struct report *report)
{
	return clew_text_of(put_headline, report);
}

static void print_headline(FILE *out, const struct report *report, size_t width)
{
	char *text = report_headline(report);

	if (!text)
		return;
	fputs(clew_style_begin(CLEW_STYLE_HEADING), out);
	clew_print_wrapped(out, text, 0, 0, width);
	fputs(clew_style_end(CLEW_STYLE_HEADING), out);
	free(text);
}

void report_print_heading(FILE *out, const char *title)
{
	fprintf(out, "\n%s%s%s\n", clew_style_begin(CLEW_STYLE_HEADING), title,
		clew_style_end(CLEW_STYLE_HEADING));
}

static void print_causer(FILE *out, const struct clew_program *program, uint64_t ns, size_t number)
{
	fputs(number ? ", " : "", out);
	clew_print_safe(out, program->name);
	fprintf(out, " %s", CLEW_DURATION(ns));
}

/* The programs that had most of something, which is at `offset` of a struct clew_program. */
static bool print_causers(FILE *out, const struct report *report, const char *what, size_t offset)
{
	const struct clew_summary *summary = &report->summary;
	uint64_t last = UINT64_MAX;
	uint32_t last_index = 0;
	size_t shown;

	for (shown = 0; shown < MOST_CAUSERS; shown++) {
		uint32_t best = UINT32_MAX;
		uint64_t most = 0;

		for (uint32_t i = 0; i < summary->count; i++) {
			uint64_t ns;

			memcpy(&ns, (const char *)&summary->programs[i] + offset, sizeof(ns));
			if (ns > most && (ns < last || (ns == last && i > last_index))) {
				most = ns;
				best = i;
			}
		}
		if (best == UINT32_MAX)
			break;
		if (!shown)
			fprintf(out, "  %-9s ", what);
		print_causer(out, &summary->programs[best], most, shown);
		last = most;
		last_index = best;
	}
	if (shown)
		fputc('\n', out);
	return shown > 0;
}

static void print_disks(FILE *out, const struct report *report)
{
	for (size_t i = 0; i < report->disk_count && i < MOST_CAUSERS; i++) {
		const struct report_disk *disk = &report->disks[i];

		fprintf(out, "  %-9s %zu requests, %s", CLEW_DISK(report->trace, disk->device),
			disk->requests, CLEW_BYTES(disk->bytes));
		if (disk->program != UINT32_MAX) {
			fputs(", most of the time by ", out);
			clew_print_safe(out, report->summary.programs[disk->program].name);
		}
		fputc('\n', out);
	}
}

/* Prints which of its class an operation is, and what is usual there. */
static void print_class_of(FILE *out, const struct report *report, size_t class, size_t width)
{
	const struct clew_operation_class *it = &report->classes.classes[class];
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	if (it->count > 1)
		fprintf(stream, "the longest of %zu ", it->count);
	else
		fputs("the only ", stream);
	clew_print_class(stream, report->trace, &report->classes, class, it->count == 1);
	clew_print_usual(stream, it);
	fclose(stream);
	fprintf(out, "%12s", "");
	clew_print_wrapped(out, text, 12, 12, width);
	free(text);
}

static void print_operations(FILE *out, const struct report *report, size_t width)
{
	uint64_t until = clew_trace_works_until(report->trace);

	if (until < report->to)
		fprintf(out,
			"\nOperations are those until +%s, as more do not fit into memory: --from "
			"chooses a later part.\n",
			CLEW_DURATION(until > report->from ? until - report->from : 0));
	if (!report->operation_count)
		return;
	fprintf(out, "\n%sSlowest of %zu operations, of each class that hurts most%s\n",
		clew_style_begin(CLEW_STYLE_HEADING), report->operation_total,
		clew_style_end(CLEW_STYLE_HEADING));
	for (size_t i = 0; i < report->operation_count; i++) {
		const struct report_operation *operation = &report->operations[i];
		const struct clew_operation *what = &operation->operation;
		uint64_t start = clew_trace_start(report->trace);

		fprintf(out, "  %8s  ", CLEW_DURATION(what->to - what->from));
		clew_print_task(out, report->trace, what->task, what->to);
		fprintf(out, ", at +%s\n", CLEW_OFFSET(what->from - start, report->to - start));
		print_class_of(out, report, operation->class, width);
		for (size_t k = 0; k < operation->cause_count; k++) {
			fprintf(out, "          %4u %%  ",
				clew_percent(operation->causes[k].ns, what->to - what->from));
			clew_print_wrapped(out, operation->causes[k].text, 18, 18, width);
		}
	}
}

static void print_objects(FILE *out, const struct report *report, const char *title,
			  const struct report_waits *waits, size_t width)
{
	const struct clew_sum *sums = waits->sums;

	if (!waits->count)
		return;
	report_print_heading(out, title);
	for (size_t i = 0; i < waits->count && i < MOST_OBJECTS; i++) {
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);

		if (!stream)
			return;
		fprintf(out, "  %8s  ", CLEW_DURATION(sums[i].total));
		fprintf(stream, "in %zu wait%s, at most %s: ", sums[i].count,
			sums[i].count > 1 ? "s" : "", CLEW_DURATION(sums[i].max));
		report_print_awaited(stream, report, report_longest(waits, i));
		clew_print_sum_vain(stream, &sums[i]);
		fclose(stream);
		clew_print_wrapped(out, text, 12, 12, width);
		free(text);
	}
}

/* The functions in which chosen tasks ran longest. */
static void print_functions(FILE *out, const struct report *report)
{
	const struct clew_function_sums *sums = &report->functions;
	uint64_t running = 0;
	unsigned shown = 0;

	for (uint32_t i = 0; i < sums->count; i++)
		running += sums->times[i].ns;
	for (uint32_t i = 0; i < sums->count && shown < MOST_OBJECTS; i++) {
		const struct clew_function_time *time = &sums->times[i];

		if (time->function == CLEW_NO_NUMBER || !time->ns)
			continue;
		if (!shown++)
			fputs("\nTraced functions that ran\n", out);
		fprintf(out, "  %8s  %3u %% of all running, entered %llu time%s: ",
			CLEW_DURATION(time->ns), clew_percent(time->ns, running),
			(unsigned long long)time->calls, time->calls == 1 ? "" : "s");
		clew_print_function(out, report->trace, time->function);
		fputc('\n', out);
	}
}

static void print_title(FILE *out, const struct report *report)
{
	char from[40], to[40];
	const char *host = clew_trace_meta(report->trace, "host");

	fprintf(out, "%s", CLEW_DURATION(report->to - report->from));
	if (host) {
		fputs(" on ", out);
		clew_print_safe(out, host);
	}
	if (report->base.has_wall) {
		clew_format_wall(report->from, &report->base, from, sizeof(from));
		clew_format_wall(report->to, &report->base, to, sizeof(to));
		fprintf(out, ", %s to %s", from, to + strlen("2026-11-25 "));
	}
	fputs("\n\n", out);
}

/* The classes of a program that was asked for, what hurts most first. */
static void print_classes(FILE *out, const struct report *report)
{
	const struct clew_operation_classes *found = &report->classes;

	if (!found->class_count || !report->chosen.some)
		return;
	report_print_heading(out, "Its operations, what hurts most first");
	for (size_t i = 0; i < found->class_count && i < MOST_CLASSES; i++) {
		const struct clew_operation_class *class = &found->classes[i];

		fprintf(out, "  %8s  %s of %zu ", CLEW_DURATION(class->longest),
			class->count == 1 ? "the only one" : "the longest", class->count);
		clew_print_class(out, report->trace, found, i, class->count == 1);
		if (class->count > 1)
			fprintf(out, ", p50 %s, %s in all", CLEW_DURATION(class->p50),
				CLEW_DURATION(class->sum));
		fputc('\n', out);
	}
}

void report_print(FILE *out, const struct report *report, size_t width, bool bars)
{
	print_title(out, report);
	print_headline(out, report, width);
	report_print_programs(out, report, width, bars);
	report_print_places(out, report, width, bars);
	report_print_heading(out, "Who had what others waited for");
	print_causers(out, report, "the CPU", offsetof(struct clew_program, had_cpu));
	print_causers(out, report, "locks", offsetof(struct clew_program, had_lock));
	print_disks(out, report);
	print_classes(out, report);
	print_operations(out, report, width);
	print_functions(out, report);
	report_print_samples(out, report, width);
	print_objects(out, report, "Files waited for", &report->files, width);
	print_objects(out, report, "Locks waited for", &report->locks, width);
	if (report->helps.count)
		report_print_heading(out, "What would help");
	report_print_helps(out, report, width);
}
