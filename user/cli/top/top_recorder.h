/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A recorder beside clew top, which writes segments into a temporary folder. */
#ifndef CLEW_CLI_TOP_TOP_RECORDER_H
#define CLEW_CLI_TOP_TOP_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct top_recorder {
	char folder[64];
	int descriptor;	      /* of the folder */
	uint64_t most;	      /* bytes that segments take which were read */
	char *last;	      /* the segment that was given last */
	const char *outside;  /* a device that leads to other hosts, NULL none */
	const char *runtimes; /* as of --runtime, NULL none */
	pid_t pid;
	int errors; /* its standard error */
};

/* Begins to record segments of that length, ns; `outside` and `runtimes` as in struct top_recorder.
 * 0 or, after clew_fail(), an exit status. */
int top_recorder_begin(struct top_recorder *recorder, uint64_t period, const char *outside,
		       const char *runtimes);

/*
 * The next segment that is whole; *ret_path is NULL if there is none yet. The file
 * stays for some time; the caller frees the path. 0, or an exit status if the recorder has ended,
 * which has said why.
 */
int top_recorder_next(struct top_recorder *recorder, char **ret_path);

/*
 * Writes what the recorder keeps as one capture into the current directory, by `clew snapshot`.
 * The message says where, or why not.
 */
void top_recorder_save(const struct top_recorder *recorder, char *ret_message, size_t size);

/* Stops recording and removes the folder. */
void top_recorder_end(struct top_recorder *recorder);

#endif
