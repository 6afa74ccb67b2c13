/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recording a live machine: loads and attaches the kernel side, drains its
 * rings to the takers of records, of which the capture file is one, and stops
 * without losing a record that a program has reserved.
 *
 * The steps of a recording: open (load, attach); start (pass over the tasks,
 * enable the programs, a second pass); keep (begin the file); ticks; stop
 * (disable the programs, wait for those that run, last drain, last pass,
 * ledger, close). One thread calls these functions. Except where another
 * contract is stated they return 0 or -errno with a message.
 */
#ifndef CLEW_RECORD_RECORDER_H
#define CLEW_RECORD_RECORDER_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/message.h"
#include "record/taker.h"
#include "relate/layer.h"
#include "store/capture.h"
#include "symbol/function.h"

struct clew_recorder;

#define CLEW_NAMES_MOST (128u << 20) /* bytes */

/* What to do if the capture cannot be written, unless the options say something else. */
#define CLEW_ELSEWHERE "give another -o"

struct clew_recorder_options {
	const char *output;
	const char *elsewhere; /* what to do if it cannot be written; NULL: CLEW_ELSEWHERE */
	/* Without any of these filters all waits have full detail. */
	const pid_t *pids; /* processes, with all their threads */
	size_t pid_count;
	const pid_t *tids;
	size_t tid_count;
	const char *comm;	 /* glob, or NULL */
	const char *cgroup;	 /* path of a cgroup directory, glob of its path, or NULL */
	const char *container;	 /* name or beginning of an id, or NULL */
	const char *command;	 /* the file's "command", or NULL */
	const char *program;	 /* the program that the command runs, or NULL */
	const char *environment; /* names of variables, separated by commas, or NULL */
	const char *layers_text; /* descriptions of layers, for the file, or NULL */
	const struct clew_layers *layers; /* the same, parsed, or NULL; the caller keeps them */
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
	bool no_page_cache;	 /* do not record the page cache and the journals */
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

/*
 * Changes options so that the recorder fits into what the memory cgroups of this process leave:
 * stacks that are taken if possible go first, then the rings become smaller, unless their size is
 * not 0. 0, and what was changed in message->text ("" nothing); or -ENOMEM: not even the smallest
 * rings fit.
 */
int clew_recorder_fit(struct clew_recorder_options *options, struct clew_message *message);

/* Raises the process's limit of open files as far as it may: each program and each CPU needs some.
 * Processes that exist already keep theirs. */
void clew_recorder_raise_files(void);

int clew_recorder_open(const struct clew_recorder_options *options,
		       struct clew_recorder **ret_recorder, struct clew_message *message);
int clew_recorder_start(struct clew_recorder *recorder, struct clew_message *message);

/* True if an error may pass: descriptors or memory are short. The recording goes on. */
static inline bool clew_is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

/*
 * Begins the file with what was recorded since the start. Until then a file of
 * that name stays as it is.
 */
int clew_recorder_keep(struct clew_recorder *recorder, struct clew_message *message);

/*
 * To be called some ten times a second while recording: samples the cost,
 * writes clocks, looks for new modules. 0 or the file's first error, without a
 * message.
 */
int clew_recorder_tick(struct clew_recorder *recorder);

/*
 * To be called as often: makes a keyframe if it is time for one. After an error the recording is to
 * be stopped.
 */
int clew_recorder_keyframe(struct clew_recorder *recorder, struct clew_message *message);

/*
 * Goes over to another file, without a gap, and closes the one before. Each file can be read
 * alone. After an error the recording is to be stopped.
 */
int clew_recorder_go_on(struct clew_recorder *recorder, const char *path,
			struct clew_message *message);

/*
 * Since when some ring may not have been emptied, ns of CLOCK_MONOTONIC; 0: since the start. It
 * lies back by some 30 ms unless a thread that empties rings stands still.
 */
uint64_t clew_recorder_drained(const struct clew_recorder *recorder);

/* Bytes of the current file so far. */
uint64_t clew_recorder_file_bytes(const struct clew_recorder *recorder);

/* What was recorded so far: the programs' records, of any file, and those that they lost. */
struct clew_recorder_counts {
	uint64_t records;
	uint64_t lost;
	uint64_t bytes; /* of all files */
};

/* While it records. It reads some counters of each CPU. */
void clew_recorder_count(const struct clew_recorder *recorder,
			 struct clew_recorder_counts *ret_counts);

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
	size_t late_files; /* left out, as they did not open in time */
	struct clew_dropped_function *dropped;
	size_t dropped_count;
};

/* Frees what a summary has. */
void clew_recorder_summary_done(struct clew_recorder_summary *summary);

/* Of the files that were ended, as far as it is known of each by then. */
const struct clew_recorder_summary *clew_recorder_so_far(const struct clew_recorder *recorder);

/*
 * Stops the recording and closes the file; to be called after a failed start
 * too. It frees the recorder whatever it returns.
 */
int clew_recorder_stop(struct clew_recorder *recorder, struct clew_recorder_summary *ret_summary,
		       struct clew_message *message);

#endif
