/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records when tasks enter and leave functions: finds the functions in their files, and
 * attaches the kernel side to them, in all processes that map the files or will.
 */
#ifndef CLEW_RECORD_FUNCTIONS_TRACER_H
#define CLEW_RECORD_FUNCTIONS_TRACER_H

#include "record/stacks/mappings.h"
#include "record/stream/recording.h"

struct clew_bpf;
struct clew_tracer;

/* Before anything is loaded: finds all that was asked for. *ret is NULL if no functions were, and
 * it is the caller's also if one cannot be recorded. */
int clew_tracer_choose(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_tracer **ret, struct clew_message *message);
/* Before each load: sets the sizes of the maps, and which filters are in use. `tracer`: NULL: no
 * functions are recorded. */
void clew_tracer_prepare(const struct clew_tracer *tracer, struct clew_bpf *bpf,
			 const struct clew_recorder_options *options, unsigned cpus);
/* After the load: says what the probes will cost, and attaches them. NULL: nothing is done. */
int clew_tracer_open(struct clew_tracer *tracer, const struct clew_recorder_options *options,
		     struct clew_message *message);
/* True if functions are looked for in a file because that process maps it. NULL: no. */
bool clew_tracer_follows(const struct clew_tracer *tracer, pid_t pid);
/* A process has mapped a file, from one thread at a time. NULL: nothing is done. */
void clew_tracer_file(struct clew_tracer *tracer, const struct clew_open_mapping *mapping,
		      const struct clew_opened *file);
/* Some ten times a second: detaches functions whose calls cost more than options.functions_percent
 * of a CPU together, the dearest first. NULL: nothing is done. 0 or -errno. */
int clew_tracer_tick(struct clew_tracer *tracer, uint64_t now);
/* Detaches all. NULL is ignored. */
void clew_tracer_close(struct clew_tracer *tracer);

#endif
