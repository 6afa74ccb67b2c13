/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups of others in an answer of `why`. */
#include "answers/why/other_groups.h"

#include "base/map.h"
#include <stdlib.h>

#include "words/group.h"
#include "words/task.h"

#define MOST_GROUPS 4
#define MOST_TASKS  3
#define LEAST	    100 /* one in so many parts of the time */

struct part {
	const struct clew_trace_task *task;
	uint64_t ns;
	bool said;
};

static int add(struct map *times, uint32_t serial, const struct clew_segment *segment)
{
	const uint64_t *known;

	if (serial == CLEW_NO_TASK || serial == UINT32_MAX)
		return 0;
	known = map_get(times, serial, 0);
	return map_set(times, serial, 0, (known ? *known : 0) + segment->end - segment->start);
}

static int longest_first(const void *left, const void *right)
{
	const struct part *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->task->serial < b->task->serial ? -1 : a->task->serial > b->task->serial;
}

/* The tasks that had time of their own or a CPU that somebody was ready for; NULL: no memory. */
static struct part *find_parts(const struct clew_trace *trace, const struct clew_why *why,
			       size_t *ret_count)
{
	const struct clew_trace_task *asked = clew_trace_task(trace, why->task);
	struct map times = {0};
	struct part *parts;
	int r = 0;

	*ret_count = 0;
	for (size_t i = 0; i < why->segment_count && r == 0; i++) {
		r = add(&times, why->segments[i].task, &why->segments[i]);
		if (r == 0 && why->segments[i].kind == CLEW_SEGMENT_RUNQUEUE)
			r = add(&times, why->segments[i].by, &why->segments[i]);
	}
	parts = r == 0 ? calloc(times.count + 1, sizeof(*parts)) : NULL;
	for (size_t i = 0; parts && i < times.capacity; i++) {
		const struct clew_trace_task *task =
			times.slots[i].used ? clew_trace_task(trace, (uint32_t)times.slots[i].key)
					    : NULL;

		if (task && times.slots[i].value >= (why->to - why->from) / LEAST &&
		    clew_has_group(trace, task) && !clew_same_group(trace, task, asked))
			parts[(*ret_count)++] =
				(struct part){.task = task, .ns = times.slots[i].value};
	}
	map_done(&times);
	return parts;
}

/* Prints the group of the first part that is not said yet, and who is in it. */
static void print_group(FILE *out, const struct clew_trace *trace, const struct clew_why *why,
			struct part *parts, size_t count)
{
	const struct clew_trace_task *first = parts->task;
	size_t shown = 0;

	fputs(" ", out);
	clew_print_group(out, trace, first);
	for (size_t i = 0; i < count; i++) {
		if (parts[i].said || !clew_same_group(trace, parts[i].task, first))
			continue;
		parts[i].said = true;
		if (shown++ >= MOST_TASKS)
			continue;
		fputs(shown > 1 ? ", " : ": ", out);
		clew_print_task(out, trace, parts[i].task->serial, why->to);
	}
	if (shown > MOST_TASKS)
		fprintf(out, " and %zu more", shown - MOST_TASKS);
	putc('\n', out);
}

void clew_print_other_groups(FILE *out, const struct clew_trace *trace, const struct clew_why *why)
{
	size_t count, groups = 0;
	struct part *parts = find_parts(trace, why, &count);

	if (!parts)
		return;
	qsort(parts, count, sizeof(*parts), longest_first);
	for (size_t i = 0; i < count && groups < MOST_GROUPS; i++) {
		if (parts[i].said)
			continue;
		if (!groups++)
			fputs("\nNot in its group:\n", out);
		print_group(out, trace, why, &parts[i], count - i);
	}
	free(parts);
}
