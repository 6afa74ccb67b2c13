/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A list shows this unless it is asked for more: the longest first, without idle waits and
 * without clew's own threads. The options and words are the same for all lists.
 */
#ifndef CLEW_CLI_OPERAND_VIEW_H
#define CLEW_CLI_OPERAND_VIEW_H

#include "cli/front/options.h"
#include "cli/operand/window.h"
#include "words/sums.h"

enum clew_sort { CLEW_SORT_LENGTH, CLEW_SORT_START };

/* The keys of sums. */
enum clew_by {
	CLEW_BY_NONE,
	CLEW_BY_OBJECT,
	CLEW_BY_KIND,
	CLEW_BY_TASK,
	CLEW_BY_CALL,
	CLEW_BY_HOLDER,
	CLEW_BY_COUNT,
};

struct clew_view {
	struct clew_window window;
	bool idle;
	bool self;
	enum clew_sort sort;
	enum clew_by by;
	/* Counted while the list is made. */
	size_t idle_left_out;
	size_t self_left_out;
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

/* The word for a key of sums. */
const char *clew_by_name(enum clew_by by);

/* "2 of 9 waits", or "2 waits" if only an interval was asked for, as then only a part of the
 * capture was read. `things`: in the plural. */
void clew_print_count(const struct clew_view *view, size_t count, size_t of, const char *things);

/* Says after a list what is not in it, and how to see it. `idle`: what is idle, in the plural. */
void clew_print_left_out(const struct clew_view *view, const char *idle);

/* The field "left_out" of the open object: {"idle", "self"}. */
void clew_json_left_out(struct clew_json *json, const struct clew_view *view);

/*
 * Prints a table of sums, or the array "sums" of the open object. `name` prints a group's name by
 * its longest item; `fields` adds fields to its object.
 */
struct clew_sums_names {
	void (*name)(void *context, FILE *out, uint32_t item);
	void (*fields)(void *context, struct clew_json *json, uint32_t item);
	void *context;
};
void clew_print_groups(const struct clew_sum *groups, size_t count, const struct clew_view *view,
		       const struct clew_sums_names *names);
void clew_json_groups(struct clew_json *json, const struct clew_sum *groups, size_t count,
		      const struct clew_view *view, const struct clew_sums_names *names);
/* The same of sums. 0 or, after clew_fail(), an exit status. */
int clew_print_sums(struct clew_sums *sums, const struct clew_view *view,
		    const struct clew_sums_names *names);
int clew_json_sums(struct clew_json *json, struct clew_sums *sums, const struct clew_view *view,
		   const struct clew_sums_names *names);

#endif
