/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Announced calls and activations of traced functions as slices of a thread's track, in which
 * waits are slices, too. On one track slices have to nest. A call or an activation that does not
 * is to be shown beside: an asynchronous call, and one that ended while its thread slept.
 */
#ifndef CLEW_EXPORT_SLICES_H
#define CLEW_EXPORT_SLICES_H

#include "base/vector.h"
#include "export/export.h"

#define SLICE_NAME_SIZE 512

struct export_slice {
	uint64_t start;
	uint64_t end; /* CLEW_TIME_OPEN: it has none */
	uint32_t task;
	bool beside;
	/* One of them is not NULL. */
	const struct clew_activity *activity;
	const struct clew_trace_frame *frame;
};

/*
 * The slices that are in the export, thread by thread in order of time, an outer one before what
 * lies in it. `slices`: struct export_slice, empty. 0 or -ENOMEM.
 */
int export_slices(const struct clew_export *export, struct vector *slices);

/* "kv.get", or the function's name. */
void export_slice_name(const struct clew_trace *trace, const struct export_slice *slice,
		       char *buffer, size_t size);

/* Calls `take` for each further thing that is known of it, by a key. 0 or -ENOMEM. */
int export_slice_notes(const struct clew_trace *trace, const struct export_slice *slice,
		       void (*take)(void *context, const char *key, const char *value),
		       void *context);

/*
 * Arrows from a call to a call in another thread that is for it, where both are in the export.
 * `arrows`: struct export_arrow, empty; they come in order of `activity`, and each number is there
 * twice: where the arrow begins and where it ends. 0 or -ENOMEM.
 */
struct export_arrow {
	const struct clew_activity *activity;
	uint64_t number; /* from 1 on */
	bool ends;
};
int export_arrows(const struct clew_export *export, struct vector *arrows);
/* The arrows of an activity, and their number. */
const struct export_arrow *export_arrows_of(const struct vector *arrows,
					    const struct clew_activity *activity,
					    size_t *ret_count);

#endif
