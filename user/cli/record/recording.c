/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recording: until the duration, a signal or the end of the command.
 *
 * Records that were reserved when the end came are in the file; the command is not killed by
 * clew's own end.
 */
#include "cli/record/recording.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/record/record_progress.h"
#include "cli/record/record_summary.h"
#include "cli/record/record_took.h"
#include "daemon/notify.h"
#include "format/text.h"
#include "record/command.h"
#include "record/recorder.h"
#include "record/stream/hidden_switches.h"
#include "record/stream/kernel.h"
#include "record/stream/left_behind.h"

#define MAPPED_BYTES	  (128 << 10) /* blocks of that size go back to the system when freed */
#define TICK		  100000000L  /* ns between two checks of the clock and the file */
#define FUNCTIONS_MOST	  20000
#define FUNCTIONS_PERCENT 25
#define STACK_MIN	  1000000 /* ns */

/* These options may be given again and again. */
int clew_take_functions(const struct clew_option *option, const char *argument, void *value)
{
	struct clew_function_choice choice;
	struct clew_message message;

	if (clew_choice_parse(argument, &choice, &message))
		return clew_fail(CLEW_EXIT_INPUT, "--%s: %s", option->name, message.text);
	return clew_take_objects(option, argument, value);
}

int clew_take_points(const struct clew_option *option, const char *argument, void *value)
{
	struct clew_function_choice choice;
	struct clew_message message;

	if (clew_choice_parse_points(argument, &choice, &message))
		return clew_fail(CLEW_EXIT_INPUT, "--%s: %s", option->name, message.text);
	return clew_take_objects(option, argument, value);
}

int clew_take_kernel_functions(const struct clew_option *option, const char *argument, void *value)
{
	if (!*argument || strpbrk(argument, ":("))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"--%s: '%s' is no name of the kernel's functions: write a glob, as "
			"in 'vfs_*'",
			option->name, argument);
	return clew_take_objects(option, argument, value);
}

int clew_take_objects(const struct clew_option *option, const char *argument, void *value)
{
	struct clew_function_list *list = value;

	if (!*argument)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '' is no file: write a path, a library's name or a "
				 "process's number",
				 option->name);
	if (list->count == CLEW_CHOICES_MOST)
		return clew_fail(CLEW_EXIT_INPUT, "--%s: more than %d times: use globs",
				 option->name, CLEW_CHOICES_MOST);
	list->texts[list->count++] = argument;
	return 0;
}

int clew_take_length(const struct clew_option *option, const char *argument, void *value)
{
	int status = clew_take_seconds(option, argument, value);

	if (!status && !*(uint64_t *)value)
		return clew_fail(CLEW_EXIT_INPUT,
				 "--%s: '%s' is no time at all: leave it out, and end the "
				 "recording with Ctrl-C",
				 option->name, argument);
	return status;
}

struct session {
	struct clew_child child;
	struct clew_left_behind *left_behind; /* of the command, NULL none */
	struct clew_hidden_switches *hidden_switches;
	struct clew_record_took *took; /* NULL: nobody is told */
	struct clew_record_progress progress;
	bool has_child;
	bool child_ended;
	int child_status; /* as waitpid gives it */
	sigset_t waited;  /* signals that end the recording, and the child's end */
};

static const char *title_of(const struct clew_recording *recording)
{
	return recording->title ?: recording->output;
}

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

		if (number > 0 && number != SIGCHLD && number != SIGUSR1)
			pass_on(session, number);
	}
}

/* Waits for a signal, at most a tick. False: the recording is over. */
static bool wait_a_tick(struct session *session, struct clew_recording *recording)
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
	/* `clew snapshot` asks for it. */
	if (number == SIGUSR1) {
		recording->rotation.now = true;
		return true;
	}
	if (number > 0 && recording->signal)
		return recording->signal(recording->tick_context, number);
	if (number > 0)
		pass_on(session, number);
	return number <= 0;
}

/*
 * Runs until a signal, the end of the command or of the duration, or an error.
 * clew_recorder_stop() reports one of the file; other ones are returned.
 */
static int record_until_end(struct clew_recorder *recorder, struct session *session,
			    struct clew_recording *recording, struct clew_message *message)
{
	int r = 0;
	uint64_t start = clock_read(CLOCK_MONOTONIC);

	clew_record_progress_start(&session->progress, recording->duration);
	while (wait_a_tick(session, recording)) {
		uint64_t elapsed = clock_read(CLOCK_MONOTONIC) - start;

		if (recording->duration && elapsed >= recording->duration)
			break;
		if (clew_recorder_tick(recorder))
			break;
		r = clew_rotation_tick(&recording->rotation, recorder, message);
		if (!r)
			r = clew_recorder_keyframe(recorder, message);
		if (r < 0)
			break;
		if (recording->tick && !recording->tick(recording->tick_context))
			break;
		clew_record_progress_tick(&session->progress, recorder);
	}
	clew_record_progress_end(&session->progress);
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

static uint64_t stack_threshold(const struct clew_recording *recording)
{
	bool taken = recording->stacks || recording->stack_min || recording->stacks_if_possible;

	if (!taken || recording->no_stacks)
		return 0;
	return recording->stack_min ?: STACK_MIN;
}

/* `line`: the command in words; `program`: its first word. Both NULL: there is no command. `taker`:
 * NULL none. */
static struct clew_recorder_options options_of(const struct clew_recording *recording,
					       const char *output, const char *line,
					       const char *program,
					       const struct clew_record_taker *takers, size_t count)
{
	return (struct clew_recorder_options){
		.output = output,
		.elsewhere = recording->elsewhere,
		.names_most = recording->names_most,
		.goes_on = recording->rotation.segments != NULL,
		.keyframe = recording->rotation.segments ? 0 : recording->keyframe,
		.pids = recording->pids.pids,
		.pid_count = recording->pids.count,
		.tids = recording->tids.pids,
		.tid_count = recording->tids.count,
		.comm = recording->comm,
		.group = recording->group,
		.command = line,
		.program = program,
		.environment = recording->environment,
		.functions = recording->functions.texts,
		.function_count = recording->functions.count,
		.lock_objects = recording->lock_objects.texts,
		.lock_object_count = recording->lock_objects.count,
		.points = recording->points.texts,
		.point_count = recording->points.count,
		.kernel_functions = recording->kernel_functions.texts,
		.kernel_function_count = recording->kernel_functions.count,
		.functions_most = recording->max_functions.given ? recording->max_functions.value
								 : FUNCTIONS_MOST,
		.functions_percent =
			recording->max_cost.given ? recording->max_cost.value : FUNCTIONS_PERCENT,
		.returns = recording->returns,
		.strict_entry = recording->strict_entry,
		.say = say,
		.layers = recording->layers,
		.layers_text = recording->layers_text,
		.runtimes_auto = recording->runtimes_auto,
		.stepped_points = recording->max_cost.given,
		.ring_size = recording->ring_size,
		.takers = takers,
		.taker_count = count,
		.pause_drain = recording->pause_drain,
		.sync = recording->sync,
		.few_task_slots = recording->few_task_slots,
		.trace_events = recording->trace_events,
		.verify = recording->verify,
		.stack_threshold = stack_threshold(recording),
		.stacks_if_possible = recording->stacks_if_possible,
		.no_page_cache = recording->no_page_cache,
	};
}

/* Chooses whose messages are recorded: by the options, else those of the command. */
static void choose_messages(const struct session *session, const struct clew_recording *recording,
			    struct clew_recorder_options *options)
{
	bool chosen = options->pid_count || options->tid_count || options->comm ||
		      clew_group_is_wanted(&options->group) || recording->messages ||
		      recording->messages_if_shown;

	options->messages = !recording->no_messages && (chosen || session->has_child);
	options->messages_asked = recording->messages;
	options->messages_of = options->messages && !chosen ? session->child.pid : 0;
}

/* Chooses the connections whose messages are recorded anyway. */
static void choose_network(const struct clew_recording *recording,
			   struct clew_recorder_options *options)
{
	options->network = recording->no_network ? CLEW_NETWORK_OFF
			   : recording->network && !strcmp(recording->network, "all")
				   ? CLEW_NETWORK_ALL
				   : CLEW_NETWORK_OUTSIDE;
	options->outside = recording->outside.texts;
	options->outside_count = recording->outside.count;
}

/* Says that a signal has come that ends the recording before it began. A daemon that is asked to
 * end has done so. Returns the exit status. */
static int fail_interrupted(const struct clew_recording *recording, bool has_command)
{
	int status = recording->signal ? CLEW_EXIT_DONE : CLEW_EXIT_NEGATIVE;

	return clew_fail(status,
			 "nothing was recorded%s: the interrupt came while clew was loading: %s",
			 has_command ? ", and the command was not run" : "",
			 has_command ? "let the command run" : "let it record first");
}

/* Opens the recorder; a child that cannot be recorded is not run. */
static int open_recorder(struct session *session, const struct clew_recording *recording,
			 struct clew_recorder_options *options, struct clew_recorder **ret_recorder)
{
	const bool has_command = session->has_child;
	struct clew_message message;
	int r;

	clew_recorder_raise_files();
	r = clew_recorder_fit(options, &message);
	if (!r && message.text[0])
		fprintf(stderr, "clew: %s\n", message.text);
	if (!r)
		r = clew_recorder_open(options, ret_recorder, &message);
	if (r) {
		if (session->has_child)
			clew_child_drop(&session->child);
		session->has_child = false;
		return r == -EINTR ? fail_interrupted(recording, has_command)
				   : clew_fail(status_of(r), "%s", message.text);
	}
	if (!clew_kernel_shows_all_tasks())
		fprintf(stderr, "clew: in a PID namespace of its own, other tasks from before the "
				"start are unknown: start it in the machine's "
				"(nsenter -t 1 -p, docker --pid=host)\n");
	return 0;
}

/* True if a signal has come that ends the recording: nothing is in the file yet. */
static bool is_interrupted(const struct session *session, const struct clew_recording *recording)
{
	sigset_t pending;

	/* A daemon takes SIGHUP for something else. */
	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		(!recording->signal && sigismember(&pending, SIGHUP) &&
		 sigismember(&session->waited, SIGHUP)));
}

/*
 * Starts recording, then the child, if any, and begins the file. *ret_exec_error: the
 * child's program cannot be run. The child is dropped unless it runs.
 */
static int start_recording(struct clew_recorder *recorder, struct session *session,
			   const struct clew_recording *recording, struct clew_message *message,
			   int *ret_exec_error)
{
	bool running = false;
	int r = is_interrupted(session, recording) ? -EINTR
						   : clew_recorder_start(recorder, message);

	*ret_exec_error = 0;
	if (!r && is_interrupted(session, recording))
		r = -EINTR;
	/* The file is begun only once the command runs: a command that cannot be run does not
	 * overwrite an older capture. */
	if (!r && !session->has_child)
		r = clew_recorder_keep(recorder, message);
	if (!r)
		clew_notify("READY=1");
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
static int record(struct session *session, struct clew_recording *recording, const char *output,
		  const char *line, const char *program)
{
	struct clew_record_taker takers[4] = {clew_hidden_switches_taker(session->hidden_switches)};
	size_t taker_count = 1;
	struct clew_recorder_options options;
	struct clew_recorder_summary summary;
	struct clew_message message, stop_message;
	struct clew_recorder *recorder;
	const bool has_command = session->has_child;
	int status, exec_error, r, stopped;

	if (session->left_behind)
		takers[taker_count++] = clew_left_behind_taker(session->left_behind);
	if (session->took)
		takers[taker_count++] = clew_record_took_taker(session->took);
	if (recording->taker)
		takers[taker_count++] = *recording->taker;
	options = options_of(recording, output, line, program, takers, taker_count);
	choose_messages(session, recording, &options);
	choose_network(recording, &options);
	status = open_recorder(session, recording, &options, &recorder);
	if (status)
		return status;
	recording->recorder = recorder;
	r = start_recording(recorder, session, recording, &message, &exec_error);
	if (!r && !exec_error)
		r = record_until_end(recorder, session, recording, &message);
	recording->recorder = NULL;
	stopped = clew_recorder_stop(recorder, &summary, &stop_message);
	if (!exec_error && !r && !stopped && !recording->quiet)
		clew_print_summary(title_of(recording), recording->output,
				   recording->rotation.segments, &summary, recording->verify,
				   clew_hidden_switches_found(session->hidden_switches));
	if (!exec_error && !r && !stopped)
		print_left_behind(session);
	if (!exec_error && !r && !stopped && session->took)
		clew_record_took_print(session->took, line, recording->output);
	clew_recorder_summary_done(&summary);
	if (exec_error)
		return fail_to_run(program, exec_error);
	if (r == -EINTR)
		return fail_interrupted(recording, has_command);
	if (r)
		return clew_fail(status_of(r), "%s", message.text);
	if (stopped)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s", stop_message.text);
	return CLEW_EXIT_DONE;
}

/* Blocks the signals that end a recording in all threads: sigtimedwait takes them. */
static void block_signals(struct session *session, bool rotates, sigset_t *ret_before)
{
	sigset_t blocked;

	sigemptyset(&session->waited);
	sigaddset(&session->waited, SIGINT);
	sigaddset(&session->waited, SIGTERM);
	if (!is_ignored(SIGHUP))
		sigaddset(&session->waited, SIGHUP);
	sigaddset(&session->waited, SIGCHLD);
	if (rotates)
		sigaddset(&session->waited, SIGUSR1);
	/* The recording goes on if the reader of the messages leaves. */
	blocked = session->waited;
	sigaddset(&blocked, SIGPIPE);
	/* Exceeding the limit of file sizes is an error like a full disk. */
	sigaddset(&blocked, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &blocked, ret_before);
}

/* Forgets what is pending of the signals that block_signals() blocked: a reader that left, a limit
 * that was reached. Then they are as before. */
static void unblock_signals(const struct session *session, const sigset_t *before)
{
	const struct timespec at_once = {};
	sigset_t blocked = session->waited;

	sigaddset(&blocked, SIGPIPE);
	sigaddset(&blocked, SIGXFSZ);
	while (sigtimedwait(&blocked, NULL, &at_once) > 0)
		;
	sigprocmask(SIG_SETMASK, before, NULL);
}

static int make_child(struct session *session, const struct clew_recording *recording,
		      char **command, const sigset_t *mask)
{
	/* Loading the BPF programs takes seconds: check the name of the command before that. */
	int error = clew_child_check(command[0]);

	if (error)
		return fail_to_run(command[0], error);
	error = clew_child_make(command, mask, &session->child);
	if (error)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "no process for the command: %s: raise the limit of processes",
				 strerror(-error));
	session->has_child = true;
	session->left_behind = clew_left_behind_new();
	error = recording->child ? recording->child(recording->tick_context, session->child.pid)
				 : 0;
	if (error) {
		clew_child_drop(&session->child);
		session->has_child = false;
	}
	return error;
}

/* Reads the descriptions of layers and runtimes. */
static int load_descriptions(struct clew_recording *recording, const char *program)
{
	int status = 0;

	if (recording->layer_files || recording->runtimes)
		status = clew_load_layers(recording->layer_files, recording->runtimes,
					  &recording->layers, &recording->layers_text,
					  &recording->runtimes_auto);
	if (!status && recording->runtimes_auto && !program && !recording->pids.count &&
	    !recording->tids.count && !recording->comm && !clew_group_is_wanted(&recording->group))
		status = clew_fail(CLEW_EXIT_INPUT,
				   "--runtime auto is for some processes: give -p, --cgroup or a "
				   "command, or name the runtimes");
	return status;
}

int clew_recording_run(struct clew_recording *recording, char **command, bool *ret_recorded)
{
	struct session session = {.has_child = false};
	const char *output;
	char *line = NULL;
	sigset_t before;
	int status = load_descriptions(recording, command[0]);

	*ret_recorded = false;
	if (status)
		return status;
	/* Else the C library takes ever larger blocks from heaps that never shrink. */
	mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
	block_signals(&session, recording->rotation.rotate.ns || recording->rotation.rotate.bytes,
		      &before);
	/* A folder that cannot be used is refused before a child waits to begin. */
	status = clew_rotation_open(&recording->rotation, recording->output,
				    recording->elsewhere ?: CLEW_ELSEWHERE, &output);
	if (!status && command[0]) {
		status = make_child(&session, recording, command, &before);
		line = join(command);
	}
	if (!status && session.has_child && line && recording->says_took)
		session.took = clew_record_took_new(session.child.pid);
	clew_record_progress_begin(&session.progress, session.has_child, recording->tick != NULL);
	session.hidden_switches = clew_hidden_switches_new();
	if (!status)
		status = session.hidden_switches
				 ? record(&session, recording, output, line, command[0])
				 : clew_fail(CLEW_EXIT_SYSTEM, "record: out of memory: free some");
	clew_rotation_close(&recording->rotation);
	*ret_recorded = status == 0;
	if (*ret_recorded && recording->recorded)
		recording->recorded(recording->tick_context);
	free(line);
	clew_hidden_switches_free(session.hidden_switches);
	clew_left_behind_free(session.left_behind);
	clew_record_took_free(session.took);
	clew_layers_free(recording->layers);
	free(recording->layers_text);
	if (session.has_child) {
		if (!session.child_ended)
			wait_for_child(&session);
		if (!status)
			status = clew_child_exit_status(session.child_status);
	}
	unblock_signals(&session, &before);
	return status;
}
