/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens, loads and attaches the kernel side. A program that the kernel refuses costs the features
 * that need it, and recorder->refusals says why.
 */
#ifndef CLEW_RECORD_LOAD_H
#define CLEW_RECORD_LOAD_H

#include "record/stream/recording.h"

struct clew_bpf;
struct clew_message;
struct clew_refusals;

/* Opens the kernel side, for this process's capabilities. NULL: errno says why. */
struct clew_bpf *clew_load_open(void);
/* Opens, loads and attaches the kernel side, and maps its rings. */
int clew_load(struct clew_recorder *recorder, const struct clew_recorder_options *options,
	      struct clew_message *message);
/*
 * Loads and attaches what the kernel takes of the kernel side: recorder->bpf, which is to
 * be destroyed after an error, too, and recorder->ticks.clocks. recorder->refusals has what it
 * refuses. `recorder` needs its cpu_count and rings.size. Recordings and `clew doctor` rest on
 * this.
 */
int clew_load_programs(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_message *message);
/*
 * Attaches the loaded programs of an object that need no target; starts the ticks. 0, 1:
 * the kernel refused some, which were added to the refusals, or -errno.
 */
int clew_attach(struct clew_bpf *bpf, struct clew_refusals *refusals);
int clew_attach_ticks(struct clew_recorder *recorder);
/* The same for announcements where the kernel does not show what programs map. */
int clew_attach_mappings(struct clew_recorder *recorder);
/* Says what is lost with the programs that the kernel refused, and sets recorder->features.without.
 * 0 or -ENOMEM. */
int clew_say_without(struct clew_recorder *recorder);

#endif
