/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture's trace among others: what attributes and marks say of moments, threads, CPUs
 * and requests, when the trace gets another clock, and its spans other names and places.
 */
#ifndef CLEW_CONVERT_SHIFT_H
#define CLEW_CONVERT_SHIFT_H

#include "convert/pairs.h"
#include "convert/rows.h"
#include <clew/model.h>

struct capture_shift {
	clew_time offset;
	uint32_t cpus, requests; /* how many there are before its own */
	bool has_extent;	 /* a capture lasts from `start` to `end`: that of all */
	clew_time start, end;
	const char *prefix; /* of the names that are renamed */
	bool (*is_renamed)(void *context, const char *name);
	void *context;
	struct pairs value, label;
	struct row row;
};

void capture_shift_begin(struct capture_shift *shift);
void capture_shift_done(struct capture_shift *shift);
/* A value as it is to be, until the next one; `value` itself where nothing changes. NULL: no
 * memory. */
const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value);
/* The same of a mark's label; on a CPU it is the name of who runs from there on. */
const char *capture_shift_label(struct capture_shift *shift, const char *label, bool on_cpu);

#endif
