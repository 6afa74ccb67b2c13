/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The load of a machine while it was recorded. */
#ifndef CLEW_COMPARE_LOAD_H
#define CLEW_COMPARE_LOAD_H

#include "compare/compare.h"

/* Adds that of a capture, or of the part of it that is compared, whose losses and cost the caller
 * adds. `found`: the operations that are compared, of which it counts those that are within no
 * others. */
void load_add(struct compare *compare, enum compare_side_name side, const struct clew_trace *trace,
	      const struct clew_operation_classes *found);
/* Adds the losses and the cost of a recording. */
void load_add_cost(struct compare_load *load, const struct clew_capture_info *info);

/* The figures of a load that are compared. */
enum load_figure {
	LOAD_OPERATIONS, /* a second */
	LOAD_THREADS,	 /* that ran */
	LOAD_CPUS,
	LOAD_BUSY,     /* percent of them */
	LOAD_READY,    /* threads that were ready on average */
	LOAD_LIMITED,  /* threads that limits of groups kept waiting, on average */
	LOAD_REQUESTS, /* a second, to disks */
	LOAD_BYTES,    /* a second */
	LOAD_PACKETS,  /* a second, that ended waits */
	LOAD_LOST,     /* records a second */
	LOAD_COST,     /* percent of one CPU that clew took */
	LOAD_FIGURES,
};

/* `captures`: of the side. */
double load_figure(const struct compare_load *load, uint32_t captures, enum load_figure figure);

#endif
