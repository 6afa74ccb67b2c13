/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that a recording is kept in, one after the other. */
#ifndef CLEW_RECORD_STREAM_FILES_H
#define CLEW_RECORD_STREAM_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "record/stream/recording.h"

struct clew_writer;

struct files {
	struct clew_writer *writer; /* of the current file */
	char recording[40]; /* the same in all files of a recording, "": there is one file */
	uint64_t ended;	    /* how many */
	struct clew_recorder_summary summary; /* of those */
	uint64_t names;			      /* the number of the last outlets; atomic */
	bool states_again; /* what is known is said again and again, for files or keyframes */
	uint64_t next_keyframe;
	uint64_t next_clock;
	char probe_costs[80]; /* the current file's, "" none */
};

#endif
