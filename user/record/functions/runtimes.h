/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records runtimes: looks for the points of their descriptions in the files that processes map now
 * or later, and attaches the kernel side to them. A file is probed once, for all processes.
 */
#ifndef CLEW_RECORD_FUNCTIONS_RUNTIMES_H
#define CLEW_RECORD_FUNCTIONS_RUNTIMES_H

#include "opener/opener.h"
#include "record/stream/recording.h"

struct clew_bpf;
struct clew_runtimes;

/* Before the load. 0 or -errno with a message. */
int clew_runtimes_prepare(struct clew_bpf *bpf, const struct clew_recorder_options *options,
			  struct clew_message *message);
/*
 * After the load: looks through what is mapped now, says what the probes will cost, and attaches
 * them. *ret is NULL if no runtime is described.
 */
int clew_runtimes_open(struct clew_recorder *recorder, const struct clew_recorder_options *options,
		       struct clew_runtimes **ret, struct clew_message *message);
/* A process has mapped a file, from one thread at a time. NULL: nothing is done. */
void clew_runtimes_file(struct clew_runtimes *runtimes, const struct clew_open_mapping *mapping,
			const struct clew_opened *file);
/*
 * Detaches all. Returns a line for each runtime and file: its name, points that were found, ns of
 * the dearest probe, the path, and why it is not recorded there, with tabs between; the caller's.
 */
char *clew_runtimes_close(struct clew_runtimes *runtimes);

#endif
