/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `clew daemon status`, which the daemon itself gives. */
#ifndef CLEW_ANSWERS_DAEMON_STATUS_H
#define CLEW_ANSWERS_DAEMON_STATUS_H

#include <stdint.h>
#include <stdio.h>

#include "daemon/watch.h"
#include "record/recorder.h"
#include "record/segments.h"

struct clew_daemon_status {
	const struct clew_config *config;
	const struct clew_recorder_summary *recorded;
	struct clew_segments_held held;
	struct clew_watch *watch;
	uint64_t left_out, forgotten; /* as in struct clew_metrics */
	uint64_t bytes;		      /* of the current segment */
	uint64_t started, now;	      /* ns, CLOCK_MONOTONIC */
	uint64_t cpu_time;	      /* since it started, ns */
	uint64_t memory;	      /* bytes */
	/* The same of the process that keeps the history, which the two lack; 0: there is none. */
	uint64_t history_cpu_time, history_memory;
};

/* Both are called in the daemon's process. */
void clew_print_daemon_status(FILE *out, const struct clew_daemon_status *status);
void clew_json_daemon_status(FILE *out, const struct clew_daemon_status *status);

#endif
