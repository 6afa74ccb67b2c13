/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One recording: what is asked of it, and what it has when it ends. The folders
 * that do a part of it include this; record/recorder.h starts and stops it.
 */
#ifndef CLEW_RECORD_STREAM_RECORDING_H
#define CLEW_RECORD_STREAM_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/stream/taker.h"
#include "relate/layer.h"
#include "store/capture.h"
#include "symbol/code/function.h"

struct clew_recorder;

#define CLEW_NAMES_MOST (128u << 20) /* bytes */

/* The advice if the capture cannot be written, unless the options say something else. */
#define CLEW_ELSEWHERE "give another -o"

/* The control group that a recording is about; at most one of them is set. */
struct clew_group_wanted {
	const char *cgroup;    /* path of its directory, or a glob of its path */
	const char *container; /* name, or the beginning of an id */
	const char *pod;       /* POD or NAMESPACE/POD */
	const char *unit;      /* of systemd */
};

static inline bool clew_group_is_wanted(const struct clew_group_wanted *wanted)
{
	return wanted->cgroup || wanted->container || wanted->pod || wanted->unit;
}

struct clew_recorder_options {
	const char *output;
	const char *elsewhere; /* what to do if it cannot be written; NULL: CLEW_ELSEWHERE */
	/* Without any of these filters all waits have full detail. */
	const pid_t *pids; /* processes, with all their threads */
	size_t pid_count;
	const pid_t *tids;
	size_t tid_count;
	const char *comm; /* glob, or NULL */
	struct clew_group_wanted group;
	const char *command;		  /* the file's "command", or NULL */
	const char *program;		  /* the program that the command runs, or NULL */
	const char *environment;	  /* names of variables, separated by commas, or NULL */
	const char *layers_text;	  /* descriptions of layers, for the file, or NULL */
	const struct clew_layers *layers; /* the same, parsed, or NULL; the caller keeps them */
	bool runtimes_auto;  /* of the runtimes, those that the chosen processes have */
	bool stepped_points; /* runtimes may have points that the kernel single-steps */
	const struct clew_record_taker *takers; /* further ones; the array is copied */
	size_t taker_count;
	const char *const *functions;	 /* that are recorded, each as OBJECT:GLOB (choice.h) */
	size_t function_count;		 /* CLEW_CHOICES_MOST at most */
	const char *const *lock_objects; /* files and processes whose locks are recorded even if
					    nobody waits for them, as the OBJECT of a function */
	size_t lock_object_count;
	const char *const *points; /* probes that programs carry, as PROVIDER:NAME (choice.h) */
	size_t point_count;
	const char *const *kernel_functions; /* globs of functions of the kernel */
	size_t kernel_function_count;
	uint32_t functions_most;
	unsigned
		functions_percent; /* of one CPU that their calls may cost, 0: as much as they do */
	enum clew_returns_wanted returns;
	bool strict_entry;	       /* as in struct clew_functions_options */
	void (*say)(const char *line); /* takes what the kernel refuses, and what functions will
					  cost before they are attached to; or NULL */
	size_t ring_size;	       /* bytes a CPU, 0: min(8 MiB, 512 MiB / CPUs) */
	uint64_t pause_drain;	  /* for tests of losses: ns that the drain waits after the start */
	uint64_t stack_threshold; /* ns: stacks of waits that are as long or longer; 0: no stacks */
	size_t names_most;	  /* bytes that names of functions may take; 0: CLEW_NAMES_MOST */
	bool stacks_if_possible; /* without them where the kernel or a memory cgroup refuses them */
	bool messages;	     /* record what is sent and received, where the kernel shows it .. */
	bool messages_asked; /* .. and say so where it does not */
	pid_t messages_of;   /* .. by this process and its children; 0: by all with full detail */
	uint8_t network;     /* CLEW_NETWORK_*: connections whose messages are recorded anyway */
	const char *const *outside; /* devices that lead to other hosts */
	size_t outside_count;	    /* CLEW_OUTSIDE_MOST at most */
	bool no_page_cache;	    /* do not record the page cache and the journals */
	bool found_only; /* what passes over the tasks find: nothing is recorded between them */
	bool sync;
	uint64_t keyframe;   /* ns between two moments from which on the file can be read, 0: there
				are   none; not with `goes_on` */
	bool goes_on;	     /* clew_recorder_go_on() may be called; strings stay until the stop */
	bool trace_events;   /* for tests: attach to functions as before Linux 6.6 */
	bool few_task_slots; /* for tests: most tasks find no slot for their state */
	bool verify;	     /* for tests: count switches a second time, to check the ledger */
};

/* True if it is recorded when tasks are in functions. */
static inline bool clew_records_functions(const struct clew_recorder_options *options)
{
	return options->function_count || options->lock_object_count || options->point_count ||
	       options->kernel_function_count;
}

/* True if runtimes are described. */
static inline bool clew_records_runtimes(const struct clew_recorder_options *options)
{
	return options->layers && options->layers->runtime_count;
}

/*
 * Since when some ring may not have been emptied, ns of CLOCK_MONOTONIC; 0: since the start. It
 * lies back by some 30 ms unless a thread that empties rings stands still.
 */
uint64_t clew_recorder_drained(const struct clew_recorder *recorder);

/* A function whose calls cost too much. */
struct clew_dropped_function {
	char *name; /* as in its symbol table */
	double calls_per_second;
	double share; /* of one CPU */
};

struct clew_recorder_summary { /* of all files */
	uint64_t duration;
	uint64_t records;
	uint64_t lost;
	uint64_t missed;
	uint64_t missed_by[CLEW_KIND_COUNT];
	uint64_t bytes;
	uint64_t verified_switches; /* by the second count, if options.verify */
	uint64_t seen_switches;
	bool balanced;
	struct clew_cost cost;
	char *left_alone;  /* probes that were, as the capture has them (docs/file-format.md), NULL
			      none */
	char *runtimes;	   /* what became of them, as clew_runtimes_close() has it; NULL none */
	size_t late_files; /* left out, as they did not open in time */
	struct clew_dropped_function *dropped;
	size_t dropped_count;
};

#endif
