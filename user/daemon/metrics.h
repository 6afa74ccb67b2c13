/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Metrics as text for Prometheus. The number of series is bounded, as sums.h says: the rest is in
 * series of the name "other".
 */
#ifndef CLEW_DAEMON_METRICS_H
#define CLEW_DAEMON_METRICS_H

#include <stdio.h>

#include "daemon/watch.h"

enum clew_metrics_format {
	CLEW_METRICS_TEXT, /* Prometheus text 0.0.4, all that node_exporter reads from a file */
	CLEW_METRICS_OPEN, /* OpenMetrics 1.0 */
};

struct clew_metrics {
	struct clew_watch *watch;
	uint64_t records, lost, missed; /* of the recording */
	uint64_t left_out;		/* records that the builder did not get */
	uint64_t forgotten;		/* by the builder, for want of room */
	uint64_t user_ns, bpf_ns;	/* CPU time */
	uint64_t history_ns;		/* that of the process that keeps the history */
	uint64_t memory;		/* bytes, of both */
	uint64_t window;		/* ns that can be looked back */
};

/* Errors are left on the stream. */
void clew_metrics_write(FILE *out, const struct clew_metrics *metrics,
			enum clew_metrics_format format);

#endif
