/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the daemon's segments one after the other, and writes the history of each period.
 *
 * A few segments are read at once behind the one before them, as one capture, so that operations
 * across their borders are whole. If one began still earlier, up to MOST_BEFORE are read again.
 * Each operation counts where it ends.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory_left.h"
#include "base/thread.h"
#include "cli/front/fail.h"
#include "cli/operand/selection.h"
#include "compare/history.h"
#include "daemon/place.h"
#include "store/join.h"
#include "trace/trace.h"

#define LOOK_AGAIN    500000000L    /* ns */
#define LEAST_PERIOD  1000000000u   /* ns */
#define PATIENCE      10000000000u  /* ns, at the end */
#define LATE	      20000000000u  /* ns: an operation is read that late at most */
#define MOST_TOGETHER 3		    /* segments, and */
#define MOST_BEFORE   6		    /* those before them, */
#define MOST_BYTES    (16ull << 20) /* unless there are so many bytes already */

static volatile sig_atomic_t ending;

/* A history that goes on. */
struct keeping {
	const char *ring, *directory;
	char last[256];	 /* name of the segment that was read last, "" none */
	uint64_t until;	 /* ns, CLOCK_MONOTONIC: its end, 0 none */
	size_t together; /* segments that are read at once */
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

/* ---- segments ---- */

/* The segments of a ring, the oldest first. */
struct ring {
	struct dirent **entries;
	size_t count;
};

/* Segments that are read at once, behind some that were read before. */
struct reading {
	struct clew_join *join;
	size_t before; /* segments that were read before */
	uint64_t bytes;
};

static int is_segment(const struct dirent *entry)
{
	return strspn(entry->d_name, "0123456789") >= 8;
}

static struct ring ring_of(const struct keeping *keeping)
{
	struct ring ring = {};
	int count = scandir(keeping->ring, &ring.entries, is_segment, alphasort);

	ring.count = count > 0 ? (size_t)count : 0;
	if (count < 0)
		ring.entries = NULL;
	return ring;
}

static void ring_done(struct ring *ring)
{
	for (size_t i = 0; i < ring->count; i++)
		free(ring->entries[i]);
	free(ring->entries);
}

/* Opens a segment. False: it cannot be read, or has gone meanwhile. */
static bool open_segment(const struct keeping *keeping, const char *name, struct reading *reading)
{
	char path[4096], message[512];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", keeping->ring, name);
	if (clew_join_add(reading->join, path, message, sizeof(message)) < 0)
		return false;
	reading->bytes += stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
	return true;
}

/* Opens segments that were read before, back from number `end`. */
static void open_before(const struct keeping *keeping, const struct ring *ring, size_t end,
			size_t most, struct reading *reading)
{
	while (end-- && reading->before < most && reading->bytes < MOST_BYTES &&
	       open_segment(keeping, ring->entries[end]->d_name, reading))
		reading->before++;
}

/* ---- operations ---- */

/* The wall clock's time of a moment. It is what the clock says now less how long ago that was, so
 * that a step of the clock moves nothing by more than itself. */
static uint64_t wall_of(uint64_t moment)
{
	return clock_read(CLOCK_REALTIME) - (clock_read(CLOCK_MONOTONIC) - moment);
}

/* Adds a trace to the periods in which its operations end. False: more before it is to be read. */
static bool add_trace(struct keeping *keeping, const struct clew_trace *trace, bool last_try)
{
	struct clew_selection selection = {};
	const struct clew_chosen chosen = {
		.wants = clew_selection_wants, .context = &selection, .some = true};
	uint64_t end = clew_trace_end(trace), from = keeping->until, wall, to;
	size_t cut = 0;

	if (!from || from < clew_trace_start(trace))
		from = clew_trace_start(trace);
	for (; from < end; from = to) {
		wall = wall_of(from);
		wall -= wall % keeping->period;
		to = from + (wall + keeping->period - wall_of(from));
		to = to < end ? to : end;
		if (keeping->from && keeping->from != wall)
			write_period(keeping);
		if (history_take(&keeping->history, trace, &chosen, from, to,
				 last_try ? NULL : &cut) < 0)
			clew_fail(0, "the history has a gap: out of memory");
		/* Periods before this one are whole. */
		if (cut)
			return false;
		keeping->from = wall;
		keeping->until = to;
	}
	return true;
}

static bool read_trace(struct keeping *keeping, struct reading *reading, bool last_try)
{
	const struct clew_trace_options options = {.size = sizeof(options), .live = true};
	size_t count = clew_join_sort(reading->join);
	struct clew_trace *trace;
	bool done;

	if (!count || clew_trace_read_segments(reading->join, 0, count, &options, &trace) < 0)
		return true;
	done = add_trace(keeping, trace, last_try);
	clew_trace_free(trace);
	return done;
}

/* The segments' own losses and cost. */
static void count_segments(struct keeping *keeping, const struct reading *reading)
{
	size_t count = clew_join_sort(reading->join);

	for (size_t i = reading->before; i < count; i++)
		history_count(&keeping->history, clew_join_at(reading->join, i)->info);
}

/* Reads the segments `first` to `end`, and as many before them as their operations need. */
static void take_together(struct keeping *keeping, const struct ring *ring, size_t first,
			  size_t end)
{
	bool done = false;

	for (unsigned try = 0; try < 2 && !done; try++) {
		struct reading reading = {};

		if (clew_join_new(&reading.join) < 0)
			return;
		for (size_t i = first; i < end; i++)
			open_segment(keeping, ring->entries[i]->d_name, &reading);
		open_before(keeping, ring, first, try ? MOST_BEFORE : 1, &reading);
		done = read_trace(keeping, &reading, try || ending || !reading.before);
		if (done)
			count_segments(keeping, &reading);
		clew_join_free(reading.join);
	}
}

/* True if a segment has its end. One that cannot be read has nothing to wait for. */
static bool has_ended(const struct keeping *keeping, const char *name)
{
	char path[4096], message[512];
	struct clew_reader *reader;
	bool ended;

	snprintf(path, sizeof(path), "%s/%s", keeping->ring, name);
	if (clew_reader_open(path, &reader, message, sizeof(message)) < 0)
		return true;
	ended = clew_reader_info(reader)->complete;
	clew_reader_close(reader);
	return ended;
}

/* Reads the segments behind the last one, a few at once, but for the newest, which goes on, and the
 * one before it as long as it lacks its end. */
static void take_segments(struct keeping *keeping)
{
	struct ring ring = ring_of(keeping);
	size_t first = 0, end = ring.count;
	const bool all = ending;

	if (!all && end)
		end--;
	while (first < end && strcmp(ring.entries[first]->d_name, keeping->last) <= 0)
		first++;
	/* Once it is to end, what there is of the period is written first. */
	while (first < end && (all || (!ending && end - first >= keeping->together))) {
		size_t count = end - first < keeping->together ? end - first : keeping->together;

		if (!all && !has_ended(keeping, ring.entries[first + count - 1]->d_name))
			break;
		take_together(keeping, &ring, first, first + count);
		first += count;
		snprintf(keeping->last, sizeof(keeping->last), "%s",
			 ring.entries[first - 1]->d_name);
	}
	ring_done(&ring);
}

/* So many segments that no operation has to wait for long to be seen, and that those before them
 * are still there then. */
static size_t together_of(const struct clew_config *config)
{
	uint64_t rotate = config->rotate.ns, kept = rotate ? config->keep.ns / rotate / 4 : 0,
		 count = rotate ? LATE / rotate : 0;

	count = count < kept ? count : kept;
	count = count < MOST_TOGETHER ? count : MOST_TOGETHER;
	return count ?: 1;
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
	take_segments(keeping);
	write_period(keeping);
	history_done(&keeping->history);
}

/* Finds the newest segment: those that are there were recorded, and read, by another daemon. */
static void find_last(struct keeping *keeping)
{
	struct ring ring = ring_of(keeping);

	if (ring.count)
		snprintf(keeping->last, sizeof(keeping->last), "%s",
			 ring.entries[ring.count - 1]->d_name);
	ring_done(&ring);
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
	struct keeping keeping = {.ring = config->ring,
				  .directory = config->history,
				  .together = together_of(config)};
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
