/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The daemon, as it describes itself: what it keeps and what it costs. */
#ifndef CLEW_CLI_DAEMON_DAEMON_STATUS_H
#define CLEW_CLI_DAEMON_DAEMON_STATUS_H

#include <stdbool.h>
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
	uint64_t started;	      /* ns, CLOCK_MONOTONIC */
	uint64_t cpu_before;	      /* CPU time until then, ns */
};

/* CPU time of this process and of its children that have ended, ns. */
uint64_t clew_daemon_cpu_time(void);
/* Bytes of this process in memory. */
uint64_t clew_daemon_memory(void);

/* For the daemon's process itself: its CPU time and memory are those of who calls. */
void clew_daemon_status_print(FILE *out, const struct clew_daemon_status *status);
void clew_daemon_status_json(FILE *out, const struct clew_daemon_status *status);

#endif
