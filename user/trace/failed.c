/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The attempts of tasks that failed, in order of task, then time. */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>

int trace_take_failed(struct clew_trace *trace, const struct clew_failed *record)
{
	if (trace_nobody(record->task))
		return 0;
	if (vector_reserve(&trace->failed, trace->failed.count + 1) < 0)
		return -ENOMEM;
	((struct clew_failed *)trace->failed.data)[trace->failed.count++] = *record;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct clew_failed *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	return (a->header.time > b->header.time) - (a->header.time < b->header.time);
}

void trace_order_failed(struct clew_trace *trace)
{
	if (trace->failed.count > 1)
		qsort(trace->failed.data, trace->failed.count, sizeof(struct clew_failed), compare);
}

const struct clew_failed *clew_trace_failed(const struct clew_trace *trace, uint32_t serial,
					    uint64_t from, uint64_t to, size_t *ret_count)
{
	const struct clew_failed *all = trace->failed.data;
	size_t low = 0, high = trace->failed.count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].task < serial ||
		    (all[middle].task == serial && all[middle].header.time < from))
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low;
	     end < trace->failed.count && all[end].task == serial && all[end].header.time < to;
	     end++)
		;
	*ret_count = end - low;
	return *ret_count ? all + low : NULL;
}
