/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a function take longer in blocks of time, and says what that does to an operation. A
 * command that is started goes on without delays after the last block, and its end is waited for.
 */
#include "cli/one/what_if_try.h"

#include <clew/model.h>
#include <clew/what_if.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/delay/tried.h"
#include "base/duration.h"
#include "cli/front/fail.h"
#include "cli/operand/open.h"
#include "delay/delay.h"
#include "query/regex.h"
#include "record/command.h"

#define BLOCK	     500000000ull /* ns */
#define BLOCKS	     40
#define LEAST_BLOCKS (2 * SLOPE_LEAST)
#define OF_SERVICE   10 /* percent of a CPU that may be taken from what runs already .. */
#define OF_COMMAND   50 /* .. and from a command that is started for it */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* A command that was started. */
struct started {
	struct clew_child child;
	bool ended;
	int status; /* as wait(2) has it */
};

static bool has_ended(void *context)
{
	struct started *started = context;

	if (started->child.pid && !started->ended)
		started->ended = waitpid(started->child.pid, &started->status, WNOHANG) ==
				 started->child.pid;
	return interrupted || started->ended;
}

/* "1ms,500us" */
static int read_lengths(const char *text, uint64_t *lengths, size_t *ret_count)
{
	char copy[256], *save = NULL;

	*ret_count = 0;
	if (strlen(text) >= sizeof(copy))
		return clew_fail(CLEW_EXIT_INPUT, "--delay: more than can be tried: give %d",
				 DELAY_LENGTHS);
	strcpy(copy, text);
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		unsigned __int128 sum = 0;
		uint64_t length;
		size_t at = 0;

		if (duration_part(word, strlen(word), 0, &at, &sum) < 0 || word[at] || !sum)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--delay: '%s' is no duration: write 1ms or 200us", word);
		length = sum > UINT64_MAX ? UINT64_MAX : (uint64_t)sum;
		if (length > CLEW_DELAY_MOST)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--delay: %s is more than a call may be delayed: give 2ms "
					 "at most",
					 word);
		if (*ret_count == DELAY_LENGTHS)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--delay: more than can be tried: give %d at most",
					 DELAY_LENGTHS);
		lengths[(*ret_count)++] = length;
	}
	return *ret_count ? 0 : clew_fail(CLEW_EXIT_INPUT, "--delay: nothing: give 1ms");
}

static int check(const struct clew_try_values *values, char **words)
{
	if (!values->span)
		return clew_fail(CLEW_EXIT_INPUT, "--try: no operation to time: give --span "
						  "OBJECT:FUNCTION, a function that calls it");
	if (values->pid.given && words)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--try: a process and a command: give one of them");
	if (!values->pid.given && !words && !values->everybody)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--try would slow down each process with that function: give -p, "
				 "a command, or --yes-slow-it-down");
	if (values->blocks.given &&
	    (values->blocks.value < LEAST_BLOCKS || values->blocks.value > CLEW_DELAY_BLOCKS))
		return clew_fail(CLEW_EXIT_INPUT, "--blocks: %u cannot be: give %d to %d",
				 values->blocks.value, LEAST_BLOCKS, CLEW_DELAY_BLOCKS);
	return 0;
}

/* ---- a prediction ---- */

/* The function in OBJECT:FUNCTION. */
static const char *function_in(const char *text)
{
	const char *colon = strrchr(text, ':');

	while (colon && colon > text && colon[-1] == ':') /* of C++ */
		colon = memrchr(text, ':', (size_t)(colon - 1 - text));
	return colon ? colon + 1 : text;
}

/* A program by which each call of a function takes longer. NULL: no memory. */
static char *write_program(const char *function, uint64_t ns)
{
	char *exact = malloc(2 * strlen(function) + 2), *text;
	int size = exact ? (int)regex_write_exact(exact, function) : 0;

	if (!exact)
		return NULL;
	if (asprintf(&text, "change spans(**/(%.*s)) by duration(%" PRIu64 "ns);", size, exact,
		     ns) < 0)
		text = NULL;
	free(exact);
	return text;
}

/* ns by which the spans of that name are longer. */
static double growth_of(const struct clew_model *before, const struct clew_model *after,
			const char *name, uint64_t *ret_count)
{
	double growth = 0;

	*ret_count = 0;
	for (uint32_t i = 0; i < before->span_count; i++) {
		const struct clew_span *span = &before->spans[i], *now = &after->spans[i];

		if (strcmp(clew_model_string(before, span->name), name) != 0)
			continue;
		growth += (double)(now->end - now->start) - (double)(span->end - span->start);
		++*ret_count;
	}
	return growth;
}

/* Runs the model again with longer calls. 0 or, after clew_fail(), an exit status. */
static int run_again(const struct clew_model *model, const char *trace, const char *text,
		     uint64_t *ret_calls, struct clew_model **ret_after)
{
	struct clew_what_if_options options = {.hierarchy = CLEW_NONE, .matches = ret_calls};
	struct clew_query_error error = {};
	struct clew_program *program = NULL;
	struct clew_what_if result;
	int r = clew_program_compile(text, strlen(text), false, &program, &error);

	if (r == 0)
		r = clew_what_if(model, program, &options, ret_after, &result, &error);
	clew_program_free(program);
	if (r == -ENOMEM)
		return clew_fail_memory();
	return r < 0 ? clew_fail(CLEW_EXIT_INPUT, "%s: %s: see clew check", trace, error.message)
		     : 0;
}

/* The slope that a capture of both functions predicts. */
static int predict(const struct clew_try_values *values, const char *trace, uint64_t ns,
		   double *ret_slope)
{
	char *text = write_program(function_in(values->function), ns);
	struct clew_model *model = NULL, *after = NULL;
	uint64_t calls = 0, operations = 0;
	double growth = 0;
	int status = text ? clew_open_model(trace, &model, NULL) : clew_fail_memory();

	if (!status)
		status = run_again(model, trace, text, &calls, &after);
	if (!status)
		growth = growth_of(model, after, function_in(values->span), &operations);
	if (!status && (!calls || !operations))
		status = clew_fail(
			CLEW_EXIT_INPUT, "%s has no calls of %s: record with -f %s -f %s", trace,
			calls ? values->span : values->function, values->function, values->span);
	if (!status)
		*ret_slope = growth / ((double)calls * (double)ns);
	clew_model_free(after);
	clew_model_free(model);
	free(text);
	return status;
}

/* ---- trying ---- */

static int say(const struct clew_try_values *values, const struct clew_delay *delay,
	       const double *prediction, bool json)
{
	struct clew_tried_delay tried = {.function = values->function,
					 .span = values->span,
					 .busy = clew_delay_busy(delay),
					 .predicted = prediction != NULL,
					 .prediction = prediction ? *prediction : 0};
	struct clew_json document = {.out = stdout};

	tried.blocks = clew_delay_blocks(delay, &tried.count);
	if (slope_of(tried.blocks, tried.count, &tried.slope) < 0)
		return clew_fail_memory();
	if (json)
		clew_json_tried_delay(&document, &tried);
	else
		clew_print_tried_delay(stdout, &tried);
	fflush(stdout);
	return tried.slope.known ? 0 : CLEW_EXIT_NEGATIVE;
}

/* Lets the command run, with delays at first. */
static int go(const struct clew_try_values *values, struct clew_delay *delay,
	      struct started *started, const char *program, const double *prediction, bool json)
{
	int r;

	if (started->child.pid) {
		r = clew_delay_add(delay, started->child.pid);
		if (r < 0) {
			clew_child_drop(&started->child);
			return clew_fail(CLEW_EXIT_SYSTEM, "%s cannot be chosen: %s: try again",
					 program, strerror(-r));
		}
		r = clew_child_run(&started->child);
		if (r < 0)
			return clew_fail(CLEW_EXIT_INPUT, "%s cannot be run: %s: name a program",
					 program, strerror(-r));
	}
	clew_delay_run(delay, has_ended, started);
	return say(values, delay, prediction, json);
}

int clew_what_if_try(const struct clew_try_values *values, const char *trace, char **words,
		     bool json)
{
	const struct sigaction action = {.sa_handler = interrupt};
	uint64_t lengths[DELAY_LENGTHS];
	pid_t pid = (pid_t)values->pid.value;
	struct clew_delay_options options = {
		.function = values->function,
		.span = values->span,
		.lengths = lengths,
		.pids = &pid,
		.pid_count = values->pid.given,
		.all = values->everybody && !values->pid.given && !words,
		.percent = words ? OF_COMMAND : OF_SERVICE,
		.blocks = values->blocks.given ? values->blocks.value : BLOCKS,
		.block = BLOCK};
	struct started started = {};
	struct clew_message message = {};
	struct clew_delay *delay = NULL;
	double prediction = 0;
	sigset_t mask;
	int r, status = check(values, words);

	if (!status)
		status = read_lengths(values->delay ?: "250us,500us,1ms", lengths,
				      &options.length_count);
	if (!status && trace)
		status = predict(values, trace, lengths[options.length_count / 2], &prediction);
	if (status)
		return status;
	if (values->pid.given && kill(pid, 0) < 0 && errno == ESRCH)
		return clew_fail(CLEW_EXIT_INPUT, "no process %d: give the pid of one that runs",
				 (int)pid);
	r = clew_delay_open(&options, &delay, &message);
	if (r < 0)
		return clew_fail(r == -EINVAL || r == -ENOENT || r == -EBADMSG ? CLEW_EXIT_INPUT
									       : CLEW_EXIT_SYSTEM,
				 "%s", message.text);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	r = words ? clew_child_check(words[0]) : 0;
	if (r == 0 && words)
		r = clew_child_make(words, &mask, &started.child);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	status = r < 0 ? clew_fail(CLEW_EXIT_INPUT, "%s cannot be run: %s: name a program",
				   words[0], strerror(-r))
		       : go(values, delay, &started, words ? words[0] : "",
			    trace ? &prediction : NULL, json);
	clew_delay_close(delay);
	if (started.child.pid && !started.ended && r == 0) {
		if (interrupted)
			kill(started.child.pid, SIGTERM);
		while (waitpid(started.child.pid, &started.status, 0) < 0 && errno == EINTR)
			kill(started.child.pid, SIGTERM);
	}
	return status;
}
