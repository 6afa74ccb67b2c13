/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew record --rotate: when the recording goes over to its next segment. */
#ifndef CLEW_CLI_RECORD_RECORD_SEGMENTS_H
#define CLEW_CLI_RECORD_RECORD_SEGMENTS_H

#include <stdbool.h>

#include "base/amount.h"
#include "cli/front/options.h"
#include "record/recorder.h"
#include "record/segments.h"

struct clew_rotation {
	struct clew_amount rotate, keep;
	struct clew_segments *segments; /* NULL: there is one file */
	bool now;			/* a segment is to end at once */
	uint64_t said; /* ns: when it was last said that no segment could be begun, 0: never */
	uint64_t next; /* ns, CLOCK_MONOTONIC: when a segment is to end, 0: at first */
};

/* Option parsers: 10s, 256M, or 10s,256M. */
int clew_take_rotate(const struct clew_option *option, const char *argument, void *value);
int clew_take_span(const struct clew_option *option, const char *argument, void *value);

/*
 * Opens the directory if --rotate was given. *ret_output: the first file, which is `output` itself
 * without it. `elsewhere`: what is to be done if it cannot be used. 0 or an exit status.
 */
int clew_rotation_open(struct clew_rotation *rotation, const char *output, const char *elsewhere,
		       const char **ret_output);

/* Goes over to the next segment if it is time for that. 0 or -errno with a message. */
int clew_rotation_tick(struct clew_rotation *rotation, struct clew_recorder *recorder,
		       struct clew_message *message);

/* Changes how long segments are and how many are kept, while it goes on. */
void clew_rotation_change(struct clew_rotation *rotation, struct clew_amount rotate,
			  struct clew_amount keep);

void clew_rotation_close(struct clew_rotation *rotation);

#endif
