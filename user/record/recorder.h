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
#include <stdint.h>

#include "base/message.h"
#include "record/stream/recording.h"

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

/* True if an error may pass: descriptors, memory or threads are short. The recording goes on. */
static inline bool clew_is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM || error == -EAGAIN;
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

/* Bytes of the current file so far. */
uint64_t clew_recorder_file_bytes(const struct clew_recorder *recorder);

/* The counts so far: the programs' records, of any file, and those that they lost. */
struct clew_recorder_counts {
	uint64_t records;
	uint64_t lost;
	uint64_t bytes; /* of all files */
};

/* While it records. It reads some counters of each CPU. */
void clew_recorder_count(const struct clew_recorder *recorder,
			 struct clew_recorder_counts *ret_counts);

/* Frees what a summary has. */
void clew_recorder_summary_done(struct clew_recorder_summary *summary);

/* The summary of the files that were ended, as far as it is known of each by then. */
const struct clew_recorder_summary *clew_recorder_so_far(const struct clew_recorder *recorder);

/*
 * Stops the recording and closes the file; to be called after a failed start
 * too. It frees the recorder whatever it returns.
 */
int clew_recorder_stop(struct clew_recorder *recorder, struct clew_recorder_summary *ret_summary,
		       struct clew_message *message);

#endif
