/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages with their places among the bytes of a connection, for whoever joins both ends. */
#include "trace/internal.h"
#include "trace/part.h"
#include <errno.h>
#include <stdlib.h>

int trace_take_placed(struct clew_trace *trace, const struct clew_placed *placed)
{
	struct vector *all = &trace->placed;

	if (trace->part)
		return 0;
	all->item = sizeof(*placed);
	if (vector_reserve(all, all->count + 1) < 0)
		return -ENOMEM;
	((struct clew_placed *)all->data)[all->count++] = *placed;
	return 0;
}

static int by_task(const void *left, const void *right)
{
	const struct clew_placed *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->position > b->position) - (a->position < b->position);
}

void trace_finish_placed(struct clew_trace *trace)
{
	if (trace->placed.count)
		qsort(trace->placed.data, trace->placed.count, trace->placed.item, by_task);
}

const struct clew_placed *clew_trace_placed(const struct clew_trace *trace, uint32_t serial,
					    size_t *ret_count)
{
	const struct clew_placed *all = trace->placed.data;
	size_t low = 0, high = trace->placed.count, end;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].task < serial)
			low = middle + 1;
		else
			high = middle;
	}
	for (end = low; end < trace->placed.count && all[end].task == serial; end++)
		;
	*ret_count = end - low;
	return *ret_count ? all + low : NULL;
}
