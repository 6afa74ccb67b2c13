/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew daemon: a recording in segments that goes on until it is told to stop, one a machine.
 *
 * The main thread ticks some ten times a second: it goes over to the next segment, answers who asks
 * at the socket, and resets the service manager's watchdog while all threads run. SIGHUP has the
 * configuration read again; a wrong one changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers/daemon/status.h"
#include "base/clock.h"
#include "base/thread.h"
#include "cli/daemon/daemon_ask.h"
#include "cli/daemon/daemon_cost.h"
#include "cli/daemon/daemon_history.h"
#include "cli/daemon/daemon_maker.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/front/write.h"
#include "cli/record/recording.h"
#include "daemon/control.h"
#include "daemon/http.h"
#include "daemon/metrics.h"
#include "daemon/notify.h"
#include "daemon/place.h"
#include "daemon/watch.h"
#include "live/live.h"
#include "record/stream/kernel.h"

/* A rule fires that much later at most. On an idle machine each look costs 40 us of CPU time. */
#define LIVE_PAUSE 50000000 /* ns */
/* The capture of an incident goes on that long behind what the rule fired for, ns. */
#define AFTER 500000000ull

#define METRICS_PERIOD 10000000000ull  /* ns */
#define METRICS_AGAIN  600000000000ull /* ns: after the file could not be written */

struct daemon_values {
	const char *config;
	bool foreground;
	bool json;
};

const struct clew_option clew_daemon_options[] = {
	{'c', "config", "FILE", "read this configuration (" CLEW_CONFIG_FILE ", if it is there)",
	 clew_take_string, offsetof(struct daemon_values, config)},
	{0, "foreground", NULL, "stay in the foreground, for a service manager", clew_take_flag,
	 offsetof(struct daemon_values, foreground)},
	{0, "json", NULL, "of status: print one JSON object", clew_take_flag,
	 offsetof(struct daemon_values, json)},
	CLEW_OPTION_END,
};

struct daemon {
	struct clew_config config;
	struct clew_recording recording;
	struct clew_control *control;
	struct clew_http *http; /* NULL: none */
	struct clew_watch *watch;
	struct clew_live *live;
	struct daemon_maker maker;
	pid_t history;				       /* the process that keeps it, 0: none does */
	struct clew_firing firings[DAEMON_MAKER_MOST]; /* whose segment has not ended yet */
	size_t firing_count;
	bool ending; /* of that segment was asked for */
	int lock;
	int failed;	  /* an exit status */
	int waiting;	  /* a pipe to the process that waits until this one is ready, -1: none */
	uint64_t started; /* ns, CLOCK_MONOTONIC; 0: it does not record yet */
	uint64_t cpu_before; /* CPU time until then, ns */
	uint64_t watchdog;   /* ns: the manager's watchdog timeout, 0: it has none */
	uint64_t patted;     /* ns: when the daemon last reset it */
	bool told;	     /* that a thread stands still */
	uint64_t metrics;    /* ns: when they are due */
};

/* ---- the configuration ---- */

static int load_config(const char *file, struct clew_config *ret_config)
{
	struct clew_message message;
	int r;

	if (!file && access(CLEW_CONFIG_FILE, F_OK) < 0 && errno == ENOENT)
		return clew_config_init(ret_config) < 0 ? clew_fail_memory() : 0;
	r = clew_config_read(file ?: CLEW_CONFIG_FILE, ret_config, &message);
	if (r < 0)
		return clew_fail(r == -ENOMEM ? CLEW_EXIT_SYSTEM : CLEW_EXIT_INPUT, "%s",
				 message.text);
	return 0;
}

/* The names are those of the configuration in force. */
static void set_outside(struct daemon *daemon)
{
	struct clew_function_list *outside = &daemon->recording.outside;

	for (outside->count = 0; outside->count < daemon->config.outside_count; outside->count++)
		outside->texts[outside->count] = daemon->config.outside[outside->count];
}

static void set_recording(struct daemon *daemon)
{
	struct clew_recording *recording = &daemon->recording;

	recording->output = daemon->config.ring;
	recording->elsewhere = "keep less, or name another ring, in the configuration";
	recording->rotation.rotate = daemon->config.rotate;
	recording->rotation.keep = daemon->config.keep;
	recording->stacks = daemon->config.stacks;
	recording->names_most = daemon->config.memory.bytes;
	recording->no_page_cache = !daemon->config.page_cache;
	set_outside(daemon);
	recording->messages_if_shown = daemon->config.messages;
	recording->runtimes = daemon->config.runtimes;
}

/* Reads the configuration again; without one that is right, the old one stays. */
static void reload(struct daemon *daemon)
{
	struct clew_config config;
	const char *fixed;
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_read(CLOCK_MONOTONIC) / 1000));
	clew_notify(state);
	if (!load_config(daemon->config.file, &config)) {
		fixed = clew_config_fixed(&daemon->config, &config);
		if (fixed) {
			clew_fail(0,
				  "the configuration stays as it was: %s changes only when the "
				  "daemon is started again",
				  fixed);
			clew_config_done(&config);
		} else {
			clew_config_done(&daemon->config);
			daemon->config = config;
			daemon->recording.output = config.ring;
			set_outside(daemon);
			daemon->metrics = 0;
			clew_rotation_change(&daemon->recording.rotation, config.rotate,
					     config.keep);
			if (clew_watch_set_rules(daemon->watch, config.rules, config.rule_count) <
			    0)
				clew_fail_memory();
		}
	}
	clew_notify("READY=1");
}

/* ---- while it records ---- */

static void write_metrics(void *context, FILE *out, enum clew_metrics_format format)
{
	struct daemon *daemon = context;
	const struct clew_recorder_summary *recorded =
		clew_recorder_so_far(daemon->recording.recorder);
	const struct clew_metrics metrics = {
		.watch = daemon->watch,
		.records = recorded->records,
		.lost = recorded->lost,
		.missed = recorded->missed,
		.left_out = clew_live_missed(daemon->live),
		.forgotten = clew_live_forgotten(daemon->live),
		.user_ns = clew_daemon_cpu_time() - daemon->cpu_before,
		.bpf_ns = recorded->cost.bpf_ns,
		.history_ns = clew_daemon_cpu_time_of(daemon->history),
		.memory = clew_daemon_memory() + clew_daemon_memory_of(daemon->history),
		.window = clock_read(CLOCK_MONOTONIC) -
			  clew_segments_held(daemon->recording.rotation.segments).since,
	};

	clew_metrics_write(out, &metrics, format);
}

static int write_metrics_file(void *context, FILE *out)
{
	write_metrics(context, out, CLEW_METRICS_TEXT);
	return 0;
}

static char *answer(void *context, const char *request)
{
	struct daemon *daemon = context;
	struct clew_daemon_status status = {
		.config = &daemon->config,
		.recorded = clew_recorder_so_far(daemon->recording.recorder),
		.held = clew_segments_held(daemon->recording.rotation.segments),
		.bytes = clew_recorder_file_bytes(daemon->recording.recorder),
		.watch = daemon->watch,
		.left_out = clew_live_missed(daemon->live),
		.forgotten = clew_live_forgotten(daemon->live),
		.started = daemon->started,
		.now = clock_read(CLOCK_MONOTONIC),
		.cpu_time = clew_daemon_cpu_time() - daemon->cpu_before,
		.memory = clew_daemon_memory(),
		.history_cpu_time = clew_daemon_cpu_time_of(daemon->history),
		.history_memory = clew_daemon_memory_of(daemon->history),
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (!strcmp(request, "ring"))
		fputs(daemon->config.ring, out);
	else if (!strcmp(request, "incidents"))
		fputs(daemon->config.incidents, out);
	else if (!strcmp(request, "status"))
		clew_print_daemon_status(out, &status);
	else if (!strcmp(request, "status json"))
		clew_json_daemon_status(out, &status);
	else
		fputs("?\n", out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The process that started the daemon need not wait any more. From now on it speaks to a file. */
static void end_waiting(struct daemon *daemon)
{
	if (daemon->waiting < 0)
		return;
	clew_place_log();
	if (write(daemon->waiting, "", 1) < 0)
		clew_fail(0, "nobody waited for the daemon to begin: it goes on");
	close(daemon->waiting);
	daemon->waiting = -1;
}

static void tell_metrics(struct daemon *daemon, uint64_t now)
{
	const char *file = daemon->config.metrics_file;

	if (!file || now < daemon->metrics)
		return;
	daemon->metrics =
		now + (clew_write_file(file, write_metrics_file, daemon) ? METRICS_AGAIN
									 : METRICS_PERIOD);
}

/* Has an incident made of each firing whose segment has ended. */
static void pass_on(struct daemon *daemon)
{
	for (size_t i = 0; i < daemon->firing_count; i++)
		if (!daemon_maker_ask(&daemon->maker, &daemon->config, &daemon->firings[i]))
			clew_watch_suppress(daemon->watch, daemon->firings[i].rule);
	daemon->firing_count = 0;
	daemon->ending = false;
}

/*
 * Takes what rules fired for. Once that lies back far enough, the current segment ends: the main
 * loop does that before the next tick.
 */
static void take_firings(struct daemon *daemon, uint64_t now)
{
	struct clew_rotation *rotation = &daemon->recording.rotation;
	struct clew_made made;

	if (daemon->ending && !rotation->now)
		pass_on(daemon);
	while (!daemon->ending && daemon->firing_count < DAEMON_MAKER_MOST &&
	       clew_watch_next(daemon->watch, &daemon->firings[daemon->firing_count]))
		daemon->firing_count++;
	if (daemon->firing_count && !daemon->ending &&
	    daemon->firings[daemon->firing_count - 1].slow.at + AFTER < now)
		daemon->ending = rotation->now = true;
	while (daemon_maker_result(&daemon->maker, &made))
		clew_watch_count(daemon->watch, &made);
}

/*
 * Resets the service manager's watchdog if each thread that drains rings and the thread that feeds
 * the builder have completed a loop since the last reset.
 */
static void pat(struct daemon *daemon, uint64_t now)
{
	const uint64_t waited = now - daemon->patted, watchdog = daemon->watchdog;
	bool drained, fed;

	if (!watchdog || waited <= watchdog / 3)
		return;
	drained = clew_recorder_drained(daemon->recording.recorder) > daemon->patted;
	fed = clew_live_went_round(daemon->live) > daemon->patted;
	if (drained && fed) {
		clew_notify("WATCHDOG=1");
		daemon->patted = now;
		daemon->told = false;
	} else if (!daemon->told && waited > watchdog * 2 / 3) {
		clew_fail(0,
			  "the thread that %s stands still: the service manager is not told any "
			  "more that all is well",
			  drained ? "feeds the builder" : "empties the rings");
		daemon->told = true;
	}
}

static bool tick(void *context)
{
	struct daemon *daemon = context;
	uint64_t now = clock_read(CLOCK_MONOTONIC);

	if (!daemon->started) {
		daemon->started = daemon->patted = now;
		daemon->cpu_before = clew_daemon_cpu_time();
		end_waiting(daemon);
	}
	take_firings(daemon, now);
	tell_metrics(daemon, now);
	clew_control_serve(daemon->control, answer, daemon);
	if (daemon->http)
		clew_http_serve(daemon->http, write_metrics, daemon);
	pat(daemon, now);
	if (daemon_history_is_gone(&daemon->history))
		clew_fail(0, "the process that keeps the history has ended, perhaps for want of "
			     "memory: start the daemon again to have one");
	if (!daemon_maker_is_gone(&daemon->maker))
		return true;
	daemon->failed = clew_fail(CLEW_EXIT_SYSTEM, "the process that makes incidents has ended: "
						     "start the daemon again");
	return false;
}

static bool take_signal(void *context, int number)
{
	if (number == SIGHUP) {
		reload(context);
		return true;
	}
	clew_notify("STOPPING=1");
	store_thread_hurry();
	return false;
}

/* ---- beginning and ending ---- */

/*
 * Goes on in a child in the background. In the parent, which waits until the child is ready,
 * *ret_parent is true; it returns what the command returns.
 */
static int go_to_background(struct daemon *daemon, bool *ret_parent)
{
	int ends[2], state;
	char byte;
	pid_t pid;

	*ret_parent = true;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: try again", strerror(errno));
	pid = fork();
	if (pid < 0)
		return clew_fail(CLEW_EXIT_SYSTEM,
				 "no process for the daemon: %s: raise the limit "
				 "of processes",
				 strerror(errno));
	if (!pid) {
		*ret_parent = false;
		close(ends[0]);
		daemon->waiting = ends[1];
		setsid();
		return chdir("/") < 0
			       ? clew_fail(CLEW_EXIT_SYSTEM, "/: %s: mend it", strerror(errno))
			       : 0;
	}
	close(ends[1]);
	state = read(ends[0], &byte, 1) == 1 ? 0 : -1;
	if (state == 0)
		return 0;
	waitpid(pid, &state, 0);
	return WIFEXITED(state) ? WEXITSTATUS(state) : CLEW_EXIT_SYSTEM;
}

/* Records, with a live builder beside. */
static int record_live(struct daemon *daemon)
{
	const struct clew_finding_taker taker = clew_watch_taker(daemon->watch);
	struct clew_live_options options = {.size = sizeof(options),
					    .cpus = (unsigned)clew_kernel_cpus(),
					    .pause = LIVE_PAUSE,
					    .takers = &taker,
					    .taker_count = 1};
	char *no_command[] = {NULL};
	struct clew_record_taker records;
	struct clew_live_summary summary;
	struct clew_live *live;
	bool recorded;
	int status;

	if (clew_live_new(&options, &live) < 0)
		return clew_fail_memory();
	records = clew_live_taker(live);
	daemon->live = live;
	set_recording(daemon);
	daemon->recording.taker = &records;
	daemon->recording.tick = tick;
	daemon->recording.signal = take_signal;
	daemon->recording.tick_context = daemon;
	/* Whoever started it may ignore it. */
	signal(SIGHUP, SIG_DFL);
	status = clew_recording_run(&daemon->recording, no_command, &recorded);
	/* Whoever waits for it to begin waits in vain. */
	if (!status && daemon->waiting >= 0)
		status = CLEW_EXIT_NEGATIVE;
	if (clew_live_finish(live, &summary) < 0 && !status)
		status = clew_fail(CLEW_EXIT_SYSTEM,
				   "the live builder failed: start the daemon again");
	clew_live_free(live);
	return status ?: daemon->failed;
}

static int record(struct daemon *daemon)
{
	struct clew_message message;
	char path[4096];
	int status = 0, r = clew_place_make(daemon->config.ring);

	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another ring", daemon->config.ring,
				 strerror(-r));
	clew_place_tell_ring(daemon->config.ring);
	clew_place_tell_history(daemon->config.history);
	clew_place_path("control", path, sizeof(path));
	if (clew_control_new(path, &daemon->control, &message) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s", message.text);
	if (daemon->config.metrics_address &&
	    clew_http_new(daemon->config.metrics_address, &daemon->http, &message) < 0)
		status = clew_fail(CLEW_EXIT_SYSTEM, "%s", message.text);
	if (!status)
		status = daemon_maker_begin(&daemon->maker, daemon->waiting >= 0);
	if (!status)
		status = daemon_history_begin(&daemon->config, daemon->waiting >= 0,
					      &daemon->history);
	if (!status && (clew_watch_new(&daemon->watch) < 0 ||
			clew_watch_set_rules(daemon->watch, daemon->config.rules,
					     daemon->config.rule_count) < 0))
		status = clew_fail_memory();
	if (!status)
		status = record_live(daemon);
	daemon_history_end(daemon->history);
	if (daemon->maker.pid)
		daemon_maker_end(&daemon->maker);
	clew_http_free(daemon->http);
	clew_watch_free(daemon->watch);
	clew_control_free(daemon->control);
	return status;
}

/* The path of the configuration from wherever the daemon is later; NULL: none, or no memory. */
static char *absolute(const char *file)
{
	char *folder, *path = NULL;

	if (!file || file[0] == '/')
		return file ? strdup(file) : NULL;
	folder = getcwd(NULL, 0);
	if (!folder || asprintf(&path, "%s/%s", folder, file) < 0)
		path = NULL;
	free(folder);
	return path;
}

static int run(const struct daemon_values *values)
{
	struct daemon daemon = {.waiting = -1, .watchdog = clew_notify_watchdog()};
	struct clew_message message;
	bool parent = false;
	char *file = absolute(values->config);
	int status =
		values->config && !file ? clew_fail_memory() : load_config(file, &daemon.config);

	free(file);
	if (status)
		return status;
	if (clew_place_lock(&daemon.lock, &message) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s", message.text);
	if (!values->foreground)
		status = go_to_background(&daemon, &parent);
	if (!parent && !status) {
		clew_place_tell(daemon.lock, getpid());
		status = record(&daemon);
	}
	clew_config_done(&daemon.config);
	close(daemon.lock);
	return status;
}

int clew_command_daemon(const struct clew_command *command, int argc, char **argv)
{
	struct daemon_values values = {};
	char **operands, *text;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (!operands[0] && values.json)
		return clew_fail(CLEW_EXIT_INPUT, "daemon: --json goes with status: add it");
	if (!operands[0])
		return run(&values);
	if (!strcmp(operands[0], "stop"))
		return values.json ? clew_fail(CLEW_EXIT_INPUT,
					       "daemon: --json goes with status: leave it out")
				   : clew_daemon_stop();
	if (strcmp(operands[0], "status") != 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "daemon: '%s' is nothing that it does: write clew daemon status, "
				 "or clew daemon stop",
				 operands[0]);
	status = clew_daemon_ask(values.json ? "status json" : "status", &text);
	if (status)
		return status;
	fputs(text, stdout);
	free(text);
	return 0;
}
