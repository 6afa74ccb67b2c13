/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recording from its options to its last line, with the command that it is of. */
#ifndef CLEW_CLI_RECORD_RECORDING_H
#define CLEW_CLI_RECORD_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/front/options.h"
#include "cli/operand/layers.h"
#include "cli/record/record_segments.h"
#include "record/functions/choice.h"
#include "record/stream/taker.h"
#include "symbol/code/function.h"

#define CLEW_PIDS_MOST	    1024
#define CLEW_KEYFRAME_USUAL 10000000000u /* ns */

struct clew_pid_list {
	pid_t pids[CLEW_PIDS_MOST];
	size_t count;
};

struct clew_function_list {
	const char *texts[CLEW_CHOICES_MOST];
	size_t count;
};

struct clew_recording {
	const char *output;    /* a path, of a directory with --rotate */
	const char *elsewhere; /* what to do if it cannot be written; NULL: give another -o */
	const char *title;     /* what messages call the output; NULL: that path */
	struct clew_rotation rotation;
	uint64_t duration; /* ns, 0: no limit */
	bool says_took;	   /* on a terminal, what the command took and what for */
	uint64_t keyframe; /* ns between two keyframes, 0: none */
	struct clew_pid_list pids;
	struct clew_pid_list tids;
	const char *comm;
	struct clew_group_wanted group;
	bool sync;
	uint64_t ring_size;
	uint64_t pause_drain;
	bool few_task_slots;
	bool trace_events;
	bool verify;
	bool stacks;		 /* taken, or the recording is refused */
	bool stacks_if_possible; /* where neither of the others is set */
	bool no_stacks;
	uint64_t names_most; /* bytes for names of functions; 0: the usual */
	uint64_t stack_min;  /* ns; 0: the usual one */
	bool no_page_cache;
	bool messages;		/* of all threads with full detail */
	bool messages_if_shown; /* the same; nothing is said if the kernel does not show them */
	bool no_messages;	/* not even of those that were chosen */
	const char *network;	/* connections that are recorded whoever is chosen; NULL: outside */
	bool no_network;	/* none of them */
	struct clew_function_list outside; /* devices that lead to other hosts */
	const char *environment;
	struct clew_function_list functions;
	struct clew_function_list lock_objects;
	struct clew_function_list points;
	struct clew_function_list kernel_functions;
	enum clew_returns_wanted returns;
	bool strict_entry;
	struct clew_number max_functions;
	struct clew_number max_cost;
	const char *layer_files; /* clew_recording_run() loads them */
	const char *runtimes;	 /* likewise */
	bool runtimes_auto;
	struct clew_layers *layers;
	char *layers_text;
	const struct clew_record_taker *taker; /* a further one, or NULL */
	/* Called with the command's process before it runs; an exit status, after clew_fail(), ends
	 * all. May be NULL. */
	int (*child)(void *context, pid_t pid);
	/* Called once the capture is whole, before the command's end is waited for. May be NULL. */
	void (*recorded)(void *context);
	bool quiet; /* nothing is said of the capture */
	/* Called some ten times a second while it records; false ends it. May be NULL. */
	bool (*tick)(void *context);
	/* Called for SIGHUP, SIGINT and SIGTERM; false ends it. NULL: each of them does. */
	bool (*signal)(void *context, int number);
	void *tick_context;		      /* of all of them */
	const struct clew_recorder *recorder; /* while it records */
};

/* The rows of an option table that choose functions: `member` is a struct clew_recording of the
 * structure of values. */
#define CLEW_FUNCTION_OPTIONS(structure, member)                                                   \
	{'f',                                                                                      \
	 "functions",                                                                              \
	 "OBJECT:GLOB",                                                                            \
	 "record when threads are in these functions of a file, library or process",               \
	 clew_take_functions,                                                                      \
	 offsetof(structure, member.functions)},                                                   \
		{0,                                                                                \
		 "returns",                                                                        \
		 "WAY",                                                                            \
		 "see returns by trampoline, exits or none instead of what is known to be "        \
		 "harmless (auto)",                                                                \
		 clew_take_returns,                                                                \
		 offsetof(structure, member.returns)},                                             \
		{0,                                                                                \
		 "strict-entry",                                                                   \
		 NULL,                                                                             \
		 "probe no entry behind an instruction that reads memory",                         \
		 clew_take_flag,                                                                   \
		 offsetof(structure, member.strict_entry)},                                        \
		{0,                                                                                \
		 "max-functions",                                                                  \
		 "N",                                                                              \
		 "record as many functions at most (20000)",                                       \
		 clew_take_number,                                                                 \
		 offsetof(structure, member.max_functions)},                                       \
	{                                                                                          \
		0, "max-cost", "PERCENT",                                                          \
			"drop the dearest functions if calls cost more of one CPU (25)",           \
			clew_take_number, offsetof(structure, member.max_cost)                     \
	}

/* Adds to a struct clew_function_list. */
int clew_take_functions(const struct clew_option *option, const char *argument, void *value);
/* The same for probes that programs carry. */
int clew_take_points(const struct clew_option *option, const char *argument, void *value);
/* The same for globs of the kernel's functions. */
int clew_take_kernel_functions(const struct clew_option *option, const char *argument, void *value);
/* The same for objects without functions. */
int clew_take_objects(const struct clew_option *option, const char *argument, void *value);
/* Sets a uint64_t, ns, to a length of time that is not 0; a bare number is seconds. */
int clew_take_length(const struct clew_option *option, const char *argument, void *value);

/*
 * Records until the duration, a signal, or the end of the command, whose words `command` is
 * (without any: there is none). Standard output is the command's alone, and it has ended when this
 * returns. *ret_recorded: there is a capture. Returns an exit status, that of the command if
 * nothing went wrong.
 */
int clew_recording_run(struct clew_recording *recording, char **command, bool *ret_recorded);

#endif
