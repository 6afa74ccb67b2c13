/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Segments on their way to one capture. Functions return 0 or, after clew_fail(), an exit status.
 */
#ifndef CLEW_CLI_SEGMENTS_JOINING_H
#define CLEW_CLI_SEGMENTS_JOINING_H

#include "cli/operand/window.h"
#include "store/join.h"

struct clew_joining {
	struct clew_join *join;
	const char *name; /* of the file that is written; "-": standard output */
	size_t first, count;
	uint64_t missing; /* segments in between */
	bool quiet;	  /* nothing is said */
};

/* Says why a segment cannot be taken; returns an exit status. */
int clew_joining_fail(const char *path, int error, const char *message);

/* clew_join_add(): what is written later is made of it. */
int clew_joining_add(struct clew_join *join, const char *path, char *message, size_t message_size);

/* Adds the segments of the directory's last recording. */
int clew_joining_directory(struct clew_join *join, const char *directory);

/*
 * Chooses the segments that the window touches, of the first `count`; 0: of all. `kept`: of the
 * window only a part need be there.
 */
int clew_joining_choose(struct clew_joining *joining, struct clew_window *window, bool kept);

/* Writes `count` segments from `first` on, and says on standard error what they are. */
int clew_joining_write(struct clew_joining *joining);

#endif
