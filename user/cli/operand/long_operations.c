/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads a capture again for operations that are longer than what a window knows. */
#include "cli/operand/long_operations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/front/progress.h"
#include "cli/operand/open.h"

#define APART 10000000000ull /* ns: operations that are as near are in one trace */

static int compare(const void *a, const void *b)
{
	const struct clew_operation *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static const struct clew_operation *at(const void *operations, size_t index, size_t size)
{
	return (const void *)((const char *)operations + index * size);
}

int clew_load_interval(const char *operand, const char *title, uint64_t from, uint64_t to,
		       struct clew_trace **ret_trace)
{
	struct clew_progress progress;
	const struct clew_trace_options options = {.size = sizeof(options),
						   .from = from,
						   .to = to,
						   .progress = clew_progress_update,
						   .progress_context = &progress};
	char message[512] = "";
	int r;

	clew_progress_begin(&progress, title);
	r = clew_trace_load(operand, &options, ret_trace, message, sizeof(message));
	clew_progress_end(&progress);
	return r < 0 ? clew_fail_to_read(operand, r, message) : 0;
}

int clew_long_operations(const char *operand, void *operations, size_t count, size_t size,
			 int (*find)(void *context, const struct clew_trace *trace,
				     const void *operations, size_t count),
			 void *context)
{
	int status = 0;

	if (!count)
		return 0;
	fprintf(stderr,
		"clew: operations that are longer than what a window knows are read once more: "
		"%zu\n",
		count);
	qsort(operations, count, size, compare);
	for (size_t first = 0, next; first < count && !status; first = next) {
		const struct clew_operation *begin = at(operations, first, size), *end;
		uint64_t to = begin->to;
		struct clew_trace *trace;
		int r;

		for (next = first + 1;
		     next < count && (end = at(operations, next, size))->from < to + APART; next++)
			to = end->to > to ? end->to : to;
		status = clew_load_interval(operand, "reading long operations", begin->from, to,
					    &trace);
		if (status)
			return status;
		r = find(context, trace, begin, next - first);
		clew_trace_free(trace);
		if (r < 0)
			status = clew_fail_to_read(operand, r, strerror(-r));
	}
	return status;
}
