/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a function take longer in blocks of time, and says what that does to an operation. A
 * command that is started goes on without delays after the last block, and its end is waited for.
 */
#include "cli/one/what_if_try.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/delay/tried.h"
#include "base/duration.h"
#include "cli/front/fail.h"
#include "delay/delay.h"
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

static int say(const struct clew_try_values *values, const struct clew_delay *delay, bool json)
{
	struct clew_tried_delay tried = {
		.function = values->function, .span = values->span, .busy = clew_delay_busy(delay)};
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
	      struct started *started, const char *program, bool json)
{
	int status, r;

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
	status = say(values, delay, json);
	return status;
}

int clew_what_if_try(const struct clew_try_values *values, char **words, bool json)
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
	sigset_t mask;
	int r, status = check(values, words);

	if (!status)
		status = read_lengths(values->delay ?: "250us,500us,1ms", lengths,
				      &options.length_count);
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
		       : go(values, delay, &started, words ? words[0] : "", json);
	clew_delay_close(delay);
	if (started.child.pid && !started.ended && r == 0) {
		if (interrupted)
			kill(started.child.pid, SIGTERM);
		while (waitpid(started.child.pid, &started.status, 0) < 0 && errno == EINTR)
			kill(started.child.pid, SIGTERM);
	}
	return status;
}
