/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the calls of a function take longer, in blocks of time of which others have no delay, and
 * times an operation, which is another function. Both kinds of blocks have the same probes, so that
 * their cost is in neither difference.
 *
 * Functions return 0 or -errno, with a message.
 */
#ifndef CLEW_DELAY_DELAY_H
#define CLEW_DELAY_DELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <clew/kernel/maps/delay.h>

#include "base/message.h"

#define DELAY_LENGTHS 8 /* at most */

struct clew_delay_options {
	const char *function, *span; /* OBJECT:FUNCTION; the operation is `span` */
	const uint64_t *lengths;     /* ns a call */
	size_t length_count;
	const pid_t *pids; /* processes that are meant, with all that they fork */
	size_t pid_count;
	bool all;	  /* all processes are meant */
	unsigned percent; /* of a CPU that all delays may take */
	size_t blocks;
	uint64_t block; /* ns */
};

struct clew_delay;

/* Finds the functions, and puts the probes there. */
int clew_delay_open(const struct clew_delay_options *options, struct clew_delay **ret,
		    struct clew_message *message);
/* A further process that is meant. */
int clew_delay_add(struct clew_delay *delay, pid_t pid);
/* Goes through the blocks in random order; `ended` is asked between them whether that is enough. */
void clew_delay_run(struct clew_delay *delay, bool (*ended)(void *context), void *context);
/* The blocks that were gone through. */
const struct clew_delay_block *clew_delay_blocks(const struct clew_delay *delay, size_t *ret_count);
/* The share of the CPUs' time in which they had something to do, in all blocks. */
double clew_delay_busy(const struct clew_delay *delay);
/* Takes the probes away. NULL: nothing. */
void clew_delay_close(struct clew_delay *delay);

#endif
