/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The choices of `clew waits`, and its sums. */
#ifndef CLEW_CLI_WAITS_WAITS_H
#define CLEW_CLI_WAITS_WAITS_H

#include "cli/front/options.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "cli/operand/view.h"
#include "cli/operand/windows.h"

struct waits_values {
	struct clew_selection selection;
	struct clew_view view;
	uint64_t least; /* ns */
	uint64_t kinds; /* bit mask, 0 all */
	bool stacks;
	struct clew_source_choice source;
	bool json;
	/* All of the capture's tasks, where a trace has only a part of it; else NULL. */
	const struct clew_trace *tasks;
};

/* The size of a list. */
struct waits_count {
	size_t wanted, all; /* waits */
	uint64_t ns;	    /* of the wanted ones */
	size_t covered;	    /* of them that have stacks */
	uint64_t covered_ns;
};

/* True if a wait is asked for. Counts in the view those that are left out. */
bool waits_wanted(const struct clew_trace *trace, struct waits_values *values,
		  const struct clew_sleep *sleep);
/* Counts one that is. */
void waits_add(const struct clew_trace *trace, const struct waits_values *values,
	       const struct clew_sleep *sleep, struct waits_count *count);

void waits_count_add(struct waits_count *count, const struct waits_count *more);

/* One of a list. `stacks`: with those of the wait. */
void waits_json(struct clew_json *json, const struct clew_trace *trace, bool stacks,
		const struct clew_sleep *sleep);
void waits_print(FILE *out, const struct clew_trace *trace, bool stacks,
		 const struct clew_sleep *sleep);

/* Prints the end of the list or of the sums; `trace` has the names. */
void waits_end_json(struct clew_json *json, const struct clew_trace *trace,
		    const struct waits_values *values);
void waits_end_text(const struct clew_trace *trace, const struct waits_values *values,
		    const struct waits_count *count);

/* Adds up the waits of a trace, and prints the sums. Returns an exit status. */
int waits_by(struct clew_trace *trace, struct waits_values *values);

/* Looks at the windows of a long capture. *ret_tasks: what `values` refers to; *ret_names: the
 * capture's names; both are to be freed, even after an error. 0 or, after clew_fail(), an exit
 * status. */
int waits_look(const char *operand, struct clew_reader *reader, struct waits_values *values,
	       const struct clew_windows_taker *taker, struct clew_trace **ret_tasks,
	       struct clew_trace **ret_names);
/* The list and the sums of a long capture. Return an exit status. */
int waits_in_windows(const char *operand, struct clew_reader *reader, struct waits_values *values);
int waits_by_in_windows(const char *operand, struct clew_reader *reader,
			struct waits_values *values);

#endif
