/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recording a live machine: load and attach the kernel side, drain its rings to
 * a capture file, stop without losing what was reserved.
 *
 * Order of a recording: open (load, attach), start (iterate, open the gate,
 * iterate), keep (begin the file), any time of drain, stop (shut the gate, wait for programs under
 * way, last drain, iterate, ledger, close).
 */
#ifndef CLEW_RECORD_RECORDER_H
#define CLEW_RECORD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/taker.h"
#include "relate/layer.h"
#include "store/capture.h"

/* One line of words for what went wrong: "what is wrong: what to do". */
struct clew_message {
	char text[512];
};

/* Writes the line; returns `error` (a -errno). */
int clew_say(struct clew_message *message, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

struct clew_recorder;

struct clew_recorder_options {
	const char *output;
	const pid_t *pids; /* whose waits carry full detail: all threads of these */
	size_t pid_count;
	const pid_t *tids;
	size_t tid_count;
	const char *comm;		  /* glob, or NULL */
	const char *cgroup;		  /* path of a cgroup directory, or NULL */
	const char *command;		  /* words for the file's "command", or NULL */
	const char *program;		  /* that the command runs, or NULL */
	const char *environment;	  /* names of variables with commas between, or NULL */
	const char *layers_text;	  /* descriptions, for the file, or NULL */
	const struct clew_layers *layers; /* the same read: the caller's */
	const struct clew_record_taker *takers; /* that get all records, too; copied */
	size_t taker_count;
	size_t ring_size;     /* bytes a CPU, 0: min(8 MiB, 512 MiB / CPUs) */
	uint64_t pause_drain; /* ns that draining waits after the start: to test loss */
	bool no_page_cache;   /* leave out what goes on in the page cache and the journals */
	bool sync;
	bool few_task_slots; /* most tasks find no slot, to test what then keeps their state */
	bool verify;	     /* count switches a second time, to check the ledger */
};

int clew_recorder_open(const struct clew_recorder_options *options,
		       struct clew_recorder **ret_recorder, struct clew_message *message);
int clew_recorder_start(struct clew_recorder *recorder, struct clew_message *message);

/* What was recorded since the start, and all that follows, goes to the file. Until then one that is
 * there stays as it is. */
int clew_recorder_keep(struct clew_recorder *recorder, struct clew_message *message);

/* To be called some ten times a second while recording: samples the cost, writes clocks. The first
 * error of the file, or 0. */
int clew_recorder_tick(struct clew_recorder *recorder);

struct clew_recorder_summary {
	uint64_t duration;
	uint64_t records;
	uint64_t lost;
	uint64_t missed;
	uint64_t bytes;
	uint64_t verified_switches; /* of the separate counter */
	uint64_t seen_switches;
	bool balanced;
	struct clew_cost cost;
	char *left_alone; /* probes that were, as the capture has them (docs/file-format.md), NULL
			     none: the caller's */
};

/* Stops and closes the file. Also after a failed start. The recorder is gone whatever it returns.
 */
int clew_recorder_stop(struct clew_recorder *recorder, struct clew_recorder_summary *ret_summary,
		       struct clew_message *message);

#endif
