/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the daemon's segments one after the other, and writes the history of each period.
 *
 * An operation that the border of a segment cuts is left out. Moments are those of the wall clock
 * now less how long ago they were, so that a step of that clock moves none by more than it.
 */
#include "cli/daemon/daemon_history.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory_left.h"
#include "base/thread.h"
#include "cli/front/fail.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "compare/history.h"
#include "daemon/place.h"

#define LOOK_AGAIN   500000000L	 /* ns */
#define LEAST_PERIOD 1000000000u /* ns */
#define PATIENCE     1000000000u /* ns, at the end */

static volatile sig_atomic_t ending;

/* A history that goes on. */
struct keeping {
	const char *ring, *directory;
	char last[256];	 /* name of the segment that was read last, "" none */
	uint64_t period; /* ns */
	uint64_t from;	 /* of the current period, wall clock; 0: nothing was read in one */
	struct history history;
	bool told; /* that a file cannot be written */
};

static void end_soon(int signal)
{
	(void)signal;
	ending = 1;
}

static void write_period(struct keeping *keeping)
{
	int r;

	if (!keeping->from)
		return;
	r = history_write(&keeping->history, keeping->directory, keeping->from,
			  keeping->from + keeping->period);
	if (r < 0 && !keeping->told)
		clew_fail(0, "%s: %s: the history has a gap until it can be written",
			  keeping->directory, strerror(-r));
	keeping->told = r < 0;
	history_done(&keeping->history);
	history_begin(&keeping->history);
	keeping->from = 0;
}

/* Adds a segment to the period in which it ended. `unfinished`: also one without its end. False: it
 * is still being written. */
static bool take_segment(struct keeping *keeping, const char *path, bool unfinished)
{
	struct clew_selection selection = {};
	const struct clew_chosen chosen = {
		.wants = clew_selection_wants, .context = &selection, .some = true};
	struct clew_trace *trace;
	uint64_t end, from;

	if (clew_open_segment(path, &trace))
		return true;
	if (!unfinished && !clew_trace_info(trace)->complete) {
		clew_trace_free(trace);
		return false;
	}
	end = clock_read(CLOCK_REALTIME) - (clock_read(CLOCK_MONOTONIC) - clew_trace_end(trace));
	from = end - end % keeping->period;
	if (keeping->from && from != keeping->from)
		write_period(keeping);
	if (history_take(&keeping->history, trace, &chosen) < 0)
		clew_fail(0, "the history has a gap: out of memory");
	keeping->from = from;
	clew_trace_free(trace);
	return true;
}

static int is_segment(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") >= 8;
}

/* Reads the segments behind the last one but for the newest, which goes on, and the one before it
 * as long as it lacks its end. */
static void take_segments(struct keeping *keeping)
{
	struct dirent **entries;
	int count = scandir(keeping->ring, &entries, is_segment, alphasort);
	char path[4096];

	for (int i = 0; i < count; i++) {
		if (i + 1 < count && !ending && strcmp(entries[i]->d_name, keeping->last) > 0) {
			snprintf(path, sizeof(path), "%s/%s", keeping->ring, entries[i]->d_name);
			if (take_segment(keeping, path, i + 2 < count))
				snprintf(keeping->last, sizeof(keeping->last), "%s",
					 entries[i]->d_name);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

/* The period, or for tests what the environment says, in ms. */
static uint64_t period_length(void)
{
	const char *text = getenv("CLEW_TEST_HISTORY_PERIOD");
	uint64_t ns = text ? strtoull(text, NULL, 10) * 1000000 : HISTORY_PERIOD;

	return ns > LEAST_PERIOD ? ns : LEAST_PERIOD;
}

static void keep(struct keeping *keeping)
{
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN};
	uint64_t now;

	keeping->period = period_length();
	history_begin(&keeping->history);
	while (!ending) {
		take_segments(keeping);
		now = clock_read(CLOCK_REALTIME);
		/* No segment ended for a period: the machine was suspended, or its clock set. */
		if (keeping->from && now > keeping->from + 2 * keeping->period)
			write_period(keeping);
		nanosleep(&pause, NULL);
	}
	write_period(keeping);
	history_done(&keeping->history);
}

/* Finds the newest segment: those that are there were recorded, and read, by another daemon. */
static void find_last(struct keeping *keeping)
{
	struct dirent **entries;
	int count = scandir(keeping->ring, &entries, is_segment, alphasort);

	if (count > 0)
		snprintf(keeping->last, sizeof(keeping->last), "%s", entries[count - 1]->d_name);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	if (count >= 0)
		free(entries);
}

static void serve(struct keeping *keeping)
{
	const struct sigaction action = {.sa_handler = end_soon};
	sigset_t none;

	descriptors_keep(-1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "clew-history");
	setsid();
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpriority(PRIO_PROCESS, 0, 19);
	memory_yield();
	keep(keeping);
	_exit(0);
}

int daemon_history_begin(const struct clew_config *config, bool background, pid_t *ret_pid)
{
	struct keeping keeping = {.ring = config->ring, .directory = config->history};
	int r;

	*ret_pid = 0;
	if (!config->history)
		return 0;
	r = clew_place_make(config->history);
	if (r < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: %s: name another directory for the history",
				 config->history, strerror(-r));
	find_last(&keeping);
	*ret_pid = fork();
	if (!*ret_pid) {
		if (background)
			clew_place_log();
		serve(&keeping);
	}
	if (*ret_pid < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "%s: raise the limit of processes",
				 strerror(errno));
	return 0;
}

bool daemon_history_is_gone(pid_t *pid)
{
	if (*pid <= 0 || waitpid(*pid, NULL, WNOHANG) == 0)
		return false;
	*pid = 0;
	return true;
}

void daemon_history_end(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	uint64_t until = clock_read(CLOCK_MONOTONIC) + PATIENCE;

	if (pid <= 0)
		return;
	store_thread_hurry_other(pid);
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (clock_read(CLOCK_MONOTONIC) > until)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
}
