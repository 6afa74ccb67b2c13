/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A list shows this unless it is asked for more: the longest first, without idle waits and
 * without clew's own threads. The options are the same for all lists.
 */
#ifndef CLEW_CLI_OPERAND_VIEW_H
#define CLEW_CLI_OPERAND_VIEW_H

#include "answers/sums.h"
#include "cli/front/options.h"
#include "cli/operand/window.h"

enum clew_sort { CLEW_SORT_LENGTH, CLEW_SORT_START };

struct clew_view {
	struct clew_window window;
	bool idle;
	bool self;
	enum clew_sort sort;
	enum clew_sum_by by;
	struct clew_left_out left_out; /* counted while the list is made */
};

/* The rows of an option table: `member` is a struct clew_view; `idle`: help of --idle. */
#define CLEW_VIEW_OPTIONS(structure, member, idle_help)                                            \
	CLEW_WINDOW_OPTIONS(structure, member.window),                                             \
		{0, "idle", NULL, idle_help, clew_take_flag, offsetof(structure, member.idle)},    \
		{0,                                                                                \
		 "self",                                                                           \
		 NULL,                                                                             \
		 "show clew's own threads, too",                                                   \
		 clew_take_flag,                                                                   \
		 offsetof(structure, member.self)},                                                \
		{0,                                                                                \
		 "sort",                                                                           \
		 "KEY",                                                                            \
		 "length: the longest first (the default); start: by time",                        \
		 clew_take_sort,                                                                   \
		 offsetof(structure, member.sort)},                                                \
	{                                                                                          \
		0, "by", "KEY", "add up by object, kind, task, call or holder", clew_take_by,      \
			offsetof(structure, member.by)                                             \
	}

int clew_take_sort(const struct clew_option *option, const char *argument, void *value);
int clew_take_by(const struct clew_option *option, const char *argument, void *value);

#endif
