/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew snapshot: the last time of a recording that goes on, as one capture. The recording is asked
 * by a signal to end its segment, so that nothing up to now is left out.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/daemon/daemon_ask.h"
#include "cli/front/commands.h"
#include "cli/front/fail.h"
#include "cli/front/options.h"
#include "cli/segments/joining.h"
#include "record/segments.h"

#define PATIENCE   10000000000ull /* ns: for the end of a segment */
#define LOOK_AGAIN 20000000L	  /* ns */

struct snapshot_values {
	const char *output;
	uint64_t last;
	struct clew_window window;
};

const struct clew_option clew_snapshot_options[] = {
	{'o', "output", "FILE", "write the capture there (snapshot.clew; -: standard output)",
	 clew_take_string, offsetof(struct snapshot_values, output)},
	{0, "last", "DURATION", "so long at least, if it is there (all that is kept)",
	 clew_take_seconds, offsetof(struct snapshot_values, last)},
	{0, "from", "TIME", "begin with the segment of that moment, or with the first that is kept",
	 clew_take_string, offsetof(struct snapshot_values, window.from_text)},
	{0, "to", "TIME", "end with the segment of that moment", clew_take_string,
	 offsetof(struct snapshot_values, window.to_text)},
	CLEW_OPTION_END,
};

/* Opens the directory's segments. */
static int open_all(const char *directory, struct clew_joining *joining)
{
	int status;

	clew_join_free(joining->join);
	joining->join = NULL;
	if (clew_join_new(&joining->join) < 0)
		return clew_fail_memory();
	status = clew_joining_directory(joining->join, directory);
	joining->count = status ? 0 : clew_join_sort(joining->join);
	return status;
}

/* True if a segment has ended since the recording was asked; counts those up to it. */
static bool has_ended(struct clew_joining *joining, uint64_t asked)
{
	while (joining->count) {
		const struct clew_join_segment *last =
			clew_join_at(joining->join, joining->count - 1);

		if (last->info->complete && last->info->end >= asked)
			return true;
		joining->count--;
	}
	return false;
}

/* Waits until all records up to now are in segments that have ended. */
static int await_end(const char *directory, int recorder, struct clew_joining *joining)
{
	const struct timespec pause = {.tv_nsec = LOOK_AGAIN};
	uint64_t asked = clock_read(CLOCK_MONOTONIC);
	int status;

	if (kill(recorder, SIGUSR1) < 0)
		return clew_fail(CLEW_EXIT_SYSTEM, "the recording cannot be asked: %s: become root",
				 strerror(errno));
	do {
		nanosleep(&pause, NULL);
		status = open_all(directory, joining);
		if (status || has_ended(joining, asked))
			return status;
	} while (clock_read(CLOCK_MONOTONIC) - asked < PATIENCE);
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "%s: the recording does not answer: see whether it is stopped", directory);
}

static void leave_out_early(struct clew_joining *joining, uint64_t last)
{
	const struct clew_join *join = joining->join;
	uint64_t end = clew_join_at(join, joining->count - 1)->info->end;

	while (last && joining->count > 1 &&
	       clew_join_at(join, joining->first + 1)->info->start + last <= end) {
		joining->first++;
		joining->count--;
	}
}

static int find_recorder(const char *directory, int *ret_pid)
{
	int pid = clew_segments_recorder(directory);

	*ret_pid = pid;
	if (pid == -ESRCH)
		return clew_fail(CLEW_EXIT_INPUT,
				 "%s: nobody records here: `clew join %s` joins what there is",
				 directory, directory);
	if (pid < 0)
		return clew_fail(pid == -EACCES ? CLEW_EXIT_SYSTEM : CLEW_EXIT_INPUT,
				 "%s: %s: name the directory of a recording with --rotate",
				 directory, strerror(-pid));
	return 0;
}

int clew_command_snapshot(const struct clew_command *command, int argc, char **argv)
{
	struct snapshot_values values = {.output = "snapshot.clew"};
	struct clew_joining joining = {};
	char **operands, *ring = NULL;
	int status, recorder;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	if (values.last && clew_window_given(&values.window))
		return clew_fail(CLEW_EXIT_INPUT,
				 "--last and --from or --to choose twice: leave one out");
	if (!operands[0])
		status = clew_daemon_ask("ring", &ring);
	else if (!(ring = strdup(operands[0])))
		status = clew_fail_memory();
	if (!status)
		status = find_recorder(ring, &recorder);
	joining.name = values.output;
	if (!status)
		status = await_end(ring, recorder, &joining);
	if (!status && clew_window_given(&values.window))
		status = clew_joining_choose(&joining, &values.window, true);
	else if (!status)
		leave_out_early(&joining, values.last);
	if (!status)
		status = clew_joining_write(&joining);
	clew_join_free(joining.join);
	free(ring);
	return status;
}
