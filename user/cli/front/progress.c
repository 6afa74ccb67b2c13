/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Progress on a terminal. */
#include "cli/front/progress.h"

#include "base/clock.h"
#include <stdio.h>
#include <unistd.h>

#define SHOW_AFTER_NS UINT64_C(500000000)
#define SHOW_EVERY_NS UINT64_C(100000000)

void clew_progress_begin(struct clew_progress *progress, const char *what)
{
	*progress = (struct clew_progress){.what = what,
					   .begun = clock_read(CLOCK_MONOTONIC),
					   .terminal = isatty(STDERR_FILENO)};
}

void clew_progress_update(void *context, double done)
{
	struct clew_progress *progress = context;
	uint64_t at;

	if (!progress->terminal)
		return;
	at = clock_read(CLOCK_MONOTONIC);
	if (at - progress->begun < SHOW_AFTER_NS || at - progress->shown < SHOW_EVERY_NS)
		return;
	progress->shown = at;
	fprintf(stderr, "\rclew: %s: %3.0f %%", progress->what, done * 100);
	fflush(stderr);
}

void clew_progress_end(struct clew_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
