/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rewrites attributes and labels of marks when a trace becomes part of another
 * one: moments by another clock, threads under new names, CPUs, requests and
 * functions with new numbers.
 */
#ifndef CLEW_CONVERT_SHIFT_H
#define CLEW_CONVERT_SHIFT_H

#include "convert/pairs.h"
#include "convert/rows.h"
#include <clew/model.h>

/* The time that a clock which gains `rate` has gained at a moment since `zero`. */
static inline clew_time clew_shift_gained(double rate, clew_time zero, clew_time at)
{
	double gained = rate ? rate * (double)(at - zero) : 0;

	return (clew_time)(gained < 0 ? gained - .5 : gained + .5);
}

struct capture_shift {
	clew_time offset;
	double rate; /* of the clock, beside the offset */
	clew_time zero;
	uint32_t cpus, requests, functions, ends; /* added to their numbers */
	bool has_extent; /* replace the extent of each capture by `start` and `end` */
	clew_time start, end;
	const char *prefix; /* put before names that is_renamed() accepts */
	bool (*is_renamed)(void *context, const char *name);
	void *context;
	struct pairs value, label;
	struct row row;
};

void capture_shift_begin(struct capture_shift *shift);
void capture_shift_done(struct capture_shift *shift);
/* The rewritten value, valid until the next call; `value` itself where nothing
 * changes. NULL: no memory. */
const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value);
/* The same for the label of a mark; on a CPU the label is the name of the
 * thread that runs from there on. */
const char *capture_shift_label(struct capture_shift *shift, const char *label, bool on_cpu);

#endif
