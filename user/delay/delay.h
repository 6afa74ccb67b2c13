/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the calls of a function take longer, or changes something else, in blocks of time between
 * which others have no change, and times an operation, which is another function. Both kinds of
 * blocks have the same probes, so that their cost is in neither difference.
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
	/* OBJECT:FUNCTION; the operation is `span`. NULL: no calls are delayed, or somebody else
	 * times the operations. */
	const char *function, *span;
	const uint64_t *lengths; /* ns a call; without a function any number but 0 */
	size_t length_count;
	const pid_t *pids; /* processes that are meant, with all that they fork */
	size_t pid_count;
	bool all;	  /* all processes are meant */
	unsigned percent; /* of a CPU that all delays may take */
	size_t blocks;
	uint64_t block; /* ns */
	/* Called as a block begins, with a change or without one. May be NULL. */
	void (*turn)(void *context, bool changed);
	void *context;
};

struct clew_delay;

/* Finds the functions, and puts the probes there. */
int clew_delay_open(const struct clew_delay_options *options, struct clew_delay **ret,
		    struct clew_message *message);
/* A further process that is meant. */
int clew_delay_add(struct clew_delay *delay, pid_t pid);
/* Begins the next block if the current one is over. To be called every few ms. False: all have been
 * gone through. */
bool clew_delay_step(struct clew_delay *delay);
/* Nothing is changed any more. */
void clew_delay_stop(struct clew_delay *delay);
/* The blocks that were gone through, in order of time. */
const struct clew_delay_block *clew_delay_blocks(const struct clew_delay *delay, size_t *ret_count);
/* When a block ended, ns. */
uint64_t clew_delay_until(const struct clew_delay *delay, size_t block);
/* The share of the CPUs' time in which they had something to do, in all blocks. */
double clew_delay_busy(const struct clew_delay *delay);
/* Takes the probes away. NULL: nothing. */
void clew_delay_close(struct clew_delay *delay);

#endif
