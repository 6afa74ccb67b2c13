/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Code that programs made while they ran, and that no file has. Frames in it are addresses of one
 * process; here they become places in an image of that process, as those in files are in images of
 * files. Names are from the list that the program writes for perf, /tmp/perf-PID.map.
 */
#ifndef CLEW_RECORD_STACKS_JIT_H
#define CLEW_RECORD_STACKS_JIT_H

#include "record/stream/recording.h"
#include "symbol/elf/names.h"

struct clew_jit;
struct clew_jit_process;

/* `last`: the last image's number, which the kernel side counts up as well. 0 or -ENOMEM. */
int clew_jit_new(struct clew_recorder *recorder, uint32_t *last, struct clew_jit **ret_jit);
void clew_jit_free(struct clew_jit *jit);
/* The process that has a number now, or had it last. NULL: no memory. */
struct clew_jit_process *clew_jit_process(struct clew_jit *jit, uint32_t pid);
/* The place of a frame that has CLEW_FRAME_ADDRESS; puts the IMAGE record of a new image. Where
 * memory is short, the frame as it is. */
uint64_t clew_jit_frame(struct clew_jit *jit, struct clew_jit_process *process, uint64_t frame);
/* The frame, as clew_jit_frame() gave it, is to be named. */
void clew_jit_want(struct clew_jit_process *process, uint64_t frame);
/* Takes the function of a frame. */
typedef void clew_jit_put(void *context, uint32_t image, const struct clew_named *named);
/* Calls `put` for the function of each wanted frame that the lists name by now. */
void clew_jit_name(struct clew_jit *jit, clew_jit_put *put, void *context);
/* Opens lists that were not there yet when their processes were met. Processes that have ended get
 * their names and are dropped, and so are those of too many that were used least recently. */
void clew_jit_tick(struct clew_jit *jit, clew_jit_put *put, void *context);
/* Bytes of memory that the processes take. */
size_t clew_jit_memory(const struct clew_jit *jit);
/* Drops the process that was used least recently. False: there is none. */
bool clew_jit_drop(struct clew_jit *jit, clew_jit_put *put, void *context);

#endif
