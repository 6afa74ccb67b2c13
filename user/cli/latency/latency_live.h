/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew latency --live: waits while they are recorded. */
#ifndef CLEW_CLI_LATENCY_LATENCY_LIVE_H
#define CLEW_CLI_LATENCY_LATENCY_LIVE_H

#include "answers/latency/latency.h"
#include "cli/operand/selection.h"
#include "cli/record/recording.h"

struct clew_latency_live {
	struct clew_recording *recording;
	struct clew_selection *selection;
	const struct clew_latency_options *options; /* by kind, call or device */
	unsigned digits;
	size_t top;
	bool json;
};

/*
 * Records, and prints the waits so far each second: on a terminal in place of what was there
 * before, else one after the other. The last answer comes when the recording is over. Returns an
 * exit status.
 */
int clew_latency_live_run(const struct clew_latency_live *live);

#endif
