/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Positions that are typed with a moment as every command takes it: "s0 @ 10:32:07.5", "s0 @ -5s".
 * They are turned into "s0 @ duration(..)", which is all that patterns know.
 */
#ifndef CLEW_CLI_OPERAND_MOMENT_H
#define CLEW_CLI_OPERAND_MOMENT_H

#include <clew/model.h>
#include <stdint.h>

/* Two ends, as typed; NULL: not given. */
struct clew_ends {
	const char *from;
	const char *to;
};

struct clew_time_base;
/*
 * When a causal trace is, by its capture or else by its spans; *ret_first: its first span's start.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int clew_moment_base(const struct clew_model *model, struct clew_time_base *ret_base,
		     clew_time *ret_first);

/*
 * Before there is a model: if both ends have moments, in order and within the recording, they
 * become *ret_from and *ret_to, and are replaced by ns of CLOCK_MONOTONIC. *ret_to is 0 if they are
 * not, and the ends stay. New texts are as those of clew_ends_take(). Returns 0 or, after
 * clew_fail(), an exit status.
 */
int clew_ends_between(struct clew_ends *ends, const struct clew_time_base *base, uint64_t *ret_from,
		      uint64_t *ret_to, char *ret_memory[2]);

/*
 * Replaces moments. An end that is a moment alone is in the spans of the other end. New texts are
 * *ret_memory's, which the caller frees with free(3); the others stay. Returns 0 or, after
 * clew_fail(), an exit status.
 */
int clew_ends_take(struct clew_ends *ends, const struct clew_model *model, char *ret_memory[2]);

#endif
