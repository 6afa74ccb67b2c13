/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rewrites attributes and labels of marks when a trace becomes part of another
 * one: moments by another clock, threads under new names, CPUs, devices, requests
 * and functions with new numbers.
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

/*
 * Devices of a trace behind the first one get numbers that no device of those before has: each
 * major one of its own from 512 on, as Linux gives out those below alone. Major 0, that of file
 * systems without a disk, stays; of it, each block of minors gets another one. Numbers that there
 * is no room for stay as they are.
 */
#define CAPTURE_SHIFT_MAJORS 4096
#define CAPTURE_SHIFT_BLOCKS 64

struct capture_shift_devices {
	bool first;	       /* the first trace is at hand: its devices stay */
	uint32_t major, block; /* the next ones that are free */
	/* For each major and block of the trace at hand, one behind the other; 0: not met yet. */
	uint16_t becomes[CAPTURE_SHIFT_MAJORS + CAPTURE_SHIFT_BLOCKS];
};

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
	struct capture_shift_devices *devices; /* NULL: their numbers stay */
	uint32_t on;	  /* the device that the list of attributes at hand names, 0 none */
	const char *host; /* said with the names of disks; NULL: none is */
	struct pairs value, label, key;
	struct row row;
};

void capture_shift_begin(struct capture_shift *shift);
void capture_shift_done(struct capture_shift *shift);
/* Another trace is at hand. */
void capture_shift_next(struct capture_shift_devices *devices, bool first);
/* True for the key of a disk's name: "text." and a number. */
bool capture_names_disk(const char *key);
/* The rewritten key, as capture_shift_value() has the value. */
const char *capture_shift_key(struct capture_shift *shift, const char *key);
/* The rewritten value, valid until the next call; `value` itself where nothing
 * changes. NULL: no memory. */
const char *capture_shift_value(struct capture_shift *shift, const char *key, const char *value);
/* The same for the label of a mark; on a CPU the label is the name of the
 * thread that runs from there on. */
const char *capture_shift_label(struct capture_shift *shift, const char *label, bool on_cpu);

#endif
