/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The last sleep of each task, as the switch had it with which it began: a keyframe states it for
 * tasks that still sleep. A drain has one for its CPUs, and its lock protects it.
 */
#ifndef CLEW_RECORD_STREAM_SLEEPERS_H
#define CLEW_RECORD_STREAM_SLEEPERS_H

#include <clew/kernel/records.h>
#include <stdbool.h>
#include <stdint.h>

struct clew_sleepers;

struct clew_sleeper {
	uint64_t time; /* ns: when the sleep began, or when it was found at the start */
	struct clew_wait wait;
	uint32_t serial;
	uint16_t state; /* as clew_switch.prev_state */
	bool found;	/* it began before the recording */
};

/* NULL: no memory. */
struct clew_sleepers *clew_sleepers_new(void);
void clew_sleepers_free(struct clew_sleepers *sleepers);

/* Takes a SWITCH that has a wait behind it, or one with which a task ends. A sleep for which there
 * is no memory is forgotten. */
void clew_sleepers_note(struct clew_sleepers *sleepers, const struct clew_switch *change,
			const struct clew_wait *wait);

/* Takes a STATE of the start, which has a wait behind it. `start`: ns, when the recording began. */
void clew_sleepers_note_found(struct clew_sleepers *sleepers, const struct clew_switch *change,
			      const struct clew_wait *wait, uint64_t start);

/* The last sleep that is known of a task, valid until the next one is noted; NULL none. */
const struct clew_sleeper *clew_sleepers_find(const struct clew_sleepers *sleepers,
					      uint32_t serial);

/* Forgets sleeps that began before `time` (ns), but for those that clew_sleepers_find() has
 * returned since this was last called: their tasks are gone. */
void clew_sleepers_forget(struct clew_sleepers *sleepers, uint64_t time);

#endif
