/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user side of stacks: makes unwind tables of files as they are met, names the functions of
 * new stacks while their files can be read, and puts both into the capture.
 */
#ifndef CLEW_RECORD_STACKS_STACKS_H
#define CLEW_RECORD_STACKS_STACKS_H

#include "record/stream/recording.h"

struct clew_bpf;
struct clew_stacks;

/* Before the load: the maps' sizes and the programs' settings. `threshold` in ns, 0: no stacks are
 * taken, and their maps are left out. */
int clew_stacks_prepare(struct clew_bpf *bpf, uint64_t threshold);
/* After the load and before recording: starts the threads. Without a threshold *ret is NULL. 0 or
 * -errno with a message. */
int clew_stacks_open(struct clew_recorder *recorder, struct clew_stacks **ret,
		     struct clew_message *message);
struct clew_open_mapping;
struct clew_opened;
/* A process has mapped a file; it stays the caller's. NULL is ignored. */
void clew_stacks_offer(struct clew_stacks *stacks, const struct clew_open_mapping *mapping,
		       const struct clew_opened *file);
/* Waits for the tables of all files that were offered, or for the end. NULL is ignored. */
void clew_stacks_wait(struct clew_stacks *stacks);
/* Puts the stacks of tasks that still sleep; to be called as soon as no program records. NULL is
 * ignored. */
void clew_stacks_of_sleepers(struct clew_stacks *stacks);
/* Has half of the names and open files dropped soon: something else needs them. NULL is ignored. */
void clew_stacks_press(struct clew_stacks *stacks);
/* Takes what is still to be taken and ends the thread; to be called when no program records, and
 * before the end of the user stream. NULL is ignored. */
void clew_stacks_stop(struct clew_stacks *stacks);
void clew_stacks_close(struct clew_stacks *stacks);

#endif
