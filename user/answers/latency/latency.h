/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lengths by group, of one trace or several: found, in words, and in JSON.
 * docs/answers.md lists the fields.
 */
#ifndef CLEW_ANSWERS_LATENCY_LATENCY_H
#define CLEW_ANSWERS_LATENCY_LATENCY_H

#include <stdio.h>

#include "explain/chosen.h"
#include "explain/latency.h"
#include "explain/latency_find.h"
#include "format/json.h"

/* The things that the histograms are of. */
enum clew_latency_by {
	CLEW_LATENCY_PATH,	/* calls of traced functions, by the functions they were made in */
	CLEW_LATENCY_FUNCTION,	/* the same, whoever called */
	CLEW_LATENCY_KIND,	/* waits, by kind */
	CLEW_LATENCY_CALL,	/* waits, by the system call that waited */
	CLEW_LATENCY_DEVICE,	/* waits for a device's request, by device */
	CLEW_LATENCY_LOCK,	/* waits for a lock, by lock */
	CLEW_LATENCY_PEER,	/* waits for another host's answer, by host and port */
	CLEW_LATENCY_OPERATION, /* operations, by class */
	CLEW_LATENCY_BY_COUNT,
};

/* The properties that groups have besides. */
enum clew_latency_level {
	CLEW_LATENCY_ALL, /* none */
	CLEW_LATENCY_THREAD,
	CLEW_LATENCY_PROCESS,
	CLEW_LATENCY_CGROUP,
	CLEW_LATENCY_COMM,
	CLEW_LATENCY_ARGUMENT, /* of calls, by its name */
	CLEW_LATENCY_LEVEL_COUNT,
};

const char *clew_latency_by_name(enum clew_latency_by by);
/* NULL for CLEW_LATENCY_ALL. */
const char *clew_latency_level_name(enum clew_latency_level level);

#define CLEW_LATENCY_WIDE 120 /* columns in which all figures of a group fit */

struct clew_latency_options {
	enum clew_latency_by by;
	enum clew_latency_level level;
	const char *argument; /* with CLEW_LATENCY_ARGUMENT: its name; lives as long as the program
			       */
	struct clew_chosen chosen;
	uint64_t from; /* ns */
	uint64_t to;
	bool idle; /* idle waits, too */
	struct clew_latency_view view;
	/* Only what ends in this window of a long capture; NULL: all. */
	const struct clew_trace_window *window;
	/* With a window, by operation: as in struct clew_latency_asked. */
	struct vector *longs;
	const struct clew_kind_operation *operations; /* only these; NULL: all */
	size_t operation_count;
	const struct clew_lock_times *locks; /* by lock: only these waits; NULL: all */
	const struct clew_trace *tasks; /* has the tasks of all of the capture; NULL: the trace */
	bool narrow; /* as text: fewer figures, for less than CLEW_LATENCY_WIDE columns */
};

/* Counts of what traces have and no group has. */
struct clew_latency_left_out {
	size_t idle;
	size_t elsewhere; /* by device: waits for none */
};

/* Adds what a trace has to `latency`, and to *left_out. 0 or -ENOMEM. */
int clew_latency_gather(const struct clew_trace *trace, const struct clew_latency_options *options,
			struct clew_latency *latency, struct clew_latency_left_out *left_out);

/*
 * The same thing by thing. `trace` names them, and may still grow; all pointers are the caller's.
 * Free it with clew_latency_names_free(). 0 or -ENOMEM.
 */
struct clew_latency_names;
int clew_latency_names_new(const struct clew_trace *trace,
			   const struct clew_latency_options *options, struct clew_latency *latency,
			   struct clew_latency_left_out *left_out,
			   struct clew_latency_names **ret_names);
void clew_latency_names_free(struct clew_latency_names *names);
/* Puts an item where it belongs. `context`: struct clew_latency_names *. 0 or -ENOMEM. */
int clew_latency_take(void *context, const struct clew_latency_item *item);

/* Finds or makes the group of a call that begins, below that of the call that it was made in
 * (CLEW_NO_NUMBER: none). *ret_group: CLEW_NO_NUMBER if there is no room. 0 or -ENOMEM. */
int clew_latency_enter(struct clew_latency_names *names, const struct clew_trace_task *task,
		       uint32_t parent, const struct clew_frame *frame, uint32_t *ret_group);

/* The fields of the open object. 0 or -ENOMEM. */
int clew_json_latency(struct clew_json *json, const struct clew_latency *latency,
		      const struct clew_latency_options *options, size_t top,
		      const struct clew_latency_left_out *left_out, bool partial);

/* Prints a table of the first `top` groups, and their sums. 0 or -ENOMEM. */
int clew_print_latency(FILE *out, const struct clew_latency *latency,
		       const struct clew_latency_options *options, size_t top,
		       const struct clew_latency_left_out *left_out);

#endif
