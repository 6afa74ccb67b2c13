/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The interval that --from and --to choose. */
#ifndef CLEW_CLI_OPERAND_WINDOW_H
#define CLEW_CLI_OPERAND_WINDOW_H

#include "cli/front/options.h"
#include "trace/trace.h"

/* The interval as it was asked for, and after clew_window_take() the moments that this means. */
struct clew_window {
	const char *from_text;
	const char *to_text;
	uint64_t from; /* ns, CLOCK_MONOTONIC */
	uint64_t to;
	uint32_t thread; /* a tid: only what it does in the interval is asked for; 0: all is */
};

/* The rows of an option table: `member` is a struct clew_window of the structure of values. */
#define CLEW_WINDOW_OPTIONS(structure, member)                                                     \
	{0,                                                                                        \
	 "from",                                                                                   \
	 "TIME",                                                                                   \
	 "begin there: 1.25s since the start, -5s before the end, 10:32:07.5, ns",                 \
	 clew_take_string,                                                                         \
	 offsetof(structure, member.from_text)},                                                   \
	{                                                                                          \
		0, "to", "TIME", "end there", clew_take_string,                                    \
			offsetof(structure, member.to_text)                                        \
	}

/*
 * Turns the texts into moments of the trace; the whole trace where none was given. Returns 0
 * or, after clew_fail(), an exit status.
 */
int clew_window_take(struct clew_window *window, const struct clew_trace *trace);

struct clew_time_base;
/* The same, where there is no trace. */
int clew_window_take_in(struct clew_window *window, const struct clew_time_base *base);

/*
 * Reads the moment that was given with an option, within the trace; `text` NULL: *moment stays.
 * Returns 0 or, after clew_fail(), an exit status.
 */
int clew_moment_take(const char *option, const char *text, const struct clew_time_base *base,
		     uint64_t *moment);

/* As clew_moment_take(), but the moment may lie outside of what `base` covers. */
int clew_moment_read(const char *option, const char *text, const struct clew_time_base *base,
		     uint64_t *moment);

static inline bool clew_window_has(const struct clew_window *window, uint64_t start, uint64_t end)
{
	return start <= window->to && end >= window->from;
}

/* True if part of the trace was asked for. */
static inline bool clew_window_given(const struct clew_window *window)
{
	return window->from_text || window->to_text;
}

#endif
