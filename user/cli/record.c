/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew record: records until the duration, a signal or the end of the command.
 *
 * Standard output is the command's alone. Records that were reserved when the end came are
 * in the file; the command is not killed by clew's own end.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/fail.h"
#include "cli/layers.h"
#include "cli/options.h"
#include "cli/ready.h"
#include "cli/record_segments.h"
#include "cli/record_summary.h"
#include "record/choice.h"
#include "record/command.h"
#include "record/hidden_switches.h"
#include "record/kernel.h"
#include "record/left_behind.h"
#include "record/recorder.h"
#include "words/text.h"

#define TICK	       100000000L /* ns between two checks of the clock and the file */
#define MOST_PIDS      1024
#define FUNCTIONS_MOST 20000
#define STACK_MIN      1000000 /* ns */

struct pid_list {
	pid_t pids[MOST_PIDS];
	size_t count;
};

struct function_list {
	const char *texts[CLEW_CHOICES_MOST];
	size_t count;
};

struct record_values {
	const char *output; /* a directory with --rotate */
	struct clew_rotation rotation;
	uint64_t duration;
	struct pid_list pids;
	struct pid_list tids;
	const char *comm;
	const char *cgroup;
	const char *container;
	bool sync;
	uint64_t ring_size;
	uint64_t pause_drain;
	bool few_task_slots;
	bool verify;
	bool stacks;
	uint64_t stack_min;
	bool no_page_cache;
	const char *environment;
	struct function_list functions;
	enum clew_returns_wanted returns;
	bool strict_entry;
	struct clew_number max_functions;
	const char *layer_files;
	struct clew_layers *layers;
	char *layers_text;
};

static int take_pids(const struct clew_option *option, const char *argument, void *value)
{
	struct pid_list *list = value;
	const char *at = argument;
	char *end;

	do {
		long pid = strtol(at, &end, 10);

		if (end == at || pid <= 0 || pid > 4194304 || (*end && (*end != ',' || !end[1])))
			return clew_fail(
				CLEW_EXIT_INPUT,
				"--%s: '%s' is no list of pids: write numbers with commas between",
				option->name, argument);
		if (list->count == MOST_PIDS)
			return clew_fail(CLEW_EXIT_INPUT,
					 "--%s: more than %d pids: use --cgroup or --comm",
					 option->name, MOST_PIDS);
		list->pids[list->count++] = pid;
		at = end + 1;
	} while (*end);
	return 0;
}

/* The option may be given again and again. */
static int take_functions(const struct clew_option *option, const char *argument, void *value)
{
	struct function_list *list = value;
	struct clew_function_choice choice;
	struct clew_message message;

	if (clew_choice_parse(argument, &choice, &message))
		return clew_fail(CLEW_EXIT_INPUT, "--%s: %s", option->name, message.text);
	if (list->count == CLEW_CHOICES_MOST)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: more than %d times: use globs",
				 option->name, CLEW_CHOICES_MOST);
	list->texts[list->count++] = argument;
	return 0;
}

static int take_bytes(const struct clew_option *option, const char *argument, void *value)
{
	char *end;
	unsigned long long bytes = strtoull(argument, &end, 10);
	unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (end == argument || end[shift != 0] || bytes == 0 || bytes > 1ULL << 20 << 10)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is no size: write bytes, or 64K, 8M",
				 option->name, argument);
	bytes <<= shift;
	if (bytes > 1ULL << 30)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: '%s' is too large: at most 1G",
				 option->name, argument);
	*(uint64_t *)value = bytes;
	return 0;
}

static int take_length(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_seconds(option, argument, value);

	if (!status && !*(uint64_t *)value)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no time at all: leave it out, and end the "
				 "recording with Ctrl-C",
				 option->name, argument);
	return status;
}

/* Waits of any length have one of 1 ns or more. */
static int take_stack_min(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_duration(option, argument, value);

	if (!status && !*(uint64_t *)value)
		*(uint64_t *)value = 1;
	return status;
}

static int take_output(const struct clew_option *option, const char *argument, void *value)
{
	if (!strcmp(argument, "-"))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '-': a capture cannot go to standard output: name a file",
				 option->name);
	return clew_take_string(option, argument, value);
}

const struct clew_option clew_record_options[] = {
	{'o', "output", "FILE", "write the capture there (" CLEW_DEFAULT_TRACE ")", take_output,
	 offsetof(struct record_values, output)},
	{0, "rotate", "TIME[,SIZE]",
	 "go on in a new file after that long or that many bytes; -o is a directory",
	 clew_take_rotate, offsetof(struct record_values, rotation.rotate)},
	{0, "keep", "TIME[,SIZE]", "with --rotate: remove files that are older or in excess",
	 clew_take_span, offsetof(struct record_values, rotation.keep)},
	{'d', "duration", "DURATION", "stop after that long (10s, 500ms)", take_length,
	 offsetof(struct record_values, duration)},
	{'p', "pid", "PID,..", "full detail only for waits of these processes and their children",
	 take_pids, offsetof(struct record_values, pids)},
	{'t', "tid", "TID,..", "full detail only for waits of these threads and their children",
	 take_pids, offsetof(struct record_values, tids)},
	{0, "comm", "GLOB", "full detail only for waits of threads of such a name",
	 clew_take_string, offsetof(struct record_values, comm)},
	{0, "cgroup", "GLOB", "full detail only for waits in this cgroup and below",
	 clew_take_string, offsetof(struct record_values, cgroup)},
	{0, "container", "NAME", "full detail only for waits in this container: name or id",
	 clew_take_string, offsetof(struct record_values, container)},
	{'f', "functions", "OBJECT:GLOB",
	 "record when threads are in these functions of a file, library or process", take_functions,
	 offsetof(struct record_values, functions)},
	{0, "returns", "WAY",
	 "see returns by trampoline, exits or none instead of what is known to be harmless (auto)",
	 clew_take_returns, offsetof(struct record_values, returns)},
	{0, "strict-entry", NULL, "probe no entry behind an instruction that reads memory",
	 clew_take_flag, offsetof(struct record_values, strict_entry)},
	{0, "max-functions", "N", "record as many functions at most (20000)", clew_take_number,
	 offsetof(struct record_values, max_functions)},
	{0, "environment", "NAME,..", "keep these environment variables of each process",
	 clew_take_string, offsetof(struct record_values, environment)},
	{0, "layer", "FILE,..", "record the calls of the layers that these files describe",
	 clew_take_string, offsetof(struct record_values, layer_files)},
	{0, "stacks", NULL, "take the stacks of long waits: from where in the code a task waited",
	 clew_take_flag, offsetof(struct record_values, stacks)},
	{0, "stack-min", "DURATION", "take them of waits of that length or longer (1ms)",
	 take_stack_min, offsetof(struct record_values, stack_min)},
	{0, "no-page-cache", NULL,
	 "leave out who dirties, writes and reads pages of files, and the journals", clew_take_flag,
	 offsetof(struct record_values, no_page_cache)},
	{0, "sync", NULL, "each chunk reaches the medium: a power loss costs a second at most",
	 clew_take_flag, offsetof(struct record_values, sync)},
	{0, "ring-size", "BYTES", "size of each CPU's ring (8M, less on many CPUs)", take_bytes,
	 offsetof(struct record_values, ring_size)},
	{0, "pause-drain", "DURATION", "for tests: leave the rings alone that long",
	 clew_take_duration, offsetof(struct record_values, pause_drain)},
	{0, "few-task-slots", NULL, "for tests: most tasks find no slot for their state",
	 clew_take_flag, offsetof(struct record_values, few_task_slots)},
	{0, "verify-counters", NULL, "for tests: count switches twice and compare", clew_take_flag,
	 offsetof(struct record_values, verify)},
	CLEW_OPTION_END,
};

struct session {
	struct clew_child child;
	struct clew_left_behind *left_behind; /* of the command, NULL none */
	struct clew_hidden_switches *hidden_switches;
	bool has_child;
	bool child_ended;
	int child_status; /* as waitpid gives it */
	sigset_t waited;  /* signals that end the recording, and the child's end */
};

static char *join(char **words)
{
	size_t size = 1;
	char *text, *at;

	for (char **word = words; *word; word++)
		size += strlen(*word) + 1;
	at = text = malloc(size);
	if (!text)
		return NULL;
	for (char **word = words; *word; word++)
		at += sprintf(at, "%s%s", word == words ? "" : " ", *word);
	*at = '\0';
	return text;
}

static int status_of(int error)
{
	return error == -EINVAL ? CLEW_EXIT_INPUT : CLEW_EXIT_SYSTEM;
}

/*
 * True if a signal is ignored, as under nohup: sigtimedwait would take it all
 * the same.
 */
static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

/*
 * Passes a signal on to the command. An interrupt from the terminal reaches it
 * anyway.
 */
static void pass_on(const struct session *session, int number)
{
	if (session->has_child && number != SIGINT)
		kill(session->child.pid, number);
}

/*
 * Waits for the command after the end of the recording, and passes signals on
 * to it.
 */
static void wait_for_child(struct session *session)
{
	while (waitpid(session->child.pid, &session->child_status, WNOHANG) == 0) {
		int number = sigwaitinfo(&session->waited, NULL);

		if (number > 0 && number != SIGCHLD)
			pass_on(session, number);
	}
}

/* Waits for a signal, at most a tick. False: the recording is over. */
static bool wait_a_tick(struct session *session)
{
	struct timespec tick = {.tv_nsec = TICK};
	siginfo_t info;
	int number = sigtimedwait(&session->waited, &info, &tick);

	if (number == SIGCHLD) {
		if (session->has_child && waitpid(session->child.pid, &session->child_status,
						  WNOHANG) == session->child.pid) {
			session->child_ended = true;
			return false;
		}
		return true;
	}
	if (number > 0)
		pass_on(session, number);
	return number <= 0;
}

/*
 * Runs until a signal, the end of the command or of the duration, or an error.
 * clew_recorder_stop() reports one of the file; other ones are returned.
 */
static int record_until_end(struct clew_recorder *recorder, struct session *session,
			    struct record_values *values, struct clew_message *message)
{
	int r = 0;
	uint64_t start = clock_read(CLOCK_MONOTONIC), shown = 0;
	bool terminal = isatty(STDERR_FILENO) && !session->has_child;

	while (wait_a_tick(session)) {
		uint64_t elapsed = clock_read(CLOCK_MONOTONIC) - start;

		if (values->duration && elapsed >= values->duration)
			break;
		if (clew_recorder_tick(recorder))
			break;
		r = clew_rotation_tick(&values->rotation, recorder, message);
		if (r < 0)
			break;
		if (terminal && elapsed - shown > 500000000) {
			fprintf(stderr, "\rclew: recording to %s: %.1f s (Ctrl-C stops) ",
				values->output, elapsed / 1e9);
			shown = elapsed;
		}
	}
	if (terminal && shown)
		fputs("\r\033[K", stderr);
	return r;
}

static int fail_to_run(const char *program, int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
	case -ELOOP:
	case -ENAMETOOLONG:
		return clew_fail(CLEW_EXIT_INPUT,
				 "the command %s cannot be run: %s: check its name", program,
				 strerror(-error));
	case -E2BIG:
		return clew_fail(CLEW_EXIT_INPUT, "the command %s cannot be run: %s: give it fewer",
				 program, strerror(-error));
	case -EACCES:
		return clew_fail(
			CLEW_EXIT_SYSTEM,
			"the command %s cannot be run: %s: name a file that may be executed",
			program, strerror(-error));
	default:
		return clew_fail(
			CLEW_EXIT_SYSTEM,
			"the command %s cannot be run: %s: see whether it runs without clew",
			program, strerror(-error));
	}
}

/* Says which processes of the command go on without being recorded. */
static void print_left_behind(const struct session *session)
{
	enum { MOST_SHOWN = 4 };
	pid_t pids[MOST_SHOWN];
	size_t count;

	if (!session->left_behind || !session->child_ended || !clew_kernel_shows_all_tasks())
		return;
	count = clew_left_behind_find(session->left_behind, session->child.pid, pids, MOST_SHOWN);
	if (!count)
		return;
	fprintf(stderr, "clew: the command has ended and left %zu process%s running:", count,
		count == 1 ? "" : "es");
	for (size_t i = 0; i < count && i < MOST_SHOWN; i++) {
		char path[32], name[64] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pids[i]);
		file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		if (file)
			fclose(file);
		fputs(i ? ", " : " ", stderr);
		clew_print_safe(stderr, name);
		fprintf(stderr, "-%d", (int)pids[i]);
	}
	fprintf(stderr,
		"%s: the recording ended with the command; to record them, start it in the "
		"foreground, or record without a command (-d DURATION)\n",
		count > MOST_SHOWN ? ", .." : "");
}

static void say(const char *line)
{
	fprintf(stderr, "clew: %s\n", line);
}

/* `line`: the command in words; `program`: its first word. Both NULL: there is no command. `taker`:
 * NULL none. */
static struct clew_recorder_options options_of(const struct record_values *values,
					       const char *output, const char *line,
					       const char *program,
					       const struct clew_record_taker *takers, size_t count)
{
	return (struct clew_recorder_options){
		.output = output,
		.goes_on = values->rotation.segments != NULL,
		.pids = values->pids.pids,
		.pid_count = values->pids.count,
		.tids = values->tids.pids,
		.tid_count = values->tids.count,
		.comm = values->comm,
		.cgroup = values->cgroup,
		.container = values->container,
		.command = line,
		.program = program,
		.environment = values->environment,
		.functions = values->functions.texts,
		.function_count = values->functions.count,
		.functions_most =
			values->max_functions.given ? values->max_functions.value : FUNCTIONS_MOST,
		.returns = values->returns,
		.strict_entry = values->strict_entry,
		.say = say,
		.layers = values->layers,
		.layers_text = values->layers_text,
		.ring_size = values->ring_size,
		.takers = takers,
		.taker_count = count,
		.pause_drain = values->pause_drain,
		.sync = values->sync,
		.few_task_slots = values->few_task_slots,
		.verify = values->verify,
		.stack_threshold = values->stack_min
					   ?: values->stacks ? STACK_MIN
							     : 0,
		.no_page_cache = values->no_page_cache,
	};
}

/* Opens the recorder; a child that cannot be recorded is not run. */
static int open_recorder(struct session *session, struct clew_recorder_options *options,
			 struct clew_recorder **ret_recorder)
{
	struct clew_message message;
	int r;

	clew_recorder_raise_files();
	r = clew_recorder_fit(options->ring_size, &options->ring_size, &message);
	if (!r && message.text[0])
		fprintf(stderr, "clew: %s\n", message.text);
	if (!r)
		r = clew_recorder_open(options, ret_recorder, &message);
	if (r) {
		if (session->has_child)
			clew_child_drop(&session->child);
		session->has_child = false;
		return clew_fail(status_of(r), "%s", message.text);
	}
	if (!clew_kernel_shows_all_tasks())
		fprintf(stderr, "clew: in a PID namespace of its own, other tasks from before the "
				"start are unknown: start it in the machine's "
				"(nsenter -t 1 -p, docker --pid=host)\n");
	return 0;
}

/*
 * Starts recording, then the child, if any, and begins the file. *ret_exec_error: the
 * child's program cannot be run. The child is dropped unless it runs.
 */
static int start_recording(struct clew_recorder *recorder, struct session *session,
			   struct clew_message *message, int *ret_exec_error)
{
	bool running = false;
	int r = clew_recorder_start(recorder, message);

	*ret_exec_error = 0;
	/* The file is begun only once the command runs: a command that cannot be run does not
	 * overwrite an older capture. */
	if (!r && !session->has_child)
		r = clew_recorder_keep(recorder, message);
	if (!r)
		clew_tell_ready();
	if (!r && session->has_child) {
		*ret_exec_error = clew_child_run(&session->child);
		running = *ret_exec_error == 0;
		if (running)
			r = clew_recorder_keep(recorder, message);
	}
	if (session->has_child && !running) {
		if (!*ret_exec_error)
			clew_child_drop(&session->child);
		session->has_child = false;
	}
	return r;
}

/* Records; the child, if any, runs when this returns 0 or its end was seen. */
static int record(struct session *session, struct record_values *values, const char *output,
		  const char *line, const char *program)
{
	const struct clew_record_taker takers[] = {
		clew_hidden_switches_taker(session->hidden_switches),
		clew_left_behind_taker(session->left_behind),
	};
	struct clew_recorder_options options =
		options_of(values, output, line, program, takers, session->left_behind ? 2 : 1);
	struct clew_recorder_summary summary;
	struct clew_message message, stop_message;
	struct clew_recorder *recorder;
	int status = open_recorder(session, &options, &recorder), exec_error, r, stopped;

	if (status)
		return status;
	r = start_recording(recorder, session, &message, &exec_error);
	if (!r && !exec_error)
		r = record_until_end(recorder, session, values, &message);
	stopped = clew_recorder_stop(recorder, &summary, &stop_message);
	if (!exec_error && !r && !stopped)
		clew_print_summary(values->output, values->rotation.segments, &summary,
				   values->verify,
				   clew_hidden_switches_found(session->hidden_switches));
	if (!exec_error && !r && !stopped)
		print_left_behind(session);
	free(summary.left_alone);
	if (exec_error)
		return fail_to_run(program, exec_error);
	if (r)
		return clew_fail(status_of(r), "%s", message.text);
	if (stopped)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s", stop_message.text);
	return CLEW_EXIT_DONE;
}

int clew_command_record(const struct clew_command *command, int argc, char **argv)
{
	struct record_values values = {.output = CLEW_DEFAULT_TRACE};
	struct session session = {.has_child = false};
	char **operands, *line = NULL;
	const char *output;
	sigset_t blocked, before;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = values.layer_files
			 ? clew_load_layers(values.layer_files, &values.layers, &values.layers_text)
			 : 0;
	if (status)
		return status;

	/* Blocked in all threads, taken by sigtimedwait. */
	sigemptyset(&session.waited);
	sigaddset(&session.waited, SIGINT);
	sigaddset(&session.waited, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(&session.waited, SIGHUP);
	sigaddset(&session.waited, SIGCHLD);
	/* The recording goes on if the reader of the messages leaves. */
	blocked = session.waited;
	sigaddset(&blocked, SIGPIPE);
	/* Exceeding the limit of file sizes is an error like a full disk. */
	sigaddset(&blocked, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &blocked, &before);

	if (operands[0]) {
		int error = clew_child_make(operands, &before, &session.child);

		if (error)
			return clew_fail(
				CLEW_EXIT_SYSTEM,
				"no process for the command: %s: raise the limit of processes",
				strerror(-error));
		session.has_child = true;
		session.left_behind = clew_left_behind_new();
		line = join(operands);
	}
	session.hidden_switches = clew_hidden_switches_new();
	status = clew_rotation_open(&values.rotation, values.output, &output);
	if (!status)
		status = session.hidden_switches
				 ? record(&session, &values, output, line, operands[0])
				 : clew_fail(CLEW_EXIT_SYSTEM, "record: out of memory: free some");
	clew_rotation_close(&values.rotation);
	free(line);
	clew_hidden_switches_free(session.hidden_switches);
	clew_left_behind_free(session.left_behind);
	clew_layers_free(values.layers);
	free(values.layers_text);
	if (session.has_child) {
		if (!session.child_ended)
			wait_for_child(&session);
		if (!status)
			status = clew_child_exit_status(session.child_status);
	}
	return status;
}
