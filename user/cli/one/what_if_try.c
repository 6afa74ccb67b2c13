/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a function take longer, or sets a quota, in blocks of time, and says what that does to an
 * operation. Operations of a class are timed by a recording beside it. A command that is started
 * goes on as it is after the last block, and its end is waited for.
 */
#include "cli/one/what_if_try.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "answers/delay/tried.h"
#include "base/clock.h"
#include "base/duration.h"
#include "cli/front/fail.h"
#include "cli/one/try_predict.h"
#include "cli/operand/open.h"
#include "cli/record/recording.h"
#include "delay/delay.h"
#include "delay/quota.h"
#include "record/command.h"

#define BLOCK	     500000000ull /* ns */
#define BLOCKS	     40
#define LEAST_BLOCKS (2 * SLOPE_LEAST)
#define OF_SERVICE   10	      /* percent of a CPU that may be taken from what runs already .. */
#define OF_COMMAND   50	      /* .. and from a command that is started for it */
#define LOOK	     10000000 /* ns between two looks at the blocks */
#define BEFORE	     2000000000ull /* ns: for so long the use before a quota is measured */

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* A trial on its way. */
struct trial {
	const struct clew_try_values *values;
	bool json;
	const double *prediction; /* NULL: none was asked for */
	struct clew_delay *delay;
	struct clew_quota *quota; /* NULL: calls are delayed */
	struct clew_tried_quota limits;
	bool limited, measured;
	uint64_t since, turned, used; /* when a quota's program was first looked at, when it was
					 turned last, and the use until then */
	char capture[64];	      /* path of the recording, "": there is none */
	int status;		      /* an exit status: that of the answer */
	struct clew_child child;
	bool ended; /* the command has */
	int child_status;
};

/* ---- options ---- */

bool clew_try_is_asked(const struct clew_try_values *values)
{
	return values->function || values->quota || values->span || values->class ||
	       values->operation || values->delay || values->block || values->pid.given ||
	       values->blocks.given || values->everybody;
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

static int check_quota(const struct clew_try_values *values, const char *trace)
{
	if (values->function || values->delay)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--quota: is no delay: leave out --try and --delay");
	if (trace)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--quota: no capture predicts one: leave out '%s', and compare "
				 "with what-if 'set cpus to N;'",
				 trace);
	if (values->everybody)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--quota: is for one program: give -p or a command instead of "
				 "--yes-slow-it-down");
	return 0;
}

static int check(const struct clew_try_values *values, const char *trace, char **words)
{
	const char *lever = values->quota ? "--quota" : "--try";
	unsigned timed = !!values->span + !!values->class + !!values->operation;

	if (values->quota) {
		int status = check_quota(values, trace);

		if (status)
			return status;
	}
	if (timed != 1)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: %s to time: give one of --span OBJECT:FUNCTION, --class "
				 "WORDS and --operation NAME",
				 lever, timed ? "several operations" : "no operation");
	if (values->pid.given && words)
		return clew_fail(CLEW_EXIT_INPUT, "%s: a process and a command: give one of them",
				 lever);
	if (!values->pid.given && !words && !values->everybody)
		return clew_fail(CLEW_EXIT_INPUT,
				 values->quota ? "--quota: no program: give -p or a command"
					       : "--try would slow down each process with that "
						 "function: give -p, a command, or "
						 "--yes-slow-it-down");
	if (values->blocks.given &&
	    (values->blocks.value < LEAST_BLOCKS || values->blocks.value > CLEW_DELAY_BLOCKS))
		return clew_fail(CLEW_EXIT_INPUT, "--blocks: %u cannot be: give %d to %d",
				 values->blocks.value, LEAST_BLOCKS, CLEW_DELAY_BLOCKS);
	if (values->block && values->block < BLOCK)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--block: is too short for its operations: give 500ms or more");
	return 0;
}

/* ---- blocks ---- */

/* Adds what was used since the last block began, and sets the limit or lifts it. */
static void turn(void *context, bool changed)
{
	struct trial *trial = context;
	uint64_t now = clock_read(CLOCK_MONOTONIC), used = clew_quota_used(trial->quota);

	if (trial->turned) {
		trial->limits.used[trial->limited] += used - trial->used;
		trial->limits.ns[trial->limited] += now - trial->turned;
	}
	trial->turned = now;
	trial->used = used;
	trial->limited = changed;
	if (clew_quota_set(trial->quota, changed) < 0 && !trial->status)
		trial->status = clew_fail(CLEW_EXIT_SYSTEM,
					  "--quota: the limit of the group cannot be set: see what "
					  "the groups above it allow");
}

/* Goes on with the blocks; false: they are over, or something failed. */
static bool advance(struct trial *trial)
{
	struct clew_message message;

	if (trial->quota && !trial->measured) {
		/* A command does not run before the first look. */
		if (!trial->since)
			clew_quota_begin(trial->quota);
		trial->since = trial->since ?: clock_read(CLOCK_MONOTONIC);
		if (clock_read(CLOCK_MONOTONIC) < trial->since + BEFORE)
			return true;
		if (clew_quota_measure(trial->quota, &message) < 0) {
			trial->status = clew_fail(CLEW_EXIT_INPUT, "%s", message.text);
			return false;
		}
		trial->measured = true;
	}
	return clew_delay_step(trial->delay) && !trial->status;
}

/* Takes a process that is meant. Returns 0 or, after clew_fail(), an exit status. */
static int take(void *context, pid_t pid)
{
	struct trial *trial = context;
	struct clew_message message;
	int r = clew_delay_add(trial->delay, pid);

	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "process %d cannot be chosen: %s: try again",
				 (int)pid, strerror(-r));
	if (!trial->quota)
		return 0;
	r = clew_quota_take(trial->quota, pid, &message);
	return r < 0 ? clew_fail(r == -EINVAL ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM, "%s",
				 message.text)
		     : 0;
}

/* ---- the answer ---- */

/* `timed`: the operations of a recording; NULL: the blocks have them. */
static int say(const struct trial *trial, const struct clew_delay_block *blocks, size_t count,
	       const struct timed *timed)
{
	const struct clew_try_values *values = trial->values;
	struct clew_tried_delay tried = {.function = values->function,
					 .quota = trial->limits,
					 .span = values->span,
					 .class = values->class && timed ? timed->name : NULL,
					 .operation =
						 values->operation && timed ? timed->name : NULL,
					 .others = timed ? timed->others : NULL,
					 .blocks = blocks,
					 .count = count,
					 .busy = clew_delay_busy(trial->delay),
					 .predicted = trial->prediction != NULL,
					 .prediction = trial->prediction ? *trial->prediction : 0};
	struct clew_json document = {.out = stdout};
	int r = trial->quota ? slope_ratio(blocks, count, &tried.slope)
			     : slope_of(blocks, count, &tried.slope);

	if (r < 0)
		return clew_fail_memory();
	if (trial->quota) {
		tried.quota.asked = values->quota;
		tried.quota.cpu = clew_quota_is_cpu(trial->quota);
		tried.quota.limit = clew_quota_limit(trial->quota);
	}
	if (trial->json)
		clew_json_tried_delay(&document, &tried);
	else
		clew_print_tried_delay(stdout, &tried);
	fflush(stdout);
	return tried.slope.known ? 0 : CLEW_EXIT_NEGATIVE;
}

/* Counts operations in the blocks that have them from begin to end. */
static void count_in_blocks(const struct trial *trial, struct clew_delay_block *blocks,
			    size_t count, const struct timed *timed)
{
	const struct timed_operation *all = timed->all.data;

	for (size_t i = 0; i < timed->all.count; i++) {
		size_t low = 0, high = count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (blocks[middle].start <= all[i].from)
				low = middle + 1;
			else
				high = middle;
		}
		if (!low || all[i].to > clew_delay_until(trial->delay, low - 1))
			continue;
		blocks[low - 1].operations++;
		blocks[low - 1].ns += all[i].to - all[i].from;
	}
}

/* Says what the recording shows. */
static int say_recorded(const struct trial *trial)
{
	size_t count;
	const struct clew_delay_block *blocks = clew_delay_blocks(trial->delay, &count);
	struct clew_delay_block *copy = calloc(count + 1, sizeof(*copy));
	struct clew_trace *trace = NULL;
	struct timed timed = {};
	int status = copy ? clew_open_trace(trial->capture, 0, &trace) : clew_fail_memory();

	if (!status)
		status = clew_try_find(trial->values, trace, "the recording of the trial", &timed);
	if (!status) {
		memcpy(copy, blocks, count * sizeof(*copy));
		count_in_blocks(trial, copy, count, &timed);
		status = say(trial, copy, count, &timed);
	}
	timed_done(&timed);
	clew_trace_free(trace);
	free(copy);
	return status;
}

/* ---- with a recording ---- */

static bool tick(void *context)
{
	struct trial *trial = context;

	if (advance(trial))
		return true;
	clew_delay_stop(trial->delay);
	return false;
}

static void recorded(void *context)
{
	struct trial *trial = context;

	clew_delay_stop(trial->delay);
	if (!trial->status)
		trial->status = say_recorded(trial);
}

static int run_recorded(struct trial *trial, char **words)
{
	char *none[] = {NULL};
	struct clew_recording recording = {.output = trial->capture,
					   .title = "the recording of the trial",
					   .quiet = true,
					   .messages_if_shown = true,
					   .no_page_cache = true,
					   .no_stacks = true,
					   .child = take,
					   .tick = tick,
					   .recorded = recorded,
					   .tick_context = trial};
	const char *folder = getenv("TMPDIR");
	bool made;
	int file, status;

	if (snprintf(trial->capture, sizeof(trial->capture), "%s/clew-try-XXXXXX",
		     folder && *folder ? folder : "/tmp") >= (int)sizeof(trial->capture))
		return clew_fail(CLEW_EXIT_INPUT, "TMPDIR: %s is too long: name another folder",
				 folder);
	file = mkstemp(trial->capture);
	if (file < 0)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "%s: %s: set TMPDIR to a folder that can be "
				 "written",
				 trial->capture, strerror(errno));
	close(file);
	status = clew_recording_run(&recording, words ?: none, &made);
	unlink(trial->capture);
	return made ? trial->status : status;
}

/* ---- without one ---- */

static bool has_ended(struct trial *trial)
{
	if (trial->child.pid && !trial->ended)
		trial->ended = waitpid(trial->child.pid, &trial->child_status, WNOHANG) ==
			       trial->child.pid;
	return interrupted || trial->ended;
}

/* Waits for the command's end; an interrupt ends it, too. */
static void await_end(struct trial *trial)
{
	if (!trial->child.pid || trial->ended)
		return;
	if (interrupted)
		kill(trial->child.pid, SIGTERM);
	while (waitpid(trial->child.pid, &trial->child_status, 0) < 0 && errno == EINTR)
		kill(trial->child.pid, SIGTERM);
}

static int start(struct trial *trial, char **words)
{
	sigset_t mask;
	int r, status;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	r = clew_child_check(words[0]);
	if (r == 0)
		r = clew_child_make(words, &mask, &trial->child);
	if (r == 0) {
		status = take(trial, trial->child.pid);
		if (status) {
			clew_child_drop(&trial->child);
			trial->child.pid = 0;
			return status;
		}
		r = clew_child_run(&trial->child);
		if (r < 0)
			trial->child.pid = 0;
	}
	return r < 0 ? clew_fail(CLEW_EXIT_INPUT, "%s cannot be run: %s: name a program", words[0],
				 strerror(-r))
		     : 0;
}

static int run_alone(struct trial *trial, char **words)
{
	const struct sigaction action = {.sa_handler = interrupt};
	const struct timespec pause = {.tv_nsec = LOOK};
	const struct clew_delay_block *blocks;
	size_t count;
	int status = words ? start(trial, words) : 0;

	if (status)
		return status;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (!has_ended(trial) && advance(trial))
		nanosleep(&pause, NULL);
	clew_delay_stop(trial->delay);
	blocks = clew_delay_blocks(trial->delay, &count);
	return trial->status ?: say(trial, blocks, count, NULL);
}

/* ---- all of it ---- */

/* Opens what the trial needs. */
static int open_all(struct trial *trial, const struct clew_delay_options *options)
{
	struct clew_message message = {};
	int r = 0;

	if (trial->values->quota)
		r = clew_quota_new(trial->values->quota, &trial->quota, &message);
	if (r >= 0)
		r = clew_delay_open(options, &trial->delay, &message);
	return r < 0 ? clew_fail(r == -EINVAL || r == -ENOENT || r == -EBADMSG ? CLEW_EXIT_INPUT
									       : CLEW_EXIT_SYSTEM,
				 "%s", message.text)
		     : 0;
}

static int run(struct trial *trial, const struct clew_delay_options *options, char **words)
{
	int status = open_all(trial, options);

	if (!status && trial->values->pid.given)
		status = take(trial, (pid_t)trial->values->pid.value);
	if (!status)
		status = trial->values->span ? run_alone(trial, words) : run_recorded(trial, words);
	clew_delay_close(trial->delay);
	clew_quota_free(trial->quota);
	await_end(trial);
	return status;
}

int clew_what_if_try(const struct clew_try_values *values, const char *trace, char **words,
		     bool json)
{
	uint64_t lengths[DELAY_LENGTHS] = {1};
	struct trial trial = {.values = values, .json = json};
	struct clew_delay_options options = {
		.function = values->function,
		.span = values->span,
		.lengths = lengths,
		.length_count = 1,
		.all = values->everybody && !values->pid.given && !words,
		.percent = words ? OF_COMMAND : OF_SERVICE,
		.blocks = values->blocks.given ? values->blocks.value : BLOCKS,
		.block = values->block ?: BLOCK,
		.turn = values->quota ? turn : NULL,
		.context = &trial};
	double prediction = 0;
	int status = check(values, trace, words);

	if (!status && !values->quota)
		status = read_lengths(values->delay ?: "250us,500us,1ms", lengths,
				      &options.length_count);
	if (!status && trace) {
		status = clew_try_predict(values, trace, lengths[options.length_count / 2],
					  &prediction);
		trial.prediction = &prediction;
	}
	if (status)
		return status;
	if (values->pid.given && kill((pid_t)values->pid.value, 0) < 0 && errno == ESRCH)
		return clew_fail(CLEW_EXIT_INPUT, "no process %d: give the pid of one that runs",
				 (int)values->pid.value);
	return run(&trial, &options, words);
}
