/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report as text. See report.h. */
#include <stdlib.h>
#include <string.h>

#include "answers/report/report.h"
#include "answers/sums.h"
#include "explain/wait_groups.h"
#include "format/style.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/describe.h"
#include "words/file.h"
#include "words/functions.h"
#include "words/object.h"
#include "words/task.h"
#include "words/wait.h"

#define MOST_PROGRAMS 8
#define MOST_CAUSERS  3
#define MOST_OBJECTS  3
#define BAR_WIDTH     16

static const struct {
	const char *name;
	char bar;
	enum clew_style style;
	const char *headline; /* behind the program's name, before its share */
} spent_words[CLEW_SPENT_COUNT] = {
	[CLEW_SPENT_RUNNING] = {"run", '#', CLEW_STYLE_RUNNING, "was computing"},
	[CLEW_SPENT_READY] = {"ready", 'r', CLEW_STYLE_READY, "was ready to run but had no CPU"},
	[CLEW_SPENT_LOCK] = {"lock", 'L', CLEW_STYLE_LOCK, "waited for locks"},
	[CLEW_SPENT_DISK] = {"disk", 'D', CLEW_STYLE_DISK, "waited for files and disks"},
	[CLEW_SPENT_NETWORK] = {"net", 'N', CLEW_STYLE_NETWORK, "waited at sockets"},
	[CLEW_SPENT_MEMORY] = {"mem", 'M', CLEW_STYLE_MEMORY, "waited for memory"},
	[CLEW_SPENT_PEER] = {"peer", 'P', CLEW_STYLE_PLAIN,
			     "kept clients waiting while it waited for other threads"},
	[CLEW_SPENT_OTHER] = {"other", '.', CLEW_STYLE_PLAIN, "waited for something else"},
};

const char *report_spent_name(enum clew_spent spent)
{
	return spent_words[spent].name;
}

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

void report_print_awaited(FILE *out, const struct report *report, uint32_t wait)
{
	const struct clew_sleep *sleep = &report->waits[wait];
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

/* The longest wait of those that the headline is about; at peers, who ended it. */
static void print_longest(FILE *out, const struct report *report)
{
	const struct clew_sleep *sleep = &report->waits[report->wait];

	if (report->spent != CLEW_SPENT_PEER) {
		fputs(", most of it for ", out);
		report_print_awaited(out, report, report->wait);
		if (report->spent != CLEW_SPENT_NETWORK || sleep->ended_by == CLEW_NO_TASK)
			return;
		fputs(", until ", out);
		clew_print_task(out, report->trace, sleep->ended_by, sleep->end);
		fputs(" answered", out);
	} else if (sleep->ended_by != CLEW_NO_TASK) {
		fprintf(out, ", at most %s at once, for ",
			CLEW_DURATION(sleep->end - sleep->start));
		clew_print_task(out, report->trace, sleep->ended_by, sleep->end);
	}
}

void report_print_headline(FILE *out, const struct report *report)
{
	const struct clew_program *program;

	if (report->program == UINT32_MAX) {
		fputs("Nothing but clew and idle threads ran.", out);
		return;
	}
	program = &report->summary.programs[report->program];
	clew_print_safe(out, program->name);
	fprintf(out, " %s for %u %% of its time (%s of %s)", spent_words[report->spent].headline,
		clew_percent(program->spent[report->spent], program->total),
		CLEW_DURATION(program->spent[report->spent]), CLEW_DURATION(program->total));
	if (report->cause == report->program) {
		fprintf(out, ", mostly because its own threads ran (%s)",
			CLEW_DURATION(report->cause_ns));
	} else if (report->cause != UINT32_MAX) {
		fputs(", mostly because ", out);
		clew_print_safe(out, report->summary.programs[report->cause].name);
		fprintf(out, " ran (%s)", CLEW_DURATION(report->cause_ns));
	} else if (report->wait != UINT32_MAX) {
		print_longest(out, report);
	} else if (report->spent == CLEW_SPENT_RUNNING) {
		fputs("; nothing made it wait for long", out);
	}
	fputc('.', out);
}

static void print_headline(FILE *out, const struct report *report, size_t width)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return;
	report_print_headline(stream, report);
	fclose(stream);
	fputs(clew_style_begin(CLEW_STYLE_HEADING), out);
	clew_print_wrapped(out, text, 0, 0, width);
	fputs(clew_style_end(CLEW_STYLE_HEADING), out);
	free(text);
}

/* The heading of a part. */
static void print_heading(FILE *out, const char *title)
{
	fprintf(out, "\n%s%s%s\n", clew_style_begin(CLEW_STYLE_HEADING), title,
		clew_style_end(CLEW_STYLE_HEADING));
}

/* A bar of letters, rounded so that it is full. */
static void print_bar(FILE *out, const struct clew_program *program)
{
	uint64_t sum = 0;
	unsigned drawn = 0;

	fputs("  ", out);
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		unsigned until;

		sum += program->spent[spent];
		until = (unsigned)((sum * BAR_WIDTH + program->total / 2) / program->total);
		fputs(clew_style_begin(spent_words[spent].style), out);
		for (; drawn < until; drawn++)
			fputc(spent_words[spent].bar, out);
		fputs(clew_style_end(spent_words[spent].style), out);
	}
}

static void print_share(FILE *out, const struct clew_program *program, enum clew_spent spent)
{
	fprintf(out, " %s%4u%%%s", clew_style_begin(spent_words[spent].style),
		clew_percent(program->spent[spent], program->total),
		clew_style_end(spent_words[spent].style));
}

static void print_program(FILE *out, const struct clew_program *program, bool bars)
{
	char *name = NULL;
	size_t size;
	FILE *stream = open_memstream(&name, &size);

	if (!stream)
		return;
	clew_print_safe(stream, program->name);
	if (program->tasks > 1)
		fprintf(stream, " (%zu)", program->tasks);
	fclose(stream);
	fputs("  ", out);
	clew_print_column(out, name, 20);
	fprintf(out, " %8s", CLEW_DURATION(program->total));
	free(name);
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++) {
		if (program->spent[spent])
			print_share(out, program, (enum clew_spent)spent);
		else
			fputs("     -", out);
	}
	if (bars)
		print_bar(out, program);
	fputc('\n', out);
}

static void print_programs(FILE *out, const struct report *report, bool bars)
{
	const struct clew_summary *summary = &report->summary;
	size_t shown = 0, busy = 0;

	print_heading(out, "Where each program's time went, all its threads added up");
	fprintf(out, "  %-20s %8s", "program (threads)", "time");
	for (int spent = 0; spent < CLEW_SPENT_COUNT; spent++)
		fprintf(out, " %5s", spent_words[spent].name);
	fputc('\n', out);
	for (size_t i = 0; i < summary->count; i++) {
		if (!summary->programs[i].total)
			continue;
		busy++;
		if (shown == MOST_PROGRAMS)
			continue;
		shown++;
		print_program(out, &summary->programs[i], bars);
	}
	if (busy > shown)
		fprintf(out, "  and %zu more programs\n", busy - shown);
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

static void print_operations(FILE *out, const struct report *report, size_t width)
{
	if (!report->operation_count)
		return;
	fprintf(out, "\n%sSlowest of %zu operations (from one wait for work to the next)%s\n",
		clew_style_begin(CLEW_STYLE_HEADING), report->operation_total,
		clew_style_end(CLEW_STYLE_HEADING));
	for (size_t i = 0; i < report->operation_count; i++) {
		const struct report_operation *operation = &report->operations[i];
		const struct clew_operation *what = &operation->operation;
		uint64_t start = clew_trace_start(report->trace);

		fprintf(out, "  %8s  ", CLEW_DURATION(what->to - what->from));
		clew_print_task(out, report->trace, what->task, what->to);
		fprintf(out, ", at +%s\n", CLEW_OFFSET(what->from - start, report->to - start));
		for (size_t k = 0; k < operation->cause_count; k++) {
			fprintf(out, "          %4u %%  ",
				clew_percent(operation->causes[k].ns, what->to - what->from));
			clew_print_wrapped(out, operation->causes[k].text, 18, 18, width);
		}
	}
}

static void print_objects(FILE *out, const struct report *report, const char *title,
			  const struct clew_sum *sums, size_t count, size_t width)
{
	if (!count)
		return;
	print_heading(out, title);
	for (size_t i = 0; i < count && i < MOST_OBJECTS; i++) {
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);

		if (!stream)
			return;
		fprintf(out, "  %8s  ", CLEW_DURATION(sums[i].total));
		fprintf(stream, "in %zu wait%s, at most %s: ", sums[i].count,
			sums[i].count > 1 ? "s" : "", CLEW_DURATION(sums[i].max));
		report_print_awaited(stream, report, sums[i].longest);
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

void report_print(FILE *out, const struct report *report, size_t width, bool bars)
{
	print_title(out, report);
	print_headline(out, report, width);
	print_programs(out, report, bars);
	print_heading(out, "Who had what others waited for");
	print_causers(out, report, "the CPU", offsetof(struct clew_program, had_cpu));
	print_causers(out, report, "locks", offsetof(struct clew_program, had_lock));
	print_disks(out, report);
	print_operations(out, report, width);
	print_functions(out, report);
	report_print_samples(out, report, width);
	print_objects(out, report, "Files waited for", report->files, report->file_count, width);
	print_objects(out, report, "Locks waited for", report->locks, report->lock_count, width);
}
