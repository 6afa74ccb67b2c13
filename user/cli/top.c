/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew top: what threads wait for now, and why, again each period. A recorder of its own writes
 * segments of one period into a temporary folder; it shows each one and removes it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selection.h"
#include "cli/terminal.h"
#include "cli/top_recorder.h"
#include "words/now.h"
#include "words/report.h"
#include "words/style.h"
#include "words/text.h"

#define PERIOD	   (2 * UINT64_C(1000000000))
#define MOST_WAITS 8
#define BARS_WIDTH 98 /* columns that a terminal must have for bars */

struct top_values {
	struct clew_selection selection;
	uint64_t period;
	struct clew_number count;
	bool json;
};

const struct clew_option clew_top_options[] = {
	{0, "period", "DURATION", "update that often (2s)", clew_take_duration,
	 offsetof(struct top_values, period)},
	{'n', "count", "N", "stop after so many periods", clew_take_number,
	 offsetof(struct top_values, count)},
	{0, "pid", "N", "only threads of this process", clew_take_number,
	 offsetof(struct top_values, selection.pid)},
	{0, "comm", "GLOB", "only threads named like this", clew_take_string,
	 offsetof(struct top_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct top_values, selection.group, "threads"),
	{0, "json", NULL, "print a JSON object a period, in one line", clew_take_flag,
	 offsetof(struct top_values, json)},
	CLEW_OPTION_END,
};

/* A period, and its answers. */
struct period {
	const struct clew_trace *trace;
	struct report report;
	struct clew_now *waits;
	size_t wait_count;
};

/* clew top itself is no part of the answer. */
static bool wants(void *context, const struct clew_trace_task *task)
{
	return task->pid != (uint32_t)getpid() && clew_selection_wants(context, task);
}

static int make_period(struct period *period, const struct clew_trace *trace,
		       const struct clew_relations *relations, struct clew_selection *selection)
{
	const struct clew_chosen chosen = {wants, selection};
	int r;

	*period = (struct period){.trace = trace};
	r = report_make(trace, relations, &chosen, clew_trace_start(trace), clew_trace_end(trace),
			&period->report);
	if (r >= 0)
		r = clew_now_find(trace, relations, &chosen, MOST_WAITS, &period->waits,
				  &period->wait_count);
	return r;
}

static void period_done(struct period *period)
{
	report_done(&period->report);
	clew_now_free(period->waits, period->wait_count);
}

/* ---- as text ---- */

static void print_period(FILE *out, const struct period *period, size_t width)
{
	fprintf(out, "%sUnder way now%s\n", clew_style_begin(CLEW_STYLE_HEADING),
		clew_style_end(CLEW_STYLE_HEADING));
	if (!period->wait_count)
		fputs("  nobody waits for a lock, a file, a disk, memory or an answer\n", out);
	clew_now_print(out, period->trace, period->waits, period->wait_count, width);
	fputs("\n", out);
	report_print(out, &period->report, width, width >= BARS_WIDTH);
}

static void show_screen(const struct period *period, bool frozen)
{
	size_t width = clew_terminal_width(), size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fprintf(out, "%sclew top: q quit, space %s%s\n", clew_style_begin(CLEW_STYLE_QUIET),
		frozen ? "go on" : "stay", clew_style_end(CLEW_STYLE_QUIET));
	print_period(out, period, width);
	if (!fclose(out))
		clew_screen_draw(text);
	free(text);
}

/* ---- as JSON ---- */

static void print_json(const struct period *period)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct clew_json json = {.out = out};

	if (!out)
		return;
	clew_json_object(&json, NULL);
	clew_now_json(&json, period->trace, period->waits, period->wait_count);
	report_json(&json, &period->report);
	clew_json_object_end(&json);
	if (fclose(out))
		return;
	/* Line feeds of a document lie between its elements only. */
	for (size_t i = 0; i < size; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	puts(text);
	fflush(stdout);
	free(text);
}

/* ---- going on ---- */

struct top {
	struct top_values *values;
	struct top_recorder recorder;
	bool screen;
	bool frozen;
	bool quit;
};

static int show_segment(struct top *top, const char *path)
{
	struct clew_relations *relations = NULL;
	struct clew_trace *trace;
	struct period period = {};
	int status = clew_open_trace(path, 0, &trace), r;

	if (status)
		return status;
	status = clew_selection_resolve(&top->values->selection, trace);
	if (!status)
		status = clew_try_relations(trace, &relations);
	r = status ? 0 : make_period(&period, trace, relations, &top->values->selection);
	if (r < 0) {
		status = clew_fail_memory();
	} else if (!status && top->values->json) {
		print_json(&period);
	} else if (!status && top->screen) {
		show_screen(&period, top->frozen);
	} else if (!status) {
		print_period(stdout, &period, clew_terminal_width());
		putchar('\n');
		fflush(stdout);
	}
	period_done(&period);
	clew_relations_free(relations);
	clew_selection_done(&top->values->selection);
	top->values->selection.groups = NULL;
	clew_trace_free(trace);
	return status;
}

/* Waits for some time, or for a key. */
static void pause_for(struct top *top, uint64_t ns)
{
	int key = 0;

	if (top->screen)
		key = clew_screen_key(ns);
	else
		nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
	if (key == 'q' || key == 'Q')
		top->quit = true;
	if (key == ' ')
		top->frozen = !top->frozen;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static int go_on(struct top *top)
{
	uint32_t shown = 0, most = top->values->count.given ? top->values->count.value : 0;
	int status = 0;

	while (!status && !interrupted && !top->quit && !(most && shown == most)) {
		char *path = NULL;

		status = top_recorder_next(&top->recorder, &path);
		if (status)
			break;
		if (!path) {
			pause_for(top, 50 * UINT64_C(1000000));
			continue;
		}
		if (!top->frozen)
			status = show_segment(top, path);
		shown++;
		unlink(path);
		free(path);
	}
	return status;
}

int clew_command_top(const struct clew_command *command, int argc, char **argv)
{
	struct top_values values = {.period = PERIOD};
	struct top top = {.values = &values};
	struct sigaction action = {.sa_handler = interrupt};
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.period < UINT64_C(200000000))
		return clew_fail(CLEW_EXIT_INPUT, "--period: shorter than 200ms: give more time");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	status = top_recorder_begin(&top.recorder, values.period);
	if (status)
		return status;
	top.screen = !values.json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (top.screen) {
		clew_style_turn(clew_terminal_wants_color());
		clew_screen_begin();
	}
	status = go_on(&top);
	clew_screen_end();
	top_recorder_end(&top.recorder);
	return status;
}
