/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew top: what threads wait for now, and why, again each period. A recorder of its own writes
 * segments of one period into a temporary folder; each one is read when it is whole. On a terminal
 * keys choose what is seen of it; elsewhere each period is a line of JSON.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/terminal.h"
#include "cli/operand/selection.h"
#include "cli/top/top_period.h"
#include "cli/top/top_recorder.h"
#include "cli/top/top_screen.h"

#define PERIOD (2 * UINT64_C(1000000000))
#define PAUSE  50 /* ms between two looks for a segment */

struct top_values {
	struct clew_selection selection;
	uint64_t period;
	struct clew_number count;
	const char *outside;
	const char *runtimes;
	bool json, text;
};

const struct clew_option clew_top_options[] = {
	{0, "period", "DURATION", "update that often (2s)", clew_take_seconds,
	 offsetof(struct top_values, period)},
	{'n', "count", "N", "stop after so many periods", clew_take_number,
	 offsetof(struct top_values, count)},
	{'p', "pid", "N", "only threads of this process", clew_take_number,
	 offsetof(struct top_values, selection.pid)},
	{0, "comm", "GLOB", "only threads named like this", clew_take_string,
	 offsetof(struct top_values, selection.comm)},
	CLEW_GROUP_OPTIONS(struct top_values, selection.group, "threads"),
	{0, "outside", "DEVICE",
	 "other hosts are behind this network device, such as a tunnel or a virtual machine's",
	 clew_take_string, offsetof(struct top_values, outside)},
	{0, "runtime", "NAME,..", "the work of these runtimes, too: go, uv, .., or a FILE.runtime",
	 clew_take_string, offsetof(struct top_values, runtimes)},
	{0, "text", NULL, "print each period as text", clew_take_flag,
	 offsetof(struct top_values, text)},
	{0, "json", NULL, "print a JSON object a period, in one line: so without a terminal, too",
	 clew_take_flag, offsetof(struct top_values, json)},
	CLEW_OPTION_END,
};

struct top {
	struct top_values *values;
	struct top_recorder recorder;
	struct ages ages;
	struct clew_jobs_kept kept;
	struct top_period *period; /* that is shown; NULL: none yet */
	uint64_t cpu;		   /* ns that this process had taken when it read that */
	bool screen;
	bool text; /* instead of JSON */
	struct top_view view;
};

static int show(struct top *top)
{
	if (top->screen) {
		if (top_view_update(&top->view, top->period) < 0)
			return clew_fail_memory();
		top_screen_draw(&top->view, top->period);
	} else if (top->text) {
		top_period_print(stdout, top->period, clew_terminal_width());
		putchar('\n');
	} else {
		top_period_json(stdout, top->period);
	}
	/* Nobody reads it any more; main() says so where that is an error. */
	if (!top->screen && (fflush(stdout) || ferror(stdout)))
		top->view.quit = true;
	return 0;
}

/* Reads a segment; a frozen screen goes on with what it has. */
static int take_segment(struct top *top, const char *path)
{
	struct top_period *period;
	int status =
		top_period_read(path, &top->values->selection, &top->ages, &top->kept, &period);
	uint64_t cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID);

	if (!status)
		period->own_ns = cpu - top->cpu;
	top->cpu = cpu;
	if (status || top->view.frozen) {
		top_period_free(period);
		return status;
	}
	top_period_free(top->period);
	top->period = period;
	return show(top);
}

static void save(struct top *top)
{
	struct top_view *view = &top->view;

	view->snapshot = false;
	snprintf(view->message, sizeof(view->message), "saving what was recorded of late ..");
	top_screen_draw(view, top->period);
	top_recorder_save(&top->recorder, view->message, sizeof(view->message));
}

/* Waits for a while, or for a key. Returns 0 or an exit status. */
static int pause_or_key(struct top *top)
{
	int key;

	if (!top->screen) {
		nanosleep(&(struct timespec){.tv_nsec = PAUSE * 1000000L}, NULL);
		return 0;
	}
	key = top_screen_key(PAUSE);
	if (key == TOP_KEY_NONE)
		return 0;
	if (top_view_key(&top->view, top->period, key, top_screen_lines(), top_screen_columns()) <
	    0)
		return clew_fail_memory();
	if (top->view.snapshot)
		save(top);
	top_screen_draw(&top->view, top->period);
	return 0;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static int go_on(struct top *top)
{
	uint32_t taken = 0, most = top->values->count.given ? top->values->count.value : 0;
	int status = 0;

	while (!status && !interrupted && !top->view.quit && !(most && taken == most)) {
		char *path = NULL;

		status = top_recorder_next(&top->recorder, &path);
		if (status)
			break;
		if (path) {
			status = take_segment(top, path);
			taken++;
			free(path);
		}
		if (!status)
			status = pause_or_key(top);
	}
	return status;
}

static int run(struct top *top)
{
	int status = top_recorder_begin(&top->recorder, top->values->period, top->values->outside,
					top->values->runtimes);

	if (status)
		return status;
	if (top->screen)
		status = top_screen_begin(clew_terminal_wants_color());
	if (!status && top->screen)
		status = show(top);
	if (!status)
		status = go_on(top);
	return status;
}

int clew_command_top(const struct clew_command *command, int argc, char **argv)
{
	struct top_values values = {.period = PERIOD};
	struct top top = {.values = &values};
	struct sigaction action = {.sa_handler = interrupt};
	char **operands;
	bool terminal;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.period < UINT64_C(200000000))
		return clew_fail(CLEW_EXIT_INPUT, "--period: shorter than 200ms: give more time");
	if (values.json && values.text)
		return clew_fail(CLEW_EXIT_INPUT, "--json and --text: give one of them");
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	sigaction(SIGQUIT, &action, NULL);
	terminal = !values.json && !values.text && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* A screen of one period would be gone before anybody read it. */
	top.text = values.text || (terminal && values.count.given && values.count.value == 1);
	top.screen = terminal && !top.text;
	status = run(&top);
	top_screen_end();
	/* The last of so many periods stays on the terminal. */
	if (!status && top.screen && values.count.given && top.period)
		top_period_print(stdout, top.period, clew_terminal_width());
	top_recorder_end(&top.recorder);
	top_view_done(&top.view);
	top_period_free(top.period);
	ages_done(&top.ages);
	clew_jobs_kept_done(&top.kept);
	return status;
}
