/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announced calls and activations of traced functions as begins and ends in order of time. A
 * call begins before those that lie in it, and ends after them. Needs memory for the
 * threads and for the calls that are open at once.
 */
#ifndef CLEW_EXPORT_CALLS_H
#define CLEW_EXPORT_CALLS_H

#include "export/export.h"
#include "trace/frames.h"

struct export_call {
	uint64_t id;	 /* from 1 on; the same whatever part is exported */
	uint64_t parent; /* id of the call of its kind that it lies in; 0 none */
	uint64_t start;
	uint64_t end; /* CLEW_TIME_OPEN: it has none */
	uint32_t task;
	/* One of them is not NULL. */
	const struct clew_activity *activity;
	const struct clew_trace_frame *frame;
};

/* The id of an announced call. */
uint64_t export_activity_id(const struct clew_export *export, const struct clew_activity *activity);

/*
 * Calls `take` for each begin and each end of the calls that are in the export. A negative return
 * ends it, and is returned. 0 or -ENOMEM.
 */
int export_calls(const struct clew_export *export,
		 int (*take)(void *context, const struct export_call *call, bool ends),
		 void *context);

#endif
