/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines of a recording that goes on.
 *
 * A command that is recorded has the terminal for itself once it runs.
 */
#include "cli/record/record_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/recorder.h"

#define SECOND 1000000000u /* ns */

void clew_record_progress_begin(struct clew_record_progress *progress, bool command, bool silent)
{
	*progress = (struct clew_record_progress){.terminal = !silent && isatty(STDERR_FILENO),
						  .machine = !command};
	if (progress->terminal)
		fputs("clew: loading\n", stderr);
}

void clew_record_progress_start(struct clew_record_progress *progress, uint64_t duration)
{
	progress->begun = clock_read(CLOCK_MONOTONIC);
	if (!progress->terminal || !progress->machine)
		return;
	if (duration)
		fprintf(stderr, "clew: recording this machine for %g s; Ctrl-C ends it earlier\n",
			(double)duration / SECOND);
	else
		fputs("clew: recording this machine; Ctrl-C ends it\n", stderr);
}

void clew_record_progress_tick(struct clew_record_progress *progress,
			       const struct clew_recorder *recorder)
{
	struct clew_recorder_counts counts;
	uint64_t seconds;

	if (!progress->terminal || !progress->machine)
		return;
	seconds = (clock_read(CLOCK_MONOTONIC) - progress->begun) / SECOND;
	if (seconds == progress->shown)
		return;
	progress->shown = seconds;
	clew_recorder_count(recorder, &counts);
	fprintf(stderr,
		"\rclew: %" PRIu64 " s, %" PRIu64 " records, %.1f MB, lost %" PRIu64 "\033[K",
		seconds, counts.records, (double)counts.bytes / 1e6, counts.lost);
}

void clew_record_progress_end(const struct clew_record_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
